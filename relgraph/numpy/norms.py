"""Norms of vectors and matrices, with NumPy's orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import DomainError
from relgraph.ir.node import Variable
from relgraph.numpy import reductions
from relgraph.numpy.operands import typed
from relgraph.ops import elementwise
from relgraph.ops.arguments import as_operand, check_no_list, normalise_axes
from relgraph.ops.docstrings import documented
from relgraph.ops.linalg.factorisations import svd
from relgraph.ops.permutation import moveaxis
from relgraph.ops.reductions import Top, floating, may_be_empty, reduced_axes
from relgraph.ops.shape import expand_dims


@documented()
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """Return norms of vectors or matrices, as ``numpy.linalg.norm``.

    x: Any dtype and shape; with ``ord`` and without ``axis`` a vector or a matrix.
    ord (int, float, "fro", "nuc" or None): None is the Euclidean norm of all elements over the
        axes. Vectors have any number, and matrices 1, -1, 2, -2, inf, -inf, "fro" and "nuc".
    axis (int, tuple of int or None): One axis for vectors, two for matrices; None for all.
    Returns: A float.
    ArgumentError: For axes in a list.
    DomainError: For an order that vectors, or matrices, do not have, or other numbers of axes.
    ShapeError: For the smallest of no elements or singular values; the largest of none is 0.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.linalg.norm(rg.matrix("A"), 1)
    maximum(max(sum(absolute(A), axis=(-2,)), initial=-inf), 0)
    """
    check_no_list(axis, "norm")
    if ord is None and (axis is None or not isinstance(axis, tuple) or len(axis) in (1, 2)):
        operand = as_operand(x)
        if isinstance(operand, Variable) and axis is not None:
            normalise_axes(axis, operand.ndim, "norm")
        if isinstance(operand, Variable):  # squares of integers would wrap around
            operand = elementwise.cast(operand, floating(operand.dtype))
        return elementwise.sqrt(reductions.sum(elementwise.square(operand), axis, keepdims))
    array = typed(x, "norm")
    listed = axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(range(array.ndim)) if axis is None else listed
    if len(axes) not in (1, 2):
        raise DomainError(
            f"norm with ord={ord!r} is of vectors or matrices",
            {"operand": f"{array} : {array.type}", "axis": axis},
            "Give one axis, or two.",
        )
    normalise_axes(axes, array.ndim, "norm")
    array = elementwise.cast(array, floating(array.dtype))
    return (_of_vectors if len(axes) == 1 else _of_matrices)(array, ord, axes, keepdims)


@documented(like=norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Any:
    """Return norms of vectors, as ``numpy.linalg.vector_norm``.

    axis (int, tuple of int or None): The axes whose elements are one vector; None for all.
    ord (int, float or None): The order; None is 2.
    DomainError: For an order that vectors do not have.
    """
    array = typed(x, "vector_norm")
    check_no_list(axis, "vector_norm")
    if axis is not None:
        normalise_axes(axis, array.ndim, "vector_norm")
    array = elementwise.cast(array, floating(array.dtype))
    return _of_vectors(array, 2 if ord is None else ord, axis, keepdims)


@documented()
def matrix_norm(x: Any, /, *, keepdims: Any = False, ord: Any = "fro") -> Any:
    """Return norms of matrices, as ``numpy.linalg.matrix_norm``.

    x (Variable or array-like, [..., m, n]):
    keepdims: Whether the axes of the matrices stay, with size 1.
    ord ({"fro", "nuc", 1, -1, 2, -2, inf, -inf}): The order.
    Returns (Variable, [...]): A float.
    DomainError: For an order that matrices do not have.
    ShapeError: For fewer than two dimensions; and as of :func:`norm`.
    """
    return norm(x, ord, (-2, -1), keepdims)


def _of_vectors(x: Variable, ord: Any, axes: Any, keepdims: Any) -> Any:
    if not isinstance(ord, int | float | np.integer | np.floating) or np.isnan(ord):
        raise DomainError(
            f"vectors have no norm of order {ord!r}", fix="Give a number, or np.inf or -np.inf."
        )
    if ord == 2:
        return elementwise.sqrt(reductions.sum(elementwise.square(x), axes, keepdims))
    if ord == 0:
        counted = elementwise.cast(elementwise.not_equal(x, 0), x.dtype)
        return reductions.sum(counted, axes, keepdims)
    sizes = elementwise.absolute(x)
    if ord == np.inf:
        return _largest(sizes, axes, keepdims)
    if ord == -np.inf:
        return reductions.min(sizes, axes, keepdims)
    if ord == 1:
        return reductions.sum(sizes, axes, keepdims)
    total = reductions.sum(elementwise.power(sizes, float(ord)), axes, keepdims)
    return elementwise.power(total, 1 / float(ord))


def _largest(sizes: Variable, axes: Any, keepdims: Any = False) -> Any:
    """Return the largest of elements that are not negative; 0 where there are none."""
    places = reduced_axes(axes, sizes.ndim, "norm")
    if not any([may_be_empty(sizes.type.shape[place]) for place in places]):
        return reductions.max(sizes, axes, keepdims)
    ordered = None if len(places) == sizes.ndim else normalise_axes(places, sizes.ndim, "norm")
    return elementwise.maximum(Top(ordered, keepdims)(sizes), 0)


def _of_matrices(x: Variable, ord: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    rows, columns = (axis % x.ndim for axis in axes)
    if ord in ("fro", "f"):
        return elementwise.sqrt(reductions.sum(elementwise.square(x), axes, keepdims))
    if ord in (2, -2, "nuc"):
        values = svd(moveaxis(x, (rows, columns), (-2, -1)), full_matrices=False)[1]
        combine: Any = {2: _largest, -2: reductions.min, "nuc": reductions.sum}[ord]
        result = combine(values, -1)
    elif ord in (1, -1, np.inf, -np.inf):
        first, second = (rows, columns) if ord in (1, -1) else (columns, rows)
        sums = reductions.sum(elementwise.absolute(x), first)
        extreme = _largest if ord > 0 else reductions.min
        result = extreme(sums, second - (first < second))
    else:
        raise DomainError(
            f"matrices have no norm of order {ord!r}",
            {"orders": "1, -1, 2, -2, inf, -inf, 'fro', 'nuc'"},
            "Use one of these; for a norm of all elements, ravel the matrix first.",
        )
    return expand_dims(result, tuple(sorted((rows, columns)))) if keepdims else result
