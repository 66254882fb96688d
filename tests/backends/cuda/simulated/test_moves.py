"""What moves elements, simulated on the device: views, transposes, joins, gathers, scatters."""

from functools import partial

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.cuda.compiler import CudaBackend
from relgraph.errors import IndexRangeError, RelgraphError, ShapeError
from relgraph.ir.types import DTYPES
from relgraph.ops.indexing.update import at
from relgraph.ops.sorting import sort

function = partial(rg.function, mode=None, target="cuda")


def check(f, *arrays, expected):
    results = rg.cuda.to_host(f(*arrays))
    assert "on the CPU" not in f.source
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, value, strict=isinstance(result, np.ndarray))


def test_views_of_a_matrix():
    x = rg.matrix("x", shape=("n", 6))
    f = function(
        [x],
        [
            rg.reshape(x, (-1, 3)), x.T, x[1:], x[:, 1], x[::-1, ::2], x[-1], x[2, 3],
            rg.expand_dims(x, 1), rg.broadcast_to(x[0], (4, 6)), rg.diagonal(x), x[:0],
        ],
    )  # fmt: skip
    a = np.random.default_rng(0).normal(size=(5, 6))
    expected = [
        a.reshape(-1, 3), a.T, a[1:], a[:, 1], a[::-1, ::2], a[-1], a[2, 3],
        a[:, None], np.broadcast_to(a[0], (4, 6)), np.diagonal(a), a[:0],
    ]  # fmt: skip
    check(f, a, expected=expected)


def test_a_broadcast_stretches_only_a_declared_size_of_one():
    x, size = rg.vector("x"), rg.scalar("size", dtype="int64")
    f = function([x, size], rg.broadcast_to(x, (2, size)))
    with pytest.raises(ShapeError, match="must have size 3 along axis -1, and it is 1"):
        f(np.ones(1), 3)
    np.testing.assert_array_equal(rg.cuda.to_host(f(np.arange(3.0), 3)), [np.arange(3.0)] * 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_transposes_of_any_dtype_and_size(dtype):
    x = rg.tensor("x", shape=("a", "b", "c"), dtype=dtype)
    axes = [(0, 2, 1), (2, 1, 0), (1, 2, 0), (1, 0, 2)]
    f = function([x], [rg.transpose(x, axis) for axis in axes])
    rng = np.random.default_rng(1)
    for shape in [(1, 5, 9), (2, 4, 4)]:
        a = rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)
        check(f, a, expected=[a.transpose(axis) for axis in axes])


def test_an_index_that_is_known_at_the_call():
    x, i = rg.matrix("x"), rg.scalar("i", dtype="int64")
    f = function([x, i], [x[i], x[i:, 0]])
    a = np.arange(12.0).reshape(4, 3)
    check(f, a, 2, expected=[a[2], a[2:, 0]])


def test_joins():
    x, y = rg.matrix("x", shape=("n", "m")), rg.matrix("y", shape=("n", "m"))
    f = function(
        [x, y],
        [
            rg.concatenate([x, y, x], axis=0), rg.concatenate([x, y], axis=1),
            rg.stack([x, y], axis=0), rg.stack([x, y], axis=2),
        ],
    )  # fmt: skip
    a, b = np.random.default_rng(2).normal(size=(2, 3, 4))
    expected = [
        np.concatenate([a, b, a]), np.concatenate([a, b], 1), np.stack([a, b]), np.stack([a, b], 2)
    ]  # fmt: skip
    check(f, a, b, expected=expected)


def test_gathers():
    x = rg.tensor("x", shape=("a", "b", "c"))
    i, j = rg.vector("i", dtype="int64"), rg.matrix("j", dtype="int32")
    f = function([x, i, j], [x[i], x[:, j], rg.take(x, i, axis=2)])
    a = np.random.default_rng(3).normal(size=(3, 4, 3))
    p, q = np.array([2, 0, -1, 2]), np.array([[1, -4], [3, 0]], np.int32)
    check(f, a, p, q, expected=[a[p], a[:, q], np.take(a, p, 2)])
    with pytest.raises(IndexRangeError, match="index 3 is out of bounds"):
        f(a, np.array([0, 3]), q)
    np.testing.assert_array_equal(f(a, p, q)[0].to_host(), a[p])  # the next call is right


def test_scatters_add_repeated_places_in_order():
    x, v = rg.matrix("x", shape=("n", "m")), rg.matrix("v", shape=("k", "m"))
    i = rg.vector("i", shape="k", dtype="int64")
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(5, 3)), rng.normal(size=(9, 3))
    places = np.array([0, 4, 0, -1, 2, 2, 2, 0, -5])
    expected = a.copy()
    np.add.at(expected, places, b)
    f = function([x, v, i], at(x)[i].add(v))
    result = f(a, b, places)
    assert "on the CPU" not in f.source
    np.testing.assert_array_equal(result.to_host(), expected)  # bit for bit
    with pytest.raises(IndexRangeError):
        f(a, b, places + 1)
    f = function([x, v, i], at(x)[i].add(v), target=CudaBackend(deterministic=False))
    np.testing.assert_allclose(f(a, b, places).to_host(), expected, rtol=1e-15)
    f = function([x, i], at(x)[:, i].add(1.5))
    expected = a.copy()
    np.add.at(expected, (slice(None), [2, 2, 0]), 1.5)
    np.testing.assert_array_equal(f(a, np.array([2, 2, 0])).to_host(), expected)


def test_masks_select_and_take_additions():
    x, m = rg.matrix("x", shape=("n", "k")), rg.matrix("m", shape=("n", "k"), dtype="bool")
    r, v = rg.vector("r", shape="n", dtype="bool"), rg.vector("v", shape="k")
    inputs = [x, m, r, v]
    f = function(inputs, [x[m], x[r], x[:, v > 0], at(x)[m].add(2.0), at(x)[r].add(v)])
    a = np.random.default_rng(5).normal(size=(4, 5))
    for rows in ([True, False, True, True], [False] * 4):
        k, w, b = a > 0.2, np.array(rows), a[1]
        first, second = a.copy(), a.copy()
        first[k] += 2.0
        second[w] += b
        check(f, a, k, w, b, expected=[a[k], a[w], a[:, b > 0], first, second])
    loose = [rg.matrix("x"), rg.matrix("m", dtype="bool")]
    with pytest.raises(RelgraphError, match="bool"):
        function(loose, loose[0][loose[1]])(a, k[:3])


def test_parts_are_replaced():
    x, v, i = rg.matrix("x"), rg.vector("v"), rg.scalar("i", dtype="int64")
    f = function([x, v, i], [at(x)[1:3].set(v), at(x)[:, ::-2].set(3.0), at(x)[i, 1:].set(v[1:])])
    a = np.random.default_rng(6).normal(size=(4, 5))
    b = np.arange(5.0)
    first, second, third = a.copy(), a.copy(), a.copy()
    first[1:3], second[:, ::-2], third[2, 1:] = b, 3.0, b[1:]
    check(f, a, b, 2, expected=[first, second, third])
    with pytest.raises(RelgraphError):
        f(a, b[:3], 2)


def test_elements_at_places_are_replaced_by_the_cpu_the_last_of_equal_places_winning():
    x, v, k = rg.matrix("x"), rg.matrix("v"), rg.vector("k", dtype="int64")
    a, b, places = np.zeros((4, 2)), np.arange(6.0).reshape(3, 2), np.array([2, 0, 2])
    with pytest.warns(RuntimeWarning, match="run on the CPU.*: set_index"):
        f = function([x, v, k], [at(x)[k].set(v), at(x)[k].set(2.5)])
    several, one = rg.cuda.to_host(f(a, b, places))
    np.testing.assert_array_equal(several, [[2, 3], [0, 0], [4, 5], [0, 0]])
    np.testing.assert_array_equal(one, [[2.5, 2.5], [0, 0], [2.5, 2.5], [0, 0]])
    with pytest.raises(IndexRangeError):
        f(a, b, np.array([2, 0, 4]))


def test_what_has_no_kernel_runs_on_the_cpu_with_one_warning_in_the_simulator():
    x = rg.matrix("x", shape=("n", "n"))
    with pytest.warns(RuntimeWarning, match="run on the CPU.*: sort, eigh") as found:
        f = function([x], [sort(x + 1) * 2, rg.eigh(x + x.T)[0]])
    assert len(found) == 1
    assert str(found[0].message).endswith(("sort, eigh, getitem", "sort, eigh"))
    a = np.random.default_rng(5).normal(size=(4, 4))
    first, second = rg.cuda.to_host(f(a))
    np.testing.assert_array_equal(first, np.sort(a + 1) * 2)
    np.testing.assert_allclose(second, np.linalg.eigvalsh(a + a.T), rtol=1e-12, atol=1e-13)
