"""Views: arrays that are read where they lie, through the distances of their elements.

A slice, a transpose, a reversal, new axes and broadcasting move no element: NumPy returns a view,
and a kernel reads it as it is.  What is known of a view before the program runs is which axis of
the array below each of its axes runs along, and in which steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.ir.types import Type
from relgraph.ops.indexing.index import Index
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.shape import BroadcastTo, ExpandDims, Squeeze

_DEEPEST = 16  # views of views: beyond that they are copied


@dataclass(frozen=True, slots=True)
class Along:
    """How an axis of a view runs along an axis of the array below.

    Attributes
    ----------
    axis : int or None
        The axis of the array below, counted from its end; None for one that repeats elements, or
        has one element.
    step : int
        The step between elements.
    whole : bool
        Whether it holds all elements of the axis, in order.
    """

    axis: int | None
    step: int = 1
    whole: bool = True


_ONE = Along(None)


class AsGiven(Op):
    """An array whose elements lie in the distances that it has when the program runs.

    Parameters
    ----------
    step : int or None
        The step between elements of the last axis; None where that, too, is known only then.
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
    """Tell whether NumPy computes a node as a view of its first operand."""
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
    """Return the array below a view; that of any other value is the value itself."""
    while is_view(x):
        x = x.inputs[0]
    return x


def axes(x: Variable) -> tuple[Along, ...] | None:
    """Return how the axes of a view run along those of the array below it.

    Returns
    -------
    tuple of Along or None
        None for what is no view, and for views of more than 16 views.
    """
    chain: list[Variable] = []
    while is_view(x) and len(chain) <= _DEEPEST:
        chain.append(x)
        x = x.inputs[0]
    if not chain or len(chain) > _DEEPEST:
        return None
    viewed = _own_axes(x)
    for node in reversed(chain):
        viewed = _viewed(node, viewed)
    return viewed


def part_axes(part: Variable) -> tuple[Along, ...]:
    """Return how the axes of a view run along those of its operand, as if that were no view."""
    return _viewed(part, _own_axes(part.inputs[0]))


def _own_axes(x: Variable) -> tuple[Along, ...]:
    number = -sum(dim != 1 for dim in x.type.shape)
    found: list[Along] = []
    for dim in x.type.shape:
        found.append(_ONE if dim == 1 else Along(number))
        number += dim != 1
    return tuple(found)


def is_contiguous(along: tuple[Along, ...]) -> bool:
    """Tell whether elements of a view lie one after the other, but for axes that repeat them."""
    own = [one for one in along if one.axis is not None]
    return all(
        one.axis == axis and one.step == 1 and (one.whole or place == 0)
        for place, (one, axis) in enumerate(zip(own, range(-len(own), 0), strict=True))
    )


class Operand:
    """How a kernel reads an array: which axes of its loop it spans, and in which distances.

    Parameters
    ----------
    x : Variable
        The array.
    offset : int
        What to add to an axis of the loop, counted from its front, to have that of the array.
    views : bool
        Whether a view is read as it is; otherwise its elements are arranged first.
    """

    def __init__(self, x: Variable, offset: int, views: bool) -> None:
        self.x = x
        self.offset = offset
        self.along = axes(x) if views else None
        self.in_place = self.along is not None and not is_contiguous(self.along)

    def spans(self, axis: int) -> bool:
        """Tell whether elements along an axis of the loop differ."""
        own = axis + self.offset
        if not 0 <= own < self.x.ndim or self.x.type.shape[own] == 1:
            return False
        return self.along is None or self.along[own].axis is not None

    def runs(self, ndim: int) -> list[int]:
        """Return for each axis of the loop which run of axes it is in that are like one axis.

        Only axes that end in steps known before are: the distance along an axis of size 1 may be
        any number.
        """
        numbers = [0] * ndim
        if not self.in_place:
            return numbers
        assert self.along is not None
        last: Along | None = None
        number = 0
        known = False
        for axis in reversed(range(ndim)):
            own = axis + self.offset
            here = self.along[own] if 0 <= own < self.x.ndim else _ONE
            follows = (
                last is not None
                and last.axis is not None
                and here.axis == last.axis - 1
                and here.step == 1
                and last.whole
                and known
            )
            if not follows:
                number += 1
                known = here.axis == -1 and here.step == 1
            numbers[axis] = number
            last = here
        return numbers

    def strides(self, groups: tuple[tuple[int, ...], ...]) -> tuple[tuple[int | None, int], ...]:
        """Return for each group of axes that it spans the step and the axis of the array.

        The step is in elements; None where it is known when the program runs.
        """
        if not self.in_place:
            return ()
        assert self.along is not None
        found: list[tuple[int | None, int]] = []
        for group in groups:
            if group and self.spans(group[0]):
                own = group[-1] + self.offset
                one = self.along[own]
                found.append((one.step if one.axis == -1 else None, own))
        return tuple(found)


def _viewed(node: Variable, below: tuple[Along, ...]) -> tuple[Along, ...]:
    """Return the axes of a view, given those of its operand."""
    op = node.op
    assert op is not None
    ndim = len(below)
    if isinstance(op, Index):
        return _indexed(op.params[0], below)
    if isinstance(op, AsGiven):
        # An axis that is not the last one of an array has a step that is known at run time.
        shape = node.type.shape
        found = [_ONE if d == 1 else Along(a - ndim - 1, 1, False) for a, d in enumerate(shape)]
        if op.params[0] is not None:
            found[-1] = Along(-1, op.params[0], False)
        return tuple(found)
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
    found = []
    for kind, *values in spec:
        if kind == "newaxis":
            found.append(_ONE)
            continue
        along = next(rest)
        if kind == "slice":
            step = values[2]
            factor = 1 if step is None else step
            assert isinstance(factor, int)
            whole = along.whole and values == [None, None, None]
            found.append(replace(along, step=along.step * factor, whole=whole))
    return (*found, *rest)


_VIEWS = frozenset({AsGiven, Index, ExpandDims, Squeeze, Transpose, MatrixTranspose, BroadcastTo})

__all__ = ["Along", "AsGiven", "Operand", "axes", "is_contiguous", "is_view", "part_axes", "root"]
