"""Structured matrices, blocks, low-rank updates and factorisations: one row each."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.checking.matching import canonical
from relgraph.ir.node import constant
from relgraph.ops.linalg.factored_solve import PermutationSign
from relgraph.ops.reductions import Prod, Sum
from relgraph.ops.shape import Reshape
from relgraph.ops.sorting import argsort, sort
from relgraph.relations.catalogue import blocks as b
from relgraph.relations.catalogue import decompositions as f
from relgraph.relations.catalogue import linalg as r
from relgraph.relations.catalogue import products as p
from relgraph.relations.catalogue import structure as st
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.selection import selection_of
from tests.relations.catalogue.table import (
    A,
    B,
    C,
    Row,
    assert_equal_values,
    check,
    covers_theme,
    rewritten,
    s,
    tensor,
    x,
    y,
)

square, E = tensor("F", 3, 3), tensor("E", 3, 3, facts=("diagonal",))
D = tensor("D", 3, 3, facts=("diagonal",))
G = tensor("G", 3, 3, facts=("diagonal", "spd"))
S = tensor("S", 3, 3, facts=("symmetric",))
P, R = tensor("P", 3, 3, facts=("spd",)), tensor("R", 3, 3, facts=("spd",))
Q = tensor("Q", 3, 3, facts=("orthogonal",))
L = tensor("L", 3, 3, facts=("lower_triangular",))
M = tensor("M", 3, 3, facts=("permutation",))
V = tensor("V", 3, 3, facts=("invertible",))
W = tensor("W", 3, 3, facts=("invertible",))
batch = tensor("batch", 2, 3, 3)
t = tensor("t", facts=("nonzero",))
zeros = constant(np.zeros((3, 3)))
unit = rg.eye(3)
inv, det, solve, outer = rg.inv, rg.det, rg.solve, rg.outer
kron, blocks, diag, diagonal = rg.kron, rg.block_diag, rg.diag, rg.diagonal
first, second = lambda a: rg.slogdet(a)[0], lambda a: rg.slogdet(a)[1]
outer = rg.numpy.outer
d, e = diagonal(D), diagonal(E)
chol = rg.cholesky(S)


def product(a):
    return Prod((-1,), False)(a)


def total(a):
    return Sum((-1,), False)(a)


def vec(a):
    return Reshape((-1,))(a)


# Products, traces, inverses and determinants.
RANK = [
    Row(p.lift_negative_matmulo, (-A) @ B, -(A @ B), A @ B),
    Row(p.lift_divide_matmulo, (A / s) @ B, (A @ B) / s, (A / x) @ B),
    Row(p.annihilate_matmulo, zeros @ A, rg.broadcast_to(0.0, (3, 3)), unit @ A),
    Row(p.associate_outer_vectoro, outer(x, y) @ x, x * (y @ x), outer(x, y) @ A),
    Row(p.associate_vector_outero, x @ outer(x, y), (x @ x) * y, A @ outer(x, y)),
    Row(p.associate_outer_matrixo, outer(x, y) @ A, outer(x, y @ A), outer(x, y) @ x),
    Row(p.transpose_outero, outer(x, y).mT, outer(y, x), (x * A).mT),
    Row(p.trace_outero, rg.trace(outer(x, y)), x @ y, rg.trace(A)),
    Row(p.diagonal_outero, diagonal(outer(x, y)), x * y, diagonal(outer(x, y), 1)),
    Row(p.sum_outero, rg.sum(outer(x, y)), rg.sum(x) * rg.sum(y), rg.sum(outer(x, y), 0)),
    Row(p.sum_outer_axiso, rg.sum(outer(x, y), -1), x * rg.sum(y), rg.sum(outer(x, y))),
    Row(p.sum_outer_axiso, rg.sum(outer(x, y), -2), rg.sum(x) * y, rg.sum(A, -2)),
    Row(p.distribute_trace_addo, rg.trace(A + B), rg.trace(A) + rg.trace(B), rg.trace(A + x)),
    Row(p.distribute_trace_subtracto, rg.trace(A - B), rg.trace(A) - rg.trace(B), rg.trace(A - x)),
    Row(p.lift_trace_multiplyo, rg.trace(s * A), s * rg.trace(A), rg.trace(x * A)),
    Row(p.associate_matmulo, (A @ B) @ C, A @ (B @ C), A @ B),
    Row(p.gram_quadratico, (A @ x) @ (A @ x), x @ (A.mT @ A) @ x, (A @ x) @ (A @ y)),
    Row(r.transpose_invo, inv(A.mT), inv(A).mT, inv(A)),
    Row(r.lift_inv_multiplyo, inv(t * A), inv(A) / t, inv(s * A)),
    Row(r.lift_inv_negativeo, inv(-A), -inv(A), inv(A)),
    Row(p.cancel_matmul_invo, inv(A) @ A, unit, inv(A) @ B),
    Row(p.cancel_matmul_solveo, solve(A, A @ x), x, solve(A, B @ x)),
    Row(
        p.cancel_matmul_solve_triangularo,
        L.mT @ rg.solve_triangular(L, x, lower=True, trans=1),
        x,
        L @ rg.solve_triangular(L, x, lower=True, trans=1),
    ),
    Row(r.solve_inv_righto, B @ inv(A), solve(A.mT, B.mT).mT, x @ inv(A)),
    Row(r.solve_inv_vectoro, x @ inv(A), solve(A.mT, x), B @ inv(A)),
    Row(
        r.distribute_solve_addo.reversed,
        solve(A, x) + solve(A, y),
        solve(A, x + y),
        solve(A, x) + solve(B, y),
    ),
    Row(
        r.distribute_solve_subtracto.reversed,
        solve(A, x) - solve(A, y),
        solve(A, x - y),
        solve(A, x) - solve(B, y),
    ),
    Row(r.lift_solve_multiplyo, solve(A, s * x), s * solve(A, x), solve(A, x * y)),
    Row(r.lift_solve_scaledo, solve(t * A, x), solve(A, x) / t, solve(s * A, x)),
    Row(r.lift_det_multiplyo, det(s * A), rg.power(s, constant(3.0)) * det(A), det(x * A)),
    Row(r.sign_transposeo, first(A.mT), first(A), first(A)),
    Row(r.logdet_transposeo, second(A.mT), second(A), second(A)),
    Row(r.sign_invo, first(inv(A)), first(A), first(A)),
    Row(r.logdet_invo, second(inv(A)), -second(A), second(A)),
    Row(r.sign_matmulo, first(A @ B), first(A) * first(B), first(A * B)),
    Row(r.logdet_matmulo, second(A @ B), second(A) + second(B), second(A * B)),
    Row(
        r.push_througho,
        inv(V + A @ W @ B) @ A @ W,
        inv(V) @ A @ inv(inv(W) + B @ inv(V) @ A),
        inv(C + A @ W @ B) @ A @ W,
    ),
    Row(
        r.sherman_morrisono,
        inv(V + outer(x, y)),
        inv(V) - outer(inv(V) @ x, y @ inv(V)) / (1.0 + y @ inv(V) @ x),
        inv(A + outer(x, y)),
    ),
    Row(
        r.det_rank_oneo,
        det(V + outer(x, y)),
        (1.0 + y @ solve(V, x)) * det(V),
        det(A + outer(x, y)),
    ),
]
whole = rg.concatenate([rg.concatenate([V, A], -1), rg.concatenate([B, square], -1)], -2)
other = rg.concatenate([rg.concatenate([C, A], -1), rg.concatenate([B, square], -1)], -2)
F, H = inv(V) @ A, B @ inv(V)
T = inv(square - B @ F)
RANK += [
    Row(r.schur_complemento, det(whole), det(V) * det(square - B @ solve(V, A)), det(other)),
    Row(
        r.inv_blockso,
        inv(whole),
        rg.concatenate(
            [
                rg.concatenate([inv(V) + F @ T @ H, -(F @ T)], -1),
                rg.concatenate([-(T @ H), T], -1),
            ],
            -2,
        ),
        inv(other),
    ),
]

# These grow, so that they are applied once.
ONCE = [
    Row(
        r.woodburyo,
        inv(V + A @ W @ B),
        inv(V) - inv(V) @ A @ inv(inv(W) + B @ inv(V) @ A) @ B @ inv(V),
        inv(C + A @ W @ B),
    ),
    Row(p.symmetric_quadratico, x @ A @ x, x @ ((A + A.mT) / 2.0) @ x, x @ A @ y),
    Row(r.det_lemmao, det(V + A @ B), det(unit + B @ solve(V, A)) * det(V), det(C + A @ B)),
]

STRUCTURE = [
    Row(st.merge_triangleo, rg.tril(rg.tril(A, 1), -1), rg.tril(A, -1), rg.tril(rg.triu(A))),
    Row(
        st.triangle_of_producto,
        rg.tril(L.mT @ rg.tril(A), -1),
        rg.tril(L.mT @ A, -1),
        rg.tril(L.mT @ rg.tril(A, -1)),
    ),
    Row(
        st.triangle_of_product_with_diagonalo,
        rg.tril(L.mT @ (rg.diag(x / rg.diagonal(L)) + A)),
        rg.diag(x) + rg.tril(L.mT @ A),
        rg.tril(L @ (rg.diag(x / rg.diagonal(L)) + A)),
    ),
    Row(st.merge_triangleo, rg.triu(rg.triu(A, 1), -1), rg.triu(A, 1), rg.triu(rg.tril(A))),
    Row(st.cancel_diagonal_diago, diagonal(diag(x)), x, diagonal(A)),
    Row(st.trace_diago, rg.trace(diag(x)), rg.sum(x), rg.trace(A)),
    Row(st.inv_diagonalo, inv(D), diag(1.0 / d), inv(L)),
    Row(st.solve_diagonal_vectoro, solve(D, x), x / d, solve(L, x)),
    Row(st.solve_diagonal_matrixo, solve(D, A), A / rg.expand_dims(d, -1), solve(L, A)),
    Row(st.det_triangularo, det(L), product(diagonal(L)), det(A)),
    Row(st.sign_triangularo, first(L), product(rg.sign(diagonal(L))), first(A)),
    Row(st.logdet_triangularo, second(L), total(rg.log(rg.absolute(diagonal(L)))), second(A)),
    Row(st.det_spdo, det(P), rg.square(product(diagonal(rg.cholesky(P)))), det(S)),
    Row(st.logdet_spdo, second(P), 2.0 * total(rg.log(diagonal(rg.cholesky(P)))), second(S)),
    Row(st.sign_spdo, first(P), constant(1.0), first(S)),
    Row(st.cholesky_diagonalo, rg.cholesky(G), diag(rg.sqrt(diagonal(G))), rg.cholesky(D)),
    Row(st.cancel_choleskyo, rg.cholesky(P) @ rg.cholesky(P).mT, P, rg.cholesky(A) @ A.mT),
    Row(
        st.pair_triangular_solveso,
        rg.solve_triangular(A, rg.solve_triangular(A, x, lower=True), lower=True, trans=1),
        rg.cho_solve((A, True), x),
        rg.solve_triangular(A, rg.solve_triangular(B, x, lower=True), lower=True, trans=1),
    ),
    Row(st.solve_orthogonalo, solve(Q, x), Q.mT @ x, solve(A, x)),
    Row(st.cancel_orthogonalo, Q @ Q.mT, unit, A @ A.mT),
    Row(st.cancel_orthogonal_producto, Q.mT @ (Q @ x), x, A.mT @ (A @ x)),
    Row(st.logdet_orthogonalo, second(Q), constant(0.0), second(A)),
    Row(st.det_permutationo, det(M), PermutationSign()(rg.argmax(M, -1)), det(Q)),
    Row(st.select_rowso, M @ A, A[rg.argmax(M, -1)], Q @ A),
    Row(st.select_columnso, A @ M, A[:, rg.argmax(M, -2)], A @ Q),
]

kd = kron(A, B)
BLOCKS = [
    Row(b.transpose_krono.reversed, kron(A.mT, B.mT), kd.mT, kron(A.mT, B)),
    Row(b.multiply_krono, kron(A, B) @ kron(C, square), kron(A @ C, B @ square), kd @ kd.mT),
    Row(b.distribute_krono.reversed, kron(A, B) + kron(A, C), kron(A, B + C), kd + kron(B, C)),
    Row(b.distribute_kron_lefto.reversed, kron(A, C) + kron(B, C), kron(A + B, C), kd + kron(C, A)),
    Row(b.inv_krono, inv(kd), kron(inv(A), inv(B)), inv(A)),
    Row(b.cholesky_krono, rg.cholesky(kron(P, R)), kron(rg.cholesky(P), rg.cholesky(R)), kd),
    Row(
        b.det_krono, det(kd), rg.power(det(A), constant(3.0)) * rg.power(det(B), constant(3.0)),
        det(A),
    ),
    Row(b.logdet_krono, second(kd), constant(3.0) * second(A) + constant(3.0) * second(B), kd),
    Row(
        b.sign_krono, first(kd),
        rg.power(first(A), constant(3.0)) * rg.power(first(B), constant(3.0)), kd,
    ),
    Row(b.trace_krono, rg.trace(kd), rg.trace(A) * rg.trace(B), rg.trace(A)),
    Row(b.diagonal_krono, diagonal(kd), vec(outer(diagonal(A), diagonal(B))), diagonal(A)),
    Row(b.sum_krono, rg.sum(kd), rg.sum(A) * rg.sum(B), rg.sum(kd, 0)),
    Row(b.kron_diagonalo, kron(D, E), diag(vec(outer(d, e))), kron(D, A)),
    Row(b.fuse_block_diago, b.block_diag(blocks(A, B), C), blocks(A, B, C), blocks(A, B)),
    Row(b.transpose_block_diago.reversed, blocks(A.mT, B.mT), blocks(A, B).mT, blocks(A.mT, B)),
    Row(b.multiply_block_diago, blocks(A, B) @ blocks(B, C), blocks(A @ B, B @ C), kd @ kd),
    Row(b.add_block_diago, blocks(A, B) + blocks(B, C), blocks(A + B, B + C), kd + kd),
    Row(b.inv_block_diago, inv(blocks(A, B)), blocks(inv(A), inv(B)), inv(kd)),
    Row(
        b.cholesky_block_diago, rg.cholesky(blocks(P, R)),
        blocks(rg.cholesky(P), rg.cholesky(R)), rg.cholesky(blocks(A, B)),
    ),
    Row(b.det_block_diago, det(blocks(A, B)), det(A) * det(B), det(kd)),
    Row(b.logdet_block_diago, second(blocks(A, B)), second(A) + second(B), second(kd)),
    Row(b.sign_block_diago, first(blocks(A, B)), first(A) * first(B), first(kd)),
    Row(b.trace_block_diago, rg.trace(blocks(A, B)), rg.trace(A) + rg.trace(B), rg.trace(kd)),
    Row(
        b.diagonal_block_diago, diagonal(blocks(A, B)),
        rg.concatenate([diagonal(A), diagonal(B)], -1), diagonal(kd),
    ),
    Row(b.sum_block_diago, rg.sum(blocks(A, B)), rg.sum(A) + rg.sum(B), rg.sum(kd)),
    Row(b.expm_block_diago, rg.expm(blocks(A, B)), blocks(rg.expm(A), rg.expm(B)), rg.expm(kd)),
    Row(
        b.block_diag_diago, blocks(diag(x), diag(y)), diag(rg.concatenate([x, y], -1)),
        blocks(diag(x), A),
    ),
]  # fmt: skip

signs = rg.where(rg.less(e, 0), -1.0, 1.0)
FACTORS = [
    Row(f.eigvalsh_diagonalo, rg.eigvalsh(D), sort(d), rg.eigvalsh(A)),
    Row(f.eigh_diagonalo, rg.eigh(D)[1], unit[argsort(d)].mT, rg.eigh(A)[1]),
    Row(f.svd_diagonalo, rg.svd(D)[1], -sort(-rg.absolute(d)), rg.svd(A)[1]),
    Row(f.qr_diagonalo, rg.qr(D)[0], unit, rg.qr(A)[0]),
    Row(f.lu_diagonalo, rg.lu(D)[2], D, rg.lu(A)[2]),
    Row(
        f.lu_factor_diagonalo, rg.lu_factor(D)[1], constant(np.arange(3, dtype="int32")),
        rg.lu_factor(A)[1],
    ),
    Row(f.schur_diagonalo, rg.schur(D)[1], unit, rg.schur(A)[1]),
    Row(f.qz_diagonalo, rg.qz(D, E)[0], diag(d * signs), rg.qz(A, E)[0]),
    Row(f.expm_diagonalo, rg.expm(D), diag(rg.exp(d)), rg.expm(A)),
    Row(
        f.sylvester_diagonalo, rg.solve_sylvester(D, E, A), A / (rg.expand_dims(d, -1) + e),
        rg.solve_sylvester(D, B, A),
    ),
    Row(f.recompose_factorso, rg.qr(A)[0] @ rg.qr(A)[1], A, rg.qr(A)[0] @ rg.qr(B)[1]),
    Row(f.recompose_schuro, rg.schur(A)[1] @ (rg.schur(A)[0] @ rg.schur(A)[1].mT), A, A),
    Row(
        f.recompose_valueso, (rg.eigh(S)[1] * rg.eigh(S)[0]) @ rg.eigh(S)[1].mT, S,
        (rg.eigh(A)[1] * rg.eigh(A)[0]) @ rg.eigh(A)[1].mT,
    ),
    Row(f.sum_eigvalsho, rg.sum(rg.eigvalsh(S)), rg.trace(S), rg.sum(rg.eigvalsh(A))),
    Row(f.prod_eigvalsho, rg.prod(rg.eigvalsh(S)), det(S), rg.prod(rg.eigvalsh(A))),
    Row(
        f.sum_singular_squareo, rg.sum(rg.square(rg.svd(A)[1])), rg.sum(rg.square(A)),
        rg.sum(rg.svd(A)[1]),
    ),
    Row(f.det_expmo, det(rg.expm(A)), rg.exp(rg.trace(A)), det(rg.exp(A))),
    Row(f.inv_expmo, inv(rg.expm(A)), rg.expm(-A), inv(rg.exp(A))),
    Row(f.transpose_expmo, rg.expm(A.mT), rg.expm(A).mT, rg.exp(A.mT)),
]  # fmt: skip


@pytest.mark.parametrize("row", [*RANK, *STRUCTURE, *BLOCKS, *FACTORS], ids=str)
def test_row(row):
    check(row)


@pytest.mark.parametrize("row", ONCE, ids=str)
def test_what_grows_is_applied_once(row):
    (result,) = normalise([row.left], selection_of((row.relation,)), once=True)
    assert canonical(result) == canonical(row.right)
    assert normalise([row.miss], selection_of((row.relation,)), once=True) == (row.miss,)
    assert_equal_values(row.left, result)


def test_every_relation_has_a_row():
    assert not covers_theme([*BLOCKS, *FACTORS], (*b.RELATIONS, *f.RELATIONS))


def test_a_trace_of_a_product_is_cyclic():
    result = p.cycle_traceo.run(1, rg.trace(A @ B))
    assert result == (rg.trace(B @ A),)


def test_batches():
    assert rewritten(p.cancel_matmul_invo, inv(batch) @ batch).type is batch.type
    assert rewritten(st.det_triangularo, det(tensor("T", 2, 3, 3, facts=L.facts))).ndim == 1
