"""The source of a kernel that multiplies a matrix and its transpose by vectors.

For each block of rows the kernel computes the products with the rows, the elementwise ops on them,
and their contribution to the products with the transpose.  The vectors of a block are on the stack.
A block has up to 256 rows, and fewer if 256 would not stay in the cache.
"""

from __future__ import annotations

from relgraph.backends.numba.fold_source import (
    Array,
    Lines,
    cast,
    combine,
    in_blocks,
    operand,
    operand_name,
)
from relgraph.backends.numba.templates import expression
from relgraph.lowering.kernels import Fold, Structure
from relgraph.ops.reductions import Mean

ROWS = 256  # maximum number of rows of a block
_BY_FOUR = (("k", "rest", 4), ("rest", "end", 1))  # loops over the rows: start, stop and step


class ProductText(Lines):
    """The text of a kernel with products."""

    partial = True
    kept = (1,)  # products with the transpose span the columns

    def __init__(self, structure: Structure) -> None:
        super().__init__(structure)
        assert structure.products is not None
        s = structure
        self.products = structure.products
        self.stored = [
            Array(f"o{i}", dtype, (True, False)) for i, (dtype, _) in enumerate(s.results)
        ]
        self.sums = [Array(f"r{i}", fold.dtype, (False, False)) for i, fold in enumerate(s.folds)]
        self.back = [
            Array(f"g{i}", self.arrays[x].dtype, (False, True))
            for i, (x, _) in enumerate(self.products.back)
        ]
        self.combined = len(self.sums) + len(self.back)

    def functions(self, name: str, finish: str) -> str:
        """Return the kernel and the function that combines its partial results."""
        arrays = [array.declared() for array in self.arrays]
        arrays += self.slot_parameters()
        arrays += [array.declared() for array in self.stored + self.sums + self.back]
        arrays += [f"w{i}: {_total(fold)}[parts]" for i, fold in enumerate(self.structure.folds)]
        arrays += [f"u{i}: {array.dtype}[parts, n1]" for i, array in enumerate(self.back)]
        parameters = f"(\n    start, stop, n0, n1, rows,\n    {', '.join(arrays)},\n)"
        self._kernel()
        body = "\n".join(self.lines)
        self.lines = []
        self._finish()
        combining = "\n".join(self.lines)
        return f"def {name}{parameters}:\n{body}\n\n\ndef {finish}{parameters}:\n{combining}\n"

    def _kernel(self) -> None:
        self.read_slots()
        for i, (x, _) in enumerate(self.products.forward):
            self.line(f"p_{i} = scratch({self.arrays[x].dtype}, {ROWS})")
        for i, (x, _) in enumerate(self.products.back):
            self.line(f"q_{i} = scratch({self.arrays[x].dtype}, {ROWS})")
        for k, array in enumerate(self.arrays):
            if not array.groups:
                self.line(f"v{k} = {array.name}[0]")
        self.line(f"few = {ROWS} if n1 <= 64 else (32 if n1 <= 512 else 8)")
        folds = list(enumerate(self.structure.folds))
        self.open("for b in range(start, stop):")
        self.line("first = b * rows")
        self.line("last = min(first + rows, n0)")
        for i, array in enumerate(self.back):
            self.open("for i in range(n1):")
            self.line(f"u{i}[b, i] = {array.dtype}(0)")
            self.depth -= 1
        self.start(folds)
        self.open("for k in range(first, last, few):")
        self.line("end = min(k + few, last)")
        # Long rows are faster one at a time: memory is then read as one stream.
        self.line(f"rest = k + ((end - k) & -4) if few == {ROWS} else k")
        for i, (x, vector) in enumerate(self.products.forward):
            self._forward(i, self.arrays[x], self.arrays[vector])
        self.block_start(folds)
        self.open("for i in range(k, end):")
        self._statements()
        self.depth -= 1
        self.block_end(folds, "")
        for i, (x, _) in enumerate(self.products.back):
            self._back(i, self.arrays[x])
        self.depth -= 1
        for i, fold in folds:
            value = self.sum(i) if in_blocks(fold) else f"a{i}"
            self.line(f"w{i}[b] = {value}")

    def _forward(self, i: int, matrix: Array, vector: Array) -> None:
        """Multiply the rows of a block by a vector, four at a time as far as possible."""
        for low, high, step in _BY_FOUR:
            self.open(f"for j in range({low}, {high}, {step}):")
            for r in range(step):
                self.line(f"m{i}_{r}_{step} = {matrix.dtype}(0)")
            self.open("for i in range(n1):")
            for r in range(step):
                total = f"m{i}_{r}_{step}"
                term = f"{matrix.name}[j + {r}, i] * {vector.name}[i]"
                self.line(f"{total} = add_any_order({total}, {term})")
            self.depth -= 1
            for r in range(step):
                self.line(f"p_{i}[j + {r} - k] = m{i}_{r}_{step}")
            self.depth -= 1

    def _back(self, i: int, matrix: Array) -> None:
        """Add multiples of the rows of a block, four at a time as far as possible."""
        for low, high, step in _BY_FOUR:
            self.open(f"for j in range({low}, {high}, {step}):")
            for r in range(step):
                self.line(f"l{i}_{r}_{step} = q_{i}[j + {r} - k]")
            self.open("for i in range(n1):")
            terms = [f"l{i}_{r}_{step} * {matrix.name}[j + {r}, i]" for r in range(step)]
            if step == 4:
                terms = [f"(({terms[0]} + {terms[1]}) + ({terms[2]} + {terms[3]}))"]
            self.line(f"u{i}[b, i] = u{i}[b, i] + {terms[0]}")
            self.depth -= 2

    def _statements(self) -> None:
        s = self.structure
        refs = s.operands() + [ref for _, ref in self.products.back]
        for k in sorted({ref.index for ref in refs if ref.kind == "array"}):
            if self.arrays[k].groups:
                self.line(f"v{k} = x{k}[i]")
        for k in range(len(self.products.forward)):
            self.line(f"h{k} = p_{k}[i - k]")
        for k, row in enumerate(s.rows):
            self.line(f"t{k} = {expression(row, [operand_name(ref) for ref in row.operands])}")
        for array, ref in zip(self.stored, self.products.stored, strict=True):
            self.line(f"{array.name}[i] = {operand_name(ref)}")
        for i, (_, ref) in enumerate(self.products.back):
            self.line(f"q_{i}[i - k] = {operand_name(ref)}")
        for i, fold in enumerate(s.folds):
            self.join(i, fold, operand(fold, operand_name(fold.operand)))

    def _finish(self) -> None:
        folds = self.structure.folds
        self.depth = 1
        self.start(enumerate(folds))
        for i, fold in enumerate(folds):
            self.open("for b in range(start, stop):")
            if in_blocks(fold):
                self.add(i, f"w{i}[b]")
            else:
                self.line(f"a{i} = {combine(fold, f'a{i}', f'w{i}[b]')}")
            self.depth -= 1
        for i, fold in enumerate(folds):
            value = self.sum(i) if in_blocks(fold) else f"a{i}"
            if isinstance(fold.op, Mean):
                value = f"{value} / float64(n0)"
            self.line(f"r{i}[0] = {cast(value, fold.dtype, _total(fold))}")
        for i in range(len(self.back)):
            self.open("for b in range(1, stop):")
            self.open("for i in range(n1):")
            self.line(f"u{i}[0, i] = u{i}[0, i] + u{i}[b, i]")
            self.depth -= 2
            self.open("for i in range(n1):")
            self.line(f"g{i}[i] = u{i}[0, i]")
            self.depth -= 1


def _total(fold: Fold) -> str:
    """Return the dtype of the accumulator of a reduction."""
    return "float64" if in_blocks(fold) else fold.dtype


__all__ = ["ProductText"]
