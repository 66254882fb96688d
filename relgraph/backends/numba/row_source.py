"""The source of a kernel that passes over each row several times.

The outermost loops run over the rows, of which a kernel computes a range.  Their body is a sequence
of statements computed once per row and loops over the elements of the row.  The results of
reductions are local variables.
"""

from __future__ import annotations

from collections.abc import Callable

from relgraph.backends.numba.fold_source import (
    BLOCK,
    Array,
    Lines,
    in_blocks,
    operand,
    operand_name,
)
from relgraph.backends.numba.templates import expression
from relgraph.lowering.kernels import Fold, Pass, Structure
from relgraph.lowering.refs import Ref
from relgraph.ops.reductions import Mean


class RowText(Lines):
    """The text of a kernel with several passes; with ``past`` its results use streaming stores."""

    combined = 0  # no partial results
    kept: tuple[int, ...] = ()

    def __init__(self, structure: Structure, past: bool = False) -> None:
        super().__init__(structure, past)
        s = structure
        self.first = s.reduced.index(True)  # the first group of a row
        every = (True,) * self.count
        outer = tuple(not r for r in s.reduced)
        self.results = [
            Array(f"o{i}", dtype, every if full else outer)
            for i, (dtype, full) in enumerate(s.results)
        ]

    def functions(self, name: str, finish: str) -> str:
        """Return the kernel; ``finish`` is unused, because no partial results are combined."""
        return f"def {name}{self.parameters(self.results)}:\n{self._body()}\n"

    def _body(self) -> str:
        self.read_slots()
        self.lines_of_memory(self.results)
        self._read(-1, range(len(self.arrays)), "")
        for g in range(self.first):
            self.open(f"for i{g} in range({'start, stop' if g == 0 else f'n{g}'}):")
            self._read(g, range(len(self.arrays)), "")
        for number, part in enumerate(self.structure.passes):
            if part.inner:
                self._elements(part, number)
            else:
                self._statements(part, self._name(""))  # once per row
        return "\n".join(self.lines)

    def _read(self, level: int, arrays: range | set[int], suffix: str) -> None:
        """Load the elements that are invariant in the loops inside of ``level``."""
        for k in arrays:
            if max(self.arrays[k].groups, default=-1) == level:
                self.line(f"v{k}{suffix} = {self.element(self.arrays[k])}")

    def _name(self, suffix: str) -> Callable[[Ref], str]:
        """Return a function that names references in a pass whose local variables end in
        ``suffix``.
        """

        def name(ref: Ref) -> str:
            is_local = ref.kind == "kept" or (
                ref.kind == "array" and max(self.arrays[ref.index].groups, default=-1) >= self.first
            )
            return operand_name(ref, suffix if is_local else "")

        return name

    def _statements(self, part: Pass, name: Callable[[Ref], str]) -> None:
        for k in range(*part.rows):
            row = self.structure.rows[k]
            self.line(f"t{k} = {expression(row, [name(ref) for ref in row.operands])}")
        for ref, result in part.stores:
            self.line(f"{self.written(self.results[result])} = {name(ref)}")

    def _elements(self, part: Pass, number: int) -> None:
        """Write a loop over the elements of a row."""
        suffix = f"_{number}"
        name = self._name(suffix)
        refs = self.structure.operands(part)
        read = {ref.index for ref in refs if ref.kind == "array"}
        folds = [(i, self.structure.folds[i]) for i in range(*part.folds)]
        blocked = any(in_blocks(fold) for _, fold in folds)
        depth = self.depth
        self.start(folds)
        last = self.count - 1
        for g in range(self.first, last):
            self.open(f"for i{g} in range(n{g}):")
            self._read(g, read, suffix)
        if blocked:
            self.open(f"for k{number} in range(0, n{last}, {BLOCK}):")
            self.block_start(folds)
            self.open(f"for i in range(k{number}, min(k{number} + {BLOCK}, n{last})):")
        else:
            self.open(f"for i in range(n{last}):")
        self._read(last, read, suffix)
        for k in sorted({ref.index for ref in refs if ref.kind == "kept"}):
            self.line(f"h{k}{suffix} = {self.element(self.results[k])}")
        self._statements(part, name)
        for i, fold in folds:
            self.join(i, fold, operand(fold, name(fold.operand)))
        self.depth -= 1
        if blocked:
            self.block_end(folds, "")
        self.depth = depth
        for i, fold in folds:
            self.line(f"f{i} = {self._total(i, fold)}")

    def _total(self, i: int, fold: Fold) -> str:
        """Return the result of a reduction."""
        value = self.sum(i) if in_blocks(fold) else f"a{i}"
        if isinstance(fold.op, Mean):
            terms = " * ".join(f"n{g}" for g in range(self.first, self.count))
            value = f"{value} / float64({terms})"
        return value if fold.dtype == "float64" or not in_blocks(fold) else f"{fold.dtype}({value})"


__all__ = ["RowText"]
