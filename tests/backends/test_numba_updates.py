"""What a kernel computes is written straight into the part of an array that an update is about."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import IndexRangeError, ShapeError

KINDS = {"set": None, "add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}
DTYPES = ("bool", "int8", "int64", "uint8", "uint64", "float32", "float64")


def updated(array, kind, key, value):
    """Return a copy of an array, updated by NumPy."""
    result = np.array(array, order="C")
    value = np.asarray(value).astype(result.dtype)
    if kind == "set":
        result[key] = value
    else:
        shape = result[key].shape
        with np.errstate(over="ignore"):
            KINDS[kind].at(result, key, np.broadcast_to(value, shape))
    return result


def numbers(shape, dtype="float64", seed=0):
    found = np.random.default_rng(seed).normal(size=shape) * 4
    return (found > 0) if dtype == "bool" else np.abs(found).astype(dtype)


SLICES = {
    "one element": (2, 3),
    "a row": (-1,),
    "a column": (slice(None), 1),
    "rows": (slice(1, 4),),
    "an inner block": (slice(1, -1), slice(1, -1)),
    "backwards": (slice(None, None, -1), slice(4, 0, -2)),
    "every other": (slice(None, None, 2), slice(1, None, 3)),
    "all": (slice(None),),
    "nothing": (slice(2, 2),),
    "a new axis": (slice(None), None, 2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_is_written_into_the_part_that_a_key_selects(kind):
    a = numbers((6, 7))
    x, w = rg.matrix("x", (6, 7)), rg.scalar("w")
    inputs, nodes, arrays = [x, w], [], []
    for number, key in enumerate(SLICES.values()):
        v = rg.tensor(f"v{number}", a[key].shape)
        inputs.append(v)
        arrays.append(numbers(a[key].shape, seed=number + 1))
        nodes += [getattr(x.at[key], kind)(v * w - 1), getattr((x + w).at[key], kind)(w * 2)]
    f = rg.function(inputs, nodes, mode=None)
    assert "call_" not in f.source
    found = f(a, 3.0, *arrays)
    for key, v, one, other in zip(SLICES.values(), arrays, found[::2], found[1::2], strict=True):
        np.testing.assert_array_equal(one, updated(a, kind, key, v * 3.0 - 1), err_msg=str(key))
        np.testing.assert_array_equal(other, updated(a + 3.0, kind, key, 6.0), err_msg=str(key))


@pytest.mark.parametrize("key", [(slice(0, 0), slice(None, None, -1)), (slice(1, None), 2)])
def test_a_part_without_elements_of_an_axis_of_size_1(key):
    a = numbers((1, 7))
    x, v = rg.matrix("x", (1, 7)), rg.vector("v", (1,))
    f = rg.function([x, v], x.at[key].set(rg.exp(v)), mode=None)
    np.testing.assert_array_equal(f(a, np.ones(1)), a)


@pytest.mark.parametrize("kind", KINDS)
def test_places_may_repeat_and_be_negative(kind):
    x, i = rg.vector("x", "m"), rg.tensor("i", ("k",), "int32")
    v, w = rg.vector("v", "k"), rg.matrix("w", ("k", 3))
    y, j = rg.matrix("y", ("m", 3)), rg.tensor("j", ("k", 2), "int64")
    nodes = [
        getattr(x.at[i], kind)(rg.exp(v) * 2),
        getattr(x.at[i], kind)(v[0]),
        getattr(y.at[i], kind)(w - 1),
        getattr(y.at[i], kind)(w[0]),
        getattr(x.at[j], kind)(w[:, 1:] * 2),
    ]
    f = rg.function([x, i, v, w, y, j], nodes, mode=None)
    assert f"_{kind}_index" not in f.source
    for m, k in ((5, 4), (7, 3000), (1, 2), (4, 1)):
        a, b = numbers(m), numbers((m, 3), seed=1)
        c, d = numbers(k, seed=2) / 8, numbers((k, 3), seed=3)
        rng = np.random.default_rng(4)
        p = rng.integers(-m, m, k).astype("int32")
        q = rng.integers(-m, m, (k, 2))
        expected = [
            updated(a, kind, p, np.exp(c) * 2),
            updated(a, kind, p, c[0]),
            updated(b, kind, p, d - 1),
            updated(b, kind, p, d[0]),
            updated(a, kind, q, d[:, 1:] * 2),
        ]
        for one, other in zip(f(a, p, c, d, b, q), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11)
    g = rg.function([x, i, v], nodes[0], mode=None)
    np.testing.assert_array_equal(g(a, np.zeros(0, "int32"), np.zeros(0)), a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_arrays_and_values(dtype):
    x, i = rg.tensor("x", ("m",), dtype), rg.tensor("i", ("k",), "uint8")
    v = rg.tensor("v", ("k",), "bool" if dtype == "bool" else "uint8")
    kinds = list(KINDS)
    cast = v.astype(dtype)
    nodes = [getattr(x.at[i], kind)(cast) for kind in kinds]
    nodes += [getattr(x.at[1:3], kind)(cast[:2]) for kind in kinds]
    a, b = numbers(6, dtype), numbers(9, "bool" if dtype == "bool" else "uint8", 1)
    p = np.array([0, 5, 5, 1, 1, 1, 2, 0, 3], "uint8")
    found = rg.function([x, i, v], nodes, mode=None)(a, p, b)
    keys = [(p, b)] * len(kinds) + [(slice(1, 3), b[:2])] * len(kinds)
    for kind, (key, value), result in zip(kinds * 2, keys, found, strict=True):
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, updated(a, kind, key, value.astype(dtype)))


@pytest.mark.parametrize("bad", [4, -5, 2**62, -(2**63)])
def test_a_place_out_of_range_is_an_error_before_anything_is_written(bad):
    x, i, k = rg.vector("x", "n"), rg.tensor("i", ("m",), "int64"), rg.scalar("k", "int64")
    at_places = rg.function([x, i], x.at[i].add(1.0), mode=None, donate=("x",))
    at_one = rg.function([x, k], x.at[k].set(1.0), mode=None, donate=("x",))
    for f, key in ((at_places, np.array([0, 1, bad, 2])), (at_one, bad)):
        a = np.zeros(4)
        with pytest.raises(IndexRangeError, match=str(bad)):
            f(a, key)
        np.testing.assert_array_equal(a, 0)
        out = np.ones(4)
        with pytest.raises(IndexRangeError):
            f(a, key, out=out)
        np.testing.assert_array_equal(out, 1)


def test_sizes_that_differ_are_an_error():
    x, y = rg.vectors("x y", "n")
    v = rg.vector("v", 3)
    f = rg.function([x, v], x.at[1:-1].set(v * 2), mode=None)
    np.testing.assert_array_equal(f(np.zeros(5), np.ones(3)), [0, 2, 2, 2, 0])
    with pytest.raises(ShapeError):
        f(np.zeros(6), np.ones(3))
    g = rg.function([x, y], x.at[1:].set(y[1:-1] * 2), mode=None)
    with pytest.raises(ShapeError):
        g(np.zeros(5), np.ones(5))


def test_sizes_that_numpy_would_stretch_are_stretched():
    x, v = rg.vector("x", "n"), rg.vector("v")
    f = rg.function([x, v], x.at[1:].set(v * 2), mode=None)
    np.testing.assert_array_equal(f(np.zeros(4), np.ones(1)), [0, 2, 2, 2])
    np.testing.assert_array_equal(f(np.zeros(4), np.arange(3.0)), [0, 0, 2, 4])


def test_stencils_in_place_and_beside():
    u = rg.matrix("u", ("m", "n"))
    inner = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    a = numbers((40, 50))
    expected = a.copy()
    expected[1:-1, 1:-1] = 0.25 * (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2])
    for node in (u.at[1:-1, 1:-1].set(inner), u.at[1:-1, 1:-1].add(inner - u[1:-1, 1:-1])):
        for donate in ((), ("u",)):
            f = rg.function([u], node, mode=None, donate=donate)
            assert "call_" not in f.source
            np.testing.assert_allclose(f(a.copy()), expected, rtol=1e-14)
            b = a.copy()
            np.testing.assert_allclose(f(b, out=b), expected, rtol=1e-14)


def test_a_donated_array_and_a_place_that_is_the_array_are_updated_where_they_are():
    x, y = rg.vectors("x y", "n")
    node = x.at[2:-1].set(rg.exp(y)[1:-2])
    a, b = numbers(3000), numbers(3000, seed=1) / 8
    expected = updated(a, "set", slice(2, -1), np.exp(b)[1:-2])
    f = rg.function([x, y], node, mode=None, donate=("x",))
    given = a.copy()
    result = f(given, b)
    assert np.shares_memory(result, given)
    np.testing.assert_allclose(result, expected, rtol=1e-14)
    g = rg.function([x, y], node, mode=None)
    np.testing.assert_allclose(g(a, b), expected, rtol=1e-14)
    given = a.copy()
    assert g(given, b, out=given) is given
    np.testing.assert_allclose(given, expected, rtol=1e-14)


def test_one_pass_writes_a_value_and_the_part_it_is_for():
    x, y = rg.vector("x", 1000), rg.vector("y", 400)
    value = rg.tanh(y) + 1
    node = x.at[100:500].add(value)
    f = rg.function([x, y], [node, value, rg.sum(value)], mode=None)
    assert len(f.report().kernels) == 1
    a, b = numbers(1000), numbers(400, seed=1)
    one, two, three = f(a, b)
    v = np.tanh(b) + 1
    np.testing.assert_allclose(one, updated(a, "add", slice(100, 500), v), rtol=1e-14)
    np.testing.assert_allclose(two, v, rtol=1e-14)
    np.testing.assert_allclose(three, v.sum(), rtol=1e-13)


def test_a_value_that_depends_on_the_array_through_a_reduction():
    x, i = rg.vector("x", "n"), rg.tensor("i", ("n",), "int64")
    z = rg.exp(x)
    share = z / rg.sum(z)
    nodes = [z.at[i].add(share), share.at[1:].set(z[:-1] * 2), z.at[0].set(rg.max(share))]
    a = numbers(200) / 8
    p = np.random.default_rng(1).integers(0, 200, 200)
    e = np.exp(a)
    s = e / e.sum()
    expected = [
        updated(e, "add", p, s),
        updated(s, "set", slice(1, None), e[:-1] * 2),
        updated(e, "set", 0, s.max()),
    ]
    for found, other in zip(rg.function([x, i], nodes)(a, p), expected, strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-13)


def test_an_op_of_an_updated_array_reads_the_array_where_it_lies():
    x, y, i = rg.vector("x", "n"), rg.vector("y", "n"), rg.tensor("i", (3,), "int64")
    k, v = rg.scalar("k", "int64"), rg.vector("v", 3)
    a, b, p = numbers(50), numbers(50, seed=1), np.array([4, 4, -1])
    w = np.array([0.5, 1.0, 2.0])
    inner = 0.25 * (y[2:] + y[:-2])
    around = updated(a, "add", slice(1, -1), 0.25 * (b[2:] + b[:-2]))
    cases = [
        (rg.maximum(x.at[1:-1].add(inner) * 2 + y, 0), np.maximum(around * 2 + b, 0), 0),
        (rg.sum(x.at[1:-1].add(inner) * 2), (around * 2).sum(), 1),
        (rg.exp(x.at[k].set(v[0]) / 8) * y, np.exp(updated(a, "set", 7, 0.5) / 8) * b, 0),
        (rg.exp(x.at[i].set(v) / 8) - y, np.exp(updated(a, "set", p, w) / 8) - b, 0),
        (rg.exp(x.at[1:9].set(2.0)), np.exp(updated(a, "set", slice(1, 9), 2)), 1),
        (x.at[i].add(v) * y, updated(a, "add", p, w) * b, 1),
        (
            (x.at[2:].min(0.0) > y) & (y > 0),
            (updated(a, "min", slice(2, None), 0) > b) & (b > 0),
            0,
        ),
        (rg.exp(x.at[0].set(1.0).at[-1].multiply(2.0) / 8), None, 1),
    ]
    for number, (node, expected, count) in enumerate(cases):
        f = rg.function([x, y, i, k, v], node, mode=None)
        assert f.source.count("copyto(") == count, number
        if expected is None:
            twice = updated(updated(a, "set", 0, 1.0), "multiply", -1, 2.0)
            expected = np.exp(twice / 8)
        np.testing.assert_allclose(f(a, b, p, 7, w), expected, rtol=1e-13, err_msg=str(number))


def test_an_update_with_several_readers_is_made_once():
    x, y = rg.vectors("x y", "n")
    u = x.at[1:].set(y[:-1] * 2)
    f = rg.function([x, y], [u * 2, u + y], mode=None)
    assert f.source.count("copyto(") == 1
    a, b = numbers(9), numbers(9, seed=1)
    expected = updated(a, "set", slice(1, None), b[:-1] * 2)
    one, two = f(a, b)
    np.testing.assert_array_equal(one, expected * 2)
    np.testing.assert_array_equal(two, expected + b)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mask_and_a_number_are_a_choice_in_a_kernel(kind):
    x, m, v = rg.matrix("x", ("n", 4)), rg.tensor("m", ("n", 4), "bool"), rg.scalar("v")
    f = rg.function([x, m, v], rg.exp(getattr(x.at[m], kind)(v * 2) / 8), mode=None)
    assert len(f.report().kernels) == 1
    assert "call_" not in f.source
    a, b = numbers((6, 4)), numbers((6, 4), "bool", 1)
    np.testing.assert_allclose(f(a, b, 0.7), np.exp(updated(a, kind, b, 1.4) / 8), rtol=1e-14)


def test_results_with_places_are_computed_there():
    x, y, k = rg.vector("x", "n"), rg.vector("y", "n"), rg.scalar("k", "int64")
    nodes = [(x * y).at[k].set(1.0).at[1:3].add(y[:2]), x.at[2:].multiply(y[2:])]
    f = rg.function([x, y, k], nodes, mode=None)
    a, b = numbers(3000), numbers(3000, seed=1)
    first = updated(updated(a * b, "set", 5, 1.0), "add", slice(1, 3), b[:2])
    second = updated(a, "multiply", slice(2, None), b[2:])
    for places in ((np.empty(3000), np.empty(3000)), (a.copy(), np.empty(3000))):
        one, two = f(a, b, 5, out=places)
        assert one is places[0]
        assert two is places[1]
        np.testing.assert_array_equal(one, first)
        np.testing.assert_array_equal(two, second)
    c = a.copy()
    np.testing.assert_array_equal(f(c, b, 5, out=(np.empty(3000), c))[1], second)
    d, e = a.copy(), b.copy()
    one, two = f(d, e, 5, out=(d, e))
    np.testing.assert_array_equal(one, first)
    np.testing.assert_array_equal(two, second)


def test_an_updated_array_is_the_value_of_another_update():
    x, y, M = rg.vector("x", "n"), rg.vector("y", "n"), rg.matrix("M", ("n", 4))
    whole = y.at[:].multiply(x * 0.5)
    part = y.at[2:].set(x[:-2] * 2)
    nodes = [M.at[:, 1].min(whole), M.at[:, 2].add(part), part.at[:].add(whole)]
    a, b, c = numbers(7), numbers(7, seed=1), numbers((7, 4), seed=2)
    p, q = b * (a * 0.5), updated(b, "set", slice(2, None), a[:-2] * 2)
    keys = (slice(None), 1), (slice(None), 2)
    expected = [updated(c, "min", keys[0], p), updated(c, "add", keys[1], q), q + p]
    for found, other in zip(
        rg.function([x, y, M], nodes, mode=None)(a, b, c), expected, strict=True
    ):
        np.testing.assert_allclose(found, other, rtol=1e-14)


@pytest.mark.parametrize("shape", ["n", 4, None])
def test_a_number_in_the_place_of_everything(shape):
    x = rg.vector("x", shape)
    f = rg.function([x], [x.at[:].set(0.5), x.at[...].set(x * 2)])
    one, two = f(np.arange(4.0))
    np.testing.assert_array_equal(one, np.full(4, 0.5))
    np.testing.assert_array_equal(two, np.arange(4.0) * 2)


def test_places_and_the_array_may_have_other_unknown_sizes():
    x, y = rg.vector("x"), rg.vector("y")
    i = rg.vector("i", dtype="int64")
    a, b, places = np.arange(6.0), np.linspace(1.0, 2.0, 6), np.array([3, 3, -1])
    changed = updated(a, "set", places, 2.0)
    for graph, expected in (
        (x.at[i].set(2.0) + y, changed + b),
        (x.at[i].set(2.0) + x, changed + a),
        (rg.exp(x.at[i].set(2.0)) * x, np.exp(changed) * a),
        ((x + y).at[i].set(2.0 + y[i]), updated(a + b, "set", places, 2.0 + b[places])),
    ):
        np.testing.assert_allclose(rg.function([x, y, i], graph)(a, b, places), expected)
