"""Nests of several passes: rows stay in registers, or each pass reads them again.

Each thread of a row holds some of its vectors of 16 bytes; the stride between them is the number of
threads.  Values that one pass keeps for another also stay in registers, and the kernel writes only
results that other steps read.  If a row is too long for registers, every pass reads it again,
usually from the cache.  The largest element and the sum of exponentials then share one pass.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from relgraph.lowering.kernels import Pass, Structure
from relgraph.lowering.loops.builder import ONE, ZERO
from relgraph.lowering.loops.nodes import Buffer, Function, Op, Scalar, Var, const
from relgraph.lowering.nests.folds import cast
from relgraph.lowering.nests.grid.nest import BYTES, GridNest
from relgraph.lowering.nests.grid.online import Online, online
from relgraph.lowering.nests.grid.totals import Totals
from relgraph.lowering.nests.writer import Array
from relgraph.lowering.refs import Ref
from relgraph.ops.elementwise import add, exp, maximum, multiply, subtract

REGISTERS = 24  # of 4 bytes, for the elements that a thread holds
VECTORS = 2  # the most vectors of a row that a thread holds
SCALARS = 6  # the most elements that a thread holds if it cannot read vectors
COUNT, LENGTH = Var("k", "int64"), Var("m", "int64")


def kinds(structure: Structure) -> list[str] | None:
    """Return which axes of the loop nest each array spans; None if one spans them in another way.

    An array is "full", "row" (one element for each row), "column" (one row for all) or "one".
    """
    result = []
    for _, spans in structure.arrays:
        outer = {s for s, r in zip(spans, structure.reduced, strict=True) if not r}
        inner = {s for s, r in zip(spans, structure.reduced, strict=True) if r}
        if len(outer) > 1 or len(inner) > 1:
            return None
        row, column = outer == {True}, inner == {True}
        result.append("full" if row and column else "row" if row else "column" if column else "one")
    return result


def vector_of(structure: Structure) -> int:
    """Return how many consecutive elements make a vector."""
    sizes = [
        np.dtype(dtype).itemsize
        for (dtype, _), kind in zip(structure.arrays, kinds(structure) or (), strict=False)
        if kind in ("full", "column")
    ]
    sizes += [np.dtype(dtype).itemsize for dtype, full in structure.results if full]
    return max(1, min(8, BYTES // max(sizes, default=8)))


def held(structure: Structure, lanes: int) -> int:
    """Return how many vectors of a row a thread can hold in registers."""
    full = [
        dtype
        for (dtype, _), kind in zip(structure.arrays, kinds(structure) or (), strict=False)
        if kind == "full"
    ]
    full += [dtype for dtype, spans in structure.results if spans]
    words = sum(max(1, np.dtype(dtype).itemsize // 4) for dtype in full)
    elements = max(1, REGISTERS // max(1, words))
    most = VECTORS if lanes > 1 else min(SCALARS, VECTORS * vector_of(structure))
    return max(1, min(most, elements // lanes))


class Place(NamedTuple):
    """Where an element of a row is: among the elements of all rows, and of its own."""

    full: Scalar
    column: Scalar


class GridRows(GridNest):
    """The nest of a structure with several passes.

    Parameters
    ----------
    structure : Structure
        The structure.
    lanes : int
        Elements of a vector.
    capacity : int
        The most elements of a row that the threads of a group hold; 0 to read them in each pass.
    unread : frozenset of int
        Results that nothing but a later pass reads: they are not written if a row is held.
    """

    def __init__(
        self, structure: Structure, lanes: int, capacity: int, unread: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(structure)
        s = structure
        self.lanes = const(lanes, "int64")
        self.capacity = capacity
        self.unread = unread if capacity else frozenset()
        self.kinds = kinds(s) or []
        self.arrays = [
            self.spread(f"x{k}", dtype, kind)
            for k, ((dtype, _), kind) in enumerate(zip(s.arrays, self.kinds, strict=True))
        ]
        self.results = [
            self.spread(f"o{k}", dtype, "full" if full else "row")
            for k, (dtype, full) in enumerate(s.results)
        ]
        self.readers: dict[tuple[str, int], int] = {}  # the last pass that reads something
        self.writers: dict[int, int] = {}  # and the last one that writes a result
        for number, part in enumerate(s.passes):
            for ref in self.refs(part):
                self.readers[ref.kind, ref.index] = number
            self.writers.update({result: number for _, result in part.stores})
        self.online = None if capacity else online(s, self.kinds)
        self.near: dict[tuple[str, int], Buffer] = {}  # what the threads of a group hold
        self.row: Scalar = ZERO  # the number of the row, and of its first element
        self.first: Scalar = ZERO

    def spread(self, name: str, dtype: str, kind: str) -> Array:
        """Return an array parameter, whose size rows and their lengths tell."""
        every = Op("mul", (COUNT, LENGTH), "int64")
        size = {"full": every, "row": COUNT, "column": LENGTH, "one": ONE}[kind]
        return Array(Buffer(name, dtype, (size,)), (kind != "one",))

    def refs(self, part: Pass) -> list[Ref]:
        """Return what a pass reads."""
        return [*self.structure.operands(part), *[ref for ref, _ in part.stores]]

    def kernel(self, name: str) -> Function:
        """Return the kernel; its integers are the number of rows and of elements in each."""
        b = self.builder
        self.begin()
        with b.loop(ZERO, COUNT, level="rows") as loop:
            self.row, self.first = loop.index, b.mul(loop.index, LENGTH)
            for k, kind in enumerate(self.kinds):
                if kind == "row":
                    self.load(k, self.row)
            for number, part in enumerate(self.structure.passes):
                if part.inner:
                    self.over_elements(part, number)
                else:
                    self.once(part)
        return self.finish(name, (COUNT, LENGTH), [x.buffer for x in self.results])

    def once(self, part: Pass) -> None:
        """Write the statements that run once for a row."""
        for k in range(*part.rows):
            self.compute(k)
        for ref, result in part.stores:
            if result not in self.unread:
                self.builder.store(self.results[result].buffer, [self.row], self.value(ref))

    # Passes over the elements of a row.

    def over_elements(self, part: Pass, number: int) -> None:
        """Write a pass."""
        numbers = range(*part.folds)
        totals = Totals(self.builder, [self.structure.folds[i] for i in numbers])
        merged = self.online
        if merged is not None and number == merged.first:
            own = self.running(merged)
        elif merged is not None and number == merged.second:
            own = self.rest(merged, part, number, totals)
        else:
            own = self.elements(part, number, totals)
        for i, fold, total in zip(numbers, totals.folds, totals.joined(own), strict=True):
            self.values["fold", i] = totals.finished(fold, total, LENGTH)

    def elements(self, part: Pass, number: int, totals: Totals) -> list[Scalar]:
        """Write the loop of a pass, and return the totals of a thread."""
        b = self.builder
        level = "held" if self.capacity else "group"
        with b.loop(ZERO, self.count_of_vectors(), totals.starts(), level=level, name="q") as loop:
            place = self.start_of(loop.index)
            with b.loop(ZERO, self.lanes, loop.vars, level="lanes") as lane:
                at = Place(b.add(place.full, lane.index), b.add(place.column, lane.index))
                self.read_element(part, number, at)
                for k in range(*part.rows):
                    self.compute(k)
                for ref, result in part.stores:
                    self.keep(result, number, at, self.value(ref))
                values = [self.value(fold.operand) for fold in totals.folds]
                lane.next = totals.following(lane.vars, values)
            loop.next = lane.vars
        return loop.vars

    def count_of_vectors(self) -> Scalar:
        """Return how many vectors a row has."""
        return self.builder.op("div", LENGTH, self.lanes, dtype="int64")

    def start_of(self, vector: Scalar) -> Place:
        """Return where the first element of a vector is."""
        column = self.builder.mul(vector, self.lanes)
        return Place(self.builder.add(self.first, column), column)

    # What a pass reads and writes.

    def read_element(self, part: Pass, number: int, at: Place) -> None:
        """Load what a pass needs of an element, or compute again what an earlier pass did."""
        refs = self.refs(part)
        recomputed = {} if self.online is None else self.online.recomputed
        again = [ref.index for ref in refs if ref.kind == "kept" and ref.index in recomputed]
        arrays = {ref.index for ref in refs if ref.kind == "array"}
        if again and self.online is not None:
            arrays.add(self.online.array)
        for k in sorted(arrays):
            if self.kinds[k] in ("full", "column"):
                self.read_array(k, number, at)
        if again and self.online is not None:
            for k in self.online.rows:
                self.compute(k)
        for k in again:
            self.values["kept", k] = self.value(recomputed[k])
        for k in sorted({ref.index for ref in refs if ref.kind == "kept"} - set(again)):
            near = self.near.get(("kept", k))
            self.values["kept", k] = (
                self.builder.load(self.results[k].buffer, [at.full])
                if near is None
                else self.builder.load(near, [at.column])
            )

    def read_array(self, k: int, number: int, at: Place) -> None:
        """Load an element of an operand, and hold it if a later pass reads it."""
        near = self.near.get(("array", k))
        if near is not None:
            self.values["array", k] = self.builder.load(near, [at.column])
            return
        self.load(k, at.full if self.kinds[k] == "full" else at.column)
        self.hold("array", k, number, at, self.values["array", k])

    def hold(self, kind: str, k: int, number: int, at: Place, value: Scalar) -> None:
        """Hold a value if a later pass reads it, and a row fits in registers."""
        if not self.capacity or self.readers.get((kind, k), number) <= number:
            return
        if (kind, k) not in self.near:
            self.near[kind, k] = self.builder.stack("h", value.dtype, [self.capacity])
        self.builder.store(self.near[kind, k], [at.column], value)

    def keep(self, result: int, number: int, at: Place, value: Scalar) -> None:
        """Keep a value for later passes, and write it if it is a result."""
        merged = self.online
        if merged is not None and number == merged.second and result in merged.recomputed:
            return
        self.hold("kept", result, number, at, value)
        if self.capacity and (self.writers[result] != number or result in self.unread):
            return
        self.builder.store(self.results[result].buffer, [at.full], value)

    # A maximum and the sum of exponentials in one pass.

    def running(self, merged: Online) -> list[Scalar]:
        """Write the pass that keeps the largest element together with the sum of exponentials."""
        b, s = self.builder, self.structure
        difference, exponential = [s.rows[k] for k in merged.rows]
        dtype = s.folds[merged.top].dtype
        nothing = [const(-math.inf, dtype), const(0.0, "float64")]
        near = b.stack("e", dtype, [self.lanes.value])
        with b.loop(ZERO, self.count_of_vectors(), nothing, level="group", name="q") as loop:
            top, total = loop.vars
            place = self.start_of(loop.index)
            with b.loop(ZERO, self.lanes, [top], level="lanes") as lane:
                self.load(merged.array, b.add(place.full, lane.index))
                value = self.values["array", merged.array]
                b.store(near, [lane.index], value)
                lane.next = [b.apply(maximum, lane.vars[0], value)]
            (best,) = lane.vars
            same = b.op("equal", best, top, dtype="bool")
            (scaled,) = b.choice(same, lambda: [total], lambda: [self.scaled(total, top, best)])
            with b.loop(ZERO, self.lanes, [scaled], level="lanes") as lane:
                value = b.load(near, [lane.index])
                x = b.op(difference.op, value, best, dtype=difference.dtype)
                x = cast(b, b.op(exponential.op, x, dtype=exponential.dtype), "float64")
                # The largest so far may be -inf.
                least = b.op("equal", value, nothing[0], dtype="bool")
                term = b.op("select", least, nothing[1], x, dtype="float64")
                lane.next = [b.apply(add, lane.vars[0], term)]
            loop.next = [best, *lane.vars]
        self.own = list(loop.vars)
        return loop.vars[:1]

    def scaled(self, total: Scalar, top: Scalar, other: Scalar) -> Scalar:
        """Return a sum of exponentials relative to another number."""
        b = self.builder
        distance = b.apply(subtract, cast(b, top, "float64"), cast(b, other, "float64"))
        return b.apply(multiply, total, b.apply(exp, distance))

    def rest(self, merged: Online, part: Pass, number: int, totals: Totals) -> list[Scalar]:
        """Return the sum of a thread, which a pass of its own computes for some rows.

        They are those whose largest element is not finite.
        """
        b, top = self.builder, self.values["fold", merged.top]
        zero = b.apply(subtract, top, top)
        finite = b.op("equal", zero, const(0.0, zero.dtype), dtype="bool")
        own, total = self.own
        return b.choice(
            finite,
            lambda: [self.scaled(total, own, top)],
            lambda: self.elements(part, number, totals),
        )


__all__ = ["GridRows", "held", "kinds", "vector_of"]
