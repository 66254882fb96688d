"""Reductions compiled by numba equal NumPy's over all axes, dtypes, empty and special values."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
import scipy.special

import relgraph.numpy.operators  # noqa: F401  operators of nodes look their functions up
from relgraph.api.function import function as rewritten_function
from relgraph.errors import ShapeError
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.numpy import reductions
from tests.backends.cases import (
    EMPTY,
    NAMES,
    OF_NOTHING,
    REDUCED,
    REDUCTIONS,
    assert_reduced,
    reduced,
    sample,
)

# The graph as it is written: what is rewritten is tested with the relations.
function = partial(rewritten_function, mode=None)


@pytest.mark.parametrize("dtype", REDUCED)
def test_every_reduction_equals_numpy(dtype):
    x = make_input("x", TensorType(dtype, ("n", "m", "k")))
    f = function(
        [x], [getattr(reductions, n)(x, axis=axis, keepdims=keep) for axis, keep, n in REDUCTIONS]
    )
    assert "call_" not in f.source
    for shape in [(2, 3, 4), (1, 1, 1), (3, 1, 700), (2, 5, 1)]:
        a = sample(dtype, shape)
        for case, result in zip(REDUCTIONS, f(a), strict=True):
            assert_reduced(result, a, case, 64)


def test_reductions_of_empty_arrays():
    x = make_input("x", TensorType("float64", (None, None)))
    f = function([x], [getattr(reductions, name)(x, axis=axis) for name, axis in OF_NOTHING])
    for shape in EMPTY:
        a = np.ones(shape)
        for (name, axis), result in zip(OF_NOTHING, f(a), strict=True):
            expected = reduced(name, a, axis)
            assert np.shape(result) == expected.shape
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", ["max", "min"])
def test_an_extreme_of_nothing_is_an_error(name):
    x = make_input("x", TensorType("float64", (None, None)))
    f = function([x], getattr(reductions, name)(x, axis=0))
    np.testing.assert_array_equal(f(np.ones((2, 0))), np.ones(0))
    with pytest.raises(ShapeError, match="no value over no elements"):
        f(np.ones((0, 2)))


def test_nan_and_infinities_propagate_like_numpy():
    x = make_input("x", TensorType("float64", ("n",)))
    names = ("sum", "prod", "max", "min", "mean", "any", "all")
    f = function([x], [getattr(reductions, name)(x) for name in names])
    inf, nan = np.inf, np.nan
    for case in (
        [1, nan, 2], [nan], [inf, 1], [-inf, 1], [inf, -inf], [inf, nan], [0.0, -0.0],
        [-inf, -inf], [1e308, 1e308], [nan, 3, nan], [0.0, 0.0],
    ):  # fmt: skip
        for size in (1, 300, 1500):
            a = np.resize(np.array(case, float), max(size, len(case)))
            with np.errstate(all="ignore"):
                expected = [getattr(np, name)(a) for name in names]
            np.testing.assert_array_equal(f(a), expected)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_log_sum_exp_of_all_elements_reads_them_once(dtype):
    x = make_input("x", TensorType(dtype, ("n", "m")))
    y = make_input("y", TensorType("float64", ("m",)))
    f = function([x, y], [reductions.logsumexp(x), reductions.logsumexp(x * y, axis=(0, 1))])
    assert "call_" not in f.source
    assert f.source.count("_finish(") == 1
    for shape in [(1, 1), (3, 7), (2, 1025), (40, 1000), (1, 40_000), (0, 3), (3, 0)]:
        a, b = (sample(dtype, shape) * 40).astype(dtype), sample("float64", shape[1:], 1)
        total, scaled = f(a, b)
        assert total.dtype == (dtype if dtype != "int16" else "float64")
        tolerance = 1e-6 if dtype == "float32" else 1e-14
        wide = a.astype(float)
        expected = scipy.special.logsumexp(wide) if a.size else -np.inf
        np.testing.assert_allclose(total, expected, rtol=tolerance)
        expected = scipy.special.logsumexp(wide * b) if a.size else -np.inf
        np.testing.assert_allclose(scaled, expected, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_log_sum_exp_of_special_values(dtype):
    x = make_input("x", TensorType(dtype, ("n",)))
    f = function([x], [reductions.logsumexp(x), reductions.logsumexp(x, keepdims=True)])
    inf, nan, most = np.inf, np.nan, np.finfo(dtype).max
    for case, expected in [
        ([-inf], -inf), ([inf], inf), ([inf, -inf], inf), ([nan], nan), ([nan, inf], nan),
        ([nan, -inf], nan), ([1, inf], inf), ([-inf, 0.0], 0.0), ([most, -most], most),
        ([-most, -most], -most), ([most, most], most), ([-inf, 5.0, -inf], 5.0),
    ]:  # fmt: skip
        for place in (0, 1023, 1024, 40_000):
            a = np.full(place, -inf)
            a = np.concatenate([a, case, a]).astype(dtype)
            total, kept = f(a)
            np.testing.assert_array_equal(total, np.array(expected, dtype), str((case, place)))
            np.testing.assert_array_equal(kept, [total])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_are_at_least_as_accurate_as_stated(dtype):
    rng = np.random.default_rng(3)
    x = make_input("x", TensorType(dtype, ("n",)))
    f = function([x], [reductions.sum(x), reductions.mean(x)])
    u = np.finfo(dtype).eps / 2
    for size in (1, 1023, 1024, 1025, 100_000):
        for a in (rng.normal(size=size), rng.uniform(0, 1, size), np.full(size, 0.1)):
            a = a.astype(dtype)
            exact = math.fsum(a.astype(float).tolist())
            total, mean = f(a)
            bound = 64 * u * float(np.abs(a.astype(float)).sum()) + u * abs(exact)
            assert abs(float(total) - exact) <= bound
            assert abs(float(mean) - exact / size) <= bound / size + u * abs(exact / size)


def test_a_reduction_runs_in_the_loop_that_feeds_it():
    x = make_input("x", TensorType("float64", ("n", "m")))
    y = make_input("y", TensorType("float64", ("m",)))
    terms = x * y - 1.0
    f = function([x, y], [reductions.sum(terms, axis=-1), reductions.max(terms, axis=-1)])
    assert f.source.count("def rgk_") == 1
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(6, 5)), rng.normal(size=5)
    total, largest = f(a, b)
    np.testing.assert_allclose(total, (a * b - 1).sum(-1), rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(largest, (a * b - 1).max(-1))


def test_reductions_of_broadcast_operands_over_scattered_axes():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 4, 5)), rng.normal(size=(3, 1, 5))
    x = make_input("x", TensorType("float64", (2, None, 4, "k")))
    y = make_input("y", TensorType("float64", (None, 1, "k")))
    axes = [(0, 2), (1, 3), (0, 3), (1,), (0, 1, 2), (2, 3), None]
    f = function([x, y], [reductions.sum(x * y, axis=axis) for axis in axes])
    for axis, result in zip(axes, f(a, b), strict=True):
        np.testing.assert_allclose(result, (a * b).sum(axis=axis), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("shape", [(3, 1, 4), (1, 1, 1), (1,)])
def test_axes_that_are_statically_one(shape):
    for dtype in ("float64", "int8"):
        a = sample(dtype, shape)
        x = make_input("x", TensorType(dtype, shape))
        axes = [None, 0, len(shape) - 1, len(shape) // 2]
        cases = list(itertools.product(axes, NAMES))
        f = function([x], [getattr(reductions, name)(x, axis=axis) for axis, name in cases])
        for (axis, name), result in zip(cases, f(a), strict=True):
            expected = reduced(name, a, axis)
            assert np.shape(result) == expected.shape
            np.testing.assert_allclose(result, expected, rtol=1e-14)
