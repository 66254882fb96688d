"""Concatenations and stacks: one row each."""

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.checking.evaluation import evaluate
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.shape import BroadcastTo, ExpandDims
from relgraph.relations.catalogue import joins as r
from tests.relations.catalogue.table import (
    Row,
    assert_equal_values,
    check,
    covers_theme,
    rewritten,
    s,
    t,
    tensor,
    x,
    y,
    z,
)

JOIN = Concatenate(-1)
E = tensor("E", 0)
U = tensor("U", None)
at = tensor("at", dtype="int64")

ROWS = [
    Row(r.join_oneo, Stack(-2)(JOIN(x)), ExpandDims((-2,))(x), JOIN(x, y)),
    Row(r.flatten_joino, JOIN(x, JOIN(y, E), JOIN(z)), JOIN(x, y, E, z), Concatenate(-2)(t, t)),
    Row(r.join_emptyo, JOIN(E, x, E, y), JOIN(x, y), JOIN(x, U)),
    Row(
        r.join_indexo,
        JOIN(y, U[1:2], U[2:5], U[5:], z),
        JOIN(y, U[1:], z),
        JOIN(x[:1], x[2:], y[:1], x[1:]),
    ),
    Row(
        r.join_stacko,
        JOIN(x, Stack(-1)(s), Stack(-1)(s, s), Stack(-1)(s), y),
        JOIN(x, Stack(-1)(s, s, s, s), y),
        Concatenate(-2)(Stack(-1)(x, y), Stack(-1)(x, z)),
    ),
    Row(
        r.join_broadcast_too,
        Concatenate(-2)(BroadcastTo((2, 3))(x), BroadcastTo((1, 3))(x), t),
        Concatenate(-2)(BroadcastTo((3, 3))(x), t),
        JOIN(BroadcastTo((2, 3))(x), BroadcastTo((2, 3))(x)),
    ),
    Row(
        r.join_repeatedo,
        JOIN(x, x, x),
        BroadcastTo((3, 3))(ExpandDims((-2,))(x)).reshape(-1),
        JOIN(U, U),
    ),
    Row(r.index_joino, Stack(-2)(x, JOIN(y, z)[1:4])[1, 2], JOIN(y, z)[1:4][2], JOIN(U, y)[0]),
    Row(r.index_joino, Concatenate(-2)(t, t * 2)[3, at:], (t * 2)[1, at:], JOIN(x, y)[2:5]),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


@pytest.mark.parametrize("axis", [0, 1])
def test_joins_of_any_parts_become_one_join(axis):
    parts = [t[:, :1], t[:, 1:]] if axis else [t[:1], t[1:]]
    nested = rnp.concatenate([rnp.concatenate([t, parts[0]], axis), parts[1], t], axis)
    result = rg.rewrite_graph(nested, *r.RELATIONS)
    assert [u.op for u in result.inputs].count(Concatenate(axis - 2)) == 0
    values = {"t": np.arange(6.0).reshape(2, 3)}
    both = evaluate((nested, result), values)
    np.testing.assert_array_equal(both[nested], both[result])


def test_a_join_of_other_dtypes_or_sizes_stays():
    i = tensor("i", 0, dtype="int64")
    small = tensor("s", 2, dtype="int32")
    mixed = JOIN(small, i)
    assert rewritten(r.join_emptyo, mixed).type is mixed.type
    assert_equal_values(mixed, rewritten(r.join_emptyo, mixed), integers=(0, 3))
    assert rewritten(r.join_emptyo, JOIN(E, E)) is JOIN(E)
