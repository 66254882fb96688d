"""Division with rounding and its remainder, equal to NumPy's.

The remainder of the C library's ``fmod`` is exact, and so is ``a - q b``, computed by a fused
multiply-add, for the whole part ``q`` of the rounded quotient, even if ``q`` is one too large.
Where the quotient is too large to have a fraction, the C library computes each element.

References
----------
NumPy's ``npy_divmod``; P. H. Sterbenz, "Floating-Point Computation" (1974), 4.3 (differences that
are exact).
"""

from __future__ import annotations

import math

from relgraph.backends.numba.elementary.beyond import library_beyond
from relgraph.backends.numba.elementary.values import (
    Value,
    absolute,
    fma,
    intrinsic,
    where,
    with_sign,
)

# Quotients up to here are within 1 of the exact ones.
_BOUND = {"float32": 2.0**22, "float64": 2.0**51}


def _rest(a: Value, b: Value) -> Value:
    """Return the remainder with the sign of the dividend, as ``fmod`` of the C library."""
    x, y = absolute(a), absolute(b)
    quotient = absolute(a / b)
    rest = fma(-intrinsic("trunc", quotient), y, x)
    rest = where(rest < 0.0, rest + y, rest)
    rest = where(y.equals(math.inf), where(x < math.inf, x, math.nan), rest)
    return with_sign(library_beyond("fmod", _BOUND[a.format.name], quotient, rest, x, y), a)


def _differ(b: Value, rest: Value) -> Value:
    """Return whether a remainder needs the divisor added, to have its sign."""
    return (b < 0.0) ^ (rest < 0.0)


def remainder(a: Value, b: Value) -> Value:
    """Return the remainder with the sign of the divisor."""
    rest = _rest(a, b)
    result = where(_differ(b, rest), rest + b, rest)
    result = where(rest.differs(0.0), result, with_sign(b.constant(0.0), b))
    return where(b.differs(0.0), result, rest)


def floor_divide(a: Value, b: Value) -> Value:
    """Divide, rounding down."""
    rest = _rest(a, b)
    direct = a / b
    quotient = (a - rest) / b
    quotient = where(rest.differs(0.0), where(_differ(b, rest), quotient - 1.0, quotient), quotient)
    whole = intrinsic("floor", quotient)
    whole = where(quotient - whole > 0.5, whole + 1.0, whole)
    whole = where(quotient.differs(0.0), whole, with_sign(whole.constant(0.0), direct))
    return where(b.differs(0.0), whole, direct)
