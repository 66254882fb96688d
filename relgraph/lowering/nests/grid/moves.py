"""Copies between layouts, transpositions, gathers and scatters: elements that threads move."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relgraph.lowering.loops.builder import ONE, ZERO, Builder
from relgraph.lowering.loops.nodes import (
    Atomic,
    Barrier,
    Buffer,
    Function,
    Scalar,
    Var,
    const,
    index,
)
from relgraph.lowering.nests.folds import cast
from relgraph.lowering.nests.grid.nest import GridBuilder
from relgraph.ops.elementwise import add, logical_or


def integers(*names: str) -> list[Var]:
    """Return the integers of a function."""
    return [Var(name, "int64") for name in names]


def array(name: str, dtype: str, size: Scalar = ONE) -> Buffer:
    """Return an array of one axis."""
    return Buffer(name, dtype, (size,))


def copy(dtype: str, ndim: int) -> Function:
    """Return the kernel that copies one strided array to another.

    Its integers are the number of elements, the offset of the first element in each array, and the
    size and both strides of each axis.
    """
    b = GridBuilder()
    n, first, target = integers("n", "a", "b")
    axes = [integers(f"n{g}", f"s{g}", f"d{g}") for g in range(ndim)]
    x, o = array("x", dtype, n), array("o", dtype, n)
    with b.loop(ZERO, n, level="grid", name="e") as loop:
        places: list[Scalar] = [first, target]
        rest: Scalar = loop.index
        for size, *strides in reversed(axes):
            quotient = b.op("div", rest, size, dtype="int64")
            i = b.sub(rest, b.mul(quotient, size))
            places = [b.add(p, b.mul(i, s)) for p, s in zip(places, strides, strict=True)]
            rest = quotient
        b.store(o, [places[1]], b.load(x, [places[0]]))
    numbers = [number for axis in axes for number in axis]
    return Function("NAME", (n, first, target, *numbers), (x, o), b.body)


def transpose(dtype: str, tile: int) -> Function:
    """Return the kernel that transposes matrices through tiles in shared memory.

    Its integers are the number of matrices, the rows and columns of a result, the offset of the
    first element of the source, and the source's strides of matrices and of columns.
    """
    b, side = GridBuilder(), index(tile)
    count, n0, n1, first, matrix, column = integers("count", "n0", "n1", "a", "matrix", "column")
    x, o = array("x", dtype, count), array("o", dtype, count)
    near = Buffer("tile", dtype, (side, index(tile + 1)), "shared")  # banks that do not conflict
    tiles = Tiles(b, (count, n0, n1), tile)
    with b.loop(ZERO, tiles.count, level="blocks", name="block") as loop:
        number, i, j = tiles.place(loop.index)

        def read(k: Scalar, t: Scalar) -> None:
            def load() -> list[Scalar]:
                at = b.add(b.add(b.add(first, b.mul(number, matrix)),
                                 b.mul(b.add(j, k), column)), b.add(i, t))  # fmt: skip
                b.store(near, [k, t], b.load(x, [at]))
                return []

            within(b, [(b.add(i, t), n0), (b.add(j, k), n1)], load)

        def write(k: Scalar, t: Scalar) -> None:
            def store() -> list[Scalar]:
                row = b.add(b.mul(number, n0), b.add(i, k))
                b.store(o, [b.add(b.mul(row, n1), b.add(j, t))], b.load(near, [t, k]))
                return []

            within(b, [(b.add(i, k), n0), (b.add(j, t), n1)], store)

        for step in (read, write):
            over_block(b, side, step)
            b.write(Barrier())
    sizes = (count, n0, n1, first, matrix, column)
    return Function("NAME", sizes, (x, o), b.body)


class Tiles:
    """The tiles of the results of a batch of matrices, which blocks share."""

    def __init__(self, b: Builder, sizes: tuple[Scalar, Scalar, Scalar], side: int) -> None:
        self.b, self.side = b, index(side)
        count, rows, columns = sizes
        self.across = self._tiles(columns)
        self.each = b.mul(self._tiles(rows), self.across)
        self.count = b.mul(self.each, count)

    def _tiles(self, size: Scalar) -> Scalar:
        above = self.b.add(size, self.b.sub(self.side, ONE))
        return self.b.op("div", above, self.side, dtype="int64")

    def place(self, number: Scalar) -> tuple[Scalar, Scalar, Scalar]:
        """Return the matrix of a tile, and the first row and column of it."""
        b = self.b
        matrix = b.op("div", number, self.each, dtype="int64")
        rest = b.sub(number, b.mul(matrix, self.each))
        down = b.op("div", rest, self.across, dtype="int64")
        right = b.sub(rest, b.mul(down, self.across))
        return matrix, b.mul(down, self.side), b.mul(right, self.side)


def over_block(b: Builder, side: Scalar, write: Callable[[Scalar, Scalar], None]) -> None:
    """Write a loop over the elements of a tile, which the threads of a block share."""
    with (
        b.loop(ZERO, side, level="y", name="y") as y,
        b.loop(ZERO, side, level="x", name="x") as x,
    ):
        write(y.index, x.index)


def within(
    b: Builder,
    bounds: Sequence[tuple[Scalar, Scalar]],
    then: Callable[[], list[Scalar]],
    other: Callable[[], list[Scalar]] = list,
) -> list[Scalar]:
    """Write a choice of whether indices are below their bounds."""
    tests = [b.op("less", i, n, dtype="bool") for i, n in bounds]
    test = tests[0]
    for more in tests[1:]:
        test = b.op("and", test, more, dtype="bool")
    return b.choice(test, then, other)


# Elements at the indices in an array.


class _Places:
    """The updates along an axis: which index each element has."""

    def __init__(self, b: Builder, names: tuple[Scalar, Scalar, Scalar], places: Buffer) -> None:
        self.b = b
        self.count, self.size, self.inner = names
        self.places = places

    def of(self, e: Scalar) -> tuple[Scalar, Callable[[], Scalar]]:
        """Return the index of an element, and what returns where it is in the array."""
        b = self.b
        q = b.op("div", e, self.inner, dtype="int64")
        outer = b.op("div", q, self.count, dtype="int64")
        read = b.load(self.places, [b.sub(q, b.mul(outer, self.count))])
        place = cast(b, read, "int64")
        negative = b.op("less", place, ZERO, dtype="bool")
        place = b.op("select", negative, b.add(place, self.size), place, dtype="int64")

        def there() -> Scalar:
            row = b.add(b.mul(outer, self.size), place)
            return b.add(b.mul(row, self.inner), b.sub(e, b.mul(q, self.inner)))

        return place, there


def gather(dtype: str, index_dtype: str) -> Function:
    """Return the kernel of a gather along an axis.

    Its integers are the number of results, of indices, of elements along the axis and after it.
    Its arrays are a flag that an index out of range sets, the array, the indices and the results.
    """
    b = GridBuilder()
    n, count, size, inner = integers("n", "count", "size", "inner")
    flag, x, o = array("flag", "int32"), array("x", dtype, size), array("o", dtype, n)
    places = array("places", index_dtype, count)
    with b.loop(ZERO, n, level="grid", name="e") as loop:
        place, there = _Places(b, (count, size, inner), places).of(loop.index)

        def move() -> list[Scalar]:
            b.store(o, [loop.index], b.load(x, [there()]))
            return []

        def fail() -> list[Scalar]:
            b.store(flag, [ZERO], const(1, "int32"))
            return []

        low = b.op("less", place, ZERO, dtype="bool")
        high = b.op("less", place, size, dtype="bool")
        b.choice(b.op("and", b.op("not", low, dtype="bool"), high, dtype="bool"), move, fail)
    return Function("NAME", (n, count, size, inner), (flag, x, places, o), b.body)


def scatter(dtype: str) -> Function:
    """Return the kernel that adds to rows of an array, in the order of the key.

    Its integers are the number of elements to change, of distinct indices, of updates, of elements
    along the axis and after it.  Its arrays are the distinct indices, and the first update of each;
    the updates, sorted by index; the values; and the result.
    """
    b = GridBuilder()
    n, changed, count, size, inner = integers("n", "changed", "count", "size", "inner")
    places, starts, order = [array(x, "int64", changed) for x in ("places", "starts", "order")]
    v, o = array("v", dtype, count), array("o", dtype, size)
    op = logical_or if dtype == "bool" else add
    with b.loop(ZERO, n, level="grid", name="e") as loop:
        q = b.op("div", loop.index, inner, dtype="int64")
        outer = b.op("div", q, changed, dtype="int64")
        k = b.sub(q, b.mul(outer, changed))
        rest = b.sub(loop.index, b.mul(q, inner))
        row = b.add(b.mul(outer, size), b.load(places, [k]))
        target = b.add(b.mul(row, inner), rest)
        low, high = b.load(starts, [k]), b.load(starts, [b.add(k, ONE)])
        with b.loop(low, high, [b.load(o, [target])], name="u") as update:
            source = b.add(b.mul(outer, count), b.load(order, [update.index]))
            value = b.load(v, [b.add(b.mul(source, inner), rest)])
            update.next = [b.apply(op, update.vars[0], value)]
        b.store(o, [target], update.vars[0])
    sizes = (n, changed, count, size, inner)
    return Function("NAME", sizes, (places, starts, order, v, o), b.body)


def atomic_scatter(dtype: str, index_dtype: str) -> Function:
    """Return the kernel that adds to rows of an array atomically, in no fixed order.

    Its integers are the number of values, of indices, of elements along the axis and after it.
    """
    b = GridBuilder()
    n, count, size, inner = integers("n", "count", "size", "inner")
    places = array("places", index_dtype, count)
    v, o = array("v", dtype, n), array("o", dtype, size)
    with b.loop(ZERO, n, level="grid", name="e") as loop:
        _, there = _Places(b, (count, size, inner), places).of(loop.index)
        b.write(Atomic(o, (there(),), b.load(v, [loop.index])))
    return Function("NAME", (n, count, size, inner), (places, v, o), b.body)


__all__ = [
    "Tiles", "array", "atomic_scatter", "copy", "gather", "integers", "over_block",
    "scatter", "transpose", "within",
]  # fmt: skip
