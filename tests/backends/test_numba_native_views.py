"""Views, reshapes, products of vectors and copied results in machine code, against NumPy."""

import itertools
import types

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import IndexRangeError

VIEWS = {
    "whole": lambda x: x,
    "transposed": lambda x: x.T,
    "rows from 1": lambda x: x[1:],
    "last 2 rows": lambda x: x[-2:],
    "up to the third row from the end": lambda x: x[:-2],
    "reversed": lambda x: x[::-1, ::-1],
    "every second, backwards": lambda x: x[-2::-2, 1::2],
    "beyond both ends": lambda x: x[-9:9, 7:],
    "far beyond": lambda x: x[: 2**70, -(2**70) :],
    "backwards to a stop": lambda x: x[:0:-1],
    "part of a part": lambda x: x[1:, ::-1][:, 1:].T,
    "new axes": lambda x: x[None, 1:, None, :, None],
    "new axes, transposed": lambda x: x[None, 1:].transpose((2, 0, 1)),
    "as a batch": lambda x: x[None].transpose((0, 2, 1))[:, 1:],
}
SHAPES = [*itertools.product((0, 1, 2, 5), (0, 1, 3, 4))]


def typings(shape):
    """Return the declared shapes of an array: static, unknown, and named."""
    return shape, (None, None), ("n", "m")


def is_native(f):
    return isinstance(f.unchecked, types.BuiltinFunctionType)


def assert_agrees(build, *arrays, declared):
    """Assert that a function of arrays is native, and equals NumPy bit for bit."""
    inputs = [
        rg.tensor(f"x{i}", shape, dtype=x.dtype)
        for i, (x, shape) in enumerate(zip(arrays, declared, strict=True))
    ]
    f = rg.function(inputs, build(*inputs), mode=None)
    result, expected = f(*arrays), build(*arrays)
    assert is_native(f)
    np.testing.assert_array_equal(result, expected, strict=True)
    assert not any(np.may_share_memory(result, x) for x in arrays)
    return result


@pytest.mark.parametrize("name", VIEWS)
def test_views_equal_those_of_numpy(name):
    view = VIEWS[name]
    for shape in SHAPES:
        array = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
        for declared in typings(shape):
            assert_agrees(view, array, declared=[declared])
            assert_agrees(lambda x: view(x) * 2.0, array, declared=[declared])
            assert_agrees(lambda x: view(x + 1.0), array, declared=[declared])
            assert_agrees(lambda x: abs(view(x + 1.0)[1:]), array, declared=[declared])


@pytest.mark.parametrize("dtype", ["bool", "int8", "float32"])
def test_views_of_other_dtypes(dtype):
    array = np.arange(12).reshape(3, 4).astype(dtype)
    for view in VIEWS.values():
        assert_agrees(view, array, declared=[(None, 4)])


def test_elements_of_arrays():
    a = np.arange(12.0).reshape(3, 4)
    for declared in typings(a.shape):
        assert_agrees(lambda x: x[2, 2] + x[-1, 0] * x[0, -4], a, declared=[declared])
        assert_agrees(lambda x: x[1] - x[:, 1:].T[0, 0], a, declared=[declared])


@pytest.mark.parametrize("index", [3, -4])
def test_an_element_out_of_range_is_an_error(index):
    x = rg.matrix("x")
    f = rg.function([x], x[index] + 1.0)
    assert is_native(f)
    with pytest.raises(IndexRangeError):
        f(np.ones((3, 3)))


def test_results_of_one_call_share_no_memory():
    x = rg.matrix("x")
    y = x + 1.0
    c = rg.constant(np.arange(6.0).reshape(2, 3))
    outputs = [x, x, x.T, y, y.T, y[1:], c, c[0], rg.broadcast_to(c[0], (4, 3)), y]
    f = rg.function([x], outputs, mode=None)
    a = np.arange(6.0).reshape(2, 3)
    for _ in range(2):  # writing into results changes no constant
        results = f(a)
        expected = rg.evaluate(outputs, {"x": a})
        for result, right in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, right, strict=True)
            assert result.flags.writeable
            assert not np.may_share_memory(result, a)
        for one, other in itertools.combinations(results, 2):
            assert not np.may_share_memory(one, other)
        for result in results:
            result[...] = -1.0
    np.testing.assert_array_equal(a, np.arange(6.0).reshape(2, 3))


def test_a_transposed_result_keeps_its_order_of_memory():
    x = rg.tensor("x", (None, None, None))
    f = rg.function([x], rg.exp(x).transpose((2, 0, 1)), mode=None)
    a = np.random.default_rng(0).normal(size=(2, 3, 4))
    result = f(a)
    assert is_native(f)
    assert result.strides == np.exp(a).transpose((2, 0, 1)).strides
    np.testing.assert_allclose(result, np.exp(a).transpose((2, 0, 1)), rtol=1e-15)


def test_reshapes():
    a = np.arange(24.0).reshape(2, 3, 4)
    for build in (
        lambda x: (x + 1.0).reshape((6, 4)).T,
        lambda x: x.reshape((-1,))[1:],
        lambda x: x.transpose((2, 0, 1)).reshape((4, 6)),
        lambda x: x[:, ::-1].reshape((6, 4)) * 2.0,
        lambda x: x[:, :, 0].reshape((6,)),
        lambda x: (x[:1] * 2.0).reshape((12,)),
    ):
        assert_agrees(build, a, declared=[a.shape])


def test_a_broadcast_that_is_reshaped():
    a = np.arange(3.0)
    x = rg.vector("x", 3)
    f = rg.function([x], rg.reshape(rg.broadcast_to(x, (2, 3)), (-1,)), mode=None)
    assert is_native(f)
    np.testing.assert_array_equal(f(a), np.tile(a, 2), strict=True)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "uint64", "float32", "float64"])
def test_products_of_vectors_are_those_of_numpy(dtype):
    draw = np.random.default_rng(2)
    for n in (0, 1, 2, 3, 17, 1000, 40_000):
        a, b = (draw.integers(0, 100, size=n) / 7 for _ in range(2))
        a, b = a.astype(dtype), b.astype(dtype)
        for declared in ((n,), (None,), ("n",)):
            assert_agrees(lambda x, y: x @ y, a, b, declared=[declared, declared])
    m = draw.integers(0, 100, size=(30, 40)).astype(dtype)
    assert_agrees(lambda x: x[1:, 2] @ x[:-1, 3], m, declared=[(None, None)])
    assert_agrees(lambda x: x[3, ::-1] @ x[4, :], m, declared=[m.shape])


def test_an_update_of_an_argument_leaves_it_alone():
    x = rg.matrix("x")
    a = np.arange(6.0).reshape(2, 3)
    f = rg.function([x], x.at[1:, ::2].set(-1.0), mode=None)
    expected = a.copy()
    expected[1:, ::2] = -1.0
    np.testing.assert_array_equal(f(a), expected)
    np.testing.assert_array_equal(a, np.arange(6.0).reshape(2, 3))


def test_a_copy_prints_as_what_it_copies():
    x = rg.vector("x")
    assert "# x\n" in rg.function([x], x, mode=None).source


def test_products_compute_infinities_without_warnings():
    A, v = rg.matrix("A", (4, 4)), rg.vector("v", 4)
    f = rg.function([A, v], [A @ A, A @ v, v @ v], mode=None)
    for result in f(np.full((4, 4), 1e300), np.full(4, 1e300)):  # warnings are errors here
        assert np.isinf(result).all()


def test_a_program_of_thousands_of_steps_is_native():
    x, y = rg.vector("x"), np.array([1.0, 2.0, 4.0])
    z, expected = x, y
    for _ in range(1200):
        z, expected = z - z.mean() + 1.0, expected - expected.mean() + 1.0
    f = rg.function([x], z, mode=None)
    assert f.report().loops > 1000
    assert is_native(f)
    np.testing.assert_allclose(f(y), expected, rtol=1e-12)


def test_arrays_in_other_layouts():
    x, y = rg.matrices("x y", ("n", "m"))
    f = rg.function([x, y], [x.T + y.T, rg.sum(x * y)], mode=None)
    a = np.arange(12.0).reshape(3, 4)
    for b in (a[:, ::-1], np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2]):
        one, two = f(a, b)
        np.testing.assert_array_equal(one, a.T + b.T)
        assert two == (a * b).sum()
    with pytest.raises(rg.errors.ShapeError):
        f(a, a[:, ::-1][:2])
