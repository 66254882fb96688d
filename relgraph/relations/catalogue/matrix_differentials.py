"""Differentials of products, inverses, systems and factorisations of matrices.

J. R. Magnus and H. Neudecker, Matrix Differential Calculus, 3rd ed., is cited as MN, and
M. B. Giles, Collected matrix derivative results for forward and reverse mode algorithmic
differentiation, 2008, as Giles.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from relgraph.ir.op import GetItem
from relgraph.ops import elementwise
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.contraction import Outer
from relgraph.ops.differentials import d
from relgraph.ops.linalg.blas import Gemm, Gemv, Ger, Syrk
from relgraph.ops.linalg.blocks import BlockDiag, Kron
from relgraph.ops.linalg.factored_solve import ChoSolve, LUSolve, SolveSylvester
from relgraph.ops.linalg.factorisations import (
    LU,
    QR,
    SVD,
    Eigh,
    Eigvalsh,
    Expm,
    ExpmFrechet,
    LUFactor,
)
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular
from relgraph.ops.linalg.structured import Diagonal, Tril, Triu
from relgraph.ops.linalg.structured_matmul import TriangularMatmul, TridiagonalMatmul
from relgraph.ops.permutation import matrix_transpose as T
from relgraph.ops.reductions import Sum
from relgraph.ops.shape import ExpandDims
from relgraph.ops.sparse import SparseMatmul, is_sparse
from relgraph.relations.catalogue import relations_in
from relgraph.relations.differentiation import differential
from relgraph.relations.kanren.goals import calco, checko

where = elementwise.where
kron, block_diag = Kron(), BlockDiag()
inv, det, slogdet, second = Inv(), Det(), Slogdet(), GetItem(1)


@differential
def d_matmulo(A, B):
    """d(A B) = d(A) B + A d(B).

    Source: MN, chapter 8.
    """
    return d(A @ B), d(A) @ B + A @ d(B)


@differential
def d_invo(A):
    """d(inv(A)) = -inv(A) d(A) inv(A).

    Source: MN, chapter 8.
    """
    return d(inv(A)), -(inv(A) @ d(A) @ inv(A))


@differential
def d_logdeto(A):
    """d(log |det(A)|) = sum(inv(A).T * d(A)).

    Source: MN, chapter 8.
    """
    return d(second(slogdet(A))), Sum((-2, -1), False)(T(inv(A)) * d(A))


@differential
def d_solveo(s, A, b):
    """d(solve(A, b)) = solve(A, d(b) - d(A) solve(A, b)).

    Source: Giles, section 2.
    """
    x = Solve(s)(A, b)
    return d(x), Solve(s)(A, d(b) - d(A) @ x)


def half_lower(x: Any) -> Any:
    """Return the lower triangle, and half the diagonal."""
    half = 0.5 * x
    return Tril(0)(half + Tril(-1)(half))


@differential
def d_choleskyo(A):
    """d(L) = L F(inv(L) d(A) inv(L).T), F taking the lower triangle and half the diagonal.

    A and d(A) are symmetric, and the upper factor is L.T.
    Source: I. Murray, Differentiation of the Cholesky decomposition, 2016.
    """
    L, U = Cholesky(True)(A), Cholesky(False)(A)
    for factor, lower in ((L, L), (U, T(U))):
        down = SolveTriangular(True, 0, False)
        dL = lower @ half_lower(down(lower, T(down(lower, symmetric_part(d(A))))))
        yield d(factor), dL if factor is L else T(dL)


@differential
def d_deto(A):
    """d(det(A)) = det(A) sum(inv(A).T * d(A)).

    Source: MN, chapter 8.
    """
    inverse = T(inv(A))
    return d(det(A)), det(A) * Sum((-2, -1), False)(inverse * d(A))


def triangle(x: Any, lower: bool, unit: bool) -> Any:
    """Return the triangle that a system reads, without a diagonal that it takes for ones."""
    return Tril(-1 if unit else 0)(x) if lower else Triu(1 if unit else 0)(x)


@differential
def d_solve_triangularo(A, b):
    """d(solve(A, b)) = solve(A, d(b) - d(A) solve(A, b)), where A is a triangle, or its transpose.

    Source: Giles, section 2.
    """
    for lower, trans, unit in product((True, False), (0, 1), (True, False)):
        solve = SolveTriangular(lower, trans, unit)
        dA = triangle(d(A), lower, unit)
        yield (
            d(solve(A, b)),
            solve(A, d(b) - (T(dA) if trans else dA) @ solve(A, b)),
        )


def gaps(w: Any) -> Any:
    """Return 1 / (w_j - w_i), or 0 where w_i = w_j."""
    gap = ExpandDims((-2,))(w) - ExpandDims((-1,))(w)
    same = elementwise.equal(gap, 0.0)
    return where(same, 0.0, 1.0 / where(same, 1.0, gap))


def symmetric_part(x: Any) -> Any:
    """Return the mean of a matrix and its transpose."""
    return 0.5 * (x + T(x))


@differential
def d_eigho(A, k):
    """d(w) = diagonal(V.T d(A) V), and d(V) = V (F * (V.T d(A) V)), F being 1 / (w_j - w_i).

    A is symmetric.  For vectors of equal eigenvalues, which have no differential, F is 0.
    Source: MN, chapter 8; Giles, section 3.
    """
    w, V = GetItem(0)(Eigh(k)(A)), GetItem(1)(Eigh(k)(A))
    rotated = T(V) @ symmetric_part(d(A)) @ V
    yield d(w), Diagonal(0)(rotated)
    yield d(V), V @ (gaps(w) * rotated)
    yield d(Eigvalsh(k)(A)), Diagonal(0)(rotated)


def kron_differential(A: Any, B: Any, dA: Any, dB: Any) -> Any:
    """Return kron(d(A), B) + kron(A, d(B))."""
    return kron(dA, B) + kron(A, dB)


@differential
def d_krono(A, B, x):
    """d(kron(A, B)) = kron(d(A), B) + kron(A, d(B)), and block_diag is linear in both.

    Source: MN, chapter 9.
    """
    yield d(kron(A, B)), x, calco(x, kron_differential, A, B, d(A), d(B))
    yield d(block_diag(A, B)), block_diag(d(A), d(B))


@differential
def d_svdo(A, f):
    """d(s) = diagonal(U.T d(A) V); d(U) and d(V) hold for thin factors, and for square matrices.

    Source: J. Townsend, Differentiating the singular value decomposition, 2016.
    """
    U, s, Vh = [GetItem(i)(SVD(f)(A)) for i in range(3)]
    V = T(Vh)
    P = T(U) @ d(A) @ V
    thin = checko(has_thin_factors, f, A, label="thin factors, or a square matrix")
    yield d(s), Diagonal(0)(thin_product(A))
    yield d(U), left_vectors(d(A), U, s, V, P), thin
    yield d(Vh), T(left_vectors(T(d(A)), V, s, U, T(P))), thin


def thin_product(A: Any) -> Any:
    """Return U.T d(A) V for thin factors, also where the graph has full ones."""
    U, Vh = GetItem(0)(SVD(False)(A)), GetItem(2)(SVD(False)(A))
    return T(U) @ d(A) @ T(Vh)


def has_thin_factors(full: bool, A: Any) -> bool:
    """Return True if a decomposition has thin factors, or a square matrix."""
    m, n = A.type.shape[-2:]
    return not full or (m == n and m is not None)


def left_vectors(dA: Any, U: Any, s: Any, V: Any, P: Any) -> Any:
    """Return d(U) = U (F * (P s + s P.T)) + (I - U U.T) d(A) V / s."""
    row = ExpandDims((-2,))(s)
    F = gaps(s) / (row + ExpandDims((-1,))(s))
    scaled = P * row
    rest = dA @ V / row
    return U @ (F * (scaled + T(scaled))) + (rest - U @ (T(U) @ rest))


@differential
def d_qro(A, mode):
    """d(R) = B R and d(Q) = X - Q B, X = d(A) inv(R) and B the upper triangle of M - M.T.

    M is Q.T X.  The matrix has at least as many rows as columns, and Q as many columns as it.
    Source: S. F. Walter and L. Lehmann, Algorithmic differentiation of linear algebra functions,
    2010.
    """
    Q, R = GetItem(0)(QR(mode)(A)), GetItem(1)(QR(mode)(A))
    X = T(SolveTriangular(False, 1, False)(R, T(d(A))))
    M = T(Q) @ X
    B = M - (Tril(-1)(M) - T(Tril(-1)(M)))
    tall = checko(is_tall, mode, A, label="square, or reduced with more rows than columns")
    yield d(Q), X - Q @ B, tall
    yield d(R), B @ R, tall


def is_tall(mode: str, A: Any) -> bool:
    """Return True if R is square, as far as sizes are known."""
    m, n = A.type.shape[-2:]
    if mode != "reduced":
        return m == n and m is not None
    return not (isinstance(m, int) and isinstance(n, int)) or m >= n


@differential
def d_cho_solveo(L, b):
    """d(x) = x' - solve(A, d(A) x) for x = solve(A, b), A = L L.T or U.T U.

    Source: Giles, section 2.
    """
    for lower in (True, False):
        solve = ChoSolve(lower)
        x, one = solve(L, b), (Tril if lower else Triu)(0)
        factor, dF = one(L), one(d(L))
        if lower:
            dA_x = dF @ (T(factor) @ x) + factor @ (T(dF) @ x)
        else:
            dA_x = T(dF) @ (factor @ x) + T(factor) @ (dF @ x)
        yield d(x), solve(L, d(b) - dA_x)


@differential
def d_lu_factoro(A, p):
    """d(L) = L tril(M) and d(U) = triu(M) U, M = inv(L) P.T d(A) inv(U); P is constant.

    The lower triangle of M is taken without the diagonal.  lu_factor has both factors in one
    matrix, of which ``U inv(A) = inv(L) P.T`` needs no more.
    Source: F. R. de Hoog, R. S. Anderssen and M. A. Lukas, Differentiation of matrix functionals
    using triangular factorization, 2011.
    """
    F = GetItem(0)(LUFactor()(A))
    U = Triu(0)(F)
    M = over_upper(F, U @ LUSolve(0)(F, p, d(A)))
    yield d(F), unit_lower(F) @ Tril(-1)(M) + Triu(0)(M) @ U, calco(p, pivots_of, A)
    P, L, U = [GetItem(i)(LU()(A)) for i in range(3)]
    M = over_upper(U, SolveTriangular(True, 0, True)(L, T(P) @ d(A)))
    yield d(L), L @ Tril(-1)(M)
    yield d(U), Triu(0)(M) @ U
    yield d(P), 0.0 * d(A)


def pivots_of(A: Any) -> Any:
    """Return the row interchanges of a factorisation."""
    return GetItem(1)(LUFactor()(A))


def over_upper(U: Any, X: Any) -> Any:
    """Return X inv(U), where U is the upper triangle of a matrix."""
    return T(SolveTriangular(False, 1, False)(U, T(X)))


def unit_lower(F: Any) -> Any:
    """Return the lower factor, with the ones on its diagonal that LU factors leave out."""
    return Tril(-1)(F) + Triu(0)(Tril(0)(0.0 * F + 1.0))


@differential
def d_lu_solveo(F, p, b, x):
    """d(x) = inv(A) (d(b) - d(A) x), where P.T d(A) = d(L) U + L d(U), and for A.T likewise.

    Source: Giles, section 2.
    """
    yield d(LUSolve(0)(F, p, b)), x, calco(x, solution_by_lu, F, p, b, d(F), d(b))
    yield d(LUSolve(1)(F, p, b)), x, calco(x, solution_of_transpose, F, p, b, d(F), d(b))


def solution_by_lu(F: Any, p: Any, b: Any, dF: Any, db: Any) -> Any:
    """Return the differential of the solution of A x = b from those of the factors and of b."""
    L, U, dL, dU = unit_lower(F), Triu(0)(F), Tril(-1)(dF), Triu(0)(dF)
    x = LUSolve(0)(F, p, b)
    moved = SolveTriangular(True, 0, True)(F, dL @ (U @ x) + L @ (dU @ x))
    return LUSolve(0)(F, p, db) - SolveTriangular(False, 0, False)(F, moved)


def solution_of_transpose(F: Any, p: Any, b: Any, dF: Any, db: Any) -> Any:
    """Return the differential of the solution of A.T x = b from those of the factors and of b."""
    L, U, dL, dU = unit_lower(F), Triu(0)(F), Tril(-1)(dF), Triu(0)(dF)
    x = SolveTriangular(True, 1, True)(F, SolveTriangular(False, 1, False)(F, b))  # P.T x
    return LUSolve(1)(F, p, db - (T(dU) @ (T(L) @ x) + T(U) @ (T(dL) @ x)))


@differential
def d_sylvestero(A, B, q):
    """d(X) solves A d(X) + d(X) B = d(q) - d(A) X - X d(B).

    Source: the equation A X + X B = q, differentiated.
    """
    X = SolveSylvester()(A, B, q)
    return d(X), SolveSylvester()(A, B, d(q) - d(A) @ X - X @ d(B))


@differential
def d_expmo(A, e, x):
    """d(expm(A)) is the derivative along d(A), a block of expm([[A, d(A)], [0, A]]).

    Source: A. H. Al-Mohy and N. J. Higham, Computing the Frechet derivative of the matrix
    exponential, 2009; R. Mathias, A chain rule for matrix functions, 1996.
    """
    yield d(Expm()(A)), ExpmFrechet()(A, d(A))
    yield d(ExpmFrechet()(A, e)), d(x), calco(x, exponential_block, A, e)


def exponential_block(A: Any, e: Any) -> Any:
    """Return the derivative of expm at A along e, as a block of an exponential."""
    n = A.shape[-1]
    rows = Concatenate(-1)(A, e), Concatenate(-1)(0.0 * A, A)
    return Expm()(Concatenate(-2)(*rows))[..., :n, n:]


@differential
def d_structured_matmulo(A, B, w, s):
    """A product of a triangular or a tridiagonal matrix has the differential of a product."""
    yield d(TriangularMatmul(w, s)(A, B)), d(A @ B)
    yield d(TridiagonalMatmul(s)(A, B)), d(A @ B)


@differential
def d_blaso(C, a, A, B, x, y, b):
    """A product times a number, added to an array, has the differential of this formula."""
    yield d(Gemm()(C, a, A, B, b)), d(b * C + a * (A @ B))
    yield d(Gemv()(y, a, A, x, b)), d(b * y + a * (A @ x))
    yield d(Ger()(C, a, x, y)), d(C + a * Outer()(x, y))
    yield d(Syrk()(C, a, A, b)), d(b * C + a * (A @ T(A)))


@differential
def d_sparse_matmulo(S, x):
    """d(S x) = S d(x) and d(x S) = d(x) S for a sparse matrix S, which is constant."""
    sparse, product = checko(is_sparse, S, label="S is sparse"), SparseMatmul()
    yield d(product(S, x)), product(S, d(x)), sparse
    yield d(product(x, S)), product(d(x), S), sparse


RELATIONS = relations_in(globals())
