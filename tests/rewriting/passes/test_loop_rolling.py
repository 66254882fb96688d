"""Unrolled loops become scans, with the values of the Python loop."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.ops.loops import Scan
from relgraph.rewriting.passes.loop_rolling import LoopRolling

RNG = np.random.default_rng(0)
A = RNG.standard_normal((3, 3)) / 3
B = RNG.standard_normal((60, 3))


def kalman(F, H, x, P, Y):
    states = []
    for y in Y:
        x, P = F @ x, F @ P @ F.T + np.eye(2)
        S = H @ P @ H.T + 1.0
        K = P @ H.T / S
        x, P = x + K[:, 0] * (y - (H @ x)[0]), P - K @ H @ P
        states.append(x)
    return np.stack(states)


def heat(u):
    u = u.copy()
    for _ in list(range(50)):
        u[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def written(x):
    out = np.zeros((60, 3))
    for i in list(range(60)):
        x = np.tanh(A @ x) + B[i]
        out[i] = x
    return out, x


def backward(x):
    total = np.zeros(3)
    for i in list(range(59, -1, -1)):
        total = A @ total + x[i] * (i + 0.5)
    return total


def with_constants(x):
    for i in list(range(60)):
        x = np.cos(i) * (A @ x) + np.sin(i)
    return x


def fibonacci(x):
    for i in list(range(2, 60)):
        x[i] = x[i - 1] + x[i - 2]
    return x


def with_a_tail(x):
    for i in list(range(60)):
        x = np.tanh(A @ x) + B[i]
    for _ in list(range(3)):
        x = np.linalg.inv(A) @ x
    return x


CASES = {
    "kalman": (kalman, (np.eye(2), np.ones((1, 2)), np.zeros(2), np.eye(2), B[:, 0])),
    "heat": (heat, (RNG.random(40),)),
    "written": (written, (np.ones(3),)),
    "backward": (backward, (B,)),
    "with constants": (with_constants, (np.ones(3),)),
    "fibonacci": (fibonacci, (np.ones(60),)),
    "with a tail": (with_a_tail, (np.ones(3),)),
}


def scans(graph):
    return [x for x in graph if isinstance(x.op, Scan)]


@pytest.mark.parametrize("name", CASES)
def test_a_loop_in_python_becomes_a_scan(name):
    function, args = CASES[name]
    graph = rg.jit(function).graph(*[np.array(x) for x in args])
    rolled = rg.rewrite_graph(graph, LoopRolling())
    assert len(scans(rolled)) == 1
    assert len(rolled) < len(graph) / 4
    expected = function(*[np.array(x) for x in args])
    for mode in (LoopRolling(), "o4"):
        compiled = rg.function(list(graph.inputs), list(graph.outputs), mode=mode)
        results = compiled(*args)
        for result, value in zip(
            results if isinstance(results, list) else [results],
            expected if isinstance(expected, tuple) else [expected],
            strict=False,
        ):
            np.testing.assert_allclose(result, value, rtol=1e-9, atol=1e-12)


def test_the_gradient_of_an_unrolled_loop_becomes_scans():
    def loss(x):
        for i in range(60):
            x = np.tanh(A @ x) + B[i]
        return np.sum(x**2)

    gradient = rg.grad(loss)
    graph = gradient.graph(np.ones(3))
    assert len(scans(rg.rewrite_graph(graph, LoopRolling()))) == 2
    value, step = gradient(np.ones(3)), 1e-6
    for i in range(3):
        e = np.eye(3)[i] * step
        slope = (loss(np.ones(3) + e) - loss(np.ones(3) - e)) / (2 * step)
        assert abs(slope - value[i]) < 1e-6 * max(1, abs(slope))


def test_two_loops_become_two_scans():
    def twice(x):
        for i in range(60):
            x = np.tanh(A @ x) + B[i]
        for i in range(60):
            x = np.sin(A.T @ x) * B[i]
        return x

    graph = rg.jit(twice).graph(np.ones(3))
    assert len(scans(rg.rewrite_graph(graph, LoopRolling()))) == 2
    np.testing.assert_allclose(rg.jit(twice)(np.ones(3)), twice(np.ones(3)), rtol=1e-12)


def test_loops_of_elementwise_ops_stay_kernels():
    x = rg.vector("x")
    y = x
    for _ in range(300):
        y = rg.sin(y) + x
    assert not scans(rg.rewrite_graph(rg.FunctionGraph(None, [y]), LoopRolling()))


def test_steps_that_differ_stay_as_they_are():
    matrices = rg.matrices([f"M{i}" for i in range(150)], shape=(3, 3))
    x = rg.vector("x", 3)
    for M in matrices:
        x = rg.tanh(M @ x)
    graph = rg.FunctionGraph(None, [x])
    assert rg.rewrite_graph(graph, LoopRolling()) == graph


def test_indices_that_do_not_follow_the_step_stay_as_they_are():
    def multiplied(a, b):
        for i in range(b.shape[0]):
            for j in range(b.shape[1]):
                b[i, j] += a[i + 1 :, i] @ b[i + 1 :, j]
        return b

    a, b = np.random.default_rng(4).normal(size=(2, 10, 10))
    np.testing.assert_allclose(rg.jit(multiplied)(a, b.copy()), multiplied(a, b), rtol=1e-12)


def test_bodies_of_loops_that_are_rolled_are_rewritten():
    x = rg.vector("x", shape=(20,))
    y = x
    for _ in range(60):
        y = rg.log(rg.exp(A[0, 0] * y)) / rg.sum(y)
    rewritten = rg.rewrite_graph(y, mode="fast_run")
    (scan,) = [node for node in rg.FunctionGraph(None, [rewritten]) if isinstance(node.op, Scan)]
    assert "exp" not in [node.op.name for node in scan.op.body.graph if node.op is not None]
