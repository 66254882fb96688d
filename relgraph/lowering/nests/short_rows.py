"""Nests for short rows, which reduce many rows at once.

A loop over a few elements is vectorised badly or not at all.  This nest copies a block of rows to
the stack in column-major order.  Each pass then loops over the columns and, inside, over the rows
of the block.  Their number is constant: a partial block repeats its last row.  Finally the results
are copied back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np

from relgraph.ir.records import replace
from relgraph.lowering.kernels import Pass, Structure
from relgraph.lowering.loops.builder import ONE, ZERO
from relgraph.lowering.loops.nodes import START, STOP, Buffer, Function, Scalar, const
from relgraph.lowering.nests.folds import cast, identity, joined, mean
from relgraph.lowering.nests.writer import Array, Nest, parameter
from relgraph.lowering.refs import Ref
from relgraph.ops.reductions import Mean

TILE = 64  # rows of a block
LONGEST = 63  # longest row that counts as short
LONGEST_CHEAP = 12  # the same for kernels that take little longer than the copy
MOST = 1 << 17  # maximum size of a block on the stack, in bytes


def longest(structure: Structure, expensive: bool) -> int:
    """Return the longest row for which the short-row variant is used; 0 if there is none.

    ``expensive`` says whether the kernel computes a function such as ``exp``.
    """
    if structure.row is not None or in_passes(structure) is None:
        return 0
    return LONGEST if expensive else LONGEST_CHEAP


def in_passes(structure: Structure) -> Structure | None:
    """Return the structure of a kernel of rows, as passes; None for any other kernel."""
    s = structure
    outer = len(s.reduced) - 1
    if outer < 1 or s.reduced != (False,) * outer + (True,):
        return None
    if s.tables or s.targets or s.products is not None:
        return None
    if not s.passes:
        rows, folds = len(s.rows), len(s.folds)
        stored = [(Ref("row", row, s.rows[row].dtype), k) for k, row in enumerate(s.stored)]
        reduced = [(Ref("fold", i, fold.dtype), len(stored) + i) for i, fold in enumerate(s.folds)]
        s = replace(
            s,
            stored=(),
            passes=(
                Pass(True, (0, rows), (0, folds), tuple(stored)),
                Pass(False, (rows, rows), (folds, folds), tuple(reduced)),
            ),
            results=(
                *((ref.dtype, True) for ref, _ in stored),
                *((ref.dtype, False) for ref, _ in reduced),
            ),
        )
    sizes = [dtype for dtype, spans in s.arrays if spans[-1] and spans[-2]]
    sizes += [dtype for dtype, full in s.results if full]
    size = TILE * LONGEST * sum(np.dtype(dtype).itemsize for dtype in sizes)
    return s if size <= MOST else None


class ShortRows(Nest):
    """The nest of a structure in passes; the last group of axes is the row."""

    def __init__(self, structure: Structure) -> None:
        super().__init__(structure)
        s = structure
        self.tile = self.count - 2
        every = (True,) * self.count
        outer = (*every[:-1], False)
        self.results = [
            parameter(f"o{i}", dtype, self.sizes, every if full else outer)
            for i, (dtype, full) in enumerate(s.results)
        ]
        # The block of each operand, result, reduction and statement that later passes read.
        self.blocks: dict[tuple[str, int], Buffer] = {}
        for k, array in enumerate(self.arrays):
            if array.spans[self.tile]:
                self.blocks["array", k] = self._block(array.buffer.dtype, array)
        for k, array in enumerate(self.results):
            self.blocks["kept", k] = self._block(array.buffer.dtype, array)
        for i, fold in enumerate(s.folds):
            self.blocks["fold", i] = self._block(fold.dtype)
        for part in s.passes:
            for ref in self._refs(part):
                if ref.kind == "row" and ref.index < part.rows[0]:
                    self.blocks.setdefault(("row", ref.index), self._block(ref.dtype))

    def _block(self, dtype: str, array: Array | None = None) -> Buffer:
        """Return a block of an element, or of a row of an array, for each row."""
        columns = [LONGEST] if array is not None and array.spans[-1] else []
        return self.builder.stack("block", dtype, [*columns, TILE])

    def functions(self, name: str) -> list[Function]:
        """Return the kernel."""
        self.read_slots()
        self.read(-1)
        self._over_blocks(0)
        return [self.function(name, self.results)]

    def _over_blocks(self, g: int) -> None:
        """Write the loops over blocks of rows, and the groups outside of these."""
        b = self.builder
        low, high = (START, STOP) if g == 0 else (ZERO, self.sizes[g])
        if g < self.tile:
            with b.loop(low, high) as loop:
                self.index[g] = loop.index
                self.read(g)
                self._over_blocks(g + 1)
            return
        with b.loop(low, high, step=TILE, name="k") as loop:
            rows = b.least(const(TILE, "int64"), b.sub(high, loop.index))
            self._copy_in(loop.index, rows, b.sub(high, ONE))
            for part in self.structure.passes:
                if part.inner:
                    self._over_columns(part)
                else:
                    with self._rows() as r:
                        self._statements(part, r)
            self._copy_out(loop.index, rows)

    @contextmanager
    def _rows(self) -> Iterator[Scalar]:
        """Write a loop over the rows of a block."""
        with self.builder.loop(ZERO, const(TILE, "int64"), apart=True, name="r") as loop:
            yield loop.index

    def _at(self, array: Array | None, r: Scalar) -> list[Scalar]:
        """Return the place of the current element of an array in its block."""
        return [self.index[-1], r] if array is not None and array.spans[-1] else [r]

    def _copy_in(self, first: Scalar, rows: Scalar, last: Scalar) -> None:
        """Copy rows of the operands to the blocks, and the last one for those that are missing."""
        b = self.builder
        for k, array in enumerate(self.arrays):
            block = self.blocks.get(("array", k))
            if block is None:
                continue
            for r in self._each_row(array, ZERO, rows):
                self.index[self.tile] = b.add(first, r)
                b.store(block, self._at(array, r), self.element(array))
            for r in self._each_row(array, rows, const(TILE, "int64")):
                self.index[self.tile] = last
                b.store(block, self._at(array, r), self.element(array))

    def _copy_out(self, first: Scalar, rows: Scalar) -> None:
        """Copy the blocks to the results."""
        b = self.builder
        for k, array in enumerate(self.results):
            for r in self._each_row(array, ZERO, rows):
                self.index[self.tile] = b.add(first, r)
                element = b.load(self.blocks["kept", k], self._at(array, r))
                b.store(array.buffer, self.place(array), element)

    def _each_row(self, array: Array, low: Scalar, high: Scalar) -> Iterator[Scalar]:
        """Write a loop over rows, inside of a loop over columns if the array has columns."""
        b = self.builder
        with ExitStack() as stack:
            if array.spans[-1]:
                self.index[-1] = stack.enter_context(b.loop(ZERO, self.sizes[-1])).index
            yield stack.enter_context(b.loop(low, high, apart=True, name="r")).index

    def _over_columns(self, part: Pass) -> None:
        """Write a pass as a loop over columns and, inside, over the rows of the block."""
        b = self.builder
        folds = [(i, self.structure.folds[i]) for i in range(*part.folds)]
        if folds:
            with self._rows() as r:
                for i, fold in folds:
                    b.store(self.blocks["fold", i], [r], identity(fold, fold.dtype))
        with b.loop(ZERO, self.sizes[-1], name="j") as loop:
            self.index[-1] = loop.index
            read = {ref.index for ref in self._refs(part) if ref.kind == "array"}
            self.read(self.count - 1, [k for k in sorted(read) if ("array", k) not in self.blocks])
            with self._rows() as r:
                self._statements(part, r)
        means = [(i, fold) for i, fold in folds if isinstance(fold.op, Mean)]
        if means:
            with self._rows() as r:
                for i, fold in means:
                    block = self.blocks["fold", i]
                    total = cast(b, b.load(block, [r]), "float64")
                    value = mean(b, fold, total, self.sizes[-1])
                    b.store(block, [r], cast(b, value, fold.dtype))

    def _refs(self, part: Pass) -> list[Ref]:
        """Return the references that a pass reads and stores."""
        return self.structure.operands(part) + [ref for ref, _ in part.stores]

    def _statements(self, part: Pass, r: Scalar) -> None:
        """Write the statements of one element, or of one row."""
        b, s = self.builder, self.structure
        own = range(*part.rows)
        for ref in dict.fromkeys(self._refs(part)):
            block = self.blocks.get((ref.kind, ref.index))
            if block is None or (ref.kind == "row" and ref.index in own):
                continue
            array = {"array": self.arrays, "kept": self.results}.get(ref.kind)
            at = self._at(None if array is None else array[ref.index], r)
            self.values[ref.kind, ref.index] = b.load(block, at)
        for k in own:
            value = self.compute(k)
            if ("row", k) in self.blocks:
                b.store(self.blocks["row", k], [r], value)
        for ref, result in part.stores:
            at = self._at(self.results[result], r)
            b.store(self.blocks["kept", result], at, self.value(ref))
        for i in range(*part.folds):
            fold, block = s.folds[i], self.blocks["fold", i]
            term = cast(b, self.value(fold.operand), fold.dtype)
            b.store(block, [r], joined(b, fold, b.load(block, [r]), term))


def short_rows(structure: Structure, name: str) -> list[Function]:
    """Return a kernel for short rows; :func:`longest` of its structure is not 0."""
    passes: Structure | None = in_passes(structure)
    assert passes is not None
    return ShortRows(passes).functions(name)


__all__ = ["longest", "short_rows"]
