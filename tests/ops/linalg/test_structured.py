"""Identities, diagonals, traces and triangles against NumPy: values, types, facts and errors."""

import numpy as np
import pytest
from unification import var

from relgraph.errors import ArgumentError, DomainError, PatternError, ShapeError
from relgraph.ir.fact_inference import fact, facts_of
from relgraph.ir.facts import MATRIX_FACTS
from relgraph.ir.node import constant, make_input
from relgraph.ir.types import DTYPES, TensorType
from relgraph.ops.linalg import structured
from relgraph.ops.linalg.structured import Diag, Diagonal, Eye, Trace, Tril, Triu
from relgraph.ops.shape import dim
from tests.ops.evaluation import Term, check, evaluate, holds, matrix_with, typed

MATRICES = [(3, 3), (2, 4), (4, 2), (0, 3), (1, 1), (2, 3, 3), (2, 1, 4, 3)]


def array(shape, dtype="float64"):
    return np.random.default_rng(0).integers(0, 5, shape).astype(dtype)


def tensor(*dims, name="x", dtype="float64", facts=()):
    return make_input(name, TensorType(dtype, dims), facts)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 2, 2)])
@pytest.mark.parametrize("k", [0, 2, -1])
def test_diagflat_agrees_with_numpy(shape, k):
    for dtype in ("float64", "int8", "bool"):
        x = array(shape, dtype)
        check(lambda x: np.diagflat(x, k), np.diagflat(x, k), x)


@pytest.mark.parametrize("arguments", [(3,), (2, 4), (4, 2, 1), (3, 3, -1), (0,), (2, 2, 5)])
@pytest.mark.parametrize("dtype", ["float64", "int8", "bool"])
def test_eye_agrees_with_numpy(arguments, dtype):
    check(lambda: structured.eye(*arguments, dtype=dtype), np.eye(*arguments, dtype=dtype))


def test_eye_is_one_node_with_facts():
    node = structured.eye(3)
    assert node is structured.eye(np.int64(3), 3, 0, np.float64)
    assert node.op is Eye(3, 3, 0, "float64")
    assert {"diagonal", "spd", "orthogonal", "nonnegative", "integer", "finite"} <= set(
        facts_of(node).names()
    )
    for other in (structured.eye(3, 4), structured.eye(3, k=1)):
        assert not fact(other, "diagonal")
        assert fact(other, "finite")
    with pytest.raises(DomainError, match="negative"):
        structured.eye(-1)
    with pytest.raises(ArgumentError, match="is an int"):
        structured.eye(2.0)


def test_eye_of_a_size_known_at_the_call():
    x = tensor("n", None)
    node = structured.eye(dim(x, 0), dtype="float32")
    assert node.type == TensorType("float32", ("n", "n"))
    assert fact(node, "spd")
    np.testing.assert_array_equal(evaluate(node, {"x": np.ones((3, 2))}), np.eye(3, dtype="f4"))
    with pytest.raises(DomainError, match="identity"):
        structured.eye(dim(x, 0), k=1)


@pytest.mark.parametrize("k", [-3, -1, 0, 1, 2])
def test_diag_agrees_with_numpy(k):
    for shape in [(3,), (0,), (1,), (3, 3), (2, 4), (4, 2)]:
        x = array(shape, "int16")
        if len(shape) == 1 or -shape[0] <= k <= shape[1]:
            check(lambda v: structured.diag(v, k), np.diag(x, k), x)
    batch = array((2, 3))
    expected = np.stack([np.diag(row, k) for row in batch])
    check(Diag(k), expected, batch)


@pytest.mark.parametrize("shape", MATRICES)
@pytest.mark.parametrize("k", [-2, -1, 0, 1])
def test_diagonals_and_triangles_agree_with_numpy(shape, k):
    x = array(shape)
    check(lambda v: structured.diagonal(v, k), np.linalg.diagonal(x, offset=k), x)
    check(lambda v: structured.tril(v, k), np.tril(x, k), x)
    check(lambda v: structured.triu(v, k), np.triu(x, k), x)
    check(lambda v: structured.diagonal(v, k, 0, 1), np.diagonal(x, k), x)
    check(lambda v: structured.diagonal(v, k, -1, 0), np.diagonal(x, k, -1, 0), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_traces_agree_with_numpy(dtype):
    for shape in MATRICES:
        x = array(shape, dtype)
        check(structured.trace, np.linalg.trace(x), x)
        check(lambda v: structured.trace(v, 0, 0, 1), np.trace(x), x)
        check(lambda v: structured.trace(v, 1), np.linalg.trace(x, offset=1), x)


def test_types_of_symbolic_matrices():
    v, x = tensor("n"), tensor("n", "n", name="A")
    assert structured.diag(v).type.shape == ("n", "n")
    assert structured.diag(v, 1).type.shape == (None, None)
    assert structured.diag(x).type.shape == ("n",)
    assert structured.diagonal(x, 1).type.shape == (None,)
    assert structured.diagonal(tensor("n", "m")).type.shape == (None,)
    assert structured.trace(tensor("b", "n", "n")).type.shape == ("b",)


@pytest.mark.parametrize("k", [0, 1, -2])
def test_triangles_of_a_vector_are_of_equal_rows(k):
    for x in (array((3,)), array((0,)), array((1,), "int8")):
        check(lambda x: structured.tril(x, k), np.tril(x, k), x)
        check(lambda x: structured.triu(x, k), np.triu(x, k), x)


def test_errors():
    for ask in (structured.trace, structured.tril, structured.triu, structured.diagonal):
        with pytest.raises(ShapeError, match="needs a matrix"):
            ask(tensor())
    for ask in (structured.trace, structured.diagonal):
        with pytest.raises(ShapeError, match="needs a matrix"):
            ask(tensor(3))
    with pytest.raises(ShapeError, match="not of a scalar"):
        Diag(0)(1.0)
    for bad in (constant(1.0), tensor(2, 3, 3)):
        with pytest.raises(ShapeError, match="diag takes a vector or a matrix"):
            structured.diag(bad)
    with pytest.raises(ArgumentError, match="is an int"):
        structured.tril(tensor(2, 2), 0.5)


@pytest.mark.parametrize("name", MATRIX_FACTS)
@pytest.mark.parametrize("k", [-1, 0, 1])
def test_facts_of_triangles_hold(name, k):
    a = matrix_with(name)
    x = typed("x", a, facts=[name])
    for node in (structured.tril(x, k), structured.triu(x, k)):
        value = evaluate(node, {"x": a})
        assert all(holds(found, value) for found in facts_of(node).names())
    assert fact(structured.tril(x), "lower_triangular")
    assert fact(structured.triu(x), "upper_triangular")
    if name in ("lower_triangular", "diagonal"):
        assert fact(structured.triu(x), "diagonal")
    assert not fact(structured.tril(x, 1), "lower_triangular") or name in (
        "lower_triangular",
        "diagonal",
        "identity",
    )


VALUES = {
    "positive": [1.0, 2.0],
    "negative": [-1.0, -2.0],
    "nonnegative": [0.0, 1.0],
    "nonpositive": [0.0, -1.5],
    "nonzero": [-1.0, 2.0],
    "integer": [-1.0, 3.0],
    "finite": [0.5, -1.0],
    "not_nan": [np.inf, 1.0],
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("k", [-1, 0, 1])
def test_facts_of_diagonals_hold(name, k):
    v = np.array(VALUES[name])
    square = np.array([VALUES[name], VALUES[name][::-1]])
    x, y = typed("x", v, facts=[name]), typed("y", square, facts=[name])
    for node in (
        structured.diag(x, k),
        structured.diag(y, k),
        structured.trace(y),
        structured.tril(y, k),
        structured.triu(y, k),
    ):
        value = evaluate(node, {"x": v, "y": square})
        assert all(holds(found, value) for found in facts_of(node).names())
    assert bool(fact(structured.diag(x), "spd")) == (name == "positive")
    assert bool(fact(structured.diag(x), "invertible")) == (
        name in ("positive", "negative", "nonzero")
    )


def test_patterns():
    p, k = Term(), var()
    assert structured.diag(p).op is Diag(0)
    assert structured.diagonal(p, 1).op is Diagonal(1)
    assert structured.trace(p).op is Trace()
    assert structured.tril(p).op is Tril(0)
    assert structured.triu(p, k).op.k is k
    assert isinstance(structured.triu(p, k).op, Triu)
    assert Eye(k, k, 0, "float64").n is k
    with pytest.raises(PatternError, match="pattern"):
        structured.diagonal(p, 0, 0, 1)


def test_costs():
    x, v = tensor(4, 3), tensor(3)
    for node, cost in (
        (structured.trace(x), 3),
        (structured.diag(v), 0),
        (structured.diag(x), 0),
        (structured.tril(x), 0),
        (structured.eye(3), 0),
    ):
        assert node.op.flops(tuple(i.type for i in node.inputs), node.type) == cost
