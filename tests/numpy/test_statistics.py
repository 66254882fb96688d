"""Averages, ranges, counts and covariances, against NumPy."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.evaluation import TYPINGS, check, typed

A = np.random.default_rng(0).standard_normal((3, 5))
WHOLE = np.arange(15).reshape(3, 5) % 7 - 3
WEIGHTS = np.array([0.5, 1.0, 2.0, 0.25, 3.0])
ARRAYS = [A, A.astype("float32"), WHOLE, WHOLE.astype("int8"), WHOLE.astype("uint8") % 5]


def tolerance(array):
    return 1e-5 if array.dtype == "float32" else 1e-13


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}])
@pytest.mark.parametrize("name", ["ptp", "count_nonzero"])
def test_of_any_dtype(name, options):
    function = getattr(np, name)
    for array in (*ARRAYS, np.where(A > 1, np.nan, A)):
        check(lambda x: function(x, **options), function(array, **options), array)


def test_counts_and_ranges_at_the_edges():
    check(np.count_nonzero, np.count_nonzero(A > 0), A > 0)
    check(np.count_nonzero, 0, A[:0])
    check(np.count_nonzero, 1, np.array(2.0))
    with pytest.raises(ShapeError, match="size 0"):
        np.ptp(typed("x", A[:0]))
    with pytest.raises(DTypeError):
        np.ptp(typed("x", A > 0))


@pytest.mark.parametrize(("axis", "weights"), [
    (None, None), (1, None), (1, WEIGHTS), (-1, WEIGHTS.astype("float32")), (0, [1, 2, 3]),
    (None, np.abs(A)), ((0, 1), np.abs(A)), ((1, 0), np.abs(A.T)), (0, np.abs(A)),
])  # fmt: skip
def test_average(axis, weights):
    arrays = [] if weights is None else [np.asarray(weights)]
    turned = ("static", "named")  # whose sizes say that weights are to be transposed
    typings = turned if axis == (1, 0) else TYPINGS
    for array in (*ARRAYS, WHOLE > 0):
        rtol = max(map(tolerance, (array, *arrays)))
        for options in ({}, {"keepdims": True}):
            expected = np.average(array, axis, *arrays, returned=True, **options)
            for part in (0, 1):
                check(
                    lambda x, *w, p=part, o=options: np.average(x, axis, *w, returned=True, **o)[p],
                    expected[part], array, *arrays, rtol=rtol, typings=typings,
                )  # fmt: skip
            check(lambda x, *w, o=options: np.average(x, axis, *w, **o), expected[0], array,
                  *arrays, rtol=rtol, typings=typings)  # fmt: skip


def test_weights_that_do_not_fit():
    x = typed("x", A)
    for wrong in ({"weights": WEIGHTS}, {"weights": A[:1]}, {"axis": 0, "weights": [2.0]}):
        with pytest.raises(ShapeError, match="of its axes"):
            np.average(x, **wrong)


@pytest.mark.parametrize("options", [
    {}, {"bias": True}, {"ddof": 0}, {"ddof": 2}, {"rowvar": False}, {"dtype": "float32"},
    {"fweights": np.array([1, 2, 0, 3, 1])}, {"aweights": WEIGHTS},
    {"fweights": np.array([1, 2, 0, 3, 1]), "aweights": WEIGHTS, "ddof": 1},
    {"aweights": WEIGHTS, "bias": True},
])  # fmt: skip
def test_cov(options):
    typings = ("static",) if len(options) and "weights" in str(options) else ("static", "named")
    for array in (A, A.astype("float32"), WHOLE, A[0], A[:1]):
        if "rowvar" in options and array.size == 5:  # one observation
            continue
        expected = np.cov(array, **options)
        kinds = ("static",) if array.shape[0] == 1 else typings
        check(lambda x: np.cov(x, **options), expected, array, typings=kinds, rtol=1e-5)
        check(lambda x: np.cov(x, **options), expected, array, typings=("static",),
              rtol=1e-5 if "float32" in str(options) else 1e-12)  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy's division by no weight
@pytest.mark.parametrize("options", [
    {"fweights": np.array([1, 2, 0, 3, 1])}, {"aweights": WEIGHTS},
    {"fweights": np.array([1, 2, 0, 3, 1]), "aweights": WEIGHTS, "dtype": "float32"},
])  # fmt: skip
def test_cov_of_no_variables(options):
    expected = np.cov(A[:0], **options)
    assert expected.shape == (0, 0)
    check(lambda x: np.cov(x, **options), expected, A[:0], typings=("static", "unknown"))


def test_cov_of_two():
    expected = np.cov(A, A**2)
    check(np.cov, expected, A, A**2, rtol=1e-12)
    check(np.cov, np.cov(A[0], A[1]), A[0], A[1], rtol=1e-12)
    check(lambda x, y: np.cov(x, y, rowvar=False), np.cov(A.T, A.T**2, rowvar=False), A.T, A.T**2,
          rtol=1e-12)  # fmt: skip
    with pytest.raises(ShapeError, match="a vector or a matrix"):
        np.cov(typed("x", np.ones((2, 3, 4))))
    with pytest.raises(DTypeError, match="are integers, not float64"):
        np.cov(typed("x", A), fweights=WEIGHTS)


def test_corrcoef():
    for array in (A, WHOLE, A.astype("float32")):
        check(np.corrcoef, np.corrcoef(array), array, rtol=1e-12)
        check(lambda x: np.corrcoef(x, rowvar=False), np.corrcoef(array, rowvar=False), array,
              rtol=1e-5)  # fmt: skip
    check(np.corrcoef, np.corrcoef(A[0]), A[0], rtol=1e-12)
    check(np.corrcoef, np.corrcoef(A[0], A[1]), A[0], A[1], rtol=1e-12)


@pytest.mark.parametrize("axis", [-1, 0])
def test_trapezoid(axis):
    for array in (A, A.astype("float32"), WHOLE, A[:1]):
        rtol = tolerance(array)
        places = np.arange(array.shape[axis]) ** 2 / 3
        check(lambda y: np.trapezoid(y, axis=axis), np.trapezoid(array, axis=axis), array,
              rtol=rtol)  # fmt: skip
        check(lambda y: np.trapezoid(y, dx=0.5, axis=axis), np.trapezoid(array, dx=0.5, axis=axis),
              array, rtol=rtol)  # fmt: skip
        check(lambda y, x: np.trapezoid(y, x, axis=axis), np.trapezoid(array, places, axis=axis),
              array, places, rtol=rtol)  # fmt: skip
    whole = np.cumsum(np.abs(A), axis=axis)
    check(lambda y, x: np.trapezoid(y, x, axis=axis), np.trapezoid(A, whole, axis=axis), A, whole,
          rtol=1e-13)  # fmt: skip


def test_they_trace_and_compile():
    def summary(x, w):
        return np.average(x, axis=1, weights=w), np.cov(x), np.count_nonzero(x > 0), np.ptp(x)

    for got, expected in zip(rg.jit(summary)(A, WEIGHTS), summary(A, WEIGHTS), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    with pytest.raises(ArgumentError, match="does not take out="):
        np.ptp(typed("x", A), out=np.zeros(()))
