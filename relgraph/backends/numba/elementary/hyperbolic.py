"""The hyperbolic tangent and the logistic function.

References
----------
W. J. Cody and W. Waite, "Software Manual for the Elementary Functions" (1980), chapter 13: a
polynomial near 0 and one exponential elsewhere.
"""

from __future__ import annotations

from relgraph.backends.numba.elementary.coefficients import TANH
from relgraph.backends.numba.elementary.exponentials import exp_below, power_of_two, reduced, tail
from relgraph.backends.numba.elementary.values import (
    Value,
    absolute,
    fma,
    polynomial,
    where,
    with_sign,
)

_NEAR = 0.55  # the polynomial is valid below
_FAR = 20.0  # the result rounds to 1 from here


def tanh(x: Value) -> Value:
    """Compute the hyperbolic tangent: ``1 - 2 / (exp(2 abs(x)) + 1)``, with the sign of ``x``."""
    a = absolute(x)
    z = a * a
    near = fma(a * z, polynomial(z, TANH[x.format.name]), a)
    r, bits = reduced(where(a > _FAR, a.constant(2 * _FAR), a + a))
    e = fma(tail(r), power_of_two(bits), power_of_two(bits))
    return with_sign(where(a < _NEAR, near, 1.0 - 2.0 / (e + 1.0)), x)


def sigmoid(x: Value) -> Value:
    """Compute ``1 / (1 + exp(-x))`` from the exponential that does not overflow."""
    e = exp_below(-absolute(x))
    return where(x < 0.0, e, 1.0) / (e + 1.0)
