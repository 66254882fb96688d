"""Ops that are called between kernels: linear algebra, views, indexing, run-time sizes."""

from functools import partial

import numpy as np
import pytest
from scipy import special

import relgraph.numpy.operators  # noqa: F401  operators of nodes look their functions up
from relgraph.api.function import function as rewritten_function
from relgraph.errors import (
    DomainError,
    IndexRangeError,
    LinearAlgebraError,
    RelgraphError,
    ShapeError,
)
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.numpy import reductions
from relgraph.ops import concatenate, shape
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.indexing import update
from relgraph.ops.linalg import blocks, solve, structured

# The graph as it is written: what is rewritten is tested with the relations.
function = partial(rewritten_function, mode=None)

exp = Elementwise("exp")
TARGETS = ("cpu", "numpy")
RNG = np.random.default_rng(0)


def tensor(name, *dims, dtype="float64"):
    return make_input(name, TensorType(dtype, dims))


@pytest.mark.parametrize("target", TARGETS)
def test_linear_algebra_between_kernels(target):
    a, b = tensor("a", "n", "n"), tensor("b", "n")
    spd = a @ a.T + 3.0 * 1.0
    factor = solve.cholesky(spd * 1.0 + structured.diag(exp(b)))
    sign, logabs = solve.slogdet(a)
    f = function(
        [a, b],
        [solve.solve(a, b * 2.0) + 1.0, factor, sign * logabs, solve.inv(a) @ a - b,
         structured.trace(a) + b, structured.diagonal(a) * 2.0, structured.tril(a) + a],
        target=target,
    )  # fmt: skip
    for n in (1, 4):
        m = RNG.normal(size=(n, n)) + 3 * np.eye(n)
        v = RNG.normal(size=n)
        s, logdet = np.linalg.slogdet(m)
        expected = [
            np.linalg.solve(m, v * 2) + 1,
            np.linalg.cholesky(m @ m.T + 3 + np.diag(np.exp(v))),
            s * logdet,
            np.linalg.inv(m) @ m - v,
            np.trace(m) + v,
            np.diagonal(m) * 2,
            np.tril(m) + m,
        ]
        for result, value in zip(f(m, v), expected, strict=True):
            np.testing.assert_allclose(result, value, rtol=1e-10, atol=1e-10)


J = tensor("i", dtype="int64")
K = tensor("k", "m", dtype="int64")
A, B = tensor("a", "n", "n"), tensor("b", "n")
REFUSED = {
    "solve": ([A, B], solve.solve(A, B), (np.zeros((2, 2)), np.ones(2)), LinearAlgebraError),
    "inv": ([A], solve.inv(A) + 1.0, (np.zeros((2, 2)),), LinearAlgebraError),
    "cholesky": ([A], solve.cholesky(A), (-np.eye(2),), LinearAlgebraError),
    "index": ([B, J], B[J] * 2.0, (np.ones(2), 2), IndexRangeError),
    "index array": ([B, K], B[K] * 2.0, (np.ones(2), np.array([0, -3])), IndexRangeError),
    "set_index": ([B, J], B.at[J].set(2.0), (np.ones(2), -3), IndexRangeError),
    "reshape": ([B, J], B.reshape((J, 2)) * 2.0, (np.ones(5), 2), ShapeError),
    "broadcast_to": ([B, J], shape.broadcast_to(B[0], (2, J)), (np.ones(5), -3), ShapeError),
    "power": ([K, J], K**J, (np.arange(3), -1), DomainError),
    "argmax": ([B], reductions.argmax(B), (np.ones(0),), ShapeError),
    "max": ([B], reductions.max(B), (np.ones(0),), ShapeError),
}
BUILTIN = {
    LinearAlgebraError: np.linalg.LinAlgError,
    IndexRangeError: IndexError,
    ShapeError: ValueError,
    DomainError: ValueError,
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_told_with_the_op(name, target):
    inputs, output, values, error = REFUSED[name]
    f = function(inputs, output, target=target)
    with pytest.raises(error) as caught:
        f(*values)
    assert isinstance(caught.value, BUILTIN[error])
    message = str(caught.value).splitlines()
    op = name.split()[0]
    assert message[0].startswith({"index": "b[", "set_index": "b.at["}.get(op, op))
    assert any(line.startswith("  in ") for line in message)
    assert message[-1] == caught.value.fix != ""


@pytest.mark.parametrize("target", TARGETS)
def test_an_operand_is_told_with_its_shape_or_its_value(target):
    f = function([B, J], exp(B)[J], target=target)
    with pytest.raises(IndexRangeError) as error:
        f(np.ones(3), 7)
    assert str(error.value) == (
        "exp(b)[i]: index 7 is out of bounds for axis 0 with size 3\n"
        "  in        : exp(b)[i]\n"
        "  operand 0 : exp(b) : float64[n], given shape (3,)\n"
        "  operand 1 : i : int64[], given 7\n"
        "Indices of an axis of size n run from -n to n - 1."
    )


@pytest.mark.parametrize("target", TARGETS)
def test_products_name_the_sizes_once(target):
    m, v = tensor("m", 3, None), tensor("v", None)
    with pytest.raises(ShapeError) as error:
        function([m, v], m @ v, target=target)(np.ones((3, 4)), np.ones(3))
    assert str(error.value).splitlines()[0] == "matmul: the sizes 4 and 3 do not fit"


@pytest.mark.parametrize("target", TARGETS)
def test_views_and_indexing(target):
    x, i = tensor("x", None, "m"), tensor("i", dtype="int64")
    outputs = [
        exp(x)[1:, ::2] * 2.0,
        x[i] + 1.0,
        x[:, None, :] * x,
        x.T * 3.0,
        shape.broadcast_to(x[0], (4, "m")) + 1.0,
        concatenate.concatenate([x, x * 2.0]) - 1.0,
        concatenate.stack([x[0], exp(x[1])]),
        x.reshape(-1) * 2.0,
        x.at[0].set(exp(x[1])) + x,
        shape.dim(x, 0) * 2,
    ]
    f = function([x, i], outputs, target=target)
    for rows in (3, 5):
        a = RNG.normal(size=(rows, 4))
        changed = a.copy()
        changed[0] = np.exp(a[1])
        expected = [
            np.exp(a)[1:, ::2] * 2,
            a[1] + 1,
            a[:, None, :] * a,
            a.T * 3,
            np.broadcast_to(a[0], (4, 4)) + 1,
            np.concatenate([a, a * 2]) - 1,
            np.stack([a[0], np.exp(a[1])]),
            a.reshape(-1) * 2,
            changed + a,
            rows * 2,
        ]
        for k, (result, value) in enumerate(zip(f(a, 1), expected, strict=True)):
            np.testing.assert_allclose(result, value, rtol=1e-14, err_msg=str(k))


@pytest.mark.parametrize("target", TARGETS)
def test_stable_exponentials(target):
    x = tensor("x", "n", None)
    f = function(
        [x],
        [reductions.softmax(x * 2.0), reductions.log_softmax(x), reductions.logsumexp(x, axis=0),
         reductions.argmax(x, axis=1), reductions.argmin(x) + 1],
        target=target,
    )  # fmt: skip
    for a in (
        RNG.normal(size=(3, 5)),
        np.array([[1e3, -1e3], [0.0, 1e3]]),
        RNG.normal(size=(1, 1)),
    ):
        expected = [
            special.softmax(a * 2, axis=-1),
            special.log_softmax(a, axis=-1),
            special.logsumexp(a, axis=0),
            a.argmax(axis=1),
            a.argmin() + 1,
        ]
        for result, value in zip(f(a), expected, strict=True):
            np.testing.assert_allclose(result, value, rtol=1e-13)


@pytest.mark.parametrize("target", TARGETS)
def test_errors_of_calls_name_the_node(target):
    x, y = tensor("x", None, None), tensor("y", None, None)
    f = function([x, y], concatenate.concatenate([x, y]) + 1.0, target=target)
    with pytest.raises(ShapeError, match="concatenate") as error:
        f(np.ones((2, 3)), np.ones((2, 4)))
    assert "y : float64[?, ?], given shape (2, 4)" in str(error.value)
    size = tensor("size", dtype="int64")
    g = function([x, size], shape.broadcast_to(x[0], (size, 3)) + 1.0, target=target)
    with pytest.raises(RelgraphError):
        g(np.ones((2, 3)), -1)


@pytest.mark.parametrize("target", TARGETS)
def test_a_size_of_one_that_nobody_declared_is_not_stretched(target):
    x, y = (make_input(n, TensorType("float64", (None, 2, 2))) for n in "xy")
    u, v = (make_input(n, TensorType("float64", (None,))) for n in "uv")
    several, one = np.ones((3, 2, 2)), np.ones((1, 2, 2))
    cases = [
        ([x, y], blocks.block_diag(x, y), (several, one)),
        ([x, y], solve.solve(x, y), (one + np.eye(2), several)),
        ([u, v], update.at(u)[:].set(v), (np.ones(3), np.ones(1))),
        ([u, v], Elementwise("where")(u > 0, v, np.ones(3)), (np.ones(3), np.ones(1))),
    ]
    for inputs, graph, arrays in cases:
        f = rewritten_function(inputs, graph, mode=None, target=target)
        with pytest.raises(ShapeError, match="must have equal sizes"):
            f(*arrays)


@pytest.mark.parametrize("mode", [None, "o4"])
@pytest.mark.parametrize("target", TARGETS)
def test_a_broadcast_stretches_only_a_declared_size_of_one(target, mode):
    u, v = tensor("u", None), tensor("v", None)
    n, size = tensor("n", "n"), tensor("size", dtype="int64")
    graphs = [
        ([u], shape.broadcast_to(u, (3,)), ()),
        ([u], shape.broadcast_to(u, (2, 3)) + 1.0, ()),
        ([u], reductions.sum(shape.broadcast_to(exp(u), (2, 3))), ()),
        ([u, v], shape.broadcast_to(u, (2, shape.dim(v, 0))), (np.ones(3),)),
        ([u, size], shape.broadcast_to(u[::2], (size,)), (np.int64(3),)),
        ([n, size], shape.broadcast_to(n, (2, size)) * 2.0, (np.int64(3),)),
    ]
    for inputs, graph, rest in graphs:
        f = rewritten_function(inputs, graph, mode=mode, target=target)
        with pytest.raises(ShapeError, match="must have size 3 along axis -1, and it is 1") as told:
            f(np.ones(1), *rest)
        assert str(told.value).endswith("put a 1 in the input's shape.")
        given = np.arange(5.0 if inputs[-1] is size and inputs[0] is u else 3.0)
        result = f(given, *rest)
        assert np.shape(result)[-1:] in ((), (3,))
    row = tensor("row", 1)
    f = rewritten_function([row, size], shape.broadcast_to(row, (size,)), mode=mode, target=target)
    np.testing.assert_array_equal(f(np.array([2.0]), 3), np.broadcast_to(2.0, 3))
    g = rewritten_function([u, size], shape.broadcast_to(u, (size,)), mode=mode, target=target)
    np.testing.assert_array_equal(g(np.array([2.0]), 1), [2.0])
