"""The normal forms of graphs, polynomials of words: the rule of each op.

Proofs are about real numbers.  A float constant is the dyadic number that it holds; a conversion
between floats changes nothing; integers wrap around, so an integer result is an atom where floats
read it.  Inverses, quotients, roots and logarithms that a graph contains are assumed to exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from relgraph.ir.fact_inference import fact
from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import GetItem, Op
from relgraph.ir.types import Dim, TensorType
from relgraph.ops import elementwise
from relgraph.ops.contraction import Matmul, Outer
from relgraph.ops.elementwise import Cast
from relgraph.ops.indexing.index import Index
from relgraph.ops.linalg.factored_solve import ChoSolve
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular
from relgraph.ops.linalg.structured import Diag, Diagonal, Eye, Trace
from relgraph.ops.permutation import MatrixTranspose, Rearrangement, Transpose
from relgraph.ops.reductions import Mean, Sum
from relgraph.ops.shape import BroadcastTo, ExpandDims, Squeeze
from relgraph.ops.shape import Dim as SizeOf
from relgraph.search.determinants import determinant
from relgraph.search.elementary import absolute, exponential, logarithm, sign
from relgraph.search.inverses import inverse, orthogonal
from relgraph.search.labels import Coefficient, magnitude
from relgraph.search.polynomials import (
    ONE,
    Atom,
    Monomial,
    Polynomial,
    Unsupported,
    added,
    key_of,
    scaled,
    single,
)
from relgraph.search.words import Words

Value = tuple[bool, Polynomial]  # whether it is elementwise, rather than a matrix
Rule = Callable[["NormalForms", Variable], Value]
Rules = dict[Op | type[Op], tuple[Rule, str]]

HALF = Fraction(1, 2)


def shape_of(x: Variable) -> tuple[Dim, Dim, bool]:
    """Return rows and columns of a graph, and whether it is several matrices; a vector is a row."""
    shape = x.type.shape
    rows = shape[-2] if len(shape) > 1 else 1
    return rows, shape[-1] if shape else 1, len(shape) > 2


class NormalForms:
    """The polynomials of graphs, in one table of words.

    Parameters
    ----------
    words : Words
        The table.
    rules : dict, optional
        The rules of ops, :data:`RULES` unless given; an op without one is an atom.
    """

    def __init__(self, words: Words, rules: Rules | None = None) -> None:
        self.words = words
        self.rules = RULES if rules is None else rules
        self.values: dict[Variable, Value] = {}
        self.sizes: dict[str, Variable] = {}

    def read(self, x: Variable) -> Value:
        """Return the value of a node; its operands are read already."""
        self.words.budget.spend()
        if isinstance(x.type, TensorType):
            for axis, size in enumerate(x.type.shape):
                if isinstance(size, str) and size not in self.sizes:
                    self.sizes[size] = SizeOf(axis - x.ndim)(x)
        value = self._value(x)
        self.values[x] = value
        return value

    def _value(self, x: Variable) -> Value:
        if not isinstance(x.type, TensorType) or x.type.layout != "dense":
            return False, {}
        if isinstance(x, Constant):
            return self._constant(x)
        rule = None if x.op is None or x.dtype.kind == "b" else self._rule(x.op)
        if rule is not None and (x.dtype.kind == "f" or x.op in RING or type(x.op) in RING):
            try:
                self.words.laws[rule[1]] = None
                return rule[0](self, x)
            except Unsupported:
                pass
        return self._atom(x)

    def _rule(self, op: Op) -> tuple[Rule, str] | None:
        rule = self.rules.get(op)
        for cls in () if rule else type(op).__mro__:
            rule = rule or self.rules.get(cls)
        return rule

    # Operands.

    def field(self, x: Variable) -> Polynomial:
        """Return a graph as an elementwise expression."""
        elementwise_, p = self.values[x]
        rows, _, batch = shape_of(x)
        return p if elementwise_ else self.words.entries(p, rows, batch)

    def matrix(self, x: Variable) -> Polynomial:
        """Return a graph as a matrix, or a row."""
        elementwise_, p = self.values[x]
        return self.words.matrices(p, *shape_of(x)) if elementwise_ else p

    def operand(self, x: Variable, k: int, read: Callable[[Variable], Polynomial]) -> Polynomial:
        """Return operand ``k`` of a node; one that is converted to another dtype is an atom."""
        y = x.inputs[k]
        floats = x.dtype.kind == y.dtype.kind == "f"
        if floats or y.op is None or y.op.reads_shape or x.dtype == y.dtype:
            return read(y)
        key = "converted", y.dtype.name, key_of(self.field(y)), y.type.shape
        atom = self._new(y, key)
        if read == self.matrix and not atom.is_scalar:
            return single((), ((atom.number, False),))
        return self.words.factor(atom)

    def fields(self, x: Variable) -> list[Polynomial]:
        """Return all operands of a node as elementwise expressions."""
        return [self.operand(x, k, self.field) for k in range(len(x.inputs))]

    def matrices(self, x: Variable) -> list[Polynomial]:
        """Return all operands of a node as matrices."""
        return [self.operand(x, k, self.matrix) for k in range(len(x.inputs))]

    # Leaves and functions.

    def _new(self, x: Variable, key: Any) -> Atom:
        rows, columns, batch = shape_of(x)
        facts = {
            name: fact(x, name) is True
            for name in ("symmetric", "orthogonal", "invertible", "positive", "nonnegative")
        }
        if batch or x.ndim < 2:
            facts["symmetric"] = facts["orthogonal"] = False
        before = len(self.words.atoms)
        atom = self.words.atom(
            "graph", key, rows=rows, columns=columns, batch=batch, graph=x, **facts
        )
        if atom.number == before and atom.orthogonal:
            orthogonal(self.words, atom.number)
        return atom

    def _atom(self, x: Variable) -> Value:
        """Return a graph that is no sum or product: an op on the normal forms of its operands."""
        key: Any = x
        if x.op is not None and all([isinstance(y.type, TensorType) for y in x.inputs]):
            parts = [(key_of(self.field(y)), y.type.shape, y.dtype.name) for y in x.inputs]
            if x.op.commutative:
                parts.sort(key=repr)
            key = x.op, tuple(parts), x.type.shape
        atom = self._new(x, key)
        if atom.is_scalar or (x.op is not None and x.op.pointwise):
            return True, self.words.factor(atom)
        return False, single((), ((atom.number, False),))

    def _constant(self, x: Constant) -> Value:
        value = x.value
        if x.dtype.kind in "fiu" and np.isfinite(value).all():
            if x.uniform is not None:
                number = Fraction(x.uniform.item())
                return True, single(c=number) if number else {}
            side = len(value) if value.ndim == 2 else 0
            if side > 1 and value.shape == (side, side) and (value == np.eye(side)).all():
                return False, ONE
        return self._atom(x)


# The rules, by op or by class of op.


def _elementwise(of: Callable[..., Polynomial]) -> Rule:
    """Return the rule of a function of words and the operands as elementwise expressions."""
    return lambda self, x: (True, of(self.words, *self.fields(x)))


def _matrix(of: Callable[..., Polynomial]) -> Rule:
    """Return the rule of a function of words and the operands as matrices."""
    return lambda self, x: (False, of(self.words, *self.matrices(x)))


def ratio_of(above: Op, below: Op) -> Rule:
    """Return the rule of the quotient of two functions."""

    def rule(self: NormalForms, x: Variable) -> Value:
        top, bottom = above(*x.inputs), below(*x.inputs)
        for y in (top, bottom):
            if y not in self.values:
                self.read(y)
        return True, self.words.times(self.field(top), self.words.power(self.field(bottom), -1))

    return rule


def _to_power(e: Coefficient) -> Rule:
    return _elementwise(lambda words, p: words.power(p, e))


def _sum(sign: int) -> Rule:
    def rule(self: NormalForms, x: Variable) -> Value:
        alike = [shape_of(y)[:2] == shape_of(x)[:2] and not self.values[y][0] for y in x.inputs]
        a, b = self.matrices(x) if all(alike) else self.fields(x)
        return not all(alike), added(a, b, sign)

    return rule


def _negative(self: NormalForms, x: Variable) -> Value:
    elementwise_ = self.values[x.inputs[0]][0]
    (p,) = self.fields(x) if elementwise_ else self.matrices(x)
    return elementwise_, scaled(p, -1)


def _scaled_by(power: int) -> Rule:
    def rule(self: NormalForms, x: Variable) -> Value:
        for k in (1, 0) if power == 1 else (1,):
            rows, columns, batch = shape_of(x.inputs[k])
            other = x.inputs[1 - k]
            if rows == columns == 1 and not batch and shape_of(other) == shape_of(x):
                if self.values[other][0]:
                    break
                scalar = self.words.power(self.operand(x, k, self.field), power)
                return False, self.words.times(scalar, self.operand(x, 1 - k, self.matrix))
        a, b = self.fields(x)
        return True, self.words.times(a, self.words.power(b, power))

    return rule


def power_of(of_any_base: bool) -> Rule:
    """Return the rule of powers; with ``of_any_base``, bases are taken for positive if need be."""

    def rule(self: NormalForms, x: Variable) -> Value:
        base, exponent = x.inputs
        number = self.field(exponent)
        if number.keys() <= ONE.keys():  # no atoms
            e = number.get(next(iter(ONE)), 0)
            if x.dtype.kind != "f" and e < 0:
                raise Unsupported("a power of integers")
            return True, self.words.power(self.operand(x, 0, self.field), e)
        if x.dtype.kind != "f" or not (of_any_base or fact(base, "positive")):
            raise Unsupported("a power")
        p, q = self.fields(x)
        return True, exponential(self.words, self.words.times(q, logarithm(self.words, p)))

    return rule


def _log(words: Words, p: Polynomial) -> Polynomial:
    (m, _), c = next(iter(p.items()), (((), ()), 0))
    if len(p) == len(m) == 1 and c > 0 and m[0][1] % 2 == 1:
        words.atoms[m[0][0]].positive = True  # or there is no logarithm
    return logarithm(words, p)


def _hyperbolic(above: int, below: int | None, c: Coefficient = 1) -> Rule:
    """Return the rule of c (e^x + above e^-x) / (e^x + below e^-x); None leaves a part out."""

    def function(words: Words, p: Polynomial) -> Polynomial:
        grows, falls = (exponential(words, scaled(p, sign)) for sign in (1, -1))
        top = added(grows, falls, above)
        bottom = ONE if below is None else added(grows, falls, below)
        return scaled(words.times(top, words.power(bottom, -1)), c)

    return _elementwise(function)


def _absolute(self: NormalForms, x: Variable) -> Value:
    p, words = self.operand(x, 0, self.field), self.words
    if x.dtype.kind != "f" or len(p) != 1:
        raise Unsupported("the absolute value of a sum")
    (((m, _), c),) = p.items()
    factors = [words.factor(absolute(words, i) if e % 2 else words.atoms[i], e) for i, e in m]
    return True, reduce(words.times, factors, single(c=magnitude(c)))


def _same(self: NormalForms, x: Variable) -> Value:
    (y,) = x.inputs
    if x.dtype.kind != "f" or (y.dtype.kind != "f" and y.op is not None):
        raise Unsupported("a conversion")
    return self.values[y]


def _matmul(self: NormalForms, x: Variable) -> Value:
    a, b = x.inputs
    if (a.ndim < 2 or b.ndim < 2) and max(a.ndim, b.ndim) > 2:
        raise Unsupported("several matrices and a vector")
    inner = a.type.shape[-1], b.type.shape[-2 if b.ndim > 1 else -1]
    if (inner[0] == 1) != (inner[1] == 1):
        raise Unsupported("a size that may be another one")
    p, q = self.matrices(x)
    words = self.words
    for terms, law in ((p, "distribute_add_matmulo"), (q, "distribute_matmul_addo")):
        if len(terms) > 1:
            words.laws[law] = None
    product = words.times(p, words.transpose(q) if b.ndim == 1 else q)
    is_column = b.ndim == 1 and a.ndim == 2  # a vector is a row
    return False, words.transpose(product) if is_column else product


def _permuted(self: NormalForms, x: Variable) -> Value:
    axes = _axes(x)
    if len(axes) < 2 or tuple(axes) != (*range(-len(axes), -2), -1, -2):
        return _linear(self, x)
    return False, self.words.transpose(self.operand(x, 0, self.matrix))


def _params(x: Variable) -> tuple[Any, ...]:
    return x.op.params  # type: ignore[union-attr]


def _axes(x: Variable) -> Sequence[int]:
    """Return the axes that an op speaks of, by default all."""
    axes: Sequence[int] | None = _params(x)[0]
    return range(-x.inputs[0].ndim, 0) if axes is None else axes


def _side(x: Variable) -> Dim:
    """Return the size of a square matrix."""
    rows, columns, _ = shape_of(x)
    if (rows == 1) != (columns == 1):
        raise Unsupported("a size that may be another one")
    return columns if rows is None else rows


def _inv(self: NormalForms, x: Variable) -> Value:
    return False, inverse(self.words, self.operand(x, 0, self.matrix), _side(x.inputs[0]))


def _solve(self: NormalForms, x: Variable) -> Value:
    p, q = self.matrices(x)
    a, b = x.inputs
    words = self.words
    if isinstance(x.op, SolveTriangular | ChoSolve):
        lower, turned, unit = (*x.op.params, False, False)[:3]
        if unit or not fact(a, "lower_triangular" if lower else "upper_triangular"):
            raise Unsupported("a triangle of a matrix")
        transpose = words.transpose(p)
        if isinstance(x.op, ChoSolve):
            p = words.times(p, transpose) if lower else words.times(transpose, p)
        elif turned:
            p = transpose
    inverted = inverse(words, p, _side(a))
    if a.ndim > 2 or b.ndim > 2:
        raise Unsupported("several systems")
    if b.ndim == 1:
        return False, words.times(q, words.transpose(inverted))
    return False, words.times(inverted, q)


def _cholesky(self: NormalForms, x: Variable) -> Value:
    p = self.operand(x, 0, self.matrix)
    elementwise_, factor = self._atom(x)
    if not elementwise_ and self.words.transpose(p) == p:  # it reads one triangle
        ((_, (letter,)),) = factor
        turned = letter[0], True
        first, second = (letter, turned) if _params(x)[0] else (turned, letter)
        self.words.rules.setdefault(second, [(1, (first, second), p)])
    return elementwise_, factor


def _eye(self: NormalForms, x: Variable) -> Value:
    n, m, k, _ = _params(x)
    if x.inputs or n != m or k != 0 or n == 1:
        raise Unsupported("another diagonal")
    return False, ONE


def _diag(self: NormalForms, x: Variable) -> Value:
    if _params(x) != (0,) or x.ndim != 2:
        raise Unsupported("another diagonal")
    return False, self.words.diagonal(self.operand(x, 0, self.field))


def _diagonal(self: NormalForms, x: Variable) -> Value:
    rows, columns, _ = shape_of(x.inputs[0])
    if _params(x) != (0,) or x.ndim != 1 or rows is None or rows != columns or rows == 1:
        raise Unsupported("another diagonal")
    p = self.operand(x, 0, self.matrix)
    return True, self.words.mapped(p, lambda word: self.words.main_diagonal(word, rows))


def _trace(self: NormalForms, x: Variable) -> Value:
    rows, columns, batch = shape_of(x.inputs[0])
    if batch or rows is None or rows != columns:
        raise Unsupported("traces of several matrices")
    return True, self.words.trace_of(self.operand(x, 0, self.matrix), rows)


def _total(self: NormalForms, x: Variable) -> Value:
    """Return a sum or mean over rows, columns or both, as products with rows of ones."""
    (y,) = x.inputs
    rows, columns, _ = shape_of(y)
    words, axes = self.words, _axes(x)
    if y.ndim > 2:
        raise Unsupported("sums of several matrices")
    p = self.operand(x, 0, self.matrix)
    if -2 in axes and rows != 1:
        p = words.times(single((), (words.ones(rows),)), p)
    if -1 in axes and columns != 1:
        p = words.times(p, single((), (words.column_of_ones(columns),)))
    if -1 in axes and -2 not in axes and not x.op.keepdims:  # type: ignore[union-attr]
        p = words.transpose(p)
    if isinstance(x.op, Mean):
        sizes = [words.size(y.type.shape[axis]) for axis in axes]
        p = words.times(words.power(reduce(words.times, sizes, ONE), -1), p)
    return False, p


def _size(self: NormalForms, x: Variable) -> Value:
    return True, self.words.size(x.inputs[0].type.shape[_params(x)[0]])


def _det(self: NormalForms, x: Variable) -> Value:
    powers = [self.words.power(p, e) for p, e in _factors(self, x)]
    return True, reduce(self.words.times, powers, ONE)


def _factors(self: NormalForms, x: Variable) -> list[tuple[Polynomial, int]]:
    (y,) = x.inputs
    if y.ndim != 2 or (y.dtype.kind != "f" and y.op is not None):
        raise Unsupported("determinants of several matrices, or a conversion")
    return determinant(self.words, self.matrix(y), _side(y))


def _item(self: NormalForms, x: Variable) -> Value:
    (source,) = x.inputs
    if not isinstance(source.op, Slogdet):
        raise Unsupported("a result of several")
    words, factors = self.words, _factors(self, source)
    if _params(x)[0]:
        logarithms = [scaled(logarithm(words, p), e) for p, e in factors]
        return True, reduce(added, logarithms, {})
    if factors:
        words.laws["sign_matmulo"] = None
    return True, reduce(words.times, [sign(words, p, e) for p, e in factors], ONE)


def _moved(self: NormalForms, x: Variable) -> Value:
    """Return a value with axes of size 1 added or removed."""
    y = x.inputs[0]
    if max(x.ndim, y.ndim) > 2:
        return _linear(self, x)
    if y.ndim > x.ndim and any([y.type.shape[axis] != 1 for axis in _axes(x)]):
        raise Unsupported("a size that may be another one")
    p = self.operand(x, 0, self.matrix)
    return False, self.words.transpose(p) if shape_of(x)[:2] != shape_of(y)[:2] else p


def _broadcast(self: NormalForms, x: Variable) -> Value:
    sizes = zip(shape_of(x.inputs[0])[:2], shape_of(x)[:2], strict=True)
    if any([a not in (b, 1) for a, b in sizes]):
        raise Unsupported("a size that is made exact")
    return True, self.operand(x, 0, self.field)


def _linear(self: NormalForms, x: Variable) -> Value:
    """Return a function that moves elements of its first operand: one of each term."""
    y, *others = x.inputs
    rest = tuple([(key_of(self.field(z)), z.type.shape) for z in others])
    rows, columns, batch = shape_of(x)

    def moved(arrays: Monomial) -> Polynomial:
        if not arrays:
            raise Unsupported("a number stretched to an array")
        key = x.op, arrays, y.type.shape, x.type.shape, rest
        about = {"rows": rows, "columns": columns, "batch": batch, "graph": x}
        return self.words.factor(self.words.atom("moved", key, **about))

    return True, self.words.mapped_arrays(self.operand(x, 0, self.field), moved)


# With the law of the catalogue that a step follows from, its main one if there are several.
RING: Rules = {
    elementwise.add: (_sum(1), "collect_like_termso"),
    elementwise.subtract: (_sum(-1), "gather_subtract_multiplyo"),
    elementwise.multiply: (_scaled_by(1), "distribute_multiply_addo"),
    elementwise.negative: (_negative, "negate_subtracto"),
    elementwise.square: (_to_power(2), "square_multiplyo"),
    elementwise.Elementwise("power"): (power_of(False), "merge_whole_powero"),
    Matmul: (_matmul, "associate_matmulo"),
    Outer: (_matrix(lambda w, p, q: w.times(w.transpose(p), q)), "associate_outer_matrixo"),
    MatrixTranspose: (_matrix(Words.transpose), "transpose_matmulo"),
    Transpose: (_permuted, "transpose_matmulo"),
    Eye: (_eye, "remove_matmul_eyeo"),
    Diag: (_diag, "scale_rowso"),
    Diagonal: (_diagonal, "diagonal_matmulo"),
    ExpandDims: (_moved, "merge_expand_dimso"),
    Squeeze: (_moved, "merge_squeezeo"),
    SizeOf: (_size, "commutative ring"),
    BroadcastTo: (_broadcast, "absorb_broadcast_too"),
}
RULES: Rules = RING | {
    elementwise.true_divide: (_scaled_by(-1), "cancel_divide_multiplyo"),
    elementwise.reciprocal: (_to_power(-1), "reciprocal_powero"),
    elementwise.sqrt: (_to_power(HALF), "sqrt_powero"),
    elementwise.exp: (_elementwise(exponential), "distribute_exp_addo"),
    elementwise.expm1: (
        _elementwise(lambda w, p: added(exponential(w, p), ONE, -1)),
        "expm1_subtracto",
    ),
    elementwise.log: (_elementwise(_log), "distribute_log_multiplyo"),
    elementwise.log1p: (_elementwise(lambda w, p: logarithm(w, added(p, ONE))), "log1p_addo"),
    elementwise.tan: (ratio_of(elementwise.sin, elementwise.cos), "quotient_sin_coso"),
    elementwise.sinh: (_hyperbolic(-1, None, HALF), "exponential_hyperbolico"),
    elementwise.cosh: (_hyperbolic(1, None, HALF), "exponential_hyperbolico"),
    elementwise.tanh: (_hyperbolic(-1, 1), "exponential_tanho"),
    elementwise.sigmoid: (
        _elementwise(lambda w, p: w.power(added(exponential(w, scaled(p, -1)), ONE), -1)),
        "sigmoid_divideo",
    ),
    elementwise.softplus: (
        _elementwise(lambda w, p: logarithm(w, added(exponential(w, p), ONE))),
        "softplus_logo",
    ),
    elementwise.absolute: (_absolute, "distribute_absolute_multiplyo"),
    Cast: (_same, "remove_casto"),
    Inv: (_inv, "reverse_inv_matmulo"),
    Solve: (_solve, "solve_invo"),
    SolveTriangular: (_solve, "solve_lower_triangularo"),
    ChoSolve: (_solve, "pair_triangular_solveso"),
    Cholesky: (_cholesky, "cancel_choleskyo"),
    Trace: (_trace, "cycle_traceo"),
    Sum: (_total, "sum_matmulo"),
    Mean: (_total, "divide_sumo"),
    Det: (_det, "det_matmulo"),
    GetItem: (_item, "logdet_matmulo"),
    Index: (_linear, "merge_indexo"),
    Rearrangement: (_linear, "absorb_rearrangemento"),
}


__all__ = ["RULES", "NormalForms", "power_of", "ratio_of", "shape_of"]
