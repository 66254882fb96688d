"""Exponentials: ``x = k log(2) + r``, a polynomial of ``r``, and ``2**k`` in the exponent bits.

References
----------
W. J. Cody and W. Waite, "Software Manual for the Elementary Functions" (1980), chapter 6: the
reduction by a constant in two parts; P. T. P. Tang, "Table-driven implementation of the expm1
function in IEEE floating-point arithmetic", ACM TOMS 18 (1992); J.-M. Muller, "Elementary
Functions", 3rd ed., 11.1.  A fused multiply-add makes the first step of the reduction exact.
"""

from __future__ import annotations

from relgraph.backends.numba.elementary.coefficients import EXP2, EXP_TAIL, LN2, LOG2_E
from relgraph.backends.numba.elementary.values import Value, fma, polynomial, where
from relgraph.ir.records import record


@record
class Limits:
    """The numbers whose exponentials underflow to 0 and overflow to infinity."""

    underflow: float
    overflow: float

    def clamped(self, x: Value) -> Value:
        """Clamp a number to the limits; NaN stays NaN."""
        x = where(x > self.overflow, x.constant(self.overflow), x)
        return self.raised(x)

    def raised(self, x: Value) -> Value:
        """Clamp a number to the lower limit; NaN stays NaN."""
        return where(x < self.underflow, x.constant(self.underflow), x)


EXP_LIMITS = {"float32": Limits(-104.5, 89.0), "float64": Limits(-746.0, 710.0)}
EXP2_LIMITS = {"float32": Limits(-151.0, 128.0), "float64": Limits(-1076.0, 1024.0)}
LIFT = {"float32": 32, "float64": 64}  # added to exponents of results that may be subnormal


def rounded(x: Value, factor: float, more: int = 0) -> tuple[Value, Value]:
    """Return ``x * factor`` rounded to an integer, as a float and, plus ``more``, in the lowest
    bits.

    The higher bits of the second result are meaningless.
    """
    magic = x.format.magic + more
    shifted = fma(x, factor, magic)
    return shifted - magic, shifted.bits()


def reduced(x: Value, more: int = 0) -> tuple[Value, Value]:
    """Return ``r`` for ``x = k log(2) + r``, and bits whose lowest are ``k + more``."""
    high, low = LN2[x.format.name]
    k, bits = rounded(x, LOG2_E[x.format.name][0], more)
    return fma(k, -low, fma(k, -high, x)), bits


def power_of_two(bits: Value) -> Value:
    """Return ``2**k``, a normal number, for ``k`` in the lowest bits."""
    return _power(bits + bits.format.bias)


def _power(biased: Value) -> Value:
    return (biased << biased.format.mantissa).as_float()


def reduced_below(x: Value) -> tuple[Value, Value]:
    """Return ``r`` and ``2**(k + LIFT)`` for a number ``x <= 0``.

    The power is normal unless the exponential is 0.  A product with it and then with ``2**-LIFT``
    is therefore rounded only once, even if the result is subnormal.
    """
    r, bits = reduced(x, x.format.bias + LIFT[x.format.name])
    return r, _power(bits)


def halves(bits: Value) -> tuple[Value, Value]:
    """Return two normal numbers whose product is ``2**k``, even if that is infinite or subnormal.

    The lowest bits of ``bits`` are ``k`` plus twice the bias of the format.
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
    """Compute ``2**x``."""
    y = EXP2_LIMITS[x.format.name].clamped(x)
    k, bits = rounded(y, 1.0, 2 * x.format.bias)
    r = y - k
    first, second = halves(bits)
    return fma(r * first, polynomial(r, EXP2[x.format.name]), first) * second


def expm1(x: Value) -> Value:
    """Compute ``exp(x) - 1`` as ``2**k (exp(r) - 1) + (2**k - 1)``, using ``2**k / 2``, which is
    finite.
    """
    lowest = -40.0  # the result is -1
    r, bits = reduced(Limits(lowest, EXP_LIMITS[x.format.name].overflow).clamped(x))
    half = power_of_two(bits - 1)
    t = tail(r)
    result = fma(t, half, half - 0.5) * 2.0
    return where(t.equals(x), x, result)  # only near 0, where halving a subnormal would round


def exp_below(x: Value) -> Value:
    """Compute the exponential of a number ``x <= 0``, or of NaN."""
    r, power = reduced_below(EXP_LIMITS[x.format.name].raised(x))
    return fma(tail(r), power, power) * 2.0 ** -LIFT[x.format.name]
