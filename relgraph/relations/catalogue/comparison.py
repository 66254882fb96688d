"""Comparison and logic."""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from relgraph.ops.elementwise import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
)
from relgraph.relations.goals import eq, facto, lall, lany
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, identity, relation

CANONICAL = ("canonicalize", "fast_run")
TIDY = ("canonicalize", "specialize", "fast_run")  # again after the stabilising phase


@identity(tags=TIDY, rounding="exact")
def cancel_not_noto(x):
    """not not x = x.

    Holds for bool and integers, whose truth is that they are not 0; exact, kept.
    Source: double negation, G. Boole, The Laws of Thought, chapter III.
    """
    return logical_not(logical_not(x)), x


@relation(tags=CANONICAL, rounding="exact")
def complement_equalo(left, right):
    """not (x = y) = (x != y), and the other way round.

    Holds always (NaN is unequal to everything); exact, kept.
    Source: IEEE 754-2019, section 5.11.
    """
    x, y = lvars("x y")
    return lany(
        lall(eq(left, logical_not(equal(x, y))), eq(right, not_equal(x, y))),
        lall(eq(left, logical_not(not_equal(x, y))), eq(right, equal(x, y))),
    )


@relation(tags=CANONICAL, rounding="exact")
def complement_lesso(left, right):
    """not (x < y) = (x >= y), and so for <=, > and >=.

    Holds where neither x nor y is NaN (no order holds between NaN and anything); exact, kept.
    Source: IEEE 754-2019, section 5.11.
    """
    x, y = lvars("x y")
    pairs = (
        (less, greater_equal),
        (less_equal, greater),
        (greater, less_equal),
        (greater_equal, less),
    )
    return lany(
        *[
            lall(
                eq(left, logical_not(op(x, y))),
                eq(right, opposite(x, y)),
                facto(x, "not_nan"),
                facto(y, "not_nan"),
            )
            for op, opposite in pairs
        ]
    )


@relation(tags=CANONICAL, rounding="exact")
def distribute_noto(left, right):
    """not (x or y) = (not x) and (not y), and with and and or exchanged.

    Holds always; exact, kept.
    Source: De Morgan's laws, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    x, y = lvars("x y")
    return lany(
        lall(
            eq(left, logical_not(logical_or(x, y))),
            eq(right, logical_and(logical_not(x), logical_not(y))),
        ),
        lall(
            eq(left, logical_not(logical_and(x, y))),
            eq(right, logical_or(logical_not(x), logical_not(y))),
        ),
    )


RELATIONS: tuple[Relation, ...] = (
    cancel_not_noto,
    complement_equalo,
    complement_lesso,
    distribute_noto.reversed,
)
