"""Reductions that pass over NaN, against NumPy."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import DomainError, DTypeError, ShapeError
from tests.ops.evaluation import check, typed

NAN = np.nan
A = np.array([[1.5, NAN, -2.0, 4.0], [NAN, NAN, 0.25, 3.0], [8.0, NAN, -0.5, NAN]])
ARRAYS = [
    A,
    A.astype("float32"),
    np.where(np.isnan(A), np.inf, A) * [[1], [-1], [1]],
    np.nan_to_num(A).astype("int8"),
    np.nan_to_num(A).astype("int64"),
    A > 0,
    A[0],
    np.float64(NAN) * np.ones(()),
]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


KNOWN = ("static", "unknown")  # sizes that a mask of 4 columns fits


def tolerance(array):
    return 1e-6 if array.dtype == "float32" else 1e-14


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmax", "nanmin", "nanmean"])
@pytest.mark.parametrize("options", [{}, {"axis": -1}, {"axis": 0, "keepdims": True}])
def test_reductions(name, options):
    function = getattr(np, name)
    for array in ARRAYS:
        if array.ndim < 2 and options:
            continue
        rtol = tolerance(array)
        check(lambda x: function(x, **options), function(array, **options), array, rtol=rtol)


@pytest.mark.parametrize("name", ["nanvar", "nanstd"])
@pytest.mark.parametrize("options", [
    {}, {"axis": 0}, {"axis": 1, "ddof": 1}, {"axis": (0, 1), "keepdims": True},
    {"axis": 0, "correction": 2},
])  # fmt: skip
def test_spread(name, options):
    function = getattr(np, name)
    for array in ARRAYS:
        if array.dtype == "bool" or (array.ndim < 2 and options):
            continue
        if array.dtype.kind == "i" and array.shape[0] <= options.get("correction", 0):
            continue
        expected = function(array, **options)
        check(lambda x: function(x, **options), expected, array, rtol=tolerance(array))


@pytest.mark.parametrize("name", ["nancumsum", "nancumprod"])
def test_cumulative(name):
    function = getattr(np, name)
    for array in ARRAYS:
        for options in ({}, {"axis": 0}, {"axis": -1, "dtype": "float64"}):
            if array.ndim < 1 and options:
                continue
            check(lambda x, o=options: function(x, **o), function(array, **options), array)


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin"])
def test_places(name):
    function = getattr(np, name)
    for array in (A[:, [0, 2, 3]], A[0], np.nan_to_num(A).astype("int8")):
        check(function, function(array), array)
        check(lambda x: function(x, axis=-1), function(array, axis=-1), array)
    compiled = rg.jit(lambda x: function(x, axis=0))
    assert compiled(A[:, ::2]).tolist() == function(A[:, ::2], axis=0).tolist()
    with pytest.raises(DomainError, match="are NaN"):
        compiled(A)


def test_parameters():
    mask = np.array([[True, True, False, True]])
    for name in ("nansum", "nanprod"):
        function = getattr(np, name)
        for options in ({"dtype": "float32"}, {"initial": 3.0, "axis": 0}, {"where": mask}):
            check(
                lambda x, f=function, o=options: f(x, **o), function(A, **options), A, typings=KNOWN
            )
    for name in ("nanmax", "nanmin"):
        function = getattr(np, name)
        for options in ({"initial": 2.0, "axis": 0}, {"initial": 1.0, "where": mask}):
            check(
                lambda x, f=function, o=options: f(x, **o), function(A, **options), A, typings=KNOWN
            )
    for options in ({"dtype": "float32", "axis": 0}, {"where": mask}):
        check(lambda x, o=options: np.nanmean(x, **o), np.nanmean(A, **options), A, typings=KNOWN)
    with pytest.raises(DTypeError, match="a float dtype, not int64"):
        np.nanmean(typed("x", A), dtype="int64")


def test_no_elements():
    empty = np.zeros((0, 3))
    for name in ("nansum", "nanprod", "nanmean", "nanvar"):
        function = getattr(np, name)
        check(function, function(empty), empty)
        check(lambda x, f=function: f(x, axis=0), function(empty, axis=0), empty)
    check(np.nancumsum, np.nancumsum(empty), empty)
    check(lambda x: np.nanmax(x, axis=1), np.nanmax(empty, axis=1), empty)
    with pytest.raises(ShapeError, match="size 0"):
        np.nanmax(typed("x", empty))


def test_reductions_of_ufuncs_and_compiled_ones():
    check(np.fmax.reduce, np.fmax.reduce(A), A)
    check(lambda x: np.fmin.reduce(x, axis=None), np.fmin.reduce(A, axis=None), A)

    def summary(x):
        return np.nanmean(x, axis=1), np.nanstd(x, axis=1), np.nanmax(x, axis=0), np.nansum(x)

    for got, expected in zip(rg.jit(summary)(A), (
        np.nanmean(A, axis=1), np.nanstd(A, axis=1), np.nanmax(A, axis=0), np.nansum(A),
    ), strict=True):  # fmt: skip
        np.testing.assert_allclose(got, expected, rtol=1e-14)
