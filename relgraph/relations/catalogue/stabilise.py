"""Forms that keep their accuracy: log1p, expm1, softplus, sigmoid, logsumexp, softmax, slogdet.

The left side is what a person writes; for some finite arguments it overflows, underflows or
cancels, and the right side does not.
"""

from __future__ import annotations

import math
from typing import Any

from relgraph.ir.node import Variable, constant
from relgraph.ir.op import GetItem
from relgraph.numpy.reductions import log_softmax, logsumexp, mean, prod, softmax, sum
from relgraph.ops.elementwise import (
    absolute,
    cast,
    equal,
    erfc,
    exp,
    expm1,
    less_equal,
    log,
    log1mexp,
    log1p,
    log_ndtr,
    logaddexp,
    logerfc,
    logical_and,
    ndtr,
    reciprocal,
    sigmoid,
    sign,
    softplus,
    where,
)
from relgraph.ops.indexing.index import Index
from relgraph.ops.linalg.solve import Slogdet, det
from relgraph.ops.permutation import matrix_transpose, transpose
from relgraph.ops.reductions import floating, reduced_axes
from relgraph.ops.shape import dim, expand_dims, product_of
from relgraph.relations.catalogue import FINITE, STABLE, relations_in
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import (
    calco,
    checko,
    facto,
    floato,
    nonnegativeo,
    positiveo,
)


@identity(tags=STABLE)
def log_complement_sigmoido(x):
    """log(1 - sigmoid(x)) = -softplus(x), also written with log1p.

    The left side cancels for a large x.
    Source: log(1 / (1 + e^x)) = -log(1 + e^x).
    """
    yield log(1 - sigmoid(x)), -softplus(x)
    yield log1p(-sigmoid(x)), -softplus(x)


@identity(tags=STABLE)
def softplus_log1po(x):
    """log(1 + e^x) = softplus(x), written with log or log1p.

    The left side overflows for a large x.
    Source: definition.
    """
    yield log1p(exp(x)), softplus(x)
    yield log(1 + exp(x)), softplus(x)


@identity(tags=STABLE)
def log1mexp_log1po(x):
    """log(1 - e^x) = log1mexp(x), written with log, log1p or expm1.

    Both sides are NaN for x > 0.  The left side cancels for x near 0.
    Source: definition; M. Mächler, Accurately computing log(1 - exp(-|a|)), R package Rmpfr, 2012.
    """
    yield log1p(-exp(x)), log1mexp(x)
    yield log(1 - exp(x)), log1mexp(x)
    yield log(-expm1(x)), log1mexp(x)


@identity(tags=STABLE)
def logaddexpo(x, y, z, w):
    """log(e^x + e^y) = logaddexp(x, y), for up to four terms.

    The left side overflows or underflows for large |x|.
    Source: DLMF 4.8(i): log(e^x + e^y) = m + log(e^(x - m) + e^(y - m)) with m = max(x, y).
    """
    yield log(exp(x) + exp(y)), logaddexp(x, y)
    yield log(exp(x) + exp(y) + exp(z)), logaddexp(logaddexp(x, y), z)
    yield log(exp(x) + exp(y) + exp(z) + exp(w)), logaddexp(logaddexp(logaddexp(x, y), z), w)


@identity(tags=STABLE)
def logsumexpo(x, axis, keepdims):
    """log(sum(e^x)) = logsumexp(x), over any axes.

    The left side overflows or underflows for large |x|.
    Source: P. Blanchard, D. J. Higham and N. J. Higham, Accurately computing the log-sum-exp and
    softmax functions, IMA J. Numer. Anal. 41, 2021, section 1.
    """
    return log(sum(exp(x), axis=axis, keepdims=keepdims)), logsumexp(x, axis, keepdims)


@identity(tags=STABLE, where=lambda n, x, axis: calco(n, count_of, x, axis), broadcast="*")
def log_mean_expo(x, axis, keepdims, n):
    """log(mean(e^x)) = logsumexp(x) - log n, over any axes, for n elements.

    The left side overflows or underflows for large |x|.
    Source: DLMF 4.8.4; P. Blanchard, D. J. Higham and N. J. Higham, Accurately computing the
    log-sum-exp and softmax functions, IMA J. Numer. Anal. 41, 2021, section 1.
    """
    return (
        log(mean(exp(x), axis=axis, keepdims=keepdims)),
        logsumexp(x, axis, keepdims) - log(n),
    )


@identity(tags=STABLE, where=positiveo)
def log_prodo(x, axis, keepdims):
    """log(prod(x)) = sum(log x), over any axes.

    The product overflows or underflows, the sum does not.  The error is within c u sum (1 + |log
    x|).
    Source: DLMF 4.8.2.
    """
    return (
        log(prod(x, axis=axis, keepdims=keepdims)),
        sum(log(x), axis=axis, keepdims=keepdims),
    )


@identity(tags=(*STABLE, "local_log_softmax"))
def log_softmaxo(x, axis):
    """log(softmax(x)) = log_softmax(x).

    On both sides, +infinity becomes NaN, and the elements beside it -infinity.  The left side is
    -infinity where a weight underflows.
    Source: P. Blanchard, D. J. Higham and N. J. Higham, Accurately computing the log-sum-exp and
    softmax functions, IMA J. Numer. Anal. 41, 2021, section 1.
    """
    return log(softmax(x, axis)), log_softmax(x, axis)


@identity(tags=STABLE)
def log_sigmoido(x):
    """log(sigmoid(x)) = -softplus(-x).

    The left side is -infinity for a large negative x.
    Source: log(1 / (1 + e^(-x))) = -log(1 + e^(-x)).
    """
    return log(sigmoid(x)), -softplus(-x)


@identity(tags=STABLE)
def log1p_addo(x):
    """log(1 + x) = log1p(x).

    The left side loses the low digits of a small x.
    Source: definition; N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
    section 1.14.
    """
    return log(1 + x), log1p(x)


@identity(tags=STABLE)
def log1p_subtracto(x):
    """log(1 - x) = log1p(-x).

    The left side loses the low digits of a small x.
    Source: definition.
    """
    return log(1 - x), log1p(-x)


@identity(tags=STABLE)
def expm1_subtracto(x):
    """e^x - 1 = expm1(x).

    The left side cancels for a small x.
    Source: definition; N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
    section 1.14.
    """
    return exp(x) - 1, expm1(x)


@identity(tags=STABLE)
def expm1_complemento(x):
    """1 - e^x = -expm1(x).

    The left side cancels for a small x.
    Source: definition.
    """
    return 1 - exp(x), -expm1(x)


@identity(tags=STABLE)
def expm1_addo(x):
    """expm1(x) + 1 = e^x.

    The left side cancels for a large negative x.
    Source: definition.
    """
    return expm1(x) + 1, exp(x)


@identity(tags=STABLE)
def log1p_subtract_oneo(x):
    """log1p(x - 1) = log x.

    The left side loses the digits of a small x.
    Source: definition.
    """
    return log1p(x - 1), log(x)


@identity(tags=(*STABLE, "logdiffexp_to_log1mexpdiff"), where=lambda x, y: (floato(x), floato(y)))
def log_subtract_expo(x, y):
    """log(e^x - e^y) = x + log1mexp(y - x), and x where y is -infinity.

    Both sides are NaN for x < y.  The left side overflows or underflows for a large |x|, and
    cancels where y is near x.
    Source: e^x - e^y = e^x (1 - e^(y - x)).
    """
    return log(exp(x) - exp(y)), where(equal(y, -math.inf), x, x + log1mexp(y - x))


def count_of(x: Any, axis: Any) -> Any:
    """Return how many elements are reduced to one, as a graph of the dtype of their mean."""
    count = product_of(dim(x, a - x.ndim) for a in reduced_axes(axis, x.ndim, "mean"))
    dtype = floating(x.dtype)
    return constant(count, dtype) if isinstance(count, int) else cast(count, dtype)


@identity(tags=(*STABLE, "local_log_kv", "local_log_iv"), broadcast="*")
def log_multiply_expo(a, b, c, x, axis, keepdims, n):
    """log(a e^b) = log a + b, and log(a e^b / c) = log a + b - log c.

    The same holds of other factors whose logarithm is stable: a sum or mean of exponentials, a
    logistic function, a softmax, a tail of the normal distribution.  The left side overflows or
    underflows for a large |b|.
    Source: DLMF 4.8.2 and 4.8.4.
    """
    yield log(a * exp(b)), log(a) + b, nonnegativeo(b)
    at = {"axis": axis, "keepdims": keepdims}
    counted = calco(n, count_of, x, axis)
    factors = (
        (exp(b), b, ()),
        (sum(exp(x), **at), logsumexp(x, **at), ()),
        (mean(exp(x), **at), logsumexp(x, **at) - log(n), (counted,)),
        (sigmoid(b), -softplus(-b), ()),
        (softmax(x, axis), log_softmax(x, axis), ()),
        (erfc(b), logerfc(b), ()),
        (ndtr(b), log_ndtr(b), ()),
    )
    for factor, logarithm, known in factors:
        yield log(a * factor), log(a) + logarithm, (*known, nonnegativeo(a))
        yield log(a / factor), log(a) - logarithm, (*known, nonnegativeo(a))
        yield log(factor / c), logarithm - log(c), (*known, positiveo(c))
        quotient = (*known, nonnegativeo(a), positiveo(c))
        yield log(a * factor / c), log(a) + logarithm - log(c), quotient
        yield log(a / (c * factor)), log(a) - logarithm - log(c), quotient
        yield log(reciprocal(c * factor)), -logarithm - log(c), (*known, positiveo(c))


@identity(tags=STABLE, where=lambda w: nonnegativeo(w))
def log_add_expo(x, w):
    """log(e^x + w) = logaddexp(x, log w).

    A sum of exponentials of any length is such a w.  The left side overflows for a large x.
    Source: w = e^(log w), DLMF 4.8(i).
    """
    return log(exp(x) + w), logaddexp(x, log(w))


# The logistic function.


@identity(tags=STABLE)
def sigmoid_divideo(x):
    """1 / (1 + e^(-x)) = sigmoid(x), and 1 / (1 + e^x) = sigmoid(-x).

    Source: definition.
    """
    down, up = 1 + exp(-x), 1 + exp(x)
    yield 1 / down, sigmoid(x)
    yield reciprocal(down), sigmoid(x)
    yield 1 / up, sigmoid(-x)
    yield reciprocal(up), sigmoid(-x)


@identity(tags=FINITE, specials="assumes_finite")
def sigmoid_two_expo(x, y):
    """e^x / (e^x + e^y) = sigmoid(x - y), the softmax of two.

    Holds where the exponentials are not both 0.
    Source: divide numerator and denominator by e^x.
    """
    return exp(x) / (exp(x) + exp(y)), sigmoid(x - y)


@identity(tags=(*STABLE, "local_exp_over_1_plus_exp"))
def divide_add_expo(x, y):
    """x / (1 + e^y) = x sigmoid(-y).

    Source: definition.
    """
    return x / (1 + exp(y)), x * sigmoid(-y)


@identity(tags=(*FINITE, "local_sigm_times_exp"), specials="assumes_finite")
def sigmoid_multiply_expo(x):
    """e^x sigmoid(-x) = sigmoid(x), and e^(-x) sigmoid(x) = sigmoid(-x).

    Infinity times 0 is NaN.
    Source: multiply numerator and denominator of e^x / (1 + e^x) by e^(-x).
    """
    yield exp(x) * sigmoid(-x), sigmoid(x)
    yield exp(-x) * sigmoid(x), sigmoid(-x)


@identity(tags=("specialize", "fast_run", "local_sigmoid_logit"), where=lambda x: floato(x))
def sigmoid_logito(x):
    """sigmoid(log(x / (1 - x))) = x where 0 <= x <= 1, and NaN elsewhere; the log may be split.

    The error is within c u (1 + |log x|).
    Source: the logit is the inverse of the logistic function.
    """
    inside = where(logical_and(x >= 0, x <= 1), x, math.nan)
    yield sigmoid(log(x / (1 - x))), inside
    yield sigmoid(log(x) - log1p(-x)), inside
    yield sigmoid(log(x) - log(1 - x)), inside


@identity(tags=STABLE)
def cancel_softplus_softpluso(x):
    """softplus(x) - softplus(-x) = x.

    Source: log((1 + e^x) / (1 + e^(-x))) = log(e^x).
    """
    return softplus(x) - softplus(-x), x


@identity(tags=FINITE, specials="assumes_finite")
def subtract_softpluso(x):
    """softplus(x) - x = softplus(-x), and x - softplus(x) = -softplus(-x).

    Infinity - infinity is NaN.  The left side cancels for a large x.
    Source: log(1 + e^x) - x = log(e^(-x) + 1).
    """
    yield softplus(x) - x, softplus(-x)
    yield x - softplus(x), -softplus(-x)


@identity(tags=FINITE)
def complement_sigmoido(x):
    """1 - sigmoid(x) = sigmoid(-x).

    The left side cancels for a large x.
    Source: 1 - 1 / (1 + e^(-x)) = e^(-x) / (1 + e^(-x)) = 1 / (e^x + 1).
    """
    return 1 - sigmoid(x), sigmoid(-x)


@identity(tags=STABLE)
def odds_sigmoido(x):
    """sigmoid(x) / (1 - sigmoid(x)) = e^x, and the inverse e^(-x), also written with sigmoid(-x).

    The left side divides by 0 for a large |x|.
    Source: definition of the odds.
    """
    yield sigmoid(x) / (1 - sigmoid(x)), exp(x)
    yield sigmoid(x) / sigmoid(-x), exp(x)
    yield (1 - sigmoid(x)) / sigmoid(x), exp(-x)
    yield sigmoid(-x) / sigmoid(x), exp(-x)


# Sums of exponentials over axes.


def spread_axis(axis: Any, keepdims: Any, x: Any) -> int | None:
    """Return the one axis that is reduced, counted from the end, if ``x`` broadcasts along it.

    The result of a reduction does if the axis is kept, and if it is the first one.  None stands for
    any other axis, and for several.
    """
    axes = tuple(range(-x.ndim, 0)) if axis is None else axis
    return axes[0] if len(axes) == 1 and (keepdims or axes[0] == -x.ndim) else None


def spread_turned(axis: Any, x: Any) -> int | None:
    """Return the last axis if it alone is reduced and ``x.mT`` broadcasts along it."""
    return -1 if x.ndim == 2 and axis == (-1,) else None


def spread(place: Any, axis: Any, keepdims: Any, x: Any) -> Any:
    """Relate reductions of one axis that broadcast along it, and the axis."""
    return calco(place, spread_axis, axis, keepdims, x)


@identity(tags=STABLE, broadcast="*")
def log_softmax_subtracto(x, axis, keepdims, place):
    """x - logsumexp(x) = log_softmax(x), along one axis.

    The same holds of x.mT.
    Source: P. Blanchard, D. J. Higham and N. J. Higham, Accurately computing the log-sum-exp and
    softmax functions, IMA J. Numer. Anal. 41, 2021, section 1.
    """
    yield x - logsumexp(x, axis, keepdims), log_softmax(x, place), spread(place, axis, keepdims, x)
    turned = calco(place, spread_turned, axis, x)
    yield (
        matrix_transpose(x) - logsumexp(x, axis, False),
        matrix_transpose(log_softmax(x, place)),
        turned,
    )


@identity(tags=STABLE, broadcast="*")
def softmax_divideo(x, axis, keepdims, place):
    """e^x / sum(e^x) = softmax(x), along one axis.

    On both sides, +infinity becomes NaN, and the elements beside it 0.  The left side overflows for
    a large x.
    Source: P. Blanchard, D. J. Higham and N. J. Higham, Accurately computing the log-sum-exp and
    softmax functions, IMA J. Numer. Anal. 41, 2021, section 1.
    """
    total = sum(exp(x), axis=axis, keepdims=keepdims)
    yield exp(x) / total, softmax(x, place), spread(place, axis, keepdims, x)
    yield (
        matrix_transpose(exp(x)) / sum(exp(x), axis=axis),
        matrix_transpose(softmax(x, place)),
        calco(place, spread_turned, axis, x),
    )


@identity(tags=STABLE, broadcast="*")
def divide_sum_expo(x, y, axis, keepdims):
    """e^x / sum(e^y) = e^(x - logsumexp(y)), over any axes.

    The left side overflows for a large x or y, and underflows for a large -y.  The error is within
    c u (1 + |x| + |logsumexp(y)|).
    Source: DLMF 4.8.2 and 4.8.4.
    """
    return (
        exp(x) / sum(exp(y), axis=axis, keepdims=keepdims),
        exp(x - logsumexp(y, axis, keepdims)),
    )


@identity(tags=FINITE)
def exp_log_softmaxo(x, axis):
    """e^log_softmax(x) = softmax(x).

    On both sides, +infinity becomes NaN, and the elements beside it 0.
    Source: definition.
    """
    return exp(log_softmax(x, axis)), softmax(x, axis)


@identity(tags=(*STABLE, "local_log_softmax"))
def log_moved_softmaxo(x, axis, axes, key):
    """log(move(softmax(x))) = move(log_softmax(x)), where move is an index or moves axes.

    The left side is -infinity where a weight underflows.
    Source: what moves elements commutes with what is applied to each of them.
    """
    yield log(Index(key)(softmax(x, axis))), Index(key)(log_softmax(x, axis))
    yield log(matrix_transpose(softmax(x, axis))), matrix_transpose(log_softmax(x, axis))
    yield log(transpose(softmax(x, axis), axes)), transpose(log_softmax(x, axis), axes)
    yield log(expand_dims(softmax(x, axis), axes)), expand_dims(log_softmax(x, axis), axes)


def level(y: Any, axis: Any, x: Any) -> bool:
    """Return True if a shift is the same along an axis, as one of size 1 is, and widens nothing."""
    if not isinstance(y, Variable):
        return True
    shift, shape = y.type.shape, x.type.shape
    if y.ndim > x.ndim or (y.ndim >= -axis and shift[axis] != 1):
        return False
    own = shape[x.ndim - y.ndim :]
    return all(b == 1 or a != 1 for a, b in zip(own, shift, strict=True))


@identity(
    tags=("fast_run", "canonicalize", "stabilize"),
    where=lambda x, y, axis: checko(level, y, axis, x, label=f"level({y!r}, {axis!r})"),
    specials="assumes_finite",
    broadcast="*",
)
def shift_softmaxo(x, y, axis):
    """softmax(x - y) = softmax(x) for y equal along the axis, and so for x + y and log_softmax.

    Such is y = max(x) with dimensions kept, which is how overflow is avoided by hand.  The error is
    within c u (1 + |x| + |y|).
    Source: P. Blanchard, D. J. Higham and N. J. Higham, Accurately computing the log-sum-exp and
    softmax functions, IMA J. Numer. Anal. 41, 2021, section 3.
    """
    for f in (softmax, log_softmax):
        yield f(x - y, axis), f(x, axis)
        yield f(x + y, axis), f(x, axis)


# Determinants.


@identity(tags=(*STABLE, "slogdet_specialization"))
def log_absolute_deto(A):
    """log |det(A)| = slogdet(A)[1].

    The determinant overflows or underflows for large matrices.  The error is within c n u cond(A).
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 3.2.
    """
    return log(absolute(det(A))), GetItem(1)(Slogdet()(A))


@identity(tags=(*STABLE, "slogdet_specialization"), where=lambda A: facto(A, "spd"))
def log_det_spdo(A):
    """log(det(A)) = slogdet(A)[1], for a symmetric positive definite A.

    The determinant overflows or underflows for large matrices.  The error is within c n u cond(A).
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 4.2.
    """
    return log(det(A)), GetItem(1)(Slogdet()(A))


@identity(tags=(*STABLE, "slogdet_specialization"), specials="assumes_finite")
def sign_deto(A):
    """sign(det(A)) = slogdet(A)[0].

    The determinant underflows to 0 for large matrices.  The sign of slogdet is 1 or -1 where the
    determinant is NaN.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 3.2.
    """
    return sign(det(A)), GetItem(0)(Slogdet()(A))


@identity(tags=(*STABLE, "slogdet_specialization"))
def switch_log_deto(A):
    """log(det(A)) = slogdet(A)[1] where slogdet(A)[0] is not negative, and NaN elsewhere.

    The determinant overflows or underflows for large matrices.  The error is within c n u cond(A).
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 3.2.
    """
    both = Slogdet()(A)
    return log(det(A)), where(less_equal(0, GetItem(0)(both)), GetItem(1)(both), math.nan)


RELATIONS = relations_in(globals())
