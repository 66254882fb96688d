"""Turning arrays: rows and columns reversed, quarter turns, an axis moved to the front."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from relgraph.errors import ArgumentError, DomainError, checks_arguments
from relgraph.ops.arguments import check_int, normalise_axis
from relgraph.ops.operands import of_rank, typed
from relgraph.ops.permutation import swapaxes, transpose
from relgraph.ops.sequences import flip


@checks_arguments
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
    return flip(of_rank(m, 1, "flipud"), 0)


@checks_arguments
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
    return flip(of_rank(m, 2, "fliplr"), 1)


@checks_arguments
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
    ArgumentError
        For axes that are no sequence.
    DomainError
        For axes that are not two different ones.
    ShapeError
        For fewer dimensions.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.rot90(rg.matrix("A"), 2)
    A[::-1, ::-1]
    """
    x = of_rank(m, 2, "rot90")
    if not isinstance(axes, Iterable):
        raise ArgumentError(
            f"rot90 takes two axes, not {axes!r:.60}", fix="Write them as a pair: axes=(0, 1)."
        )
    first, *others = (normalise_axis(a, x.ndim, "rot90") for a in axes)
    second = others[0] if len(others) == 1 else first
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


@checks_arguments
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

    Raises
    ------
    ArgumentError
        For a ``start`` that is not an int.
    DomainError
        For an axis or a ``start`` out of range.
    PatternError
        For a pattern, which has no type.
    """
    x = typed(a, "rollaxis")
    source = normalise_axis(axis, x.ndim, "rollaxis") + x.ndim
    place = check_int(start, "rollaxis: start")
    if place != x.ndim:
        place = normalise_axis(place, x.ndim, "rollaxis") + x.ndim
    order = [i for i in range(x.ndim) if i != source]
    order.insert(place - (source < place), source)
    return transpose(x, tuple(order))
