"""The order of chains, what they share, and what calls of LAPACK cost, against NumPy."""

from collections import Counter

import numpy as np
import pytest

import relgraph as rg
from relgraph.ir.graph import free_inputs, toposort
from relgraph.rewriting.passes.distribution import Distribution
from relgraph.rewriting.passes.matmul_chains import MatmulChain
from relgraph.rewriting.passes.shared_factorisations import FactorReuse
from relgraph.rewriting.passes.structured_products import StructuredProducts

MODES = ["fast_run", "o4", "unsafe"]
SIZES = {"n": 5, "m": 9, "k": 3, "h": 4, None: 5}
A, B, C = rg.matrices("A B C", shape=("n", "n"))
H, X = rg.matrix("H", shape=("k", "n")), rg.matrix("X", shape=("m", "n"))
x, y, t = rg.vector("x", shape=("n",)), rg.vector("y", shape=("n",)), rg.vector("t", shape=("m",))
col, row = rg.matrix("col", shape=("n", 1)), rg.matrix("row", shape=("n", 1))
c = rg.scalar("c")


def ops(graphs):
    """Return how often each op occurs."""
    return Counter(v.op.name for v in toposort(graphs) if v.op is not None)


def check(graphs, rewriter):
    """Rewrite graphs twice, compare their values, and return the result."""
    result = rg.rewrite_graph(graphs, rewriter)
    assert rg.rewrite_graph(result, rewriter) == result
    inputs = free_inputs(graphs)
    rng = np.random.default_rng(4)
    values = [rng.normal(size=tuple(SIZES.get(d, d) for d in v.type.shape)) for v in inputs]
    values = [
        v @ v.T + len(v) * np.eye(len(v)) if v.ndim == 2 and v.shape[0] == v.shape[1] else v
        for v in values
    ]
    before = rg.function(inputs, graphs, mode=None, target="numpy")(*values)
    after = rg.function(inputs, result, mode=None, target="numpy")(*values)
    for a, b in zip(before, after, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-9)
    return result


@pytest.mark.parametrize(
    ("graph", "products"),
    [
        ((A.mT @ B).mT @ A.mT @ B, 2),  # a part and its transpose
        (B.mT @ A @ A.mT @ B, 2),
        (A @ B @ A @ B, 2),
        (A @ B @ C @ A @ B @ C, 3),
        (A @ B.mT + B @ A.mT, 1),
    ],
    ids=str,
)
def test_parts_that_occur_again_are_computed_once(graph, products):
    assert ops(check([graph], MatmulChain()))["matmul"] == products


def test_sharing_is_not_chosen_where_it_costs_more():
    assert check([A.mT @ B @ A.mT @ B @ y], MatmulChain()) == [A.mT @ (B @ (A.mT @ (B @ y)))]


def test_products_of_which_only_other_products_are_needed_are_dissolved():
    shared = A @ B
    assert check([shared @ x, shared @ y], MatmulChain()) == [A @ (B @ x), A @ (B @ y)]


def test_a_product_that_is_needed_anyway_is_reused_in_any_bracketing():
    graphs = [A @ B, A @ (B @ C)]
    assert check(graphs, MatmulChain()) == [A @ B, (A @ B) @ C]


def test_a_column_times_a_row_ends_no_chain():
    result = check([A.mT @ col @ row.mT @ A], MatmulChain())
    assert ops(result)["matmul"] == 2 and ops(result)["multiply"] == 1
    assert result[0] == (A.mT @ col) * (row.mT @ A)


def test_an_explicit_inverse_that_is_needed_is_reused():
    inverse = rg.inv(A)
    assert check([inverse, inverse @ B @ x], MatmulChain()) == [inverse, inverse @ (B @ x)]


def test_no_inverse_is_computed_that_is_not_written():
    S = rg.matrix("S", shape=(3, 3))
    rights = [rg.matrix(f"b{i}", shape=(3, 2)) for i in range(12)]
    for mode in MODES:
        result = rg.rewrite_graph([rg.solve(S, b) for b in rights], mode=mode)
        assert "inv" not in ops(result)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(9, 5), ("m", "n"), (None, None), (3000, 200)], ids=str)
def test_ridge_regression_multiplies_before_it_solves(shape, mode):
    X, t = rg.matrix("X", shape=shape), rg.vector("t", shape=shape[:1])
    M = X.mT @ X + c * rg.eye(rg.shape(X)[1])
    result = rg.rewrite_graph(rg.inv(M) @ X.mT @ t, mode=mode)
    assert result.op.name == "solve" and result.inputs[1] == X.mT @ t
    assert rg.rewrite_graph(result, mode=mode) is result


def test_ridge_regression_has_the_value_of_numpy():
    M = X.mT @ X + c * rg.eye(rg.shape(X)[1])
    graph = rg.inv(M) @ X.mT @ t
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(9, 4)), rng.normal(size=9)
    expected = np.linalg.solve(a.T @ a + 0.3 * np.eye(4), a.T @ b)
    for target in ("numpy", "cpu"):
        np.testing.assert_allclose(
            rg.function([X, c, t], graph, target=target)(a, 0.3, b), expected, rtol=1e-10
        )


def test_an_inverted_gram_matrix_is_definite():
    result = check([rg.inv(X.mT @ X) @ X.mT @ t], MatmulChain())
    assert result == [rg.solve(X.mT @ X, X.mT @ t, assume="spd")]


@pytest.mark.parametrize("n", [1, 2, 4, 8, 40])
def test_a_filter_of_kalman_calls_lapack_as_often_as_written(n):
    m, steps = max(1, n // 2), 3
    F, H = rg.matrix("F", shape=(n, n)), rg.matrix("H", shape=(m, n))
    Q, R, P = (rg.matrix(s, shape=(k, k)) for s, k in zip("QRP", (n, m, n), strict=True))
    z, state = rg.matrix("z", shape=(steps, m)), rg.vector("state", shape=(n,))

    def filtered(inv, eye, given):
        F, H, Q, R, P, z, x = given
        for k in range(steps):
            x, P = F @ x, F @ P @ F.T + Q
            gain = P @ H.T @ inv(H @ P @ H.T + R)
            x, P = x + gain @ (z[k] - H @ x), (eye(n) - gain @ H) @ P
        return [x, P]

    inputs = [F, H, Q, R, P, z, state]
    graphs = filtered(rg.inv, rg.eye, inputs)
    result = rg.rewrite_graph(graphs, mode="fast_run")
    assert rg.rewrite_graph(result, mode="fast_run") == result
    counts = ops(result)
    assert counts["inv"] + counts["solve"] <= steps
    assert not {"lu_factor", "cholesky", "lu_solve", "cho_solve"} & set(counts)
    rng = np.random.default_rng(n)
    values = [rng.normal(size=v.type.shape) / n for v in inputs]
    values[2:5] = [v @ v.T + np.eye(len(v)) for v in values[2:5]]
    expected = filtered(np.linalg.inv, np.eye, values)
    for a, b in zip(rg.function(inputs, graphs)(*values), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("facts", [(), ("symmetric",), ("spd",)])
@pytest.mark.parametrize(("side", "shared"), [(2, False), (30, False), (600, True)])
def test_factors_are_shared_only_where_that_takes_less_time(side, shared, facts):
    S = rg.matrix("S", shape=(side, side), facts=facts)
    b, d = rg.vectors("b d", shape=(side,))
    counts = ops(rg.rewrite_graph([rg.solve(S, b), rg.solve(S, d) * 2], FactorReuse()))
    assert ("solve" not in counts) == shared


def test_a_long_chain_of_named_sizes_ends():
    shapes = [(f"d{i % 9}", f"d{(i + 1) % 9}") for i in range(60)]
    graph = rg.matrix("x0", shape=shapes[0])
    for i, shape in enumerate(shapes[1:]):
        graph = graph @ rg.matrix(f"x{i + 1}", shape=shape)
    v = rg.vector("v", shape=(shapes[-1][1],))
    result = rg.rewrite_graph(graph @ v, MatmulChain())
    assert ops([result])["matmul"] == 60
    assert all(u.ndim == 1 for u in toposort([result]) if u.op is not None)


@pytest.mark.parametrize("seed", range(12))
def test_graphs_of_several_chains_keep_their_values_and_cost_no_more(seed):
    rng = np.random.default_rng(seed)
    pool = [A, B, C, A @ B, (B @ C).mT, rg.inv(A), x, y]
    for _ in range(12):
        left, right = (pool[rng.integers(len(pool))] for _ in range(2))
        if left.ndim == 2:
            system = rng.random() < 0.2 and left in (A, B, C)
            pool.append(rg.solve(left, right) if system else left @ right)
    graphs = [u for u in pool if u.op is not None][-4:]
    result = rg.rewrite_graph(check(graphs, MatmulChain()), FactorReuse())
    assert rg.flops(result) <= rg.flops(graphs)


def test_a_product_with_a_sum_of_products_is_taken_apart_where_that_costs_less():
    assert check([(A - H.mT @ H) @ x], Distribution()) == [A @ x - H.mT @ (H @ x)]
    assert check([x @ (c * (A @ B) + C)], Distribution()) == [x @ C + c * (x @ A @ B)]
    (three,) = check([(A + B - H.mT @ H) @ x], Distribution())
    assert ops([three])["matmul"] == 3
    kept = [(A - B) @ x, (A - H.mT @ H) @ B, (A - H.mT @ H) @ B @ C]
    assert rg.rewrite_graph(kept, Distribution()) == kept
    gram = H.mT @ H
    used = [(A - gram) @ x, rg.exp(A - gram)]
    assert ops(rg.rewrite_graph(used, Distribution()))["matmul"] == 2


def test_any_number_of_such_products_is_taken_apart():
    graphs = []
    for i in range(60):
        H, x = rg.matrix(f"H{i}", shape=("k", "n")), rg.vector(f"x{i}", shape=("n",))
        graphs.append((A - H.mT @ H) @ x)
    assert ops(rg.rewrite_graph(graphs, Distribution()))["matmul"] == 3 * len(graphs)


def test_sums_of_many_products_that_others_read_stay():
    state, graphs = A, []
    for i in range(30):
        H = rg.matrix(f"H{i}", shape=("k", "n"))
        state = state + H.mT @ H
        graphs += [state @ x, state @ y]
    assert rg.rewrite_graph(graphs, Distribution()) == graphs


def test_a_product_with_a_sum_of_systems_is_taken_apart():
    complement = A - B.mT @ rg.solve(C, B)
    assert check([complement @ x], Distribution()) == [A @ x - B.mT @ rg.solve(C, B @ x)]


@pytest.mark.parametrize("mode", MODES)
def test_the_modes_take_such_a_product_apart_once(mode):
    result = rg.rewrite_graph((A - H.mT @ H) @ x, mode=mode)
    assert result == A @ x - H.mT @ (H @ x)
    assert rg.rewrite_graph(result, mode=mode) is result


P, Q = rg.matrix("P", shape=("h", "h")), rg.matrix("Q", shape=("k", "k"))
U, V = rg.matrix("U", shape=("h", "n")), rg.matrix("V", shape=("k", "n"))


def joined(upper_right, lower_left):
    """Return a matrix of four blocks."""
    rows = [[P, upper_right], [lower_left, Q]]
    return rg.concatenate([rg.concatenate(r, axis=1) for r in rows], axis=0)


def test_blocks_of_zeros_are_not_multiplied():
    wide, tall = rg.zeros((4, 3)), rg.zeros((3, 4))
    P, Q = rg.matrix("P", shape=(4, 4)), rg.matrix("Q", shape=(3, 3))
    W = rg.matrix("W", shape=(4, 3))
    rights = [rg.matrix("U", shape=(4, 2)), rg.matrix("V", shape=(3, 2))]
    right, whole = rg.concatenate(rights, axis=0), rg.matrix("whole", shape=(7, 2))
    for corner in (wide, W):
        rows = [rg.concatenate([P, corner], axis=1), rg.concatenate([tall, Q], axis=1)]
        matrix = rg.concatenate(rows, axis=0)
        for graph in (matrix @ right, matrix @ whole, whole.mT @ matrix):
            (result,) = check([graph], StructuredProducts())
            assert rg.flops([result]) < rg.flops([graph])
    rows = [rg.concatenate([P, wide], axis=1), rg.concatenate([tall, Q], axis=1)]
    (solved,) = check([rg.solve(rg.concatenate(rows, axis=0), whole)], StructuredProducts())
    assert ops([solved])["solve"] == 2
    full = rg.concatenate([rg.concatenate([P, W], axis=1), rg.concatenate([W.mT, Q], axis=1)], 0)
    assert rg.rewrite_graph(full @ whole, StructuredProducts()) is full @ whole
