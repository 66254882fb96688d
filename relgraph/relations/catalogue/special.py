"""Special functions: the gamma function, the error function, Bessel functions and their kin."""

from __future__ import annotations

import math

from relgraph.ops.elementwise import (
    absolute,
    digamma,
    erf,
    erfc,
    erfcx,
    exp,
    gamma,
    gammaln,
    iv,
    ive,
    kv,
    kve,
    log,
    log_ndtr,
    logerfc,
    ndtr,
    polygamma,
    reciprocal,
    sin,
    square,
    tan,
    trigamma,
)
from relgraph.relations.catalogue import CANONICAL, FINITE, STABLE, relations_in
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import nonzeroo, positiveo

# The gamma function.


@identity(tags=STABLE, where=lambda x: positiveo(x))
def log_gammao(x):
    """log(gamma(x)) = gammaln(x) for x > 0, and log |gamma(x)| = gammaln(x).

    The left side overflows for x > 171.  The error is within c u (1 + |gammaln x|).
    Source: DLMF 5.2(i).
    """
    yield log(gamma(x)), gammaln(x)
    yield log(absolute(gamma(x))), gammaln(x)


@identity(tags=FINITE, specials="assumes_finite")
def log_absolute_gammao(x):
    """log |gamma(x)| = gammaln(x).

    gamma is NaN at -infinity.  The left side overflows for x > 171.  The error is within c u (1 +
    |gammaln x|).
    Source: DLMF 5.2(i).
    """
    return log(absolute(gamma(x))), gammaln(x)


@identity(tags=CANONICAL, where=positiveo)
def exp_gammalno(x):
    """e^gammaln(x) = gamma(x).

    The error is within c u (1 + |gammaln x|) gamma(x).
    Source: DLMF 5.2(i).
    """
    return exp(gammaln(x)), gamma(x)


@identity(tags=FINITE, specials="assumes_finite")
def divide_gammao(x):
    """gamma(x + 1) / gamma(x) = x.

    Holds where neither is 0.
    The left side is NaN for x > 171.
    Source: DLMF 5.5.1.
    """
    return gamma(x + 1) / gamma(x), x


@identity(tags=("recurrence",), where=nonzeroo, specials="assumes_finite")
def multiply_gammao(x):
    """x gamma(x) = gamma(x + 1).

    The error of x + 1 counts |x digamma(x + 1)| times.  No mode runs it: neither side costs less.
    Source: DLMF 5.5.1.
    """
    return x * gamma(x), gamma(x + 1)


@identity(tags=FINITE, where=positiveo, specials="assumes_finite")
def subtract_gammalno(x):
    """gammaln(x + 1) - gammaln(x) = log x.

    The left side cancels for a large x.
    Source: DLMF 5.5.1.
    """
    return gammaln(x + 1) - gammaln(x), log(x)


@identity(tags=FINITE, specials="assumes_finite")
def reflect_gammao(x):
    """gamma(x) gamma(1 - x) = pi / sin(pi x).

    The left side overflows for |x| > 171.  The error of pi x counts |x / tan(pi x)| times.
    Source: DLMF 5.5.3.
    """
    return gamma(x) * gamma(1 - x), math.pi / sin(math.pi * x)


@identity(tags=(*CANONICAL, "specialize", "local_polygamma_to_digamma"), rounding="exact")
def name_polygammao(x):
    """polygamma(0, x) = digamma(x), and polygamma(1, x) = trigamma(x).

    Source: DLMF 5.15, definition.
    """
    yield polygamma(0, x), digamma(x)
    yield polygamma(1, x), trigamma(x)


@identity(tags=FINITE, specials="assumes_finite")
def subtract_digammao(x):
    """digamma(x + 1) - digamma(x) = 1 / x.

    Holds where x is no pole.
    The left side cancels for a large x.
    Source: DLMF 5.5.2.
    """
    return digamma(x + 1) - digamma(x), reciprocal(x)


@identity(tags=FINITE, specials="assumes_finite")
def subtract_trigammao(x):
    """trigamma(x) - trigamma(x + 1) = 1 / x^2.

    Holds where x is no pole.
    The left side cancels for a large x.
    Source: DLMF 5.15.5.
    """
    return trigamma(x) - trigamma(x + 1), reciprocal(square(x))


@identity(tags=CANONICAL, specials="assumes_finite")
def reflect_digammao(x):
    """digamma(1 - x) - digamma(x) = pi / tan(pi x).

    The error of pi x counts |pi x / sin(pi x)^2| times.
    Source: DLMF 5.5.4.
    """
    return digamma(1 - x) - digamma(x), math.pi / tan(math.pi * x)


@identity(tags=(*CANONICAL, "parity"))
def lift_erf_negativeo(x):
    """erf(-x) = -erf(x).

    No library promises odd functions to the last digit.
    Source: DLMF 7.4.1.
    """
    return erf(-x), -erf(x)


@identity(tags=CANONICAL, specials="assumes_finite")
def add_erf_erfco(x):
    """erf(x) + erfc(x) = 1.

    Holds where x is not NaN.
    Source: DLMF 7.2.2.
    """
    return erf(x) + erfc(x), 1


@identity(tags=CANONICAL, specials="assumes_finite")
def add_erfc_erfco(x):
    """erfc(x) + erfc(-x) = 2.

    Holds where x is not NaN.
    Source: DLMF 7.4.2.
    """
    return erfc(x) + erfc(-x), 2


@identity(tags=(*STABLE, "local_erf_neg_minus_one"))
def erf_subtracto(x):
    """erfc(-x) - 1 = erf(x), and erfc(x) - 1 = -erf(x).

    The left side cancels for a small x.
    Source: DLMF 7.2.2 and 7.4.1 (erf is odd).
    """
    yield erfc(-x) - 1, erf(x)
    yield erfc(x) - 1, -erf(x)


@identity(tags=STABLE)
def reflect_erfco(x):
    """2 - erfc(x) = erfc(-x).

    The left side cancels for a large negative x.
    Source: DLMF 7.4.2.
    """
    return 2 - erfc(x), erfc(-x)


# The error function.


@identity(tags=STABLE)
def complement_erfo(x):
    """1 - erf(x) = erfc(x).

    The left side cancels for a large x.
    Source: DLMF 7.2.2.
    """
    return 1 - erf(x), erfc(x)


@identity(tags=STABLE)
def complement_erfco(x):
    """1 - erfc(x) = erf(x).

    The left side cancels for a small x.
    Source: DLMF 7.2.2.
    """
    return 1 - erfc(x), erf(x)


@identity(tags=STABLE)
def erfc_addo(x):
    """1 + erf(x) = erfc(-x).

    The left side cancels for a large negative x.
    Source: DLMF 7.2.2 and 7.4.1 (erf is odd).
    """
    return 1 + erf(x), erfc(-x)


@identity(tags=STABLE)
def erfc_subtracto(x):
    """erf(x) - 1 = -erfc(x).

    The left side cancels for a large x.
    Source: DLMF 7.2.2.
    """
    return erf(x) - 1, -erfc(x)


@identity(tags=(*STABLE, "local_log_erfc"))
def log_erfco(x):
    """log(erfc(x)) = logerfc(x).

    The left side is -infinity for x > 27.
    Source: definition; DLMF 7.12.1 for a large x.
    """
    return log(erfc(x)), logerfc(x)


@identity(tags=STABLE)
def log_ndtro(x):
    """log(ndtr(x)) = log_ndtr(x).

    The left side is -infinity for x < -38.
    Source: definition; DLMF 7.17.
    """
    return log(ndtr(x)), log_ndtr(x)


@identity(tags=CANONICAL)
def exp_logerfco(x):
    """e^logerfc(x) = erfc(x).

    The error is within c u (1 + |logerfc x|) erfc(x).
    Source: definition.
    """
    return exp(logerfc(x)), erfc(x)


@identity(tags=FINITE, specials="assumes_finite")
def scale_erfco(x):
    """e^(x^2) erfc(x) = erfcx(x).

    The left side is NaN for x > 27.
    Source: DLMF 7.2.3, w(i x) = e^(x^2) erfc(x).
    """
    return exp(square(x)) * erfc(x), erfcx(x)


@identity(tags=(*FINITE, "local_grad_log_erfc_neg"), specials="assumes_finite")
def divide_erfco(x, y):
    """e^(-x^2) / erfc(x) = 1 / erfcx(x), as in the derivative of log(erfc(x)).

    Holds where erfc(x) is not 0.
    The left side is NaN for x > 27.
    Source: DLMF 7.2.3, w(i x) = e^(x^2) erfc(x).
    """
    bell = exp(-square(x))
    yield bell / erfc(x), reciprocal(erfcx(x))
    yield y * bell / erfc(x), y / erfcx(x)


# Modified Bessel functions.


@identity(tags=FINITE, specials="assumes_finite")
def log_kvo(v, x):
    """log(kv(v, x)) = log(kve(v, x)) - x.

    Both sides are NaN for negative x.  The left side is -infinity for x > 705.
    Source: DLMF 10.25.3: kv(v, x) behaves as e^(-x) for a large x.
    """
    return log(kv(v, x)), log(kve(v, x)) - x


@identity(tags=FINITE, specials="assumes_finite")
def log_ivo(v, x):
    """log(iv(v, x)) = log(ive(v, x)) + |x|.

    At infinity the right side is NaN.  The left side overflows for |x| > 713.
    Source: DLMF 10.30.4: iv(v, x) behaves as e^x for a large x.
    """
    return log(iv(v, x)), log(ive(v, x)) + absolute(x)


@identity(tags=CANONICAL)
def lift_kv_negativeo(v, x):
    """kv(-v, x) = kv(v, x).

    Source: DLMF 10.27.3.
    """
    return kv(-v, x), kv(v, x)


@identity(tags=CANONICAL, specials="assumes_finite")
def unscale_kveo(v, x):
    """kve(v, x) e^(-x) = kv(v, x).

    Holds where kv(v, x) does not underflow.
    Source: definition.
    """
    return kve(v, x) * exp(-x), kv(v, x)


RELATIONS = relations_in(globals())
