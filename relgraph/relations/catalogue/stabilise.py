"""Forms that keep their accuracy: log1p, expm1, softplus, sigmoid, logsumexp, softmax, erfc.

The left side is what a person writes; for some finite arguments it overflows, underflows or
cancels, and the right side does not.
"""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from typing import Any

from relgraph.ops.elementwise import (
    erf,
    erfc,
    exp,
    expm1,
    log,
    log1mexp,
    log1p,
    logaddexp,
    reciprocal,
    sigmoid,
    softplus,
)
from relgraph.ops.reduction import log_softmax, logsumexp, prod, softmax, sum
from relgraph.relations.goals import calco, eq, lall, lany, positiveo
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, identity, relation

STABLE = ("fast_run", "stabilize", "stabilization")
FINITE = ("fast_run", "stabilize")  # what assumes finite values is no part of "stabilization"


@identity(tags=STABLE)
def log1p_addo(x):
    """log(1 + x) = log1p(x).

    Holds always; the left side loses the low digits of a small x; rounded, kept.
    Source: definition; N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
    section 1.14.
    """
    return log(1 + x), log1p(x)


@identity(tags=STABLE)
def log1p_subtracto(x):
    """log(1 - x) = log1p(-x).

    Holds always; the left side loses the low digits of a small x; rounded, kept.
    Source: definition.
    """
    return log(1 - x), log1p(-x)


@identity(tags=STABLE)
def expm1_subtracto(x):
    """e^x - 1 = expm1(x).

    Holds always; the left side cancels for a small x; rounded, kept.
    Source: definition; N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
    section 1.14.
    """
    return exp(x) - 1, expm1(x)


@relation(tags=STABLE)
def softplus_log1po(left, right):
    """log(1 + e^x) = softplus(x), written with log or log1p.

    Holds always; the left side overflows for a large x; rounded, kept.
    Source: definition.
    """
    (x,) = lvars("x")
    return lany(
        *[
            lall(eq(left, spelled), eq(right, softplus(x)))
            for spelled in (log1p(exp(x)), log(1 + exp(x)))
        ]
    )


@relation(tags=STABLE)
def log1mexp_log1po(left, right):
    """log(1 - e^x) = log1mexp(x), written with log, log1p or expm1.

    Holds always, x > 0 being NaN on both sides; the left side cancels for x near 0; rounded,
    kept.
    Source: definition; M. Mächler, Accurately computing log(1 - exp(-|a|)), R package Rmpfr, 2012.
    """
    (x,) = lvars("x")
    return lany(
        *[
            lall(eq(left, spelled), eq(right, log1mexp(x)))
            for spelled in (log1p(-exp(x)), log(1 - exp(x)), log(-expm1(x)))
        ]
    )


@relation(tags=STABLE)
def logaddexpo(left, right):
    """log(e^x + e^y) = logaddexp(x, y), for up to four terms.

    Holds always; the left side overflows or underflows for large |x|; rounded, kept.
    Source: DLMF 4.8(i): log(e^x + e^y) = m + log(e^(x - m) + e^(y - m)) with m = max(x, y).
    """
    x, y, z, w = lvars("x y z w")
    return lany(
        lall(eq(left, log(exp(x) + exp(y))), eq(right, logaddexp(x, y))),
        lall(eq(left, log(exp(x) + exp(y) + exp(z))), eq(right, logaddexp(logaddexp(x, y), z))),
        lall(
            eq(left, log(exp(x) + exp(y) + exp(z) + exp(w))),
            eq(right, logaddexp(logaddexp(logaddexp(x, y), z), w)),
        ),
    )


# The logistic function.


@relation(tags=STABLE)
def sigmoid_divideo(left, right):
    """1 / (1 + e^(-x)) = sigmoid(x), and 1 / (1 + e^x) = sigmoid(-x).

    Holds always; rounded, kept.
    Source: definition.
    """
    (x,) = lvars("x")
    down, up = 1 + exp(-x), 1 + exp(x)
    return lany(
        *[lall(eq(left, form), eq(right, sigmoid(x))) for form in (1 / down, reciprocal(down))],
        *[lall(eq(left, form), eq(right, sigmoid(-x))) for form in (1 / up, reciprocal(up))],
    )


@identity(tags=FINITE, specials="assumes_finite")
def sigmoid_divide_expo(x):
    """e^x / (1 + e^x) = sigmoid(x).

    Holds where e^x is finite (infinity / infinity is NaN); rounded, assumes_finite.
    Source: multiply numerator and denominator by e^(-x).
    """
    return exp(x) / (1 + exp(x)), sigmoid(x)


@identity(tags=STABLE)
def complement_sigmoido(x):
    """1 - sigmoid(x) = sigmoid(-x).

    Holds always; the left side cancels for a large x; rounded, kept.
    Source: 1 - 1 / (1 + e^(-x)) = e^(-x) / (1 + e^(-x)) = 1 / (e^x + 1).
    """
    return 1 - sigmoid(x), sigmoid(-x)


@relation(tags=STABLE)
def odds_sigmoido(left, right):
    """sigmoid(x) / (1 - sigmoid(x)) = e^x, also written with sigmoid(-x).

    Holds always; the left side divides by 0 for a large x; rounded, kept.
    Source: definition of the odds.
    """
    (x,) = lvars("x")
    return lany(
        *[
            lall(eq(left, sigmoid(x) / other), eq(right, exp(x)))
            for other in (1 - sigmoid(x), sigmoid(-x))
        ]
    )


@identity(tags=STABLE)
def log_sigmoido(x):
    """log(sigmoid(x)) = -softplus(-x).

    Holds always; the left side is -infinity for a large negative x; rounded, kept.
    Source: log(1 / (1 + e^(-x))) = -log(1 + e^(-x)).
    """
    return log(sigmoid(x)), -softplus(-x)


@relation(tags=STABLE)
def log_complement_sigmoido(left, right):
    """log(1 - sigmoid(x)) = -softplus(x), also written with log1p.

    Holds always; the left side cancels for a large x; rounded, kept.
    Source: log(1 / (1 + e^x)) = -log(1 + e^x).
    """
    (x,) = lvars("x")
    return lany(
        *[
            lall(eq(left, spelled), eq(right, -softplus(x)))
            for spelled in (log(1 - sigmoid(x)), log1p(-sigmoid(x)))
        ]
    )


# Sums of exponentials over axes.


@identity(tags=STABLE)
def logsumexpo(x, axis, keepdims):
    """log(sum(e^x)) = logsumexp(x), over any axes.

    Holds always; the left side overflows or underflows for large |x|; rounded, kept.
    Source: P. Blanchard, D. J. Higham and N. J. Higham, Accurately computing the log-sum-exp and
    softmax functions, IMA J. Numer. Anal. 41, 2021, section 1.
    """
    return log(sum(exp(x), axis=axis, keepdims=keepdims)), logsumexp(x, axis, keepdims)


@identity(tags=STABLE, where=positiveo)
def log_prodo(x, axis, keepdims):
    """log(prod(x)) = sum(log x), over any axes.

    Holds where x is positive; the product overflows or underflows, the sum does not; rounded
    (within c u sum (1 + |log x|)), kept.
    Source: DLMF 4.8.2.
    """
    return (
        log(prod(x, axis=axis, keepdims=keepdims)),
        sum(log(x), axis=axis, keepdims=keepdims),
    )


def one_axis(axis: Any, x: Any) -> int | None:
    """Return the one axis that is reduced, counted from the end; None where there are several."""
    if axis is None:
        return -1 if x.ndim == 1 else None
    return axis[0] if isinstance(axis, tuple) and len(axis) == 1 else None


@identity(tags=STABLE, where=lambda x, axis, place: calco(place, one_axis, axis, x), broadcast="*")
def log_softmax_subtracto(x, axis, place):
    """x - logsumexp(x) = log_softmax(x), along one axis.

    Holds always; rounded, kept.
    Source: P. Blanchard, D. J. Higham and N. J. Higham, Accurately computing the log-sum-exp and
    softmax functions, IMA J. Numer. Anal. 41, 2021, section 1.
    """
    return x - logsumexp(x, axis, True), log_softmax(x, place)


@identity(
    tags=FINITE,
    where=lambda x, axis, place: calco(place, one_axis, axis, x),
    broadcast="*",
    specials="assumes_finite",
)
def softmax_divideo(x, axis, place):
    """e^x / sum(e^x) = softmax(x), along one axis.

    Holds where x is finite: beside +infinity the left side is 0 and the right one NaN; rounded,
    assumes_finite.
    Source: P. Blanchard, D. J. Higham and N. J. Higham, Accurately computing the log-sum-exp and
    softmax functions, IMA J. Numer. Anal. 41, 2021, section 1.
    """
    return exp(x) / sum(exp(x), axis=axis, keepdims=True), softmax(x, place)


@identity(tags=(*FINITE, "local_log_softmax"), specials="assumes_finite")
def log_softmaxo(x, axis):
    """log(softmax(x)) = log_softmax(x).

    Holds where x is finite or -infinity: beside +infinity the left side is NaN and the right one
    -infinity; the left side is -infinity where a weight underflows; rounded, assumes_finite.
    Source: P. Blanchard, D. J. Higham and N. J. Higham, Accurately computing the log-sum-exp and
    softmax functions, IMA J. Numer. Anal. 41, 2021, section 1.
    """
    return log(softmax(x, axis)), log_softmax(x, axis)


@identity(tags=FINITE, specials="assumes_finite")
def exp_log_softmaxo(x, axis):
    """e^log_softmax(x) = softmax(x).

    Holds where x is finite: beside +infinity the left side is 0 and the right one NaN; rounded,
    assumes_finite.
    Source: definition.
    """
    return exp(log_softmax(x, axis)), softmax(x, axis)


# The error function.


@identity(tags=STABLE)
def complement_erfo(x):
    """1 - erf(x) = erfc(x).

    Holds always; the left side cancels for a large x; rounded, kept.
    Source: DLMF 7.2.2.
    """
    return 1 - erf(x), erfc(x)


@identity(tags=STABLE)
def complement_erfco(x):
    """1 - erfc(x) = erf(x).

    Holds always; the left side cancels for a small x; rounded, kept.
    Source: DLMF 7.2.2.
    """
    return 1 - erfc(x), erf(x)


@identity(tags=STABLE)
def erfc_addo(x):
    """1 + erf(x) = erfc(-x).

    Holds always; the left side cancels for a large negative x; rounded, kept.
    Source: DLMF 7.2.2 and 7.4.1 (erf is odd).
    """
    return 1 + erf(x), erfc(-x)


@identity(tags=STABLE)
def erfc_subtracto(x):
    """erf(x) - 1 = -erfc(x).

    Holds always; the left side cancels for a large x; rounded, kept.
    Source: DLMF 7.2.2.
    """
    return erf(x) - 1, -erfc(x)


RELATIONS: tuple[Relation, ...] = (
    log_complement_sigmoido,
    softplus_log1po,
    log1mexp_log1po,
    logaddexpo,
    logsumexpo,
    log_prodo,
    log_softmaxo,
    log_sigmoido,
    log1p_addo,
    log1p_subtracto,
    expm1_subtracto,
    sigmoid_divideo,
    sigmoid_divide_expo,
    complement_sigmoido,
    odds_sigmoido,
    log_softmax_subtracto,
    softmax_divideo,
    exp_log_softmaxo,
    complement_erfo,
    complement_erfco,
    erfc_addo,
    erfc_subtracto,
)
