"""Operators, methods and NumPy's own functions on graphs, against NumPy on arrays."""

import inspect
import operator
import re

import numpy as np
import pytest
import scipy.special

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.errors import ArgumentError, DomainError, PatternError
from relgraph.ir import operators as ir_operators
from relgraph.ir.node import Variable, constant, make_input
from relgraph.ir.types import TensorType
from relgraph.numpy import operators, protocol, reductions
from relgraph.numpy.operators import iterate
from relgraph.ops import elementwise
from tests.ops.evaluation import evaluate

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 3)) + 3 * np.eye(3)
Y = RNG.standard_normal((3, 3)) ** 2 + 0.5
I = np.arange(9).reshape(3, 3)  # noqa: E741 - integers


def graph(array, name="x"):
    return make_input(name, TensorType(array.dtype, array.shape))


def check_same(node, expected, exact=True, **values):
    """Compare the value of a graph with an array: dtype, shape and elements."""
    assert isinstance(node, Variable)
    result = np.asarray(evaluate(node, values))
    expected = np.asarray(expected)
    assert result.dtype == expected.dtype and node.type.dtype == expected.dtype
    assert result.shape == expected.shape == node.type.shape
    if exact:
        np.testing.assert_array_equal(result, expected)
    else:
        np.testing.assert_allclose(result, expected, rtol=1e-10, atol=1e-12)


ARITHMETIC = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.lt, operator.le, operator.gt, operator.ge, operator.matmul,
]  # fmt: skip
BITS = [operator.and_, operator.or_, operator.xor]


@pytest.mark.parametrize("op", ARITHMETIC, ids=lambda op: op.__name__)
def test_binary_operators(op):
    x, y = graph(Y), graph(X, "y")
    exact = op is not operator.matmul
    check_same(op(x, y), op(Y, X), exact, x=Y, y=X)
    check_same(op(x, X), op(Y, X), exact, x=Y)
    check_same(op(Y, y), op(Y, X), exact, y=X)
    if op is operator.matmul:
        return
    for number in (2, 2.5, np.float64(1.5), np.float32(0.5), np.int8(3)):
        check_same(op(x, number), op(Y, number), x=Y)
        check_same(op(number, x), op(number, Y), x=Y)


@pytest.mark.parametrize("op", BITS, ids=lambda op: op.__name__)
def test_bit_operators(op):
    for array, other in [(I, 3), (I > 3, np.True_), (I, np.arange(3)), (I.astype("uint8"), 5)]:
        x = graph(array)
        check_same(op(x, other), op(array, other), x=array)
        check_same(op(other, x), op(other, array), x=array)


@pytest.mark.parametrize("op", [operator.lshift, operator.rshift], ids=lambda op: op.__name__)
def test_shift_operators(op):
    for array, other in [(I, 2), (I, np.arange(3)), (I.astype("uint8"), 1)]:
        x = graph(array)
        check_same(op(x, other), op(array, other), x=array)
        check_same(op(other, x), op(other, array), x=array)


def test_divmod_and_round():
    x, y = graph(Y), graph(X, "y")
    for made, expected in [
        (divmod(x, y), divmod(Y, X)),
        (divmod(x, 2), divmod(Y, 2)),
        (divmod(7.5, x), divmod(7.5, Y)),
        (np.divmod(Y, y), np.divmod(Y, X)),
    ]:
        for node, array in zip(made, expected, strict=True):
            check_same(node, array, x=Y, y=X)
    check_same(round(x), np.round(Y), x=Y)
    check_same(round(x, 2), np.round(Y, 2), x=Y)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "uint64", "float32"])
def test_norms_of_integers_do_not_wrap_around(dtype):
    array = (np.arange(6).reshape(2, 3) * 20).astype(dtype)
    for axis in (None, 0, 1, (0, 1)):
        expected = np.linalg.norm(array, axis=axis)
        node = np.linalg.norm(graph(array), axis=axis)
        result = evaluate(node, {"x": array})
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_take_moves_indices_inside(mode):
    x, places = graph(X), np.array([[-7, 0], [3, 11]])
    for axis in (None, 0, -1):
        expected = np.take(X, places, axis=axis, mode=mode)
        check_same(np.take(x, places, axis=axis, mode=mode), expected, x=X)
    with pytest.raises(DomainError, match="no mode 'nearest'"):
        rnp.take(x, places, mode="nearest")


def test_unary_operators():
    x, i = graph(X), graph(I, "i")
    check_same(-x, -X, x=X)
    check_same(abs(x), abs(X), x=X)
    check_same(~i, ~I, i=I)
    assert +x is x


@pytest.mark.parametrize(
    "method",
    [
        lambda x: x.sum(),
        lambda x: x.sum(axis=0),
        lambda x: x.prod(1),
        lambda x: x.mean(axis=(0, 1), keepdims=True),
        lambda x: x.max(axis=-1),
        lambda x: x.min(),
        lambda x: x.any(axis=0),
        lambda x: x.all(),
        lambda x: x.argmax(axis=0),
        lambda x: x.argsort(axis=0),
        lambda x: x.argmin(),
        lambda x: x.std(axis=0, ddof=1),
        lambda x: x.var(),
        lambda x: x.reshape(9),
        lambda x: x.reshape((1, 9)),
        lambda x: x.transpose(),
        lambda x: x.transpose(1, 0),
        lambda x: x.T,
        lambda x: x.mT,
        lambda x: x.ravel(),
        lambda x: x.flatten(),
        lambda x: x.swapaxes(0, 1),
        lambda x: x.diagonal(),
        lambda x: x.diagonal(1),
        lambda x: x.trace(),
        lambda x: x.astype("float32"),
        lambda x: x.astype(np.int64, copy=False),
        lambda x: x.dot(x),
        lambda x: x.clip(0, 1),
        lambda x: x.clip(max=1),
        lambda x: x.round(2),
        lambda x: x.cumsum(),
        lambda x: x.cumprod(axis=0),
        lambda x: x.copy(),
        lambda x: x.conj(),
        lambda x: x[0],
        lambda x: x[1:, ::-1],
        lambda x: x[:1].squeeze(0),
    ],
    ids=lambda f: re.sub(r".*lambda x: |,$", "", inspect.getsource(f).strip()),
)
def test_methods(method):
    check_same(method(graph(X)), method(X), exact=False, x=X)


def test_shape_and_size():
    x = make_input("x", TensorType("float64", (3, "n")))
    assert graph(X).shape == (3, 3) and graph(X).size == 9
    assert x.shape[0] == 3 and isinstance(x.shape[1], Variable)
    array = np.zeros((3, 5))
    assert evaluate(x.shape[1], {"x": array}) == 5 and evaluate(x.size, {"x": array}) == 15
    assert np.shape(graph(X)) == (3, 3) and np.size(graph(X)) == 9 and np.ndim(graph(X)) == 2
    assert np.size(graph(X), 0) == 3


def test_iteration():
    first, second, third = graph(X)
    check_same(second, X[1], x=X)
    assert len({first, second, third}) == 3
    assert list(graph(X[:0])) == []
    with pytest.raises(ArgumentError, match="first dimension of known size, not n"):
        list(make_input("x", TensorType("float64", ("n",))))
    with pytest.raises(ArgumentError, match="scalar"):
        list(make_input("x", TensorType("float64")))
    with pytest.raises(PatternError):
        iterate(object())


def test_identity_and_truth():
    x, y = graph(X), graph(Y, "y")
    assert (x == y) is False and (x != y) is True and x == x
    check_same(np.equal(x, y), np.equal(X, Y), x=X, y=Y)
    with pytest.raises(ArgumentError, match=r"rg\.where"):
        bool(x < y)
    with pytest.raises(ArgumentError):
        float(x)


COMPARED_BY_IDENTITY = {
    "x * (x == 1)": lambda x, y: x * (x == 1),
    "(x == 1) - x": lambda x, y: (x == 1) - x,
    "(x == 1) & (y > 0)": lambda x, y: (x == 1) & (y > 0),
    "(y > 0) | (x != 1)": lambda x, y: (y > 0) | (x != 1),
    "x < (x == y)": lambda x, y: x < (x == y),
    "minimum": lambda x, y: np.minimum(x, x == 1),
    "logical_not": lambda x, y: elementwise.logical_not(x == 1),
    "the condition of where": lambda x, y: np.where(x == 1, x, y),
    "a branch of where": lambda x, y: np.where(x > 0, x == 1, y > 0),
    "a condition of select": lambda x, y: np.select([x == 1, y > 0], [x, y], -1),
    "a choice of select": lambda x, y: np.select([y > 0], [x == 1], x),
    "the default of select": lambda x, y: np.select([y > 0], [x], x == 1),
    "clip": lambda x, y: x.clip(x == 1, y),
    "dot": lambda x, y: x.dot(x == 1),
    "sum": lambda x, y: reductions.sum(x == 1),
    "cast": lambda x, y: elementwise.cast(x == 1, "float64"),
    "isclose": lambda x, y: np.isclose(x, x == 1),
    "append": lambda x, y: np.append(x, x == 1),
    "set": lambda x, y: x.at[0].set(x == 1),
    "add": lambda x, y: x.at[0].add(x == 1),
    "set of a bool": lambda x, y: (x > 0).at[0].min(x == 1),
}


@pytest.mark.parametrize("name", COMPARED_BY_IDENTITY)
def test_a_python_bool_is_no_operand(name):
    x, y = graph(X), graph(Y, "y")
    with pytest.raises(ArgumentError, match=r"(?s)Python bool (True|False).*rg\.equal\(a, b\)"):
        COMPARED_BY_IDENTITY[name](x, y)


def test_bools_that_are_meant_are_operands():
    x, mask = graph(X), graph(X > 0, "mask")
    for literal in (np.True_, constant(True)):
        check_same(x * literal, X * np.True_, x=X)
        check_same(mask & literal, X > 0, mask=X > 0)
        check_same(np.where(mask, literal, mask), (X > 0) | (X > 0), mask=X > 0)
    expected = X > 0
    expected[0] = True
    check_same(mask.at[0].set(True), expected, mask=X > 0)
    check_same(np.full_like(mask, True), np.full_like(X > 0, True), mask=X > 0)
    check_same(np.equal(x, 1) * x, (X == 1) * X, x=X)


@pytest.mark.parametrize(
    "ufunc", [u for u in protocol.UFUNCS if u.nout == 1], ids=lambda u: u.__name__
)
def test_numpy_ufuncs_build_graphs(ufunc):
    exact = ufunc.signature is None and ufunc is not np.logaddexp2  # others round in any order
    for array in (X, Y, I.astype("int16"), I > 3):
        operands = [array] * ufunc.nin
        with np.errstate(all="ignore"):
            try:
                expected = np.asarray(ufunc(*operands))
            except TypeError:
                continue
            if expected.dtype == "float16":
                expected = np.asarray(ufunc(*[a.astype("float32") for a in operands]))
            x = graph(array)
            check_same(ufunc(*[x] * ufunc.nin), expected, exact, x=array)
            if ufunc.nin == 2:
                check_same(ufunc(array, x), expected, exact, x=array)


def test_numpy_functions_and_operators_mix():
    x, w = graph(X), graph(Y, "w")
    check_same(np.exp(x) @ w, np.exp(X) @ Y, False, x=X, w=Y)
    check_same(np.log(1 + np.exp(X @ w)).sum(), np.log(1 + np.exp(X @ Y)).sum(), False, w=Y)


@pytest.mark.parametrize("name", list(protocol.SCIPY))
def test_scipy_ufuncs_build_graphs(name):
    ufunc = getattr(scipy.special, name)
    if ufunc.nin == 1:
        check_same(ufunc(graph(Y)), ufunc(Y), x=Y)
    else:
        order = np.abs(Y)
        check_same(ufunc(1.5, graph(order)), ufunc(1.5, order), x=order)


@pytest.mark.parametrize("ufunc", list(protocol.REDUCTIONS), ids=lambda u: u.__name__)
def test_ufunc_reductions(ufunc):
    for kwargs in ({}, {"axis": 1}, {"axis": None}, {"axis": -1, "keepdims": True}):
        check_same(ufunc.reduce(graph(X), **kwargs), ufunc.reduce(X, **kwargs), False, x=X)
    check_same(
        np.add.reduce(graph(X), 1, None, None, True), np.add.reduce(X, 1, None, None, True), x=X
    )


@pytest.mark.parametrize("ufunc", list(protocol.ACCUMULATIONS), ids=lambda u: u.__name__)
def test_ufunc_accumulations(ufunc):
    for args in ((), (1,), (-1, None), (0, "float32") if ufunc in (np.add, np.multiply) else (0,)):
        check_same(ufunc.accumulate(graph(X), *args), ufunc.accumulate(X, *args), x=X)
    check_same(ufunc.accumulate(graph(X[0]), axis=None), ufunc.accumulate(X[0]), x=X[0])


SPD = X @ X.T + np.eye(3)
FUNCTIONS = [
    lambda np, x: np.sum(x),
    lambda np, x: np.sum(x, 0),
    lambda np, x: np.sum(x, axis=1, keepdims=True, dtype="float32"),
    lambda np, x: np.sum(x, 1, None, None, True),
    lambda np, x: np.prod(x, axis=0),
    lambda np, x: np.max(x, axis=0),
    lambda np, x: np.amax(x),
    lambda np, x: np.min(x, (0, 1)),
    lambda np, x: np.mean(x, axis=-1),
    lambda np, x: np.std(x, axis=0, ddof=1),
    lambda np, x: np.var(x, keepdims=True),
    lambda np, x: np.any(x > 0, axis=0),
    lambda np, x: np.all(x > 0),
    lambda np, x: np.argmax(x, axis=1),
    lambda np, x: np.sort(x, axis=None),
    lambda np, x: np.argsort(x, 0, stable=True),
    lambda np, x: np.median(x, axis=1),
    lambda np, x: np.quantile(x, [0.1, 0.9], axis=0),
    lambda np, x: np.percentile(x, 30),
    lambda np, x: np.argmin(x),
    lambda np, x: np.cumsum(x),
    lambda np, x: np.cumsum(x, 0, dtype="float32"),
    lambda np, x: np.cumprod(x, axis=1),
    lambda np, x: np.cumulative_sum(x, axis=0, include_initial=True),
    lambda np, x: np.cumulative_prod(x[0]),
    lambda np, x: np.clip(x, 0, 1),
    lambda np, x: np.clip(x, None, 1),
    lambda np, x: np.clip(x, 0, None),
    lambda np, x: np.round(x, 2),
    lambda np, x: np.around(x),
    lambda np, x: np.where(x > 0, x, 0),
    lambda np, x: np.where(x > 0, 1, x),
    lambda np, x: np.reshape(x, (9,)),
    lambda np, x: np.reshape(x, -1),
    lambda np, x: np.transpose(x),
    lambda np, x: np.transpose(x, (1, 0)),
    lambda np, x: np.swapaxes(x, 0, 1),
    lambda np, x: np.moveaxis(x, 0, 1),
    lambda np, x: np.expand_dims(x, 0),
    lambda np, x: np.expand_dims(x, (0, -1)),
    lambda np, x: np.squeeze(np.expand_dims(x, 1)),
    lambda np, x: np.squeeze(np.expand_dims(x, 1), axis=1),
    lambda np, x: np.ravel(x),
    lambda np, x: np.broadcast_to(x, (2, 3, 3)),
    lambda np, x: np.concatenate([x, x]),
    lambda np, x: np.concatenate((x, X), axis=1),
    lambda np, x: np.stack([x, X], axis=-1),
    lambda np, x: np.take(x, [0, 2], axis=1),
    lambda np, x: np.repeat(x, 2, axis=0),
    lambda np, x: np.tile(x, 2),
    lambda np, x: np.zeros_like(x),
    lambda np, x: np.ones_like(x, dtype="int8"),
    lambda np, x: np.full_like(x, 2.5),
    lambda np, x: np.dot(x, X),
    lambda np, x: np.vdot(x, x),
    lambda np, x: np.inner(x, x),
    lambda np, x: np.outer(x[0], x[1]),
    lambda np, x: np.tensordot(x, x, axes=1),
    lambda np, x: np.tensordot(x, x, ([0], [1])),
    lambda np, x: np.einsum("ij,jk->ik", x, X),
    lambda np, x: np.einsum("ij,jk->ik", x, x, optimize=True),
    lambda np, x: np.diag(x),
    lambda np, x: np.diag(x[0], 1),
    lambda np, x: np.diagonal(x, 1),
    lambda np, x: np.diagonal(np.stack([x, x, x])),
    lambda np, x: np.trace(x),
    lambda np, x: np.trace(np.stack([x, x, x]), axis1=1, axis2=2),
    lambda np, x: np.tril(x),
    lambda np, x: np.triu(x, 1),
    lambda np, x: np.linalg.solve(x, X[0]),
    lambda np, x: np.linalg.inv(x),
    lambda np, x: np.linalg.det(x),
    lambda np, x: np.linalg.slogdet(x)[1],
    lambda np, x: np.linalg.cholesky(x @ x.T),
    lambda np, x: np.linalg.norm(x),
    lambda np, x: np.linalg.norm(x, axis=1, keepdims=True),
    lambda np, x: np.copy(x),
]


def source_of(function):
    return re.sub(r".*lambda np, x: |,$", "", inspect.getsource(function).strip())


@pytest.mark.parametrize("function", FUNCTIONS, ids=source_of)
def test_numpy_functions_build_graphs(function):
    check_same(function(np, graph(X)), function(np, X), exact=False, x=X)


def test_result_type_and_split():
    assert np.result_type(graph(X), np.float32) == "float64"
    for got, expected in zip(np.split(graph(X), 3), np.split(X, 3), strict=True):
        check_same(got, expected, x=X)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (np.unwrap, r"np\.unwrap is not supported on graphs"),
        (np.linalg.eig, r"np\.linalg\.eig is not supported"),
        (np.frexp, r"np\.frexp is not supported"),
        (np.subtract.accumulate, r"np\.subtract\.accumulate is not supported"),
        (lambda x: np.add.accumulate(x, axis=None), r"np\.add\.accumulate takes one axis"),
        (lambda x: np.add.accumulate(x, 0, out=X), "does not take out="),
        (np.cumulative_sum, "cumulative_sum takes an axis"),
        (np.subtract.reduce, r"np\.subtract\.reduce is not supported"),
        (lambda x: np.exp(x, out=np.empty((3, 3))), "does not take out="),
        (lambda x: np.exp(x, where=X > 0), "does not take where="),
        (lambda x: np.add(x, 1, dtype="float32"), "does not take dtype="),
        (lambda x: np.var(x, where=X > 0), r"np\.var on graphs does not take where="),
        (lambda x: np.logaddexp.reduce(x, where=X > 0), "does not take where="),
        (lambda x: np.mean(x, out=np.empty(())), "does not take out="),
        (lambda x: np.logaddexp.reduce(x, initial=1), "does not take initial="),
        (lambda x: operator.iadd(np.ones((3, 3)), x), "does not take out="),
        (np.asarray, "no values"),
        (lambda x: x + "a", "add: 'a' is not a graph"),
    ],
)
def test_what_graphs_do_not_have_raises(call, text):
    with pytest.raises(ArgumentError, match=text):
        call(graph(X))


def test_similar_names_are_offered():
    with pytest.raises(ArgumentError, match=r"np\.nanmean"):
        np.nanmedian(graph(X))


def test_every_name_that_the_operators_use_has_a_meaning():
    source = inspect.getsource(ir_operators)
    names = set(re.findall(r'_(?:binary|unary|method)\("(\w+)"', source))
    names |= set(re.findall(r'FUNCTIONS\["(\w+)"\]', source))
    assert names <= set(ir_operators.FUNCTIONS)
    assert names <= set(operators.MEANINGS)


def test_a_node_with_several_results_unpacks():
    A = rg.matrix("A", shape=("n", "n"))
    u, s, vh = rg.svd(A)
    node = s.inputs[0]
    assert isinstance(node, rg.Variable)
    assert list(node) == [u, s, vh]
    first, *_ = node
    assert first is u
