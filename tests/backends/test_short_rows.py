"""Rows of few elements of known number: kernels without a loop over them."""

import numpy as np
import pytest

import relgraph as rg

RNG = np.random.default_rng(12)
GRAPHS = {
    "sum": (lambda x, y: rg.sum(x * y, axis=1), lambda x, y: (x * y).sum(1)),
    "max": (lambda x, y: rg.max(x - y, axis=1), lambda x, y: (x - y).max(1)),
    "mean": (
        lambda x, y: (x - rg.mean(x, axis=1, keepdims=True)) * y,
        lambda x, y: (x - x.mean(1, keepdims=True)) * y,
    ),
    "softmax": (
        lambda x, y: rg.softmax(x + y),
        lambda x, y: np.exp(x + y) / np.exp(x + y).sum(1, keepdims=True),
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("n", [2, 3, 4, 7, 8, 16, 33, 64, 65, 128, 129])
def test_values_are_those_of_numpy(name, dtype, n):
    build, expected = GRAPHS[name]
    x, y = (RNG.normal(0, 3, (50, n)).astype(dtype) for _ in range(2))
    X, Y = rg.matrices("X Y", shape=(50, n), dtype=dtype)
    got = rg.function([X, Y], build(X, Y))(x, y)
    wanted = expected(x.astype("float64"), y.astype("float64"))
    np.testing.assert_allclose(got, wanted, rtol=1e-4 if dtype == "float32" else 1e-9, atol=1e-5)


def test_special_values_are_kept():
    x = np.array([[np.inf, 1.0, 2.0], [np.inf, -np.inf, 0.0], [np.nan, 1.0, 1.0], [-0.0] * 3])
    X = rg.matrix("X", shape=(4, 3))
    with np.errstate(invalid="ignore"):
        wanted = x.sum(axis=1)
    np.testing.assert_array_equal(rg.function([X], rg.sum(X, axis=1))(x), wanted)


def test_only_short_rows_of_known_length_have_kernels_of_their_own():
    def source(n):
        X = rg.matrix("X", shape=(50, n))
        return rg.function([X], rg.sum(X * X, axis=1)).source

    assert "range(8)" in source(8)
    assert "range(0, n1, 1024)" in source(65)
    assert "range(0, n1, 1024)" in source(None)


COLUMNS = {
    "sum": (lambda x: rg.sum(x * x, axis=-2), lambda x: (x * x).sum(-2)),
    "mean": (lambda x: rg.mean(x, axis=-2), lambda x: x.mean(-2)),
    "max": (lambda x: rg.max(x - 1, axis=-2), lambda x: (x - 1).max(-2)),
    "two": (
        lambda x: [rg.min(x, axis=-2), rg.sum(x, axis=-2), x * x],
        lambda x: [x.min(-2), x.sum(-2), x * x],
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
@pytest.mark.parametrize("shape", [(5000, 3), (7, 40, 2), (4, 3, 30, 5), (9, 12), (30, 13)])
def test_totals_of_few_columns_are_those_of_numpy(name, dtype, shape):
    """Few totals stay in registers."""
    build, expected = COLUMNS[name]
    x = RNG.normal(0, 3, shape).astype(dtype)
    X = rg.tensor("X", shape, dtype)
    got, wanted = rg.function([X], build(X))(x), expected(x.astype("float64"))
    for a, b in zip(*(x if isinstance(x, list) else [x] for x in (got, wanted)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4 if dtype == "float32" else 1e-9, atol=1e-5)


def test_few_totals_are_on_the_stack():
    def source(n):
        X = rg.matrix("X", shape=(50, n))
        return rg.function([X], rg.sum(X * X, axis=0)).source

    assert "stack.float64[3]" in source(3)
    assert "stack" not in source(65)
    assert "stack" not in source(None)


def test_few_columns_without_rows():
    X = rg.matrix("X", (0, 3))
    np.testing.assert_array_equal(rg.function([X], rg.sum(X, axis=0))(np.zeros((0, 3))), [0.0] * 3)
