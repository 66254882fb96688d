"""Large results go past the cache, and are what they would be otherwise."""

import re

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numba import kernels, machine
from relgraph.backends.numba.llvm_printer import printed
from relgraph.backends.numba.schedules import FUSION, READ, STREAMS, WRITTEN, layout_of, scheduled
from relgraph.lowering.nests import nest_of

pytestmark = pytest.mark.skipif(not STREAMS, reason="not on this processor")

EIGHT = READ // 8  # elements of float64 from which on an operand fills a cache


def compiled():
    """Return the kernels for large results that there are in this process."""
    return {name for name in kernels.stats() if name.endswith("_past")}


def sample(shape, dtype="float64"):
    count = int(np.prod(shape))
    return (np.arange(count) % 1013 - 300).astype(dtype).reshape(shape)


def placed(count, dtype, offset):
    """Return an array that begins some elements after a line of memory."""
    memory = np.full(count + 128, 7, dtype)
    first = -memory.ctypes.data % 64 // memory.itemsize + offset
    return memory, memory[first : first + count]


def intact(memory, place):
    """Return True if nothing was written outside an array."""
    first = (place.ctypes.data - memory.ctypes.data) // memory.itemsize
    return (memory[:first] == 7).all() and (memory[first + len(place) :] == 7).all()


@pytest.mark.parametrize("threads", [1, 2, 64])
@pytest.mark.parametrize("count", [EIGHT, EIGHT + 1, EIGHT + 77])
def test_flat_results(count, threads):
    x, y = rg.vector("x", shape=("n",)), rg.vector("y", shape=("n",))
    f = rg.function([x, y], x * y - 2.0)
    a, b = sample(count), sample(count)[::-1].copy()
    with rg.config(threads=threads):
        np.testing.assert_array_equal(f(a, b), a * b - 2.0)
        np.testing.assert_array_equal(f(a, b[::-1]), a * a - 2.0)
    assert compiled()


SMALL = ("float32", "int16", "int8")


def layout(*outputs):
    """Return the layout of the one kernel of a graph."""
    schedule = scheduled(rg.FunctionGraph(None, outputs), FUSION)
    (step,) = schedule.steps
    return layout_of(step, nest_of(step.structure))


def test_what_fills_a_cache():
    a, b, c, d = [rg.vector(name, "n") for name in "abcd"]
    f, s, i = [rg.tensor(name, ("n",), t) for name, t in zip("fsi", SMALL, strict=True)]
    one = layout(a * 2)
    assert (one.least, one.results, one.item) == (EIGHT, 1, 8)
    assert layout(a + b * c - d).least == EIGHT // 4
    assert layout(f + 1, f * 2).least == min(READ // 4, WRITTEN // 8)
    assert layout(rg.cast(i, "float32"), rg.cast(i, "float32") + 1).least == WRITTEN // 8
    assert layout(s > 0, rg.cast(s, "float64")).item == 0
    assert layout(rg.sum(a)).least == 0


def test_small_results_stay_in_the_cache():
    x = rg.vector("x", shape=("n",))
    f = rg.function([x], x * 3.25 - 11.0)
    before = compiled()
    a = sample(EIGHT - 1)
    np.testing.assert_array_equal(f(a), a * 3.25 - 11.0)
    assert compiled() == before
    a = sample(EIGHT)
    np.testing.assert_array_equal(f(a), a * 3.25 - 11.0)
    assert len(compiled() - before) == 1


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int16", "uint8"])
@pytest.mark.parametrize("offset", [0, 1, 5, 7])
def test_out_arrays_may_start_at_any_offset(dtype, offset):
    count = READ // np.dtype(dtype).itemsize + 3
    x = rg.tensor("x", dtype=dtype, shape=("n",))
    f = rg.function([x], x + x)
    a = sample(count, dtype)
    memory, place = placed(count, dtype, offset)
    assert f(a, out=place) is place
    np.testing.assert_array_equal(place, a + a)
    assert intact(memory, place)


@pytest.mark.parametrize("offsets", [(0, 0), (3, 3), (0, 3), (1, 2)])
def test_several_results(offsets):
    x = rg.vector("x", shape=("n",))
    same = rg.function([x], [x + 1.0, x * 2.0])
    other = rg.function([x], [x + 1.0, x > 5.0])
    a = sample(EIGHT + 9)
    places = [placed(len(a), "float64", offset) for offset in offsets]
    same(a, out=[place for _, place in places])
    np.testing.assert_array_equal(places[0][1], a + 1)
    np.testing.assert_array_equal(places[1][1], a * 2)
    assert all(intact(*pair) for pair in places)
    one, two = placed(len(a), "float64", offsets[0]), placed(len(a), "bool", offsets[1])
    two[0][:] = True
    other(a, out=[one[1], two[1]])
    np.testing.assert_array_equal(one[1], a + 1)
    np.testing.assert_array_equal(two[1], a > 5)
    assert intact(*one)


def test_results_in_operands():
    x, y = rg.vector("x", shape=("n",)), rg.vector("y", shape=("n",))
    f = rg.function([x, y], x - 2.0 * y)
    a, b = sample(EIGHT + 5), sample(EIGHT + 5)[::-1].copy()
    expected = a - 2 * b
    f(a, b, out=b)
    np.testing.assert_array_equal(b, expected)
    g = rg.function([x], rg.sqrt(abs(x)) + 1.0, donate="x")
    expected = np.sqrt(abs(a)) + 1
    np.testing.assert_array_equal(g(a), expected)


@pytest.mark.parametrize("columns", [64, 1024, 1000, 1, 65])
def test_rows(columns):
    x, w = rg.matrix("x", shape=("n", "k")), rg.vector("w", shape=("k",))
    f = rg.function([x, w], x * w + 1.0)
    a = sample((EIGHT // columns + 3, columns))
    row, column = sample(columns), sample((len(a), 1))
    np.testing.assert_array_equal(f(a, row), a * row + 1)
    if columns > 1:
        v = rg.matrix("v", shape=(None, 1))
        g = rg.function([x, v], x - v)
        np.testing.assert_array_equal(g(a, column), a - column)
    memory, place = placed(a.size, "float64", 3)
    f(a, row, out=place.reshape(a.shape))
    np.testing.assert_array_equal(place.reshape(a.shape), a * row + 1)
    assert intact(memory, place)


@pytest.mark.parametrize("columns", [1024, 1000])
def test_rows_that_are_reduced(columns):
    x, w = rg.matrix("x", shape=("n", "k")), rg.vector("w", shape=("k",))
    mean = rg.mean(x, axis=1, keepdims=True)
    scaled = (x - mean) / rg.sqrt(rg.mean((x - mean) ** 2, axis=1, keepdims=True) + 1e-5) * w
    a = sample((EIGHT // columns + 2, columns))
    row = sample(columns)
    middle = a - a.mean(axis=1, keepdims=True)
    expected = middle / np.sqrt((middle**2).mean(axis=1, keepdims=True) + 1e-5) * row
    before = compiled()
    np.testing.assert_allclose(rg.function([x, w], scaled)(a, row), expected, rtol=1e-11)
    assert len(compiled() - before) == (columns == 1024)
    softmax = rg.function([x], rg.exp(x) / rg.sum(rg.exp(x), axis=1, keepdims=True))
    powers = np.exp(a - a.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(softmax(a), expected, rtol=1e-12)


def test_views_and_orders():
    x = rg.matrix("x", shape=("n", "k"))
    f = rg.function([x], x.T * 2.0)
    g = rg.function([x], x[::-1, ::2] + 1.0)
    a = sample((4096, 2 * EIGHT // 4096))
    np.testing.assert_array_equal(f(a), a.T * 2)
    np.testing.assert_array_equal(g(a), a[::-1, ::2] + 1)
    h = rg.function([x], x + 1.0)
    np.testing.assert_array_equal(h(np.asfortranarray(a)), a + 1)


def test_large_temporaries_that_are_read_again():
    x = rg.vector("x", shape=("n",))
    total = rg.sum(x)
    f = rg.function([x], [x / total, rg.max(x / total)])
    a = abs(sample(EIGHT)) + 1
    share, most = f(a)
    np.testing.assert_allclose(share, a / a.sum(), rtol=1e-14)
    assert most == share.max()


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_lines_go_past_the_cache_as_aligned_vectors(dtype):
    x, w = rg.tensor("x", dtype=dtype, shape=("n", "k")), rg.tensor("w", dtype=dtype, shape=("k",))
    for graph, inputs in ((x * x, [x]), (x * w, [x, w])):
        (structure,) = scheduled(rg.function(inputs, graph).graph, FUSION).names
        functions = nest_of(structure, past=True).functions("kernel")
        text = str(machine.optimised(printed(functions, kernels.scalar).text))
        stores = re.findall(r"store <(\d+) x \w+> .*, align (\d+).*!nontemporal", text)
        assert stores
        size = np.dtype(dtype).itemsize
        assert all(int(align) >= size * int(lanes) >= 16 for lanes, align in stores)
        assert "@llvm.x86.sse.sfence()" in text
