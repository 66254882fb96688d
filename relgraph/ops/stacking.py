"""Joining along axes that NumPy chooses: vstack, hstack, column_stack, block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, checks_arguments
from relgraph.ir.node import Variable
from relgraph.ops.joining import concatenate
from relgraph.ops.operands import typed
from relgraph.ops.shape import expand_dims


@checks_arguments
def atleast_1d(*arys: Any) -> Any:
    """Return scalars as vectors of one element, as ``numpy.atleast_1d``.

    Parameters
    ----------
    *arys : Variable or array-like
        Any dtype and shape.

    Returns
    -------
    Variable or tuple of Variable
        One for each operand; a tuple unless there is one.

    Raises
    ------
    PatternError
        For a pattern, which has no type.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.atleast_1d(rg.scalar("a")).type
    float64[1]
    """
    return _each(arys, "atleast_1d", lambda x: expand_dims(x, 0) if x.ndim == 0 else x)


@checks_arguments
def atleast_2d(*arys: Any) -> Any:
    """Return vectors as matrices of one row, as ``numpy.atleast_2d``.

    Parameters
    ----------
    *arys : Variable or array-like
        Any dtype and shape.

    Returns
    -------
    Variable or tuple of Variable
        One for each operand; a tuple unless there is one.

    Raises
    ------
    PatternError
        For a pattern, which has no type.
    """
    return _each(arys, "atleast_2d", lambda x: _lead(x, 2))


@checks_arguments
def atleast_3d(*arys: Any) -> Any:
    """Return vectors and matrices with three axes, as ``numpy.atleast_3d``.

    Parameters
    ----------
    *arys : Variable or array-like
        Any dtype and shape.

    Returns
    -------
    Variable or tuple of Variable
        [1, n, 1] of a vector and [m, n, 1] of a matrix; a tuple unless there is one operand.

    Raises
    ------
    PatternError
        For a pattern, which has no type.
    """
    new = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _each(arys, "atleast_3d", lambda x: expand_dims(x, new.get(x.ndim, ())))


def _each(arrays: Sequence[Any], function: str, change: Any) -> Any:
    found = tuple([change(typed(x, function)) for x in arrays])
    return found[0] if len(found) == 1 else found


def _lead(x: Variable, ndim: int) -> Any:
    """Return an array with axes of size 1 in front, to so many dimensions."""
    return expand_dims(x, tuple(range(ndim - x.ndim))) if x.ndim < ndim else x


def _parts(arrays: Any, function: str) -> list[Variable]:
    if isinstance(arrays, Variable | np.ndarray):
        arrays = list(arrays)  # NumPy joins the parts of an array, too
    if not isinstance(arrays, list | tuple) or not arrays:
        raise ArgumentError(
            f"{function} takes a sequence of at least one array",
            {"given": arrays},
            "Pass a list: [x, y].",
        )
    return [typed(x, function) for x in arrays]


@checks_arguments
def vstack(tup: Any) -> Any:
    """Join arrays by rows, vectors as one row each, as ``numpy.vstack``.

    Parameters
    ----------
    tup : sequence of Variable or array-like
        Of the same shape but for the first axis; vectors of one length.

    Returns
    -------
    Variable
        Two dimensions or more, of the common dtype.

    Raises
    ------
    ShapeError
        When the other dimensions differ.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.vstack([rg.vector("x", 3), rg.matrix("A", (2, 3))]).type
    float64[3, 3]
    """
    return concatenate([_lead(x, 2) for x in _parts(tup, "vstack")], 0)


@checks_arguments
def hstack(tup: Any) -> Any:
    """Join arrays by columns, vectors end to end, as ``numpy.hstack``.

    Parameters
    ----------
    tup : sequence of Variable or array-like
        Of the same shape but for the second axis; vectors of any length.

    Returns
    -------
    Variable
        Of the common dtype.

    Raises
    ------
    ShapeError
        When the other dimensions differ.
    """
    parts = [_lead(x, 1) for x in _parts(tup, "hstack")]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1)


@checks_arguments
def dstack(tup: Any) -> Any:
    """Join arrays along the third axis, as ``numpy.dstack``.

    Parameters
    ----------
    tup : sequence of Variable or array-like
        Of the same shape but for the third axis; vectors are [1, n, 1], matrices [m, n, 1].

    Returns
    -------
    Variable
        Three dimensions or more, of the common dtype.

    Raises
    ------
    ShapeError
        When the other dimensions differ.
    """
    return concatenate([atleast_3d(x) for x in _parts(tup, "dstack")], 2)


@checks_arguments
def column_stack(tup: Any) -> Any:
    """Join vectors as columns, and matrices by columns, as ``numpy.column_stack``.

    Parameters
    ----------
    tup : sequence of Variable or array-like
        Vectors and matrices with as many rows.

    Returns
    -------
    Variable
        A matrix of the common dtype.

    Raises
    ------
    ShapeError
        When the numbers of rows differ.
    """
    parts = [expand_dims(_lead(x, 1), 1) if x.ndim < 2 else x for x in _parts(tup, "column_stack")]
    return concatenate(parts, 1)


@checks_arguments
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Join one array to the end of another, as ``numpy.append``.

    Parameters
    ----------
    arr, values : Variable or array-like
        Of the same shape but for the axis.
    axis : int, optional
        Along which axis; without it both are raveled.

    Returns
    -------
    Variable
        Of the common dtype.

    Raises
    ------
    ShapeError
        When the other dimensions differ.
    """
    parts = [typed(arr, "append"), typed(values, "append")]
    return concatenate(parts, axis)


@checks_arguments
def block(arrays: Any) -> Any:
    """Join blocks given as nested lists, as ``numpy.block``.

    Parameters
    ----------
    arrays : Variable, array-like or nested list of them
        The innermost lists are joined along the last axis, those around them along the one before.

    Returns
    -------
    Variable
        Of the common dtype.

    Raises
    ------
    ArgumentError
        For an empty list, lists of different depths, or a tuple.
    ShapeError
        When the blocks do not fit.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> A, B = rg.matrices("A B", shape=(2, 2))
    >>> rnp.block([[A, B], [B, A]]).type
    float64[4, 4]
    """
    leaves: list[Variable] = []
    depth = _depth(arrays, leaves)
    ndim = max([depth, *[x.ndim for x in leaves]])
    return _joined(arrays, depth, ndim)


def _depth(arrays: Any, leaves: list[Variable]) -> int:
    """Return how deep lists are nested, and collect what is in them."""
    if isinstance(arrays, tuple):
        raise ArgumentError(
            "block takes blocks in lists, not in a tuple",
            {"given": arrays},
            "Write lists: [[A, B], [C, D]].",
        )
    if not isinstance(arrays, list):
        leaves.append(typed(arrays, "block"))
        return 0
    depths = {_depth(x, leaves) for x in arrays}
    if len(depths) != 1:
        raise ArgumentError(
            "block takes lists of one depth that are not empty",
            {"depths": sorted(depths)},
            "Write a single block beside lists as a list of one: [x].",
        )
    return depths.pop() + 1


def _joined(arrays: Any, depth: int, ndim: int) -> Any:
    if depth == 0:
        return _lead(typed(arrays, "block"), ndim)
    return concatenate([_joined(x, depth - 1, ndim) for x in arrays], -depth)
