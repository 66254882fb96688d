"""Products, transposes, inverses, determinants and structured matrices: one row each."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.checking.evaluation import evaluate
from relgraph.numpy.reductions import sum
from relgraph.ops.contraction import Matmul
from relgraph.ops.elementwise import absolute
from relgraph.ops.linalg.solve import SolveTriangular, det, inv, solve, solve_triangular
from relgraph.ops.linalg.structured import diag, diagonal, eye, trace
from relgraph.ops.permutation import matrix_transpose as mT
from relgraph.ops.shape import expand_dims
from relgraph.relations.catalogue import linalg as r
from relgraph.relations.catalogue import products as p
from relgraph.relations.catalogue import structure as st
from tests.relations.catalogue.table import (
    A,
    B,
    C,
    Row,
    check,
    covers_theme,
    rewritten,
    s,
    tensor,
    x,
    y,
)
from tests.relations.catalogue.test_structure import BLOCKS, FACTORS, ONCE, RANK, STRUCTURE

S = tensor("S", 3, 3, facts=("symmetric",))
P = tensor("P", 3, 3, facts=("spd",))
Q = tensor("Q", 3, 3, facts=("orthogonal",))
D, E = (tensor(name, 3, 3, facts=("diagonal",)) for name in "DE")
L = tensor("L", 3, 3, facts=("lower_triangular",))
U = tensor("U", 3, 3, facts=("upper_triangular",))
batch = tensor("batch", 2, 3, 3)
left, right = tensor("left", 3, 2), tensor("right", 2, 3)

ROWS = [
    Row(
        p.expand_einsumo,
        rg.einsum("ab,ab->a", A, B),
        rg.sum(A * B, axis=1),
        rg.einsum("ab,ba->a", A, B),
    ),
    Row(p.distribute_matmul_addo.reversed, A @ x + A @ y, A @ (x + y), A @ x + B @ y),
    Row(p.distribute_add_matmulo.reversed, A @ x + B @ x, (A + B) @ x, A @ x + B @ y),
    Row(p.distribute_matmul_subtracto.reversed, A @ x - A @ y, A @ (x - y), A @ x - B @ y),
    Row(p.distribute_subtract_matmulo.reversed, A @ x - B @ x, (A - B) @ x, A @ x - x @ A),
    Row(p.lift_multiply_matmulo, (s * A) @ B, s * (A @ B), (x * A) @ B),
    Row(p.lift_matmul_multiplyo, A @ (s * B), s * (A @ B), A @ (x * B)),
    Row(p.transpose_matmul_transposeo, mT(A @ mT(B)), B @ mT(A), mT(A @ B)),
    Row(p.transpose_matmulo.reversed, mT(B) @ mT(A), mT(A @ B), mT(A) @ B),
    Row(p.transpose_addo.reversed, mT(A) + mT(B), mT(A + B), mT(A) + B),
    Row(p.remove_transpose_symmetrico, mT(S), S, mT(A)),
    Row(r.cancel_inv_invo, inv(inv(A)), A, inv(mT(inv(A)))),
    Row(r.reverse_inv_matmulo.reversed, inv(B) @ inv(A), inv(A @ B), inv(B) @ A),
    Row(st.inv_orthogonalo, inv(Q), mT(Q), inv(A)),
    Row(r.solve_invo, inv(A) @ x, solve(A, x), x @ inv(A)),
    Row(r.cancel_solve_invo, solve(inv(A), x), A @ x, solve(A, x)),
    Row(r.divide_rowso, solve(diag(x), A), A / expand_dims(x, -1), solve(A, diag(x))),
    Row(r.divide_elementso, solve(diag(x), y), y / x, solve(diag(x), A)),
    Row(
        r.solve_lower_triangularo,
        solve(L, x),
        solve_triangular(L, x, lower=True),
        solve(U, x),
    ),
    Row(
        r.solve_upper_triangularo,
        solve(U, x),
        solve_triangular(U, x, lower=False),
        solve(L, x),
    ),
    Row(
        r.solve_transposed_triangleo,
        solve_triangular(mT(A), x, lower=False),
        SolveTriangular(True, 1, False)(A, x),
        solve_triangular(A, x, lower=False),
    ),
    Row(r.solve_spdo, solve(P, x), solve(P, x, assume="spd"), solve(S, x)),
    Row(r.solve_symmetrico, solve(S, x), solve(S, x, assume="symmetric"), solve(A, x)),
    Row(r.det_transposeo, det(mT(A)), det(A), det(absolute(A))),
    Row(r.det_invo, det(inv(A)), 1.0 / det(A), inv(mT(A))),
    Row(r.det_matmulo, det(A @ B), det(A) * det(B), det(left @ right)),
    Row(p.remove_matmul_eyeo, eye(3) @ A, A, eye(3, 3, 1) @ A),
    Row(st.multiply_diagonalo, D @ E, diag(diagonal(D) * diagonal(E)), D @ A),
    Row(st.scale_rowso, D @ A, expand_dims(diagonal(D), -1) * A, D @ y),
    Row(st.scale_columnso, A @ D, A * diagonal(D), D @ y),
    Row(st.scale_elementso, D @ y, diagonal(D) * y, D @ A),
    Row(st.diagonal_identityo, diagonal(eye(3)), rg.constant(np.ones(3)), diagonal(eye(3, k=1))),
    Row(p.trace_transposeo, trace(mT(A)), trace(A), trace(absolute(A))),
    Row(p.trace_matmulo, trace(A @ B), sum(A * mT(B)), trace(batch @ B)),
    Row(p.sum_diagonalo, sum(diagonal(A)), trace(A), sum(diagonal(A, 1))),
    Row(
        p.diagonal_matmulo,
        diagonal(A @ B),
        sum(A * mT(B), -1),
        diagonal(left @ tensor("wide", 2, 4)),
    ),
    Row(p.sum_matmulo, sum(A @ B), sum(A, -2) @ sum(B, -1), sum(A @ x)),
    Row(p.sum_rows_matmulo, sum(A @ B, -1), A @ sum(B, -1), sum(A @ B, -2)),
    Row(p.sum_columns_matmulo, sum(A @ B, -2), sum(A, -2) @ B, sum(A @ B, -1)),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    every = (*p.RELATIONS, *r.RELATIONS, *st.RELATIONS)
    assert covers_theme([*ROWS, *STRUCTURE, *BLOCKS, *FACTORS, *RANK, *ONCE], every) <= {
        "cycle_traceo"
    }


def test_many_products_are_gathered_at_once():
    vectors = [tensor(f"v{k}", 3) for k in range(5)]
    graph = A @ vectors[0]
    for v in vectors[1:]:
        graph = graph + A @ v
    result = rewritten(p.distribute_matmul_addo.reversed, graph + B @ x)
    total = vectors[0] + vectors[1] + vectors[2] + vectors[3] + vectors[4]
    assert result is A @ total + B @ x


def test_a_vector_that_is_broadcast_is_not_gathered():
    graph = A @ B + A @ x
    assert rewritten(p.distribute_matmul_addo.reversed, graph) is graph
    both = C @ (x + A)
    assert rewritten(p.distribute_matmul_addo, both) is both


G, g = rg.matrix("G", shape=(5, 5)), rg.vector("g", shape=5)
wide, d = rg.matrix("W", shape=(50, 50)), rg.vector("d", shape=50)
N = rg.matrix("N", shape=("n", "n"))
v = rg.vector("v", shape="n")


@pytest.mark.parametrize("mode", ["o4", "unsafe"])
@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (rg.eye(5) @ g, g),
        (inv(G) @ G @ g, g),
        (inv(N) @ N @ v, v),
        (G @ rg.eye(5), G),
        (g @ rg.eye(5), g),
        (rg.eye(5) @ G @ rg.eye(5), G),
        (inv(G @ rg.eye(5)), inv(G)),
        (solve(rg.eye(5), g), g),
        (rg.constant(np.eye(5)) @ g, g),
        (rg.eye(5).T @ rg.eye(5) @ g, g),
        ((2.0 * rg.eye(5)) @ G, 2.0 * G),
        ((s * rg.eye(5)) @ G, s * G),
        (diag(rg.ones(50)) @ d, d),
        (wide @ diag(rg.ones(50)), wide),
        (diag(rg.ones(50)) @ d + wide @ diag(rg.ones(50)) @ d, d + wide @ d),
        (trace(rg.eye(5) @ G), trace(G)),
        (det(rg.eye(5)), rg.constant(1.0)),
    ],
    ids=str,
)
def test_identity_matrices_vanish(graph, expected, mode):
    assert rg.rewrite_graph(graph, mode=mode) is rg.rewrite_graph(expected, mode=mode)


def test_a_constant_diagonal_scales():
    values = np.arange(1.0, 51.0)
    for graph, expected in (
        (diag(rg.constant(values)) @ wide, lambda W, d: values[:, None] * W),
        (rg.constant(np.diag(values)) @ wide, lambda W, d: values[:, None] * W),
        (wide @ diag(rg.constant(values)), lambda W, d: W * values),
        (diag(rg.constant(values)) @ d, lambda W, d: values * d),
        (inv(diag(rg.constant(values))) @ d, lambda W, d: d / values),
        (diag(d) @ rg.constant(np.diag(values)) @ wide, lambda W, d: (d * values)[:, None] * W),
    ):
        result = rg.rewrite_graph(graph, mode="o4")
        nodes = rg.FunctionGraph([wide, d], [result])
        assert not [x for x in nodes if isinstance(x, rg.Constant) and x.value.size > 50]
        assert not [x for x in nodes if x.op is Matmul()]
        rng = np.random.default_rng(0)
        W, at = rng.normal(size=(50, 50)), rng.normal(size=50)
        done = evaluate((result,), {"W": W, "d": at})[result]
        np.testing.assert_allclose(done, expected(W, at), rtol=1e-13)


def test_a_product_of_diagonal_matrices_is_diagonal():
    result = rg.rewrite_graph(D @ E, mode="o4")
    assert rg.fact(result, "diagonal") is True
    assert rg.rewrite_graph(D @ E @ A, mode="o4") is rg.rewrite_graph(
        expand_dims(diagonal(D) * diagonal(E), -1) * A, mode="o4"
    )


def test_a_selector_is_not_the_identity():
    shifted = rg.eye(5, k=1)
    assert rg.fact(shifted, "identity") is not True
    assert rg.fact(rg.constant(np.diag([1.0, 1.0, 2.0])), "identity") is False
    assert rg.rewrite_graph(shifted @ g, mode="o4") is shifted @ g


@pytest.mark.parametrize(
    ("fact", "special"),
    [
        ("spd", lambda a, b: solve(a, b, assume="spd")),
        ("symmetric", lambda a, b: solve(a, b, assume="symmetric")),
        ("lower_triangular", lambda a, b: solve_triangular(a, b, lower=True)),
        ("upper_triangular", lambda a, b: solve_triangular(a, b, lower=False)),
    ],
)
def test_a_batch_of_small_systems_stays_one_call(fact, special):
    for count, n, splits in ((2, 3, False), (1, 3, True), (4, 300, True)):
        matrices = tensor(f"{fact}{n}", count, n, n, facts=(fact,))
        sides = tensor(f"sides{n}", count, n, 2)
        written = solve(matrices, sides)
        result = rg.rewrite_graph(written, mode="fast_run")
        assert result is (special(matrices, sides) if splits else written)
