"""Cuts along axes, against NumPy."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ShapeError
from tests.ops.evaluation import check, typed

A = np.arange(12.0).reshape(3, 4) - 5
T = np.arange(24).reshape(2, 3, 4)


def test_cuts():
    for name, array, how in (
        ("vsplit", A, 3), ("hsplit", A, 2), ("hsplit", A[0], [1, 3]), ("dsplit", T, 2),
        ("array_split", A, 2), ("array_split", A[0], 3), ("array_split", A, [2]),
        ("array_split", A[0], 6),
    ):  # fmt: skip
        function = getattr(np, name)
        expected = function(array, how)
        assert len(function(typed("x", array), how)) == len(expected)
        for i, part in enumerate(expected):
            check(lambda x, f=function, h=how, i=i: f(x, h)[i], part, array, typings=("static",))
    check(lambda x: np.array_split(x, 3, axis=1)[0], np.array_split(A, 3, axis=1)[0], A,
          typings=("static",))  # fmt: skip
    for call in (np.vsplit, np.dsplit):
        with pytest.raises(ShapeError, match="at least"):
            call(typed("x", A[0]), 2)
    with pytest.raises(ShapeError, match="places where to cut"):
        np.array_split(rg.vector("v"), 2)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unstack(axis):
    expected = np.unstack(T, axis=axis)
    assert len(np.unstack(typed("x", T), axis=axis)) == len(expected)
    for i, part in enumerate(expected):
        check(lambda x, i=i: np.unstack(x, axis=axis)[i], part, T, typings=("static",))
    with pytest.raises(ShapeError, match="is not known"):
        np.unstack(rg.vector("v"))
