"""Chains of products, shared factorisations, and products with matrices of blocks."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

import relgraph as rg
from relgraph.ir.graph import free_inputs, toposort
from relgraph.rewriting.chains import MatmulChain, dominates
from relgraph.rewriting.factors import FactorReuse
from relgraph.rewriting.structured import StructuredProducts

A, B = rg.matrices("A B", shape=("n", "n"))
C = rg.matrix("C", shape=("n", "k"))
x, y = rg.vectors("x y", shape=("n",))
SIZES = {"n": 4, "k": 3, None: 4}


def ops(graphs):
    return [v.op.name for v in toposort(graphs) if v.op is not None]


def check(graphs, rewriter):
    """Rewrite graphs, and compare their values; return the result."""
    result = rg.rewrite_graph(graphs, rewriter)
    inputs = free_inputs(graphs)
    rng = np.random.default_rng(1)
    values = []
    for v in inputs:
        shape = tuple(SIZES.get(d, d) for d in v.type.shape)
        value = rng.normal(size=shape)
        if len(shape) == 2 and shape[0] == shape[1]:
            value = value @ value.T + np.eye(shape[0])
        values.append(value)
    before = rg.function(inputs, graphs, mode=None, target="numpy")(*values)
    after = rg.function(inputs, result, mode=None, target="numpy")(*values)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-10)
    return result


def test_a_vector_is_multiplied_first_whatever_the_sizes():
    assert check([A @ B @ x], MatmulChain()) == [A @ (B @ x)]
    assert check([x @ (A @ B)], MatmulChain()) == [x @ A @ B]
    long = check([A @ B @ A @ B @ x], MatmulChain())
    assert long == [A @ (B @ (A @ (B @ x)))]


def test_static_sizes_decide():
    P, Q, R = (
        rg.matrix(n, shape=s) for n, s in zip("PQR", [(10, 100), (100, 5), (5, 50)], strict=True)
    )
    assert check([P @ (Q @ R)], MatmulChain()) == [(P @ Q) @ R]
    assert check([(P @ Q) @ R], MatmulChain()) == [(P @ Q) @ R]


def test_what_depends_on_sizes_stays():
    for graph in (A @ (B @ C), (A @ B) @ C):
        assert check([graph], MatmulChain()) == [graph]  # k may be larger or smaller than n


def test_a_product_with_other_users_stays():
    shared = A @ B
    graphs = [shared @ x, rg.exp(shared)]
    assert check(graphs, MatmulChain()) == graphs


def test_integers_of_several_dtypes_and_batches_stay():
    small = rg.matrix("small", shape=(3, 3), dtype="int8")
    wide = rg.vector("wide", shape=(3,), dtype="int64")
    batch = rg.tensor("batch", shape=(2, 3, 3))
    for graph in ((small @ small) @ wide, batch @ batch @ rg.vector("v", shape=(3,))):
        assert rg.rewrite_graph(graph, MatmulChain()) is graph


@pytest.mark.parametrize("seed", range(20))
def test_a_cost_that_dominates_is_never_larger(seed):
    rng = np.random.default_rng(seed)
    monomials = [(), ("a",), ("b",), ("a", "b"), ("a", "a"), ("a", "a", "b"), ("b", "b")]
    cheap, dear = (
        Counter({m: int(rng.integers(4)) for m in monomials if rng.random() < 0.6})
        for _ in range(2)
    )

    def value(cost, a, b):
        sizes = {"a": a, "b": b}
        return sum(n * int(np.prod([sizes[s] for s in m])) for m, n in cost.items())

    grid = list(product([1, 2, 7, 100], repeat=2))
    if dominates(cheap, dear):
        assert all(value(cheap, a, b) <= value(dear, a, b) for a, b in grid)
    assert dominates(dear, dear)


def test_a_long_chain_ends():
    graph = A
    for _ in range(300):
        graph = graph @ A
    result = rg.rewrite_graph(graph @ x, MatmulChain())
    assert result.type == x.type


def test_uses_of_one_matrix_share_its_factors():
    graphs = [rg.solve(A, x), rg.solve(A.mT, y), rg.det(A), *rg.slogdet(A)]
    found = ops(check(graphs, FactorReuse()))
    assert found.count("lu_factor") == 1
    assert not {"solve", "det", "slogdet"} & set(found)


def test_an_spd_matrix_shares_its_cholesky_factor():
    S = rg.matrix("S", shape=("n", "n"), facts=("spd",))
    graphs = [rg.solve(S, x), rg.solve(S, y, assume="spd"), rg.cholesky(S)]
    found = ops(check(graphs, FactorReuse()))
    assert found.count("cholesky") == 1 and found.count("cho_solve") == 2


def test_one_use_stays():
    graphs = [rg.solve(A, x), rg.det(B)]
    assert check(graphs, FactorReuse()) == graphs


def test_a_singular_matrix_still_raises():
    graphs = rg.rewrite_graph([rg.solve(A, x), rg.solve(A, y)], FactorReuse())
    run = rg.function([A, x, y], graphs, mode=None, target="numpy")
    with pytest.raises(rg.errors.RelgraphError, match="ingular"):
        run(np.ones((2, 2)), np.ones(2), np.ones(2))


P, Q = rg.matrix("P", shape=(2, 3)), rg.matrix("Q", shape=(4, 5))
R, T = rg.matrix("R", shape=(3, 3)), rg.matrix("T", shape=(2, 2))
z, w, h = rg.vector("z", shape=(15,)), rg.vector("w", shape=(8,)), rg.vector("h", shape=(6,))
e, X = rg.vector("e", shape=(5,)), rg.matrix("X", shape=(15, "k"))
Y, Z = rg.matrix("Y", shape=(5, "k")), rg.matrix("Z", shape=(6, "k"))
BLOCKS = [
    rg.kron(P, Q) @ z,
    rg.kron(P, Q) @ X,
    w @ rg.kron(P, Q),
    rg.solve(rg.kron(R, T), h),
    rg.solve(rg.kron(R, T), Z),
    rg.block_diag(R, T) @ e,
    rg.block_diag(R, T) @ Y,
    e @ rg.block_diag(R, T),
    Y.mT @ rg.block_diag(R, T),
    rg.solve(rg.block_diag(R, T), e),
    rg.solve(rg.block_diag(T, rg.block_diag(T, T)), h),
]


@pytest.mark.parametrize("graph", BLOCKS, ids=str)
def test_matrices_of_blocks_are_not_formed(graph):
    assert not {"kron", "block_diag"} & set(ops(check([graph], StructuredProducts())))


def test_sizes_that_are_not_known_leave_blocks_as_they_are():
    graphs = [rg.block_diag(A, B) @ rg.vector("v", shape=(None,)), rg.kron(A, B) @ x]
    assert rg.rewrite_graph(graphs, StructuredProducts()) == graphs


def test_a_column_times_a_row():
    row, column = rg.matrix("row", shape=(1, 3)), rg.matrix("column", shape=(2, 1))
    assert check([column @ row], StructuredProducts()) == [column * row]


def test_the_modes_name_them():
    shown = str(rg.optdb)
    for name in ("matmul_chain", "reuse_factorisation", "structured_products"):
        assert name in shown
        mode = rg.mode("o4").excluding(name)
        assert rg.rewrite_graph(x + y, mode=mode) is not None
