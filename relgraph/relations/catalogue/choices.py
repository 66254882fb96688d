"""Choices by a condition, and those that are absolute values."""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from typing import Any

from relgraph.ops.elementwise import (
    absolute,
    add,
    equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    not_equal,
    subtract,
    true_divide,
    where,
)
from relgraph.relations.catalogue.comparison import truthso
from relgraph.relations.catalogue.conditions import signedo
from relgraph.relations.kanren.goals import (
    Suspended,
    checko,
    eq,
    facto,
    floato,
    lall,
    lany,
)
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, identity, relation

CANONICAL = ("canonicalize", "fast_run")
TIDY = ("canonicalize", "specialize", "fast_run")  # again after the stabilising phase
USELESS = (*TIDY, "local_useless_switch")


def one_dtype(x: Any, y: Any) -> bool:
    """Tell whether two graphs have one dtype."""
    return bool(x.dtype == y.dtype)


def alikeo(x: Any, y: Any) -> Suspended:
    """Relate graphs of one dtype."""
    return checko(one_dtype, x, y, label=f"{x!r} and {y!r} have one dtype")


@relation(tags=CANONICAL)
def choose_absoluteo(left, right):
    """where(x < 0, -x, x) = |x|, and where(0 < x, x, -x) = |x|, and so for <=.

    Holds for floats and signed integers; rounded (zeros may differ in sign), kept.
    Source: definition.
    """
    (x,) = lvars("x")
    forms = (
        where(less(x, 0), -x, x),
        where(less_equal(x, 0), -x, x),
        where(less(0, x), x, -x),
        where(less_equal(0, x), x, -x),
    )
    return lany(*[lall(eq(left, form), eq(right, absolute(x)), signedo(x)) for form in forms])


@identity(tags=CANONICAL, where=lambda x: signedo(x))
def join_absoluteo(x):
    """max(x, -x) = |x|.

    Holds for floats and signed integers; rounded (zeros may differ in sign), kept.
    Source: definition.
    """
    return maximum(x, -x), absolute(x)


# Where.


@identity(tags=USELESS, rounding="exact")
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


@relation(tags=USELESS, rounding="exact")
def choose_constanto(left, right):
    """where(True, x, y) = x, and where(False, x, y) = y.

    Holds always; exact, kept.
    Source: definition.
    """
    x, y = lvars("x y")
    return lany(
        lall(eq(left, where(True, x, y)), eq(right, x)),
        lall(eq(left, where(False, x, y)), eq(right, y)),
    )


@relation(tags=(*CANONICAL, "local_merge_switch_same_cond"), rounding="exact")
def merge_whereo(left, right):
    """where(c, where(c, x, y), z) = where(c, x, z), and where(c, x, where(c, y, z)) the same.

    Holds always; exact, kept.
    Source: definition.
    """
    c, x, y, z = lvars("c x y z")
    return lany(
        lall(eq(left, where(c, where(c, x, y), z)), eq(right, where(c, x, z))),
        lall(eq(left, where(c, x, where(c, y, z))), eq(right, where(c, x, z))),
    )


@relation(tags=CANONICAL, rounding="exact")
def join_whereo(left, right):
    """where(c, x, where(d, x, y)) = where(c or d, x, y).

    Holds always, and where(c, where(d, x, y), y) = where(c and d, x, y); exact, kept.
    Source: definition.
    """
    c, d, x, y = lvars("c d x y")
    return lany(
        lall(eq(left, where(c, x, where(d, x, y))), eq(right, where(logical_or(c, d), x, y))),
        lall(eq(left, where(c, where(d, x, y), y)), eq(right, where(logical_and(c, d), x, y))),
    )


def _by_branch(left: Any, right: Any, ops: Any, floats: bool = False) -> Any:
    c, a, b, x, y = lvars("c a b x y")
    return lany(
        *[
            lall(
                eq(left, op(where(c, a, b), where(c, x, y))),
                eq(right, where(c, op(a, x), op(b, y))),
                *((floato(a), floato(x)) if floats else (alikeo(a, b), alikeo(x, y))),
            )
            for op in ops
        ]
    )


@relation(tags=(*CANONICAL, "local_merge_switch_same_cond"), rounding="exact")
def gather_whereo(left, right):
    """where(c, a, b) + where(c, x, y) = where(c, a + x, b + y), and so for other cheap ops.

    Holds for -, *, max, min, comparisons and logic, where the branches of each have one dtype;
    exact, kept.
    Source: each element comes from one branch.
    """
    ops = (
        add, subtract, multiply, maximum, minimum, less, less_equal, equal, not_equal, logical_and,
        logical_or,
    )  # fmt: skip
    return _by_branch(left, right, ops)


@relation(tags=("local_merge_switch_same_cond", "optional"))
def gather_where_divideo(left, right):
    """where(c, a, b) / where(c, x, y) = where(c, a / x, b / y).

    Holds for floats a and x; rounded (quotients of narrow dtypes may be computed in a wider one),
    kept.  No mode runs it: a quotient costs more than a choice.  Powers are left out: NumPy
    computes them otherwise where the exponent is a scalar, so that infinities would not be kept.
    Source: each element comes from one branch.
    """
    return _by_branch(left, right, (true_divide,), floats=True)


@relation(tags=("local_mul_switch_sink", "optional"), specials="assumes_finite")
def sink_where_multiplyo(left, right):
    """x where(c, 0, y) = where(c, 0, x y), and x where(c, y, 0) = where(c, x y, 0).

    Holds for floats where x is finite; rounded (-1 times 0.0 is -0.0), assumes_finite.  No mode
    runs it: it saves nothing by itself, and a NaN of x would be lost.
    Source: distributive law; IEEE 754-2019, section 6.3.
    """
    c, x, y = lvars("c x y")
    return lany(
        lall(eq(left, x * where(c, 0, y)), eq(right, where(c, 0, x * y)), floato(x), floato(y)),
        lall(eq(left, x * where(c, y, 0)), eq(right, where(c, x * y, 0)), floato(x), floato(y)),
    )


@relation(tags=("local_div_switch_sink", "optional"), specials="assumes_finite")
def sink_where_divideo(left, right):
    """where(c, 0, y) / x = where(c, 0, y / x), and where(c, y, 0) / x = where(c, y / x, 0).

    Holds for floats where 0 / x is 0; rounded (zeros may differ in sign), assumes_finite.  No mode
    runs it, as the relation for products.
    Source: distributive law; IEEE 754-2019, section 6.3.
    """
    c, x, y = lvars("c x y")
    return lany(
        lall(eq(left, where(c, 0, y) / x), eq(right, where(c, 0, y / x)), floato(x), floato(y)),
        lall(eq(left, where(c, y, 0) / x), eq(right, where(c, y / x, 0)), floato(x), floato(y)),
    )


@relation(tags=CANONICAL, rounding="exact")
def logical_whereo(left, right):
    """where(c, True, y) = (c or y), where(c, y, False) = (c and y).

    Holds for bool y, as do where(c, False, y) = (not c and y) and where(c, y, True) = (not c or
    y); exact, kept.
    Source: definition.
    """
    c, y = lvars("c y")
    pairs = (
        (where(c, True, y), logical_or(c, y)),
        (where(c, y, False), logical_and(c, y)),
        (where(c, False, y), logical_and(logical_not(c), y)),
        (where(c, y, True), logical_or(logical_not(c), y)),
    )
    return lany(*[lall(eq(left, one), eq(right, two), truthso(y)) for one, two in pairs])


@identity(tags=CANONICAL, rounding="exact")
def indicate_whereo(c):
    """where(c, 1, 0) = c, converted to the dtype of the numbers.

    Holds always, conditions being bool; exact, kept.
    Source: True is 1 and False is 0 in every dtype.
    """
    return where(c, 1, 0), c


@identity(tags=CANONICAL, rounding="exact")
def indicate_where_noto(c):
    """where(c, 0, 1) = not c, converted to the dtype of the numbers.

    Holds always, conditions being bool; exact, kept.
    Source: True is 1 and False is 0 in every dtype.
    """
    return where(c, 0, 1), logical_not(c)


@relation(tags=CANONICAL)
def collapse_where_equalo(left, right):
    """where(x = y, x, y) = y, and where(x != y, x, y) = x.

    Holds always; rounded (0.0 and -0.0 are equal), kept.
    Source: both branches are equal where the condition matters.
    """
    x, y = lvars("x y")
    return lany(
        lall(eq(left, where(equal(x, y), x, y)), eq(right, y)),
        lall(eq(left, where(not_equal(x, y), x, y)), eq(right, x)),
    )


@relation(tags=CANONICAL)
def choose_extremeo(left, right):
    """where(x < y, x, y) = min(x, y), and where(x < y, y, x) = max(x, y), and so for <=.

    Holds where x has no NaN for the first and y has none for the second, for a comparison with NaN
    is False; rounded (zeros may differ in sign), kept.
    Source: IEEE 754-2019, section 5.11; definition.
    """
    x, y = lvars("x y")
    return lany(
        *[
            lall(eq(left, form), eq(right, extreme), facto(known, "not_nan"))
            for op in (less, less_equal)
            for form, extreme, known in (
                (where(op(x, y), x, y), minimum(x, y), x),
                (where(op(x, y), y, x), maximum(x, y), y),
            )
        ]
    )


RELATIONS: tuple[Relation, ...] = (
    choose_absoluteo,
    join_absoluteo,
    collapse_whereo,
    collapse_where_equalo,  # and the next, before two choices are joined: no choice is left
    choose_extremeo,
    flip_where_noto,
    choose_constanto,
    merge_whereo,
    join_whereo,
    gather_whereo,
    gather_where_divideo,
    sink_where_multiplyo,
    sink_where_divideo,
    logical_whereo,
    indicate_whereo,
    indicate_where_noto,
)
