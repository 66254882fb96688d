"""Finite differences: ``diff``, and derivatives that differences approximate."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import (
    ArgumentError,
    DomainError,
    ShapeError,
)
from relgraph.ir.node import Constant, Variable, constant
from relgraph.numpy.operands import typed
from relgraph.ops import elementwise
from relgraph.ops.arguments import as_operand, check_int, distinct_axes, normalise_axis
from relgraph.ops.checks import assert_sizes
from relgraph.ops.concatenate import concatenate
from relgraph.ops.docstrings import documented
from relgraph.ops.indexing.index import along, as_array, index
from relgraph.ops.shape import dim, expand_dims, ravel, slab

__all__ = ["diff", "ediff1d", "gradient"]


@documented()
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Approximate derivatives along axes by differences, as ``numpy.gradient``.

    f (Variable or array-like): Values at the points of a grid.
    *varargs (scalar, vector or Variable): The distance of points, or their coordinates: for all
        axes, or one for each; 1 by default.
    axis (int, tuple of int or None): The axes; None for all.
    edge_order ({1, 2}): Of how many points the differences at the edges are, less one.
    Returns (Variable or tuple of Variable): Of the shape of ``f``, one for each axis; float64 for
        integers, otherwise its dtype.
    ArgumentError: For other numbers of distances and axes, or coordinates of more dimensions.
    DomainError: For another ``edge_order``, or an axis given twice.
    ShapeError: For an axis that has fewer points than the differences are of; at the call, where
        its size is not known before.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> y = rg.vector("y")
    >>> rg.function([y], rnp.gradient(y))([1.0, 2.0, 4.0, 7.0])
    array([1. , 1.5, 2.5, 3. ])
    """
    x = typed(f, "gradient")
    if edge_order not in (1, 2):
        raise DomainError(
            f"gradient takes an edge_order of 1 or 2, not {edge_order!r}",
            fix="Use 1 or 2, the order of accuracy of the differences at the two ends.",
        )
    axes = _axes_of(axis, x)
    distances = _distances(varargs, len(axes))
    if x.dtype.kind in "iu":  # differences of integers wrap around
        x = elementwise.cast(x, "float64")
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype("float64")
    derivatives = tuple(
        [
            elementwise.cast(_derivative(x, place, _spacing(one, x, place), edge_order), dtype)
            for place, one in zip(axes, distances, strict=True)
        ]
    )
    return derivatives[0] if len(derivatives) == 1 else derivatives


def _axes_of(axis: Any, x: Variable) -> list[int]:
    """Return the axes in the order in which they are given, counted from the front."""
    if axis is None:
        return list(range(x.ndim))
    return [one + x.ndim for one in distinct_axes(axis, x.ndim, "gradient")]


def _distances(arguments: tuple[Any, ...], axes: int) -> list[Any]:
    """Return one distance, or one vector of coordinates, for each axis."""
    distances = list(arguments) or [1.0]
    if len(distances) == 1 and (axes != 1 or np.ndim(_stand_in(distances[0])) == 0):
        distances *= axes
    if len(distances) != axes:
        raise ArgumentError(
            "gradient takes one distance, or one for each axis",
            {"distances": len(distances), "axes": axes},
            "Pass one for all axes, one for each, or none where neighbours are 1 apart.",
        )
    return distances


def _stand_in(distance: Any) -> Any:
    """Return an array of as many dimensions as a distance has."""
    return np.empty((1,) * distance.ndim) if isinstance(distance, Variable) else distance


def _spacing(distance: Any, x: Variable, axis: int) -> Any:
    """Return the distance of all points, or a vector of those of neighbours."""
    ndim = np.ndim(_stand_in(distance))
    if ndim == 0:
        return distance
    if ndim > 1:
        raise ArgumentError(
            "gradient takes distances as scalars, and coordinates as vectors",
            {"given": distance},
            "Pass a vector of coordinates for each axis, in the order of the axes.",
        )
    points = typed(distance, "gradient")
    sizes = points.type.shape[0], x.type.shape[axis]
    if all(isinstance(size, int) for size in sizes) and sizes[0] != sizes[1]:
        raise ShapeError(
            f"gradient takes as many coordinates as there are points along axis {axis}",
            {"operand": x.type, "coordinates": points.type},
            "Give the coordinate of every point, or a scalar where all distances are equal.",
        )
    if points.dtype.kind in "iu":
        points = elementwise.cast(points, "float64")
    if isinstance(points, Constant):
        gaps = np.diff(points.value)
        return gaps[0] if len(gaps) and (gaps == gaps[0]).all() else constant(gaps)
    return diff(points)


def _derivative(x: Variable, axis: int, gaps: Any, order: int) -> Any:
    """Return differences along one axis: two edges, and between them central ones."""
    size, fewest = dim(x, axis), order + 1
    few = f"gradient needs at least {fewest} points along axis {axis}"
    fix = "Pass more points, or name the other axes by axis=."
    if not isinstance(size, int):
        x = assert_sizes(x, elementwise.greater_equal(size, fewest), few, fix)
    elif size < fewest:
        raise ShapeError(few, {"operand": x.type}, fix)

    def at(key: Any) -> Any:
        part = along(x, axis, key)
        return part if isinstance(key, slice) else expand_dims(part, axis)

    def gap(i: int) -> Any:
        return gaps if uniform else index(gaps, i)

    uniform = np.ndim(_stand_in(gaps)) == 0
    before, here, after = at(slice(None, -2)), at(slice(1, -1)), at(slice(2, None))
    if uniform:
        middle = (after - before) / (2.0 * gaps)
    else:
        new = tuple([i for i in range(x.ndim) if i != axis])
        left, right = (
            expand_dims(index(gaps, part), new) for part in (slice(None, -1), slice(1, None))
        )
        middle = (
            -right / (left * (left + right)) * before
            + (right - left) / (left * right) * here
            + left / (right * (left + right)) * after
        )
    if order == 1:
        first, last = (at(1) - at(0)) / gap(0), (at(-1) - at(-2)) / gap(-1)
    else:
        first = _one_sided(gap(0), gap(1), at(0), at(1), at(2))
        last = -_one_sided(gap(-1), gap(-2), at(-1), at(-2), at(-3))
    return concatenate([first, middle, last], axis)


def _one_sided(near: Any, far: Any, *values: Any) -> Any:
    """Return the derivative at the first of three points."""
    both = near + far
    return (
        -(near + both) / (near * both) * values[0]
        + both / (near * far) * values[1]
        - near / (far * both) * values[2]
    )


@documented()
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Subtract from each element the one before it, as ``numpy.diff``.

    a: At least one dimension; of bools the result is whether they differ.
    n (int): How many times.
    axis (int): Along which axis.
    prepend, append (Variable or array-like, optional): What to join to ``a`` first; a scalar is one
        element along the axis.
    Returns: With ``n`` elements less along the axis.
    DomainError: For a negative ``n``.
    """
    x = as_array(a, "diff")
    if check_int(n, "diff: n") < 0:
        raise DomainError(
            f"diff takes an n of at least 0, not {n}",
            fix="Use 1 for the differences of neighbours; 0 returns the array itself.",
        )
    if n == 0:
        return x
    place = normalise_axis(axis, x.ndim, "diff") + x.ndim
    before, after = (_joined(x, part, place) for part in (prepend, append))
    if before or after:
        x = concatenate([*before, x, *after], place)
    for _ in range(n):
        minus = elementwise.not_equal if x.dtype == "bool" else elementwise.subtract
        x = minus(along(x, place, slice(1, None)), along(x, place, slice(None, -1)))
    return x


def _joined(x: Variable, part: Any, axis: int) -> list[Any]:
    if part is None:
        return []
    array = as_operand(part)
    return [array if array.ndim else slab(array, x, axis)]


@documented()
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Subtract from each element the one before it, as ``numpy.ediff1d``.

    ary (Variable or array-like): Raveled first.
    to_end, to_begin (Variable or array-like, optional): What to join to the differences, in their
        dtype.
    Returns: A vector of the dtype of ``ary``.
    ArgumentError: For parts that the dtype of ``ary`` cannot hold.
    """
    x = ravel(typed(ary, "ediff1d"))
    if x.dtype.kind == "b":
        return elementwise.subtract(x, x)  # the error that NumPy raises, too
    parts = [diff(x)]
    for part, at in ((to_begin, 0), (to_end, 2)):
        if part is None:
            continue
        more = typed(part, "ediff1d")
        if not np.can_cast(more.dtype, x.dtype, "same_kind"):
            raise ArgumentError(
                f"ediff1d cannot join {more.dtype} to differences in {x.dtype}",
                fix="Convert it first with .astype(...).",
            )
        parts.insert(at, elementwise.cast(ravel(more), x.dtype))
    return concatenate(parts)
