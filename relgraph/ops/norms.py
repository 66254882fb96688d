"""Norms of vectors and matrices, with NumPy's orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import DomainError
from relgraph.ir.node import Variable
from relgraph.ops import elementwise, reduction
from relgraph.ops.arguments import as_operand, normalise_axes
from relgraph.ops.decompositions import svd
from relgraph.ops.operands import typed
from relgraph.ops.permutation import moveaxis
from relgraph.ops.reducers import floating
from relgraph.ops.shape import expand_dims


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """Return norms of vectors or matrices, as ``numpy.linalg.norm``.

    Parameters
    ----------
    x : Variable or array-like
        Any dtype and shape; with ``ord`` and without ``axis`` a vector or a matrix.
    ord : int, float, "fro", "nuc" or None
        None is the Euclidean norm of all elements over the axes.  Vectors have any number, and
        matrices 1, -1, 2, -2, inf, -inf, "fro" and "nuc".
    axis : int, tuple of int or None
        One axis for vectors, two for matrices; None for all.
    keepdims : bool
        Whether reduced axes stay, with size 1.

    Returns
    -------
    Variable
        A float.

    Raises
    ------
    DomainError
        For an order that vectors, or matrices, do not have, or other numbers of axes.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.linalg.norm(rg.matrix("A"), 1)
    max(sum(absolute(A), axis=(-2,)))
    """
    if ord is None:
        operand = as_operand(x)
        if isinstance(operand, Variable):  # squares of integers would wrap around
            operand = elementwise.cast(operand, floating(operand.dtype))
        return elementwise.sqrt(reduction.sum(elementwise.square(operand), axis, keepdims))
    array = typed(x, "norm")
    given = axis if isinstance(axis, tuple | list) else (axis,)
    axes = tuple(range(array.ndim)) if axis is None else tuple(given)
    if len(axes) not in (1, 2):
        raise DomainError(
            f"norm with ord={ord!r} is of vectors or matrices",
            {"operand": f"{array} : {array.type}", "axis": axis},
            "Give one axis, or two.",
        )
    normalise_axes(axes, array.ndim, "norm")
    array = elementwise.cast(array, floating(array.dtype))
    return (_of_vectors if len(axes) == 1 else _of_matrices)(array, ord, axes, keepdims)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Any:
    """Return norms of vectors, as ``numpy.linalg.vector_norm``.

    Parameters
    ----------
    x : Variable or array-like
        Any dtype and shape.
    axis : int, tuple of int or None
        The axes whose elements are one vector; None for all.
    keepdims : bool
        Whether reduced axes stay, with size 1.
    ord : int or float
        The order.

    Returns
    -------
    Variable
        A float.

    Raises
    ------
    DomainError
        For an order that vectors do not have.
    """
    array = typed(x, "vector_norm")
    array = elementwise.cast(array, floating(array.dtype))
    return _of_vectors(array, ord, axis, keepdims)


def matrix_norm(x: Any, /, *, keepdims: Any = False, ord: Any = "fro") -> Any:
    """Return norms of matrices, as ``numpy.linalg.matrix_norm``.

    Parameters
    ----------
    x : Variable or array-like, [..., m, n]
        Any dtype.
    keepdims : bool
        Whether the axes of the matrices stay, with size 1.
    ord : {"fro", "nuc", 1, -1, 2, -2, inf, -inf}
        The order.

    Returns
    -------
    Variable, [...]
        A float.

    Raises
    ------
    DomainError
        For an order that matrices do not have.
    """
    return norm(x, ord, (-2, -1), keepdims)


def _of_vectors(x: Variable, ord: Any, axes: Any, keepdims: Any) -> Any:
    if not isinstance(ord, int | float | np.integer | np.floating) or np.isnan(ord):
        raise DomainError(
            f"vectors have no norm of order {ord!r}", fix="Give a number, or np.inf or -np.inf."
        )
    if ord == 2:
        return elementwise.sqrt(reduction.sum(elementwise.square(x), axes, keepdims))
    if ord == 0:
        counted = elementwise.cast(elementwise.not_equal(x, 0), x.dtype)
        return reduction.sum(counted, axes, keepdims)
    sizes = elementwise.absolute(x)
    if ord == np.inf:
        return reduction.max(sizes, axes, keepdims)
    if ord == -np.inf:
        return reduction.min(sizes, axes, keepdims)
    if ord == 1:
        return reduction.sum(sizes, axes, keepdims)
    total = reduction.sum(elementwise.power(sizes, float(ord)), axes, keepdims)
    return elementwise.power(total, 1 / float(ord))


def _of_matrices(x: Variable, ord: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    rows, columns = (axis % x.ndim for axis in axes)
    if ord in ("fro", "f"):
        return elementwise.sqrt(reduction.sum(elementwise.square(x), axes, keepdims))
    if ord in (2, -2, "nuc"):
        values = svd(moveaxis(x, (rows, columns), (-2, -1)), full_matrices=False)[1]
        combine = {2: reduction.max, -2: reduction.min, "nuc": reduction.sum}[ord]
        found = combine(values, -1)
    elif ord in (1, -1, np.inf, -np.inf):
        first, second = (rows, columns) if ord in (1, -1) else (columns, rows)
        sums = reduction.sum(elementwise.absolute(x), first)
        extreme = reduction.max if ord > 0 else reduction.min
        found = extreme(sums, second - (first < second))
    else:
        raise DomainError(
            f"matrices have no norm of order {ord!r}",
            {"orders": "1, -1, 2, -2, inf, -inf, 'fro', 'nuc'"},
            "Use one of these; for a norm of all elements, ravel the matrix first.",
        )
    return expand_dims(found, tuple(sorted((rows, columns)))) if keepdims else found
