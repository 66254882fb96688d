"""Linear algebra against NumPy and SciPy: values, dtypes, batches, facts, costs and errors."""

import numpy as np
import pytest
import scipy.linalg
from unification import var

from relgraph.errors import ArgumentError, DomainError, ShapeError
from relgraph.ir.cost import flops
from relgraph.ir.fact_inference import fact, facts_of
from relgraph.ir.facts import MATRIX_FACTS
from relgraph.ir.node import make_input
from relgraph.ir.op import GetItem
from relgraph.ir.types import TensorType, TupleType
from relgraph.ops.linalg import solve
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular
from tests.ops.evaluation import Term, check, evaluate, holds, matrix_with, typed

BATCHES = [(), (2,), (1,), (0,), (2, 3)]
SIDES = [0, 1, 3]


def tensor(*dims, name="x", dtype="float64", facts=()):
    return make_input(name, TensorType(dtype, dims), facts)


def well_conditioned(batch, n, dtype="float64", seed=0):
    x = np.random.default_rng(seed).integers(-3, 4, (*batch, n, n)) + 9 * np.eye(n)
    return x.astype(dtype)


def positive_definite(batch, n, dtype="float64"):
    x = well_conditioned(batch, n, "float64")
    return (x @ x.mT).astype(dtype)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", SIDES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_functions_of_one_matrix_agree_with_numpy(batch, n, dtype):
    x, s = well_conditioned(batch, n, dtype), positive_definite(batch, n, dtype)
    inverse = np.linalg.inv(x)  # by another routine of LAPACK
    check(solve.inv, inverse, x, rtol=float(8 * np.finfo(inverse.dtype).eps))
    check(solve.det, np.linalg.det(x), x)
    check(solve.cholesky, np.linalg.cholesky(s), s)
    check(lambda v: solve.cholesky(v, lower=False), np.linalg.cholesky(s, upper=True), s)
    sign, logarithm = np.linalg.slogdet(x)
    check(lambda v: solve.slogdet(v)[0], sign, x)
    check(lambda v: solve.slogdet(v)[1], logarithm, x)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("n", SIDES)
@pytest.mark.parametrize("right", [(), (0,), (1,), (2,)])
def test_solve_agrees_with_numpy(batch, n, right):
    rng = np.random.default_rng(1)
    x, s = well_conditioned(batch, n), positive_definite(batch, n)
    sides = [rng.normal(size=(n, *right))]
    if right:
        sides += [rng.normal(size=(*batch, n, *right)), rng.normal(size=(2, 1, 1, n, *right))]
    for b in sides:
        check(solve.solve, np.linalg.solve(x, b), x, b)
        expected = np.linalg.solve(s, b)
        check(lambda u, v: solve.solve(u, v, assume="spd"), expected, s, b, rtol=1e-10)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1, "N", "T", "C"])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("right", [(), (2,)])
def test_solve_triangular_agrees_with_scipy(lower, trans, unit, right):
    x = well_conditioned((), 3)  # full: the other triangle is not read
    b = np.random.default_rng(1).normal(size=(3, *right))
    expected = scipy.linalg.solve_triangular(x, b, lower=lower, trans=trans, unit_diagonal=unit)

    def build(u, v):
        return solve.solve_triangular(u, v, lower, trans, unit)

    check(build, expected, x, b, rtol=1e-14)  # 'C' runs another routine than 'T'
    check(build, expected.astype("float32"), x.astype("f4"), b.astype("f4"), rtol=1e-5)
    batch = np.stack([x, 2 * np.eye(3) + x])
    answers = [
        scipy.linalg.solve_triangular(one, b, lower=lower, trans=trans, unit_diagonal=unit)
        for one in batch
    ]
    check(build, np.stack(answers), batch, b, rtol=1e-14)


@pytest.mark.parametrize(
    ("a", "b"),
    [((0, 0), (0,)), ((0, 0), (0, 2)), ((3, 3), (3, 0)), ((0, 3, 3), (3, 2)), ((1, 1), (4, 1, 2))],
)
def test_solve_triangular_of_empty_and_broadcast_batches(a, b):
    x, y = np.full(a, 2.0), np.ones(b)
    node = solve.solve_triangular(typed("x", x), typed("y", y), lower=True)
    value = evaluate(node, {"x": x, "y": y})
    assert value.shape == node.type.shape
    np.testing.assert_array_equal(np.tril(x) @ value, np.broadcast_to(y, value.shape))


def test_triangular_solutions_let_nan_and_infinity_through():
    x, b = np.eye(2), np.array([np.nan, np.inf])
    node = solve.solve_triangular(typed("x", x), typed("b", b), lower=True)
    value = evaluate(node, {"x": x, "b": b})
    assert np.isnan(value[0])


@pytest.mark.parametrize("left", ["float32", "float64", "int64", "bool", "uint8"])
@pytest.mark.parametrize("right", ["float32", "float64", "int8"])
def test_dtypes_of_solutions(left, right):
    x, b = np.eye(2).astype(left), np.ones(2).astype(right)
    check(solve.solve, np.linalg.solve(x, b), x, b)


def test_types_of_symbolic_matrices():
    A, B = tensor("n", "n"), tensor("b", "n", "k", name="B")
    assert solve.inv(tensor(None, 3)).type.shape == (3, 3)
    assert solve.solve(A, B).type.shape == ("b", "n", "k")
    assert solve.solve(tensor("b", "n", "n"), tensor("n", name="v")).type.shape == ("b", "n")
    assert solve.det(tensor("b", "n", None)).type.shape == ("b",)
    both = solve.slogdet(A)[0].inputs[0]
    assert both.op is Slogdet()
    assert both.type is TupleType([TensorType("float64")] * 2)


@pytest.mark.parametrize("function", [solve.inv, solve.det, solve.slogdet, solve.cholesky])
def test_matrices_that_are_not_square(function):
    for dims in [(2, 3), ("n", "m"), ("n", 3)]:
        with pytest.raises(ShapeError, match="needs a square matrix: the sizes"):
            function(tensor(*dims))
    with pytest.raises(ShapeError, match="needs a matrix or a batch"):
        function(tensor(3))


def test_systems_that_do_not_fit():
    A = tensor(3, 3)
    with pytest.raises(ShapeError, match="square matrix"):
        solve.solve(tensor(2, 3), tensor(2, name="b"))
    with pytest.raises(ShapeError, match="sizes 3 and 2 differ"):
        solve.solve(A, tensor(2, name="b"))
    with pytest.raises(ShapeError, match="not a scalar"):
        solve.solve(A, 1.0)
    with pytest.raises(ShapeError, match="sizes 3 and 4 differ"):
        solve.solve_triangular(A, tensor(2, 4, 2, name="b"))
    with pytest.raises(DomainError, match="cannot assume"):
        solve.solve(A, tensor(3, name="b"), assume="banded")
    with pytest.raises(DomainError, match="trans is 0 or 1"):
        solve.solve_triangular(A, tensor(3, name="b"), trans=3)
    with pytest.raises(ArgumentError, match="True or False"):
        solve.cholesky(A, lower=1)


def test_failures_at_the_call_are_numpys():
    x, zero = tensor(2, 2), np.zeros((2, 2))
    b = tensor(2, name="b")
    graphs = [
        solve.inv(x),
        solve.cholesky(x),
        solve.solve(x, b),
        solve.solve(x, b, "spd"),
        solve.solve_triangular(x, b),
    ]
    for node in graphs:
        with pytest.raises(np.linalg.LinAlgError):
            evaluate(node, {"x": zero, "b": np.ones(2)})
    unknown = solve.solve_triangular(tensor(None, None), tensor(None, name="b"))
    with pytest.raises(np.linalg.LinAlgError, match="not square"):
        evaluate(unknown, {"x": np.ones((2, 3)), "b": np.ones(2)})


@pytest.mark.parametrize("name", sorted({*MATRIX_FACTS} - {"selection", "psd"}))
def test_facts_hold(name):
    a = matrix_with(name)
    x = typed("x", a, facts=[name])
    nodes = [solve.inv(x), solve.det(x)]
    if name in ("spd", "diagonal"):
        nodes += [solve.cholesky(x), solve.cholesky(x, lower=False)]
        a = np.abs(a) if name == "diagonal" else a
    for node in nodes:
        value = evaluate(node, {"x": a})
        assert all(holds(found, value) for found in facts_of(node).names())
    if name not in ("square", "tridiagonal"):
        assert fact(solve.inv(x), name)
    assert fact(solve.inv(x), "invertible")
    assert fact(solve.cholesky(x), "lower_triangular")
    assert fact(solve.cholesky(x, lower=False), "upper_triangular")


def test_no_fact_of_values_follows_from_a_structure():
    x = tensor(3, 3, facts=["spd", "positive", "integer"])
    assert fact(solve.inv(x), "positive") is None
    assert fact(solve.inv(x), "integer") is None
    assert fact(solve.det(x), "positive") is None
    assert fact(solve.slogdet(x)[0], "positive") is None


def test_costs():
    x, b, B = tensor(30, 30), tensor(30, name="b"), tensor(5, 30, 4, name="B")
    cube = 30**3
    assert flops([solve.inv(x)]) == 2 * cube
    assert flops([solve.det(x)]) == 2 * cube // 3
    assert flops([solve.cholesky(x)]) == cube // 3
    assert flops([solve.solve(x, b)]) == 2 * cube // 3 + 2 * 900
    assert flops([solve.solve(x, b, "spd")]) == cube // 3 + 2 * 900
    assert flops([solve.solve_triangular(x, B)]) == 900 * 5 * 4
    assert flops(solve.slogdet(x)) == 2 * cube // 3


def test_patterns():
    p, q, lower = Term(), Term(), var()
    assert solve.inv(p).op is Inv()
    assert solve.det(p).op is Det()
    assert solve.solve(p, q).op is Solve("general")
    assert solve.solve(p, q).operands == (p, q)
    assert solve.solve_triangular(p, q, True).op is SolveTriangular(True, 0, False)
    assert solve.cholesky(p, lower).op.lower is lower
    assert solve.cholesky(p).op is Cholesky(True)
    sign, logarithm = solve.slogdet(p)
    assert sign.op is GetItem(0)
    assert logarithm.op is GetItem(1)
    assert sign.operands[0].op is Slogdet()
