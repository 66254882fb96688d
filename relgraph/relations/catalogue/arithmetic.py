"""Sums, products and signs, element by element."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from relgraph.ir.node import Constant, Variable, constant
from relgraph.relations.catalogue import CANONICAL, TIDY, relations_in
from relgraph.relations.catalogue.conditions import coefficiento, numbero, numerico
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import (
    calco,
    checko,
    floato,
)

# Signs.


@identity(tags=(*TIDY, "neg_neg"), rounding="exact")
def cancel_negative_negativeo(x):
    """-(-x) = x.

    Holds modulo 2^n for integers.
    Source: IEEE 754-2019, section 5.5.1 (negate changes the sign bit only).
    """
    return -(-x), x  # noqa: B002 - two negations


@identity(tags=(*TIDY, "add_canonical"), rounding="exact")
def absorb_subtract_negativeo(x, y):
    """x - (-y) = x + y.

    Holds modulo 2^n for integers.
    Source: IEEE 754-2019, section 5.4.1: x - y is defined as x + (-y).
    """
    return x - (-y), x + y


@identity(tags=(*TIDY, "add_canonical"), rounding="exact")
def absorb_add_negativeo(x, y):
    """x + (-y) = x - y.

    Holds modulo 2^n for integers.
    Source: IEEE 754-2019, section 5.4.1: x - y is defined as x + (-y).
    """
    return x + (-y), x - y


@identity(tags=(*CANONICAL, "add_canonical"))
def negate_subtracto(x, y):
    """-(x - y) = y - x.

    Holds modulo 2^n for integers.
    Where x = y, the zeros differ in sign.
    Source: rounding to nearest is symmetric, IEEE 754-2019, section 4.3.1.
    """
    return -(x - y), y - x


@identity(tags=(*CANONICAL, "mul_canonical"))
def negate_differenceo(x, y, z):
    """-(x (y - z)) = x (z - y).

    Holds modulo 2^n for integers.
    Where y = z, the zeros differ in sign.
    Source: rounding to nearest is symmetric, IEEE 754-2019, section 4.3.1.
    """
    return -(x * (y - z)), x * (z - y)


@identity(tags=(*CANONICAL, "mul_canonical"), rounding="exact")
def cancel_multiply_negativeo(x, y):
    """(-x) (-y) = x y.

    Holds modulo 2^n for integers.
    Source: IEEE 754-2019, section 6.3: the sign of a product is the exclusive or of the signs.
    """
    return (-x) * (-y), x * y


@identity(tags=(*CANONICAL, "mul_canonical", "neg_div_neg"), rounding="exact")
def cancel_divide_negativeo(x, y):
    """(-x) / (-y) = x / y.

    Holds for floats.
    Source: IEEE 754-2019, section 6.3: the sign of a quotient is the exclusive or of the signs.
    """
    return (-x) / (-y), x / y


@identity(tags=(*TIDY, "mul_specialize"), rounding="exact")
def negate_multiplyo(x):
    """x (-1) = -x.

    Holds modulo 2^n for integers.
    Source: IEEE 754-2019, section 6.3; the product of x and 1 is representable.
    """
    return x * (-1), -x


@identity(tags=TIDY, rounding="exact")
def negate_divideo(x):
    """x / (-1) = -x.

    Holds for floats.
    Source: IEEE 754-2019, section 6.3; the quotient of x and 1 is representable.
    """
    return x / (-1), -x


# Neutral elements.


@identity(tags=(*TIDY, "add_canonical", "add_specialize", "const_elimination"))
def remove_add_zeroo(x):
    """x + 0 = x.

    -0.0 + 0.0 is 0.0.
    Source: IEEE 754-2019, section 6.3.
    """
    return x + 0, x


@identity(tags=(*TIDY, "add_canonical", "add_specialize", "const_elimination"), rounding="exact")
def remove_add_negative_zeroo(x):
    """x + (-0.0) = x.

    Source: IEEE 754-2019, section 6.3: -0.0 is the neutral element of addition, 0.0 + -0.0 is 0.0.
    """
    return x + (-0.0), x


@identity(tags=(*TIDY, "add_canonical", "add_specialize", "const_elimination"), rounding="exact")
def remove_subtract_zeroo(x):
    """x - 0 = x.

    Source: x - 0.0 is x + (-0.0), IEEE 754-2019, sections 5.4.1 and 6.3.
    """
    return x - 0, x


@identity(tags=(*TIDY, "add_canonical", "add_specialize"))
def negate_subtract_zeroo(x):
    """0 - x = -x.

    Holds modulo 2^n for integers.
    0.0 - 0.0 is 0.0.
    Source: IEEE 754-2019, section 6.3.
    """
    return 0 - x, -x


@identity(tags=(*TIDY, "mul_canonical", "mul_specialize", "const_elimination"), rounding="exact")
def remove_multiply_oneo(x):
    """x 1 = x.

    Source: the exact product is representable, IEEE 754-2019, section 4.3.
    """
    return x * 1, x


@identity(tags=(*TIDY, "mul_canonical", "mul_specialize", "const_elimination"), rounding="exact")
def remove_divide_oneo(x):
    """x / 1 = x.

    Integers become floats on both sides.
    Source: the exact quotient is representable, IEEE 754-2019, section 4.3.
    """
    return x / 1, x


@identity(
    tags=(*TIDY, "mul_canonical", "mul_specialize", "const_elimination"),
    specials="assumes_finite",
)
def annihilate_multiply_zeroo(x):
    """x 0 = 0.

    Infinity times 0 is NaN.  -1 times 0.0 is -0.0.
    Source: IEEE 754-2019, sections 6.3 and 7.2.
    """
    return x * 0, 0


@identity(
    tags=(*TIDY, "mul_canonical", "const_elimination"),
    where=floato,
    specials="assumes_finite",
)
def annihilate_divide_zeroo(x):
    """0 / x = 0.

    0 / 0 is NaN.  The zeros may differ in sign.
    Source: IEEE 754-2019, sections 6.3 and 7.2.
    """
    return 0 / x, 0


# Like terms and cancellation.


@identity(tags=(*CANONICAL, "add_canonical"), rounding="exact", specials="assumes_finite")
def cancel_subtract_selfo(x):
    """x - x = 0.

    Infinity - infinity is NaN.
    Source: IEEE 754-2019, section 6.3: an exact difference of zero is 0.0.
    """
    return x - x, 0


@identity(
    tags=(*CANONICAL, "mul_canonical"),
    where=floato,
    rounding="exact",
    specials="assumes_finite",
)
def cancel_divide_selfo(x):
    """x / x = 1.

    0 / 0 is NaN.
    Source: the exact quotient is representable, IEEE 754-2019, section 4.3.
    """
    return x / x, 1


@lru_cache(maxsize=1024)
def sum_of_coefficients(a: Constant, b: Constant) -> Variable | None:
    """Return ``a + b`` for coefficients of one dtype, or None."""
    if a.dtype != b.dtype:
        return None
    with np.errstate(over="ignore"):  # integers wrap around, as they would at the call
        total = np.add(a.uniform, b.uniform)
    return constant(total, a.dtype) if np.isfinite(total) else None


@identity(
    tags=(*CANONICAL, "add_canonical"),
    where=lambda x, a, b, c: (
        numerico(x),
        coefficiento(a),
        coefficiento(b),
        calco(c, sum_of_coefficients, a, b),
    ),
    specials="assumes_finite",
)
def collect_like_termso(x, a, b, c):
    """a x + b x = c x, where c = a + b.

    Holds modulo 2^n for integers, and for any number of terms; x itself counts as 1 x.
    The coefficients' sum and the product round once each.  With a = -b infinity becomes NaN on both
    sides, 0 elsewhere.
    Source: distributive law.
    """
    return a * x + b * x, c * x


@identity(tags=(*CANONICAL, "add_canonical"), where=numerico, rounding="exact")
def double_addo(x):
    """x + x = 2 x.

    Holds modulo 2^n for integers; a sum of bool is a logical or.
    Source: both sides round the same number, and doubling is exact short of overflow.
    """
    return x + x, 2 * x


def one_less(c: Any, x: Any) -> Variable | None:
    """Return ``c - 1`` for a constant ``c`` of the dtype of ``x``; None for anything else."""
    return _with_one(np.subtract, c, x)


def one_minus(c: Any, x: Any) -> Variable | None:
    """Return ``1 - c`` for a constant ``c`` of the dtype of ``x``; None for anything else."""
    return _with_one(lambda value, one: np.subtract(one, value), c, x)


def _with_one(combine: Any, c: Any, x: Any) -> Variable | None:
    if not isinstance(c, Constant) or c.dtype != x.dtype or c.dtype.kind == "b":
        return None
    with np.errstate(over="ignore"):  # integers wrap around, as they would at the call
        return constant(combine(c.value, np.ones_like(c.value)), c.dtype)


def not_both_coefficients(a: Any, b: Any) -> bool:
    """Return True if one of two factors is more than a number."""
    return not (isinstance(a, Constant) and isinstance(b, Constant))


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def gather_subtract_multiplyo(x, c, d):
    """c x - x = d x, where d = c - 1, and x - c x = d x, where d = 1 - c.

    Holds for a constant c of the dtype of x, modulo 2^n for integers.
    Three roundings stand against two.
    Source: distributive law.
    """
    yield c * x - x, d * x, calco(d, one_less, c, x)
    yield x - c * x, d * x, calco(d, one_minus, c, x)


@identity(tags=(*CANONICAL, "add_canonical", "mul_canonical"), specials="assumes_finite")
def distribute_multiply_addo(x, y, z):
    """x (y + z) = x y + x z.

    Holds modulo 2^n for integers.
    Either side rounds at most three times, so the error is within 3u (|x y| + |x z|).
    Source: distributive law; N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd
    ed., section 3.1.
    """
    return x * (y + z), x * y + x * z


@identity(
    tags=(*CANONICAL, "add_canonical", "mul_canonical"),
    where=lambda x, y, z: checko(not_both_coefficients, y, z),
    specials="assumes_finite",
)
def distribute_multiply_subtracto(x, y, z):
    """x (y - z) = x y - x z.

    Holds modulo 2^n for integers.
    Where y and z are constants, collect_like_termso sees to it that their difference does not
    overflow.
    Source: distributive law.
    """
    return x * (y - z), x * y - x * z


@identity(tags=(*CANONICAL, "add_canonical", "mul_canonical"), specials="assumes_finite")
def distribute_divide_addo(x, y, z):
    """(x + y) / z = x / z + y / z.

    Holds for floats.
    Source: distributive law.
    """
    return (x + y) / z, x / z + y / z


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def cancel_add_subtracto(x, y):
    """(x - y) + y = x.

    Holds modulo 2^n for integers.
    The error is within 2u (|x| + |y|).
    Source: group law.
    """
    return (x - y) + y, x


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def cancel_subtract_addo(x, y):
    """(x + y) - y = x.

    Holds modulo 2^n for integers.
    The error is within 2u (|x| + |y|).
    Source: group law.
    """
    return (x + y) - y, x


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def cancel_subtract_subtracto(x, y):
    """x - (x - y) = y, (x - y) - x = -y, and x - (x + y) = -y.

    Holds modulo 2^n for integers.
    The error is within 2u (|x| + |y|).
    Source: group law.
    """
    yield x - (x - y), y
    yield (x - y) - x, -y
    yield x - (x + y), -y


@identity(tags=(*CANONICAL, "mul_canonical"), where=lambda y: floato(y), specials="assumes_finite")
def cancel_divide_multiplyo(x, y, z):
    """(x y) / y = x, and (x y) / (z y) = x / z, where y is not 0.

    Holds for floats.
    The error is within 3u of the result.
    Source: group law.
    """
    yield (x * y) / y, x
    yield y / (x * y), 1 / x
    yield (x * y) / (z * y), x / z


@identity(tags=(*CANONICAL, "mul_canonical"), where=lambda y: floato(y), specials="assumes_finite")
def cancel_multiply_divideo(x, y):
    """(x / y) y = x, where y is not 0.

    The error is within 2u |x|.
    Source: group law.
    """
    return (x / y) * y, x


@lru_cache(maxsize=1024)
def opposite(c: Any, x: Any) -> Variable | None:
    """Return ``-c`` for a constant of the dtype of ``x``; None for anything else."""
    if not isinstance(c, Constant) or c.dtype != x.dtype or c.dtype.kind not in "fi":
        return None
    with np.errstate(over="ignore"):  # integers wrap around, as they would at the call
        return constant(np.negative(c.value), c.dtype)


@identity(tags=(*TIDY, "mul_canonical"), where=lambda c: numbero(c, 3, -0.7), rounding="exact")
def negate_multiply_numbero(x, y, c, d):
    """-(c x) = (-x) c = d x and -((c x) / y) = (d x) / y, where d = -c.

    Holds for a constant c of the dtype of x, modulo 2^n for integers.
    Source: IEEE 754-2019, section 6.3: the sign of a product is the exclusive or of the signs.
    """
    yield -(c * x), d * x, calco(d, opposite, c, x)
    yield (-x) * c, d * x, calco(d, opposite, c, x)
    yield -((c * x) / y), (d * x) / y, calco(d, opposite, c, x)


RELATIONS = relations_in(
    globals(),
    backward=(
        distribute_multiply_addo,
        distribute_multiply_subtracto,
        distribute_divide_addo,
    ),
)
