"""NumPy's array manipulation: flips, rolls, pads, joins, splits, tiles and rotations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from relgraph.errors import (
    ArgumentError,
    DomainError,
    NumberRangeError,
    ShapeError,
    count_of,
)
from relgraph.ir.node import Constant, Variable, constant
from relgraph.numpy.operands import of_rank, typed
from relgraph.ops import elementwise
from relgraph.ops.arguments import (
    as_operand,
    check_int,
    is_axis_of_scalar,
    is_open,
    no_rank,
    normalise_axes,
    normalise_axis,
)
from relgraph.ops.checks import specify_shape
from relgraph.ops.concatenate import concatenate
from relgraph.ops.docstrings import documented
from relgraph.ops.indexing.index import along, as_array, index
from relgraph.ops.permutation import swapaxes, transpose
from relgraph.ops.shape import (
    broadcast_to,
    dim,
    expand_dims,
    product_of,
    ravel,
    reshape,
    shape,
    slab,
)

__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block",
    "column_stack",
    "dsplit",
    "dstack",
    "flip",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "pad",
    "repeat",
    "roll",
    "rollaxis",
    "rot90",
    "split",
    "tile",
    "unstack",
    "vsplit",
    "vstack",
]


@documented("reduction")
def flip(m: Any, axis: Any = None) -> Any:
    """Reverse the order of elements along axes, as ``numpy.flip``.

    axis: The axes to reverse; None for all.
    Returns: The same elements.

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


@documented()
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Move elements along axes, and those at the end to the front, as ``numpy.roll``.

    shift (int, integer scalar Variable, or tuple of them): By how many elements, one for each axis
        or one for all.
    axis (int, tuple of int or None): The axes; None for the raveled array, which gets its shape
        back.
    Returns: The shape of ``a``.
    ShapeError: For as many shifts as there are no axes.
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
    for by, one in zip(shifts, axes, strict=True):
        x = _rolled(x, by, normalise_axis(one, x.ndim, "roll") + x.ndim)
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
    first, second = along(x, axis, slice(start, None)), along(x, axis, slice(None, start))
    return concatenate([first, second], axis)


@documented()
def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = None) -> Any:
    """Put elements around an array, as ``numpy.pad``.

    pad_width (int, pair, a sequence of pairs, or dict of axes):
        How many elements to add.
    mode ({"constant", "edge", "reflect", "symmetric", "wrap"}): What to add: constants, or elements
        of an array whose padded axes have static sizes.
    constant_values (scalar, or pairs as ``pad_width``, optional): The constants, in the dtype of
        ``array``; 0 by default.
    Returns: Of the dtype of ``array``.
    ArgumentError: For another mode, and for constants given with a mode that adds none.
    DomainError: For a negative width.
    NumberRangeError: For an integer of more than 64 bits.
    ShapeError: For an axis without elements, or of unknown size, to add its elements to; and for
        other numbers of widths than of axes.
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
    numbers = 0 if constant_values is None else constant_values
    try:
        values = constant(_pairs(numbers, x.ndim, "constant_values"), x.dtype).value
    except NumberRangeError as error:
        raise NumberRangeError(
            f"pad: constant_values do not fit {x.dtype}", error.facts, error.fix
        ) from None
    for axis in range(x.ndim):
        if not widths[axis].any():
            continue
        if mode != "constant":
            x = along(x, axis, _indices(x, axis, widths[axis], mode))
            continue
        before, after = [
            [slab(constant(value), x, axis, int(width))] if width else []
            for width, value in zip(widths[axis], values[axis], strict=True)
        ]
        x = concatenate([*before, x, *after], axis)
    return x


_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def _indices(x: Variable, axis: int, widths: np.ndarray[Any, Any], mode: Any) -> Any:
    """Return the index in ``x`` of each element of the padded axis."""
    size = x.type.shape[axis]
    if not isinstance(size, int) or size == 0:
        raise ShapeError(
            f"pad with mode={mode!r} adds elements of axis {axis}, which "
            + ("has none" if size == 0 else "is of unknown size"),
            {"operand": f"{x} : {x.type}"},
            "Declare the size of the input, or pad with constants.",
        )
    return np.pad(np.arange(size), widths, mode=mode)


def _widths(pad_width: Any, ndim: int) -> np.ndarray[Any, Any]:
    """Return how many elements come before and after along each axis."""
    pairs = pad_width
    if isinstance(pad_width, dict):
        by_axis = {normalise_axis(k, ndim, "pad") + ndim: v for k, v in pad_width.items()}
        pairs = [by_axis.get(axis, 0) for axis in range(ndim)]
        pairs = [(w, w) if isinstance(w, int) else w for w in pairs]
    widths = _pairs(pairs, max(ndim, 1), "pad_width")  # those of a scalar are checked, too
    if widths.dtype.kind not in "iu" or (widths < 0).any():
        raise DomainError(
            "pad takes widths that are ints of at least 0",
            {"pad_width": pad_width},
            "Take a slice to remove elements.",
        )
    return widths


def _pairs(value: Any, ndim: int, name: str) -> np.ndarray[Any, Any]:
    """Return one pair for each axis, from any of the shorter forms that NumPy takes."""
    if isinstance(value, Variable) and not isinstance(value, Constant):
        raise ArgumentError(
            f"pad takes {name} that is known when the graph is built, not {value}",
            fix="Join the array with np.full or np.broadcast_to by np.concatenate.",
        )
    array = np.asarray(value.value if isinstance(value, Constant) else value)
    try:
        return np.broadcast_to(array, (ndim, 2))
    except ValueError:
        raise ShapeError(
            f"pad takes {name} as one number, a pair, or a pair for each of "
            f"{count_of(ndim, 'axis')}",
            {name: value},
            "Write a list with a pair (before, after) for each axis.",
        ) from None


@documented()
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Cut an array along an axis into parts of nearly equal sizes, as ``numpy.array_split``.

    ary (Variable or array-like): At least one dimension.
    indices_or_sections: The number of parts, of a static size; or the indices where to cut.
    axis (int): Which axis to cut along.
    Returns (list of Variable): The parts, in order; the first ones may be longer by one.
    ShapeError: For a number of parts along an axis whose size is not static.
    """
    x = typed(ary, "array_split")
    if isinstance(indices_or_sections, tuple | list | np.ndarray):
        return split(x, indices_or_sections, axis)
    parts = check_int(indices_or_sections, "array_split: the number of parts")
    size = x.type.shape[normalise_axis(axis, x.ndim, "array_split")]
    if parts < 1 or not isinstance(size, int):
        raise _uncut("array_split", x, axis, count_of(parts, "part"))
    each, longer = divmod(size, parts)
    cuts = [i * each + min(i, longer) for i in range(1, parts)]
    return split(x, cuts, axis)


def _uncut(function: str, x: Variable, axis: int, parts: str) -> ShapeError:
    """Return the error for an axis that cannot be cut into so many parts."""
    return ShapeError(
        f"{function}: axis {axis} cannot be cut into {parts}",
        {"operand": f"{x} : {x.type}"},
        "Give the places where to cut, as a list of ints.",
    )


@documented()
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """Return the parts of an array along an axis, as ``numpy.unstack``.

    x: Of a static size along the axis.
    axis (int): Which axis; the parts do not have it.
    Returns (tuple of Variable): As many as the size of the axis.
    ShapeError: For an axis whose size is not static.
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
    return tuple([along(array, place, i) for i in range(count)])


@documented()
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut an array along its first axis, as ``numpy.vsplit``.

    ary (Variable or array-like): At least two dimensions.
    Returns (list of Variable): The parts, in order.
    ShapeError: For fewer dimensions, or a size that is not a multiple of the number of parts.
    """
    return split(of_rank(ary, 2, "vsplit"), indices_or_sections, 0)


@documented(like=vsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut an array along its second axis, a vector along its only one, as ``numpy.hsplit``.

    ary (Variable or array-like): At least one dimension.
    ShapeError: For a scalar, or a size that is not a multiple of the number of parts.
    """
    x = of_rank(ary, 1, "hsplit")
    return split(x, indices_or_sections, min(x.ndim - 1, 1))


@documented(like=vsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """Cut an array along its third axis, as ``numpy.dsplit``.

    ary (Variable or array-like): At least three dimensions.
    """
    return split(of_rank(ary, 3, "dsplit"), indices_or_sections, 2)


@documented()
def atleast_1d(*arys: Any) -> Any:
    """Return scalars as vectors of one element, as ``numpy.atleast_1d``.

    Returns (Variable or tuple of Variable): One for each operand; a tuple unless there is one.
    PatternError: For a pattern, which has no type.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.atleast_1d(rg.scalar("a")).type
    float64[1]
    """
    return _each(arys, "atleast_1d", lambda x: expand_dims(x, 0) if x.ndim == 0 else x)


@documented(like=atleast_1d)
def atleast_2d(*arys: Any) -> Any:
    """Return vectors as matrices of one row, as ``numpy.atleast_2d``."""
    return _each(arys, "atleast_2d", lambda x: _lead(x, 2))


@documented(like=atleast_1d)
def atleast_3d(*arys: Any) -> Any:
    """Return vectors and matrices with three axes, as ``numpy.atleast_3d``.

    Returns (Variable or tuple of Variable): [1, n, 1] of a vector and [m, n, 1] of a matrix; a
        tuple unless there is one operand.
    """
    new_axes = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _each(arys, "atleast_3d", lambda x: expand_dims(x, new_axes.get(x.ndim, ())))


def _each(arrays: Sequence[Any], function: str, change: Any) -> Any:
    """Return what ``change`` makes of each array; without a tuple if there is only one."""
    results = tuple([change(typed(x, function)) for x in arrays])
    return results[0] if len(results) == 1 else results


def _lead(x: Variable, ndim: int) -> Any:
    """Return an array with axes of size 1 in front, so that it has ``ndim`` dimensions or more."""
    return expand_dims(x, tuple(range(ndim - x.ndim))) if x.ndim < ndim else x


def _parts(arrays: Any, function: str) -> list[Variable]:
    """Return a sequence of at least one array as nodes."""
    if isinstance(arrays, Variable | np.ndarray):
        arrays = list(arrays)  # NumPy joins the parts of an array, too
    if not isinstance(arrays, list | tuple) or not arrays:
        raise ArgumentError(
            f"{function} takes a sequence of at least one array",
            {"given": arrays},
            "Pass a list: [x, y].",
        )
    return [typed(x, function) for x in arrays]


@documented()
def vstack(tup: Any) -> Any:
    """Join arrays by rows, vectors as one row each, as ``numpy.vstack``.

    tup (sequence of Variable or array-like): Of the same shape but for the first axis; vectors of
        one length.
    Returns: Two dimensions or more, of the common dtype.
    ShapeError: When the other dimensions differ.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.vstack([rg.vector("x", 3), rg.matrix("A", (2, 3))]).type
    float64[3, 3]
    """
    return concatenate([_lead(x, 2) for x in _parts(tup, "vstack")], 0)


@documented(like=vstack)
def hstack(tup: Any) -> Any:
    """Join arrays by columns, vectors end to end, as ``numpy.hstack``.

    tup (sequence of Variable or array-like): Of the same shape but for the second axis; vectors of
        any length.
    Returns: Of the common dtype.
    """
    parts = [_lead(x, 1) for x in _parts(tup, "hstack")]
    return concatenate(parts, 0 if parts[0].ndim == 1 else 1)


@documented(like=vstack)
def dstack(tup: Any) -> Any:
    """Join arrays along the third axis, as ``numpy.dstack``.

    tup (sequence of Variable or array-like): Of the same shape but for the third axis; vectors are
        [1, n, 1], matrices [m, n, 1].
    Returns: Three dimensions or more, of the common dtype.
    """
    return concatenate([atleast_3d(x) for x in _parts(tup, "dstack")], 2)


@documented()
def column_stack(tup: Any) -> Any:
    """Join vectors as columns, and matrices by columns, as ``numpy.column_stack``.

    tup (sequence of Variable or array-like): Vectors and matrices with as many rows.
    Returns: A matrix of the common dtype.
    ShapeError: When the numbers of rows differ.
    """
    parts = [expand_dims(_lead(x, 1), 1) if x.ndim < 2 else x for x in _parts(tup, "column_stack")]
    return concatenate(parts, 1)


@documented()
def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Join one array to the end of another, as ``numpy.append``.

    arr, values (Variable or array-like): Of the same shape but for the axis.
    axis (int or None): Along which axis; without it both are raveled.
    Returns: Of the common dtype.
    ShapeError: When the other dimensions differ.
    """
    parts = [typed(arr, "append"), typed(values, "append")]
    return concatenate(parts, axis)


@documented()
def block(arrays: Any) -> Any:
    """Join blocks given as nested lists, as ``numpy.block``.

    arrays (Variable, array-like or nested list of them): The innermost lists are joined along the
        last axis, those around them along the one before.
    Returns: Of the common dtype.
    ArgumentError: For an empty list, lists of different depths, or a tuple.
    ShapeError: When the blocks do not fit.

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
    """Return nested lists of blocks as one array: the innermost lists join along the last axis."""
    if depth == 0:
        return _lead(typed(arrays, "block"), ndim)
    return concatenate([_joined(x, depth - 1, ndim) for x in arrays], -depth)


@documented()
def flipud(m: Any) -> Any:
    """Reverse the order of rows, as ``numpy.flipud``.

    m: At least one dimension.
    Returns: The same elements.
    ShapeError: For a scalar.
    """
    return flip(of_rank(m, 1, "flipud"), 0)


@documented(like=flipud)
def fliplr(m: Any) -> Any:
    """Reverse the order of columns, as ``numpy.fliplr``.

    m: At least two dimensions.
    ShapeError: For fewer dimensions.
    """
    return flip(of_rank(m, 2, "fliplr"), 1)


@documented()
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """Rotate by quarter turns in a plane of axes, as ``numpy.rot90``.

    m: At least two dimensions.
    k: How many turns, from the first towards the second axis.
    axes (tuple of two int): The axes of the plane.
    Returns: The same elements.
    ArgumentError: For axes that are no sequence.
    DomainError: For axes that are not two different ones.
    ShapeError: For fewer dimensions.

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


@documented()
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Move an axis in front of another one, as ``numpy.rollaxis``.

    axis (int): Which axis to move.
    start (int): In front of which axis; the number of dimensions for the end.
    Returns: The same elements.
    ArgumentError: For a ``start`` that is not an int.
    DomainError: For an axis or a ``start`` out of range.
    """
    x = typed(a, "rollaxis")
    source = normalise_axis(axis, x.ndim, "rollaxis") + x.ndim
    place = check_int(start, "rollaxis: start")
    if place != x.ndim:
        place = normalise_axis(place, x.ndim, "rollaxis") + x.ndim
    order = [i for i in range(x.ndim) if i != source]
    order.insert(place - (source < place), source)
    return transpose(x, tuple(order))


@documented()
def split(x: Any, sections: Any, axis: int = 0) -> list[Any]:
    """Cut an array along an axis.

    sections (int or sequence of int): The number of equal parts, of a static size; or the places
        where to cut.
    axis (int): Which axis to cut along.
    Returns (list of Variable): The parts, in order.
    ShapeError: When the size is not static or not a multiple of the number of parts.
    """
    x = as_operand(x)
    if not isinstance(x, Variable):
        raise no_rank("split", "Write the parts as operands of a concatenate instead.")
    axis = normalise_axis(axis, x.ndim, "split") + x.ndim
    if isinstance(sections, tuple | list | np.ndarray):
        cuts: list[Any] = [check_int(cut, "split: a place to cut") for cut in sections]
    else:
        parts = check_int(sections, "split: the number of parts")
        size = x.type.shape[axis]
        if parts < 1 or not isinstance(size, int) or size % parts:
            raise _uncut("split", x, axis, count_of(parts, "equal part"))
        cuts = [size // parts * i for i in range(1, parts)]
    bounds = zip([None, *cuts], [*cuts, None], strict=True)
    return [along(x, axis, slice(start, stop)) for start, stop in bounds]


@documented()
def repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    """Return ``x`` with each element repeated along an axis, as ``numpy.repeat``.

    repeats (int or sequence of int): How often, the same for each element or one number for each.
    axis (int or None): Which axis; without it the raveled array is repeated.
    Returns: Longer along the axis.
    ArgumentError: For numbers that are not ints known when the graph is built.
    DomainError: For a negative number, or an axis out of range.
    ShapeError: For another number of numbers than there are elements along the axis.
    """
    x = as_operand(x)
    if not isinstance(x, Variable):
        raise no_rank("repeat", "Write it as expand_dims and broadcast_to.")
    if axis is None or is_axis_of_scalar(axis, x.ndim):  # as NumPy's
        x, axis = ravel(x), 0
    axis = normalise_axis(axis, x.ndim, "repeat") + x.ndim
    if isinstance(repeats, tuple | list | np.ndarray) and np.ndim(repeats) == 1:
        if len(repeats) != 1:
            return _each_repeated(x, [_count(n, "repeat") for n in repeats], axis)
        repeats = repeats[0]
    return _merge(_stretched(x, axis + 1, _count(repeats, "repeat")), axis)


def _each_repeated(x: Variable, counts: list[int], axis: int) -> Any:
    """Return ``x`` with each element along an axis as often as its own number says."""
    size = x.type.shape[axis]
    if isinstance(size, int) and size != len(counts):
        raise ShapeError(
            f"repeat takes a number for each of the {count_of(size, 'element')} along axis {axis}, "
            f"not {len(counts)}",
            {"operand": f"{x} : {x.type}"},
            "Give one number for all of them, or one for each.",
        )
    checked = specify_shape(x, tuple([len(counts) if i == axis else None for i in range(x.ndim)]))
    return along(checked, axis, np.repeat(np.arange(len(counts)), counts))


@documented()
def tile(x: Any, reps: Any) -> Any:
    """Return ``x`` laid out as often as ``reps`` says along each axis.

    reps (int or sequence of int): How often; missing axes of either count as 1, leading.
    Returns: Each size times its entry of ``reps``.
    ArgumentError: For numbers that are not ints.
    DomainError: For a negative number.
    """
    x = as_operand(x)
    if not isinstance(x, Variable):
        raise no_rank("tile", "Write it as expand_dims, broadcast_to and reshape.")
    counts = [
        _count(count, "tile") for count in (reps if isinstance(reps, tuple | list) else [reps])
    ]
    counts = [1] * (x.ndim - len(counts)) + counts
    x = _lead(x, len(counts))
    for axis, count in enumerate(counts):
        if count != 1:
            x = _merge(_stretched(x, axis, count), axis)
    return x


def _count(value: object, function: str) -> int:
    """Return a number of repetitions as an int, or raise for one that is negative or open."""
    if is_open(value):
        raise no_rank(function, "Give the number of repetitions as an int.")
    count = check_int(value, f"{function}: a number of repetitions")
    if count < 0:
        raise DomainError(
            f"{function}: a number of repetitions cannot be negative: {count}",
            fix="Give 0 for a result without elements, or more.",
        )
    return count


def _stretched(x: Variable, axis: int, size: int) -> Any:
    """Return ``x`` with a new axis, along which it is repeated."""
    sizes = shape(x)
    return broadcast_to(expand_dims(x, axis), (*sizes[:axis], size, *sizes[axis:]))


def _merge(x: Variable, axis: int) -> Any:
    """Return ``x`` with the axes ``axis`` and ``axis + 1`` made one."""
    sizes = shape(x)
    # The product, never -1: NumPy infers no size for an array that another axis leaves empty.
    return reshape(x, (*sizes[:axis], product_of(sizes[axis : axis + 2]), *sizes[axis + 2 :]))
