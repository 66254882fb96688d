"""Nests with cumulative ops, whose results depend on each other in order.

Along the last axis a row is split into blocks.  A loop that carries a total from one element to the
next cannot be vectorised, so it does nothing else: a loop before it computes its operands, and a
loop after it uses its results.  Values in between are in block-sized arrays that stay in the L1
cache.

Along another axis each column has its own total.  Such an array holds the totals of a block of
columns, and the loop over these columns is vectorised.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from relgraph.lowering.kernels import Fold, Pass, Structure
from relgraph.lowering.loops.builder import ZERO
from relgraph.lowering.loops.nodes import START, STOP, Buffer, Function, Scalar, const
from relgraph.lowering.nests.folds import BLOCK, Folds, beginning, cast, joined
from relgraph.lowering.nests.rows import Rows
from relgraph.lowering.nests.writer import Place
from relgraph.lowering.refs import Ref
from relgraph.ops.cumulative import Cumulative

PART = 256  # elements of a block; the values that its loops share are on the stack


def has_scans(structure: Structure) -> bool:
    """Return True if a kernel has cumulative ops."""
    return any(isinstance(row.op, Cumulative) for row in structure.rows)


class Scans(Rows):
    """The nest of a structure with cumulative ops, which are along the first group of a row."""

    def __init__(self, structure: Structure) -> None:
        super().__init__(structure)
        self.scans = {
            k: Fold(row.op.fold(None, False), row.operands[0], row.dtype)
            for k, row in enumerate(structure.rows)
            if isinstance(row.op, Cumulative)
        }
        self.saved: dict[int, Buffer] = {}  # of a block: statements that several loops read

    def functions(self, name: str) -> list[Function]:
        """Return the kernel."""
        if self.first == self.count - 1:
            return super().functions(name)
        self._over_columns()
        return [self.function(name, self.results)]

    # Along an axis other than the last.

    def _over_columns(self) -> None:
        """Write loops over blocks of columns, and over the rows inside of each block."""
        self.read_slots()
        self.saved = {
            k: self.builder.stack("totals", scan.dtype, [BLOCK]) for k, scan in self.scans.items()
        }
        self._read_within(set())
        for part in self.structure.passes[:-1]:
            self.row_pass(part)
        self._outside([g for g in range(self.count - 1) if g != self.first], set())

    def _outside(self, groups: Sequence[int], open_: set[int]) -> None:
        """Write the loops over the groups that are not scanned, but for the last one."""
        b = self.builder
        if groups:
            g, *rest = groups
            low, high = (START, STOP) if g == 0 else (ZERO, self.sizes[g])
            with b.loop(low, high) as loop:
                self.index[g] = loop.index
                self._read_within(open_ | {g}, g)
                self._outside(rest, open_ | {g})
            return
        size = self.sizes[-1]
        with b.loop(ZERO, size, step=BLOCK, name="k") as block:
            count = b.least(const(BLOCK, "int64"), b.sub(size, block.index))
            with b.loop(ZERO, count, apart=True) as loop:
                for k, scan in self.scans.items():
                    b.store(self.saved[k], [loop.index], beginning(scan))
            with b.loop(ZERO, self.sizes[self.first]) as rows:
                self.index[self.first] = rows.index
                self._read_within(open_ | {self.first}, self.first)
                with b.loop(block.index, b.add(block.index, count), apart=True) as loop:
                    self.index[-1] = loop.index
                    self._read_within(set(range(self.count)), self.count - 1)
                    self._column(self.structure.passes[-1], b.sub(loop.index, block.index))

    def _read_within(self, loops: set[int], newest: int | None = None) -> None:
        """Load the elements whose last index is that of the newest open loop."""
        for k, array in enumerate(self.arrays):
            groups = {g for g, spanned in enumerate(array.spans) if spanned}
            if groups <= loops and (newest in groups or not loops):
                self.values["array", k] = self.element(array)

    def _column(self, part: Pass, at: Scalar) -> None:
        b = self.builder
        for k in range(*part.rows):
            if k in self.scans:
                self.values["row", k] = self._next(k, b.load(self.saved[k], [at]))
                b.store(self.saved[k], [at], self.values["row", k])
            else:
                self.compute(k)
        self.write(part.stores, Place(at))

    def _next(self, k: int, total: Scalar) -> Scalar:
        """Return the total of a cumulative op with the current element."""
        b, scan = self.builder, self.scans[k]
        return joined(b, scan, total, cast(b, self.value(scan.operand), scan.dtype))

    # Along the last axis.

    def last(self, part: Pass, folds: Folds, totals: Sequence[Scalar]) -> list[Scalar]:
        """Write a pass over the elements of a row."""
        if self.scans.keys().isdisjoint(range(*part.rows)):
            return super().last(part, folds, totals)
        b, plan = self.builder, _Plan(self.structure, part, self.scans)
        for k in plan.saved:
            self.saved[k] = b.stack("part", self.structure.rows[k].dtype, [PART])
        count = len(totals)
        carried = [*totals, *[beginning(self.scans[k]) for k in plan.scans]]
        with b.loop(ZERO, self.sizes[-1], carried, step=PART, name="k") as block:
            end = b.least(b.add(block.index, const(PART, "int64")), self.sizes[-1])
            sums = folds.block_starts(block.vars[:count])
            running = dict(zip(plan.scans, block.vars[count:], strict=True))
            for phase in range(plan.phases):
                scans = [k for k in plan.scans if plan.phase[k] == phase]
                if scans:
                    self._in_order(plan, scans, running, (block.index, end))
                if any(plan.at(phase)):
                    sums = self._side_by_side(plan, phase, folds, sums, (block.index, end))
            after = folds.block_end(block.vars[:count], sums, b.sub(end, block.index))
            block.next = [*after, *[running[k] for k in plan.scans]]
        return block.vars[:count]

    def _in_order(
        self,
        plan: _Plan,
        scans: Sequence[int],
        running: dict[int, Scalar],
        bounds: tuple[Scalar, Scalar],
    ) -> None:
        """Write the loop that carries totals from one element to the next."""
        b, (low, high) = self.builder, bounds
        with b.loop(low, high, [running[k] for k in scans]) as loop:
            self.index[-1] = loop.index
            at = b.sub(loop.index, low)
            self._load([self.scans[k].operand for k in scans], plan, -1, at)
            for k, total in zip(scans, loop.vars, strict=True):
                value = self._next(k, total)
                loop.next.append(value)
                self._save(k, value, at)
                for ref, result in plan.part.stores:
                    if ref.kind == "row" and ref.index == k:
                        self.store(result, value, Place(at))
        running.update(zip(scans, loop.vars, strict=True))

    def _side_by_side(
        self,
        plan: _Plan,
        phase: int,
        folds: Folds,
        sums: Sequence[Scalar],
        bounds: tuple[Scalar, Scalar],
    ) -> list[Scalar]:
        """Write the loop that computes each element independently, and return the totals."""
        b, (low, high) = self.builder, bounds
        rows, stores, numbers = plan.at(phase)
        reduced = [self.structure.folds[i] for i in numbers]
        first = plan.part.folds[0]
        with b.loop(low, high, [sums[i - first] for i in numbers], apart=True) as loop:
            self.index[-1] = loop.index
            at = b.sub(loop.index, low)
            self._load(plan.read_at(phase), plan, phase, at)
            for k in rows:
                self._save(k, self.compute(k), at)
            self.write(stores, Place(at))
            terms = [self.value(fold.operand) for fold in reduced]
            loop.next = Folds(b, reduced).joined(loop.vars, terms, at)
        after = list(sums)
        for i, total in zip(numbers, loop.vars, strict=True):
            after[i - first] = total
        return after

    def _load(self, refs: Sequence[Ref], plan: _Plan, phase: int, at: Scalar) -> None:
        """Load the current elements of what a loop reads."""
        for ref in dict.fromkeys(refs):
            if plan.is_read(ref, phase):
                self.values["row", ref.index] = self.builder.load(self.saved[ref.index], [at])
            elif ref.kind == "array" and self.arrays[ref.index].spans[-1]:
                self.values["array", ref.index] = self.element(self.arrays[ref.index])
            elif ref.kind == "kept":
                self.values["kept", ref.index] = self.element(self.results[ref.index])

    def _save(self, k: int, value: Scalar, at: Scalar) -> None:
        """Save the value of a statement if other loops read it."""
        if k in self.saved:
            self.builder.store(self.saved[k], [at], value)


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
            read += [ref for ref in self.read_at(phase) if self.is_read(ref, phase)]
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

    def read_at(self, phase: int) -> list[Ref]:
        """Return the references that the elementwise loop of a phase reads."""
        rows, stores, folds = self.at(phase)
        refs = [ref for k in rows for ref in self.structure.rows[k].operands]
        return refs + [ref for ref, _ in stores] + list(map(self._fold, folds))

    def _fold(self, i: int) -> Ref:
        return self.structure.folds[i].operand


__all__ = ["Scans", "has_scans"]
