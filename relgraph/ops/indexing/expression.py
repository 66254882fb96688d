"""Keys of an index, with NumPy's rules.

A key becomes a *spec*, a tuple with one entry for each part of the key, and operands that the
entries consume in order:

============================  ====================================================================
``("int", i)``                one element of the next axis
``("dynamic",)``              the same, by an operand: an integer scalar
``("slice", a, b, c)``        a slice; a bound may be ``"dynamic"``, an integer scalar operand
``("newaxis",)``              a new axis of size 1
``("array",)``                advanced: an operand, an integer array, for the next axis
``("mask", k)``               advanced: an operand, a bool array with k axes, for the next k axes
``("ellipsis",)``             no axis; kept only where it separates advanced entries, as in NumPy
============================  ====================================================================

Entries for whole axes at the end are left out.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from relgraph.errors import (
    ArgumentError,
    DomainError,
    DTypeError,
    IndexRangeError,
    PatternError,
    ShapeError,
    count_of,
)
from relgraph.ir.node import Constant, Variable, as_variable, constant
from relgraph.ir.types import Dim, Shape, TensorType, broadcast_shapes, unify_dims
from relgraph.ops.arguments import check_scalar, is_int, is_pattern

Spec = tuple[tuple[Any, ...], ...]
FULL = ("slice", None, None, None)
_ADVANCED = ("array", "mask")
_SCALAR = ("int", "dynamic")


def is_advanced(spec: Spec) -> bool:
    """Return True if a key copies: it holds an array or a mask."""
    return any(entry[0] in _ADVANCED for entry in spec)


def split_new_axes(spec: Spec) -> tuple[Spec, tuple[int, ...]]:
    """Return a basic key without its new axes, and where the result has them.

    An advanced key stays whole: where its axes stand depends on what separates its entries.
    """
    if is_advanced(spec):
        return spec, ()
    kept = [entry for entry in spec if entry[0] not in _SCALAR]
    rest = [entry for entry in spec if entry[0] != "newaxis"]
    while rest and rest[-1] == FULL:
        rest.pop()
    return tuple(rest), tuple([i for i, entry in enumerate(kept) if entry[0] == "newaxis"])


def advanced_place(spec: Spec) -> int | None:
    """Return the number of axes that precede those of an advanced key; None for a basic key.

    It is 0 if a slice, a new axis or an ellipsis separates the advanced entries.
    """
    if not is_advanced(spec):
        return None
    at = [i for i, entry in enumerate(spec) if entry[0] in _ADVANCED or entry[0] in _SCALAR]
    if at[-1] - at[0] + 1 != len(at):
        return 0
    return sum(entry[0] in ("slice", "newaxis") for entry in spec[: at[0]])


def indexed_shape(spec: Spec, shape: Shape, operands: tuple[TensorType, ...]) -> Shape:
    """Return the shape of the part that a key selects, or raise if the key does not fit."""
    rest = iter(operands)
    kept_dims: list[Dim] = []
    advanced: list[Shape] = []
    axis = 0
    for entry in spec:
        kind = entry[0]
        if kind == "newaxis":
            kept_dims.append(1)
            continue
        if kind == "ellipsis":
            continue
        width = entry[1] if kind == "mask" else 1
        if axis + width > len(shape):
            raise ShapeError(
                f"too many indices: the array has {count_of(len(shape), 'dimension')}",
                {"key": spec_text(spec, ["..."] * len(operands))},
                "Leave some out; a mask takes as many axes as it has dimensions.",
            )
        if kind == "slice":
            bounds = [bound for bound in entry[1:] if bound == "dynamic"]
            for _ in bounds:
                check_scalar(_next(rest), "a bound of a slice")
            kept_dims.append(_sliced(entry, shape[axis]))
        elif kind == "int":
            _check_range(entry[1], shape[axis], axis)
        elif kind == "dynamic":
            check_scalar(_next(rest), "an index")
        elif kind == "array":
            advanced.append(_next_array(rest, "iu").shape)
        else:
            _check_mask(_next_array(rest, "b", width).shape, shape, axis)
            advanced.append((None,))
        axis += width
    if next(rest, None) is not None:
        raise ArgumentError(
            "more operands than the key has dynamic parts",
            fix="Write x[key], or x.at[key] for an update, which makes the operands with the key.",
        )
    kept_dims.extend(shape[axis:])
    place = advanced_place(spec)
    if place is None:
        return tuple(kept_dims)
    return (*kept_dims[:place], *broadcast_shapes(advanced), *kept_dims[place:])


def numpy_key(spec: Spec, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a spec and its operands as a key for a NumPy array."""
    rest = iter(operands)
    key: list[Any] = []
    for kind, *values in spec:
        if kind == "slice":
            key.append(slice(*[int(next(rest)) if v == "dynamic" else v for v in values]))
        elif kind == "int":
            key.append(values[0])
        elif kind == "dynamic":
            key.append(int(next(rest)))
        elif kind == "newaxis":
            key.append(None)
        elif kind == "ellipsis":
            key.append(Ellipsis)
        else:
            key.append(np.asarray(next(rest)))
    return tuple(key)


def spec_text(spec: Spec, operands: list[str]) -> str:
    """Write a spec as it is typed between brackets."""
    rest = iter(operands)
    parts = []
    for kind, *values in spec:
        if kind == "slice":
            a, b, c = [
                "" if v is None else next(rest, "?") if v == "dynamic" else v for v in values
            ]
            parts.append(f"{a}:{b}" if c == "" else f"{a}:{b}:{c}")
        elif kind in ("newaxis", "ellipsis"):
            parts.append("None" if kind == "newaxis" else "...")
        else:
            parts.append(str(values[0]) if kind == "int" else next(rest, "?"))
    return ", ".join(parts) or "..."


def _next(operands: Iterator[TensorType]) -> TensorType:
    operand = next(operands, None)
    if operand is None:
        raise ArgumentError(
            "fewer operands than the key has dynamic parts",
            fix="Write x[key], or x.at[key] for an update, which makes the operands with the key.",
        )
    return operand


def _next_array(operands: Iterator[TensorType], kinds: str, ndim: int | None = None) -> TensorType:
    """Return the type of the next operand, an array of indices or a mask of so many dimensions."""
    operand = _next(operands)
    if operand.dtype.kind not in kinds or ndim not in (None, operand.ndim):
        what = (
            "an array of integers" if ndim is None else f"a mask of {count_of(ndim, 'dimension')}"
        )
        raise DTypeError(
            f"the key takes {what}, not {operand}",
            fix="Write x[key], or x.at[key] for an update, which makes the operands with the key.",
        )
    return operand


def _sliced(entry: tuple[Any, ...], dim: Dim) -> Dim:
    """Return the size of a slice of a dimension."""
    bounds = entry[1:]
    if entry == FULL or bounds == (None, None, -1):
        return dim
    if isinstance(dim, int) and "dynamic" not in bounds:
        return len(range(*slice(*bounds).indices(dim)))
    return None


def _check_range(index: int, dim: Dim, axis: int) -> None:
    if isinstance(dim, int) and not -dim <= index < dim:
        raise IndexRangeError(
            f"index {index} is out of range for axis {axis}",
            {"size": dim},
            f"Use an index from {-dim} to {dim - 1}." if dim else "The axis is empty.",
        )


def _check_mask(mask: Shape, shape: Shape, axis: int) -> None:
    for place, dim in enumerate(mask, axis):
        try:
            unify_dims(shape[place], dim)
        except ShapeError as error:
            raise ShapeError(
                f"the mask does not fit the array: {error.what} along axis {place}",
                fix="A mask has the shape of the axes it selects from.",
            ) from None


def parse_key(x: Variable, key: Any) -> tuple[Spec, list[Variable]]:
    """Return a key of ``x`` as a spec and its operands, or raise if it does not fit.

    A key is anything that NumPy takes, with Variables in place of integers and arrays.
    """
    parts = [_part(part) for part in (key if isinstance(key, tuple) else (key,))]
    widths = [_width(part) for part in parts]
    ellipses = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(ellipses) > 1:
        raise ArgumentError(
            "a key can only have one ellipsis ('...')",
            {"key": key},
            "Keep one: it stands for all axes that the other parts leave.",
        )
    spare = x.ndim - sum(widths)
    if spare < 0:
        raise ShapeError(
            f"too many indices: {sum(widths)} for an array of {count_of(x.ndim, 'dimension')}",
            {"array": f"{x} : {x.type}"},
            "Leave some out; a mask takes as many axes as it has dimensions.",
        )
    spec: list[tuple[Any, ...]] = []
    operands: list[Variable] = []
    axis = 0
    for part, width in zip(parts, widths, strict=True):
        if part is Ellipsis:
            spec.extend([FULL] * spare or [("ellipsis",)])
            axis += spare
        elif part is None:
            spec.append(("newaxis",))
        else:
            _append(spec, operands, part, x.type.shape, axis)
            axis += width
    return _trimmed(spec), operands


def _trimmed(spec: list[tuple[Any, ...]]) -> Spec:
    """Return a spec without its trailing whole axes, and without an idle ellipsis."""
    without = tuple(entry for entry in spec if entry != ("ellipsis",))
    entries = tuple(spec) if advanced_place(tuple(spec)) != advanced_place(without) else without
    end = len(entries)
    while end and entries[end - 1] == FULL and ("ellipsis",) not in entries:
        end -= 1  # an ellipsis would stand for the axes that are left out
    return entries[:end]


def _part(part: Any) -> Any:
    """Return one part of a key: None, Ellipsis, a slice, an int, or a node."""
    if part is None or part is Ellipsis or isinstance(part, slice):
        return part
    if is_int(part):
        return int(part)
    if isinstance(part, bool | np.bool_):
        raise ArgumentError(
            f"the bool {bool(part)} is not an index",
            fix="Build a mask with rg.equal(x, y): x == y asks whether two graphs are the same.",
        )
    if is_pattern(part):
        raise PatternError(
            "a pattern cannot be used as an index",
            {"index": part},
            "Index with ints, slices and arrays; match a part as a variable of its own.",
        )
    if isinstance(part, list | tuple):
        part = np.asarray(part)
        if part.size == 0:  # an empty list has no dtype of its own
            part = part.astype("int64")
    if isinstance(part, np.ndarray | Variable):
        part = as_variable(part)
        if part.dtype.kind not in "biu" or (part.dtype.kind == "b" and part.ndim == 0):
            raise DTypeError(
                f"an index array holds integers or is a mask, not {part.type}",
                {"index": part},
                "Convert it with .astype('int64'), or build a mask by comparing.",
            )
        if isinstance(part, Constant) and part.ndim == 0:
            return int(part.value)
        return part
    try:
        return operator.index(part)
    except TypeError:
        raise ArgumentError(
            f"{part!r} is not an index: it is a {type(part).__name__}",
            fix="Index with ints, slices, None, '...', integer arrays and masks.",
        ) from None


def _width(part: Any) -> int:
    """Return the number of axes that a part of a key consumes."""
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, Variable) and part.dtype.kind == "b":
        return part.ndim
    return 1


def _append(
    spec: list[tuple[Any, ...]], operands: list[Variable], part: Any, shape: Shape, axis: int
) -> None:
    """Add the entries and operands of one part of a key, which stands for ``axis``."""
    dim = shape[axis]
    if isinstance(part, slice):
        spec.append(_slice_entry(part, dim, operands))
    elif isinstance(part, int):
        _check_range(part, dim, axis)
        spec.append(("int", part + dim if part < 0 and isinstance(dim, int) else part))
    elif part.dtype.kind == "b":
        _check_mask(part.type.shape, shape, axis)
        if isinstance(part, Constant) and shape[axis : axis + part.ndim] == part.type.shape:
            places = np.nonzero(part.value)
            spec.extend([("array",)] * len(places))
            operands.extend(map(constant, places))
        else:
            spec.append(("mask", part.ndim))
            operands.append(part)
    else:
        spec.append(("array",) if part.ndim else ("dynamic",))
        operands.append(_checked_array(part, dim, axis))


def _checked_array(part: Variable, dim: Dim, axis: int) -> Variable:
    """Return an index array; a constant one as int64, in range and not negative where it can be."""
    if not isinstance(part, Constant):
        return part
    value = part.value.astype("int64")
    if isinstance(dim, int):
        for extreme in (value.min(), value.max()) if value.size else ():
            _check_range(int(extreme), dim, axis)
        value = np.where(value < 0, value + dim, value)
    return constant(value)


def _slice_entry(part: slice, dim: Dim, operands: list[Variable]) -> tuple[Any, ...]:
    """Return a slice in canonical form, adding its dynamic bounds to the operands."""
    a, b, c = map(_bound, (part.start, part.stop, part.step))
    if isinstance(c, Variable):
        raise ArgumentError(
            "the step of a slice is a static int",
            {"step": c},
            "Index with an integer array for a step that is known at the call only.",
        )
    if c == 0:
        raise DomainError(
            "the step of a slice cannot be 0", fix="Use 1 or more, or -1 or less to go backwards."
        )
    dynamic = [bound for bound in (a, b) if isinstance(bound, Variable)]
    if dynamic:
        operands.extend(dynamic)
        a, b = ["dynamic" if isinstance(bound, Variable) else bound for bound in (a, b)]
    elif isinstance(dim, int):
        return static_slice(slice(a, b, c).indices(dim), dim)
    if c == 1:
        c = None
    return ("slice", None if a == 0 and c is None else a, b, c)


def static_slice(bounds: tuple[int, int, int], dim: int) -> tuple[Any, ...]:
    """Return the canonical one of the slices that select the same elements of an axis."""
    places = range(*bounds)
    if len(places) == 0:
        return ("slice", None, 0, None)
    first, last = places[0], places[-1]
    step = places.step if len(places) > 1 else 1
    end = last + (1 if step > 0 else -1)
    if step > 0:
        stop = None if last + step >= dim else end
        return ("slice", first or None, stop, None if step == 1 else step)
    return ("slice", None if first == dim - 1 else first, None if last + step < 0 else end, step)


def _bound(bound: Any) -> Any:
    """Return a bound of a slice: None, an int, or an integer scalar node."""
    if bound is None:
        return None
    part = _part(bound)
    if isinstance(part, Variable):
        check_scalar(part.type, "a bound of a slice")
        return part
    if isinstance(part, int):
        return part
    raise ArgumentError(f"{bound!r} is not a bound of a slice", fix="Use ints and scalars.")
