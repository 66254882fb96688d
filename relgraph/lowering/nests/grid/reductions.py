"""Nests with reductions: a first pass over parts of the elements, and a second over the parts.

The second pass combines the partial results in a fixed order.  If the last group of the nest is
reduced, the threads of a group share a result and read consecutive elements.  If it is kept, each
thread computes its own results, and adjacent threads read adjacent columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from relgraph.lowering.kernels import Fold, Structure
from relgraph.lowering.loops.builder import ONE, ZERO
from relgraph.lowering.loops.nodes import Buffer, Function, Op, Scalar, Var, const
from relgraph.lowering.nests.grid.elements import width
from relgraph.lowering.nests.grid.nest import VECTORS, GridBuilder, GridNest
from relgraph.lowering.nests.grid.totals import Totals, accumulator

RESULTS, TERMS = Var("k", "int64"), Var("m", "int64")
PARTS, PART = Var("parts", "int64"), Var("part", "int64")


def shares(structure: Structure) -> bool:
    """Return True if consecutive elements belong to one result."""
    return structure.reduced[-1]


def lanes_of(structure: Structure) -> int:
    """Return how many consecutive elements of a result a thread reads together."""
    return width(structure) if shares(structure) and _is_simple(structure) else 1


def _is_simple(structure: Structure) -> bool:
    """Return True if the elements of one result are contiguous in the arrays that span them."""
    first = structure.reduced.index(True)
    if structure.stored or not all(structure.reduced[first:]):
        return False
    return all(
        len(set(spans[first:])) == 1 and (not spans[first] or len(set(spans[:first])) <= 1)
        for _, spans in structure.arrays
    )


def _results(folds: Sequence[Fold]) -> list[tuple[Buffer, Buffer]]:
    """Return the arrays of the results, and of the partial ones, part by part."""
    count = Op("mul", (RESULTS, PARTS), "int64")
    return [
        (Buffer(f"r{i}", fold.dtype, (RESULTS,)), Buffer(f"p{i}", accumulator(fold), (count,)))
        for i, fold in enumerate(folds)
    ]


class GridReductions(GridNest):
    """The first pass of a structure with reductions."""

    def __init__(self, structure: Structure) -> None:
        super().__init__(structure)
        s = structure
        self.shared = shares(s)
        self.lanes = lanes_of(s)
        self.kept = [g for g, r in enumerate(s.reduced) if not r]
        self.reduced = [g for g, r in enumerate(s.reduced) if r]
        every = (True,) * self.count
        self.stored = [
            self.flat(f"o{i}", s.rows[row].dtype, every) for i, row in enumerate(s.stored)
        ]
        self.results = _results(s.folds)
        self.totals = Totals(self.builder, s.folds)

    def kernel(self, name: str) -> Function:
        """Return the kernel.

        Its integers are the number of results, of elements of each, of parts, of elements in a part
        (a multiple of a vector's), whether vectors may be read, and the sizes of the groups.
        """
        b = self.builder
        self.begin()
        level = "rows" if self.shared else "grid"
        with b.loop(ZERO, b.mul(RESULTS, PARTS), level=level, name="row") as loop:
            part = b.op("div", loop.index, RESULTS, dtype="int64")
            result = b.sub(loop.index, b.mul(part, RESULTS))
            low = b.mul(part, PART)
            high = b.least(b.add(low, PART), TERMS)
            self.split(result, self.kept)
            for k, x in enumerate(self.arrays):
                if any(x.spans) and not self.varies(k):
                    self.load(k, self.offset(x.spans))
            totals = self.totals.starts()
            if self.lanes > 1:
                low, totals = self.vectors(result, low, high)
            inner = "group" if self.shared else ""
            with b.loop(low, high, totals, level=inner, name="j") as each:
                each.next = self.totals.following(each.vars, self.terms(each.index))
            totals = self.totals.joined(each.vars) if self.shared else each.vars
            self.write(result, loop.index, totals)
        integers = (RESULTS, TERMS, PARTS, PART, VECTORS, *self.integers)
        arrays = [*[x.buffer for x in self.stored], *[x for pair in self.results for x in pair]]
        return self.finish(name, integers, arrays)

    def varies(self, k: int) -> bool:
        """Return True for an operand that spans a reduced group."""
        return any([self.arrays[k].spans[g] for g in self.reduced])

    def terms(self, number: Scalar) -> list[Scalar]:
        """Compute an element, and return what the reductions get of it."""
        self.split(number, self.reduced)
        for k, x in enumerate(self.arrays):
            if self.varies(k):
                self.load(k, self.offset(x.spans))
        values = self.computed()
        for x, row in zip(self.stored, self.structure.stored, strict=True):
            self.builder.store(x.buffer, [self.offset(x.spans)], self.values["row", row])
        return values

    def computed(self) -> list[Scalar]:
        """Write the statements, and return the operands of the reductions."""
        for k in range(len(self.structure.rows)):
            self.compute(k)
        return [self.value(fold.operand) for fold in self.structure.folds]

    def vectors(self, result: Scalar, low: Scalar, high: Scalar) -> tuple[Scalar, list[Scalar]]:
        """Write a loop over the vectors of a part; return where it ends, and the totals.

        There is a total for each element of a vector.
        """
        b, folds = self.builder, self.structure.folds
        lanes = const(self.lanes, "int64")
        own = [b.stack("a", accumulator(fold), [self.lanes]) for fold in folds]
        with b.loop(ZERO, lanes, level="lanes") as lane:
            for buffer, start in zip(own, self.totals.starts(), strict=True):
                b.store(buffer, [lane.index], start)
        whole = b.op("div", b.sub(high, low), lanes, dtype="int64")
        count = b.op("select", b.op("less", ZERO, VECTORS, dtype="bool"), whole, ZERO,
                     dtype="int64")  # fmt: skip
        with b.loop(ZERO, count, level="group", name="q") as vector:
            first = b.add(low, b.mul(vector.index, lanes))
            row = b.add(b.mul(result, TERMS), first)
            with b.loop(ZERO, lanes, level="lanes") as lane:
                for k, x in enumerate(self.arrays):
                    if self.varies(k):
                        full = any([x.spans[g] for g in self.kept])
                        self.load(k, b.add(row if full else first, lane.index))
                totals = [b.load(buffer, [lane.index]) for buffer in own]
                following = self.totals.following(totals, self.computed())
                for buffer, total in zip(own, following, strict=True):
                    b.store(buffer, [lane.index], total)
        totals = self.totals.starts()
        for i in range(self.lanes):
            others = [b.load(buffer, [const(i, "int64")]) for buffer in own]
            totals = [
                self.totals.combined(fold, *pair)
                for fold, *pair in zip(folds, totals, others, strict=True)
            ]
        return b.add(low, b.mul(count, lanes)), totals

    def write(self, result: Scalar, row: Scalar, totals: Sequence[Scalar]) -> None:
        """Write results, or partial ones if there are several parts."""
        b, pairs = self.builder, list(zip(self.structure.folds, self.results, strict=True))

        def whole() -> list[Scalar]:
            for (fold, (out, _)), total in zip(pairs, totals, strict=True):
                b.store(out, [result], self.totals.finished(fold, total, TERMS))
            return []

        def partial() -> list[Scalar]:
            for (_, (_, out)), total in zip(pairs, totals, strict=True):
                b.store(out, [row], total)
            return []

        b.choice(b.op("equal", PARTS, ONE, dtype="bool"), whole, partial)


def second_pass(folds: Sequence[Fold], name: str) -> Function:
    """Return the second pass, in which a group of threads combines the parts of each result.

    Its integers are the number of results, of parts and of elements of each result.
    """
    b = GridBuilder()
    totals, results = Totals(b, folds), _results(folds)
    with b.loop(ZERO, RESULTS, level="rows", name="r") as loop:
        with b.loop(ZERO, PARTS, totals.starts(), level="group", name="s") as part:
            at = b.add(b.mul(part.index, RESULTS), loop.index)
            others = [b.load(partial, [at]) for _, partial in results]
            part.next = [
                totals.combined(fold, *pair)
                for fold, *pair in zip(folds, part.vars, others, strict=True)
            ]
        whole = totals.joined(part.vars)
        for fold, (out, _), total in zip(folds, results, whole, strict=True):
            b.store(out, [loop.index], totals.finished(fold, total, TERMS))
    arrays = tuple([x for pair in results for x in pair])
    return Function(name, (RESULTS, PARTS, TERMS), arrays, b.body)


__all__ = ["GridReductions", "lanes_of", "second_pass", "shares"]
