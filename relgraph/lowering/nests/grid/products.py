"""Products of matrices, tile by tile through shared memory."""

from __future__ import annotations

from relgraph.lowering.loops.builder import ZERO, Builder
from relgraph.lowering.loops.nodes import Barrier, Buffer, Function, Scalar, const, index
from relgraph.lowering.nests.folds import cast
from relgraph.lowering.nests.grid.moves import (
    LIMIT,
    Tiles,
    array,
    integers,
    over_block,
    within,
)
from relgraph.ops.elementwise import add, multiply


def product(left: str, right: str, result: str, side: int) -> Function:
    """Return the kernel of products of matrices.

    Its integers are the number of products, the rows, the inner size and the columns, and the
    strides between the matrices of both operands.
    """
    totals = {"float32": "float32", "float64": "float64", "uint64": "uint64"}
    dtype = totals.get(result, "int64")
    b, size = Builder(LIMIT), index(side)
    count, n, m, p, *strides = integers("count", "n", "m", "p", "sx", "sy")
    x, y, o = array("x", left, count), array("y", right, count), array("o", result, count)
    near = [Buffer(name, dtype, (size, size), "shared") for name in ("a", "b")]
    total = b.stack("total", dtype, [side, side])
    zero = const(0, dtype)
    tiles = Tiles(b, (count, n, p), side)
    with b.loop(ZERO, tiles.count, level="blocks", name="block") as loop:
        matrix, top, left_edge = tiles.place(loop.index)

        def read(first: Scalar, ty: Scalar, tx: Scalar) -> None:
            row, column = b.add(top, ty), b.add(left_edge, tx)
            inner = b.add(first, tx), b.add(first, ty)
            places = [
                (x, [(row, n), (inner[0], m)], b.add(b.mul(row, m), inner[0])),
                (y, [(inner[1], m), (column, p)], b.add(b.mul(inner[1], p), column)),
            ]
            for (source, bounds, at), stride, tile in zip(places, strides, near, strict=True):
                there = b.add(b.mul(matrix, stride), at)

                def value(source: Buffer = source, there: Scalar = there) -> list[Scalar]:
                    return [cast(b, b.load(source, [there]), dtype)]

                (element,) = within(b, bounds, value, lambda: [zero])
                b.store(tile, [ty, tx], element)

        def multiplied(ty: Scalar, tx: Scalar) -> None:
            one, other = near
            with b.loop(ZERO, size, [b.load(total, [ty, tx])], name="q") as inner:
                pair = b.load(one, [ty, inner.index]), b.load(other, [inner.index, tx])
                inner.next = [b.apply(add, inner.vars[0], b.apply(multiply, *pair))]
            b.store(total, [ty, tx], inner.vars[0])

        def write(ty: Scalar, tx: Scalar) -> None:
            row, column = b.add(top, ty), b.add(left_edge, tx)

            def store() -> list[Scalar]:
                at = b.add(b.mul(b.add(b.mul(matrix, n), row), p), column)
                b.store(o, [at], cast(b, b.load(total, [ty, tx]), result))
                return []

            within(b, [(row, n), (column, p)], store)

        over_block(b, size, lambda ty, tx: b.store(total, [ty, tx], zero))
        with b.loop(ZERO, m, step=side, name="first") as step:
            over_block(b, size, lambda ty, tx: read(step.index, ty, tx))
            b.write(Barrier())
            over_block(b, size, multiplied)
            b.write(Barrier())
        over_block(b, size, write)
    return Function("NAME", (count, n, m, p, *strides), (x, y, o), b.body)


__all__ = ["product"]
