"""Differences that approximate derivatives, against NumPy."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DomainError, DTypeError, ShapeError
from tests.ops.evaluation import check, typed

A = np.random.default_rng(0).standard_normal((4, 5))
WHOLE = (np.arange(20).reshape(4, 5) * 7) % 11
ROWS, COLUMNS = np.array([0.0, 1.0, 3.0, 3.5]), np.array([1.0, 2.0, 4.0, 8.0, 9.0])
ARRAYS = [A, A.astype("float32"), WHOLE, WHOLE.astype("uint8")]


def rtol(array):
    return 1e-5 if array.dtype == "float32" else 1e-12


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("distances", [
    (), (2,), (0.5, 3.0), (ROWS, COLUMNS), (ROWS, 2.0), (np.arange(4), np.arange(5) * 2),
])  # fmt: skip
def test_of_all_axes(distances, order):
    typings = ("static", "unknown") if distances and np.ndim(distances[0]) else None
    for array in ARRAYS:
        options = {"typings": typings} if typings else {}
        for part in (0, 1):
            expected = np.gradient(array, *distances, edge_order=order)[part]
            check(
                lambda x, p=part: np.gradient(x, *distances, edge_order=order)[p],
                expected, array, rtol=rtol(array), **options,
            )  # fmt: skip


@pytest.mark.parametrize("order", [1, 2])
def test_of_some_axes(order):
    for axis, points in ((0, ROWS), (-1, COLUMNS), ((1,), 0.25)):
        options = {"axis": axis, "edge_order": order}
        check(lambda x, o=options: np.gradient(x, **o), np.gradient(A, **options), A, rtol=1e-12)
        expected = np.gradient(A, points, **options)
        check(lambda x, p, o=options: np.gradient(x, p, **o), expected, A, np.asarray(points),
              rtol=1e-12)  # fmt: skip
    short = A[0, : order + 1]
    check(lambda x: np.gradient(x, edge_order=order), np.gradient(short, edge_order=order), short,
          rtol=1e-12)  # fmt: skip


def test_what_is_wrong_is_told():
    x = typed("x", A)
    for call, error, text in (
        (lambda: np.gradient(x, edge_order=3), DomainError, "1 or 2, not 3"),
        (lambda: np.gradient(x, 1, 2, 3), ArgumentError, "one for each axis"),
        (lambda: np.gradient(x, A, axis=0), ArgumentError, "coordinates as vectors"),
        (lambda: np.gradient(x, ROWS, axis=1), ShapeError, "as many coordinates"),
        (lambda: np.gradient(x[:1], axis=0), ShapeError, "at least 2 points"),
        (lambda: np.gradient(x, axis=(0, -2)), DomainError, "given twice"),
        (lambda: np.gradient(typed("b", A > 0)), DTypeError, "subtract"),
    ):
        with pytest.raises(error, match=text):
            call()


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_too_few_points_of_an_unknown_size_are_told_at_the_call(order, target):
    x = rg.vector("x")
    f = rg.function([x], np.gradient(x, edge_order=order), target=target)
    points = np.array([1.0, 4.0, 9.0])
    np.testing.assert_allclose(f(points), np.gradient(points, edge_order=order), rtol=1e-12)
    for size in range(order + 1):
        with pytest.raises(ValueError, match="array too small"):
            np.gradient(points[:size], edge_order=order)
        with pytest.raises(ShapeError, match=f"needs at least {order + 1} points along axis 0"):
            f(points[:size])


def test_it_traces_and_compiles():
    def slopes(y, x):
        return np.gradient(y, x), np.gradient(y, 0.5, edge_order=2)

    y = A[0]
    for got, expected in zip(rg.jit(slopes)(y, COLUMNS), slopes(y, COLUMNS), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)
