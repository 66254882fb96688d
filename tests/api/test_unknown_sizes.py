"""Graphs with unknown sizes: rewritten, they compute the same and raise where they did."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import relgraph as rg
from relgraph.errors import LinearAlgebraError, ShapeError


def test_sizes_that_only_the_graph_as_written_compares_are_compared():
    u, v = rg.vectors("u v")
    f = rg.function([u, v], (u + v) - v, target="numpy")
    assert f.graph.outputs == (u,)
    assert_array_equal(f(np.arange(2.0), np.ones(2)), [0.0, 1.0])
    for one in (f, pickle.loads(pickle.dumps(f))):
        with pytest.raises(ShapeError, match="u and v must have equal sizes, and they are 2 and 3"):
            one(np.ones(2), np.ones(3))


def test_unsafe_compares_the_sizes_that_the_rewritten_graph_needs():
    u, v, w = rg.vectors("u v w")
    for target in ("numpy", "cpu"):
        f = rg.function([u, v], (u + v) - v, mode="unsafe", target=target)
        assert_array_equal(f(np.ones(2), np.ones(3)), np.ones(2))
        g = rg.function([u, v, w], ((u + v) - v) * w, mode="unsafe", target=target)
        assert_array_equal(g(np.ones(2), np.ones(3), np.ones(2)), np.ones(2))
        with pytest.raises(ShapeError, match="u and w must have equal sizes"):
            g(np.ones(2), np.ones(2), np.ones(3))
    h = rg.function([u, v], (u + v) - v, mode=rg.mode("unsafe").excluding("remove_all_assert"))
    with pytest.raises(ShapeError, match="u and v must have equal sizes"):
        h(np.ones(2), np.ones(3))


def test_sizes_of_products_and_known_sizes_are_compared_too():
    a = rg.matrix("a", shape=(None, None))
    v = rg.vector("v", shape=(3,))
    w = rg.vector("w", shape=("n",))
    f = rg.function([a, v, w], [(a @ v) * 0, (a + w) * 0], target="numpy")
    assert [x.shape for x in f(np.ones((2, 3)), np.ones(3), np.ones(3))] == [(2,), (2, 3)]
    with pytest.raises(ShapeError, match="a and v must have equal sizes, and they are 4 and 3"):
        f(np.ones((2, 4)), np.ones(3), np.ones(4))
    with pytest.raises(ShapeError, match="must have equal sizes, and they are 3 and 4"):
        f(np.ones((2, 3)), np.ones(3), np.ones(4))


def test_a_size_that_is_squeezed_must_be_one():
    a = rg.matrix("a", shape=(None, None))
    f = rg.function([a], rg.reshape(rg.squeeze(a, 0), (-1,)), target="numpy")
    assert_array_equal(f(np.ones((1, 2))), [1.0, 1.0])
    with pytest.raises(ShapeError, match="a must have size 1 along axis -2, and it is 2"):
        f(np.ones((2, 2)))


# Random graphs.

# The size of a diagonal is known to the graph alone, and checked only where it is used.
SHAPES = [(None,), (None, None), (None, None), (None,), (3, None), (1, None), ("n",), (None, "n")]
COMBINED = [rg.add, rg.subtract, rg.multiply, rg.matmul, rg.maximum, rg.dot]
SINGLE = [
    rg.exp, rg.negative, rg.matrix_transpose, rg.trace, rg.sum, rg.square,
    lambda x: rg.sum(x, axis=-1), lambda x: rg.sum(x, axis=-2, keepdims=True), rg.tril,
    lambda x: rg.diag(x) if x.ndim == 1 else rg.cos(x), lambda x: rg.expand_dims(x, -1),
    lambda x: rg.mean(x, axis=0), lambda x: x * 0,
    lambda x: rg.reshape(x, (-1,)), lambda x: rg.squeeze(x, 0), lambda x: x - x,
    lambda x: rg.broadcast_to(rg.sum(x), (rg.dim(x, -1),)),
]  # fmt: skip


def random_graph(rng):
    """Return inputs with unknown sizes, and a graph of them."""
    inputs = [
        rg.tensor("abcd"[i], shape=SHAPES[rng.integers(len(SHAPES))])
        for i in range(rng.integers(2, 5))
    ]
    nodes, used = list(inputs), set()
    for _ in range(rng.integers(3, 9)):
        first, second = (nodes[i] for i in rng.integers(len(nodes), size=2))
        op = COMBINED[rng.integers(len(COMBINED))]
        single = SINGLE[rng.integers(len(SINGLE))]
        try:
            nodes.append(op(first, second) if rng.random() < 0.6 else single(first))
            used |= {first, second}
        except (rg.errors.RelgraphError, IndexError, ValueError):
            continue
    ends = [x for x in nodes if x not in used and x.op is not None]
    return inputs, ends or nodes[-1:]


def drawn(inputs, rng):
    """Return arrays of sizes that often fit, and often do not."""
    n, common = rng.integers(0, 4, size=2)
    arrays = []
    for x in inputs:
        sizes = [
            {"n": n, None: common if rng.random() < 0.7 else rng.integers(4)}.get(d, d)
            for d in x.type.shape
        ]
        arrays.append(rng.integers(-2, 3, size=sizes).astype(float))
    return arrays


def outcome(function, arrays):
    try:
        return function(*arrays)
    except Exception as error:
        return error


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_compute_the_same_or_raise(seed):
    rng = np.random.default_rng(seed)
    ran = raised = 0
    for _ in range(12):
        inputs, outputs = random_graph(rng)
        given = rg.function(inputs, outputs, mode=None, target="numpy")
        made = rg.function(inputs, outputs, mode="o4", target="numpy")
        for _ in range(6):
            arrays = drawn(inputs, rng)
            expected, found = outcome(given, arrays), outcome(made, arrays)
            where = f"{outputs} became {made.graph.outputs} at {[x.shape for x in arrays]}"
            if isinstance(expected, Exception):
                assert isinstance(found, Exception), f"{where}: it does not raise {expected}"
                raised += 1
                continue
            assert not isinstance(found, Exception), f"{where}: {found}"
            for a, b in zip(expected, found, strict=True):
                if np.isfinite(a).all() and np.abs(a).max(initial=0) < 1e6:
                    np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-6, err_msg=where)
            ran += 1
    assert ran and raised


@pytest.mark.parametrize("mode", [None, "fast_run"])
@pytest.mark.parametrize("build", [rg.inv, rg.det, rg.cholesky, lambda A: rg.eigh(A)[0]])
def test_a_matrix_that_is_not_square_is_told(build, mode):
    A = rg.matrix("A")
    f = rg.function([A], build(A), mode=mode, target="numpy")
    with pytest.raises((ShapeError, LinearAlgebraError), match="be square") as caught:
        f(np.ones((2, 3)))
    assert str(caught.value).endswith("Give it a square matrix.")
    assert ": float64[?, ?]" in str(caught.value)


def test_a_product_with_itself_needs_a_square_matrix():
    A = rg.matrix("A")
    f = rg.function([A], A @ A, target="numpy")
    with pytest.raises(ShapeError, match=r"A must be square, and its sizes .* are 3 and 2"):
        f(np.ones((2, 3)))
