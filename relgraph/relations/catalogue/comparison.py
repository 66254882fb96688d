"""Comparison and logic.

No order holds between NaN and anything, and NaN is unequal to everything, itself included (IEEE
754-2019, section 5.11); what that breaks asks for a proof that there is no NaN.
"""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from typing import Any

from relgraph.ir.node import Variable
from relgraph.ops.elementwise import (
    Cast,
    absolute,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    equal,
    greater,
    greater_equal,
    invert,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    not_equal,
)
from relgraph.relations.catalogue.conditions import numerico
from relgraph.relations.goals import Suspended, checko, eq, facto, floato, lall, lany, nonzeroo
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, identity, relation

CANONICAL = ("canonicalize", "fast_run")
TIDY = ("canonicalize", "specialize", "fast_run")  # again after the stabilising phase
USELESS = (*TIDY, "local_useless_elemwise_comparison")


def truthso(x: Any) -> Suspended:
    """Relate graphs of bool."""
    return checko(_is_bool, x, label=f"bool({x!r})")


def _is_bool(x: Any) -> bool:
    return isinstance(x, Variable) and x.dtype.kind == "b"


def wholeo(x: Any) -> Suspended:
    """Relate graphs of bool and of integers."""
    return checko(_is_whole, x, label=f"integers({x!r})")


def _is_whole(x: Any) -> bool:
    return isinstance(x, Variable) and x.dtype.kind != "f"


def not_nano(*xs: Any) -> Any:
    """Relate graphs without NaN."""
    return lall(*[facto(x, "not_nan") for x in xs])


# Comparisons.


@relation(tags=CANONICAL, rounding="exact")
def swap_greatero(left, right):
    """(x > y) = (y < x), and (x >= y) = (y <= x).

    Holds always; exact, kept.
    Source: IEEE 754-2019, section 5.11 and table 5.3: greater is less with its operands exchanged.
    """
    x, y = lvars("x y")
    return lany(
        lall(eq(left, greater(x, y)), eq(right, less(y, x))),
        lall(eq(left, greater_equal(x, y)), eq(right, less_equal(y, x))),
    )


@relation(tags=USELESS, rounding="exact")
def compare_selfo(left, right):
    """(x < x) = False, and (x = x) = (x <= x) = True where x has no NaN.

    Holds under that condition; exact, kept.
    Source: IEEE 754-2019, section 5.11: a number is equal to itself, NaN to nothing.
    """
    (x,) = lvars("x")
    return lany(
        lall(eq(left, less(x, x)), eq(right, False)),
        lall(eq(left, less_equal(x, x)), eq(right, True), facto(x, "not_nan")),
        lall(eq(left, equal(x, x)), eq(right, True), facto(x, "not_nan")),
    )


@relation(tags=USELESS, rounding="exact")
def test_selfo(left, right):
    """(x != x) = isnan(x), and (x = x) = (x <= x) = not isnan(x).

    Holds always; exact, kept.
    Source: IEEE 754-2019, section 5.11: of all values, only NaN is unequal to itself.
    """
    (x,) = lvars("x")
    return lany(
        lall(eq(left, not_equal(x, x)), eq(right, isnan(x))),
        lall(eq(left, equal(x, x)), eq(right, logical_not(isnan(x)))),
        lall(eq(left, less_equal(x, x)), eq(right, logical_not(isnan(x)))),
    )


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
    """not (x < y) = (y <= x), and not (x <= y) = (y < x).

    Holds where neither x nor y is NaN (no order holds between NaN and anything); exact, kept.
    Source: IEEE 754-2019, section 5.11.
    """
    x, y = lvars("x y")
    return lany(
        *[
            lall(eq(left, logical_not(op(x, y))), eq(right, opposite(y, x)), not_nano(x, y))
            for op, opposite in ((less, less_equal), (less_equal, less))
        ]
    )


@relation(tags=CANONICAL, rounding="exact")
def cancel_compare_negativeo(left, right):
    """(-x < -y) = (y < x), (-x < 0) = (0 < x), (0 < -x) = (x < 0), and so for <=.

    Holds for floats (the least integer is its own negative); exact, kept.
    Source: negation reverses the order, IEEE 754-2019, section 5.5.1.
    """
    x, y = lvars("x y")
    return lany(
        *[
            lall(eq(left, op(-x, -y)), eq(right, op(y, x)), floato(x), floato(y))
            for op in (less, less_equal)
        ],
        *[
            lall(eq(left, first), eq(right, second), floato(x))
            for op in (less, less_equal)
            for first, second in ((op(-x, 0), op(0, x)), (op(0, -x), op(x, 0)))
        ],
    )


@relation(tags=CANONICAL, rounding="exact")
def cancel_equal_negativeo(left, right):
    """(-x = -y) = (x = y), (-x = 0) = (x = 0), and so for !=.

    Holds for floats (integers of two dtypes are promoted after they wrap around); exact, kept.
    Source: IEEE 754-2019, section 5.5.1.
    """
    x, y = lvars("x y")
    return lany(
        *[
            lall(eq(left, op(-x, -y)), eq(right, op(x, y)), floato(x), floato(y))
            for op in (equal, not_equal)
        ],
        *[lall(eq(left, op(-x, 0)), eq(right, op(x, 0)), floato(x)) for op in (equal, not_equal)],
    )


@relation(tags=CANONICAL, rounding="exact", specials="assumes_finite")
def compare_differenceo(left, right):
    """(x - y < 0) = (x < y), (0 < x - y) = (y < x), and so for <=.

    Holds for floats, since a difference underflows gradually (x - y is 0 only where x = y); exact,
    assumes_finite (infinity - infinity is NaN).
    Source: J. R. Hauser, "Handling floating-point exceptions in numeric programs", ACM
    Transactions on Programming Languages and Systems 18, 1996, section 5.
    """
    x, y = lvars("x y")
    return lany(
        *[
            lall(eq(left, first), eq(right, second), floato(x), floato(y))
            for op in (less, less_equal)
            for first, second in ((op(x - y, 0), op(x, y)), (op(0, x - y), op(y, x)))
        ]
    )


@relation(tags=CANONICAL, rounding="exact", specials="assumes_finite")
def equal_differenceo(left, right):
    """(x - y = 0) = (x = y), and so for !=.

    Holds for floats, as :func:`compare_differenceo`; exact, assumes_finite (infinity - infinity is
    NaN).
    Source: as there.
    """
    x, y = lvars("x y")
    return lany(*[lall(eq(left, op(x - y, 0)), eq(right, op(x, y))) for op in (equal, not_equal)])


@relation(tags=USELESS, rounding="exact")
def compare_signo(left, right):
    """(x < y) = False and (y <= x) = True where x is at least 0 and y at most 0.

    Holds under that condition, and (x = y) = (x <= y) = False, (y < x) = True where one of them is
    not 0 as well; what becomes True asks for numbers that are not NaN.  So a size is never
    negative; exact, kept.
    Source: IEEE 754-2019, section 5.11.
    """
    x, y = lvars("x y")
    weak = lall(facto(x, "nonnegative"), facto(y, "nonpositive"))
    strict = (
        lall(facto(x, "positive"), facto(y, "nonpositive")),
        lall(facto(x, "nonnegative"), facto(y, "negative")),
    )
    return lany(
        lall(eq(left, less(x, y)), eq(right, False), weak),
        lall(eq(left, less_equal(y, x)), eq(right, True), weak, not_nano(x, y)),
        *[lall(eq(left, equal(x, y)), eq(right, False), one) for one in strict],
        *[lall(eq(left, not_equal(x, y)), eq(right, True), one) for one in strict],
        *[lall(eq(left, less_equal(x, y)), eq(right, False), one) for one in strict],
        *[lall(eq(left, less(y, x)), eq(right, True), one, not_nano(x, y)) for one in strict],
    )


@relation(tags=USELESS, rounding="exact")
def compare_nonzeroo(left, right):
    """(x = 0) = False, and (x != 0) = True.

    Holds where x is not 0; exact, kept.
    Source: definition.
    """
    (x,) = lvars("x")
    return lany(
        lall(eq(left, equal(x, 0)), eq(right, False), nonzeroo(x)),
        lall(eq(left, not_equal(x, 0)), eq(right, True), nonzeroo(x)),
    )


@relation(tags=CANONICAL, rounding="exact")
def test_zeroo(left, right):
    """(x != 0) = cast(x, bool), and (x = 0) = not x.

    Holds always: the truth of a number is that it is not 0; exact, kept.
    Source: definition of the conversion to bool.
    """
    (x,) = lvars("x")
    return lany(
        lall(eq(left, not_equal(x, 0)), eq(right, Cast("bool")(x))),
        lall(eq(left, equal(x, 0)), eq(right, logical_not(x))),
    )


@relation(tags=CANONICAL, rounding="exact")
def equal_trutho(left, right):
    """(x = True) = x, and (x != False) = x.

    Holds for bool; exact, kept.
    Source: G. Boole, The Laws of Thought, chapter III.
    """
    (x,) = lvars("x")
    return lany(
        lall(eq(left, equal(x, True)), eq(right, x), truthso(x)),
        lall(eq(left, not_equal(x, False)), eq(right, x), truthso(x)),
    )


@relation(tags=CANONICAL, rounding="exact")
def equal_falseo(left, right):
    """(x = False) = not x, and (x != True) = not x.

    Holds for bool; exact, kept.
    Source: G. Boole, The Laws of Thought, chapter III.
    """
    (x,) = lvars("x")
    return lany(
        lall(eq(left, equal(x, False)), eq(right, logical_not(x)), truthso(x)),
        lall(eq(left, not_equal(x, True)), eq(right, logical_not(x)), truthso(x)),
    )


@relation(tags=CANONICAL, rounding="exact")
def join_comparisono(left, right):
    """(x < y or x = y) = (x <= y), (x <= y and x != y) = (x < y).

    Holds always, as do (x <= y and y <= x) = (x = y), (x < y and y < x) = False, (x < y and
    x <= y) = (x < y) and (x < y or x <= y) = (x <= y); exact, kept.
    Source: IEEE 754-2019, section 5.11: less, equal, greater and unordered exclude one another.
    """
    x, y = lvars("x y")
    pairs = (
        (logical_or(less(x, y), equal(x, y)), less_equal(x, y)),
        (logical_and(less_equal(x, y), not_equal(x, y)), less(x, y)),
        (logical_and(less_equal(x, y), less_equal(y, x)), equal(x, y)),
        (logical_and(less(x, y), less(y, x)), False),
        (logical_and(less(x, y), less_equal(x, y)), less(x, y)),
        (logical_or(less(x, y), less_equal(x, y)), less_equal(x, y)),
    )
    return lany(*[lall(eq(left, first), eq(right, second)) for first, second in pairs])


@identity(
    tags=CANONICAL,
    rounding="exact",
    where=lambda x, y: (facto(x, "not_nan"), facto(y, "not_nan")),
)
def join_less_greatero(x, y):
    """(x < y or y < x) = (x != y).

    Holds where neither x nor y is NaN; exact, kept.
    Source: a total order, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    return logical_or(less(x, y), less(y, x)), not_equal(x, y)


@relation(tags=CANONICAL, rounding="exact")
def gather_and_lesso(left, right):
    """(x < z and y < z) = (max(x, y) < z), (z < x and z < y) = (z < min(x, y)), and so for <=.

    Holds always (a maximum with NaN is NaN); exact, kept.
    Source: least upper bound, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    x, y, z = lvars("x y z")
    return lany(
        *[
            lall(eq(left, logical_and(first, second)), eq(right, joined))
            for op in (less, less_equal)
            for first, second, joined in (
                (op(x, z), op(y, z), op(maximum(x, y), z)),
                (op(z, x), op(z, y), op(z, minimum(x, y))),
            )
        ]
    )


@relation(tags=CANONICAL, rounding="exact")
def gather_or_lesso(left, right):
    """(x < z or y < z) = (min(x, y) < z), (z < x or z < y) = (z < max(x, y)), and so for <=.

    Holds where neither x nor y is NaN; exact, kept.
    Source: greatest lower bound, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    x, y, z = lvars("x y z")
    return lany(
        *[
            lall(eq(left, logical_or(first, second)), eq(right, joined), not_nano(x, y))
            for op in (less, less_equal)
            for first, second, joined in (
                (op(x, z), op(y, z), op(minimum(x, y), z)),
                (op(z, x), op(z, y), op(z, maximum(x, y))),
            )
        ]
    )


# Tests of floats.


@relation(tags=TIDY, rounding="exact")
def decide_testo(left, right):
    """isnan(x) = False where x has no NaN; isfinite(x) = True and isinf(x) = False where finite.

    Holds under these conditions, always for integers; exact, kept.
    Source: IEEE 754-2019, section 5.7.2.
    """
    (x,) = lvars("x")
    return lany(
        lall(eq(left, isnan(x)), eq(right, False), facto(x, "not_nan")),
        lall(eq(left, isinf(x)), eq(right, False), facto(x, "finite")),
        lall(eq(left, isfinite(x)), eq(right, True), facto(x, "finite")),
    )


@relation(tags=CANONICAL, rounding="exact")
def absorb_test_signo(left, right):
    """isnan(-x) = isnan(|x|) = isnan(x), and so for isinf and isfinite.

    Holds always; exact, kept.
    Source: IEEE 754-2019, section 5.5.1: negate and abs change the sign bit only.
    """
    (x,) = lvars("x")
    return lany(
        *[
            lall(eq(left, test(form)), eq(right, test(x)))
            for test in (isnan, isinf, isfinite)
            for form in (-x, absolute(x))
        ]
    )


@identity(tags=CANONICAL, rounding="exact")
def join_testo(x):
    """(isnan(x) or isinf(x)) = not isfinite(x).

    Holds always; exact, kept.
    Source: IEEE 754-2019, section 3.3: a datum is finite, infinite or NaN.
    """
    return logical_or(isnan(x), isinf(x)), logical_not(isfinite(x))


# Logic.


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
    """x & -1 = x, x | 0 = x, x ^ 0 = x, x & 0 = 0, x ^ x = 0, and ~~x = x.

    Holds for integers; exact, kept.
    Source: H. S. Warren, Hacker's Delight, 2nd ed., section 2-1.
    """
    (x,) = lvars("x")
    same = (bitwise_and(x, -1), bitwise_or(x, 0), bitwise_xor(x, 0), invert(invert(x)))
    zero = (bitwise_and(x, 0), bitwise_xor(x, x))
    return lany(
        *[lall(eq(left, form), eq(right, x), wholeo(x)) for form in same],
        *[lall(eq(left, form), eq(right, 0), wholeo(x)) for form in zero],
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
    swap_greatero,
    compare_selfo,
    test_selfo,
    complement_equalo,
    complement_lesso,
    cancel_compare_negativeo,
    cancel_equal_negativeo,
    compare_differenceo,
    equal_differenceo,
    compare_signo,
    compare_nonzeroo,
    test_zeroo,
    equal_trutho,
    equal_falseo,
    join_comparisono,
    join_less_greatero,
    gather_and_lesso,
    gather_or_lesso,
    decide_testo,
    absorb_test_signo,
    join_testo,
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
