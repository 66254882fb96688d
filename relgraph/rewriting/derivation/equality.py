"""Equality of graphs as sums and products, which the checker of derivations uses.

Graphs are equal up to associativity, commutativity and identity elements, with differences and
negations read as sums, and the constant factors of a product multiplied.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from relgraph.ir.etuple import same_number
from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import Op
from relgraph.ops.elementwise import Elementwise
from relgraph.relations.clause import is_ac
from relgraph.relations.nary import inverse_number, kind_of, sequence, uniform

add, multiply = Elementwise("add"), Elementwise("multiply")
SIGNED = kind_of(add).family
negative = kind_of(add).negated


def sum_op(x: Variable) -> Op | None:
    """Return the AC op of which a node counts as nested applications, or None.

    ``a - b`` counts as ``a + (-b)``, and ``-(a + b)`` as ``(-a) + (-b)``.
    """
    op = x.op
    if is_ac(op):
        return op
    signed = op in SIGNED and x.type.dtype.kind in "fi" and uniform(x)
    if signed and (op is add.difference or is_nested(x.inputs[0], add, x.type.dtype)):
        return add
    return None


def is_nested(x: Variable, op: Op | None, dtype: Any) -> bool:
    """Return True if ``x`` is an application whose operands also belong to an outer one."""
    mine = x.op is op or (op is add and x.op in SIGNED and dtype.kind in "fi")
    return mine and dtype.kind != "b" and x.type.dtype == dtype and uniform(x)


class Keys:
    """Keys of nodes, equal for nodes that are equal as sums and as products.

    Keys ignore associativity, commutativity, the spelling of differences and negation, and how a
    product splits its constant factors; with ``any_brackets`` also how products of matrices are
    bracketed.
    """

    def __init__(self, any_brackets: bool = False) -> None:
        self.any_brackets = any_brackets
        self._terms: dict[Variable, Counter[Variable]] = {}
        self._keys: dict[Variable, Any] = {}
        self._numbers: dict[Any, int] = {}

    def terms(self, node: Variable) -> Counter[Variable]:
        """Return the operands of a node's sum or product, however nested, with multiplicities."""
        known = self._terms.get(node)
        if known is None:
            alone = sum_op(node) is None
            known = self._terms[node] = Counter([node]) if alone else counted(node)
        return known

    def __call__(self, node: Variable) -> Any:
        """Return the key of a node."""
        stack = [node]
        while stack:
            x = stack[-1]
            if x in self._keys:
                stack.pop()
                continue
            waiting = [y for y in self._below(x) if y not in self._keys]
            if waiting:
                stack.extend(waiting)
                continue
            self._keys[x] = self._number(x)
            stack.pop()
        return self._keys[node]

    def _below(self, x: Variable) -> Iterable[Variable]:
        """Return the nodes of whose keys the key of a node consists."""
        if sum_op(x) is not None:
            return self.terms(x)
        op: Any = x.op
        factors = sequence(op, x) if self.any_brackets and op and op.chains else []
        return factors if len(factors) > 2 else x.inputs

    def _number(self, x: Variable) -> Any:
        if x.op is None:
            return x
        op = sum_op(x)
        dtype: Any = getattr(x.type, "dtype", None)  # tuples have no dtype
        if op is multiply or (x.op is add.inverse and op is None and dtype.kind in "fi"):
            return self._product(x, dtype)
        if x.op is multiply.difference and inverse_number(x.inputs[1]) is not None:
            return self._product(x, dtype)
        shape: Any
        if op is not None:
            terms = self.multiset(without_identity(op, self.terms(x)))
            if terms.total() == 1 and next(iter(terms)) in map(self._keys.get, x.inputs):
                return next(iter(terms))  # x + 0 is x
            shape = frozenset(terms.items())
        else:
            shape = tuple([self._keys[y] for y in self._below(x)])
            if x.op.commutative:
                shape = frozenset(Counter(shape).items())
        key = (op or x.op, dtype if op is not None else None, shape)
        return self._numbers.setdefault(key, len(self._numbers))

    def _product(self, x: Variable, dtype: Any) -> Any:
        """Return the key of a product, or of -x, which is a product with -1."""
        sign, y = (1, x) if x.op is not add.inverse else (-1, x.inputs[0])
        inverse = None
        if y.op is multiply.difference and y.type.dtype == dtype:
            inverse = inverse_number(y.inputs[1])  # a quotient by a number is a product with it
            y = y if inverse is None else y.inputs[0]
        inner = y.op is multiply and y.type.dtype == dtype
        terms = self.terms(y).copy() if inner else Counter([y])
        if inverse is not None:
            terms[inverse] += 1
        factor, kept = split_factor(terms, x)
        factor *= sign
        if factor == -1 and kept.total() == 1:
            (y,) = kept
            if x.op is multiply and is_nested(y, add, dtype):
                return self(negative(y))  # as a sum of negative terms
        counted = self.multiset(kept)
        if factor == 1 and counted.total() == 1:
            return next(iter(counted))
        key = (multiply, dtype, frozenset(counted.items()), factor)
        return self._numbers.setdefault(key, len(self._numbers))

    def multiset(self, terms: Counter[Variable]) -> Counter[Any]:
        """Return terms counted by their keys."""
        counts: Counter[Any] = Counter()
        for x, n in terms.items():
            counts[self(x)] += n
        return counts


def paths_to_terms(node: Variable) -> dict[Variable, tuple[int, int]]:
    """Count the paths to each operand of a sum or product: additions and subtractions.

    A shared sum is visited once, with its count.
    """
    op, dtype = sum_op(node), node.type.dtype
    assert op is not None
    order: list[Variable] = []
    seen: set[Variable] = set()
    stack: list[tuple[Variable, bool]] = [(node, False)]
    while stack:
        x, done = stack.pop()
        if done:
            order.append(x)
        elif x not in seen:
            seen.add(x)
            stack.append((x, True))
            stack.extend([(y, False) for y in x.inputs if is_nested(y, op, dtype)])
    paths: dict[Variable, tuple[int, int]] = {node: (1, 0)}
    counted: dict[Variable, tuple[int, int]] = {}
    for x in reversed(order):
        for i, y in enumerate(x.inputs):
            plus, minus = paths[x]
            if x.op is add.inverse or (x.op is add.difference and i == 1):
                plus, minus = minus, plus
            counts = paths if y in seen else counted
            mine = counts.get(y, (0, 0))
            counts[y] = mine[0] + plus, mine[1] + minus
    return counted


def counted(node: Variable) -> Counter[Variable]:
    """Count the operands of a sum or product, however nested; subtracted ones as negatives."""
    if node.type.dtype.kind == "b" or not uniform(node):
        return Counter(node.inputs)
    terms: Counter[Variable] = Counter()
    for y, (plus, minus) in paths_to_terms(node).items():
        if plus:
            terms[y] += plus
        if minus:
            terms[negative(y)] += minus
    return terms


def split_factor(terms: Counter[Variable], product: Variable) -> tuple[Any, Counter[Variable]]:
    """Return the product of the constant factors among the operands of a product, and the rest.

    An array of one number is such a factor if another operand has the shape of the product.
    Constants whose product overflows, or is zero although no factor is, stay in the rest.
    """
    dtype, shape = product.type.dtype, product.type.shape
    spanned = any([y.type.shape == shape for y in terms if not isinstance(y, Constant)])
    numbers: list[tuple[Any, int]] = []
    kept: Counter[Variable] = Counter()
    for y, n in terms.items():
        value = y.uniform if isinstance(y, Constant) and (spanned or not y.ndim) else None
        if value is not None and y.type.dtype == dtype:
            numbers.append((value.item(), n))
        else:
            kept[y] += n
    factor = product_of(numbers, dtype)
    return (1, terms) if factor is None else (factor, kept)


def product_of(numbers: Sequence[tuple[Any, int]], dtype: Any) -> Any:
    """Return a product of powers in a dtype, or None if it overflows or underflows."""
    if dtype.kind in "iu":
        size = 1 << 8 * dtype.itemsize
        value = math.prod([pow(x, n, size) for x, n in numbers]) % size
        return value - size if dtype.kind == "i" and value >= size // 2 else value
    try:
        product = math.prod([x**n for x, n in numbers])
    except OverflowError:
        return None
    if math.isfinite(product) and (product or not all([x for x, _ in numbers])):
        return product
    return None if all([math.isfinite(x) for x, _ in numbers]) else product


def without_one(x: Variable) -> Variable:
    """Remove a factor that is the identity element from a product."""
    if x.op is multiply:
        kept = list(without_identity(multiply, Counter(x.inputs)).elements())
        return kept[0] if len(kept) == 1 else x
    return x


def without_identity(op: Op, terms: Counter[Variable]) -> Counter[Variable]:
    """Remove scalar constants that are identity elements."""
    if op.identity is None:
        return terms
    kept = {
        x: n
        for x, n in terms.items()
        if not isinstance(x, Constant) or x.ndim or not same_number(x.uniform, op.identity)
    }
    return Counter(kept) if kept else terms
