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
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    not_equal,
)
from relgraph.relations.kanren.goals import (
    Suspended,
    checko,
    eq,
    facto,
    floato,
    lall,
    lany,
    nonzeroo,
)
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
)
