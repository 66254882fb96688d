"""Sums, products and extremes over axes: one row each."""

import pytest

from relgraph.ops.elementwise import exp, logical_not
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.reduction import all, any, logsumexp, max, mean, min, prod, sum
from relgraph.relations.catalogue import reductions as r
from tests.relations.catalogue.table import Row, check, covers_theme, i, rewritten, s, t, tensor, x

T, V = tensor("T", 2, 3, 4), tensor("V", 2, 3, 4)
row, wide = tensor("row", 3), tensor("wide", 2, 3)
flags = tensor("flags", 2, 3, dtype="bool")
i8 = tensor("i8", 2, 3, dtype="int8")

ROWS = [
    Row(r.merge_sumo, sum(sum(T, 0), 1), sum(T, (0, 2)), sum(prod(T, 0), 1)),
    Row(r.merge_prodo, prod(prod(T, 2), 0), prod(T, (0, 2)), prod(sum(T, 0), 1)),
    Row(r.merge_extremeo, max(max(T, 1), 1), max(T, (1, 2)), max(min(T, 1), 1)),
    Row(r.merge_logsumexpo, logsumexp(logsumexp(T, 0)), logsumexp(T), sum(logsumexp(T, 0))),
    Row(r.remove_reduceo, sum(T, ()), T, sum(T, 0)),
    Row(r.lift_sum_negativeo, sum(-t, 0), -sum(t, 0), sum(-i8, 0)),
    Row(r.lift_sum_multiplyo, sum(s * t, 1), s * sum(t, 1), sum(row * t, 1)),
    Row(r.lift_mean_multiplyo, mean(s * t, 1), s * mean(t, 1), mean(row * t, 1)),
    Row(r.lift_sum_divideo, sum(t / s), sum(t) / s, sum(s / t)),
    Row(r.distribute_sum_addo.reversed, sum(t) + sum(wide), sum(t + wide), sum(t, 0) + sum(row)),
    Row(r.distribute_sum_subtracto.reversed, sum(T) - sum(V), sum(T - V), sum(T) - sum(t)),
    Row(r.absorb_sum_transposeo, sum(matrix_transpose(T), -1), sum(T, -2), sum(T, -2)),
    Row(r.negate_extremeo, -max(-t, 0), min(t, 0), -max(-i)),
    Row(r.lift_extreme_expo, max(exp(t), 0), exp(max(t, 0)), sum(exp(t), 0)),
    Row(r.lift_max_addo, max(t + s, 1), max(t, 1) + s, max(t + row, 1)),
    Row(r.lift_any_noto, any(logical_not(flags), 0), logical_not(all(flags, 0)), any(flags, 0)),
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
    import numpy as np

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
