"""Signs and absolute values of products, quotients and negations."""

from __future__ import annotations

from relgraph.ops.elementwise import absolute, reciprocal, sign
from relgraph.relations.catalogue import CANONICAL, relations_in
from relgraph.relations.catalogue.conditions import signedo
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import (
    facto,
    floato,
    nonnegativeo,
    nonzeroo,
    positiveo,
)

SPECIALIZE = ("specialize", "fast_run", "pow_specialize")


@identity(tags=CANONICAL, rounding="exact")
def cancel_absolute_absoluteo(x):
    """| |x| | = |x|.

    Source: IEEE 754-2019, section 5.5.1 (abs clears the sign bit).
    """
    return absolute(absolute(x)), absolute(x)


@identity(tags=CANONICAL, where=signedo, rounding="exact")
def absorb_absolute_negativeo(x):
    """|-x| = |x|.

    An unsigned -x is 2^n - x.
    Source: IEEE 754-2019, section 5.5.1.
    """
    return absolute(-x), absolute(x)


@identity(tags=CANONICAL, where=nonnegativeo)
def remove_absoluteo(x):
    """|x| = x.

    The absolute value of -0.0 is 0.0.
    Source: definition.
    """
    return absolute(x), x


@identity(tags=CANONICAL, where=lambda x, y: (floato(x), floato(y)), rounding="exact")
def distribute_absolute_multiplyo(x, y):
    """|x y| = |x| |y|.

    Source: IEEE 754-2019, section 6.3: rounding does not depend on the sign.
    """
    return absolute(x * y), absolute(x) * absolute(y)


@identity(tags=("optional",), where=lambda x: (facto(x, "nonpositive"), signedo(x)))
def reflect_absoluteo(x):
    """|x| = -x where x is at most 0.

    Holds where x is NaN, too.
    Zeros may differ in sign.  No mode runs it: both sides cost the same.
    Source: definition.
    """
    return absolute(x), -x


@identity(tags=CANONICAL, where=lambda x, y: (floato(x), floato(y)), rounding="exact")
def distribute_absolute_divideo(x, y):
    """|x / y| = |x| / |y|.

    Source: IEEE 754-2019, section 6.3: rounding does not depend on the sign.
    """
    return absolute(x / y), absolute(x) / absolute(y)


@identity(tags=CANONICAL, rounding="exact", where=floato)
def absorb_absolute_signo(x):
    """sign(sign(x)) = sign(x).

    Source: definition.
    """
    return sign(sign(x)), sign(x)


@identity(tags=CANONICAL, where=floato)
def lift_sign_negativeo(x):
    """sign(-x) = -sign(x).

    The least integer is its own negative.  The zeros differ in sign.
    Source: definition.
    """
    return sign(-x), -sign(x)


@identity(tags=CANONICAL, where=floato)
def multiply_sign_absoluteo(x):
    """sign(x) |x| = x.

    -0.0 becomes 0.0.
    Source: definition.
    """
    return sign(x) * absolute(x), x


@identity(
    tags=(*CANONICAL, "mul_canonical"),
    where=lambda x: (nonzeroo(x), floato(x)),
    specials="assumes_finite",
)
def divide_absoluteo(x):
    """x / |x| = |x| / x = sign(x).

    Source: definition.
    """
    yield x / absolute(x), sign(x)
    yield absolute(x) / x, sign(x)


@identity(tags=CANONICAL, where=positiveo, specials="assumes_finite")
def sign_positiveo(x):
    """sign(x) = 1.

    Source: definition.
    """
    return sign(x), 1


@identity(tags=(*CANONICAL, "local_sign_div"), specials="assumes_finite")
def sign_divideo(x, p):
    """sign(x / p) = sign(p x) = sign(p / x) = sign(x) for p > 0, and sign(1 / x) = sign(x).

    Where the quotient underflows, its sign is 0.
    Source: rule of signs.
    """
    yield sign(x / p), sign(x), (positiveo(p), floato(x))
    yield sign(p * x), sign(x), (positiveo(p), floato(x))
    yield sign(p / x), sign(x), (positiveo(p), floato(x))
    yield sign(1 / x), sign(x), floato(x)
    yield sign(reciprocal(x)), sign(x), floato(x)


RELATIONS = relations_in(
    globals(),
    backward=(
        distribute_absolute_multiplyo,
        distribute_absolute_divideo,
    ),
)
