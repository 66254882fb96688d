"""Chains of products, shared factorisations, and products with matrices of blocks."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.ir.graph import free_inputs, toposort
from relgraph.rewriting.passes.matmul_chains import MatmulChain
from relgraph.rewriting.passes.shared_factorisations import FactorReuse
from relgraph.rewriting.passes.structured_products import StructuredProducts

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


def test_a_chain_goes_on_through_inverses_and_systems():
    D = rg.matrix("D", shape=("n", "n"))
    for graph, expected in [
        (rg.inv(A) @ B @ x, rg.solve(A, B @ x)),
        (rg.solve(A, B) @ x, rg.solve(A, B @ x)),
        (A @ rg.inv(B) @ D @ x, A @ rg.solve(B, D @ x)),
        (x @ rg.inv(A) @ y, x @ rg.solve(A, y)),
        (rg.inv(A) @ rg.inv(B) @ x, rg.solve(A, rg.solve(B, x))),
        (rg.solve(A @ B, x), rg.solve(A @ B, x)),
        (x @ rg.solve(A, B), rg.solve(A.mT, x) @ B),
        (rg.solve(A, B).mT @ x, B.mT @ rg.solve(A.mT, x)),
        (rg.solve(A.mT, C).mT @ x, C.mT @ rg.solve(A, x)),
        (rg.solve_triangular(A, B, lower=True) @ x, rg.solve_triangular(A, B @ x, lower=True)),
        (
            x @ rg.solve_triangular(A, B, lower=True),
            rg.solve_triangular(A, x, lower=True, trans=1) @ B,
        ),
        (rg.cho_solve((A, True), B) @ x, rg.cho_solve((A, True), B @ x)),
        (C.mT @ rg.inv(A) @ rg.inv(B) @ x, C.mT @ rg.solve(A, rg.solve(B, x))),
    ]:
        assert check([graph], MatmulChain()) == [expected]


def test_what_is_known_of_an_inverted_matrix_chooses_its_solver():
    S = rg.matrix("S", shape=("n", "n"), facts=("spd",))
    L = rg.matrix("L", shape=("n", "n"), facts=("lower_triangular",))
    assert check([rg.inv(S) @ A @ x], MatmulChain()) == [rg.solve(S, A @ x, assume="spd")]
    expected = rg.solve_triangular(L, A @ x, lower=True)
    assert rg.rewrite_graph(rg.inv(L) @ A @ x, MatmulChain()) is expected


@pytest.mark.parametrize("mode", ["fast_run", "o4"])
@pytest.mark.parametrize("shape", [(100, 5), ("m", "n"), (None, None)], ids=str)
def test_ridge_regression_solves_for_one_right_side(shape, mode):
    X, t = rg.matrix("X", shape=shape), rg.vector("t", shape=shape[:1])
    M = X.mT @ X + 0.1 * rg.eye(rg.shape(X)[1])
    result = rg.rewrite_graph(rg.inv(M) @ X.mT @ t, mode=mode)
    assert result.op.name == "solve" and result.inputs[1] is X.mT @ t
    assert result.op.params == ("spd",)
    assert rg.rewrite_graph(result, mode=mode) is result


def test_an_inverse_on_the_right_is_solved_with_the_transpose():
    P, H = rg.matrix("P", shape=(64, 64)), rg.matrix("H", shape=(32, 64))
    S = rg.matrix("S", shape=(32, 32))
    gain = check([P @ H.mT @ rg.inv(S)], MatmulChain())
    assert gain in ([rg.solve(S.mT, (P @ H.mT).mT).mT], [P @ rg.solve(S.mT, H).mT])
    assert check(gain, MatmulChain()) == gain


@pytest.mark.parametrize("mode", ["fast_run", "o4"])
def test_large_systems_with_a_product_are_solved_factor_by_factor(mode):
    F, G = rg.matrices("F G", shape=(400, 400))
    v = rg.vector("v", shape=(400,))
    assert rg.rewrite_graph(rg.solve(F @ G, v), MatmulChain()) is rg.solve(G, rg.solve(F, v))
    result = rg.rewrite_graph(rg.inv(F) @ rg.inv(G) @ v, mode=mode)
    assert result is rg.solve(F, rg.solve(G, v))


def test_small_systems_with_a_product_stay_one_system():
    F, G = rg.matrices("F G", shape=(3, 3))
    v = rg.vector("v", shape=(3,))
    graph = rg.solve(F @ G, v)
    assert rg.rewrite_graph(graph, MatmulChain()) is graph


def test_an_inverse_with_other_users_stays():
    inverse = rg.inv(A)
    graphs = [inverse @ B @ x, inverse]
    assert check(graphs, MatmulChain()) == [inverse @ (B @ x), inverse]


TERMS = {
    "inv": lambda left, right: rg.inv(left) @ right,
    "solve": rg.solve,
    "spd": lambda left, right: rg.solve(left, right, assume="spd"),
    "product": lambda left, right: left @ right,
    "turned": lambda left, right: right.mT @ left if right.ndim == 2 else right @ left,
    "right": lambda left, right: (right.mT @ rg.inv(left)).mT if right.ndim == 2 else right @ left,
}


@pytest.mark.parametrize("seed", range(40))
def test_a_chain_costs_no_more_than_as_written_and_has_its_value(seed):
    rng = np.random.default_rng(seed)
    side = int(rng.choice([4, 128])) if seed % 2 else "n"
    matrices = [rg.matrix(f"m{i}", shape=(side, side)) for i in range(3)]
    wide = rg.matrix("wide", shape=(side, "r" if seed % 4 else int(rng.choice([1, 3, 60]))))
    graph = wide if rng.random() < 0.5 else rg.vector("v", shape=(side,))
    for _ in range(int(rng.integers(2, 6))):
        matrix = matrices[rng.integers(3)]
        if rng.random() < 0.3:
            matrix = matrix @ matrices[rng.integers(3)].mT
        if graph.ndim == 2 and graph.type.shape[0] != side:
            graph = graph.mT
        name = rng.choice([n for n in TERMS if n != "spd" or matrix.op is None])
        graph = TERMS[name](matrix, graph)
    if graph.ndim == 2:
        if graph.type.shape[1] == side:
            graph = graph.mT
        graph = graph @ rg.vector("last", shape=(graph.type.shape[1],))
    result = rg.rewrite_graph(graph, MatmulChain())
    if side == "n":
        assert rg.flops([result]) <= rg.flops([graph])
    assert rg.rewrite_graph(result, MatmulChain()) is result
    inputs = free_inputs([graph])
    sizes = {"n": 6, "r": 5}
    values = [rng.normal(size=[sizes.get(d, d) for d in x.type.shape]) for x in inputs]
    values = [
        v @ v.T + len(v) * np.eye(len(v)) if v.ndim == 2 and len(v) == v.shape[1] else v
        for v in values
    ]
    before = rg.function(inputs, graph, mode=None, target="numpy")(*values)
    after = rg.function(inputs, result, mode=None, target="numpy")(*values)
    np.testing.assert_allclose(after, before, rtol=1e-7, atol=1e-9 * np.abs(before).max())


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


def test_an_spd_matrix_shares_its_factor_with_its_determinant():
    S = rg.matrix("S", shape=("n", "n"), facts=("spd",))
    graphs = [rg.solve(S, x), rg.det(S), *rg.slogdet(S)]
    result = ops(check(graphs, FactorReuse()))
    assert result.count("cholesky") == 1
    assert not {"solve", "det", "slogdet", "lu_factor"} & set(result)
    alone = [rg.det(S), *rg.slogdet(S)]  # a determinant alone needs no factor that may not exist
    assert "cholesky" not in ops(check(alone, FactorReuse()))


def test_systems_that_are_assumed_definite_share_a_factor():
    result = ops(check([rg.solve(A, b, assume="spd") for b in (x, y)], FactorReuse()))
    assert result.count("cholesky") == 1 and "solve" not in result


@pytest.mark.parametrize("facts", [(), ("spd",)])
def test_small_matrices_are_factored_for_each_use(facts):
    def uses(side):
        S = rg.matrix("S", shape=(side, side), facts=facts)
        b, c = rg.vectors("b c", shape=(side,))
        return [rg.solve(S, b), rg.solve(S, c), *rg.slogdet(S)]

    assert rg.rewrite_graph(uses(2), FactorReuse()) == uses(2)
    assert "solve" not in ops(rg.rewrite_graph(uses(100), FactorReuse()))


def test_one_right_side_and_a_determinant_of_a_small_matrix_stay():
    S, b = rg.matrix("S", shape=(4, 4)), rg.vector("b", shape=(4,))
    graphs = [rg.solve(S, b), rg.det(S)]
    assert rg.rewrite_graph(graphs, FactorReuse()) == graphs


def test_an_inverse_of_several_products_becomes_factors_where_that_pays():
    def products(side):
        S, B = rg.matrix("S", shape=(side, side)), rg.matrix("B", shape=(3, side))
        b, c = rg.vectors("b c", shape=(side,))
        inverse = rg.inv(S)
        return [inverse @ b, c @ inverse, B @ inverse]

    assert rg.rewrite_graph(products(4), FactorReuse()) == products(4)
    result = rg.rewrite_graph(products(100), FactorReuse())
    assert ops(result).count("lu_factor") == 1 and "inv" not in ops(result)
    assert rg.flops(result) < rg.flops(products(100))
    inputs = free_inputs(result)
    rng = np.random.default_rng(3)
    values = [rng.normal(size=v.type.shape) for v in inputs]
    S, B, b, c = (dict(zip([v.name for v in inputs], values, strict=True))[k] for k in "SBbc")
    after = rg.function(inputs, result, mode=None)(*values)
    for got, expected in zip(
        after,
        (np.linalg.solve(S, b), np.linalg.solve(S.T, c), np.linalg.solve(S.T, B.T).T),
        strict=True,
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-8)
    needed = [*products(100), rg.inv(rg.matrix("S", shape=(100, 100))) + 1]
    assert rg.rewrite_graph(needed, FactorReuse()) == needed


@pytest.mark.parametrize("mode", ["fast_run", "o4"])
def test_a_small_inverse_of_many_products_is_computed_once(mode):
    S = rg.matrix("S", shape=(4, 4))
    vectors = [rg.vector(f"b{i}", shape=(4,)) for i in range(9)]
    graphs = [rg.inv(S) @ b for b in vectors]
    assert ops(rg.rewrite_graph(graphs, mode=mode)).count("inv") == 1
    assert "inv" not in ops([rg.rewrite_graph(graphs[0], mode=mode)])


def test_a_batch_of_inverses_solves():
    batch, b = rg.tensor("batch", shape=(3, 4, 4)), rg.tensor("b", shape=(3, 4, 2))
    result = rg.rewrite_graph(rg.inv(batch) @ b, mode="fast_run")
    assert result is rg.solve(batch, b)


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
    assert check([column @ row @ R], MatmulChain()) == [column * (row @ R)]
    assert check([column @ row], MatmulChain()) == [column * row]


def test_the_modes_name_them():
    shown = str(rg.optdb)
    for name in ("matmul_chain", "reuse_factorisation", "structured_products"):
        assert name in shown
        mode = rg.mode("o4").excluding(name)
        assert rg.rewrite_graph(x + y, mode=mode) is not None
