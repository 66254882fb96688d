"""Sorts, and the quantiles composed of them, against NumPy."""

import warnings

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.errors import ArgumentError, DomainError, DTypeError, ShapeError
from relgraph.ops.sorting import Argsort, Sort
from tests.ops.evaluation import Term, check, typed

RNG = np.random.default_rng(0)
A = RNG.standard_normal((4, 5))
WHOLE = RNG.integers(-9, 9, (4, 5))
WITH_NAN = np.where(A > 1.0, np.nan, A)
ARRAYS = [
    A, A.astype("float32"), WITH_NAN, WITH_NAN.astype("float32"), WHOLE, WHOLE.astype("int8"),
    np.abs(WHOLE).astype("uint64"), WHOLE.astype("int32"),
]  # fmt: skip
INFINITE = np.array([[np.inf, 1.0, -np.inf, 2.0], [np.nan, -np.inf, np.inf, 0.0]])
AXES = [None, 0, 1, -1, (0, 1), (1, 0), (1,), ()]


def tolerance(array):
    return 1e-6 if array.dtype == "float32" else 1e-14


# Sorts.


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_sorts_of_any_dtype(axis):
    for array in (*ARRAYS, A > 0, INFINITE, A[:0], A[:, :0], A[:1]):
        check(lambda x: np.sort(x, axis), np.sort(array, axis), array)
        check(
            lambda x: np.argsort(x, axis), np.argsort(array, axis, stable=True), array
        )  # the order of equal elements is NumPy's choice otherwise


def test_a_method_sorts_in_both_places_of_arguments():
    check(lambda x: x.argsort(0), A.argsort(0), A)
    check(lambda x: x.argsort(), A.argsort(), A)
    check(lambda x: np.sort(x, None), np.sort(np.array(3.0), None), np.array(3.0))
    x = typed("x", A)
    assert np.sort(x, 1) is rg.sort(x) and np.sort(x, 1).op is Sort(-1)
    assert np.argsort(x, 0) is rg.argsort(x, axis=-2) is x.argsort(0)
    assert rnp.sort(Term(), -2).op is Sort(-2) and rnp.argsort(Term()).op is Argsort(-1)


def test_kinds_that_do_not_matter():
    x = typed("x", A)
    for function in (np.sort, np.argsort):
        for options in ({"kind": "stable"}, {"kind": "mergesort"}, {"stable": True}):
            assert function(x, **options) is function(x)
        with pytest.raises(DomainError, match="no kind 'bubble'"):
            function(x, kind="bubble")
        with pytest.raises(ArgumentError, match="kind= or stable=, not both"):
            function(x, kind="stable", stable=True)
        with pytest.raises(ArgumentError, match="does not take order="):
            function(x, order="f")
        with pytest.raises(DomainError, match="axis 2 is out of range"):
            function(x, 2)
    with pytest.raises(DomainError, match="A scalar has no axis"):
        np.sort(typed("s", np.array(1.0)))
    check(np.argsort, np.argsort(np.array(1.0)), np.array(1.0))


# Quantiles.


def check_quantile(build, array):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of no element, and of infinite ones
        expected = build(array)
    with np.errstate(invalid="ignore"):
        check(build, expected, array, rtol=tolerance(array))


@pytest.mark.parametrize("axis", AXES)
def test_median(axis):
    for array in (*ARRAYS, A > 0, A[:, :4], A[:, :1]):
        for keepdims in (False, True):
            check_quantile(lambda x, k=keepdims: np.median(x, axis, keepdims=k), array)


def test_median_at_the_edges():
    for axis in (None, 0, 1):
        check_quantile(lambda x, a=axis: np.median(x, a), INFINITE)
    large = np.array([1.7e308, 1.6e308, 1.5e308])
    check_quantile(np.median, large)  # the mean of an odd number of elements adds nothing
    check(lambda x: np.median(x, 0), np.zeros(0), np.zeros((3, 0)), typings=("static", "named"))


@pytest.mark.parametrize("axis", AXES)
def test_quantiles_of_any_dtype(axis):
    for array in ARRAYS:
        for q in (0.3, [0.0, 0.25, 0.8, 1.0], np.float32(0.6)):
            check_quantile(lambda x, q=q: np.quantile(x, q, axis), array)
        check_quantile(lambda x: np.quantile(x, [0.5, 0.1], axis, keepdims=True), array)
        check_quantile(lambda x: np.percentile(x, 35, axis, keepdims=True), array)


FRACTIONS = [1.0, 0.5, [0, 1], [[0.5, 0.25]], [], np.array([0.5], "float32")]
if np.lib.NumpyVersion(np.__version__) >= "2.4.0":  # before it, infinities and dtypes differ
    FRACTIONS += [0, 1, np.float64(0.7)]


@pytest.mark.parametrize("q", FRACTIONS)
def test_fractions_of_any_form(q):
    for array in (A, A.astype("float32"), WHOLE, INFINITE, WITH_NAN, A[0, :1]):
        check_quantile(lambda x: np.quantile(x, q, axis=-1), array)
        check_quantile(lambda x: np.percentile(x, np.multiply(q, 100).tolist()), array)


def test_integers_do_not_wrap_around():
    small = np.array([-128, 127], "int8")
    expected = np.quantile(small.astype("float64"), [0.25, 0.75])
    check(lambda x: np.quantile(x, [0.25, 0.75]), expected, small)


def test_the_first_and_the_last_of_bools():
    check_quantile(lambda x: np.quantile(x, [0, 1], axis=0), A > 0)
    check_quantile(lambda x: np.quantile(x, 0.5, axis=0), np.zeros((3, 0)))


def test_what_is_wrong_is_told():
    x = typed("x", A)
    for call, error, text in (
        (lambda: np.quantile(x, 1.5), DomainError, "q from 0 to 1"),
        (lambda: np.percentile(x, [50, -1]), DomainError, "q from 0 to 100"),
        (lambda: np.quantile(x, np.nan), DomainError, "q from 0 to 1"),
        (lambda: np.quantile(x, "a"), DTypeError, "q of real numbers"),
        (lambda: np.quantile(x, typed("q", A[0])), ArgumentError, "known when the graph is built"),
        (lambda: np.quantile(x, 0.5, method="lower"), DomainError, "no method 'lower'"),
        (lambda: np.quantile(x, 0.5, method="inverted_cdf", weights=A), ArgumentError, "weights="),
        (lambda: np.quantile(typed("b", A > 0), 0.5), DTypeError, "of bool"),
        (lambda: np.quantile(typed("e", A[:0]), 0.5), ShapeError, "of no elements"),
        (lambda: np.median(x, 2), DomainError, "axis 2 is out of range"),
        (lambda: np.median(x, (0, 0)), DomainError, "given twice"),
        (lambda: np.median(x, out=A), ArgumentError, "does not take out="),
        (lambda: np.median(x, overwrite_input=True), ArgumentError, "overwrite_input="),
    ):
        with pytest.raises(error, match=text):
            call()


# Compiled.

LAYOUTS = {
    "in order": A,
    "reversed": A[::-1, ::-1],
    "steps": np.repeat(A, 2, axis=1)[:, ::2],
    "transposed": A.T,
    "swapped bytes": A.astype(A.dtype.newbyteorder()),
    "empty": A[:0],
    "integers": WHOLE.astype(">i4")[::-1],
}


def ordered(x):
    return np.sort(x * 2, axis=0) + 1, np.argsort(-x, axis=-1), np.sort(x), np.median(x, axis=1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_compiled_between_kernels(layout):
    array = LAYOUTS[layout]
    expected = (
        np.sort(array * 2, axis=0) + 1, np.argsort(-array, axis=-1, stable=True),
        np.sort(array).astype(array.dtype.newbyteorder("=")), np.median(array, axis=1),
    )  # fmt: skip
    before = array.copy()
    for got, right in zip(rg.jit(ordered)(array), expected, strict=True):
        assert got.dtype == right.dtype
        np.testing.assert_allclose(got, right, rtol=1e-14)
    np.testing.assert_array_equal(array, before)


def test_compiled_of_any_size():
    x = rg.matrix("x", (None, None))
    graphs = [np.quantile(x, [0.1, 0.6], axis=1), np.median(x), np.percentile(x, 20, axis=0)]
    for target in ("numpy", "cpu"):
        f = rg.function([x], graphs, target=target)
        for array in (A, WITH_NAN, A[:1], A[:, 1:2]):
            expected = np.quantile(array, [0.1, 0.6], axis=1), np.median(array)
            expected = *expected, np.percentile(array, 20, axis=0)
            for got, right in zip(f(array), expected, strict=True):
                np.testing.assert_allclose(got, right, rtol=1e-13)
        with pytest.raises(ShapeError, match="quantile of no elements"):
            f(A[:, :0])
    f = rg.function([x], np.median(x))
    assert np.isnan(f(A[:0]))
