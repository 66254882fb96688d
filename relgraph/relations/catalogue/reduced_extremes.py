"""Extremes, truth and logsumexp over axes.

An axis parameter is a logic variable: one relation serves every axis.
"""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from typing import Any as Value

from relgraph.numpy.reductions import all, any, argmax, argmin, logsumexp, max, min, sum
from relgraph.ops.elementwise import (
    Cast,
    add,
    erfc,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    subtract,
)
from relgraph.relations.catalogue.casts import trutho
from relgraph.relations.catalogue.extremes import INCREASING, PARTIAL
from relgraph.relations.catalogue.reductions import CANONICAL, CHAIN, fixedo, nested, termwise
from relgraph.relations.kanren.goals import (
    calco,
    eq,
    floato,
    lall,
    lany,
    nonnegativeo,
    positiveo,
)
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, identity, relation

EXTREMES = (max, min)
OPPOSITE = ((max, min), (min, max))


@relation(tags=CHAIN)
def merge_extremeo(left, right):
    """max_b(max_a(x)) = max_(a, b)(x), and so for min, any and all.

    Holds always; rounded (the extreme of 0.0 and -0.0 may be either), kept.
    Source: associative and commutative laws of a lattice.
    """
    return lany(*[nested(reduce, left, right) for reduce in (max, min, any, all)])


@relation(tags=CHAIN)
def merge_logsumexpo(left, right):
    """logsumexp_b(logsumexp_a(x)) = logsumexp_(a, b)(x).

    Holds always; rounded, kept.
    Source: e^logsumexp(x) = sum(e^x), and sums merge.
    """
    return nested(logsumexp, left, right)


@relation(tags=CANONICAL)
def distribute_extreme_maximumo(left, right):
    """max(max(x, y)) = max(max(x), max(y)), and so for min.

    Holds where x and y have one shape; rounded (zeros may differ in sign), kept.
    Source: associative and commutative laws of a lattice.
    """
    return termwise(left, right, ((max, maximum, maximum), (min, minimum, minimum)))


@relation(tags=CANONICAL, rounding="exact")
def distribute_any_oro(left, right):
    """any(x or y) = any(x) or any(y), and all(x and y) = all(x) and all(y).

    Holds where x and y have one shape; exact, kept.
    Source: associative and commutative laws of a lattice.
    """
    laws = ((any, logical_or, logical_or), (all, logical_and, logical_and))
    return termwise(left, right, laws)


@relation(tags=(*CANONICAL, "local_max_to_min"))
def lift_extreme_negativeo(left, right):
    """max(-x) = -min(x), and min(-x) = -max(x).

    Holds for floats (the least integer is its own negative), so that -max(-x) is min(x); rounded
    (the extreme of 0.0 and -0.0 may be either), kept.
    Source: negation reverses the order.
    """
    x, axis, keepdims = lvars("x axis keepdims")
    return lany(
        *[
            lall(
                eq(left, outer(-x, axis=axis, keepdims=keepdims)),
                eq(right, -inner(x, axis=axis, keepdims=keepdims)),
                floato(x),
            )
            for outer, inner in OPPOSITE
        ]
    )


@relation(tags=CANONICAL, rounding="exact")
def place_extreme_negativeo(left, right):
    """argmax(-x) = argmin(x), and argmin(-x) = argmax(x).

    Holds for floats; exact, kept.
    Source: negation reverses the order; the first of equals, and a NaN, stay where they are.
    """
    x, axis, keepdims, k = lvars("x axis keepdims k")
    return lany(
        *[
            lall(
                eq(left, outer(-x, axis=axis, keepdims=keepdims)),
                eq(right, inner(x, axis=axis, keepdims=k)),
                calco(k, bool, keepdims),
                floato(x),
            )
            for outer, inner in ((argmax, argmin), (argmin, argmax))
        ]
    )


def _through(left: Value, right: Value, functions: Value, pairs: Value) -> Value:
    x, axis, keepdims = lvars("x axis keepdims")
    return lany(
        *[
            lall(
                eq(left, one(f(x), axis=axis, keepdims=keepdims)),
                eq(right, f(other(x, axis=axis, keepdims=keepdims))),
            )
            for f in functions
            for one, other in pairs
        ]
    )


SAME = ((max, max), (min, min))


@relation(tags=CANONICAL)
def lift_extreme_increasingo(left, right):
    """max(e^x) = e^max(x), and so for min, and for other functions that increase.

    Holds always (2^x, expm1, sinh, tanh, arcsinh, arctan, erf, sigmoid, softplus, cbrt and rounding
    to integers increase everywhere); rounded (a computed function need not be monotone to the last
    bit), kept.
    Source: a function that increases keeps the order; DLMF 4.2(iii), 4.37, 7.4, 4.23.
    """
    return _through(left, right, INCREASING, SAME)


@relation(tags=CANONICAL, specials="assumes_finite")
def lift_extreme_partialo(left, right):
    """max(log x) = log max(x), and so for min, sqrt, arcsin, arccosh and arctanh.

    Holds where every value of the function exists (outside of its domain it is NaN); rounded (a
    computed function need not be monotone to the last bit), assumes_finite.
    Source: a function that increases keeps the order; DLMF 4.2(iii), 4.37, 4.23.
    """
    return _through(left, right, PARTIAL, SAME)


@relation(tags=CANONICAL)
def lift_extreme_decreasingo(left, right):
    """max(erfc x) = erfc min(x), and min(erfc x) = erfc max(x).

    Holds always; rounded (a computed function need not be monotone to the last bit), kept.
    Source: a function that decreases reverses the order; DLMF 7.2.2.
    """
    return _through(left, right, (erfc,), OPPOSITE)


@relation(tags=CANONICAL, specials="assumes_finite", broadcast=("c",))
def lift_extreme_addo(left, right):
    """max(x + c) = max(x) + c, max(x - c) = max(x) - c, and max(c - x) = c - min(x).

    Holds for floats where c does not change along the axes, and so for min; rounded (zeros may
    differ in sign), assumes_finite (infinity - infinity is NaN).
    Source: adding a constant keeps the order, and rounding is monotone.
    """
    c, x, axis, keepdims = lvars("c x axis keepdims")
    at = {"axis": axis, "keepdims": keepdims}
    return lany(
        *[
            lall(eq(left, form), eq(right, result), fixedo(c, axis, keepdims, x), floato(x))
            for one, other in OPPOSITE
            for form, result in (
                (one(x + c, **at), one(x, **at) + c),
                (one(x - c, **at), one(x, **at) - c),
                (one(c - x, **at), c - other(x, **at)),
            )
        ]
    )


@relation(tags=CANONICAL, specials="assumes_finite", broadcast=("c",))
def lift_extreme_multiplyo(left, right):
    """max(c x) = c max(x), and max(x / c) = max(x) / c.

    Holds for floats where c is at least 0, positive for the quotient, and does not change along
    the axes, and so for min; rounded (zeros may differ in sign), assumes_finite.
    Source: such a factor keeps the order, and rounding is monotone.
    """
    c, x, axis, keepdims = lvars("c x axis keepdims")
    at = {"axis": axis, "keepdims": keepdims}
    return lany(
        *[
            lall(
                eq(left, form), eq(right, result), sign(c), fixedo(c, axis, keepdims, x), floato(x)
            )
            for one in EXTREMES
            for form, result, sign in (
                (one(c * x, **at), c * one(x, **at), nonnegativeo),
                (one(x / c, **at), one(x, **at) / c, positiveo),
            )
        ]
    )


@relation(tags=CANONICAL, broadcast=("c",))
def lift_extreme_cuto(left, right):
    """max(max(x, c)) = max(max(x), c), max(min(x, c)) = min(max(x), c), and so for min.

    Holds where c does not change along the axes; rounded (zeros may differ in sign), kept.
    Source: distributive lattices, G. Birkhoff, Lattice Theory, 3rd ed., chapter II.
    """
    c, x, axis, keepdims = lvars("c x axis keepdims")
    at = {"axis": axis, "keepdims": keepdims}
    return lany(
        *[
            lall(
                eq(left, reduce(cut(x, c), **at)),
                eq(right, cut(reduce(x, **at), c)),
                fixedo(c, axis, keepdims, x),
            )
            for reduce in EXTREMES
            for cut in (maximum, minimum)
        ]
    )


@relation(tags=CANONICAL, specials="assumes_finite", broadcast=("c",))
def lift_logsumexp_addo(left, right):
    """logsumexp(x + c) = logsumexp(x) + c, and logsumexp(x - c) = logsumexp(x) - c.

    Holds for floats where c does not change along the axes; rounded, assumes_finite.
    Source: e^(x + c) = e^c e^x, DLMF 4.8.16.
    """
    c, x, axis, keepdims = lvars("c x axis keepdims")
    return lany(
        *[
            lall(
                eq(left, logsumexp(op(x, c), axis=axis, keepdims=keepdims)),
                eq(right, op(logsumexp(x, axis=axis, keepdims=keepdims), c)),
                fixedo(c, axis, keepdims, x),
                floato(x),
                floato(c),
            )
            for op in (add, subtract)
        ]
    )


@identity(tags=CANONICAL, where=lambda x: nonnegativeo(x), specials="assumes_finite")
def cancel_logsumexp_logo(x, axis, keepdims):
    """logsumexp(log x) = log sum(x).

    Holds where x is at least 0; rounded (within u (1 + |log sum(x)|)), assumes_finite.
    Source: e^(log x) = x, DLMF 4.8(i).
    """
    return (
        logsumexp(log(x), axis=axis, keepdims=keepdims),
        log(sum(x, axis=axis, keepdims=keepdims)),
    )


@relation(tags=CANONICAL, rounding="exact")
def drop_cast_anyo(left, right):
    """any(cast(x, d)) = any(x), and so for all.

    Holds where conversion takes nothing but 0 to 0; exact, kept.
    Source: definition of truth.
    """
    x, d, axis, keepdims = lvars("x d axis keepdims")
    return lany(
        *[
            lall(
                eq(left, reduce(Cast(d)(x), axis=axis, keepdims=keepdims)),
                eq(right, reduce(x, axis=axis, keepdims=keepdims)),
                trutho(d, x),
            )
            for reduce in (any, all)
        ]
    )


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
    merge_extremeo,
    merge_logsumexpo,
    distribute_extreme_maximumo.reversed,
    distribute_any_oro.reversed,
    lift_extreme_negativeo,
    place_extreme_negativeo,
    lift_extreme_increasingo,
    lift_extreme_partialo,
    lift_extreme_decreasingo,
    lift_extreme_addo,
    lift_extreme_multiplyo,
    lift_extreme_cuto,
    lift_logsumexp_addo,
    cancel_logsumexp_logo,
    drop_cast_anyo,
    lift_any_noto,
)
