"""Products with triangular and tridiagonal matrices against NumPy: values, layouts, flops."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.ops.linalg.structured_matmul import TriangularMatmul, TridiagonalMatmul

KINDS = {
    "lower": (lambda side: TriangularMatmul(True, side), np.tril),
    "upper": (lambda side: TriangularMatmul(False, side), np.triu),
    "band": (TridiagonalMatmul, lambda x: np.tril(np.triu(x, -1), 1)),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("n", [0, 1, 5, 300])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_the_product_is_that_of_numpy(kind, side, n, dtype, turned):
    op, cut = KINDS[kind]
    rng = np.random.default_rng(n)
    matrix = cut(rng.normal(size=(n, n)) * 4).astype(dtype)
    other = (rng.normal(size=(n, 7) if side == 0 else (7, n)) * 4).astype(dtype)
    if turned:
        matrix, other = np.asfortranarray(matrix), np.asfortranarray(other)
    operands = (matrix, other) if side == 0 else (other, matrix)
    copies = [x.copy() for x in operands]
    result = op(side).perform(*operands)
    assert result.dtype == dtype
    rtol = 1e-4 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(result, operands[0] @ operands[1], rtol=rtol, atol=100 * rtol)
    for x, copy in zip(operands, copies, strict=True):
        np.testing.assert_array_equal(x, copy)


def test_the_zeros_cost_nothing():
    L = rg.matrix("L", shape=(300, 300))
    B = rg.matrix("B", shape=(300, 20))
    whole = rg.flops([L @ B])
    assert rg.flops([TriangularMatmul(True, 0)(L, B)]) == whole // 2
    assert rg.flops([TridiagonalMatmul(0)(L, B)]) == 6 * 300 * 20


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("facts", ["lower_triangular", "upper_triangular", "tridiagonal"])
def test_the_modes_leave_out_the_zeros(facts, target):
    cut = {"lower_triangular": np.tril, "upper_triangular": np.triu}.get(facts, KINDS["band"][1])
    M, B = rg.matrix("M", shape=("n", "n"), facts=(facts,)), rg.matrix("B", shape=("k", "n"))
    graphs = [M @ B.mT, B @ M]
    names = {x.op.name for x in rg.rewrite_graph(graphs, mode="fast_run")}
    assert names <= {"triangular_matmul", "tridiagonal_matmul"}
    rng = np.random.default_rng(2)
    m, b = cut(rng.normal(size=(280, 280))), rng.normal(size=(9, 280))
    left, right = rg.function([M, B], graphs, target=target)(m, b)
    np.testing.assert_allclose(left, m @ b.T, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(right, b @ m, rtol=1e-10, atol=1e-10)


def test_small_products_and_general_matrices_stay():
    B = rg.matrix("B", shape=(30, 30))
    L = rg.matrix("L", shape=(30, 30), facts=("lower_triangular",))
    assert rg.rewrite_graph(L @ B, mode="fast_run") is L @ B
    C, D = rg.matrices("C D", shape=("n", "n"))
    assert rg.rewrite_graph(C @ D, mode="fast_run") is C @ D


def test_a_matrix_of_three_diagonals_is_tridiagonal():
    main, side = rg.vector("main", shape=(200,)), rg.vector("side", shape=(199,))
    matrix = rg.diag(main) + rg.diag(side, 1) + 2.0 * rg.diag(side, -1)
    assert "tridiagonal" in rg.facts(matrix).names()
    assert "tridiagonal" in rg.facts(matrix.mT).names()
    assert "tridiagonal" not in rg.facts(matrix @ matrix).names()
    assert "tridiagonal" not in rg.facts(rg.diag(side, 2)).names()
    assert "tridiagonal" in rg.facts(rg.constant(np.diag(np.ones(3), 1))).names()
