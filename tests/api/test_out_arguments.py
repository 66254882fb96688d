"""Places for results: ``out``, which may overlap with arguments, and donated inputs."""

import pickle
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relgraph as rg
from relgraph.errors import ArgumentError, DTypeError, ShapeError
from tests.concurrency import at_once

TARGETS = ["cpu", "numpy"]


def vectors(*names, dtype="float64"):
    return [rg.tensor(name, shape=("n",), dtype=dtype) for name in names]


@pytest.mark.parametrize("target", TARGETS)
def test_results_are_written_where_they_should_be(target):
    x, y = vectors("x", "y")
    a, b = np.arange(4.0), np.ones(4)
    f = rg.function([x, y], x * y + 2.0, target=target)
    out = np.empty(4)
    for _ in range(2):
        out[:] = -1
        assert f(a, b, out=out) is out
        np.testing.assert_array_equal(out, a + 2)
        assert f(a, y=b, out=out) is out
        assert f([0, 1, 2, 3], b, out=out) is out
        np.testing.assert_array_equal(out, a + 2)
    wide = np.zeros(8)
    swapped = np.empty(4, dtype=">f8")
    shifted = np.zeros(33, dtype="uint8")[1:].view("float64")
    for place in (wide[::2], wide[::-2], swapped, shifted):
        assert f(a, b, out=place) is place
        np.testing.assert_array_equal(place, a + 2)


@pytest.mark.parametrize("target", TARGETS)
def test_containers_of_places(target):
    x, y = vectors("x", "y")
    a, b = np.arange(4.0), np.full(4, 3.0)
    p, q, r = np.empty(4), np.empty(()), np.empty(4)
    f = rg.function([x, y], {"sum": x + y, "total": rg.sum(x)}, target=target)
    out = {"total": q, "sum": p}
    assert f(a, b, out=out) is out
    np.testing.assert_array_equal(p, a + b)
    assert q == 6.0
    g = rg.function([x, y], [x + y, x[::-1], x, rg.constant(7.0)], target=target)
    places = [p, r, np.empty(4), q]
    assert g(a, b, out=places) is places
    np.testing.assert_array_equal(r, a[::-1])
    np.testing.assert_array_equal(places[2], a)
    assert q == 7.0
    twice = rg.function([x], (x + 1.0, x + 1.0), target=target)
    twice(a, out=(p, r))
    np.testing.assert_array_equal(p, a + 1)
    np.testing.assert_array_equal(r, a + 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("out", "error", "text"),
    [(np.empty(3), ShapeError, r"shape \(3,\), and the result \(4,\)"),
     (np.empty((4, 1)), ShapeError, "shape"), (np.empty(4, "float32"), DTypeError, "float32"),
     (np.broadcast_to(np.zeros(1), (4,)), ArgumentError, "cannot be written"),
     ([0.0] * 4, ArgumentError, "not an array"), ((np.empty(4),), ArgumentError, "tuple")],
)  # fmt: skip
def test_what_is_no_place(target, out, error, text):
    (x,) = vectors("x")
    with pytest.raises(error, match=text):
        rg.function([x], x + 1.0, target=target)(np.ones(4), out=out)


@pytest.mark.parametrize("strides", [(0, 0), (8, 8), (0, 8), (-8, 16)])
def test_a_place_that_overlaps_itself_is_refused(strides):
    x = rg.matrix("x")
    f = rg.function([x], x * x)
    place = np.lib.stride_tricks.as_strided(np.zeros(20)[5:], (3, 2), strides)
    with pytest.raises(ArgumentError, match="overlaps itself"):
        f(np.ones((3, 2)), out=place)
    for fine in (np.zeros((6, 4))[::2, ::-2], np.zeros((2, 3)).T, np.zeros((3, 2, 4))[:, :, 1]):
        np.testing.assert_array_equal(f(np.full((3, 2), 3.0), out=fine), np.full((3, 2), 9.0))


def test_places_that_overlap_each_other_are_refused():
    (x,) = vectors("x")
    memory = np.zeros(6)
    f = rg.function([x], [x + 1.0, x + 2.0])
    with pytest.raises(ArgumentError, match="overlaps with that of another result"):
        f(np.ones(4), out=[memory[:4], memory[2:]])
    with pytest.raises(ArgumentError, match="2 results, and out 1 array"):
        f(np.ones(4), out=[memory[:4]])
    g = rg.function([x], {"a": x + 1.0})
    with pytest.raises(ArgumentError, match="dict"):
        g(np.ones(4), out={"b": memory[:4]})


def test_an_input_may_be_called_out():
    (out,) = vectors("out")
    f = rg.function([out], out * 2.0)
    np.testing.assert_array_equal(f(out=np.ones(3)), [2.0, 2.0, 2.0])


def graphs(x, y):
    """Graphs in which a place that is an argument is safe, or is not."""
    return [
        x * y + x,
        x - x[::-1],
        rg.repeat(x, 1) * y + x,
        x + rg.sum(x),
        rg.exp(x) / rg.sum(rg.exp(x)),
        (x + y)[::-1] + x,
        rg.concatenate([x[2:], x[:2]]) + x,
        x + y[::-1] * y,
    ]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("index", range(8))
def test_overlap_with_arguments_changes_no_result(target, index):
    x, y = vectors("x", "y")
    f = rg.function([x, y], graphs(x, y)[index], target=target, mode=None)
    rng = np.random.default_rng(index)
    n = 40
    for start in (0, 1, 5, 39):
        for other in (0, 3, n):
            memory = rng.normal(size=3 * n)
            a, b = memory[:n], memory[other : other + n]
            expected = f(a.copy(), b.copy())
            place = memory[start : start + n]
            assert f(a, b, out=place) is place
            np.testing.assert_array_equal(place, expected)


def test_overlap_where_a_later_step_reads():
    x, y = vectors("x", "y")
    inner = rg.matmul(rg.expand_dims(x, 0), rg.expand_dims(y, 1))  # ends the first kernel
    f = rg.function([x, y], [x + y, x * inner[0, 0]], mode=None)
    a, b = np.arange(5.0), np.ones(5)
    p = np.empty(5)
    first, second = f(a.copy(), b)
    f(a, b, out=[a, p])
    np.testing.assert_array_equal(a, first)
    np.testing.assert_array_equal(p, second)


@pytest.mark.parametrize("target", TARGETS)
def test_donated_inputs_are_written_over_and_results_are_right(target):
    x, y = vectors("x", "y")
    f = rg.function([x, y], rg.sqrt(x) * y + x, donate="x", target=target)
    a, b = np.array([1.0, 4.0, 9.0]), np.array([2.0, 2.0, 2.0])
    expected = np.sqrt(a) * b + a
    result = f(a, b)
    np.testing.assert_array_equal(result, expected)
    if target == "cpu":
        assert np.shares_memory(result, a)
    g = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(g(np.ones(3), b), [3.0, 3.0, 3.0])


def test_donated_arrays_that_others_see_are_copied():
    x, y = vectors("x", "y")
    f = rg.function([x, y], x + y * 2.0, donate=[x])
    a = np.arange(4.0)
    np.testing.assert_array_equal(f(a, a), 3 * np.arange(4.0))
    np.testing.assert_array_equal(a, np.arange(4.0))
    memory = np.arange(8.0)
    np.testing.assert_array_equal(f(memory[:4], memory[2:6]), np.arange(4) + 2 * np.arange(2, 6))
    np.testing.assert_array_equal(memory, np.arange(8.0))
    a.flags.writeable = False
    np.testing.assert_array_equal(f(a, np.ones(4)), a + 2)
    np.testing.assert_array_equal(a, np.arange(4.0))


def test_updates_are_made_in_donated_arrays():
    (x,) = vectors("x")
    f = rg.function([x], x.at[1:3].set(0.0), donate=x, mode="o4")
    a = np.ones(5)
    b = f(a)
    assert np.shares_memory(a, b)
    np.testing.assert_array_equal(b, [1, 0, 0, 1, 1])
    c = np.ones(5)
    np.testing.assert_array_equal(rg.function([x], x.at[1:3].set(0.0))(c), b)
    np.testing.assert_array_equal(c, np.ones(5))


def test_sizes_of_donated_arrays_are_read_before_they_are_gone():
    x, y = rg.tensor("x", shape=("n", "m")), rg.tensor("y", shape=("m",))
    f = rg.function([x, y], rg.sum(rg.exp(x * 2.0) + y, axis=0) + rg.mean(x), donate="x")
    a, b = np.random.default_rng(0).normal(size=(6, 4)), np.ones(4)
    expected = (np.exp(a * 2) + b).sum(0) + a.mean()
    np.testing.assert_allclose(f(a.copy(), b), expected, rtol=1e-13)


def test_what_cannot_be_donated():
    x, y = vectors("x", "yes")
    with pytest.raises(ArgumentError, match=r"Did you mean 'yes'\?"):
        rg.function([x, y], x + y, donate="yess")


def test_threads_with_places_of_their_own():
    x, y = vectors("x", "y")
    f = rg.function([x, y], rg.exp(x) * y)
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        a, b = rng.normal(size=1000), rng.normal(size=1000)
        out = np.empty(1000)
        expected = f(a, b)
        for _ in range(50):
            out[:] = 0
            f(a, b, out=out)
            if not np.array_equal(out, expected):
                failures.append(seed)

    at_once(work, range(8))
    assert failures == []


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 7), st.integers(0, 12), st.integers(0, 12), st.integers(0, 6))
def test_no_overlap_is_silently_wrong(index, first, second, n):
    x, y = vectors("x", "y")
    f = FUNCTIONS.setdefault(index, rg.function([x, y], graphs(x, y)[index], mode=None))
    if index == 6 and n < 2:
        return
    memory = np.random.default_rng(n).normal(size=20)
    a, b = memory[:n], memory[first : first + n]
    place = memory[second : second + n]
    expected = f(a.copy(), b.copy())
    f(a, b, out=place)
    np.testing.assert_array_equal(place, expected)


FUNCTIONS = {}


def test_a_donated_array_may_be_a_place():
    x, y = (rg.vector(name, shape=(3,)) for name in "xy")
    A = rg.matrix("A", shape=(3, 3))
    a, b = np.array([1.0, 2.0, 3.0]), np.full(3, 2.0)
    place = a.copy()
    f = rg.function([x, y, A], [rg.sqrt(x), A * x * (y * x)], donate="x")
    first, second = f(place, b, np.eye(3), out=[place, np.empty((3, 3))])
    assert first is place
    np.testing.assert_allclose(first, np.sqrt(a))
    np.testing.assert_allclose(second, np.eye(3) * a * (b * a))
    place = a.copy()
    f = rg.function([x, y], (y - rg.sum(y))[::-1] - rg.sum(x), donate="y")
    np.testing.assert_allclose(f(b, place, out=place), (a - 6)[::-1] - 6)
    place = a.copy()
    step = rg.function([x, y], x - 0.5 * y, donate="x")
    assert step(place, b, out=place) is place
    np.testing.assert_array_equal(place, a - 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("place", [7, 62, 63, 64, 67])
def test_a_result_may_overlap_with_any_of_many_arguments(target, place):
    xs = [rg.matrix(f"x{k}", shape=("n", "n")) for k in range(70)]
    read = [k for k in range(3, 68) if k != place]
    graph = reduce(add, [xs[k] for k in read]) + xs[place].mT
    arrays = [np.full((3, 3), float(k)) for k in range(70)]
    arrays[place] = np.arange(9.0).reshape(3, 3)
    expected = sum(arrays[k] for k in read) + arrays[place].T
    f = rg.function(xs, graph, target=target)
    np.testing.assert_array_equal(f(*arrays, out=arrays[place]), expected)


@pytest.mark.parametrize("target", TARGETS)
def test_places_of_other_classes_of_arrays(tmp_path, target):
    (x,) = vectors("x")
    f = rg.function([x], x * 2.0, target=target)
    both = rg.function([x], [x * 2.0, x + 1.0], target=target)
    on_disk = np.memmap(tmp_path / "place", "float64", "w+", shape=(3,))
    assert f(np.arange(3.0), out=on_disk) is on_disk
    np.testing.assert_array_equal(np.fromfile(tmp_path / "place"), [0, 2, 4])
    viewed = np.empty(3).view(type("Viewed", (np.ndarray,), {}))
    first, second = both(np.arange(3.0), out=[viewed, np.empty(3)])
    assert first is viewed
    np.testing.assert_array_equal(np.asarray(first), [0, 2, 4])
    np.testing.assert_array_equal(second, [1, 2, 3])
    with pytest.raises(ArgumentError, match="a masked array, and graphs have no masks"):
        f(np.arange(3.0), out=np.ma.zeros(3))


def test_places_under_other_names():
    (x,) = vectors("x")
    f = rg.function([x], {"a": x * 2.0, "b": x + 1.0}, target="numpy")
    for out in ({"a": np.empty(3)}, {"a": np.empty(3), "c": np.empty(3)}):
        with pytest.raises(ArgumentError, match="not have the keys of the results") as caught:
            f(np.arange(3.0), out=out)
        assert f"out     : {', '.join(out)}" in str(caught.value)
    with pytest.raises(ArgumentError, match="returns a dict, and out is a list") as caught:
        f(np.arange(3.0), out=[np.empty(3), np.empty(3)])
    assert "results : a, b" in str(caught.value)
