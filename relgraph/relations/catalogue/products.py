"""Products of matrices, their transposes, and parts of products.

The ranks for which an identity holds (vectors, matrices, batches) are found by the engine; see
:mod:`relgraph.relations.ranks`.
"""

# mypy: allow-untyped-defs
# An identity is written as a user writes one: without types.

from __future__ import annotations

from relgraph.ops.matrices import Diagonal, Eye, Trace
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.reduction import sum
from relgraph.relations.catalogue.conditions import matrixo, scalaro
from relgraph.relations.goals import checko, eq, lall, lany, symmetrico
from relgraph.relations.pattern import lvars
from relgraph.relations.relation import Relation, identity, relation

CANONICAL = ("canonicalize", "fast_run")
SPECIALIZE = ("specialize", "fast_run")
trace, diagonal = Trace(), Diagonal(0)


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
    remove_matmul_eyeo,
    trace_transposeo,
    trace_matmulo,
    sum_diagonalo,
    diagonal_matmulo,
    sum_matmulo,
    sum_rows_matmulo,
    sum_columns_matmulo,
)
