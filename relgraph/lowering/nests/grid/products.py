"""Products of matrices, tile by tile through shared memory."""

from __future__ import annotations

from relgraph.lowering.loops.builder import ZERO
from relgraph.lowering.loops.nodes import Barrier, Buffer, Function, Scalar, const, index
from relgraph.lowering.nests.folds import cast
from relgraph.lowering.nests.grid.moves import (
    Tiles,
    array,
    integers,
    over_block,
    within,
)
from relgraph.lowering.nests.grid.nest import GridBuilder
from relgraph.ops.elementwise import add, multiply


def product(left: str, right: str, result: str, side: int) -> Function:
    """Return the kernel of products of matrices.

    Its integers are the number of products, the rows, the inner size and the columns, and the
    strides between the matrices of both operands.
    """
    return _Product(left, right, result, side).function()


class _Product:
    def __init__(self, left: str, right: str, result: str, side: int) -> None:
        totals = {"float32": "float32", "float64": "float64", "uint64": "uint64"}
        self.dtype = totals.get(result, "int64")
        self.b, self.side, size = GridBuilder(), side, index(side)
        self.sizes = integers("count", "n", "m", "p", "sx", "sy")
        count = self.sizes[0]
        self.operands = array("x", left, count), array("y", right, count)
        self.result = array("o", result, count)
        self.near = [Buffer(name, self.dtype, (size, size), "shared") for name in ("a", "b")]
        self.total = self.b.stack("total", self.dtype, [side, side])
        self.zero = const(0, self.dtype)
        self.place: tuple[Scalar, ...] = ()  # the matrix, and the first row and column of a tile

    def function(self) -> Function:
        """Return the kernel."""
        b, size = self.b, index(self.side)
        count, n, m, p, *_ = self.sizes
        tiles = Tiles(b, (count, n, p), self.side)
        with b.loop(ZERO, tiles.count, level="blocks", name="block") as loop:
            self.place = tiles.place(loop.index)
            over_block(b, size, lambda ty, tx: b.store(self.total, [ty, tx], self.zero))
            with b.loop(ZERO, m, step=self.side, name="first") as step:
                over_block(b, size, lambda ty, tx: self.read(step.index, ty, tx))
                b.write(Barrier())
                over_block(b, size, self.multiply)
                b.write(Barrier())
            over_block(b, size, self.write)
        return Function("NAME", tuple(self.sizes), (*self.operands, self.result), b.body)

    def read(self, first: Scalar, ty: Scalar, tx: Scalar) -> None:
        """Copy an element of each operand to shared memory, or zero beyond its end."""
        b, (matrix, top, edge) = self.b, self.place
        _, n, m, p, *strides = self.sizes
        row, column = b.add(top, ty), b.add(edge, tx)
        right, down = b.add(first, tx), b.add(first, ty)
        places = [
            ([(row, n), (right, m)], b.add(b.mul(row, m), right)),
            ([(down, m), (column, p)], b.add(b.mul(down, p), column)),
        ]
        for i, (bounds, at) in enumerate(places):
            there = b.add(b.mul(matrix, strides[i]), at)

            def value(source: Buffer = self.operands[i], there: Scalar = there) -> list[Scalar]:
                return [cast(b, b.load(source, [there]), self.dtype)]

            (element,) = within(b, bounds, value, lambda: [self.zero])
            b.store(self.near[i], [ty, tx], element)

    def multiply(self, ty: Scalar, tx: Scalar) -> None:
        """Add the products of a row and a column of both tiles."""
        b, (one, other) = self.b, self.near
        with b.loop(ZERO, index(self.side), [b.load(self.total, [ty, tx])], name="q") as inner:
            pair = b.load(one, [ty, inner.index]), b.load(other, [inner.index, tx])
            inner.next = [b.apply(add, inner.vars[0], b.apply(multiply, *pair))]
        b.store(self.total, [ty, tx], inner.vars[0])

    def write(self, ty: Scalar, tx: Scalar) -> None:
        """Write an element of the result, if it has it."""
        b, (matrix, top, edge) = self.b, self.place
        _, n, _, p, *_ = self.sizes
        row, column = b.add(top, ty), b.add(edge, tx)

        def store() -> list[Scalar]:
            at = b.add(b.mul(b.add(b.mul(matrix, n), row), p), column)
            element = cast(b, b.load(self.total, [ty, tx]), self.result.dtype)
            b.store(self.result, [at], element)
            return []

        within(b, [(row, n), (column, p)], store)


__all__ = ["product"]
