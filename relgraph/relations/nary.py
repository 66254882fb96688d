"""The n-ary view of nested applications of one associative and commutative op.

Sums and products are binary in a graph; the matcher sees through their bracketing by this view.
It opens only applications whose operands all have the node's own dtype, and none of bool: combining
narrower operands with each other first would round or wrap around where the graph does not.  A
nested application that occurs twice is shared and stays closed, so that no view is larger than the
graph.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from relgraph.ir.node import Constant, Variable, apply, apply_chain, constant
from relgraph.ir.op import Op

_RANK = attrgetter("ndim")
NEAR = 64  # how many nested applications a pattern looks through below its root


class Kind:
    """How an associative and commutative op takes operands away, and scales them.

    A sum is a multiset of (coefficient, term): subtraction and negation give negative coefficients,
    and multiplication by a number gives others.  Ops without inverses have no coefficients.

    Attributes
    ----------
    op : Op
        The op.
    difference, inverse, scale : Op or None
        Those of the op.
    family, only : frozenset of Op
        The op with those that take away operands, if it has inverses, and the op alone.
    scaling : frozenset of Op
        The ops of operands that may have a coefficient.
    """

    __slots__ = ("difference", "family", "inverse", "only", "op", "scale", "scaling")

    def __init__(self, op: Op) -> None:
        self.op = op
        self.difference: Any = op.difference
        self.inverse: Any = op.inverse
        self.scale: Any = op.scale
        self.family: frozenset[Any] = frozenset([op])
        self.only = self.family
        self.scaling: frozenset[Any] = frozenset()
        if op.inverse is not None and op.scale is not None:
            self.family |= {op.difference, op.inverse}
            self.scaling = frozenset([op.inverse, op.scale, op.scale.difference]) - {None}

    def __reduce__(self) -> Any:
        return kind_of, (self.op,)

    def opens(self, x: Variable, dtype: Any, closed: Container[Variable] = ()) -> bool:
        """Return True if an operand's own operands belong to an outer application of a dtype."""
        op = x.op
        return (
            op in self.family
            and x.type.dtype is dtype
            and (op is self.op or dtype.kind in "fi")
            and x not in closed
            and uniform(x)
        )

    def split(self, node: Variable) -> tuple[Any, Variable] | None:
        """Return the coefficient and the core of an operand, or None if it has no coefficient."""
        op: Any = node.op
        dtype = node.type.dtype
        if op is self.inverse:
            x = node.inputs[0]
            if x.type.dtype is not dtype or dtype.kind not in "fi":
                return None
            inner = self.split(x) if x.op is self.scale else None
            return (-1, x) if inner is None else (-inner[0], inner[1])
        if op is self.scale:
            a, b = node.inputs
            if a.__class__ is Constant or b.__class__ is Constant:
                c, rest = (a, b) if a.__class__ is Constant else (b, a)
                return self._scaled(c, rest, node)
            if a.op is op or b.op is op:
                scale: Any = op
                operands = leaves(node, scale, (), NEAR)
                numbers = [x for x in operands if x.__class__ is Constant]
                if len(numbers) == 1 and len(operands) > 1:
                    rest = combined(scale, [x for x in operands if x is not numbers[0]])
                    return self._scaled(numbers[0], rest, node)
            return None
        if op not in self.scaling:
            return None
        x, y = node.inputs  # a quotient
        if y.__class__ is not Constant or dtype.kind != "f":
            return None
        inverted = inverse_number(y)
        return None if inverted is None else self._scaled(inverted, x, node)

    def split_array(self, node: Variable) -> tuple[Any, Variable] | None:
        """Return a factor that is zero or an array of one number, and the other, if it has one."""
        if node.op is not self.scale:
            return None
        factors = leaves(node, node.op, (), NEAR)
        arrays = [x for x in factors if isinstance(x, Constant)]
        if len(arrays) != 1 or len(factors) < 2:
            return None
        c, others = arrays[0], [x for x in factors if x is not arrays[0]]
        if c.uniform is None or not np.isfinite(c.uniform):
            return None
        rest = others[0] if len(others) == 1 else combined(node.op, others)
        return (c, rest) if c.type.dtype is rest.type.dtype else None

    @staticmethod
    def _scaled(c: Any, rest: Variable, node: Variable) -> tuple[Any, Variable] | None:
        if c.ndim or rest.type is not node.type or c.type.dtype is not node.type.dtype:
            return None
        value = None if rest.__class__ is Constant else number_of(c)
        return (value, rest) if value else None

    def scaled(self, number: Any, core: Variable) -> Variable:
        """Return a core with a positive coefficient."""
        if number == 1:
            return core
        assert self.scale is not None
        factor = coefficient(number, core.type.dtype)
        if core.__class__ is Constant:
            return constant(self.scale.perform(factor.value, core.value), core.type.dtype)
        return apply(self.scale, (factor, core))

    def spread(
        self, terms: Sequence[Variable], scales: Sequence[Any]
    ) -> tuple[list[Variable], Any, bool]:
        """Return terms with coefficients, a number that all have in common, and their sign.

        The sign is True if all are negative; the terms then have the opposite ones.
        """
        negative = max(scales) < 0
        sizes = {abs(x) for x in scales}
        number = sizes.pop() if len(sizes) == 1 else 1
        spread = []
        for x, scale in zip(terms, scales, strict=True):
            part = self.scaled(1 if number != 1 else abs(scale), x)
            flipped = (scale < 0) != negative
            spread.append(apply(self.inverse, (part,)) if flipped else part)
        return spread, number, negative

    def negated(self, node: Variable) -> Variable:
        """Return an operand that takes away a node."""
        if isinstance(node, Constant):
            return constant(-node.value)
        assert self.inverse is not None
        return apply(self.inverse, (node,))

    def joined(self, added: Sequence[Variable], taken: Sequence[Variable]) -> Variable:
        """Return the application to some operands that takes away others."""
        if not taken:
            return combined(self.op, added)
        away = combined(self.op, taken)
        if not added:
            return self.negated(away)
        assert self.difference is not None
        return apply(self.difference, (combined(self.op, added), away))

    def terms(
        self, node: Variable, closed: Container[Variable] = ()
    ) -> tuple[list[tuple[Variable, bool]], list[Variable]]:
        """Return the signed operands below a node, and the applications that were opened.

        An application that occurs twice stays closed.
        """
        dtype = node.type.dtype
        opened, twice = {node}, set[Variable]()
        queue = [node] if uniform(node) else []
        for parent in queue:  # grows during the loop
            for x in parent.inputs:
                if x in opened:
                    twice.add(x)
                elif self.opens(x, dtype, closed):
                    opened.add(x)
                    queue.append(x)
        opened -= twice
        operands: list[tuple[Variable, bool]] = []
        inner: list[Variable] = []
        stack = [(node, False)]
        while stack:
            x, negative = stack.pop()
            if x not in opened:
                operands.append((x, negative))
                continue
            inner.append(x)
            if len(x.inputs) == 1:
                stack.append((x.inputs[0], not negative))
            else:
                stack.append((x.inputs[1], negative != (x.op is self.difference)))
                stack.append((x.inputs[0], negative))
        return operands, inner


@cache
def kind_of(op: Op) -> Kind:
    """Return the kind of an associative and commutative op."""
    return Kind(op)


@lru_cache(maxsize=1024, typed=True)
def coefficient(number: Any, dtype: Any) -> Constant:
    """Return a number as a constant."""
    return constant(number, dtype)


@lru_cache(maxsize=1024)
def number_of(c: Constant) -> Any:
    """Return the one number of a constant, or None if it has several, or is not finite."""
    value = c.uniform
    return None if value is None or not np.isfinite(value) else value.item()


@lru_cache(maxsize=1024)
def inverse_number(c: Variable) -> Constant | None:
    """Return ``1 / c`` for a constant float, or None where that is infinite or subnormal."""
    value = c.uniform if isinstance(c, Constant) and not c.ndim else None
    if value is None or c.dtype.kind != "f":
        return None
    with np.errstate(all="ignore"):
        inverted = np.true_divide(1, value, dtype=c.dtype)
    normal = np.finfo(c.dtype).tiny <= np.abs(inverted) < np.inf
    return constant(inverted, c.dtype) if normal else None


def uniform(node: Variable) -> bool:
    """Return True if the operands of an application have its own dtype."""
    type_ = node.type
    dtype = type_.dtype
    for x in node.inputs:  # noqa: SIM110 - the generator of all() costs more than the loop
        if x.type is not type_ and x.type.dtype is not dtype:
            return False
    return True


def region(
    node: Variable, op: Op, closed: Container[Variable] = (), limit: int | None = None
) -> dict[Variable, bool]:
    """Return the nested applications below ``node``, each with whether it is opened.

    The root is always opened, those in ``closed`` never, and at most ``limit`` in all.
    """
    dtype = node.type.dtype
    opened: dict[Variable, bool] = {node: True}
    if dtype.kind == "b" or not uniform(node):
        return opened
    queue = [node]
    for parent in queue:  # breadth first, each once
        for x in parent.inputs:
            if x.op is op and x.type.dtype is dtype:
                if x in opened:
                    opened[x] = False
                elif x not in closed and uniform(x) and (limit is None or len(opened) < limit):
                    opened[x] = True
                    queue.append(x)
    return opened


def leaves(
    node: Variable, op: Op, closed: Container[Variable] = (), limit: int | None = None
) -> list[Variable]:
    """Return the operands of the n-ary view of ``node``, left to right.

    The view opens what :func:`region` does.  A node with another op is its own only operand.
    """
    if node.op is not op:
        return [node]
    inner = node.inputs
    if len(inner) == 2 and inner[0].op is not op and inner[1].op is not op:
        return list(inner)
    dtype = node.type.dtype
    result: list[Variable] = []
    seen: set[Variable] = set()
    stack = list(reversed(inner)) if dtype.kind != "b" and uniform(node) else []
    while stack:
        x = stack.pop()
        if x.op is not op:
            result.append(x)
            continue
        kind = x.type
        first, second = x.inputs
        same = (first.type is kind and second.type is kind) or uniform(x)
        if kind.dtype is not dtype or not same or x in closed:
            result.append(x)
        elif x in seen or (limit is not None and len(seen) >= limit):
            return _shared_leaves(node, op, closed, limit)
        else:
            seen.add(x)
            stack.append(second)
            stack.append(first)
    return result or list(inner)


def _shared_leaves(
    node: Variable, op: Op, closed: Container[Variable], limit: int | None
) -> list[Variable]:
    """Return the operands of a view that is cut off, or in which an application occurs twice."""
    opened = region(node, op, closed, limit)
    result: list[Variable] = []
    stack = list(reversed(node.inputs))
    while stack:
        x = stack.pop()
        if x.op is op and opened.get(x, False):
            stack.extend(reversed(x.inputs))
        else:
            result.append(x)
    return result


def canonical(node: Variable, regroup: bool = True) -> Any:
    """Return a key that nodes share if they differ only in the order of their operands.

    Operands with the node's own op are opened, and others compared by identity.  With ``regroup``,
    floats may also be bracketed differently, which rounds differently.
    """
    op = node.op
    if op is None or not op.commutative:
        return node
    if op.associative and (regroup or node.type.dtype.kind != "f"):
        inner: Sequence[Variable] = leaves(node, op, (), NEAR)
    else:
        inner = node.inputs
    return (op, node.type, *sorted(inner, key=id))


def alike(a: Variable, b: Variable, regroup: bool = True) -> bool:
    """Return True if two nodes differ at most in the order of their operands.

    Below ops that do not commute, operands may differ in their order only, which never rounds.
    """
    if a is b:
        return True
    op = a.op
    if op is None or op is not b.op:
        return False
    if op.commutative:
        return bool(canonical(a, regroup) == canonical(b, regroup))
    pairs = [(a, b)]
    for x, y in pairs:  # grows during the loop
        op = x.op
        if op is None or op is not y.op:
            return False
        if op.commutative:
            if canonical(x, False) != canonical(y, False):
                return False
        elif len(x.inputs) != len(y.inputs) or len(pairs) > NEAR:
            return False
        else:
            pairs += [z for z in zip(x.inputs, y.inputs, strict=True) if z[0] is not z[1]]
    return True


def combined(op: Op, operands: Iterable[Variable]) -> Variable:
    """Return an op applied to operands; those of lower rank, which broadcast, come first."""
    return apply_chain(op, sorted(operands, key=_RANK))


def sequence(op: Op, node: Variable) -> list[Variable]:
    """Return the factors of a product of matrices in order, in whatever bracketing it has.

    Only what has two dimensions or more stands between two others.
    """
    factors: list[Variable] = []
    stack = [(node, False, False)]
    while stack:
        x, left, right = stack.pop()
        opens = x.op is op and x.type.dtype is node.type.dtype and uniform(x)
        inside = (
            opens and (not left or x.inputs[0].ndim > 1) and (not right or x.inputs[1].ndim > 1)
        )
        if inside and len(stack) + len(factors) < NEAR:
            stack.append((x.inputs[1], True, right))
            stack.append((x.inputs[0], left, True))
        else:
            factors.append(x)
    return factors


def segments(
    op: Op, node: Variable, heads: Sequence[Any], brackets: Any
) -> Iterator[tuple[Variable, ...]]:
    """Yield a product of matrices as one of fewer factors, first with the brackets of a pattern.

    Each of the ``heads`` is the op of a factor, or its class, and None stands for any product.
    The brackets are pairs, nested as the products are, with None for each factor.
    """
    written: list[Variable] = []
    stack = [(node, brackets)]
    while stack:
        x, shape = stack.pop()
        if shape is None:
            written.append(x)
        elif x.op is op and x.type.dtype is node.type.dtype:
            stack += [(x.inputs[1], shape[1]), (x.inputs[0], shape[0])]
        else:
            break
    first = tuple(written) if len(written) == len(heads) else None
    if first is not None:
        yield first
    factors = sequence(op, node)
    for cuts in _cuts(factors, 0, heads):
        ends = zip((0, *cuts), cuts, strict=False)
        parts = tuple([apply_chain(op, factors[i:j]) for i, j in ends])
        if parts != first:
            yield parts


def _cuts(
    factors: Sequence[Variable], start: int, heads: Sequence[Any]
) -> Iterator[tuple[int, ...]]:
    """Yield where the parts that fit the heads end; a part with a head is one factor."""
    if not heads:
        if start == len(factors):
            yield ()
        return
    head, *others = heads
    last = len(factors) - len(others)
    if head is not None:
        fits = start < last and (factors[start].op is head or type(factors[start].op) is head)
        last = start + 1 if fits else start
    elif not others:
        start = max(start, last - 1)
    for end in range(start + 1, last + 1):
        for cuts in _cuts(factors, end, others):
            yield (end, *cuts)
