"""The main function in the loop language: sizes, checks, memory and the kernels that it launches.

It is for programs of kernels, views, compiled loops and products of two vectors.  Sizes come first,
and with them the checks and the memory that depend on nothing else; then the steps.  If a check
fails, the main function in Python starts again and raises the error.  That is sound even if kernels
have run, because kernels write only to temporaries, new arrays and out arguments, and an out
argument shares no memory with an argument unless the result may be computed in that argument, and
never if a later check reads what was computed (``early``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from relgraph.backends.base import Array, OpCall
from relgraph.backends.numba import numpy_api
from relgraph.backends.numba.launch import FOLDS, HEAD
from relgraph.backends.numba.lone import LONG, Lone
from relgraph.backends.numba.loop_calls import LoopCall
from relgraph.backends.numba.main_source import MainText
from relgraph.ir.graph import is_tensor
from relgraph.ir.node import Variable
from relgraph.ir.op import GetItem
from relgraph.lowering.kernels import Gather, Kernel, Step, reduced_axes
from relgraph.lowering.loops.builder import ONE, ZERO, Builder, part
from relgraph.lowering.loops.function import Array as LoopArray
from relgraph.lowering.loops.nodes import (
    Address,
    Alias,
    Allocate,
    Buffer,
    Const,
    Function,
    Launch,
    Leave,
    Scalar,
    Statement,
    Var,
    index,
)
from relgraph.lowering.refs import dtype_name
from relgraph.lowering.sizes import Term, is_dot
from relgraph.lowering.split_joins import Empty
from relgraph.lowering.targets import Update
from relgraph.lowering.views import (
    Along,
    AsGiven,
    axes,
    in_order,
    is_view,
    own_axes,
    part_axes,
    root,
)
from relgraph.ops.indexing.expression import Spec
from relgraph.ops.indexing.index import Index
from relgraph.ops.linalg.structured import Eye
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.shape import BroadcastTo, Dim, Reshape

MOST_KEPT = 4096  # elements of an identity that a program keeps
LINE = 64  # alignment of temporaries: a cache line, in bytes
_MANY = index(1 << 30)  # no temporaries are as large; products of sizes up to it do not overflow
_NO_LIMIT = 1 << 40  # the program is limited already
_DEPTH = -64  # of an axis that repeats elements: NumPy's limit of dimensions

HOST = Buffer("host", "int64", (index(2),))


class Unwritten(Exception):
    """Raised for a program that the loop language cannot express."""


class MainFunction:
    """The main function of a program.

    ``kernels`` holds the bound kernels, and ``constants`` the arrays of constants and of the
    constants packed for kernels.  ``routines`` are the kernels "copy" and "dot".  With ``into`` out
    arguments follow the inputs.  ``lone`` holds the sizes for which a variant runs instead.
    Programs that do more than call kernels on arrays and their views raise Unwritten.

    Attributes
    ----------
    function : Function
        The function.  Its arrays are the run time, the arguments and what ``pointers`` holds, and
        its integers the sizes of the arguments.
    pointers : list of int
        The addresses of constants and tables.
    results : list of (dtype, list of int)
        The dtype of each result, and its axes as they lie in memory, the outermost first.
    arguments : list of Variable
        The inputs and out arguments.
    dims : list of list of Var
        The sizes of each argument.
    early : set of int
        The results, by position, that may be computed twice: they are written before the last check
        of what a step computes.  Such an out argument must not be an input too.
    kept : list
        What the addresses belong to.
    """

    def __init__(
        self,
        main: MainText,
        steps: Sequence[Step],
        kernels: Mapping[Kernel, Callable[..., Any]],
        constants: Mapping[Any, Array],
        routines: Mapping[str, Callable[..., Any]],
        *,
        loops: Mapping[Variable, LoopCall] = MappingProxyType({}),
        into: bool = False,
        lone: Lone | None = None,
    ) -> None:
        graph = main.graph
        self.known = main.sizes
        self._tested = frozenset(main.given_sizes)
        self.takes = main.memory.takes
        self.overwrites = main.overwrites
        self.kernels = kernels
        self.routines = routines
        self.loops = loops
        self.constants = constants
        self.into = into
        places = graph.outputs if into else ()
        self.positions = {x: len(graph.inputs) + k for k, x in enumerate(places)}
        self.arguments = [*graph.inputs, *places]
        self.dims = [
            [Var(f"d{i}_{axis}", "int64") for axis in range(x.ndim)]
            for i, x in enumerate(self.arguments)
        ]
        self.head, self.steps = Builder(_NO_LIMIT), Builder(_NO_LIMIT)
        self.steps.share_names(self.head)
        self._given = [
            Buffer(f"x{i}", dtype_name(x), (self._count(dims),))
            for i, (x, dims) in enumerate(zip(self.arguments, self.dims, strict=True))
        ]
        self.values: dict[Any, Address] = {
            x: Address(buffer, (ZERO,))
            for x, buffer in zip(graph.inputs, self._given, strict=False)
        }
        self._read_from = {x: i for i, x in enumerate(graph.inputs)}
        self.pointers: list[int] = []
        self.kept: list[Any] = [*self.kernels.values(), *self.routines.values()]
        self._tables: dict[int, Buffer] = {}
        self._temporaries: dict[Buffer, Sequence[Scalar]] = {}
        self._new_arrays: list[Statement] = []
        self._items: dict[Variable, list[Address]] = {}  # the results of loops
        self._shapes: dict[Variable, list[Scalar]] = {}  # of views and results of loops
        self._firsts: dict[Variable, list[tuple[Scalar, int]]] = {}  # of parts: indices and axes
        self.early: set[int] = set()
        self._written: set[int] = set()  # the out arguments that kernels have written to so far
        self._launched = False
        if lone is not None:
            rows, row = (self._count(map(self._term, terms)) for terms in (lone.rows, lone.row))
            one = self.head.op("equal", rows, ONE, dtype="bool")
            many = self.head.op("less", index(LONG - 1), row, dtype="bool")
            self._leave_if(self.head, self.head.op("and", one, many, dtype="bool"))
        for step in steps:
            self._step(step)
        self.results = [] if into else [self._result(k, x) for k, x in enumerate(graph.outputs)]
        self.function = self._function()

    def _function(self) -> Function:
        memory = self._allocated()
        body = (*self.head.body, *memory, *self.steps.body)
        dims = tuple([n for dims in self.dims for n in dims])
        return Function("NAME", dims, (HOST, *self._given), body)

    # Memory.

    def _allocated(self) -> list[Statement]:
        """Return the statements that allocate: temporaries share one block."""
        head = self.head
        total: Scalar = ZERO
        parts: list[tuple[Buffer, Scalar]] = []
        for buffer, sizes in self._temporaries.items():
            parts.append((buffer, total))
            count: Scalar = ONE
            for size in sizes:
                count = head.least(head.mul(count, head.least(size, _MANY)), _MANY)
            above = head.add(head.mul(count, index(_item(buffer))), index(LINE - 1))
            lines = head.op("div", above, index(LINE), dtype="int64")
            total = head.add(total, head.mul(lines, index(LINE)))
        if not parts:
            return self._new_arrays
        block = Buffer("temporaries", "uint8", (total,), "bound")
        return [
            Allocate(block, -1, (total,), HOST),
            *[Alias(buffer, Address(block, (at,))) for buffer, at in parts],
            *self._new_arrays,
        ]

    def _new(self, dtype: str, sizes: Sequence[Scalar]) -> Address:
        """Return new memory."""
        name = self.head.fresh("t").name
        buffer = Buffer(name, dtype, (self._count(sizes),), "bound")
        self._temporaries[buffer] = sizes
        return Address(buffer, (ZERO,))

    def _result(self, number: int, x: Variable) -> tuple[np.dtype[Any], list[int]]:
        """Return a new array in the memory of a result, with the axes that a view gives it."""
        value, along = self._value(x), _axes(x)
        if value.buffer not in self._temporaries or value.index != (ZERO,):
            raise Unwritten
        del self._temporaries[value.buffer]
        sizes = tuple(self._sizes(x))
        self._new_arrays.append(Allocate(value.buffer, number, sizes, HOST))
        order = sorted(range(x.ndim), key=lambda axis: _depth(along[axis]))
        return np.dtype(dtype_name(x)), order

    def _allocate(self, x: Variable) -> None:
        source = self.takes.get(x)
        if source is not None:
            self.values[x] = self._value(source)
            return
        sizes = [self._term(term) for term in self.known.shape[x]]
        position = self.positions.get(x)
        if position is None:
            self.values[x] = self._new(dtype_name(x), sizes)
            return
        for size, given in zip(sizes, self.dims[position], strict=True):
            self._leave_unless_equal(size, given)
        self.values[x] = Address(self._given[position], (ZERO,))

    def _pointer(self, name: str, dtype: str, count: int, address: int) -> Buffer:
        buffer = Buffer(name, dtype, (index(count),))
        self._given.append(buffer)
        self.pointers.append(address)
        return buffer

    def _constant(self, array: Array) -> Address:
        self.kept.append(array)
        name = f"c{len(self._given)}"
        address = int(array.ctypes.data)
        return Address(self._pointer(name, array.dtype.name, array.size, address), (ZERO,))

    def _value(self, x: Any) -> Address:
        """Return where the first element of a value is."""
        if x not in self.values:
            if x not in self.constants:
                raise Unwritten
            self.values[x] = self._constant(self.constants[x])
        return self.values[x]

    # Sizes.

    def _term(self, term: Term) -> Scalar:
        if isinstance(term, int):
            return index(term)
        x, axis = self.known.source[term]
        if x in self._read_from:
            return self.dims[self._read_from[x]][axis]
        if x not in self._shapes:
            raise Unwritten
        return self._shapes[x][axis]

    def _sizes(self, x: Variable) -> list[Scalar]:
        """Return the sizes of a value."""
        if x in self._shapes:
            return self._shapes[x]
        return [self._term(term) for term in self.known.shape[x]]

    def _count(self, sizes: Any) -> Scalar:
        """Return a product of sizes."""
        total: Scalar = ONE
        for size in sizes:
            total = self.head.mul(total, size)
        return total

    # Checks.

    def _leave_if(self, where: Builder, test: Scalar) -> None:
        if not isinstance(test, Const) or test.value:
            where.write(Leave(test))

    def _leave_unless_equal(self, a: Scalar, b: Scalar) -> None:
        if a is not b:
            same = self.head.op("equal", a, b, dtype="bool")
            self._leave_if(self.head, self.head.op("not", same, dtype="bool"))

    def _within(self, gather: Gather) -> None:
        """Leave unless all indices are in range and not negative."""
        if axes(gather.indices) is not None:
            raise Unwritten
        size = self._term(self.known.shape[gather.array][gather.axis])
        steps = self.steps
        most = Buffer(steps.fresh("n").name, "int64", (ONE,), "bound")
        steps.write(Alias(most, self._value(gather.furthest)))
        furthest = steps.load(most, (ZERO,))
        negative = steps.op("less", furthest, ZERO, dtype="bool")
        less = steps.op("less", furthest, size, dtype="bool")
        outside = steps.op("not", less, dtype="bool")
        self._leave_late(steps.op("or", negative, outside, dtype="bool"))

    def _leave_late(self, test: Scalar) -> None:
        """Leave because of what a step computed."""
        self.early |= self._written
        self._leave_if(self.steps, test)

    # Steps.

    def _step(self, step: Step) -> None:
        for update in step.updates if isinstance(step, Kernel) else ():
            if self.into:
                raise Unwritten
            if update.places is None and update.part not in self.values:
                self._view(update.part)
        for check in self.known.checks.get(step, ()):
            if check not in self._tested:
                self._leave_unless_equal(*map(self._term, check.terms))
        if isinstance(step, Kernel):
            self._kernel(step)
        else:
            self._call(step.node)

    def _kernel(self, step: Kernel) -> None:
        for x, reduction in step.reductions:
            if x.op.nonempty:  # type: ignore[union-attr]
                loop = self.known.loop[reduction]
                count = self._count(self._term(loop[axis]) for axis in reduced_axes(x))
                self._leave_if(self.head, self.head.op("equal", count, ZERO, dtype="bool"))
        for x in step.results:
            self._allocate(x)
        for gather in step.gathers:
            self._within(gather)
        targets = {update.node: self._target(update) for update in step.updates}
        table = table_of(self.kernels[step])
        loop = self.known.loop[step]
        integers = [self._count(self._term(loop[a]) for a in group) for group in step.groups]
        first = len(step.arrays) + len(step.tables) + len(step.slots)
        updates = {update.node: update for update in step.updates}
        for number, axis in table[HEAD:].reshape(-1, 2).tolist():
            if number < first:
                integers.append(self._stride(step.arrays[number], axis))
            else:
                update = updates[step.results[number - first]]
                along = part_axes(update.part)[axis]
                integers.append(self._bytes(self._distance(along, update.array), update.array))
        in_place = step.structure.products is None
        for x in (*step.tables, *(x for x in step.arrays if not in_place or axes(x) is None)):
            if not in_order(x):
                raise Unwritten
        arrays = [*map(self._value, (*step.arrays, *step.tables, *step.slots.values()))]
        arrays += [targets.get(x) or self._value(x) for x in step.results]
        self._launch(self.kernels[step], arrays, integers)
        first = len(self._read_from)
        self._written.update(self.positions[x] - first for x in step.results if x in self.positions)

    def _launch(
        self, kernel: Callable[..., Any], arrays: Sequence[Address], integers: Sequence[Scalar]
    ) -> None:
        table = table_of(kernel)
        address = int(table.ctypes.data)
        if address not in self._tables:
            name = f"kernel{len(self._tables)}"
            self._tables[address] = self._pointer(name, "int64", len(table), address)
        partial = int(table[FOLDS])
        self.steps.write(
            Launch(self._tables[address], tuple(arrays), tuple(integers), partial, HOST)
        )
        self._launched = True

    def _call(self, x: Variable) -> None:
        if x in self.loops:
            self._loop(x, self.loops[x])
        elif isinstance(x.op, GetItem) and x.inputs[0] in self._items:
            self.values[x] = self._items[x.inputs[0]][x.op.params[0]]
        elif isinstance(x.op, Empty):
            self._allocate(x)
        elif isinstance(x.op, Dim):
            pass  # loops read sizes from arrays; any other reader finds no value
        elif isinstance(x.op, Eye):
            array = OpCall(x)()
            if array.size > MOST_KEPT:
                raise Unwritten
            self.values[x] = self._constant(array)
            self._shapes[x] = [index(n) for n in array.shape]
        else:
            (self._dot if is_dot(x) else self._view)(x)

    def _loop(self, x: Variable, call: LoopCall) -> None:
        """Launch a loop, and leave the call if it did not end."""
        loop = call.compiled
        if loop is None or self.into or (loop.bounded and self._launched):
            raise Unwritten  # what ran before would run twice
        inputs = [y.inputs[0] if i in loop.turned else y for i, y in enumerate(x.inputs)]
        sizes = [self._sizes(inputs[i])[axis] for i, axis in loop.integers]
        known = dict(zip(loop.function.integers[1:], sizes, strict=True))

        def size(n: Scalar) -> Scalar:
            found = n if isinstance(n, Const) else known.get(n)  # type: ignore[call-overload]
            if found is None:
                raise Unwritten
            return found

        def memory(array: LoopArray) -> Address:
            return self._new(array.dtype, [size(n) for n in array.shape])

        if not all([in_order(inputs[i]) for i in loop.operands]):
            raise Unwritten
        results = self._items[x] = [memory(array) for array in loop.results]
        if is_tensor(x):
            self.values[x] = results[0]
            self._shapes[x] = [size(n) for n in loop.results[0].shape]
        scratch = [memory(array) for array in loop.scratch]
        status = self._new("int64", [ONE])
        operands = [self._value(inputs[i]) for i in loop.operands]
        self.kept.append(call.kernel)
        self._launch(call.kernel, [*operands, *results, *scratch, status], [ONE, *sizes])
        ended = self.steps.load(status.buffer, status.index)
        same = self.steps.op("equal", ended, ZERO, dtype="bool")
        self._leave_late(self.steps.op("not", same, dtype="bool"))

    def _target(self, update: Update) -> Address:
        """Return what a kernel writes an update to: a copy, unless it overwrites the array."""
        node, array = update.node, update.array
        if node not in self.overwrites:
            if not in_order(array):
                raise Unwritten
            count = self._bytes(self._count(self._sizes(array)), array)
            arrays = [self._value(node), self._value(array)]
            self._launch(self.routines["copy"], arrays, [count])
        if update.places is None:
            return self._moved(self._value(node), self._firsts[update.part], own_axes(array), array)
        if update.furthest is not None:
            self._within(Gather(node, array, 0, update.key[0], update.furthest, update.places))
        return self._value(node)

    def _dot(self, x: Variable) -> None:
        """Multiply two vectors of one dtype."""
        if any(operand.dtype != x.dtype for operand in x.inputs):
            raise Unwritten
        self._allocate(x)
        function = self._pointer(f"f{len(self._given)}", "uint8", 1, numpy_api.dot(x.dtype))
        arrays = [*map(self._value, (*x.inputs, x)), Address(function, (ZERO,))]
        strides = [self._stride(operand, 0) for operand in x.inputs]
        length = self._sizes(x.inputs[0])[0]
        self._launch(self.routines["dot"], arrays, [length, *strides])

    # Views.

    def _view(self, x: Variable) -> None:
        """Find the first element of a view, and its sizes."""
        op = x.op
        if len(x.inputs) != 1 or not (isinstance(op, Reshape) or is_view(x)):
            raise Unwritten
        (array,) = x.inputs
        if isinstance(op, Index):
            self._part(x, array, op.params[0])
            return
        if isinstance(op, Reshape) and not (in_order(array) and self._same_count(x, array)):
            raise Unwritten
        if isinstance(op, AsGiven) or (isinstance(op, BroadcastTo) and not _fits(array, x)):
            raise Unwritten
        if isinstance(op, Transpose | MatrixTranspose):
            sizes = self._sizes(array)
            turned = (
                [*range(x.ndim - 2), -1, -2] if isinstance(op, MatrixTranspose) else op.params[0]
            )
            self._shapes[x] = [sizes[axis] for axis in turned]
        self.values[x] = self._value(array)

    def _same_count(self, x: Variable, y: Variable) -> bool:
        """Return True if two values are known to have equally many elements."""
        counts = []
        for shape in (self.known.shape[x], self.known.shape[y]):
            sizes = [self.known.find(term) for term in shape]
            named = sorted(str(term) for term in sizes if not isinstance(term, int))
            counts.append((prod(term for term in sizes if isinstance(term, int)), named))
        return counts[0] == counts[1]

    def _part(self, x: Variable, array: Variable, spec: Spec) -> None:
        """Find the first element of an indexed part, and its sizes."""
        sizes, before = iter(self._sizes(array)), iter(range(array.ndim))
        shape: list[Scalar] = []
        firsts = self._firsts[x] = []
        for kind, *bounds in spec:
            if kind == "newaxis":
                shape.append(ONE)
                continue
            axis, size = next(before), next(sizes)
            if "dynamic" in bounds:
                raise Unwritten
            if kind == "int":
                (number,) = bounds
                first, length = part(self.head, size, slice(number, number + 1 or None))
                if not isinstance(array.type.shape[axis], int):
                    nothing = self.head.op("equal", length, ZERO, dtype="bool")
                    self._leave_if(self.head, nothing)
            else:
                first, length = part(self.head, size, slice(*bounds))
                shape.append(length)
            firsts.append((first, axis))
        self._shapes[x] = [*shape, *sizes]
        self.values[x] = self._moved(self._value(array), firsts, _axes(array), root(array))

    def _moved(
        self,
        value: Address,
        firsts: Sequence[tuple[Scalar, int]],
        along: Sequence[Along],
        array: Variable,
    ) -> Address:
        """Return the view of a value whose axes run along an array, from the first positions."""
        (place,) = value.index
        for first, axis in firsts:
            distance = self._distance(along[axis], array)
            place = self.head.add(place, self.head.mul(first, distance))
        return Address(value.buffer, (place,))

    def _stride(self, x: Variable, axis: int) -> Scalar:
        """Return the distance in bytes between elements along an axis of a value."""
        return self._bytes(self._distance(_axes(x)[axis], root(x)), x)

    def _bytes(self, count: Scalar, x: Variable) -> Scalar:
        return self.head.mul(count, index(np.dtype(dtype_name(x)).itemsize))

    def _distance(self, along: Along, array: Variable) -> Scalar:
        """Return the elements between two along an axis."""
        if along.axis is None:
            return ZERO
        sizes = [
            size for size, dim in zip(self._sizes(array), array.type.shape, strict=True) if dim != 1
        ]
        inner = sizes[len(sizes) + along.axis + 1 :]
        return self.head.mul(index(along.step), self._count(inner))


def _axes(x: Variable) -> tuple[Along, ...]:
    """Return how the axes of a value run along those of the array below."""
    along = axes(x) if is_view(x) else own_axes(x)
    if along is None:
        raise Unwritten
    return along


def _depth(along: Along) -> int:
    """Return a number that is larger for an axis further in."""
    return _DEPTH if along.axis is None else along.axis


def _fits(x: Variable, wide: Variable) -> bool:
    """Return True if a value is known to broadcast to another one."""
    pairs = zip(reversed(x.type.shape), reversed(wide.type.shape), strict=False)
    return all(dim == 1 or (dim == size and dim is not None) for dim, size in pairs)


def _item(buffer: Buffer) -> int:
    return np.dtype(buffer.dtype).itemsize


def table_of(function: Callable[..., Any]) -> Array:
    """Return the table of a bound kernel."""
    table: Array = function.__self__  # type: ignore[attr-defined]
    return table


__all__ = ["HOST", "MainFunction", "Unwritten"]
