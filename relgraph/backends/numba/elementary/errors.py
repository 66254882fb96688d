"""The error function and its complement.

References
----------
W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23 (1969): erf
near 0, and a multiple of ``exp(-x**2)`` elsewhere; M. M. Shepherd and J. G. Laframboise, "Chebyshev
approximation of (1 + 2x) exp(x**2) erfc x in 0 <= x < inf", Math. Comp. 36 (1981): with a scale
factor and a rational variable, one polynomial covers all positive numbers.  Here ``1 / (x + c)``
serves as both.
"""

from __future__ import annotations

from relgraph.backends.numba.elementary.coefficients import ERF, ERFC, LOG_ERFC
from relgraph.backends.numba.elementary.exponentials import (
    LIFT,
    power_of_two,
    reduced,
    reduced_below,
    tail,
)
from relgraph.backends.numba.elementary.values import (
    Value,
    absolute,
    fma,
    polynomial,
    where,
    with_sign,
)

_ONE_FROM = {"float32": 4.0, "float64": 6.0}  # erf rounds to 1 from here
_ZERO_FROM = {"float32": 10.25, "float64": 27.375}  # erfc rounds to 0 from here
_POLE = 2.5
_MIDDLE = {"float32": 119 / 1024, "float64": 86 / 1024}


def _near(x: Value) -> Value:
    """Return the error function of a number between -1 and 1."""
    return fma(x, polynomial(x * x, ERF[x.format.name]), x)


def erf(x: Value) -> Value:
    """Compute the error function: a polynomial up to 1, and ``1 - exp(-h)`` above."""
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

    The result is ``t p(t) exp(-a**2)`` for ``t = 1 / (a + 2.5)``.  The rounding errors of ``a**2``
    and ``t`` are added to the exponent; that of ``t`` is multiplied by ``0.82 + 5 t``, about the
    logarithmic derivative of ``t p(t)``.
    """
    kind = x.format
    end = _ZERO_FROM[kind.name]
    a = absolute(x)
    a = where(a > end, a.constant(end), a)
    square = a * a
    lost = fma(a, a, -square)
    shifted = a + _POLE
    t = 1.0 / shifted
    rest = fma((shifted - _POLE) - a, t, fma(-t, shifted, 1.0))
    lost = fma(rest, -fma(t, 5.0, 0.82), lost)
    u = t - _MIDDLE[kind.name]
    first, *others = ERFC[kind.name]
    g = t * fma(u, polynomial(u, others), first)
    r, power = reduced_below(-square)
    scale = g * power
    positive = fma(tail(r - lost), scale, scale) * 2.0 ** -LIFT[kind.name]
    return where(x < 0.0, 2.0 - positive, positive)
