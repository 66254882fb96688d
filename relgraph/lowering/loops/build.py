"""Applications of loops and of linear algebra as functions of the loop language.

:func:`written_loop` takes an application of ``scan``, ``while_loop`` or ``cond``, or of an op of
linear algebra.  A failed check, such as an index that is out of range or a matrix without a
Cholesky factor, sets a flag, and the caller computes the op by its definition, which raises the
error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from relgraph.ir.graph import FunctionGraph, map_nodes, toposort
from relgraph.ir.node import Constant, Variable, apply
from relgraph.ir.op import GetItem
from relgraph.lowering.expansion import expanded
from relgraph.lowering.loops.builder import ONE, ZERO, TooManyStatements
from relgraph.lowering.loops.control import cond, scan, while_loop
from relgraph.lowering.loops.function import Array, LoopFunction, definitions
from relgraph.lowering.loops.linalg import rules as linalg
from relgraph.lowering.loops.linalg.limits import fits, flops, is_compiled
from relgraph.lowering.loops.nodes import (
    Body,
    Buffer,
    Function,
    If,
    Op,
    Scalar,
    Store,
    Var,
    buffers_of,
    const,
    index,
)
from relgraph.lowering.loops.rules import Unsupported, rule_of
from relgraph.lowering.loops.values import Computed, Part, Stored, Value, Written
from relgraph.lowering.loops.writer import CPU, FAILED, Limits, Writer
from relgraph.lowering.sizes import unproved
from relgraph.lowering.views import is_view
from relgraph.ops.indexing import composition as keys
from relgraph.ops.indexing.expression import indexed_shape
from relgraph.ops.indexing.update import IndexUpdate, SetIndex
from relgraph.ops.loops import Cond, Scan, WhileLoop, is_loop
from relgraph.ops.permutation import MatrixTranspose

LIMITS = (64, 16, 1)  # elements of arrays that are written out; fewer if that takes too many ops
CONSTANT = 64  # elements of a constant
CHEAP = 2  # ops of an element that is computed again for each reader
UPDATES = IndexUpdate, Cond  # which may write to an operand
COST, OPERATION = 1_000_000, 500  # picoseconds of a loop, and of an operation of linear algebra
ONCE = Var("once", "int64")  # the length of the range that a call runs: functions run once


def written_loop(node: Variable, name: str, limits: Limits = CPU) -> LoopFunction | None:
    """Return an application as a function.

    The result is None if it has ops without a rule, or arrays for which threads and the kernels of
    the back end pay.

    Parameters
    ----------
    node : Variable
        The application.
    name : str
        The name of the function.
    limits : Limits
        Those of the back end.
    """
    bodies = getattr(node.op, "bodies", ())
    computed = [x for body in bodies for x in body.graph if _is_computed(x)]
    if any([_elements(x) > limits.large for x in computed]):
        return None
    for limit in LIMITS:
        try:
            return GraphWriter(node, limit, limits).function(name)
        except TooManyStatements:
            continue
        except Unsupported:
            return None
    return None


def is_turned(x: Variable) -> bool:
    """Return True for the transpose of a matrix, or of each one of a batch."""
    return isinstance(x.op, MatrixTranspose)


def has_function(node: Variable) -> bool:
    """Return True for an application that :func:`written_loop` is for."""
    return is_loop(node) or is_compiled(node)


def _is_computed(x: Variable) -> bool:
    """Return True for a new array, which is no part of another one, and not written in place."""
    return x.op is not None and not is_view(x) and not isinstance(x.op, IndexUpdate | GetItem)


def _elements(x: Variable) -> int:
    """Return the number of elements of an array, as far as its sizes are known."""
    sizes = getattr(x.type, "shape", ())
    return prod([n for n in sizes if isinstance(n, int)])


def _ordered(graph: FunctionGraph) -> list[Variable]:
    """Return the nodes in an order in which arrays are read before they are updated, if they may.

    They are then updated in place: at once if nothing else reads the array any more, so that the
    new elements go to their place.
    """
    order = graph.toposort()
    if not any([isinstance(x.op, UPDATES) for x in order]):
        return order
    number = {x: i for i, x in enumerate(order)}
    waits = [len(set(x.inputs)) for x in order]
    users: list[list[int]] = [[] for _ in order]
    for i, x in enumerate(order):
        for y in set(x.inputs):
            users[number[y]].append(i)
    readers = [len(those) for those in users]  # how many of them are still to come
    ready: list[tuple[int, int]] = []

    def add(i: int) -> None:
        """Queue a node: an update first if nothing else reads its array, else last."""
        node, rank = order[i], int(isinstance(order[i].op, UPDATES))
        if isinstance(node.op, IndexUpdate) and readers[number[node.inputs[0]]] == 1:
            rank = -1
        heappush(ready, (rank, i))

    for i in range(len(order)):
        if not waits[i]:
            add(i)
    result: list[Variable] = []
    done = [False] * len(order)
    while ready:
        _, i = heappop(ready)
        if done[i]:
            continue
        done[i] = True
        result.append(order[i])
        for j in users[i]:
            waits[j] -= 1
            if not waits[j]:
                add(j)
        for y in set(order[i].inputs):
            k = number[y]
            readers[k] -= 1
            if readers[k] == 1:
                for j in users[k]:
                    if not waits[j] and not done[j]:
                        add(j)
    return result


def _chained(graph: FunctionGraph) -> FunctionGraph:
    """Return a graph whose updates of equal elements of an array follow each other.

    ``x.at[k].set(f(y))`` with ``y = x.at[k].set(v)`` is ``y.at[k].set(f(y))``, of which only one
    array is needed.
    """
    updates = [x for x in graph.toposort() if isinstance(x.op, SetIndex)]
    earlier: dict[Variable, Variable] = {}
    for i, x in enumerate(updates):
        array, value, *key = x.inputs
        for y in updates[:i]:
            same = y.op is x.op and y.inputs[0] is array and list(y.inputs[2:]) == key
            if same and y in toposort([value]):
                earlier[x] = y
    if not earlier:
        return graph

    def change(node: Variable, inputs: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return node
        if node in earlier:
            inputs = (images[earlier[node]], *inputs[1:])
        images[node] = apply(node.op, inputs)
        return images[node]

    images: dict[Variable, Variable] = {}
    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, change))


class _Frame:
    """A graph that is being written: the values of its nodes, and when each is read last.

    ``places`` are where results are to be stored in the end.
    """

    def __init__(self, graph: FunctionGraph, places: Mapping[Variable, Stored]) -> None:
        self.places = places
        self.order = _ordered(graph)
        self.values: dict[Variable, Any] = {}
        self.uses: dict[Variable, int] = {}
        self.last: dict[Variable, int] = {}
        self.now = 0
        for i, node in enumerate(self.order):
            for x in node.inputs:
                self.uses[x] = self.uses.get(x, 0) + 1
                self.last[x] = i
        for x in graph.outputs:
            self.uses[x] = self.uses.get(x, 0) + 1
            self.last[x] = len(self.order)


class GraphWriter(Writer):
    """Writes an application, and the graphs of a loop.

    Parameters
    ----------
    node : Variable
        The application.
    limit : int
        The most elements of an array that is written out.
    limits : Limits
        Those of the back end.
    """

    def __init__(self, node: Variable, limit: int, limits: Limits = CPU) -> None:
        super().__init__(limit, limits)
        self.node = node
        self.tables: dict[Variable, Stored] = {}
        self.frames: list[_Frame] = []
        self.targets: dict[int, Buffer] = {}  # of the results of an application of another op
        self._bounded = False

    def function(self, name: str) -> LoopFunction:
        """Return the function."""
        operands: list[Value] = []
        buffers: dict[int, Buffer] = {}
        turned: frozenset[int] = frozenset()
        if not is_loop(self.node):
            turned = frozenset([i for i, x in enumerate(self.node.inputs) if is_turned(x)])
        for i, operand in enumerate(self.node.inputs):
            x = operand.inputs[0] if i in turned else operand
            shape = [self._size(i, axis, d) for axis, d in enumerate(x.type.shape)]
            buffers[i] = Buffer(f"x{i}", x.dtype.name, tuple(shape))
            stored = Stored(buffers[i], self.builder)
            operands.append(linalg.turned(self, stored) if i in turned else stored)
        if is_loop(self.node):
            targets = self._targets(operands)
            values = self.loop(self.node, operands, targets)
        else:
            targets, values = self._application(operands)
        for value, target in zip(values, targets, strict=True):
            if not (isinstance(value, Stored) and value.buffer is target):
                self.store(value, Stored(target, self.builder))
        results = tuple([Array(t.dtype, t.shape) for t in targets])
        scratch = tuple([Array(b.dtype, b.shape) for b in self.scratch])
        body = self.builder.body
        used = buffers_of(body)
        read = tuple([i for i, buffer in buffers.items() if buffer in used])
        arrays = (*[buffers[i] for i in read], *targets, *self.scratch, self.status)
        function = Function(name, (ONCE, *self.integers), arrays, self._guarded(body))
        loop = LoopFunction(
            function,
            tuple(self.integers.values()),
            read,
            turned,
            results,
            scratch,
            dict(definitions(body)),
            self._bounded,
            COST if is_loop(self.node) else OPERATION * flops(self.node),
        )
        for size in [n for array in (*results, *scratch) for n in array.shape]:
            if loop.size(size, [1] * len(self.integers)) is None:
                raise Unsupported
        return loop

    def _application(self, operands: Sequence[Value]) -> tuple[list[Buffer], list[Value]]:
        """Write an op other than a loop, unless its sizes are such that its definition is best."""
        results: list[Value] = []

        def write() -> list[Scalar]:
            value = self._value(self.node, operands)
            results.extend(value if isinstance(value, tuple) else [value])
            for k, x in enumerate(results):
                if k not in self.targets:
                    results[k] = self.kept(x, self.result(k, x.dtype, x.shape))
            return []

        test = fits(self, operands)
        self._bounded = test is not None
        if test is None:
            write()
        else:
            self.builder.choice(test, write, self._failed)
        return [self.targets[k] for k in range(len(results))], results

    def _failed(self) -> list[Scalar]:
        self.builder.store(self.status, (ZERO,), index(FAILED))
        return []

    def _guarded(self, body: Body) -> Body:
        """Return the body, run only if no array of which it reads an index is empty."""
        if not self.positive:
            return body
        tests = [Op("less", (size, ONE), "bool") for size in self.positive]
        empty: Scalar = tests[0]
        for test in tests[1:]:
            empty = Op("or", (empty, test), "bool")
        first, *rest = body
        return first, If(empty, (Store(self.status, (ZERO,), index(FAILED)),), tuple(rest))

    def _size(self, operand: int, axis: int, dim: Any) -> Scalar:
        if isinstance(dim, int):
            return index(dim)
        if dim is not None and dim in self.names:
            return self.names[dim]
        variable = Var(f"n{operand}_{axis}", "int64")
        self.integers[variable] = (operand, axis)
        self.builder.ranges.size(variable)
        if dim is not None:
            self.names[dim] = variable
        return variable

    def _targets(self, operands: Sequence[Value]) -> list[Buffer]:
        """Return the buffers of the results."""
        op: Any = self.node.op
        starts: dict[int, Value] = {}
        if isinstance(op, Scan):
            starts = dict(enumerate(operands[1 : 1 + op.carries]))
        elif isinstance(op, WhileLoop):
            starts = dict(enumerate(operands[: op.carries]))
        targets = []
        for k, type_ in enumerate(self.node.type.items):
            shape = []
            for axis, dim in enumerate(type_.shape):
                if isinstance(dim, int):
                    shape.append(index(dim))
                elif k in starts:
                    shape.append(starts[k].shape[axis])
                elif isinstance(op, Scan) and axis == 0:
                    shape.append(self._length(op, operands))
                else:
                    shape.append(self.size_named(dim))
            buffer = Buffer(f"o{k}", type_.dtype.name, tuple(shape))
            targets.append(buffer)
            self.owned.add(buffer)
        return targets

    def _length(self, op: Any, operands: Sequence[Value]) -> Scalar:
        """Return the number of iterations, if the caller knows it."""
        if isinstance(op.size, int):
            return index(op.size)
        if not op.sequences:
            raise Unsupported
        size: Scalar = operands[1 + op.carries].shape[0]
        return size

    # Values.

    def result(self, k: int, dtype: str, shape: Sequence[Scalar]) -> Stored:
        """Return where a result of an op is to be written: result ``k`` of the function, or new."""
        if self.depth or self.frames:
            return self.buffer(dtype, shape)
        target = self.targets[k] = Buffer(f"o{k}", dtype, tuple(shape))
        self.owned.add(target)
        return Stored(target, self.builder)

    def writable(self, node: Variable, x: Value, part: Part) -> Stored:
        """Return the first operand of a node in a buffer of which nothing else reads a part."""
        if not (self._is_last(node, 0) and isinstance(x, Stored) and self._may_write(x)):
            return self.kept(x)
        self._keep_readers(node.inputs[0], x.buffer, part)
        return x

    def carried_in_place(self, node: Variable, operands: Sequence[Value], k: int) -> bool:
        """Return True for an operand that a loop carries and may write to where it is."""
        x = operands[k]
        if not (self.frames and self._is_last(node, k)):
            return False
        if not (isinstance(x, Stored) and self._may_write(x) and x.shape == x.buffer.shape):
            return False
        if any([x.buffer in y.reads for i, y in enumerate(operands) if i != k]):
            return False
        self._keep_readers(node.inputs[k], x.buffer)
        return True

    def _is_last(self, node: Variable, k: int) -> bool:
        frame = self.frames[-1]
        return frame.last[node.inputs[k]] == frame.now

    def _keep_readers(self, operand: Variable, buffer: Buffer, part: Part | None = None) -> None:
        """Copy the arrays that are read later, and read what will be written to a buffer."""
        frame = self.frames[-1]
        for other, value in frame.values.items():
            live = frame.last.get(other, -1) > frame.now and other is not operand
            reads = isinstance(value, Value) and buffer in value.reads
            if live and reads and not (part and self.reads_elsewhere(value, buffer, part)):
                frame.values[other] = self.kept(value)

    def _may_write(self, x: Stored) -> bool:
        return not x.first and not x.shared and x.buffer in self.owned

    # Graphs.

    def graph(
        self,
        graph: FunctionGraph,
        inputs: Sequence[Value],
        places: Mapping[Variable, Stored] = MappingProxyType({}),
    ) -> list[Value]:
        """Write a graph of some operands, and return its results, which may be in their places."""
        results, graph = graph.outputs, _chained(expanded(graph))
        images = dict(zip(results, graph.outputs, strict=True))
        frame = _Frame(graph, {images[x]: place for x, place in places.items()})
        self.frames.append(frame)
        frame.values.update(zip(graph.inputs, inputs, strict=True))
        for x, value in zip(graph.inputs, inputs, strict=True):
            for dim, size in zip(x.type.shape, value.shape, strict=True):
                if isinstance(dim, str):
                    self.names.setdefault(dim, size)
        for i, node in enumerate(frame.order):
            frame.now = i
            if node in frame.values:
                continue
            frame.values[node] = self._node(frame, node)
        self.frames.pop()
        return [frame.values[x] if x in frame.values else self._constant(x) for x in graph.outputs]

    def _node(self, frame: _Frame, node: Variable) -> Any:
        if isinstance(node, Constant):
            return self._constant(node)
        if node.op is None:
            raise Unsupported
        operands = [frame.values[x] for x in node.inputs]
        for pair in unproved(node):
            one, other = [operands[i].shape[axis] for i, axis in pair]
            if one is not other:
                raise Unsupported
        if is_loop(node):
            return self.loop(node, operands, None, _places_of(node, frame.places))
        value = self._value(node, operands)
        if self._is_kept(frame, node, value) and not self._is_stored_next(frame, node):
            place = frame.places.get(node)
            fits = place is not None and list(place.shape) == list(value.shape)
            return self.kept(value, place) if fits else self.kept(value)
        return value

    @staticmethod
    def _is_kept(frame: _Frame, node: Variable, value: Any) -> bool:
        """Return True for a value that would be computed again for each of its readers."""
        return isinstance(value, Computed) and frame.uses.get(node, 0) > 1 and value.cost > CHEAP

    @staticmethod
    def _is_stored_next(frame: _Frame, node: Variable) -> bool:
        """Return True for a value that the next node stores in an array: others read it there."""
        rest = (x for x in frame.order[frame.now + 1 :] if x not in frame.values and x.inputs)
        update = next(rest, None)
        if update is None or not isinstance(update.op, SetIndex):
            return False
        array, value, *key = update.inputs
        if value is not node or array is node or node in key or node.dtype != array.dtype:
            return False
        spec = update.op.params[0]
        part = indexed_shape(spec, array.type.shape, tuple([x.type for x in key]))
        return keys.is_basic(spec) and part == node.type.shape

    def is_stored(self, operand: Variable, part: Value) -> None:
        """Read a value that is stored in an array from there."""
        frame = self.frames[-1] if self.frames else None
        if frame is not None and self._is_kept(frame, operand, frame.values.get(operand)):
            frame.values[operand] = part

    def _value(self, node: Variable, operands: Sequence[Value]) -> Any:
        assert node.op is not None
        rule = linalg.RULES.get(type(node.op)) or rule_of(node.op)
        return rule(self, node, operands)

    def _constant(self, node: Variable) -> Value:
        assert isinstance(node, Constant)
        if node.value.size > CONSTANT:
            raise Unsupported
        dtype = node.dtype.name
        elements = np.empty(node.value.shape, object)
        for place in np.ndindex(*node.value.shape):
            elements[place] = const(node.value[place], dtype)
        out = self.written(dtype, elements)
        out.source = lambda: self._table(node, out)
        return out if self.is_small(out.shape) else self._table(node, out)

    def _table(self, node: Variable, x: Written) -> Stored:
        """Return a constant in memory, which the function writes before anything else."""
        if node not in self.tables:
            buffer = self.builder.stack("t", x.dtype, x.elements.shape)
            for place in np.ndindex(*x.elements.shape):
                self.builder.first(Store(buffer, tuple(map(index, place)), x.elements[place]))
            self.tables[node] = Stored(buffer, self.builder)
        return self.tables[node]

    # Loops.

    def loop(
        self,
        node: Variable,
        operands: Sequence[Value],
        targets: Sequence[Buffer] | None,
        places: Mapping[int, Stored] = MappingProxyType({}),
    ) -> list[Value]:
        """Write a loop, whose results go to the targets if there are any, and return them.

        ``places`` are for what a scan within another one stacks.
        """
        self.depth += 1
        if isinstance(node.op, Scan):
            values = scan(self, node, operands, targets, places)
        else:
            write = while_loop if isinstance(node.op, WhileLoop) else cond
            values = write(self, node, operands, targets)
        self.depth -= 1
        return values


def _places_of(node: Variable, places: Mapping[Variable, Stored]) -> dict[int, Stored]:
    """Return where the results of a loop are to be stored, by their numbers."""
    return {
        x.op.params[0]: place
        for x, place in places.items()
        if isinstance(x.op, GetItem) and x.inputs[0] is node
    }


__all__ = ["GraphWriter", "has_function", "is_turned", "written_loop"]
