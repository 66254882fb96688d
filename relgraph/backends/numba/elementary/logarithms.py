"""Logarithms: ``x = 2**k m`` with ``m`` near 1, and ``log(m)`` through ``s = f / (2 + f)``.

For ``f = m - 1``, ``log(1 + f) = f - f**2 / 2 + s (f**2 / 2 + R(s**2))``.  The first term is exact
and the others are small, so their rounding errors matter little.

References
----------
P. T. P. Tang, "Table-driven implementation of the logarithm function in IEEE floating-point
arithmetic", ACM TOMS 16 (1990); J.-M. Muller, "Elementary Functions", 3rd ed., 11.2; the form of
the series is that of K. C. Ng's ``log`` in the 4.3 BSD mathematical library (1985).  M. Mächler,
"Accurately computing log(1 - exp(-|a|))", R package Rmpfr, 2012.
"""

from __future__ import annotations

import math

from relgraph.backends.numba.elementary.coefficients import (
    LN2,
    LN2_SHORT,
    LOG2_E,
    LOG10_2_SHORT,
    LOG10_E,
    LOG_TAIL,
    LOG_TAIL_WIDE,
    Numbers,
)
from relgraph.backends.numba.elementary.exponentials import (
    EXP_LIMITS,
    LIFT,
    exp_below,
    reduced_below,
    tail,
)
from relgraph.backends.numba.elementary.values import (
    Value,
    absolute,
    fma,
    polynomial,
    where,
)
from relgraph.ir.records import record

# The bits of sqrt(1/2); mantissas lie between sqrt(1/2) and sqrt(2).
_HALF_ROOT = {"float32": 0x3F3504F3, "float64": 0x3FE6A09E667F3BCD}


@record
class Base:
    """The constants of a logarithm to some base, each in two parts by format.

    ``exponent`` is the logarithm of 2; products of exponents with its first part are exact.
    ``natural`` is the factor of the natural logarithm.
    """

    exponent: Numbers
    natural: Numbers


BASE_2 = Base({"float32": (1.0, 0.0), "float64": (1.0, 0.0)}, LOG2_E)
BASE_10 = Base(LOG10_2_SHORT, LOG10_E)


def split(x: Value) -> tuple[Value, Value]:
    """Return the mantissa near 1 and the biased exponent of a positive normal number."""
    kind = x.format
    root = _HALF_ROOT[kind.name]
    bits = x.bits() + ((kind.bias << kind.mantissa) - root)
    m = ((bits & ((1 << kind.mantissa) - 1)) + root).as_float()
    return m, bits >> kind.mantissa


def exponent(biased: Value) -> Value:
    """Return a biased exponent as a float without its bias."""
    kind = biased.format
    large = 2.0**kind.mantissa
    one = (kind.bias + kind.mantissa) << kind.mantissa  # the bits of that number
    return (biased | one).as_float() - (large + kind.bias)


def series(f: Value) -> Value:
    """Return ``log(1 + f) - f`` for ``1 + f`` between sqrt(1/2) and sqrt(2)."""
    s = f / (f + 2.0)
    half = f * 0.5 * f
    z = s * s
    return fma(s, fma(z, polynomial(z, LOG_TAIL[f.format.name]), half), -half)


def natural(f: Value, k: Value) -> Value:
    """Return ``k log(2) + log(1 + f)``."""
    high, low = LN2_SHORT[f.format.name]
    base = k * high
    total = base + f
    lost = (base - total) + f
    return total + (fma(k, low, lost) + series(f))


def of_base(f: Value, k: Value, base: Base) -> Value:
    """Return the logarithm of ``2**k (1 + f)`` to a base."""
    high, low = base.exponent[f.format.name]
    factor, rest = base.natural[f.format.name]
    first = f * factor
    start = k * high
    total = start + first
    lost = (start - total) + first
    lost = fma(k, low, lost) if low else lost
    small = fma(f, factor, -first) + fma(f, rest, series(f) * factor)
    return total + (lost + small)


def normal(x: Value) -> tuple[Value, Value]:
    """Scale a subnormal number to a normal one, and return the exponent to subtract."""
    kind = x.format
    tiny = x < kind.tiny
    power = float(kind.mantissa + 2)
    return where(tiny, x * 2.0**power, x), where(tiny, x.constant(power), 0.0)


def at_the_ends(x: Value, result: Value) -> Value:
    """Return a logarithm with its special values for 0, infinity, NaN and negative numbers."""
    result = where(x < math.inf, result, x)
    result = where(x < 0.0, x.constant(math.nan), result)
    return where(x.equals(0.0), x.constant(-math.inf), result)


def log(x: Value) -> Value:
    """Compute the natural logarithm."""
    y, less = normal(x)
    m, biased = split(y)
    return at_the_ends(x, natural(m - 1.0, exponent(biased) - less))


def log2(x: Value) -> Value:
    """Compute the logarithm to base 2."""
    y, less = normal(x)
    m, biased = split(y)
    return at_the_ends(x, of_base(m - 1.0, exponent(biased) - less, BASE_2))


def log10(x: Value) -> Value:
    """Compute the logarithm to base 10."""
    y, less = normal(x)
    m, biased = split(y)
    return at_the_ends(x, of_base(m - 1.0, exponent(biased) - less, BASE_10))


def of_sum(u: Value, lost: Value) -> tuple[Value, Value]:
    """Return ``f`` and ``k`` with ``2**k (1 + f) = u + lost`` for a sum ``u`` with a rounding
    error.
    """
    kind = u.format
    m, biased = split(u)
    # 2 * 2**-k times half of the error, because 2**-k is subnormal for the largest k.
    double = (((2 * kind.bias + 1) - biased) << kind.mantissa).as_float()
    return fma(lost * 0.5, double, m - 1.0), exponent(biased)


def log1p(x: Value) -> Value:
    """Compute ``log(1 + x)``."""
    u = x + 1.0
    back = u - 1.0
    lost = (x - back) + (1.0 - (u - back))  # exact: Knuth's two-sum
    f, k = of_sum(u, lost)
    result = natural(f, k)
    result = where(x < math.inf, result, x)
    result = where(x < -1.0, x.constant(math.nan), result)
    result = where(x.equals(-1.0), x.constant(-math.inf), result)
    return where(u.equals(1.0), x, result)  # includes zeros of either sign and subnormals


def log1p_of_fraction(e: Value) -> Value:
    """Compute ``log(1 + e)`` for ``e`` from 0 to 1, where no exponent has to be extracted."""
    s = e / (e + 2.0)
    half = e * 0.5 * e
    z = s * s
    return e + fma(s, fma(z, polynomial(z, LOG_TAIL_WIDE[e.format.name]), half), -half)


def softplus(x: Value) -> Value:
    """Compute ``log(1 + exp(x))`` as ``max(x, 0) + log(1 + exp(-abs(x)))``."""
    return where(x > 0.0, x, 0.0) + log1p_of_fraction(exp_below(-absolute(x)))


def logaddexp(x: Value, y: Value) -> Value:
    """Compute ``log(exp(x) + exp(y))``."""
    larger = where(x > y, x, y)
    result = larger + log1p_of_fraction(exp_below(-absolute(x - y)))
    return where(x.equals(y), x + LN2[x.format.name][0], result)  # includes equal infinities


def log1mexp(x: Value) -> Value:
    """Compute ``log(1 - exp(x))`` for ``x <= 0``.

    Above ``-log(2)``, ``1 - exp(x)`` is computed without cancellation; below, the rounding error of
    the difference is added.
    """
    r, power = reduced_below(EXP_LIMITS[x.format.name].raised(x))
    t = tail(r)
    down = 2.0 ** -LIFT[x.format.name]
    e = fma(t, power, power) * down
    power = power * down
    near = x > -LN2[x.format.name][0]
    rest = 1.0 - e
    u = where(near, (1.0 - power) - t * power, rest)
    lost = where(near, x.constant(0.0), (1.0 - rest) - e)
    v, less = normal(u)
    f, k = of_sum(v, lost)
    result = -absolute(natural(f, k - less))  # -0 where the exponential is 0
    result = where(x < 0.0, result, x.constant(math.nan))
    return where(x.equals(0.0), x.constant(-math.inf), result)
