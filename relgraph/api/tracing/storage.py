"""The memory of traced arrays: what an array and its views share, and what a write changes.

Graphs do not change; NumPy's arrays do.  A :class:`Storage` stands for the memory of one array of a
trace, and holds the graph of its present elements.  A view is a storage with *steps*, the ops that
lead from the whole array to the view.  Reading a view applies the steps to the present graph;
writing to it runs them backward, and gives the storage a new graph.

An array that the traced function makes of known numbers holds these numbers, and NumPy computes
with them, until the function writes a traced value to it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from functools import lru_cache
from typing import Any
from weakref import WeakSet, ref

import numpy as np

from relgraph.errors import ArgumentError
from relgraph.ir.node import Constant, Variable, constant, make_input
from relgraph.ir.op import Op
from relgraph.ir.records import record
from relgraph.ir.types import TensorType
from relgraph.ops.indexing.composition import composed
from relgraph.ops.indexing.expression import numpy_key
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import SetIndex
from relgraph.ops.linalg.structured import Diagonal
from relgraph.ops.permutation import MatrixTranspose, Rearrangement, Transpose
from relgraph.ops.shape import BroadcastTo, reshape

Array = np.ndarray[Any, Any]


BODY: ContextVar[object | None] = ContextVar("BODY", default=None)
"""What stands for the body of a loop or a choice while its function is traced."""


class OutsideWrite(ArgumentError):
    """Raised where the body of a loop writes to an array from outside of it.

    Attributes
    ----------
    storage : Storage
        The memory of the array.
    """

    storage: Storage


class Storage:
    """The memory that an array of a trace shares with its views.

    Parameters
    ----------
    node : Variable, optional
        The graph of its elements; optional if you pass ``value``.
    value : array, optional
        Its elements, if they are known.
    c_order : bool
        Whether NumPy would store the elements in C order; otherwise the order is not known.

    Attributes
    ----------
    unsure : WeakSet of Storage
        Storages of arrays that NumPy keeps in this memory or in a copy; the trace cannot know
        which, because it does not know the order of the elements.
    """

    __slots__ = (
        "__weakref__", "_body", "_node", "_reshaped", "_value", "_writes", "c_order", "unsure",
    )  # fmt: skip

    def __init__(
        self, node: Variable | None = None, value: Array | None = None, *, c_order: bool = False
    ) -> None:
        self._body = BODY.get()
        self._node = node
        self._value = value
        self._writes: _Writes | None = None
        self.c_order = c_order
        self._reshaped: list[ref[Any]] = []
        self.unsure: WeakSet[Storage] = WeakSet()

    @property
    def value(self) -> Array | None:
        """The elements, if they are known: an array that NumPy may write to."""
        return self._value

    @property
    def node(self) -> Variable:
        """The graph of the present elements."""
        node = self._node
        if self._value is not None and (node is None or not self._alone()):
            node = constant(self._value.copy())
            self._node = node if self._alone() else None  # others may write to the memory
        assert node is not None
        return node

    @property
    def type(self) -> TensorType:
        """The type of the whole array."""
        if self._value is not None:
            return TensorType(self._value.dtype, self._value.shape)
        assert self._node is not None
        assert isinstance(self._node.type, TensorType)
        return self._node.type

    def check_body(self) -> None:
        """Raise ArgumentError if the body of a loop writes to an array from outside of it."""
        if self._body is not BODY.get():
            raise self._outside()

    def _outside(self) -> OutsideWrite:
        error = OutsideWrite(
            "the function of a loop writes to an array from outside of it",
            {"array": f"{self.node} : {self.type}"},
            "Carry the array, and return it as part of the next value; or write to a copy.",
        )
        error.storage = self
        return error

    def forget_values(self) -> None:
        """Take known elements for a graph like others, if no other object refers to them.

        Raises
        ------
        ArgumentError
            If one does.
        """
        if self._value is not None:
            self._check_alone()
            node, self.c_order = self.node, bool(self._value.flags.c_contiguous)
            self._value, self._node = None, node

    def relate(self, other: Any) -> None:
        """Record an array that is a view or a copy of this one, by the order of elements."""
        self._reshaped = [*(x for x in self._reshaped if x() is not None), ref(other)]

    def is_related(self, other: Any) -> bool:
        """Return True for an array that :meth:`relate` recorded."""
        return any(x() is other for x in self._reshaped)

    @property
    def by_order(self) -> bool:
        """Whether the order of elements decides which other arrays a write changes."""
        return any(x() is not None for x in self._reshaped)

    def changed(self) -> None:
        """Forget the graph, because NumPy has written to :attr:`value`."""
        self._node = None

    def lent(self) -> None:
        """Forget the graph if other objects, which may write to it, refer to :attr:`value`."""
        if not self._alone():
            self._node = None

    def read(self, steps: Sequence[Step]) -> Variable:
        """Return the graph of a view, starting at the last write to its own elements."""
        if self._writes is None or not steps or not _is_static(steps[0]):
            node = self.node
        else:
            node, steps = self._writes.read(steps)
        for step in steps:
            node = step.read(node)
        return node

    def store(self, node: Variable, step: Step | None = None, part: Variable | None = None) -> None:
        """Make a graph the present elements.

        Parameters
        ----------
        node : Variable
            The graph of all elements.
        step : Step, optional
            The index of the elements that the write changes; by default, all of them.
        part : Variable, optional
            The new elements there, if they have the shape and dtype of that part.

        Raises
        ------
        ArgumentError
            If arrays that the trace cannot follow share the memory.
        """
        self._check_alone()
        if any(self.unsure):
            raise ArgumentError(
                "the traced function writes to an array, and another array is a view or a copy of "
                "it in NumPy, which is not known while tracing",
                {"array": node.type},
                "Write .copy() after the reshape, ravel or einsum that made the other one, or "
                "before it.",
            )
        before = self.node
        if self._value is not None:
            self.c_order = bool(self._value.flags.c_contiguous)
        self._value = None
        self._node = node
        if step is None or not _is_static(step) or not _is_small(node):
            self._writes = None
            return
        if self._writes is None:
            self._writes = _Writes(before)
        self._writes.add(step, node, part)

    def _check_alone(self) -> None:
        if self._value is not None and not self._alone():
            raise ArgumentError(
                "the traced function writes a traced value to an array whose memory other code "
                "sees too",
                {"array": f"{self._value.dtype}, shape {self._value.shape}"},
                "Write to a copy, x.copy(), or pass the array as an argument.",
            )

    def _alone(self) -> bool:
        """Return True if the known elements are in memory that no other object refers to."""
        return self._value is not None and self._value.base is None and self._references() <= _ONE

    def _references(self) -> int:
        return sys.getrefcount(self._value)


class _Writes:
    """The writes to parts of an array, with the number of the last write to each element.

    A loop over elements reads and writes one array very often.  Each read starts at the graph of
    the last write that matters, so that rewriting need not move it past all later ones.
    """

    def __init__(self, start: Variable) -> None:
        self._last = np.zeros(start.type.shape, "int32")
        self._nodes = [start]
        self._steps: list[Step | None] = [None]
        self._parts: list[Variable | None] = [None]

    def add(self, step: Step, node: Variable, part: Variable | None) -> None:
        """Add a write, with the elements that it changes and the graph after it."""
        step.of(self._last)[...] = len(self._nodes)
        self._nodes.append(node)
        self._steps.append(step)
        self._parts.append(part)

    def read(self, steps: Sequence[Step]) -> tuple[Variable, Sequence[Step]]:
        """Return a graph, and the steps from it to a view."""
        writes = steps[0].of(self._last)
        number = int(writes.max()) if writes.size else 0
        part = self._parts[number]
        if part is not None and self._steps[number] == steps[0]:
            return part, steps[1:]
        return self._nodes[number], steps


_FEW = 1 << 16  # elements of the largest array for which writes are recorded


def _is_small(node: Variable) -> bool:
    return all(isinstance(n, int) for n in node.type.shape) and math.prod(node.type.shape) <= _FEW


def _is_static(step: Step) -> bool:
    return isinstance(step.op, Index) and not step.operands


_ONE = Storage(value=np.zeros(1))._references()


@record
class Step:
    """One op between an array and a view of it.

    Attributes
    ----------
    op : Op
        A basic :class:`Index` or a :class:`Rearrangement`.
    operands : tuple of Variable
        The dynamic parts of a key.
    type : TensorType
        The type that the op applies to.
    """

    op: Op
    operands: tuple[Variable, ...]
    type: TensorType

    def read(self, whole: Variable) -> Variable:
        """Return the graph of the view."""
        return self.op(whole, *self.operands)  # type: ignore[no-any-return]

    def written(self, whole: Variable, part: Variable) -> Variable:
        """Return the graph of the whole array after a write to a view that may be written."""
        op = self.op
        if isinstance(op, Index):
            return SetIndex(op.params[0])(whole, part, *self.operands)  # type: ignore[no-any-return]
        if isinstance(op, Transpose):
            axes = [axis % len(op.params[0]) for axis in op.params[0]]
            inverse = sorted(range(len(axes)), key=axes.__getitem__)
            return Transpose(tuple(inverse))(part)  # type: ignore[no-any-return]
        if isinstance(op, MatrixTranspose):
            return op(part)  # type: ignore[no-any-return]
        return reshape(part, self.type.shape)  # type: ignore[no-any-return]

    def of(self, array: Array) -> Array:
        """Return the view of a NumPy array; dynamic indices count as 0."""
        if isinstance(self.op, Index):
            indices = [x.value if isinstance(x, Constant) else 0 for x in self.operands]
            view: Array = array[(*numpy_key(self.op.params[0], tuple(indices)), ...)]
            return view
        return self.op.perform(array)  # type: ignore[no-any-return]


def check_writable(steps: Sequence[Step]) -> None:
    """Raise ArgumentError for a view that NumPy does not write to, such as a broadcast array."""
    for step in steps:
        if isinstance(step.op, BroadcastTo | Diagonal):
            raise ArgumentError(
                "the traced function writes to an array that is read-only",
                {"array": f"the result of {step.op.name}"},
                "Write to a copy of it, x.copy().",
            )


def steps_from(start: Variable, end: Variable) -> tuple[Step, ...] | None:
    """Return the steps from one node to another, or None if the second is not a view."""
    steps: list[Step] = []
    while end is not start:
        op = end.op
        if not isinstance(op, Index | Rearrangement | Diagonal) or not op.view:
            return None
        end, *operands = end.inputs
        assert isinstance(end.type, TensorType)
        steps.append(Step(op, tuple(operands), end.type))
    return tuple(reversed(steps))


def joined(first: Sequence[Step], second: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps of a view of a view, with a key of a key as one key."""
    steps = [*first]
    for step in second:
        last = steps[-1] if steps else None
        both = None
        if last is not None and isinstance(last.op, Index) and isinstance(step.op, Index):
            both = composed(last.op.params[0], step.op.params[0], last.type.shape)
        if last is None or both is None:
            steps.append(step)
            continue
        steps.pop()
        if both.spec:
            sources = (last.operands, step.operands)
            operands = tuple(sources[which][i] for which, i in both.order)
            steps.append(Step(Index(both.spec), operands, last.type))
    return tuple(steps)


@lru_cache(maxsize=1024)
def stand_in(kind: TensorType, number: int = 0) -> Variable:
    """Return an input of a type, to which a function that makes views can be applied."""
    return make_input(f"array_{number}", kind)


def layout(storage: Storage, steps: Sequence[Step]) -> Array | None:
    """Return an array with the strides of a view, or None if they are not known."""
    if storage.value is not None:
        whole = storage.value
    elif storage.c_order and all(isinstance(n, int) for n in storage.type.shape):
        whole = np.empty(storage.type.shape, "int8")  # its memory is never touched
    else:
        return None
    for step in steps:
        if any("dynamic" in entry for entry in _slices(step.op)):
            return None
        whole = step.of(whole)
    return whole


def _slices(op: Op) -> list[Any]:
    return [e for e in op.params[0] if e[0] == "slice"] if isinstance(op, Index) else []


def is_view(step: Step, array: Array) -> bool:
    """Return True if NumPy makes a view, not a copy, of an array with these strides."""
    return array.size == 0 or np.may_share_memory(step.of(array), array)
