"""Cutting along an axis: array_split, unstack, vsplit, hsplit and dsplit."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import ShapeError, checks_arguments, count_of
from relgraph.ops.arguments import check_int, normalise_axis
from relgraph.ops.indexing import index
from relgraph.ops.joining import split
from relgraph.ops.operands import of_rank, typed


@checks_arguments
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
            f"array_split: axis {axis} cannot be cut into {count_of(parts, 'part')}",
            {"operand": f"{x} : {x.type}"},
            "Give the places where to cut, as a list of ints.",
        )
    each, more = divmod(total, parts)
    cuts = [i * each + min(i, more) for i in range(1, parts)]
    return split(x, cuts, axis)


@checks_arguments
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
    array = of_rank(x, 1, "unstack")
    place = normalise_axis(axis, array.ndim, "unstack") + array.ndim
    count = array.type.shape[place]
    if not isinstance(count, int):
        raise ShapeError(
            f"unstack: the size of axis {axis} is not known",
            {"operand": f"{array} : {array.type}"},
            "Declare the size of the input.",
        )
    return tuple([index(array, (*[slice(None)] * place, i)) for i in range(count)])


@checks_arguments
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
    return split(of_rank(ary, 2, "vsplit"), indices_or_sections, 0)


@checks_arguments
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
    x = of_rank(ary, 1, "hsplit")
    return split(x, indices_or_sections, min(x.ndim - 1, 1))


@checks_arguments
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
    return split(of_rank(ary, 3, "dsplit"), indices_or_sections, 2)
