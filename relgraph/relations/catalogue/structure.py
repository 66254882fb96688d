"""Matrices with structure: diagonal, triangular, orthogonal, permutations, SPD.

The ranks for which an identity holds (vectors, matrices, batches) are found by the engine; see
:mod:`relgraph.relations.rank_classes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.ir.node import constant
from relgraph.ir.op import GetItem
from relgraph.numpy.reductions import argmax, prod, sum
from relgraph.ops.elementwise import Elementwise, absolute, log, sign, sqrt, square
from relgraph.ops.indexing.expression import FULL
from relgraph.ops.indexing.index import Index
from relgraph.ops.linalg.factored_solve import ChoSolve, PermutationSign
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular
from relgraph.ops.linalg.structured import Diag, Diagonal, Trace, Tril, Triu
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.shape import broadcast_to, dim, expand_dims
from relgraph.relations.catalogue import CANONICAL, SPECIALIZE, TIDY, relations_in
from relgraph.relations.catalogue.conditions import matrixo, vectoro
from relgraph.relations.catalogue.units import identity_of
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import (
    calco,
    checko,
    facto,
    floato,
    invertibleo,
    symmetrico,
    unary_goal,
)

diag, diagonal, trace, inv, det = Diag(0), Diagonal(0), Trace(), Inv(), Det()
solve, divide, slogdet = Solve("general"), Elementwise("true_divide"), Slogdet()
first, second, permutation_sign = GetItem(0), GetItem(1), PermutationSign()
lower_factor, upper_factor = Cholesky(True), Cholesky(False)
rows, columns = Index((("array",),)), Index((FULL, ("array",)))


def _has_columns(x: Any) -> bool:
    return all(isinstance(d, int) and d > 0 for d in x.type.shape)


def _is_double(x: Any) -> bool:
    return bool(x.dtype == "float64")


float64o = unary_goal("float64", _is_double, "Relate graphs of double precision.")
known_sideo = unary_goal(
    "columns", _has_columns, "Relate matrices whose rows all have a largest element."
)


def several(D: Any) -> bool:
    """Return True for a dense matrix that is not known to be a single number, diagonal anyway."""
    return bool(D.type.layout == "dense" and D.type.shape[-1] != 1)


def diagonalo(D: Any) -> Any:
    """Relate dense matrices that are proved diagonal and may have several elements."""
    return facto(D, "diagonal"), checko(several, D, label=f"several elements({D!r})")


@identity(
    tags=SPECIALIZE,
    where=lambda D, E: (*diagonalo(D), *diagonalo(E)),
    specials="assumes_finite",
)
def multiply_diagonalo(D, E):
    """D E = diag(diagonal(D) * diagonal(E)) for diagonal D and E.

    0 times infinity is NaN.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.1.
    """
    return D @ E, diag(diagonal(D) * diagonal(E))


@identity(tags=SPECIALIZE, where=lambda D: diagonalo(D), specials="assumes_finite", broadcast="*")
def scale_rowso(D, X):
    """D X = diagonal(D)[:, None] * X for a diagonal D.

    Holds where X is a matrix or a batch of them.
    A sum with zeros may turn -0.0 into 0.0.  0 times infinity is NaN.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return D @ X, expand_dims(diagonal(D), -1) * X


@identity(tags=SPECIALIZE, where=lambda D: diagonalo(D), specials="assumes_finite", broadcast="*")
def scale_columnso(X, D):
    """X D = X * diagonal(D) for a diagonal D.

    Holds where X is a vector, a matrix or a batch of them.
    A sum with zeros may turn -0.0 into 0.0.  0 times infinity is NaN.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return X @ D, X * diagonal(D)


@identity(
    tags=SPECIALIZE,
    where=lambda D, x: (*diagonalo(D), matrixo(D), vectoro(x)),
    specials="assumes_finite",
)
def scale_elementso(D, x):
    """D x = diagonal(D) * x for a diagonal D and a vector x.

    A sum with zeros may turn -0.0 into 0.0.  0 times infinity is NaN.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return D @ x, diagonal(D) * x


@identity(
    tags=TIDY,
    where=lambda E, ones: (facto(E, "identity"), calco(ones, ones_of, E)),
    rounding="exact",
)
def diagonal_identityo(E, ones):
    """diagonal(E) = (1, ..., 1) for an identity matrix E.

    Holds for matrices of static size.
    Source: definition.
    """
    return diagonal(E), ones


# Facts of structure.


@identity(tags=TIDY, rounding="exact")
def merge_triangleo(A, i, j, k):
    """tril(tril(A, i), j) = tril(A, min(i, j)), and triu(triu(A, i), j) = triu(A, max(i, j)).

    Source: an element stays if it is in both triangles.
    """
    yield Tril(j)(Tril(i)(A)), Tril(k)(A), calco(k, min, i, j)
    yield Triu(j)(Triu(i)(A)), Triu(k)(A), calco(k, max, i, j)


def at_most(i: int, j: int) -> bool:
    """Return True if a diagonal is not above another one."""
    return i <= j


@identity(tags=CANONICAL, specials="assumes_finite")
def triangle_of_producto(U, L, X, i, j):
    """tril(U tril(X, j), i) = tril(U X, i) for i <= j and an upper triangular U, and likewise.

    The likes are U on the right, and triu with a lower triangular L and i >= j.  What tril(X, j)
    leaves out lies above the diagonal j, and so does its product with U.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.3.
    """
    below = facto(U, "upper_triangular"), checko(at_most, i, j, label="i <= j")
    above = facto(L, "lower_triangular"), checko(at_most, j, i, label="i >= j")
    yield Tril(i)(U @ Tril(j)(X)), Tril(i)(U @ X), below
    yield Tril(i)(Tril(j)(X) @ U), Tril(i)(X @ U), below
    yield Triu(i)(L @ Triu(j)(X)), Triu(i)(L @ X), above
    yield Triu(i)(Triu(j)(X) @ L), Triu(i)(X @ L), above


def along_diagonal(w: Any, A: Any) -> Any:
    """Return the elements of a diagonal, one number for each row of ``A``."""
    return broadcast_to(w, (dim(A, -1),))


@identity(tags=CANONICAL, specials="assumes_finite", broadcast=("w",))
def triangle_of_product_with_diagonalo(U, L, w, X, v):
    """tril(U (diag(w / diagonal(U)) + X)) = diag(w) + tril(U X) for an upper triangular U.

    The diagonal of the product with a diagonal matrix is w, and nothing of it lies below.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.3.
    """
    for upper, A, fact in ((U, U, "upper"), (matrix_transpose(L), L, "lower")):
        whole = upper @ (diag(w / diagonal(A)) + X)
        triangular = facto(A, f"{fact}_triangular"), matrixo(A)
        spread = calco(v, along_diagonal, w, A)
        yield Tril(0)(whole), diag(v) + Tril(0)(upper @ X), (*triangular, spread)
        yield Tril(-1)(whole), Tril(-1)(upper @ X), triangular


@identity(tags=TIDY, rounding="exact")
def cancel_diagonal_diago(v):
    """diagonal(diag(v)) = v.

    Holds for vectors, and batches of them.
    Source: definition.
    """
    return diagonal(diag(v)), v


def ones_of(E: Any) -> Any:
    """Return the ones on the diagonal of an identity matrix of static size."""
    side = E.type.shape[-1]
    if E.ndim != 2 or not isinstance(side, int):
        return None
    return constant(np.ones(side, E.dtype))


ones_of.__dict__["of_type"] = True  # it reads a type, not a value


@identity(tags=CANONICAL)
def trace_diago(v):
    """trace(diag(v)) = sum(v).

    Holds for vectors.
    The order of summation differs, within n u sum |v|.
    Source: definition.
    """
    return trace(diag(v)), sum(v)


@identity(tags=CANONICAL, where=lambda Q: facto(Q, "orthogonal"))
def inv_orthogonalo(Q):
    """inv(Q) = Q.mT for an orthogonal Q.

    The fact is about the exact value.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 2.1.
    """
    return inv(Q), matrix_transpose(Q)


@identity(
    tags=CANONICAL,
    where=lambda D: (facto(D, "diagonal"), invertibleo(D)),
    specials="assumes_finite",
)
def inv_diagonalo(D):
    """inv(D) = diag(1 / diagonal(D)) for a diagonal D.

    The error is within u |1 / d|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.1.
    """
    return inv(D), diag(divide(1.0, diagonal(D)))


@identity(
    tags=SPECIALIZE,
    where=lambda D, b: (facto(D, "diagonal"), invertibleo(D), matrixo(D), vectoro(b)),
    specials="assumes_finite",
)
def solve_diagonal_vectoro(D, b):
    """solve(D, b) = b / diagonal(D) for a diagonal D and a vector b.

    A matrix of 1 by 1 is diagonal.  The error is within 2u |b / d|.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return solve(D, b), divide(b, diagonal(D))


@identity(
    tags=SPECIALIZE,
    where=lambda D, B: (facto(D, "diagonal"), invertibleo(D), matrixo(D), matrixo(B)),
    specials="assumes_finite",
    broadcast="*",
)
def solve_diagonal_matrixo(D, B):
    """solve(D, B) = B / diagonal(D)[:, None] for a diagonal D and a matrix B.

    A matrix of 1 by 1 is diagonal.  The error is within 2u |B / d|.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return solve(D, B), divide(B, expand_dims(diagonal(D), -1))


@identity(tags=SPECIALIZE, where=lambda T: floato(T), specials="assumes_finite")
def det_triangularo(T):
    """det(T) = prod(diagonal(T)) for a triangular T.

    The error is within n u |det(T)|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.3.
    """
    total = prod(diagonal(T), axis=-1)
    yield det(T), total, facto(T, "lower_triangular")
    yield det(T), total, facto(T, "upper_triangular")


@identity(tags=SPECIALIZE, where=lambda A: (facto(A, "spd"), floato(A)), specials="assumes_finite")
def sign_spdo(A):
    """sign(det(A)) = 1 for an SPD A, by slogdet.

    The computed sign of a matrix that is singular to working precision may be another.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 7.1.
    """
    return first(slogdet(A)), 1


@identity(tags=SPECIALIZE, where=lambda T: floato(T), specials="assumes_finite")
def sign_triangularo(T):
    """sign(det(T)) = prod(sign(diagonal(T))) for a triangular T, by slogdet.

    -0.0 may become 0.0.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.3.
    """
    yield first(slogdet(T)), prod(sign(diagonal(T)), axis=-1), facto(T, "lower_triangular")
    yield first(slogdet(T)), prod(sign(diagonal(T)), axis=-1), facto(T, "upper_triangular")


@identity(
    tags=SPECIALIZE, where=lambda Q: (facto(Q, "orthogonal"), floato(Q)), specials="assumes_finite"
)
def logdet_orthogonalo(Q):
    """log |det(Q)| = 0 for an orthogonal Q, by slogdet.

    The fact is about the exact value.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 2.1.
    """
    return second(slogdet(Q)), 0


@identity(tags=SPECIALIZE, where=lambda T: floato(T), specials="assumes_finite")
def logdet_triangularo(T):
    """log |det(T)| = sum(log |diagonal(T)|) for a triangular T, by slogdet.

    The error is within n u sum |log |t_ii||.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.3.
    """
    total = sum(log(absolute(diagonal(T))), axis=-1)
    yield second(slogdet(T)), total, facto(T, "lower_triangular")
    yield second(slogdet(T)), total, facto(T, "upper_triangular")


@identity(
    tags=SPECIALIZE,
    where=lambda P: (facto(P, "permutation"), float64o(P), matrixo(P), known_sideo(P)),
    specials="assumes_finite",
)
def det_permutationo(P):
    """det(P) = sign(p) for the matrix P of a permutation p.

    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.5.
    """
    return det(P), permutation_sign(argmax(P, axis=-1))


@identity(tags=SPECIALIZE, where=lambda A: (facto(A, "spd"), floato(A)), specials="assumes_finite")
def det_spdo(A):
    """det(A) = prod(diagonal(L))^2 for an SPD A with Cholesky's factor L.

    The error is within c n u cond(A) |det(A)|.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 4.2.
    """
    return det(A), square(prod(diagonal(lower_factor(A)), axis=-1))


@identity(tags=SPECIALIZE, where=lambda A: (facto(A, "spd"), floato(A)), specials="assumes_finite")
def logdet_spdo(A):
    """log |det(A)| = 2 sum(log(diagonal(L))) for an SPD A with Cholesky's factor L.

    The error is within c n u cond(A).
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 4.2.
    """
    return second(slogdet(A)), 2 * sum(log(diagonal(lower_factor(A))), axis=-1)


@identity(
    tags=CANONICAL,
    where=lambda D: (facto(D, "diagonal"), facto(D, "spd")),
    specials="assumes_finite",
)
def cholesky_diagonalo(D):
    """cholesky(D) = diag(sqrt(diagonal(D))) for a diagonal D.

    The error is within u sqrt(d).
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 4.2.
    """
    return lower_factor(D), diag(sqrt(diagonal(D)))


@identity(tags=TIDY, where=lambda A: symmetrico(A), specials="assumes_finite")
def cancel_choleskyo(A):
    """L L.mT = A = U.mT U for the Cholesky factors L and U of a symmetric A.

    Holds where A has a factor, of which one triangle of A is read.
    The error is within c n u |A|.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 4.2.
    """
    L, U = lower_factor(A), upper_factor(A)
    swap = matrix_transpose
    yield L @ swap(L), A
    yield swap(U) @ U, A


@identity(tags=SPECIALIZE, specials="assumes_finite")
def pair_triangular_solveso(L, b):
    """solve(L.mT, solve(L, b)) = cho_solve(L, b), by substitution.

    Holds for a triangular factor, either of both triangles.
    The error is within c n u cond(L)^2 |x|.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 4.2.
    """
    down = SolveTriangular(True, 0, False)
    up = SolveTriangular(True, 1, False)
    upper, upper_transposed = SolveTriangular(False, 0, False), SolveTriangular(False, 1, False)
    yield up(L, down(L, b)), ChoSolve(True)(L, b)
    yield upper(matrix_transpose(L), down(L, b)), ChoSolve(True)(L, b)
    yield upper(L, upper_transposed(L, b)), ChoSolve(False)(L, b)


# Orthogonal matrices, permutations and selections.


@identity(tags=TIDY, where=lambda Q: facto(Q, "orthogonal"), specials="assumes_finite")
def solve_orthogonalo(Q, b):
    """solve(Q, b) = Q.mT b for an orthogonal Q.

    The fact is about the exact value.  The error is within n u |Q|' |b|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 2.1.
    """
    return solve(Q, b), matrix_transpose(Q) @ b


@identity(
    tags=TIDY,
    where=lambda Q, unit: (calco(unit, identity_of, Q), facto(Q, "orthogonal")),
    specials="assumes_finite",
)
def cancel_orthogonalo(Q, unit):
    """Q Q.mT = I = Q.mT Q for an orthogonal Q.

    The fact is about the exact value.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 2.1.
    """
    swap = matrix_transpose
    yield Q @ swap(Q), unit
    yield swap(Q) @ Q, unit


@identity(tags=TIDY, where=lambda Q: facto(Q, "orthogonal"), specials="assumes_finite")
def cancel_orthogonal_producto(Q, x):
    """Q.mT (Q x) = x = Q (Q.mT x) for an orthogonal Q.

    The fact is about the exact value.  The error is within 2 n u |x|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 2.1.
    """
    swap = matrix_transpose
    yield swap(Q) @ (Q @ x), x
    yield Q @ (swap(Q) @ x), x


@identity(
    tags=SPECIALIZE,
    where=lambda S, X: (facto(S, "selection"), matrixo(S), known_sideo(S)),
    specials="assumes_finite",
)
def select_rowso(S, X):
    """S X = X[argmax(S, axis=-1)] for a selection S, whose rows are rows of I.

    A permutation is a selection; X is a vector or a matrix.  -0.0 may become 0.0.  0 times infinity
    is NaN.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.5.
    """
    return S @ X, rows(X, argmax(S, axis=-1))


@identity(
    tags=SPECIALIZE,
    where=lambda X, P: (facto(P, "permutation"), matrixo(P), matrixo(X), known_sideo(P)),
    specials="assumes_finite",
)
def select_columnso(X, P):
    """X P = X[:, argmax(P, axis=-2)] for a permutation P.

    -0.0 may become 0.0.  0 times infinity is NaN.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.5.
    """
    return X @ P, columns(X, argmax(P, axis=-2))


RELATIONS = relations_in(globals())
