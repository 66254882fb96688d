"""Sums, products and extremes over axes.

An axis parameter is a logic variable: one relation serves every axis.
"""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from typing import Any

from relgraph.ops.elementwise import exp, logical_not
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.reduction import all, any, logsumexp, max, mean, min, prod, sum
from relgraph.relations.catalogue.conditions import scalaro
from relgraph.relations.goals import calco, checko, eq, floato, lall, lany
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, identity, relation

CANONICAL = ("canonicalize", "fast_run")


def merged_axes(inner: Any, outer: Any, keepdims: Any, x: Any) -> tuple[int, ...]:
    """Return the axes of ``x`` that two reductions in turn reduce, counted from the end.

    Parameters
    ----------
    inner, outer : tuple of int or None
        The axes of the first reduction, and of the second, which counts among those that are left.
    keepdims : bool
        Whether reduced axes stay.
    x : Variable
        What is reduced.
    """
    every = range(-x.ndim, 0)
    first = set(every) if inner is None else set(inner)
    left = list(every) if keepdims else [axis for axis in every if axis not in first]
    second = left if outer is None else [left[axis] for axis in outer]
    return tuple(sorted(first | set(second)))


def merged_some(inner: Any, outer: Any, keepdims: Any, x: Any) -> tuple[int, ...] | None:
    """Return the merged axes, or None where they are all axes."""
    found = merged_axes(inner, outer, keepdims, x)
    return found if len(found) < x.ndim else None


def merged_all(inner: Any, outer: Any, keepdims: Any, x: Any) -> bool:
    """Tell whether two reductions in turn reduce all axes."""
    return bool(len(merged_axes(inner, outer, keepdims, x)) == x.ndim)


def _nested(reduce: Any, left: Any, right: Any) -> Any:
    """Relate a reduction of a reduction to one reduction, over some axes or over all."""
    x, a, b, c, keepdims = lvars("x a b c keepdims")
    twice = reduce(reduce(x, axis=a, keepdims=keepdims), axis=b, keepdims=keepdims)
    return lany(
        lall(
            eq(left, twice),
            eq(right, reduce(x, axis=None, keepdims=keepdims)),
            checko(merged_all, a, b, keepdims, x, label="all axes are reduced"),
        ),
        lall(
            eq(left, twice),
            eq(right, reduce(x, axis=c, keepdims=keepdims)),
            calco(c, merged_some, a, b, keepdims, x),
        ),
    )


@relation(tags=CANONICAL, specials="assumes_finite")
def merge_sumo(left, right):
    """sum_b(sum_a(x)) = sum_(a, b)(x).

    Holds always, modulo 2^n for integers; rounded (another order of summation, within
    n u sum |x|), assumes_finite (a partial sum may overflow).
    Source: associative and commutative laws; N. J. Higham, Accuracy and Stability of Numerical
    Algorithms, 2nd ed., section 4.2.
    """
    return _nested(sum, left, right)


@relation(tags=CANONICAL, specials="assumes_finite")
def merge_prodo(left, right):
    """prod_b(prod_a(x)) = prod_(a, b)(x).

    Holds always, modulo 2^n for integers; rounded (another order, within n u |prod x|),
    assumes_finite (a partial product may overflow).
    Source: associative and commutative laws.
    """
    return _nested(prod, left, right)


@relation(tags=CANONICAL)
def merge_extremeo(left, right):
    """max_b(max_a(x)) = max_(a, b)(x), and so for min, any and all.

    Holds always; rounded (the extreme of 0.0 and -0.0 may be either), kept.
    Source: associative and commutative laws of a lattice.
    """
    return lany(*[_nested(reduce, left, right) for reduce in (max, min, any, all)])


@relation(tags=CANONICAL)
def merge_logsumexpo(left, right):
    """logsumexp_b(logsumexp_a(x)) = logsumexp_(a, b)(x).

    Holds always; rounded, kept.
    Source: e^logsumexp(x) = sum(e^x), and sums merge.
    """
    return _nested(logsumexp, left, right)


@relation(tags=CANONICAL)
def remove_reduceo(left, right):
    """sum(x) over no axes = x, and so for prod, max, min and mean.

    Holds always; rounded (a sum may lose the sign of -0.0), kept.
    Source: a sum of one term is the term.
    """
    (x,) = lvars("x")
    return lany(*[lall(eq(left, f(x, axis=())), eq(right, x)) for f in (sum, prod, max, min, mean)])


@relation(tags=(*CANONICAL, "sum_scalar_mul"))
def lift_sum_negativeo(left, right):
    """sum(-x) = -sum(x), and so for the mean.

    Holds always, modulo 2^n for integers; rounded (a sum of 0 may change its sign), kept.
    Source: rounding to nearest is symmetric, IEEE 754-2019, section 4.3.1.
    """
    x, axis, keepdims = lvars("x axis keepdims")
    return lany(
        *[
            lall(
                eq(left, reduce(-x, axis=axis, keepdims=keepdims)),
                eq(right, -reduce(x, axis=axis, keepdims=keepdims)),
            )
            for reduce in (sum, mean)
        ]
    )


@identity(
    tags=(*CANONICAL, "sum_scalar_mul"),
    where=lambda c: scalaro(c),
    specials="assumes_finite",
    broadcast="c",
)
def lift_sum_multiplyo(c, x, axis, keepdims):
    """sum(c x) = c sum(x) for a scalar c.

    Holds always, modulo 2^n for integers; rounded (within n u |c| sum |x|), assumes_finite
    (0 times an infinite sum of finite terms is NaN).
    Source: distributive law.
    """
    return sum(c * x, axis=axis, keepdims=keepdims), c * sum(x, axis=axis, keepdims=keepdims)


@identity(
    tags=(*CANONICAL, "sum_scalar_mul"),
    where=lambda c: scalaro(c),
    specials="assumes_finite",
    broadcast="c",
)
def lift_mean_multiplyo(c, x, axis, keepdims):
    """mean(c x) = c mean(x) for a scalar c.

    Holds for floats; rounded (within n u |c| mean |x|), assumes_finite.
    Source: distributive law.
    """
    return mean(c * x, axis=axis, keepdims=keepdims), c * mean(x, axis=axis, keepdims=keepdims)


@identity(
    tags=(*CANONICAL, "sum_scalar_mul"),
    where=lambda c: scalaro(c),
    specials="assumes_finite",
    broadcast="c",
)
def lift_sum_divideo(c, x, axis, keepdims):
    """sum(x / c) = sum(x) / c for a scalar c.

    Holds for floats; rounded (within n u sum |x / c|), assumes_finite.
    Source: distributive law.
    """
    return sum(x / c, axis=axis, keepdims=keepdims), sum(x, axis=axis, keepdims=keepdims) / c


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_sum_addo(x, y, axis, keepdims):
    """sum(x + y) = sum(x) + sum(y).

    Holds where x and y have one shape, modulo 2^n for integers; rounded (within
    n u sum (|x| + |y|)), assumes_finite.
    Source: associative and commutative laws.
    """
    return (
        sum(x + y, axis=axis, keepdims=keepdims),
        sum(x, axis=axis, keepdims=keepdims) + sum(y, axis=axis, keepdims=keepdims),
    )


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_sum_subtracto(x, y, axis, keepdims):
    """sum(x - y) = sum(x) - sum(y).

    Holds where x and y have one shape, modulo 2^n for integers; rounded (within
    n u sum (|x| + |y|)), assumes_finite.
    Source: associative and commutative laws.
    """
    return (
        sum(x - y, axis=axis, keepdims=keepdims),
        sum(x, axis=axis, keepdims=keepdims) - sum(y, axis=axis, keepdims=keepdims),
    )


@relation(tags=CANONICAL, specials="assumes_finite")
def absorb_sum_transposeo(left, right):
    """sum(x.mT) = sum(x); the rows of a transpose are the columns.

    Holds always; rounded (another order of summation, within n u sum |x|), assumes_finite.
    Source: commutative law.
    """
    (x,) = lvars("x")
    turned = matrix_transpose(x)
    return lany(
        lall(eq(left, sum(turned)), eq(right, sum(x))),
        lall(eq(left, sum(turned, axis=-1)), eq(right, sum(x, axis=-2))),
        lall(eq(left, sum(turned, axis=-2)), eq(right, sum(x, axis=-1))),
    )


@relation(tags=CANONICAL)
def negate_extremeo(left, right):
    """-max(-x) = min(x), and -min(-x) = max(x).

    Holds for floats (the least integer is its own negative); rounded (the extreme of 0.0 and
    -0.0 may be either), kept.
    Source: negation reverses the order.
    """
    x, axis, keepdims = lvars("x axis keepdims")
    return lany(
        *[
            lall(
                eq(left, -outer(-x, axis=axis, keepdims=keepdims)),
                eq(right, inner(x, axis=axis, keepdims=keepdims)),
                floato(x),
            )
            for outer, inner in ((max, min), (min, max))
        ]
    )


@relation(tags=CANONICAL)
def lift_extreme_expo(left, right):
    """max(e^x) = e^max(x), and so for min.

    Holds always; rounded (a computed exponential need not be monotone to the last bit), kept.
    Source: the exponential increases, DLMF 4.2(iii).
    """
    x, axis, keepdims = lvars("x axis keepdims")
    return lany(
        *[
            lall(
                eq(left, extreme(exp(x), axis=axis, keepdims=keepdims)),
                eq(right, exp(extreme(x, axis=axis, keepdims=keepdims))),
            )
            for extreme in (max, min)
        ]
    )


@identity(
    tags=CANONICAL,
    where=lambda x, c: (floato(x), scalaro(c)),
    specials="assumes_finite",
    broadcast="c",
)
def lift_max_addo(x, c, axis, keepdims):
    """max(x + c) = max(x) + c for a scalar c.

    Holds for floats; rounded (zeros may differ in sign), assumes_finite (infinity - infinity is
    NaN).
    Source: adding a constant keeps the order, and rounding is monotone.
    """
    return max(x + c, axis=axis, keepdims=keepdims), max(x, axis=axis, keepdims=keepdims) + c


@relation(tags=CANONICAL, rounding="exact")
def lift_any_noto(left, right):
    """any(not x) = not all(x), and all(not x) = not any(x).

    Holds always; exact, kept.
    Source: De Morgan's laws.
    """
    x, axis, keepdims = lvars("x axis keepdims")
    return lany(
        *[
            lall(
                eq(left, outer(logical_not(x), axis=axis, keepdims=keepdims)),
                eq(right, logical_not(inner(x, axis=axis, keepdims=keepdims))),
            )
            for outer, inner in ((any, all), (all, any))
        ]
    )


RELATIONS: tuple[Relation, ...] = (
    merge_sumo,
    merge_prodo,
    merge_extremeo,
    merge_logsumexpo,
    remove_reduceo,
    lift_sum_negativeo,
    lift_sum_multiplyo,
    lift_mean_multiplyo,
    lift_sum_divideo,
    distribute_sum_addo.reversed,
    distribute_sum_subtracto.reversed,
    absorb_sum_transposeo,
    negate_extremeo,
    lift_extreme_expo,
    lift_max_addo,
    lift_any_noto,
)
