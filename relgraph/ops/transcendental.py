"""The table of exponentials, logarithms, trigonometric, hyperbolic and special functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.ops import fact_rules as rules
from relgraph.ops.functions import AC, SPECIAL, TRANSCENDENTAL, Function, ufunc, ufunc_loop

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


def _unary(function: np.ufunc, facts: Any, zero: str = "") -> Function:
    return ufunc(function, weight=TRANSCENDENTAL, facts=facts, zero=zero)


def _special(compute: Any, facts: Any, zero: str = "") -> Function:
    # The dtype rule is that of exp, so that inferring a type does not import SciPy.
    return Function(
        compute.__name__, compute, 1, ufunc_loop(np.exp), weight=SPECIAL, facts=facts, zero=zero
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
