"""Choices and absolute values: one row each."""

import pytest

from relgraph.ops.elementwise import absolute, logical_not, logical_or, maximum, minimum, where
from relgraph.relations.catalogue import choices as r
from tests.relations.catalogue.table import (
    Row,
    b,
    check,
    covers_theme,
    i,
    j,
    n,
    rewritten,
    tensor,
    x,
    y,
)

u8 = tensor("u8", 3, dtype="uint8")

ROWS = [
    Row(r.cancel_absolute_absoluteo, absolute(absolute(x)), absolute(x), absolute(-x)),
    Row(r.absorb_absolute_negativeo, absolute(-i), absolute(i), absolute(-u8)),
    Row(r.remove_absoluteo, absolute(n), n, absolute(x)),
    Row(
        r.distribute_absolute_multiplyo.reversed,
        absolute(x) * absolute(y),
        absolute(x * y),
        absolute(i) * absolute(j),
    ),
    Row(r.idempotento, maximum(x, x), x, maximum(x, y)),
    Row(r.collapse_whereo, where(b, x, x), x, where(b, x, y)),
    Row(r.flip_where_noto, where(logical_not(b), x, y), where(b, y, x), where(b, x, y)),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


def test_the_least_and_the_greatest_of_itself():
    assert rewritten(r.idempotento, minimum(x, x)) is x
    assert rewritten(r.idempotento, logical_or(b, b)) is b
