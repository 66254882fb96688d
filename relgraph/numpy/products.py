"""Products of vectors, matrices and tensors: dot, vecdot, tensordot, cross."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, ShapeError, count_of
from relgraph.ir.node import Variable
from relgraph.numpy.operands import typed
from relgraph.ops import elementwise
from relgraph.ops.arguments import (
    as_operand,
    distinct_axes,
    is_pattern,
    no_rank,
    normalise_axis,
)
from relgraph.ops.checks import assert_sizes, specify_shape, squeeze
from relgraph.ops.concatenate import stack
from relgraph.ops.contraction import Matmul, Outer, contracted, einsum, matmul
from relgraph.ops.docstrings import documented
from relgraph.ops.elementwise import equal, logical_and, multiply
from relgraph.ops.indexing.index import index
from relgraph.ops.permutation import moveaxis, transpose
from relgraph.ops.shape import dim, expand_dims, product_of, ravel, reshape, shape

__all__ = ["cross", "dot", "inner", "matvec", "tensordot", "vdot", "vecdot", "vecmat"]


@documented()
def vecdot(x1: Any, x2: Any, *, axis: int = -1) -> Any:
    """Return the dot products of vectors, as ``numpy.vecdot``.

    x1, x2 (Variable or array-like, [..., n]): Other axes broadcast.
    axis (int): Where the vectors lie, in both operands.
    Returns (Variable, [...]): The common dtype.
    ShapeError: For a scalar, or when the sizes differ.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.vecdot(rg.matrix("X", ("n", 3)), rg.vector("v", 3)).type
    float64[n]
    """
    x, y = (_vectors_of(v, axis, "vecdot") for v in (x1, x2))
    sizes = [v.type.shape[-1] for v in (x, y)]
    if all([isinstance(size, int) for size in sizes]) and sizes[0] != sizes[1]:
        raise ShapeError(
            f"vecdot takes vectors of one size, not of {sizes[0]} and {sizes[1]}",
            {"x1": x.type, "x2": y.type},
            "A vector of one element is not repeated: use * and sum for that.",
        )
    if 1 in sizes:  # einsum would stretch it to a size that is not known here
        x, y = (specify_shape(v, (*[None] * (v.ndim - 1), 1)) for v in (x, y))
    return matmul(x, y) if x.ndim == y.ndim == 1 else einsum("...i,...i->...", x, y)


@documented()
def matvec(x1: Any, x2: Any) -> Any:
    """Return the products of matrices and vectors, as ``numpy.matvec``.

    x1 (Variable or array-like, [..., m, n]): Batches broadcast.
    x2 (Variable or array-like, [..., n]): The vectors.
    Returns (Variable, [..., m]): The common dtype.
    ShapeError: When the sizes differ.
    """
    matrix, vector = matrices_of(x1, "matvec"), _vectors_of(x2, -1, "matvec")
    if vector.ndim == 1:
        return matmul(matrix, vector)
    return squeeze(matmul(matrix, expand_dims(vector, -1)), -1)


@documented(like=matvec)
def vecmat(x1: Any, x2: Any) -> Any:
    """Return the products of vectors and matrices, as ``numpy.vecmat``.

    x1 (Variable or array-like, [..., n]): The vectors.
    x2 (Variable or array-like, [..., n, m]): Batches broadcast.
    """
    vector, matrix = _vectors_of(x1, -1, "vecmat"), matrices_of(x2, "vecmat")
    if vector.ndim == 1:
        return matmul(vector, matrix)
    return squeeze(matmul(expand_dims(vector, -2), matrix), -2)


def _vectors_of(x: Any, axis: int, function: str) -> Any:
    array = typed(x, function)
    if array.ndim == 0:
        raise ShapeError(
            f"{function} takes vectors, not {array.type}",
            fix="Give it at least one dimension; use * to multiply by a scalar.",
        )
    return moveaxis(array, normalise_axis(axis, array.ndim, function), -1)


def matrices_of(x: Any, function: str) -> Variable:
    array = typed(x, function)
    if array.ndim < 2:
        raise ShapeError(
            f"{function} takes matrices, not {array.type}",
            fix="Give it two dimensions, for instance with expand_dims.",
        )
    return array


@documented()
def cross(  # noqa: PLR0917 - the parameters of NumPy
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """Return the cross products of vectors of three elements, as ``numpy.cross``.

    a, b (Variable or array-like): Other axes broadcast.
    axisa, axisb (int): Where the vectors of either operand lie.
    axisc (int): Where those of the result lie.
    axis (int or None): One axis in place of these three.
    Returns: The common dtype.
    ShapeError: For vectors that are not known to have three elements.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> x, y = rg.vectors("x y", shape=3)
    >>> rg.function([x, y], rnp.cross(x, y))([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    array([0., 0., 1.])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = _vectors_of(a, axisa, "cross"), _vectors_of(b, axisb, "cross")
    for v in (x, y):
        if v.type.shape[-1] != 3:
            raise ShapeError(
                "cross takes vectors that are known to have three elements",
                {"operand": f"{v} : {v.type}"},
                "Declare the size of an input, or state it with rg.specify_shape.",
            )
    p, q = ([index(v, (..., i)) for i in range(3)] for v in (x, y))
    parts = [
        elementwise.subtract(elementwise.multiply(p[i], q[j]), elementwise.multiply(p[j], q[i]))
        for i, j in ((1, 2), (2, 0), (0, 1))
    ]
    return stack(parts, normalise_axis(axisc, parts[0].ndim + 1, "cross"))


@documented()
def dot(x: Any, y: Any) -> Any:
    """Return NumPy's dot product.

    x, y (Variable, array-like or pattern): The sum is over the last axis of ``x`` and the second to
        last of ``y`` (or its only one); a scalar multiplies. For vectors, matrices and patterns
        this is the matrix product.
    Returns (Variable or pattern): The other axes of ``x``, then those of ``y``.
    ShapeError: When the sizes that are summed over differ.
    """
    x, y = as_operand(x), as_operand(y)
    if is_pattern(x) or is_pattern(y):
        return Matmul()(x, y)
    if x.ndim == 0 or y.ndim == 0:
        return multiply(x, y)
    if y.ndim == 1 or (x.ndim <= 2 and y.ndim == 2):
        return matmul(x, y)
    return tensordot(x, y, ([-1], [-2]))


@documented()
def vdot(x: Any, y: Any) -> Any:
    """Return the sum of the products of all elements of two arrays, taken in C order.

    x, y (Variable or array-like): With the same number of elements.
    Returns: No dimensions.
    ShapeError: For other numbers of elements.
    """
    return Matmul()(ravel(x), ravel(y))


@documented()
def inner(x: Any, y: Any) -> Any:
    """Return the inner products over the last axes of ``x`` and ``y``.

    x (Variable or array-like, [..., k]): A scalar multiplies.
    y (Variable or array-like, [..., k]): Its other axes follow those of ``x``.
    Returns: The other axes of ``x``, then those of ``y``.
    ShapeError: When the sizes of the last axes differ.
    """
    x, y = _arrays(x, y, "inner")
    if x.ndim == 0 or y.ndim == 0:
        return multiply(x, y)
    return tensordot(x, y, ([-1], [-1]))


@documented()
def tensordot(x: Any, y: Any, axes: Any = 2) -> Any:
    """Return the sum of products over several axes; the other axes of ``y`` follow those of ``x``.

    x, y (Variable or array-like): Any dtype and shape.
    axes (int or pair of int or sequences): How many last axes of ``x`` and first axes of ``y``; or
        which of each.
    Returns: The axes that are not summed over.
    ArgumentError: For other numbers of axes of the two operands, and axes that are no int and no
        pair.
    DomainError: For an axis out of range or given twice.
    ShapeError: When sizes that are summed together differ; at the call, where they are not known
        before.
    """
    x, y = _arrays(x, y, "tensordot")
    first, second = _contracted_axes(x, y, axes)
    for a, b in zip(first, second, strict=True):
        contracted(x.type.shape[a], y.type.shape[b])
    x = _checked(x, y, first, second)
    free_x = [a for a in range(-x.ndim, 0) if a not in first]
    free_y = [b for b in range(-y.ndim, 0) if b not in second]
    sizes = [shape(x)[a] for a in free_x] + [shape(y)[b] for b in free_y]
    if not first:
        return reshape(Outer()(ravel(x), ravel(y)), tuple(sizes))
    left = transpose(x, (*free_x, *first))
    right = transpose(y, (*second, *free_y))
    return reshape(Matmul()(_folded(left, len(free_x)), _folded(right, len(second))), tuple(sizes))


def _checked(x: Variable, y: Variable, first: list[int], second: list[int]) -> Any:
    """Return ``x``, with a check at the call of sizes that a product of folded axes hides.

    The matrix product compares what the sizes multiply to, so it finds one pair that differs, and
    not several of them: 2 * 6 is 3 * 4.
    """
    pairs = [(x.type.shape[a], y.type.shape[b]) for a, b in zip(first, second, strict=True)]
    if [m == n and m is not None for m, n in pairs].count(False) < 2:
        return x
    equal_ = [equal(dim(x, a), dim(y, b)) for a, b in zip(first, second, strict=True)]
    return assert_sizes(
        x,
        reduce(logical_and, equal_),
        "tensordot: sizes that are summed differ",
        "Transpose or reshape one operand so that these sizes agree.",
    )


def _contracted_axes(x: Variable, y: Variable, axes: Any) -> tuple[list[int], list[int]]:
    """Return the axes to sum over, counted from the end."""
    if isinstance(axes, int | np.integer):
        count = int(axes)
        if not 0 <= count <= min(x.ndim, y.ndim):
            raise ShapeError(
                f"tensordot: the operands do not both have {count_of(count, 'axis')} to sum over",
                fix=f"Use axes=0 to axes={min(x.ndim, y.ndim)}, or name them: axes=([1], [0]).",
            )
        return list(range(-count, 0)), list(range(-y.ndim, count - y.ndim))
    try:
        first, second = ([a] if isinstance(a, int | np.integer) else list(a) for a in axes)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"tensordot takes axes as an int or a pair, not {axes!r:.60}",
            fix="Write axes=2 for two axes, or name them: axes=([1], [0]).",
        ) from None
    if len(first) != len(second):
        raise ArgumentError(
            "tensordot: as many axes of the one operand as of the other",
            {"axes": (first, second)},
            "Pair them: axes=([1], [0]) sums axis 1 of the first with axis 0 of the second.",
        )
    summed, others = (
        list(distinct_axes(axes, operand.ndim, "tensordot"))
        for operand, axes in ((x, first), (y, second))
    )
    return summed, others


def _folded(x: Variable, cut: int) -> Any:
    """Return ``x`` with its first ``cut`` axes made one, and the rest; none of a kind, no axis."""
    sizes = shape(x)
    return reshape(x, tuple(product_of(part) for part in (sizes[:cut], sizes[cut:]) if part))


def _arrays(x: Any, y: Any, function: str) -> tuple[Variable, Variable]:
    """Return two operands as nodes, or raise PatternError: a pattern has no rank."""
    if is_pattern(x) or is_pattern(y):
        raise no_rank(function, "Write it with @ and .mT, or as einsum with explicit subscripts.")
    return as_operand(x), as_operand(y)
