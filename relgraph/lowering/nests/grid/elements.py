"""Nests without reductions: each thread computes 16 bytes of elements at a time."""

from __future__ import annotations

import numpy as np

from relgraph.lowering.kernels import Structure
from relgraph.lowering.loops.builder import ZERO
from relgraph.lowering.loops.nodes import Function, Scalar, Var, const
from relgraph.lowering.nests.grid.nest import BYTES, VECTORS, GridNest

LINES = 320  # the most statements of all lanes, which numba compiles in half a second
ELEMENTS = Var("n", "int64")


def width(structure: Structure) -> int:
    """Return how many consecutive elements a thread computes together."""
    dtypes = [dtype for dtype, spans in structure.arrays if spans[-1]]
    dtypes += [structure.rows[row].dtype for row in structure.stored]
    widest = max((np.dtype(dtype).itemsize for dtype in dtypes), default=8)
    lanes = min(8, BYTES // widest)
    while lanes > 1 and lanes * len(structure.rows) > LINES:
        lanes //= 2
    return lanes


def is_flat(structure: Structure) -> bool:
    """Return True if each array spans the whole loop or is a single element."""
    return all(all(spans) or not any(spans) for _, spans in structure.arrays)


class GridElements(GridNest):
    """The nest of a structure without reductions."""

    def kernel(self, name: str) -> Function:
        """Return the kernel.

        Its integers are the number of elements, the number of vectors among them, and the sizes of
        the groups.
        """
        b, s = self.builder, self.structure
        every = (True,) * self.count
        dtypes = [s.rows[row].dtype for row in s.stored]
        self.stored = [self.flat(f"o{i}", dtype, every) for i, dtype in enumerate(dtypes)]
        self.begin()
        lanes = const(width(s), "int64")
        if lanes.value > 1:
            with b.loop(ZERO, VECTORS, level="grid") as vector:
                first = b.mul(vector.index, lanes)
                places = self.places(first)
                with b.loop(ZERO, lanes, level="lanes") as lane:
                    for k, at in places.items():
                        if self.arrays[k].spans[-1]:
                            self.load(k, b.add(at, lane.index))
                    self.compute_all(b.add(first, lane.index))
        with b.loop(b.mul(VECTORS, lanes), ELEMENTS, level="grid") as loop:
            for k, at in self.places(loop.index).items():
                if self.arrays[k].spans[-1]:
                    self.load(k, at)
            self.compute_all(loop.index)
        integers = (ELEMENTS, VECTORS, *self.integers)
        return self.finish(name, integers, [x.buffer for x in self.stored])

    def places(self, number: Scalar) -> dict[int, Scalar]:
        """Return where the operands' elements are, and load those that a vector shares."""
        if not is_flat(self.structure):
            self.split(number, range(self.count))
        places = {
            k: self.offset(x.spans, number) for k, x in enumerate(self.arrays) if any(x.spans)
        }
        for k, at in places.items():
            if not self.arrays[k].spans[-1]:
                self.load(k, at)
        return places

    def compute_all(self, number: Scalar) -> None:
        """Compute an element of each result."""
        for k in range(len(self.structure.rows)):
            self.compute(k)
        for x, row in zip(self.stored, self.structure.stored, strict=True):
            self.builder.store(x.buffer, [number], self.values["row", row])


__all__ = ["GridElements", "is_flat", "width"]
