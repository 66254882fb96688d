"""Powers, cube roots and lengths.

``x**y = exp(y log(x))`` needs the logarithm to more precision than its format has, because the
result magnifies a relative error of the logarithm by ``y log(x)``.  In float64 the logarithm is a
sum of two numbers; for float32 it is a float64.

References
----------
J.-M. Muller, "Elementary Functions", 3rd ed., 2.2 (sums and products of pairs of numbers) and 11.4;
C99 (ISO/IEC 9899:1999), F.9.4.4, for the special values; W. Kahan, "Computing a real cube root"
(1991): the initial guess is a third of the exponent's bits.
"""

from __future__ import annotations

import math

from relgraph.backends.numba.elementary.coefficients import (
    CUBE_ROOT,
    EXP_TAIL,
    LN2,
    LN2_SHORT,
    LOG2_E,
    LOG_TAIL,
    LOG_TAIL_5,
)
from relgraph.backends.numba.elementary.exponentials import (
    halves,
    power_of_two,
    reduced,
    tail,
)
from relgraph.backends.numba.elementary.logarithms import exponent, normal, split
from relgraph.backends.numba.elementary.values import (
    SINGLE,
    Value,
    absolute,
    fma,
    intrinsic,
    polynomial,
    where,
    with_sign,
)

_TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)  # in two parts
_THIRD = {"float32": 1386637.0, "float64": 715094163.0}  # added to a third of the bits


def power(x: Value, y: Value) -> Value:
    """Compute ``x**y``."""
    a = absolute(x)
    result = _single(a, y) if x.format is SINGLE else _double(a, y)
    # Zero and infinity.
    end = where(y < 0.0, x.constant(math.inf), 0.0)
    result = where(a.equals(0.0), end, result)
    result = where(a.equals(math.inf), where(y < 0.0, x.constant(0.0), math.inf), result)
    # Negative bases: a negative result for odd exponents, NaN for fractional ones.
    half = y * 0.5
    whole = intrinsic("trunc", y).equals(y)
    odd = where(whole, intrinsic("trunc", half).differs(half), whole)
    result = where(odd, with_sign(result, x), result)
    invalid = where(x < 0.0, where(x > -math.inf, whole, x.equals(x)), x.equals(x))
    result = where(invalid, result, x.constant(math.nan))
    result = where(y.equals(y), result, y)
    result = where(x.equals(1.0), x, result)
    return where(y.equals(0.0), x.constant(1.0), result)


def _finite(y: Value) -> Value:
    """Clamp an exponent to a finite range with the same results; 1 to an infinite power is 1."""
    y = where(y > 1e300, y.constant(1e300), y)
    return where(y < -1e300, y.constant(-1e300), y)


def _single(a: Value, y: Value) -> Value:
    """Compute a power of a positive float32 in float64."""
    m, biased = split(a.widened())
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    series = fma(s * z, polynomial(z, LOG_TAIL["mixed"]), s + s)
    product = fma(exponent(biased), LN2["float64"][0], series) * _finite(y.widened())
    product = where(product > 200.0, product.constant(200.0), product)
    product = where(product < -200.0, product.constant(-200.0), product)
    shifted = fma(product, LOG2_E["float64"][0], product.format.magic)
    r = fma(shifted - product.format.magic, -LN2["float64"][0], product)
    p = fma(r * r, polynomial(r, EXP_TAIL["mixed"]), r) + 1.0
    return (p * power_of_two(shifted.bits())).narrowed()


def _double(a: Value, y: Value) -> Value:
    """Compute a power of a positive float64 with a logarithm in two parts."""
    scaled, less = normal(a)
    m, biased = split(scaled)
    high, low = _logarithm(m - 1.0, exponent(biased) - less)
    y = _finite(y)
    product = y * high
    rest = fma(y, low, fma(y, high, -product))
    inside = absolute(product) < 800.0
    rest = where(inside, rest, 0.0)
    product = where(inside, product, with_sign(product.constant(800.0), product))
    r, bits = reduced(product, 2 * product.format.bias)
    r = r + rest
    first, second = halves(bits)
    return fma(tail(r), first, first) * second


def _logarithm(f: Value, k: Value) -> tuple[Value, Value]:
    """Return ``k log(2) + log(1 + f)`` as a sum of two numbers, with relative error 2**-65."""
    d = f + 2.0
    inverse = 1.0 / d
    s = f * inverse
    s_low = (fma(-s, d, f) - s * (f - (d - 2.0))) * inverse
    z = s * s
    # The cube of s and 2/3 + 2/5 s**2 + ..., each as a sum of two numbers.
    z_low = fma(s, s, -z) + (s + s) * s_low
    cube = z * s
    cube_low = fma(z, s, -cube) + fma(z, s_low, z_low * s)
    more = z * polynomial(z, LOG_TAIL_5["float64"])
    c = more + _TWO_THIRDS[0]
    c_low = (_TWO_THIRDS[0] - c) + more + fma(z_low, 0.4, _TWO_THIRDS[1])
    term = cube * c
    term_low = fma(cube, c, -term) + fma(cube, c_low, cube_low * c)
    first = s + s
    total = first + term
    total_low = (first - total) + term + fma(s_low, 2.0, term_low)
    high, low = LN2_SHORT["float64"]
    base = k * high
    result = base + total
    lost = (base - result) + total
    rest = fma(k, low, lost) + total_low
    final = result + rest
    return final, (result - final) + rest


def cbrt(x: Value) -> Value:
    """Compute the cube root: a guess, a polynomial, and a Halley step that triples the digits."""
    kind = x.format
    a = absolute(x)
    # The rounding error of t * t times t, below, must be a normal number.
    small, lift = (2.0**-900, 162) if kind.bits == 64 else (2.0**-100, 48)
    tiny = a < small
    a = where(tiny, a * 2.0**lift, a)
    # A third of the bits, computed in the lowest bits of a float.
    low = 32 if kind.bits == 64 else 9
    large = 2.0**kind.mantissa
    one = (kind.bias + kind.mantissa) << kind.mantissa
    top = ((a.bits() >> low) | one).as_float() - large
    t = (fma(top, 1 / 3, large + _THIRD[kind.name]).bits() << low).as_float()
    inverse = 1.0 / a
    t = t * polynomial((t * t) * (t * inverse), CUBE_ROOT[kind.name])
    square = t * t
    error = (fma(square, t, -a) + fma(t, t, -square) * t) * inverse
    t = fma(t * error, fma(error, 2 / 9, -1 / 3), t)
    t = t * where(tiny, t.constant(2.0 ** -(lift // 3)), 1.0)
    t = where(x.equals(0.0), x, t)
    return where(absolute(x) < math.inf, with_sign(t, x), x)


# Operands whose larger one is above the first number, or below the second, are multiplied by a
# power of two, whose exponent is the third: then no square that counts is subnormal or infinite.
_SQUARES = {"float32": (2.0**60, 2.0**-40, 80), "float64": (2.0**500, 2.0**-400, 600)}


def hypot(x: Value, y: Value) -> Value:
    """Compute ``sqrt(x**2 + y**2)``, with the rounding error of the larger square."""
    high, low, exponent = _SQUARES[x.format.name]
    a, b = absolute(x), absolute(y)
    above = a > b
    larger, smaller = where(above, a, b), where(above, b, a)
    up, down = x.constant(2.0**exponent), x.constant(2.0**-exponent)
    is_large, is_small = larger > high, larger < low
    scale = where(is_large, down, where(is_small, up, 1.0))
    back = where(is_large, up, where(is_small, down, 1.0))
    larger, smaller = larger * scale, smaller * scale
    square = larger * larger
    lost = fma(larger, larger, -square)
    result = intrinsic("sqrt", square + fma(smaller, smaller, lost)) * back
    result = where(a.equals(math.inf), a, result)
    return where(b.equals(math.inf), b, result)
