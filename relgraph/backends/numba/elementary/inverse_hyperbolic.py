"""Inverse hyperbolic functions: logarithms of numbers with their rounding errors.

Near 0, where such a logarithm cancels, they are polynomials.  Elsewhere the operand of the
logarithm is a sum of two numbers, because the result is smaller than 1 where an error of the
operand counts most.

References
----------
DLMF 4.37(iv); J.-M. Muller, "Elementary Functions", 3rd ed., 2.2 (sums and products of pairs of
numbers).
"""

from __future__ import annotations

import math

from relgraph.backends.numba.elementary.coefficients import ASINH, LOG_TAIL_WIDE
from relgraph.backends.numba.elementary.logarithms import natural, of_sum
from relgraph.backends.numba.elementary.values import (
    Value,
    absolute,
    fma,
    intrinsic,
    polynomial,
    where,
    with_sign,
)

_THIRD = 1 / 3  # up to here LOG_TAIL_WIDE is valid
# From here the square root is the operand, and the logarithm that of its double.
_LARGE = {"float32": 2.0**14, "float64": 2.0**30}


def _root(square: Value, rest: Value) -> tuple[Value, Value]:
    """Return the square root of ``square + rest`` as a sum of two numbers."""
    root = intrinsic("sqrt", square)
    # The smallest number keeps 0 / 0 away.
    low = (fma(-root, root, square) + rest) / fma(root, 2.0, square.format.tiny)
    return root, low


def _logarithm(a: Value, larger: Value, smaller: Value, low: Value) -> Value:
    """Return ``log(larger + smaller + low)``, or ``log(2 a)`` if ``a`` is large."""
    large = a > _LARGE[a.format.name]
    total = larger + smaller
    lost = ((larger - total) + smaller) + low
    f, k = of_sum(where(large, a, total), where(large, 0.0, lost))
    return where(a < math.inf, natural(f, where(large, k + 1.0, k)), a)


def arcsinh(x: Value) -> Value:
    """Compute ``log(abs(x) + sqrt(x**2 + 1))``, with the sign of ``x``."""
    a = absolute(x)
    z = a * a
    near = fma(a * z, polynomial(z, ASINH[x.format.name]), a)
    total = z + 1.0
    back = total - z
    lost = (z - (total - back)) + (1.0 - back)  # exact: Knuth's two-sum
    root, low = _root(total, fma(a, a, -z) + lost)
    return with_sign(where(a < 0.5, near, _logarithm(a, root, a, low)), x)


def arccosh(x: Value) -> Value:
    """Compute ``log(x + sqrt(x**2 - 1))``."""
    z = x * x
    above = z - 1.0
    lost = (z - above) - 1.0
    rest = fma(x, x, -z) + lost
    total = above + rest
    root, low = _root(total, (above - total) + rest)
    return where(x >= 1.0, _logarithm(x, x, root, low), x.constant(math.nan))


def arctanh(x: Value) -> Value:
    """Compute ``log((1 + abs(x)) / (1 - abs(x))) / 2``, with the sign of ``x``."""
    a = absolute(x)
    z = a * a
    near = fma(a * z, polynomial(z, LOG_TAIL_WIDE[x.format.name]) * 0.5, a)
    n, d = a + 1.0, 1.0 - a
    n_lost, d_lost = (1.0 - n) + a, (1.0 - d) - a
    inverse = 1.0 / d
    q = n * inverse
    low = (fma(-q, d, n) + fma(-q, d_lost, n_lost)) * inverse
    f, k = of_sum(q, low)
    far = natural(f, k) * 0.5
    far = where(a.equals(1.0), a.constant(math.inf), where(a < 1.0, far, a.constant(math.nan)))
    return with_sign(where(a < _THIRD, near, far), x)
