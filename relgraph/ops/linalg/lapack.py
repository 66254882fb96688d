"""LAPACK's routines as SciPy has them, and systems solved with one matrix of a batch at a time.

SciPy is imported when a graph runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np


@lru_cache(maxsize=64)
def routine(name: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """Return a routine for matrices of float32 or float64, by its name without the dtype's letter.

    For example, ``routine("getrf", float64)`` is ``dgetrf``.
    """
    from scipy.linalg import lapack

    return getattr(lapack, {"f": "s", "d": "d"}[dtype.char] + name)  # type: ignore[no-any-return]


def float_dtype(*operands: Any) -> np.dtype[Any]:
    """Return the dtype that NumPy's linear algebra computes in, of arrays or of types."""
    dtypes = [x.dtype for x in operands]
    return np.result_type(*dtypes) if all(x.kind == "f" for x in dtypes) else np.dtype("float64")


def common_floats(*arrays: Any) -> list[Any]:
    """Return arrays in their :func:`float_dtype`."""
    whole = [np.asarray(x) for x in arrays]
    first = whole[0].dtype
    if first.char in "fd" and all([x.dtype is first for x in whole]):
        return whole
    dtype = float_dtype(*whole)
    return [x.astype(dtype, copy=False) for x in whole]


def solved(one: Callable[..., Any], a: Any, b: Any, *others: Any) -> Any:
    """Solve a system for each matrix of a batch; sizes that do not fit raise LinAlgError.

    ``one`` returns the solution for a matrix of ``a[..., n, n]``, a vector or matrix of ``b[n]`` or
    ``b[..., n, k]``, and a vector of each of the others, which are ``[..., n]``.
    """
    if a.shape[-2] != a.shape[-1] or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise np.linalg.LinAlgError(f"a system of shapes {a.shape} and {b.shape} is not square")
    if a.ndim == 2 and b.ndim <= 2:
        return np.ascontiguousarray(one(a, b, *others)) if b.size else np.empty_like(b, order="C")
    vector = b.ndim == 1
    b = b[:, None] if vector else b
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    result = np.empty((*batch, *b.shape[-2:]), b.dtype)
    if result.size:
        left = _along(batch, a, 2)
        right = _along(batch, b, 2)
        rest = [_along(batch, x, 1) for x in others]
        for at in np.ndindex(*batch):
            result[at] = one(left[at], right[at], *[x[at] for x in rest])
    return result[..., 0] if vector else result


def _along(batch: tuple[int, ...], x: Any, ndim: int) -> Any:
    """Return an array whose last dimensions are those of one operand, for each of a batch."""
    ends = x.ndim - ndim
    return x if x.shape[:ends] == batch else np.broadcast_to(x, (*batch, *x.shape[ends:]))


SMALL = 32  # up to this side, most of a call of numpy.linalg is not spent in LAPACK


def small_solution(a: Any, b: Any, spd: bool = False) -> Any:
    """Return the solution of a small system in float64, or None for any other one.

    It is NumPy's, by the same routine of LAPACK, in a fourth of the time for a side of 4.  With
    ``spd`` the matrix is symmetric positive definite, and its lower triangle is read.
    """
    n, dtype = len(a), a.dtype
    if not (a.shape == (n, n) and 0 < n <= SMALL and dtype is b.dtype and dtype.char == "d"):
        return None
    if b.ndim == 1:
        if b.shape[0] != n:
            return None
    elif b.ndim != 2 or b.shape[0] != n or not 0 < b.shape[1] <= SMALL:
        return None
    if spd:
        return np.ascontiguousarray(positive_definite(a, b))
    _, _, x, info = routine("gesv", dtype)(a, b)
    if info > 0:
        raise np.linalg.LinAlgError("Singular matrix")
    return np.ascontiguousarray(x.reshape(b.shape))


def small_factor(a: Any, lower: bool) -> Any:
    """Return the Cholesky factor of a small matrix in float64, or None for any other one.

    It is NumPy's, by the same routine of LAPACK, in a third of the time.
    """
    if a.ndim != 2 or not 0 < len(a) <= SMALL or a.shape[1] != len(a) or a.dtype.char != "d":
        return None
    factor, info = routine("potrf", a.dtype)(a, lower=lower, clean=True)
    if info > 0:
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return np.ascontiguousarray(factor)


def positive_definite(a: Any, b: Any) -> Any:
    """Solve with a symmetric positive definite matrix, of which the lower triangle is read."""
    # LAPACK's matrices lie in Fortran's order, so that the transpose needs no copy.
    _, x, info = routine("posv", a.dtype)(a.T, b, lower=False)
    if info > 0:
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return x


_BLOCK = 64  # the columns for which the routines below have memory


def inverse(a: Any) -> Any:
    """Return the inverse of a matrix that has elements."""
    if a.shape[0] != a.shape[1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    factors, pivots, info = routine("getrf", a.dtype)(a.T)
    if info > 0:
        raise np.linalg.LinAlgError("Singular matrix")
    work = _BLOCK * len(a)
    return routine("getri", a.dtype)(factors, pivots, lwork=work, overwrite_lu=True)[0].T


def symmetric(a: Any, b: Any) -> Any:
    """Solve with a symmetric matrix, of which the lower triangle is read."""
    # LAPACK's matrices lie in Fortran's order, so that the transpose needs no copy.
    _, _, x, info = routine("sysv", a.dtype)(a.T, b, lower=False, lwork=_BLOCK * len(a))
    if info > 0:
        raise np.linalg.LinAlgError("Singular matrix")
    return x


def triangular(a: Any, b: Any, trans: int, lower: bool, unit: bool) -> Any:
    """Solve with a triangular matrix, or its transpose."""
    x, info = routine("trtrs", a.dtype)(a.T, b, lower=not lower, trans=1 - trans, unitdiag=unit)
    if info > 0:
        raise np.linalg.LinAlgError(f"singular matrix: resolution failed at diagonal {info - 1}")
    return x
