"""Maximum, minimum and clip, element by element.

Maximum and minimum are NaN where one of their operands is; the larger of 0.0 and -0.0 may be
either, so that they are rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.ir.node import Constant, Variable, constant
from relgraph.ops.elementwise import (
    Elementwise,
    absolute,
    add,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctanh,
    bitwise_and,
    bitwise_or,
    cbrt,
    ceil,
    erf,
    erfc,
    exp,
    exp2,
    expm1,
    floor,
    log,
    log1p,
    log2,
    log10,
    logical_and,
    logical_or,
    maximum,
    minimum,
    rint,
    sigmoid,
    sinh,
    softplus,
    sqrt,
    subtract,
    tanh,
    trunc,
)
from relgraph.relations.catalogue import CANONICAL, TIDY, relations_in
from relgraph.relations.catalogue.choices import alikeo
from relgraph.relations.catalogue.conditions import coefficiento
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import (
    calco,
    checko,
    facto,
    floato,
    nonnegativeo,
    positiveo,
)

USELESS = (*TIDY, "local_useless_switch")

clip = Elementwise("clip")

# Functions that increase on all numbers, on a part of them only, and that decrease.
INCREASING = (
    exp, exp2, expm1, sinh, tanh, arcsinh, arctan, erf, sigmoid, softplus, cbrt, floor, ceil, trunc,
    rint,
)  # fmt: skip
PARTIAL = (log, log2, log10, log1p, sqrt, arcsin, arccosh, arctanh)
DECREASING = (erfc,)


@identity(tags=TIDY)
def idempotent_extremeo(x):
    """max(x, x) = x, and min(x, x) = x.

    In a longer maximum, zeros may differ in sign.
    Source: idempotent laws of a lattice, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    for op in (maximum, minimum):
        yield op(x, x), x


@identity(tags=TIDY, rounding="exact")
def idempotento(x):
    """x op x = x, where op is and, or, or their bitwise forms.

    Source: idempotent laws of a lattice, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    for op in (logical_and, logical_or, bitwise_and, bitwise_or):
        yield op(x, x), x


@identity(tags=CANONICAL, where=lambda x, y: alikeo(x, y), specials="assumes_finite")
def absorb_extremeo(x, y):
    """max(x, min(x, y)) = x, and min(x, max(x, y)) = x.

    Holds where y is not NaN.
    Zeros may differ in sign.
    Source: absorption laws of a lattice, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    yield maximum(x, minimum(x, y)), x
    yield minimum(x, maximum(x, y)), x


@identity(tags=CANONICAL)
def distribute_extremeo(x, y, z):
    """max(x, min(y, z)) = min(max(x, y), max(x, z)), with max and min exchanged as well.

    Zeros may differ in sign.
    Source: distributive lattices, G. Birkhoff, Lattice Theory, 3rd ed., chapter II.
    """
    for outer, inner in ((maximum, minimum), (minimum, maximum)):
        yield outer(x, inner(y, z)), inner(outer(x, y), outer(x, z))


@identity(tags=CANONICAL, where=lambda x, y: (floato(x), floato(y)))
def gather_extreme_negativeo(x, y):
    """max(-x, -y) = -min(x, y), and min(-x, -y) = -max(x, y).

    The least integer is its own negative.  Zeros may differ in sign.
    Source: negation reverses the order.
    """
    for one, other in ((maximum, minimum), (minimum, maximum)):
        yield one(-x, -y), -other(x, y)


def _through(f: Any, pair: Any, x: Any, y: Any) -> Any:
    """Return both sides of: an extreme of two images is the image of an extreme."""
    outer, inner = pair
    return outer(f(x), f(y)), f(inner(x, y))


SAME = ((maximum, maximum), (minimum, minimum))
OPPOSITE = ((maximum, minimum), (minimum, maximum))


@identity(tags=CANONICAL, where=lambda x, y: (floato(x), floato(y)))
def gather_extreme_increasingo(x, y):
    """max(e^x, e^y) = e^max(x, y), and so for min, and for other functions that increase.

    2^x, expm1, sinh, tanh, arcsinh, arctan, erf, sigmoid, softplus, cbrt and rounding to integers
    increase everywhere.  A computed function need not be monotone to the last bit.
    Source: a function that increases keeps the order; DLMF 4.2(iii), 4.37, 7.4, 4.23.
    """
    for f in INCREASING:
        for pair in SAME:
            yield _through(f, pair, x, y)


@identity(tags=CANONICAL, where=lambda x, y: (floato(x), floato(y)), specials="assumes_finite")
def gather_extreme_partialo(x, y):
    """max(log x, log y) = log max(x, y), and so for min, sqrt, arcsin, arccosh and arctanh.

    Outside of its domain, a function is NaN.  A computed function need not be monotone to the last
    bit.
    Source: a function that increases keeps the order; DLMF 4.2(iii), 4.37, 4.23.
    """
    for f in PARTIAL:
        for pair in SAME:
            yield _through(f, pair, x, y)


@identity(tags=CANONICAL, where=lambda x, y: (floato(x), floato(y)))
def gather_extreme_decreasingo(x, y):
    """max(erfc x, erfc y) = erfc min(x, y), and min(erfc x, erfc y) = erfc max(x, y).

    A computed function need not be monotone to the last bit.
    Source: a function that decreases reverses the order; DLMF 7.2.2.
    """
    for f in DECREASING:
        for pair in OPPOSITE:
            yield _through(f, pair, x, y)


@identity(
    tags=CANONICAL,
    where=lambda x, y, z: (floato(x), floato(y), floato(z)),
    specials="assumes_finite",
)
def gather_extreme_addo(x, y, z):
    """max(x + z, y + z) = max(x, y) + z, and so for min and for x - z.

    Zeros may differ in sign.  Infinity - infinity is NaN.
    Source: a sum increases with each term, and rounding is monotone, IEEE 754-2019, section 4.3.
    """
    for extreme in (maximum, minimum):
        for op in (add, subtract):
            yield extreme(op(x, z), op(y, z)), op(extreme(x, y), z)


@identity(
    tags=CANONICAL,
    where=lambda x, y, z: (floato(x), floato(y), floato(z)),
    specials="assumes_finite",
)
def gather_extreme_subtracto(x, y, z):
    """max(z - x, z - y) = z - min(x, y), and min(z - x, z - y) = z - max(x, y).

    Zeros may differ in sign.  Infinity - infinity is NaN.
    Source: as :func:`gather_extreme_addo`; a difference decreases with what is subtracted.
    """
    for one, other in OPPOSITE:
        yield one(z - x, z - y), z - other(x, y)


@identity(tags=CANONICAL, specials="assumes_finite")
def gather_extreme_multiplyo(x, y, z):
    """max(z x, z y) = z max(x, y), and so for min and for x / z.

    Zeros may differ in sign.  0 times infinity is NaN.
    Source: a product with such a factor increases, and rounding is monotone, IEEE 754-2019,
    section 4.3.
    """
    floats = (floato(x), floato(y), floato(z))
    for extreme in (maximum, minimum):
        yield extreme(z * x, z * y), z * extreme(x, y), (nonnegativeo(z), *floats)
    for extreme in (maximum, minimum):
        yield extreme(x / z, y / z), extreme(x, y) / z, (positiveo(z), *floats)


@identity(
    tags=(*CANONICAL, "local_useless_elemwise_comparison"),
    where=lambda x, y: (facto(x, "nonnegative"), facto(y, "nonpositive")),
)
def decide_extremeo(x, y):
    """max(x, y) = x and min(x, y) = y where x is at least 0 and y at most 0.

    Zeros may differ in sign.
    Source: definition.
    """
    yield maximum(x, y), x, facto(y, "not_nan")
    yield minimum(x, y), y, facto(x, "not_nan")


@identity(tags=CANONICAL)
def join_extremeo(x, y):
    """max(x, y) + min(x, y) = x + y, and max(x, y) min(x, y) = x y.

    Holds modulo 2^n for integers.
    Of two zeros either is the larger.
    Source: the larger and the smaller are the two, in some order.
    """
    yield maximum(x, y) + minimum(x, y), x + y
    yield maximum(x, y) * minimum(x, y), x * y


@identity(tags=CANONICAL, where=lambda x, y: (floato(x), floato(y)))
def spread_extremeo(x, y):
    """max(x, y) - min(x, y) = |x - y|.

    A difference of integers may wrap around.  Zeros may differ in sign.
    Source: definition.
    """
    return maximum(x, y) - minimum(x, y), absolute(x - y)


# Clip.


@identity(tags=("specialize", "fast_run"))
def clip_extremeo(x, low, high):
    """min(max(x, low), high) = clip(x, low, high).

    Holds where low is above high, too.
    Zeros may differ in sign.
    Source: definition of numpy.clip.
    """
    return minimum(maximum(x, low), high), clip(x, low, high)


def ordered(low: Any, high: Any) -> bool:
    """Return True if a constant is at most another one."""
    return bool(low.uniform <= high.uniform)


@identity(
    tags=("specialize", "fast_run"),
    where=lambda low, high: (
        coefficiento(low),
        coefficiento(high),
        checko(ordered, low, high, label="low is at most high"),
    ),
)
def clip_minimumo(low, x, high):
    """max(low, min(x, high)) = clip(x, low, high).

    Zeros may differ in sign.
    Source: distributive lattices, G. Birkhoff, Lattice Theory, 3rd ed., chapter II.
    """
    return maximum(low, minimum(x, high)), clip(x, low, high)


def clipped(value: Any, low: Any, high: Any) -> Variable | None:
    """Return a uniform constant limited by two others of its dtype, or None."""
    if not all(isinstance(c, Constant) and c.uniform is not None for c in (value, low, high)):
        return None
    if not value.dtype == low.dtype == high.dtype:
        return None
    return constant(np.minimum(np.maximum(value.uniform, low.uniform), high.uniform), value.dtype)


@identity(
    tags=CANONICAL,
    where=lambda a, b, c, d, e, f: (
        *map(coefficiento, (a, b, c, d)),
        calco(e, clipped, a, c, d),
        calco(f, clipped, b, c, d),
    ),
)
def merge_clipo(x, a, b, c, d, e, f):
    """clip(clip(x, a, b), c, d) = clip(x, e, f), where e = clip(a, c, d) and f = clip(b, c, d).

    Zeros may differ in sign.
    Source: clip(., c, d) increases, so it goes through max and min; distributive lattices, G.
    Birkhoff, Lattice Theory, 3rd ed., chapter II.
    """
    return clip(clip(x, a, b), c, d), clip(x, e, f)


@identity(tags=CANONICAL)
def idempotent_clipo(x, low, high):
    """clip(clip(x, low, high), low, high) = clip(x, low, high).

    Holds where low is above high, too.
    Zeros may differ in sign.
    Source: definition of numpy.clip.
    """
    return clip(clip(x, low, high), low, high), clip(x, low, high)


RELATIONS = relations_in(globals(), backward=(distribute_extremeo,))
