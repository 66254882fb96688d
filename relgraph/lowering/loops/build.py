"""Applications of loops and of linear algebra as functions of the loop language.

:func:`written_loop` takes an application of ``scan``, ``while_loop`` or ``cond``, or of an op of
linear algebra.  What a loop carries is in variables if it has few elements of constant number, and
in a buffer otherwise; such arrays are written out element by element.  A failed check, such as an
index that is out of range or a matrix without a Cholesky factor, sets a flag, and the caller
computes the op by its definition, which raises the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import GetItem
from relgraph.ir.records import record
from relgraph.lowering.loops.builder import ONE, ZERO, Builder, TooManyStatements
from relgraph.lowering.loops.linalg import rules as linalg
from relgraph.lowering.loops.linalg.limits import fits, flops, is_compiled
from relgraph.lowering.loops.nodes import (
    Body,
    Buffer,
    Const,
    Function,
    If,
    Let,
    Loop,
    Op,
    Scalar,
    Statement,
    Store,
    Var,
    buffers_of,
    const,
    index,
)
from relgraph.lowering.loops.rules import Unsupported, rule_of
from relgraph.lowering.loops.values import Computed, Index, Stored, Value, Written, unaligned
from relgraph.lowering.sizes import unproved
from relgraph.ops.elementwise import Cast, true_divide
from relgraph.ops.loops import Cond, Scan, WhileLoop
from relgraph.ops.permutation import MatrixTranspose

LIMITS = (64, 16, 1)  # elements of arrays that are written out; fewer if that takes too many ops
WIDEST = (
    8  # elements along an axis of these; a cell of 16 neurons takes a third of the time in loops
)
STATEMENTS = 6000  # of a function, since LLVM's time grows with them
CONSTANT = 64  # elements of a constant
STACK = 4096  # elements of an array on the stack
LARGE = 1 << 16  # elements of an array that kernels compute, which run on threads
CHEAP = 2  # ops of an element that is computed again for each reader
FAILED, GOES_ON = 1, 2  # what the status is made of: a check, or a ``while`` loop
ROUNDS = 1 << 20  # iterations of a ``while`` loop before its caller looks for signals
COST, OPERATION = 1_000_000, 500  # picoseconds of a loop, and of an operation of linear algebra
ONCE = Var("once", "int64")  # the length of the range that a call runs: functions run once
MOST = 1 << 30  # iterations of a ``while`` loop within another loop
_LOOPS = (Scan, WhileLoop, Cond)


@record
class Limits:
    """What a back end can compile and run well.

    Attributes
    ----------
    statements : int
        Of a function.
    stack : int
        Elements of an array on the stack; larger ones are arrays of the caller.
    large : int
        Elements of an array of a body for which kernels of the back end are better.
    """

    statements: int = STATEMENTS
    stack: int = STACK
    large: int = LARGE


CPU = Limits()


@record(eq=False)
class Array:
    """An array that the caller of a function makes: its dtype and its sizes."""

    dtype: str
    shape: tuple[Scalar, ...]


@record(eq=False)
class LoopFunction:
    """An application of an op in the loop language.

    Attributes
    ----------
    function : Function
        Its arrays are the operands that it reads, the results, arrays for its own use, and the
        status: an int64, which is 0 if the results are complete.
    integers : tuple of (int, int)
        The operand and the axis of each integer.
    operands : tuple of int
        Which operands it reads.
    turned : frozenset of int
        The operands, transposes, of which it takes the matrix that is transposed.
    results, scratch : tuple of Array
        The arrays that its caller makes.
    sizes : callable
        Returns the sizes of an array, of the values of the integers.
    bounded : bool
        Whether it fails for large sizes, which are known only at a call.
    cost : int
        The picoseconds of a run, divided by the product of the integers.
    """

    function: Function
    integers: tuple[tuple[int, int], ...]
    operands: tuple[int, ...]
    turned: frozenset[int]
    results: tuple[Array, ...]
    scratch: tuple[Array, ...]
    definitions: dict[Var, Scalar]
    bounded: bool
    cost: int

    def sizes(self, array: Array, integers: Sequence[int]) -> tuple[int, ...]:
        """Return the sizes of an array for the values of the integers."""
        known = dict(zip(self.function.integers[1:], integers, strict=True))
        return tuple([self._size(x, known) for x in array.shape])

    def size(self, x: Scalar, integers: Sequence[int]) -> int | None:
        """Return the value of a size, or None if the function computes it."""
        try:
            return self.sizes(Array("int64", (x,)), integers)[0]
        except (KeyError, AssertionError):
            return None

    def _size(self, x: Scalar, known: dict[Var, int]) -> int:
        if isinstance(x, Const):
            return int(x.value)
        if isinstance(x, Var) and x in known:
            return known[x]
        op = self.definitions[x] if isinstance(x, Var) else x
        assert isinstance(op, Op)
        a, b = [self._size(y, known) for y in op.args]
        return int(_SIZES[str(op.op)](a, b))


_SIZES: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a // b,
    "rem": lambda a, b: a % b,
    "min": min,
    "max": max,
}


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
    if any([_elements(x) > limits.large for body in bodies for x in body.graph]):
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
    return isinstance(node.op, _LOOPS) or is_compiled(node)


def _elements(x: Variable) -> int:
    """Return the number of elements of an array, as far as its sizes are known."""
    sizes = getattr(x.type, "shape", ())
    return prod([n for n in sizes if isinstance(n, int)])


class _Frame:
    """A graph that is being written: the values of its nodes, and when each is read last.

    ``places`` are where results are to be stored in the end.
    """

    def __init__(self, graph: FunctionGraph, places: Mapping[Variable, Stored]) -> None:
        self.places = places
        self.order = graph.toposort()
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


class GraphWriter:
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

    true_divide = true_divide

    def __init__(self, node: Variable, limit: int, limits: Limits = CPU) -> None:
        self.node = node
        self.limit = limit
        self.limits = limits
        self.builder = Builder(limits.statements)
        self.integers: dict[Var, tuple[int, int]] = {}
        self.names: dict[str, Scalar] = {}
        self.owned: set[Buffer] = set()  # buffers that may be written to
        self.scratch: list[Buffer] = []
        self.tables: dict[Variable, Stored] = {}
        self.frames: list[_Frame] = []
        self.depth = 0
        self.targets: dict[int, Buffer] = {}  # of the results of an application of another op
        self._bounded = False
        self._checks: list[Scalar] | None = None  # tests that will be joined to one
        self.positive: dict[Scalar, None] = {}  # sizes of which a failed check reads element 0
        self.status = Buffer("status", "int64", (ONE,))
        self.builder.store(self.status, (ZERO,), ZERO)

    def function(self, name: str) -> LoopFunction:
        """Return the function."""
        operands: list[Value] = []
        buffers: dict[int, Buffer] = {}
        turned: frozenset[int] = frozenset()
        if not isinstance(self.node.op, _LOOPS):
            turned = frozenset([i for i, x in enumerate(self.node.inputs) if is_turned(x)])
        for i, operand in enumerate(self.node.inputs):
            x = operand.inputs[0] if i in turned else operand
            shape = [self._size(i, axis, d) for axis, d in enumerate(x.type.shape)]
            buffers[i] = Buffer(f"x{i}", x.dtype.name, tuple(shape))
            stored = Stored(buffers[i], self.builder)
            operands.append(linalg.turned(self, stored) if i in turned else stored)
        if isinstance(self.node.op, _LOOPS):
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
        definitions = dict(_definitions(body))
        loop = LoopFunction(
            function,
            tuple(self.integers.values()),
            read,
            turned,
            results,
            scratch,
            definitions,
            self._bounded,
            COST if isinstance(self.node.op, _LOOPS) else OPERATION * flops(self.node),
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

    def size_named(self, name: Any) -> Scalar:
        """Return the size of a name."""
        size = self.names.get(name)
        if size is None:
            raise Unsupported
        return size

    def scalar(self, x: Scalar) -> Written:
        """Return a scalar as an array without dimensions."""
        elements = np.empty((), object)
        elements[()] = x
        return self.written(x.dtype, elements)

    def written(self, dtype: str, elements: Any) -> Written:
        """Return an array of scalars."""
        return Written(dtype, elements, self.builder)

    def written_out(self, x: Value) -> Written:
        """Return an array of constant shape, written out."""
        if isinstance(x, Written):
            return x
        if x.static is None:
            raise Unsupported
        elements = np.empty(x.static, object)
        for place in product(*map(range, x.static)):
            elements[place] = x.at([index(i) for i in place])
        return self.written(x.dtype, elements)

    def _operand(self, x: Value) -> Value:
        """Return a small operand that nobody writes to: written out, and where it is stored."""
        out = self.written_out(x)
        if isinstance(x, Stored) and x.buffer not in self.owned:
            stored = x
            out.source = lambda: stored
        return out

    def is_small(self, shape: Sequence[Scalar]) -> bool:
        """Return True for a constant shape of few elements."""
        sizes = [x.value for x in shape if isinstance(x, Const)]
        few = max(sizes, default=0) <= WIDEST and prod(sizes) <= self.limit
        return few and len(sizes) == len(tuple(shape))

    def element_by_element(
        self,
        dtype: str,
        shape: Sequence[Scalar],
        at: Callable[[Index], Scalar],
        reads: frozenset[tuple[Buffer, bool]],
        cost: int,
    ) -> Value:
        """Return an array of which each element is computed: written out if it is small."""
        value = Computed(dtype, shape, at, reads, cost)
        return self.written_out(value) if self.is_small(shape) else value

    def view(
        self, x: Value, shape: Sequence[Scalar], at: Callable[[Index], Scalar], *others: Value
    ) -> Value:
        """Return an array whose elements are some of another one."""
        cost = getattr(x, "cost", 0)
        value = Computed(x.dtype, shape, at, unaligned(x, *others), cost)
        small = self.is_small(shape) and (isinstance(x, Written) or cost > 0)
        return self.written_out(value) if small or not shape else value

    def tabulated(
        self, dtype: str, shape: Sequence[Scalar], at: Callable[[Index], Scalar]
    ) -> Value:
        """Return an array whose elements take long to compute, each computed once."""
        value = Computed(dtype, shape, at, frozenset(), 100)
        return self.written_out(value) if self.is_small(shape) else self.kept(value)

    def converted(self, x: Value, dtype: str) -> Value:
        """Return an array in another dtype."""
        if x.dtype == dtype:
            return x
        op = Cast(dtype)

        def at(place: Index) -> Scalar:
            return self.builder.op(op, x.at(place), dtype=dtype)

        cost = 1 + getattr(x, "cost", 0)
        return self.element_by_element(dtype, x.shape, at, x.reads, cost)

    def buffer(self, dtype: str, shape: Sequence[Scalar]) -> Stored:
        """Return a new buffer: on the stack if it is small, and of the caller otherwise."""
        sizes = [x.value for x in shape if isinstance(x, Const)]
        if len(sizes) == len(shape) and prod(sizes) <= self.limits.stack:
            buffer = self.builder.stack("m", dtype, sizes)
        else:
            buffer = Buffer(f"w{len(self.scratch)}", dtype, tuple(shape))
            self.scratch.append(buffer)
        self.owned.add(buffer)
        return Stored(buffer, self.builder)

    def kept(self, x: Value, target: Stored | None = None) -> Stored:
        """Return an array in a new buffer."""
        if target is None:
            target = self.buffer(x.dtype, x.shape)
        self.store(x, target)
        return target

    def result(self, k: int, dtype: str, shape: Sequence[Scalar]) -> Stored:
        """Return where a result of an op is to be written: result ``k`` of the function, or new."""
        if self.depth or self.frames:
            return self.buffer(dtype, shape)
        target = self.targets[k] = Buffer(f"o{k}", dtype, tuple(shape))
        self.owned.add(target)
        return Stored(target, self.builder)

    def cheap(self, x: Value) -> Value:
        """Return an array whose elements are read several times."""
        return self.kept(x) if getattr(x, "cost", 0) > 0 else x

    def store(self, x: Value, target: Stored) -> None:
        """Write an array to a buffer."""
        if x.shape != target.shape or x.dtype != target.dtype:
            raise Unsupported
        if isinstance(x, Stored) and x.buffer is target.buffer and x.first == target.first:
            return
        if isinstance(x, Written):
            # In the order of columns: LLVM would make one call of memset of zeros that follow each
            # other, and no loop with a call runs on vectors.
            for place in np.ndindex(*x.elements.T.shape):
                at = (*target.first, *map(index, place[::-1]))
                self.builder.store(target.buffer, at, x.elements.T[place])
            return
        self.for_each(
            x.shape,
            lambda place: self.builder.store(target.buffer, (*target.first, *place), x.at(place)),
        )

    def for_each(self, shape: Sequence[Scalar], write: Callable[[list[Scalar]], None]) -> None:
        """Write loops over all indices of a shape."""

        def nest(place: list[Scalar], sizes: Sequence[Scalar]) -> None:
            if not sizes:
                write(place)
                return
            if sizes[0] is ONE:
                nest([*place, ZERO], sizes[1:])
                return
            with self.builder.loop(ZERO, sizes[0], apart=True) as loop:
                nest([*place, loop.index], sizes[1:])

        nest([], shape)

    def writable(self, node: Variable, x: Value) -> Stored:
        """Return the first operand of a node in a buffer that nothing else reads."""
        frame = self.frames[-1]
        operand = node.inputs[0]
        last = frame.last[operand] == frame.now
        if not (last and isinstance(x, Stored) and self._may_write(x)):
            return self.kept(x)
        for other, value in frame.values.items():
            live = frame.last.get(other, -1) > frame.now and other is not operand
            if live and isinstance(value, Value) and _reads(value, x.buffer):
                frame.values[other] = self.kept(value)
        return x

    def _may_write(self, x: Stored) -> bool:
        return not x.first and not x.shared and x.buffer in self.owned

    def as_index(self, x: Value) -> Scalar:
        """Return an integer without dimensions as an index."""
        return self.to_index(x.at(()))

    def to_index(self, x: Scalar) -> Scalar:
        """Return an integer as an index."""
        return self.builder.op(Cast("int64"), x, dtype="int64") if x.dtype != "int64" else x

    def checked(self, i: Scalar, size: Scalar, *, wrap: bool = True) -> Scalar:
        """Return an index that is in range; negative ones count from the end."""
        b = self.builder
        if isinstance(i, Const) and isinstance(size, Const) and -size.value <= i.value < size.value:
            return i if i.value >= 0 else b.add(i, size)
        if not (isinstance(size, Const) and size.value > 0):
            if size not in self.integers:
                raise Unsupported
            self.positive[size] = None
        if wrap:
            negative = b.op("less", i, ZERO, dtype="bool")
            i = b.op("select", negative, b.add(i, size), i, dtype="int64")
        low, high = b.op("less", i, ZERO, dtype="bool"), b.op("less", i, size, dtype="bool")
        outside = b.op("or", low, b.op("not", high, dtype="bool"), dtype="bool")
        self.fail_if(outside)
        return b.op("select", outside, ZERO, i, dtype="int64")

    def fail_if(self, test: Scalar) -> None:
        """Set the flag if a test holds."""
        if isinstance(test, Const) and not test.value:
            return
        if self._checks is not None:
            self._checks.append(test)
            return
        self.builder.write(If(test, (Store(self.status, (ZERO,), index(FAILED)),), ()))

    @property
    def strict(self) -> bool:
        """Whether a check may fail for what the definition of the op decides better."""
        return self.depth == 0

    @contextmanager
    def checks_joined(self) -> Iterator[Callable[[], Scalar]]:
        """Collect the tests of a block; the result returns, after it, whether one of them holds."""
        outer, self._checks = self._checks, []
        tests = self._checks

        def joined() -> Scalar:
            failed: Scalar = const(False, "bool")
            for test in tests:
                first = isinstance(failed, Const)
                failed = test if first else self.builder.op("or", failed, test, dtype="bool")
            return failed

        yield joined
        self._checks = outer

    # Graphs.

    def graph(
        self,
        graph: FunctionGraph,
        inputs: Sequence[Value],
        places: Mapping[Variable, Stored] = MappingProxyType({}),
    ) -> list[Value]:
        """Write a graph of some operands, and return its results, which may be in their places."""
        frame = _Frame(graph, places)
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
        if node.op is None or unproved(node):
            raise Unsupported
        operands = [frame.values[x] for x in node.inputs]
        if isinstance(node.op, _LOOPS):
            return self.loop(node, operands, None, _places_of(node, frame.places))
        value = self._value(node, operands)
        if isinstance(value, Computed) and frame.uses.get(node, 0) > 1 and value.cost > CHEAP:
            return self.kept(value)
        return value

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
        op: Any = node.op
        if isinstance(op, Scan):
            values = self._scan(node, operands, targets, places)
        else:
            write = self._while if isinstance(op, WhileLoop) else self._cond
            values = write(node, operands, targets)
        self.depth -= 1
        return values

    def _read_often(self, values: Iterable[Value]) -> list[Value]:
        """Return operands that a body reads, which another iteration or the graph around it may
        read again.
        """
        return [self._shared(x) for x in values]

    def _shared(self, x: Value) -> Value:
        if self.is_small(x.shape):
            return self._operand(x)
        x = self.cheap(x)
        return Stored(x.buffer, self.builder, x.first, shared=True) if isinstance(x, Stored) else x

    def _scan(
        self,
        node: Variable,
        operands: Sequence[Value],
        targets: Sequence[Buffer] | None,
        places: Mapping[int, Stored],
    ) -> list[Value]:
        op: Any = node.op
        body, n, sequences = op.body, op.carries, op.sequences
        length: Scalar = index(op.size) if isinstance(op.size, int) else ZERO
        if not isinstance(op.size, int):
            length = operands[1 + n].shape[0] if sequences else self.as_index(operands[0])
        b = self.builder
        slices = operands[1 + n : 1 + n + sequences]
        for x in slices:
            if x.shape[0] is not length:
                same = b.op("equal", x.shape[0], length, dtype="bool")
                self.fail_if(b.op("not", same, dtype="bool"))
                length = b.op("select", same, length, ZERO, dtype="int64")
        rest = self._read_often(operands[1 + n + sequences :])
        carry = _Carry(self, operands[1 : 1 + n], targets)
        stacks: list[Stored] = []
        for k, type_ in enumerate(node.type.items[n:]):
            if targets is not None:
                stacks.append(Stored(targets[n + k], b))
                continue
            inner = [
                index(d) if isinstance(d, int) else self.size_named(d) for d in type_.shape[1:]
            ]
            place = places.get(n + k)
            if place is not None and place.shape == (length, *inner):
                stacks.append(place)
            else:
                stacks.append(self.buffer(type_.dtype.name, [length, *inner]))
        buffers = len(self.owned)
        with b.loop(ZERO, length, carry.starts) as loop:
            i = loop.index
            at = b.sub(b.sub(length, ONE), i) if op.reverse else i
            parts = [self._slice(x, at) for x in slices]
            slots = [Stored(stack.buffer, b, (*stack.first, at)) for stack in stacks]
            results = self.graph(
                body.graph,
                [self.scalar(at), *carry.values(loop.vars), *parts, *rest],
                dict(zip(body.graph.outputs[n:], slots, strict=True)),
            )
            loop.next = carry.following(results[:n], list(zip(results[n:], slots, strict=True)))
            # Without a carry, an iteration writes to what it stacks, and to buffers of its own.
            loop.apart = n == 0 and len(self.owned) == buffers
        return [*carry.values(loop.vars), *stacks]

    def _slice(self, x: Value, at: Scalar) -> Value:
        if isinstance(x, Stored):
            part: Value = Stored(x.buffer, self.builder, (*x.first, at))
        else:
            part = self.view(x, x.shape[1:], lambda place: x.at([at, *place]))
        return self.written_out(part) if self.is_small(part.shape) else part

    def _while(
        self, node: Variable, operands: Sequence[Value], targets: Sequence[Buffer] | None
    ) -> list[Value]:
        op: Any = node.op
        b, n = self.builder, op.carries
        rest = self._read_often(operands[n:])
        carry = _Carry(self, operands[:n], targets)
        most = ROUNDS if targets is not None else MOST

        def head(variables: Sequence[Var]) -> Scalar:
            count, *others = variables
            (test,) = self.graph(op.test.graph, [*carry.values(others), *rest])
            within = b.op("less", count, index(most), dtype="bool")
            return b.op("and", test.at(()), within, dtype="bool")

        def step(variables: Sequence[Var]) -> list[Scalar]:
            count, *others = variables
            results = self.graph(op.body.graph, [*carry.values(others), *rest])
            return [b.add(count, ONE), *carry.following(results, [])]

        count, *last = b.loop_while([ZERO, *carry.starts], head, step)
        over = b.op("equal", count, index(most), dtype="bool")
        if targets is None:
            self.fail_if(over)
        else:
            status = b.add(b.load(self.status, (ZERO,)), index(GOES_ON))
            b.write(If(over, (Store(self.status, (ZERO,), status),), ()))
        return carry.values(last)

    def _cond(
        self, node: Variable, operands: Sequence[Value], targets: Sequence[Buffer] | None
    ) -> list[Value]:
        op: Any = node.op
        test, *rest = operands
        b = self.builder
        known = self._read_often(rest)
        small: list[bool] = []
        stored: list[Stored] = []
        for k, type_ in enumerate(node.type.items):
            shape = [index(d) if isinstance(d, int) else self.size_named(d) for d in type_.shape]
            small.append(self.is_small(shape))
            if not small[-1]:
                target = None if targets is None else Stored(targets[k], b)
                stored.append(target or self.buffer(type_.dtype.name, shape))

        def branch(body: Any) -> Callable[[], list[Scalar]]:
            def write() -> list[Scalar]:
                flat: list[Scalar] = []
                places = iter(stored)
                for value, is_small in zip(self.graph(body.graph, known), small, strict=True):
                    if is_small:
                        flat += self.written_out(value).elements.ravel().tolist()
                    else:
                        self.store(value, next(places))
                return flat

            return write

        flat = iter(b.choice(test.at(()), branch(op.then), branch(op.other)))
        places = iter(stored)
        values: list[Value] = []
        for type_, is_small in zip(node.type.items, small, strict=True):
            if not is_small:
                values.append(next(places))
                continue
            elements = np.empty(type_.shape, object)
            for place in np.ndindex(*elements.shape):
                elements[place] = next(flat)
            values.append(self.written(type_.dtype.name, elements))
        return values


def _places_of(node: Variable, places: Mapping[Variable, Stored]) -> dict[int, Stored]:
    """Return where the results of a loop are to be stored, by their numbers."""
    return {
        x.op.params[0]: place
        for x, place in places.items()
        if isinstance(x.op, GetItem) and x.inputs[0] is node
    }


class _Carry:
    """What a loop carries: in variables if it is small, in buffers otherwise."""

    def __init__(
        self,
        w: GraphWriter,
        starts: Sequence[Value],
        targets: Sequence[Buffer] | None,
    ) -> None:
        self.w = w
        self.starts: list[Scalar] = []
        self._kinds: list[tuple[str, tuple[int, ...]] | Stored] = []
        for k, start in enumerate(starts):
            if start.static is not None and w.is_small(start.shape):
                elements = w.written_out(start).elements
                self.starts += elements.ravel().tolist()
                self._kinds.append((start.dtype, elements.shape))
                continue
            place = (
                Stored(targets[k], w.builder)
                if targets is not None
                else w.buffer(start.dtype, start.shape)
            )
            w.store(start, place)
            self._kinds.append(place)

    def values(self, variables: Sequence[Scalar]) -> list[Value]:
        """Return what is carried, as arrays."""
        rest = iter(variables)
        values: list[Value] = []
        for kind in self._kinds:
            if isinstance(kind, Stored):
                values.append(kind)
                continue
            dtype, shape = kind
            elements = np.empty(shape, object)
            for place in np.ndindex(*shape):
                elements[place] = next(rest)
            values.append(self.w.written(dtype, elements))
        return values

    def following(
        self, results: Sequence[Value], stacked: Sequence[tuple[Value, Stored]]
    ) -> list[Scalar]:
        """Write the results of an iteration, and return the next values of the variables."""
        w = self.w
        flat: list[Scalar] = []
        pending: list[tuple[Stored, Value]] = []
        for kind, value in zip(self._kinds, results, strict=True):
            if isinstance(kind, Stored):
                if not (isinstance(value, Stored) and value.buffer is kind.buffer):
                    pending.append((kind, value))
                elif value.first:
                    raise Unsupported
                continue
            if value.static != kind[1]:
                raise Unsupported
            flat += w.written_out(value).elements.ravel().tolist()
        for value, place in stacked:
            w.store(value, place)
        late: list[tuple[Stored, Value]] = []
        while pending:
            place, value = pending.pop(0)
            own = (place.buffer, False) in value.reads
            if own or any([_reads(other, place.buffer) for _, other in pending]):
                late.append((place, w.kept(value)))
            else:
                w.store(value, place)
        for place, value in late:
            w.store(value, place)
        return flat


def _definitions(body: Sequence[Statement]) -> Iterator[tuple[Var, Scalar]]:
    """Return the variables that statements bind to a value, in loops and choices, too."""
    for s in body:
        if isinstance(s, Let):
            yield s.var, s.value
        elif isinstance(s, If):
            yield from _definitions([*s.then, *s.other])
        elif isinstance(s, Loop):
            yield from _definitions(s.body)


def _reads(value: Value, buffer: Buffer) -> bool:
    return any([x is buffer for x, _ in value.reads])


__all__ = [
    "CPU", "Array", "GraphWriter", "Limits", "LoopFunction", "has_function", "written_loop",
]  # fmt: skip
