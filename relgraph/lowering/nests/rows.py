"""Nests of several passes over each row.

The outermost loops run over the rows, of which a kernel computes a range.  Their body is a sequence
of statements computed once per row and loops over the elements of the row.  The results of
reductions are variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from relgraph.lowering.kernels import Fold, Pass, Structure
from relgraph.lowering.loops.builder import ZERO
from relgraph.lowering.loops.nodes import START, STOP, Function, Scalar
from relgraph.lowering.nests.folds import Folds, cast, mean, result
from relgraph.lowering.nests.writer import Innermost, Nest, Place, parameter
from relgraph.lowering.refs import Ref


class Rows(Nest):
    """The nest of a structure with passes; the groups that are reduced are those of a row.

    Attributes
    ----------
    first : int
        The first group of a row.
    results : list of Array
        The results.
    """

    def __init__(self, structure: Structure, past: bool = False) -> None:
        super().__init__(structure, past)
        self.first = structure.reduced.index(True)
        outer = tuple([not r for r in structure.reduced])
        self.results = [
            parameter(f"o{i}", dtype, self.sizes, (True,) * self.count if full else outer)
            for i, (dtype, full) in enumerate(structure.results)
        ]

    def functions(self, name: str) -> list[Function]:
        """Return the kernel."""
        self.read_slots()
        self.read(-1)
        self.over_rows(0)
        return [self.function(name, self.results)]

    def over_rows(self, g: int) -> None:
        """Write the loops over the rows from a group on."""
        if g == self.first:
            for part in self.structure.passes:
                self.row_pass(part)
            return
        low, high = (START, STOP) if g == 0 else (ZERO, self.sizes[g])
        with self.builder.loop(low, high) as loop:
            self.index[g] = loop.index
            self.read(g)
            self.over_rows(g + 1)

    def row_pass(self, part: Pass) -> None:
        """Write a pass."""
        if part.inner:
            self.over_elements(part)
            return
        for k in range(*part.rows):
            self.compute(k)
        self.write(part.stores, Place(ZERO))

    def write(self, stores: Iterable[tuple[Ref, int]], here: Place) -> None:
        """Store values to results."""
        for ref, k in stores:
            self.store(k, self.value(ref), here)

    def store(self, k: int, value: Scalar, here: Place) -> None:
        """Store a value to a result."""
        array = self.results[k]
        far = here.far.get(array.buffer)
        if far is None:
            self.builder.store(array.buffer, self.place(array), value)
        else:
            self.builder.store(far, [here.number], value)

    def over_elements(self, part: Pass) -> None:
        """Write a loop over the elements of a row."""
        numbers = range(*part.folds)
        folds = Folds(self.builder, [self.structure.folds[i] for i in numbers])
        totals = self.elements(part, folds, self.first, folds.starts())
        for i, (fold, own) in zip(numbers, folds.split(totals), strict=True):
            self.values["fold", i] = self.reduced(fold, own)

    def elements(self, part: Pass, folds: Folds, g: int, totals: Sequence[Scalar]) -> list[Scalar]:
        """Write the loops over the elements of a row from a group on, and return the totals."""
        if g == self.count - 1:
            return self.last(part, folds, totals)
        with self.builder.loop(ZERO, self.sizes[g], totals) as loop:
            self.index[g] = loop.index
            self.read(g, self.read_by(part))
            loop.next = self.elements(part, folds, g + 1, loop.vars)
        return loop.vars

    def last(self, part: Pass, folds: Folds, totals: Sequence[Scalar]) -> list[Scalar]:
        """Write the innermost loop."""
        full = [self.results[k] for _, k in part.stores if self.results[k].spans[-1]]
        streamed = full if self.past else ()
        inner = Innermost(folds, partial(self.iteration, part), streamed=streamed)
        return self.innermost(ZERO, self.sizes[-1], totals, inner)

    def iteration(self, part: Pass, here: Place) -> list[Scalar]:
        """Write an iteration of the innermost loop, and return the terms of reductions."""
        self.read(self.count - 1, self.read_by(part))
        for ref in self.structure.operands(part):
            if ref.kind == "kept":
                self.values["kept", ref.index] = self.element(self.results[ref.index])
        for k in range(*part.rows):
            self.compute(k)
        self.write(part.stores, here)
        return [self.value(fold.operand) for fold in self.structure.folds[slice(*part.folds)]]

    def read_by(self, part: Pass) -> list[int]:
        """Return the arrays that a pass reads."""
        refs = self.structure.operands(part)
        return sorted({ref.index for ref in refs if ref.kind == "array"})

    def reduced(self, fold: Fold, totals: Sequence[Scalar]) -> Scalar:
        """Return the result of a reduction."""
        b = self.builder
        count = self.sizes[self.first]
        terms: Scalar = count
        for n in self.sizes[self.first + 1 :]:
            terms = b.mul(terms, n)
        return cast(b, mean(b, fold, result(b, fold, totals), terms), fold.dtype)


__all__ = ["Rows"]
