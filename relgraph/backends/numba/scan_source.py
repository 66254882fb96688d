"""The source of a kernel with cumulative ops, whose results depend on each other in order.

Along the last axis a row is split into blocks.  A loop that carries a total from one element to the
next cannot be vectorised, so it does nothing else: a loop before it computes its operands, and a
loop after it uses its results.  Values in between are in block-sized arrays that stay in the L1
cache.

Along another axis each column has its own total.  Such an array holds the totals of a block of
columns, and the loop over these columns is vectorised.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

import numpy as np

from relgraph.backends.numba.fold_source import BLOCK, combine, operand, operand_name, start
from relgraph.backends.numba.row_source import RowText
from relgraph.backends.numba.templates import expression
from relgraph.lowering.kernels import Fold, Pass, Structure
from relgraph.lowering.refs import Ref
from relgraph.ops.cumulative import Cumulative
from relgraph.ops.reductions import Sum

PART = 256  # elements of a block; the values that its loops share are on the stack


def has_scans(structure: Structure) -> bool:
    """Return True if a kernel has cumulative ops."""
    return any(isinstance(row.op, Cumulative) for row in structure.rows)


class ScanText(RowText):
    """The text of a kernel with cumulative ops."""

    def __init__(self, structure: Structure) -> None:
        super().__init__(structure)
        self.scans = {
            k: Fold(row.op.fold(None, False), row.operands[0], row.dtype)
            for k, row in enumerate(structure.rows)
            if isinstance(row.op, Cumulative)
        }

    def _body(self) -> str:
        if self.first == self.count - 1:
            return super()._body()
        return self._columns()

    # Along an axis other than the last.

    def _columns(self) -> str:
        """Write loops over blocks of columns, and over the rows inside of each block."""
        last = self.count - 1
        self.read_slots()
        for k, scan in self.scans.items():
            self.line(f"q{k} = scratch({scan.dtype}, {BLOCK})")
        self._read_within(set())
        for part in self.structure.passes[:-1]:
            self._statements(part, self._name(""))
        open_: set[int] = set()
        for g in range(last):
            if g != self.first:
                self.open(f"for i{g} in range({'start, stop' if g == 0 else f'n{g}'}):")
                open_.add(g)
                self._read_within(open_, g)
        self.open(f"for k in range(0, n{last}, {BLOCK}):")
        self.open(f"for i in range(min({BLOCK}, n{last} - k)):")
        for k, scan in self.scans.items():
            self.line(f"q{k}[i] = {beginning(scan)}")
        self.depth -= 1
        for g, bounds in ((self.first, f"n{self.first}"), (last, f"k, min(k + {BLOCK}, n{last})")):
            self.open(f"for {self.index(g)} in range({bounds}):")
            open_.add(g)
            self._read_within(open_, g)
        self._column(self.structure.passes[-1])
        return "\n".join(self.lines)

    def _read_within(self, loops: set[int], newest: int | None = None) -> None:
        """Load the elements whose last index is that of the newest open loop."""
        for k, array in enumerate(self.arrays):
            groups = set(array.groups)
            if groups <= loops and (newest in groups or not loops):
                self.line(f"v{k} = {self.element(array)}")

    def _column(self, part: Pass) -> None:
        for k in range(*part.rows):
            row = self.structure.rows[k]
            names = [operand_name(ref) for ref in row.operands]
            if k in self.scans:
                scan = self.scans[k]
                self.line(f"t{k} = {combine(scan, f'q{k}[i - k]', operand(scan, names[0]))}")
                self.line(f"q{k}[i - k] = t{k}")
            else:
                self.line(f"t{k} = {expression(row, names)}")
        for ref, result in part.stores:
            self.line(f"{self.element(self.results[result])} = {operand_name(ref)}")

    # Along the last axis.

    def _elements(self, part: Pass, number: int) -> None:
        """Write a pass over the elements of a row."""
        if self.scans.keys().isdisjoint(range(*part.rows)):
            super()._elements(part, number)
            return
        folds = [(i, self.structure.folds[i]) for i in range(*part.folds)]
        plan = _Plan(self.structure, part, self.scans)
        last = self.count - 1
        for k in plan.saved:
            self.line(f"q{k} = scratch({self.structure.rows[k].dtype}, {PART})")
        self.start(folds)
        for k in plan.scans:
            self.line(f"m{k} = {beginning(self.scans[k])}")
        self.open(f"for k{number} in range(0, n{last}, {PART}):")
        self.block_start(folds)
        over = f"for i in range(k{number}, min(k{number} + {PART}, n{last})):"
        for phase in range(plan.phases):
            scans = [k for k in plan.scans if plan.phase[k] == phase]
            if scans:
                self.open(over)
                self._in_order(scans, _Loop(self, plan, number, f"_{number}_to_{phase}"))
                self.depth -= 1
            if any(plan.at(phase)):
                self.open(over)
                self._side_by_side(_Loop(self, plan, number, f"_{number}_{phase}", phase))
                self.depth -= 1
        self.block_end(folds, "")
        self.depth -= 1
        for i, fold in folds:
            self.line(f"f{i} = {self._total(i, fold)}")

    def _in_order(self, scans: Sequence[int], loop: _Loop) -> None:
        """Write the statements that carry totals from one element to the next."""
        for k in scans:
            scan = self.scans[k]
            value = operand(scan, loop.name(scan.operand))
            self.line(f"m{k} = {combine(scan, f'm{k}', value)}")
            loop.save(k, f"m{k}")
            for ref, result in loop.plan.part.stores:
                if ref.kind == "row" and ref.index == k:
                    self.line(f"{self.element(self.results[result])} = m{k}")

    def _side_by_side(self, loop: _Loop) -> None:
        """Write the statements that compute each element independently."""
        rows, stores, folds = loop.plan.at(loop.phase)
        for k in rows:
            row = self.structure.rows[k]
            self.line(f"t{k} = {expression(row, list(map(loop.name, row.operands)))}")
            loop.save(k, f"t{k}")
        for ref, result in stores:
            self.line(f"{self.element(self.results[result])} = {loop.name(ref)}")
        for i in folds:
            fold = self.structure.folds[i]
            self.join(i, fold, operand(fold, loop.name(fold.operand)))


@dataclass
class _Loop:
    """A loop over a block, and the values that it has loaded.

    ``number`` is that of the pass.  The local variables of the loop end in ``suffix``.  It computes
    the statements of ``phase``; -1 stands for none.
    """

    text: ScanText
    plan: _Plan
    number: int
    suffix: str
    phase: int = -1
    read: set[Ref] = field(default_factory=set)

    def name(self, ref: Ref) -> str:
        """Return the name of a value, loading it first if the loop has not done so."""
        text = self.text
        if ref.kind == "row":
            is_invariant = not self.plan.is_read(ref, self.phase)
        elif ref.kind == "array":
            is_invariant = text.count - 1 not in text.arrays[ref.index].groups
        else:
            is_invariant = ref.kind != "kept"
        if is_invariant:
            return operand_name(ref)
        name = operand_name(ref, self.suffix)
        if ref not in self.read:
            self.read.add(ref)
            if ref.kind == "row":
                text.line(f"{name} = q{ref.index}[i - k{self.number}]")
            else:
                array = (text.arrays if ref.kind == "array" else text.results)[ref.index]
                text.line(f"{name} = {text.element(array)}")
        return name

    def save(self, k: int, name: str) -> None:
        """Save the value of a statement if other loops read it."""
        if k in self.plan.saved:
            self.text.line(f"q{k}[i - k{self.number}] = {name}")


class _Plan:
    """The plan of a pass with cumulative ops: which loop over a block computes which statement.

    ``phase`` maps each statement to the length of the longest chain of cumulative ops that it
    depends on.  ``scans`` are the cumulative ops, and ``saved`` the statements that another loop
    reads.
    """

    def __init__(self, structure: Structure, part: Pass, scans: Container[int]) -> None:
        self.structure = structure
        self.part = part
        self.phase: dict[int, int] = {}
        for k in range(*part.rows):
            before = max(map(self._phase, structure.rows[k].operands), default=0)
            self.phase[k] = before + (k in scans)
        self.scans = [k for k in self.phase if k in scans]
        self.phases = 1 + max(self.phase.values())
        operands = [structure.rows[k].operands[0] for k in self.scans]
        read = list(filter(self.is_read, operands))
        for phase in range(self.phases):
            rows, stores, folds = self.at(phase)
            refs = [ref for k in rows for ref in structure.rows[k].operands]
            refs += [ref for ref, _ in stores] + list(map(self._fold, folds))
            read += [ref for ref in refs if self.is_read(ref, phase)]
        self.saved = sorted({ref.index for ref in read})

    def _phase(self, ref: Ref) -> int:
        return self.phase.get(ref.index, 0) if ref.kind == "row" else 0

    def is_read(self, ref: Ref, phase: int = -1) -> bool:
        """Return True if the loop of a phase reads the value from another loop over the block."""
        if ref.kind != "row" or ref.index not in self.phase:
            return False
        return ref.index in self.scans or self.phase[ref.index] != phase

    def at(self, phase: int) -> tuple[list[int], list[tuple[Ref, int]], list[int]]:
        """Return the statements, stores and reductions of the elementwise loop of a phase."""
        part = self.part
        rows = [k for k, p in self.phase.items() if p == phase and k not in self.scans]
        stores = [
            (ref, result)
            for ref, result in part.stores
            if self._phase(ref) == phase and not (ref.kind == "row" and ref.index in self.scans)
        ]
        folds = range(*part.folds)
        return rows, stores, [i for i in folds if self._phase(self._fold(i)) == phase]

    def _fold(self, i: int) -> Ref:
        return self.structure.folds[i].operand


def beginning(scan: Fold) -> str:
    """Return the initial total of a cumulative op, which must preserve a first element of -0.0."""
    if isinstance(scan.op, Sum) and np.dtype(scan.dtype).kind == "f":
        return f"{scan.dtype}(-0.0)"
    return start(scan, scan.dtype)


__all__ = ["ScanText", "has_scans"]
