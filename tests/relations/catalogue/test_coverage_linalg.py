"""Each rewrite of linear algebra that the field knows: one small graph, under the mode o4."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.ir.graph import free_inputs, toposort
from relgraph.ops.sorting import sort
from tests.relations.catalogue.table import structured

n = 3
A, B, C = rg.matrices("A B C", shape=(n, n))
x, y = rg.vectors("x y", shape=(n,))
p = rg.vector("p", shape=(n,), facts=("positive",))
X = rg.matrix("X", shape=(2 * n, 2))
D, E = rg.matrices("D E", shape=(n, n), facts=("diagonal",))
S = rg.matrix("S", shape=(n, n), facts=("symmetric",))
P = rg.matrix("P", shape=(n, n), facts=("spd",))
R = rg.matrix("R", shape=(n, n), facts=("spd",))
Q = rg.matrix("Q", shape=(n, n), facts=("orthogonal",))
L = rg.matrix("L", shape=(n, n), facts=("lower_triangular",))
U = rg.matrix("U", shape=(n, n), facts=("upper_triangular",))
M = rg.matrix("M", shape=(n, n), facts=("permutation",))
K = rg.matrix("K", shape=(2, n), facts=("selection",))
one = rg.matrix("one", shape=(1, 1))
row, column = rg.matrix("row", shape=(1, n)), rg.matrix("column", shape=(n, 1))
batch = rg.tensor("batch", shape=(2, n, n))
zeros = rg.constant(np.zeros((n, n)))
unit = rg.eye(n)
chol = rg.cholesky(P)
d, e = rg.diagonal(D), rg.diagonal(E)

# The row of the catalogue; the graph; what it becomes; ops that must be gone.
ROWS = [
    ("local_0_dot_x", zeros @ A, None, {"matmul"}),
    ("local_lift_transpose_through_dot", A.mT @ B.mT, (B @ A).mT, set()),
    ("local_dot_to_mul", column @ row, column * row, {"matmul"}),
    (
        "local_block_diag_dot_to_dot_block_diag",
        rg.block_diag(A, B) @ X,
        None,
        {"block_diag"},
    ),
    ("dot_diag_to_elemwise", rg.diag(x) @ A, rg.expand_dims(x, -1) * A, {"matmul", "diag"}),
    ("inv_of_inv", rg.inv(rg.inv(A)), A, {"inv"}),
    ("transpose_of_inv", rg.inv(A.mT), rg.inv(A).mT, set()),
    ("inv_of_orthogonal_to_transpose", rg.inv(Q), Q.mT, {"inv"}),
    ("inv_of_diag_to_diag_reciprocal", rg.inv(rg.diag(x)), None, {"inv", "diagonal"}),
    ("inv_to_solve", rg.inv(A) @ x, rg.solve(A, x), {"inv"}),
    ("solve_of_inv_to_matmul", rg.solve(rg.inv(A), x), A @ x, {"inv", "solve"}),
    (
        "lift_linalg_of_expanded_matrices",
        rg.inv(rg.kron(A, B)),
        rg.kron(rg.inv(A), rg.inv(B)),
        set(),
    ),
    (
        "lift_linalg_of_expanded_matrices (blocks)",
        rg.cholesky(rg.block_diag(P, R)),
        rg.block_diag(rg.cholesky(P), rg.cholesky(R)),
        set(),
    ),
    ("orthogonal_dot_transpose_to_eye", Q @ Q.mT, unit, {"matmul"}),
    ("useless_symmetric_transpose", S.mT, S, {"matrix_transpose"}),
    ("selection_dot_to_indexing", K @ A, None, {"matmul"}),
    ("selection_dot_to_indexing (rows of I)", unit[[2, 0]] @ A, A[[2, 0]], {"matmul", "eye"}),
    ("cholesky_ldotlt", rg.cholesky(chol @ chol.mT), chol, {"matmul"}),
    ("cholesky_of_diag", rg.cholesky(rg.diag(p)), rg.diag(rg.sqrt(p)), {"cholesky"}),
    ("eigh_of_diag", rg.eigh(D)[0], sort(d), {"eigh"}),
    ("eigh_of_diag (vectors)", rg.eigh(D)[1], None, {"eigh"}),
    ("eigvalsh_of_diag", rg.eigvalsh(D), sort(d), {"eigvalsh"}),
    ("svd_of_diag", rg.svd(D)[1], None, {"svd"}),
    ("lu_of_diag", rg.lu(D)[2], D, {"lu"}),
    ("lu_of_diag (rows)", rg.lu(D)[0], unit, {"lu"}),
    ("lu_factor_of_diag", rg.lu_factor(D)[0], D, {"lu_factor"}),
    ("qr_of_diag", rg.qr(D)[1], D, {"qr"}),
    ("schur_of_diag", rg.schur(D)[0], D, {"schur"}),
    ("qz_of_diag", rg.qz(D, E)[1], rg.diag(rg.absolute(e)), {"qz"}),
    ("expm_of_diag", rg.expm(D), rg.diag(rg.exp(d)), {"expm"}),
    ("kron_of_diagonal_to_diagonal", rg.kron(rg.diag(x), rg.diag(y)), None, {"kron"}),
    (
        "fuse_blockdiagonal",
        rg.block_diag(rg.block_diag(A, B), C),
        rg.block_diag(A, B, C),
        set(),
    ),
    (
        "diag_of_blockdiag",
        rg.diagonal(rg.block_diag(A, B)),
        rg.concatenate([rg.diagonal(A), rg.diagonal(B)]),
        {"block_diag"},
    ),
    ("det_of_blockdiag", rg.det(rg.block_diag(A, B, C)), None, {"block_diag"}),
    ("diag_of_kronecker", rg.diagonal(rg.kron(A, B)), None, {"kron"}),
    ("det_of_kronecker", rg.det(rg.kron(A, B)), None, {"kron"}),
    ("det_of_triangular", rg.det(L), None, {"det"}),
    ("det_of_inv", rg.det(rg.inv(A)), 1 / rg.det(A), {"inv"}),
    ("det_of_permutation", rg.det(M), None, {"det"}),
    ("det_of_factorized_matrix", rg.det(chol), None, {"det"}),
    ("det_of_factorized_matrix (lu)", rg.det(rg.lu(A)[2]), None, {"det"}),
    ("generic_solve_to_solve_triangular", rg.solve(chol, x), None, {"solve"}),
    ("generic_solve_to_structured_form", rg.solve(U, x), None, {"solve"}),
    ("psd_solve_to_chol_solve", rg.solve(P, x), rg.solve(P, x, assume="spd"), set()),
    (
        "paired_triangular_solves_to_cho_solve",
        rg.solve_triangular(chol, rg.solve_triangular(chol, x, lower=True), lower=True, trans=1),
        rg.cho_solve((chol, True), x),
        {"solve_triangular"},
    ),
    ("scalar_solve_to_division", rg.solve(one, row), None, {"solve"}),
    ("diagonal_solve_to_division", rg.solve(rg.diag(x), y), y / x, {"solve", "diag"}),
    (
        "block_diag_solve_to_block_diag_solves",
        rg.solve(rg.block_diag(A, B), X),
        None,
        {"block_diag"},
    ),
    ("orthogonal_solve_to_transpose_matmul", rg.solve(Q, x), Q.mT @ x, {"solve"}),
    ("solve_sylvester_of_diag", rg.solve_sylvester(D, E, A), None, {"solve_sylvester"}),
    # Beyond the field's catalogue.
    ("det(A.T)", rg.det(A.mT), rg.det(A), set()),
    ("inv(A) @ A", rg.inv(A) @ A, unit, {"inv", "matmul"}),
    ("inv(A) @ inv(B)", rg.inv(A) @ rg.inv(B), rg.inv(B @ A), set()),
    ("(2 A) @ B", (2 * A) @ B, 2 * (A @ B), set()),
    ("trace(A @ B)", rg.trace(A @ B), rg.sum(A * B.mT), {"matmul", "trace"}),
    ("sum(A @ B)", rg.sum(A @ B), None, set()),
    ("diag(A @ B)", rg.diagonal(A @ B), rg.sum(A * B.mT, -1), {"matmul", "diagonal"}),
    ("mixed product", rg.kron(A, B) @ rg.kron(B, C), rg.kron(A @ B, B @ C), set()),
    ("vec trick", rg.kron(A, B) @ rg.ravel(C), None, {"kron"}),
    ("logdet through Cholesky", rg.slogdet(P)[1], None, {"slogdet"}),
    ("sign of an SPD determinant", rg.slogdet(P)[0], None, {"slogdet"}),
    ("det(exp(A))", rg.det(rg.expm(A)), rg.exp(rg.trace(A)), {"det", "expm"}),
    ("chain order", A @ B @ x, A @ (B @ x), set()),
    ("sum of eigenvalues", rg.sum(rg.eigvalsh(S)), rg.trace(S), {"eigvalsh"}),
    ("factors put together", rg.qr(A)[0] @ rg.qr(A)[1], A, {"qr", "matmul"}),
]


def arguments(inputs):
    rng = np.random.default_rng(5)
    found = []
    for v in inputs:
        shape = v.type.shape
        value = rng.uniform(0.5, 1.5, shape)
        if "selection" in v.facts and "permutation" not in v.facts:
            value = np.eye(shape[1])[rng.integers(shape[1], size=shape[0])]
        elif "permutation" in v.facts:
            value = np.eye(shape[0])[[2, 1, 0]]
        elif "diagonal" in v.facts:
            value = np.diag([1.5, -0.5, 2.5])
        elif len(shape) == 2 and shape[0] == shape[1]:
            value = structured(v.facts, value + n * np.eye(shape[0]))
        found.append(value)
    return found


@pytest.mark.parametrize(("name", "graph", "expected", "gone"), ROWS, ids=[r[0] for r in ROWS])
def test_row(name, graph, expected, gone):
    result = rg.rewrite_graph(graph, mode="o4")
    assert result is not graph, f"{name}: nothing is rewritten"
    if expected is not None:
        assert result is rg.rewrite_graph(expected, mode="o4"), result
    ops = {v.op.name for v in toposort([result]) if v.op is not None}
    assert not ops & gone, f"{name}: {result}"
    inputs = free_inputs([graph])
    values = arguments(inputs)
    first = rg.function(inputs, graph, mode=None, target="numpy")(*values)
    second = rg.function(inputs, result, mode=None, target="numpy")(*values)
    np.testing.assert_allclose(second, first, rtol=1e-9, atol=1e-9)


@pytest.mark.shows("det_of_matrix_factorized_elsewhere")
def test_systems_share_a_factorisation():
    G = rg.matrix("G", shape=(100, 100))
    v, w = rg.vectors("v w", shape=(100,))
    graphs = [rg.solve(G, v), rg.solve(G, w), rg.det(G)]
    result = rg.rewrite_graph(graphs, mode="o4")
    ops = [v.op.name for v in toposort(result) if v.op is not None]
    assert ops.count("lu_factor") == 1 and not {"solve", "det"} & set(ops)
    kept = rg.rewrite_graph(graphs, mode=rg.mode("o4").excluding("reuse_factorisation"))
    assert "lu_factor" not in [v.op.name for v in toposort(kept) if v.op is not None]
    values = arguments([G, v, w])
    values[0] = values[0] + 100 * np.eye(100)  # well conditioned
    first = rg.function([G, v, w], graphs, mode=None, target="numpy")(*values)
    second = rg.function([G, v, w], result, mode=None, target="numpy")(*values)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


SEARCHED = ["woodburyo", "push_througho", "sherman_morrisono", "det_rank_oneo", "det_lemmao",
            "schur_complemento", "inv_blockso", "associate_matmulo", "cycle_traceo",
            "symmetric_quadratico", "gram_quadratico"]  # fmt: skip


def test_what_depends_on_sizes_is_for_search():
    from relgraph.relations.catalogue import linalg, products

    found = {r.name: r for r in (*linalg.RELATIONS, *products.RELATIONS)}
    for name in SEARCHED:
        assert "search" in found[name].tags and name not in str(rg.optdb)
