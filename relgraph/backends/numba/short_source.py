"""The source of a kernel for short rows, of which many are reduced at once.

A loop over a few elements runs on vectors badly or not at all.  Here a block of rows is copied to
the stack such that elements of one column lie one after the other; then each pass runs over the
columns, and inside of them over the rows of the block, which are always as many: a block that is
not full repeats its last row.  Results are copied back.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

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
from relgraph.lowering.kernels import Pass, Structure
from relgraph.lowering.refs import Ref
from relgraph.ops.reductions import Mean

TILE = 64  # rows of a block
LONGEST = 63  # elements of a row that count as few
LONGEST_CHEAP = 12  # the same, where none of what is computed takes much longer than copying
MOST = 1 << 17  # bytes of a block on the stack


def longest(structure: Structure, dear: bool) -> int:
    """Return the elements of a row up to which there is a kernel for short rows; 0 for none.

    Parameters
    ----------
    structure : Structure
        That of the kernel for rows of any length.
    dear : bool
        Whether it computes a function such as ``exp``.
    """
    if in_passes(structure) is None:
        return 0
    return LONGEST if dear else LONGEST_CHEAP


def in_passes(structure: Structure) -> Structure | None:
    """Return the structure of a kernel of rows, as passes; None where it is of another kind."""
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
    taken = TILE * LONGEST * sum(np.dtype(dtype).itemsize for dtype in sizes)
    return s if taken <= MOST else None


class ShortText(Lines):
    """The text of a kernel for short rows, line by line.

    Parameters
    ----------
    structure : Structure
        What to write, in passes, of which the last group of axes is the row.
    """

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
        # Statements made once for a row whose values later passes read.
        self.handed = {
            ref.index
            for part in structure.passes
            for ref in self._refs(part)
            if ref.kind == "row" and ref.index < part.rows[0]
        }

    def function(self, name: str) -> str:
        """Return the kernel.

        Parameters
        ----------
        name : str
            Its name.
        """
        return f"def {name}{self.parameters(self.results)}:\n{self._body()}\n"

    def index(self, g: int) -> str:
        """Return what counts the elements of a group; rows of a block have a place."""
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
                self._statements(part, number, ())
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
        """Return the place of an element in a block."""
        return f"j * {TILE} + r" if array.spans[self.row] else "r"

    def _read(self, level: int) -> None:
        """Read the elements that are the same in a whole block."""
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
        """Write a loop over rows, inside of one over columns where the array has these."""
        depth = self.depth
        if array.spans[self.row]:
            self.open(f"for j in range(n{self.row}):")
        self.open(f"for r in {rows}:")
        self.line(f"place = {place}")
        self.line(line)
        self.depth = depth

    def _columns(self, part: Pass, number: int) -> None:
        """Write a pass over the elements of rows: their columns, and inside of these the rows."""
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
        self._statements(part, number, read)
        self.depth -= 2
        means = [(i, fold) for i, fold in folds if isinstance(fold.op, Mean)]
        if means:
            self.open(f"for r in range({TILE}):")
            for i, fold in means:
                mean = f"float64(b_f{i}[r]) / float64(n{self.row})"
                self.line(f"b_f{i}[r] = {fold.dtype}({mean})")
            self.depth -= 1

    def _refs(self, part: Pass) -> list[Ref]:
        """Return what a pass reads and stores."""
        return self.structure.operands(part) + [ref for ref, _ in part.stores]

    def _statements(self, part: Pass, number: int, columns: Collection[int]) -> None:
        """Write what is computed for one element, or once for one row."""
        s = self.structure
        suffix = f"_{number}"
        names: dict[tuple[str, int, str], str] = {}
        for ref in self._refs(part):
            key = (ref.kind, ref.index, ref.dtype)
            own = f"{operand_name(ref)}{suffix}"
            if key in names or ref.kind in ("slot", "literal"):
                continue
            source = None
            if ref.kind == "array":
                array = self.arrays[ref.index]
                if self._in_block(array):
                    source = f"b_x{ref.index}[{self._place(array)}]"
                elif not array.spans[self.row]:
                    own = f"v{ref.index}"
            elif ref.kind == "kept":
                source = f"b_o{ref.index}[{self._place(self.results[ref.index])}]"
            elif ref.kind == "fold":
                source = f"b_f{ref.index}[r]"
            elif not part.rows[0] <= ref.index < part.rows[1]:
                source = f"b_t{ref.index}[r]"
            else:
                own = operand_name(ref)
            names[key] = own
            if source is not None:
                self.line(f"{own} = {source}")

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
    """Return the source of a kernel for short rows.

    Parameters
    ----------
    structure : Structure
        That of the kernel for rows of any length, of which :func:`longest` is not 0.
    name : str
        Its name.
    """
    passes = in_passes(structure)
    assert passes is not None
    return ShortText(passes).function(name)


__all__ = ["longest", "short_text"]
