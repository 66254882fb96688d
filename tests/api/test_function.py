"""rg.function: arguments, containers, conversions, errors that name the input."""

import inspect
import pickle
from functools import partial

import numpy as np
import pytest

import relgraph.numpy.operators  # noqa: F401  operators of nodes look their functions up
from relgraph.api.function import evaluate
from relgraph.api.function import function as rewritten_function
from relgraph.db.modes import mode
from relgraph.errors import (
    ArgumentError,
    DomainError,
    DTypeError,
    ShapeError,
    UnknownTagError,
)
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.numpy import reductions
from relgraph.ops.elementwise import Elementwise

# The graph as it is written: what is rewritten is tested with the relations.
function = partial(rewritten_function, mode=None)

TARGETS = ("cpu", "numpy")


def tensor(name, dtype, *shape):
    return make_input(name, TensorType(dtype, shape))


X = tensor("x", "float64", "n")
Y = tensor("y", "float64", "n")
A = np.array([1.0, 2.0, 3.0])
B = np.array([10.0, 20.0, 30.0])


@pytest.fixture(scope="module", params=TARGETS)
def difference(request):
    return function([X, Y], X - Y, target=request.param)


def test_positions_and_names(difference):
    for result in (
        difference(A, B), difference(A, y=B), difference(y=B, x=A), difference(x=A, y=B),
    ):  # fmt: skip
        np.testing.assert_array_equal(result, A - B, strict=True)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "no value for the inputs 'x', 'y'"),
        ((A,), {}, "no value for the input 'y'"),
        ((), {"y": B}, "no value for the input 'x'"),
        ((A, B, A), {}, "3 positional arguments for 2 inputs"),
        ((A,), {"x": A}, "'x' is given twice"),
        ((A, B), {"z": A}, "no input is called 'z'"),
    ],
)
def test_wrong_arguments(difference, args, kwargs, message):
    with pytest.raises(ArgumentError, match=message) as error:
        difference(*args, **kwargs)
    assert "takes" in str(error.value)
    assert isinstance(error.value, TypeError)


def test_a_misspelt_name_is_suggested():
    alpha = tensor("alpha", "float64")
    with pytest.raises(ArgumentError, match="Did you mean 'alpha'"):
        function([alpha], alpha, target="numpy")(alpah=1.0)


@pytest.mark.parametrize("target", TARGETS)
def test_containers(target):
    outputs = {"sum": X + Y, 3: X * Y}
    result = function([X, Y], outputs, target=target)(A, B)
    assert list(result) == ["sum", 3]
    np.testing.assert_array_equal(result[3], A * B)
    assert isinstance(function([X], [X], target=target)(A), list)
    assert isinstance(function([X], (X, X), target=target)(A), tuple)
    assert function([X], [], target=target)(A) == []
    assert isinstance(function([X], X, target=target)(A), np.ndarray)


def test_inputs_may_be_found_or_unused():
    np.testing.assert_array_equal(function(None, Y - X, target="numpy")(B, A), B - A)
    np.testing.assert_array_equal(function([X, Y], X + 1.0)(A, B), A + 1)
    np.testing.assert_array_equal(function(X, X + 1.0)(A), A + 1)
    with pytest.raises(ArgumentError, match="depend on inputs that are not given: y"):
        function([X], X + Y)
    with pytest.raises(ArgumentError, match="given twice"):
        function([X, X], X)
    with pytest.raises(ArgumentError, match="the outputs are an int"):
        function([X], 3)
    with pytest.raises(ArgumentError, match="output 1 is a float"):
        function([X], [X, 2.0])


@pytest.mark.parametrize("target", TARGETS)
def test_results_without_dimensions_are_numpy_scalars(target):
    s = tensor("s", "float32")
    total, twice, same = function([X, s], [reductions.sum(X), s * 2.0, s], target=target)(A, 3.0)
    assert type(total) is np.float64
    assert type(twice) is np.float32
    assert type(same) is np.float32
    assert (total, twice, same) == (6.0, 6.0, 3.0)


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        ("float64", 3, 3.0),
        ("float64", True, 1.0),
        ("float64", np.float32(0.5), 0.5),
        ("float32", 0.1, np.float32(0.1)),
        ("float32", np.int16(7), 7.0),
        ("int8", 100, 100),
        ("int64", np.uint32(5), 5),
        ("int64", True, 1),
        ("bool", np.bool_(True), True),
    ],
)
def test_safe_conversions(dtype, value, expected):
    s = tensor("s", dtype)
    result = function([s], s, target="numpy")(value)
    assert result.dtype == dtype
    assert result == expected


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("float32", np.float64(0.1)),
        ("float32", np.int64(1)),
        ("int64", 0.5),
        ("int64", np.uint64(1)),
        ("int8", 300),
        ("int8", np.int16(3)),
        ("bool", 1),
        ("float64", 1j),
    ],
)
def test_unsafe_conversions_are_refused(dtype, value):
    s = tensor("s", dtype)
    with pytest.raises(DTypeError, match="'s'"):
        function([s], s, target="numpy")(value)


def test_dtype_error_says_how_to_convert():
    s = tensor("s", "float32", "n")
    with pytest.raises(DTypeError) as error:
        function([s], s, target="numpy")(np.ones(2))
    assert str(error.value) == (
        "the input 's' is float32, and the array given is float64\n"
        "  declared : float32[n]\n"
        "  given    : float64, shape (2,)\n"
        "Convert it with .astype('float32'), or declare the input as float64."
    )


def test_lists_convert_as_python_numbers_do():
    s = tensor("s", "float32", None, 2)
    f = function([s], s + 1.0, target="numpy")
    np.testing.assert_array_equal(f([[1, 2.5]]), np.array([[2, 3.5]], np.float32), strict=True)
    np.testing.assert_array_equal(f([(True, 2)]), np.array([[2, 3]], np.float32), strict=True)
    with pytest.raises(ArgumentError, match="'s' is not an array"):
        f([[1.0, 2.0], [3.0]])
    with pytest.raises(ArgumentError, match="'s' is a dict, not an array"):
        f({})
    with pytest.raises(ArgumentError, match="masked"):
        f(np.ma.masked_array(np.ones((1, 2)), mask=[[True, False]]))


@pytest.mark.parametrize("target", TARGETS)
def test_shapes_are_checked_and_named(target):
    p = tensor("p", "float64", "n", 3)
    f = function([p, X], reductions.sum(p, axis=1) + X, target=target)
    np.testing.assert_array_equal(f(np.ones((2, 3)), np.ones(2)), np.full(2, 4.0))
    with pytest.raises(ShapeError, match="'p' has 2 dimensions, not 1"):
        f(np.ones(3), np.ones(2))
    with pytest.raises(ShapeError, match="'x' has 1 dimension, not 2"):
        f(np.ones((2, 3)), np.ones((2, 1)))
    with pytest.raises(ShapeError, match="'p' has size 4 along axis 1, not 3"):
        f(np.ones((2, 4)), np.ones(2))
    with pytest.raises(ShapeError, match=r"'n' is 2 in the input 'p' .axis 0. and 1 in 'x'"):
        f(np.ones((2, 3)), np.ones(1))
    square = tensor("q", "float64", "m", "m")
    with pytest.raises(ShapeError, match=r"'m' is 2 along axis 0 of the input 'q' and 3"):
        function([square], square, target=target)(np.ones((2, 3)))


def test_targets():
    with pytest.raises(DomainError, match="Did you mean 'numpy'"):
        function([X], X, target="nunpy")


def test_attributes_and_help():
    f = function([X, Y], X + Y, mode="o4", target="numpy")
    assert isinstance(f.graph, FunctionGraph)
    assert f.inputs == (X, Y)
    assert f.target == "numpy"
    assert f.mode == "o4"
    assert f.source == "x + y"
    assert repr(f) == (
        "<relgraph function (x: float64[n], y: float64[n]) -> x + y, target='numpy'>"
    )
    assert str(inspect.signature(f)) == "(x: 'float64[n]', y: 'float64[n]')"
    assert "def main(x, y):" in function([X, Y], X + Y).source


def test_the_mode_is_applied_before_compiling():
    y = Elementwise("log")(1.0 + Elementwise("exp")(X))
    f = rewritten_function([X], y, target="numpy")
    large = np.array([1000.0, -1000.0, 0.5])
    np.testing.assert_allclose(f(large), np.logaddexp(0.0, large))
    assert np.isinf(function([X], y, target="numpy")(large)[0])
    with pytest.raises(UnknownTagError, match="no mode"):
        rewritten_function([X], y, mode="o6")


@pytest.mark.parametrize("target", TARGETS)
def test_functions_pickle(target):
    f = function([X, Y], {"a": Elementwise("exp")(X) - Y}, target=target)
    g = pickle.loads(pickle.dumps(f))
    assert g.target == target
    np.testing.assert_array_equal(g(A, B)["a"], f(A, B)["a"])


def test_evaluate():
    np.testing.assert_array_equal(evaluate(X * Y, {X: A, "y": B}), A * B)
    assert evaluate([X + 1.0], {X: [1.0]})[0].tolist() == [2.0]
    with pytest.raises(ArgumentError, match="no value for the input 'y'"):
        evaluate(X * Y, {X: A})


def test_evaluate_takes_values_for_inputs_that_the_graph_does_not_use():
    for unused in ({Y: B}, {"y": B}, {Y: B, "z": None}):
        for values in ({X: A, **unused}, {**unused, "x": A}):
            np.testing.assert_array_equal(evaluate(X + 1.0, values), A + 1.0)
            np.testing.assert_array_equal(evaluate({"a": X}, values)["a"], A)
    with pytest.raises(ArgumentError, match="no value for the input 'x'"):
        evaluate(X, {Y: B})
    with pytest.raises(ArgumentError, match="no input is called 'X'"):
        evaluate(X, {"X": A})
    with pytest.raises(ArgumentError, match=r"x \* 2 is not an input"):
        evaluate(X * 2 + Y, {X: A, Y: B, X * 2: A})


def test_an_error_leaves_arguments_alone():
    p, q = tensor("p", "float64", None), tensor("q", "float64", None)
    f = function([p, q], [p + 1.0, p + q])
    a, b = np.ones(3), np.ones(4)
    with pytest.raises(ShapeError):
        f(a, b)
    np.testing.assert_array_equal(a, np.ones(3))
    np.testing.assert_array_equal(b, np.ones(4))


def test_lowering_choices_of_a_mode_reach_the_compiler():
    y = Elementwise("exp")(X) * Y + 1.0
    fused = rewritten_function([X, Y], y)
    apart = rewritten_function([X, Y], y, mode=mode("fast_run").excluding("fusion"))
    fresh = rewritten_function([X, Y], y, mode=mode("fast_run").excluding("fusion", "inplace"))
    np.testing.assert_allclose(apart(A, B), np.exp(A) * B + 1.0)
    np.testing.assert_allclose(fresh(A, B), np.exp(A) * B + 1.0)
    calls = [f.source.split("def main")[1].count("rgk_") for f in (fused, apart)]
    assert calls[0] < calls[1]
    assert fresh.source.count("empty(") > apart.source.count("empty(")
    copy = pickle.loads(pickle.dumps(apart))
    assert copy.source == apart.source
