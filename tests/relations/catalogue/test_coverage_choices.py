"""One graph for each of the peer's rewrites of choices, casts and reductions: what it becomes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import relgraph as rg
from relgraph.checking.matching import canonical
from relgraph.ir.node import constant
from relgraph.ops.elementwise import Cast
from relgraph.ops.reductions import Sum
from relgraph.relations.catalogue import choices, reductions
from tests.relations.catalogue.table import assert_equal_values

PAGE = Path(__file__).parents[3] / "docs/coverage/choices.md"


def tensor(name, *shape, dtype="float64", facts=()):
    return rg.tensor(name, shape=shape, dtype=dtype, facts=facts)


x, y, z, w = (tensor(name, 3) for name in "xyzw")
real = tensor("real", 3, facts=("not_nan",))
positive = tensor("positive", 3, facts=("positive",))
b, c = (tensor(name, 3, dtype="bool") for name in "bc")
i = tensor("i", 3, dtype="int64")
small = tensor("small", 3, dtype="int8")
v = rg.vector("v")
M, N = tensor("M", 2, 3), tensor("N", 2, 3)
T = tensor("T", 2, 3, 4)
one, other = tensor("one", 1, 3), tensor("other", 1, 3)
r, s, t = (tensor(name) for name in "rst")
false, true = (rg.broadcast_to(constant(truth), (3,)) for truth in (False, True))

# The peer's name, a graph, and what mode o4 makes of it.
ROWS = [
    ("useless_Conj_of_Conj", x.conj().conj(), x),
    ("local_useless_conj", x.conj(), x),
    ("local_cast_cast", Cast("float32")(Cast("int32")(small)), Cast("float32")(small)),
    ("local_cast_cast", Cast("float64")(x), x),
    ("local_useless_elemwise", rg.equal(real, real), true),
    ("local_useless_elemwise", rg.equal(x, x), rg.logical_not(rg.isnan(x))),
    ("local_useless_elemwise", rg.logical_xor(b, b), false),
    ("local_useless_elemwise", i & 0, rg.broadcast_to(constant(0), (3,))),
    ("local_useless_elemwise", i | 0, i),
    ("local_useless_elemwise_comparison", x < x, false),
    ("local_useless_elemwise_comparison", i <= i, true),
    ("local_useless_elemwise_comparison", rg.minimum(x, x), x),
    ("local_useless_elemwise_comparison", v.shape[0] < 0, constant(False)),
    ("local_useless_elemwise_comparison", v.shape[0] >= 0, constant(True)),
    ("local_useless_elemwise_comparison", rg.equal(v.shape[0], -2), constant(False)),
    ("local_useless_switch", rg.where(constant(True), x, y), x),
    ("local_useless_switch", rg.where(constant(False), x, y), y),
    ("local_useless_switch", rg.where(b, x, x), x),
    (
        "local_merge_switch_same_cond",
        rg.where(b, x, y) + rg.where(b, z, w),
        rg.where(b, x + z, y + w),
    ),
    ("local_merge_switch_same_cond", rg.where(b, rg.where(b, x, y), z), rg.where(b, x, z)),
    ("local_view_op", +x, x),
    ("remove_tensor_copy", x.copy(), x),
    ("local_sum_prod_of_mul_or_div", rg.sum(s * M, 0), s * rg.sum(M, 0)),
    ("local_sum_prod_of_mul_or_div", rg.sum(x * M, 0), x * rg.sum(M, 0)),
    ("local_sum_prod_of_mul_or_div", rg.sum(M / s), rg.sum(M) / s),
    ("local_sum_of_neg_to_neg_of_sum", rg.sum(-M, 1), -rg.sum(M, 1)),
    ("local_sum_prod_all_to_none", rg.sum(M, (0, 1)), Sum(None, False)(M)),
    ("local_reduce_chain", rg.sum(rg.sum(T, 0), 1), rg.sum(T, (0, 2))),
    ("local_reduce_chain", rg.max(rg.max(T, 2)), rg.max(T)),
    (
        "local_reduce_join",
        rg.sum(rg.concatenate([one, other], 0), 0),
        rg.squeeze(one + other, 0),
    ),
    ("local_reduce_join", rg.max(rg.stack([x, y]), 0), rg.maximum(x, y)),
    ("local_useless_reduce", rg.sum(M, ()), M),
    ("local_reduce_broadcastable", rg.prod(one, 0), rg.squeeze(one, 0)),
    ("local_careduce_of_alloc", rg.sum(rg.broadcast_to(s, (2, 3))), s * 6),
    ("local_careduce_of_alloc", rg.max(rg.broadcast_to(s, (2, 3))), s),
    ("local_sum_make_vector", rg.sum(rg.stack([r, s, t])), r + s + t),
    ("local_max_to_min", -rg.max(-M, 0), rg.min(M, 0)),
    ("beyond", rg.logical_not(rg.logical_not(b)), b),
    (
        "beyond",
        rg.logical_and(rg.logical_not(b), rg.logical_not(c)),
        rg.logical_not(rg.logical_or(b, c)),
    ),
    ("beyond", rg.logical_or(b, rg.logical_and(c, b)), b),
    ("beyond", rg.maximum(x, rg.minimum(x, y)), x),
    ("beyond", rg.maximum(rg.exp(x), rg.exp(y)), rg.exp(rg.maximum(x, y))),
    ("beyond", rg.clip(rg.clip(x, -1.0, 3.0), 0.0, 8.0), rg.clip(x, 0.0, 3.0)),
    ("beyond", rg.minimum(rg.maximum(x, 0.0), 6.0), rg.clip(x, 0.0, 6.0)),
    ("beyond", rg.where(b, 1.0, 0.0), Cast("float64")(b)),
    ("beyond", rg.where(real < y, real, y), rg.minimum(real, y)),
    ("beyond", x - y < 0, x < y),
    ("beyond", rg.sum(M + N) - rg.sum(M), rg.sum(N)),
    ("beyond", rg.sum(M, 1) / 3, rg.mean(M, 1)),
    ("beyond", rg.prod(rg.exp(x)), rg.exp(rg.sum(x))),
    ("beyond", rg.sum(M.T.reshape(6)), rg.sum(M)),
]
SEARCH = [
    (
        "local_merge_switch_same_cond",
        choices.gather_where_divideo,
        rg.where(b, x, y) / rg.where(b, z, w),
        rg.where(b, x / z, y / w),
    ),
    (
        "local_mul_switch_sink",
        choices.sink_where_multiplyo,
        x * rg.where(b, 0, y),
        rg.where(b, 0, x * y),
    ),
    (
        "local_div_switch_sink",
        choices.sink_where_divideo,
        rg.where(b, 0, y) / x,
        rg.where(b, 0, y / x),
    ),
    (
        "local_sumsqr2dot",
        reductions.sum_squareso,
        rg.sum(rg.square(rg.expand_dims(M, 0) * rg.expand_dims(N, 1)), (1, 2)),
        rg.square(N) @ rg.sum(rg.square(M), 0),
    ),
]


@pytest.mark.parametrize(("name", "graph", "expected"), ROWS, ids=str)
def test_a_graph_of_that_form_is_rewritten(name, graph, expected):
    result = rg.rewrite_graph(graph, mode="o4")
    wanted = rg.rewrite_graph(expected, mode="o4")
    assert canonical(result) == canonical(wanted), f"{name}: {graph} became {result}"
    assert_equal_values(graph, result, integers=(0, 9), rtol=1e-12, atol=0)


@pytest.mark.parametrize(("name", "relation", "graph", "expected"), SEARCH, ids=str)
def test_a_relation_for_search_fires_by_name(name, relation, graph, expected):
    assert name in relation.tags
    result = rg.rewrite_graph(graph, relation)
    assert result is expected
    assert_equal_values(graph, result, integers=(0, 9), rtol=1e-12, atol=0)


def test_the_page_has_a_row_for_each_graph():
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.M))
    shown = {name for name, *_ in (*ROWS, *SEARCH)} - {"beyond"}
    assert shown == named
