"""Powers, squares, roots and reciprocals.

Squares written ``x ** 2`` or ``x * x`` become ``square(x)``, so that the other relations meet one
form.
"""

from __future__ import annotations

import math
from typing import Any

from relgraph.ir.node import Constant, Variable, constant
from relgraph.ops.elementwise import absolute, cbrt, reciprocal, sqrt, square, where
from relgraph.relations.catalogue import CANONICAL, relations_in
from relgraph.relations.catalogue.conditions import numbero, numerico
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import (
    calco,
    floato,
    nonnegativeo,
    positiveo,
)

SPECIALIZE = ("specialize", "fast_run", "pow_specialize")
LARGEST = 64  # exponent that is written out: each squaring doubles the relative error
SMALL = 4  # below it fractional powers err by less than 4 ULP: measured 3.8 for -3.5, 3.5 for -0.75


@identity(tags=(*CANONICAL, "specialize", "const_elimination", "pow_specialize"), rounding="exact")
def remove_power_oneo(x):
    """x^1 = x.

    Source: IEEE 754-2019, section 9.2.1 (pown(x, 1) is x).
    """
    return x**1, x


@identity(tags=(*CANONICAL, "specialize", "const_elimination", "pow_specialize"), rounding="exact")
def annihilate_power_zeroo(x):
    """x^0 = 1.

    Holds for NaN and infinity, too.
    Source: IEEE 754-2019, section 9.2.1 (pow(x, 0) is 1 for any x, even a NaN).
    """
    return x**0, 1


@identity(tags=(*CANONICAL, "specialize"), where=lambda x: nonnegativeo(x))
def cancel_square_sqrto(x):
    """sqrt(x)^2 = x, written as a power, a product or a square.

    The error is within 3u |x|; the square of -0.0 is 0.0.
    Source: definition of the square root.
    """
    yield sqrt(x) ** 2, x
    yield square(sqrt(x)), x


@identity(tags=(*CANONICAL, *SPECIALIZE))
def square_powero(x):
    """x^2 = square(x).

    Holds modulo 2^n for integers.
    A power is not rounded correctly.
    Source: definition.
    """
    return x**2, square(x)


@identity(tags=(*CANONICAL, "specialize", "mul_specialize"), rounding="exact")
def square_multiplyo(x):
    """x x = square(x).

    Holds modulo 2^n for integers.
    Source: definition.
    """
    return x * x, square(x)


@identity(tags=SPECIALIZE, specials="assumes_finite")
def sqrt_powero(x):
    """x^(1/2) = sqrt(x).

    For the number 1/2 the sides are the same, by the definition of x ** 0.5.  For an array of 1/2,
    the power of -infinity is infinity, and that of -0.0 is 0.0.
    Source: DLMF 4.2(iv); IEEE 754-2019, section 9.2.1 for the special values of pow.
    """
    return x**0.5, sqrt(x)


@identity(tags=SPECIALIZE)
def reciprocal_powero(x):
    """x^(-1) = 1 / x.

    Holds for floats.
    Source: DLMF 4.2(iv); IEEE 754-2019, section 9.2.1.
    """
    return x ** (-1.0), reciprocal(x)


@identity(tags=SPECIALIZE, where=floato, specials="assumes_finite")
def reciprocal_sqrt_powero(x):
    """x^(-1/2) = 1 / sqrt(x).

    The power of -0.0 is infinity.
    Source: DLMF 4.2(iv); IEEE 754-2019, section 9.2.1.
    """
    return x ** (-0.5), reciprocal(sqrt(x))


@identity(tags=SPECIALIZE, where=floato, specials="assumes_finite")
def reciprocal_square_powero(x):
    """x^(-2) = 1 / square(x).

    Holds where the square is not 0.
    Source: DLMF 4.2(iv).
    """
    return x ** (-2.0), reciprocal(square(x))


@identity(
    tags=(*CANONICAL, "mul_canonical", "useless_Reciprocal_of_Reciprocal"),
    where=lambda x: floato(x),
)
def cancel_reciprocal_reciprocalo(x):
    """1 / (1 / x) = x, written as quotients or reciprocals.

    Holds for zeros of either sign; where 1 / x overflows, the left side is 0 and x is subnormal.
    The error is within 2u |x|.
    Source: group law; IEEE 754-2019, section 7.3, for 1 / 0.
    """
    yield 1 / (1 / x), x
    yield reciprocal(reciprocal(x)), x


@identity(tags=("specialize", "fast_run", "mul_specialize"), rounding="exact")
def reciprocal_divideo(x):
    """1 / x = reciprocal(x).

    Holds for floats: an integer reciprocal is an integer.
    Source: definition.
    """
    return 1 / x, reciprocal(x)


@identity(tags=CANONICAL, specials="assumes_finite")
def cancel_sqrt_squareo(x):
    """sqrt(x^2) = |x|, written with a power or a square.

    Holds for floats.
    The error is within 2u |x| where the square does not underflow.
    Source: definition of the square root.
    """
    yield sqrt(x**2), absolute(x)
    yield sqrt(square(x)), absolute(x)


@identity(tags=(*CANONICAL, "mul_canonical"), where=floato, specials="assumes_finite")
def cancel_divide_squareo(x):
    """square(x) / x = x, where x is not 0.

    Holds for floats.
    The error is within 2u |x|.
    Source: group law.
    """
    return square(x) / x, x


@identity(tags=(*CANONICAL, "mul_canonical"), where=lambda x: floato(x), specials="assumes_finite")
def cancel_square_factoro(x, y, z):
    """(square(x) y) / (x z) = (x y) / z and (x y) / (square(x) z) = y / (x z), where x is not 0.

    The other factors may be missing.
    Holds for floats.
    The error is within 4u of the result.
    Source: group law.
    """
    yield (square(x) * y) / x, x * y
    yield (square(x) * y) / (x * z), (x * y) / z
    yield x / square(x), 1 / x
    yield (x * y) / square(x), y / x
    yield (x * y) / (square(x) * z), y / (x * z)


@identity(tags=CANONICAL, rounding="exact")
def absorb_square_negativeo(x):
    """square(-x) = square(x).

    Holds modulo 2^n for integers.
    Source: IEEE 754-2019, section 6.3.
    """
    return square(-x), square(x)


@identity(tags=CANONICAL, rounding="exact")
def absorb_square_absoluteo(x):
    """square(|x|) = square(x).

    Holds modulo 2^n for integers.
    Source: IEEE 754-2019, section 6.3.
    """
    return square(absolute(x)), square(x)


@identity(tags=CANONICAL, where=lambda x: (positiveo(x), floato(x)), specials="assumes_finite")
def distribute_power_addo(x, a, b):
    """x^(a + b) = x^a x^b.

    The error of an exponent counts |log x| times.
    Source: DLMF 4.8.14.
    """
    return x ** (a + b), x**a * x**b


def whole(x: Any) -> int | None:
    """Return the value of a uniform constant that is an integer; None for anything else."""
    value = x.uniform if isinstance(x, Constant) else None
    if value is None or isinstance(value, bool) or not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() and abs(value) < 2**15 else None


def exponent(value: int | None, like: Variable) -> Variable | None:
    """Return a constant of the dtype of another one, where it can hold the value."""
    if value is None or (like.dtype.kind in "iu" and not 0 <= value <= 100):
        return None
    return constant(value, like.dtype)


def joined(a: Any, b: Any) -> Variable | None:
    """Return a + b for exponents of integers; None where their signs differ and the sum is not
    negative, as then a pole would go.
    """
    m, n = whole(a), whole(b)
    if m is None or n is None or a.dtype != b.dtype:
        return None
    return exponent(m + n if m + n < 0 or (m > 0 and n > 0) else None, a)


def one_more(a: Any) -> Variable | None:
    """Return a + 1 for a whole exponent that leaves no pole behind."""
    n = whole(a)
    return None if n is None or n in (-1, 0) else exponent(n + 1, a)


def two_more(a: Any) -> Variable | None:
    """Return a + 2 for a whole exponent that leaves no pole behind."""
    n = whole(a)
    return None if n is None or n in (-2, -1, 0) else exponent(n + 2, a)


def times(a: Any, b: Any) -> Variable | None:
    """Return a b for exponents of integers."""
    m, n = whole(a), whole(b)
    return None if m is None or n is None or a.dtype != b.dtype else exponent(m * n, a)


def twice(a: Any) -> Variable | None:
    """Return 2 a for a whole exponent."""
    n = whole(a)
    return None if n is None else exponent(2 * n, a)


def half(a: Any) -> Variable | None:
    """Return a / 2 for a float constant that is positive and not 2, which is a square."""
    value = a.uniform if isinstance(a, Constant) and a.dtype.kind == "f" else None
    return None if value is None or not 0 < value < 2**15 else constant(value / 2, a.dtype)


def squarings(a: Any, x: Any) -> Variable | None:
    """Return x^n by repeated squaring, for an integer n of at least 3."""
    n = whole(a)
    if n is None or not 3 <= n <= LARGEST or (x.dtype.kind != "f" and a.dtype != x.dtype):
        return None
    return product(x, n)


def product(x: Variable, n: int) -> Variable:
    """Return x^n by repeated squaring, for n of at least 1."""
    result = None
    while n:
        if n % 2:
            result = x if result is None else result * x
        n //= 2
        x = square(x) if n else x
    assert result is not None
    return result


def inverse_squarings(a: Any, x: Any) -> Variable | None:
    """Return x^(-n) by repeated squaring, for an integer n of at least 3."""
    n = whole(a)
    return None if n is None or not 3 <= -n <= LARGEST else reciprocal(product(x, -n))


def half_squarings(a: Any, x: Any) -> Variable | None:
    """Return x^(n + 1/2) or its reciprocal by repeated squaring, for an integer n of at least 1."""
    size = _size(a)
    if size is None or not 1 < size < (LARGEST if a.uniform > 0 else SMALL) or size % 1 != 0.5:
        return None
    return _signed(a, product(x, int(size)) * sqrt(x))


def quarter_squarings(a: Any, x: Any) -> Variable | None:
    """Return x^(n / 4) or its reciprocal by roots and repeated squaring, for an odd n."""
    size = _size(a)
    if size is None or size >= SMALL or size % 0.5 != 0.25:
        return None
    root = sqrt(x)
    result = sqrt(root) if size % 1 == 0.25 else root * sqrt(root)
    return _signed(a, result if size < 1 else product(x, int(size)) * result)


def _size(a: Any) -> float | None:
    value = a.uniform if isinstance(a, Constant) and a.dtype.kind == "f" else None
    return None if value is None else abs(float(value))


def _signed(a: Any, power: Variable) -> Variable:
    return reciprocal(power) if a.uniform < 0 else power


@identity(
    tags=(*CANONICAL, "specialize", "const_elimination", "pow_canonicalize"), rounding="exact"
)
def annihilate_one_powero(x):
    """1^x = 1.

    Holds for NaN and infinity, too.
    Source: IEEE 754-2019, section 9.2.1 (pow(1, y) is 1 for any y, even a NaN).
    """
    return 1**x, 1


@identity(
    tags=(*CANONICAL, "mul_pow_to_pow_add"),
    where=lambda x, a: (numerico(x), numbero(a, 3, -4)),
    specials="assumes_finite",
)
def gather_whole_powero(x, a, b, c):
    """x^a x^b = x^(a + b), x x^a = x^(a + 1) and square(x) x^a = x^(a + 2).

    Holds for exponents that are constant integers and whose sum keeps the pole at 0, if there is
    one, modulo 2^n for integers.
    The error is within c u |x^(a + b)|.
    Source: DLMF 4.2(iv).
    """
    yield x**a * x**b, x**c, (numbero(b, 4, -5), calco(c, joined, a, b))
    yield x * x**a, x**c, calco(c, one_more, a)
    yield square(x) * x**a, x**c, calco(c, two_more, a)


@identity(tags=CANONICAL, where=lambda x: (positiveo(x), floato(x)), specials="assumes_finite")
def distribute_power_subtracto(x, a, b):
    """x^(a - b) = x^a / x^b.

    The error of an exponent counts |log x| times.
    Source: DLMF 4.8.14.
    """
    return x ** (a - b), x**a / x**b


@identity(tags=CANONICAL, where=lambda x: (positiveo(x), floato(x)), specials="assumes_finite")
def merge_power_powero(x, a, b):
    """(x^a)^b = x^(a b).

    The error of an exponent counts |log x| times.
    Source: DLMF 4.8.15.
    """
    return (x**a) ** b, x ** (a * b)


@identity(
    tags=CANONICAL, where=lambda x, a: (floato(x), numbero(a, 3, -4)), specials="assumes_finite"
)
def merge_whole_powero(x, a, b, c):
    """(x^a)^b = x^(a b), square(x)^a = x^(2 a) and square(x^a) = x^(2 a).

    The error is within c u b |x^(a b)|.
    Source: DLMF 4.2(iv).
    """
    yield (x**a) ** b, x**c, (numbero(b, 4, -3), calco(c, times, a, b))
    yield square(x) ** a, x**c, calco(c, twice, a)
    yield square(x**a), x**c, calco(c, twice, a)


@identity(
    tags=CANONICAL,
    where=lambda x, a, c: (nonnegativeo(x), numbero(a, 3, 1.5), calco(c, half, a)),
    specials="assumes_finite",
)
def halve_power_sqrto(x, a, c):
    """sqrt(x)^a = x^(a / 2).

    Source: DLMF 4.8.15.
    """
    return sqrt(x) ** a, x**c


@identity(tags=CANONICAL, where=lambda x, y: (floato(x), floato(y)), specials="assumes_finite")
def negate_powero(x, y):
    """1 / x^y = x^(-y), written as a quotient or a reciprocal.

    One side may overflow where the other is subnormal.
    Source: DLMF 4.2(iv).
    """
    yield 1 / x**y, x ** (-y)
    yield reciprocal(x**y), x ** (-y)


@identity(
    tags=SPECIALIZE,
    where=lambda x, a, c: (numerico(x), numbero(a, 3, 4, 7, 10), calco(c, squarings, a, x)),
)
def square_repeatedlyo(x, a, c):
    """x^n = a product of repeated squares: x^3 = x square(x), x^4 = square(square(x)).

    Holds for a constant integer n of 3 to 64, modulo 2^n for integers.
    The error is within n u |x^n|.
    Source: D. E. Knuth, The Art of Computer Programming, vol. 2, 3rd ed., section 4.6.3.
    """
    return x**a, c


@identity(
    tags=SPECIALIZE,
    where=lambda x, a, c: (floato(x), numbero(a, -3, -6), calco(c, inverse_squarings, a, x)),
    specials="assumes_finite",
)
def square_inverselyo(x, a, c):
    """x^(-n) = 1 / x^n, the power as a product of repeated squares.

    The error is within n u |x^(-n)|.  Where x^n overflows, its reciprocal is 0, not subnormal.
    Source: D. E. Knuth, The Art of Computer Programming, vol. 2, 3rd ed., section 4.6.3.
    """
    return x**a, c


@identity(
    tags=SPECIALIZE,
    where=lambda x, a, c: (floato(x), numbero(a, 1.5, 2.5, -1.5), calco(c, half_squarings, a, x)),
    specials="assumes_finite",
)
def square_half_powero(x, a, c):
    """x^(n + 1/2) = x^n sqrt(x), the power as repeated squares; its reciprocal for a negative one.

    Negative exponents are above -4.  The error is within (n + 1) u |x^a|.  (-infinity)^(3/2) is
    infinity, sqrt(-infinity) is NaN.  Where x^n sqrt(x) overflows, its reciprocal is 0, not
    subnormal.
    Source: DLMF 4.2(iv); IEEE 754-2019, section 9.2.1.
    """
    return x**a, c


@identity(
    tags=SPECIALIZE,
    where=lambda x, a, c: (
        floato(x),
        numbero(a, 0.25, 0.75, -1.25),
        calco(c, quarter_squarings, a, x),
    ),
    specials="assumes_finite",
)
def square_quarter_powero(x, a, c):
    """x^(1/4) = sqrt(sqrt(x)), x^(3/4) = sqrt(x) sqrt(sqrt(x)), and these with an integer more.

    For a negative exponent it is the reciprocal.  Holds for exponents between -4 and 4.
    The error is within (n + 3) u |x^a| for the integer n.  The power of -infinity is infinity, and
    that of -0.0 is 0.0.
    Source: DLMF 4.2(iv); IEEE 754-2019, section 9.2.1.
    """
    return x**a, c


@identity(tags=("specialize", "fast_run"), where=floato)
def switch_square_sqrto(x):
    """sqrt(x)^2 = x where x >= 0, and NaN elsewhere.

    The error is within 3u |x|; the square of -0.0 is 0.0.
    Source: definition of the square root.
    """
    return square(sqrt(x)), where(x >= 0, x, math.nan)


@identity(
    tags=("merge_sqrt",),
    where=lambda x, y: (nonnegativeo(x), nonnegativeo(y)),
    specials="assumes_finite",
)
def merge_sqrto(x, y):
    """sqrt(x) sqrt(y) = sqrt(x y), and sqrt(x) / sqrt(y) = sqrt(x / y).

    The error is within 3u of the result.  No mode runs it: the product may overflow or underflow
    where the roots do not.
    Source: definition of the square root.
    """
    yield sqrt(x) * sqrt(y), sqrt(x * y)
    yield sqrt(x) / sqrt(y), sqrt(x / y)


@identity(tags=CANONICAL, where=lambda x: positiveo(x), specials="assumes_finite")
def cancel_divide_sqrto(x):
    """x / sqrt(x) = sqrt(x), and sqrt(x) / x = 1 / sqrt(x).

    The error is within 3u of the result.
    Source: definition of the square root.
    """
    yield x / sqrt(x), sqrt(x)
    yield sqrt(x) / x, reciprocal(sqrt(x))


@identity(tags=CANONICAL, where=floato)
def cancel_power_cbrto(x):
    """cbrt(x)^3 = x.

    The error is within 4u |x|.
    Source: definition of the cube root.
    """
    return cbrt(x) ** 3, x


@identity(tags=CANONICAL, where=floato, specials="assumes_finite")
def cancel_cbrt_powero(x):
    """cbrt(x^3) = x.

    The error is within 2u |x| where the cube does not underflow.
    Source: definition of the cube root.
    """
    return cbrt(x**3), x


RELATIONS = relations_in(globals(), backward=(distribute_power_addo, distribute_power_subtracto))
