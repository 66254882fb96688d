"""Loops unrolled into a graph: compiling takes work in proportion to their steps."""

import numpy as np
import pytest

import relgraph as rg
from tests.scale.calls import calls

NEARLY_LINEAR = 2.3  # times the work for twice the steps


def filtered(steps, arrays):
    """Return the state and its covariance after steps of a Kalman filter."""
    F, H, Q, R, z, x, P = arrays
    for t in range(steps):
        x, P = F @ x, F @ P @ F.T + Q
        S = H @ P @ H.T + R
        K = np.linalg.solve(S, H @ P).T
        x = x + K @ (z[t] - H @ x)
        P = P - K @ H @ P
    return x, P


SHAPES = {"F": (4, 4), "H": (2, 4), "Q": (4, 4), "R": (2, 2), "z": (), "x": (4,), "P": (4, 4)}


def kalman(steps, **options):
    shapes = {**SHAPES, "z": (steps, 2)}
    inputs = [rg.tensor(f"{name}{steps}", shape) for name, shape in shapes.items()]
    return rg.function(inputs, list(filtered(steps, inputs)), **options)


def observations(steps):
    draw = np.random.default_rng(steps)
    F = np.eye(4) + 0.1 * np.eye(4, k=2)
    return [
        F, np.eye(2, 4), 0.01 * np.eye(4), 0.1 * np.eye(2),
        draw.normal(size=(steps, 2)), np.zeros(4), np.eye(4),
    ]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"mode": None}, {"target": "numpy"}])
def test_a_kalman_filter_compiles_in_linear_work(options):
    kalman(10, **options)
    _, work = calls(lambda: kalman(25, **options))
    f, twice = calls(lambda: kalman(50, **options))
    assert twice < NEARLY_LINEAR * work
    arrays = observations(50)
    for result, expected in zip(f(*arrays), filtered(50, arrays), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-12)


def test_a_traced_kalman_filter_compiles_in_linear_work():
    def compiled(steps):
        f = rg.jit(lambda *arrays: filtered(steps, arrays))
        return f(*observations(steps))

    compiled(10)
    _, work = calls(compiled, 25)
    result, twice = calls(compiled, 50)
    assert twice < NEARLY_LINEAR * work
    for x, expected in zip(result, filtered(50, observations(50)), strict=True):
        np.testing.assert_allclose(x, expected, rtol=1e-9, atol=1e-12)


def shortest(steps, path):
    """Return the lengths of paths through the first nodes, by Floyd and Warshall."""
    for k in range(steps):
        path = np.minimum(path, path[:, k][:, None] + path[k])
    return path


@pytest.mark.parametrize("mode", ["fast_compile", "fast_run", "o4"])
def test_shortest_paths_compile_and_run_in_linear_work(mode):
    def compiled(steps):
        path = rg.matrix(f"path{steps}", shape=(64, 64))
        return rg.function([path], shortest(steps, path), mode=mode)

    compiled(4)
    f, work = calls(compiled, 16)
    g, twice = calls(compiled, 32)
    assert twice < NEARLY_LINEAR * work
    lengths = np.random.default_rng(0).uniform(size=(64, 64))
    np.testing.assert_array_equal(f(lengths), shortest(16, lengths))
    np.testing.assert_array_equal(g(lengths), shortest(32, lengths))
    assert (
        g.source.count("    rgk_") <= 2 * f.source.count("    rgk_") <= 4 * 16
    )  # calls of kernels


@pytest.mark.parametrize("mode", ["fast_run", "o4"])
def test_values_read_from_every_step_add_linear_work(mode):
    x = rg.matrix("x", shape=(32, 32))
    read = []
    for _ in range(40):
        x = rg.sin(x) + 1.0
        read.append((x * 2.0)[0])
    graph = rg.FunctionGraph(None, [x, *read])
    assert len(rg.rewrite_graph(graph, mode=mode)) <= len(graph)
