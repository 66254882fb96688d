"""Identity matrices of the size of a matrix, which relations compute from its type."""

from __future__ import annotations

from typing import Any

from relgraph.ops.linalg.lapack import float_dtype
from relgraph.ops.linalg.structured import eye
from relgraph.ops.shape import dim


def identity_like(A: Any) -> Any:
    """Return the identity of the size of a square matrix, in the dtype of its inverse.

    Parameters
    ----------
    A : Variable, [..., n, n]
        Of a batch, one identity is made, which broadcasts.
    """
    if A.ndim < 2:
        return None
    size = A.type.shape[-1]
    if isinstance(A.type.shape[-2], int):
        size = A.type.shape[-2]
    return eye(size if isinstance(size, int) else dim(A, -1), dtype=float_dtype(A.type))


def identity_of(A: Any) -> Any:
    """Return the identity of the size of a square matrix, in its own dtype."""
    if A.ndim < 2:
        return None
    size = A.type.shape[-1]
    return eye(size if isinstance(size, int) else dim(A, -1), dtype=A.dtype)


def identity_of_columns(U: Any) -> Any:
    """Return the identity of the number of columns of a matrix, in its own dtype."""
    if U.ndim < 2:
        return None
    size = U.type.shape[-1]
    return eye(size if isinstance(size, int) else dim(U, -1), dtype=U.dtype)


def static_side(A: Any) -> int | None:
    """Return the static size of a square matrix, or None."""
    if A.ndim < 2:
        return None
    rows, columns = A.type.shape[-2:]
    return rows if isinstance(rows, int) and rows == columns else None


# They read a type, not a value: no operand need be a constant.
for _function in (identity_like, identity_of, identity_of_columns):
    _function.__dict__["of_type"] = True
del _function
