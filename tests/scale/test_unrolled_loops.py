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
