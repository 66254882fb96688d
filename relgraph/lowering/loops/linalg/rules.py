"""The rules of ops of linear algebra: small matrices written out, others by calls of LAPACK.

As NumPy does, float32 is computed in float64 and rounded at the end.  A batch of matrices is a
loop; of matrices that are written out, its iterations are apart, so that it runs on vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from relgraph.ir.node import Variable
from relgraph.ir.types import TupleType
from relgraph.lowering.loops.builder import ONE, ZERO
from relgraph.lowering.loops.linalg import limits
from relgraph.lowering.loops.linalg.arithmetic import WIDE
from relgraph.lowering.loops.linalg.blocks import IN_BLOCKS, LANES, Block
from relgraph.lowering.loops.linalg.lapack import CALLED, Routines, product_of
from relgraph.lowering.loops.linalg.written_out import WRITTEN_OUT, Algebra
from relgraph.lowering.loops.nodes import Const, Scalar
from relgraph.lowering.loops.rules import Unsupported, matmul
from relgraph.lowering.loops.values import Computed, Stored, Value
from relgraph.ops.contraction import Matmul
from relgraph.ops.elementwise import Cast
from relgraph.ops.linalg.solve import Det, Slogdet

if TYPE_CHECKING:
    from relgraph.lowering.loops.build import GraphWriter


def linear_algebra(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Any:
    """Write an application of an op of linear algebra."""
    tuple_type = isinstance(node.type, TupleType)
    dtype = (node.type.items[0] if tuple_type else node.type).dtype.name
    if any([isinstance(n, Const) and n.value == 0 for x in operands for n in x.shape]):
        raise Unsupported
    results = _Application(w, node, dtype).written(operands)
    return tuple(results) if tuple_type else results[0]


class _Application:
    def __init__(self, w: GraphWriter, node: Variable, dtype: str) -> None:
        self.w, self.dtype = w, dtype
        self.op: Any = node.op

    def written(self, values: Sequence[Value]) -> list[Value]:
        leads = [_lead(x, k) for k, x in enumerate(values)]
        batch = _broadcast([x.shape[:n] for x, n in zip(values, leads, strict=True)])
        if not batch:
            return self.one(values, self._single)
        results: dict[int, Stored] = {}
        self._each(values, leads, batch, [], results)
        return [results[k] for k in sorted(results)]

    def _single(self, k: int, shape: Sequence[Scalar], dtype: str) -> Stored:
        if dtype != self.dtype:
            return self.w.buffer(dtype, shape)
        return self.w.result(k, dtype, shape)

    def _each(
        self,
        values: Sequence[Value],
        leads: Sequence[int],
        batch: Sequence[Scalar],
        place: list[Scalar],
        results: dict[int, Stored],
    ) -> None:
        """Write a loop for each axis of a batch."""
        w, b = self.w, self.w.builder
        axis = len(place)
        parts = [x.shape[n:] for x, n in zip(values, leads, strict=True)]
        if axis < len(batch) - 1:
            with b.loop(ZERO, batch[axis]) as loop:
                self._each(values, leads, batch, [*place, loop.index], results)
            return

        if limits.is_in_blocks(self.op, parts):
            self._blocks(values, leads, batch, place, results)
            return

        def target(k: int, shape: Sequence[Scalar], dtype: str) -> Stored:
            if dtype != self.dtype:
                return w.buffer(dtype, shape)
            if k not in results:
                results[k] = w.result(k, dtype, [*batch, *shape])
            return results[k].part(*place, loop.index)

        def one() -> None:
            at = [*place, loop.index]
            items = [_item(w, x, n, at) for x, n in zip(values, leads, strict=True)]
            for k, value in enumerate(self.one(items, target)):
                there = target(k, value.shape, self.dtype)
                if not (isinstance(value, Stored) and value.buffer is there.buffer):
                    w.store(value, there)

        if not self.is_written_out(parts):
            with b.loop(ZERO, batch[-1]) as loop:
                one()
            return
        with b.loop(ZERO, batch[-1], [ZERO], apart=True) as loop:
            with w.checks_joined() as check:
                one()
            failed = b.op("select", check(), ONE, ZERO, dtype="int64")
            loop.next = [b.op("max", loop.vars[0], failed, dtype="int64")]
        w.fail_if(b.op("less", ZERO, loop.vars[0], dtype="bool"))

    def _blocks(
        self,
        values: Sequence[Value],
        leads: Sequence[int],
        batch: Sequence[Scalar],
        place: list[Scalar],
        results: dict[int, Stored],
    ) -> None:
        """Write a loop over blocks of the last axis of a batch."""
        w, b = self.w, self.w.builder
        last = b.sub(batch[-1], ONE)
        count = b.op("div", b.add(batch[-1], b.sub(LANES, ONE)), LANES, dtype="int64")
        with b.loop(ZERO, count) as loop:
            start = b.mul(loop.index, LANES)

            def of(lane: Scalar) -> list[Scalar]:
                return [*place, b.op("min", b.add(start, lane), last, dtype="int64")]

            def items(x: Value, lead: int) -> Value:
                def at(inner: Sequence[Scalar]) -> Scalar:
                    item = _item(w, x, lead, of(inner[0]))
                    return w.converted(item, WIDE).at(inner[1:])

                return Computed(x.dtype, [LANES, *x.shape[lead:]], at, x.reads, 1)

            operands = [items(x, n) for x, n in zip(values, leads, strict=True)]
            size = operands[0].shape[-1]
            assert isinstance(size, Const)
            block = Block(w, size.value)
            shape = self.core(operands)
            rows = b.op("min", LANES, b.sub(batch[-1], start), dtype="int64")
            for k, at in enumerate(IN_BLOCKS[type(self.op)](block, self.op.params, operands)):
                if k not in results:
                    results[k] = w.result(k, self.dtype, [*batch, *shape])
                self._unpacked(
                    results[k], at, shape, rows, lambda lane: [*place, b.add(start, lane)]
                )
            block.finish()

    def _unpacked(
        self,
        result: Stored,
        at: Callable[..., Scalar],
        shape: Sequence[Scalar],
        rows: Scalar,
        place: Callable[[Scalar], list[Scalar]],
    ) -> None:
        """Copy the results of a block to those of the batch."""
        w = self.w

        def write(where: Sequence[Scalar]) -> None:
            lane, *inner = where
            value = at(lane, *inner)
            if self.dtype != WIDE:
                value = w.builder.op(Cast(self.dtype), value, dtype=self.dtype)
            w.builder.store(result.buffer, (*result.first, *place(lane), *inner), value)

        w.for_each([rows, *shape], write)

    def core(self, operands: Sequence[Value]) -> list[Scalar]:
        """Return the shape of a result of one matrix."""
        if isinstance(self.op, Det | Slogdet):
            return []
        return list(operands[-1].shape[1:])

    def is_written_out(self, shapes: Sequence[Sequence[Scalar]]) -> bool:
        return limits.is_written_out(shapes) and self.w.is_small(shapes[0])

    def one(self, values: Sequence[Value], place: Any) -> list[Value]:
        """Write the op of one matrix."""
        w, op = self.w, self.op
        values = [w.converted(x, WIDE) for x in values]
        if not self.is_written_out([x.shape for x in values]):
            routines = Routines(w, WIDE, lambda k, shape: place(k, shape, WIDE))
            wide = CALLED[type(op)](routines, op.params, *values)
        else:
            arrays = [w.written_out(x).elements for x in values]
            with w.checks_joined() as check:
                results = WRITTEN_OUT[type(op)](Algebra(w, WIDE), op.params, *arrays)
            w.fail_if(check())
            wide = [w.written(WIDE, x) for x in results]
        return [w.converted(x, self.dtype) for x in wide]


def _lead(x: Value, position: int) -> int:
    """Return how many axes of an operand are those of its batch."""
    return len(x.shape) - (1 if position and len(x.shape) == 1 else 2)


def _broadcast(shapes: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    result: list[Scalar] = []
    for axis in range(-max(map(len, shapes)), 0):
        sizes = [shape[axis] for shape in shapes if len(shape) >= -axis and shape[axis] is not ONE]
        constants = [n for n in sizes if isinstance(n, Const)]
        result.append(reduce(lambda a, b: a, [*constants, *sizes, ONE]))
    return result


def _item(w: GraphWriter, x: Value, lead: int, place: Sequence[Scalar]) -> Value:
    """Return a matrix or vector of a batch that broadcasts."""
    own = place[len(place) - lead :]
    first = [ZERO if n is ONE else i for n, i in zip(x.shape[:lead], own, strict=True)]
    if not first:
        return x
    if isinstance(x, Stored):
        return x.part(*first)
    return w.view(x, x.shape[lead:], lambda rest: x.at([*first, *rest]))


def product_of_batches(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write a product of vectors, matrices or batches of them."""
    leads = [max(0, len(x.shape) - 2) for x in operands]
    batch = _broadcast([x.shape[:n] for x, n in zip(operands, leads, strict=True)])
    if not batch:
        return matmul(w, node, operands)
    x, y = operands
    rows, columns = x.shape[-2:-1], y.shape[-1:] if len(y.shape) > 1 else ()
    result = w.result(0, node.dtype.name, [*batch, *rows, *columns])
    b = w.builder
    out = limits.is_product_written_out(operands)

    def each(place: list[Scalar]) -> None:
        axis = len(place)
        if axis < len(batch):
            with b.loop(ZERO, batch[axis], apart=out and axis == len(batch) - 1) as loop:
                each([*place, loop.index])
            return
        items = [_item(w, x, n, place) for x, n in zip(operands, leads, strict=True)]
        _product(w, node, items, result.part(*place), out)

    each([])
    return result


def _product(
    w: GraphWriter, node: Variable, operands: Sequence[Value], target: Stored, out: bool
) -> None:
    """Write a product of a batch."""
    x, y = operands
    if out:
        x, y = w.written_out(x), w.written_out(y)
    elif limits.is_by_blas(node, operands):
        product_of(Routines(w, target.dtype, lambda k, shape: target), x, y)
        return
    value = matmul(w, node, [x, y], keep=False)
    w.store(w.written_out(value) if out else value, target)


def turned(w: GraphWriter, x: Stored) -> Value:
    """Return the transpose of a matrix, or of each one of a batch."""
    n = len(x.shape)
    shape = [*x.shape[: n - 2], x.shape[n - 1], x.shape[n - 2]]

    def at(place: Sequence[Scalar]) -> Scalar:
        return x.at([*place[: n - 2], place[n - 1], place[n - 2]])

    value = w.view(x, shape, at)
    if isinstance(value, Computed) and n == 2:
        value.turned = x
    return value


RULES: dict[type[Any], Any] = {
    **dict.fromkeys(WRITTEN_OUT, linear_algebra),
    Matmul: product_of_batches,
}

__all__ = ["RULES", "linear_algebra", "turned"]
