"""How the ops of a graph are written in the loop language: one rule for each kind of op."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.ir.node import Variable
from relgraph.ir.op import GetItem
from relgraph.ir.op import Op as GraphOp
from relgraph.lowering.loops.builder import ONE, ZERO, part
from relgraph.lowering.loops.linalg.lapack import Routines, product_of
from relgraph.lowering.loops.nodes import Const, Scalar, const, index
from relgraph.lowering.loops.values import (
    Computed,
    Index,
    Part,
    Stored,
    Value,
    Written,
    reads,
    stretched,
)
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.contraction import Outer
from relgraph.ops.cumulative import Cumulative
from relgraph.ops.elementwise import Cast, Elementwise, add, multiply, true_divide
from relgraph.ops.elementwise.instances import logical_and, logical_or, maximum, minimum
from relgraph.ops.elementwise.row import TRANSCENDENTAL
from relgraph.ops.indexing.index import Index as IndexOp
from relgraph.ops.indexing.update import IndexUpdate
from relgraph.ops.linalg.structured import Tril, Triu
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.reductions import Mean, Reduction, reduced_axes
from relgraph.ops.shape import BroadcastTo, Dim, ExpandDims, Reshape, Squeeze

if TYPE_CHECKING:
    from relgraph.lowering.loops.build import GraphWriter

WIDE = 16  # columns of a product that is written as sums of rows
LANES = 4  # elements of which an op that takes long is computed on vectors
PRODUCT = 512  # multiplications of two matrices, beyond which BLAS is faster

Rule = Callable[["GraphWriter", Variable, Sequence[Any]], Any]


class Unsupported(Exception):
    """An op that has no rule, or not for these operands."""


# Elementwise.


def elementwise(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write an elementwise op."""
    op: Any = node.op
    dtype = node.dtype.name
    shape = tuple(_broadcast([x.shape for x in operands], node))

    vector = w.is_small(shape) and prod([n.value for n in shape]) >= LANES  # type: ignore[attr-defined]
    vector = vector and isinstance(op, Elementwise) and op.row.flops >= TRANSCENDENTAL
    if vector:
        operands = [w.kept(x) if isinstance(x, Written) and x.shape else x for x in operands]

    def at(place: Index) -> Scalar:
        return w.builder.op(op, *[stretched(x, place) for x in operands], dtype=dtype)

    if vector:
        return w.written_out(w.kept(Computed(dtype, shape, at, frozenset(), 1)))
    cost = 1 + sum([getattr(x, "cost", 0) for x in operands])
    return w.element_by_element(dtype, shape, at, reads(*operands), cost)


def _broadcast(shapes: Sequence[Sequence[Scalar]], node: Variable) -> list[Scalar]:
    result: list[Scalar] = []
    for axis in range(-node.ndim, 0):
        size: Scalar = ONE
        for shape in shapes:
            if len(shape) >= -axis and shape[axis] is not ONE:
                size = shape[axis] if size is ONE or isinstance(shape[axis], Const) else size
        result.append(size)
    return result


# Rearrangements.


def rearranged(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write an op that moves elements of a written array: as NumPy moves their numbers."""
    x = operands[0]
    op: Any = node.op
    if w.is_small(x.shape):
        x = w.written_out(x)
    if not isinstance(x, Written) or len(operands) > 1:
        raise Unsupported
    numbers = np.asarray(op.perform(np.arange(x.elements.size).reshape(x.elements.shape)))
    return w.written(x.dtype, x.elements.ravel()[numbers.ravel()].reshape(numbers.shape))


def transpose(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write a transposition."""
    (x,) = operands
    if isinstance(x, Written):
        return rearranged(w, node, operands)
    n = len(x.shape)
    axes = [*range(n - 2), n - 1, n - 2]
    if isinstance(node.op, Transpose):
        axes = [a % n for a in node.op.params[0]]

    def at(place: Index) -> Scalar:
        own: list[Scalar] = [ZERO] * n
        for i, axis in zip(place, axes, strict=True):
            own[axis] = i
        return x.at(own)

    view = w.view(x, [x.shape[a] for a in axes], at)
    view.by_columns = n == 2 and axes == [1, 0] and not x.by_columns
    if isinstance(view, Computed) and isinstance(x, Stored) and axes == [1, 0]:
        view.turned = x
    return view


def expand_dims(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write new axes."""
    (x,) = operands
    axes = {a % node.ndim for a in node.op.params[0]}  # type: ignore[union-attr]
    kept = [a for a in range(node.ndim) if a not in axes]
    rest = iter(x.shape)
    shape = [ONE if a in axes else next(rest) for a in range(node.ndim)]
    return w.view(x, shape, lambda place: x.at([place[a] for a in kept]))


def squeeze(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write the loss of axes of size 1."""
    (x,) = operands
    axes = {a % len(x.shape) for a in node.op.params[0]}  # type: ignore[union-attr]
    if any([x.shape[a] is not ONE for a in axes]):
        raise Unsupported  # a size that is compared at the call

    def at(place: Index) -> Scalar:
        rest = iter(place)
        return x.at([ZERO if a in axes else next(rest) for a in range(len(x.shape))])

    return w.view(x, [n for a, n in enumerate(x.shape) if a not in axes], at)


def broadcast_to(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write a broadcast."""
    x, *sizes = operands
    shape = _declared(w, node, x, sizes)
    return w.view(x, shape, lambda place: stretched(x, place))


def _declared(w: GraphWriter, node: Variable, x: Value, sizes: Sequence[Value]) -> list[Scalar]:
    """Return the sizes of a shape with open entries, which are operands, in order."""
    rest = iter(sizes)
    shape: list[Scalar] = []
    for entry in node.op.params[0]:  # type: ignore[union-attr]
        if isinstance(entry, int) and entry >= 0:
            shape.append(index(entry))
        elif isinstance(entry, str):
            shape.append(w.size_named(entry))
        elif entry is None:
            shape.append(w.as_index(next(rest)))
        else:
            raise Unsupported
    return shape


def reshape(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write a reshape."""
    x = operands[0]
    if isinstance(x, Written):
        return rearranged(w, node, operands)
    shape = [index(n) if isinstance(n, int) else None for n in node.type.shape]
    if None in shape or x.static is None:
        raise Unsupported
    sizes: Any = shape

    def at(place: Index) -> Scalar:
        flat: Scalar = ZERO
        for i, n in zip(place, sizes, strict=True):
            flat = w.builder.add(w.builder.mul(flat, n), i)
        own: list[Scalar] = []
        for n in reversed(x.shape):
            own.append(w.builder.op("rem", flat, n, dtype="int64"))
            flat = w.builder.op("div", flat, n, dtype="int64")
        return x.at(own[::-1])

    return w.view(x, sizes, at)


def dim(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write the size along an axis."""
    return w.scalar(operands[0].shape[node.op.params[0]])  # type: ignore[union-attr]


# Indices.


def indexed(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write the part of an array that a key selects."""
    x, *key = operands
    spec = node.op.params[0]  # type: ignore[union-attr]
    if isinstance(x, Written) and not key:
        return rearranged(w, node, operands)
    if spec == (("array",),):
        (where,) = key
        first = len(where.shape)

        def gathered(place: Index) -> Scalar:
            i = w.checked(w.to_index(where.at(place[:first])), x.shape[0])
            return x.at([i, *place[first:]])

        return w.view(x, [*where.shape, *x.shape[1:]], gathered, where)
    return _selected(w, x, _selection(w, spec, x, key))


Axis = Scalar | tuple[Scalar, int, Scalar] | None
"""An index, the start, step and size of a slice, or None for a new axis."""


class Selection:
    """What a key selects, in its order."""

    def __init__(self, axes: list[Axis]) -> None:
        self.axes = axes

    @property
    def shape(self) -> list[Scalar]:
        """The sizes of the part."""
        parts = [x for x in self.axes if x is None or isinstance(x, tuple)]
        return [ONE if x is None else x[2] for x in parts]

    def place(self, w: GraphWriter, place: Index) -> list[Scalar]:
        """Return the index in the array for an index in the part."""
        rest = iter(place)
        own: list[Scalar] = []
        for x in self.axes:
            if x is None:
                next(rest)
            elif isinstance(x, tuple):
                own.append(w.builder.add(x[0], w.builder.mul(next(rest), index(x[1]))))
            else:
                own.append(x)
        return own


def _selection(w: GraphWriter, spec: Any, x: Value, key: Sequence[Value]) -> Selection:
    rest = iter(key)
    axes: list[Axis] = []
    sizes = iter(x.shape)
    for kind, *values in spec:
        if kind == "newaxis":
            axes.append(None)
            continue
        if kind not in ("int", "dynamic", "slice"):
            raise Unsupported
        size = next(sizes)
        if kind == "int":
            i = values[0]
            place = index(i) if i >= 0 else w.builder.add(size, index(i))
            inside = isinstance(size, Const) and -size.value <= i < size.value
            axes.append(place if inside else w.checked(place, size, wrap=False))
        elif kind == "dynamic":
            axes.append(w.checked(w.as_index(next(rest)), size))
        else:
            axes.append(_slice(w, values, size, rest))
    axes += [(ZERO, 1, size) for size in sizes]
    return Selection(axes)


def _slice(
    w: GraphWriter, bounds: Sequence[Any], size: Scalar, key: Iterator[Value]
) -> tuple[Scalar, int, Scalar]:
    if "dynamic" in bounds:
        return _varying_slice(w, bounds, size, key)
    start, length = part(w.builder, size, slice(*bounds))
    return start, 1 if bounds[2] is None else bounds[2], length


def _varying_slice(
    w: GraphWriter, bounds: Sequence[Any], size: Scalar, key: Iterator[Value]
) -> tuple[Scalar, int, Scalar]:
    """Return a slice whose ends are computed, within the axis as Python puts them there."""
    b = w.builder
    low, high, step = [w.as_index(next(key)) if x == "dynamic" else x for x in bounds]
    if step not in (None, 1):
        raise Unsupported

    def inside(i: Any) -> Scalar:
        i = index(i)
        negative = b.op("less", i, ZERO, dtype="bool")
        i = b.op("select", negative, b.add(i, size), i, dtype="int64")
        return b.op("max", b.op("min", i, size, dtype="int64"), ZERO, dtype="int64")

    start = ZERO if low is None else inside(low)
    stop = size if high is None else inside(high)
    length = b.op("max", b.sub(stop, start), ZERO, dtype="int64")
    w.bounds[length] = w.bounds.get(size, size)
    return start, 1, length


def _selected(w: GraphWriter, x: Value, selection: Selection) -> Value:
    return w.view(x, selection.shape, lambda place: x.at(selection.place(w, place)))


def updated(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write an update of a part of an array."""
    x, value, *key = operands
    op: Any = node.op
    dtype, old, new = x.dtype, node.dtype, node.inputs[1].dtype

    def combined(current: Scalar, term: Scalar) -> Scalar:
        if new != old:
            term = w.builder.op(Cast(dtype), term, dtype=dtype)
        if op.combiner is None:
            return term
        return w.builder.op(op.combiner, current, term, dtype=dtype)

    if isinstance(x, Written) and value.static is not None:
        if not key and all([kind in ("int", "slice") for kind, *_ in op.params[0]]):
            return _updated_statically(w, x, value, op, combined)
        if [kind for kind, *_ in op.params[0]] == ["dynamic"] * len(x.shape) and not value.shape:
            return _updated_element(w, x, value, key, combined)
    selection = _selection(w, op.params[0], x, key)
    shape = _fitted(w, value, selection.shape)
    part = Part(shape, lambda place: selection.place(w, place))
    target = w.writable(node, x, part)
    if target.buffer in value.reads and not w.reads_in_place(value, target.buffer, part):
        value = w.kept(value)

    def write(place: Index) -> None:
        at = (*target.first, *selection.place(w, place))
        current = target.at(selection.place(w, place)) if op.combiner is not None else ZERO
        w.builder.store(target.buffer, at, combined(current, stretched(value, place)))

    w.for_each(shape, write)
    if op.combiner is None and new == old and list(value.shape) == list(selection.shape):
        w.is_stored(node.inputs[1], _selected(w, target, selection))
    return target


def _fitted(w: GraphWriter, value: Value, shape: Sequence[Scalar]) -> list[Scalar]:
    """Return the sizes of a part, which are 0 if a value of another size is to be written to it."""
    b = w.builder
    sizes = list(shape)
    for axis in range(-len(value.shape), 0):
        own, size = value.shape[axis], sizes[axis]
        if own is ONE or own is size:
            continue
        same = b.op("equal", own, size, dtype="bool")
        w.fail_if(b.op("not", same, dtype="bool"))
        sizes[axis] = b.op("select", same, size, ZERO, dtype="int64")
    return sizes


def _updated_statically(
    w: GraphWriter, x: Written, value: Value, op: Any, combined: Callable[[Scalar, Scalar], Scalar]
) -> Value:
    from relgraph.ops.indexing.expression import numpy_key

    elements = x.elements.copy()
    numbers = np.arange(elements.size).reshape(elements.shape)[numpy_key(op.params[0], ())]
    flat = elements.ravel()
    for place in product(*[range(n) for n in numbers.shape]):
        k = numbers[place]
        flat[k] = combined(flat[k], stretched(value, [index(i) for i in place]))
    return w.written(x.dtype, flat.reshape(elements.shape))


def _updated_element(
    w: GraphWriter,
    x: Written,
    value: Value,
    key: Sequence[Value],
    combined: Callable[[Scalar, Scalar], Scalar],
) -> Value:
    b = w.builder
    at = [w.checked(w.as_index(i), n) for i, n in zip(key, x.shape, strict=True)]
    new = value.at(())
    elements = np.empty_like(x.elements)
    for place in product(*[range(n) for n in elements.shape]):
        test: Scalar = const(True, "bool")
        for i, k in zip(at, place, strict=True):
            same = b.op("equal", i, index(k), dtype="bool")
            test = same if isinstance(test, Const) else b.op("and", test, same, dtype="bool")
        old = x.elements[place]
        elements[place] = b.op("select", test, combined(old, new), old, dtype=x.dtype)
    return w.written(x.dtype, elements)


# Triangles.


def triangle(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write a triangle of a matrix, or of each one of a batch, with zeros beside it."""
    (x,) = operands
    (k,) = node.op.params  # type: ignore[union-attr]
    b, zero = w.builder, const(0, x.dtype)

    def at(place: Index) -> Scalar:
        *_, i, j = place
        if isinstance(node.op, Triu):
            beside = b.op("less", j, b.add(i, index(k)), dtype="bool")
        else:
            beside = b.op("less", b.add(i, index(k)), j, dtype="bool")
        return b.op("select", beside, zero, x.at(place), dtype=x.dtype)

    return w.element_by_element(x.dtype, x.shape, at, reads(x), 1 + getattr(x, "cost", 0))


# Joins.


def joined(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write a concatenation, or a stack."""
    axis = node.op.params[0] % node.ndim  # type: ignore[union-attr]
    dtype = node.dtype.name
    parts = [w.converted(x, dtype) for x in operands]
    if isinstance(node.op, Stack):
        parts = [
            w.view(x, [*x.shape[:axis], ONE, *x.shape[axis:]], _without(x, axis)) for x in parts
        ]
    sizes = [index(n) for n in node.type.shape if isinstance(n, int)]
    if len(sizes) == node.ndim and w.is_small(sizes):
        arrays = [w.written_out(x).elements for x in parts]
        return w.written(dtype, np.concatenate(arrays, axis))
    start: Scalar = ZERO
    starts: list[Scalar] = []
    for x in parts:
        starts.append(start)
        start = w.builder.add(start, x.shape[axis])
    shape = [*parts[0].shape[:axis], start, *parts[0].shape[axis + 1 :]]
    rest = [(*n.shape[:axis], *n.shape[axis + 1 :]) for n in parts]
    if any([sizes != rest[0] for sizes in rest]):
        raise Unsupported  # sizes that are compared at the call
    target = w.buffer(dtype, shape)
    for x, first in zip(parts, starts, strict=True):
        w.for_each(x.shape, _stored_at(w, x, target, axis, first))
    return target


def _without(x: Value, axis: int) -> Callable[[Index], Scalar]:
    return lambda place: x.at([*place[:axis], *place[axis + 1 :]])


def _stored_at(
    w: GraphWriter, x: Value, target: Stored, axis: int, first: Scalar
) -> Callable[[Index], None]:
    def store(place: Index) -> None:
        there = [*place[:axis], w.builder.add(first, place[axis]), *place[axis + 1 :]]
        w.builder.store(target.buffer, there, x.at(place))

    return store


# Reductions.

_STARTS: dict[Any, Callable[[np.dtype[Any]], Any]] = {
    add: lambda dtype: 0,
    multiply: lambda dtype: 1,
    logical_or: lambda dtype: False,
    logical_and: lambda dtype: True,
    maximum: lambda dtype: -np.inf if dtype.kind == "f" else np.iinfo(dtype).min,
    minimum: lambda dtype: np.inf if dtype.kind == "f" else np.iinfo(dtype).max,
}


def reduced(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write a reduction."""
    (x,) = operands
    op: Any = node.op
    combiner = add if isinstance(op, Mean) else op.combiner
    dtype = node.dtype
    if combiner not in _STARTS or (dtype.kind == "b" and combiner in (maximum, minimum)):
        raise Unsupported
    if op.nonempty and x.static is None:
        _check_not_empty(w, x)
    axes = [a % len(x.shape) for a in reduced_axes(op.params[0], len(x.shape), op.name)]
    x = w.converted(x, dtype.name)
    start = const(_STARTS[combiner](dtype), dtype.name)
    free = combiner is add and dtype.kind == "f"
    b = w.builder

    def combine(total: Scalar, term: Scalar) -> Scalar:
        return b.op(combiner, total, term, dtype=dtype.name)

    static = [x.shape[a] for a in axes]
    looped = not w.is_small(static)

    def total_at(kept: Index) -> Scalar:
        rest = iter(kept)
        place: list[Any] = [None if a in axes else next(rest) for a in range(len(x.shape))]
        if not looped:
            result: Scalar | None = None
            for where in product(*[range(n.value) for n in static]):  # type: ignore[attr-defined]
                for a, k in zip(axes, where, strict=True):
                    place[a] = index(k)
                term = x.at(place)
                result = term if result is None else combine(result, term)
            total = start if result is None else result
        else:
            total = _looped(w, x, axes, place, start, combine=combine, free=free)
        return mean_of(total) if isinstance(op, Mean) else total

    def mean_of(total: Scalar) -> Scalar:
        count: Scalar = ONE
        for n in static:
            count = b.mul(count, n)
        number = b.op(Cast(dtype.name), count, dtype=dtype.name)
        return b.op(true_divide, total, number, dtype=dtype.name)

    kept = [x.shape[a] for a in range(len(x.shape)) if a not in axes]
    result: Value
    if looped and len(x.shape) - 1 not in axes:
        result = w.buffer(dtype.name, kept)
        last = mean_of if isinstance(op, Mean) else None
        _rows_reduced(w, x, axes, result, start, combine=combine, last=last)
    else:
        result = w.tabulated(dtype.name, kept, total_at, looped=looped)
    if not op.params[1]:
        return result
    shape = [ONE if a in axes else n for a, n in enumerate(x.shape)]
    return w.view(
        result, shape, lambda place: result.at([i for a, i in enumerate(place) if a not in axes])
    )


def _check_not_empty(w: GraphWriter, x: Value) -> None:
    """Set the flag if an array has no elements, of which a maximum is an error."""
    for n in x.shape:
        if not isinstance(n, Const):
            w.fail_if(w.builder.op("less", n, ONE, dtype="bool"))
        elif n.value < 1:
            raise Unsupported


def _looped(
    w: GraphWriter,
    x: Value,
    axes: Sequence[int],
    place: list[Any],
    start: Scalar,
    *,
    combine: Callable[[Scalar, Scalar], Scalar],
    free: bool,
) -> Scalar:
    """Write loops over the reduced axes that carry the total."""
    first, *others = axes
    with w.builder.loop(ZERO, x.shape[first], [start], apart=not others) as loop:
        place[first] = loop.index
        (total,) = loop.vars
        if others:
            following = _looped(w, x, others, place, total, combine=combine, free=free)
        elif free:
            following = w.builder.op("sum", total, x.at(place), dtype=x.dtype)
        else:
            following = combine(total, x.at(place))
        loop.next = [following]
    return loop.vars[0]


def _rows_reduced(
    w: GraphWriter,
    x: Value,
    axes: Sequence[int],
    target: Stored,
    start: Scalar,
    *,
    combine: Callable[[Scalar, Scalar], Scalar],
    last: Callable[[Scalar], Scalar] | None,
) -> None:
    """Write a reduction that combines rows, along the axes after the last one that is reduced."""
    b, rows = w.builder, max(axes) + 1

    def row(first: Index) -> None:
        def each(new: Callable[[Index, list[Scalar]], Scalar]) -> None:
            def write(column: Index) -> None:
                at = [*target.first, *first, *column]
                b.store(target.buffer, at, new(column, at))

            w.for_each(x.shape[rows:], write)

        def reduce(place: list[Any], rest: Sequence[int]) -> None:
            if not rest:
                each(lambda column, at: combine(b.load(target.buffer, at), x.at([*place, *column])))
                return
            with b.loop(ZERO, x.shape[rest[0]]) as loop:
                place[rest[0]] = loop.index
                reduce(place, rest[1:])

        outer = iter(first)
        each(lambda column, at: start)
        reduce([None if a in axes else next(outer) for a in range(rows)], axes)
        if last is not None:
            each(lambda column, at: last(b.load(target.buffer, at)))

    w.for_each([x.shape[a] for a in range(rows) if a not in axes], row)


def accumulated(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write a cumulative op of a written array."""
    op: Any = node.op
    x = w.converted(operands[0], node.dtype.name)
    if x.static is None or prod(x.static) > w.limit:
        raise Unsupported
    elements = w.written_out(x).elements.copy()
    combiner = op.fold(None, False).combiner
    along = np.moveaxis(elements, op.params[0], 0)
    for i in range(1, len(along)):
        for place in product(*[range(n) for n in along.shape[1:]]):
            along[(i, *place)] = w.builder.op(
                combiner, along[(i - 1, *place)], along[(i, *place)], dtype=x.dtype
            )
    return w.written(x.dtype, elements)


# Products.


def matmul(
    w: GraphWriter, node: Variable, operands: Sequence[Value], *, keep: bool = True
) -> Value:
    """Write a product of vectors and matrices; without ``keep`` each element is read once."""
    dtype = node.dtype.name
    x, y = [w.converted(v, dtype) for v in operands]
    if max(len(x.shape), len(y.shape)) > 2 or node.dtype.kind == "b":
        raise Unsupported
    b = w.builder
    inner = x.shape[-1] if isinstance(x.shape[-1], Const) else y.shape[0]
    vector_left, vector_right = len(x.shape) == 1, len(y.shape) == 1
    if len(x.shape) == len(y.shape) == 2 and not _is_small_product(x, y):
        if dtype not in ("float32", "float64"):
            raise Unsupported  # a library is faster
        return product_of(Routines(w, dtype, lambda k, shape: w.buffer(dtype, shape)), x, y)
    free = node.dtype.kind == "f"

    def element(place: Index) -> Scalar:
        rest = iter(place)
        row = [] if vector_left else [next(rest)]
        column = [] if vector_right else [next(rest)]

        def term(k: Scalar) -> Scalar:
            return b.op(multiply, x.at([*row, k]), y.at([k, *column]), dtype=dtype)

        if isinstance(inner, Const) and w.is_small([inner]):
            if inner.value == 0:
                return const(0, dtype)
            total = term(ZERO)
            for k in range(1, inner.value):
                total = b.op(add, total, term(index(k)), dtype=dtype)
            return total
        with b.loop(ZERO, inner, [const(0, dtype)], apart=True, name="k") as loop:
            (total,) = loop.vars
            op: Any = "sum" if free else add
            loop.next = [b.op(op, total, term(loop.index), dtype=dtype)]
        return loop.vars[0]

    if not isinstance(x, Written):
        x = w.cheap(x)
    if not isinstance(y, Written):
        y = w.cheap(y)
    shape = [*([] if vector_left else x.shape[:1]), *([] if vector_right else y.shape[1:])]
    if not keep:
        return Computed(dtype, shape, element, reads(x, y), 100)
    last = shape[-1] if shape else ONE
    wide = not isinstance(last, Const) or last.value >= WIDE
    if wide and not vector_right and not (vector_left and y.by_columns):
        y = w.kept(y) if y.by_columns else y
        return _rows_added(w, shape, dtype, inner, x.at, y.at)
    if wide and vector_right and x.by_columns:
        return _rows_added(w, shape, dtype, inner, y.at, lambda place: x.at(place[::-1]))
    looped = not (isinstance(inner, Const) and w.is_small([inner]))
    return w.tabulated(dtype, shape, element, looped=looped)


def _rows_added(
    w: GraphWriter,
    shape: Sequence[Scalar],
    dtype: str,
    inner: Scalar,
    *sides: Callable[[Index], Scalar],
) -> Value:
    """Write a product that adds rows of the right operand to those of the result."""
    b, target = w.builder, w.buffer(dtype, shape)
    left, right = sides

    def row(place: Index) -> None:
        def clear(column: Index) -> None:
            b.store(target.buffer, [*place, *column], const(0, dtype))

        w.for_each(shape[-1:], clear)
        with b.loop(ZERO, inner, name="k") as loop:
            factor = left([*place, loop.index])

            def add_to(column: Index) -> None:
                at = [*place, *column]
                term = b.op(multiply, factor, right([loop.index, *column]), dtype=dtype)
                total = b.op(add, b.load(target.buffer, at), term, dtype=dtype)
                b.store(target.buffer, at, total)

            w.for_each(shape[-1:], add_to)

    w.for_each(shape[:-1], row)
    return target


def _is_small_product(x: Value, y: Value) -> bool:
    sizes = [n.value if isinstance(n, Const) else None for n in (*x.shape, *y.shape[1:])]
    return None not in sizes and prod(sizes) <= PRODUCT  # type: ignore[arg-type]


def outer(w: GraphWriter, node: Variable, operands: Sequence[Value]) -> Value:
    """Write an outer product."""
    dtype = node.dtype.name
    x, y = [w.converted(v, dtype) for v in operands]
    if len(x.shape) != 1 or len(y.shape) != 1:
        raise Unsupported

    def at(place: Index) -> Scalar:
        return w.builder.op(multiply, x.at(place[:1]), y.at(place[1:]), dtype=dtype)

    shape = [x.shape[0], y.shape[0]]
    return w.element_by_element(dtype, shape, at, reads(x, y), 1)


RULES: dict[type[GraphOp], Rule] = {
    Elementwise: elementwise,
    Cast: elementwise,
    Transpose: transpose,
    MatrixTranspose: transpose,
    ExpandDims: expand_dims,
    Squeeze: squeeze,
    BroadcastTo: broadcast_to,
    Reshape: reshape,
    Dim: dim,
    IndexOp: indexed,
    Concatenate: joined,
    Stack: joined,
    Tril: triangle,
    Triu: triangle,
    Outer: outer,
    GetItem: lambda w, node, operands: operands[0][node.op.params[0]],  # type: ignore[union-attr]
}


def rule_of(op: GraphOp) -> Rule:
    """Return the rule of an op, or raise Unsupported."""
    rule = RULES.get(type(op))
    if rule is not None:
        return rule
    if isinstance(op, Reduction) and op.combiner is not None:
        return reduced
    if isinstance(op, IndexUpdate):
        return updated
    if isinstance(op, Cumulative):
        return accumulated
    if op.rearranges:
        return rearranged
    raise Unsupported


__all__ = ["RULES", "Rule", "Unsupported", "rule_of"]
