"""Nests that multiply a matrix and its transpose by vectors.

For each block of rows the kernel computes the products with the rows, the elementwise ops on them,
and their contribution to the products with the transpose.  The vectors of a block are on the stack.
A block has up to 256 rows, and fewer if 256 would not stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from relgraph.lowering.kernels import Structure
from relgraph.lowering.loops.builder import ONE, ZERO
from relgraph.lowering.loops.nodes import START, STOP, Buffer, Function, Scalar, const
from relgraph.lowering.nests.folds import Folds, added, cast, in_blocks, joined, mean, result
from relgraph.lowering.nests.writer import FINISH, ROWS, Nest, parameter
from relgraph.ops.elementwise import add, multiply

MOST = 256  # maximum number of rows of a block
FOUR = 4  # rows that are multiplied at a time


class MatrixProducts(Nest):
    """The nest of a structure with products."""

    kept = (1,)  # products with the transpose span the columns

    def __init__(self, structure: Structure) -> None:
        super().__init__(structure)
        assert structure.products is not None
        s = structure
        self.products = structure.products
        self.stored = [
            parameter(f"o{i}", dtype, self.sizes, (True, False))
            for i, (dtype, _) in enumerate(s.results)
        ]
        self.sums = [
            parameter(f"r{i}", fold.dtype, self.sizes, (False, False))
            for i, fold in enumerate(s.folds)
        ]
        dtypes = [self.arrays[x].buffer.dtype for x, _ in self.products.back]
        self.back = [
            parameter(f"g{i}", dtype, self.sizes, (False, True)) for i, dtype in enumerate(dtypes)
        ]
        totals = ["float64" if in_blocks(fold) else fold.dtype for fold in s.folds]
        self.parts = [Buffer(f"w{i}", dtype, (STOP,)) for i, dtype in enumerate(totals)]
        rows = (STOP, self.sizes[1])
        self.part_rows = [Buffer(f"u{i}", dtype, rows) for i, dtype in enumerate(dtypes)]
        self.combined = len(self.parts) + len(self.part_rows)

    def functions(self, name: str) -> list[Function]:
        """Return the kernel and the function that combines its partial results."""
        results = [*self.stored, *self.sums, *self.back]
        more = [*self.parts, *self.part_rows]
        self._kernel()
        finish = MatrixProducts(self.structure)
        finish._finish()
        return [
            self.function(name, results, more, True),
            finish.function(name + FINISH, results, more, True),
        ]

    def _kernel(self) -> None:
        b, (n0, n1) = self.builder, self.sizes
        self.read_slots()
        dtypes = [self.arrays[x].buffer.dtype for x, _ in self.products.forward]
        self.forward = [b.stack("product", dtype, [MOST]) for dtype in dtypes]
        self.factors = [b.stack("factor", x.buffer.dtype, [MOST]) for x in self.back]
        self.read(-1)
        few = self._rows_of_a_block()
        # Long rows are faster one at a time: memory is then read as one stream.
        by_four = b.op("equal", few, const(MOST, "int64"), dtype="bool")
        with b.loop(START, STOP, name="b") as part:
            first = b.mul(part.index, ROWS)
            last = b.least(b.add(first, ROWS), n0)
            for buffer in self.part_rows:
                with b.loop(ZERO, n1, apart=True) as loop:
                    b.store(buffer, [part.index, loop.index], const(0.0, buffer.dtype))
            folds = Folds(b, self.structure.folds)
            blocks = b.op("div", b.sub(b.add(b.sub(last, first), few), ONE), few, dtype="int64")
            with b.loop(ZERO, blocks, folds.starts(), name="k") as block:
                low = b.add(first, b.mul(block.index, few))
                high = b.least(b.add(low, few), last)
                whole = b.op("div", b.sub(high, low), const(FOUR, "int64"), dtype="int64")
                middle = b.add(low, b.mul(whole, const(FOUR, "int64")))
                middle = b.op("select", by_four, middle, low, dtype="int64")
                self._in_fours(low, middle, high, self._multiply)
                with b.loop(low, high, folds.block_starts(block.vars), apart=True) as loop:
                    at = b.sub(loop.index, low)
                    loop.next = folds.joined(loop.vars, self._statements(loop.index, at), at)
                block.next = folds.block_end(block.vars, loop.vars, b.sub(high, low))
                self._in_fours(low, middle, high, partial(self._multiply_back, part.index))
            for (fold, own), buffer in zip(folds.split(block.vars), self.parts, strict=True):
                b.store(buffer, [part.index], result(b, fold, own))

    def _rows_of_a_block(self) -> Scalar:
        """Return the number of rows of a block, by the length of a row."""
        b, n1 = self.builder, self.sizes[1]
        few: Scalar = const(8, "int64")
        for length, rows in ((512, 32), (64, MOST)):
            is_longer = b.op("less", const(length, "int64"), n1, dtype="bool")
            few = b.op("select", is_longer, few, const(rows, "int64"), dtype="int64")
        return few

    def _in_fours(
        self,
        low: Scalar,
        middle: Scalar,
        high: Scalar,
        write: Callable[[Scalar, Scalar, int], None],
    ) -> None:
        """Write loops over rows: by four as far as possible, then one at a time."""
        for first, last, step in ((low, middle, FOUR), (middle, high, 1)):
            with self.builder.loop(first, last, step=step, name="j") as loop:
                write(loop.index, low, step)

    def _multiply(self, j: Scalar, low: Scalar, rows: int) -> None:
        """Multiply rows of each matrix by a vector."""
        b = self.builder
        for (x, vector), buffer in zip(self.products.forward, self.forward, strict=True):
            matrix, other = self.arrays[x].buffer, self.arrays[vector].buffer
            zeros = [const(0.0, matrix.dtype)] * rows
            with b.loop(ZERO, self.sizes[1], zeros, apart=True) as loop:
                for r, total in enumerate(loop.vars):
                    element = b.load(matrix, [b.add(j, const(r, "int64")), loop.index])
                    term = b.apply(multiply, element, b.load(other, [loop.index]))
                    loop.next.append(b.op("sum", total, term, dtype=matrix.dtype))
            for r, total in enumerate(loop.vars):
                b.store(buffer, [b.sub(b.add(j, const(r, "int64")), low)], total)

    def _multiply_back(self, part: Scalar, j: Scalar, low: Scalar, rows: int) -> None:
        """Add multiples of rows of each matrix."""
        b = self.builder
        for i, (x, _) in enumerate(self.products.back):
            matrix, sums = self.arrays[x].buffer, self.part_rows[i]
            places = [b.add(j, const(r, "int64")) for r in range(rows)]
            factors = [b.load(self.factors[i], [b.sub(place, low)]) for place in places]
            with b.loop(ZERO, self.sizes[1], apart=True) as loop:
                terms = [
                    b.apply(multiply, factor, b.load(matrix, [place, loop.index]))
                    for factor, place in zip(factors, places, strict=True)
                ]
                while len(terms) > 1:  # in pairs
                    terms = [b.apply(add, *terms[k : k + 2]) for k in range(0, len(terms), 2)]
                at = [part, loop.index]
                b.store(sums, at, b.apply(add, b.load(sums, at), terms[0]))

    def _statements(self, i: Scalar, at: Scalar) -> list[Scalar]:
        """Write the statements of a row, and return the terms of the reductions."""
        b, s = self.builder, self.structure
        self.index[0] = i
        refs = s.operands() + [ref for _, ref in self.products.back]
        for k in sorted({ref.index for ref in refs if ref.kind == "array"}):
            if self.arrays[k].innermost >= 0:
                self.values["array", k] = b.load(self.arrays[k].buffer, [i])
        for k, buffer in enumerate(self.forward):
            self.values["product", k] = b.load(buffer, [at])
        for k in range(len(s.rows)):
            self.compute(k)
        for array, ref in zip(self.stored, self.products.stored, strict=True):
            b.store(array.buffer, [i], self.value(ref))
        for buffer, (_, ref) in zip(self.factors, self.products.back, strict=True):
            b.store(buffer, [at], self.value(ref))
        return [self.value(fold.operand) for fold in s.folds]

    def _finish(self) -> None:
        b, (n0, n1) = self.builder, self.sizes
        folds = Folds(b, self.structure.folds)
        with b.loop(START, STOP, folds.starts(), name="b") as loop:
            for (fold, own), buffer in zip(folds.split(loop.vars), self.parts, strict=True):
                part = b.load(buffer, [loop.index])
                if in_blocks(fold):
                    loop.next += added(b, own[0], own[1], part)
                else:
                    loop.next.append(joined(b, fold, own[0], part))
        for (fold, own), array in zip(folds.split(loop.vars), self.sums, strict=True):
            value = mean(b, fold, result(b, fold, own), n0)
            b.store(array.buffer, [ZERO], cast(b, value, fold.dtype))
        for buffer, array in zip(self.part_rows, self.back, strict=True):
            with b.loop(ONE, STOP, name="b") as parts, b.loop(ZERO, n1, apart=True) as loop:
                at = [ZERO, loop.index]
                more = b.load(buffer, [parts.index, loop.index])
                b.store(buffer, at, b.apply(add, b.load(buffer, at), more))
            with b.loop(ZERO, n1, apart=True) as loop:
                b.store(array.buffer, [loop.index], b.load(buffer, [ZERO, loop.index]))


__all__ = ["MatrixProducts"]
