"""Elements at indices along an axis, one for each place of the other axes."""

from __future__ import annotations

from typing import Any

from relgraph.errors import DTypeError, ShapeError
from relgraph.ir.node import Variable
from relgraph.ops.arguments import as_operand, normalise_axis
from relgraph.ops.cumulative import iota
from relgraph.ops.docstrings import documented
from relgraph.ops.indexing.index import as_array, index
from relgraph.ops.shape import dim, ravel, reshape

__all__ = ["take_along_axis"]


@documented()
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """Return elements at indices along an axis, as ``numpy.take_along_axis``.

    indices (integer array, of the rank of ``arr``): Which element of each row along the axis; the
        other axes broadcast against those of ``arr``.  Of a raveled array, a vector.
    axis (int or None): Which axis; None for the raveled array.
    Returns: The shape of ``indices``, broadcast, and the dtype of ``arr``.
    DTypeError: For indices that are not integers.
    ShapeError: When the ranks differ.
    IndexRangeError: At a call, for an index out of range.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.evaluate(rg.numpy.take_along_axis([[3, 1, 2]], [[1, 2]], axis=1))
    array([[1, 2]])
    """
    x, places = as_array(arr, "take_along_axis"), as_operand(indices)
    if axis is None:
        x, axis = ravel(x), 0
    return index(x, along_axis_key(x, places, axis, "take_along_axis"))


def along_axis_key(x: Variable, indices: Variable, axis: int, function: str) -> tuple[Any, ...]:
    """Return the key of the elements of ``x`` at indices along an axis."""
    if indices.dtype.kind not in "iu":
        raise DTypeError(
            f"{function}: the indices are {indices.dtype}, not integers",
            fix="Convert them with .astype('int64').",
        )
    if indices.ndim != x.ndim:
        raise ShapeError(
            f"{function}: the indices have another number of dimensions than the array",
            {"indices": indices.type, "array": x.type},
            "Give them one index for each row along the axis, with axes of size 1 to broadcast.",
        )
    lead, axes = normalise_axis(axis, x.ndim, function) + x.ndim, range(x.ndim)
    return tuple(
        indices if k == lead else reshape(iota(dim(x, k)), [-1 if i == k else 1 for i in axes])
        for k in axes
    )
