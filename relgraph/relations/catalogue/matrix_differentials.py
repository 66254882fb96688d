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
from relgraph.ops.differentials import d
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.linalg.blocks import BlockDiag, Kron
from relgraph.ops.linalg.factored_solve import ChoSolve
from relgraph.ops.linalg.factorisations import QR, SVD, Eigh, Eigvalsh
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular
from relgraph.ops.linalg.structured import Diagonal, Tril, Triu
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.reductions import Sum
from relgraph.ops.shape import ExpandDims
from relgraph.relations.catalogue import relations_in
from relgraph.relations.differentiation import differential
from relgraph.relations.kanren.goals import checko

clip, where = Elementwise("clip"), elementwise.where
maximum, minimum = elementwise.maximum, elementwise.minimum
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
    return d(second(slogdet(A))), Sum((-2, -1), False)(matrix_transpose(inv(A)) * d(A))


@differential
def d_solveo(s, A, b):
    """d(solve(A, b)) = solve(A, d(b) - d(A) solve(A, b)).

    Source: Giles, section 2.
    """
    x = Solve(s)(A, b)
    return d(x), Solve(s)(A, d(b) - d(A) @ x)


def half_lower(x: Any) -> Any:
    """Return the lower triangle, and half the diagonal."""
    return 0.5 * (Tril(0)(x) + Tril(-1)(x))


@differential
def d_choleskyo(A):
    """d(L) = L F(inv(L) d(A) inv(L).T), F taking the lower triangle and half the diagonal.

    d(A) is symmetric, as A is.
    Source: I. Murray, Differentiation of the Cholesky decomposition, 2016.
    """
    L = Cholesky(True)(A)
    down = SolveTriangular(True, 0, False)
    S = 0.5 * (d(A) + matrix_transpose(d(A)))
    return d(L), L @ half_lower(down(L, matrix_transpose(down(L, S))))


@differential
def d_deto(A):
    """d(det(A)) = det(A) sum(inv(A).T * d(A)).

    Source: MN, chapter 8.
    """
    inverse = matrix_transpose(inv(A))
    return d(det(A)), det(A) * Sum((-2, -1), False)(inverse * d(A))


def triangle(x: Any, lower: bool, unit: bool) -> Any:
    """Return the triangle that a system reads, without the diagonal if that is taken for ones."""
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
            solve(A, d(b) - (matrix_transpose(dA) if trans else dA) @ solve(A, b)),
        )


def gaps(w: Any) -> Any:
    """Return 1 / (w_j - w_i), and 0 where they are equal."""
    gap = ExpandDims((-2,))(w) - ExpandDims((-1,))(w)
    same = elementwise.equal(gap, 0.0)
    return where(same, 0.0, 1.0 / where(same, 1.0, gap))


def symmetric_part(x: Any) -> Any:
    """Return the mean of a matrix and its transpose."""
    return 0.5 * (x + matrix_transpose(x))


@differential
def d_eigho(A, k):
    """d(w) = diagonal(V.T d(A) V), and d(V) = V (F * (V.T d(A) V)), F being 1 / (w_j - w_i).

    A is symmetric.  Vectors of equal eigenvalues have no differential; theirs is taken for 0.
    Source: MN, chapter 8; Giles, section 3.
    """
    w, V = GetItem(0)(Eigh(k)(A)), GetItem(1)(Eigh(k)(A))
    turned = matrix_transpose(V) @ symmetric_part(d(A)) @ V
    yield d(w), Diagonal(0)(turned)
    yield d(V), V @ (gaps(w) * turned)
    yield d(Eigvalsh(k)(A)), Diagonal(0)(turned)


@differential
def d_krono(A, B):
    """d(kron(A, B)) = kron(d(A), B) + kron(A, d(B)), and block_diag is linear in both.

    Source: MN, chapter 9.
    """
    yield d(kron(A, B)), kron(d(A), B) + kron(A, d(B))
    yield d(block_diag(A, B)), block_diag(d(A), d(B))


@differential
def d_svdo(A, f):
    """d(s) = diagonal(U.T d(A) V), and those of U and V, for the thin decomposition.

    Source: J. Townsend, Differentiating the singular value decomposition, 2016.
    """
    thin = [GetItem(i)(SVD(False)(A)) for i in range(3)]
    U, s, V = thin[0], thin[1], matrix_transpose(thin[2])
    P = matrix_transpose(U) @ d(A) @ V
    yield d(GetItem(1)(SVD(f)(A))), Diagonal(0)(P)
    yield d(U), left_vectors(d(A), U, s, V, P)
    yield (
        d(thin[2]),
        matrix_transpose(left_vectors(matrix_transpose(d(A)), V, s, U, matrix_transpose(P))),
    )


def left_vectors(dA: Any, U: Any, s: Any, V: Any, P: Any) -> Any:
    """Return d(U) = U (F * (P s + s P.T)) + (I - U U.T) d(A) V / s."""
    row = ExpandDims((-2,))(s)
    F = gaps(s) / (row + ExpandDims((-1,))(s))
    scaled = P * row
    rest = dA @ V / row
    return U @ (F * (scaled + matrix_transpose(scaled))) + (rest - U @ (matrix_transpose(U) @ rest))


@differential
def d_qro(A):
    """d(R) = B R and d(Q) = X - Q B, X = d(A) inv(R) and B the upper triangle of M - M'.

    For at least as many rows as columns.
    Source: S. F. Walter and L. Lehmann, Algorithmic differentiation of linear algebra functions,
    2010.
    """
    Q, R = GetItem(0)(QR("reduced")(A)), GetItem(1)(QR("reduced")(A))
    X = matrix_transpose(SolveTriangular(False, 1, False)(R, matrix_transpose(d(A))))
    M = matrix_transpose(Q) @ X
    upper = M - (Tril(-1)(M) - matrix_transpose(Tril(-1)(M)))
    tall = checko(is_tall, A, label="at least as many rows as columns")
    yield d(Q), X - Q @ upper, tall
    yield d(R), upper @ R, tall


def is_tall(A: Any) -> bool:
    """Return True if a matrix has at least as many rows as columns."""
    m, n = A.type.shape[-2:]
    return not (isinstance(m, int) and isinstance(n, int)) or m >= n


@differential
def d_cho_solveo(L, b):
    """d(x) = x' - solve(A, d(A) x) for x = solve(A, b), A = L L.T or U.T U.

    Source: Giles, section 2.
    """
    low, up = ChoSolve(True), ChoSolve(False)
    x, dL = low(L, b), Tril(0)(d(L))
    T = matrix_transpose
    yield d(x), low(L, d(b) - (dL @ (T(L) @ x) + L @ (T(dL) @ x)))
    y, dU = up(L, b), Triu(0)(d(L))
    yield d(y), up(L, d(b) - (T(dU) @ (L @ y) + T(L) @ (dU @ y)))


RELATIONS = relations_in(globals())
