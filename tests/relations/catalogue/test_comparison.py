"""Comparison and logic: one row each."""

import pytest

from relgraph.ops.elementwise import equal, less, logical_and, logical_not, logical_or, not_equal
from relgraph.relations.catalogue import comparison as r
from tests.relations.catalogue.table import (
    Row,
    b,
    c,
    check,
    covers_theme,
    tensor,
    x,
    y,
)

finite, other = tensor("finite", 3, facts=("not_nan",)), tensor("other", 3, facts=("not_nan",))

ROWS = [
    Row(r.cancel_not_noto, logical_not(logical_not(b)), b, logical_not(logical_not(x))),
    Row(r.complement_equalo, logical_not(equal(x, y)), not_equal(x, y), logical_not(less(x, y))),
    Row(r.complement_lesso, logical_not(finite < other), finite >= other, logical_not(x < y)),
    Row(
        r.distribute_noto.reversed,
        logical_and(logical_not(b), logical_not(c)),
        logical_not(logical_or(b, c)),
        logical_and(logical_not(b), c),
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)
