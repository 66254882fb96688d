"""Exponentials and logarithms, for real arguments."""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from relgraph.ops.elementwise import exp, exp2, expm1, log, log1p, log2, reciprocal, sqrt, square
from relgraph.relations.goals import eq, lall, lany, nonnegativeo, positiveo
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, identity, relation

CANONICAL = ("canonicalize", "fast_run")
STABLE = ("canonicalize", "fast_run", "stabilize", "stabilization")


@relation(tags=STABLE)
def cancel_log_expo(left, right):
    """log(e^x) = x, and so for base 2 and for log1p(expm1(x)).

    Holds always; the left side overflows or underflows for large |x|, the right side does not;
    rounded, kept.
    Source: DLMF 4.8(i), for real arguments.
    """
    (x,) = lvars("x")
    pairs = ((log, exp), (log2, exp2), (log1p, expm1))
    return lany(*[lall(eq(left, f(g(x))), eq(right, x)) for f, g in pairs])


@relation(tags=CANONICAL)
def cancel_exp_logo(left, right):
    """e^(log x) = x, and so for base 2 and for expm1(log1p(x)).

    Holds where x is at least 0 (the logarithm of a negative number is NaN); rounded (within
    c u |x| (1 + |log x|)), kept.
    Source: DLMF 4.8(i), for real arguments.
    """
    (x,) = lvars("x")
    pairs = ((exp, log), (exp2, log2), (expm1, log1p))
    return lany(*[lall(eq(left, f(g(x))), eq(right, x), nonnegativeo(x)) for f, g in pairs])


@identity(tags=STABLE)
def distribute_exp_addo(x, y):
    """e^(x + y) = e^x e^y.

    Holds always; the product may overflow or underflow in one factor, the sum does not; rounded
    (the error of x + y counts |x + y| times), kept.
    Source: DLMF 4.8.16.
    """
    return exp(x + y), exp(x) * exp(y)


@identity(tags=STABLE)
def distribute_exp_subtracto(x, y):
    """e^(x - y) = e^x / e^y.

    Holds always; the quotient may overflow or underflow on one side, the difference does not;
    rounded (the error of x - y counts |x - y| times), kept.
    Source: DLMF 4.8.16.
    """
    return exp(x - y), exp(x) / exp(y)


@relation(tags=CANONICAL, specials="assumes_finite")
def reciprocal_expo(left, right):
    """1 / e^x = e^(-x), written as a quotient or a reciprocal.

    Holds where e^x is finite; rounded, assumes_finite (near the end of the range one side is
    subnormal and the other 0).
    Source: DLMF 4.8.16.
    """
    (x,) = lvars("x")
    return lany(
        *[lall(eq(left, form), eq(right, exp(-x))) for form in (1 / exp(x), reciprocal(exp(x)))]
    )


@identity(tags=CANONICAL, specials="assumes_finite")
def merge_power_expo(x, y):
    """(e^x)^y = e^(x y).

    Holds where e^x is finite and not 0; rounded (the error of x y counts |x y| times),
    assumes_finite.
    Source: DLMF 4.8.17.
    """
    return exp(x) ** y, exp(x * y)


@identity(tags=CANONICAL, specials="assumes_finite")
def halve_sqrt_expo(x):
    """sqrt(e^x) = e^(x / 2).

    Holds where e^x is finite and not 0; rounded, assumes_finite.
    Source: DLMF 4.8.17.
    """
    return sqrt(exp(x)), exp(0.5 * x)


@identity(tags=CANONICAL)
def halve_log_sqrto(x):
    """log(sqrt(x)) = (1 / 2) log x.

    Holds always, negative x being NaN on both sides; rounded (within u (1 + |log x|)), kept.
    Source: DLMF 4.8.13.
    """
    return log(sqrt(x)), 0.5 * log(x)


@relation(tags=CANONICAL, specials="assumes_finite")
def lower_log_powero(left, right):
    """log(x^y) = y log x, and log(square(x)) = 2 log x.

    Holds where x is positive; rounded (within c u (1 + |y log x|)), assumes_finite (infinity to
    the power of 0 is 1, but 0 log(infinity) is NaN).
    Source: DLMF 4.8.13.
    """
    x, y = lvars("x y")
    return lany(
        lall(eq(left, log(x**y)), eq(right, y * log(x)), positiveo(x)),
        lall(eq(left, log(square(x))), eq(right, 2 * log(x)), positiveo(x)),
    )


@identity(
    tags=("expand_log",),
    where=lambda x, y: (positiveo(x), positiveo(y)),
    specials="assumes_finite",
)
def distribute_log_multiplyo(x, y):
    """log(x y) = log x + log y.

    Holds where x and y are positive; rounded (within c u (1 + |log x| + |log y|)),
    assumes_finite.  No mode runs it: to the right it costs a logarithm, to the left the product
    of many factors overflows.
    Source: DLMF 4.8.2.
    """
    return log(x * y), log(x) + log(y)


@identity(
    tags=("expand_log",),
    where=lambda x, y: (positiveo(x), positiveo(y)),
    specials="assumes_finite",
)
def distribute_log_divideo(x, y):
    """log(x / y) = log x - log y.

    Holds where x and y are positive; rounded (within c u (1 + |log x| + |log y|)),
    assumes_finite.  No mode runs it, as the relation for products.
    Source: DLMF 4.8.4.
    """
    return log(x / y), log(x) - log(y)


RELATIONS: tuple[Relation, ...] = (
    cancel_log_expo,
    cancel_exp_logo,
    distribute_exp_addo.reversed,
    distribute_exp_subtracto.reversed,
    reciprocal_expo,
    merge_power_expo,
    halve_sqrt_expo,
    halve_log_sqrto,
    lower_log_powero,
    distribute_log_multiplyo,
    distribute_log_divideo,
)
