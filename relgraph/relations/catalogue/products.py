"""Products of matrices, their transposes, and parts of products.

The ranks for which an identity holds (vectors, matrices, batches) are found by the engine; see
:mod:`relgraph.relations.rank_classes`.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from relgraph.ir.node import Constant
from relgraph.numpy.reductions import sum
from relgraph.ops.contraction import Einsum, Outer
from relgraph.ops.linalg.solve import Inv, Solve, SolveTriangular
from relgraph.ops.linalg.structured import Diagonal, Trace
from relgraph.ops.permutation import matrix_transpose
from relgraph.relations.catalogue import CANONICAL, SEARCH, SPECIALIZE, TIDY, relations_in
from relgraph.relations.catalogue.conditions import matrixo, numerico, scalaro, vectoro
from relgraph.relations.catalogue.units import identity_like
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import calco, checko, facto, floato, symmetrico

trace, diagonal, outer = Trace(), Diagonal(0), Outer()
inv, solve = Inv(), Solve("general")


# Inverses: first, so that a product that nothing need compute is not made a cheaper one.


@identity(tags=TIDY, where=lambda A, unit: calco(unit, identity_like, A), specials="assumes_finite")
def cancel_matmul_invo(A, unit):
    """A^-1 A = I = A A^-1 = solve(A, A).

    The left side proves that A is invertible.  The error is within c n u |inv(A)| |A|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.5 (definition).
    """
    yield inv(A) @ A, unit
    yield A @ inv(A), unit
    yield solve(A, A), unit


@identity(tags=TIDY, specials="assumes_finite")
def cancel_matmul_solveo(A, b):
    """solve(A, A b) = b = A solve(A, b).

    The left side proves that A is invertible; b is a vector or a matrix.  The error is within c n u
    cond(A) |b|.
    Source: definition of a solution.
    """
    yield solve(A, A @ b), b
    yield A @ solve(A, b), b


@identity(tags=TIDY, specials="assumes_finite")
def cancel_matmul_solve_triangularo(A, b):
    """solve(L, L b) = b = L solve(L, b) for a lower triangular L, and for U, L.T and U.T.

    The left side proves that L is invertible; b is a vector or a matrix.  The error is within
    c n u cond(L) |b|.
    Source: definition of a solution.
    """
    for lower, trans in product((True, False), (0, 1)):
        system, matrix = SolveTriangular(lower, trans, False), matrix_transpose(A) if trans else A
        triangular = facto(A, "lower_triangular" if lower else "upper_triangular")
        yield system(A, matrix @ b), b, triangular
        yield matrix @ system(A, b), b, triangular


# Distributive laws.


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_matmul_addo(A, x, y):
    """A (x + y) = A x + A y.

    Holds where x and y have one shape.
    The error is within n u |A| (|x| + |y|).
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2; the bound from
    N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.5.
    """
    return A @ (x + y), A @ x + A @ y


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_add_matmulo(A, B, x):
    """(A + B) x = A x + B x.

    Holds where A and B have one shape.
    The error is within n u (|A| + |B|) |x|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.
    """
    return (A + B) @ x, A @ x + B @ x


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_matmul_subtracto(A, x, y):
    """A (x - y) = A x - A y.

    Holds where x and y have one shape.
    The error is within n u |A| (|x| + |y|).
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.
    """
    return A @ (x - y), A @ x - A @ y


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_subtract_matmulo(A, B, x):
    """(A - B) x = A x - B x.

    Holds where A and B have one shape.
    The error is within n u (|A| + |B|) |x|.
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

    Holds modulo 2^n for integers.
    The error is within n u |s| |A| |B|.
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

    Holds modulo 2^n for integers.
    The error is within n u |s| |A| |B|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.
    """
    return A @ (s * B), s * (A @ B)


# Transposes.


@identity(tags=CANONICAL)
def transpose_matmulo(A, B):
    """(A B).mT = B.mT A.mT.

    Holds for matrices and batches of them.
    The order of summation differs, within n u |A| |B|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.5.
    """
    return matrix_transpose(A @ B), matrix_transpose(B) @ matrix_transpose(A)


@identity(tags=CANONICAL)
def transpose_matmul_transposeo(A, B):
    """(A B.mT).mT = B A.mT, and (A.mT B).mT = B.mT A.

    The order of summation differs, within n u |A| |B|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.5.
    """
    yield matrix_transpose(A @ matrix_transpose(B)), B @ matrix_transpose(A)
    yield matrix_transpose(matrix_transpose(A) @ B), matrix_transpose(B) @ A


@identity(tags=CANONICAL, rounding="exact")
def transpose_addo(A, B):
    """(A + B).mT = A.mT + B.mT.

    Holds where A and B have one shape.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.5.
    """
    return matrix_transpose(A + B), matrix_transpose(A) + matrix_transpose(B)


@identity(tags=TIDY, where=lambda A: symmetrico(A))
def remove_transpose_symmetrico(A):
    """A.mT = A for a symmetric A.

    The fact is about the exact value.
    Source: definition.
    """
    return matrix_transpose(A), A


@identity(tags=TIDY, where=lambda E: facto(E, "identity"), specials="assumes_finite")
def remove_matmul_eyeo(E, x):
    """E x = x = x E for an identity matrix E.

    Holds for vectors, matrices and batches.
    -0.0 may become 0.0.  0 times infinity is NaN.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.
    """
    yield E @ x, x
    yield x @ E, x


# Parts of a product that need less than the product.


@identity(tags=CANONICAL, rounding="exact")
def trace_transposeo(A):
    """trace(A.mT) = trace(A).

    Source: the diagonal is the same.
    """
    return trace(matrix_transpose(A)), trace(A)


@identity(tags=SPECIALIZE, where=lambda A, B: (matrixo(A), matrixo(B)), specials="assumes_finite")
def trace_matmulo(A, B):
    """trace(A B) = sum(A * B.mT).

    The order of summation differs, within n u sum |A * B.mT|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 5.2 (the Frobenius
    inner product).
    """
    return trace(A @ B), sum(A * matrix_transpose(B))


@identity(tags=CANONICAL, where=lambda A: matrixo(A))
def sum_diagonalo(A):
    """sum(diagonal(A)) = trace(A).

    The order of summation differs, within n u sum |a_ii|.
    Source: definition.
    """
    return sum(diagonal(A)), trace(A)


@identity(tags=SPECIALIZE, specials="assumes_finite")
def diagonal_matmulo(A, B):
    """diagonal(A B) = sum(A * B.mT, axis=-1).

    Holds for matrices, and batches of them, where A and B.mT have one shape.
    The error is within n u sum |A * B.mT|.
    Source: definition of the product.
    """
    return diagonal(A @ B), sum(A * matrix_transpose(B), axis=-1)


@identity(tags=SPECIALIZE, where=lambda A, B: (matrixo(A), matrixo(B)), specials="assumes_finite")
def sum_matmulo(A, B):
    """sum(A B) = sum(A, axis=-2) sum(B, axis=-1).

    The error is within (m + n + k) u sum |A| |B|.
    Source: 1' (A B) 1 = (1' A) (B 1).
    """
    return sum(A @ B), sum(A, axis=-2) @ sum(B, axis=-1)


@identity(tags=SPECIALIZE, where=lambda A, B: (matrixo(A), matrixo(B)), specials="assumes_finite")
def sum_rows_matmulo(A, B):
    """sum(A B, axis=-1) = A sum(B, axis=-1).

    The error is within (n + k) u |A| |B|.
    Source: (A B) 1 = A (B 1).
    """
    return sum(A @ B, axis=-1), A @ sum(B, axis=-1)


@identity(tags=SPECIALIZE, where=lambda A, B: (matrixo(A), matrixo(B)), specials="assumes_finite")
def sum_columns_matmulo(A, B):
    """sum(A B, axis=-2) = sum(A, axis=-2) B.

    The error is within (m + k) u |A| |B|.
    Source: 1' (A B) = (1' A) B.
    """
    return sum(A @ B, axis=-2), sum(A, axis=-2) @ B


# Signs, quotients and zeros.


@identity(tags=CANONICAL, specials="assumes_finite")
def lift_negative_matmulo(A, B):
    """(-A) B = -(A B) = A (-B).

    Holds modulo 2^n for integers.
    The order of summation differs.  -0.0 and overflow may occur inside of the product.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.
    """
    yield (-A) @ B, -(A @ B)
    yield A @ (-B), -(A @ B)


@identity(tags=CANONICAL, where=lambda s: scalaro(s), specials="assumes_finite", broadcast="*")
def lift_divide_matmulo(A, B, s):
    """(A / s) B = (A B) / s = A (B / s) for a scalar s.

    The error is within (n + 1) u |A| |B| / |s|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.
    """
    yield (A / s) @ B, (A @ B) / s
    yield A @ (B / s), (A @ B) / s


def _is_zero(x: Any) -> bool:
    return isinstance(x, Constant) and x.uniform is not None and not bool(x.value.any())


@identity(
    tags=CANONICAL,
    where=lambda zero: checko(_is_zero, zero, label=f"zero({zero!r})"),
    specials="assumes_finite",
)
def annihilate_matmulo(zero, x):
    """0 x = 0 = x 0 for a matrix of zeros.

    Holds for vectors, matrices and batches.
    -0.0 may become 0.0.  0 times infinity is NaN.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.
    """
    yield zero @ x, 0
    yield x @ zero, 0


# Outer products.


@identity(
    tags=SPECIALIZE,
    where=lambda u, v, x: (vectoro(u), vectoro(v), vectoro(x)),
    specials="assumes_finite",
    broadcast="*",
)
def associate_outer_vectoro(u, v, x):
    """(u v') x = u (v' x) for vectors.

    The error is within (n + 1) u |u| |v|' |x|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2 (associativity).
    """
    return outer(u, v) @ x, u * (v @ x)


@identity(
    tags=SPECIALIZE,
    where=lambda x, u, v: (vectoro(u), vectoro(v), vectoro(x)),
    specials="assumes_finite",
    broadcast="*",
)
def associate_vector_outero(x, u, v):
    """x' (u v') = (x' u) v' for vectors.

    The error is within (n + 1) u |x|' |u| |v|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2 (associativity).
    """
    return x @ outer(u, v), (x @ u) * v


@identity(
    tags=SPECIALIZE,
    where=lambda u, v, M: (vectoro(u), vectoro(v), matrixo(M)),
    specials="assumes_finite",
)
def associate_outer_matrixo(u, v, M):
    """(u v') B = u (v' B) and A (u v') = (A u) v' for matrices.

    The error is within (n + 1) u |u| |v|' |B|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2 (associativity).
    """
    yield outer(u, v) @ M, outer(u, v @ M)
    yield M @ outer(u, v), outer(M @ u, v)


@identity(tags=CANONICAL, rounding="exact")
def transpose_outero(u, v):
    """(u v').mT = v u'.

    Holds for vectors.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.5.
    """
    return matrix_transpose(outer(u, v)), outer(v, u)


@identity(tags=SPECIALIZE)
def trace_outero(u, v):
    """trace(u v') = u' v.

    Holds where u and v have one size.
    The order of summation differs.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 1.2.
    """
    return trace(outer(u, v)), u @ v


@identity(tags=SPECIALIZE, rounding="exact")
def diagonal_outero(u, v):
    """diagonal(u v') = u * v.

    Holds where u and v have one size.
    Source: definition of the product.
    """
    return diagonal(outer(u, v)), u * v


@identity(tags=SPECIALIZE, specials="assumes_finite")
def sum_outero(u, v):
    """sum(u v') = sum(u) sum(v).

    Holds for vectors.
    The error is within (m + n) u sum |u| sum |v|.
    Source: 1' (u v') 1 = (1' u) (v' 1).
    """
    return sum(outer(u, v)), sum(u) * sum(v)


@identity(
    tags=SPECIALIZE,
    where=lambda u, v: (vectoro(u), vectoro(v)),
    specials="assumes_finite",
    broadcast="*",
)
def sum_outer_axiso(u, v):
    """sum(u v', axis=-1) = u sum(v) and sum(u v', axis=-2) = sum(u) v.

    Holds for vectors.
    The error is within (n + 1) u |u| sum |v|.
    Source: (u v') 1 = u (v' 1).
    """
    yield sum(outer(u, v), axis=-1), u * sum(v)
    yield sum(outer(u, v), axis=-2), sum(u) * v


# Traces.


@identity(tags=SPECIALIZE, specials="assumes_finite")
def distribute_trace_addo(A, B):
    """trace(A + B) = trace(A) + trace(B).

    Holds where A and B have one shape.
    The order of summation differs.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 1.2.
    """
    return trace(A + B), trace(A) + trace(B)


@identity(tags=SPECIALIZE, specials="assumes_finite")
def distribute_trace_subtracto(A, B):
    """trace(A - B) = trace(A) - trace(B).

    Holds where A and B have one shape.
    The order of summation differs.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 1.2.
    """
    return trace(A - B), trace(A) - trace(B)


@identity(
    tags=CANONICAL,
    where=lambda s, A: (scalaro(s), numerico(A)),
    specials="assumes_finite",
    broadcast="s",
)
def lift_trace_multiplyo(s, A):
    """trace(s A) = s trace(A) for a scalar s.

    Holds modulo 2^n for 64-bit integers.
    The error is within n u |s| sum |a_ii|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 1.2.
    """
    return trace(s * A), s * trace(A)


# Products whose order or form is a matter of cost: for search.


@identity(tags=SEARCH, specials="assumes_finite")
def associate_matmulo(A, B, C):
    """(A B) C = A (B C).

    Holds for the ranks for which NumPy's products associate.
    The error is within 2 n u |A| |B| |C|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.
    """
    return (A @ B) @ C, A @ (B @ C)


@identity(tags=SEARCH, specials="assumes_finite")
def cycle_traceo(A, B):
    """trace(A B) = trace(B A).

    Holds for matrices.
    The order of summation differs, within n u sum |A * B.mT|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 1.2.
    """
    return trace(A @ B), trace(B @ A)


@identity(tags=SEARCH, where=lambda x, A: (vectoro(x), matrixo(A)), specials="assumes_finite")
def symmetric_quadratico(x, A):
    """x' A x = x' ((A + A.mT) / 2) x.

    The error is within 2 n u |x|' |A| |x|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 4.0.
    """
    return x @ A @ x, x @ ((A + matrix_transpose(A)) / 2) @ x


@identity(tags=SEARCH, where=lambda A, x: (vectoro(x), matrixo(A)), specials="assumes_finite")
def gram_quadratico(A, x):
    """(A x)' (A x) = x' (A.mT A) x.

    The error is within 2 (m + n) u |x|' |A|' |A| |x|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2.5.
    """
    return (A @ x) @ (A @ x), x @ (matrix_transpose(A) @ A) @ x


def summed_axes(s: Any) -> Any:
    """Return the axes that an einsum sums, if its operands have equal labels in one order."""
    operands, result = s.split("->")
    labels, *others = operands.split(",")
    kept = [label for label in labels if label in result]
    if any(x != labels for x in others) or len(set(labels)) < len(labels) or kept != [*result]:
        return None
    return tuple([i - len(labels) for i, label in enumerate(labels) if label not in result]) or None


@identity(tags=TIDY, where=lambda x, y, s, a: (floato(x), floato(y), calco(a, summed_axes, s)))
def expand_einsumo(x, y, s, a):
    """einsum(x, y, "ab,ab->a") = sum(x * y, axis=1), and so for any axes.

    Terms are added in another order.
    Source: definition.
    """
    return Einsum(s)(x, y), sum(x * y, axis=a)


RELATIONS = relations_in(
    globals(),
    backward=(
        distribute_matmul_addo,
        distribute_add_matmulo,
        distribute_matmul_subtracto,
        distribute_subtract_matmulo,
        transpose_matmulo,
        transpose_addo,
    ),
)
