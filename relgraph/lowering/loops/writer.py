"""Arrays of a function of the loop language: where they are kept, and checks of what is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from math import prod
from typing import Any

import numpy as np

from relgraph.ir.records import record
from relgraph.lowering.loops.builder import ONE, ZERO, Builder
from relgraph.lowering.loops.nodes import (
    Buffer,
    Const,
    If,
    Load,
    Node,
    Scalar,
    Statement,
    Store,
    Var,
    const,
    index,
)
from relgraph.lowering.loops.rules import Unsupported
from relgraph.lowering.loops.values import (
    Computed,
    Index,
    Part,
    Stored,
    Value,
    Written,
    reads,
    stretched,
)
from relgraph.ops.elementwise import Cast

# Elements along an axis of arrays that are written out: a cell of 16 neurons takes a third of the
# time in loops.
WIDEST = 8
MOST_LOOPS = 4  # for the elements of an array that is written out
FAILED, GOES_ON = 1, 2  # what the status is made of: a check, or a ``while`` loop


@record
class Limits:
    """What a back end can compile and run well.

    Attributes
    ----------
    statements : int
        Of a function, since the time to compile it grows with them.
    stack : int
        Elements of an array on the stack; larger ones are arrays of the caller.
    large : int
        Elements of an array of a body for which kernels of the back end, on threads, are better.
    """

    statements: int = 6000
    stack: int = 4096
    large: int = 1 << 16


CPU = Limits()


class Writer:
    """Writes arrays and checks.

    Parameters
    ----------
    limit : int
        The most elements of an array that is written out.
    limits : Limits
        Those of the back end.
    """

    def __init__(self, limit: int, limits: Limits = CPU) -> None:
        self.limit = limit
        self.limits = limits
        self.builder = Builder(limits.statements)
        self.integers: dict[Var, tuple[int, int]] = {}
        self.names: dict[str, Scalar] = {}
        self.owned: set[Buffer] = set()  # buffers that may be written to
        self.scratch: list[Buffer] = []
        self.bounds: dict[Scalar, Scalar] = {}  # of sizes that vary with an iteration
        self.depth = 0
        self._checks: list[Scalar] | None = None  # tests that will be joined to one
        self.positive: dict[Scalar, None] = {}  # sizes of which a failed check reads element 0
        self.status = Buffer("status", "int64", (ONE,))
        self.builder.store(self.status, (ZERO,), ZERO)

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
        read: frozenset[Buffer],
        cost: int,
    ) -> Value:
        """Return an array of which each element is computed: written out if it is small."""
        value = Computed(dtype, shape, at, read, cost)
        return self.written_out(value) if self.is_small(shape) else value

    def view(
        self, x: Value, shape: Sequence[Scalar], at: Callable[[Index], Scalar], *others: Value
    ) -> Value:
        """Return an array whose elements are some of another one."""
        cost = getattr(x, "cost", 0)
        value = Computed(x.dtype, shape, at, reads(x, *others), cost)
        small = self.is_small(shape) and (isinstance(x, Written) or cost > 0)
        return self.written_out(value) if small or not shape else value

    def tabulated(
        self,
        dtype: str,
        shape: Sequence[Scalar],
        at: Callable[[Index], Scalar],
        *,
        looped: bool = False,
    ) -> Value:
        """Return an array whose elements take long to compute, each computed once.

        ``looped`` is True if each one takes a loop, of which a function does not have many.
        """
        value = Computed(dtype, shape, at, frozenset(), 100)
        if self.is_small(shape) and not (looped and prod(value.static or ()) > MOST_LOOPS):
            return self.written_out(value)
        return self.kept(value)

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
        largest = [self.bounds.get(x, x) for x in shape]
        sizes = [x.value for x in largest if isinstance(x, Const)]
        if len(sizes) == len(largest) and prod(sizes) <= self.limits.stack:
            buffer = self.builder.stack("m", dtype, sizes)
        else:
            buffer = Buffer(f"w{len(self.scratch)}", dtype, tuple(largest))
            self.scratch.append(buffer)
        self.owned.add(buffer)
        return Stored(buffer, self.builder, shape=tuple(shape))

    def kept(self, x: Value, target: Stored | None = None) -> Stored:
        """Return an array in a new buffer."""
        if target is None:
            target = self.buffer(x.dtype, x.shape)
        self.store(x, target)
        return target

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

    # What an element reads.

    def reads_in_place(self, value: Value, buffer: Buffer, part: Part | None = None) -> bool:
        """Return True if each element reads, of a part of a buffer, only the one that it replaces.

        The value is for a part of the buffer, by default for all of it.
        """
        place, own = part or Part(value.shape, lambda place: place)
        with self._aside() as statements:
            at = self._indices(place)
            target, others = tuple(own(at)), tuple(own(self._indices(place)))
            stretched(value, at)
        form = self.builder.ranges.form
        wanted = list(map(form, target))
        loads = _loads(statements, buffer)
        return all([list(map(form, x)) == wanted or self._differ(x, others) for x in loads])

    def reads_elsewhere(self, value: Value, buffer: Buffer, part: Part) -> bool:
        """Return True if a value reads no element of a part of a buffer."""
        with self._aside() as statements:
            value.at(self._indices(value.shape))
            target = part.place(self._indices(part.shape))
        return all([self._differ(x, target) for x in _loads(statements, buffer)])

    def _differ(self, x: Sequence[Scalar], y: Sequence[Scalar]) -> bool:
        """Return True if two indices surely differ."""
        less = self.builder.ranges.less
        return any([less(a, b) or less(b, a) for a, b in zip(x, y, strict=True)])

    def _indices(self, shape: Sequence[Scalar]) -> list[Scalar]:
        """Return any index of a shape, of which no more than that is known."""
        place: list[Scalar] = []
        for n in shape:
            i = self.builder.fresh("i")
            self.builder.ranges.index(i, ZERO, n)
            place.append(ZERO if n is ONE else i)
        return place

    @contextmanager
    def _aside(self) -> Iterator[list[Statement]]:
        """Collect statements that are not part of the function."""
        outer, self._checks = self._checks, []
        with self.builder.aside() as statements:
            yield statements
        self._checks = outer

    def as_index(self, x: Value) -> Scalar:
        """Return an integer without dimensions as an index."""
        return self.to_index(x.at(()))

    def to_index(self, x: Scalar) -> Scalar:
        """Return an integer as an index."""
        return self.builder.op(Cast("int64"), x, dtype="int64") if x.dtype != "int64" else x

    def checked(self, i: Scalar, size: Scalar, *, wrap: bool = True) -> Scalar:
        """Return an index that is in range; negative ones count from the end."""
        b = self.builder
        if wrap:
            negative = b.op("less", i, ZERO, dtype="bool")
            i = b.op("select", negative, b.add(i, size), i, dtype="int64")
        low, high = b.op("less", i, ZERO, dtype="bool"), b.op("less", i, size, dtype="bool")
        outside = b.op("or", low, b.op("not", high, dtype="bool"), dtype="bool")
        if isinstance(outside, Const) and not outside.value:
            return i
        if not (isinstance(size, Const) and size.value > 0):
            if size not in self.integers:
                raise Unsupported
            self.positive[size] = None
        self.fail_if(outside)
        i = b.op("select", outside, ZERO, i, dtype="int64")
        if isinstance(i, Var):
            b.ranges.index(i, ZERO, size)
        return i

    def fail_if(self, test: Scalar) -> None:
        """Set the flag if a test holds."""
        if isinstance(test, Const) and not test.value:
            return
        if self._checks is not None:
            self._checks.append(test)
        elif self.builder.once(test):
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


def _loads(statements: Sequence[Statement], buffer: Buffer) -> list[tuple[Scalar, ...]]:
    """Return the indices at which statements read a buffer."""
    found = []
    stack: list[Any] = list(statements)
    while stack:
        node = stack.pop()
        if isinstance(node, Load):
            if node.buffer is buffer:
                found.append(node.index)
        elif isinstance(node, tuple):
            stack.extend(node)
        elif isinstance(node, Node):
            stack.extend(node.values)
    return found


__all__ = ["CPU", "FAILED", "GOES_ON", "Limits", "Writer"]
