"""The translation of a schedule that only calls kernels to bytecode for :mod:`.native`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from relgraph.backends.base import Array, OpCall
from relgraph.backends.numba import numpy_api
from relgraph.backends.numba.launch import HEAD
from relgraph.backends.numba.lone import Lone
from relgraph.backends.numba.loop_calls import LoopCall
from relgraph.backends.numba.main_source import MainText
from relgraph.backends.numba.native_memory import MOST_DIMENSIONS
from relgraph.backends.numba.tape_layout import (
    COPY,
    DOT,
    EQUAL,
    LONE,
    RUN,
    SOME,
    VIEW,
    WITHIN,
    Tape,
)
from relgraph.ir.graph import is_tensor
from relgraph.ir.node import Input, Variable
from relgraph.ir.op import GetItem
from relgraph.lowering.kernels import Gather, Kernel, Step, reduced_axes
from relgraph.lowering.loops.function import Array as LoopArray
from relgraph.lowering.loops.nodes import Const, Scalar
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

Line = list[int | tuple[str, int]]
"""A step of the bytecode; a pair is the kind of a value and its number among those."""


MOST_KEPT = 4096  # elements of an identity that a program keeps


class Untaped(Exception):
    """Raised for a program that bytecode cannot express."""


class Taped:
    """The bytecode of a program.

    ``kernels`` holds the bound kernels, and ``constants`` the arrays of constants and of the
    constants packed for kernels.  With ``into`` out arguments follow the inputs.  ``lone`` holds
    the sizes for which a variant runs instead.  Programs that do more than call kernels on arrays
    and their views raise Untaped.

    Attributes
    ----------
    early : set of int
        The results, by position, that may be computed twice: they are written before the last step
        that may leave the call to the main function, which then starts again.  Such an out argument
        must not be an input too.
    """

    def __init__(
        self,
        main: MainText,
        steps: Sequence[Step],
        kernels: Mapping[Kernel, Callable[..., Any]],
        constants: Mapping[Any, Array],
        *,
        loops: Mapping[Variable, LoopCall] = MappingProxyType({}),
        into: bool = False,
        lone: Lone | None = None,
    ) -> None:
        graph = main.graph
        self.sizes = main.sizes
        self.takes = main.memory.takes
        self.overwrites = main.overwrites
        self.kernels = kernels
        self.loops = loops
        self._items: dict[Variable, list[tuple[str, int]]] = {}  # the results of loops
        self.constants = constants
        self.position = {x: i for i, x in enumerate(graph.inputs)}
        places = graph.outputs if into else ()
        self.places = {x: len(graph.inputs) + k for k, x in enumerate(places)}
        self.tape = Tape([np.dtype(dtype_name(x)) for x in (*graph.inputs, *places)])
        self.numbers: dict[Any, tuple[str, int]] = {}
        self._terms: dict[Variable, list[int]] = {}  # the sizes of views
        self._firsts: dict[Variable, list[tuple[int, int]]] = {}  # of parts: positions and axes
        self.early: set[int] = set()
        self._written: set[int] = set()  # the out arguments that kernels have written to so far
        self.into = into
        self.results: list[int] = []
        self.steps: list[Line] = []
        if lone is not None:
            counted = (lone.rows, lone.row)
            terms = [(len(sizes), *map(self._term, sizes)) for sizes in counted]
            self.steps.append([LONE, *terms[0], *terms[1]])
        for step in steps:
            self._step(step)
        for x in () if into else graph.outputs:
            self._result(x)

    def bound(self, address: int, main: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that runs the program.

        ``address`` is that of :data:`.native.PROGRAM`; ``main`` runs when the bytecode gives up.
        """
        first = {"argument": 0, "constant": self.tape.arguments}
        first["memory"] = self.tape.arguments + self.tape.constants
        first["view"] = first["memory"] + self.tape.allocated
        for step in self.steps:
            self.tape.step(*(x if isinstance(x, int) else first[x[0]] + x[1] for x in step))
        results = None if self.into else self.results
        kept = [*self.kernels.values(), *[x.kernel for x in self.loops.values()]]
        return self.tape.bound(address, results, main, kept)

    def _result(self, x: Variable) -> None:
        """Make a new array of the memory of a result, with the axes that a view gives it."""
        kind, number = self._value(x)
        along = _axes(x)
        if kind != "memory":
            raise Untaped
        lie = sorted(range(x.ndim), key=lambda axis: _depth(along[axis]))
        self.tape.result(number, np.dtype(dtype_name(x)), self._sizes(x), lie)
        self.results.append(number)

    def _term(self, term: Term) -> int:
        if isinstance(term, int):
            return self.tape.number(term)
        x, axis = self.sizes.source[term]
        if x in self.position:
            return self.tape.size(self.position[x], axis)
        if x not in self._terms:
            raise Untaped
        return self._terms[x][axis]

    def _sizes(self, x: Variable) -> list[int]:
        """Return the terms of the sizes of a value."""
        if x in self._terms:
            return self._terms[x]
        return [self._term(term) for term in self.sizes.shape[x]]

    def _value(self, x: Any) -> tuple[str, int]:
        """Return the kind and number of a value: an argument, a constant or memory."""
        location = self.numbers.get(x)
        if location is None:
            if isinstance(x, Input):
                location = ("argument", self.position[x])
            elif x in self.constants:
                location = ("constant", self.tape.constant(self.constants[x]))
            else:
                raise Untaped
            self.numbers[x] = location
        return location

    def _allocate(self, x: Variable) -> None:
        source = self.takes.get(x)
        if source is not None:
            self.numbers[x] = self._value(source)
            return
        terms = [self._term(term) for term in self.sizes.shape[x]]
        number = self.tape.memory(np.dtype(dtype_name(x)), terms, self.places.get(x))
        self.numbers[x] = ("memory", number)

    def _step(self, step: Step) -> None:
        for update in step.updates if isinstance(step, Kernel) else ():
            if self.into:
                raise Untaped
            if update.places is None and update.part not in self.numbers:
                self._view(update.part)
        for check in self.sizes.checks.get(step, ()):
            self.steps.append([EQUAL, *map(self._term, check.terms)])
        if not isinstance(step, Kernel):
            self._call(step.node)
            return
        for x, part in step.reductions:
            if x.op.nonempty:  # type: ignore[union-attr]
                loop = self.sizes.loop[part]
                terms = [self._term(loop[axis]) for axis in reduced_axes(x)]
                self._leave([SOME, len(terms), *terms])
        for x in step.results:
            self._allocate(x)
        for gather in step.gathers:
            self._within(gather)
        targets = {update.node: self._target(update) for update in step.updates}
        table = table_of(self.kernels[step])
        line: Line = [RUN, int(table.ctypes.data)]
        loop = self.sizes.loop[step]
        for group in step.groups:
            line += self._product([self._term(loop[axis]) for axis in group])
        strided = table[HEAD:].reshape(-1, 2).tolist()
        first = len(step.arrays) + len(step.tables) + len(step.slots)
        updates = {update.node: update for update in step.updates}
        for number, axis in strided:
            if number < first:
                factors = self._stride(step.arrays[number], axis)
            else:
                update = updates[step.results[number - first]]
                factors = self._distance(part_axes(update.part)[axis], update.array)
            line += self._product(factors)
        in_place = step.structure.products is None
        for x in (*step.tables, *(x for x in step.arrays if not in_place or axes(x) is None)):
            if not in_order(x):
                raise Untaped
        line += map(self._value, (*step.arrays, *step.tables, *step.slots.values()))
        line += [targets.get(x) or self._value(x) for x in step.results]
        self.steps.append(line)
        first = len(self.position)
        self._written.update(self.places[x] - first for x in step.results if x in self.places)

    def _call(self, x: Variable) -> None:
        if x in self.loops:
            self._loop(x, self.loops[x])
        elif isinstance(x.op, GetItem) and x.inputs[0] in self._items:
            self.numbers[x] = self._items[x.inputs[0]][x.op.params[0]]
        elif isinstance(x.op, Empty):
            self._allocate(x)
        elif isinstance(x.op, Dim):
            pass  # loops read sizes from arrays; any other reader finds no value
        elif isinstance(x.op, Eye):
            array = OpCall(x)()
            if array.size > MOST_KEPT:
                raise Untaped
            self.numbers[x] = ("constant", self.tape.constant(array))
            self._terms[x] = [self.tape.number(n) for n in array.shape]
        else:
            (self._dot if is_dot(x) else self._view)(x)

    def _loop(self, x: Variable, call: LoopCall) -> None:
        """Add the steps that run a loop, and leave the call if it did not end."""
        loop = call.compiled
        if loop is None or self.into:
            raise Untaped
        if loop.bounded and any([step[0] == RUN for step in self.steps]):
            raise Untaped  # kernels would run twice
        inputs = [y.inputs[0] if i in loop.turned else y for i, y in enumerate(x.inputs)]
        terms = [self._sizes(inputs[i])[axis] for i, axis in loop.integers]
        known = dict(zip(loop.function.integers[1:], terms, strict=True))

        def term(size: Scalar) -> int:
            found = self.tape.number(size.value) if isinstance(size, Const) else known.get(size)  # type: ignore[call-overload]
            if found is None:
                raise Untaped
            return found

        def memory(array: LoopArray) -> tuple[str, int]:
            sizes = [term(n) for n in array.shape]
            return "memory", self.tape.memory(np.dtype(array.dtype), sizes)

        if not all([in_order(inputs[i]) for i in loop.operands]):
            raise Untaped
        results = self._items[x] = [memory(array) for array in loop.results]
        if is_tensor(x):
            self.numbers[x] = results[0]
            self._terms[x] = [term(n) for n in loop.results[0].shape]
        scratch = [memory(array) for array in loop.scratch]
        status = ("memory", self.tape.memory(np.dtype("int64"), [self.tape.number(1)]))
        line: Line = [RUN, int(table_of(call.kernel).ctypes.data)]
        for number in (self.tape.number(1), *terms):
            line += [1, number]
        line += [self._value(inputs[i]) for i in loop.operands]
        self.steps.append([*line, *results, *scratch, status])
        self._leave([WITHIN, status, self.tape.number(1)])

    def _target(self, update: Update) -> tuple[str, int]:
        """Return what a kernel writes an update to: a copy, unless it overwrites the array."""
        node, array = update.node, update.array
        if node not in self.overwrites:
            if not in_order(array):
                raise Untaped
            size = self.tape.number(np.dtype(dtype_name(array)).itemsize)
            bytes_ = self._product([size, *self._sizes(array)])
            self.steps.append([COPY, self._value(node), self._value(array), *bytes_])
        if update.places is None:
            firsts = self._firsts[update.part]
            return self._moved(self._value(node), firsts, own_axes(array), array)
        if update.furthest is not None and update.places is not None:
            self._within(Gather(node, array, 0, update.key[0], update.furthest, update.places))
        return self._value(node)

    def _within(self, gather: Gather) -> None:
        """Leave the call to the main function unless all indices are in range and not negative."""
        if axes(gather.indices) is not None:
            raise Untaped
        size = self._term(self.sizes.shape[gather.array][gather.axis])
        self._leave([WITHIN, self._value(gather.furthest), size])

    def _leave(self, step: Line) -> None:
        """Add a step that may leave the call to the main function without being an error there."""
        self.early |= self._written
        self.steps.append(step)

    def _dot(self, x: Variable) -> None:
        """Add the step that multiplies two vectors of one dtype."""
        if any(operand.dtype != x.dtype for operand in x.inputs):
            raise Untaped
        self._allocate(x)
        strides = [n for operand in x.inputs for n in self._product(self._stride(operand, 0))]
        length = self._sizes(x.inputs[0])[0]
        values = map(self._value, (*x.inputs, x))
        self.steps.append([DOT, numpy_api.dot(x.dtype), *values, length, *strides])

    # Views.

    def _view(self, x: Variable) -> None:
        """Give a view the address of its first element and its sizes."""
        op = x.op
        if len(x.inputs) != 1 or not (isinstance(op, Reshape) or is_view(x)):
            raise Untaped
        (array,) = x.inputs
        if isinstance(op, Index):
            self._part(x, array, op.params[0])
            return
        if isinstance(op, Reshape) and not (in_order(array) and self._same_count(x, array)):
            raise Untaped
        if isinstance(op, AsGiven) or (isinstance(op, BroadcastTo) and not _fits(array, x)):
            raise Untaped
        if isinstance(op, Transpose | MatrixTranspose):
            sizes = self._sizes(array)
            turned = (
                [*range(x.ndim - 2), -1, -2] if isinstance(op, MatrixTranspose) else op.params[0]
            )
            self._terms[x] = [sizes[axis] for axis in turned]
        self.numbers[x] = self._value(array)

    def _same_count(self, x: Variable, y: Variable) -> bool:
        """Return True if two values are known to have equally many elements."""
        counts = []
        for shape in (self.sizes.shape[x], self.sizes.shape[y]):
            sizes = [self.sizes.find(term) for term in shape]
            named = sorted(str(term) for term in sizes if not isinstance(term, int))
            counts.append((prod(term for term in sizes if isinstance(term, int)), named))
        return counts[0] == counts[1]

    def _part(self, x: Variable, array: Variable, spec: Spec) -> None:
        """Add the step that finds the first element of an indexed part."""
        sizes, before = iter(self._sizes(array)), iter(range(array.ndim))
        terms: list[int] = []
        firsts = self._firsts[x] = []
        for kind, *bounds in spec:
            if kind == "newaxis":
                terms.append(self.tape.number(1))
                continue
            axis, size = next(before), next(sizes)
            if kind == "int":
                (index,) = bounds
                first, length = self.tape.part(size, slice(index, index + 1 or None))
                if not isinstance(array.type.shape[axis], int):
                    self._leave([SOME, 1, length])
            else:
                if "dynamic" in bounds:
                    raise Untaped
                first, length = self.tape.part(size, slice(*bounds))
                terms.append(length)
            firsts.append((first, axis))
        self._terms[x] = [*terms, *sizes]
        self.numbers[x] = self._moved(self._value(array), firsts, _axes(array), root(array))

    def _moved(
        self,
        value: tuple[str, int],
        firsts: Sequence[tuple[int, int]],
        along: Sequence[Along],
        array: Variable,
    ) -> tuple[str, int]:
        """Return the view of a value whose axes run along an array, from the first positions."""
        view = ("view", self.tape.view())
        offsets: list[int] = []
        for first, axis in firsts:
            offsets += self._product([first, *self._distance(along[axis], array)])
        self.steps.append([VIEW, view, value, len(firsts), *offsets])
        return view

    def _stride(self, x: Variable, axis: int) -> list[int]:
        """Return the factors of the distance in bytes between elements along an axis of a value."""
        return self._distance(_axes(x)[axis], root(x))

    def _distance(self, along: Along, array: Variable) -> list[int]:
        if along.axis is None:
            return [self.tape.number(0)]
        sizes = [
            size for size, dim in zip(self._sizes(array), array.type.shape, strict=True) if dim != 1
        ]
        inner = sizes[len(sizes) + along.axis + 1 :]
        return [self.tape.number(along.step * np.dtype(dtype_name(array)).itemsize), *inner]

    def _product(self, factors: Sequence[int]) -> list[int]:
        return [len(factors), *factors]


def _axes(x: Variable) -> tuple[Along, ...]:
    """Return how the axes of a value run along those of the array below."""
    along = axes(x) if is_view(x) else own_axes(x)
    if along is None:
        raise Untaped
    return along


def _depth(along: Along) -> int:
    """Return a number that is larger for an axis further in."""
    return -MOST_DIMENSIONS if along.axis is None else along.axis


def _fits(x: Variable, wide: Variable) -> bool:
    """Return True if a value is known to broadcast to another one."""
    pairs = zip(reversed(x.type.shape), reversed(wide.type.shape), strict=False)
    return all(dim == 1 or (dim == size and dim is not None) for dim, size in pairs)


def table_of(function: Callable[..., Any]) -> Array:
    """Return the table of a bound kernel."""
    table: Array = function.__self__  # type: ignore[attr-defined]
    return table


__all__ = ["Taped", "Untaped"]
