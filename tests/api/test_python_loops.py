"""Loops of Python over ranges in traced functions: traced once, with the results of Python."""

from __future__ import annotations

import copy
import traceback

import numpy as np
import pytest

import relgraph as rg
from relgraph.lowering.loops.build import written_loop
from relgraph.lowering.loops.text import text
from relgraph.lowering.loops.verify import verify
from relgraph.ops.loops import Scan

RNG = np.random.default_rng(21)
M = RNG.random((20, 20)) @ RNG.random((20, 20)).T + 20 * np.eye(20)


def running(x):
    total, best = 0.0, -np.inf
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        total += x[i]
        best = np.maximum(best, total)
        out[i] = best
    return out, total, best


def cholesky(A):
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])


def triangular(L, b):
    x = np.zeros_like(b)
    for i in range(L.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def backwards(L, b):
    x = np.copy(b)
    for i in range(L.shape[0] - 1, -1, -1):
        x[i] = (x[i] - L.T[i, i + 1 :] @ x[i + 1 :]) / L[i, i]
    return x


def jacobi(A, B):
    for _ in range(1, 30):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


def power(A, v):
    for _ in range(30):
        w = A @ v
        norm = np.sqrt(np.sum(w * w))
        v = w / norm
    return v, norm


def fibonacci(x):
    a, b = 0, 1
    for _ in range(50):
        a, b = b, a + b
    return a * x


def last_index(x):
    for i in range(3, 30, 4):
        x = x + x[i % 7]
    return x * i


def two_loops(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] *= 2
        for j in range(i, A.shape[1]):
            A[i, j] += 1


def of_a_view(A):
    row = A[2]
    for i in range(row.shape[0]):
        row[i] = row[i] + A[1, i] + A[2, 0]


def called(x):
    y = np.empty_like(x)
    _fill(y, x)
    return y


def _fill(y, x):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[-i - 1]


def reflected(r):
    """Durbin's recursion, with vectors that are read backwards."""
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def filtered(image):
    out = np.zeros_like(image)
    out[:, 0] = image[:, 0]
    for j in range(2, image.shape[1]):
        out[:, j] = 0.5 * image[:, j] + 0.2 * image[:, j - 1]
        out[:, j] += 0.3 * out[:, j - 1] + 0.1 * out[:, j - 2]
    return out


def swapped(u):
    new = np.copy(u)
    for _ in range(9):
        new[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u, new = new, u
    return u


def waves(ex, ey, hz, source):
    """Maxwell's equations in two dimensions, by finite differences (Yee 1966)."""
    for t in range(source.shape[0]):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def smoothed(x):
    for _ in range(9):
        x[1:] = 0.5 * (x[1:] + x[:-1])
        x[:-1] += 0.1 * x[:1]


def exchanged(x):
    for i in range(x.shape[0] - 1):
        upper = np.sin(x[i]) * x[i]
        x[i] = x[i + 1] * 0.5
        x[i + 1] = upper + x[i + 1]


def products_of_parts(A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += A[i + 1 :, i] @ B[i + 1 :, j]
    B *= 2.0


def windows(image, weights):
    out = np.empty((image.shape[0] - 2, image.shape[1] - 2, weights.shape[-1]))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            window = image[i : i + 3, j : j + 3, :, np.newaxis]
            out[i, j] = np.sum(window * weights, axis=(0, 1, 2))
    return out


def triangles(A):
    for i in range(A.shape[0]):
        A[i] += 0.1 * np.triu(A, 1)[:, i] + 0.2 * np.tril(A, -1)[i]
    return A


def turned(A):
    total = np.zeros(A.shape[-1])
    for i in range(A.shape[0]):
        total = 0.5 * total + np.flip(np.sum(A[i] * total, axis=0) + np.roll(A[i, 0], 2))
    return total


ONCE = {
    "a sum whose order changes": (turned, [RNG.random((12, 30, 6))]),
    "triangles": (triangles, [RNG.random((12, 12))]),
    "parts that neighbours fill": (waves, [*RNG.random((3, 9, 11)), RNG.random(12)]),
    "parts that overlap": (smoothed, [RNG.random(30)]),
    "rows that are read before and after": (exchanged, [RNG.random((13, 30))]),
    "products with parts of the result": (
        products_of_parts,
        [RNG.random((9, 9)), RNG.random((9, 12))],
    ),
    "windows": (windows, [RNG.random((16, 15, 3)), RNG.random((3, 3, 3, 7))]),
    "a total and an array": (running, [RNG.normal(size=40)]),
    "float32": (running, [RNG.normal(size=40).astype("float32")]),
    "loops in a loop": (cholesky, [M]),
    "slices that grow": (triangular, [np.tril(M), RNG.random(20)]),
    "a range with a negative step": (backwards, [np.tril(M), RNG.random(20)]),
    "two arrays": (jacobi, [RNG.random(50), RNG.random(50)]),
    "a value that is read after the loop": (power, [M, RNG.random(20)]),
    "Python's integers": (fibonacci, [np.ones(2)]),
    "one name for two loops": (two_loops, [RNG.random((12, 15))]),
    "slices that are read backwards": (reflected, [0.1 * RNG.random(12)]),
    "columns": (filtered, [RNG.random((9, 12))]),
    "a view": (of_a_view, [RNG.random((3, 12))]),
    "a function that is called": (called, [RNG.random(11)]),
}


def appended(x):
    parts = []
    for i in range(10):
        parts.append(x[i] * 2)
    return np.stack(parts)


def shorter(x):
    for _ in range(9):
        x = x[1:]
    return x


def wider(x):
    total = np.float32(0)
    for i in range(10):
        total = total + x[i].astype("float64") if i else x[i]
    return total


def broken(x):
    for i in range(10):
        if i == 4:
            break
        x = x + i
    return x


def few(x):
    for i in range(3):
        x = x * i
    return x


def mapped(x):
    for _ in range(20):
        x = np.sin(x) + 1
    return x


def nothing(x):
    for i in range(8, 8):
        x = x + i
    return x


IN_PYTHON = {
    "a list": (appended, [RNG.random(12)]),
    "sizes that change": (shorter, [RNG.random(30)]),
    "dtypes that change": (wider, [RNG.random(12).astype("float32")]),
    "a break": (broken, [RNG.random(3)]),
    "few iterations": (few, [RNG.random(3)]),
    "elementwise ops, which kernels fuse": (mapped, [RNG.random(300)]),
    "no iterations": (nothing, [RNG.random(3)]),
    "arrays that change places": (swapped, [RNG.random(30)]),
    "an index that is read after the loop": (last_index, [RNG.random(7)]),
}


def check(function, arrays):
    """Compare a traced function with Python, and return its graph."""
    ours, theirs = copy.deepcopy(arrays), copy.deepcopy(arrays)
    f = rg.jit(function)
    for _ in range(2):
        found, expected = f(*ours), function(*theirs)
        found, expected = [x if isinstance(x, tuple) else (x,) for x in (found, expected)]
        for a, b in zip((*found, *ours), (*expected, *theirs), strict=True):
            if b is not None:
                assert np.asarray(a).dtype == np.asarray(b).dtype
                rtol = 1e-5 if np.asarray(b).dtype == "float32" else 1e-11
                np.testing.assert_allclose(a, b, rtol=rtol)
    return f.graph(*arrays)


def scans(graph):
    return [node for node in graph if isinstance(node.op, Scan)]


@pytest.mark.parametrize("name", ONCE)
def test_a_loop_is_traced_once(name):
    function, arrays = ONCE[name]
    graph = check(function, arrays)
    assert len(scans(graph)) == 1
    assert len(graph) < 40


@pytest.mark.parametrize("name", IN_PYTHON)
def test_other_loops_run_as_in_python(name):
    function, arrays = IN_PYTHON[name]
    graph = check(function, arrays)
    assert name.startswith("an index") or not scans(graph)


@pytest.mark.parametrize(
    "name",
    [
        "columns",
        "loops in a loop",
        "two arrays",
        "parts that neighbours fill",
        "products with parts of the result",
    ],
)
def test_arrays_are_written_in_place(name):
    function, arrays = ONCE[name]
    (node,) = scans(rg.rewrite_graph(rg.jit(function).graph(*arrays)))
    loop = written_loop(node, "NAME")
    verify(loop.function)
    assert not loop.scratch


def test_closures_defaults_and_methods():
    factor = 3.0

    def scaled(x, power=2):
        for i in range(x.shape[0]):
            x[i] = x[i] * factor**power
        return x.sum()

    class Model:
        def __init__(self):
            self.weight = np.arange(9.0)

        @rg.jit
        def total(self, x):
            result = 0.0
            for i in range(x.shape[0]):
                result = result + x[i] * self.weight[i]
            return result

    x = RNG.random(9)
    assert len(scans(check(scaled, [x]))) == 1
    assert np.isclose(Model().total(x), x @ np.arange(9.0))


def test_an_error_names_the_line():
    def wrong(x):
        for i in range(10):
            x[i] = x[i] + np.ones(3)
        return x

    with pytest.raises(Exception) as raised:
        rg.jit(wrong)(np.ones(10))
    lines = [frame.line for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert "x[i] = x[i] + np.ones(3)" in lines


def test_a_function_is_unchanged_where_it_is_called_without_tracing():
    x = RNG.normal(size=12)
    expected = running(x)
    rg.jit(running)(x)
    np.testing.assert_array_equal(running(x)[0], expected[0])


def test_gradients_of_loops():
    def f(x):
        total = 0.0
        for i in range(x.shape[0]):
            total = total * 0.5 + np.sin(x[i])
        return total

    x = RNG.random(15)
    weights = 0.5 ** np.arange(14, -1, -1)
    np.testing.assert_allclose(rg.jit(rg.grad(f))(x), weights * np.cos(x), rtol=1e-12)


def test_values_that_are_stored_are_read_from_the_array():
    (node,) = scans(rg.rewrite_graph(rg.jit(jacobi).graph(np.ones(200), np.ones(200))))
    assert "stack" not in text(written_loop(node, "NAME").function)
