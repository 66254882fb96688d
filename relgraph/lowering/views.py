"""Views: arrays that a kernel reads in place, through their strides.

Slices, transposes, reversals, new axes and broadcasting move no element: NumPy returns a view.
Each axis of a view runs along an axis of the array below the view.  This module finds out which one
it is, and with which step, before the program runs.
"""

from __future__ import annotations

from math import prod
from typing import Any

from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.records import record, replace
from relgraph.ir.types import Type
from relgraph.ops.indexing.composition import by_axis
from relgraph.ops.indexing.index import Index
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.shape import BroadcastTo, ExpandDims, Squeeze

_DEEPEST = 16  # the longest chain of views that is read in place
_CLOSE = 4  # elements of a constant stride, such as that of a channel of pixels


@record
class Along:
    """How an axis of a view runs along an axis of the array below it.

    Attributes
    ----------
    axis
        The axis of the array below, counted from its end; None if the axis of the view repeats
        elements or has a single one.
    step
        The step between elements, along that axis.
    whole
        Whether the axis of the view holds all elements of that axis, in order.
    """

    axis: int | None
    step: int = 1
    whole: bool = True


_ONE = Along(None)


class AsGiven(Op):
    """An argument with the strides that it has when the program runs.

    Parameters
    ----------
    step : int or None
        The stride of the last axis in elements; None if it, too, is known only at run time.
    """

    __slots__ = ()
    name = "as_given"
    parameters = ("step",)

    def infer(self, *types: Any) -> Type:
        """Return the type of the array."""
        return types[0]  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Return the array."""
        return values[0]


def is_view(node: Variable) -> bool:
    """Return True if NumPy computes a node as a view of its first operand."""
    op = node.op
    if type(op) not in _VIEWS or node.type.layout != "dense":
        return False
    if not isinstance(op, Index):
        return True
    return all(
        entry[0] in ("int", "dynamic", "newaxis") or (entry[0] == "slice" and entry[3] != "dynamic")
        for entry in op.params[0]
    )


def root(x: Variable) -> Variable:
    """Return the array below a chain of views; for any other value, the value itself."""
    while is_view(x):
        x = x.inputs[0]
    return x


def axes(x: Variable) -> tuple[Along, ...] | None:
    """Return how the axes of a view run along the array below; None if they are unknown."""
    chain: list[Variable] = []
    while is_view(x) and len(chain) <= _DEEPEST:
        chain.append(x)
        x = x.inputs[0]
    if not chain or len(chain) > _DEEPEST:
        return None
    viewed = own_axes(x)
    for node in reversed(chain):
        viewed = _viewed(node, viewed)
    return viewed


def part_axes(part: Variable) -> tuple[Along, ...]:
    """Return how the axes of a view run along its operand, even if that is itself a view."""
    return _viewed(part, own_axes(part.inputs[0]))


def own_axes(x: Variable) -> tuple[Along, ...]:
    """Return the axes of an array as they run along themselves."""
    number = -sum(dim != 1 for dim in x.type.shape)
    alongs: list[Along] = []
    for dim in x.type.shape:
        alongs.append(_ONE if dim == 1 else Along(number))
        number += dim != 1
    return tuple(alongs)


def is_contiguous(along: tuple[Along, ...]) -> bool:
    """Return True if the elements of a view are contiguous, apart from axes that repeat them."""
    distinct = [here for here in along if here.axis is not None]
    return all(
        here.axis == axis and here.step == 1 and (here.whole or position == 0)
        for position, (here, axis) in enumerate(
            zip(distinct, range(-len(distinct), 0), strict=True)
        )
    )


def in_order(x: Variable) -> bool:
    """Return True if the elements of a value follow each other in memory, each of them once."""
    along = axes(x) if is_view(x) else own_axes(x)
    if along is None or not is_contiguous(along):
        return False
    return all(
        here.axis is not None or dim == 1 for here, dim in zip(along, x.type.shape, strict=True)
    )


class Operand:
    """How a kernel reads an array: which axes of its loop nest the array spans, with which strides.

    ``offset`` is added to an axis of the loop nest, counted from the front, to get the axis of the
    array.  If ``views`` is False, a view is copied before the kernel reads it.
    """

    def __init__(self, x: Variable, offset: int, views: bool) -> None:
        self.x = x
        self.offset = offset
        self.along = axes(x) if views else None
        self.in_place = self.along is not None and not is_contiguous(self.along)

    def spans(self, axis: int) -> bool:
        """Return True if the elements along an axis of the loop nest differ."""
        array_axis = axis + self.offset
        if not 0 <= array_axis < self.x.ndim or self.x.type.shape[array_axis] == 1:
            return False
        return self.along is None or self.along[array_axis].axis is not None

    def runs(self, ndim: int) -> list[int]:
        """Return the number of the run that each axis of the loop nest belongs to.

        The axes of a run act like a single axis.  A run must end in an axis with a known stride,
        because NumPy may give an axis of size 1 any stride.
        """
        numbers = [0] * ndim
        if not self.in_place:
            return numbers
        assert self.along is not None
        last: Along | None = None
        number = 0
        known_stride = False
        for axis in reversed(range(ndim)):
            array_axis = axis + self.offset
            here = self.along[array_axis] if 0 <= array_axis < self.x.ndim else _ONE
            follows = (
                last is not None
                and last.axis is not None
                and here.axis == last.axis - 1
                and here.step == 1
                and last.whole
                and known_stride
            )
            if not follows:
                number += 1
                known_stride = here.axis == -1 and here.step == 1
            numbers[axis] = number
            last = here
        return numbers

    def strides(self, groups: tuple[tuple[int, ...], ...]) -> tuple[tuple[int | None, int], ...]:
        """Return the stride and the axis of the array for each group of axes that it spans.

        Strides are in elements; None stands for one that is known only at run time.
        """
        if not self.in_place:
            return ()
        assert self.along is not None
        strides: list[tuple[int | None, int]] = []
        for group in groups:
            if group and self.spans(group[0]):
                array_axis = group[-1] + self.offset
                strides.append((self._step(self.along[array_axis]), array_axis))
        return tuple(strides)

    def _step(self, along: Along) -> int | None:
        """Return the stride of an axis if it is known for all sizes, or constant and short."""
        assert along.axis is not None
        if along.axis == -1:
            return along.step
        below = root(self.x)
        inner = [n for n in below.type.shape if n != 1][along.axis + 1 :]
        if isinstance(below.op, AsGiven) or not all([isinstance(n, int) for n in inner]):
            return None
        step = along.step * prod(inner)
        return step if abs(step) <= _CLOSE else None


def channel(x: Variable) -> tuple[Any, int] | None:
    """Return the array and the rest of the key of a view of one channel, and the channel.

    A channel is an element of the last axis, such as a colour of an image.  Channels with the same
    rest of the key are as far apart in memory as their numbers.  The result is None for any other
    value.
    """
    if not isinstance(x.op, Index):
        return None
    array, *operands = x.inputs
    if operands or is_view(array) or not isinstance(array.type.shape[-1], int):
        return None
    entries = by_axis(x.op.params[0], array.ndim)
    if entries is None or entries[-1][0] != "int":
        return None
    number = entries[-1][1]
    return (array, *entries[:-1]), number + (array.type.shape[-1] if number < 0 else 0)


def _viewed(node: Variable, below: tuple[Along, ...]) -> tuple[Along, ...]:
    """Return the axes of a view from those of its operand."""
    op = node.op
    assert op is not None
    ndim = len(below)
    if isinstance(op, Index):
        return _indexed(op.params[0], below)
    if isinstance(op, AsGiven):
        # Only the stride of the last axis can be known before the program runs.
        shape = node.type.shape
        alongs = [_ONE if d == 1 else Along(a - ndim - 1, 1, False) for a, d in enumerate(shape)]
        if op.params[0] is not None:
            alongs[-1] = Along(-1, op.params[0], False)
        return tuple(alongs)
    if isinstance(op, MatrixTranspose):
        return (*below[:-2], below[-1], below[-2])
    if isinstance(op, Transpose):
        return tuple(below[axis] for axis in op.params[0])
    if isinstance(op, Squeeze):
        return tuple(along for a, along in enumerate(below, -ndim) if a not in op.params[0])
    if isinstance(op, ExpandDims):
        rest = iter(below)
        return tuple(_ONE if a in op.params[0] else next(rest) for a in range(-node.ndim, 0))
    new = node.ndim - ndim
    shape = node.inputs[0].type.shape
    spread = [
        _ONE if dim == 1 and wide != 1 else along
        for dim, wide, along in zip(shape, node.type.shape[new:], below, strict=True)
    ]
    return (_ONE,) * new + tuple(spread)


def _indexed(spec: tuple[tuple[object, ...], ...], below: tuple[Along, ...]) -> tuple[Along, ...]:
    rest = iter(below)
    alongs = []
    for kind, *values in spec:
        if kind == "newaxis":
            alongs.append(_ONE)
            continue
        along = next(rest)
        if kind == "slice":
            step = values[2]
            factor = 1 if step is None else step
            assert isinstance(factor, int)
            whole = along.whole and values == [None, None, None]
            alongs.append(replace(along, step=along.step * factor, whole=whole))
    return (*alongs, *rest)


_VIEWS = frozenset({AsGiven, Index, ExpandDims, Squeeze, Transpose, MatrixTranspose, BroadcastTo})

__all__ = [
    "Along", "AsGiven", "Operand", "axes", "channel", "in_order", "is_contiguous", "is_view",
    "own_axes", "part_axes", "root",
]  # fmt: skip
