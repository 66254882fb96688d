"""Cumulative ops against NumPy: values to the last bit, dtypes, axes, facts and errors."""

import itertools
import pickle

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DomainError, PatternError
from relgraph.ir.node import make_input
from relgraph.ir.types import DTYPES, TensorType
from relgraph.numpy.cumulative import cumulative_prod, cumulative_sum
from relgraph.ops import cumulative
from tests.ops.evaluation import evaluate

NUMPY = {
    "cumsum": np.add,
    "cumprod": np.multiply,
    "cummax": np.maximum,
    "cummin": np.minimum,
}
SHAPES = [(1,), (4,), (0,), (2, 3), (1, 3), (3, 1), (0, 3), (3, 0), (2, 3, 4)]


def typed(array, known=True):
    shape = array.shape if known else (None,) * array.ndim
    return make_input("x", TensorType(array.dtype, shape))


def check(node, array, expected):
    """Compare the type and the value of a graph of ``x`` with an answer, to the last bit."""
    result = evaluate(node, {"x": array})
    assert node.type.accepts(result) is None
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result, expected, strict=True)
    if result.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NUMPY)
def test_cumulative_ops_equal_numpy(name, dtype):
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        array = (rng.standard_normal(shape) * 3).astype(dtype)
        for axis, known in itertools.product(range(-len(shape), len(shape)), (True, False)):
            expected = NUMPY[name].accumulate(array, axis=axis)
            check(getattr(cumulative, name)(typed(array, known), axis), array, expected)
            assert getattr(rg, name)(array, axis).type.dtype == expected.dtype
        flat = NUMPY[name].accumulate(array.ravel())
        check(getattr(cumulative, name)(typed(array)), array, flat)


@pytest.mark.parametrize("name", NUMPY)
def test_special_values(name):
    for row in itertools.product([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5], repeat=3):
        array = np.array(row)
        with np.errstate(all="ignore"):
            expected = NUMPY[name].accumulate(array)
        result = evaluate(getattr(cumulative, name)(typed(array)), {"x": array})
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "int64"])
def test_the_dtype_to_compute_in(dtype):
    array = np.array([[100, 200, 30], [4, 50, 60]], "int32")
    check(cumulative.cumsum(typed(array), 1, dtype), array, np.cumsum(array, 1, dtype))
    check(cumulative.cumprod(typed(array), 0, dtype), array, np.cumprod(array, 0, dtype))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float32"])
def test_the_value_of_no_elements_comes_first_where_it_is_asked_for(dtype):
    array = np.array([[1, 2, 3], [0, 5, 6]]).astype(dtype)
    for axis in (0, 1, -1):
        for ours, numpys in (
            (cumulative_sum, np.cumulative_sum),
            (cumulative_prod, np.cumulative_prod),
        ):
            for known in (True, False):
                x = typed(array, known)
                given = {"axis": axis, "include_initial": True}
                check(ours(x, **given), array, numpys(array, **given))
                check(ours(x, axis=axis), array, numpys(array, axis=axis))
    row = array[0]
    first = cumulative_sum(typed(row), include_initial=True)
    check(first, row, np.cumulative_sum(row, include_initial=True))


def test_a_scalar_becomes_a_vector():
    check(cumulative.cumsum(typed(np.array(2.5))), np.array(2.5), np.cumsum(2.5))
    for axis in (0, -1):
        check(cumulative.cumsum(typed(np.array(2.5)), axis), np.array(2.5), np.cumsum(2.5, axis))
    for options in ({}, {"axis": 0}, {"axis": -1, "include_initial": True}):
        check(cumulative_sum(typed(np.array(2.5)), **options), np.array(2.5),
              np.cumulative_sum(2.5, **options))  # fmt: skip
    with pytest.raises(DomainError, match="axis 1 is out of range"):
        cumulative_sum(typed(np.array(2.5)), axis=1)
    with pytest.raises(ArgumentError, match="cumulative_prod takes an axis"):
        cumulative_prod(typed(np.ones((2, 2))))


@pytest.mark.parametrize("name", NUMPY)
def test_axes_out_of_range(name):
    function = getattr(cumulative, name)
    for axis in (2, -3):
        with pytest.raises(DomainError, match=f"{name}: axis {axis} is out of range"):
            function(typed(np.ones((2, 3))), axis)
    with pytest.raises(ArgumentError, match="an axis is an int"):
        function(typed(np.ones((2, 3))), (0, 1))


def test_in_a_pattern_the_axis_is_named():
    x, _ = rg.lvars("x y")
    assert str(rg.cumsum(x, -1)) == "cumsum(x, axis=-1)"
    assert str(rg.numpy.cumulative_prod(x, axis=-2)) == "cumprod(x, axis=-2)"
    with pytest.raises(PatternError, match="cumsum without an axis"):
        rg.cumsum(x)
    with pytest.raises(PatternError, match="cumulative_sum needs the rank"):
        rg.numpy.cumulative_sum(x)


def test_parameters_are_canonical_and_ops_are_interned():
    x = typed(np.ones((2, 3)))
    assert cumulative.cumsum(x, 1) is cumulative.cumsum(x, -1)
    assert cumulative.Cumsum(-2).params == (-2,)
    for cls in cumulative.Cumulative.__subclasses__():
        assert pickle.loads(pickle.dumps(cls(-1))) is cls(-1)
        assert cls(-1).flops((x.type,), x.type) == 6
