"""Kronecker products and block-diagonal matrices: work on their blocks costs less.

A block-diagonal matrix of any number of blocks is nested to the right, so a relation on two blocks
serves them all.
"""

from __future__ import annotations

from typing import Any

from relgraph.ir.node import constant
from relgraph.ir.op import GetItem
from relgraph.numpy.reductions import sum
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.contraction import Outer
from relgraph.ops.elementwise import power
from relgraph.ops.linalg.blocks import BlockDiag, Kron
from relgraph.ops.linalg.factorisations import Expm
from relgraph.ops.linalg.lapack import float_dtype
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Slogdet
from relgraph.ops.linalg.structured import Diag, Diagonal, Trace
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.shape import Reshape
from relgraph.relations.catalogue import CANONICAL, relations_in
from relgraph.relations.catalogue.conditions import matrixo, vectoro
from relgraph.relations.catalogue.linalg import both_square
from relgraph.relations.catalogue.units import static_side
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import calco, facto, floato

inv, det, slogdet, expm, lower_factor = Inv(), Det(), Slogdet(), Expm(), Cholesky(True)
first, second, trace, diag, diagonal = GetItem(0), GetItem(1), Trace(), Diag(0), Diagonal(0)
kron, block_diag, outer, concatenate = Kron(), BlockDiag(), Outer(), Concatenate(-1)


def raveled(x: Any) -> Any:
    """Return the elements of a pattern in one vector."""
    return Reshape((-1,))(x)


# Kronecker products.


@identity(tags=CANONICAL, rounding="exact")
def transpose_krono(A, B):
    """kron(A, B).mT = kron(A.mT, B.mT).

    Holds for matrices.
    Source: R. A. Horn and C. R. Johnson, Topics in Matrix Analysis, section 4.2.
    """
    return matrix_transpose(kron(A, B)), kron(matrix_transpose(A), matrix_transpose(B))


@identity(tags=CANONICAL, specials="assumes_finite")
def multiply_krono(A, B, C, D):
    """kron(A, B) kron(C, D) = kron(A C, B D).

    Holds where the products A C and B D exist.
    The error is within n u |kron(A, B)| |kron(C, D)|.
    Source: R. A. Horn and C. R. Johnson, Topics in Matrix Analysis, section 4.2, lemma 4.2.10.
    """
    return kron(A, B) @ kron(C, D), kron(A @ C, B @ D)


@identity(tags=CANONICAL, specials="assumes_finite")
def distribute_krono(A, B, C):
    """kron(A, B + C) = kron(A, B) + kron(A, C).

    Holds where B and C have one shape.
    The error is within u |A| (|B| + |C|).
    Source: R. A. Horn and C. R. Johnson, Topics in Matrix Analysis, section 4.2.
    """
    return kron(A, B + C), kron(A, B) + kron(A, C)


@identity(tags=CANONICAL, specials="assumes_finite")
def distribute_kron_lefto(A, B, C):
    """kron(A + B, C) = kron(A, C) + kron(B, C).

    Holds where A and B have one shape.
    The error is within u (|A| + |B|) |C|.
    Source: R. A. Horn and C. R. Johnson, Topics in Matrix Analysis, section 4.2.
    """
    return kron(A + B, C), kron(A, C) + kron(B, C)


@identity(tags=CANONICAL, where=both_square, specials="assumes_finite")
def inv_krono(A, B):
    """inv(kron(A, B)) = kron(inv(A), inv(B)).

    Holds where A and B are invertible.
    The error is within c n u cond(A) cond(B) |inv|.
    Source: R. A. Horn and C. R. Johnson, Topics in Matrix Analysis, section 4.2, corollary
    4.2.11.
    """
    return inv(kron(A, B)), kron(inv(A), inv(B))


@identity(
    tags=CANONICAL,
    where=lambda A, B: (facto(A, "spd"), facto(B, "spd")),
    specials="assumes_finite",
)
def cholesky_krono(A, B):
    """cholesky(kron(A, B)) = kron(cholesky(A), cholesky(B)).

    The error is within c n u cond(A) cond(B).
    Source: C. F. Van Loan, "The ubiquitous Kronecker product", J. Comput. Appl. Math. 123
    (2000), section 2.
    """
    return lower_factor(kron(A, B)), kron(lower_factor(A), lower_factor(B))


def of_factors(combine: Any) -> Any:
    """Return a function that makes a graph of two square matrices and their static sizes."""

    def made(A: Any, B: Any) -> Any:
        m, n = static_side(A), static_side(B)
        if m is None or n is None:
            return None
        return combine(A, B, *[constant(k, float_dtype(x.type)) for k, x in ((m, A), (n, B))])

    made.of_type = True  # type: ignore[attr-defined]
    made.__name__ = combine.__name__
    return made


@of_factors
def determinant(A, B, m, n):
    return power(det(A), n) * power(det(B), m)


@of_factors
def logarithm(A, B, m, n):
    return n * second(slogdet(A)) + m * second(slogdet(B))


@of_factors
def signum(A, B, m, n):
    return power(first(slogdet(A)), n) * power(first(slogdet(B)), m)


@identity(
    tags=CANONICAL,
    where=lambda A, B, value: (floato(A), floato(B), calco(value, determinant, A, B)),
    specials="assumes_finite",
)
def det_krono(A, B, value):
    """det(kron(A, B)) = det(A)^n det(B)^m for A of m by m and B of n by n.

    The error is within c m n u cond(A) cond(B) |det|.
    Source: R. A. Horn and C. R. Johnson, Topics in Matrix Analysis, section 4.2, problem 1.
    """
    return det(kron(A, B)), value


@identity(
    tags=CANONICAL,
    where=lambda A, B, value: (floato(A), floato(B), calco(value, logarithm, A, B)),
    specials="assumes_finite",
)
def logdet_krono(A, B, value):
    """log |det(kron(A, B))| = n log |det(A)| + m log |det(B)|, by slogdet.

    A is m by m and B is n by n; m and n are static.  The error is within c m n u (cond(A) +
    cond(B)).
    Source: R. A. Horn and C. R. Johnson, Topics in Matrix Analysis, section 4.2, problem 1.
    """
    return second(slogdet(kron(A, B))), value


@identity(
    tags=CANONICAL,
    where=lambda A, B, value: (floato(A), floato(B), calco(value, signum, A, B)),
    specials="assumes_finite",
)
def sign_krono(A, B, value):
    """sign(det(kron(A, B))) = sign(det(A))^n sign(det(B))^m, by slogdet.

    A is m by m and B is n by n; m and n are static.
    Source: R. A. Horn and C. R. Johnson, Topics in Matrix Analysis, section 4.2, problem 1.
    """
    return first(slogdet(kron(A, B))), value


@identity(tags=CANONICAL, where=both_square, specials="assumes_finite")
def trace_krono(A, B):
    """trace(kron(A, B)) = trace(A) trace(B).

    The error is within (m + n) u sum |a_ii| sum |b_jj|.
    Source: R. A. Horn and C. R. Johnson, Topics in Matrix Analysis, section 4.2, problem 12.
    """
    return trace(kron(A, B)), trace(A) * trace(B)


@identity(tags=CANONICAL, where=both_square, rounding="exact")
def diagonal_krono(A, B):
    """diagonal(kron(A, B)) = ravel(diagonal(A) diagonal(B).mT).

    Source: definition.
    """
    return diagonal(kron(A, B)), raveled(outer(diagonal(A), diagonal(B)))


@identity(tags=CANONICAL, specials="assumes_finite")
def sum_krono(A, B):
    """sum(kron(A, B)) = sum(A) sum(B).

    The error is within (m + n) u sum |A| sum |B|.
    Source: 1' kron(A, B) 1 = kron(1' A 1, 1' B 1).
    """
    return sum(kron(A, B)), sum(A) * sum(B)


@identity(
    tags=CANONICAL,
    where=lambda C, D: (facto(C, "diagonal"), facto(D, "diagonal")),
    specials="assumes_finite",
)
def kron_diagonalo(C, D):
    """kron(C, D) = diag(ravel(diagonal(C) diagonal(D).mT)) for diagonal C and D.

    0 times infinity is NaN.
    Source: R. A. Horn and C. R. Johnson, Topics in Matrix Analysis, section 4.2.
    """
    return kron(C, D), diag(raveled(outer(diagonal(C), diagonal(D))))


# Block-diagonal matrices.


def square_blocks(A: Any, B: Any) -> Any:
    """Relate square matrices, not batches of them."""
    return facto(A, "square"), facto(B, "square"), matrixo(A), matrixo(B)


@identity(tags=CANONICAL, rounding="exact")
def fuse_block_diago(A, B, C):
    """block_diag(block_diag(A, B), C) = block_diag(A, block_diag(B, C)).

    Holds for matrices, and batches of them.
    Source: definition.
    """
    return block_diag(block_diag(A, B), C), block_diag(A, block_diag(B, C))


@identity(tags=CANONICAL, rounding="exact")
def transpose_block_diago(A, B):
    """block_diag(A, B).mT = block_diag(A.mT, B.mT).

    Holds for matrices, and batches of them.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.2.
    """
    return (
        matrix_transpose(block_diag(A, B)),
        block_diag(matrix_transpose(A), matrix_transpose(B)),
    )


@identity(tags=CANONICAL, specials="assumes_finite")
def multiply_block_diago(A, B, C, D):
    """block_diag(A, B) block_diag(C, D) = block_diag(A C, B D).

    Holds where the products A C and B D exist.
    Zero times infinity is NaN.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.2.
    """
    return block_diag(A, B) @ block_diag(C, D), block_diag(A @ C, B @ D)


@identity(tags=CANONICAL)
def add_block_diago(A, B, C, D):
    """block_diag(A, B) + block_diag(C, D) = block_diag(A + C, B + D).

    Holds where A and C, and B and D, have one shape.
    0.0 + -0.0 is 0.0.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.2.
    """
    return block_diag(A, B) + block_diag(C, D), block_diag(A + C, B + D)


@identity(tags=CANONICAL, where=square_blocks, specials="assumes_finite")
def inv_block_diago(A, B):
    """inv(block_diag(A, B)) = block_diag(inv(A), inv(B)).

    Holds where A and B are invertible.
    The error is within c n u cond |inv|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.2.
    """
    return inv(block_diag(A, B)), block_diag(inv(A), inv(B))


@identity(
    tags=CANONICAL,
    where=lambda A, B: (facto(A, "spd"), facto(B, "spd"), matrixo(A), matrixo(B)),
    specials="assumes_finite",
)
def cholesky_block_diago(A, B):
    """cholesky(block_diag(A, B)) = block_diag(cholesky(A), cholesky(B)).

    The error is within c n u cond.
    Source: (L M)(L M).mT has the blocks L L.mT and M M.mT.
    """
    return lower_factor(block_diag(A, B)), block_diag(lower_factor(A), lower_factor(B))


@identity(tags=CANONICAL, where=square_blocks, specials="assumes_finite")
def det_block_diago(A, B):
    """det(block_diag(A, B)) = det(A) det(B).

    The error is within c n u cond |det|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.2.
    """
    return det(block_diag(A, B)), det(A) * det(B)


@identity(tags=CANONICAL, where=square_blocks, specials="assumes_finite")
def logdet_block_diago(A, B):
    """log |det(block_diag(A, B))| = log |det(A)| + log |det(B)|, by slogdet.

    The error is within c n u (cond(A) + cond(B)).
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.2.
    """
    return second(slogdet(block_diag(A, B))), second(slogdet(A)) + second(slogdet(B))


@identity(tags=CANONICAL, where=square_blocks, specials="assumes_finite")
def sign_block_diago(A, B):
    """sign(det(block_diag(A, B))) = sign(det(A)) sign(det(B)), by slogdet.

    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 0.9.2.
    """
    return first(slogdet(block_diag(A, B))), first(slogdet(A)) * first(slogdet(B))


@identity(tags=CANONICAL, where=square_blocks)
def trace_block_diago(A, B):
    """trace(block_diag(A, B)) = trace(A) + trace(B).

    The order of summation differs.
    Source: definition.
    """
    return trace(block_diag(A, B)), trace(A) + trace(B)


@identity(tags=CANONICAL, where=square_blocks, rounding="exact")
def diagonal_block_diago(A, B):
    """diagonal(block_diag(A, B)) = concatenate(diagonal(A), diagonal(B)).

    Source: definition.
    """
    return diagonal(block_diag(A, B)), concatenate(diagonal(A), diagonal(B))


@identity(tags=CANONICAL, where=lambda A, B: (matrixo(A), matrixo(B)), specials="assumes_finite")
def sum_block_diago(A, B):
    """sum(block_diag(A, B)) = sum(A) + sum(B).

    The order of summation differs.
    Source: definition.
    """
    return sum(block_diag(A, B)), sum(A) + sum(B)


@identity(
    tags=CANONICAL,
    where=lambda A, B: (*square_blocks(A, B), floato(A), floato(B)),
    specials="assumes_finite",
)
def expm_block_diago(A, B):
    """expm(block_diag(A, B)) = block_diag(expm(A), expm(B)).

    The error is within the accuracy of expm.
    Source: N. J. Higham, Functions of Matrices, theorem 1.13.
    """
    return expm(block_diag(A, B)), block_diag(expm(A), expm(B))


@identity(tags=CANONICAL, where=lambda u, v: (vectoro(u), vectoro(v)), rounding="exact")
def block_diag_diago(u, v):
    """block_diag(diag(u), diag(v)) = diag(concatenate(u, v)).

    Source: definition.
    """
    return block_diag(diag(u), diag(v)), diag(concatenate(u, v))


RELATIONS = relations_in(
    globals(),
    backward=(
        transpose_krono,
        distribute_krono,
        distribute_kron_lefto,
        transpose_block_diago,
    ),
)
