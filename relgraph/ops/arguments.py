"""Arguments of shape functions: operands, integers and axes, in one canonical form.

An axis is stored counted from the end (-1 is the last), so that a parameter means the same at any
rank and a pattern, whose rank is not known, can be written with it.  A logic variable in place of a
parameter leaves it open and passes through.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from unification import Var

from relgraph.errors import (
    ArgumentError,
    DomainError,
    DTypeError,
    IndexRangeError,
    PatternError,
    ShapeError,
    count_of,
)
from relgraph.ir.node import Variable, as_variable
from relgraph.ir.op import Op
from relgraph.ir.types import Shape, TensorType, check_dim, dim_text


def is_pattern(value: object) -> bool:
    """Return True if ``value`` is a term of a pattern: it has no type, shape or rank."""
    return not isinstance(value, Variable) and hasattr(type(value), "__relgraph_op__")


def as_operand(value: Any) -> Any:
    """Return a node for a Variable, number or array; a pattern is returned unchanged."""
    return value if is_pattern(value) else as_variable(value)


def rank_of(value: Any) -> int | None:
    """Return the number of dimensions of an operand, or None for a pattern."""
    return value.ndim if isinstance(value, Variable) else None


def is_int(value: object) -> bool:
    """Return True if ``value`` is a Python or NumPy integer, not a bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_open(value: object) -> bool:
    """Return True if a parameter is left open: a logic variable of a pattern."""
    return type(value) is Var or is_pattern(value)


def check_int(value: object, what: str) -> int:
    """Return an integer as an int, or raise ArgumentError naming ``what`` it should be."""
    if is_int(value):
        return int(value)  # type: ignore[call-overload,no-any-return]
    raise ArgumentError(
        f"{what} is an int, not {type(value).__name__}: {value!r}",
        fix="Give a Python integer that is known when the graph is built.",
    )


def no_rank(function: str, fix: str) -> PatternError:
    """Return the error for a function that needs the rank of a pattern."""
    return PatternError(
        f"{function} needs the rank of its operand, and a pattern has none", (), fix
    )


def normalise_axis(axis: Any, ndim: int | None, function: str) -> Any:
    """Return an axis counted from the end, or raise DomainError for one out of range.

    For ``ndim=None``, which a pattern has, only an axis counted from the end is accepted.
    """
    if is_open(axis):
        return axis
    value = check_int(axis, f"{function}: an axis")
    if ndim is None:
        if value < 0:
            return value
        raise no_rank(
            f"{function} with axis {value}",
            "Count the axes of a pattern from the end: axis=-1 is the last.",
        )
    if not -ndim <= value < ndim:
        raise IndexRangeError(
            f"{function}: axis {value} is out of range",
            {"dimensions": ndim},
            f"Use an axis from {-ndim} to {ndim - 1}." if ndim else "A scalar has no axis.",
        )
    return value - ndim if value >= 0 else value


def normalise_axes(axes: Any, ndim: int | None, function: str) -> Any:
    """Return distinct axes as a sorted tuple; an open parameter passes through."""
    if is_open(axes):
        return axes
    distinct = distinct_axes(axes, ndim, function)
    return distinct if any(map(is_open, distinct)) else tuple(sorted(distinct))


def distinct_axes(axes: Any, ndim: int | None, function: str) -> tuple[Any, ...]:
    """Return axes in their order, counted from the end, or raise DomainError for one twice."""
    axes = tuple(axes) if isinstance(axes, tuple | list) else (axes,)
    normalised = tuple([normalise_axis(axis, ndim, function) for axis in axes])
    if len(set(normalised)) != len(normalised) and not any(map(is_open, normalised)):
        raise DomainError(
            f"{function}: an axis is given twice",
            {"axes": axes},
            "Name every axis once; -1 is the last.",
        )
    return normalised


class AxisOp(Op):
    """An op along one axis.

    Parameters
    ----------
    axis : int
        The axis, counted from the end.
    """

    __slots__ = ()
    parameters = ("axis",)

    @classmethod
    def canonical(cls, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Return the axis, counted from the end; an open parameter passes through."""
        (axis,) = super().canonical(*args, **kwargs)
        return (normalise_axis(axis, None, cls.name),)


def is_axis_of_scalar(axis: object, ndim: int | None) -> bool:
    """Return True if an axis is 0 or -1 of a scalar: many functions of NumPy take it as no axis."""
    return ndim == 0 and is_int(axis) and axis in (0, -1)


def check_no_list(axis: object, function: str) -> None:
    """Raise ArgumentError for axes in a list, which NumPy's reductions do not take either."""
    if isinstance(axis, list):
        raise ArgumentError(
            f"{function}: axis is an int or a tuple of ints, not a list",
            {"axis": axis},
            f"Write axis={tuple(axis)}.",
        )


def check_scalar(type_: TensorType, what: str) -> None:
    """Raise unless a type is that of an integer scalar, as sizes and indices are."""
    if type_.ndim or type_.dtype.kind not in "iu":
        raise DTypeError(
            f"{what} is an integer scalar, not {type_}",
            fix="Pass a scalar of an integer dtype, for instance .astype('int64').",
        )


def one_tuple(shape: tuple[Any, ...]) -> Any:
    """Return a shape given as one tuple, or as sizes one by one."""
    if len(shape) == 1 and (isinstance(shape[0], tuple | list) or is_open(shape[0])):
        return shape[0]
    return shape


def check_shape(shape: Any, function: str, unknown: bool = False) -> tuple[Any, ...]:
    """Return a shape as a tuple of Python ints, names and None; one size may be -1 if ``unknown``.

    More than one -1 raises DomainError.
    """
    if not isinstance(shape, tuple | list):
        shape = (shape,)
    dims: list[Any] = []
    for entry in shape:
        inferred = unknown and is_int(entry) and entry == -1
        dims.append(-1 if inferred else check_dim(entry))
    if dims.count(-1) > 1:
        raise DomainError(
            f"{function}: only one size can be -1",
            {"shape": tuple(shape)},
            "Give the other sizes; -1 stands for the one that follows from them.",
        )
    return tuple(dims)


def check_sizes(shape: tuple[Any, ...], sizes: list[TensorType]) -> None:
    """Raise unless there is an integer scalar for each size of a shape that is not static."""
    expected = sum(not isinstance(entry, int) for entry in shape)
    if len(sizes) != expected:
        raise ArgumentError(
            f"the shape {shape} takes {count_of(expected, 'size')} as operands, not {len(sizes)}",
            fix="Each name or None in the shape needs an integer scalar, in order.",
        )
    for type_ in sizes:
        check_scalar(type_, "a size")


def fill(shape: tuple[Any, ...], sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Return a shape with the values of operands in place of the sizes that are not static."""
    rest = iter(sizes)
    return tuple(entry if isinstance(entry, int) else int(next(rest)) for entry in shape)


def total(shape: tuple[Any, ...]) -> tuple[int, Counter[str]] | None:
    """Return a number of elements as a factor and names, or None where it is not known."""
    factor = 1
    names: Counter[str] = Counter()
    for dim in shape:
        if isinstance(dim, int):
            factor *= dim
        elif dim is None:
            return None
        else:
            names[dim] += 1
    return factor, names


def solve(old: Shape, new: tuple[Any, ...]) -> Shape:
    """Return the shape of a reshape, or raise ShapeError where the sizes cannot fit."""
    shape = [None if entry == -1 else entry for entry in new]
    open_at = [i for i, entry in enumerate(shape) if entry is None]
    before = total(old)
    rest = total(tuple(entry for entry in shape if entry is not None))
    assert rest is not None
    if open_at and new[open_at[0]] == -1 and rest[0] == 0:
        raise misfit(old, new)
    if before is None or len(open_at) > 1 or rest[1] - before[1]:
        return tuple(shape)
    names = before[1] - rest[1]
    if not open_at:
        if not names and before[0] != rest[0]:
            raise misfit(old, new)
        return tuple(shape)
    if rest[0] == 0:
        return tuple(shape)
    quotient, remainder = divmod(before[0], rest[0])
    if not names:
        if remainder:
            raise misfit(old, new)
        shape[open_at[0]] = quotient
    elif (quotient, remainder) == (1, 0) and names.total() == 1:
        shape[open_at[0]] = next(iter(names))
    return tuple(shape)


def canonical_shape(old: Shape, new: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the form in which a reshape of a static shape is stored; other shapes as they are.

    One axis of all elements is ``(-1,)``, as in a pattern, whose sizes are not known.  Several axes
    are static sizes.
    """
    if not all(isinstance(d, int) for d in (*old, *new)):
        return new
    if len(new) == 1:
        return (-1,)
    return solve(old, new) if -1 in new and 0 not in old else new


def misfit(old: Shape, new: tuple[Any, ...]) -> ShapeError:
    return ShapeError(
        "a reshape cannot change the number of elements",
        {"from": shape_text(old), "to": shape_text(new)},
        "Give sizes with the same product; -1 stands for the one that follows from the others.",
    )


def shape_text(shape: Shape) -> str:
    """Write a shape with its names, and ``?`` where a size is unknown."""
    return f"({', '.join(map(dim_text, shape))}{',' if len(shape) == 1 else ''})"
