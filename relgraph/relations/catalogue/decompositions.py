"""Factorisations of diagonal matrices, products of factors, and results that need no factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.ir.node import constant
from relgraph.ir.op import GetItem
from relgraph.numpy.reductions import prod, sum
from relgraph.ops.elementwise import Elementwise, absolute, exp, less, square, where
from relgraph.ops.indexing.index import Index
from relgraph.ops.linalg.factored_solve import SolveSylvester
from relgraph.ops.linalg.factorisations import (
    LU,
    QR,
    QZ,
    SVD,
    Eigh,
    Eigvalsh,
    Expm,
    LUFactor,
    Schur,
)
from relgraph.ops.linalg.solve import Det, Inv
from relgraph.ops.linalg.structured import Diag, Diagonal, Trace
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.shape import expand_dims
from relgraph.ops.sorting import Argsort, Sort
from relgraph.relations.catalogue import SPECIALIZE, TIDY, relations_in
from relgraph.relations.catalogue.conditions import matrixo
from relgraph.relations.catalogue.units import identity_like
from relgraph.relations.decorators import identity
from relgraph.relations.kanren.goals import calco, checko, facto, floato, symmetrico

inv, det, expm, diag, diagonal = Inv(), Det(), Expm(), Diag(0), Diagonal(0)
trace, divide = Trace(), Elementwise("true_divide")
first, second, third, fourth = GetItem(0), GetItem(1), GetItem(2), GetItem(3)
lu, lu_factor, schur, qz, sylvester = LU(), LUFactor(), Schur(), QZ(), SolveSylvester()
sort, argsort, rows = Sort(-1), Argsort(-1), Index((("array",),))


# Of diagonal matrices.


@identity(
    tags=SPECIALIZE,
    where=lambda D: (facto(D, "diagonal"), floato(D)),
    specials="assumes_finite",
)
def eigvalsh_diagonalo(D):
    """eigvalsh(D) = sort(diagonal(D)) for a diagonal D.

    The error is within c n u max |d|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 1.1.
    """
    return Eigvalsh(True)(D), sort(diagonal(D))


@identity(tags=SPECIALIZE, specials="assumes_finite")
def eigh_diagonalo(D, unit):
    """eigh(D) = (sort(d), I[argsort(d)].mT) for a diagonal D with the diagonal d.

    For equal eigenvalues, other eigenvectors may be computed.  The error is within c n u max |d|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 1.1.
    """
    both = (facto(D, "diagonal"), floato(D), matrixo(D))
    values, vectors = first(Eigh(True)(D)), second(Eigh(True)(D))
    ordered = rows(unit, argsort(diagonal(D)))
    yield values, sort(diagonal(D)), both
    yield vectors, matrix_transpose(ordered), (calco(unit, identity_like, D), *both)


@identity(
    tags=SPECIALIZE,
    where=lambda D: (facto(D, "diagonal"), floato(D), matrixo(D)),
    specials="assumes_finite",
)
def svd_diagonalo(D, full):
    """svd(D)[1] = -sort(-|diagonal(D)|) for a diagonal D.

    The vectors of equal singular values are not determined, so U and V are left as they are.  The
    error is within c n u max |d|.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 2.4.
    """
    return second(SVD(full)(D)), -sort(-absolute(diagonal(D)))


@identity(tags=SPECIALIZE, specials="assumes_finite")
def qr_diagonalo(D, unit, mode):
    """qr(D) = (I, D) for a diagonal D.

    The signs are those that LAPACK gives.  Zeros may differ in sign.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 5.2.
    """
    both = (facto(D, "diagonal"), floato(D))
    yield first(QR(mode)(D)), unit, (calco(unit, identity_like, D), *both)
    yield second(QR(mode)(D)), D, both


@identity(tags=SPECIALIZE, specials="assumes_finite")
def lu_diagonalo(D, unit):
    """lu(D) = (I, I, D) for a diagonal D.

    Zeros may differ in sign.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 3.2.
    """
    both = (facto(D, "diagonal"), floato(D))
    is_identity = calco(unit, identity_like, D)
    yield first(lu(D)), unit, (is_identity, *both)
    yield second(lu(D)), unit, (is_identity, *both)
    yield third(lu(D)), D, both


def places(A: Any) -> Any:
    """Return the interchanges that leave each row in place, where the size is static."""
    size = A.type.shape[-1]
    return constant(np.arange(size, dtype="int32")) if isinstance(size, int) else None


places.of_type = True  # type: ignore[attr-defined]


@identity(tags=SPECIALIZE, specials="assumes_finite")
def lu_factor_diagonalo(D, pivots):
    """lu_factor(D) = (D, [0, ..., n - 1]) for a diagonal D.

    The interchanges need a static n.  Zeros may differ in sign.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 3.4.
    """
    both = (facto(D, "diagonal"), floato(D), matrixo(D))
    yield first(lu_factor(D)), D, both
    yield second(lu_factor(D)), pivots, (calco(pivots, places, D), *both)


@identity(tags=SPECIALIZE, specials="assumes_finite")
def schur_diagonalo(D, unit):
    """schur(D) = (D, I) for a diagonal D.

    Zeros may differ in sign.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 7.1.3.
    """
    both = (facto(D, "diagonal"), floato(D))
    yield first(schur(D)), D, both
    yield second(schur(D)), unit, (calco(unit, identity_like, D), *both)


def one_type(C: Any, D: Any) -> bool:
    """Return True if two matrices have one type."""
    return bool(C.type == D.type)


@identity(tags=SPECIALIZE, specials="assumes_finite")
def qz_diagonalo(C, D, unit):
    """qz(C, D) = (C S, |D|, I, S) for diagonal C and D, where S has the signs of D.

    The signs are those that LAPACK gives.  Zeros may differ in sign.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 7.7.
    """
    both = (facto(C, "diagonal"), facto(D, "diagonal"), floato(C), floato(D), matrixo(C))
    same = checko(one_type, C, D)
    signs = where(less(diagonal(D), 0), -1.0, 1.0)
    yield first(qz(C, D)), diag(diagonal(C) * signs), (*both, same)
    yield second(qz(C, D)), diag(absolute(diagonal(D))), (*both, same)
    yield third(qz(C, D)), unit, (calco(unit, identity_like, C), *both, same)
    yield fourth(qz(C, D)), diag(signs), (*both, same)


@identity(
    tags=SPECIALIZE,
    where=lambda D: (facto(D, "diagonal"), floato(D)),
    specials="assumes_finite",
)
def expm_diagonalo(D):
    """expm(D) = diag(exp(diagonal(D))) for a diagonal D.

    The error is within the accuracy of expm.
    Source: N. J. Higham, Functions of Matrices, section 1.2.
    """
    return expm(D), diag(exp(diagonal(D)))


@identity(
    tags=SPECIALIZE,
    where=lambda C, D, Q: (
        facto(C, "diagonal"),
        facto(D, "diagonal"),
        matrixo(C),
        matrixo(D),
        matrixo(Q),
    ),
    specials="assumes_finite",
    broadcast="*",
)
def sylvester_diagonalo(C, D, Q):
    """solve_sylvester(C, D, Q) = Q / (diagonal(C)[:, None] + diagonal(D)) for diagonal C and D.

    Holds where no sum is 0.
    The error is within c u |x|.
    Source: R. A. Horn and C. R. Johnson, Topics in Matrix Analysis, section 4.4.
    """
    return sylvester(C, D, Q), divide(Q, expand_dims(diagonal(C), -1) + diagonal(D))


# Factors put together again.


@identity(tags=TIDY, where=lambda A: floato(A), specials="assumes_finite")
def recompose_factorso(A, mode):
    """Q R = A by qr(A), and P L U = A by lu(A).

    The error is within c n u |A|.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., sections 3.2 and 5.2.
    """
    P, L, U = first(lu(A)), second(lu(A)), third(lu(A))
    yield first(QR(mode)(A)) @ second(QR(mode)(A)), A
    yield (P @ L) @ U, A
    yield P @ (L @ U), A


@identity(tags=TIDY, where=lambda A: floato(A), specials="assumes_finite")
def recompose_schuro(A):
    """Z T Z.mT = A by schur(A).

    The error is within c n u |A|.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 7.4.
    """
    T, Z = first(schur(A)), second(schur(A))
    back = matrix_transpose(Z)
    yield (Z @ T) @ back, A
    yield Z @ (T @ back), A


@identity(tags=TIDY, specials="assumes_finite", broadcast="*")
def recompose_valueso(A, lower):
    """(V * w) V.mT = A by eigh(A), and (U * S) Vh = A by svd(A).

    The product of eigh needs a symmetric A; in that of svd, U and V are not full.  The error is
    within c n u |A|.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., sections 2.4 and 8.1.
    """
    w, V = first(Eigh(lower)(A)), second(Eigh(lower)(A))
    U, S, Vh = (item(SVD(False)(A)) for item in (first, second, third))
    yield (V * w) @ matrix_transpose(V), A, (symmetrico(A), floato(A), matrixo(A))
    yield (U * S) @ Vh, A, (floato(A), matrixo(A))


# What needs no factorisation, or less of one.


@identity(tags=SPECIALIZE, where=lambda A: (symmetrico(A), floato(A)), specials="assumes_finite")
def sum_eigvalsho(A, lower):
    """sum(eigvalsh(A), axis=-1) = trace(A) for a symmetric A.

    The error is within c n u |A|.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 1.2.
    """
    values = Eigvalsh(lower)(A)
    yield sum(values, axis=-1), trace(A)
    yield sum(values), trace(A), matrixo(A)


@identity(tags=SPECIALIZE, where=lambda A: (symmetrico(A), floato(A)), specials="assumes_finite")
def prod_eigvalsho(A, lower):
    """prod(eigvalsh(A), axis=-1) = det(A) for a symmetric A.

    The error is within c n u |A|^n.
    Source: R. A. Horn and C. R. Johnson, Matrix Analysis, 2nd ed., section 1.2.
    """
    values = Eigvalsh(lower)(A)
    yield prod(values, axis=-1), det(A)
    yield prod(values), det(A), matrixo(A)


@identity(tags=SPECIALIZE, where=lambda A: (matrixo(A), floato(A)), specials="assumes_finite")
def sum_singular_squareo(A, full):
    """sum(square(svd(A)[1])) = sum(square(A)).

    The error is within c n u |A|^2.
    Source: G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., section 2.4 (the Frobenius
    norm).
    """
    return sum(square(second(SVD(full)(A)))), sum(square(A))


@identity(tags=SPECIALIZE, where=lambda A: floato(A), specials="assumes_finite")
def det_expmo(A):
    """det(expm(A)) = e^trace(A).

    The error is within the accuracy of expm.
    Source: R. A. Horn and C. R. Johnson, Topics in Matrix Analysis, section 6.2.
    """
    return det(expm(A)), exp(trace(A))


@identity(tags=TIDY, specials="assumes_finite")
def inv_expmo(A):
    """inv(expm(A)) = expm(-A).

    The error is within the accuracy of expm.
    Source: N. J. Higham, Functions of Matrices, section 10.1.
    """
    return inv(expm(A)), expm(-A)


@identity(tags=TIDY, where=lambda A: floato(A), specials="assumes_finite")
def transpose_expmo(A):
    """expm(A.mT) = expm(A).mT.

    The error is within the accuracy of expm.
    Source: N. J. Higham, Functions of Matrices, theorem 1.13.
    """
    return expm(matrix_transpose(A)), matrix_transpose(expm(A))


RELATIONS = relations_in(globals())
