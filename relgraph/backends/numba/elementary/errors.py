"""The error function and its complement.

References
----------
W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23 (1969):
erf itself near 0, and a multiple of ``exp(-x**2)`` elsewhere; M. M. Shepherd and J. G. Laframboise,
"Chebyshev approximation of (1 + 2x) exp(x**2) erfc x in 0 <= x < inf", Math. Comp. 36 (1981), whose
variable ``(x - c) / (x + c)`` and whose factor make one polynomial serve all positive numbers.
"""

from __future__ import annotations

from relgraph.backends.numba.elementary.coefficients import ERF, ERFCX, LOG_ERFC
from relgraph.backends.numba.elementary.exponentials import power_of_two, reduced, scaled, tail
from relgraph.backends.numba.elementary.values import (
    Value,
    absolute,
    fma,
    polynomial,
    where,
    with_sign,
)

_ONE_FROM = {"float32": 4.0, "float64": 6.0}  # here erf is 1
_ZERO_FROM = {"float32": 10.25, "float64": 27.375}  # here erfc is 0
_SMALL_FROM = {"float32": 80.0, "float64": 690.0}  # squares from which erfc may be subnormal
_CENTRE = {"float32": 3.0, "float64": 4.0}


def _near(x: Value) -> Value:
    """Return the error function of a number between -1 and 1."""
    return fma(x, polynomial(x * x, ERF[x.format.name]), x)


def erf(x: Value) -> Value:
    """Compute the error function: a polynomial up to 1, and ``1 - exp(-h)`` from there on."""
    name = x.format.name
    a = absolute(x)
    near = _near(a)
    t = where(a > _ONE_FROM[name], a.constant(_ONE_FROM[name]), a) - 1.0
    r, bits = reduced(-polynomial(t, LOG_ERFC[name]))
    power = power_of_two(bits)
    far = (1.0 - power) - tail(r) * power
    return with_sign(where(a < 1.0, near, far), x)


def erfc(x: Value) -> Value:
    """Compute the complementary error function, without cancellation where it is small.

    What rounding the square loses is given back to the exponent of ``exp(-x**2)``.
    """
    name = x.format.name
    a = absolute(x)
    near = 1.0 - _near(x)
    small = a < 0.5
    a = where(a > _ZERO_FROM[name], a.constant(_ZERO_FROM[name]), a)
    square = a * a
    lost = fma(a, a, -square)
    c = _CENTRE[name]
    g = (polynomial((a - c) / (a + c), ERFCX[name]) + 1.25) / fma(a, 2.0, 1.0)
    r, bits = reduced(-square)
    positive = scaled(fma(tail(r - lost), g, g), bits, square > _SMALL_FROM[name])
    positive = where(x.differs(x), x, positive)
    return where(small, near, where(x < 0.0, 2.0 - positive, positive))
