"""Extremes, truth and logsumexp over axes.

An axis parameter is a logic variable: one relation serves every axis.
"""

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
from relgraph.relations.catalogue import CANONICAL, relations_in
from relgraph.relations.catalogue.casts import trutho
from relgraph.relations.catalogue.extremes import INCREASING, PARTIAL
from relgraph.relations.catalogue.reductions import CHAIN, fixedo, nested, termwise
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import (
    calco,
    floato,
    nonnegativeo,
    positiveo,
)

EXTREMES = (max, min)
OPPOSITE = ((max, min), (min, max))


@identity(tags=CHAIN)
def merge_extremeo(x, a, b, c, keepdims):
    """max_b(max_a(x)) = max_(a, b)(x), and so for min, any and all.

    The extreme of 0.0 and -0.0 may be either.
    Source: associative and commutative laws of a lattice.
    """
    yield from nested((max, min, any, all), x, a, b, c, keepdims)


@identity(tags=CHAIN)
def merge_logsumexpo(x, a, b, c, keepdims):
    """logsumexp_b(logsumexp_a(x)) = logsumexp_(a, b)(x).

    Source: e^logsumexp(x) = sum(e^x), and sums merge.
    """
    yield from nested((logsumexp,), x, a, b, c, keepdims)


@identity(tags=CANONICAL)
def distribute_extreme_maximumo(x, y, axis, keepdims):
    """max(max(x, y)) = max(max(x), max(y)), and so for min.

    Holds where x and y have one shape.
    Zeros may differ in sign.
    Source: associative and commutative laws of a lattice.
    """
    laws = ((max, maximum, maximum), (min, minimum, minimum))
    yield from termwise(laws, x, y, axis, keepdims)


@identity(tags=CANONICAL, rounding="exact")
def distribute_any_oro(x, y, axis, keepdims):
    """any(x or y) = any(x) or any(y), and all(x and y) = all(x) and all(y).

    Holds where x and y have one shape.
    Source: associative and commutative laws of a lattice.
    """
    laws = ((any, logical_or, logical_or), (all, logical_and, logical_and))
    yield from termwise(laws, x, y, axis, keepdims)


@identity(tags=(*CANONICAL, "local_max_to_min"), where=lambda x: floato(x))
def lift_extreme_negativeo(x, axis, keepdims):
    """max(-x) = -min(x), and min(-x) = -max(x).

    So -max(-x) is min(x).  The least integer is its own negative.  The extreme of 0.0 and -0.0 may
    be either.
    Source: negation reverses the order.
    """
    for outer, inner in OPPOSITE:
        yield outer(-x, axis=axis, keepdims=keepdims), -inner(x, axis=axis, keepdims=keepdims)


@identity(
    tags=CANONICAL,
    where=lambda x, keepdims, k: (calco(k, bool, keepdims), floato(x)),
    rounding="exact",
)
def place_extreme_negativeo(x, axis, keepdims, k):
    """argmax(-x) = argmin(x), and argmin(-x) = argmax(x).

    Source: negation reverses the order; the first of equals, and a NaN, stay where they are.
    """
    for outer, inner in ((argmax, argmin), (argmin, argmax)):
        yield outer(-x, axis=axis, keepdims=keepdims), inner(x, axis=axis, keepdims=k)


def _through(f: Value, pair: Value, x: Value, axis: Value, keepdims: Value) -> Value:
    """Return both sides of: the extreme of an image is the image of an extreme."""
    outer, inner = pair
    return outer(f(x), axis=axis, keepdims=keepdims), f(inner(x, axis=axis, keepdims=keepdims))


SAME = ((max, max), (min, min))


@identity(tags=CANONICAL)
def lift_extreme_increasingo(x, axis, keepdims):
    """max(e^x) = e^max(x), and so for min, and for other functions that increase.

    2^x, expm1, sinh, tanh, arcsinh, arctan, erf, sigmoid, softplus, cbrt and rounding to integers
    increase everywhere.  A computed function need not be monotone to the last bit.
    Source: a function that increases keeps the order; DLMF 4.2(iii), 4.37, 7.4, 4.23.
    """
    for f in INCREASING:
        for pair in SAME:
            yield _through(f, pair, x, axis, keepdims)


@identity(tags=CANONICAL, specials="assumes_finite")
def lift_extreme_partialo(x, axis, keepdims):
    """max(log x) = log max(x), and so for min, sqrt, arcsin, arccosh and arctanh.

    Outside of its domain, a function is NaN.  A computed function need not be monotone to the last
    bit.
    Source: a function that increases keeps the order; DLMF 4.2(iii), 4.37, 4.23.
    """
    for f in PARTIAL:
        for pair in SAME:
            yield _through(f, pair, x, axis, keepdims)


@identity(tags=CANONICAL)
def lift_extreme_decreasingo(x, axis, keepdims):
    """max(erfc x) = erfc min(x), and min(erfc x) = erfc max(x).

    A computed function need not be monotone to the last bit.
    Source: a function that decreases reverses the order; DLMF 7.2.2.
    """
    for pair in OPPOSITE:
        yield _through(erfc, pair, x, axis, keepdims)


@identity(
    tags=CANONICAL,
    where=lambda c, x, axis, keepdims: (fixedo(c, axis, keepdims, x), floato(x)),
    specials="assumes_finite",
    broadcast=("c",),
)
def lift_extreme_addo(c, x, axis, keepdims):
    """max(x + c) = max(x) + c, max(x - c) = max(x) - c, and max(c - x) = c - min(x).

    The same holds for min.  Zeros may differ in sign.  Infinity - infinity is NaN.
    Source: adding a constant keeps the order, and rounding is monotone.
    """
    at = {"axis": axis, "keepdims": keepdims}
    for one, other in OPPOSITE:
        yield one(x + c, **at), one(x, **at) + c
        yield one(x - c, **at), one(x, **at) - c
        yield one(c - x, **at), c - other(x, **at)


@identity(tags=CANONICAL, specials="assumes_finite", broadcast=("c",))
def lift_extreme_multiplyo(c, x, axis, keepdims):
    """max(c x) = c max(x), and max(x / c) = max(x) / c.

    The same holds for min.  Zeros may differ in sign.
    Source: such a factor keeps the order, and rounding is monotone.
    """
    at = {"axis": axis, "keepdims": keepdims}
    for one in EXTREMES:
        conditions = (fixedo(c, axis, keepdims, x), floato(x))
        yield one(c * x, **at), c * one(x, **at), (nonnegativeo(c), *conditions)
        yield one(x / c, **at), one(x, **at) / c, (positiveo(c), *conditions)


@identity(
    tags=CANONICAL,
    where=lambda c, x, axis, keepdims: fixedo(c, axis, keepdims, x),
    broadcast=("c",),
)
def lift_extreme_cuto(c, x, axis, keepdims):
    """max(max(x, c)) = max(max(x), c), max(min(x, c)) = min(max(x), c), and so for min.

    Zeros may differ in sign.
    Source: distributive lattices, G. Birkhoff, Lattice Theory, 3rd ed., chapter II.
    """
    at = {"axis": axis, "keepdims": keepdims}
    for reduce in EXTREMES:
        for cut in (maximum, minimum):
            yield reduce(cut(x, c), **at), cut(reduce(x, **at), c)


@identity(
    tags=CANONICAL,
    where=lambda c, x, axis, keepdims: (fixedo(c, axis, keepdims, x), floato(x), floato(c)),
    specials="assumes_finite",
    broadcast=("c",),
)
def lift_logsumexp_addo(c, x, axis, keepdims):
    """logsumexp(x + c) = logsumexp(x) + c, and logsumexp(x - c) = logsumexp(x) - c.

    Source: e^(x + c) = e^c e^x, DLMF 4.8.16.
    """
    for op in (add, subtract):
        yield (
            logsumexp(op(x, c), axis=axis, keepdims=keepdims),
            op(logsumexp(x, axis=axis, keepdims=keepdims), c),
        )


@identity(tags=CANONICAL, where=lambda x: nonnegativeo(x), specials="assumes_finite")
def cancel_logsumexp_logo(x, axis, keepdims):
    """logsumexp(log x) = log sum(x).

    The error is within u (1 + |log sum(x)|).
    Source: e^(log x) = x, DLMF 4.8(i).
    """
    return (
        logsumexp(log(x), axis=axis, keepdims=keepdims),
        log(sum(x, axis=axis, keepdims=keepdims)),
    )


@identity(tags=CANONICAL, where=lambda x, d: trutho(d, x), rounding="exact")
def drop_cast_anyo(x, d, axis, keepdims):
    """any(cast(x, d)) = any(x), and so for all.

    Source: definition of truth.
    """
    for reduce in (any, all):
        yield (
            reduce(Cast(d)(x), axis=axis, keepdims=keepdims),
            reduce(x, axis=axis, keepdims=keepdims),
        )


@identity(tags=CANONICAL, rounding="exact")
def lift_any_noto(x, axis, keepdims):
    """any(not x) = not all(x), and all(not x) = not any(x).

    Source: De Morgan's laws.
    """
    for outer, inner in ((any, all), (all, any)):
        yield (
            outer(logical_not(x), axis=axis, keepdims=keepdims),
            logical_not(inner(x, axis=axis, keepdims=keepdims)),
        )


RELATIONS = relations_in(globals(), backward=(distribute_extreme_maximumo, distribute_any_oro))
