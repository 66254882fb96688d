"""Choices: where, minimum, maximum, clip and absolute values."""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from relgraph.ops.elementwise import (
    absolute,
    bitwise_and,
    bitwise_or,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    where,
)
from relgraph.relations.catalogue.conditions import signedo
from relgraph.relations.goals import eq, floato, lall, lany, nonnegativeo
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, identity, relation

CANONICAL = ("canonicalize", "fast_run")
TIDY = ("canonicalize", "specialize", "fast_run")  # again after the stabilising phase


@identity(tags=(*CANONICAL,), rounding="exact")
def cancel_absolute_absoluteo(x):
    """| |x| | = |x|.

    Holds always; exact, kept.
    Source: IEEE 754-2019, section 5.5.1 (abs clears the sign bit).
    """
    return absolute(absolute(x)), absolute(x)


@identity(tags=(*CANONICAL,), where=signedo, rounding="exact")
def absorb_absolute_negativeo(x):
    """|-x| = |x|.

    Holds for floats and signed integers (an unsigned -x is 2^n - x); exact, kept.
    Source: IEEE 754-2019, section 5.5.1.
    """
    return absolute(-x), absolute(x)


@identity(tags=(*CANONICAL,), where=nonnegativeo)
def remove_absoluteo(x):
    """|x| = x.

    Holds where x is at least 0 or NaN; rounded (the absolute value of -0.0 is 0.0), kept.
    Source: definition.
    """
    return absolute(x), x


@identity(tags=(*CANONICAL,), where=lambda x, y: (floato(x), floato(y)), rounding="exact")
def distribute_absolute_multiplyo(x, y):
    """|x y| = |x| |y|.

    Holds for floats; exact, kept.
    Source: IEEE 754-2019, section 6.3: rounding does not depend on the sign.
    """
    return absolute(x * y), absolute(x) * absolute(y)


@relation(tags=TIDY, rounding="exact")
def idempotento(left, right):
    """x op x = x, where op is max, min, and, or, or their bitwise forms.

    Holds always; exact, kept.
    Source: idempotent laws of a lattice, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    (x,) = lvars("x")
    ops = (maximum, minimum, logical_and, logical_or, bitwise_and, bitwise_or)
    return lany(*[lall(eq(left, op(x, x)), eq(right, x)) for op in ops])


@identity(tags=TIDY, rounding="exact")
def collapse_whereo(c, x):
    """where(c, x, x) = x.

    Holds always; exact, kept.
    Source: both branches are x.
    """
    return where(c, x, x), x


@identity(tags=CANONICAL, rounding="exact")
def flip_where_noto(c, x, y):
    """where(not c, x, y) = where(c, y, x).

    Holds always; exact, kept.
    Source: definition.
    """
    return where(logical_not(c), x, y), where(c, y, x)


RELATIONS: tuple[Relation, ...] = (
    cancel_absolute_absoluteo,
    absorb_absolute_negativeo,
    remove_absoluteo,
    distribute_absolute_multiplyo.reversed,
    idempotento,
    collapse_whereo,
    flip_where_noto,
)
