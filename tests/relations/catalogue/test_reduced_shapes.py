"""Reductions of what is rearranged, repeated or joined: one row each."""

import pytest

from relgraph.ir.node import constant
from relgraph.numpy.reductions import logsumexp, max, mean, prod, sum
from relgraph.ops.checks import squeeze
from relgraph.ops.concatenate import concatenate, stack
from relgraph.ops.elementwise import logaddexp, maximum
from relgraph.ops.permutation import Transpose, matrix_transpose, transpose
from relgraph.ops.shape import BroadcastTo, broadcast_to, expand_dims, reshape
from relgraph.relations.catalogue import reduced_shapes as r
from tests.relations.catalogue.table import (
    Row,
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

T = tensor("T", 2, 3, 4)
one = tensor("one", 1, 3)
u = tensor("u")

ROWS = [
    Row(r.squeeze_reduceo, sum(one, 0), squeeze(one, 0), sum(one, 1)),
    Row(r.remove_reduce_scalaro, sum(s), s, sum(x)),
    Row(
        r.keep_reduced_axeso,
        expand_dims(max(T, (0, 1)), (0, 1)),
        max(T, (0, 1), True),
        expand_dims(max(T, (0, 1)), (0, 2)),
    ),
    Row(
        r.squeeze_reduced_axeso,
        squeeze(max(T, (0, 1), True), (0, 1)),
        max(T, (0, 1)),
        squeeze(max(T, (0, 1), True), 0),
    ),
    Row(r.absorb_rearrangemento, sum(reshape(t, (6,))), sum(t), sum(reshape(t, (3, 2)), 0)),
    Row(r.absorb_matrix_transposeo, sum(matrix_transpose(T), -1), sum(T, -2), sum(T, -2)),
    Row(
        r.absorb_transposeo,
        max(transpose(T, 2, 0, 1), 0),
        max(T, 2),
        max(transpose(T, 2, 1, 0), 0),
    ),
    Row(r.reduce_repeatedo, max(BroadcastTo((2, 3))(s)), s, max(BroadcastTo((2, 3))(s), 0)),
    Row(
        r.reduce_repeatedo,
        max(broadcast_to(one, (2, 3)), 0),
        max(one, 0),
        max(broadcast_to(one, (2, 3)), 1),
    ),
    Row(
        r.sum_repeatedo,
        sum(broadcast_to(s, (2, 3))),
        constant(6.0) * s,
        sum(BroadcastTo((2, 3))(s), 0),
    ),
    Row(
        r.sum_repeatedo,
        sum(broadcast_to(one, (2, 3)), 0, True),
        constant(2.0) * sum(one, 0, True),
        sum(broadcast_to(one, (2, 3)), 1),
    ),
    Row(r.reduce_stacko, sum(stack([x, y, z], 0), 0), x + y + z, sum(stack([x, y], 0), 1)),
    Row(
        r.reduce_concatenateo,
        prod(concatenate([x, y], 0), 0, True),
        prod(x, 0, True) * prod(y, 0, True),
        mean(concatenate([x, y], 0)),
    ),
    Row(
        r.extreme_concatenateo,
        max(concatenate([t, one], 0), 0),
        maximum(max(t, 0), max(one, 0)),
        max(concatenate([t, t], 0), 1),
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


def test_scalars_are_joined_and_reduced():
    assert rewritten(r.reduce_stacko, sum(stack([s, u]))) is s + u
    assert rewritten(r.reduce_stacko, logsumexp(stack([s, u]))) is logaddexp(s, u)
    assert rewritten(r.absorb_rearrangemento, max(Transpose((-1, -3, -2))(T))) is max(T)
