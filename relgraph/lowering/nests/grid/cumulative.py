"""Cumulative sums, products and extremes along an axis.

A thread scans a column in order.  Along the last axis, a block of threads scans a row, or a part of
one whose earlier parts have known totals: each thread adds up a few consecutive elements, and the
threads exchange their prefixes.

References
----------
G. E. Blelloch, "Prefix sums and their applications", technical report CMU-CS-90-190, 1990.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from relgraph.lowering.kernels import Fold
from relgraph.lowering.loops.builder import ONE, ZERO
from relgraph.lowering.loops.nodes import Const, Function, Scalar, const, index
from relgraph.lowering.nests.folds import beginning, cast, identity
from relgraph.lowering.nests.grid.moves import array, integers
from relgraph.lowering.nests.grid.nest import GridBuilder
from relgraph.lowering.nests.grid.totals import accumulator, combiner
from relgraph.lowering.refs import Ref
from relgraph.ops.cumulative import Cumulative
from relgraph.ops.reductions import Sum

NEIGHBOURS = 4  # elements that a thread adds up by itself
K, M, PARTS, PART = integers("k", "m", "parts", "part")


def fold_of(op: Cumulative, source: str, dtype: str) -> Fold:
    """Return a cumulative op as a reduction."""
    return Fold(op.fold(None, False), Ref("array", 0, source), dtype)


def columns(op: Cumulative, source: str, dtype: str) -> Function:
    """Return the kernel that scans each column in order with one thread.

    Its integers are the number of columns, of elements in each and of adjacent columns.
    """
    b, fold = GridBuilder(), fold_of(op, source, dtype)
    (inner,) = integers("inner")
    x, o = array("x", source, M), array("o", dtype, M)
    with b.loop(ZERO, K, level="grid", name="c") as column:
        outer = b.op("div", column.index, inner, dtype="int64")
        right = b.sub(column.index, b.mul(outer, inner))
        first = b.add(b.mul(b.mul(outer, inner), M), right)
        with b.loop(ZERO, M, [beginning(fold)], name="j") as loop:
            at = b.add(first, b.mul(loop.index, inner))
            value = cast(b, b.load(x, [at]), dtype)
            total = b.apply(fold.op.combiner, loop.vars[0], value)
            b.store(o, [at], total)
            loop.next = [total]
    return Function("NAME", (K, M, inner), (x, o), b.body)


class _Parts:
    """Parts of rows, on each of which a block works."""

    def __init__(self, fold: Fold) -> None:
        self.b, self.fold = GridBuilder(), fold
        self.kind = accumulator(fold)
        self.row: Scalar = ZERO
        self.bounds: tuple[Scalar, Scalar] = (ZERO, ZERO)

    @contextmanager
    def each(self) -> Iterator[Scalar]:
        """Write a loop over the parts, and return the number of one."""
        b = self.b
        with b.loop(ZERO, b.mul(K, PARTS), level="rows", name="b") as loop:
            row = b.op("div", loop.index, PARTS, dtype="int64")
            low = b.mul(b.sub(loop.index, b.mul(row, PARTS)), PART)
            self.row, self.bounds = b.mul(row, M), (low, b.least(b.add(low, PART), M))
            yield loop.index

    @property
    def nothing(self) -> Const:
        """The total of no elements; for float sums it is -0.0, which preserves -0.0."""
        if isinstance(self.fold.op, Sum) and self.fold.dtype[0] == "f":
            return const(-0.0, self.kind)
        return identity(self.fold, self.kind)

    def term(self, value: Scalar) -> Scalar:
        """Return an element in the dtype of totals."""
        return cast(self.b, cast(self.b, value, self.fold.dtype), self.kind)

    def joined(self, one: Scalar, other: Scalar) -> Scalar:
        """Return two totals as one."""
        return self.b.apply(combiner(self.fold), one, other)


def totals(op: Cumulative, source: str, dtype: str) -> Function:
    """Return the kernel that computes the totals of parts of rows.

    Its integers are the number of rows, of elements in each, of parts of a row and of elements in a
    part.
    """
    p = _Parts(fold_of(op, source, dtype))
    b, x, w = p.b, array("x", source, M), array("w", p.kind, PARTS)
    with p.each() as number:
        with b.loop(*p.bounds, [p.nothing], level="group", name="j") as loop:
            value = p.term(b.load(x, [b.add(p.row, loop.index)]))
            loop.next = [p.joined(loop.vars[0], value)]
        b.store(w, [number], b.join(loop.vars[0], combiner(p.fold)))
    return Function("NAME", (K, M, PARTS, PART), (x, w), b.body)


def rows(op: Cumulative, source: str, dtype: str) -> Function:
    """Return the kernel that scans parts of rows.

    Its integers are those of the kernel for totals; between the operand and the results are the
    running totals of the parts of each row.
    """
    p = _Parts(fold_of(op, source, dtype))
    b, x, o = p.b, array("x", source, M), array("o", dtype, M)
    w, few = array("w", p.kind, PARTS), index(NEIGHBOURS)
    with p.each() as number:
        low, high = p.bounds
        before = b.choice(
            b.op("less", ZERO, low, dtype="bool"),
            lambda: [b.load(w, [b.sub(number, ONE)])],
            lambda: [p.nothing],
        )
        above = b.add(b.sub(high, low), b.sub(few, ONE))
        steps = b.op("div", above, few, dtype="int64")
        with b.loop(ZERO, steps, before, level="steps", name="q") as loop:
            first = b.add(low, b.mul(loop.index, few))
            own: list[Scalar] = []
            for e in range(NEIGHBOURS):
                j = b.add(first, index(e))
                inside = b.op("less", j, high, dtype="bool")
                place = b.op("select", inside, j, low, dtype="int64")
                value = p.term(b.load(x, [b.add(p.row, place)]))
                value = b.op("select", inside, value, p.nothing, dtype=p.kind)
                own.append(p.joined(own[-1], value) if own else value)
            so_far, after = b.prefix(own[-1], loop.vars[0], combiner(p.fold))
            for e, total in enumerate(own):
                j = b.add(first, index(e))

                def store(total: Scalar = total, j: Scalar = j) -> list[Scalar]:
                    result = cast(b, p.joined(so_far, total), dtype)
                    b.store(o, [b.add(p.row, j)], result)
                    return []

                b.choice(b.op("less", j, high, dtype="bool"), store, list)
            loop.next = [after]
    return Function("NAME", (K, M, PARTS, PART), (x, w, o), b.body)


__all__ = ["columns", "fold_of", "rows", "totals"]
