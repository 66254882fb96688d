"""Conversions between dtypes.

Which conversions lose nothing is read off a table of the formats: an integer of n bits is exact in
a float whose significand has n bits, IEEE 754-2019, section 3.3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.ops.elementwise import (
    Cast,
    ceil,
    equal,
    floor,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    not_equal,
    rint,
    trunc,
)
from relgraph.relations.catalogue import CANONICAL, TIDY, relations_in
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import (
    Suspended,
    calco,
    checko,
    facto,
    floato,
    integero,
)


def bits(dtype: Any) -> int:
    """Return how many bits of an integer a dtype keeps: its width, or that of its significand."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return int(np.finfo(kind).nmant) + 1
    return 1 if kind.kind == "b" else 8 * kind.itemsize - (kind.kind == "i")


def keeps_values(target: Any, source: Any) -> bool:
    """Return True if a dtype represents every value of another one."""
    old, new = np.dtype(source), np.dtype(target)
    if old.kind == "b" or old == new:
        return True
    if old.kind == "f":
        return bool(new.kind == "f" and new.itemsize >= old.itemsize)
    if new.kind == "b" or (old.kind == "i" and new.kind == "u"):
        return False
    return bool(bits(new) >= bits(old))


def holds_all(dtype: Any, x: Any) -> bool:
    """Return True if a dtype represents every value of the dtype of ``x``."""
    return keeps_values(dtype, x.dtype)


def own_dtype(dtype: Any, x: Any) -> bool:
    """Return True if ``x`` has a dtype already."""
    return bool(x.dtype == np.dtype(dtype))


@identity(
    tags=(*TIDY, "local_cast_cast"),
    rounding="exact",
    where=lambda d, x: checko(holds_all, d, x, label="the inner cast loses nothing"),
)
def merge_casto(x, d, e):
    """cast(cast(x, d), e) = cast(x, e).

    int64 fits no float.
    Source: IEEE 754-2019, sections 3.3 and 5.4.1: a representable value converts to itself.
    """
    return Cast(e)(Cast(d)(x)), Cast(e)(x)


@identity(
    tags=(*TIDY, "local_cast_cast", "derived"),
    rounding="exact",
    where=lambda d, e, x: checko(residues, d, e, x, label="integers, the last not the widest"),
)
def merge_cast_integero(x, d, e):
    """cast(cast(x, d), e) = cast(x, e), modulo 2^n.

    Holds for integers of which e is no wider than d.
    Derived from merge_casto if all three dtypes are known; kept for the rest.
    Source: conversion keeps the lowest bits; H. S. Warren, Hacker's Delight, 2nd ed., section 2-1.
    """
    return Cast(e)(Cast(d)(x)), Cast(e)(x)


@identity(
    tags=TIDY,
    rounding="exact",
    where=lambda d, x: checko(own_dtype, d, x, label="x has that dtype"),
)
def remove_casto(x, d):
    """cast(x, dtype of x) = x.

    Source: definition.
    """
    return Cast(d)(x), x


def residues(d: Any, e: Any, x: Any) -> bool:
    """Return True if integers pass through ``d`` on their way to ``e`` modulo a power of 2."""
    types = [np.dtype(one) for one in (x.dtype, d, e)]
    whole = all(t.kind in "iu" for t in types)
    return bool(whole and types[2].itemsize <= types[1].itemsize)


def keeps_truth(target: Any, source: Any) -> bool:
    """Return True if conversion takes nothing but 0 to 0."""
    old, new = np.dtype(source), np.dtype(target)
    if new.kind == "b" or keeps_values(new, old):
        return True
    if old.kind == "f":
        return False  # small numbers underflow, fractions are dropped
    return bool(new.kind == "f" or new.itemsize >= old.itemsize)


def truth_kept(d: Any, x: Any) -> bool:
    """Return True if conversion of ``x`` takes nothing but 0 to 0."""
    return keeps_truth(d, x.dtype)


def trutho(d: Any, x: Any) -> Suspended:
    """Relate dtypes and graphs that are 0 after conversion where they were 0 before."""
    return checko(truth_kept, d, x, label="nothing but 0 becomes 0")


@identity(tags=CANONICAL, rounding="exact")
def drop_cast_trutho(x, y, d, e):
    """cast(cast(x, d), bool) = cast(x, bool), not cast(x, d) = not x, and so for and, or, xor.

    This is so for integers to floats, and not for float64 to float32.
    Source: definition of truth.
    """
    two = (trutho(d, x), trutho(e, y))
    yield Cast("bool")(Cast(d)(x)), Cast("bool")(x), trutho(d, x)
    yield logical_not(Cast(d)(x)), logical_not(x), trutho(d, x)
    for op in (logical_and, logical_or, logical_xor):
        yield op(Cast(d)(x), Cast(e)(y)), op(x, y), two


def kept_alike(d: Any, x: Any, y: Any) -> bool:
    """Return True if two graphs have one dtype whose values another one represents."""
    return bool(x.dtype == y.dtype) and keeps_values(d, x.dtype)


@identity(
    tags=CANONICAL,
    where=lambda x, y, d: checko(kept_alike, d, x, y, label="the casts lose nothing"),
    rounding="exact",
)
def drop_cast_compareo(x, y, d):
    """(cast(x, d) < cast(y, d)) = (x < y), and so for <=, = and !=.

    Source: such a conversion increases strictly, IEEE 754-2019, section 5.4.1.
    """
    for op in (less, less_equal, equal, not_equal):
        yield op(Cast(d)(x), Cast(d)(y)), op(x, y)


def wider(d: Any, x: Any) -> bool:
    """Return True if a float dtype represents every value of a float graph."""
    return bool(x.dtype.kind == "f" and np.dtype(d).kind == "f") and keeps_values(d, x.dtype)


@identity(
    tags=CANONICAL,
    where=lambda x, d: checko(wider, d, x, label="the cast loses nothing"),
    rounding="exact",
)
def drop_cast_testo(x, d):
    """isnan(cast(x, d)) = isnan(x), and so for isinf and isfinite.

    Source: IEEE 754-2019, section 5.4.2: conversion to a wider format keeps infinities and NaN.
    """
    for test in (isnan, isinf, isfinite):
        yield test(Cast(d)(x)), test(x)


def same_truths(d: Any, x: Any, y: Any) -> bool:
    """Return True if two graphs hold truth values, and a dtype numbers."""
    return bool(x.dtype.kind == y.dtype.kind == "b" and np.dtype(d).kind != "b")


@identity(
    tags=CANONICAL,
    where=lambda x, y, d: checko(same_truths, d, x, y, label="of bool"),
    rounding="exact",
)
def gather_cast_logico(x, y, d):
    """cast(x, d) cast(y, d) = cast(x and y, d), min the same, and max with or.

    Source: arithmetic of indicator functions, W. Feller, An Introduction to Probability Theory and
    Its Applications, vol. 1, 3rd ed., section IV.1.
    """
    for op, logic in ((multiply, logical_and), (minimum, logical_and), (maximum, logical_or)):
        yield op(Cast(d)(x), Cast(d)(y)), Cast(d)(logic(x, y))


@identity(
    tags=CANONICAL,
    rounding="exact",
    where=lambda d, x: checko(same_truths, d, x, x, label="of bool"),
)
def gather_cast_noto(x, d):
    """1 - cast(x, d) = cast(not x, d).

    Source: arithmetic of indicator functions, as :func:`gather_cast_logico`.
    """
    return 1 - Cast(d)(x), Cast(d)(logical_not(x))


def to_integer(d: Any, x: Any) -> Any:
    """Return a dtype of integers that floats are converted to, None for any other conversion."""
    return d if np.dtype(d).kind in "iu" and x.dtype.kind == "f" else None


@identity(tags=CANONICAL, rounding="exact", where=lambda d, e, x: calco(e, to_integer, d, x))
def drop_trunco(x, d, e):
    """cast(trunc(x), d) = cast(x, d).

    Outside of the range of d both are undefined.
    Source: conversion to an integer rounds toward zero; ISO/IEC 9899:2018, section 6.3.1.4.
    """
    return Cast(d)(trunc(x)), Cast(e)(x)


@identity(
    tags=CANONICAL,
    rounding="exact",
    where=lambda d, e, x: (facto(x, "nonnegative"), calco(e, to_integer, d, x)),
)
def drop_flooro(x, d, e):
    """cast(floor(x), d) = cast(x, d).

    Source: as :func:`drop_trunco`.
    """
    return Cast(d)(floor(x)), Cast(e)(x)


@identity(tags=TIDY, where=lambda x: (integero(x), floato(x)), rounding="exact")
def remove_roundingo(x):
    """floor(x) = x, and so for ceil, trunc and rint.

    Source: IEEE 754-2019, section 5.9.
    """
    for f in (floor, ceil, trunc, rint):
        yield f(x), x


RELATIONS = relations_in(globals())
