"""One graph for each of the peer's rewrites of shapes and of indexing: what becomes of it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.db.catalogue import relations
from relgraph.db.default import default_database
from relgraph.ir.node import constant
from relgraph.ops.checks import Assert, SpecifyShape, Unique
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import SetIndex
from relgraph.ops.linalg.structured import Diagonal
from relgraph.ops.permutation import Transpose
from relgraph.ops.shape import BroadcastTo, Dim, ExpandDims, Reshape, Squeeze
from tests.relations.catalogue.table import assert_equal_values

ROOT = Path(__file__).parents[3]


def tensor(name, *shape, dtype="float64", facts=()):
    return rg.tensor(name, shape=shape, dtype=dtype, facts=facts)


x, y = rg.vectors("x y")  # of unknown sizes
v, w = (tensor(name, 4) for name in "vw")
A, B = rg.matrices("A B", shape=(4, 4))
M, N = rg.matrices("M N")
R = tensor("R", 2, 3)
T = tensor("T", 2, 3, 4)
S, U = tensor("S", 1, 3), tensor("U", 2, 1, 4)
c = tensor("c")
i, j = (tensor(name, dtype="int64") for name in "ij")
e = tensor("e", 0)
zeros = BroadcastTo((4,))(constant(0.0))


def cuts(node, *bounds):
    """Return the parts of a vector between places."""
    pairs = zip((None, *bounds), (*bounds, None), strict=True)
    return [node[a:b] for a, b in pairs]


# The peer's name, a graph, and what mode o4 makes of it.
SHAPE = [
    ("local_shape_to_shape_i", rg.dim(rg.exp(M) @ N, 1) * 1, Dim(-1)(N)),
    ("local_Shape_i_ground", Dim(-1)(R), constant(3, "int64")),
    ("local_Shape_of_SpecifyShape", Dim(-1)(SpecifyShape((4,))(x)), constant(4, "int64")),
    ("local_useless_specify_shape", SpecifyShape((2, None))(R), R),
    (
        "local_merge_consecutive_specify_shape",
        SpecifyShape((None, 4))(SpecifyShape((4, None))(M)),
        SpecifyShape((4, 4))(M),
    ),
    (
        "local_lift_specify_shape_elemwise",
        SpecifyShape((4,))(rg.exp(x)),
        rg.exp(SpecifyShape((4,))(x)),
    ),
    (
        "local_lift_specify_shape_inc_subtensor",
        SpecifyShape((4,))(x.at[0].add(c)),
        SpecifyShape((4,))(x).at[0].add(c),
    ),
    (
        "local_specify_shape_alloc",
        SpecifyShape((4,))(BroadcastTo((None,))(c, Dim(-1)(x))),
        BroadcastTo((4,))(c),
    ),
    ("local_dimshuffle_lift", rg.exp(A.mT) + B.mT, (rg.exp(A) + B).mT),
    ("local_dimshuffle_lift", Transpose((-2, -3, -1))(ExpandDims((-2,))(R)), ExpandDims((-3,))(R)),
    ("local_useless_dimshuffle_makevector", Squeeze((-1,))(Stack(-1)(c)), c),
    (
        "local_dimshuffle_alloc",
        Transpose((-2, -3, -1))(BroadcastTo((2, 3, 4))(U)),
        BroadcastTo((3, 2, 4))(Transpose((-2, -3, -1))(U)),
    ),
    ("local_alloc_dimshuffle", BroadcastTo((2, 4))(ExpandDims((-2,))(v)), BroadcastTo((2, 4))(v)),
    ("local_alloc_sink_dimshuffle", BroadcastTo((1, 1, 4))(v), ExpandDims((-3, -2))(v)),
    ("local_reshape_dimshuffle", Reshape((6,))(ExpandDims((-1,))(R)), Reshape((6,))(R)),
    (
        "local_useless_expand_dims_in_reshape",
        Reshape((3, 2))(ExpandDims((-3,))(R)),
        R.reshape(3, 2),
    ),
    ("local_reshape_chain", Reshape((3, 2))(Reshape((6,))(R)), R.reshape(3, 2)),
    ("local_useless_reshape", Reshape((2, 3))(R), R),
    ("local_useless_reshape", Reshape((None, None))(M, Dim(-2)(M), Dim(-1)(M)), M),
    ("local_reshape_to_dimshuffle", Reshape((2, 1, 3))(R), ExpandDims((-2,))(R)),
    ("local_reshape_to_dimshuffle", Reshape((3,))(S), Squeeze((-2,))(S)),
    ("local_reshape_lift", rg.exp(Reshape((6,))(R)), Reshape((6,))(rg.exp(R))),
    ("local_fuse_squeeze_reshape", Reshape((3, 1, 1))(Squeeze((-2,))(S)), None),
    ("local_fuse_expand_dims_reshape", ExpandDims((-1,))(R.reshape(6)), Reshape((6, 1))(R)),
    ("local_split_dims", tensor("s", 6).reshape(2, 3).reshape(6), tensor("s", 6)),
    ("local_split_dims", R.reshape(2, 3, 1), ExpandDims((-1,))(R)),
    ("local_join_dims", T.reshape(6, 4).reshape(24), T.reshape(24)),
    ("local_join_dims", S.reshape(3), Squeeze((-2,))(S)),
    ("local_useless_fill", rnp.full_like(c, 2.0), constant(2.0)),
    ("local_second_to_alloc", rnp.full_like(x, c), BroadcastTo((None,))(c, Dim(-1)(x))),
    ("local_second_sink", rg.exp(rnp.full_like(x, c)), BroadcastTo((None,))(rg.exp(c), Dim(-1)(x))),
    ("local_elemwise_alloc", rg.arctan2(w, BroadcastTo((4,))(c)), rg.arctan2(w, c)),
    ("local_alloc_unary", rg.exp(BroadcastTo((4,))(c)), BroadcastTo((4,))(rg.exp(c))),
    ("local_useless_alloc", BroadcastTo((2, 3))(R), R),
    ("local_merge_alloc", BroadcastTo((2, 4))(BroadcastTo((4,))(c)), BroadcastTo((2, 4))(c)),
    ("local_join_1", Concatenate(-1)(v), v),
    ("local_join_empty", rnp.concatenate([v, e, w]), Concatenate(-1)(v, w)),
    (
        "local_join_make_vector",
        rnp.concatenate([rnp.stack([c, c + 1]), rnp.stack([c * c])]),
        Stack(-1)(c, c + 1, rg.square(c)),
    ),
    (
        "local_join_to_repeat",
        rnp.concatenate([v, v, v]),
        BroadcastTo((3, 4))(v).reshape(12),
    ),
    (
        "local_join_of_alloc",
        rnp.concatenate([BroadcastTo((2,))(c), BroadcastTo((3,))(c)]),
        BroadcastTo((5,))(c),
    ),
    ("local_useless_split", rnp.split(v, 1)[0], v),
    ("local_remove_useless_assert", Assert("no")(x, np.True_), x),
    ("local_Unique_scalar", Unique()(c), ExpandDims((-1,))(c)),
    ("local_Unique_lift", Unique()(BroadcastTo((2, 4))(v)), Unique()(v)),
    ("local_Unique_lift", Unique()(A.mT), Unique()(A)),
]

INDEXING = [
    ("local_useless_subtensor", Index((("slice", 0, 4, None),))(v), v),
    ("local_useless_slice", v[0:4:1], v),
    ("local_subtensor_merge_slice", x[2:][1:5], x[3:7]),
    ("local_subtensor_merge_integer", x[2:][1], x[3]),
    ("local_subtensor_merge_integer", M[i][j], M[i, j]),
    ("local_subtensor_remove_broadcastable_index", S[0], Squeeze((-2,))(S)),
    ("local_convert_negative_indices", v[-1], v[3]),
    ("local_subtensor_of_dot", (A @ B)[1, 2], A[1] @ B[:, 2]),
    ("local_subtensor_of_dot", (M @ N)[i], M[i] @ N),
    ("local_advanced_subtensor_of_dot", (A @ B)[[0, 2]], A[::2][:2] @ B),
    ("local_subtensor_of_batch_dims", (rg.exp(A) * v)[i], rg.exp(A[i]) * v),
    ("local_subtensor_of_reduce", rg.sum(A, axis=0)[1], rg.sum(A[:, 1])),
    ("local_subtensor_of_softmax", rg.softmax(A, axis=-1)[2], rg.softmax(A[2], axis=-1)),
    ("local_subtensor_of_expand_dims", ExpandDims((-1,))(A)[1], ExpandDims((-1,))(A[1])),
    ("local_subtensor_of_squeeze", Squeeze((-2,))(S)[1:], Squeeze((-2,))(S[:, 1:])),
    ("local_subtensor_of_transpose", A.mT[1, 2], A[2, 1]),
    ("local_subtensor_of_transpose", Transpose((-1, -3, -2))(T)[1], T[:, :, 1]),
    ("local_subtensor_of_alloc", BroadcastTo((3, 4))(v)[0], v),
    ("local_subtensor_SpecifyShape_lift", SpecifyShape((4, None))(M)[0], None),
    ("local_subtensor_make_vector", rnp.stack([c, c + 1, c * 2])[1], c + 1),
    ("local_subtensor_of_join", rnp.concatenate([v, w])[5], w[1]),
    ("local_subtensor_of_join", rnp.concatenate([v, w])[1:3], v[1:3]),
    ("local_subtensor_shape_constant", Dim(-2)(R) + 0, constant(2, "int64")),
    ("local_subtensor_of_adv_subtensor", A[:, [0, 0, 3]][1], None),
    ("local_dimshuffle_subtensor", Squeeze((-1,))(v[1:2]), v[1]),
    ("local_join_subtensors", rnp.concatenate(cuts(x, 3)), x),
    ("local_join_subtensors", rnp.concatenate(cuts(v, 1, 3)), v),
    ("local_adv_idx_to_slice", v[np.array([1, 2, 3])], v[1:]),
    ("local_adv_idx_to_diagonal", A[np.arange(4), np.arange(4)], Diagonal(0)(A)),
    ("bool_idx_to_nonzero", v[np.array([True, False, True, False])], v[:3:2]),
    ("local_useless_inc_subtensor", SetIndex(())(v, w), w),
    ("local_set_to_inc_subtensor", v.at[1].set(v[1] + c), v.at[1].add(c)),
    ("local_set_to_inc_subtensor", x.at[i].set(x[i] * c), x.at[i].multiply(c)),
    ("local_add_of_sparse_write", v + zeros.at[1:3].set(c), v.at[1:3].add(c)),
    ("local_incsubtensor_of_zeros", v.at[1].add(0.0), v),
    ("local_incsubtensor_of_zeros_to_setsubtensor", zeros.at[1].add(c), zeros.at[1].set(c)),
    ("local_setsubtensor_of_constants", x.at[i].set(x[i]), x),
    ("local_read_of_write_same_indices", A.at[1].set(v)[1], v),
    ("local_read_of_write_same_indices", A.at[1].add(v)[1], A[1] + v),
    ("local_slice_read_of_write", v.at[:2].set(c)[2:], v[2:]),
    ("local_advanced_read_of_write_constant_indices", v.at[[0, 3]].set(c)[[1, 2]], v[1:3]),
    ("local_advanced_read_of_write_constant_indices", A.at[:, [3, 0]].add(w[:2])[:, 2], A[:, 2]),
    ("local_advanced_read_of_write_constant_indices", x.at[[3, 0]].set(c)[1:3], x[1:3]),
    ("local_write_of_write_same_indices", v.at[1].set(c).at[1].set(c + 1), v.at[1].set(c + 1)),
    ("local_write_of_write_same_indices", A.at[1].add(v).at[1].add(w), A.at[1].add(v + w)),
    ("local_useless_inc_subtensor_alloc", A.at[1].set(BroadcastTo((4,))(c)), A.at[1].set(c)),
    (
        "local_IncSubtensor_serialize",
        zeros.at[1].add(c) + zeros.at[2:].add(c),
        None,
    ),
    ("pre_local_IncSubtensor_serialize", v + zeros.at[1].add(c) + zeros.at[2].add(c), None),
    ("extract_diag_of_transpose", Diagonal(1)(A.mT), Diagonal(-1)(A)),
    ("extract_diag_lift_pass", Diagonal(0)(rg.exp(A) * B), None),
    ("extract_diag_lift_pass", Diagonal(0)(rg.diag(v)), v),
]


def rewritten(graph):
    return rg.rewrite_graph(graph, mode="o4")


@pytest.mark.parametrize(("name", "graph", "expected"), [*SHAPE, *INDEXING], ids=str)
def test_a_graph_of_that_form_is_rewritten(name, graph, expected):
    result = rewritten(graph)
    if expected is None:
        assert result is not graph or graph.op is None, name
    else:
        assert result is rewritten(expected), f"{graph} became {result}"
        assert result is not graph or graph is expected, f"{graph} stays as it is"
    assert_equal_values(graph, result, integers=(0, 3), rtol=1e-12, atol=0)


@pytest.mark.shows("local_remove_all_assert")
def test_unsafe_alone_removes_assertions():
    graph = rg.assert_(x, x > 0)
    assert rewritten(graph).op is Assert("an assertion does not hold")
    assert rg.rewrite_graph(graph, mode="unsafe") is x


def test_a_key_that_leaves_most_of_an_array_stays_outside():
    difference = rg.exp(x)[1:] - rg.exp(x)[:-1]
    assert rewritten(difference) is difference


@pytest.mark.parametrize("section", ["Shape, broadcasting", "Subtensor"])
def test_the_page_has_a_row_for_each_graph(section):
    page = (ROOT / "docs/coverage/shape.md").read_text()
    named = set(re.findall(r"^\| `(\w+)` \|", page, re.M))
    rows = SHAPE if section.startswith("Shape") else INDEXING
    assert {name for name, *_ in rows} <= named


def test_the_page_names_what_exists():
    page = (ROOT / "docs/coverage/shape.md").read_text()
    names = set(re.findall(r"`(\w+o|[a-z]+_[a-z_]+)`", page.split("## ")[0]))
    database = default_database()
    known, shipped = str(database), {r.name for r in relations()}
    last = [line.rsplit("|", 2)[1] for line in page.splitlines() if line.startswith("| `")]
    for name in {n for cell in last for n in re.findall(r"`(\w+)`", cell)} | names:
        assert name in known or hasattr(rg, name) or name in shipped, name
