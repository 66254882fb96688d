"""Ops that go to NVIDIA's libraries through CuPy, with NumPy and SciPy in CuPy's place.

The simulator's memory is the CPU's, so what CuPy would be handed, NumPy can compute on.
"""

import sys
import types
from functools import partial

import numpy as np
import pytest
import scipy.linalg

import relgraph as rg
from relgraph.backends.cuda import expansion, indexed, libraries, products
from relgraph.backends.cuda.arrays import DeviceArray, flat_of
from relgraph.errors import LinearAlgebraError, ShapeError
from relgraph.ops.indexing.update import at
from relgraph.ops.sorting import argsort, sort

function = partial(rg.function, mode=None, target="cuda")
la = rg.numpy.linalg


class Stream:
    """In the place of ``cupy.cuda.Stream``."""

    null: "Stream"

    @classmethod
    def from_external(cls, stream):
        version, handle = stream.__cuda_stream__()
        assert version == 0
        assert handle > 2
        return cls()

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return None


Stream.null = Stream()


def solve_triangular(a, b, trans, lower, unit_diagonal):
    """Solve as CuPy does: each matrix of a batch, which a and b share."""
    assert a.shape[:-1] == b.shape[:-1]
    result = np.empty_like(b)
    for k in np.ndindex(*a.shape[:-2]):
        result[k] = scipy.linalg.solve_triangular(a[k], b[k], trans, lower, unit_diagonal)
    return result


def array_of(device_array):
    assert isinstance(device_array, DeviceArray)
    return flat_of(device_array)._ary.reshape(device_array.shape)


def from_cupy(value, dtype, stream):
    from numba import cuda

    flat = cuda.to_device(np.ascontiguousarray(value, dtype).reshape(-1))
    return DeviceArray(flat, tuple(np.shape(value)), dtype, flat, stream)


@pytest.fixture
def calls(monkeypatch):
    """Put NumPy in the place of CuPy, and note the names of what is called."""
    found = []

    def noted(name, function):
        def call(*args, **kwargs):
            found.append(name)
            return function(*args, **kwargs)

        return call

    class Module:
        cuda = types.SimpleNamespace(Stream=Stream)

        def __init__(self, module):
            self._module = module

        def __getattr__(self, name):
            if name == "linalg":
                return Module(np.linalg)
            value = getattr(self._module, name)
            return noted(name, value) if callable(value) else value

    extra = types.ModuleType("cupyx")
    extra.errstate = lambda linalg: np.errstate()
    linalg = types.ModuleType("cupyx.scipy.linalg")
    linalg.solve_triangular = noted("solve_triangular", solve_triangular)
    linalg.lu_factor = noted("lu_factor", scipy.linalg.lu_factor)
    linalg.lu_solve = noted("lu_solve", scipy.linalg.lu_solve)
    for name, module in {
        "": extra,
        ".scipy": types.ModuleType("s"),
        ".scipy.linalg": linalg,
    }.items():
        monkeypatch.setitem(sys.modules, f"cupyx{name}", module)
    cupy = Module(np)
    for place in (libraries, products, indexed, expansion):
        monkeypatch.setattr(place, "cupy", lambda: cupy)
        for name, value in (("view", array_of), ("from_cupy", from_cupy)):
            if hasattr(place, name):
                monkeypatch.setattr(place, name, value)
    return found


def spd(n, *batch):
    b = np.random.default_rng(4).normal(size=(*batch, n, n))
    return b @ b.swapaxes(-1, -2) + np.eye(n)


def check(f, arrays, expected, rtol=1e-12):
    assert "on the CPU" not in f.source
    results = f(*arrays)
    for result, value in zip(results, expected, strict=True):
        assert isinstance(result, DeviceArray)
        np.testing.assert_allclose(result.to_host(), value, rtol=rtol, atol=1e-13)


def test_products_and_factors(calls):
    x, y = rg.matrix("x", shape=("n", "n")), rg.matrix("y", shape=("n", "n"))
    outputs = [x @ y, la.cholesky(x), rg.cholesky(x, lower=False), la.inv(x), la.det(x)]
    a, b = spd(4), np.random.default_rng(5).normal(size=(4, 4))
    lower = np.linalg.cholesky(a)
    expected = [a @ b, lower, lower.T, np.linalg.inv(a), np.linalg.det(a)]
    check(function([x, y], outputs), (a, b), expected)
    assert {"matmul", "cholesky", "inv", "det"} <= set(calls)


@pytest.mark.parametrize("batch", [(), (2,)])
def test_systems(calls, batch):
    x = rg.tensor("x", shape=(*["k"] * len(batch), "n", "n"))
    y, v = rg.matrix("y", shape=("n", 2)), rg.vector("v", shape="n")
    outputs = [
        la.solve(x, y), la.solve(x, v), rg.solve(x, y, assume="spd"),
        rg.solve_triangular(x, y), rg.solve_triangular(x, v, lower=True, trans=1),
        rg.solve_triangular(x, y, unit_diagonal=True), rg.cho_solve((x, True), y),
        rg.cho_solve((x, False), v),
    ]  # fmt: skip
    a, b = spd(4, *batch), np.random.default_rng(6).normal(size=(4, 2))
    c = b[:, 0]
    ones = np.triu(a, 1) + np.eye(4)
    low, up = np.tril(a), np.triu(a)
    turned = a.swapaxes(-1, -2)
    expected = [
        np.linalg.solve(a, b), np.linalg.solve(a, c), np.linalg.solve(a, b),
        np.linalg.solve(up, b), np.linalg.solve(low.swapaxes(-1, -2), c),
        np.linalg.solve(ones, b), np.linalg.solve(low @ np.triu(turned), b),
        np.linalg.solve(np.tril(turned) @ up, c),
    ]  # fmt: skip
    check(function([x, y, v], outputs), (a, b, c), expected, rtol=1e-10)
    assert {"solve", "cholesky", "solve_triangular"} <= set(calls)
    singular = np.ones_like(a)
    with pytest.raises(LinearAlgebraError, match=r"[Ss]ingular"):
        function([x, y], la.solve(x, y))(singular, b)


def test_several_results_stay_on_the_device(calls):
    x = rg.matrix("x", shape=("n", "n"))
    outputs = [
        *rg.eigh(x), rg.eigvalsh(x), *rg.svd(x), *rg.qr(x), *rg.slogdet(x), *rg.lu_factor(x),
        rg.lu_solve(rg.lu_factor(x), x),
    ]  # fmt: skip
    f = function([x], outputs)
    a = spd(4)
    expected = [
        *np.linalg.eigh(a), np.linalg.eigvalsh(a), *np.linalg.svd(a), *np.linalg.qr(a),
        *np.linalg.slogdet(a), *scipy.linalg.lu_factor(a), np.eye(4),
    ]  # fmt: skip
    check(f, (a,), expected)
    assert {"eigh", "eigvalsh", "svd", "qr", "slogdet", "lu_factor", "lu_solve"} <= set(calls)
    assert rg.cuda.to_host(f(a)[-2]).dtype == np.int32


def test_sorts_contractions_and_triangles(calls):
    x, y = rg.matrix("x", shape=("n", "n")), rg.matrix("y", shape=("n", "n"))
    outputs = [
        sort(x), argsort(x, axis=0), rg.einsum("ij,kj,k->i", x, y, y[0]), rg.tril(x), rg.triu(x, 1),
        rg.trace(x), rg.diag(x[0], 1), rg.kron(x, y), x[x > 0], at(x)[x > 0].add(1.0),
    ]  # fmt: skip
    a, b = np.random.default_rng(7).normal(size=(2, 3, 3))
    added = a + (a > 0)
    expected = [
        np.sort(a), np.argsort(a, 0), np.einsum("ij,kj,k->i", a, b, b[0]),
        np.tril(a), np.triu(a, 1), np.trace(a),
        np.diag(a[0], 1), np.kron(a, b), a[a > 0], added,
    ]  # fmt: skip
    check(function([x, y], outputs), (a, b), expected)
    assert {"sort", "argsort", "einsum", "flatnonzero"} <= set(calls)


def test_what_a_library_does_not_compute_numpy_does(calls):
    x, n = rg.matrix("x", shape=("n", "n")), rg.matrix("n", dtype="int64")
    f = function([x, n], [la.inv(n), sort(x), la.det(x)])
    a = np.array([[2, 0], [0, 4]])
    inverse, empty, one = rg.cuda.to_host(f(np.ones((0, 0)), a))
    np.testing.assert_array_equal(inverse, np.linalg.inv(a))
    assert (empty.shape, one) == ((0, 0), 1.0)
    y = rg.matrix("y")
    with pytest.raises((LinearAlgebraError, ShapeError)):
        function([x, y], la.solve(x, y))(np.eye(2), np.ones((3, 1)))


def test_products_are_called_between_the_graphs_of_a_recorded_call(calls):
    x, w = rg.matrix("x"), rg.matrix("w")
    f = function([x, w], rg.tanh(rg.exp(x) @ w) @ w)
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    recorded = f.capture(a, b)
    before = len(calls)
    for _ in range(2):
        a, b = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
        np.testing.assert_allclose(recorded(a, b).to_host(), np.tanh(np.exp(a) @ b) @ b, rtol=1e-12)
    assert calls[before:] == ["matmul"] * 4


def test_without_cupy_factors_are_computed_on_the_cpu():
    x = rg.matrix("x", shape=("n", "n"))
    with pytest.warns(RuntimeWarning, match="run on the CPU.*: inv"):
        f = function([x], la.inv(x) @ x)
    a = np.random.default_rng(5).normal(size=(3, 3)) + 3 * np.eye(3)
    np.testing.assert_allclose(f(a).to_host(), np.eye(3), atol=1e-14)
