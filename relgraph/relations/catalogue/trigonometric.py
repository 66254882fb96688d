"""Circular and hyperbolic functions and their inverses, for real arguments.

An inverse function is NaN outside of its domain, and so is what replaces it: ``tanh(arctanh(x))``
is ``x`` where ``|x| <= 1`` and NaN elsewhere.
"""

from __future__ import annotations

import math

from relgraph.ops.elementwise import (
    absolute,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctanh,
    cbrt,
    cos,
    cosh,
    exp,
    expm1,
    hypot,
    log,
    log1p,
    logaddexp,
    reciprocal,
    sigmoid,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    where,
)
from relgraph.relations.catalogue import (
    CANONICAL,
    FINITE,
    SPECIALIZE,
    STABLE,
    relations_in,
)
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import floato

EARLY = ("canonicalize", *STABLE)  # also before other relations take the form apart


# Parity.


@identity(tags=(*CANONICAL, "parity"))
def absorb_even_negativeo(x):
    """f(-x) = f(|x|) = f(x), where f is cos or cosh.

    No library promises even functions to the last digit.
    Source: DLMF 4.17.2 and 4.30.
    """
    for f in (cos, cosh):
        yield f(-x), f(x)
        yield f(absolute(x)), f(x)


# Circular functions.


@identity(tags=CANONICAL, specials="assumes_finite")
def pythagoras_circularo(x):
    """sin(x)^2 + cos(x)^2 = 1.

    The sine of infinity is NaN.
    Source: DLMF 4.21.12.
    """
    return square(sin(x)) + square(cos(x)), 1


@identity(tags=CANONICAL, specials="assumes_finite")
def pythagoras_hyperbolico(x):
    """cosh(x)^2 - sinh(x)^2 = 1.

    The error is within u cosh(x)^2, which the left side loses.
    Source: DLMF 4.35.11.
    """
    return square(cosh(x)) - square(sinh(x)), 1


@identity(tags=EARLY)
def complement_cos_squareo(x):
    """1 - cos(x)^2 = sin(x)^2.

    The left side cancels for x near 0.
    Source: DLMF 4.21.12.
    """
    return 1 - square(cos(x)), square(sin(x))


@identity(tags=EARLY)
def complement_cosh_squareo(x):
    """cosh(x)^2 - 1 = sinh(x)^2.

    The left side cancels for x near 0.
    Source: DLMF 4.35.11.
    """
    return square(cosh(x)) - 1, square(sinh(x))


@identity(tags=EARLY)
def add_sinh_squareo(x):
    """1 + sinh(x)^2 = cosh(x)^2.

    Source: DLMF 4.35.11.
    """
    return 1 + square(sinh(x)), square(cosh(x))


@identity(tags=FINITE)
def complement_tanh_squareo(x):
    """1 - tanh(x)^2 = 1 / cosh(x)^2.

    The left side cancels for a large |x|.
    Source: DLMF 4.35.12.
    """
    return 1 - square(tanh(x)), reciprocal(square(cosh(x)))


@identity(tags=CANONICAL)
def quotient_sin_coso(x):
    """sin(x) / cos(x) = tan(x).

    Source: DLMF 4.14.4.
    """
    return sin(x) / cos(x), tan(x)


@identity(tags=CANONICAL)
def quotient_cos_sino(x):
    """cos(x) / sin(x) = 1 / tan(x).

    Source: DLMF 4.14.7.
    """
    return cos(x) / sin(x), reciprocal(tan(x))


@identity(tags=CANONICAL)
def multiply_tan_coso(x):
    """tan(x) cos(x) = sin(x).

    Source: DLMF 4.14.4.
    """
    return tan(x) * cos(x), sin(x)


@identity(tags=CANONICAL, specials="assumes_finite")
def double_angle_sino(x):
    """sin(x) cos(x) = sin(2 x) / 2.

    The left side errs by u at most, as does the right one.
    Source: DLMF 4.21.27.
    """
    return sin(x) * cos(x), 0.5 * sin(2 * x)


@identity(tags=CANONICAL, specials="assumes_finite")
def double_angle_coso(x):
    """cos(x)^2 - sin(x)^2 = cos(2 x).

    The error is within 3u; the left side cancels where |sin x| = |cos x|.
    Source: DLMF 4.21.28.
    """
    return square(cos(x)) - square(sin(x)), cos(2 * x)


@identity(tags=CANONICAL, specials="assumes_finite")
def double_angle_cos_oneo(x):
    """2 cos(x)^2 - 1 = cos(2 x).

    The error is within 3u.
    Source: DLMF 4.21.28.
    """
    return 2 * square(cos(x)) - 1, cos(2 * x)


@identity(tags=("half_angle",), specials="assumes_finite")
def double_angle_sin_oneo(x):
    """1 - 2 sin(x)^2 = cos(2 x).

    The error is within 3u.  No mode runs it: to the left it is the half-angle form, which keeps the
    digits of cos(x) - 1.
    Source: DLMF 4.21.28.
    """
    return 1 - 2 * square(sin(x)), cos(2 * x)


@identity(tags=(*STABLE, "half_angle"))
def half_angle_coso(x):
    """1 - cos(x) = 2 sin(x / 2)^2, and cos(x) - 1 with the sign changed.

    The left side cancels for x near 0.
    Source: DLMF 4.21.28.
    """
    half = 2 * square(sin(0.5 * x))
    yield 1 - cos(x), half
    yield cos(x) - 1, -half


# Hyperbolic functions.


@identity(tags=FINITE, specials="assumes_finite")
def quotient_sinh_cosho(x):
    """sinh(x) / cosh(x) = tanh(x).

    The left side is NaN for |x| > 711.
    Source: DLMF 4.28.4.
    """
    return sinh(x) / cosh(x), tanh(x)


@identity(tags=CANONICAL)
def multiply_tanh_cosho(x):
    """tanh(x) cosh(x) = sinh(x).

    Source: DLMF 4.28.4.
    """
    return tanh(x) * cosh(x), sinh(x)


@identity(tags=CANONICAL)
def double_angle_sinho(x):
    """sinh(x) cosh(x) = sinh(2 x) / 2.

    The error is within c u (1 + |x|) |sinh(2 x)|.
    Source: DLMF 4.35.26.
    """
    return sinh(x) * cosh(x), 0.5 * sinh(2 * x)


@identity(tags=STABLE)
def exponential_hyperbolico(x):
    """(e^x - e^(-x)) / 2 = sinh(x), and with a sum cosh(x); the half is a factor or a divisor.

    The difference cancels for x near 0.
    Source: DLMF 4.28.1 and 4.28.2.
    """
    minus, plus = exp(x) - exp(-x), exp(x) + exp(-x)
    yield minus / 2, sinh(x)
    yield 0.5 * minus, sinh(x)
    yield plus / 2, cosh(x)
    yield 0.5 * plus, cosh(x)


@identity(tags=FINITE, specials="assumes_finite")
def exponential_tanho(x):
    """(e^x - e^(-x)) / (e^x + e^(-x)) = tanh(x), and (e^(2 x) - 1) / (e^(2 x) + 1) = tanh(x).

    The left sides are NaN for a large x.
    Source: DLMF 4.28.4.
    """
    two = exp(2 * x)
    yield (exp(x) - exp(-x)) / (exp(x) + exp(-x)), tanh(x)
    yield (two - 1) / (two + 1), tanh(x)
    yield expm1(2 * x) / (two + 1), tanh(x)


@identity(tags=("sigmoid_tanh",))
def sigmoid_tanho(x):
    """2 sigmoid(2 x) - 1 = tanh(x).

    The left side cancels for x near 0.  No mode runs it: it is for the search and for those who
    name it.
    Source: 2 / (1 + e^(-2 x)) - 1 = (1 - e^(-2 x)) / (1 + e^(-2 x)), DLMF 4.28.4.
    """
    return 2 * sigmoid(2 * x) - 1, tanh(x)


@identity(tags=FINITE, specials="assumes_finite")
def add_cosh_sinho(x):
    """cosh(x) + sinh(x) = e^x.

    The left side cancels for a negative x.
    Source: DLMF 4.28.1 and 4.28.2.
    """
    return cosh(x) + sinh(x), exp(x)


@identity(tags=FINITE, specials="assumes_finite")
def subtract_cosh_sinho(x):
    """cosh(x) - sinh(x) = e^(-x).

    The left side cancels for a positive x.
    Source: DLMF 4.28.1 and 4.28.2.
    """
    return cosh(x) - sinh(x), exp(-x)


@identity(tags=STABLE)
def log_cosho(x):
    """log(cosh(x)) = logaddexp(x, -x) - log 2, and log(2 cosh(x)) = logaddexp(x, -x).

    The left side overflows for |x| > 711.
    Source: DLMF 4.28.2: 2 cosh(x) = e^x + e^(-x).
    """
    both = logaddexp(x, -x)
    yield log(2 * cosh(x)), both
    yield log(cosh(x)), both - math.log(2)


@identity(tags=STABLE)
def log_complement_tanh_squareo(x):
    """log(1 - tanh(x)^2) = -2 (|x| + log1p(expm1(-2 |x|) / 2)), also written with log1p.

    The left side is -infinity for |x| > 19; no constant of the right side is rounded.
    Source: DLMF 4.35.12 and 4.28.2: 1 - tanh(x)^2 = 1 / cosh(x)^2, and 2 cosh(x) = e^|x| + e^-|x|.
    """
    size = absolute(x)
    stable = -2 * (size + log1p(0.5 * expm1(-2 * size)))
    yield log(1 - square(tanh(x))), stable
    yield log1p(-square(tanh(x))), stable


# Inverse functions.


@identity(tags=(*EARLY, "useless_Arccosh_of_Cosh"))
def cancel_arccosh_cosho(x):
    """arccosh(cosh(x)) = |x|.

    The left side is 0 for x near 0 and overflows for |x| > 711.
    Source: DLMF 4.37(iii): the principal value is not negative.
    """
    return arccosh(cosh(x)), absolute(x)


@identity(tags=(*EARLY, "useless_Arcsinh_of_Sinh", "useless_Arctanh_of_Tanh"))
def cancel_arcsinh_sinho(x):
    """arcsinh(sinh(x)) = x, and arctanh(tanh(x)) = x.

    The left side overflows for |x| > 711, or is infinite for |x| > 19.
    Source: DLMF 4.37(i): both functions are one to one.
    """
    for f, g in ((arcsinh, sinh), (arctanh, tanh)):
        yield f(g(x)), x


@identity(tags=(*CANONICAL, "useless_Sinh_of_Arcsinh"))
def cancel_sinh_arcsinho(x):
    """sinh(arcsinh(x)) = x.

    The error is within c u |x| (1 + |arcsinh x|).
    Source: DLMF 4.37(i).
    """
    return sinh(arcsinh(x)), x


@identity(tags=CANONICAL, where=floato, specials="assumes_finite")
def cancel_tan_arctano(x):
    """tan(arctan(x)) = x.

    pi / 2 is rounded, so its tangent is finite.  The error is within c u (1 + x^2).
    Source: DLMF 4.23(i).
    """
    return tan(arctan(x)), x


@identity(
    tags=(*SPECIALIZE, "useless_Cosh_of_Arccosh", "useless_Tanh_of_Arctanh"),
    where=lambda x: floato(x),
)
def cancel_partial_inverseo(x):
    """f(g(x)) = x in the domain of g and NaN elsewhere, for four functions f and their inverses g.

    sin(arcsin(x)) and tanh(arctanh(x)) are x where |x| <= 1, cos(arccos(x)) too, and
    cosh(arccosh(x)) is x where x >= 1.  The error is within c u (1 + |g(x)|) |f'(g(x))|.
    Source: DLMF 4.23(i) and 4.37(i).
    """
    within = where(absolute(x) <= 1, x, math.nan)
    for f, g in ((sin, arcsin), (cos, arccos), (tanh, arctanh)):
        yield f(g(x)), within
    yield cosh(arccosh(x)), where(x >= 1, x, math.nan)


@identity(tags=SPECIALIZE)
def leg_arcsino(x):
    """sin(arccos(x)) = cos(arcsin(x)) = sqrt((1 - x) (1 + x)).

    Both sides are NaN for |x| > 1.  The differences are exact near 1.
    Source: DLMF 4.21.12; the product is 1 - x^2.
    """
    leg = sqrt((1 - x) * (1 + x))
    yield sin(arccos(x)), leg
    yield cos(arcsin(x)), leg


@identity(tags=SPECIALIZE)
def cos_arctano(x):
    """cos(arctan(x)) = 1 / hypot(1, x).

    For a large |x|, the left side errs by u.
    Source: DLMF 4.21.12 and 4.14.4.
    """
    return cos(arctan(x)), reciprocal(hypot(1, x))


@identity(tags=SPECIALIZE)
def cosh_arcsinho(x):
    """cosh(arcsinh(x)) = hypot(1, x).

    The error is within c u (1 + |arcsinh x|) |x|.
    Source: DLMF 4.35.11.
    """
    return cosh(arcsinh(x)), hypot(1, x)


@identity(tags=STABLE)
def logarithmic_arccosho(x):
    """log(x + sqrt(x^2 - 1)) = arccosh(x), and (1 / 2) log((1 + x) / (1 - x)) = arctanh(x).

    Both sides are NaN outside of the domain.  The left sides overflow, or cancel for x near 0.
    Source: DLMF 4.37.19 and 4.37.24.
    """
    quotient = log((1 + x) / (1 - x))
    yield log(x + sqrt(square(x) - 1)), arccosh(x)
    yield 0.5 * quotient, arctanh(x)
    yield quotient / 2, arctanh(x)


@identity(tags=FINITE, specials="assumes_finite")
def logarithmic_arcsinho(x):
    """log(x + sqrt(x^2 + 1)) = arcsinh(x).

    The left side is NaN for -infinity.  It cancels for a negative x and overflows.
    Source: DLMF 4.37.16.
    """
    return log(x + sqrt(square(x) + 1)), arcsinh(x)


@identity(tags=("stabilize", "optional"), specials="assumes_finite")
def hypot_sqrto(x, y):
    """sqrt(x^2 + y^2) = hypot(x, y).

    hypot(infinity, NaN) is infinity.  The left side overflows or underflows.  It costs more than it
    saves where nothing overflows, so it runs on request.
    Source: IEEE 754-2019, section 9.2.1.
    """
    return sqrt(square(x) + square(y)), hypot(x, y)


@identity(tags=(*CANONICAL, "parity"))
def lift_odd_negativeo(x):
    """f(-x) = -f(x) for sin, tan, arcsin, arctan, sinh, tanh, arcsinh, arctanh and the cube root.

    No library promises odd functions to the last digit.
    Source: DLMF 4.17.1 to 4.17.3, 4.23(iii), 4.30 and 4.37(iii).
    """
    for f in (sin, tan, arcsin, arctan, sinh, tanh, arcsinh, arctanh, cbrt):
        yield f(-x), -f(x)


RELATIONS = relations_in(globals())
