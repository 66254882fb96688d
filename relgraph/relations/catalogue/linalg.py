"""Inverses, linear systems and determinants.

The ranks for which an identity holds (vectors, matrices, batches) are found by the engine; see
:mod:`relgraph.relations.rank_classes`.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from relgraph.ir.machine import op_seconds
from relgraph.ir.node import constant
from relgraph.ir.op import GetItem
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.contraction import Outer
from relgraph.ops.elementwise import Elementwise, power
from relgraph.ops.linalg.lapack import float_dtype
from relgraph.ops.linalg.solve import Det, Inv, Slogdet, Solve, SolveTriangular
from relgraph.ops.linalg.structured import Diag
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.shape import expand_dims
from relgraph.relations.catalogue import CANONICAL, SEARCH, SPECIALIZE, relations_in
from relgraph.relations.catalogue.conditions import matrixo, scalaro, vectoro
from relgraph.relations.catalogue.units import (
    identity_of_columns,
    static_side,
)
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import calco, checko, facto, floato, invertibleo, nonzeroo

divide = Elementwise("true_divide")
inv, det, diag = Inv(), Det(), Diag(0)
solve, solve_spd, solve_symmetric = Solve("general"), Solve("spd"), Solve("symmetric")
lower, upper = SolveTriangular(True, 0, False), SolveTriangular(False, 0, False)
slogdet, first, second, outer = Slogdet(), GetItem(0), GetItem(1), Outer()
beside, above = Concatenate(-1), Concatenate(-2)


def both_square(A: Any, B: Any) -> Any:
    """Relate square matrices."""
    return facto(A, "square"), facto(B, "square")


def blocks(A: Any, B: Any, C: Any, D: Any) -> Any:
    """Return [[A, B], [C, D]]."""
    return above(beside(A, B), beside(C, D))


@identity(tags=CANONICAL, specials="assumes_finite")
def cancel_inv_invo(A):
    """inv(inv(A)) = A.

    The left side raises where A is not invertible.  The error is within c n u cond(A) |A|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.5.
    """
    return inv(inv(A)), A


@identity(tags=CANONICAL, specials="assumes_finite")
def reverse_inv_matmulo(A, B):
    """inv(A B) = inv(B) inv(A).

    Holds where A and B are square and invertible.
    The error is within c n u cond(A) cond(B) |inv(B)| |inv(A)|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.5.
    """
    return inv(A @ B), inv(B) @ inv(A)


@identity(tags=SEARCH, specials="assumes_finite")
def solve_invo(A, b):
    """inv(A) b = solve(A, b).

    Holds where A is invertible.
    The error is within c n u cond(A) |x|, and the right side has the smaller residual.
    Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 14.1.
    """
    return inv(A) @ b, solve(A, b)


@identity(tags=CANONICAL, where=lambda A: invertibleo(A), specials="assumes_finite")
def cancel_solve_invo(A, b):
    """solve(inv(A), b) = A b.

    The left side proves that A is invertible.  The error is within c n u cond(A) |A| |b|.
    Source: definition.
    """
    return solve(inv(A), b), A @ b


@identity(
    tags=(*SPECIALIZE, "derived"),
    where=lambda v, B: (vectoro(v), matrixo(B), nonzeroo(v)),
    specials="assumes_finite",
    broadcast="*",
)
def divide_rowso(v, B):
    """solve(diag(v), B) = B / v[:, None] for a matrix B.

    The left side proves that no element of v is 0.  The error is within 2u |B / v|.  Derived from
    solve_diagonal_matrixo and cancel_diagonal_diago; kept, since it is one step.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return solve(diag(v), B), B / expand_dims(v, -1)


@identity(
    tags=(*SPECIALIZE, "derived"),
    where=lambda v, b: (vectoro(v), vectoro(b), nonzeroo(v)),
    specials="assumes_finite",
)
def divide_elementso(v, b):
    """solve(diag(v), b) = b / v for a vector b.

    The left side proves that no element of v is 0.  The error is within 2u |b / v|.  Derived from
    solve_diagonal_vectoro and cancel_diagonal_diago; kept, since it is one step.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 1.2.
    """
    return solve(diag(v), b), b / v


def system(op: Solve | SolveTriangular, fact: str) -> Any:
    """Return the conditions for an op that solves systems with matrices that have a fact.

    LAPACK takes the matrices of a batch one at a time, so a batch of small ones stays as it is.
    """

    def is_no_slower(A: Any, b: Any) -> bool:
        types, result = (A.type, b.type), op.result_type((A, b))
        if op.calls(types, result) == 1:
            return True
        return op_seconds(op, types, result) <= op_seconds(solve, types, result)

    def where(A: Any, b: Any) -> Any:
        return facto(A, fact), checko(is_no_slower, A, b, label="a batch is solved no slower")

    return where


@identity(tags=SPECIALIZE, where=system(lower, "lower_triangular"), specials="assumes_finite")
def solve_lower_triangularo(A, b):
    """solve(L, b) = L^-1 b by forward substitution.

    Holds where L is invertible.
    The error is within c n u cond(L) |x|.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 3.1.
    """
    return solve(A, b), lower(A, b)


@identity(tags=SPECIALIZE, where=system(upper, "upper_triangular"), specials="assumes_finite")
def solve_upper_triangularo(A, b):
    """solve(U, b) = U^-1 b by back substitution.

    Holds where U is invertible.
    The error is within c n u cond(U) |x|.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 3.1.
    """
    return solve(A, b), upper(A, b)


@identity(tags=SPECIALIZE, specials="assumes_finite")
def solve_transposed_triangleo(A, b):
    """solve(tril(A'), b) = solve(triu(A)', b), and so for the other triangle and for transposes.

    Source: tril(A') = triu(A)'.
    """
    for low, trans, unit in product((True, False), (0, 1), (True, False)):
        yield (
            SolveTriangular(low, trans, unit)(matrix_transpose(A), b),
            SolveTriangular(not low, 1 - trans, unit)(A, b),
        )


@identity(tags=SPECIALIZE, where=system(solve_spd, "spd"), specials="assumes_finite")
def solve_spdo(A, b):
    """solve(A, b) = A^-1 b by Cholesky's factor.

    The error is within c n u cond(A) |x|.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 4.2.
    """
    yield solve(A, b), solve_spd(A, b)
    yield solve_symmetric(A, b), solve_spd(A, b)


@identity(tags=SPECIALIZE, where=system(solve_symmetric, "symmetric"), specials="assumes_finite")
def solve_symmetrico(A, b):
    """solve(A, b) = A^-1 b by the symmetric factors of Bunch and Kaufman.

    Holds where A is invertible.
    The error is within c n u cond(A) |x|.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 4.4.
    """
    return solve(A, b), solve_symmetric(A, b)


@identity(tags=CANONICAL, specials="assumes_finite")
def det_transposeo(A):
    """det(A.mT) = det(A).

    The error is within c n u cond(A) |det(A)|.  An elimination with infinities may give 0 or NaN.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.3.
    """
    return det(matrix_transpose(A)), det(A)


@identity(tags=CANONICAL, where=lambda A: invertibleo(A), specials="assumes_finite")
def det_invo(A):
    """det(inv(A)) = 1 / det(A).

    The left side proves that A is invertible.  The error is within c n u cond(A) |1 / det(A)|.
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

    The error is within c n u cond(A) cond(B) |det(A) det(B)|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.3.5.
    """
    return det(A @ B), det(A) * det(B)


@identity(tags=CANONICAL, specials="assumes_finite")
def transpose_invo(A):
    """inv(A.mT) = inv(A).mT.

    Holds where A is invertible.
    The error is within c n u cond(A) |inv(A)|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.5.
    """
    return inv(matrix_transpose(A)), matrix_transpose(inv(A))


@identity(
    tags=CANONICAL,
    where=lambda s: (scalaro(s), nonzeroo(s)),
    specials="assumes_finite",
    broadcast="s",
)
def lift_inv_multiplyo(s, A):
    """inv(s A) = inv(A) / s for a scalar s.

    Holds where A is invertible.
    The error is within c n u cond(A) |inv(A)| / |s|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.5.
    """
    return inv(s * A), divide(inv(A), s)


@identity(tags=CANONICAL, specials="assumes_finite")
def lift_inv_negativeo(A):
    """inv(-A) = -inv(A).

    Holds where A is invertible.
    The error is within c n u cond(A) |inv(A)|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.5.
    """
    return inv(-A), -inv(A)


@identity(tags=SEARCH, where=lambda A, B: (matrixo(A), matrixo(B)), specials="assumes_finite")
def solve_inv_righto(A, B):
    """B inv(A) = solve(A.mT, B.mT).mT for matrices.

    Holds where A is invertible.
    The error is within c n u cond(A) |B| |inv(A)|.
    Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 14.1.
    """
    swap = matrix_transpose
    return B @ inv(A), swap(solve(swap(A), swap(B)))


@identity(tags=SEARCH, where=lambda A, b: (matrixo(A), vectoro(b)), specials="assumes_finite")
def solve_inv_vectoro(A, b):
    """b' inv(A) = solve(A.mT, b) for a vector b.

    Holds where A is invertible.
    The error is within c n u cond(A) |b| |inv(A)|.
    Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 14.1.
    """
    return b @ inv(A), solve(matrix_transpose(A), b)


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_solve_addo(A, b, c):
    """solve(A, b + c) = solve(A, b) + solve(A, c).

    Holds where b and c have one shape.
    The error is within c n u cond(A) (|x| + |y|).
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2 (linearity).
    """
    return solve(A, b + c), solve(A, b) + solve(A, c)


@identity(tags=(*CANONICAL, "add_canonical"), specials="assumes_finite")
def distribute_solve_subtracto(A, b, c):
    """solve(A, b - c) = solve(A, b) - solve(A, c).

    Holds where b and c have one shape.
    The error is within c n u cond(A) (|x| + |y|).
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2 (linearity).
    """
    return solve(A, b - c), solve(A, b) - solve(A, c)


@identity(
    tags=CANONICAL,
    where=lambda A, s: (scalaro(s), matrixo(A)),
    specials="assumes_finite",
    broadcast="s",
)
def lift_solve_multiplyo(A, s, b):
    """solve(A, s b) = s solve(A, b) for a scalar s.

    Holds where A is invertible.
    The error is within c n u cond(A) |s x|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.2 (linearity).
    """
    return solve(A, s * b), s * solve(A, b)


@identity(
    tags=CANONICAL,
    where=lambda s: (scalaro(s), nonzeroo(s)),
    specials="assumes_finite",
    broadcast="s",
)
def lift_solve_scaledo(s, A, b):
    """solve(s A, b) = solve(A, b) / s for a scalar s.

    Holds where A is invertible.
    The error is within c n u cond(A) |x|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.5.
    """
    return solve(s * A, b), divide(solve(A, b), s)


def power_of_side(s: Any, A: Any) -> Any:
    """Return ``s`` to the power of the static size of a square matrix, or None."""
    size = static_side(A)
    return None if size is None else power(s, constant(size, float_dtype(A.type)))


power_of_side.of_type = True  # type: ignore[attr-defined]


@identity(
    tags=CANONICAL,
    where=lambda s, A, factor: (scalaro(s), floato(A), calco(factor, power_of_side, s, A)),
    specials="assumes_finite",
    broadcast="s",
)
def lift_det_multiplyo(s, A, factor):
    """det(s A) = s^n det(A) for a scalar s and A of n by n.

    The error is within c n u cond(A) |s^n det(A)|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.3.
    """
    return det(s * A), factor * det(A)


@identity(tags=CANONICAL, specials="assumes_finite")
def sign_transposeo(A):
    """sign(det(A.mT)) = sign(det(A)), by slogdet.

    The elimination runs in another order.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.3.
    """
    return first(slogdet(matrix_transpose(A))), first(slogdet(A))


@identity(tags=CANONICAL, specials="assumes_finite")
def logdet_transposeo(A):
    """log |det(A.mT)| = log |det(A)|, by slogdet.

    The error is within c n u cond(A).
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.3.
    """
    return second(slogdet(matrix_transpose(A))), second(slogdet(A))


@identity(tags=CANONICAL, where=lambda A: invertibleo(A), specials="assumes_finite")
def sign_invo(A):
    """sign(det(inv(A))) = sign(det(A)), by slogdet.

    The left side proves that A is invertible.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.3.
    """
    return first(slogdet(inv(A))), first(slogdet(A))


@identity(tags=CANONICAL, where=lambda A: invertibleo(A), specials="assumes_finite")
def logdet_invo(A):
    """log |det(inv(A))| = -log |det(A)|, by slogdet.

    The left side proves that A is invertible.  The error is within c n u cond(A).
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.3.
    """
    return second(slogdet(inv(A))), -second(slogdet(A))


@identity(tags=CANONICAL, where=both_square, specials="assumes_finite")
def sign_matmulo(A, B):
    """sign(det(A B)) = sign(det(A)) sign(det(B)), by slogdet.

    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.3.5.
    """
    return first(slogdet(A @ B)), first(slogdet(A)) * first(slogdet(B))


@identity(tags=CANONICAL, where=both_square, specials="assumes_finite")
def logdet_matmulo(A, B):
    """log |det(A B)| = log |det(A)| + log |det(B)|, by slogdet.

    The error is within c n u (cond(A) + cond(B)).
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.3.5.
    """
    return second(slogdet(A @ B)), second(slogdet(A)) + second(slogdet(B))


# Low-rank updates and blocks: which side is cheaper is a matter of sizes, so they are for search.


@identity(
    tags=SEARCH,
    where=lambda A, C: (invertibleo(A), invertibleo(C)),
    specials="assumes_finite",
)
def woodburyo(A, U, C, V):
    """inv(A + U C V) = inv(A) - inv(A) U inv(inv(C) + V inv(A) U) V inv(A).

    Holds where the left side exists.
    The error is within c n u cond(A) cond(C + V inv(A) U).
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 2.1.4.
    """
    inner = inv(inv(C) + V @ inv(A) @ U)
    return inv(A + U @ C @ V), inv(A) - inv(A) @ U @ inner @ V @ inv(A)


@identity(
    tags=SEARCH,
    where=lambda A, C: (invertibleo(A), invertibleo(C)),
    specials="assumes_finite",
)
def push_througho(A, U, C, V):
    """inv(A + U C V) U C = inv(A) U inv(inv(C) + V inv(A) U).

    Holds where the left side exists.
    The error is within c n u cond(A) cond(C).
    Source: U C (inv(C) + V inv(A) U) = (A + U C V) inv(A) U.
    """
    return inv(A + U @ C @ V) @ U @ C, inv(A) @ U @ inv(inv(C) + V @ inv(A) @ U)


@identity(
    tags=SEARCH,
    where=lambda A, u, v: (invertibleo(A), matrixo(A), vectoro(u), vectoro(v)),
    specials="assumes_finite",
    broadcast="*",
)
def sherman_morrisono(A, u, v):
    """inv(A + u v') = inv(A) - (inv(A) u) (v' inv(A)) / (1 + v' inv(A) u).

    Holds where the left side exists.
    The error is within c n u cond(A)^2.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 2.1.4.
    """
    scale = 1 + v @ inv(A) @ u
    return inv(A + outer(u, v)), inv(A) - outer(inv(A) @ u, v @ inv(A)) / scale


@identity(
    tags=SEARCH,
    where=lambda A, u, v: (invertibleo(A), matrixo(A), vectoro(u), vectoro(v)),
    specials="assumes_finite",
    broadcast="*",
)
def det_rank_oneo(A, u, v):
    """det(A + u v') = (1 + v' solve(A, u)) det(A).

    The error is within c n u cond(A) |det(A)|.
    Source: D. A. Harville, Matrix Algebra From a Statistician's Perspective, theorem 18.1.1.
    """
    return det(A + outer(u, v)), (1 + v @ solve(A, u)) * det(A)


@identity(
    tags=SEARCH,
    where=lambda A, U, unit: (
        invertibleo(A),
        matrixo(A),
        matrixo(U),
        calco(unit, identity_of_columns, U),
    ),
    specials="assumes_finite",
)
def det_lemmao(A, U, V, unit):
    """det(A + U V) = det(I + V solve(A, U)) det(A).

    The error is within c n u cond(A) |det|.
    Source: D. A. Harville, Matrix Algebra From a Statistician's Perspective, theorem 18.1.1.
    """
    return det(A + U @ V), det(unit + V @ solve(A, U)) * det(A)


@identity(
    tags=SEARCH,
    where=lambda A, D: (invertibleo(A), facto(D, "square"), matrixo(A), matrixo(D)),
    specials="assumes_finite",
)
def schur_complemento(A, B, C, D):
    """det([[A, B], [C, D]]) = det(A) det(D - C solve(A, B)).

    The error is within c n u cond(A) |det|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.8.5.
    """
    return det(blocks(A, B, C, D)), det(A) * det(D - C @ solve(A, B))


@identity(
    tags=SEARCH,
    where=lambda A, D: (invertibleo(A), facto(D, "square"), matrixo(A), matrixo(D)),
    specials="assumes_finite",
)
def inv_blockso(A, B, C, D):
    """inv([[A, B], [C, D]]) = [[E + F inv(S) G, -F inv(S)], [-inv(S) G, inv(S)]].

    Holds where the left side exists.
    Here E = inv(A), F = E B, G = C E and S = D - C F.  The error is within c n u cond(A) cond(S).
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.7.3.
    """
    F, G = inv(A) @ B, C @ inv(A)
    S = D - C @ F
    inner = blocks(inv(A) + F @ inv(S) @ G, -(F @ inv(S)), -(inv(S) @ G), inv(S))
    return inv(blocks(A, B, C, D)), inner


RELATIONS = relations_in(
    globals(),
    backward=(
        reverse_inv_matmulo,
        distribute_solve_addo,
        distribute_solve_subtracto,
    ),
)
