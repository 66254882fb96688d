"""Logic of truth values, and of the bits of integers."""

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
from relgraph.relations.catalogue import CANONICAL, TIDY, relations_in
from relgraph.relations.catalogue.comparison import truthso, wholeo
from relgraph.relations.catalogue.conditions import numerico
from relgraph.relations.decorators import identity


@identity(tags=CANONICAL, where=lambda x: truthso(x), rounding="exact")
def logical_bitwiseo(x, y):
    """(x & y) = (x and y), (x | y) = (x or y), (x ^ y) = (x xor y), and ~x = not x.

    Source: a bool is one bit.
    """
    pairs = ((bitwise_and, logical_and), (bitwise_or, logical_or), (bitwise_xor, logical_xor))
    for bits, op in pairs:
        yield bits(x, y), op(x, y), truthso(y)
    yield invert(x), logical_not(x)


@identity(tags=TIDY, rounding="exact", where=lambda x: truthso(x))
def cancel_not_noto(x):
    """not not x = x.

    Source: double negation, G. Boole, The Laws of Thought, chapter III.
    """
    return logical_not(logical_not(x)), x


@identity(tags=TIDY, rounding="exact", where=lambda x: numerico(x))
def test_not_noto(x):
    """not not x = cast(x, bool).

    A number is true where it is not 0.
    Source: as :func:`cancel_not_noto`, of the truth of x.
    """
    return logical_not(logical_not(x)), Cast("bool")(x)


@identity(tags=(*TIDY, "local_useless_elemwise"), where=lambda x: truthso(x), rounding="exact")
def neutral_logico(x):
    """(x and True) = x, (x or False) = x, (x xor False) = x.

    Source: neutral elements of a Boolean algebra, G. Birkhoff, Lattice Theory, 3rd ed.,
    chapter II.
    """
    yield logical_and(x, True), x
    yield logical_or(x, False), x
    yield logical_xor(x, False), x


@identity(tags=(*TIDY, "local_useless_elemwise"), rounding="exact")
def annihilate_logico(x):
    """(x and False) = False, (x or True) = True, (x xor x) = False, (x xor True) = not x.

    Source: bounds of a Boolean algebra, G. Birkhoff, Lattice Theory, 3rd ed., chapter II.
    """
    yield logical_and(x, False), False
    yield logical_or(x, True), True
    yield logical_xor(x, x), False
    yield logical_xor(x, True), logical_not(x)


@identity(tags=(*TIDY, "local_useless_elemwise"), where=lambda x: wholeo(x), rounding="exact")
def neutral_bitwiseo(x):
    """x & -1 = x, x | 0 = x, x ^ 0 = x, x & 0 = 0, x | -1 = -1, x ^ x = 0, ~~x = x.

    Source: H. S. Warren, Hacker's Delight, 2nd ed., section 2-1.
    """
    yield bitwise_and(x, -1), x
    yield bitwise_or(x, 0), x
    yield bitwise_xor(x, 0), x
    yield invert(invert(x)), x
    yield bitwise_and(x, 0), 0
    yield bitwise_xor(x, x), 0
    yield bitwise_or(x, -1), -1


@identity(tags=CANONICAL, rounding="exact")
def complement_logico(x):
    """(x and not x) = False, and (x or not x) = True.

    Source: complements, G. Birkhoff, Lattice Theory, 3rd ed., chapter II.
    """
    yield logical_and(x, logical_not(x)), False
    yield logical_or(x, logical_not(x)), True


@identity(tags=CANONICAL, rounding="exact")
def distribute_noto(x, y):
    """not (x or y) = (not x) and (not y), and with and and or exchanged.

    Holds for bool and for the bits of integers.
    Source: De Morgan's laws, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    forms = (
        (logical_not, logical_or, logical_and),
        (logical_not, logical_and, logical_or),
        (invert, bitwise_or, bitwise_and),
        (invert, bitwise_and, bitwise_or),
    )
    for flip, op, other in forms:
        yield flip(op(x, y)), other(flip(x), flip(y))


@identity(tags=CANONICAL, rounding="exact")
def cancel_xor_noto(x, y):
    """(not x xor not y) = (x xor y).

    Source: the exclusive or is addition modulo 2, and not adds 1.
    """
    return logical_xor(logical_not(x), logical_not(y)), logical_xor(x, y)


@identity(tags=CANONICAL, rounding="exact")
def absorb_logico(x, y):
    """(x and (x or y)) = x, and (x or (x and y)) = x.

    Holds for bool and for the bits of integers.
    Source: absorption laws of a lattice, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    pairs = ((logical_and, logical_or, truthso), (bitwise_and, bitwise_or, wholeo))
    for meet, join, condition in pairs:
        yield meet(x, join(x, y)), x, condition(x)
        yield join(x, meet(x, y)), x, condition(x)


@identity(tags=CANONICAL, rounding="exact")
def absorb_complemento(x, y):
    """(x and (not x or y)) = (x and y), and (x or (not x and y)) = (x or y).

    Source: distributive and complement laws, G. Birkhoff, Lattice Theory, 3rd ed., chapter II.
    """
    yield logical_and(x, logical_or(logical_not(x), y)), logical_and(x, y)
    yield logical_or(x, logical_and(logical_not(x), y)), logical_or(x, y)


@identity(tags=CANONICAL, rounding="exact")
def distribute_logico(x, y, z):
    """(x and (y or z)) = (x and y) or (x and z), with and and or exchanged, and so for bits.

    Source: distributive lattices, G. Birkhoff, Lattice Theory, 3rd ed., chapter II.
    """
    pairs = (
        (logical_and, logical_or),
        (logical_or, logical_and),
        (bitwise_and, bitwise_or),
        (bitwise_or, bitwise_and),
    )
    for outer, inner in pairs:
        yield outer(x, inner(y, z)), inner(outer(x, y), outer(x, z))


RELATIONS = relations_in(globals(), backward=(distribute_noto, distribute_logico))
