"""Sizes, rearrangements, indices and joins take the shortest way, and keep every value."""

import random

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.ir.graph import toposort
from relgraph.ops.indexing.index import Index
from relgraph.ops.shape import BroadcastTo
from relgraph.relations.catalogue import joins, shape, views
from relgraph.rewriting.passes.lifting import IndexLifting
from tests.relations.catalogue.table import assert_equal_values

MOVES = (*views.RELATIONS, *joins.RELATIONS, *shape.RELATIONS)
PASSES = (*[r for r in MOVES if "canonicalize" in r.tags], IndexLifting())
x, y = rg.vectors("x y")
A, B = rg.matrices("A B", shape=(4, 4))
M, N = rg.matrices("M N")
v, w = rg.vectors("v w", shape=(4,))
p = rg.vector("p", shape=(2,), dtype="int64")
i, j = rg.scalars("i j", dtype="int64")


def rewritten(graph):
    return rg.rewrite_graph(graph, *PASSES)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (rg.dim(rg.exp(x) + y, 0), "dim(x, axis=-1)"),
        (rg.dim(rg.exp(M) @ N, 1), "dim(N, axis=-1)"),
        (rg.dim(rg.exp(M).T, 1), "dim(M, axis=-2)"),
        (rg.dim(rg.sum(M, axis=0), 0), "dim(M, axis=-1)"),
        (rg.dim(x[2:], 0), "maximum(dim(x, axis=-1) - 2, 0)"),
        (rg.dim(x[:3], 0), "minimum(dim(x, axis=-1), 3)"),
        (rg.dim(rnp.concatenate([x, y]), 0), "dim(x, axis=-1) + dim(y, axis=-1)"),
        (rg.dim(rg.exp(rg.vector("n", shape=("n",))), 0), "dim(n, axis=-1)"),
    ],
    ids=str,
)
def test_a_size_never_computes_its_array(graph, expected):
    assert str(rewritten(graph)) == expected
    assert_same(graph, rewritten(graph))


def graphs(seed, depth=4):
    """Return a random graph of elementwise functions, rearrangements, indices and joins."""
    rng = random.Random(seed)
    node = rng.choice([A, B, A + B, v, A * v])
    for _ in range(depth):
        square = node.ndim == 2
        steps = [rg.exp, lambda g: -g, lambda g: g * 2.0]
        if square:
            steps += [lambda g: g.mT, lambda g: g.mT * 2 + g.mT, lambda g: rg.expand_dims(g, 1)]
            steps += [lambda g: g[0], lambda g: g[:, -1], lambda g: rg.sum(g, axis=0)]
        if square and node.type.shape == (4, 4):
            steps += [lambda g: g @ A, lambda g: g + v, lambda g: (g @ B)[1], lambda g: g[:2, 1:]]
        if node.ndim == 1:
            steps += [lambda g: rnp.concatenate([g, g[:1]]), lambda g: rnp.stack([g, g * 3])]
            steps += [lambda g: BroadcastTo((3, *g.type.shape))(g), lambda g: g[::-1]]
        if node.ndim == 3:
            steps += [lambda g: g[:, 0], lambda g: rg.squeeze(g, 1) if g.type.shape[1] == 1 else g]
        node = rng.choice(steps)(node)
        node = node if node.ndim else node + v
    return node


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_keep_their_values(seed):
    graph = graphs(seed)
    result = rewritten(graph)
    assert result.type.narrows(graph.type)
    assert_same(graph, result)


def assert_same(graph, result):
    rng = np.random.default_rng(3)
    inputs = [n for n in toposort([graph, result]) if n.op is None and hasattr(n, "name")]
    arrays = [
        rng.uniform(-1, 1, [d if isinstance(d, int) else 4 for d in n.type.shape]) for n in inputs
    ]
    one, other = (
        rg.function(inputs, g, mode=None, target="numpy")(*arrays) for g in (graph, result)
    )
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_an_index_moves_only_where_it_leaves_at_most_half():
    big = rg.exp(A)[1:]
    assert rewritten(big) is big
    assert rewritten(rg.exp(A)[2:]) is rg.exp(A[2:])
    assert rewritten(rg.exp(M)[0]) is rg.exp(M[0])


def test_places_that_are_not_progressions_stay():
    chosen = v[np.array([0, 0, 2])]
    assert rewritten(chosen) is chosen
    assert isinstance(rewritten(A[np.array([1, 0])]).op, Index)


def test_what_would_change_a_type_stays():
    i = rg.vector("i", shape=(0,), dtype="int64")
    small = rg.vector("s", shape=(2,), dtype="int32")
    mixed = rnp.concatenate([small, i])
    assert rewritten(mixed).type is mixed.type
    assert_same(rnp.concatenate([v, w, v[:0]]), rewritten(rnp.concatenate([v, w, v[:0]])))


def test_an_index_stays_where_the_whole_is_computed_anyway():
    A, B = rg.matrices("A B", shape=(6, 6))
    y = rg.exp(A) + B
    assert rg.rewrite_graph([y[0], y], IndexLifting()) == [y[0], y]
    assert rg.rewrite_graph([(A @ B)[1, 2], A @ B], IndexLifting()) == [(A @ B)[1, 2], A @ B]
    assert rg.rewrite_graph([(y * 2)[0], y], IndexLifting()) == [y[0] * 2, y]
    assert rg.rewrite_graph([(y * 2)[0], rg.sum(y)], IndexLifting()) == [y[0] * 2, rg.sum(y)]
    assert rg.rewrite_graph([y[0], y[1:]], IndexLifting()) == [y[0], y[1:]]
    diagonal = rg.diagonal(y)
    assert rg.rewrite_graph([diagonal, rg.sum(y)], IndexLifting()) == [diagonal, rg.sum(y)]


def test_an_index_moves_past_what_only_indices_read():
    A, B = rg.matrices("A B", shape=(6, 6))
    y = rg.exp(A) + B
    first, second = rg.exp(A[0]) + B[0], rg.exp(A[:, 1]) + B[:, 1]
    assert rg.rewrite_graph([y[0], y[:, 1]], IndexLifting()) == [first, second]
    assert rg.rewrite_graph([(y * 2)[0], y[:, 1]], IndexLifting()) == [first * 2, second]


def test_a_change_below_does_not_hide_what_is_computed_whole():
    A = rg.matrix("A", shape=(6, 6))
    y = rg.exp(A.mT.mT + A)
    outputs = rg.rewrite_graph([(y * 2)[0], rg.sum(y)], mode="fast_run")
    assert [x.op for x in toposort(outputs)].count(rg.exp) == 1


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ((A @ B)[1, 2], A[1] @ B[:, 2]),
        ((A @ v)[p], A[p] @ v),
        ((A @ B)[i, j], A[i] @ B[:, j]),
    ],
    ids=str,
)
def test_the_part_of_a_product_is_a_product_of_parts(graph, expected):
    relation = views.index_matmulo
    assert rg.rewrite_graph(graph, relation) is expected
    assert_equal_values(graph, expected, integers=(0, 4))
    back = rg.rewrite_graph(expected, relation.reversed)
    assert_equal_values(expected, back, integers=(0, 4))
