"""Arrays of one value and ranges of numbers, against NumPy."""

import numpy as np
import pytest

from relgraph.errors import ArgumentError, DomainError, DTypeError, NumberRangeError
from relgraph.ir.node import Constant, make_input
from relgraph.ir.types import TensorType
from relgraph.ops import filled, inputs
from tests.ops.evaluation import evaluate


def same(node, expected, **values):
    np.testing.assert_array_equal(evaluate(node, values), expected, strict=True)


@pytest.mark.parametrize("dtype", [None, "float32", "int8", "bool"])
def test_filled_arrays_equal_numpy(dtype):
    for shape in ((), (3,), (0,), (2, 3), 4):
        same(filled.full(shape, 2, dtype), np.full(shape, 2, dtype))
        if dtype:
            same(filled.zeros(shape, dtype), np.zeros(shape, dtype))
            same(filled.ones(shape, dtype), np.ones(shape, dtype))
    array = np.zeros((2, 5), "int16")
    x = make_input("x", TensorType("int16", (2, "n")))
    for ours, numpys in [
        (filled.zeros_like, np.zeros_like),
        (filled.ones_like, np.ones_like),
        (lambda a, d: filled.full_like(a, 7, d), lambda a, d: np.full_like(a, 7, d)),
    ]:
        node = ours(x, dtype)
        assert node.type is TensorType(numpys(array, dtype).dtype, (2, "n"))
        np.testing.assert_array_equal(evaluate(node, {"x": array}), numpys(array, dtype))
        same(ours(array, dtype), numpys(array, dtype))


def test_full_of_a_graph():
    s = inputs.scalar("s")
    same(filled.full((2, 2), s), np.full((2, 2), 3.5), s=np.array(3.5))
    same(filled.full(2, s, "int8"), np.full(2, 3, "int8"), s=np.array(3.5))


def test_arange_equals_numpy():
    for args in [(4,), (1, 5), (1, 6, 2), (0.0, 1.0, 0.25), (5, 0, -2)]:
        node = filled.arange(*args)
        assert isinstance(node, Constant)
        same(node, np.arange(*args))
    assert filled.arange(3, dtype="float32").dtype == "float32"
    with pytest.raises(ArgumentError, match="when the graph is built"):
        filled.arange(inputs.scalar("n", "int64"))


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
        numpys(filled)
    assert fix in str(caught.value).splitlines()[-1]


def test_full_wraps_arrays_and_truncates_floats_as_numpy():
    for value in (np.array([300, -1, 2]), np.int64(300), 3.7):
        same(filled.full(3, value, "int8"), np.full(3, value, "int8"))
    same(filled.full(3, 255, "uint8"), np.full(3, 255, "uint8"))
