"""Slices, transposes and broadcast operands are read where they lie, and give NumPy's results."""

from functools import partial

import numpy as np
import pytest
import scipy.special

import relgraph.numpy.operators  # noqa: F401  operators of nodes look their functions up
from relgraph.api.function import function as rewritten_function
from relgraph.errors import IndexRangeError, ShapeError
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.numpy import reductions
from relgraph.ops.checks import squeeze
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.indexing.index import index
from relgraph.ops.permutation import matrix_transpose, transpose
from relgraph.ops.shape import broadcast_to, expand_dims

function = partial(rewritten_function, mode=None)
exp = Elementwise("exp")
FULL = slice(None)


def given(shape, name="x", dtype="float64"):
    return make_input(name, TensorType(dtype, shape))


def normals(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def stencil(u):
    inner = u[1:-1, 1:-1]
    return inner + 0.125 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner)


def test_a_stencil_copies_nothing_and_compares_nothing():
    u = given(("m", "n"))
    f = function([u], stencil(u))
    assert f.source.count("def rgk_") == 1
    for word in ("ready(", "call_", "differ", "misshapen"):
        assert word not in f.source
    for shape in [(7, 9), (3, 3), (2, 5), (1, 1), (0, 4), (40, 130)]:
        a = normals(shape)
        np.testing.assert_allclose(f(a), stencil(a), rtol=1e-13, atol=1e-14)


KEYS = [
    (slice(None, None, 2),), (slice(None, None, -1),), (FULL, slice(None, None, -1)),
    (slice(None, None, -2), slice(1, None, 3)), (slice(1, 3), FULL, slice(None, None, -1)),
    (0,), (FULL, 1), (FULL, FULL, -1), (None, slice(2, 0, -1)), (slice(1, None), None),
    (slice(5, 1),), (slice(-2, None), slice(None, -1)), (-1, FULL, slice(None, None, 2)),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_every_key_of_slices(key):
    x = given(("a", "b", "c"))
    part = index(x, key)
    f = function([x], [part * 2.0, reductions.sum(part), exp(part)])
    assert "ready(" not in f.source
    for shape in [(4, 3, 5), (3, 4, 4)]:
        a = normals(shape)
        expected = a[key]
        doubled, total, powers = f(a)
        np.testing.assert_array_equal(doubled, expected * 2.0)
        np.testing.assert_allclose(total, expected.sum(), rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(powers, np.exp(expected), rtol=1e-14)


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1)])
@pytest.mark.parametrize("dtype", ["float64", "bool", "int16"])
def test_transposes_beside_arrays_in_order(axes, dtype):
    x = given((2, "b", 4), dtype=dtype)
    y = given(tuple((2, "b", 4)[axis] for axis in axes), "y")
    f = function([x, y], [transpose(x, axes) + y, reductions.sum(transpose(x, axes) * y, axis=1)])
    assert "ready(" not in f.source
    a = (normals((2, 3, 4)) * 3).astype(dtype)
    b = normals(tuple((2, 3, 4)[axis] for axis in axes), 1)
    t = a.transpose(axes)
    both, total = f(a, b)
    np.testing.assert_array_equal(both, t + b)
    np.testing.assert_allclose(total, (t * b).sum(1), rtol=1e-13, atol=1e-14)


def test_broadcast_operands_and_new_axes():
    x, y = given(("n",)), given(("m", 1), "y")
    wide = broadcast_to(y, ("m", 5))
    f = function([x, y], [expand_dims(x, -1) * wide[None, :, 0], squeeze(y, -1) - wide[:, 1]])
    a, b = normals(4), normals((3, 1), 1)
    first, second = f(a, b)
    np.testing.assert_array_equal(first, a[:, None] * b[:, 0])
    np.testing.assert_array_equal(second, np.zeros(3))


def test_views_of_intermediate_values_and_of_results_of_calls():
    x = given(("n", "n"))
    e, product = exp(x), x @ x
    f = function([x], [e[1:, ::2] - product[:-1, ::2], matrix_transpose(product) + e])
    a = normals((6, 6))
    first, second = f(a)
    np.testing.assert_allclose(
        first, np.exp(a)[1:, ::2] - (a @ a)[:-1, ::2], rtol=1e-13, atol=1e-13
    )
    np.testing.assert_allclose(second, (a @ a).T + np.exp(a), rtol=1e-13, atol=1e-13)


def test_rows_of_a_view_are_passed_over_in_place():
    x, shift = given(("n", "m")), given(("n",), "shift")
    f = function([x], reductions.softmax(x[::2, 1:-1]))
    a = normals((7, 9))
    assert f.source.count("def rgk_") == 1
    assert "ready(" not in f.source
    np.testing.assert_allclose(f(a), scipy.special.softmax(a[::2, 1:-1], axis=-1), rtol=1e-14)
    turned = matrix_transpose(x)
    f = function([x, shift], turned - reductions.max(turned, axis=-1, keepdims=True) + shift[::-1])
    b = normals(7, 1)
    expected = a.T - a.T.max(-1, keepdims=True) + b[::-1]
    np.testing.assert_allclose(f(a, b), expected, rtol=1e-14, atol=1e-15)


def test_products_of_a_part_of_a_matrix():
    X, w = given(("n", "k"), "X"), given((None,), "w")
    part = X[:, 1:]
    e = part @ w
    f = function([X, w], [reductions.sum(e * e), matrix_transpose(part) @ e, X[::2, :-1] @ w])
    A, b = normals((9, 4)), normals(3, 1)
    total, gradient, other = f(A, b)
    e = A[:, 1:] @ b
    np.testing.assert_allclose(total, e @ e, rtol=1e-13)
    np.testing.assert_allclose(gradient, A[:, 1:].T @ e, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(other, A[::2, :-1] @ b, rtol=1e-12, atol=1e-13)


def test_sizes_that_slices_do_not_prove_equal_are_compared():
    x, y = given(("n",)), given(("m",), "y")
    f = function([x, y], x[1:] * y[:-1])
    a = normals(5)
    np.testing.assert_array_equal(f(a, a), a[1:] * a[:-1])
    with pytest.raises(ShapeError, match="must have equal sizes"):
        f(a, normals(4))
    g = function([x], x[2:] + x[:-2] + x[::-1][1:-1])
    np.testing.assert_array_equal(g(a), a[2:] + a[:-2] + a[::-1][1:-1])


def test_an_index_out_of_range_is_an_error_still():
    x, i = given(("n", "m")), given((), "i", "int64")
    f = function([x, i], x[i] * 2.0 + x[3])
    a = normals((4, 2))
    np.testing.assert_array_equal(f(a, 1), a[1] * 2.0 + a[3])
    with pytest.raises(IndexRangeError):
        f(a, 4)
    with pytest.raises(IndexRangeError):
        f(a[:3], 0)


def test_results_share_no_memory_with_what_they_view():
    x = given(("n", "m"))
    f = function([x], [x[::2], matrix_transpose(x), x[1:] + 0.0])
    a = normals((4, 3))
    for result in f(a):
        assert not np.shares_memory(result, a)


def test_axes_of_one_element_may_have_any_distance():
    x = given(("n", "m", "k"))
    f = function([x], x[:, :, 0] * 2.0)
    a = np.lib.stride_tricks.as_strided(np.arange(12.0), (4, 1, 3), (24, 4096, 8))
    np.testing.assert_array_equal(f(a), a[:, :, 0] * 2.0)


@pytest.mark.parametrize("seed", range(10))
def test_random_views_of_views(seed):
    rng = np.random.default_rng(seed)
    x = given(("a", "b", "c"))
    a = normals((5, 4, 6), seed)
    pairs = []
    for _ in range(4):
        node, value = x, a
        for _ in range(rng.integers(1, 5)):
            kind = rng.integers(4)
            if kind == 0 and node.ndim > 1:
                axes = tuple(int(i) for i in rng.permutation(node.ndim))
                node, value = transpose(node, axes), value.transpose(axes)
            elif kind == 1:
                place = int(rng.integers(node.ndim + 1))
                node, value = expand_dims(node, place), np.expand_dims(value, place)
            else:
                step = [1, 1, 2, -1, -2, 3][rng.integers(6)]
                key = (FULL,) * int(rng.integers(node.ndim)) + (slice(None, None, step),)
                node, value = index(node, key), value[key]
        pairs.append((node, value))
    terms = [exp(node) for node, _ in pairs] + [reductions.sum(node, axis=-1) for node, _ in pairs]
    expected = [np.exp(v) for _, v in pairs] + [v.sum(axis=-1) for _, v in pairs]
    for result, value in zip(function([x], terms)(a), expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-12, atol=1e-13)
