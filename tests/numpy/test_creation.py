"""Arrays of one value and ranges of numbers, against NumPy."""

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.errors import ArgumentError, DomainError, DTypeError, NumberRangeError, ShapeError
from relgraph.ir.node import Constant, make_input
from relgraph.ir.types import TensorType
from relgraph.numpy import creation
from relgraph.ops import inputs
from tests.ops.evaluation import check, evaluate, typed


def same(node, expected, **values):
    np.testing.assert_array_equal(evaluate(node, values), expected, strict=True)


@pytest.mark.parametrize("dtype", [None, "float32", "int8", "bool"])
def test_filled_arrays_equal_numpy(dtype):
    for shape in ((), (3,), (0,), (2, 3), 4):
        same(creation.full(shape, 2, dtype), np.full(shape, 2, dtype))
        if dtype:
            same(creation.zeros(shape, dtype), np.zeros(shape, dtype))
            same(creation.ones(shape, dtype), np.ones(shape, dtype))
    array = np.zeros((2, 5), "int16")
    x = make_input("x", TensorType("int16", (2, "n")))
    for ours, numpys in [
        (creation.zeros_like, np.zeros_like),
        (creation.ones_like, np.ones_like),
        (lambda a, d: creation.full_like(a, 7, d), lambda a, d: np.full_like(a, 7, d)),
    ]:
        node = ours(x, dtype)
        assert node.type is TensorType(numpys(array, dtype).dtype, (2, "n"))
        np.testing.assert_array_equal(evaluate(node, {"x": array}), numpys(array, dtype))
        same(ours(array, dtype), numpys(array, dtype))


def test_full_of_a_graph():
    s = inputs.scalar("s")
    same(creation.full((2, 2), s), np.full((2, 2), 3.5), s=np.array(3.5))
    same(creation.full(2, s, "int8"), np.full(2, 3, "int8"), s=np.array(3.5))
    assert creation.full((2, 2), s).type is TensorType("float64", (2, 2))
    assert creation.full(2, s, "int8").type is TensorType("int8", (2,))


def test_arange_equals_numpy():
    for args in [(4,), (1, 5), (1, 6, 2), (0.0, 1.0, 0.25), (5, 0, -2)]:
        node = creation.arange(*args)
        assert isinstance(node, Constant)
        same(node, np.arange(*args))
    assert creation.arange(3, dtype="float32").dtype == "float32"
    with pytest.raises(ArgumentError, match="when the graph is built"):
        creation.arange(inputs.scalar("n", "int64"))


@pytest.mark.parametrize(("numpys", "wrong", "what", "fix"), [
    (lambda m: m.arange(0, 3, 0), DomainError, "no range", "a step that is not 0"),
    (lambda m: m.arange(0, 3, np.nan), DomainError, "no range", "Give finite numbers"),
    (lambda m: m.arange("a"), ArgumentError, "no range", "Give finite numbers"),
    (lambda m: m.arange([1, 2]), ArgumentError, "no range", "Give finite numbers"),
    (lambda m: m.arange(0, 3, 1, "foo"), DTypeError, "not a dtype", "Use one of these dtypes"),
    (lambda m: m.full(3, 1, "foo"), DTypeError, "not a dtype", "Use one of these dtypes"),
    (lambda m: m.full(3, 300, "int8"), NumberRangeError, "300 does not fit int8", "a wider dtype"),
    (lambda m: m.full(3, -1, "uint8"), NumberRangeError, "-1 does not fit uint8", "a wider dtype"),
    (lambda m: m.full(3, 10**30, "int64"), NumberRangeError, "does not fit int64", "a wider dtype"),
    (lambda m: m.full_like(np.ones(2, "int8"), 128), NumberRangeError, "fit int8", "a wider dtype"),
])  # fmt: skip
def test_what_numpy_refuses_is_refused(numpys, wrong, what, fix):
    with pytest.raises((ArithmeticError, TypeError, ValueError)):
        numpys(np)
    with pytest.raises(wrong, match=what) as caught:
        numpys(creation)
    assert fix in str(caught.value).splitlines()[-1]


def test_full_wraps_arrays_and_truncates_floats_as_numpy():
    for value in (np.array([300, -1, 2]), np.int64(300), 3.7):
        node = creation.full(3, value, "int8")
        assert node.type is TensorType("int8", (3,))
        same(node, np.full(3, value, "int8"))
    same(creation.full(3, 255, "uint8"), np.full(3, 255, "uint8"))


V = np.array([1.5, -2.0, 4.0])
W = np.array([7, 8, 9, 10], "int8")


@pytest.mark.parametrize("shapes", [
    ((3, 4), (4,)), ((3, 1), (4,)), ((), (2, 3)), ((1, 1), (3, 1), (2, 1, 4)), ((0, 3), (1,)),
    ((2,),),
])  # fmt: skip
def test_broadcast_arrays(shapes):
    arrays = [np.arange(np.prod(s)).reshape(s).astype("float32") for s in shapes]
    for i, expected in enumerate(np.broadcast_arrays(*arrays)):
        check(lambda *xs, i=i: np.broadcast_arrays(*xs)[i], expected, *arrays)


def test_arrays_that_do_not_fit():
    with pytest.raises(ShapeError, match="3 and 4 differ"):
        np.broadcast_arrays(typed("v", V), typed("w", W))


@pytest.mark.parametrize("options", [
    {}, {"indexing": "ij"}, {"sparse": True}, {"sparse": True, "indexing": "ij"}, {"copy": False},
])  # fmt: skip
def test_meshgrid(options):
    for arrays in ((V,), (V, W), (V, W, V[:2]), (V, W[:0]), (np.array(2.0), V)):
        for i, expected in enumerate(np.meshgrid(*arrays, **options)):
            check(lambda *xs, i=i: np.meshgrid(*xs, **options)[i], expected, *arrays)
    with pytest.raises(DomainError, match="not 'yx'"):
        np.meshgrid(typed("v", V), indexing="yx")


@pytest.mark.parametrize("options", [
    {}, {"num": 5}, {"num": 1}, {"num": 0}, {"num": 4, "endpoint": False}, {"num": 3, "axis": -1},
    {"num": 6, "dtype": "int64"}, {"num": 3, "dtype": "float32"}, {"num": 1, "endpoint": False},
])  # fmt: skip
def test_linspace(options):
    for start, stop in ((0.5, V), (V, V + 1), (V.astype("float32"), 3), (W, W[::-1] * 2)):
        arrays = [x for x in (start, stop) if np.ndim(x)]
        if np.ndim(start) == 0:
            check(lambda y, s=start: np.linspace(s, y, **options),
                  np.linspace(start, stop, **options), stop, rtol=1e-15)  # fmt: skip
        elif np.ndim(stop) == 0:
            check(lambda x, s=stop: np.linspace(x, s, **options),
                  np.linspace(start, stop, **options), start, rtol=1e-6)  # fmt: skip
        else:
            check(lambda x, y: np.linspace(x, y, **options),
                  np.linspace(start, stop, **options), *arrays, rtol=1e-15)  # fmt: skip


def test_linspace_with_its_step():
    for options in ({"num": 4}, {"num": 4, "endpoint": False}):
        for part in (0, 1):
            expected = np.linspace(0.0, V, retstep=True, **options)[part]
            check(
                lambda y, p=part, o=options: np.linspace(0.0, y, retstep=True, **o)[p], expected, V
            )
    with pytest.raises(DomainError, match="at least 0, not -1"):
        np.linspace(0, typed("v", V), -1)


def test_logspace():
    for options in ({"num": 4}, {"num": 3, "base": 2}, {"num": 3, "dtype": "float32"},
                    {"num": 4, "endpoint": False, "axis": -1}):  # fmt: skip
        expected = np.logspace(0.5, V, **options)
        check(lambda y, o=options: np.logspace(0.5, y, **o), expected, V, rtol=1e-6)
    with pytest.raises(ArgumentError, match="without dimensions"):
        np.logspace(0, typed("v", V), base=V)


def test_tri_and_identity():
    for arguments in ((3,), (2, 4), (3, 3, 1), (3, 2, -1, "int8"), (0,)):
        value = np.asarray(evaluate(rnp.tri(*arguments), {}))
        np.testing.assert_array_equal(value, np.tri(*arguments), strict=True)
    value = np.asarray(evaluate(rnp.identity(3, "float32"), {}))
    np.testing.assert_array_equal(value, np.identity(3, "float32"), strict=True)


@pytest.mark.parametrize("options", [{"N": 4}, {"N": 3, "increasing": True}, {"N": 1}, {"N": 0}])
def test_vander(options):
    for array in (V, W, V.astype("float32"), V > 0, V[:0], np.array([np.inf, np.nan, 0.0])):
        check(lambda x: np.vander(x, **options), np.vander(array, **options), array)
    check(np.vander, np.vander(V), V, typings=("static",))
    with pytest.raises(ArgumentError, match="Pass it as N"):
        np.vander(rg.vector("v"))
    with pytest.raises(ShapeError, match="takes a vector"):
        np.vander(rg.matrix("A"), 2)


def test_they_trace_and_compile():
    def grid(x, y):
        u, v = np.meshgrid(x, y)
        return u * v, np.linspace(x, y[:3], 4), np.vander(x, 3)

    for got, expected in zip(rg.jit(grid)(V, V + 2), grid(V, V + 2), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-15)
