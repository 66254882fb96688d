"""Views of elementwise functions: one row each, and operands that broadcast."""

import pytest

import relgraph as rg
from relgraph.ops.elementwise import Cast
from relgraph.ops.linalg.structured import Diagonal
from relgraph.ops.permutation import Transpose
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze
from relgraph.relations.catalogue import views as r
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
)

A, B = tensor("A", 3, 3), tensor("B", 3, 3)
T, S, Y = tensor("T", 2, 3, 4), tensor("S", 2, 1, 3), tensor("Y", 1, 3)
U = tensor("U", None, None)
TURN = (-1, -3, -2)

ROWS = [
    Row(
        r.lift_transposeo,
        rg.exp(Transpose(TURN)(T)),
        Transpose(TURN)(rg.exp(T)),
        Transpose(TURN)(T) + tensor("V", 4, 2, 3),
    ),
    Row(
        r.lift_transposeo,
        rg.where(t.mT > s, t.mT, 2.0),
        rg.where(t > s, t, 2.0).mT,
        t.mT @ t,
    ),
    Row(
        r.lift_unit_axeso,
        ExpandDims((-1,))(t) * ExpandDims((-1,))(Y) - s,
        ExpandDims((-1,))(t * Y - s),
        ExpandDims((-1,))(x) + ExpandDims((-2,))(x),
    ),
    Row(
        r.lift_unit_axeso,
        Cast("float32")(Squeeze((-2,))(S)),
        Squeeze((-2,))(Cast("float32")(S)),
        rg.sum(Squeeze((-2,))(S)),
    ),
    Row(
        r.lift_reshapeo,
        rg.arctan2(Reshape((6,))(t), Reshape((6,))(t)) * s,
        Reshape((6,))(rg.arctan2(t, t) * s),
        Reshape((-1,))(t) + Reshape((-1,))(tensor("w", 6)),
    ),
    Row(
        r.lift_reshapeo,
        rg.exp(rg.reshape(U, (rg.dim(U, 1), rg.dim(U, 0)))),
        rg.reshape(rg.exp(U), (rg.dim(U, 1), rg.dim(U, 0))),
        rg.exp(U),
    ),
    Row(
        r.lift_broadcast_too,
        rg.exp(BroadcastTo((2, 3))(x)) - BroadcastTo((2, 3))(Y),
        BroadcastTo((2, 3))(rg.exp(x) - Y),
        BroadcastTo((2, 3))(x) + t,
    ),
    Row(
        r.cut_broadcast_too,
        rg.where(t > 0, BroadcastTo((2, 3))(x), t),
        rg.where(t > 0, x, t),
        BroadcastTo((2, 2, 3))(x) + t,
    ),
    Row(r.index_elementwiseo, (rg.exp(t) * s - t)[0], rg.exp(t[0]) * s - t[0], (t - x)[0]),
    Row(
        r.index_stretchedo,
        (rg.exp(T.mT) * s - Y)[1, 2:, :1],
        rg.exp(T.mT[1, 2:, :1]) * s - Y[:, :1],
        (t @ T)[1],
    ),
    Row(
        r.diagonal_elementwiseo,
        Diagonal(1)(rg.exp(A) * s - B),
        rg.exp(Diagonal(1)(A)) * s - Diagonal(1)(B),
        Diagonal(0)(A + x),
    ),
    Row(r.index_matmulo, (A @ B)[1, 2:], A[1] @ B[:, 2:], (T @ T.mT)[1]),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


@pytest.mark.parametrize(
    ("relation", "graph", "expected"),
    [
        (r.lift_transposeo, (t - s).mT, t.mT - s),
        (r.lift_transposeo, (T + t[:, :, None]).mT, T.mT + t[:, :, None].mT),
        (r.lift_broadcast_too, BroadcastTo((2, 3))(rg.exp(s)), rg.exp(BroadcastTo((2, 3))(s))),
        (
            r.lift_broadcast_too,
            BroadcastTo((2, 3))(x * s),
            BroadcastTo((2, 3))(x) * s,
        ),
        (r.index_elementwiseo, t[0] - rg.exp(t)[0], (t - rg.exp(t))[0]),
        (r.diagonal_elementwiseo, Diagonal(0)(A) * s, Diagonal(0)(A * s)),
        (r.lift_unit_axeso, ExpandDims((-2,))(-x), -ExpandDims((-2,))(x)),
        (r.lift_reshapeo, Reshape((6,))(rg.exp(t)), rg.exp(Reshape((6,))(t))),
        (r.lift_reshapeo, Reshape((6,))(t + x), Reshape((6,))(t + x)),  # x would be too short
    ],
    ids=str,
)
def test_views_move_inward_by_the_same_identity(relation, graph, expected):
    result = rewritten(relation.reversed, graph)
    assert result is expected
    assert_equal_values(graph, result)
