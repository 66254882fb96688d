"""Joining along axes that NumPy chooses, cutting there, and reversing: vstack, block, rot90."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, DomainError, ShapeError
from relgraph.ir.node import Variable
from relgraph.ops import elementwise
from relgraph.ops.arguments import check_int, normalise_axis
from relgraph.ops.indexing import index
from relgraph.ops.joining import concatenate, split
from relgraph.ops.matrices import diag
from relgraph.ops.operands import typed
from relgraph.ops.permutation import swapaxes, transpose
from relgraph.ops.sequences import diff, flip
from relgraph.ops.shape import expand_dims, ravel


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

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.atleast_1d(rg.scalar("a")).type
    float64[1]
    """
    return _each(arys, "atleast_1d", lambda x: expand_dims(x, 0) if x.ndim == 0 else x)


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
    """
    return _each(arys, "atleast_2d", lambda x: _lead(x, 2))


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
        For an empty list, or lists of different depths.
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


# Cutting.


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Cut an array along an axis into parts of nearly equal sizes, as ``numpy.array_split``.

    Parameters
    ----------
    ary : Variable or array-like
        At least one dimension.
    indices_or_sections : int or sequence of int
        The number of parts, of a static size; or the places where to cut.
    axis : int
        Which axis to cut along.

    Returns
    -------
    list of Variable
        The parts, in order; the first ones may be longer by one.

    Raises
    ------
    ShapeError
        For a number of parts along an axis whose size is not static.
    """
    x = typed(ary, "array_split")
    if isinstance(indices_or_sections, tuple | list | np.ndarray):
        return split(x, indices_or_sections, axis)
    parts = check_int(indices_or_sections, "array_split: the number of parts")
    total = x.type.shape[normalise_axis(axis, x.ndim, "array_split")]
    if parts < 1 or not isinstance(total, int):
        raise ShapeError(
            f"array_split: axis {axis} cannot be cut into {parts} parts",
            {"operand": f"{x} : {x.type}"},
            "Give the places where to cut, as a list of ints.",
        )
    each, more = divmod(total, parts)
    cuts = [i * each + min(i, more) for i in range(1, parts)]
    return split(x, cuts, axis)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Return the parts of an array along an axis, as ``numpy.unstack``.

    Parameters
    ----------
    x : Variable or array-like
        Of a static size along the axis.
    axis : int
        Which axis; the parts do not have it.

    Returns
    -------
    tuple of Variable
        As many as the size of the axis.

    Raises
    ------
    ShapeError
        For an axis whose size is not static.
    """
    array = _of_rank(x, 1, "unstack")
    place = normalise_axis(axis, array.ndim, "unstack") + array.ndim
    count = array.type.shape[place]
    if not isinstance(count, int):
        raise ShapeError(
            f"unstack: the size of axis {axis} is not known",
            {"operand": f"{array} : {array.type}"},
            "Declare the size of the input.",
        )
    return tuple([index(array, (*[slice(None)] * place, i)) for i in range(count)])


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut an array along its first axis, as ``numpy.vsplit``.

    Parameters
    ----------
    ary : Variable or array-like
        At least two dimensions.
    indices_or_sections : int or sequence of int
        The number of equal parts, or the places where to cut.

    Returns
    -------
    list of Variable
        The parts, in order.

    Raises
    ------
    ShapeError
        For fewer dimensions, or a size that is not a multiple of the number of parts.
    """
    return split(_of_rank(ary, 2, "vsplit"), indices_or_sections, 0)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut an array along its second axis, a vector along its only one, as ``numpy.hsplit``.

    Parameters
    ----------
    ary : Variable or array-like
        At least one dimension.
    indices_or_sections : int or sequence of int
        The number of equal parts, or the places where to cut.

    Returns
    -------
    list of Variable
        The parts, in order.

    Raises
    ------
    ShapeError
        For a scalar, or a size that is not a multiple of the number of parts.
    """
    x = _of_rank(ary, 1, "hsplit")
    return split(x, indices_or_sections, min(x.ndim - 1, 1))


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut an array along its third axis, as ``numpy.dsplit``.

    Parameters
    ----------
    ary : Variable or array-like
        At least three dimensions.
    indices_or_sections : int or sequence of int
        The number of equal parts, or the places where to cut.

    Returns
    -------
    list of Variable
        The parts, in order.

    Raises
    ------
    ShapeError
        For fewer dimensions, or a size that is not a multiple of the number of parts.
    """
    return split(_of_rank(ary, 3, "dsplit"), indices_or_sections, 2)


def _of_rank(x: Any, ndim: int, function: str) -> Variable:
    array = typed(x, function)
    if array.ndim < ndim:
        raise ShapeError(
            f"{function} takes an array of at least {ndim} dimensions, not {array.type}",
            fix="Insert axes with np.expand_dims.",
        )
    return array


# Reversing, and what is left.


def flipud(m: Any) -> Any:
    """Reverse the order of rows, as ``numpy.flipud``.

    Parameters
    ----------
    m : Variable or array-like
        At least one dimension.

    Returns
    -------
    Variable
        The same elements.

    Raises
    ------
    ShapeError
        For a scalar.
    """
    return flip(_of_rank(m, 1, "flipud"), 0)


def fliplr(m: Any) -> Any:
    """Reverse the order of columns, as ``numpy.fliplr``.

    Parameters
    ----------
    m : Variable or array-like
        At least two dimensions.

    Returns
    -------
    Variable
        The same elements.

    Raises
    ------
    ShapeError
        For fewer dimensions.
    """
    return flip(_of_rank(m, 2, "fliplr"), 1)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Rotate by quarter turns in a plane of axes, as ``numpy.rot90``.

    Parameters
    ----------
    m : Variable or array-like
        At least two dimensions.
    k : int
        How many turns, from the first towards the second axis.
    axes : tuple of two int
        The axes of the plane.

    Returns
    -------
    Variable
        The same elements.

    Raises
    ------
    DomainError
        For axes that are not two different ones.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.rot90(rg.matrix("A"), 2)
    A[::-1, ::-1]
    """
    x = _of_rank(m, 2, "rot90")
    first, second = (normalise_axis(a, x.ndim, "rot90") for a in axes)
    if first == second:
        raise DomainError(
            "rot90 takes two different axes",
            {"axes": tuple(axes)},
            "Name the two that span the plane.",
        )
    turns = check_int(k, "rot90: k") % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, (first, second))
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Move an axis in front of another one, as ``numpy.rollaxis``.

    Parameters
    ----------
    a : Variable or array-like
        Any dtype and shape.
    axis : int
        Which axis to move.
    start : int
        In front of which axis; the number of dimensions for the end.

    Returns
    -------
    Variable
        The same elements.
    """
    x = typed(a, "rollaxis")
    source = normalise_axis(axis, x.ndim, "rollaxis") + x.ndim
    place = check_int(start, "rollaxis: start")
    if place != x.ndim:
        place = normalise_axis(place, x.ndim, "rollaxis") + x.ndim
    order = [i for i in range(x.ndim) if i != source]
    order.insert(place - (source < place), source)
    return transpose(x, tuple(order))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Subtract from each element the one before it, as ``numpy.ediff1d``.

    Parameters
    ----------
    ary : Variable or array-like
        Raveled first.
    to_end, to_begin : Variable or array-like, optional
        What to join to the differences, in their dtype.

    Returns
    -------
    Variable
        A vector of the dtype of ``ary``.

    Raises
    ------
    ArgumentError
        For parts that the dtype of ``ary`` cannot hold.
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


def diagflat(v: Any, k: int = 0) -> Any:
    """Return a matrix with all elements of an array on a diagonal, as ``numpy.diagflat``.

    Parameters
    ----------
    v : Variable or array-like
        Raveled first.
    k : int
        The diagonal: 0 the main one, positive above it.

    Returns
    -------
    Variable
        A matrix, with zeros elsewhere.
    """
    return diag(ravel(typed(v, "diagflat")), k)
