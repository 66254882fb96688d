"""Shapes as they are given to reshape and broadcast_to: checked, filled in, and solved."""

from __future__ import annotations

from collections import Counter
from typing import Any

from relgraph.errors import ArgumentError, DomainError, ShapeError, count_of
from relgraph.ir.op import Op
from relgraph.ir.types import Shape, TensorType, check_dim, dim_text
from relgraph.ops.arguments import check_scalar, is_int, is_open


def one_tuple(shape: tuple[Any, ...]) -> Any:
    """Return a shape given as one tuple, or as sizes one by one."""
    if len(shape) == 1 and (isinstance(shape[0], tuple | list) or is_open(shape[0])):
        return shape[0]
    return shape


def check_shape(shape: Any, function: str, unknown: bool = False) -> tuple[Any, ...]:
    if not isinstance(shape, tuple | list):
        shape = (shape,)
    found: list[Any] = []
    for entry in shape:
        known = is_int(entry) and entry == -1 and unknown
        found.append(-1 if known else check_dim(entry))
    if found.count(-1) > 1:
        raise DomainError(
            f"{function}: only one size can be -1",
            {"shape": tuple(shape)},
            "Give the other sizes; -1 stands for the one that follows from them.",
        )
    return tuple(found)


def check_sizes(op: Op, shape: tuple[Any, ...], sizes: list[TensorType]) -> None:
    expected = sum(not isinstance(entry, int) for entry in shape)
    if len(sizes) != expected:
        raise ArgumentError(
            f"the shape {shape} takes {count_of(expected, 'size')} as operands, not {len(sizes)}",
            fix="Each name or None in the shape needs an integer scalar, in order.",
        )
    for type_ in sizes:
        check_scalar(type_, "a size")


def fill(shape: tuple[Any, ...], sizes: tuple[Any, ...]) -> tuple[int, ...]:
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
