"""What the nests of a GPU share: arrays of one axis, and where their elements are."""

from __future__ import annotations

from collections.abc import Sequence

from relgraph.ir.op import Op as GraphOp
from relgraph.lowering.kernels import Structure
from relgraph.lowering.loops.builder import ONE, ZERO, Builder
from relgraph.lowering.loops.nodes import Buffer, Function, Op, Scalar, Var
from relgraph.lowering.nests.writer import Array, Nest

VECTORS = Var("vectors", "int64")
BYTES = 16  # of one load or store of a thread


class GridBuilder(Builder):
    """Writes the body of a kernel of a GPU, whose indices have fewer bits than int64.

    So the integers that a graph computes never become indices.
    """

    def __init__(self) -> None:
        super().__init__(1 << 20)  # statements, of which these kernels have few

    def primitive(self, op: GraphOp, args: Sequence[Scalar], dtype: str) -> str | None:
        """Return None: a graph's integers have 64 bits."""
        return None


class GridNest(Nest):
    """A nest over contiguous arrays, which have one axis."""

    def __init__(self, structure: Structure) -> None:
        super().__init__(structure)
        self.builder = GridBuilder()
        self.arrays = [
            self.flat(f"x{i}", dtype, spans) for i, (dtype, spans) in enumerate(structure.arrays)
        ]

    def flat(self, name: str, dtype: str, spans: Sequence[bool]) -> Array:
        """Return an array parameter of one axis."""
        size: Scalar = ONE
        for n, spanned in zip(self.sizes, spans, strict=True):
            if spanned:
                size = n if size is ONE else Op("mul", (size, n), "int64")
        return Array(Buffer(name, dtype, (size,)), tuple(spans))

    def finish(self, name: str, integers: Sequence[Var], arrays: Sequence[Buffer]) -> Function:
        """Return the function with the body that was written.

        Its arrays are the operands and the constants, and those that are given.
        """
        operands = [*[x.buffer for x in self.arrays], *self.slots.values()]
        return Function(name, tuple(integers), (*operands, *arrays), self.builder.body)

    def split(self, number: Scalar, groups: Sequence[int]) -> None:
        """Set the indices of some groups from the number of an element of them."""
        b = self.builder
        for g in reversed(groups[1:]):
            quotient = b.op("div", number, self.sizes[g], dtype="int64")
            self.index[g] = b.sub(number, b.mul(quotient, self.sizes[g]))
            number = quotient
        if groups:
            self.index[groups[0]] = number

    def offset(self, spans: Sequence[bool], number: Scalar | None = None) -> Scalar:
        """Return where the current element of an array is.

        ``number`` is that of the element among all elements of the nest.
        """
        if number is not None and all(spans):
            return number
        at: Scalar = ZERO
        for g, spanned in enumerate(spans):
            if spanned:
                at = self.builder.add(self.builder.mul(at, self.sizes[g]), self.index[g])
        return at

    def load(self, k: int, at: Scalar) -> None:
        """Load an element of an operand."""
        self.values["array", k] = self.builder.load(self.arrays[k].buffer, [at])

    def begin(self) -> None:
        """Load what is the same for all elements."""
        self.read_slots()
        for k, x in enumerate(self.arrays):
            if not any(x.spans):
                self.load(k, ZERO)


__all__ = ["BYTES", "VECTORS", "GridBuilder", "GridNest"]
