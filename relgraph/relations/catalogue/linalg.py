"""Products of matrices, transposes, inverses, determinants, and matrices with structure.

The ranks for which an identity holds (vectors, matrices, batches) are found by the engine; see
:mod:`relgraph.relations.ranks`.
"""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from relgraph.ops.elementwise import Elementwise
from relgraph.ops.linalg import Det, Inv, Solve, SolveTriangular
from relgraph.ops.matrices import Diag, Diagonal, Eye, Trace
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.reduction import sum
from relgraph.ops.shape import expand_dims
from relgraph.relations.catalogue.conditions import matrixo, scalaro, vectoro
from relgraph.relations.goals import (
    checko,
    eq,
    facto,
    invertibleo,
    lall,
    lany,
    nonzeroo,
    symmetrico,
)
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, identity, relation

CANONICAL = ("canonicalize", "fast_run")
SPECIALIZE = ("specialize", "fast_run")
divide = Elementwise("true_divide")
inv, det, trace, diagonal = Inv(), Det(), Trace(), Diagonal(0)
diag = Diag(0)
solve, solve_spd = Solve("general"), Solve("spd")


# Distributive laws.


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_matmul_addo(A, x, y):
    """A (x + y) = A x + A y.

    Holds where x and y have one shape; rounded (within n u |A| (|x| + |y|)), assumes_finite.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2; the bound from
    N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.5.
    """
    return A @ (x + y), A @ x + A @ y


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_add_matmulo(A, B, x):
    """(A + B) x = A x + B x.

    Holds where A and B have one shape; rounded (within n u (|A| + |B|) |x|), assumes_finite.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.
    """
    return (A + B) @ x, A @ x + B @ x


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_matmul_subtracto(A, x, y):
    """A (x - y) = A x - A y.

    Holds where x and y have one shape; rounded (within n u |A| (|x| + |y|)), assumes_finite.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.
    """
    return A @ (x - y), A @ x - A @ y


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_subtract_matmulo(A, B, x):
    """(A - B) x = A x - B x.

    Holds where A and B have one shape; rounded (within n u (|A| + |B|) |x|), assumes_finite.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.
    """
    return (A - B) @ x, A @ x - B @ x


@identity(
    tags=(*CANONICAL, "mul_canonical"),
    where=lambda s: scalaro(s),
    specials="assumes_finite",
    broadcast="s",
)
def lift_multiply_matmulo(s, A, B):
    """(s A) B = s (A B) for a scalar s.

    Holds always, modulo 2^n for integers; rounded (within n u |s| |A| |B|), assumes_finite.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.
    """
    return (s * A) @ B, s * (A @ B)


@identity(
    tags=(*CANONICAL, "mul_canonical"),
    where=lambda s: scalaro(s),
    specials="assumes_finite",
    broadcast="s",
)
def lift_matmul_multiplyo(s, A, B):
    """A (s B) = s (A B) for a scalar s.

    Holds always, modulo 2^n for integers; rounded (within n u |s| |A| |B|), assumes_finite.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.
    """
    return A @ (s * B), s * (A @ B)


# Transposes.


@identity(tags=CANONICAL)
def transpose_matmulo(A, B):
    """(A B).mT = B.mT A.mT.

    Holds for matrices and batches of them; rounded (another order of summation, within
    n u |A| |B|), kept.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.5.
    """
    return matrix_transpose(A @ B), matrix_transpose(B) @ matrix_transpose(A)


@identity(tags=CANONICAL, rounding="exact")
def transpose_addo(A, B):
    """(A + B).mT = A.mT + B.mT.

    Holds where A and B have one shape; exact, kept.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.5.
    """
    return matrix_transpose(A + B), matrix_transpose(A) + matrix_transpose(B)


@identity(tags=CANONICAL, rounding="exact")
def transpose_subtracto(A, B):
    """(A - B).mT = A.mT - B.mT.

    Holds where A and B have one shape; exact, kept.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.5.
    """
    return matrix_transpose(A - B), matrix_transpose(A) - matrix_transpose(B)


@identity(tags=CANONICAL, where=lambda A: symmetrico(A))
def remove_transpose_symmetrico(A):
    """A.mT = A for a symmetric A.

    Holds where A is proved symmetric, a fact of the exact value; rounded, kept.
    Source: definition.
    """
    return matrix_transpose(A), A


# Inverses, systems and determinants.


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


# Matrices with structure.


def identity_matrix(n: int, m: int, k: int) -> bool:
    """Tell whether the parameters of an eye are those of an identity matrix."""
    return n == m and k == 0


@relation(tags=CANONICAL, specials="assumes_finite")
def remove_matmul_eyeo(left, right):
    """I x = x = x I.

    Holds for vectors, matrices and batches; rounded (-0.0 may become 0.0), assumes_finite
    (0 times infinity is NaN).
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.
    """
    x, n, m, k, dtype = lvars("x n m k dtype")
    unit = Eye(n, m, k, dtype)()
    condition = checko(identity_matrix, n, m, k, label="an identity matrix")
    return lany(
        lall(eq(left, unit @ x), eq(right, x), condition),
        lall(eq(left, x @ unit), eq(right, x), condition),
    )


@identity(tags=SPECIALIZE, specials="assumes_finite", broadcast="*")
def scale_rowso(v, X):
    """diag(v) X = v[:, None] * X.

    Holds where X is a matrix or a batch of them; rounded (a sum with zeros may turn -0.0 into
    0.0), assumes_finite (0 times infinity is NaN).
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return diag(v) @ X, expand_dims(v, -1) * X


@identity(tags=SPECIALIZE, specials="assumes_finite", broadcast="*")
def scale_columnso(X, v):
    """X diag(v) = X * v.

    Holds where X is a vector, a matrix or a batch of them; rounded (a sum with zeros may turn
    -0.0 into 0.0), assumes_finite (0 times infinity is NaN).
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return X @ diag(v), X * v


@identity(tags=SPECIALIZE, where=lambda v, x: (vectoro(v), vectoro(x)), specials="assumes_finite")
def scale_elementso(v, x):
    """diag(v) x = v * x for a vector x.

    Holds where v and x are vectors; rounded (a sum with zeros may turn -0.0 into 0.0),
    assumes_finite (0 times infinity is NaN).
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return diag(v) @ x, v * x


# Parts of a product that need less than the product.


@identity(tags=CANONICAL, rounding="exact")
def trace_transposeo(A):
    """trace(A.mT) = trace(A).

    Holds always; exact, kept.
    Source: the diagonal is the same.
    """
    return trace(matrix_transpose(A)), trace(A)


@identity(tags=SPECIALIZE, where=lambda A, B: (matrixo(A), matrixo(B)), specials="assumes_finite")
def trace_matmulo(A, B):
    """trace(A B) = sum(A * B.mT).

    Holds for matrices; rounded (another order of summation, within n u sum |A * B.mT|),
    assumes_finite.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 5.2 (the Frobenius
    inner product).
    """
    return trace(A @ B), sum(A * matrix_transpose(B))


@identity(tags=CANONICAL, where=lambda A: matrixo(A))
def sum_diagonalo(A):
    """sum(diagonal(A)) = trace(A).

    Holds for matrices; rounded (another order of summation, within n u sum |a_ii|), kept.
    Source: definition.
    """
    return sum(diagonal(A)), trace(A)


@identity(tags=SPECIALIZE, specials="assumes_finite")
def diagonal_matmulo(A, B):
    """diagonal(A B) = sum(A * B.mT, axis=-1).

    Holds for matrices, and batches of them, where A and B.mT have one shape; rounded (within
    n u sum |A * B.mT|), assumes_finite.
    Source: definition of the product.
    """
    return diagonal(A @ B), sum(A * matrix_transpose(B), axis=-1)


@identity(tags=SPECIALIZE, where=lambda A, B: (matrixo(A), matrixo(B)), specials="assumes_finite")
def sum_matmulo(A, B):
    """sum(A B) = sum(A, axis=-2) sum(B, axis=-1).

    Holds for matrices; rounded (within (m + n + k) u sum |A| |B|), assumes_finite.
    Source: 1' (A B) 1 = (1' A) (B 1).
    """
    return sum(A @ B), sum(A, axis=-2) @ sum(B, axis=-1)


@identity(tags=SPECIALIZE, where=lambda A, B: (matrixo(A), matrixo(B)), specials="assumes_finite")
def sum_rows_matmulo(A, B):
    """sum(A B, axis=-1) = A sum(B, axis=-1).

    Holds for matrices; rounded (within (n + k) u |A| |B|), assumes_finite.
    Source: (A B) 1 = A (B 1).
    """
    return sum(A @ B, axis=-1), A @ sum(B, axis=-1)


@identity(tags=SPECIALIZE, where=lambda A, B: (matrixo(A), matrixo(B)), specials="assumes_finite")
def sum_columns_matmulo(A, B):
    """sum(A B, axis=-2) = sum(A, axis=-2) B.

    Holds for matrices; rounded (within (m + k) u |A| |B|), assumes_finite.
    Source: 1' (A B) = (1' A) B.
    """
    return sum(A @ B, axis=-2), sum(A, axis=-2) @ B


RELATIONS: tuple[Relation, ...] = (
    distribute_matmul_addo.reversed,
    distribute_add_matmulo.reversed,
    distribute_matmul_subtracto.reversed,
    distribute_subtract_matmulo.reversed,
    lift_multiply_matmulo,
    lift_matmul_multiplyo,
    transpose_matmulo.reversed,
    transpose_addo.reversed,
    transpose_subtracto.reversed,
    remove_transpose_symmetrico,
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
    remove_matmul_eyeo,
    scale_rowso,
    scale_columnso,
    scale_elementso,
    trace_transposeo,
    trace_matmulo,
    sum_diagonalo,
    diagonal_matmulo,
    sum_matmulo,
    sum_rows_matmulo,
    sum_columns_matmulo,
)
