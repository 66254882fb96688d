"""The table of exponentials, logarithms, trigonometric, hyperbolic and special functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.ops import fact_rules as rules
from relgraph.ops.functions import (
    AC,
    SPECIAL,
    TRANSCENDENTAL,
    Function,
    no_facts,
    ufunc,
    ufunc_loop,
)

Array = Any  # a NumPy array of float32 or float64

LOG_2 = 0.6931471805599453


def log1mexp(x: Array) -> Array:
    """Compute ``log(1 - exp(x))`` without cancellation.

    References
    ----------
    M. Mächler, "Accurately computing log(1 - exp(-|a|))", R package Rmpfr, 2012.
    """
    with np.errstate(all="ignore"):  # each branch is evaluated where the other one holds, too
        return np.where(x > -LOG_2, np.log(-np.expm1(x)), np.log1p(-np.exp(x)))


def softplus(x: Array) -> Array:
    """Compute ``log(1 + exp(x))`` without overflow."""
    with np.errstate(invalid="ignore"):  # logaddexp warns of NaN
        return np.logaddexp(x.dtype.type(0), x)


def erf(x: Array) -> Array:
    """Compute the error function."""
    from scipy import special

    return special.erf(x)


def erfc(x: Array) -> Array:
    """Compute the complementary error function."""
    from scipy import special

    return special.erfc(x)


def gammaln(x: Array) -> Array:
    """Compute the logarithm of the absolute value of the gamma function."""
    from scipy import special

    return special.gammaln(x)


def sigmoid(x: Array) -> Array:
    """Compute ``1 / (1 + exp(-x))``."""
    from scipy import special

    return special.expit(x)


def logerfc(x: Array) -> Array:
    """Compute ``log(erfc(x))`` where ``erfc`` underflows, too.

    References
    ----------
    NIST Digital Library of Mathematical Functions, 7.12.1 (``exp(x**2) erfc(x)`` for large x).
    """
    from scipy import special

    with np.errstate(all="ignore"):  # each branch is evaluated where the other one holds, too
        large = np.log(special.erfcx(x)) - np.square(x)
        return np.where(x < 1, np.log1p(-special.erf(x)), large)


def erfcx(x: Array) -> Array:
    """Compute ``exp(x**2) * erfc(x)``, the scaled complementary error function."""
    from scipy import special

    return special.erfcx(x)


def gamma(x: Array) -> Array:
    """Compute the gamma function."""
    from scipy import special

    return special.gamma(x)


def digamma(x: Array) -> Array:
    """Compute the derivative of the logarithm of the gamma function."""
    from scipy import special

    return special.digamma(x)


def trigamma(x: Array) -> Array:
    """Compute the second derivative of the logarithm of the gamma function.

    References
    ----------
    NIST Digital Library of Mathematical Functions, 5.15.6 (reflection) and 25.11.12.
    """
    from scipy import special

    with np.errstate(all="ignore"):  # each branch is evaluated where the other one holds, too
        above = special.zeta(2, np.where(x > 0, x, 1 - x))
        reflected = np.square(np.pi / np.sin(np.pi * (x - np.rint(x)))) - above
        return np.asarray(np.where(x <= 0, reflected, above)).astype(x.dtype)


def polygamma(n: Array, x: Array) -> Array:
    """Compute the derivative of order ``n`` of the digamma function.

    Orders above 1 are NaN below -10,000, where the series has too many terms.
    """
    from scipy import special

    n, x = np.broadcast_arrays(n, x)
    with np.errstate(all="ignore"):
        near = np.where(x > -1e4, x, np.nan)
        high = special.polygamma(np.where(n > 1, n, 2), near)
        return np.select([n == 0, n == 1, n > 1], [special.digamma(x), trigamma(x), high], np.nan)


def kv(v: Array, x: Array) -> Array:
    """Compute the modified Bessel function of the second kind, of order ``v``."""
    from scipy import special

    return special.kv(v, x)


def kve(v: Array, x: Array) -> Array:
    """Compute ``kv(v, x) * exp(x)``, which does not underflow."""
    from scipy import special

    return special.kve(v, x)


def iv(v: Array, x: Array) -> Array:
    """Compute the modified Bessel function of the first kind, of order ``v``."""
    from scipy import special

    return special.iv(v, x)


def ive(v: Array, x: Array) -> Array:
    """Compute ``iv(v, x) * exp(-abs(x))``, which does not overflow."""
    from scipy import special

    return special.ive(v, x)


def _unary(function: np.ufunc, facts: Any, zero: str = "") -> Function:
    return ufunc(function, weight=TRANSCENDENTAL, facts=facts, zero=zero)


def _special(compute: Any, facts: Any, zero: str = "") -> Function:
    # The dtype rule is that of exp, so that inferring a type does not import SciPy.
    return Function(
        compute.__name__, compute, 1, ufunc_loop(np.exp), weight=SPECIAL, facts=facts, zero=zero
    )


def _bessel(compute: Any, facts: Any) -> Function:
    # The dtype rule is that of a function of two floats.
    return Function(
        compute.__name__, compute, 2, ufunc_loop(np.arctan2), weight=2 * SPECIAL, facts=facts
    )


_EXP = rules.rule(
    always=("nonnegative",),
    keeps=("not_nan",),
    when=((("nonnegative",), ("positive",)), (("nonpositive", "not_nan"), ("finite",))),
)
_LOG = rules.rule(
    when=((("nonnegative", "not_nan"), ("not_nan",)), (("positive", "finite"), ("finite",)))
)
_CIRCULAR = rules.rule(when=((("finite",), ("finite",)),))
_ODD = (*rules.SIGNS, "nonzero")  # what an odd increasing function keeps

TRANSCENDENTALS: tuple[Function, ...] = (
    _unary(np.exp, _EXP),
    _unary(np.exp2, _EXP),
    _unary(
        np.expm1,
        rules.rule(
            keeps=(*_ODD, "not_nan"),
            when=((("nonpositive", "not_nan"), ("finite",)),),
        ),
        zero="all",
    ),
    _unary(np.log, _LOG),
    _unary(np.log2, _LOG),
    _unary(np.log10, _LOG),
    _unary(
        np.log1p,
        rules.rule(
            keeps=_ODD,
            when=(
                (("nonnegative", "not_nan"), ("not_nan",)),
                (("nonnegative", "finite"), ("finite",)),
            ),
        ),
        zero="all",
    ),
    ufunc(np.logaddexp, weight=SPECIAL, laws=AC, facts=rules.logaddexp),
    _special(
        log1mexp,
        rules.rule(always=("nonpositive",), when=((("nonpositive", "not_nan"), ("not_nan",)),)),
    ),
    _unary(np.sin, _CIRCULAR, zero="all"),
    _unary(np.cos, _CIRCULAR),
    _unary(np.tan, rules.rule(when=((("finite",), ("not_nan",)),)), zero="all"),
    _unary(np.arcsin, rules.rule(keeps=_ODD), zero="all"),
    _unary(np.arccos, rules.rule(always=("nonnegative",))),
    _unary(
        np.arctan,
        rules.rule(keeps=_ODD, when=((("not_nan",), ("finite",)),)),
        zero="all",
    ),
    ufunc(np.arctan2, weight=SPECIAL, facts=rules.arctan2),
    _unary(np.sinh, rules.rule(keeps=(*_ODD, "not_nan")), zero="all"),
    _unary(np.cosh, rules.rule(always=("positive",), keeps=("not_nan",))),
    _unary(np.tanh, rules.rule(keeps=_ODD, when=((("not_nan",), ("finite",)),)), zero="all"),
    _unary(np.arcsinh, rules.rule(keeps=(*_ODD, "finite", "not_nan")), zero="all"),
    _unary(np.arccosh, rules.rule(always=("nonnegative",))),
    _unary(np.arctanh, rules.rule(keeps=_ODD), zero="all"),
    ufunc(np.hypot, weight=TRANSCENDENTAL, facts=rules.hypot, zero="all"),
    _special(
        erf,
        rules.rule(keeps=rules.WEAK_SIGNS, when=((("not_nan",), ("finite",)),)),
        zero="all",
    ),
    _special(
        erfc,
        rules.rule(always=("nonnegative",), when=((("not_nan",), ("finite",)),)),
    ),
    _special(gammaln, rules.rule(when=((("positive", "not_nan"), ("not_nan",)),))),
    _special(
        gamma,
        rules.rule(keeps=("positive",), when=((("positive", "not_nan"), ("positive", "not_nan")),)),
    ),
    _special(digamma, no_facts),
    _special(trigamma, no_facts),
    _bessel(polygamma, no_facts),
    _bessel(kv, rules.bessel_k),
    _bessel(kve, rules.bessel_k),
    _bessel(iv, rules.bessel_i),
    _bessel(ive, rules.bessel_i),
    _special(
        logerfc,
        rules.rule(keeps=("not_nan",), when=((("nonnegative",), ("nonpositive",)),)),
    ),
    _special(erfcx, rules.rule(always=("nonnegative",), keeps=("not_nan",))),
    _special(
        sigmoid,
        rules.rule(
            always=("nonnegative",),
            when=((("nonnegative",), ("positive",)), (("not_nan",), ("finite",))),
        ),
    ),
    _special(
        softplus,
        rules.rule(
            always=("nonnegative",),
            keeps=("finite", "not_nan"),
            when=((("nonnegative",), ("positive",)),),
        ),
    ),
)
