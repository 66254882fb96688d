"""Exponentials: ``x = k log(2) + r``, a polynomial of ``r``, and ``2**k`` put into the exponent.

References
----------
W. J. Cody and W. Waite, "Software Manual for the Elementary Functions" (1980), chapter 6: the
reduction by a constant in two parts; P. T. P. Tang, "Table-driven implementation of the expm1
function in IEEE floating-point arithmetic", ACM TOMS 18 (1992); J.-M. Muller, "Elementary
Functions", 3rd ed., 11.1.  With a fused multiply-add the first step of the reduction is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from relgraph.backends.numba.elementary.coefficients import EXP2, EXP_TAIL, LN2, LOG2_E
from relgraph.backends.numba.elementary.values import Value, fma, polynomial, where


@dataclass(frozen=True)
class Limits:
    """Where exponentials leave a format.

    Parameters
    ----------
    overflow : float
        The largest number whose exponential is finite.
    underflow : float
        A number whose exponential rounds to 0.
    small : float
        Below it the exponential may be below the smallest normal number.
    """

    overflow: float
    underflow: float
    small: float


EXP_LIMITS = {
    "float32": Limits(88.72283172607422, -104.5, -87.0),
    "float64": Limits(709.782712893384, -746.0, -708.0),
}
EXP2_LIMITS = {
    "float32": Limits(127.99999237060547, -151.0, -125.0),
    "float64": Limits(1023.9999999999999, -1076.0, -1021.0),
}
_LIFT = {"float32": 32, "float64": 64}  # added to the exponent of what may be subnormal


def rounded(x: Value, factor: float) -> tuple[Value, Value]:
    """Return ``x * factor`` rounded to an integer: as a float, and in the lowest bits."""
    shifted = fma(x, factor, x.format.magic)
    return shifted - x.format.magic, shifted.bits()


def reduced(x: Value) -> tuple[Value, Value]:
    """Return ``r`` and the bits whose lowest are ``k``, for ``x = k log(2) + r``."""
    high, low = LN2[x.format.name]
    k, bits = rounded(x, LOG2_E[x.format.name][0])
    return fma(k, -low, fma(k, -high, x)), bits


def power_of_two(bits: Value) -> Value:
    """Return ``2**k``, for ``k`` in the lowest bits and ``2**k`` a normal number."""
    kind = bits.format
    return ((bits + kind.bias) << kind.mantissa).as_float()


def scaled(p: Value, bits: Value, small: Value) -> Value:
    """Return ``p * 2**k``, rounded once, for ``p`` near 1 and ``k`` in the lowest bits.

    Adding ``k`` to the exponent does it, unless the result may be subnormal; then a larger number
    is made and multiplied by a power of two.
    """
    lift = _LIFT[p.format.name]
    bits = where(small, bits + lift, bits)
    number = (p.bits() + (bits << p.format.mantissa)).as_float()
    return number * where(small, p.constant(2.0**-lift), 1.0)


def tail(r: Value) -> Value:
    """Return ``exp(r) - 1`` for ``abs(r) <= log(2) / 2``."""
    return fma(r * r, polynomial(r, EXP_TAIL[r.format.name]), r)


def exp(x: Value) -> Value:
    """Compute the exponential."""
    limits = EXP_LIMITS[x.format.name]
    y = where(x > limits.underflow, x, limits.underflow)
    r, bits = reduced(y)
    result = scaled(tail(r) + 1.0, bits, y < limits.small)
    return where(x <= limits.overflow, result, x + math.inf)


def exp2(x: Value) -> Value:
    """Compute the power of two."""
    limits = EXP2_LIMITS[x.format.name]
    y = where(x > limits.underflow, x, limits.underflow)
    k, bits = rounded(y, 1.0)
    r = y - k
    p = fma(r, polynomial(r, EXP2[x.format.name]), 1.0)
    return where(x <= limits.overflow, scaled(p, bits, y < limits.small), x + math.inf)


def expm1(x: Value) -> Value:
    """Compute the exponential less 1.

    ``2**k (exp(r) - 1) + (2**k - 1)``, where half of ``2**k`` keeps it finite.
    """
    limits = EXP_LIMITS[x.format.name]
    lowest = -40.0  # the result is -1
    y = where(x > lowest, x, lowest)
    r, bits = reduced(y)
    half = power_of_two(bits - 1)
    result = fma(tail(r), half, half - 0.5) * 2.0
    result = where(x <= limits.overflow, result, x + math.inf)
    return where(x.equals(0.0), x, result)


def exp_below(x: Value) -> Value:
    """Compute the exponential of a number that is not positive, or NaN."""
    limits = EXP_LIMITS[x.format.name]
    y = where(x > limits.underflow, x, limits.underflow)
    r, bits = reduced(y)
    result = scaled(tail(r) + 1.0, bits, y < limits.small)
    return where(x.differs(x), x, result)
