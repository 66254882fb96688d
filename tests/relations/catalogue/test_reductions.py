"""Sums, products and means over axes: one row each."""

import numpy as np
import pytest

from relgraph.ir.node import constant
from relgraph.numpy.reductions import max, mean, prod, sum
from relgraph.ops.checks import squeeze
from relgraph.ops.elementwise import absolute, exp, square
from relgraph.ops.shape import expand_dims
from relgraph.relations.catalogue import reductions as r
from tests.relations.catalogue.table import Row, check, covers_theme, rewritten, s, t, tensor, x

T, V = tensor("T", 2, 3, 4), tensor("V", 2, 3, 4)
row, wide, column = tensor("row", 3), tensor("wide", 2, 3), tensor("column", 2, 1)
i8 = tensor("i8", 2, 3, dtype="int8")
W, G = tensor("W", 3, 4), tensor("G", 2, 4)

ROWS = [
    Row(r.merge_sumo, sum(sum(T, 0), 1), sum(T, (0, 2)), sum(prod(T, 0), 1)),
    Row(r.merge_prodo, prod(prod(T, 2), 0), prod(T, (0, 2)), prod(sum(T, 0), 1)),
    Row(r.merge_meano, mean(mean(T, 2), 0), mean(T, (0, 2)), mean(sum(T, 0), 1)),
    Row(r.remove_reduceo, sum(T, ()), T, sum(T, 0)),
    Row(r.lift_sum_negativeo, sum(-t, 0), -sum(t, 0), sum(-i8, 0)),
    Row(r.lift_sum_multiplyo, sum(row * t, 0), row * sum(t, 0), sum(row * t, 1)),
    Row(r.lift_sum_divideo, mean(t / s), mean(t) / s, sum(s / t)),
    Row(
        r.lift_sum_columno,
        sum(column * t, 1),
        squeeze(column, 1) * sum(t, 1),
        sum(row * t, 1),
    ),
    Row(r.lift_mean_addo, mean(s - t, 0), s - mean(t, 0), mean(row + t, 1)),
    Row(r.divide_sumo, sum(t, 0) / constant(2.0), mean(t, 0), sum(t, 0) / constant(3.0)),
    Row(r.multiply_meano, mean(t, 0) * constant(2.0), sum(t, 0), mean(t, 0) * constant(3.0)),
    Row(r.distribute_sum_addo.reversed, sum(t) + sum(wide), sum(t + wide), sum(t, 0) + sum(row)),
    Row(r.distribute_sum_subtracto.reversed, sum(T) - sum(V), sum(T - V), sum(T) - sum(t)),
    Row(r.distribute_prod_multiplyo.reversed, prod(T) * prod(V), prod(T * V), prod(T) * prod(t)),
    Row(r.lift_prod_expo, prod(exp(t), 0), exp(sum(t, 0)), prod(t, 0)),
    Row(r.lift_prod_absoluteo, prod(absolute(t), 0), absolute(prod(t, 0)), prod(absolute(i8), 0)),
    Row(
        r.center_varianceo,
        mean(square(x)) - square(mean(x)),
        mean(square(x - mean(x, None, True))),
        mean(square(x)) - square(mean(row)),
    ),
    Row(
        r.sum_squareso,
        sum(square(expand_dims(W, 0) * expand_dims(G, 1)), (1, 2)),
        square(G) @ sum(square(W), 0),
        sum(square(expand_dims(W, 0) * expand_dims(G, 1)), (0, 2)),
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("inner", [None, 0, 1, 2, (0, 1), (1, 2), (0, 2), ()])
@pytest.mark.parametrize("outer", [None, 0, -1, ()])
def test_axes_merge_as_numpy_reduces(inner, outer, keepdims):
    value = np.arange(24.0).reshape(2, 3, 4)
    left = np.sum(value, axis=inner, keepdims=keepdims)
    if isinstance(outer, int) and left.ndim == 0:
        outer = None
    graph = sum(sum(T, inner, keepdims=keepdims), outer, keepdims=keepdims)
    result = rewritten(r.merge_sumo, graph)
    assert result.op is None or result.inputs == (T,)
    expected = np.sum(left, axis=outer, keepdims=keepdims)
    np.testing.assert_array_equal(result.op.perform(value), expected)


def test_a_broadcast_term_is_not_summed_with_the_others():
    graph = sum(wide, 1) + sum(tensor("narrow", 1, 3), 1)
    assert rewritten(r.distribute_sum_addo.reversed, graph) is graph
    assert rewritten(r.distribute_sum_addo, sum(t + row)) is sum(t + row)


def test_a_sum_of_a_vector_over_no_axes():
    assert rewritten(r.remove_reduceo, mean(x, ())) is x


def test_a_factor_stays_with_the_axes_that_it_has():
    kept = sum(column * t, 1)  # a column does not fit beside the sum of its rows
    assert rewritten(r.lift_sum_multiplyo, kept) is kept
    assert rewritten(r.lift_sum_multiplyo, sum(column * t, 1, True)) is column * sum(t, 1, True)
    assert rewritten(r.divide_sumo, max(t, 0) / constant(2.0)) is max(t, 0) / constant(2.0)


def test_a_sum_divided_by_its_size_is_a_mean():
    v = tensor("v", None)
    assert rewritten(r.divide_sumo, sum(v) / v.shape[0]) is mean(v)
