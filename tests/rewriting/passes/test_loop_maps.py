"""Loops whose iterations change parts of their own are computed at once."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.ops.loops import Scan
from relgraph.rewriting.passes.loop_fission import LoopFission

RNG = np.random.default_rng(3)
W = RNG.standard_normal((12, 20)) / 4
V = RNG.standard_normal((20, 20)) / 4
X = RNG.standard_normal((30, 20))


def layer(x, w):
    out = np.zeros((x.shape[0], w.shape[0]))
    for i in range(x.shape[0]):
        out[i] = np.tanh(w @ x[i] + 1.0)
    return out


def in_place(x, w):
    for i in range(x.shape[0]):
        x[i] = np.exp(x[i]) - x[i, :]
    return x


def columns(x, w):
    for j in range(x.shape[1]):
        x[:, j] = np.exp(x[:, j]) / np.sum(np.exp(x[:, j]))
    return x


def nested(x, w):
    y = np.stack([x, x + 1.0, x - 1.0, x * 0.5])
    for r in range(y.shape[0]):
        for i in range(y.shape[1]):
            y[r, i, :] = y[r, i, :] @ V
    return y


def one_row(x, w):
    y = np.stack([x, x + 1.0])
    for i in range(y.shape[1]):
        y[1, i] = V @ y[1, i]
    return y


def two(x, w):
    y, z = np.zeros_like(x), np.ones((x.shape[0], 12))
    for i in range(x.shape[0]):
        y[i] = np.exp(x[i])
        z[i] = w @ x[i]
    return y, z


def before(x, w):
    for i in range(1, x.shape[0]):
        x[i] = np.exp(-x[i - 1])
    return x


def counting(x, w):
    for i in range(x.shape[0]):
        x[i] = np.exp(x[i] / (i + 1))
    return x


def cheap(x, w):
    for i in range(x.shape[0]):
        x[i] = x[i] + 1.0
    return x


def other_row(x, w):
    for i in range(x.shape[0]):
        x[i] = np.exp(x[i]) + x[3]
    return x


def some_rows(x, w):
    for i in range(x.shape[0] - 2):
        x[i] = np.exp(x[i])
    return x


def scalars(x, w):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        out[i] = np.sum(np.exp(x[i]))
    return out


@pytest.mark.parametrize(
    ("program", "maps"),
    [
        (layer, True), (in_place, True), (columns, True), (nested, True), (one_row, True),
        (two, True), (before, False), (counting, False), (cheap, False), (other_row, False),
        (some_rows, False), (scalars, False),
    ],
)  # fmt: skip
def test_maps_are_no_loops(program, maps):
    expected = program(X.copy(), W)
    f = rg.jit(program)
    found = f(X.copy(), W)
    for a, b in zip(*[x if isinstance(x, tuple) else (x,) for x in (found, expected)], strict=True):
        np.testing.assert_allclose(a, b, 1e-11, 1e-13)
    graph = f.graph(X, W)
    assert any([isinstance(x.op, Scan) for x in graph])
    new = rg.rewrite_graph(graph, LoopFission())
    assert any([isinstance(x.op, Scan) for x in new]) != maps
