"""The error function and its complement.

References
----------
W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23 (1969):
erf itself near 0, and a multiple of ``exp(-x**2)`` elsewhere; M. M. Shepherd and J. G. Laframboise,
"Chebyshev approximation of (1 + 2x) exp(x**2) erfc x in 0 <= x < inf", Math. Comp. 36 (1981): with
a factor and a rational variable one polynomial serves all positive numbers.  Here one quotient,
``1 / (x + c)``, is both.
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

_ONE_FROM = {"float32": 4.0, "float64": 6.0}  # here erf is 1
_ZERO_FROM = {"float32": 10.25, "float64": 27.375}  # here erfc is 0
_POLE = 2.5
_MIDDLE = {"float32": 119 / 1024, "float64": 86 / 1024}


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

    ``t p(t) exp(-a**2)`` for ``t = 1 / (a + 2.5)``.  What rounding ``a**2`` and ``t`` loses is
    given back to the exponent: for ``t``, times ``0.82 + 5 t``, about the power of ``t`` that
    ``t p(t)`` grows like.
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
