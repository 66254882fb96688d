"""Choices and absolute values: one row each."""

import pytest

from relgraph.ir.node import constant
from relgraph.ops.elementwise import (
    absolute,
    equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    where,
)
from relgraph.relations.catalogue import choices as r
from tests.relations.catalogue.table import (
    Row,
    b,
    c,
    check,
    covers_theme,
    i,
    p,
    rewritten,
    tensor,
    x,
    y,
    z,
)

u8 = tensor("u8", 3, dtype="uint8")
real = tensor("real", 3, facts=("not_nan",))
true = constant(True)
w = tensor("w", 3)

ROWS = [
    Row(r.choose_absoluteo, where(x < 0, -x, x), absolute(x), where(x < 0, x, -x)),
    Row(r.join_absoluteo, maximum(i, -i), absolute(i), maximum(x, -y)),
    Row(r.collapse_whereo, where(b, x, x), x, where(b, x, y)),
    Row(r.flip_where_noto, where(logical_not(b), x, y), where(b, y, x), where(b, x, y)),
    Row(r.choose_constanto, where(true, x, y), x, where(b, x, y)),
    Row(r.merge_whereo, where(b, where(b, x, y), z), where(b, x, z), where(b, where(c, x, y), z)),
    Row(
        r.join_whereo,
        where(b, x, where(c, x, y)),
        where(logical_or(b, c), x, y),
        where(b, x, where(c, y, x)),
    ),
    Row(
        r.gather_whereo,
        where(b, x, y) + where(b, z, w),
        where(b, x + z, y + w),
        where(b, x, y) + where(c, z, w),
    ),
    Row(
        r.gather_where_divideo,
        where(b, x, y) / where(b, z, w),
        where(b, x / z, y / w),
        where(b, x, y) / where(c, z, w),
    ),
    Row(r.sink_where_multiplyo, x * where(b, 0, y), where(b, 0, x * y), x * where(b, 1, y)),
    Row(r.sink_where_divideo, where(b, y, 0) / p, where(b, y / p, 0), p / where(b, y, 0)),
    Row(
        r.logical_whereo,
        where(b, c, constant(False)),
        logical_and(b, c),
        where(b, x, constant(False)),
    ),
    Row(r.indicate_whereo, where(b, 1.0, 0.0), b.astype("float64"), where(b, 1.0, 2.0)),
    Row(
        r.indicate_where_noto,
        where(b, 0.0, 1.0),
        logical_not(b).astype("float64"),
        where(b, 0.0, 2.0),
    ),
    Row(r.collapse_where_equalo, where(equal(x, y), x, y), y, where(equal(x, y), x, z)),
    Row(r.choose_extremeo, where(real < y, real, y), minimum(real, y), where(x < y, x, y)),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


def test_the_larger_of_two_by_a_comparison():
    assert rewritten(r.choose_extremeo, where(x <= real, real, x)) is maximum(x, real)
    kept = where(real < y, y, real)  # of NaN in y the choice is real, the maximum NaN
    assert rewritten(r.choose_extremeo, kept) is kept
