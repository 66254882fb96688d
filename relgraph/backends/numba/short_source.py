"""The source of a kernel for short rows, which reduces many rows at once.

A loop over a few elements is vectorised badly or not at all.  This kernel copies a block of rows to
the stack in column-major order.  Each pass then loops over the columns and, inside, over the rows
of the block.  Their number is constant: a partial block repeats its last row.  Finally the results
are copied back.
"""

from __future__ import annotations

import numpy as np

from relgraph.backends.numba.fold_source import (
    Array,
    Lines,
    combine,
    operand,
    operand_name,
    start,
)
from relgraph.backends.numba.templates import expression
from relgraph.ir.records import replace
from relgraph.lowering.kernels import Pass, Structure
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
    if in_passes(structure) is None:
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


class ShortText(Lines):
    """The text of a kernel for short rows; the last group of axes is the row."""

    def __init__(self, structure: Structure) -> None:
        super().__init__(structure)
        self.row = self.count - 1
        self.tile = self.count - 2
        every = (True,) * self.count
        outer = (*every[:-1], False)
        self.results = [
            Array(f"o{i}", dtype, every if full else outer)
            for i, (dtype, full) in enumerate(structure.results)
        ]
        # Statements that are computed once per row and read by later passes.
        self.handed = {
            ref.index
            for part in structure.passes
            for ref in self._refs(part)
            if ref.kind == "row" and ref.index < part.rows[0]
        }

    def function(self, name: str) -> str:
        """Return the kernel."""
        return f"def {name}{self.parameters(self.results)}:\n{self._body()}\n"

    def index(self, g: int) -> str:
        """Return the loop index of a group; that of the rows of a block is ``place``."""
        return "j" if g == self.row else "place" if g == self.tile else f"i{g}"

    def _body(self) -> str:
        self.read_slots()
        for k, array in enumerate(self.arrays):
            if self._in_block(array):
                self.line(f"b_x{k} = scratch({array.dtype}, {self._elements(array)})")
        for k, array in enumerate(self.results):
            self.line(f"b_o{k} = scratch({array.dtype}, {self._elements(array)})")
        s = self.structure
        for i, fold in enumerate(s.folds):
            self.line(f"b_f{i} = scratch({fold.dtype}, {TILE})")
        for k in sorted(self.handed):
            self.line(f"b_t{k} = scratch({s.rows[k].dtype}, {TILE})")
        self._read(-1)
        for g in range(self.tile):
            self.open(f"for i{g} in range({self._range(g)}):")
            self._read(g)
        low, high = ("start", "stop") if self.tile == 0 else ("0", f"n{self.tile}")
        self.open(f"for k in range({low}, {high}, {TILE}):")
        self.line(f"rows = min({TILE}, {high} - k)")
        self._copy_in(f"{high} - 1")
        for number, part in enumerate(s.passes):
            if part.inner:
                self._columns(part, number)
            else:
                self.open(f"for r in range({TILE}):")
                self._statements(part, number)
                self.depth -= 1
        self._copy_out()
        return "\n".join(self.lines)

    def _range(self, g: int) -> str:
        return "start, stop" if g == 0 else f"n{g}"

    def _in_block(self, array: Array) -> bool:
        return array.spans[self.tile]

    def _elements(self, array: Array) -> int:
        return TILE * LONGEST if array.spans[self.row] else TILE

    def _place(self, array: Array) -> str:
        """Return the index of an element in a block."""
        return f"j * {TILE} + r" if array.spans[self.row] else "r"

    def _read(self, level: int) -> None:
        """Load the elements that are invariant within a block."""
        for k, array in enumerate(self.arrays):
            if max(array.groups, default=-1) == level:
                self.line(f"v{k} = {self.element(array)}")

    def _copy_in(self, last: str) -> None:
        for k, array in enumerate(self.arrays):
            if self._in_block(array):
                line = f"b_x{k}[{self._place(array)}] = {self.element(array)}"
                self._copied(array, "range(rows)", "k + r", line)
                self._copied(array, f"range(rows, {TILE})", last, line)

    def _copy_out(self) -> None:
        for k, array in enumerate(self.results):
            line = f"{self.element(array)} = b_o{k}[{self._place(array)}]"
            self._copied(array, "range(rows)", "k + r", line)

    def _copied(self, array: Array, rows: str, place: str, line: str) -> None:
        """Write a loop over rows, inside of a loop over columns if the array has columns."""
        depth = self.depth
        if array.spans[self.row]:
            self.open(f"for j in range(n{self.row}):")
        self.open(f"for r in {rows}:")
        self.line(f"place = {place}")
        self.line(line)
        self.depth = depth

    def _columns(self, part: Pass, number: int) -> None:
        """Write a pass as a loop over columns and, inside, over the rows of the block."""
        folds = [(i, self.structure.folds[i]) for i in range(*part.folds)]
        if folds:
            self.open(f"for r in range({TILE}):")
            for i, fold in folds:
                self.line(f"b_f{i}[r] = {start(fold, fold.dtype)}")
            self.depth -= 1
        self.open(f"for j in range(n{self.row}):")
        read = {ref.index for ref in self._refs(part) if ref.kind == "array"}
        for k in sorted(read):
            array = self.arrays[k]
            if array.spans[self.row] and not self._in_block(array):
                self.line(f"v{k}_{number} = {self.element(array)}")
        self.open(f"for r in range({TILE}):")
        self._statements(part, number)
        self.depth -= 2
        means = [(i, fold) for i, fold in folds if isinstance(fold.op, Mean)]
        if means:
            self.open(f"for r in range({TILE}):")
            for i, fold in means:
                mean = f"float64(b_f{i}[r]) / float64(n{self.row})"
                self.line(f"b_f{i}[r] = {fold.dtype}({mean})")
            self.depth -= 1

    def _refs(self, part: Pass) -> list[Ref]:
        """Return the references that a pass reads and stores."""
        return self.structure.operands(part) + [ref for ref, _ in part.stores]

    def _statements(self, part: Pass, number: int) -> None:
        """Write the statements of one element, or of one row."""
        s = self.structure
        suffix = f"_{number}"
        names: dict[tuple[str, int, str], str] = {}
        for ref in self._refs(part):
            key = (ref.kind, ref.index, ref.dtype)
            variable = f"{operand_name(ref)}{suffix}"
            if key in names or ref.kind in ("slot", "literal"):
                continue
            source = None
            if ref.kind == "array":
                array = self.arrays[ref.index]
                if self._in_block(array):
                    source = f"b_x{ref.index}[{self._place(array)}]"
                elif not array.spans[self.row]:
                    variable = f"v{ref.index}"
            elif ref.kind == "kept":
                source = f"b_o{ref.index}[{self._place(self.results[ref.index])}]"
            elif ref.kind == "fold":
                source = f"b_f{ref.index}[r]"
            elif not part.rows[0] <= ref.index < part.rows[1]:
                source = f"b_t{ref.index}[r]"
            else:
                variable = operand_name(ref)
            names[key] = variable
            if source is not None:
                self.line(f"{variable} = {source}")

        def name(ref: Ref) -> str:
            return names.get((ref.kind, ref.index, ref.dtype)) or operand_name(ref)

        for k in range(*part.rows):
            row = s.rows[k]
            self.line(f"t{k} = {expression(row, [name(ref) for ref in row.operands])}")
            if k in self.handed:
                self.line(f"b_t{k}[r] = t{k}")
        for ref, result in part.stores:
            self.line(f"b_o{result}[{self._place(self.results[result])}] = {name(ref)}")
        for i in range(*part.folds):
            fold = s.folds[i]
            term = operand(fold, name(fold.operand))
            self.line(f"b_f{i}[r] = {combine(fold, f'b_f{i}[r]', term)}")


def short_text(structure: Structure, name: str) -> str:
    """Return the source of a kernel for short rows; :func:`longest` of its structure is not 0."""
    passes = in_passes(structure)
    assert passes is not None
    return ShortText(passes).function(name)


__all__ = ["longest", "short_text"]
