"""Sine, cosine and tangent: subtract a multiple of pi and evaluate a polynomial.

Up to a bound the multiple is subtracted in three parts.  A fused multiply-add makes the first
subtraction exact, so the result is accurate near every zero.  Beyond the bound the C library
computes each element, with its own errors (up to 15 ULP in the GNU library near multiples of pi/2).
A test of the whole vector skips these calls when no element needs them.

References
----------
W. J. Cody and W. Waite, "Software Manual for the Elementary Functions" (1980), chapters 8 and 9;
J.-M. Muller, "Elementary Functions", 3rd ed., 11.2 (reduction with a fused multiply-add) and 11.3
(how close a floating-point number comes to a multiple of pi/2: 2**-62 in float64).
"""

from __future__ import annotations

from relgraph.backends.numba.elementary.beyond import library_beyond
from relgraph.backends.numba.elementary.coefficients import (
    COS_QUARTER,
    HALF_PI,
    PI,
    SIN,
    SIN_QUARTER,
)
from relgraph.backends.numba.elementary.values import Value, fma, polynomial, where

# The reduction is accurate enough up to here.
BOUND = {"float32": 2.0**18, "float64": 2.0**49}

# The square of a number whose cosine, 1 - x^2 / 2, rounds to 1.
ROUNDS_TO_ONE = {"float32": 2.0**-24, "float64": 2.0**-53}


def _less(x: Value, k: Value, parts: tuple[float, ...]) -> Value:
    """Return ``x - k sum(parts)``."""
    for part in parts:
        x = fma(k, -part, x)
    return x


def _sine(r: Value, parity: Value) -> Value:
    """Return ``sin(r)`` for ``abs(r) <= pi / 2``, negated if an integer is odd."""
    z = r * r
    result = fma(r * z, polynomial(z, SIN[r.format.name]), r)
    return (result.bits() ^ (parity << (r.format.bits - 1))).as_float()


def sin(x: Value) -> Value:
    """Compute the sine."""
    parts = PI[x.format.name]
    shifted = fma(x, 1 / PI["float64"][0], x.format.magic)
    r = _less(x, shifted - x.format.magic, parts)
    result = where(x.equals(0.0), x, _sine(r, shifted.bits()))
    return library_beyond("sin", BOUND[x.format.name], x, result)


def cos(x: Value) -> Value:
    """Compute the cosine."""
    parts = PI[x.format.name]
    shifted = fma(x, 1 / PI["float64"][0], -0.5) + x.format.magic
    r = _less(x, (shifted - x.format.magic) + 0.5, parts)
    result = where(x * x < ROUNDS_TO_ONE[x.format.name], 1.0, _sine(r, shifted.bits() + 1))
    return library_beyond("cos", BOUND[x.format.name], x, result)


def tan(x: Value) -> Value:
    """Compute the tangent."""
    name = x.format.name
    shifted = fma(x, 2 / PI["float64"][0], x.format.magic)
    r = _less(x, shifted - x.format.magic, HALF_PI[name])
    z = r * r
    s = fma(r * z, polynomial(z, SIN_QUARTER[name]), r)
    c = fma(z * z, polynomial(z, COS_QUARTER[name]), fma(z, -0.5, 1.0))
    odd = (shifted.bits() & 1).equals(1)
    result = where(odd, -c, s) / where(odd, s, c)
    return library_beyond("tan", BOUND[name], x, where(x.equals(0.0), x, result))
