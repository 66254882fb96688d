"""Sizes of a function's inputs that must be equal: where they are read, and their errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from relgraph.backends.base import Array
from relgraph.errors import ShapeError
from relgraph.ir.infix import brief
from relgraph.ir.node import Input
from relgraph.ir.sizes import Meeting, Place
from relgraph.lowering.sizes import mismatch
from relgraph.ops.shape import BroadcastTo


def equal_sizes(inputs: Sequence[Input]) -> Iterable[tuple[int, int, int, int]]:
    """Return the first occurrence of each named size with each later one."""
    first: dict[str, tuple[int, int]] = {}
    for i, x in enumerate(inputs):
        for axis, dim in enumerate(x.type.shape):
            if isinstance(dim, str):
                if dim in first:
                    yield (*first[dim], i, axis)
                else:
                    first[dim] = (i, axis)


def sources(inputs: Sequence[Input], meeting: Meeting) -> list[tuple[int, int] | int]:
    """Return the input and axis that each of two sizes is read from, or the size itself."""
    origins: list[tuple[int, int] | int] = []
    for size in meeting.sizes:
        if isinstance(size, int):
            origins.append(size)
        elif isinstance(size, Place):
            origins.append((inputs.index(size.node), size.axis))
        else:
            i = next(i for i, x in enumerate(inputs) if size in x.type.shape)
            origins.append((i, inputs[i].type.shape.index(size)))
    return origins


def size_of(arrays: Sequence[Array], source: tuple[int, int] | int) -> int:
    return source if isinstance(source, int) else arrays[source[0]].shape[source[1]]


def unmet(meeting: Meeting, first: int, second: int) -> ShapeError:
    """Return the error for two sizes that the graph needs to be equal."""
    node, (one, other), _ = meeting
    x = node.inputs[one[0]]
    if not isinstance(other, tuple):
        stretches = isinstance(node.op, BroadcastTo) and first == 1
        return ShapeError(
            f"{brief(x, 12)} must have size {second} along axis {one[1]}, and it is {first}",
            {"in": brief(node, 24)},
            "Only a dimension that is declared as 1 is stretched: put a 1 in the input's shape."
            if stretches
            else "Give it arrays of shapes that fit the op.",
        )
    return mismatch(node, (x, one[1], first), (node.inputs[other[0]], other[1], second))


__all__ = ["equal_sizes", "size_of", "sources", "unmet"]
