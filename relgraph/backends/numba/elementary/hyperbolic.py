"""Hyperbolic functions and the logistic function.

References
----------
W. J. Cody and W. Waite, "Software Manual for the Elementary Functions" (1980), chapters 12
and 13: a polynomial near 0 and one exponential elsewhere.
"""

from __future__ import annotations

from relgraph.backends.numba.elementary.coefficients import SINH, TANH
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
_OVERFLOW = {"float32": 89.6, "float64": 710.6}  # sinh and cosh are infinite from here


def _quarters(a: Value) -> tuple[Value, Value, Value]:
    """Return the sum of two numbers that is ``exp(a) / 4``, and ``exp(-a) / 4``, for ``a >= 0``."""
    limit = _OVERFLOW[a.format.name]
    r, bits = reduced(where(a > limit, a.constant(limit), a))
    power = power_of_two(bits - 2)
    rest = tail(r) * power
    return power, rest, 0.0625 / (power + rest)


def sinh(x: Value) -> Value:
    """Compute the hyperbolic sine."""
    a = absolute(x)
    z = a * a
    near = fma(a * z, polynomial(z, SINH[x.format.name]), a)
    power, rest, inverse = _quarters(a)
    return with_sign(where(a < 1.0, near, (power + (rest - inverse)) * 2.0), x)


def cosh(x: Value) -> Value:
    """Compute the hyperbolic cosine."""
    power, rest, inverse = _quarters(absolute(x))
    return (power + (rest + inverse)) * 2.0


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
