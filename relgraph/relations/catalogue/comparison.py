"""Comparison and logic.

No order holds between NaN and anything, and NaN is unequal to everything, itself included (IEEE
754-2019, section 5.11); what that breaks asks for a proof that there is no NaN.
"""

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
from relgraph.relations.catalogue import CANONICAL, TIDY, relations_in
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import (
    Suspended,
    checko,
    facto,
    floato,
    nonzeroo,
)

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


def not_nano(*xs: Any) -> tuple[Suspended, ...]:
    """Relate graphs without NaN."""
    return tuple([facto(x, "not_nan") for x in xs])


# Comparisons.


@identity(tags=CANONICAL, rounding="exact")
def swap_greatero(x, y):
    """(x > y) = (y < x), and (x >= y) = (y <= x).

    Source: IEEE 754-2019, section 5.11 and table 5.3: greater is less with its operands exchanged.
    """
    yield greater(x, y), less(y, x)
    yield greater_equal(x, y), less_equal(y, x)


@identity(tags=USELESS, rounding="exact")
def compare_selfo(x):
    """(x < x) = False, and (x = x) = (x <= x) = True where x has no NaN.

    Source: IEEE 754-2019, section 5.11: a number is equal to itself, NaN to nothing.
    """
    yield less(x, x), False
    yield less_equal(x, x), True, facto(x, "not_nan")
    yield equal(x, x), True, facto(x, "not_nan")


@identity(tags=USELESS, rounding="exact")
def test_selfo(x):
    """(x != x) = isnan(x), and (x = x) = (x <= x) = not isnan(x).

    Source: IEEE 754-2019, section 5.11: of all values, only NaN is unequal to itself.
    """
    yield not_equal(x, x), isnan(x)
    yield equal(x, x), logical_not(isnan(x))
    yield less_equal(x, x), logical_not(isnan(x))


@identity(tags=CANONICAL, rounding="exact")
def complement_equalo(x, y):
    """not (x = y) = (x != y), and the other way round.

    NaN is unequal to everything.
    Source: IEEE 754-2019, section 5.11.
    """
    yield logical_not(equal(x, y)), not_equal(x, y)
    yield logical_not(not_equal(x, y)), equal(x, y)


@identity(tags=CANONICAL, where=lambda x, y: not_nano(x, y), rounding="exact")
def complement_lesso(x, y):
    """not (x < y) = (y <= x), and not (x <= y) = (y < x).

    No order holds between NaN and anything.
    Source: IEEE 754-2019, section 5.11.
    """
    for op, opposite in ((less, less_equal), (less_equal, less)):
        yield logical_not(op(x, y)), opposite(y, x)


@identity(tags=CANONICAL, where=lambda x: floato(x), rounding="exact")
def cancel_compare_negativeo(x, y):
    """(-x < -y) = (y < x), (-x < 0) = (0 < x), (0 < -x) = (x < 0), and so for <=.

    The least integer is its own negative.
    Source: negation reverses the order, IEEE 754-2019, section 5.5.1.
    """
    for op in (less, less_equal):
        yield op(-x, -y), op(y, x), floato(y)
    for op in (less, less_equal):
        yield op(-x, 0), op(0, x)
        yield op(0, -x), op(x, 0)


@identity(tags=CANONICAL, where=lambda x: floato(x), rounding="exact")
def cancel_equal_negativeo(x, y):
    """(-x = -y) = (x = y), (-x = 0) = (x = 0), and so for !=.

    Integers of two dtypes are promoted after they wrap around.
    Source: IEEE 754-2019, section 5.5.1.
    """
    for op in (equal, not_equal):
        yield op(-x, -y), op(x, y), floato(y)
    for op in (equal, not_equal):
        yield op(-x, 0), op(x, 0)


@identity(
    tags=CANONICAL,
    where=lambda x, y: (floato(x), floato(y)),
    rounding="exact",
    specials="assumes_finite",
)
def compare_differenceo(x, y):
    """(x - y < 0) = (x < y), (0 < x - y) = (y < x), and so for <=.

    A difference underflows gradually, so x - y is 0 only where x = y.  Infinity - infinity is NaN.
    Source: J. R. Hauser, "Handling floating-point exceptions in numeric programs", ACM
    Transactions on Programming Languages and Systems 18, 1996, section 5.
    """
    for op in (less, less_equal):
        yield op(x - y, 0), op(x, y)
        yield op(0, x - y), op(y, x)


@identity(tags=CANONICAL, rounding="exact", specials="assumes_finite")
def equal_differenceo(x, y):
    """(x - y = 0) = (x = y), and so for !=.

    Holds for floats, as compare_differenceo does.
    Infinity - infinity is NaN.
    Source: as there.
    """
    for op in (equal, not_equal):
        yield op(x - y, 0), op(x, y)


@identity(tags=USELESS, rounding="exact")
def compare_signo(x, y):
    """(x < y) = False and (y <= x) = True where x is at least 0 and y at most 0.

    Likewise (x = y) = (x <= y) = False and (y < x) = True where one of them is not 0 as well.  What
    becomes True needs numbers that are not NaN.  So a size is never negative.
    Source: IEEE 754-2019, section 5.11.
    """
    weak = (facto(x, "nonnegative"), facto(y, "nonpositive"))
    strict = (
        (facto(x, "positive"), facto(y, "nonpositive")),
        (facto(x, "nonnegative"), facto(y, "negative")),
    )
    yield less(x, y), False, weak
    yield less_equal(y, x), True, (*weak, *not_nano(x, y))
    for signs in strict:
        yield equal(x, y), False, signs
    for signs in strict:
        yield not_equal(x, y), True, signs
    for signs in strict:
        yield less_equal(x, y), False, signs
    for signs in strict:
        yield less(y, x), True, (*signs, *not_nano(x, y))


@identity(tags=USELESS, where=lambda x: nonzeroo(x), rounding="exact")
def compare_nonzeroo(x):
    """(x = 0) = False, and (x != 0) = True.

    Source: definition.
    """
    yield equal(x, 0), False
    yield not_equal(x, 0), True


@identity(tags=CANONICAL, rounding="exact")
def test_zeroo(x):
    """(x != 0) = cast(x, bool), and (x = 0) = not x.

    A number is true where it is not 0.
    Source: definition of the conversion to bool.
    """
    yield not_equal(x, 0), Cast("bool")(x)
    yield equal(x, 0), logical_not(x)


@identity(tags=CANONICAL, where=lambda x: truthso(x), rounding="exact")
def equal_trutho(x):
    """(x = True) = x, and (x != False) = x.

    Source: G. Boole, The Laws of Thought, chapter III.
    """
    yield equal(x, True), x
    yield not_equal(x, False), x


@identity(tags=CANONICAL, where=lambda x: truthso(x), rounding="exact")
def equal_falseo(x):
    """(x = False) = not x, and (x != True) = not x.

    Source: G. Boole, The Laws of Thought, chapter III.
    """
    yield equal(x, False), logical_not(x)
    yield not_equal(x, True), logical_not(x)


@identity(tags=CANONICAL, rounding="exact")
def join_comparisono(x, y):
    """(x < y or x = y) = (x <= y), (x <= y and x != y) = (x < y).

    Likewise (x <= y and y <= x) = (x = y), (x < y and y < x) = False, (x < y and x <= y) = (x < y)
    and (x < y or x <= y) = (x <= y).
    Source: IEEE 754-2019, section 5.11: less, equal, greater and unordered exclude one another.
    """
    yield logical_or(less(x, y), equal(x, y)), less_equal(x, y)
    yield logical_and(less_equal(x, y), not_equal(x, y)), less(x, y)
    yield logical_and(less_equal(x, y), less_equal(y, x)), equal(x, y)
    yield logical_and(less(x, y), less(y, x)), False
    yield logical_and(less(x, y), less_equal(x, y)), less(x, y)
    yield logical_or(less(x, y), less_equal(x, y)), less_equal(x, y)


@identity(
    tags=CANONICAL,
    rounding="exact",
    where=lambda x, y: (facto(x, "not_nan"), facto(y, "not_nan")),
)
def join_less_greatero(x, y):
    """(x < y or y < x) = (x != y).

    Source: a total order, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    return logical_or(less(x, y), less(y, x)), not_equal(x, y)


@identity(tags=CANONICAL, rounding="exact")
def gather_and_lesso(x, y, z):
    """(x < z and y < z) = (max(x, y) < z), (z < x and z < y) = (z < min(x, y)), and so for <=.

    A maximum with NaN is NaN.
    Source: least upper bound, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    for op in (less, less_equal):
        yield logical_and(op(x, z), op(y, z)), op(maximum(x, y), z)
        yield logical_and(op(z, x), op(z, y)), op(z, minimum(x, y))


@identity(tags=CANONICAL, where=lambda x, y: not_nano(x, y), rounding="exact")
def gather_or_lesso(x, y, z):
    """(x < z or y < z) = (min(x, y) < z), (z < x or z < y) = (z < max(x, y)), and so for <=.

    Source: greatest lower bound, G. Birkhoff, Lattice Theory, 3rd ed., chapter I.
    """
    for op in (less, less_equal):
        yield logical_or(op(x, z), op(y, z)), op(minimum(x, y), z)
        yield logical_or(op(z, x), op(z, y)), op(z, maximum(x, y))


# Tests of floats.


@identity(tags=TIDY, rounding="exact")
def decide_testo(x):
    """isnan(x) = False where x has no NaN; isfinite(x) = True and isinf(x) = False where finite.

    Integers meet these conditions.
    Source: IEEE 754-2019, section 5.7.2.
    """
    yield isnan(x), False, facto(x, "not_nan")
    yield isinf(x), False, facto(x, "finite")
    yield isfinite(x), True, facto(x, "finite")


@identity(tags=CANONICAL, rounding="exact")
def absorb_test_signo(x):
    """isnan(-x) = isnan(|x|) = isnan(x), and so for isinf and isfinite.

    Source: IEEE 754-2019, section 5.5.1: negate and abs change the sign bit only.
    """
    for test in (isnan, isinf, isfinite):
        yield test(-x), test(x)
        yield test(absolute(x)), test(x)


@identity(tags=CANONICAL, rounding="exact")
def join_testo(x):
    """(isnan(x) or isinf(x)) = not isfinite(x).

    Source: IEEE 754-2019, section 3.3: a datum is finite, infinite or NaN.
    """
    return logical_or(isnan(x), isinf(x)), logical_not(isfinite(x))


RELATIONS = relations_in(globals())
