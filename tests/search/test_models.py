"""Graphs of models: the search keeps their values, and takes time linear in their regions."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg
from relgraph.ir.machine import node_seconds
from relgraph.ir.node import toposort


def evaluated(graph, arrays):
    """Return what NumPy makes of a graph, without any rewriting."""
    values = dict(arrays)
    for node in toposort([graph]):
        if node not in values:
            value = node.value if node.op is None else None
            values[node] = node.op.perform(*[values[x] for x in node.inputs]) if node.op else value
    return values[graph]


def draw(rng, *nodes):
    """Return an array for each input."""
    return {x: rng.normal(size=x.type.shape).astype(x.dtype) for x in nodes}


def check(graph, arrays, **options):
    """Assert that a graph has its value after a search; return the new graph."""
    expected = evaluated(graph, arrays)
    for cost in ("seconds", "flops"):
        new = rg.optimize(graph, cost=cost, **options)
        assert new.type == graph.type
        value = evaluated(new, arrays)
        assert value.dtype == expected.dtype and value.shape == expected.shape
        tolerance = 1e-9 if expected.dtype == "float64" else 1e-3
        scale = np.abs(expected).max(initial=0)
        np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance * scale)
    return new


def test_a_gather_of_factors_that_were_merged_keeps_their_coefficients():
    X = rg.matrix("X", shape=(30, 4))
    w, y = rg.vector("w", shape=(4,)), rg.vector("y", shape=(30,))
    k = rg.scalar("k")
    mu = rg.exp(X @ w)
    p, q = mu / (k + mu), k / (k + mu)
    inner = 1 - y * (rg.reciprocal(p) * rg.reciprocal(k + mu) + rg.reciprocal(mu))
    outer = -y * rg.reciprocal(p) * (-p / (k + mu)) - k * rg.reciprocal(q) * (-q / (k + mu))
    graph = X.T @ ((inner + outer) * mu)
    arrays = draw(np.random.default_rng(0), X, w, y) | {k: np.asarray(1.5)}
    check(graph, arrays, mode=None)


@pytest.mark.parametrize("left", [False, True])
def test_batches_with_diagonals_keep_their_shape(left):
    a, b = (rg.tensor(name, shape=(3, 5, 5), dtype="float64") for name in "ab")
    v = rg.tensor("v", shape=(3, 5, 1), dtype="float64")
    sums = rg.sum(a * b.mT, axis=-1, keepdims=True)
    scaled = (v * sums) * a if left else a * (v * sums).mT
    graph = scaled @ b + scaled @ a
    check(graph, draw(np.random.default_rng(0), a, b, v), mode=None)
    graph = rg.sum((a @ b) * rg.broadcast_to(v, (3, 5, 5)), axis=-1, keepdims=True)
    check(graph, draw(np.random.default_rng(0), a, b, v), mode=None)


def layers(count, d=32, rows=16):
    """Return a graph of layers of attention and of a network of two products."""
    x = x0 = rg.matrix("x", shape=(rows, d))
    inputs = [x0]
    for k in range(count):
        weights = [rg.matrix(f"{name}{k}", shape=(d, d)) for name in ("q", "k", "v", "o", "a", "b")]
        scale, shift, bias = (rg.vector(f"{name}{k}", shape=(d,)) for name in ("s", "t", "c"))
        inputs += [*weights, scale, shift, bias]
        q, key, v, o, a, b = weights
        centred = x - rg.mean(x, axis=-1, keepdims=True)
        spread = rg.sqrt(rg.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
        y = centred / spread * scale + shift
        weight = rg.softmax((y @ q) @ (y @ key).T / np.sqrt(d), axis=-1)
        x = x + (weight @ (y @ v)) @ o
        x = x + rg.maximum(x @ a + bias, 0.0) @ b
    return x, inputs


def test_layers_keep_their_value():
    graph, inputs = layers(2)
    arrays = draw(np.random.default_rng(0), *inputs)
    arrays = {x: v / np.sqrt(len(v)) for x, v in arrays.items()}
    check(graph, arrays)


def test_a_form_that_occurs_often_is_searched_once():
    def searching(count):
        asked = []

        def seconds(node):
            asked.append(node)
            return node_seconds(node)

        graph, _ = layers(count)
        _, report = rg.optimize(graph, cost=seconds, full_output=True)
        return len(asked), len(report.regions)

    few, regions = searching(4)
    many, more_regions = searching(16)
    assert more_regions >= 3 * regions
    assert many < 1.2 * few


def test_a_deep_graph_is_searched_without_recursion():
    x = graph = rg.vector("x", shape=(4,))
    A = rg.matrix("A", shape=(4, 4))
    for _ in range(1300):
        graph = rg.tanh(A @ graph + A @ x) * x
    assert len(toposort([graph])) > 5000
    new = rg.optimize(graph, mode=None)
    assert sum(node.op is rg.matmul for node in toposort([new])) <= 1301


def cases():
    """Yield graphs of odd sizes, ranks and dtypes, with their inputs."""
    one, other = rg.matrix("one", shape=(1, 1)), rg.matrix("other", shape=(1, 1))
    yield rg.det(one @ other) + rg.sum(one), [one, other]
    yield rg.diagonal(one @ other) + one * (one @ other) ** -1, [one, other]
    stack = rg.tensor("stack", shape=(2, 3, 3), dtype="float64")
    four = rg.tensor("four", shape=(2, 1, 3, 3), dtype="float64")
    square = rg.matrix("square", shape=(3, 3))
    yield rg.trace(3 * stack), [stack]
    yield rg.expand_dims(rg.trace(stack @ square), -1), [stack, square]
    yield (four @ square + four @ four) @ square, [four, square]
    diagonal = rg.matrix("diagonal", shape=(3, 3), facts=["diagonal"])
    gram = diagonal @ diagonal.mT + rg.eye(3)
    yield rg.abs(rg.solve(stack @ stack + 9 * rg.eye(3), rg.inv(gram))), [stack, diagonal]
    yield rg.sum(rg.inv(square + 9 * rg.eye(3)) @ rg.inv(gram), axis=1), [square, diagonal]
    empty = rg.matrix("empty", shape=(0, 3))
    yield empty.T @ empty + square, [empty, square]
    yield empty @ square + empty @ (2 * square), [empty, square]
    small = rg.matrix("small", shape=(3, 3), dtype="float32")
    v = rg.vector("v", shape=(3,), dtype="float32")
    yield (small @ small) @ v + 2 * (small @ v), [small, v]
    yield rg.sum(small @ small), [small]
    yield square @ (small @ v) + square @ square @ square[0], [square, small, v]
    whole = rg.matrix("whole", shape=(3, 3), dtype="int64")
    yield whole @ whole @ whole[0] + whole @ whole[1], [whole]
    yield square @ (whole @ whole) + square @ square, [whole, square]
    yield rg.concatenate([square @ square, square @ small])[2:4] @ square, [square, small]


@pytest.mark.parametrize(("graph", "inputs"), list(cases()), ids=str)
def test_odd_sizes_ranks_and_dtypes_keep_their_value_and_type(graph, inputs):
    rng = np.random.default_rng(1)
    arrays = {x: (3 * rng.normal(size=x.type.shape)).astype(x.dtype) for x in inputs}
    for x in inputs:
        if "diagonal" in x.facts:
            arrays[x] = np.diag(np.diagonal(arrays[x]))
    check(graph, arrays, mode=None)
    new = rg.rewrite_graph(graph, mode="o5")
    assert new.type == graph.type
    assert rg.rewrite_graph(new, mode="o5") is new


def test_rows_of_named_sizes_are_searched():
    x = rg.matrix("x", shape=("n", 3))
    A = rg.matrix("A", shape=(3, 3))
    graph = (x[0] + 2 * x[1]) @ A @ A + x[0] * 2.0
    rng = np.random.default_rng(0)
    arrays = {x: rng.normal(size=(5, 3)), A: rng.normal(size=(3, 3))}
    check(graph, arrays, mode=None)
    check((x[0] @ A) * x, arrays, mode=None)
    column, row = rg.matrix("column", shape=("n", 1)), rg.matrix("row", shape=(1, "m"))
    arrays = {column: rng.normal(size=(5, 1)), row: rng.normal(size=(1, 4))}
    check(rg.sum(column + row), arrays, mode=None)


def test_outputs_that_are_inputs_constants_or_repeated_stay():
    x, A = rg.vector("x", shape=(8,)), rg.matrix("A", shape=(8, 8))
    product = A @ x + A @ A @ x
    outputs = [x, product, product, rg.eye(3) @ np.ones(3), A]
    new = rg.optimize(outputs)
    assert new[0] is x and new[4] is A and new[1] is new[2]
    np.testing.assert_array_equal(evaluated(new[3], {}), np.ones(3))


def test_finite_values_are_assumed_only_where_the_mode_assumes_them():
    A, B = rg.matrices("A B", shape=(8, 8))
    keeping = rg.mode("o5", nonfinite="keep")
    for graph in (A @ B - A @ B, A @ B + A @ A, A @ rg.inv(A) @ B):
        assert rg.rewrite_graph(graph, mode=keeping) == rg.rewrite_graph(
            graph, mode=rg.mode("o4", nonfinite="keep")
        )


def test_results_of_ops_with_several_results_are_operands():
    A = rg.matrix("A", shape=(4, 4), facts=["symmetric"])
    x = rg.vector("x", shape=(4,))
    w, V = rg.eigh(A)
    graph = (V * w) @ V.T @ x + A @ x
    arrays = draw(np.random.default_rng(0), A, x)
    arrays[A] = arrays[A] + arrays[A].T
    new = rg.optimize(graph)
    np.testing.assert_allclose(rg.evaluate(new, arrays), 2 * arrays[A] @ arrays[x], rtol=1e-9)
