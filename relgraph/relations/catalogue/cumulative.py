"""Cumulative sums, products and extremes along an axis.

The axis parameter is a logic variable: one relation serves every axis.
"""

from __future__ import annotations

from typing import Any

from relgraph.ir.node import Variable
from relgraph.ops.cumulative import Cummax, Cummin, Cumprod, Cumsum
from relgraph.ops.elementwise import add, exp, log, subtract
from relgraph.ops.indexing import composition as keys
from relgraph.ops.indexing.expression import FULL
from relgraph.ops.indexing.index import Index
from relgraph.ops.reductions import Max, Min, Prod, Sum
from relgraph.relations.catalogue import CANONICAL, TIDY, relations_in
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import calco, checko, floato, positiveo

ALL = (Cumsum, Cumprod, Cummax, Cummin)


def level_along(c: Any, a: Any, x: Any) -> bool:
    """Return True if ``c`` is the same along axis ``a`` of ``x``, where ``x`` may differ."""
    if -a > x.ndim or x.type.shape[a] == 1:
        return False  # in the latter case either operand would do
    return not isinstance(c, Variable) or c.ndim < -a or c.type.shape[a] == 1


@identity(
    tags=CANONICAL,
    where=lambda x, a: checko(is_single, a, x, label=f"{x!r} has one element along {a!r}"),
    rounding="exact",
)
def remove_cumulativeo(x, a):
    """cumsum(x) = x over an axis of one element, and so for cumprod, cummax and cummin.

    Source: the first element is kept as it is.
    """
    for cls in ALL:
        yield cls(a)(x), x


@identity(tags=CANONICAL)
def lift_cumsum_negativeo(x, a):
    """cumsum(-x) = -cumsum(x).

    Holds modulo 2^n for integers.
    A sum of 0 may change its sign.
    Source: rounding to nearest is symmetric, IEEE 754-2019, section 4.3.1.
    """
    return Cumsum(a)(-x), -Cumsum(a)(x)


@identity(
    tags=CANONICAL,
    where=lambda c, a, x: checko(level_along, c, a, x, label=f"{c!r} is the same along {a!r}"),
    specials="assumes_finite",
    broadcast="c",
)
def lift_cumsum_multiplyo(c, x, a):
    """cumsum(c x) = c cumsum(x).

    Holds modulo 2^n for integers.
    A scalar c is the same along every axis.  The error is within n u |c| sum |x|.  0 times an
    infinite sum of finite terms is NaN.
    Source: distributive law.
    """
    return Cumsum(a)(c * x), c * Cumsum(a)(x)


@identity(
    tags=CANONICAL,
    where=lambda c, a, x: checko(level_along, c, a, x, label=f"{c!r} is the same along {a!r}"),
    specials="assumes_finite",
    broadcast="c",
)
def lift_cumsum_divideo(c, x, a):
    """cumsum(x / c) = cumsum(x) / c.

    Holds for floats.
    A scalar c is the same along every axis.  The error is within n u sum |x / c|.
    Source: distributive law.
    """
    return Cumsum(a)(x / c), Cumsum(a)(x) / c


@identity(tags=CANONICAL, specials="assumes_finite")
def distribute_cumsum_addo(x, y, a):
    """cumsum(x + y) = cumsum(x) + cumsum(y), and cumsum(x - y) = cumsum(x) - cumsum(y).

    Holds where x and y have one shape, modulo 2^n for integers.
    The error is within n u sum (|x| + |y|).
    Source: associative and commutative laws.
    """
    for combine in (add, subtract):
        yield Cumsum(a)(combine(x, y)), combine(Cumsum(a)(x), Cumsum(a)(y))


@identity(tags=CANONICAL, specials="assumes_finite")
def lift_cumprod_expo(x, a):
    """cumprod(e^x) = e^cumsum(x).

    The error of a sum counts |sum(x)| times.  A partial product may overflow or underflow.
    Source: DLMF 4.8.16.
    """
    return Cumprod(a)(exp(x)), exp(Cumsum(a)(x))


@identity(tags=("fast_run", "stabilize", "stabilization"), where=positiveo)
def log_cumprodo(x, a):
    """log(cumprod(x)) = cumsum(log x).

    The products overflow or underflow, the sums do not.  The error is within c u sum (1 + |log x|).
    Source: DLMF 4.8.2.
    """
    return log(Cumprod(a)(x)), Cumsum(a)(log(x))


@identity(tags=CANONICAL, where=lambda x: floato(x))
def lift_cumulative_negativeo(x, a):
    """cummax(-x) = -cummin(x), and cummin(-x) = -cummax(x).

    The least integer is its own negative.  The extreme of 0.0 and -0.0 may be either.
    Source: negation reverses the order.
    """
    for outer, inner in ((Cummax, Cummin), (Cummin, Cummax)):
        yield outer(a)(-x), -inner(a)(x)


@identity(tags=CANONICAL)
def merge_cumulative_extremeo(x, a):
    """cummax(cummax(x)) = cummax(x), and so for cummin.

    The extreme of 0.0 and -0.0 may be either.
    Source: the largest element so far does not fall, and max is idempotent.
    """
    for one in (Cummax, Cummin):
        yield one(a)(one(a)(x)), one(a)(x)


def is_among(a: Any, axes: Any, x: Any) -> bool:
    """Return True if an axis of ``x`` is one of those that are reduced."""
    return bool(-a <= x.ndim and (axes is None or a in axes))


@identity(
    tags=CANONICAL, where=lambda x, a, axes: checko(is_among, a, axes, x, label=f"{a!r} is reduced")
)
def absorb_cumulative_extremeo(x, a, axes, keepdims):
    """max(cummax(x)) = max(x), and so for min and cummin.

    The extreme of 0.0 and -0.0 may be either.
    Source: associative and idempotent laws of a lattice.
    """
    for reduce, so_far in ((Max, Cummax), (Min, Cummin)):
        yield reduce(axes, keepdims)(so_far(a)(x)), reduce(axes, keepdims)(x)


def is_single(a: Any, x: Any) -> bool:
    """Return True if an array has one element along an axis."""
    return bool(-a <= x.ndim and x.type.shape[a] == 1)


# Parts of results.


def axis_of_last(s: Any, a: Any, x: Any) -> Any:
    """Return the one axis to reduce where a key takes the last element along it, and all else."""
    entries = keys.by_axis(s, x.ndim)
    if entries is None or -a > x.ndim or x.type.shape[a] == 1:
        return None
    size = x.type.shape[a]
    last = entries[a] == ("int", -1) or (isinstance(size, int) and entries[a] == ("int", size - 1))
    rest = [entry for axis, entry in enumerate(entries, -x.ndim) if axis != a]
    return (a,) if last and all(entry == FULL for entry in rest) else None


def over_some(s: Any, a: Any, x: Any) -> Any:
    """Return the axis to reduce, where there are others."""
    return axis_of_last(s, a, x) if x.ndim > 1 else None


def over_all(s: Any, a: Any, x: Any) -> bool:
    """Return True if the axis to reduce is the only one."""
    return bool(x.ndim == 1 and axis_of_last(s, a, x))


@identity(tags=TIDY, specials="assumes_finite")
def last_cumulativeo(x, s, a, axes):
    """cumsum(x)[-1] = sum(x), and so for cumprod and prod, cummax and max, cummin and min.

    The key takes the last element along an axis of more than one, and all of the other axes.  The
    order differs, within n u sum |x|.  A partial sum may overflow.
    Source: definition; N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
    section 4.2.
    """
    for cls, reduce in ((Cumsum, Sum), (Cumprod, Prod), (Cummax, Max), (Cummin, Min)):
        last = Index(s)(cls(a)(x))
        only_axis = checko(over_all, s, a, x, label=f"{s!r} takes the last element along {a!r}")
        yield last, reduce(None, False)(x), only_axis
        yield last, reduce(axes, False)(x), calco(axes, over_some, s, a, x)


def takes_first(s: Any, a: Any, x: Any) -> bool:
    """Return True if a key takes the first element along an axis."""
    entries = keys.by_axis(s, x.ndim)
    return bool(entries is not None and -a <= x.ndim and entries[a] == ("int", 0))


@identity(
    tags=TIDY,
    where=lambda x, s, a: checko(
        takes_first, s, a, x, label=f"{s!r} takes the first element along {a!r}"
    ),
    rounding="exact",
)
def first_cumulativeo(x, s, a):
    """cumsum(x)[0] = x[0], and so for cumprod, cummax and cummin.

    Source: the first element is kept as it is.
    """
    for cls in ALL:
        yield Index(s)(cls(a)(x)), Index(s)(x)


@identity(
    tags=TIDY,
    where=lambda x, s, t, a: checko(
        are_neighbours, s, t, a, x, label=f"{s!r} and {t!r} take neighbours along {a!r}"
    ),
    specials="assumes_finite",
)
def cancel_diff_cumsumo(x, s, t, a):
    """cumsum(x)[1:] - cumsum(x)[:-1] = x[1:], the difference of a cumulative sum.

    Holds modulo 2^n for integers.
    The keys take all but the first and all but the last element along an axis of more than one, and
    all of the other axes.  The left side loses the digits that the sums have in common.  A partial
    sum may overflow.
    Source: definition.
    """
    return Index(s)(Cumsum(a)(x)) - Index(t)(Cumsum(a)(x)), Index(s)(x)


def axis_of_prefix(s: Any, a: Any, x: Any) -> Any:
    """Return where the axis is past a key that takes its first elements, and half of all."""
    entries = keys.by_axis(s, x.ndim)
    if entries is None or not s or -a > x.ndim or not keys.small(entries, x.type.shape):
        return None
    kind, *bounds = entries[a]
    if kind != "slice" or "dynamic" in bounds:
        return None
    if bounds[0] not in (None, 0) or bounds[2] not in (None, 1):
        return None
    left = keys.kept_axes(entries)
    return left.index(a + x.ndim) - len(left)


@identity(tags=TIDY, where=lambda x, s, a, b: calco(b, axis_of_prefix, s, a, x), rounding="exact")
def index_cumulativeo(x, s, a, b):
    """cumsum(x)[:k] = cumsum(x[:k]), and so for cumprod, cummax and cummin.

    The key takes the first elements along the axis, or all of them, and leaves at most half of all.
    Source: a cumulative sum depends on the elements before it alone.
    """
    for cls in ALL:
        yield Index(s)(cls(a)(x)), cls(b)(Index(s)(x))


def are_neighbours(s: Any, t: Any, a: Any, x: Any) -> bool:
    """Return True if keys take all elements along an axis but the first, and all but the last."""
    after, before = keys.by_axis(s, x.ndim), keys.by_axis(t, x.ndim)
    if after is None or before is None or -a > x.ndim:
        return False
    rest = [e for es in (after, before) for axis, e in enumerate(es, -x.ndim) if axis != a]
    if any(entry != FULL for entry in rest):
        return False
    if {after[a][0], before[a][0]} != {"slice"} or "dynamic" in after[a] + before[a]:
        return False
    size = x.type.shape[a]
    if not isinstance(size, int):
        return bool(after[a][1:] == (1, None, None) and before[a][1:] == (None, -1, None))
    every = range(size)
    one, other = every[slice(*after[a][1:])], every[slice(*before[a][1:])]
    return size > 1 and one == every[1:] and other == every[:-1]


RELATIONS = relations_in(globals(), backward=(distribute_cumsum_addo,))
