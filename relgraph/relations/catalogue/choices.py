"""Choices by a condition, some of which are absolute values."""

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
from relgraph.relations.catalogue import CANONICAL, TIDY, relations_in
from relgraph.relations.catalogue.comparison import truthso
from relgraph.relations.catalogue.conditions import signedo
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import (
    Suspended,
    checko,
    facto,
    floato,
)

USELESS = (*TIDY, "local_useless_switch")


def one_dtype(x: Any, y: Any) -> bool:
    """Return True if two graphs have one dtype."""
    return bool(x.dtype == y.dtype)


def alikeo(x: Any, y: Any) -> Suspended:
    """Relate graphs of one dtype."""
    return checko(one_dtype, x, y, label=f"{x!r} and {y!r} have one dtype")


@identity(tags=CANONICAL, where=lambda x: signedo(x))
def choose_absoluteo(x):
    """where(x < 0, -x, x) = |x|, and where(0 < x, x, -x) = |x|, and so for <=.

    Zeros may differ in sign.
    Source: definition.
    """
    yield where(less(x, 0), -x, x), absolute(x)
    yield where(less_equal(x, 0), -x, x), absolute(x)
    yield where(less(0, x), x, -x), absolute(x)
    yield where(less_equal(0, x), x, -x), absolute(x)


@identity(tags=CANONICAL, where=lambda x: signedo(x))
def join_absoluteo(x):
    """max(x, -x) = |x|.

    Zeros may differ in sign.
    Source: definition.
    """
    return maximum(x, -x), absolute(x)


# Where.


@identity(tags=USELESS, rounding="exact")
def collapse_whereo(c, x):
    """where(c, x, x) = x.

    Source: both branches are x.
    """
    return where(c, x, x), x


@identity(tags=CANONICAL)
def collapse_where_equalo(x, y):
    """where(x = y, x, y) = y, and where(x != y, x, y) = x.

    0.0 and -0.0 are equal.
    Source: both branches are equal where the condition matters.
    """
    yield where(equal(x, y), x, y), y
    yield where(not_equal(x, y), x, y), x


@identity(tags=CANONICAL)
def choose_extremeo(x, y):
    """where(x < y, x, y) = min(x, y), and where(x < y, y, x) = max(x, y), and so for <=.

    A comparison with NaN is False.  Zeros may differ in sign.
    Source: IEEE 754-2019, section 5.11; definition.
    """
    for op in (less, less_equal):
        yield where(op(x, y), x, y), minimum(x, y), facto(x, "not_nan")
        yield where(op(x, y), y, x), maximum(x, y), facto(y, "not_nan")


@identity(tags=CANONICAL, rounding="exact")
def flip_where_noto(c, x, y):
    """where(not c, x, y) = where(c, y, x).

    Source: definition.
    """
    return where(logical_not(c), x, y), where(c, y, x)


@identity(tags=USELESS, rounding="exact")
def choose_constanto(x, y):
    """where(True, x, y) = x, and where(False, x, y) = y.

    Source: definition.
    """
    yield where(True, x, y), x
    yield where(False, x, y), y


@identity(tags=(*CANONICAL, "local_merge_switch_same_cond"), rounding="exact")
def merge_whereo(c, x, y, z):
    """where(c, where(c, x, y), z) = where(c, x, z), and where(c, x, where(c, y, z)) the same.

    Source: definition.
    """
    yield where(c, where(c, x, y), z), where(c, x, z)
    yield where(c, x, where(c, y, z)), where(c, x, z)


@identity(tags=CANONICAL, rounding="exact")
def join_whereo(c, d, x, y):
    """where(c, x, where(d, x, y)) = where(c or d, x, y).

    Likewise where(c, where(d, x, y), y) = where(c and d, x, y).
    Source: definition.
    """
    yield where(c, x, where(d, x, y)), where(logical_or(c, d), x, y)
    yield where(c, where(d, x, y), y), where(logical_and(c, d), x, y)


def _by_branch(op: Any, c: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    """Return both sides of: an op on two choices by one condition is the choice of the op."""
    return op(where(c, a, b), where(c, x, y)), where(c, op(a, x), op(b, y))


@identity(
    tags=(*CANONICAL, "local_merge_switch_same_cond"),
    where=lambda a, b, x, y: (alikeo(a, b), alikeo(x, y)),
    rounding="exact",
)
def gather_whereo(c, a, b, x, y):
    """where(c, a, b) + where(c, x, y) = where(c, a + x, b + y), and so for other cheap ops.

    The other ops are -, *, max, min, comparisons and logic.
    Source: each element comes from one branch.
    """
    ops = (
        add, subtract, multiply, maximum, minimum, less, less_equal, equal, not_equal, logical_and,
        logical_or,
    )  # fmt: skip
    for op in ops:
        yield _by_branch(op, c, a, b, x, y)


@identity(
    tags=("local_merge_switch_same_cond", "optional"),
    where=lambda a, x: (floato(a), floato(x)),
)
def gather_where_divideo(c, a, b, x, y):
    """where(c, a, b) / where(c, x, y) = where(c, a / x, b / y).

    Quotients of narrow dtypes may be computed in a wider one.  No mode runs it: a quotient costs
    more than a choice.  Powers are left out: NumPy computes them otherwise where the exponent is a
    scalar, so that infinities would not be kept.
    Source: each element comes from one branch.
    """
    return _by_branch(true_divide, c, a, b, x, y)


@identity(
    tags=("local_mul_switch_sink", "optional"),
    where=lambda x, y: (floato(x), floato(y)),
    specials="assumes_finite",
)
def sink_where_multiplyo(c, x, y):
    """x where(c, 0, y) = where(c, 0, x y), and x where(c, y, 0) = where(c, x y, 0).

    -1 times 0.0 is -0.0.  No mode runs it: it saves nothing by itself, and a NaN of x would be
    lost.
    Source: distributive law; IEEE 754-2019, section 6.3.
    """
    yield x * where(c, 0, y), where(c, 0, x * y)
    yield x * where(c, y, 0), where(c, x * y, 0)


@identity(
    tags=("local_div_switch_sink", "optional"),
    where=lambda x, y: (floato(x), floato(y)),
    specials="assumes_finite",
)
def sink_where_divideo(c, x, y):
    """where(c, 0, y) / x = where(c, 0, y / x), and where(c, y, 0) / x = where(c, y / x, 0).

    Holds where 0 / x is 0.
    Zeros may differ in sign.  No mode runs it, as the relation for products.
    Source: distributive law; IEEE 754-2019, section 6.3.
    """
    yield where(c, 0, y) / x, where(c, 0, y / x)
    yield where(c, y, 0) / x, where(c, y / x, 0)


@identity(tags=CANONICAL, where=lambda y: truthso(y), rounding="exact")
def logical_whereo(c, y):
    """where(c, True, y) = (c or y), where(c, y, False) = (c and y).

    Likewise where(c, False, y) = (not c and y) and where(c, y, True) = (not c or y).
    Source: definition.
    """
    yield where(c, True, y), logical_or(c, y)
    yield where(c, y, False), logical_and(c, y)
    yield where(c, False, y), logical_and(logical_not(c), y)
    yield where(c, y, True), logical_or(logical_not(c), y)


@identity(tags=CANONICAL, rounding="exact")
def indicate_whereo(c):
    """where(c, 1, 0) = c, converted to the dtype of the numbers.

    A condition is bool.
    Source: True is 1 and False is 0 in every dtype.
    """
    return where(c, 1, 0), c


@identity(tags=CANONICAL, rounding="exact")
def indicate_where_noto(c):
    """where(c, 0, 1) = not c, converted to the dtype of the numbers.

    A condition is bool.
    Source: True is 1 and False is 0 in every dtype.
    """
    return where(c, 0, 1), logical_not(c)


RELATIONS = relations_in(globals())
