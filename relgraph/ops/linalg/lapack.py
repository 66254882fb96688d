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
    """Return a routine for matrices of float32 or float64.

    Parameters
    ----------
    name : str
        Its name without the letter of the dtype, such as "getrf".
    dtype : numpy.dtype
        That of the matrices.
    """
    from scipy.linalg import lapack

    found: Callable[..., Any] = getattr(lapack, {"f": "s", "d": "d"}[dtype.char] + name)
    return found


def common_floats(*arrays: Any) -> list[Any]:
    """Return arrays in the dtype that NumPy's linear algebra computes in: float32 or float64."""
    whole = [np.asarray(x) for x in arrays]
    first = whole[0].dtype
    if first.char in "fd" and all([x.dtype is first for x in whole]):
        return whole
    dtypes = [x.dtype for x in whole]
    dtype = np.result_type(*dtypes) if all(x.kind == "f" for x in dtypes) else np.dtype("float64")
    return [x.astype(dtype, copy=False) for x in whole]


def solved(one: Callable[..., Any], a: Any, b: Any, *others: Any) -> Any:
    """Solve a system for each matrix of a batch.

    Parameters
    ----------
    one : callable
        Takes a matrix of ``a``, a vector or matrix of ``b`` and an array of each of the others, and
        returns the solution.
    a : array, [..., n, n]
        Matrices, in the dtype of ``b``.
    b : array, [n] or [..., n, k]
        Right sides.
    *others : array, [..., n]
        Vectors that belong to the matrices.

    Returns
    -------
    array
        The solutions, in C's order.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where the sizes do not fit.
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
        left = np.broadcast_to(a, (*batch, *a.shape[-2:]))
        right = np.broadcast_to(b, result.shape)
        rest = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in others]
        for at in np.ndindex(*batch):
            result[at] = one(left[at], right[at], *[x[at] for x in rest])
    return result[..., 0] if vector else result


def positive_definite(a: Any, b: Any) -> Any:
    """Solve with a symmetric positive definite matrix, of which the lower triangle is read."""
    # LAPACK's matrices lie in Fortran's order, so that the transpose needs no copy.
    _, x, info = routine("posv", a.dtype)(a.T, b, lower=False)
    if info > 0:
        raise np.linalg.LinAlgError("Matrix is not positive definite")
    return x


def triangular(a: Any, b: Any, trans: int, lower: bool, unit: bool) -> Any:
    """Solve with a triangular matrix, or its transpose."""
    x, info = routine("trtrs", a.dtype)(a.T, b, lower=not lower, trans=1 - trans, unitdiag=unit)
    if info > 0:
        raise np.linalg.LinAlgError(f"singular matrix: resolution failed at diagonal {info - 1}")
    return x
