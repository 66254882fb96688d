"""Exponentials: ``x = k log(2) + r``, a polynomial of ``r``, and ``2**k`` put into the exponent.

References
----------
W. J. Cody and W. Waite, "Software Manual for the Elementary Functions" (1980), chapter 6: the
reduction by a constant in two parts; P. T. P. Tang, "Table-driven implementation of the expm1
function in IEEE floating-point arithmetic", ACM TOMS 18 (1992); J.-M. Muller, "Elementary
Functions", 3rd ed., 11.1.  With a fused multiply-add the first step of the reduction is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from relgraph.backends.numba.elementary.coefficients import EXP2, EXP_TAIL, LN2, LOG2_E
from relgraph.backends.numba.elementary.values import Value, fma, polynomial, where


@dataclass(frozen=True)
class Limits:
    """Where exponentials leave a format.

    Parameters
    ----------
    underflow : float
        A number whose exponential rounds to 0.
    overflow : float
        A number whose exponential is infinite.
    """

    underflow: float
    overflow: float

    def clamped(self, x: Value) -> Value:
        """Return the nearest number between them; NaN for NaN."""
        x = where(x > self.overflow, x.constant(self.overflow), x)
        return self.raised(x)

    def raised(self, x: Value) -> Value:
        """Return a number, or the lower one where it is less; NaN for NaN."""
        return where(x < self.underflow, x.constant(self.underflow), x)


EXP_LIMITS = {"float32": Limits(-104.5, 89.0), "float64": Limits(-746.0, 710.0)}
EXP2_LIMITS = {"float32": Limits(-151.0, 128.0), "float64": Limits(-1076.0, 1024.0)}
LIFT = {"float32": 32, "float64": 64}  # added to the exponent of what may be subnormal


def rounded(x: Value, factor: float, more: int = 0) -> tuple[Value, Value]:
    """Return ``x * factor`` rounded to an integer as a float, and that plus ``more`` in bits.

    The lowest bits of the second are the integer; those above are of no use.
    """
    magic = x.format.magic + more
    shifted = fma(x, factor, magic)
    return shifted - magic, shifted.bits()


def reduced(x: Value, more: int = 0) -> tuple[Value, Value]:
    """Return ``r`` and the bits whose lowest are ``k + more``, for ``x = k log(2) + r``."""
    high, low = LN2[x.format.name]
    k, bits = rounded(x, LOG2_E[x.format.name][0], more)
    return fma(k, -low, fma(k, -high, x)), bits


def power_of_two(bits: Value) -> Value:
    """Return ``2**k``, for ``k`` in the lowest bits and ``2**k`` a normal number."""
    return _power(bits + bits.format.bias)


def _power(biased: Value) -> Value:
    return (biased << biased.format.mantissa).as_float()


def reduced_below(x: Value) -> tuple[Value, Value]:
    """Return ``r`` and ``2**(k + LIFT)`` for a number that is not positive.

    That power is normal for each whose exponential is not 0: what is multiplied by it, and then by
    ``2**-LIFT``, is rounded once, subnormal or not.
    """
    r, bits = reduced(x, x.format.bias + LIFT[x.format.name])
    return r, _power(bits)


def halves(bits: Value) -> tuple[Value, Value]:
    """Return two normal numbers whose product is ``2**k``, infinite or subnormal as that may be.

    Parameters
    ----------
    bits : Value
        Bits whose lowest are ``k`` and twice the bias of the format.
    """
    half = bits >> 1
    return _power(half), _power(bits - half)


def tail(r: Value) -> Value:
    """Return ``exp(r) - 1`` for ``abs(r) <= log(2) / 2``."""
    return fma(r * r, polynomial(r, EXP_TAIL[r.format.name]), r)


def exp(x: Value) -> Value:
    """Compute the exponential."""
    r, bits = reduced(EXP_LIMITS[x.format.name].clamped(x), 2 * x.format.bias)
    first, second = halves(bits)
    return fma(tail(r), first, first) * second


def exp2(x: Value) -> Value:
    """Compute the power of two."""
    y = EXP2_LIMITS[x.format.name].clamped(x)
    k, bits = rounded(y, 1.0, 2 * x.format.bias)
    r = y - k
    first, second = halves(bits)
    return fma(r * first, polynomial(r, EXP2[x.format.name]), first) * second


def expm1(x: Value) -> Value:
    """Compute the exponential less 1.

    ``2**k (exp(r) - 1) + (2**k - 1)``, where half of ``2**k`` keeps it finite.
    """
    lowest = -40.0  # the result is -1
    r, bits = reduced(Limits(lowest, EXP_LIMITS[x.format.name].overflow).clamped(x))
    half = power_of_two(bits - 1)
    t = tail(r)
    result = fma(t, half, half - 0.5) * 2.0
    return where(t.equals(x), x, result)  # near 0 only; half of a subnormal number is rounded


def exp_below(x: Value) -> Value:
    """Compute the exponential of a number that is not positive, or NaN."""
    r, power = reduced_below(EXP_LIMITS[x.format.name].raised(x))
    return fma(tail(r), power, power) * 2.0 ** -LIFT[x.format.name]
