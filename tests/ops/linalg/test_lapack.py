"""Systems and factors of single matrices and of batches: LAPACK's results, in few calls."""

import sys
from itertools import product

import numpy as np
import pytest
import scipy.linalg

import relgraph as rg

RNG = np.random.default_rng(5)
A, B = rg.matrix("A", shape=(4, 4)), rg.matrix("B", shape=(4, 3))
b = rg.vector("b", shape=(4,))
FACTORS = rg.lu_factor(A)
SINGLE = {
    "spd": rg.solve(A, b, assume="spd"),
    "spd_several": rg.solve(A, B, assume="spd"),
    "triangular": rg.solve_triangular(A, b, lower=True),
    "cho_solve": rg.cho_solve((A, True), b),
    "lu_factor": FACTORS[0],
    "general": rg.solve(A, b),
    "product": A @ b,
}


def definite(side, dtype="float64", batch=()):
    half = RNG.normal(size=(*batch, side, side))
    return (half @ np.swapaxes(half, -1, -2) + side * np.eye(side)).astype(dtype)


def calls(function, *args):
    """Return how many calls of functions, Python's and builtin ones, a call makes."""
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    function(*args)  # what is imported at the first call is not counted
    sys.setprofile(counted)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", SINGLE)
def test_a_small_system_takes_few_calls(name):
    graph = SINGLE[name]
    matrix, right = definite(4), RNG.normal(size=4)
    values = {"A": matrix, "b": right, "B": RNG.normal(size=(4, 3))}
    inputs = [x for x in (A, b, B) if x in set(rg.FunctionGraph(None, [graph]))]
    run = rg.function(inputs, graph, mode=None)
    least = calls(np.linalg.solve, matrix, right)
    assert calls(run, *[values[x.name] for x in inputs]) <= 24 + least


CASES = list(product(("float32", "float64", "int64"), (1, 2, 5), (None, 0, 1, 3)))


@pytest.mark.parametrize(("dtype", "side", "right"), CASES)
@pytest.mark.parametrize("order", ["C", "F", "gaps"])
def test_solutions_are_scipys(dtype, side, right, order):
    a = np.round(definite(side)).astype(dtype)
    if order == "gaps":
        a = np.repeat(a, 2, axis=1)[:, ::2]
    a = np.asarray(a, order=order if order != "gaps" else "K")
    y = (4 * RNG.normal(size=(side,) if right is None else (side, right))).astype(dtype)
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    expected = np.linalg.solve(a, y)
    lower = np.linalg.cholesky(a)
    x, v = rg.tensor("x", shape=a.shape, dtype=dtype), rg.tensor("v", shape=y.shape, dtype=dtype)
    factors = rg.lu_factor(x)
    for graph, value in [
        (rg.solve(x, v, assume="spd"), expected),
        (rg.lu_solve(factors, v), expected),
        (rg.cho_solve((rg.cholesky(x), True), v), expected),
        (rg.cho_solve((rg.cholesky(x, lower=False), False), v), expected),
        (rg.solve_triangular(x, v), np.linalg.solve(np.triu(a), y)),
        (rg.solve_triangular(x, v, trans=1), np.linalg.solve(np.triu(a).T, y)),
        (rg.solve_triangular(x, v, lower=True), np.linalg.solve(np.tril(a), y)),
        (rg.solve_triangular(rg.cholesky(x), v, lower=True), np.linalg.solve(lower, y)),
    ]:
        result = rg.function([x, v], graph, mode=None)(a, y)
        assert result.dtype == expected.dtype and result.flags.c_contiguous
        np.testing.assert_allclose(result, value, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_right_side_of_a_large_definite_matrix(dtype, lower):
    a, y = definite(100).astype(dtype), RNG.normal(size=100).astype(dtype)
    x, v = rg.tensor("x", shape=a.shape, dtype=dtype), rg.tensor("v", shape=y.shape, dtype=dtype)
    graph = rg.cho_solve((rg.cholesky(x, lower=lower), lower), v)
    result = rg.function([x, v], graph, mode=None)(a, y)
    assert result.dtype == dtype and result.flags.c_contiguous
    expected = np.linalg.solve(a.astype(float), y)
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", [(2, 4, 4), (3, 1, 4, 4)])
def test_batches_are_solved_one_matrix_at_a_time(shape):
    a, y = definite(4, batch=shape[:-2]), RNG.normal(size=(2, 4, 3))
    x, v = rg.tensor("x", shape=shape), rg.tensor("v", shape=y.shape)
    result = rg.function([x, v], rg.solve(x, v, assume="spd"), mode=None)(a, y)
    np.testing.assert_allclose(result, np.linalg.solve(a, y), rtol=1e-10)
    w = rg.vector("w", shape=(4,))
    result = rg.function([x, w], rg.solve(x, w, assume="spd"), mode=None)(a, y[0, :, 0])
    expected = np.linalg.solve(a, np.broadcast_to(y[0, :, 0, None], (*shape[:-1], 1)))[..., 0]
    np.testing.assert_allclose(result, expected, rtol=1e-10)


def test_only_the_lower_triangle_of_a_definite_matrix_is_read():
    a, y = definite(4), RNG.normal(size=4)
    half = a + np.triu(np.full((4, 4), np.nan), 1)
    run = rg.function([A, b], rg.solve(A, b, assume="spd"), mode=None)
    np.testing.assert_allclose(run(half, y), np.linalg.solve(a, y), rtol=1e-12)


@pytest.mark.parametrize("right", [b, B, rg.matrix("none", shape=(4, 0))], ids=str)
def test_a_matrix_that_is_not_definite_raises(right):
    run = rg.function([A, right], rg.solve(A, right, assume="spd"), mode=None)
    with pytest.raises(rg.errors.LinearAlgebraError, match="not positive definite"):
        run(-np.eye(4), np.ones(right.type.shape))


def test_a_singular_factor_raises():
    a = np.diag([1.0, 2.0, 0.0, 3.0])
    for graph in (rg.solve_triangular(A, b), rg.cho_solve((A, True), b), rg.lu_solve(FACTORS, b)):
        with pytest.raises(rg.errors.LinearAlgebraError, match="ingular"):
            rg.function([A, b], graph, mode=None)(a, np.ones(4))


def test_nan_and_infinity_pass_through_triangular_systems():
    a = np.triu(definite(4))
    y = np.array([1.0, np.nan, np.inf, 2.0])
    result = rg.function([A, b], rg.solve_triangular(A, b), mode=None)(a, y)
    expected = scipy.linalg.solve_triangular(a, y, check_finite=False)
    np.testing.assert_array_equal(result, expected)


def test_results_are_new_memory():
    run = rg.function([A, b], rg.solve(A, b, assume="spd"), mode=None)
    a, y = np.eye(4), np.ones(4)
    first, second = run(a, y), run(a, y)
    assert not np.shares_memory(first, y) and not np.shares_memory(first, second)
    assert first.flags.writeable and first.flags.owndata


@pytest.mark.parametrize("name", ["lu", "lu_factor", "expm", "schur"])
def test_factors_of_one_matrix_are_those_of_a_batch_of_it(name):
    x, batch = rg.matrix("x", shape=(3, 3)), rg.tensor("batch", shape=(1, 3, 3))
    a = RNG.normal(size=(3, 3))
    one, whole = (getattr(rg, name)(v) for v in (x, batch))
    if name == "expm":
        one, whole = [one], [whole]
    one = rg.function([x], list(one), mode=None)(a)
    whole = rg.function([batch], list(whole), mode=None)(a[None])
    for p, q in zip(one, whole, strict=True):
        np.testing.assert_array_equal(p, q[0])
        assert p.dtype == q.dtype
