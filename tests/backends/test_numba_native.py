"""Programs that are one call of machine code: what they compute, and what they leave to Python."""

import gc
import inspect
import pickle
import sys
import types
import warnings
import weakref

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError


def is_native(f):
    return isinstance(f.unchecked, types.BuiltinFunctionType)


def model():
    """Return a function of numbers, groups and observations, in several kernels."""
    scale = rg.tensor("scale", ())
    effects = rg.tensor("effects", ("groups",))
    group = rg.tensor("group", ("n",), dtype="int64")
    y = rg.tensor("y", ("n",))
    centred = y - (effects * rg.exp(scale))[group]
    total = rg.sum(effects**2) + rg.sum(centred**2) - rg.log(scale)
    return rg.function([scale, effects, group, y], total)


def by_numpy(scale, effects, group, y):
    centred = y - (effects * np.exp(scale))[group]
    return np.sum(effects**2) + np.sum(centred**2) - np.log(scale)


@pytest.fixture
def data():
    draw = np.random.default_rng(0)
    return (
        np.array(0.7),
        draw.normal(size=6),
        draw.integers(0, 6, size=500),
        draw.normal(size=500),
    )


def test_a_program_of_kernels_is_one_call(data):
    f = model()
    assert is_native(f)
    found = f(*data)
    assert type(found) is np.float64
    assert found == pytest.approx(by_numpy(*data), rel=1e-13)
    assert f.unchecked(*data) == found


def test_several_results_of_all_ranks():
    x, y = rg.matrix("x"), rg.vector("y")
    f = rg.function([x, y], {"a": rg.sum(x), "b": rg.exp(x).sum(axis=1), "c": x * 2 > 1, "d": -y})
    draw = np.random.default_rng(1)
    a, b = draw.normal(size=(5, 7)), draw.normal(size=3)
    found = f(a, b)
    assert type(found["a"]) is np.float64
    assert found["a"] == pytest.approx(a.sum(), rel=1e-13)
    np.testing.assert_allclose(found["b"], np.exp(a).sum(axis=1), rtol=1e-13)
    np.testing.assert_array_equal(found["c"], a * 2 > 1)
    np.testing.assert_array_equal(found["d"], -b)
    assert found["c"].dtype == np.bool_


def test_negative_indices_count_from_the_end(data):
    scale, effects, group, y = data
    group = np.where(group % 2 == 0, group, group - len(effects))
    assert model()(scale, effects, group, y) == pytest.approx(
        by_numpy(scale, effects, group, y), rel=1e-13
    )


def test_an_index_that_is_too_large_is_refused(data):
    scale, effects, group, y = data
    f = model()
    with pytest.raises(IndexRangeError, match="6"):
        f(scale, effects, np.where(group == 3, 6, group), y)
    assert f(*data) == pytest.approx(by_numpy(*data), rel=1e-13)


def test_sizes_that_must_agree_are_compared():
    x, y = rg.tensor("x", (None,)), rg.tensor("y", (None,))
    f = rg.function([x, y], rg.sum(rg.exp(x)) + (x * y))
    assert is_native(f)
    a = np.arange(4.0)
    np.testing.assert_allclose(f(a, a), np.exp(a).sum() + a * a)
    with pytest.raises(ShapeError):
        f(a, a[:3].copy())


def test_an_extreme_over_nothing_is_refused():
    x = rg.vector("x")
    f = rg.function([x], rg.max(x) + rg.sum(x))
    assert is_native(f)
    assert f(np.array([2.0, 5.0])) == 12.0
    with pytest.raises(ShapeError, match="no value"):
        f(np.array([]))


def test_large_temporaries_are_those_of_the_arena():
    x = rg.matrix("x")
    f = rg.function([x], rg.exp(x) / rg.sum(rg.exp(x)) + rg.exp(x).sum(axis=0))
    small, large = np.linspace(0, 1, 12).reshape(3, 4), np.linspace(0, 1, 400_000).reshape(400, -1)
    for a in (small, large):
        e = np.exp(a)
        np.testing.assert_allclose(f(a), e / e.sum() + e.sum(axis=0), rtol=1e-12)


def test_arrays_without_elements():
    x = rg.matrix("x")
    f = rg.function([x], [rg.sum(rg.exp(x), axis=1), rg.exp(x) + 1])
    for shape in ((0, 3), (3, 0), (0, 0)):
        total, mapped = f(np.zeros(shape))
        np.testing.assert_array_equal(total, np.zeros(shape[0]))
        assert mapped.shape == shape


def test_constant_arrays_live_as_long_as_the_function():
    x = rg.tensor("x", (1000,))
    f = rg.function([x], x * rg.constant(np.arange(1000.0)) + rg.constant(np.ones(1000)))
    gc.collect()
    spoil = [np.full(1000, np.nan) for _ in range(20)]
    a = np.ones(1000)
    np.testing.assert_array_equal(f(a), np.arange(1000.0) + 1)
    assert len(spoil) == 20


def test_given_places_are_filled(data):
    x = rg.matrix("x")
    f = rg.function([x], [rg.sum(x, axis=1), rg.exp(x)])
    a = np.random.default_rng(2).normal(size=(4, 5))
    out = [np.empty(4), np.empty((4, 5))]
    first, second = out
    assert f(a, out=out) is out
    assert out[0] is first
    assert out[1] is second
    np.testing.assert_allclose(first, a.sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(second, np.exp(a), rtol=1e-13)
    with pytest.raises(ShapeError):
        f(a, out=[np.empty(4), np.empty((5, 4))])
    place = np.empty(())
    model()(*data, out=place)
    assert place == pytest.approx(by_numpy(*data), rel=1e-13)


def test_a_call_in_machine_code_takes_what_any_call_takes():
    x, y = rg.vector("x"), rg.vector("y")
    f = rg.function([x, y], x - y)
    assert type(f) is rg.Function
    assert isinstance(f.__call__, types.BuiltinFunctionType)
    a, b, out = np.arange(3.0), np.ones(3), np.empty(3)
    for found in (f(a, b), f(a, y=b), f(y=b, x=a), f([0, 1, 2], b), f(a, b, out=out), f(a[:], b)):
        np.testing.assert_array_equal(found, a - 1)
    assert f(a, b, out=out) is out
    for wrong in (lambda: f(a), lambda: f(a, b, a), lambda: f(a, b, z=b), lambda: f(a, x=a)):
        with pytest.raises(ArgumentError):
            wrong()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(a, b), a - 1)
    call = rg.function([x], x * 2).__call__
    gc.collect()
    np.testing.assert_array_equal(call([1.0]), [2.0])
    assert list(inspect.signature(f).parameters) == ["x", "y"]


@pytest.mark.parametrize("index", [[0, 1], [-1, 0], [-4, 3]])
def test_a_result_in_an_argument_is_computed_once_whatever_the_index(index):
    x, y = rg.vector("x", "n"), rg.vector("y", "m")
    i = rg.tensor("i", ("k",), "int64")
    b = np.arange(4.0)
    for order in ([0, 1], [1, 0]):
        f = rg.function([x, y, i], [[x + 1, y[i] * 2][k] for k in order], mode=None)
        places = [np.arange(3.0), np.empty(2)]
        f(places[0], b, np.array(index), out=[places[k] for k in order])
        np.testing.assert_array_equal(places[0], np.arange(3.0) + 1)
        np.testing.assert_array_equal(places[1], b[index] * 2)


def test_a_result_in_an_argument_is_computed_once_where_extremes_are_none():
    x, y = rg.vector("x", "n"), rg.matrix("y")
    for order in ([0, 1], [1, 0]):
        f = rg.function([x, y], [[x + 1, rg.max(y, axis=1)][k] for k in order], mode=None)
        for shape in ((2, 3), (0, 0)):
            places = [np.arange(3.0), np.empty(shape[0])]
            f(places[0], np.ones(shape), out=[places[k] for k in order])
            np.testing.assert_array_equal(places[0], np.arange(3.0) + 1)
            np.testing.assert_array_equal(places[1], np.ones(shape[0]))


def test_a_function_that_is_dropped_keeps_nothing():
    x = rg.tensor("x", (1000,))
    f = rg.function([x], rg.exp(x) / rg.sum(rg.exp(x)) + rg.constant(np.ones(1000)))
    f(np.ones(1000))
    program = weakref.ref(f._program)
    run = weakref.ref(f._program._main)
    del f
    gc.collect()
    assert program() is None
    assert run() is None


def test_no_reference_is_lost_or_kept(data):
    f = model()
    scale, effects, group, y = data
    wrong = np.where(group == 3, 6, group)
    x = rg.vector("x")
    g = rg.function([x], [x + 1, rg.sum(x)])
    for _ in range(3):
        f(*data)
        g(y)
    before = [sys.getrefcount(z) for z in (np.dtype("float64"), y, None)]
    for _ in range(200):
        f(*data)
        found = g(y)
        with pytest.raises(IndexRangeError):
            f(scale, effects, wrong, y)
    after = [sys.getrefcount(z) for z in (np.dtype("float64"), y, None)]
    assert np.abs(np.subtract(after, before)).max() < 100
    references = sys.getrefcount(found[0])
    assert references == 2  # the list's, and that of the call


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32",
     "float64"],
)  # fmt: skip
def test_numbers_are_taken_as_they_are_converted_elsewhere(dtype):
    x, s = rg.tensor("x", ("n",), dtype=dtype), rg.tensor("s", (), dtype=dtype)
    graph = rg.logical_and(x, s) if dtype == "bool" else rg.maximum(x, s)
    native, reference = (rg.function([x, s], graph, target=target) for target in ("cpu", "numpy"))
    assert is_native(native)
    array = np.array([0, 1, 1], dtype)
    for number in (
        True, 1, 0, -1, -5, 127, 128, -128, -129, 255, 256, 2**40, 2**63 - 1, 2**63, 2**64 - 1,
        -(2**63), 2**64, 2.5, -0.0, 1e300, -1e300, float("inf"), float("nan"), 3.4028235e38,
        np.float64(2.5), np.float32(2.5), np.int64(1), np.int8(1), np.bool_(True), np.uint64(3),
        np.array(1, dtype), np.array([1], dtype)[0], np.longlong(3), "1", None,
    ):  # fmt: skip
        outcomes = []
        for f in (native, reference):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    outcome = f(array, number)
                except Exception as error:
                    outcome = type(error)
            outcomes.append((outcome, [x.category for x in caught]))
        (got, warned), (expected, warned_elsewhere) = outcomes
        assert warned == warned_elsewhere
        if isinstance(expected, type):
            assert got is expected, number
        else:
            np.testing.assert_array_equal(got, expected, strict=True)


def test_numbers_reach_what_is_left_to_python():
    x, s, t = rg.vector("x"), rg.scalar("s"), rg.tensor("t", (), dtype="float32")
    k = rg.tensor("k", (), dtype="int8")
    scaled = x * s + k
    f = rg.function([x, s, t, k], rg.sum(rg.exp(scaled / rg.max(scaled))) * t, mode=None)
    assert is_native(f)
    for n in (10, 2**19):  # the temporaries of the second are large
        array = np.linspace(1, 2, n)
        for numbers in ((2.0, 0.1, 3), (np.float64(2), np.float32(0.1), np.int8(3))):
            expected = np.sum(np.exp((array * 2 + 3) / 7)) * float(np.float32(0.1))
            np.testing.assert_allclose(f(array, *numbers), expected, rtol=1e-13)
    with pytest.raises(ShapeError, match="no value"):
        f(array[:0], 2.0, 0.1, 3)
    with pytest.raises(DTypeError, match="'k' is int8"):
        f(array, 2.0, 0.1, 3.0)
