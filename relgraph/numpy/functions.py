"""Functions whose parameters in NumPy differ from those of the op."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from relgraph.ir.node import Variable
from relgraph.ops import contraction, elementwise, permutation, shape
from relgraph.ops.arguments import as_operand, normalise_axes
from relgraph.ops.docstrings import documented
from relgraph.ops.linalg import structured

__all__ = ["clip", "diagonal", "ndim", "size", "trace", "transpose"]

Function = Callable[..., Any]


@documented()
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """Limit to an interval, as ``numpy.clip``: bounds by either of their names.

    a_min, a_max (Variable, array-like or None): The bounds; None for no bound on that side.
    min, max (Variable, array-like or None): Other names of the bounds.
    Returns: The common dtype of the operands.
    ShapeError: When the shapes do not broadcast.
    """
    return elementwise.clip(a, min if a_min is None else a_min, max if a_max is None else a_max)


@documented()
def transpose(a: Any, axes: Any = None) -> Any:
    """Permute axes, as ``numpy.transpose``: reversed without ``axes``.

    axes (tuple of int, optional): The axis of ``a`` that each axis of the result is.
    Returns: The same elements.
    DomainError: When the axes are not a permutation.
    """
    return permutation.transpose(a) if axes is None else permutation.transpose(a, axes)


@documented("matrix")
def diagonal(a: Any, offset: int = 0, axis1: int | None = None, axis2: int | None = None) -> Any:
    """Return diagonals, as ``numpy.diagonal``: of the first two axes.

    a (Variable or array-like): At least two dimensions.
    axis1, axis2 (int, optional): The axes of the matrices; by default 0 and 1.
    Returns: The diagonals along the last axis.
    DomainError: For an axis out of range, or one given twice.
    """
    return structured.diagonal(a, offset, *_first_axes(a, axis1, axis2))


@documented(like=diagonal)
def trace(a: Any, offset: int = 0, axis1: int | None = None, axis2: int | None = None) -> Any:
    """Add up diagonals, as ``numpy.trace``: of the first two axes.

    Returns: The shape of ``a`` without these axes.
    """
    return structured.trace(a, offset, *_first_axes(a, axis1, axis2))


def _first_axes(a: Any, axis1: int | None, axis2: int | None) -> tuple[int, ...]:
    """Return NumPy's default axes; none for a pattern, or a matrix, whose last two they are."""
    operand = as_operand(a)
    if axis1 is None and axis2 is None and (not isinstance(operand, Variable) or operand.ndim <= 2):
        return ()
    return (0 if axis1 is None else axis1, 1 if axis2 is None else axis2)


@documented("reduction")
def size(a: Any, axis: Any = None) -> Any:
    """Return the number of elements, as ``numpy.size``.

    axis (int or tuple of int, optional): Count along these axes only.
    Returns (int or Variable): An int where the size is static, otherwise an int64 scalar.
    """
    if axis is None:
        return shape.size(a)
    if not isinstance(axis, tuple):
        return shape.dim(a, axis)
    sizes = [shape.dim(a, one) for one in normalise_axes(axis, as_operand(a).ndim, "size")]
    return math.prod(sizes)


@documented()
def ndim(a: Any) -> int:
    """Return the number of dimensions, as ``numpy.ndim``.

    Returns (int): The number of axes.
    """
    return int(as_operand(a).ndim)


def einsum(*operands: Any, optimize: Any = False) -> Any:
    return contraction.einsum(*operands)


def reshape(a: Any, /, shape: Any, order: str = "C") -> Any:
    return as_operand(a).reshape(shape, order=order)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    return np.result_type(*(x.dtype if isinstance(x, Variable) else x for x in arrays_and_dtypes))
