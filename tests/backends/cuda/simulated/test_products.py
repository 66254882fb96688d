"""Products of matrices, simulated on the device and handed to CuPy, equal NumPy's."""

import sys
import types
from functools import partial

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.cuda import products
from relgraph.errors import LinearAlgebraError, ShapeError

function = partial(rg.function, mode=None, target="cuda")

SHAPES = [
    ((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 3)), ((2, 3, 4), (4, 2)),
    ((2, 3, 4), (2, 4, 1)), ((2, 1, 2, 3), (3, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)),
    ((1, 1), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_shapes(left, right):
    x = rg.tensor("x", shape=[1 if n == 1 else None for n in left])
    y = rg.tensor("y", shape=[1 if n == 1 else None for n in right])
    f = function([x, y], x @ y)
    assert "on the CPU" not in f.source
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=left), rng.normal(size=right)
    result = f(a, b).to_host()
    assert result.shape == (a @ b).shape
    np.testing.assert_allclose(result, a @ b, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint64", "bool", "int32"])
def test_dtypes(dtype):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 2 if dtype == "bool" else 90, (3, 3)).astype(dtype) for _ in range(2))
    x, y = rg.matrix("x", dtype=dtype), rg.matrix("y", dtype=dtype)
    np.testing.assert_array_equal(function([x, y], x @ y)(a, b).to_host(), a @ b, strict=True)


def test_a_product_between_kernels():
    x, w, b = rg.matrix("x"), rg.matrix("w"), rg.vector("b")
    f = function([x, w, b], rg.tanh(2 * x @ w + b))
    rng = np.random.default_rng(2)
    a, c, d = rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), rng.normal(size=2)
    np.testing.assert_allclose(f(a, c, d).to_host(), np.tanh(2 * a @ c + d), rtol=1e-13)
    with pytest.raises(ShapeError):
        f(a, c[:3], d)


def test_sums_with_products_are_products_and_sums():
    x, y = rg.matrix("x", shape=("n", "n")), rg.matrix("y", shape=("n", "n"))
    v = rg.vector("v", shape="n")
    outputs = [2.0 * x + 3.0 * (x @ y), v + 0.5 * (x @ v), x + 2.0 * rg.outer(v, v)]
    f = rg.function([x, y, v], outputs, target="cuda")  # a mode makes calls of BLAS of these
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    expected = [2 * a + 3 * a @ b, c + 0.5 * a @ c, a + 2 * np.outer(c, c)]
    assert "on the CPU" not in f.source
    for result, value in zip(f(a, b, c), expected, strict=True):
        np.testing.assert_allclose(result.to_host(), value, rtol=1e-13)


@pytest.fixture
def stand_in(monkeypatch):
    """Put NumPy in the place of CuPy, over the simulator's memory, and note what is called."""
    from relgraph.backends.cuda.arrays import DeviceArray, flat_of

    calls = []

    def asarray(x):
        assert isinstance(x, DeviceArray)
        return flat_of(x)._ary.reshape(x.shape)

    def noted(function):
        def call(*args, **kwargs):
            calls.append(function.__name__)
            return function(*args, **kwargs)

        return call

    class Stream:
        def __init__(self, handle):
            assert isinstance(handle, int)

        def __enter__(self):
            return self

        def __exit__(self, *args):
            return None

    module = types.SimpleNamespace(
        asarray=asarray,
        matmul=noted(np.matmul),
        cuda=types.SimpleNamespace(ExternalStream=Stream),
        linalg=types.SimpleNamespace(
            **{n: noted(getattr(np.linalg, n)) for n in ("cholesky", "solve", "inv", "det")}
        ),
    )
    extra = types.ModuleType("cupyx")
    extra.errstate = lambda linalg: np.errstate()
    monkeypatch.setitem(sys.modules, "cupyx", extra)
    monkeypatch.setattr(products, "cupy", lambda: module)
    return calls


def test_cupy_computes_products_and_factorisations_on_the_same_memory(stand_in):
    x, y = rg.matrix("x", shape=("n", "n")), rg.matrix("y", shape=("n", "n"))
    la = rg.numpy.linalg
    outputs = [x @ y, la.cholesky(x), la.solve(x, y), la.inv(x), la.det(x)]
    f = function([x, y], outputs)
    assert "on the CPU" not in f.source
    rng = np.random.default_rng(4)
    b = rng.normal(size=(4, 4))
    a = b @ b.T + np.eye(4)
    expected = [a @ b, np.linalg.cholesky(a), np.linalg.solve(a, b), np.linalg.inv(a)]
    expected.append(np.linalg.det(a))
    for result, value in zip(f(a, b), expected, strict=True):
        np.testing.assert_array_equal(result.to_host(), value)
    assert sorted(stand_in) == ["cholesky", "det", "inv", "matmul", "solve"]
    with pytest.raises(LinearAlgebraError, match="Singular matrix"):
        function([x, y], la.solve(x, y))(np.array([[1.0, 2], [2, 4]]), b[:2, :2])


def test_without_cupy_factorisations_run_on_the_cpu():
    x = rg.matrix("x", shape=("n", "n"))
    with pytest.warns(RuntimeWarning, match="run on the CPU.*: inv"):
        f = function([x], rg.numpy.linalg.inv(x) @ x)
    a = np.random.default_rng(5).normal(size=(3, 3)) + 3 * np.eye(3)
    np.testing.assert_allclose(f(a).to_host(), np.eye(3), atol=1e-14)
