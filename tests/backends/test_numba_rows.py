"""Kernels that pass over each row several times: what they hold, and that they compute it."""

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
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.shape import expand_dims

function = partial(rewritten_function, mode=None)
exp, sqrt, log, sin = map(Elementwise, ("exp", "sqrt", "log", "sin"))
SIZES = [(3, 7), (1, 1), (2, 1), (1, 1500), (5, 1024), (4, 0), (0, 3)]


def rows(dtype="float64", shape=("n", "k"), name="x"):
    return make_input(name, TensorType(dtype, shape))


def normals(shape, seed=0, dtype="float64"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def kernels(f):
    return f.source.count("def rgk_")


def layer_norm(xp, x, scale, shift):
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred**2, axis=-1, keepdims=True)
    root = np.sqrt if xp is np else sqrt
    return centred / root(variance + 1e-5) * scale + shift


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_a_softmax_is_one_kernel(name, dtype):
    x = rows(dtype)
    f = function([x], getattr(reductions, name)(x))
    assert kernels(f) == 1
    assert "call_" not in f.source
    for shape in SIZES:
        a = normals(shape, dtype=dtype)
        result = f(a)
        assert result.dtype == a.dtype
        assert result.shape == shape
        expected = getattr(scipy.special, name)(a, axis=-1) if a.size else a
        tolerance = 2e-6 if dtype == "float32" else 1e-14
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


def test_special_values_stay_in_their_row():
    inf, nan = np.inf, np.nan
    a = np.array([[1, 2, 3], [inf, 0, 1], [-inf] * 3, [nan, 0, inf], [1e308, -1e308, 0]])
    x = rows()
    soft, logs = function([x], [reductions.softmax(x), reductions.log_softmax(x)])(a)
    with np.errstate(all="ignore"):
        expected = scipy.special.softmax(a[[0, 4]], axis=-1)
    np.testing.assert_allclose(soft[[0, 4]], expected, rtol=1e-15)
    np.testing.assert_array_equal(soft[1:4], [[nan, 0, 0], [nan] * 3, [nan] * 3])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(logs, scipy.special.log_softmax(a, axis=-1), rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_layer_norm_is_one_kernel(dtype):
    x, scale, shift = rows(dtype), rows(dtype, ("k",), "scale"), rows(dtype, ("k",), "shift")
    f = function([x, scale, shift], layer_norm(reductions, x, scale, shift))
    assert kernels(f) == 1
    for shape in [(3, 7), (2, 1), (2, 2048), (0, 4)]:
        a, b, c = (normals(s, i, dtype) for i, s in enumerate([shape, shape[1:], shape[1:]]))
        tolerance = 1e-4 if dtype == "float32" else 1e-12
        expected = layer_norm(np, a, b, c)
        np.testing.assert_allclose(f(a, b, c), expected, rtol=tolerance, atol=tolerance)


def test_rows_of_several_axes_with_parameters_of_one():
    x, scale = rows(shape=("n", "m", "k")), rows(shape=("m", 1), name="scale")
    centred = x - reductions.mean(x, axis=(1, 2), keepdims=True)
    top = reductions.max(centred * scale, axis=(1, 2), keepdims=True)
    f = function([x, scale], centred * scale - top)
    assert kernels(f) == 1
    a, b = normals((3, 4, 5)), normals((4, 1), 1)
    c = a - a.mean(axis=(1, 2), keepdims=True)
    expected = c * b - (c * b).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(f(a, b), expected, rtol=1e-13, atol=1e-14)


def test_rows_under_several_axes():
    x, bias = rows(shape=("b", "n", "k")), rows(shape=("n", 1), name="bias")
    f = function([x, bias], reductions.softmax(x + bias))
    assert kernels(f) == 1
    a, b = normals((2, 3, 4)), normals((3, 1), 1)
    np.testing.assert_allclose(f(a, b), scipy.special.softmax(a + b, axis=-1), rtol=1e-14)


def test_axes_that_are_put_back_need_no_call():
    x = rows()
    total = reductions.sum(x, axis=-1)
    f = function([x], [x / expand_dims(total, -1), total])
    assert kernels(f) == 1
    assert "call_" not in f.source
    a = np.abs(normals((4, 9)))
    quotient, sums = f(a)
    np.testing.assert_allclose(sums, a.sum(-1), rtol=1e-15)
    np.testing.assert_allclose(quotient, a / a.sum(-1, keepdims=True), rtol=1e-15)


def test_a_row_total_that_is_read_along_the_row_is_another_matter():
    x = rows(shape=("n", "n"))
    total = reductions.sum(x, axis=-1)
    f = function([x], x - total)
    a = normals((6, 6))
    np.testing.assert_allclose(f(a), a - a.sum(-1), rtol=1e-13, atol=1e-14)


def test_dear_values_are_kept_in_the_result_that_is_written_last():
    x = rows()
    e = exp(sin(x) * 2.0)
    f = function([x], e / reductions.sum(e, axis=-1, keepdims=True))
    assert f.source.split("# ")[0].count("exp(") == 1
    assert f.source.count("empty(") == 1
    a = normals((3, 1100))
    expected = np.exp(np.sin(a) * 2)
    np.testing.assert_allclose(f(a), expected / expected.sum(-1, keepdims=True), rtol=1e-13)


def test_values_without_a_row_to_keep_them_in():
    x = rows()
    e = exp(sin(exp(sin(x))))  # dear, and both results are of one number for each row
    shifted = e - reductions.mean(e, axis=-1, keepdims=True)
    f = function([x], [reductions.sum(shifted * shifted, axis=-1), reductions.max(e, axis=-1)])
    assert kernels(f) == 1
    a = normals((4, 33))
    e = np.exp(np.sin(np.exp(np.sin(a))))
    variance = ((e - e.mean(-1, keepdims=True)) ** 2).sum(-1)
    result = f(a)
    np.testing.assert_allclose(result[0], variance, rtol=1e-12)
    np.testing.assert_allclose(result[1], e.max(-1), rtol=1e-14)


def test_a_library_call_between_two_passes_divides_the_kernel():
    x, w = rows(), rows(shape=("n", "n"), name="w")
    total = reductions.sum(x, axis=-1, keepdims=True)
    f = function([x, w], x / (w @ total))
    assert kernels(f) == 2
    a, b = np.abs(normals((4, 5))), np.abs(normals((4, 4), 1))
    np.testing.assert_allclose(f(a, b), a / (b @ a.sum(-1, keepdims=True)), rtol=1e-14)


def test_sizes_are_checked_before_the_kernel():
    x, scale = rows(shape=(None, None)), rows(shape=(None,), name="scale")
    f = function([x, scale], scale * reductions.softmax(x))
    assert kernels(f) == 1
    a, b = normals((2, 3)), normals((3,), 1)
    np.testing.assert_allclose(f(a, b), scipy.special.softmax(a, axis=-1) * b, rtol=1e-14)
    with pytest.raises(ShapeError, match="must have equal sizes"):
        f(a, normals((4,), 1))


def test_an_extreme_of_empty_rows_is_an_error():
    x = rows()
    f = function([x], x - reductions.max(x, axis=-1, keepdims=True))
    assert f(np.ones((0, 3))).shape == (0, 3)
    with pytest.raises(ShapeError, match="no value over no elements"):
        f(np.ones((3, 0)))


def test_integers_and_tests():
    x = rows("int64")
    low = reductions.min(x, axis=-1, keepdims=True)
    even = reductions.any(x % 2, axis=-1, keepdims=True)
    f = function([x], [(x - low) * even, reductions.mean(x - low, axis=-1)])
    assert kernels(f) == 1
    a = np.random.default_rng(0).integers(-9, 9, (5, 6)) * np.array([[2], [1], [2], [3], [2]])
    shifted = a - a.min(-1, keepdims=True)
    result = f(a)
    np.testing.assert_array_equal(result[0], shifted * (a % 2).any(-1, keepdims=True))
    np.testing.assert_allclose(result[1], shifted.mean(-1), rtol=1e-15)


@pytest.mark.parametrize("seed", range(12))
def test_random_row_programs_compute_what_numpy_does(seed):
    rng = np.random.default_rng(seed)
    x, y = rows(), rows(name="y")
    a, b = np.abs(normals((4, 37), seed)) + 0.5, np.abs(normals((4, 37), seed + 99)) + 0.5
    values = [(x, a), (y, b)]
    totals = []
    for _ in range(14):
        u, p = values[rng.integers(len(values))]
        kind = rng.integers(5)
        if kind == 0:
            name = ["sum", "max", "mean"][rng.integers(3)]
            node = getattr(reductions, name)(u, axis=-1, keepdims=True)
            totals.append((node, getattr(np, name)(p, axis=-1, keepdims=True)))
        elif kind == 1:
            values.append((exp(sin(u)), np.exp(np.sin(p))))
        elif kind == 2 and totals:
            t, q = totals[rng.integers(len(totals))]
            values.append((u / t, p / q))
            totals.append((sqrt(t), np.sqrt(q)))
        else:
            v, q = values[rng.integers(len(values))]
            values.append((u + v, p + q))
    picks = [values[i] for i in rng.integers(2, len(values), 3)] + totals[-1:]
    graph = list(dict.fromkeys(node for node, _ in picks))
    expected = {node: value for node, value in picks}
    results = function([x, y], graph)(a, b)
    for node, result in zip(graph, results, strict=True):
        np.testing.assert_allclose(result, expected[node], rtol=1e-11)


def test_numbers_are_computed_in_each_kernel_that_reads_them():
    x, y, s = rows(), rows(shape=("m",), name="y"), rows(shape=(), name="s")
    scale = exp(s) + 1.0
    soft = reductions.softmax(x * scale) * scale
    f = function([x, y, s], [y * scale, soft, scale * 2.0])
    assert kernels(f) == 3
    a, b, c = normals((3, 5)), normals(4, 1), np.array(0.3)
    first, second, third = f(a, b, c)
    factor = np.exp(c) + 1
    np.testing.assert_allclose(first, b * factor, rtol=1e-15)
    expected = scipy.special.softmax(a * factor, axis=-1) * factor
    np.testing.assert_allclose(second, expected, rtol=1e-14)
    np.testing.assert_allclose(third, factor * 2, rtol=1e-15)


def test_a_number_that_is_a_result_too_is_stored_once():
    x, s, w = rows(), rows(shape=(), name="s"), rows(shape=("k",), name="w")
    scale = exp(s)
    e = (x @ w) * scale
    results = [scale, x * scale, reductions.sum(e * scale), x.T @ e]
    f = function([x, s, w], results)
    a, c, v = normals((6, 4)), np.array(-0.2), normals(4, 2)
    factor = np.exp(c)
    e = a @ v * factor
    expected = [factor, a * factor, (e * factor).sum(), a.T @ e]
    for result, value in zip(f(a, c, v), expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-12, atol=1e-13)
