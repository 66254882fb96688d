"""Graphs of many shapes compile in work that is proportional to their nodes."""

import numpy as np
import pytest

import relgraph as rg
from tests.scale.calls import calls

NEARLY_LINEAR = 2.3  # times the work for twice the nodes


def vector(name, count, size=8):
    return rg.vector(f"{name}_{count}", shape=(size,))


def many_outputs(count):
    x = vector("x", count)
    return [rg.sin(x * float(i)) for i in range(count)]


def many_inputs(count):
    return [rg.stack([rg.tanh(vector(f"x{i}", count)) for i in range(count)])]


def sums_of_inputs(count):
    pairs = [(vector(f"x{i}", count), vector(f"y{i}", count)) for i in range(count)]
    return [rg.exp(x) * y for x, y in pairs]


def gradients_of_one_matrix(count):
    X = rg.matrix(f"X_{count}", shape=(20, 8))
    return [X.T @ rg.sin(X @ vector(f"b{i}", count)) for i in range(count)]


def descent(count):
    X, y, w = rg.matrix(f"X_{count}", shape=(20, 8)), vector("y", count, 20), vector("w", count)
    for _ in range(count):
        w = w - 0.1 * (X.T @ (rg.sigmoid(X @ w) - y))
    return [w]


def normalised_rows(count):
    x = rg.matrix(f"x_{count}", shape=(8, 8))
    for _ in range(count):
        x = rg.softmax(x, axis=1) + x
    return [x]


def recurrence(count):
    W, h, xs = rg.matrix("W", shape=(8, 8)), vector("h", count), rg.matrix("xs", shape=(count, 8))
    for t in range(count):
        h = rg.tanh(W @ h + xs[t])
    return [h]


def updates(count):
    x, z = vector("x", count, count), rg.zeros((count,))
    for i in range(count):
        z = z.at[i].add(rg.sin(x[i]))
    return [z]


def nested_choices(count):
    x, y = vector("x", count), vector("y", count)
    for i in range(count):
        y = rg.where(x > float(i), y * x, y)
    return [y]


@pytest.mark.parametrize(
    "graph",
    [
        many_outputs, many_inputs, sums_of_inputs, gradients_of_one_matrix, descent,
        normalised_rows, recurrence, updates, nested_choices,
    ],
)  # fmt: skip
@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_compiling_takes_linear_work(graph, target):
    def compiled(count):
        return rg.function(None, graph(count), mode=None, target=target)

    compiled(80), compiled(160)  # now their kernels are in memory
    _, work = calls(compiled, 80)
    _, twice = calls(compiled, 160)
    assert twice < NEARLY_LINEAR * work


def test_products_of_a_matrix_share_kernels_of_bounded_size():
    count = 60
    f = rg.function(None, gradients_of_one_matrix(count), mode=None)
    draw = np.random.default_rng(0)
    X, *vectors = (draw.normal(size=x.type.shape) for x in f.inputs)
    for result, b in zip(f(X, *vectors), vectors, strict=True):
        np.testing.assert_allclose(result, X.T @ np.sin(X @ b), rtol=1e-10, atol=1e-12)
    definitions = f.source.split("def main(")[0].split("def rgk_")[1:]
    assert max(text.split("):")[0].count("float64") for text in definitions) <= 24
