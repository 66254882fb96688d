"""Loops and choices in the loop language: scans, ``while`` loops and conditions.

What a loop carries is in variables if it has few elements of constant number, and in a buffer
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.ir.op import GetItem
from relgraph.lowering.loops.builder import ONE, ZERO
from relgraph.lowering.loops.nodes import Buffer, If, Scalar, Store, Var, index
from relgraph.lowering.loops.rules import Unsupported
from relgraph.lowering.loops.values import Stored, Value
from relgraph.lowering.loops.writer import GOES_ON
from relgraph.ops.indexing.update import IndexUpdate
from relgraph.ops.loops import Cond, Scan, is_loop

if TYPE_CHECKING:
    from relgraph.lowering.loops.build import GraphWriter

ROUNDS = 1 << 20  # iterations of a ``while`` loop before its caller looks for signals
MOST = 1 << 30  # iterations of a ``while`` loop within another loop


def _read_often(w: GraphWriter, values: Iterable[Value]) -> list[Value]:
    """Return operands that a body reads, which another iteration or the graph around it may
    read again.
    """
    return [_shared(w, x) for x in values]


def _shared(w: GraphWriter, x: Value) -> Value:
    if w.is_small(x.shape):
        return _operand(w, x)
    x = w.cheap(x)
    if not isinstance(x, Stored):
        return x
    return Stored(x.buffer, w.builder, x.first, shared=True, shape=x.shape)


def scan(
    w: GraphWriter,
    node: Variable,
    operands: Sequence[Value],
    targets: Sequence[Buffer] | None,
    places: Mapping[int, Stored],
) -> list[Value]:
    """Write a scan; ``places`` are for what it stacks within another scan."""
    op: Any = node.op
    body, n, sequences = op.body, op.carries, op.sequences
    length: Scalar = index(op.size) if isinstance(op.size, int) else ZERO
    if not isinstance(op.size, int):
        length = operands[1 + n].shape[0] if sequences else w.as_index(operands[0])
    b = w.builder
    slices = operands[1 + n : 1 + n + sequences]
    for x in slices:
        if x.shape[0] is not length:
            same = b.op("equal", x.shape[0], length, dtype="bool")
            w.fail_if(b.op("not", same, dtype="bool"))
            length = b.op("select", same, length, ZERO, dtype="int64")
    rest = _read_often(w, operands[1 + n + sequences :])
    carry = _Carry(w, node, operands, range(1, 1 + n), targets)
    stacks: list[Stored] = []
    for k, type_ in enumerate(node.type.items[n:]):
        if targets is not None:
            stacks.append(Stored(targets[n + k], b))
            continue
        inner = [index(d) if isinstance(d, int) else w.size_named(d) for d in type_.shape[1:]]
        place = places.get(n + k)
        if place is None or place.shape != (length, *inner):
            place = w.buffer(type_.dtype.name, [length, *inner])
        stacks.append(place)
    buffers = len(w.owned)
    with b.loop(ZERO, length, carry.starts) as loop:
        i = loop.index
        at = b.sub(b.sub(length, ONE), i) if op.reverse else i
        parts = [_slice(w, x, at) for x in slices]
        slots = [stack.part(at) for stack in stacks]
        results = w.graph(
            body.graph,
            [w.scalar(at), *carry.values(loop.vars), *parts, *rest],
            dict(zip(body.graph.outputs[n:], slots, strict=True)),
        )
        loop.next = carry.following(results[:n], list(zip(results[n:], slots, strict=True)))
        # Without a carry, an iteration writes to what it stacks, and to buffers of its own.
        loop.apart = n == 0 and len(w.owned) == buffers
    return [*carry.values(loop.vars), *stacks]


def _slice(w: GraphWriter, x: Value, at: Scalar) -> Value:
    if isinstance(x, Stored):
        part: Value = x.part(at)
    else:
        part = w.view(x, x.shape[1:], lambda place: x.at([at, *place]))
    return w.written_out(part) if w.is_small(part.shape) else part


def while_loop(
    w: GraphWriter, node: Variable, operands: Sequence[Value], targets: Sequence[Buffer] | None
) -> list[Value]:
    """Write a ``while`` loop."""
    op: Any = node.op
    b, n = w.builder, op.carries
    rest = _read_often(w, operands[n:])
    carry = _Carry(w, node, operands, range(n), targets)
    most = ROUNDS if targets is not None else MOST

    def head(variables: Sequence[Var]) -> Scalar:
        count, *others = variables
        (test,) = w.graph(op.test.graph, [*carry.values(others), *rest])
        within = b.op("less", count, index(most), dtype="bool")
        return b.op("and", test.at(()), within, dtype="bool")

    def step(variables: Sequence[Var]) -> list[Scalar]:
        count, *others = variables
        results = w.graph(op.body.graph, [*carry.values(others), *rest])
        return [b.add(count, ONE), *carry.following(results, [])]

    count, *last = b.loop_while([ZERO, *carry.starts], head, step)
    over = b.op("equal", count, index(most), dtype="bool")
    if targets is None:
        w.fail_if(over)
    else:
        status = b.add(b.load(w.status, (ZERO,)), index(GOES_ON))
        b.write(If(over, (Store(w.status, (ZERO,), status),), ()))
    return carry.values(last)


def cond(
    w: GraphWriter, node: Variable, operands: Sequence[Value], targets: Sequence[Buffer] | None
) -> list[Value]:
    """Write a choice of two graphs.

    A branch writes to an operand that it updates and that nothing reads later.
    """
    op: Any = node.op
    b = w.builder
    changed: dict[int, Stored] = {}  # operands that a branch writes to, by their numbers
    places: list[Stored | None] = []  # of results; None for those in variables
    for k, type_ in enumerate(node.type.items):
        shape = [index(d) if isinstance(d, int) else w.size_named(d) for d in type_.shape]
        updated = None if targets is not None else _updated(op, k)
        if w.is_small(shape):
            places.append(None)
        elif updated and updated not in changed and w.carried_in_place(node, operands, updated):
            operand = operands[updated]
            assert isinstance(operand, Stored)
            changed[updated] = operand
            places.append(operand)
        else:
            new = Stored(targets[k], b) if targets else w.buffer(type_.dtype.name, shape)
            places.append(new)
    known = [changed.get(i) or _shared(w, x) for i, x in enumerate(operands[1:], 1)]
    branches = [partial(_branch, w, body.graph, known, places, changed) for body in op.bodies]
    flat = iter(b.choice(operands[0].at(()), *branches))
    values: list[Value] = []
    for type_, place in zip(node.type.items, places, strict=True):
        if place is not None:
            values.append(place)
            continue
        elements = np.empty(type_.shape, object)
        for at in np.ndindex(*elements.shape):
            elements[at] = next(flat)
        values.append(w.written(type_.dtype.name, elements))
    return values


def _branch(
    w: GraphWriter,
    graph: FunctionGraph,
    known: Sequence[Value],
    places: Sequence[Stored | None],
    changed: Mapping[int, Stored],
) -> list[Scalar]:
    """Write a branch of a choice, and return the elements of its small results."""
    new = {
        x: place
        for x, place in zip(graph.outputs, places, strict=True)
        if place is not None and place not in changed.values()
    }
    flat: list[Scalar] = []
    pending: list[tuple[Stored, Value]] = []
    for value, place in zip(w.graph(graph, known, new), places, strict=True):
        if place is None:
            flat += w.written_out(value).elements.ravel().tolist()
        else:
            pending.append((place, value))
    _store_together(w, pending)
    return flat


def _updated(op: Any, k: int) -> int | None:
    """Return the operand that both branches update to produce result ``k``, or None."""
    roots = []
    for body in op.bodies:
        x = body.graph.outputs[k]
        before = _before_update(x)
        while before is not None:
            x, before = before, _before_update(before)
        roots.append(body.graph.inputs.index(x) if x in body.graph.inputs else -1)
    return 1 + roots[0] if roots[0] == roots[1] >= 0 else None


def _before_update(x: Variable) -> Variable | None:
    """Return the array that a node is an update of, or None if it is another one."""
    if isinstance(x.op, IndexUpdate):
        return x.inputs[0]
    loop = x.inputs[0] if isinstance(x.op, GetItem) else None
    if loop is None or not is_loop(loop):
        return None
    (k,), op = x.op.params, loop.op  # type: ignore[union-attr]
    if isinstance(op, Cond):
        updated = _updated(op, k)
        return None if updated is None else loop.inputs[updated]
    if k >= op.carries:  # type: ignore[union-attr]
        return None
    before: Variable = loop.inputs[k + isinstance(op, Scan)]
    return before


def _store_together(w: GraphWriter, pending: list[tuple[Stored, Value]]) -> None:
    """Store values, some of which may read the buffers that others are stored in."""
    for place, value in pending:
        if isinstance(value, Stored) and value.buffer is place.buffer and value.first:
            raise Unsupported
    waiting = [
        (place, value)
        for place, value in pending
        if not (isinstance(value, Stored) and value.buffer is place.buffer)
    ]
    late: list[tuple[Stored, Value]] = []
    while waiting:
        place, value = waiting.pop(0)
        own = place.buffer in value.reads and not w.reads_in_place(value, place.buffer)
        if own or any([place.buffer in other.reads for _, other in waiting]):
            late.append((place, w.kept(value)))
        else:
            w.store(value, place)
    for place, value in late:
        w.store(value, place)


def _operand(w: GraphWriter, x: Value) -> Value:
    """Return a small operand that nobody writes to: written out, and where it is stored."""
    out = w.written_out(x)
    if isinstance(x, Stored) and x.buffer not in w.owned:
        stored = x
        out.source = lambda: stored
    return out


class _Carry:
    """What a loop carries: in variables if it is small, in buffers otherwise."""

    def __init__(
        self,
        w: GraphWriter,
        node: Variable,
        operands: Sequence[Value],
        carried: range,
        targets: Sequence[Buffer] | None,
    ) -> None:
        self.w = w
        self.starts: list[Scalar] = []
        self._kinds: list[tuple[str, tuple[int, ...]] | Stored] = []
        for k, number in enumerate(carried):
            start = operands[number]
            if start.static is not None and w.is_small(start.shape):
                elements = w.written_out(start).elements
                self.starts += elements.ravel().tolist()
                self._kinds.append((start.dtype, elements.shape))
                continue
            if targets is not None:
                place = w.kept(start, Stored(targets[k], w.builder))
            elif w.carried_in_place(node, operands, number):
                assert isinstance(start, Stored)
                place = start
            else:
                place = w.kept(start)
            self._kinds.append(place)

    def values(self, variables: Sequence[Scalar]) -> list[Value]:
        """Return what is carried, as arrays."""
        rest = iter(variables)
        values: list[Value] = []
        for kind in self._kinds:
            if isinstance(kind, Stored):
                values.append(kind)
                continue
            dtype, shape = kind
            elements = np.empty(shape, object)
            for place in np.ndindex(*shape):
                elements[place] = next(rest)
            values.append(self.w.written(dtype, elements))
        return values

    def following(
        self, results: Sequence[Value], stacked: Sequence[tuple[Value, Stored]]
    ) -> list[Scalar]:
        """Write the results of an iteration, and return the next values of the variables."""
        w = self.w
        flat: list[Scalar] = []
        pending: list[tuple[Stored, Value]] = []
        for kind, value in zip(self._kinds, results, strict=True):
            if isinstance(kind, Stored):
                pending.append((kind, value))
                continue
            if value.static != kind[1]:
                raise Unsupported
            flat += w.written_out(value).elements.ravel().tolist()
        for value, place in stacked:
            w.store(value, place)
        _store_together(w, pending)
        return flat


__all__ = ["cond", "scan", "while_loop"]
