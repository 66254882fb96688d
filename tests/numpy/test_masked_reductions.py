"""The parameters where=, initial= and dtype= of reductions, against NumPy."""

from functools import partial

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DTypeError, ShapeError
from relgraph.numpy import reductions
from tests.ops.evaluation import check, typed

DTYPES = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float32", "float64")
RNG = np.random.default_rng(0)
MASK = RNG.random((3, 4)) > 0.5


def masked(function, x, where, **options):
    return function(x, where=where, **options)


def drawn(dtype):
    return (RNG.integers(0, 3, (3, 4)) * 60).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sum", "prod", "mean"])
def test_dtype_is_that_of_the_result(name, dtype):
    a = drawn(dtype)
    ours, numpys = getattr(reductions, name), getattr(np, name)
    for wanted in (None, "uint8", "int32", "float32", *(["bool"] if name != "mean" else [])):
        build = partial(ours, axis=0, dtype=wanted)
        check(build, numpys(a, axis=0, dtype=wanted), a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_initial_and_where_equal_numpy(name, dtype):
    a = drawn(dtype)
    ours, numpys = getattr(reductions, name), getattr(np, name)
    for options in ({}, {"axis": 0}, {"axis": (0, 1), "keepdims": True}, {"axis": -1}):
        check(partial(ours, initial=3, **options), numpys(a, initial=3, **options), a)
        build = partial(masked, ours, initial=1, **options)
        check(build, numpys(a, initial=1, where=MASK, **options), a, MASK)
    expected = numpys(a, initial=1, where=MASK[:, :1])
    check(lambda x: ours(x, initial=1, where=MASK[:, :1]), expected, a, typings=("static",))


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("shape, axis", [((0,), 0), ((2, 0), 1), ((0, 0), None), ((0, 2), 1)])
def test_initial_is_the_extreme_of_no_elements(name, shape, axis):
    ours, numpys = getattr(reductions, name), getattr(np, name)
    for dtype in ("float64", "float32", "int8"):
        a = np.zeros(shape, dtype)
        start = -2 if dtype == "int8" else -2.5
        expected = numpys(a, axis=axis, initial=start)
        check(lambda x, s=start: ours(x, axis=axis, initial=s), expected, a)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_extremes_of_unknown_sizes_that_start_with_a_number_compile(name, target):
    ours, numpys = getattr(reductions, name), getattr(np, name)
    x = rg.matrix("x")
    axes = (None, 0, 1)
    f = rg.function([x], [ours(x * 2, axis, initial=0.5) for axis in axes], target=target)
    for a in (np.array([[1.0, -3.0], [np.nan, 0.125]]), np.zeros((0, 2)), np.zeros((2, 0))):
        for axis, got in zip(axes, f(a), strict=True):
            np.testing.assert_array_equal(got, numpys(a * 2, axis, initial=0.5), strict=True)


@pytest.mark.parametrize("name", ["any", "all", "mean", "sum"])
def test_where_equals_numpy(name):
    a = np.array([[0.0, np.nan, 2.0, 0.0], [1.0, 3.0, np.inf, 1.0], [0.0, 0.0, 0.0, 5.0]])
    mask = np.array(
        [[True, False, True, True], [True, True, False, True], [False, True, True, False]]
    )
    ours, numpys = getattr(reductions, name), getattr(np, name)
    check(lambda x, m: ours(x, axis=1, where=m), numpys(a, axis=1, where=mask), a, mask)
    check(lambda x: ours(x, axis=0, where=True), numpys(a, axis=0, where=True), a)
    if name != "mean":
        check(lambda x: ours(x, axis=0, where=False), numpys(a, axis=0, where=False), a)


def test_numpys_functions_pass_them_on():
    a = drawn("int64")
    check(lambda x: np.sum(x, 0, initial=3), np.sum(a, 0, initial=3), a)
    check(lambda x: np.max(x, initial=200), np.max(a, initial=200), a)
    check(lambda x: x.min(initial=-1), a.min(initial=-1), a)
    expected = np.add.reduce(a, where=MASK, initial=2)
    check(lambda x: np.add.reduce(x, where=MASK, initial=2), expected, a, typings=("static",))
    check(lambda x: np.sum(x, initial=None), np.sum(a), a)


def test_what_does_not_fit_is_told():
    x, u = typed("x", np.ones((3, 4))), typed("u", np.ones(3, "uint8"))
    with pytest.raises(ArgumentError, match="needs initial="):
        np.max(x, where=x > 0)
    with pytest.raises(DTypeError, match="is bool, not int64"):
        np.sum(x, where=[1, 0, 1, 1])
    with pytest.raises(ShapeError, match="does not broadcast"):
        np.sum(u, where=MASK)
    for value in (300, -1, np.inf, np.nan):
        with pytest.raises(DTypeError, match="does not fit uint8"):
            np.max(u, initial=value)
    with pytest.raises(ShapeError, match="is a scalar"):
        np.max(x, axis=0, initial=np.ones(4))
    with pytest.raises(ArgumentError, match=r"does not take initial=(.|\n)*np.logaddexp"):
        np.logaddexp.reduce(x, initial=1.0)
