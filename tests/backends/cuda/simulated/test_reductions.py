"""Reductions, simulated on the device, equal NumPy's over all axes, dtypes and empty values."""

from functools import partial

import numpy as np
import pytest

import relgraph.numpy.operators  # noqa: F401  operators of nodes look their functions up
from relgraph.api.function import function as rewritten_function
from relgraph.errors import ShapeError
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.numpy import reductions
from relgraph.ops.elementwise import Elementwise
from tests.backends.cases import (
    EMPTY,
    OF_NOTHING,
    REDUCED,
    REDUCTIONS,
    assert_reduced,
    reduced,
    sample,
)

function = partial(rewritten_function, mode=None, target="cuda")


@pytest.mark.parametrize("dtype", REDUCED)
def test_every_reduction_equals_numpy(dtype):
    x = make_input("x", TensorType(dtype, ("n", "m", "k")))
    f = function(
        [x], [getattr(reductions, n)(x, axis=axis, keepdims=keep) for axis, keep, n in REDUCTIONS]
    )
    for shape in [(2, 3, 4), (2, 1, 17)]:
        a = sample(dtype, shape)
        for case, result in zip(REDUCTIONS, f(a), strict=True):
            assert_reduced(result.to_host(), a, case, 8)


def test_reductions_of_empty_arrays():
    x = make_input("x", TensorType("float64", (None, None)))
    f = function([x], [getattr(reductions, name)(x, axis=axis) for name, axis in OF_NOTHING])
    for shape in EMPTY:
        a = np.ones(shape)
        for (name, axis), result in zip(OF_NOTHING, f(a), strict=True):
            np.testing.assert_array_equal(result.to_host(), reduced(name, a, axis), strict=True)


@pytest.mark.parametrize("name", ["max", "min"])
def test_an_extreme_that_starts_with_a_number_is_it_over_nothing(name):
    x = make_input("x", TensorType("float64", (None, None)))
    starts = [(None, 0.5), (0, -2.0), (1, np.inf)]
    f = function([x], [getattr(reductions, name)(x, axis, initial=start) for axis, start in starts])
    for a in (np.array([[1.0, np.nan], [-3.0, 0.25]]), *map(np.ones, EMPTY)):
        for (axis, start), result in zip(starts, f(a), strict=True):
            expected = getattr(np, name)(a, axis=axis, initial=start)
            np.testing.assert_array_equal(result.to_host(), expected, strict=True)


@pytest.mark.parametrize("name", ["max", "min"])
def test_an_extreme_of_nothing_is_an_error(name):
    x = make_input("x", TensorType("float64", (None, None)))
    f = function([x], getattr(reductions, name)(x, axis=0))
    np.testing.assert_array_equal(f(np.ones((2, 0))).to_host(), np.ones(0))
    with pytest.raises(ShapeError, match="no value over no elements"):
        f(np.ones((0, 2)))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_extremes_pass_nan_on(dtype, axis):
    a = np.random.default_rng(2).normal(size=(6, 9)).astype(dtype)
    a[3, 4] = np.nan
    x = make_input("x", TensorType(dtype, (None, None)))
    f = function([x], [reductions.max(x, axis=axis), reductions.min(x, axis=axis)])
    for result, expected in zip(f(a), (np.max(a, axis), np.min(a, axis)), strict=True):
        np.testing.assert_array_equal(result.to_host(), expected)


@pytest.mark.parametrize("shape", [(1, 497), (2, 171), (60, 1), (40, 3)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_long_sums_in_parts_are_joined_in_a_second_pass(shape, dtype):
    a = np.random.default_rng(3).normal(size=shape).astype(dtype) + 1
    x = make_input("x", TensorType(dtype, ("n", "m")))
    exp = Elementwise("exp")
    f = function([x], [reductions.sum(exp(x), axis=axis) for axis in (None, 0, 1)])
    for axis, result in zip((None, 0, 1), f(a), strict=True):
        np.testing.assert_allclose(
            result.to_host(), np.exp(a.astype("float64")).sum(axis), rtol=4 * np.finfo(dtype).eps
        )
    first = [r.to_host() for r in f(a)]
    for one, other in zip(first, f(a), strict=True):  # the order of additions is fixed
        np.testing.assert_array_equal(one, other.to_host(), strict=True)


def test_a_sum_and_the_values_it_adds_share_a_kernel():
    x = make_input("x", TensorType("float64", ("n", "m")))
    w = make_input("w", TensorType("float64", ("m",)))
    y = x * w
    f = function([x, w], [y, reductions.sum(y, axis=1), reductions.max(y, axis=1)])
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(5, 11)), rng.normal(size=11)
    product, total, top = (r.to_host() for r in f(a, b))
    np.testing.assert_array_equal(product, a * b)
    np.testing.assert_allclose(total, (a * b).sum(1), rtol=1e-14)
    np.testing.assert_array_equal(top, (a * b).max(1))
    assert f.source.count("def rgc_") == 3  # two ways to share a row, and the second pass
