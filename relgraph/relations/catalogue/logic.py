"""Logic of truth values, and of the bits of integers."""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from relgraph.ops.elementwise import (
    Cast,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    invert,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from relgraph.relations.catalogue.comparison import truthso, wholeo
from relgraph.relations.catalogue.conditions import numerico
from relgraph.relations.kanren.goals import eq, lall, lany
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, identity, relation

CANONICAL = ("canonicalize", "fast_run")
TIDY = ("canonicalize", "specialize", "fast_run")  # again after the stabilising phase


@relation(tags=CANONICAL, rounding="exact")
def logical_bitwiseo(left, right):
    """(x & y) = (x and y), (x | y) = (x or y), (x ^ y) = (x xor y), and ~x = not x.

    Holds for bool; exact, kept.
    Source: a bool is one bit.
    """
    x, y = lvars("x y")
    pairs = ((bitwise_and, logical_and), (bitwise_or, logical_or), (bitwise_xor, logical_xor))
    return lany(
        *[
            lall(eq(left, bits(x, y)), eq(right, op(x, y)), truthso(x), truthso(y))
            for bits, op in pairs
        ],
        lall(eq(left, invert(x)), eq(right, logical_not(x)), truthso(x)),
    )


@identity(tags=TIDY, rounding="exact", where=lambda x: truthso(x))
def cancel_not_noto(x):
    """not not x = x.

    Holds for bool; exact, kept.
    Source: double negation, G. Boole, The Laws of Thought, chapter III.
    """
    return logical_not(logical_not(x)), x


@identity(tags=TIDY, rounding="exact", where=lambda x: numerico(x))
def test_not_noto(x):
    """not not x = cast(x, bool).

    Holds for numbers, whose truth is that they are not 0; exact, kept.
    Source: as :func:`cancel_not_noto`, of the truth of x.
    """
    return logical_not(logical_not(x)), Cast("bool")(x)


@relation(tags=(*TIDY, "local_useless_elemwise"), rounding="exact")
def neutral_logico(left, right):
    """(x and True) = x, (x or False) = x, (x xor False) = x.

    Holds for bool; exact, kept.
    Source: neutral elements of a Boolean algebra, G. Birkhoff, Lattice Theory, 3rd ed.,
    chapter II.
    """
    (x,) = lvars("x")
    forms = (logical_and(x, True), logical_or(x, False), logical_xor(x, False))
    return lany(*[lall(eq(left, form), eq(right, x), truthso(x)) for form in forms])


@relation(tags=(*TIDY, "local_useless_elemwise"), rounding="exact")
def annihilate_logico(left, right):
    """(x and False) = False, (x or True) = True, (x xor x) = False, (x xor True) = not x.

    Holds always; exact, kept.
    Source: bounds of a Boolean algebra, G. Birkhoff, Lattice Theory, 3rd ed., chapter II.
    """
    (x,) = lvars("x")
    pairs = (
        (logical_and(x, False), False),
        (logical_or(x, True), True),
        (logical_xor(x, x), False),
        (logical_xor(x, True), logical_not(x)),
    )
    return lany(*[lall(eq(left, form), eq(right, other)) for form, other in pairs])


@relation(tags=(*TIDY, "local_useless_elemwise"), rounding="exact")
def neutral_bitwiseo(left, right):
    """x & -1 = x, x | 0 = x, x ^ 0 = x, x & 0 = 0, x | -1 = -1, x ^ x = 0, ~~x = x.

    Holds for integers; exact, kept.
    Source: H. S. Warren, Hacker's Delight, 2nd ed., section 2-1.
    """
    (x,) = lvars("x")
    same = (bitwise_and(x, -1), bitwise_or(x, 0), bitwise_xor(x, 0), invert(invert(x)))
    zero = (bitwise_and(x, 0), bitwise_xor(x, x))
    ones = bitwise_or(x, -1)
    return lany(
        *[lall(eq(left, form), eq(right, x), wholeo(x)) for form in same],
        *[lall(eq(left, form), eq(right, 0), wholeo(x)) for form in zero],
        lall(eq(left, ones), eq(right, -1), wholeo(x)),
    )


@relation(tags=CANONICAL, rounding="exact")
def complement_logico(left, right):
    """(x and not x) = False, and (x or not x) = True.

    Holds always; exact, kept.
    Source: complements, G. Birkhoff, Lattice Theory, 3rd ed., chapter II.
    """
    (x,) = lvars("x")
    return lany(
        lall(eq(left, logical_and(x, logical_not(x))), eq(right, False)),
        lall(eq(left, logical_or(x, logical_not(x))), eq(right, True)),
    )


@relation(tags=CANONICAL, rounding="exact")
def distribute_noto(left, right):
    """not (x or y) = (not x) and (not y), and with and and or exchanged.

    Holds always, and for the bits of integers; exact, kept.
    Source: De Morgan's laws, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    x, y = lvars("x y")
    forms = (
        (logical_not, logical_or, logical_and),
        (logical_not, logical_and, logical_or),
        (invert, bitwise_or, bitwise_and),
        (invert, bitwise_and, bitwise_or),
    )
    return lany(
        *[
            lall(eq(left, flip(op(x, y))), eq(right, other(flip(x), flip(y))))
            for flip, op, other in forms
        ]
    )


@identity(tags=CANONICAL, rounding="exact")
def cancel_xor_noto(x, y):
    """(not x xor not y) = (x xor y).

    Holds always; exact, kept.
    Source: the exclusive or is addition modulo 2, and not adds 1.
    """
    return logical_xor(logical_not(x), logical_not(y)), logical_xor(x, y)


@relation(tags=CANONICAL, rounding="exact")
def absorb_logico(left, right):
    """(x and (x or y)) = x, and (x or (x and y)) = x.

    Holds for bool, and for the bits of integers; exact, kept.
    Source: absorption laws of a lattice, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    x, y = lvars("x y")
    pairs = ((logical_and, logical_or, truthso), (bitwise_and, bitwise_or, wholeo))
    return lany(
        *[
            lall(eq(left, form), eq(right, x), condition(x))
            for meet, join, condition in pairs
            for form in (meet(x, join(x, y)), join(x, meet(x, y)))
        ]
    )


@relation(tags=CANONICAL, rounding="exact")
def absorb_complemento(left, right):
    """(x and (not x or y)) = (x and y), and (x or (not x and y)) = (x or y).

    Holds always; exact, kept.
    Source: distributive and complement laws, G. Birkhoff, Lattice Theory, 3rd ed., chapter II.
    """
    x, y = lvars("x y")
    return lany(
        lall(
            eq(left, logical_and(x, logical_or(logical_not(x), y))),
            eq(right, logical_and(x, y)),
        ),
        lall(
            eq(left, logical_or(x, logical_and(logical_not(x), y))),
            eq(right, logical_or(x, y)),
        ),
    )


@relation(tags=CANONICAL, rounding="exact")
def distribute_logico(left, right):
    """(x and (y or z)) = (x and y) or (x and z), with and and or exchanged, and so for bits.

    Holds always; exact, kept.
    Source: distributive lattices, G. Birkhoff, Lattice Theory, 3rd ed., chapter II.
    """
    x, y, z = lvars("x y z")
    pairs = (
        (logical_and, logical_or),
        (logical_or, logical_and),
        (bitwise_and, bitwise_or),
        (bitwise_or, bitwise_and),
    )
    return lany(
        *[
            lall(
                eq(left, outer(x, inner(y, z))),
                eq(right, inner(outer(x, y), outer(x, z))),
            )
            for outer, inner in pairs
        ]
    )


RELATIONS: tuple[Relation, ...] = (
    logical_bitwiseo,
    cancel_not_noto,
    test_not_noto,
    neutral_logico,
    annihilate_logico,
    neutral_bitwiseo,
    complement_logico,
    distribute_noto.reversed,
    cancel_xor_noto,
    absorb_logico,
    absorb_complemento,
    distribute_logico.reversed,
)
