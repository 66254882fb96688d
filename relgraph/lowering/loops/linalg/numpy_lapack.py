"""What the routines of LAPACK and BLAS do, in NumPy, for the interpreter of the loop language.

Their names here lack the first letter, which is that of the dtype.  A matrix is memory in which
columns follow each other, ``ld`` elements apart; the parameters are those of the routines.

References
----------
E. Anderson et al., LAPACK Users' Guide, 3rd ed., 1999.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

Memory = npt.NDArray[Any]


def _matrix(memory: Memory, rows: int, columns: int, ld: int) -> Memory:
    """Return a matrix in memory, as a view."""
    size = memory.itemsize
    return np.lib.stride_tricks.as_strided(memory, (rows, columns), (size, ld * size))


def _is(letter: int, name: str) -> bool:
    return chr(letter) == name


def _triangle(a: Memory, uplo: int, unit: bool = False) -> Memory:
    part = np.triu(a) if _is(uplo, "U") else np.tril(a)
    if unit:
        np.fill_diagonal(part, 1)
    return part


def _potrf(uplo: int, n: int, a: Memory, lda: int, info: Memory) -> None:
    whole = _matrix(a, n, n, lda)
    part = _triangle(whole, uplo)
    try:
        lower = np.linalg.cholesky(part.T if _is(uplo, "U") else part)
        if not np.isfinite(lower).all():
            raise np.linalg.LinAlgError
    except np.linalg.LinAlgError:
        info[0] = 1
        return
    info[0] = 0
    factor = lower.T if _is(uplo, "U") else lower
    keep = _triangle(np.ones((n, n)), uplo).astype(bool)
    whole[keep] = factor[keep]


def _posv(
    uplo: int, n: int, nrhs: int, a: Memory, lda: int, b: Memory, ldb: int, info: Memory
) -> None:
    _potrf(uplo, n, a, lda, info)
    if not info[0]:
        _potrs(uplo, n, nrhs, a, lda, b, ldb, info)


def _potrs(
    uplo: int, n: int, nrhs: int, a: Memory, lda: int, b: Memory, ldb: int, info: Memory
) -> None:
    factor = _triangle(_matrix(a, n, n, lda), uplo)
    lower = factor.T if _is(uplo, "U") else factor
    right = _matrix(b, n, nrhs, ldb)
    right[:] = np.linalg.solve(lower.T, np.linalg.solve(lower, right))
    info[0] = 0


def _trtrs(
    uplo: int,
    trans: int,
    diag: int,
    n: int,
    nrhs: int,
    a: Memory,
    lda: int,
    b: Memory,
    ldb: int,
    info: Memory,
) -> None:
    part = _triangle(_matrix(a, n, n, lda), uplo, _is(diag, "U"))
    zeros = np.flatnonzero(part.diagonal() == 0)
    info[0] = zeros[0] + 1 if zeros.size else 0
    if not zeros.size:
        right = _matrix(b, n, nrhs, ldb)
        right[:] = np.linalg.solve(part if _is(trans, "N") else part.T, right)


def _eliminated(a: Memory, pivots: Memory) -> int:
    """Replace a matrix by its factors; return the number of the first zero pivot, or 0."""
    first = 0
    for k in range(len(a)):
        top = k + int(np.argmax(np.abs(a[k:, k])))
        pivots[k] = top + 1
        a[[k, top]] = a[[top, k]]
        if a[k, k] == 0:
            first = first or k + 1
            continue
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return first


def _getrf(m: int, n: int, a: Memory, lda: int, ipiv: Memory, info: Memory) -> None:
    info[0] = _eliminated(_matrix(a, m, n, lda), ipiv)


def _gesv(
    n: int, nrhs: int, a: Memory, lda: int, ipiv: Memory, b: Memory, ldb: int, info: Memory
) -> None:
    right = _matrix(b, n, nrhs, ldb)
    whole = _matrix(a, n, n, lda)
    old = whole.copy()
    info[0] = _eliminated(whole, ipiv)
    if not info[0]:
        right[:] = np.linalg.solve(old, right)


def _getri(
    n: int, a: Memory, lda: int, ipiv: Memory, work: Memory, lwork: int, info: Memory
) -> None:
    whole = _matrix(a, n, n, lda)
    lower, upper = np.tril(whole, -1) + np.eye(n, dtype=a.dtype), np.triu(whole)
    product = lower @ upper
    for k in reversed(range(n)):
        product[[k, ipiv[k] - 1]] = product[[ipiv[k] - 1, k]]
    singular = not whole.diagonal().all()
    info[0] = int(singular)
    if not singular:
        whole[:] = np.linalg.inv(product)


def _sysv(
    uplo: int,
    n: int,
    nrhs: int,
    a: Memory,
    lda: int,
    ipiv: Memory,
    b: Memory,
    ldb: int,
    work: Memory,
    lwork: int,
    info: Memory,
) -> None:
    part = _triangle(_matrix(a, n, n, lda), uplo)
    whole = part + part.T - np.diag(part.diagonal())
    right = _matrix(b, n, nrhs, ldb)
    try:
        right[:] = np.linalg.solve(whole, right)
        info[0] = 0
    except np.linalg.LinAlgError:
        info[0] = 1


def _gemm(
    transa: int,
    transb: int,
    m: int,
    n: int,
    k: int,
    alpha: Any,
    a: Memory,
    lda: int,
    b: Memory,
    ldb: int,
    beta: Any,
    c: Memory,
    ldc: int,
) -> None:
    left = _matrix(a, m, k, lda) if _is(transa, "N") else _matrix(a, k, m, lda).T
    right = _matrix(b, k, n, ldb) if _is(transb, "N") else _matrix(b, n, k, ldb).T
    result = _matrix(c, m, n, ldc)
    result[:] = alpha * (left @ right) + (beta * result if beta else 0)


ROUTINES: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        "gemm": _gemm,
        "gesv": _gesv,
        "getrf": _getrf,
        "getri": _getri,
        "posv": _posv,
        "potrf": _potrf,
        "potrs": _potrs,
        "sysv": _sysv,
        "trtrs": _trtrs,
    }
)
"""What each routine does to arrays of NumPy; memory is a vector."""

__all__ = ["ROUTINES"]
