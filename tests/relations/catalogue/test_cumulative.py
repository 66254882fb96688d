"""Cumulative ops: one row each, and the keys that take parts of their results."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.numpy.reductions import max, min, prod, sum
from relgraph.ops.cumulative import cummax, cummin, cumprod, cumsum
from relgraph.ops.elementwise import exp, log
from relgraph.relations.catalogue import cumulative as r
from tests.relations.catalogue.table import Row, check, covers_theme, p, rewritten, s, t, tensor, x

T, V = tensor("T", 2, 3, 4), tensor("V", 2, 3, 4)
U = tensor("U", None, None)
row, column = tensor("row", 3), tensor("column", 2, 1)
i8, wide = tensor("i8", 2, 3, dtype="int8"), tensor("wide", 6)

ROWS = [
    Row(r.remove_cumulativeo, cumprod(column, 1), column, cumprod(column, 0)),
    Row(r.lift_cumsum_negativeo, cumsum(-t, 0), -cumsum(t, 0), cumprod(-t, 0)),
    Row(r.lift_cumsum_multiplyo, cumsum(t * row, 0), cumsum(t, 0) * row, cumsum(t * row, 1)),
    Row(r.lift_cumsum_divideo, cumsum(t / column, 1), cumsum(t, 1) / column, cumsum(s / t, 1)),
    Row(
        r.distribute_cumsum_addo.reversed,
        cumsum(T, 1) - cumsum(V, 1),
        cumsum(T - V, 1),
        cumsum(T, 1) - cumsum(V, 2),
    ),
    Row(r.lift_cumprod_expo, cumprod(exp(t), 0), exp(cumsum(t, 0)), cumprod(t, 0)),
    Row(r.log_cumprodo, log(cumprod(p, 0)), cumsum(log(p), 0), log(cumprod(x, 0))),
    Row(r.lift_cumulative_negativeo, cummin(-t, 0), -cummax(t, 0), cummin(-i8, 0)),
    Row(
        r.merge_cumulative_extremeo,
        cummax(cummax(T, 1), 1),
        cummax(T, 1),
        cummax(cummax(T, 1), 2),
    ),
    Row(r.absorb_cumulative_extremeo, min(cummin(T, 1)), min(T), min(cummin(T, 1), 0)),
    Row(r.last_cumulativeo, cumsum(t, 1)[:, -1], sum(t, 1), cumsum(t, 1)[:, 1]),
    Row(r.first_cumulativeo, cumprod(t, 0)[0, 1:], t[0, 1:], cumprod(t, 0)[1]),
    Row(
        r.cancel_diff_cumsumo,
        cumsum(t, 1)[:, 1:] - cumsum(t, 1)[:, :-1],
        t[:, 1:],
        cumsum(t, 1)[:, 1:] - cumsum(t, 1)[:, :2] * 2.0,
    ),
    Row(r.index_cumulativeo, cumsum(wide, 0)[:3], cumsum(wide[:3], 0), cumsum(wide, 0)[1:3]),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


@pytest.mark.parametrize(
    ("so_far", "reduce"), [(cumsum, sum), (cumprod, prod), (cummax, max), (cummin, min)]
)
def test_the_last_element_is_the_reduction(so_far, reduce):
    assert rewritten(r.last_cumulativeo, so_far(x, 0)[-1]) is reduce(x)
    assert rewritten(r.last_cumulativeo, so_far(x, 0)[2]) is reduce(x)
    assert rewritten(r.last_cumulativeo, so_far(T, 1)[:, -1]) is reduce(T, 1)
    assert rewritten(r.last_cumulativeo, so_far(U, 0)[-1]) is reduce(U, 0)
    for other in (so_far(T, 1)[:, -1, 2], so_far(T, 1)[-1], so_far(U, 0)[2], so_far(x, 0)[-1:]):
        assert rewritten(r.last_cumulativeo, other) is other


def test_differences_of_unknown_sizes():
    sums = cumsum(U, 0)
    assert rewritten(r.cancel_diff_cumsumo, sums[1:] - sums[:-1]) is U[1:]
    assert rewritten(r.cancel_diff_cumsumo, rg.numpy.diff(sums, axis=0)) is U[1:]
    for other in (sums[1:] - sums[:2], sums[:, 1:] - sums[:, :-1], sums[1:, 1:] - sums[:-1, 1:]):
        assert rewritten(r.cancel_diff_cumsumo, other) is other


def test_a_part_of_other_axes():
    assert rewritten(r.index_cumulativeo, cumsum(T, 2)[0]) is cumsum(T[0], 1)
    assert rewritten(r.index_cumulativeo, cumsum(T, 0)[:, 1]) is cumsum(T[:, 1], 0)
    most = cumsum(wide, 0)[:5]  # the whole may be needed, too, and this is nearly all of it
    assert rewritten(r.index_cumulativeo, most) is most


def test_the_modes_use_them():
    y = tensor("y", 3)
    assert rg.rewrite_graph(cumsum(x, 0) + cumsum(y, 0), mode="fast_run") is cumsum(x + y, 0)
    small = np.full(3, 1e-200)
    f = rg.function([p], log(cumprod(p, 0)))
    np.testing.assert_allclose(f(small), np.cumsum(np.log(small)), rtol=1e-14)
