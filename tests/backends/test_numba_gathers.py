"""Elements at places that an array holds are read in the kernel that uses them."""

from functools import partial

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy.operators
from relgraph.api.function import function as rewritten_function
from relgraph.backends.numba.schedules import FUSION, scheduled
from relgraph.errors import IndexRangeError
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.numpy import reductions
from relgraph.ops.elementwise import Elementwise

function = partial(rewritten_function, mode=None)
exp = Elementwise("exp")


def given(name, shape, dtype="float64"):
    return make_input(name, TensorType(dtype, shape))


def normals(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8", "uint64"])
def test_a_gather_is_part_of_the_kernel_that_reads_it(dtype):
    a, i, y = given("a", ("m",)), given("i", ("n",), dtype), given("y", ("n",))
    residual = y - exp(a)[i]
    f = function([a, i, y], [reductions.sum(residual * residual), residual * 2.0])
    assert "call_" not in f.source
    table, values = normals(9), normals(2000, 1)
    places = np.random.default_rng(2).integers(0, 9, 2000).astype(dtype)
    total, twice = f(table, places, values)
    expected = values - np.exp(table)[places]
    np.testing.assert_allclose(total, (expected**2).sum(), rtol=1e-13)
    np.testing.assert_allclose(twice, expected * 2, rtol=1e-14)


def test_negative_places_count_from_the_end():
    a, b = given("a", ("m",)), given("b", ("k",))
    i = given("i", ("n",), "int32")
    f = function([a, b, i], a[i] * b[i] + 1.0)
    p, q = normals(4), normals(7, 1)
    for places in ([0, 3, -1, -4], [-2], [2, 1], []):
        index = np.array(places, dtype="int32")
        np.testing.assert_array_equal(f(p, q, index), p[index] * q[index] + 1)


@pytest.mark.parametrize("bad", [4, -5, 2**62, -(2**63)])
def test_a_place_out_of_range_is_an_error(bad):
    a, i = given("a", ("m",)), given("i", ("n",), "int64")
    f = function([a, i], reductions.sum(a[i] * 2.0))
    places = np.zeros(3000, dtype="int64")
    assert f(np.ones(4), places) == 6000.0
    places[1777] = bad
    with pytest.raises(IndexRangeError):
        f(np.ones(4), places)
    with pytest.raises(IndexRangeError):
        f(np.ones(0), np.zeros(2, dtype="int64"))
    assert f(np.ones(0), np.zeros(0, dtype="int64")) == 0.0


def test_places_of_several_axes_computed_places_and_tables():
    x, i = given("x", ("m", 3)), given("i", ("n", "k"), "int64")
    table = reductions.sum(x, axis=1)
    far = i * 2 - 1
    f = function([x, i], [table[far] - table[i] * 0.5, reductions.max(table[far], axis=0)])
    a = normals((8, 3))
    index = np.random.default_rng(1).integers(0, 4, (5, 6))
    t = a.sum(1)
    first, second = f(a, index)
    np.testing.assert_allclose(first, t[index * 2 - 1] - t[index] * 0.5, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(second, t[index * 2 - 1].max(0), rtol=1e-13)


def test_views_as_tables_and_as_places():
    x, i = given("x", ("m", "k")), given("i", ("n",), "int64")
    f = function([x, i], x[:, 0][i[::2]] + x[0, ::-1][i[1::2]])
    a = normals((6, 6))
    for index in (np.array([0, 5, 3, 2]), np.array([0, -1, -6, 2])):
        expected = a[:, 0][index[::2]] + a[0, ::-1][index[1::2]]
        np.testing.assert_array_equal(f(a, index), expected)


def test_a_vector_gathered_by_itself():
    i = given("i", ("n",), "int64")
    f = function([i], [i[i], i[i[i]] + i])
    p = np.random.default_rng(3).permutation(50)
    first, second = f(p)
    np.testing.assert_array_equal(first, p[p])
    np.testing.assert_array_equal(second, p[p[p]] + p)


def test_a_vector_that_is_gathered_is_not_written_over():
    a, i = given("a", ("n",)), given("i", ("n",), "int64")
    e = exp(a)
    f = function([a, i], e[i] - e * 0.5)
    p, index = normals(3000), np.arange(3000)[::-1].copy()
    q = np.exp(p)
    np.testing.assert_allclose(f(p, index), q[::-1] - q * 0.5, rtol=1e-13, atol=1e-15)
    g = function([a, i], a[i] - a * 0.5, donate="a")
    np.testing.assert_array_equal(g(p.copy(), index), p[::-1] - p * 0.5)


def test_beside_rows_and_products():
    x, i, w = given("x", ("n", "k")), given("i", ("n",), "int64"), given("w", ("k",))
    a = given("a", ("m",))
    e = x @ w + a[i]
    soft = reductions.softmax(x) * a[i][:, None]
    f = function([x, i, w, a], [reductions.sum(e), x.T @ e, soft])
    p, q, r = normals((7, 4)), normals(4, 1), normals(3, 2)
    index = np.array([0, 1, 2, 2, 1, 0, 1])
    e = p @ q + r[index]
    s = np.exp(p - p.max(1, keepdims=True))
    expected = [e.sum(), p.T @ e, s / s.sum(1, keepdims=True) * r[index][:, None]]
    for result, value in zip(f(p, index, q, r), expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-12, atol=1e-13)


def test_vectors_of_one_size_share_the_places():
    a, b = rg.tensor("a", ("k",)), rg.tensor("b", ("k",))
    c, places = rg.tensor("c", ("m",)), rg.tensor("places", ("n",), dtype="int64")
    f = rg.function([a, b, c, places], rg.sum(a[places] * b[places] - c[places]))
    steps = scheduled(f.graph, FUSION).steps
    (structure,) = [step.structure for step in steps if getattr(step, "gathers", ())]
    assert [dtype for dtype, _ in structure.arrays] == ["int64", "int64"]
    draw = np.random.default_rng(0)
    x, y, z = draw.normal(size=7), draw.normal(size=7), draw.normal(size=9)
    for where in (draw.integers(0, 7, size=50), draw.integers(-7, 7, size=50)):
        expected = (x[where] * y[where] - z[where]).sum()
        assert f(x, y, z, where) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(IndexRangeError):
        f(x, y, z, np.full(3, 7))


def test_an_array_of_indices_for_each_axis():
    rng = np.random.default_rng(8)
    x = rg.tensor("x", shape=("n", 5, 3))
    i, j, k = [rg.tensor(name, ("m", "l"), "int64") for name in "ijk"]
    row = rg.tensor("row", (1, "l"), "int32")
    f = rg.function([x, i, j, k], 2 * x[i, j, k] + x[i, j, i])
    g = rg.function([x, i, row], rg.exp(x[i, row, row]))
    assert "index" not in f.source.split("def main")[1]
    a = rng.normal(size=(4, 5, 3))
    at = [rng.integers(-n, n, size=(6, 7)) for n in (3, 5, 3)]
    np.testing.assert_array_equal(f(a, *at), 2 * a[tuple(at)] + a[at[0], at[1], at[0]])
    across = rng.integers(-3, 3, size=(1, 7)).astype("int32")
    np.testing.assert_allclose(g(a, at[0], across), np.exp(a[at[0], across, across]), rtol=1e-15)


@pytest.mark.parametrize(("axis", "place"), [(0, 4), (0, -5), (1, 5), (1, -6), (2, 3)])
def test_an_index_out_of_range_along_any_axis(axis, place):
    x = rg.tensor("x", shape=(4, 5, 3))
    indices = [rg.tensor(name, ("m",), "int64") for name in "ijk"]
    f = rg.function([x, *indices], x[tuple(indices)] + 1)
    at = [np.zeros(2, int) for _ in range(3)]
    at[axis][1] = place
    size = (4, 5, 3)[axis]
    message = f"index {place} is out of bounds for axis {axis} with size {size}"
    with pytest.raises(IndexError, match=message):
        f(np.zeros((4, 5, 3)), *at)
