"""Cumulative ops in kernels for the CPU: what shares a kernel with them, and NumPy's results."""

from functools import partial

import numpy as np
import pytest
import scipy.special

import relgraph as rg
from relgraph.api.function import function as rewritten_function
from relgraph.errors import ShapeError
from relgraph.ir.node import make_input
from relgraph.ir.types import DTYPES, TensorType
from relgraph.numpy import reductions
from relgraph.ops import cumulative

function = partial(rewritten_function, mode=None)
NUMPY = {
    "cumsum": np.add,
    "cumprod": np.multiply,
    "cummax": np.maximum,
    "cummin": np.minimum,
}
SHAPES = [(1,), (5,), (0,), (700,), (3, 7), (1, 9), (9, 1), (2, 1100), (600, 3), (0, 3), (3, 0)]
SHAPES += [(2, 3, 4), (3, 1, 5), (2, 300, 3), (2, 2, 1030)]


def tensor(dtype="float64", shape=("n", "k"), name="x"):
    return make_input(name, TensorType(dtype, shape))


def normals(shape, seed=0, dtype="float64"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def kernels(f):
    assert "call_" not in f.source
    return f.source.count("def rgk_")


def check(result, expected):
    """Compare to the last bit."""
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result, expected)
    if result.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))


CASES = [(dtype, 2) for dtype in DTYPES]
CASES += [(dtype, ndim) for dtype in ("float64", "float32", "uint8") for ndim in (1, 3)]


@pytest.mark.parametrize(("dtype", "ndim"), CASES)
def test_results_are_numpys_to_the_last_bit(dtype, ndim):
    x = tensor(dtype, (None,) * ndim)
    for axis in range(ndim):
        f = function([x], [getattr(cumulative, name)(x, axis) for name in NUMPY])
        assert kernels(f) == 1
        for shape in SHAPES:
            if len(shape) != ndim:
                continue
            a = (normals(shape) * 3).astype(dtype)
            with np.errstate(all="ignore"):
                expected = [ufunc.accumulate(a, axis=axis) for ufunc in NUMPY.values()]
            for result, wanted in zip(f(a), expected, strict=True):
                check(result, wanted)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_special_values(dtype):
    pool = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, 3e38, -3e38, 1e-45], dtype)
    a = np.random.default_rng(0).choice(pool, (300, 6))
    a[0] = -0.0
    x = tensor(dtype)
    for axis in (0, 1):
        graphs = [getattr(cumulative, name)(x, axis) for name in NUMPY]
        results = function([x], graphs)(a)
        for (name, ufunc), result in zip(NUMPY.items(), results, strict=True):
            with np.errstate(all="ignore"):
                expected = ufunc.accumulate(a, axis=axis)
            if name in ("cummax", "cummin"):  # which of two zeros is larger, NumPy leaves open
                np.testing.assert_array_equal(result, expected)
            else:
                ordinary = ~np.isnan(expected)
                np.testing.assert_array_equal(np.isnan(result), ~ordinary)
                check(result[ordinary], expected[ordinary])


@pytest.mark.parametrize("axis", [0, 1])
def test_elementwise_ops_around_a_cumulative_op_share_its_kernel(axis):
    x, y, scale = tensor(), tensor(name="y"), tensor(shape=("k",), name="scale")
    total = cumulative.cumsum(rg.abs(x) * scale + 1.0, axis)
    f = function([x, y, scale], [rg.sqrt(total) - y, total])
    assert kernels(f) == 1
    for shape in [(3, 7), (5, 1300), (0, 4), (4, 0), (260, 2)]:
        a, b, c = normals(shape), normals(shape, 1), normals(shape[1:], 2) ** 2
        expected = np.cumsum(np.abs(a) * c + 1.0, axis)
        result, sums = f(a, b, c)
        check(sums, expected)
        check(result, np.sqrt(expected) - b)


def test_one_after_the_other():
    x = tensor(shape=(None,))
    top = cumulative.cummax(x * 2.0, 0)
    f = function([x], [cumulative.cumsum(top - x, 0) / 3.0, cumulative.cumprod(top, 0) + top])
    assert kernels(f) == 1
    for size in (0, 1, 255, 256, 257, 2000):
        a = normals((size,))
        highest = np.maximum.accumulate(a * 2.0)
        first, second = f(a)
        check(first, np.cumsum(highest - a) / 3.0)
        with np.errstate(all="ignore"):
            check(second, np.cumprod(highest) + highest)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_cumulative_sum_of_a_softmax_is_one_kernel(dtype):
    x = tensor(dtype)
    f = function([x], cumulative.cumsum(reductions.softmax(x), -1))
    assert kernels(f) == 1
    for shape in [(3, 7), (2, 3000), (4, 0), (0, 4), (1, 1)]:
        a = normals(shape, dtype=dtype)
        expected = np.cumsum(scipy.special.softmax(a, -1), -1) if a.size else a
        tolerance = 1e-5 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(f(a), expected, rtol=tolerance)


def test_reductions_of_a_row_beside_it():
    x = tensor()
    sums = cumulative.cumsum(x, 1)
    share = sums / reductions.sum(x * x, 1, keepdims=True)
    f = function([x], [share, reductions.max(sums, 1), reductions.sum(rg.abs(sums), 1)])
    assert kernels(f) == 1
    for shape in [(3, 7), (2, 1500), (0, 4)]:
        a = normals(shape)
        expected = np.cumsum(a, 1)
        results = f(a)
        np.testing.assert_allclose(results[0], expected / (a * a).sum(1, keepdims=True), rtol=1e-13)
        check(results[1], expected.max(1))
        np.testing.assert_allclose(results[2], np.abs(expected).sum(1), rtol=1e-13)


def test_reductions_of_a_vector_beside_it():
    x = tensor(shape=(None,))
    sums = cumulative.cumsum(rg.exp(x), 0)
    largest, total = reductions.max(sums), reductions.sum(sums)
    f = function([x], [sums / largest, reductions.logsumexp(sums), total])
    a = normals((1500,))
    expected = np.cumsum(np.exp(a))
    share, log_total, total = f(a)
    np.testing.assert_allclose(share, expected / expected.max(), rtol=1e-13)
    np.testing.assert_allclose(log_total, scipy.special.logsumexp(expected), rtol=1e-14)
    np.testing.assert_allclose(total, expected.sum(), rtol=1e-13)


@pytest.mark.parametrize("size", [None, 0, 1, 6])
def test_cumulative_sums_of_gathered_elements(size):
    x, k = tensor(shape=(None,)), tensor("int64", (size,), "k")
    gathered = rg.exp(x[k])
    f = function([x, k], [cumulative.cumsum(gathered, 0), cumulative.cumprod(x[k] + 1.0, 0)])
    a, places = normals((5,)), np.array([4, 0, -1, 2, 2, 3])[:size]
    sums, products = f(a, places)
    np.testing.assert_allclose(sums, np.cumsum(np.exp(a[places])), rtol=1e-14)
    check(products, np.cumprod(a[places] + 1.0))
    both = function([x, k], [cumulative.cumsum(x[k], 0), reductions.sum(x[k]), x[k]])(a, places)
    check(both[0], np.cumsum(a[places]))
    np.testing.assert_allclose(both[1], a[places].sum(), rtol=1e-13, atol=1e-15)
    check(both[2], a[places])


def test_axes_that_differ_are_kernels_of_their_own():
    x = tensor()
    graph = cumulative.cumsum(cumulative.cumsum(x, 0), 1) + cumulative.cumsum(x * 2.0, 1)
    f = function([x], [graph, reductions.sum(x, 0)])
    a = normals((40, 30))
    both, total = f(a)
    check(both, np.cumsum(np.cumsum(a, 0), 1) + np.cumsum(a * 2.0, 1))
    np.testing.assert_allclose(total, a.sum(0), rtol=1e-13)
    assert "call_" not in f.source


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_operands_that_span_some_axes(axis):
    x = tensor(shape=("a", "b", "c"))
    parts = [tensor(shape=s, name=f"y{i}") for i, s in enumerate([("c",), ("b", 1), ("a", 1, 1)])]
    parts.append(tensor(shape=("a", 1, "c"), name="y3"))
    mixed = x
    for part in parts:
        mixed = mixed * part
    f = function([x, *parts], cumulative.cumsum(mixed, axis) + parts[1])
    assert kernels(f) == 1
    for n, m, k in [(2, 3, 4), (5, 2, 1100), (300, 2, 2), (1, 1, 1), (0, 2, 3), (2, 0, 3)]:
        a = normals((n, m, k))
        others = [normals(s, i) for i, s in enumerate([(k,), (m, 1), (n, 1, 1), (n, 1, k)])]
        expected = a
        for other in others:
            expected = expected * other
        check(f(a, *others), np.cumsum(expected, axis) + others[1])


@pytest.mark.parametrize("axis", [0, 1])
def test_layouts(axis):
    x = tensor(shape=(None, None))
    f = function([x], cumulative.cumsum(x + 1.0, axis))
    g = function([x], cumulative.cumsum(x.T[::-1, 1:] * 2.0, axis))
    big = normals((200, 300))
    wide = np.repeat(normals((1, 300)), 200, 0)
    arrays = [big, np.asfortranarray(big), big[::2, ::-3], big.T, np.broadcast_to(wide, (200, 300))]
    for a in arrays:
        check(f(a), np.cumsum(a + 1.0, axis))
        check(g(a), np.cumsum(a.T[::-1, 1:] * 2.0, axis))
    assert kernels(g) == 1


def test_places_of_results_and_donated_inputs():
    x = tensor(shape=(None, None))
    graph = cumulative.cumsum(x * 2.0, 0)
    f = function([x], graph)
    a = normals((50, 20))
    place = np.empty_like(a)
    assert f(a, out=place) is place
    check(place, np.cumsum(a * 2.0, 0))
    same = a.copy()
    f(same, out=same)
    check(same, np.cumsum(a * 2.0, 0))
    given = a.copy()
    check(function([x], graph, donate=("x",))(given), np.cumsum(a * 2.0, 0))


def test_threads_change_no_result():
    x = tensor(shape=(None, None))
    a = normals((400, 700))
    for axis in (0, 1):
        f = function([x], cumulative.cumsum(rg.sin(x), axis))
        with rg.config(threads=1):
            alone = f(a)
        with rg.config(threads=4):
            shared = f(a)
        check(shared, alone)
        np.testing.assert_allclose(alone, np.cumsum(np.sin(a), axis), rtol=1e-12, atol=1e-12)


def test_sizes_are_checked():
    x, y = tensor(shape=(None, None)), tensor(shape=(None, None), name="y")
    f = function([x, y], cumulative.cumsum(x, 1) + y)
    assert kernels(f) == 1
    with pytest.raises(ShapeError, match="must have equal sizes"):
        f(normals((3, 4)), normals((3, 5)))


@pytest.mark.parametrize("axis", [0, 1])
def test_sizes_that_have_names_and_sizes_that_have_none(axis):
    x, y = tensor(shape=(None, None)), tensor(shape=("n", "k"), name="y")
    a, b = normals((4, 300)), normals((4, 300), 1)
    for graph, expected in (
        ((cumulative.cumsum(x, axis) + y) * 2.0, (np.cumsum(a, axis) + b) * 2.0),
        ((cumulative.cumsum(y, axis) + x) * 2.0, (np.cumsum(b, axis) + a) * 2.0),
    ):
        f = function([x, y], graph)
        assert kernels(f) == 1
        check(f(a, b), expected)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_long_chain_is_cut(axis):
    x, a = tensor(), normals((4, 300))
    graph, expected = x, a
    for _ in range(60):
        graph = cumulative.cumsum(graph * (1 / 64) + 0.125, axis)
        expected = np.cumsum(expected * (1 / 64) + 0.125, axis)
    f = function([x], graph)
    assert f.report().loops > 1
    check(f(a), expected)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
def test_an_axis_of_one_element(dtype):
    x = tensor(dtype, ("n", 1))
    a = np.array([[3], [0], [1]]).astype(dtype)
    for name, ufunc in NUMPY.items():
        f = function([x], getattr(cumulative, name)(x, 1) + 0)
        check(f(a), ufunc.accumulate(a, axis=1) + 0)


@pytest.mark.parametrize("seed", range(10))
def test_random_programs_compute_what_numpy_does(seed):
    rng = np.random.default_rng(seed)
    x, y = tensor(), tensor(name="y")
    a, b = normals((5, 300), seed), normals((5, 300), seed + 50)
    values = [(x, a), (y, b)]
    for _ in range(10):
        (u, p), (v, q) = (values[i] for i in rng.integers(len(values), size=2))
        kind, axis = rng.integers(6), int(rng.integers(2))
        if kind < 3:
            name = list(NUMPY)[rng.integers(4)]
            if name == "cumprod":
                u, p = rg.tanh(u), np.tanh(p)
            values.append((getattr(cumulative, name)(u, axis), NUMPY[name].accumulate(p, axis)))
        elif kind == 3:
            values.append((u - v, p - q))
        elif kind == 4:
            values.append((rg.sin(u), np.sin(p)))
        else:
            top = reductions.max(rg.abs(u), axis, keepdims=True) + 1.0
            values.append((v / top, q / (np.abs(p).max(axis, keepdims=True) + 1.0)))
    picks = {values[i][0]: values[i][1] for i in rng.integers(2, len(values), 4)}
    results = function([x, y], list(picks))(a, b)
    for expected, result in zip(picks.values(), results, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-9)


def test_what_is_computed_once_for_all_columns():
    x, s = rg.matrix("x", shape=("n", "k")), rg.scalar("s")
    a = np.random.default_rng(0).normal(size=(50, 1030))
    before = rg.function([x, s], rg.cumsum(x * rg.exp(s), axis=0), mode=None)
    np.testing.assert_allclose(before(a, 0.5), np.cumsum(a * np.exp(0.5), axis=0), rtol=1e-12)
    after = rg.function([x, s], rg.cumsum(x, axis=0) * rg.exp(s) + rg.sin(s), mode=None)
    expected = np.cumsum(a, axis=0) * np.exp(0.5) + np.sin(0.5)
    np.testing.assert_allclose(after(a, 0.5), expected, rtol=1e-12)
