"""Reversals, quarter turns and moved axes, against NumPy."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DomainError, ShapeError
from tests.ops.evaluation import check, typed

A = np.arange(12.0).reshape(3, 4) - 5
T = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize("k", [-5, -1, 0, 1, 2, 3, 4])
def test_rot90(k):
    for array in (A, A[:0], A > 0):
        check(lambda x: np.rot90(x, k), np.rot90(array, k), array)
    for axes in ((1, 2), (2, 0), (-1, 1)):
        check(lambda x, a=axes: np.rot90(x, k, a), np.rot90(T, k, axes), T)


def test_reversals():
    for array in (A, A[:, :1], T, A[:0]):
        check(np.fliplr, np.fliplr(array), array)
        check(np.flipud, np.flipud(array), array)
    check(np.flipud, np.flipud(A[0]), A[0])
    with pytest.raises(ShapeError, match="at least 2 dimensions"):
        np.fliplr(typed("x", A[0]))
    with pytest.raises(DomainError, match="two different axes"):
        np.rot90(typed("x", A), 1, (0, -2))
    with pytest.raises(ArgumentError, match="two axes, not 3") as caught:
        np.rot90(typed("x", A), axes=3)
    assert str(caught.value).endswith("Write them as a pair: axes=(0, 1).")


@pytest.mark.parametrize(("axis", "start"), [(2, 0), (0, 3), (0, 2), (-1, 1), (1, 1), (2, -2)])
def test_rollaxis(axis, start):
    check(lambda x: np.rollaxis(x, axis, start), np.rollaxis(T, axis, start), T)


def test_they_trace_and_compile():
    def turned(x):
        return np.rot90(x), np.fliplr(x), np.rollaxis(x, 1)

    for got, expected in zip(rg.jit(turned)(A), turned(A), strict=True):
        np.testing.assert_array_equal(got, expected, strict=True)
