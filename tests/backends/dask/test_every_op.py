"""Every op on arrays in random blocks computes what it computes on whole arrays."""

import numpy as np
import pytest

import relgraph as rg
from tests.backends.dask.divisions import divided
from tests.backends.test_every_op import (
    CLOSE,
    EXACT,
    SHAPES,
    SQUARE,
    assert_close,
    elements,
    meanings,
    through,
)

dask = pytest.importorskip("dask")


@pytest.fixture(autouse=True)
def synchronous():
    """Run tasks one after another in this thread."""
    with dask.config.set(scheduler="synchronous"):
        yield


def compiled(table, inputs):
    """Compile each application alone, and of operands that tasks compute and into a task."""
    functions = {}
    for key, (graph, _) in table.items():
        outputs = {key: graph(*inputs)}
        outputs[f"{key}, between tasks"] = through(graph(*map(through, inputs)))
        functions[key] = rg.function(inputs, outputs, mode=None, target="dask")
    return functions


def results(functions, rng, arrays):
    """Call the functions on arrays in random blocks, and check what they say of the results."""
    values = {}
    for f in functions.values():
        lazy = f(*[divided(rng, x) for x in arrays])
        for key, x in lazy.items():
            with np.errstate(all="ignore"):
                values[key] = x.compute()
            assert values[key].dtype == x.dtype, key
            sizes = zip(values[key].shape, x.shape, strict=True)
            assert all(size == n or np.isnan(n) for size, n in sizes), key
    return values


@pytest.mark.parametrize("dtype", ["float64", "int8"])
def test_what_is_exact_equals_numpy(dtype):
    x, y = rg.matrices("x y", shape=("m", "n"), dtype=dtype)
    v, k = rg.vector("v", shape=("n",), dtype=dtype), rg.vector("k", shape=(None,), dtype="int64")
    functions = compiled(EXACT, [x, y, v, k])
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        arrays = [elements(dtype, s, rng) for s in (shape, shape, shape[1])]
        arrays.append(rng.integers(-shape[0], shape[0], min(shape[0], 4)))
        values = results(functions, rng, arrays)
        for key, expected in meanings(EXACT, arrays):
            key = key.replace("kernels", "tasks")
            assert (values[key].dtype, values[key].shape) == (expected.dtype, expected.shape), key
            np.testing.assert_array_equal(values[key], expected, err_msg=f"{key} {shape}")


def test_what_is_rounded_is_close_to_numpy():
    x, y = rg.matrices("x y", shape=("m", "n"))
    functions = compiled(CLOSE, [x, y, rg.vector("v", shape=("n",))])
    rng = np.random.default_rng(2)
    for shape in ((3, 4), (1, 1), (1, 5), (5, 1), (33, 70)):
        arrays = [rng.normal(size=s) for s in (shape, shape, shape[1])]
        values = results(functions, rng, arrays)
        for key, expected in meanings(CLOSE, arrays):
            assert_close(values[key.replace("kernels", "tasks")], expected, key)


def test_linear_algebra_is_close_to_numpy_and_scipy():
    a, s = rg.matrices("a s", shape=("n", "n"))
    functions = compiled(SQUARE, [a, s, rg.vector("v", shape=("n",))])
    rng = np.random.default_rng(3)
    for n in (1, 2, 7):
        a = rng.normal(size=(n, n)) / n + 2 * np.eye(n)
        arrays = [a, a @ a.T, rng.normal(size=n)]
        values = results(functions, rng, arrays)
        for key, expected in meanings(SQUARE, arrays):
            result = values[key.replace("kernels", "tasks")]
            if key.startswith("QR"):  # the rows of R may have either sign
                result, expected = np.abs(result), np.abs(expected)
            assert_close(result, expected, key)


def test_elementwise_ops_and_reductions_of_every_axis():
    x = rg.tensor("x", shape=("a", "b", "c"))
    rng = np.random.default_rng(4)
    array = rng.normal(size=(5, 4, 6))
    axes = [None, 0, 1, 2, (0, 1), (1, 2), (0, 2)]
    names = ["sum", "prod", "max", "min", "mean", "any", "all"]
    pairs = [(name, axis, keep) for name in names for axis in axes for keep in (False, True)]
    outputs = [getattr(rg, name)(x, axis=axis, keepdims=keep) for name, axis, keep in pairs]
    f = rg.function([x], outputs, mode=None, target="dask")
    for _ in range(4):
        for (name, axis, keep), value in zip(pairs, f.compute(divided(rng, array)), strict=True):
            expected = getattr(np, name)(array, axis=axis, keepdims=keep)
            np.testing.assert_allclose(value, expected, rtol=1e-12, err_msg=f"{name} {axis}")


@pytest.mark.parametrize("axis", [0, 1])
def test_cumulative_ops_along_divided_axes(axis):
    rng = np.random.default_rng(5)
    array = rng.normal(size=(9, 5))
    x = rg.matrix("x")
    outputs = [op(x, axis=axis) for op in (rg.cumsum, rg.cumprod, rg.cummax, rg.cummin)]
    values = rg.function([x], outputs, mode=None, target="dask").compute(divided(rng, array))
    ufuncs = (np.add, np.multiply, np.maximum, np.minimum)
    for value, ufunc in zip(values, ufuncs, strict=True):
        np.testing.assert_allclose(value, ufunc.accumulate(array, axis=axis), rtol=1e-12)
