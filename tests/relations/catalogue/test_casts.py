"""Conversions between dtypes: one row each."""

import pytest

from relgraph.ops.elementwise import Cast
from relgraph.relations.catalogue import casts as r
from tests.relations.catalogue.table import Row, check, covers_theme, i, tensor, x

small = tensor("small", 3, dtype="int8")

ROWS = [
    Row(
        r.merge_casto,
        Cast("float64")(Cast("int32")(small)),
        Cast("float64")(small),
        Cast("float32")(Cast("float64")(i)),
    ),
    Row(r.remove_casto, Cast("float64")(x), x, Cast("float32")(x)),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)
