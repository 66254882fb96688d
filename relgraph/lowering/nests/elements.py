"""Nests with one pass: elementwise statements, and reductions of what they compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relgraph.ir.op import Op
from relgraph.lowering.kernels import Fold, Structure
from relgraph.lowering.loops.builder import ONE, ZERO
from relgraph.lowering.loops.nodes import START, STOP, Buffer, Function, Scalar, const
from relgraph.lowering.nests.folds import (
    Folds,
    added,
    cast,
    identity,
    in_blocks,
    joined,
    joined_pair,
    mean,
    result,
    sums_exponentials,
)
from relgraph.lowering.nests.writer import (
    FINISH,
    HEAD,
    ROWS,
    Array,
    Innermost,
    Nest,
    Place,
    parameter,
)
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.reductions import Mean

EVEN = 64  # a range whose results go past the cache begins at a multiple of this many elements


class Elements(Nest):
    """The nest of a structure with one pass.

    Attributes
    ----------
    partial : bool
        Whether the outermost loop is reduced.
    inner : bool
        Whether the innermost loop is reduced.
    accumulates : bool
        Whether reductions accumulate in memory, because a loop inside of a reduced one is not.
    few : int
        The size of that loop if it is the only one and short.  It is unrolled, and reductions
        accumulate in registers.
    """

    def __init__(self, structure: Structure, past: bool = False) -> None:
        super().__init__(structure, past)
        s = structure
        self.stored = [self.result(i) for i in range(len(s.stored))]
        self.suffix = self.count
        while self.suffix > 0 and s.reduced[self.suffix - 1]:
            self.suffix -= 1
        self.inner = self.suffix < self.count
        self.partial = bool(s.folds) and s.reduced[0]
        self.accumulates = any(s.reduced[: self.suffix])
        self.kept = [g for g, reduced in enumerate(s.reduced) if not reduced and g]
        self.pairs = [i for i, fold in enumerate(s.folds) if sums_exponentials(fold)]
        kept = tuple([not r for r in s.reduced])
        self.folded = [
            parameter(f"r{i}", fold.dtype, self.sizes, kept) for i, fold in enumerate(s.folds)
        ]
        sizes = (STOP, *[self.sizes[g] for g in self.kept])
        alone = self.accumulates and self.kept == [self.count - 1]
        self.few = s.row if alone and s.row is not None else 0
        self.totals = [
            self.builder.stack("totals", self.total(f), [self.few]) for f in s.folds if self.few
        ]
        self.parts = [Buffer(f"w{i}", self.total(f), sizes) for i, f in enumerate(s.folds)]
        self.tops = {i: Buffer(f"u{i}", "float64", (STOP,)) for i in self.pairs}
        self.combined = len(self.parts) + len(self.tops) if self.partial else 0
        self.folds = Folds(self.builder, s.folds if self.inner else ())
        self.part: Scalar = ZERO
        self.staged = self.scattered()
        self.constant: set[int] = set()

    def result(self, i: int) -> Array:
        """Return an elementwise result, or the part of an array that is updated."""
        s = self.structure
        target = s.targets[i] if s.targets else None
        dtype, steps = s.rows[s.stored[i]].dtype, target.strides if target else ()
        return parameter(f"o{i}", dtype, self.sizes, (True,) * self.count, steps)

    def total(self, fold: Fold) -> str:
        """Return the dtype of the accumulator of a reduction."""
        return "float64" if self.partial and self.inner and in_blocks(fold) else fold.dtype

    def scattered(self) -> list[int]:
        """Return the strided arrays whose elements are first copied to a contiguous buffer.

        LLVM does not vectorise a loop that would have to gather the operands of a long function.
        """
        if not any([has_polynomial(row.op) for row in self.structure.rows]):
            return []
        return [k for k, x in enumerate(self.arrays) if x.is_strided and x.spans[-1]]

    def functions(self, name: str) -> list[Function]:
        """Return the kernel and, if it has partial results, the function that combines them."""
        self.body()
        results, more = [*self.stored, *self.folded], [*self.parts, *self.tops.values()]
        if not self.partial:
            return [self.function(name, results)]
        kernel = self.function(name, results, more, True)
        finish = type(self)(self.structure)
        finish.combine()
        return [kernel, finish.function(name + FINISH, results, more, True)]

    # The kernel.

    def body(self) -> None:
        """Write the kernel."""
        b = self.builder
        self.read_slots()
        self.read(-1)
        self.compute_constants()
        if not self.partial:
            self.nest(0, START, STOP, [])
            return
        with b.loop(START, STOP, name="b") as part:
            self.part = part.index
            first = b.mul(part.index, ROWS)
            if self.accumulates:
                self.fill()
            self.nest(0, first, b.least(b.add(first, ROWS), self.sizes[0]), [])
            if self.few:
                self.divide()

    def compute_constants(self) -> None:
        """Write the statements that no loop changes."""
        s = self.structure
        for k, row in enumerate(s.rows):
            if k not in s.stored and all(
                ref.kind in ("slot", "literal")
                or (ref.kind == "row" and ref.index in self.constant)
                or (ref.kind == "array" and self.arrays[ref.index].innermost < 0)
                for ref in row.operands
            ):
                self.constant.add(k)
                self.compute(k)

    def nest(self, g: int, low: Scalar, high: Scalar, totals: list[Scalar]) -> list[Scalar]:
        """Write the loops from a group on, and return the totals of reductions."""
        b = self.builder
        if g == self.suffix:
            totals = self.folds.starts()
        if g == self.count - 1:
            totals = self.last(low, high, totals)
        else:
            alone = g == 0 and self.accumulates and not self.partial
            with b.loop(low, high, totals) as loop:
                self.index[g] = loop.index
                self.read(g)
                if alone:
                    self.fill()
                loop.next = self.nest(g + 1, ZERO, self.sizes[g + 1], loop.vars)
                if alone:
                    self.divide()
            totals = loop.vars
        if g == self.suffix:
            self.store(totals)
            return []
        return totals

    def last(self, low: Scalar, high: Scalar, totals: list[Scalar]) -> list[Scalar]:
        """Write the innermost loop."""
        b = self.builder
        if self.few:
            self.over_kept(self.next_terms)
            return totals
        offset: Scalar = ZERO
        if self.past and self.count == 1:  # ``head`` elements are before a line of the cache
            even = const(EVEN, "int64")
            low = b.mul(b.op("div", low, even, dtype="int64"), even)
            high, offset = b.least(high, b.sub(self.sizes[0], HEAD)), HEAD
        streamed = self.stored if self.past else ()
        inner = Innermost(self.folds, self.iteration, self.staged, streamed, offset)
        return self.innermost(low, high, totals, inner)

    def iteration(self, here: Place) -> Sequence[Scalar]:
        """Write an iteration of the innermost loop, and return the terms of reductions."""
        b, s = self.builder, self.structure
        for k, array in enumerate(self.arrays):
            if array.spans[-1]:
                buffer = here.near.get(k)
                value = self.element(array) if buffer is None else b.load(buffer, [here.number])
                self.values["array", k] = value
        for k in range(len(s.rows)):
            if k not in self.constant:
                self.compute(k)
        for i, k in enumerate(s.stored):
            self.write(i, self.values["row", k], here)
        terms = [self.value(fold.operand) for fold in s.folds]
        if self.inner:
            return terms
        for i, (fold, x) in enumerate(zip(s.folds, terms, strict=True)):
            buffer, at = self.target(i)
            # If all reduced axes have size 1, each result is a single term.
            total = b.load(buffer, at) if self.accumulates else identity(fold, fold.dtype)
            b.store(buffer, at, joined(b, fold, total, cast(b, x, fold.dtype)))
        return []

    def write(self, i: int, value: Scalar, here: Place) -> None:
        """Store a value, or combine it with the stored one."""
        b, array = self.builder, self.stored[i]
        far = here.far.get(array.buffer)
        buffer, at = (array.buffer, self.place(array)) if far is None else (far, [here.number])
        target = self.structure.targets[i] if self.structure.targets else None
        if target is not None and target.op is not None:
            value = b.apply(target.op, b.load(buffer, at), value)
        b.store(buffer, at, value)

    # Reductions that accumulate in memory.

    def target(self, i: int) -> tuple[Buffer, list[Scalar]]:
        """Return the element in which a reduction accumulates."""
        return (self.totals[i], self.index[-1:]) if self.few else self.stored_total(i)

    def stored_total(self, i: int) -> tuple[Buffer, list[Scalar]]:
        """Return the element in memory that a reduction has in the end."""
        if not self.partial:
            return self.folded[i].buffer, self.place(self.folded[i])
        return self.parts[i], [self.part, *[self.index[g] for g in self.kept]]

    def fill(self) -> None:
        """Write the identity elements."""

        def write() -> None:
            for i, fold in enumerate(self.structure.folds):
                self.builder.store(*self.target(i), identity(fold, self.total(fold)))

        self.over_kept(write)

    def divide(self) -> None:
        """Divide the means that were accumulated, and store what is still in registers."""
        means = [i for i, fold in enumerate(self.structure.folds) if isinstance(fold.op, Mean)]
        changed = range(len(self.totals)) if self.few else means

        def write() -> None:
            for i in changed:
                total = self.builder.load(*self.target(i))
                total = total if self.partial else self.finished(i, total)
                self.builder.store(*self.stored_total(i), total)

        if changed:
            self.over_kept(write)

    def finished(self, i: int, total: Scalar) -> Scalar:
        """Return the result of a total over all terms."""
        b, fold = self.builder, self.structure.folds[i]
        if any(self.structure.reduced):
            wide = cast(b, total, "float64") if self.inner and isinstance(fold.op, Mean) else total
            total = mean(b, fold, wide, self.terms())
        return cast(b, total, fold.dtype)

    def terms(self) -> Scalar:
        """Return the number of terms of a reduction."""
        number: Scalar = ONE
        for n, reduced in zip(self.sizes, self.structure.reduced, strict=True):
            number = self.builder.mul(number, n) if reduced else number
        return number

    def next_terms(self) -> None:
        """Write an iteration whose reductions accumulate in registers."""
        self.iteration(Place(ZERO))

    def over_kept(self, write: Callable[[], None]) -> None:
        """Write loops over the groups that are kept, inside of the outermost one."""
        if not self.few:
            self.over(self.kept, write)
        for i in range(self.few):
            self.index[-1] = const(i, "int64")
            write()

    def store(self, totals: Sequence[Scalar]) -> None:
        """Store the reductions of the inner loops."""
        b = self.builder
        for i, (fold, own) in enumerate(self.folds.split(totals)):
            if sums_exponentials(fold):
                b.store(self.tops[i], [self.part], own[0])
                b.store(self.parts[i], [self.part], own[1])
                continue
            total = result(b, fold, own)
            if not self.accumulates and not self.partial:
                total = self.finished(i, total)
            buffer, at = self.target(i)
            total = cast(b, total, self.total(fold))
            if self.accumulates:
                total = joined(b, fold, b.load(buffer, at), total)
            b.store(buffer, at, total)

    # The function that combines partial results.

    def combine(self) -> None:
        """Write the function that combines partial results."""
        if self.kept:
            self.combine_rows()
        else:
            self.combine_scalars()

    def combine_scalars(self) -> None:
        """Write a loop over partial results, each of which is a scalar."""
        b, s = self.builder, self.structure
        folds = Folds(b, s.folds)
        with b.loop(START, STOP, folds.starts(), name="b") as loop:
            for i, (fold, own) in enumerate(folds.split(loop.vars)):
                part = b.load(self.parts[i], [loop.index])
                if sums_exponentials(fold):
                    loop.next += joined_pair(b, own, [b.load(self.tops[i], [loop.index]), part])
                elif in_blocks(fold):
                    loop.next += added(b, own[0], own[1], cast(b, part, "float64"))
                else:
                    loop.next.append(joined(b, fold, own[0], part))
        for i, total in enumerate(folds.results(loop.vars)):
            b.store(self.folded[i].buffer, [ZERO], self.finished(i, total))

    def combine_rows(self) -> None:
        """Write loops over partial results that are arrays."""
        b, folds = self.builder, self.structure.folds

        def at(part: Scalar) -> list[Scalar]:
            return [part, *[self.index[g] for g in self.kept]]

        def add_part() -> None:
            for fold, part in zip(folds, self.parts, strict=True):
                total = joined(b, fold, b.load(part, at(ZERO)), b.load(part, at(self.part)))
                b.store(part, at(ZERO), total)

        def finish() -> None:
            for i, part in enumerate(self.parts):
                value = self.finished(i, b.load(part, at(ZERO)))
                b.store(self.folded[i].buffer, self.place(self.folded[i]), value)

        with b.loop(ONE, STOP, name="b") as loop:
            self.part = loop.index
            self.over_kept(add_part)
        self.over_kept(finish)


def has_polynomial(op: Op) -> bool:
    """Return True if a polynomial of relgraph's own computes an op."""
    return isinstance(op, Elementwise) and op.row.elementary is not None


__all__ = ["EVEN", "Elements", "has_polynomial"]
