"""Arcsine, arccosine and arctangent: a multiple of pi/4 plus a polynomial of at most 1/2.

The arctangent of ``a / b`` is that of a smaller quotient: of ``(a - b) / (a + b)`` after pi/4 where
``a`` is near ``b``, and of ``-b / a`` after pi/2 where it is larger.  Selects choose numerator and
denominator, so there is one division; what it loses, and the sum, is added to the result.  The
arcsine of a number above 1/2 is ``pi/2 - 2 arcsin(sqrt((1 - x) / 2))``.

References
----------
W. J. Cody and W. Waite, "Software Manual for the Elementary Functions" (1980), chapters 10 and 11;
J.-M. Muller, "Elementary Functions", 3rd ed., 2.2 (sums and products of pairs of numbers); C99
(ISO/IEC 9899:1999), F.9.1, for the special values.
"""

from __future__ import annotations

import math

from relgraph.backends.numba.elementary.coefficients import ASIN, ATAN, QUARTER_PI_SHORT
from relgraph.backends.numba.elementary.values import (
    Value,
    absolute,
    fma,
    intrinsic,
    polynomial,
    where,
    with_sign,
)

_FAR = {"float32": 2.0**30, "float64": 2.0**60}  # the arctangent rounds to pi/2 from here
# Operands below the first number are multiplied by the second, others by the third: then residuals
# of a quotient are normal numbers, and sums and inverses finite.
_SCALES = {
    "float32": (2.0**60, 2.0**64, 2.0**-20),
    "float64": (2.0**500, 2.0**500, 2.0**-100),
}


def _angle(k: Value, t: Value, small: Value) -> Value:
    """Return ``k pi/4 + t + small`` for a whole number ``k`` from 0 to 4.

    ``t`` is smaller than ``k pi/4``, unless that is 0.
    """
    high, low = QUARTER_PI_SHORT[t.format.name]
    base = k * high
    total = base + t
    lost = (base - total) + t
    return total + (small + fma(k, low, lost))


def _quotient(a: Value, b: Value, larger: Value, smaller: Value) -> tuple[Value, Value, Value]:
    """Return ``k``, ``t`` and ``low`` such that ``arctan(a / b) = k pi/4 + arctan(t + low)``."""
    below = a < b * 0.5
    above = a > b + b
    total = a + b
    lost = smaller - (total - larger)
    lost = where(below, 0.0, where(above, 0.0, lost))
    n = where(below, a, where(above, -b, a - b))
    d = where(below, b, where(above, a, total))
    inverse = 1.0 / d
    t = n * inverse
    low = fma(-t, lost, fma(-t, d, n)) * inverse
    return where(below, 0.0, where(above, a.constant(2.0), 1.0)), t, low


def _arctangent(k: Value, t: Value, low: Value) -> Value:
    """Return ``k pi/4 + arctan(t + low)``."""
    z = t * t
    more = fma(-low, z, low)
    return _angle(k, t, fma(t * z, polynomial(z, ATAN[t.format.name]), more))


def arctan(x: Value) -> Value:
    """Compute the arctangent."""
    far = _FAR[x.format.name]
    a = absolute(x)
    a = where(a > far, a.constant(far), a)
    one = a.constant(1.0)
    above = a > one
    k, t, low = _quotient(a, one, where(above, a, one), where(above, one, a))
    return with_sign(_arctangent(k, t, low), x)


def arctan2(y: Value, x: Value) -> Value:
    """Compute the angle of the point ``(x, y)``."""
    limit, up, down = _SCALES[x.format.name]
    a, b = absolute(y), absolute(x)
    steep = a > b
    larger = where(steep, a, b)
    # Two infinities become two ones, beside which a finite number is 0 and NaN remains NaN.
    scale = where(larger < limit, a.constant(up), down)
    scale = where(larger.equals(math.inf), 0.0, scale)
    a = where(a.equals(math.inf), 1.0, a * scale)
    b = where(b.equals(math.inf), 1.0, b * scale)
    b = where(larger.equals(0.0), 1.0, b)
    k, t, low = _quotient(a, b, where(steep, a, b), where(steep, b, a))
    # The other side of the vertical: pi minus the angle.
    left = x.bits() < 0
    k = where(left, 4.0 - k, k)
    t = where(left, -t, t)
    low = where(left, -low, low)
    return with_sign(_arctangent(k, t, low), y)


def arcsin(x: Value) -> Value:
    """Compute the arcsine."""
    a = absolute(x)
    near = a < 0.5
    z = where(near, a * a, fma(a, -0.5, 0.5))
    t = where(near, a, intrinsic("sqrt", z) * -2.0)
    result = _angle(
        where(near, a.constant(0.0), 2.0), t, t * z * polynomial(z, ASIN[x.format.name])
    )
    return with_sign(result, x)


def arccos(x: Value) -> Value:
    """Compute the arccosine."""
    a = absolute(x)
    near = a < 0.5
    z = where(near, a * a, fma(a, -0.5, 0.5))
    root = intrinsic("sqrt", z) * 2.0
    t = where(near, -x, with_sign(root, x))
    k = where(near, x.constant(2.0), where(x < 0.0, x.constant(4.0), 0.0))
    return _angle(k, t, t * z * polynomial(z, ASIN[x.format.name]))
