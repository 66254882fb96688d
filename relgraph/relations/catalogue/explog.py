"""Exponentials and logarithms, for real arguments."""

from __future__ import annotations

import math

from relgraph.ops.elementwise import (
    exp,
    exp2,
    expm1,
    log,
    log1mexp,
    log1p,
    log2,
    log10,
    power,
    reciprocal,
    sigmoid,
    softplus,
    sqrt,
    square,
    where,
)
from relgraph.relations.catalogue import CANONICAL, SPECIALIZE, TIDY, relations_in
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import facto, floato, nonnegativeo, positiveo

STABLE = ("canonicalize", "fast_run", "stabilize", "stabilization")
FINITE = ("canonicalize", "fast_run", "stabilize")


@identity(tags=STABLE)
def cancel_log_expo(x):
    """log(e^x) = x, and so for base 2 and for log1p(expm1(x)).

    The left side overflows or underflows for large |x|, the right side does not.
    Source: DLMF 4.8(i), for real arguments.
    """
    for f, g in ((log, exp), (log2, exp2), (log1p, expm1)):
        yield f(g(x)), x


@identity(tags=TIDY, where=lambda x: nonnegativeo(x))
def cancel_exp_logo(x):
    """e^(log x) = x, and so for base 2 and for expm1(log1p(x)).

    The logarithm of a negative number is NaN.  The error is within c u |x| (1 + |log x|).
    Source: DLMF 4.8(i), for real arguments.
    """
    for f, g in ((exp, log), (exp2, log2), (expm1, log1p)):
        yield f(g(x)), x


@identity(tags=STABLE)
def distribute_exp_addo(x, y):
    """e^(x + y) = e^x e^y.

    The product may overflow or underflow in one factor, the sum does not.  The error of x + y
    counts |x + y| times.
    Source: DLMF 4.8.16.
    """
    return exp(x + y), exp(x) * exp(y)


@identity(tags=STABLE)
def distribute_exp_subtracto(x, y):
    """e^(x - y) = e^x / e^y.

    The quotient may overflow or underflow on one side, the difference does not.  The error of x - y
    counts |x - y| times.
    Source: DLMF 4.8.16.
    """
    return exp(x - y), exp(x) / exp(y)


@identity(tags=CANONICAL, specials="assumes_finite")
def reciprocal_expo(x):
    """1 / e^x = e^(-x), written as a quotient or a reciprocal.

    Near the end of the range one side is subnormal and the other 0.
    Source: DLMF 4.8.16.
    """
    yield 1 / exp(x), exp(-x)
    yield reciprocal(exp(x)), exp(-x)


@identity(tags=CANONICAL, specials="assumes_finite")
def merge_power_expo(x, y):
    """(e^x)^y = e^(x y).

    Holds where e^x is not 0.
    The error of x y counts |x y| times.
    Source: DLMF 4.8.17.
    """
    return exp(x) ** y, exp(x * y)


@identity(tags=CANONICAL, specials="assumes_finite")
def halve_sqrt_expo(x):
    """sqrt(e^x) = e^(x / 2).

    Holds where e^x is not 0.
    Source: DLMF 4.8.17.
    """
    return sqrt(exp(x)), exp(0.5 * x)


@identity(tags=CANONICAL)
def halve_log_sqrto(x):
    """log(sqrt(x)) = (1 / 2) log x.

    Both sides are NaN for negative x.  The error is within u (1 + |log x|).
    Source: DLMF 4.8.13.
    """
    return log(sqrt(x)), 0.5 * log(x)


@identity(tags=CANONICAL, where=lambda x: positiveo(x), specials="assumes_finite")
def lower_log_powero(x, y):
    """log(x^y) = y log x, for base 2 and 10 too, and log(square(x)) = 2 log x.

    The error is within c u (1 + |y log x|).  Infinity to the power of 0 is 1, but 0 log(infinity)
    is NaN.
    Source: DLMF 4.8.13.
    """
    for f in (log, log2, log10):
        yield f(x**y), y * f(x)
    yield log(square(x)), 2 * log(x)


@identity(tags=("expand_log",), where=lambda x: positiveo(x), specials="assumes_finite")
def distribute_log_multiplyo(x, y):
    """log(x y) = log x + log y.

    Both sides are NaN for negative y.  The error is within c u (1 + |log x| + |log y|).  No mode
    runs it: to the right it costs a logarithm, to the left the product of many factors overflows.
    Source: DLMF 4.8.2.
    """
    return log(x * y), log(x) + log(y)


@identity(tags=("expand_log", "local_log_div"), specials="assumes_finite")
def distribute_log_divideo(x, y):
    """log(x / y) = log x - log y.

    Both sides are NaN where the other one is negative.  The error is within c u (1 + |log x| + |log
    y|).  No mode runs it, as the relation for products.
    Source: DLMF 4.8.4.
    """
    yield log(x / y), log(x) - log(y), positiveo(y)
    yield log(x / y), log(x) - log(y), positiveo(x)


@identity(tags=(*FINITE, "local_log_div"), where=lambda x: floato(x), specials="assumes_finite")
def log_reciprocalo(x):
    """log(1 / x) = -log x, written as a quotient or a reciprocal.

    Both sides are NaN for negative x.  The left side is infinite for a subnormal x.  1 / -0.0 is
    -infinity.
    Source: DLMF 4.8.5.
    """
    yield log(1 / x), -log(x)
    yield log(reciprocal(x)), -log(x)


@identity(tags=STABLE, where=lambda x: floato(x))
def cancel_log_powero(x):
    """log2(2^x) = x, and log10(10^x) = x, written as powers.

    The left side overflows or underflows for a large |x|.
    Source: DLMF 4.8(i), for real arguments.
    """
    yield log2(power(2.0, x)), x
    yield log10(power(10.0, x)), x


@identity(tags=TIDY, where=lambda x: (nonnegativeo(x), floato(x)))
def cancel_power_logo(x):
    """2^log2(x) = x, and 10^log10(x) = x, written as powers.

    The error is within c u |x| (1 + |log x|).
    Source: DLMF 4.8(i), for real arguments.
    """
    yield power(2.0, log2(x)), x
    yield power(10.0, log10(x)), x


@identity(tags=STABLE)
def change_log_baseo(x):
    """log(2^x) = x log 2, and log2(e^x) = x / log 2.

    The left side overflows or underflows for a large |x|.
    Source: DLMF 4.2(iii).
    """
    yield log(exp2(x)), x * math.log(2)
    yield log2(exp(x)), x * math.log2(math.e)


@identity(tags=TIDY)
def exp_softpluso(x):
    """e^softplus(x) = 1 + e^x, and expm1(softplus(x)) = e^x.

    Source: definition of softplus.
    """
    yield exp(softplus(x)), 1 + exp(x)
    yield expm1(softplus(x)), exp(x)


@identity(tags=TIDY)
def cancel_exp_log1po(x):
    """e^log1p(x) = 1 + x, expm1(log x) = x - 1, and the same of log1mexp.

    The last two are e^log1mexp(x) = -expm1(x) and expm1(log1mexp(x)) = -e^x.
    Source: definitions.
    """
    yield exp(log1p(x)), 1 + x, nonnegativeo(x)
    yield expm1(log(x)), x - 1, nonnegativeo(x)
    yield exp(log1mexp(x)), -expm1(x), facto(x, "nonpositive")
    yield expm1(log1mexp(x)), -exp(x), facto(x, "nonpositive")


@identity(tags=(*SPECIALIZE, "local_exp_log_nan_switch"), where=lambda x: floato(x))
def switch_exp_logo(x):
    """e^(log x) = x where x >= 0 and NaN elsewhere, and so for pairs of log1p, expm1 and log1mexp.

    The error is within c u (1 + |log x|).
    Source: definitions.
    """
    yield exp(log(x)), where(x >= 0, x, math.nan)
    yield exp2(log2(x)), where(x >= 0, x, math.nan)
    yield expm1(log1p(x)), where(x >= -1, x, math.nan)
    yield exp(log1p(x)), where(x >= -1, 1 + x, math.nan)
    yield expm1(log(x)), where(x >= 0, x - 1, math.nan)
    yield exp(log1mexp(x)), where(x <= 0, -expm1(x), math.nan)
    yield expm1(log1mexp(x)), where(x <= 0, -exp(x), math.nan)


@identity(tags=CANONICAL, where=lambda x: (positiveo(x), floato(x)))
def exp_negative_logo(x):
    """e^(-log x) = 1 / x, and for base 2.

    The error is within c u (1 + |log x|) / |x|.
    Source: DLMF 4.8.5.
    """
    for f, g in ((exp, log), (exp2, log2)):
        yield f(-g(x)), reciprocal(x)


@identity(
    tags=TIDY, where=lambda x, y: (nonnegativeo(x), floato(x), floato(y)), specials="assumes_finite"
)
def exp_multiply_logo(x, y):
    """e^(y log x) = x^y, and for base 2.

    The error is within c u (1 + |y log x|) |x^y|.  Infinity to the power of 0 is 1, but 0
    log(infinity) is NaN.
    Source: DLMF 4.2.26.
    """
    for f, g in ((exp, log), (exp2, log2)):
        yield f(y * g(x)), x**y


@identity(tags=CANONICAL, specials="assumes_finite")
def divide_expo(x, y):
    """x / e^y = x e^(-y).

    Holds where e^y is not 0.
    Near the end of the range one side is subnormal and the other 0.
    Source: DLMF 4.8.16.
    """
    return x / exp(y), x * exp(-y)


@identity(tags=CANONICAL)
def square_expo(x):
    """square(e^x) = e^(2 x).

    The error is within c u (1 + |x|) e^(2 x).
    Source: DLMF 4.8.17.
    """
    return square(exp(x)), exp(2 * x)


@identity(tags=STABLE)
def distribute_exp2_addo(x, y):
    """2^(x + y) = 2^x 2^y.

    The product may overflow or underflow in one factor, the sum does not.  The error of x + y
    counts |x + y| times.
    Source: DLMF 4.8.16.
    """
    return exp2(x + y), exp2(x) * exp2(y)


@identity(tags=STABLE)
def distribute_exp2_subtracto(x, y):
    """2^(x - y) = 2^x / 2^y.

    The quotient may overflow or underflow on one side, the difference does not.  The error of x - y
    counts |x - y| times.
    Source: DLMF 4.8.16.
    """
    return exp2(x - y), exp2(x) / exp2(y)


@identity(tags=TIDY, where=nonnegativeo)
def softplus_logo(x):
    """softplus(log x) = log1p(x).

    Source: definition of softplus.
    """
    return softplus(log(x)), log1p(x)


@identity(tags=TIDY, where=lambda x: (floato(x), facto(x, "[0, 1]")))
def cancel_sigmoid_logito(x):
    """sigmoid(log(x / (1 - x))) = x for x between 0 and 1; the logarithm may be split.

    The error is within c u (1 + |log x|).
    Source: the logit is the inverse of the logistic function.
    """
    yield sigmoid(log(x / (1 - x))), x
    yield sigmoid(log(x) - log1p(-x)), x
    yield sigmoid(log(x) - log(1 - x)), x


@identity(tags=TIDY, where=nonnegativeo, specials="assumes_finite")
def sigmoid_logo(x):
    """sigmoid(log x) = x / (1 + x).

    Source: definition of sigmoid.
    """
    return sigmoid(log(x)), x / (1 + x)


RELATIONS = relations_in(
    globals(),
    backward=(
        distribute_exp_addo,
        distribute_exp_subtracto,
        distribute_exp2_addo,
        distribute_exp2_subtracto,
    ),
)
