"""Differentials: ``d`` of an application in terms of ``d`` of its operands.

The right sides are linear in the differentials.  Forward mode puts tangents in their places,
reverse mode transposes them by :mod:`relgraph.relations.catalogue.adjoints`, and rewriting by these
relations alone gives derivatives as formulas.  No mode runs them.

J. R. Magnus and H. Neudecker, Matrix Differential Calculus, 3rd ed., is cited as MN.  Where no
source is given, it is the sum, product or chain rule of MN, chapter 5.
"""

from __future__ import annotations

import inspect
from typing import Any

from relgraph.ops import elementwise
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.contraction import Einsum, Outer
from relgraph.ops.cumulative import Cummax, Cummin, Cumprod, Cumsum, iota
from relgraph.ops.differentials import d, inner_product, no_partial
from relgraph.ops.elementwise import ROWS, Elementwise
from relgraph.ops.elementwise.cast import Cast
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import (
    AddIndex,
    MaximumIndex,
    MinimumIndex,
    MultiplyIndex,
    SetIndex,
)
from relgraph.ops.inputs import Assume
from relgraph.ops.permutation import moveaxis, transpose
from relgraph.ops.reductions import Bottom, LogSoftmax, LogSumExp, Max, Min, Prod, Softmax, Sum, Top
from relgraph.ops.shape import ExpandDims, reshape
from relgraph.ops.sorting import Argsort, Sort
from relgraph.relations.catalogue import relations_in
from relgraph.relations.catalogue.updates import distincto
from relgraph.relations.differentiation import differential
from relgraph.relations.kanren.goals import calco, linearo, op_kindo
from relgraph.relations.relation import Relation

clip, where = Elementwise("clip"), elementwise.where
maximum, minimum = elementwise.maximum, elementwise.minimum


def axes_of(a: int) -> tuple[int, ...]:
    """Return the axes of a sum along one axis."""
    return (a,)


def elementwise_differential(name: str) -> Relation:
    """Return the differential of an elementwise op, from the partial derivatives in its row."""
    row, op = ROWS[name], Elementwise(name)
    derivative: Any = row.derivative

    def sides(*operands: Any) -> Any:
        result = op(*operands)
        partials = derivative(elementwise, result, *operands)
        terms = [
            no_partial(d(x)) if p is None else _times(p, d(x))
            for p, x in zip(partials, operands, strict=True)
            if not _is(p, 0)
        ]
        total = terms[0] if terms else 0 * d(operands[0])
        for term in terms[1:]:
            total = total + term
        return d(result), total

    names = [f"x{i}" for i in range(row.arity)] if row.arity > 1 else ["x"]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    sides.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(x, kind) for x in names]
    )
    sides.__doc__ = f"The differential of {name}, by the chain rule.\n\nSource: MN, chapter 5."
    return differential(sides, name=f"d_{name}o")  # type: ignore[no-any-return]


def _times(partial: Any, dx: Any) -> Any:
    return dx if _is(partial, 1) else -dx if _is(partial, -1) else partial * dx


def _is(x: Any, number: int) -> bool:
    return isinstance(x, int | float) and x == number


# Ops that choose among their operands have differentials of their own, below.
CHOOSING = ("condition", "extreme", "bounds")
ELEMENTWISE = tuple(
    elementwise_differential(name)
    for name, row in ROWS.items()
    if row.derivative is not None and row.decides not in CHOOSING
)


@differential
def d_whereo(c, x, y):
    """d(where(c, x, y)) = where(c, d(x), d(y))."""
    return d(where(c, x, y)), where(c, d(x), d(y))


@differential
def d_maximumo(x, y):
    """d(maximum(x, y)) is that of the larger operand, and the mean of both where x = y.

    The differential of the minimum is that of the smaller operand.
    """
    mean = 0.5 * (d(x) + d(y))
    yield d(maximum(x, y)), where(x > y, d(x), where(elementwise.equal(x, y), mean, d(y)))
    yield d(minimum(x, y)), where(x < y, d(x), where(elementwise.equal(x, y), mean, d(y)))


@differential
def d_clipo(x, a, b):
    """d(clip(x, a, b)) is d(a) below a, d(b) above b, and d(x) otherwise, also on the bounds."""
    return d(clip(x, a, b)), where(maximum(x, a) > b, d(b), where(x < a, d(a), d(x)))


@differential(where=lambda f: op_kindo(f, "additive"))
def d_joino(f, x):
    """d(f(x, ...)) = f(d(x), ...) for any f that is linear in all operands together.

    Source: MN, chapter 5.
    """
    return d(f(x, ...)), f(d(x), ...)


@differential
def d_outero(x, y):
    """d(outer(x, y)) = outer(d(x), y) + outer(x, d(y))."""
    return d(Outer()(x, y)), Outer()(d(x), y) + Outer()(x, d(y))


@differential
def d_softmaxo(x, a, b):
    """d(y) = y (d(x) - sum(y d(x))) for y = softmax(x); d(log(y)) = d(x) - sum(y d(x))."""
    y, z = Softmax(a)(x), LogSoftmax(a)(x)
    one = calco(b, axes_of, a)
    yield d(y), y * (d(x) - Sum(b, True)(y * d(x))), one
    yield d(z), d(x) - Sum(b, True)(elementwise.exp(z) * d(x)), one


def dtype_of(x: Any) -> str:
    """Return the name of a dtype."""
    return str(x.dtype.name)


@differential(where=lambda x, t: calco(t, dtype_of, x))
def d_maxo(x, a, k, t):
    """d(max(x)) is the mean of d(x) over the largest elements, and d(min(x)) over the smallest.

    With an initial value of -infinity, the maximum of nothing has the differential 0.
    """
    for reduction, least in ((Max, 0.0), (Min, 0.0), (Top, 1.0), (Bottom, 1.0)):
        hit = elementwise.equal(x, reduction(a, True)(x))
        count = Sum(a, k)(Cast(t)(hit))
        count = maximum(count, least) if least else count
        yield d(reduction(a, k)(x)), Sum(a, k)(where(hit, d(x), 0.0)) / count


@differential(where=linearo)
def d_linearo(f, x, k):
    """d(f(x)) = f(d(x)) for any f that is linear in its first operand; k holds sizes and indices.

    Source: MN, chapter 5.
    """
    return d(f(x, *k)), f(d(x), *k)


@differential
def d_casto(x, t):
    """d(cast(x, t)) = cast(d(x), t)."""
    return d(Cast(t)(x)), Cast(t)(d(x))


@differential
def d_logsumexpo(x, a, k):
    """d(logsumexp(x)) = sum(exp(x - logsumexp(x)) d(x)).

    Source: MN, chapter 5.
    """
    weights = elementwise.exp(x - LogSumExp(a, True)(x))
    return d(LogSumExp(a, k)(x)), Sum(a, k)(weights * d(x))


@differential(where=lambda x, t: calco(t, dtype_of, x))
def d_updateo(x, v, s, k, t):
    """d(x.at[s].set(v)) = d(x).at[s].set(d(v)), and d(x.at[s].add(v)) = d(x).at[s].add(d(v)).

    ``multiply`` sets the part to x[s] v, if the key names no element twice.  For ``max`` and
    ``min``, the differential is the mean of those of the operands that equal the result.
    """
    for update in (SetIndex, AddIndex):
        yield d(update(s)(x, v, *k)), update(s)(d(x), d(v), *k)
    part = Index(s)(x, *k)
    times = MultiplyIndex(s)(x, v, *k)
    yield d(times), SetIndex(s)(d(x), Index(s)(d(x), *k) * v + part * d(v), *k), distincto(s)
    for extreme in (MaximumIndex, MinimumIndex):
        y = extreme(s)(x, v, *k)
        kept, taken = elementwise.equal(x, y), elementwise.equal(v, Index(s)(y, *k))
        total = AddIndex(s)(where(kept, d(x), 0.0), where(taken, d(v), 0.0), *k)
        count = AddIndex(s)(Cast(t)(kept), Cast(t)(taken), *k)
        yield d(y), total / count


@differential
def d_assumeo(x, f):
    """d(assume(x)) = d(x)."""
    return d(Assume(f)(x)), d(x)


@differential
def d_inner_producto(x, y):
    """An inner product has the differential of sum(x y)."""
    return d(inner_product(x, y)), d(Sum(None, False)(x * y))


@differential
def d_einsumo(s, u, v, w, x):
    """d(einsum(u, v, ...)) = einsum(d(u), v, ...) + einsum(u, d(v), ...) + ..."""
    for count in range(1, 5):
        operands = (u, v, w, x)[:count]
        total = None
        for k in range(count):
            term = Einsum(s)(*[d(y) if i == k else y for i, y in enumerate(operands)])
            total = term if total is None else total + term
        yield d(Einsum(s)(*operands)), total


def others(u: Any, axis: int) -> Any:
    """Return, for each element, the product of the other elements along an axis."""
    rest = [slice(None)] * (-1 - axis)
    one = 0 * u[(..., slice(0, 1), *rest)] + 1

    def before(x: Any) -> Any:
        return Cumprod(axis)(Concatenate(axis)(one, x[(..., slice(0, -1), *rest)]))

    def reverse(x: Any) -> Any:
        return x[(..., slice(None, None, -1), *rest)]

    return before(u) * reverse(before(reverse(u)))


def other_factors(a: Any, u: Any) -> Any:
    """Return, for each element, the product of the other elements that ``prod`` multiplies."""
    axes = tuple(range(-u.ndim, 0)) if a is None else a
    if len(axes) == 1:
        return others(u, axes[0])
    rest = [i for i in range(-u.ndim, 0) if i not in axes]
    order = [*rest, *axes]
    axes_last = transpose(u, order)
    flat = reshape(axes_last, (*axes_last.shape[: len(rest)], -1))
    inverse = [order.index(i) for i in range(-u.ndim, 0)]
    return transpose(reshape(others(flat, -1), axes_last.shape), inverse)


def product_differential(a: Any, k: bool, u: Any, du: Any) -> Any:
    """Return the sum over elements of d(u) times the product of the other elements."""
    return Sum(a, k)(other_factors(a, u) * du)


@differential
def d_prodo(u, a, k, x):
    """d(prod(u)) is the sum of each d(u) times the product of the others, also at zeros."""
    return d(Prod(a, k)(u)), x, calco(x, product_differential, a, k, u, d(u))


@differential
def d_cumprodo(u, a):
    """d(cumprod(u)) = cumprod(u) cumsum(d(u) / u), where no element is 0."""
    return d(Cumprod(a)(u)), Cumprod(a)(u) * Cumsum(a)(d(u) / u)


def along(x: Any, indices: Any, axis: int) -> Any:
    """Return elements of ``x`` by their indices along an axis, as ``np.take_along_axis`` does."""
    if x.ndim == 1:
        return x[indices]
    x, indices = moveaxis(x, axis, -1), moveaxis(indices, axis, -1)
    shape, n = x.shape, x.shape[-1]
    flat = reshape(x, (-1,))
    lines = reshape(indices, (-1, n))
    positions = lines + ExpandDims((-1,))(iota(lines.shape[0]) * n)
    return moveaxis(reshape(flat[reshape(positions, (-1,))], shape), -1, axis)


def sorted_along(x: Any, u: Any, axis: int) -> Any:
    """Return the elements of ``x`` in the order that sorts ``u``."""
    return along(x, Argsort(axis)(u), axis)


def last_extreme(x: Any, u: Any, y: Any, axis: int) -> Any:
    """Return the elements of ``x`` at the last index so far where ``u`` equals ``y``."""
    n = iota(u.shape[axis])
    n = ExpandDims(tuple(range(axis + 1, 0)))(n) if axis < -1 else n
    return along(x, Cummax(axis)(where(elementwise.equal(u, y), n, 0)), axis)


@differential
def d_sorto(u, a, x):
    """d(sort(u)) = d(u)[argsort(u)], and d(cummax(u)) is d(u) at the last index of the maximum.

    The differential of cummin is d(u) at the last index of the minimum.
    """
    yield d(Sort(a)(u)), x, calco(x, sorted_along, d(u), u, a)
    for running in (Cummax, Cummin):
        y = running(a)(u)
        yield d(y), x, calco(x, last_extreme, d(u), u, y, a)


RELATIONS = (*ELEMENTWISE, *relations_in(globals()))
