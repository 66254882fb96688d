"""Elements in order along axes, made of slices and joins: flip, roll, diff, ediff1d and pad."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import (
    ArgumentError,
    DomainError,
    NumberRangeError,
    ShapeError,
    checks_arguments,
    count_of,
)
from relgraph.ir.node import Constant, Variable, constant
from relgraph.ops import elementwise
from relgraph.ops.arguments import as_operand, check_int, normalise_axes, normalise_axis
from relgraph.ops.indexing import as_array, index
from relgraph.ops.joining import concatenate
from relgraph.ops.operands import typed
from relgraph.ops.shape import broadcast_to, dim, ravel, reshape, shape


def _along(x: Variable, axis: int, part: slice) -> Any:
    """Return a slice of one axis."""
    return index(x, (slice(None),) * axis + (part,))


@checks_arguments
def flip(m: Any, axis: Any = None) -> Any:
    """Reverse the order of elements along axes, as ``numpy.flip``.

    Parameters
    ----------
    m : Variable or array-like
        Any dtype and shape.
    axis : int, tuple of int or None
        The axes to reverse; None for all.

    Returns
    -------
    Variable
        The same elements.

    Raises
    ------
    DomainError
        For an axis out of range, or one given twice.
    PatternError
        For a pattern, whose rank is not known.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.flip(rg.matrix("X"), axis=1)
    X[:, ::-1]
    """
    x = as_array(m, "flip")
    axes = range(-x.ndim, 0) if axis is None else normalise_axes(axis, x.ndim, "flip")
    return index(x, tuple(slice(None, None, -1 if a in axes else None) for a in range(-x.ndim, 0)))


@checks_arguments
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Move elements along axes, and those at the end to the front, as ``numpy.roll``.

    Parameters
    ----------
    a : Variable or array-like
        Any dtype and shape.
    shift : int, integer scalar Variable, or tuple of them
        By how many places, one for each axis or one for all.
    axis : int, tuple of int or None
        The axes; None for the canonical_shape array, which gets its shape back.

    Returns
    -------
    Variable
        The shape of ``a``.

    Raises
    ------
    ShapeError
        For as many shifts as there are no axes.
    """
    x = as_array(a, "roll")
    if axis is None:
        if isinstance(shift, tuple | list):
            shift = sum(shift)
        return reshape(_rolled(ravel(x), shift, 0), shape(x))
    axes = list(axis) if isinstance(axis, tuple | list) else [axis]
    shifts = list(shift) if isinstance(shift, tuple | list) else [shift]
    if len(shifts) == 1:
        shifts *= len(axes)
    if len(axes) == 1:
        axes *= len(shifts)
    if len(axes) != len(shifts):
        raise ShapeError(
            "roll has other numbers of shifts and axes",
            {"shift": shift, "axis": axis},
            "Give one shift for each axis, or one for all.",
        )
    for by, along in zip(shifts, axes, strict=True):
        x = _rolled(x, by, normalise_axis(along, x.ndim, "roll") + x.ndim)
    return x


def _rolled(x: Variable, shift: Any, axis: int) -> Any:
    size = dim(x, axis)
    if isinstance(shift, Constant):
        shift = int(shift.value)
    if not isinstance(shift, Variable):
        shift = check_int(shift, "roll: a shift")
        if shift == 0:
            return x
    if isinstance(size, int) and isinstance(shift, int):
        start = -shift % size if size else 0
    else:  # no remainder of 0, which an empty axis has
        start = elementwise.remainder(elementwise.negative(shift), elementwise.maximum(size, 1))
    first, second = _along(x, axis, slice(start, None)), _along(x, axis, slice(None, start))
    return concatenate([first, second], axis)


@checks_arguments
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Subtract from each element the one before it, as ``numpy.diff``.

    Parameters
    ----------
    a : Variable or array-like
        At least one dimension; of bools it is told whether they differ.
    n : int
        How many times.
    axis : int
        Along which axis.
    prepend, append : Variable or array-like, optional
        What to join to ``a`` first; a scalar is one element at each place.

    Returns
    -------
    Variable
        With ``n`` elements less along the axis.

    Raises
    ------
    DomainError
        For a negative ``n``.
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
        x = minus(_along(x, place, slice(1, None)), _along(x, place, slice(None, -1)))
    return x


def _joined(x: Variable, part: Any, axis: int) -> list[Any]:
    if part is None:
        return []
    array = as_operand(part)
    if array.ndim:
        return [array]
    sizes = list(shape(x))
    sizes[axis] = 1
    return [broadcast_to(array, tuple(sizes))]


@checks_arguments
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


@checks_arguments
def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = None) -> Any:
    """Put elements around an array, as ``numpy.pad``.

    Parameters
    ----------
    array : Variable or array-like
        Any dtype and shape.
    pad_width : int, (before, after), a sequence of one such pair for each axis, or dict of axes
        How many elements to add.
    mode : {"constant", "edge", "reflect", "symmetric", "wrap"}
        What to add: constants, or elements of an array whose padded axes have static sizes.
    constant_values : scalar, or pairs as ``pad_width``, optional
        The constants, in the dtype of ``array``; 0 by default.

    Returns
    -------
    Variable
        Of the dtype of ``array``.

    Raises
    ------
    ArgumentError
        For another mode, and for constants given with a mode that adds none.
    DomainError
        For a negative width.
    NumberRangeError
        For an integer of more than 64 bits.
    ShapeError
        For an axis without elements, or of unknown size, to add its elements to; and for other
        numbers of widths than of axes.
    """
    x = as_array(array, "pad")
    if mode not in _MODES:
        raise ArgumentError(
            f"pad with mode={mode!r} is not supported",
            {"modes": ", ".join(_MODES)},
            "Use one of these, or join arrays with np.concatenate.",
        )
    widths = _widths(pad_width, x.ndim)
    if mode != "constant" and constant_values is not None:
        raise ArgumentError(
            f"pad with mode={mode!r} takes no constant_values",
            {"constant_values": constant_values},
            "Leave constant_values= out, or pad with mode='constant'.",
        )
    given = 0 if constant_values is None else constant_values
    try:
        values = constant(_pairs(given, x.ndim, "constant_values"), x.dtype).value
    except NumberRangeError as error:
        raise NumberRangeError(
            f"pad: constant_values do not fit {x.dtype}", error.facts, error.fix
        ) from None
    for axis in range(x.ndim):
        if not widths[axis].any():
            continue
        if mode != "constant":
            places = _places(x, axis, widths[axis], mode)
            x = index(x, (*[slice(None)] * axis, places))
            continue
        sides = [
            _block(x, axis, int(width), value)
            for width, value in zip(widths[axis], values[axis], strict=True)
        ]
        x = concatenate([*sides[0], x, *sides[1]], axis)
    return x


_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def _places(x: Variable, axis: int, widths: np.ndarray[Any, Any], mode: Any) -> Any:
    """Return where in ``x`` the elements of the padded axis are."""
    size = x.type.shape[axis]
    if not isinstance(size, int) or size == 0:
        raise ShapeError(
            f"pad with mode={mode!r} adds elements of axis {axis}, which "
            + ("has none" if size == 0 else "is of unknown size"),
            {"operand": f"{x} : {x.type}"},
            "Declare the size of the input, or pad with constants.",
        )
    return np.pad(np.arange(size), widths, mode=mode)


def _widths(given: Any, ndim: int) -> np.ndarray[Any, Any]:
    """Return how many elements come before and after along each axis."""
    pairs = given
    if isinstance(given, dict):
        by_axis = {normalise_axis(k, ndim, "pad") + ndim: v for k, v in given.items()}
        pairs = [by_axis.get(axis, 0) for axis in range(ndim)]
        pairs = [(w, w) if isinstance(w, int) else w for w in pairs]
    widths = _pairs(pairs, max(ndim, 1), "pad_width")  # those of a scalar are checked, too
    if widths.dtype.kind not in "iu" or (widths < 0).any():
        raise DomainError(
            "pad takes widths that are ints of at least 0",
            {"pad_width": given},
            "Take a slice to remove elements.",
        )
    return widths


def _pairs(given: Any, ndim: int, name: str) -> np.ndarray[Any, Any]:
    """Return one pair for each axis, of NumPy's shorter forms."""
    if isinstance(given, Variable) and not isinstance(given, Constant):
        raise ArgumentError(
            f"pad takes {name} that is known when the graph is built, not {given}",
            fix="Join the array with np.full or np.broadcast_to by np.concatenate.",
        )
    array = np.asarray(given.value if isinstance(given, Constant) else given)
    try:
        return np.broadcast_to(array, (ndim, 2))
    except ValueError:
        raise ShapeError(
            f"pad takes {name} as one number, a pair, or a pair for each of "
            f"{count_of(ndim, 'axis')}",
            {name: given},
            "Write a list with a pair (before, after) for each axis.",
        ) from None


def _block(x: Variable, axis: int, width: int, value: Any) -> list[Any]:
    if width == 0:
        return []
    sizes = list(shape(x))
    sizes[axis] = width
    return [broadcast_to(constant(value), tuple(sizes))]
