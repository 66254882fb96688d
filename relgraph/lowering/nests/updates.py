"""Nests that update the elements of an array at indices from another array.

Indices may repeat, so the elements are updated in order.  Values that take functions, or more than
a few operations, are computed beforehand, in vectorised blocks that stay in the cache.
"""

from __future__ import annotations

from relgraph.lowering.kernels import Structure
from relgraph.lowering.loops.builder import ZERO
from relgraph.lowering.loops.nodes import Buffer, Scalar, const
from relgraph.lowering.nests.elements import Elements, has_polynomial
from relgraph.lowering.nests.folds import BLOCK, cast
from relgraph.lowering.nests.writer import Array, Place, parameter

FEW = 2  # statements, without functions, that are computed just before each update


class Updates(Elements):
    """The nest of a structure that updates the elements at some indices.

    Its outermost loop, which threads share, has one iteration.
    """

    def __init__(self, structure: Structure) -> None:
        (target,) = structure.targets
        assert target is not None
        assert target.places is not None
        self.places = target.places
        # The groups of the axes after the first one of the updated array.
        spans = structure.arrays[self.places][1]
        self.along = [g for g in range(1, len(spans)) if not spans[g]]
        super().__init__(structure)

    def result(self, i: int) -> Array:
        """Return the array that is updated."""
        s = self.structure
        spans = tuple([g == 0 or g in self.along for g in range(self.count)])  # 0 for the indices
        return parameter(f"o{i}", s.rows[s.stored[i]].dtype, self.sizes, spans)

    def place(self, array: Array) -> list[Scalar]:
        """Return the index of the current element of an array."""
        if array not in self.stored:
            return super().place(array)
        place = cast(self.builder, self.values["array", self.places], "int64")
        return [place, *[self.index[g] for g in self.along]]

    def scattered(self) -> list[int]:
        """Return the operands that are copied to the stack, which the values of a row may be."""
        return super().scattered() if self.count - 1 in self.along else []

    def last(self, low: Scalar, high: Scalar, totals: list[Scalar]) -> list[Scalar]:
        """Write the innermost loop; if it is over the indices, values go through the stack."""
        if self.count - 1 in self.along:
            return super().last(low, high, totals)
        b = self.builder
        rows = [x for k, x in enumerate(self.structure.rows) if k not in self.constant]
        if len(rows) <= FEW and not any([has_polynomial(x.op) for x in rows]):
            with b.loop(low, high) as loop:
                self.index[-1] = loop.index
                self.iteration(Place(ZERO))
            return []
        values = b.stack("values", self.stored[0].buffer.dtype, [BLOCK])
        with b.loop(low, high, step=BLOCK, name="k") as block:
            end = b.least(b.add(block.index, const(BLOCK, "int64")), high)
            with b.loop(block.index, end, apart=True) as loop:
                self.index[-1] = loop.index
                at = b.sub(loop.index, block.index)
                self.iteration(Place(at, {}, {self.stored[0].buffer: values}))
            with b.loop(block.index, end) as loop:
                self.index[-1] = loop.index
                self.values["array", self.places] = self.element(self.arrays[self.places])
                value = b.load(values, [b.sub(loop.index, block.index)])
                super().write(0, value, Place(ZERO))
        return []

    def write(self, i: int, value: Scalar, here: Place) -> None:
        """Store a value for later, or to the array."""
        values: Buffer | None = here.far.get(self.stored[i].buffer)
        if values is None:
            super().write(i, value, here)
        else:
            self.builder.store(values, [here.number], value)


__all__ = ["Updates"]
