"""Powers, squares, roots and reciprocals.

Squares written ``x ** 2`` or ``x * x`` become ``square(x)``, so that the other relations meet one
form.
"""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from relgraph.ops.elementwise import absolute, reciprocal, sqrt, square
from relgraph.relations.goals import eq, floato, lall, lany, nonnegativeo, nonzeroo, positiveo
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, identity, relation

CANONICAL = ("canonicalize", "fast_run")
SPECIALIZE = ("specialize", "fast_run", "pow_specialize")


@identity(tags=(*CANONICAL, "specialize", "const_elimination", "pow_specialize"), rounding="exact")
def remove_power_oneo(x):
    """x^1 = x.

    Holds always; exact, kept.
    Source: IEEE 754-2019, section 9.2.1 (pown(x, 1) is x).
    """
    return x**1, x


@identity(tags=(*CANONICAL, "specialize", "const_elimination", "pow_specialize"), rounding="exact")
def annihilate_power_zeroo(x):
    """x^0 = 1.

    Holds always, for NaN and infinity too; exact, kept.
    Source: IEEE 754-2019, section 9.2.1 (pow(x, 0) is 1 for any x, even a NaN).
    """
    return x**0, 1


@identity(tags=(*CANONICAL, *SPECIALIZE))
def square_powero(x):
    """x^2 = square(x).

    Holds always, modulo 2^n for integers; rounded (a power is not rounded correctly), kept.
    Source: definition.
    """
    return x**2, square(x)


@identity(tags=(*CANONICAL, "specialize", "mul_specialize"), rounding="exact")
def square_multiplyo(x):
    """x x = square(x).

    Holds always, modulo 2^n for integers; exact, kept.
    Source: definition.
    """
    return x * x, square(x)


@identity(tags=SPECIALIZE, specials="assumes_finite")
def sqrt_powero(x):
    """x^(1/2) = sqrt(x).

    Holds where x is finite: (-infinity)^(1/2) is infinity; rounded (that power of -0.0 is 0.0),
    assumes_finite.
    Source: DLMF 4.2(iv); IEEE 754-2019, section 9.2.1 for the special values of pow.
    """
    return x**0.5, sqrt(x)


@identity(tags=SPECIALIZE)
def reciprocal_powero(x):
    """x^(-1) = 1 / x.

    Holds for floats; rounded, kept.
    Source: DLMF 4.2(iv); IEEE 754-2019, section 9.2.1.
    """
    return x ** (-1.0), reciprocal(x)


@identity(tags=SPECIALIZE, where=floato, specials="assumes_finite")
def reciprocal_sqrt_powero(x):
    """x^(-1/2) = 1 / sqrt(x).

    Holds for floats where x and the result are finite: the power of -0.0 is infinity; rounded,
    assumes_finite.
    Source: DLMF 4.2(iv); IEEE 754-2019, section 9.2.1.
    """
    return x ** (-0.5), reciprocal(sqrt(x))


@identity(tags=SPECIALIZE, where=floato, specials="assumes_finite")
def reciprocal_square_powero(x):
    """x^(-2) = 1 / square(x).

    Holds for floats where the square is finite and not 0; rounded, assumes_finite.
    Source: DLMF 4.2(iv).
    """
    return x ** (-2.0), reciprocal(square(x))


@identity(tags=("specialize", "fast_run", "mul_specialize"), rounding="exact")
def reciprocal_divideo(x):
    """1 / x = reciprocal(x).

    Holds for floats (an integer reciprocal is an integer); exact, kept.
    Source: definition.
    """
    return 1 / x, reciprocal(x)


@relation(tags=(*CANONICAL, "mul_canonical"), specials="assumes_finite")
def cancel_reciprocal_reciprocalo(left, right):
    """1 / (1 / x) = x, written as quotients or reciprocals.

    Holds for floats where x is not 0 and neither x nor 1 / x overflows; rounded (within 2u |x|),
    assumes_finite.
    Source: group law.
    """
    (x,) = lvars("x")
    return lany(
        *[
            lall(eq(left, spelled), eq(right, x), nonzeroo(x), floato(x))
            for spelled in (1 / (1 / x), reciprocal(reciprocal(x)))
        ]
    )


@identity(tags=(*CANONICAL, "mul_canonical"), where=nonzeroo, specials="assumes_finite")
def cancel_divide_squareo(x):
    """square(x) / x = x.

    Holds for floats where x is not 0; rounded (within 2u |x|), assumes_finite.
    Source: group law.
    """
    return square(x) / x, x


@relation(tags=CANONICAL)
def cancel_square_sqrto(left, right):
    """sqrt(x)^2 = x, written as a power, a product or a square.

    Holds where x is at least 0; rounded (within 3u |x|; the square of -0.0 is 0.0), kept.
    Source: definition of the square root.
    """
    (x,) = lvars("x")
    return lany(
        *[
            lall(eq(left, spelled), eq(right, x), nonnegativeo(x))
            for spelled in (sqrt(x) ** 2, square(sqrt(x)))
        ]
    )


@relation(tags=CANONICAL, specials="assumes_finite")
def cancel_sqrt_squareo(left, right):
    """sqrt(x^2) = |x|, written with a power or a square.

    Holds for floats whose square is finite; rounded (within 2u |x| where the square does not
    underflow), assumes_finite.
    Source: definition of the square root.
    """
    (x,) = lvars("x")
    return lany(
        *[
            lall(eq(left, spelled), eq(right, absolute(x)))
            for spelled in (sqrt(x**2), sqrt(square(x)))
        ]
    )


@identity(tags=CANONICAL, rounding="exact")
def absorb_square_negativeo(x):
    """square(-x) = square(x).

    Holds always, modulo 2^n for integers; exact, kept.
    Source: IEEE 754-2019, section 6.3.
    """
    return square(-x), square(x)


@identity(tags=CANONICAL, rounding="exact")
def absorb_square_absoluteo(x):
    """square(|x|) = square(x).

    Holds always, modulo 2^n for integers; exact, kept.
    Source: IEEE 754-2019, section 6.3.
    """
    return square(absolute(x)), square(x)


@identity(tags=CANONICAL, where=lambda x: (positiveo(x), floato(x)), specials="assumes_finite")
def distribute_power_addo(x, a, b):
    """x^(a + b) = x^a x^b.

    Holds for floats where x is positive; rounded (the error of an exponent counts |log x| times),
    assumes_finite.
    Source: DLMF 4.8.14.
    """
    return x ** (a + b), x**a * x**b


RELATIONS: tuple[Relation, ...] = (
    remove_power_oneo,
    annihilate_power_zeroo,
    cancel_square_sqrto,
    square_powero,
    square_multiplyo,
    sqrt_powero,
    reciprocal_powero,
    reciprocal_sqrt_powero,
    reciprocal_square_powero,
    cancel_reciprocal_reciprocalo,
    reciprocal_divideo,
    cancel_sqrt_squareo,
    cancel_divide_squareo,
    absorb_square_negativeo,
    absorb_square_absoluteo,
    distribute_power_addo.reversed,
)
