"""What all nests share: the parameters of a kernel, its statements, and its innermost loop.

A kernel runs a range of its outermost loop, which threads share.  If that loop is not reduced, the
kernel writes each result of the range directly.  If it is reduced, the range consists of fixed
blocks of rows: each block writes its own partial results, and a second function combines them in
order.  Results therefore do not depend on how threads split the range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from relgraph.ir.records import record, replace
from relgraph.lowering.kernels import Structure
from relgraph.lowering.loops.builder import ONE, ZERO, Builder
from relgraph.lowering.loops.nodes import Buffer, Const, Function, Scalar, Var, const
from relgraph.lowering.nests.folds import BLOCK, Folds, cast
from relgraph.lowering.refs import Ref

FINISH = "_finish"  # suffix of the name of the function that combines partial results
LINE = 64  # bytes of a line of the cache
_NO_LIMIT = 1 << 40  # the structure of a kernel is limited already


@record
class Array:
    """An array parameter, with the groups of axes that it spans.

    Attributes
    ----------
    buffer : Buffer
        The parameter.
    spans : tuple of bool
        Whether it spans each group.
    strides : tuple of (Var, int)
        The strides that are known only at run time, each with its axis.
    is_strided : bool
        Whether elements in a row do not follow each other, one way or the other.
    channel : (Buffer, int) or None
        The buffer from which it is read instead, and the index along that buffer's last axis.
    """

    buffer: Buffer
    spans: tuple[bool, ...]
    strides: tuple[tuple[Var, int], ...] = ()
    is_strided: bool = False
    channel: tuple[Buffer, int] | None = None

    @property
    def innermost(self) -> int:
        """The innermost group that it spans; -1 if it spans none."""
        return max([g for g, spanned in enumerate(self.spans) if spanned], default=-1)


def parameter(
    name: str,
    dtype: str,
    sizes: Sequence[Scalar],
    spans: tuple[bool, ...],
    steps: tuple[tuple[int | None, int], ...] = (),
) -> Array:
    """Return an array parameter.

    ``steps`` are the distances between elements, each with the axis of the array; None stands for
    one that is known only at run time.  Without steps, elements are contiguous in the order of the
    groups.
    """
    shape = tuple([n for n, spanned in zip(sizes, spans, strict=True) if spanned]) or (ONE,)
    item = np.dtype(dtype).itemsize
    strides = [
        (Var(f"{name}_{axis}", "int64") if step is None else const(step * item, "int64"), axis)
        for step, axis in steps
    ]
    unknown = tuple([(x, axis) for x, axis in strides if isinstance(x, Var)])
    buffer = Buffer(name, dtype, shape, "argument", tuple([x for x, _ in strides]))
    return Array(buffer, spans, unknown, bool(steps) and steps[-1][0] not in (1, -1))


class Nest:
    """The body of a function that is being written, for a structure.

    Attributes
    ----------
    count : int
        The number of groups in the loop nest.
    integers : list of Var
        The parameter for the size of each group.
    sizes : list of Scalar
        The size of each group: its parameter, or a constant.
    index : list of Scalar
        The current index of each group.
    arrays : list of Array
        The array operands.
    values : dict of (str, int) to Scalar
        The values of references of each kind, by number.
    past : bool
        Whether results are stored past the cache.
    combined : int
        The number of results that are combined from partial ones.
    kept : sequence of int
        The groups inside of the outermost one that reduced results span.
    stored : sequence of Array
        The results that are computed one element at a time.
    """

    combined = 0
    kept: Sequence[int] = ()
    stored: Sequence[Array] = ()

    def __init__(self, structure: Structure, past: bool = False) -> None:
        self.structure = structure
        self.past = past
        self.builder = Builder(_NO_LIMIT)
        self.count = len(structure.reduced)
        self.integers = [Var(f"n{g}", "int64") for g in range(self.count)]
        self.sizes: list[Scalar] = [*self.integers]
        if structure.row is not None:
            self.sizes[-1] = const(structure.row, "int64")
        self.index: list[Scalar] = [ZERO] * self.count
        steps = structure.strides or ((),) * len(structure.arrays)
        self.arrays = [
            parameter(f"x{i}", dtype, self.sizes, spans, steps[i])
            for i, (dtype, spans) in enumerate(structure.arrays)
        ]
        self._share(structure.channels)
        one = (ONE,)
        self.tables = [Buffer(f"y{i}", dtype, one) for i, dtype in enumerate(structure.tables)]
        self.slots = {
            dtype: Buffer(f"c_{dtype}", dtype, (const(number, "int64"),))
            for dtype, number in structure.slot_counts().items()
        }
        self.values: dict[tuple[str, int], Scalar] = {}
        self._numbers: dict[tuple[str, int], Scalar] = {}  # the constants in the slots

    def function(
        self,
        name: str,
        results: Iterable[Array],
        more: Sequence[Buffer] = (),
        partial: bool = False,
    ) -> Function:
        """Return the function with the body that was written.

        ``more`` follows the results; with ``partial`` the rows of a block follow the sizes.
        """
        outputs = list(results)
        integers = [*self.integers]
        integers += [x for array in (*self.arrays, *outputs) for x, _ in array.strides]
        integers += [ROWS] if partial else []
        integers += [HEAD] if self.past else []
        arrays = [x.buffer for x in self.arrays] + self.tables + list(self.slots.values())
        arrays += [x.buffer for x in outputs] + list(more)
        return Function(name, tuple(integers), tuple(arrays), self.builder.body)

    def _share(self, channels: Sequence[tuple[int, int] | None]) -> None:
        """Let channels be read from the buffer of the first one, along an axis of its own."""
        for base in {channel[0] for channel in channels if channel is not None}:
            members = [(i, c[1]) for i, c in enumerate(channels) if c is not None and c[0] == base]
            own = self.arrays[base].buffer
            shape = (*own.shape, const(1 + max([number for _, number in members]), "int64"))
            item = const(np.dtype(own.dtype).itemsize, "int64")
            strides = (*own.strides, item) if own.strides else ()  # a single element
            shared = Buffer(own.name, own.dtype, shape, own.space, strides)
            self.arrays[base] = replace(self.arrays[base], buffer=shared)
            for i, number in members:
                self.arrays[i] = replace(self.arrays[i], channel=(shared, number))

    # Elements.

    def place(self, array: Array) -> list[Scalar]:
        """Return the index of the current element of an array."""
        here = [i for i, spanned in zip(self.index, array.spans, strict=True) if spanned]
        return here or [ZERO]

    def element(self, array: Array) -> Scalar:
        """Return the current element of an array."""
        if array.channel is not None:
            buffer, number = array.channel
            return self.builder.load(buffer, [*self.place(array), const(number, "int64")])
        return self.builder.load(array.buffer, self.place(array))

    def read_slots(self) -> None:
        """Load the packed constants."""
        for dtype, buffer in self.slots.items():
            for i in range(self.structure.slot_counts()[dtype]):
                self._numbers[dtype, i] = self.builder.load(buffer, [const(i, "int64")])

    def read(self, level: int, arrays: Iterable[int] | None = None) -> None:
        """Load the elements that change with the index of a group; -1 for those that never do."""
        for k in range(len(self.arrays)) if arrays is None else arrays:
            if self.arrays[k].innermost == level:
                self.values["array", k] = self.element(self.arrays[k])

    def over(self, groups: Sequence[int], write: Callable[[], None]) -> None:
        """Write what ``write`` writes, in loops over whole groups."""
        if not groups:
            write()
            return
        g, *rest = groups
        with self.builder.loop(ZERO, self.sizes[g], apart=not rest) as loop:
            self.index[g] = loop.index
            self.over(rest, write)

    # Values.

    def value(self, ref: Ref) -> Scalar:
        """Return the current value of a reference."""
        if ref.kind == "literal":
            return const(ref.value, ref.dtype)
        if ref.kind == "slot":
            return self._numbers[ref.dtype, ref.index]
        return self.values[ref.kind, ref.index]

    def compute(self, k: int) -> Scalar:
        """Write a statement, and return its value."""
        row = self.structure.rows[k]
        if row.operands[0].kind == "table":
            value = self.builder.load(*self.gathered(row.operands))
        else:
            operands = [self.value(ref) for ref in row.operands]
            value = self.builder.op(row.op, *operands, dtype=row.dtype)
        self.values["row", k] = value
        return value

    def gathered(self, operands: Sequence[Ref]) -> tuple[Buffer, list[Scalar]]:
        """Return the place that a gather reads: its array, and the number of the element."""
        b = self.builder
        table, first, *rest = operands
        at = cast(b, self.value(first), "int64")
        for size, index in zip(rest[::2], rest[1::2], strict=True):
            at = b.add(b.mul(at, self.value(size)), cast(b, self.value(index), "int64"))
        return self.tables[table.index], [at]

    # The innermost loop.

    def innermost(
        self, low: Scalar, high: Scalar, totals: Sequence[Scalar], inner: Innermost
    ) -> list[Scalar]:
        """Write the loop over the last group, in blocks where that is needed.

        Parameters
        ----------
        low, high : Scalar
            Its range.
        totals : sequence of Scalar
            The totals of its reductions before the loop.
        inner : Innermost
            What it does.

        Returns
        -------
        list of Scalar
            The totals after the loop.
        """
        if isinstance(high, Const):
            return self._short(low, high, totals, inner)
        if inner.streamed:
            low, totals = self._in_lines(low, high, totals, inner)
        if inner.folds.blocked or inner.staged:
            return self._in_blocks(low, high, totals, inner)
        b = self.builder
        with b.loop(low, high, totals, apart=True) as loop:
            self.index[-1] = b.add(loop.index, inner.offset)
            loop.next = inner.folds.joined(loop.vars, inner.write(Place(loop.index)), ZERO)
        return loop.vars

    def _short(
        self, low: Scalar, high: Scalar, totals: Sequence[Scalar], inner: Innermost
    ) -> list[Scalar]:
        """Write the loop over a short row, which is no longer than a block."""
        b, folds = self.builder, inner.folds
        starts = folds.block_starts(totals) if folds.blocked else totals
        with b.loop(low, high, starts, apart=True) as loop:
            self.index[-1] = loop.index
            loop.next = folds.joined(loop.vars, inner.write(Place(loop.index)), loop.index)
        return folds.block_end(totals, loop.vars, high) if folds.blocked else loop.vars

    def _in_blocks(
        self, low: Scalar, high: Scalar, totals: Sequence[Scalar], inner: Innermost
    ) -> list[Scalar]:
        """Write the loop in blocks, for which operands may be copied to the stack."""
        b, folds = self.builder, inner.folds
        near = {k: b.stack("near", self.arrays[k].buffer.dtype, [BLOCK]) for k in inner.staged}
        with b.loop(low, high, totals, step=BLOCK, name="k") as block:
            count = b.least(const(BLOCK, "int64"), b.sub(high, block.index))
            for k, buffer in near.items():
                with b.loop(ZERO, count, apart=True) as copy:
                    self.index[-1] = b.add(block.index, copy.index)
                    b.store(buffer, [copy.index], self.element(self.arrays[k]))
            with b.loop(ZERO, count, folds.block_starts(block.vars), apart=True) as loop:
                self.index[-1] = b.add(block.index, loop.index)
                terms = inner.write(Place(loop.index, near))
                loop.next = folds.joined(loop.vars, terms, loop.index)
            block.next = folds.block_end(block.vars, loop.vars, count)
        return block.vars

    def _in_lines(
        self, low: Scalar, high: Scalar, totals: Sequence[Scalar], inner: Innermost
    ) -> tuple[Scalar, list[Scalar]]:
        """Write a loop whose results go past the cache, and return where it ends, and the totals.

        It computes a line of the cache at a time, or a block of a sum.  The size is constant, so
        LLVM keeps a line in registers.
        """
        b, folds = self.builder, inner.folds
        item = min([np.dtype(x.buffer.dtype).itemsize for x in inner.streamed])
        size = BLOCK if folds.blocked else LINE // item
        length = const(size, "int64")
        end = b.add(low, b.mul(b.op("div", b.sub(high, low), length, dtype="int64"), length))
        far = {x.buffer: b.stack("far", x.buffer.dtype, [size]) for x in inner.streamed}
        with b.loop(low, end, totals, step=size, name="k") as block:
            first = b.add(block.index, inner.offset)
            with b.loop(ZERO, length, folds.block_starts(block.vars), apart=True) as loop:
                self.index[-1] = b.add(first, loop.index)
                terms = inner.write(Place(loop.index, {}, far))
                loop.next = folds.joined(loop.vars, terms, loop.index)
            block.next = folds.block_end(block.vars, loop.vars, length)
            self.index[-1] = first
            for x in inner.streamed:
                b.stream(x.buffer, self.place(x), far[x.buffer], length)
        return end, block.vars


class Place(NamedTuple):
    """Where an iteration of an innermost loop is: its number in a block, and what is on the stack.

    Attributes
    ----------
    number : Scalar
        The number of the iteration in the block.
    near : dict of int to Buffer
        The operands that were copied to the stack.
    far : dict of Buffer to Buffer
        The results that will be copied from there.
    """

    number: Scalar
    near: Mapping[int, Buffer] = MappingProxyType({})
    far: Mapping[Buffer, Buffer] = MappingProxyType({})


class Innermost(NamedTuple):
    """What an innermost loop does.

    Attributes
    ----------
    folds : Folds
        Its reductions.
    write : callable
        Writes an iteration, and returns the terms of the reductions.
    staged : sequence of int
        The operands that are first copied to the stack, a block at a time.
    streamed : sequence of Array
        The results that are stored past the cache.
    offset : Scalar
        What is added to the range to get the index of the group.
    """

    folds: Folds
    write: Callable[[Place], Sequence[Scalar]]
    staged: Sequence[int] = ()
    streamed: Sequence[Array] = ()
    offset: Scalar = ZERO


ROWS, HEAD = Var("rows", "int64"), Var("head", "int64")

__all__ = ["FINISH", "HEAD", "ROWS", "Array", "Innermost", "Nest", "Place", "parameter"]
