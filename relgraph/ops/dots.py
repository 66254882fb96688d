"""NumPy's products older than ``@``: dot, vdot, inner and tensordot, as matrix products."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, ShapeError, checks_arguments, count_of
from relgraph.ir.node import Variable
from relgraph.ops.arguments import as_operand, is_pattern, no_rank, normalise_axes, normalise_axis
from relgraph.ops.checks import assert_sizes
from relgraph.ops.contraction import Matmul, Outer, contracted, matmul
from relgraph.ops.elementwise import equal, logical_and, multiply
from relgraph.ops.permutation import transpose
from relgraph.ops.shape import dim, ravel, reshape, shape


@checks_arguments
def dot(x: Any, y: Any) -> Any:
    """Return NumPy's dot product.

    Parameters
    ----------
    x, y : Variable, array-like or pattern
        The sum is over the last axis of ``x`` and the second to last of ``y`` (or its only one);
        a scalar multiplies.  For vectors, matrices and patterns this is the matrix product.

    Returns
    -------
    Variable or pattern
        The other axes of ``x``, then those of ``y``.

    Raises
    ------
    ShapeError
        When the sizes that are summed over differ.
    """
    x, y = as_operand(x), as_operand(y)
    if is_pattern(x) or is_pattern(y):
        return Matmul()(x, y)
    if x.ndim == 0 or y.ndim == 0:
        return multiply(x, y)
    if y.ndim == 1 or (x.ndim <= 2 and y.ndim == 2):
        return matmul(x, y)
    return tensordot(x, y, ([-1], [-2]))


@checks_arguments
def vdot(x: Any, y: Any) -> Any:
    """Return the sum of the products of all elements of two arrays, taken in C order.

    Parameters
    ----------
    x, y : Variable or array-like
        With the same number of elements.

    Returns
    -------
    Variable
        No dimensions.

    Raises
    ------
    ShapeError
        For other numbers of elements.
    """
    return Matmul()(ravel(x), ravel(y))


@checks_arguments
def inner(x: Any, y: Any) -> Any:
    """Return the inner products over the last axes of ``x`` and ``y``.

    Parameters
    ----------
    x : Variable or array-like, [..., k]
        A scalar multiplies.
    y : Variable or array-like, [..., k]
        Its other axes follow those of ``x``.

    Returns
    -------
    Variable
        The other axes of ``x``, then those of ``y``.

    Raises
    ------
    ShapeError
        When the sizes of the last axes differ.
    """
    x, y = _arrays(x, y, "inner")
    if x.ndim == 0 or y.ndim == 0:
        return multiply(x, y)
    return tensordot(x, y, ([-1], [-1]))


@checks_arguments
def tensordot(x: Any, y: Any, axes: Any = 2) -> Any:
    """Return the sum of products over several axes; the other axes of ``y`` follow those of ``x``.

    Parameters
    ----------
    x, y : Variable or array-like
        Of any shape.
    axes : int or pair of int or sequences
        How many last axes of ``x`` and first axes of ``y``; or which of each.

    Returns
    -------
    Variable
        The axes that are not summed over.

    Raises
    ------
    ArgumentError
        For other numbers of axes of the two operands, and axes that are no int and no pair.
    DomainError
        For an axis out of range or given twice.
    ShapeError
        When sizes that are summed together differ; at the call, where they are not known before.
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
    found = []
    for operand, given in ((x, first), (y, second)):
        normalise_axes(given, operand.ndim, "tensordot")
        found.append([normalise_axis(a, operand.ndim, "tensordot") for a in given])
    return found[0], found[1]


def _folded(x: Variable, cut: int) -> Any:
    """Return ``x`` with its first ``cut`` axes made one, and the rest; none of a kind, no axis."""
    sizes = shape(x)
    return reshape(x, tuple(_product(part) for part in (sizes[:cut], sizes[cut:]) if part))


def _product(sizes: tuple[Any, ...]) -> Any:
    total: Any = 1
    for one in sizes:
        if isinstance(one, int) and isinstance(total, int):
            total *= one
        else:
            total = one if isinstance(total, int) and total == 1 else multiply(total, one)
    return total


def _arrays(x: Any, y: Any, function: str) -> tuple[Variable, Variable]:
    """Return two operands as nodes, or raise PatternError: a pattern has no rank."""
    if is_pattern(x) or is_pattern(y):
        raise no_rank(function, "Write it with @ and .mT, or as einsum with explicit subscripts.")
    return as_operand(x), as_operand(y)
