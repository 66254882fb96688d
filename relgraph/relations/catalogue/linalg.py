"""Inverses, linear systems and determinants.

The ranks for which an identity holds (vectors, matrices, batches) are found by the engine; see
:mod:`relgraph.relations.ranks`.
"""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from relgraph.ops.elementwise import Elementwise
from relgraph.ops.linalg import Det, Inv, Solve, SolveTriangular
from relgraph.ops.matrices import Diag
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.shape import expand_dims
from relgraph.relations.catalogue.conditions import matrixo, vectoro
from relgraph.relations.goals import facto, invertibleo, nonzeroo
from relgraph.relations.relation import Relation, identity

CANONICAL = ("canonicalize", "fast_run")
SPECIALIZE = ("specialize", "fast_run")
divide = Elementwise("true_divide")
inv, det, diag = Inv(), Det(), Diag(0)
solve, solve_spd = Solve("general"), Solve("spd")


@identity(tags=CANONICAL, specials="assumes_finite")
def cancel_inv_invo(A):
    """inv(inv(A)) = A.

    Holds where A is invertible (the left side raises where it is not); rounded (within
    c n u cond(A) |A|), assumes_finite.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.5.
    """
    return inv(inv(A)), A


@identity(tags=CANONICAL, specials="assumes_finite")
def reverse_inv_matmulo(A, B):
    """inv(A B) = inv(B) inv(A).

    Holds where A and B are square and invertible; rounded (within
    c n u cond(A) cond(B) |inv(B)| |inv(A)|), assumes_finite.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.5.
    """
    return inv(A @ B), inv(B) @ inv(A)


@identity(tags=CANONICAL, where=lambda Q: facto(Q, "orthogonal"))
def inv_orthogonalo(Q):
    """inv(Q) = Q.mT for an orthogonal Q.

    Holds where Q is proved orthogonal, a fact of the exact value; rounded, kept.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 2.1.
    """
    return inv(Q), matrix_transpose(Q)


@identity(tags=SPECIALIZE, specials="assumes_finite")
def solve_invo(A, b):
    """inv(A) b = solve(A, b).

    Holds where A is invertible; rounded (within c n u cond(A) |x|, and the right side has the
    smaller residual), assumes_finite.
    Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 14.1.
    """
    return inv(A) @ b, solve(A, b)


@identity(tags=CANONICAL, where=lambda A: invertibleo(A), specials="assumes_finite")
def cancel_solve_invo(A, b):
    """solve(inv(A), b) = A b.

    Holds where A is invertible, which the left side proves; rounded (within
    c n u cond(A) |A| |b|), assumes_finite.
    Source: definition.
    """
    return solve(inv(A), b), A @ b


@identity(tags=SPECIALIZE, where=lambda A: facto(A, "lower_triangular"), specials="assumes_finite")
def solve_lower_triangularo(A, b):
    """solve(L, b) = L^-1 b by forward substitution.

    Holds where L is proved lower triangular and is invertible; rounded (within
    c n u cond(L) |x|), assumes_finite.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 3.1.
    """
    return solve(A, b), SolveTriangular(True, 0, False)(A, b)


@identity(tags=SPECIALIZE, where=lambda A: facto(A, "upper_triangular"), specials="assumes_finite")
def solve_upper_triangularo(A, b):
    """solve(U, b) = U^-1 b by back substitution.

    Holds where U is proved upper triangular and is invertible; rounded (within
    c n u cond(U) |x|), assumes_finite.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 3.1.
    """
    return solve(A, b), SolveTriangular(False, 0, False)(A, b)


@identity(tags=SPECIALIZE, where=lambda A: facto(A, "spd"), specials="assumes_finite")
def solve_spdo(A, b):
    """solve(A, b) = A^-1 b by Cholesky's factor.

    Holds where A is proved symmetric positive definite; rounded (within c n u cond(A) |x|),
    assumes_finite.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 4.2.
    """
    return solve(A, b), solve_spd(A, b)


@identity(
    tags=SPECIALIZE,
    where=lambda v, B: (vectoro(v), matrixo(B), nonzeroo(v)),
    specials="assumes_finite",
    broadcast="*",
)
def divide_rowso(v, B):
    """solve(diag(v), B) = B / v[:, None] for a matrix B.

    Holds where no element of v is 0, which the left side proves; rounded (within 2u |B / v|),
    assumes_finite.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return solve(diag(v), B), B / expand_dims(v, -1)


@identity(
    tags=SPECIALIZE,
    where=lambda v, b: (vectoro(v), vectoro(b), nonzeroo(v)),
    specials="assumes_finite",
)
def divide_elementso(v, b):
    """solve(diag(v), b) = b / v for a vector b.

    Holds where no element of v is 0, which the left side proves; rounded (within 2u |b / v|),
    assumes_finite.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return solve(diag(v), b), b / v


@identity(tags=CANONICAL, specials="assumes_finite")
def det_transposeo(A):
    """det(A.mT) = det(A).

    Holds always; rounded (within c n u cond(A) |det(A)|), assumes_finite (an elimination with
    infinities may give 0 or NaN).
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.3.
    """
    return det(matrix_transpose(A)), det(A)


@identity(tags=CANONICAL, where=lambda A: invertibleo(A), specials="assumes_finite")
def det_invo(A):
    """det(inv(A)) = 1 / det(A).

    Holds where A is invertible, which the left side proves; rounded (within
    c n u cond(A) |1 / det(A)|), assumes_finite.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.3.
    """
    return det(inv(A)), divide(1.0, det(A))


@identity(
    tags=CANONICAL,
    where=lambda A, B: (facto(A, "square"), facto(B, "square")),
    specials="assumes_finite",
)
def det_matmulo(A, B):
    """det(A B) = det(A) det(B).

    Holds where A and B are square; rounded (within c n u cond(A) cond(B) |det(A) det(B)|),
    assumes_finite.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.3.5.
    """
    return det(A @ B), det(A) * det(B)


RELATIONS: tuple[Relation, ...] = (
    cancel_inv_invo,
    reverse_inv_matmulo.reversed,
    inv_orthogonalo,
    solve_invo,
    cancel_solve_invo,
    divide_rowso,
    divide_elementso,
    solve_lower_triangularo,
    solve_upper_triangularo,
    solve_spdo,
    det_transposeo,
    det_invo,
    det_matmulo,
)
