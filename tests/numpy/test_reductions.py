"""Reductions against NumPy and SciPy: values, dtypes, shapes, canonical axes and errors."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import relgraph.numpy.operators  # noqa: F401 - the operators of graphs
from relgraph.errors import ArgumentError, DomainError, PatternError, ShapeError
from relgraph.ir.fact_inference import fact
from relgraph.ir.graph import toposort
from relgraph.ir.node import make_input
from relgraph.ir.types import DTYPES, TensorType
from relgraph.numpy import reductions
from relgraph.ops import reductions as ops

NAMES = "sum prod max min mean any all argmax argmin"
NUMPY = {name: getattr(np, name) for name in NAMES.split()}
STABLE = {
    "logsumexp": scipy.special.logsumexp,
    "softmax": scipy.special.softmax,
    "log_softmax": scipy.special.log_softmax,
}
SINGLE_AXIS = {"argmax", "argmin"}
NEEDS_ELEMENTS = {"max", "min", "argmax", "argmin"}


def typed(array, name="x", known=True):
    shape = array.shape if known else (None,) * array.ndim
    return make_input(name, TensorType(array.dtype, shape))


def evaluate(node, **values):
    """Evaluate a graph with each op's own meaning."""
    done = {}
    for x in toposort(node):
        if x.op is not None:
            done[x] = x.op.perform(*[done[i] for i in x.inputs])
        else:
            done[x] = x.value if hasattr(x, "value") else values[x.name]
    return done[node]


def axes_of(name, ndim):
    single = [None, *range(-ndim, ndim)]
    if name in SINGLE_AXIS:
        return single
    pairs = [p for n in range(ndim + 1) for p in itertools.combinations(range(ndim), n)]
    return [*single, *pairs]


def check(name, expected, array, **kwargs):
    """Compare a reduction with an answer: inferred type, computed type and value."""
    for known in (True, False):
        node = getattr(reductions, name)(typed(array, known=known), **kwargs)
        with np.errstate(all="ignore"):
            result = evaluate(node, x=array)
        assert node.type.accepts(result) is None, (name, kwargs, node.type.accepts(result))
        assert result.dtype == expected.dtype, (name, array.dtype)
        if known:
            assert node.type.shape == expected.shape == result.shape
        if expected.dtype.kind == "f" and name in (*STABLE, "std", "var"):
            tolerance = 20 * np.finfo(expected.dtype).eps
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NUMPY)
def test_reductions_equal_numpy(name, dtype):
    rng = np.random.default_rng(0)
    for shape in [(), (1,), (4,), (2, 3), (1, 3), (2, 3, 4)]:
        array = (rng.standard_normal(shape) * 3).astype(dtype)
        for axis in axes_of(name, len(shape)):
            for keepdims in (False, True):
                expected = np.asarray(NUMPY[name](array, axis=axis, keepdims=keepdims))
                check(name, expected, array, axis=axis, keepdims=keepdims)


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all", "logsumexp", "mean", "var"])
@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "float32", "float64"])
def test_reductions_of_no_elements(name, dtype):
    neutral = {"sum": 0, "prod": 1, "any": False, "all": True, "logsumexp": -np.inf}
    for shape, axis in [((0,), None), ((3, 0), 1), ((0, 3), (0, 1)), ((0, 3), 0)]:
        x = np.zeros(shape, dtype)
        dtype_of = {"sum": np.sum, "prod": np.prod, "any": np.any, "all": np.all}
        like = dtype_of.get(name, lambda x, axis: np.sum(x * 1.0 if dtype[0] != "f" else x, axis))
        like = np.asarray(like(x, axis=axis))
        expected = np.full_like(like, neutral.get(name, np.nan))
        check(name, expected, x, axis=axis)


def test_numpy_agrees_that_an_empty_mean_is_nan():
    with pytest.warns(RuntimeWarning):
        assert np.isnan(np.mean(np.zeros(0)))


@pytest.mark.parametrize("name", sorted(NEEDS_ELEMENTS))
def test_extremes_over_an_axis_of_size_0_raise(name):
    function = getattr(reductions, name)
    with pytest.raises(ShapeError, match=f"{name} over axis -1, which has size 0"):
        function(make_input("x", TensorType("float64", (3, 0))), axis=1)
    assert function(make_input("x", TensorType("float64", (3, 0))), axis=0).type.shape == (0,)
    with pytest.raises(ShapeError):
        function(make_input("x", TensorType("float64", (0,))))


@pytest.mark.parametrize("name", NUMPY)
def test_special_values(name):
    for row in itertools.product([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5], repeat=3):
        x = np.array(row)
        with np.errstate(all="ignore"):
            check(name, np.asarray(NUMPY[name](x)), x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", STABLE)
def test_exponentials_equal_scipy(name, dtype):
    rng = np.random.default_rng(1)
    for scale in (1, 1000, np.finfo(dtype).max / 8):
        x = (rng.uniform(-1, 1, (4, 5)) * scale).astype(dtype)
        for axis in (0, 1, -1):
            with np.errstate(all="ignore"):
                expected = np.asarray(STABLE[name](x, axis=axis)).astype(dtype)
            check(name, expected, x, axis=axis)
    rows = [[-np.inf] * 3, [np.inf, 0, 1], [np.nan, 0, 1], [-np.inf, 0, 1], [np.inf, -np.inf, 0]]
    for row in rows:
        x = np.array(row, dtype)
        with np.errstate(all="ignore"):
            expected = np.asarray(STABLE[name](x, axis=-1)).astype(dtype)
            if name == "softmax" and np.inf in row:  # the quotient; SciPy has NaN everywhere
                expected = np.exp(x) / np.sum(np.exp(x))
            check(name, expected, x, axis=-1)


@pytest.mark.parametrize("dtype", DTYPES[:-2])
@pytest.mark.parametrize("name", STABLE)
def test_exponentials_of_integers_are_float64(name, dtype):
    x = np.array([[0, 1, 3], [2, 2, 1]]).astype(dtype)
    check(name, np.asarray(STABLE[name](x.astype("float64"), axis=-1)), x, axis=-1)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("dtype", ["bool", "int16", "uint64", "float32", "float64"])
def test_var_and_std_equal_numpy(name, dtype):
    x = (np.random.default_rng(2).standard_normal((4, 5)) * 5 + 8).astype(dtype)
    for axis, ddof, keepdims in itertools.product(
        [None, 0, -1, (0, 1)], [0, 1, 0.5, 2], [True, False]
    ):
        expected = np.asarray(getattr(np, name)(x, axis=axis, ddof=ddof, keepdims=keepdims))
        check(name, expected, x, axis=axis, ddof=ddof, keepdims=keepdims)


def test_var_needs_a_number_for_ddof():
    with pytest.raises(ArgumentError, match="ddof"):
        reductions.var(make_input("x", TensorType("float64", (3,))), ddof="1")


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_reductions_of_drawn_arrays(data):
    name = data.draw(st.sampled_from(["sum", "prod", "mean", "any", "all", "max", "argmin"]))
    dtype = data.draw(st.sampled_from(["float64", "float32", "int16", "uint32", "bool"]))
    low = 1 if name in NEEDS_ELEMENTS or name == "mean" else 0
    array = data.draw(
        hnp.arrays(dtype, hnp.array_shapes(min_dims=1, max_dims=3, min_side=low, max_side=3))
    )
    axis = data.draw(st.sampled_from([None, *range(-array.ndim, array.ndim)]))
    with np.errstate(all="ignore"):
        check(name, np.asarray(NUMPY[name](array, axis=axis)), array, axis=axis)


def test_dtype_converts_first():
    x = np.array([250, 250], "uint8")
    node = reductions.sum(typed(x), dtype="uint8")
    assert node.dtype == "uint8"  # narrower than the uint64 without dtype
    assert reductions.sum(typed(x), dtype="float32").dtype == "float32"
    assert reductions.mean(typed(x), dtype="float32").dtype == "float32"


def test_extremes_of_none_are_printed_with_their_value():
    x = make_input("x", TensorType("float64", ("m", "n")))
    assert str(ops.Max((-1,))(x)) == "max(x, axis=(-1,))"
    assert str(ops.Top((-1,))(x)) == "max(x, axis=(-1,), initial=-inf)"
    assert str(ops.Bottom(None)(x)) == "min(x, initial=inf)"
    assert str(ops.Top(None, True)(x)) == "max(x, keepdims=True, initial=-inf)"
    assert repr(ops.Bottom(None)) == "min{axis=None, keepdims=False, initial=inf}"
    assert repr(ops.Min(None)) == "min{axis=None, keepdims=False}"


def test_extremes_of_none_are_infinite():
    for shape in ((0, 3), (2, 0), (2, 3)):
        x = np.ones(shape)
        for op, meaning, of_none in (
            (ops.Top, np.max, -np.inf),
            (ops.Bottom, np.min, np.inf),
        ):
            expected = meaning(x, axis=1, initial=of_none)
            np.testing.assert_array_equal(evaluate(op((-1,))(typed(x)), x=x), expected, strict=True)
    known = make_input("x", TensorType("float64", (3,)), facts=("nonnegative",))
    unknown = make_input("y", TensorType("float64", ("n",)), facts=("nonnegative", "not_nan"))
    assert fact(ops.Top(None)(known), "nonnegative") is True
    assert fact(ops.Top(None)(unknown), "nonnegative") is None
    assert fact(ops.Top(None)(unknown), "not_nan") is True
    finite = make_input("z", TensorType("float64", ("n",)), facts=("finite",))
    assert fact(ops.Bottom(None)(finite), "finite") is None


def test_lists_of_axes_are_refused_as_in_numpy():
    x = np.ones((2, 3))
    for name in ("sum", "max", "any", "mean", "var", "ptp", "count_nonzero", "nanmax", "squeeze"):
        with pytest.raises(TypeError):
            getattr(np, name)(x, axis=[0])
        with pytest.raises(ArgumentError, match=r"Write axis=\(0,\)"):
            getattr(np, name)(typed(x), axis=[0])


def test_axes_have_one_form():
    x = make_input("x", TensorType("float64", (2, 3, 4)))
    assert reductions.sum(x, axis=(2, 0)) is reductions.sum(x, axis=(-3, -1))
    assert reductions.sum(x, axis=1).op is ops.Sum((-2,), False)
    assert reductions.sum(x, axis=(0, 1, 2)).op is ops.Sum(None, False)
    v = make_input("v", TensorType("float64", ("n",)))
    assert reductions.max(v, axis=0) is reductions.max(v) is reductions.max(v, axis=(-1,))
    assert reductions.argmax(v, axis=0).op is ops.Argmax(None, False)
    assert reductions.argmax(x, axis=0).op is ops.Argmax(-3, False)
    assert reductions.sum(x, axis=()).op is ops.Sum((), False)
    assert reductions.softmax(x, axis=2).op is ops.Softmax(-1)
    assert ops.Sum(axis=-1, keepdims=1) is ops.Sum((-1,), True)
    assert pickle.loads(pickle.dumps(ops.Sum((-1,), True))) is ops.Sum((-1,), True)


def test_axes_that_do_not_exist_raise():
    x = make_input("x", TensorType("float64", (2, 3)))
    with pytest.raises(DomainError, match="axis 2 is out of range"):
        reductions.sum(x, axis=2)
    with pytest.raises(DomainError, match="given twice"):
        reductions.sum(x, axis=(0, -2))
    with pytest.raises(DomainError):
        reductions.softmax(make_input("s", TensorType("float64")))
    with pytest.raises(ArgumentError):
        reductions.sum(x, axis="0")


class Recorder:
    """A pattern, as the relations layer has: it records the op applied to it."""

    def __relgraph_op__(self, op, operands):
        return op, operands


def test_patterns_take_axes_from_the_end():
    p = Recorder()
    assert reductions.sum(p)[0] is ops.Sum(None, False)
    assert reductions.sum(p, axis=-1, keepdims=True)[0] is ops.Sum((-1,), True)
    assert reductions.argmax(p, axis=-2)[0] is ops.Argmax(-2, False)
    assert reductions.softmax(p)[0] is ops.Softmax(-1)
    with pytest.raises(PatternError, match="axis 0"):
        reductions.sum(p, axis=0)


def test_open_axes_pass_through():
    from unification import var

    a = var()
    assert reductions.sum(Recorder(), axis=a)[0].params == (a, False)
    assert reductions.max(Recorder(), axis=a, keepdims=True)[0].params == (a, True)
    assert reductions.softmax(Recorder(), axis=a)[0].params == (a,)


def test_types_with_names_and_unknown_sizes():
    x = make_input("x", TensorType("float32", ("n", None, 3)))
    assert reductions.sum(x, axis=1).type is TensorType("float32", ("n", 3))
    assert reductions.mean(x, axis=0, keepdims=True).type is TensorType("float32", (1, None, 3))
    assert reductions.max(x, axis=(0, 1)).type is TensorType("float32", (3,))
    assert reductions.log_softmax(x, axis=0).type is x.type


def test_flops_count_the_operand():
    x = make_input("x", TensorType("float64", (10, 20)))
    total = reductions.sum(x, axis=0)
    assert total.op.flops((x.type,), total.type) == 200
    assert reductions.logsumexp(x).op.flops((x.type,), total.type) > 200


def test_what_follows_the_axis_is_keepdims():
    x = make_input("x", TensorType("float64", (3,)))
    assert x.sum(0, True).type.shape == (1,)
    for call in (lambda: x.sum(0, "float32"), lambda: reductions.max(x, 0, np.ones(3))):
        with pytest.raises(ArgumentError, match="keepdims is True or False"):
            call()
