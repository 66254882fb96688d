"""Quotients: one division at most, and none by a number."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from relgraph.ir.fact_inference import fact
from relgraph.ir.node import Constant, Variable, constant
from relgraph.ops.reductions import floating
from relgraph.relations.catalogue import relations_in
from relgraph.relations.catalogue.conditions import numbero
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import calco, checko, floato

CANONICAL = ("canonicalize", "fast_run", "mul_canonical")


# One division: a quotient of products.


def no_smaller(x: Any, y: Any) -> bool:
    """Return True if x has at least the dimensions of y: no larger array is computed instead."""
    return bool(x.dtype == y.dtype and x.ndim >= y.ndim)


@identity(
    tags=CANONICAL,
    where=lambda x, y, z: (floato(x), floato(y), floato(z)),
    specials="assumes_finite",
)
def merge_divide_divideo(x, y, z, w):
    """(x / y) / z = x / (y z), x / (y / z) = (x z) / y, and these for a quotient times w.

    A quotient of quotients has one division.  It leaves arrays alone that are divided by larger
    ones.  The product may overflow or underflow where the quotients do not.
    The error is within 4u of the result.
    Source: group law.
    """
    yield (x / y) / z, x / (y * z), checko(no_smaller, y, z)
    yield (w * (x / y)) / z, (w * x) / (y * z), (checko(no_smaller, y, z), checko(no_smaller, x, w))
    yield x / (y / z), (x * z) / y, checko(no_smaller, z, x)
    yield x / (w * (y / z)), (x * z) / (w * y), (checko(no_smaller, z, x), checko(no_smaller, y, w))


@identity(
    tags=CANONICAL,
    where=lambda x, y, z, w: (
        floato(x), floato(y), floato(z), floato(w),
        checko(no_smaller, x, z), checko(no_smaller, z, x),
    ),
    specials="assumes_finite",
)  # fmt: skip
def merge_multiply_divideo(x, y, z, w):
    """(x / y) (z / w) = (x z) / (y w).

    Holds where x and z have equally many dimensions.
    The products may overflow or underflow where the quotients do not.
    The error is within 4u of the result.
    Source: group law.
    """
    return (x / y) * (z / w), (x * z) / (y * w)


def combined_number(ufunc: np.ufunc, a: Any, b: Any) -> Variable | None:
    """Return a function of two numbers of one dtype; None if it is infinite or subnormal."""
    if not (isinstance(a, Constant) and isinstance(b, Constant) and a.dtype == b.dtype):
        return None
    with np.errstate(all="ignore"):
        number = ufunc(a.uniform, b.uniform)
    normal = np.finfo(a.dtype).tiny <= np.abs(number) < np.inf
    return constant(number, a.dtype) if normal else None


def product_of(a: Any, b: Any) -> Variable | None:
    """Return the product of two numbers of one dtype, if it is finite and normal."""
    return combined_number(np.multiply, a, b)


def quotient_of(a: Any, b: Any) -> Variable | None:
    """Return the quotient of two numbers of one dtype, if it is finite and normal."""
    return combined_number(np.true_divide, a, b)


@identity(
    tags=CANONICAL,
    where=lambda x, y: (floato(x), floato(y), checko(no_smaller, y, x)),
    specials="assumes_finite",
)
def merge_multiply_numeratoro(x, y, a, b, c):
    """(1 / y) x = x / y, and (a / y) (b x) = (c x) / y, where c = a b.

    It leaves arrays alone that are multiplied by the reciprocal of a smaller one.
    1 / y may overflow where the quotient does not.
    The error is within 3u of the result.
    Source: group law.
    """
    yield (1 / y) * x, x / y
    numbers = numbero(a, 3, -0.7), numbero(b, 2, 0.3), calco(c, product_of, a, b)
    yield (a / y) * (b * x), (c * x) / y, numbers


@identity(tags=("formula",), where=lambda x, y: (floato(x), floato(y)), specials="assumes_finite")
def merge_numeratoro(x, y, z):
    """x (z / y) = (x z) / y, and (-x) / y = -(x / y).

    Holds where x and z have equally many dimensions.  For formulas that are read: in a program,
    z / y may be a softmax or a hyperbolic tangent.
    The product may overflow where the quotient does not.  The error is within 3u of the result.
    Source: group law.
    """
    alike = floato(z), checko(no_smaller, x, z), checko(no_smaller, z, x)
    yield x * (z / y), (x * z) / y, alike
    yield (-x) / y, -(x / y)


@identity(tags=CANONICAL, where=lambda x, y: (floato(x), floato(y)), specials="assumes_finite")
def merge_factorso(x, y, a, b, c):
    """(a x) / (b y) = (c x) / y, where c = a / b.

    The error is within 4u of the result.
    Source: group law.
    """
    numbers = numbero(a, 3, -0.7), numbero(b, 2, 0.3), calco(c, quotient_of, a, b)
    return (a * x) / (b * y), (c * x) / y, numbers


@identity(tags=CANONICAL, where=lambda y: floato(y), rounding="exact")
def extract_negativeo(x, y):
    """x / (-y) = -(x / y).

    Source: IEEE 754-2019, section 6.3: the sign of a quotient is the exclusive or of the signs.
    """
    return x / (-y), -(x / y)


# Quotients by numbers.


@lru_cache(maxsize=1024)
def inverse_of(c: Any) -> Variable | None:
    """Return ``1 / c`` for a constant of one number; None where it is infinite or subnormal."""
    if not isinstance(c, Constant) or c.uniform is None or c.dtype.kind == "b":
        return None
    dtype = floating(c.dtype)
    with np.errstate(all="ignore"):
        inverse = np.true_divide(1, c.uniform, dtype=dtype)
    normal = np.finfo(dtype).tiny <= np.abs(inverse) < np.inf
    return constant(inverse, dtype) if normal else None


def takes_inverse(x: Any, c: Any) -> bool:
    """Return True if quotients of x, not known to be integers, have the dtype of ``1 / c``."""
    if isinstance(x, Constant) or x.ndim == 0 or x.dtype.kind != "f" or fact(x, "integer"):
        return False
    return np.result_type(x.dtype, c.dtype) == floating(c.dtype)


@identity(
    tags=("specialize", "fast_run", "mul_canonical"),
    where=lambda x, c, d: (
        numbero(c, 3, -0.7, 49),
        checko(takes_inverse, x, c),
        calco(d, inverse_of, c),
    ),
)
def invert_divisoro(x, c, d):
    """x / c = x d, where d = 1 / c.

    Holds unless 1 / c overflows or is subnormal.
    Two roundings stand against one, so the error is within 2u |x / c|; powers of two are exact.
    Within that error of the largest number, which |c| < 1 may lead to, one side may be infinite and
    the other not.  It leaves alone what is proved to be integers, whose quotients are often meant
    exactly (49 / 49 is 1, 49 (1 / 49) is not), and arrays without dimensions, of which one division
    costs nothing.
    Source: definition of the reciprocal; it is what HandleDivide does in XLA's AlgebraicSimplifier,
    https://github.com/openxla/xla/blob/main/xla/hlo/transforms/simplifiers/algebraic_simplifier.cc.
    """
    return x / c, x * d


RELATIONS = relations_in(globals())
