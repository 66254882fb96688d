"""Elements that a mask selects: one row each, and masks that stay where they are."""

import pytest

import relgraph as rg
from relgraph.ops.elementwise import where
from relgraph.relations.catalogue import masks as r
from tests.relations.catalogue.table import (
    Row,
    assert_equal_values,
    b,
    check,
    covers_theme,
    s,
    t,
    tensor,
    x,
    y,
)

m = tensor("m", x.type.shape[0], dtype="bool")
M = tensor("M", *t.type.shape, dtype="bool")
U = tensor("U", None)
V = tensor("V", None, dtype="bool")
FEW = tensor("FEW", 3, dtype="int64")

ROWS = [
    Row(r.write_at_masko, x.at[m].set(s), where(m, s, x), U.at[V].set(s)),
    Row(r.write_at_masko, t.at[M].add(s), where(M, t + s, t), t.at[m[:2]].add(s)),
    Row(r.write_at_masko, x.at[m].multiply(2.0), where(m, x * 2.0, x), x.at[FEW].multiply(2.0)),
    Row(r.write_at_masko, x.at[m].set(y[m]), where(m, y, x), x.at[m].set(y[b])),
    Row(r.write_at_masko, t.at[M].add(t[M]), where(M, t + t, t), x.at[m].set(y[:1])),
    Row(r.write_at_masko, x.at[m].multiply(y[m]), where(m, x * y, x), x.at[m].min(y[m])),
    Row(r.reduce_at_masko, rg.sum(x[m]), rg.sum(where(m, x, 0.0)), rg.sum(U[V])),
    Row(
        r.reduce_at_masko,
        rg.mean(t[M]),
        rg.sum(where(M, t, 0.0)) / rg.sum(M.astype("float64")),
        rg.mean(t[m[:2]]),
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (x.at[m].set(x[m] * 2 + rg.exp(y[m])), where(m, x * 2 + rg.exp(y), x)),
        (t.at[M].add(rg.maximum(t[M], 0)), where(M, t + rg.maximum(t, 0), t)),
        (rg.sum(x[m] * y[m]), rg.sum(where(m, x * y, 0.0))),
        (rg.log(x[m]), rg.log(x[m])),
        (
            where(b, -y, y).at[m].set(-where(b, -y, y)[m]),
            where(m, -where(b, -y, y), where(b, -y, y)),
        ),
        (x.at[m].set(x[m] * y[b]), x.at[m].set(x[m] * y[b])),
    ],
    ids=str,
)
def test_masks_move_past_functions_that_are_written_or_summed(graph, expected):
    rewritten = rg.rewrite_graph(graph)
    assert rewritten == expected
    assert_equal_values(graph, rewritten)


def test_long_functions_of_what_a_mask_selects_are_computed_where_it_is_true():
    value = x[m]
    for _ in range(40):
        value = rg.sin(value)
    graph = x.at[m].set(value)
    assert rg.rewrite_graph(graph) == graph
