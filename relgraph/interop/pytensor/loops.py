"""Translation of PyTensor's loops and choices: ``Scan`` and ``IfElse``.

A ``Scan`` of PyTensor writes to buffers, which begin with the first values, and its step reads
entries of them at fixed distances, the taps.  Here, what a step reads of a buffer is carried from
one iteration to the next, and what it writes is stacked; so the buffers are joined after the loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

import relgraph.numpy as rnp
import relgraph.ops.elementwise as ew
from relgraph.errors import RelgraphError
from relgraph.interop.pytensor.scalars import as_dtype
from relgraph.interop.pytensor.tensors import Unsupported, Use, as_size
from relgraph.ir.node import Variable, constant, fresh_input
from relgraph.ir.sizes import Place, size_at
from relgraph.ir.types import TensorType
from relgraph.ops.elementwise import Cast
from relgraph.ops.loops import Cond, Scan, WhileLoop, closed, joined, results_of
from relgraph.ops.shape import Dim, ExpandDims, broadcast_to, dim

_INDEX = TensorType("int64")


class Buffer(NamedTuple):
    """A buffer after a loop, whose parts indices select.

    Attributes
    ----------
    first : int or None
        How many values stand before those that the loop computed; None if others follow them.
    stacked, last : Variable
        What the loop computed, and the last value.
    """

    first: int | None
    stacked: Variable
    last: Variable | None


@dataclass
class _State:
    """A buffer that a loop reads or writes.

    Attributes
    ----------
    starts : list of Variable
        The values that the first iteration reads, in the order of the buffer.
    reads, writes : tuple of int
        The entries of a window that the step reads and writes; it moves by one each iteration.
    length : Variable or int
        That of the buffer.
    ahead : Variable or None
        A sequence that has the entry of the buffer which the window reaches, for buffers that are
        read before they are written.
    buffer : Variable or None
        The buffer before the loop.
    """

    starts: list[Any]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    length: Any
    ahead: Any = None
    buffer: Any = None

    @property
    def begins(self) -> int:
        """How many values the loop carries."""
        return len(self.starts)


@dataclass
class _Step:
    """The results of a step: the next values of the states, what is stacked, whether it ends."""

    following: list[Any] = field(default_factory=list)
    stacked: list[Any] = field(default_factory=list)
    until: Any = None


class _Taps(NamedTuple):
    """The parts of an application of ``Scan``, translated."""

    number: Any
    sequences: list[Any]
    states: list[_State]
    kept: list[Any]  # the lengths of results that no step reads
    plain: list[Any]  # states without a buffer
    rest: list[Any]


def _scan(use: Use, *operands: Any) -> Any:
    info = use.op.info
    if info.as_while and info.mit_mot_in_slices:
        raise Unsupported("it writes several entries of a buffer until a condition holds")
    taps = _parts(info, operands)
    run = _until if info.as_while else _counted
    try:
        return run(use, taps)
    except RelgraphError as error:
        raise Unsupported(f"its states change their types: {error.what}") from error


def _parts(info: Any, operands: Sequence[Any]) -> _Taps:
    """Return the parts of an application."""
    number = _simple(as_dtype(operands[0], "int64"))
    rest = iter(operands[1:])
    count = getattr(info, "n_untraced_sit_sot", None)
    plain_count = info.n_shared_outs if count is None else count
    sequences = [_prefix(x, number) for x in islice(rest, info.n_seqs)]
    states = []
    for reads, writes in zip(info.mit_mot_in_slices, info.mit_mot_out_slices, strict=True):
        states.append(_window(next(rest), reads, writes, number))
    for reads in (*info.mit_sot_in_slices, *info.sit_sot_in_slices):
        states.append(_history(next(rest), reads))
    plain = list(islice(rest, plain_count))
    kept = list(islice(rest, info.n_nit_sot))
    return _Taps(number, sequences, states, kept, plain, list(rest))


def _history(buffer: Any, taps: Sequence[int]) -> _State:
    """Return a state of which steps read earlier values, and compute the next one."""
    begins = -min(taps)
    starts = _rows(buffer, begins)
    return _State(starts, tuple([begins + tap for tap in taps]), (begins,), length(buffer))


def _window(buffer: Any, reads: Sequence[int], writes: Sequence[int], number: Any) -> _State:
    """Return a state of which steps read and write several entries."""
    offset = -min(0, *reads)
    reads = tuple([offset + tap for tap in reads])
    writes = tuple([offset + tap for tap in writes])
    width = max(*reads, *writes)
    ahead = buffer
    if difference(length(buffer), number) != 0 or width:
        ahead = buffer[width : number + width]
    starts = [buffer[i] for i in range(width)]
    return _State(starts, reads, writes, length(buffer), ahead, buffer)


def _rows(buffer: Any, count: int) -> list[Any]:
    """Return the first entries of a buffer, whose memory is often made for the loop."""
    first = _written(buffer, count)
    if first is not None and isinstance(first.op, ExpandDims) and count == 1:
        (inner,) = first.inputs
        if inner.ndim == first.ndim - 1:
            return [inner]
    return [(buffer if first is None else first)[i] for i in range(count)]


def _written(buffer: Any, count: int) -> Any:
    """Return what was written to the first entries of a buffer, if nothing is written later."""
    if type(buffer.op).__name__ != "SetIndex":
        return None
    value = buffer.inputs[1]
    (entry, *others) = buffer.op.params[0]
    if others or entry[0] != "slice" or entry[1] not in (None, 0) or entry[3] not in (None, 1):
        return None
    stop = buffer.inputs[2] if entry[2] == "dynamic" else entry[2]
    if value.ndim != buffer.ndim or value.dtype != buffer.dtype:
        return None
    if difference(stop, count) != 0 or difference(length(value), count) != 0:
        return None
    alike = all(size_at(value, i) == size_at(buffer, i) for i in range(1 - buffer.ndim, 0))
    return value if alike else None


def _prefix(x: Any, number: Any) -> Any:
    """Return the first entries of a sequence."""
    while (inner := _sliced(x)) is not None and difference(length(inner), number) == 0:
        x = inner
    return x if difference(length(x), number) == 0 else x[:number]


def _sliced(x: Any) -> Any:
    """Return the array of which ``x`` is the beginning."""
    if type(x.op).__name__ != "Index":
        return None
    (entry, *others) = x.op.params[0]
    if others or entry[0] != "slice" or entry[1] not in (None, 0) or entry[3] not in (None, 1):
        return None
    return x.inputs[0]


# Lengths.


def length(x: Any) -> Any:
    """Return the length of an array along the first axis: an int, or a graph of other lengths."""
    size = x.type.shape[0]
    if isinstance(size, int):
        return size
    op: Any = x.op
    name = type(op).__name__
    if name in ("SetIndex", "AddIndex"):
        return length(x.inputs[0])
    if name == "Concatenate" and op.params[0] in (0, -x.ndim):
        return sum(map(length, x.inputs))
    if name == "GetItem" and isinstance(x.inputs[0].op, Scan) and _is_stacked(x):
        return x.inputs[0].inputs[0]
    if name == "BroadcastTo":
        return dim(x, 0)
    if name == "Index" and len(op.params[0]) == 1 and op.params[0][0][0] == "slice":
        return _sliced_length(x)
    at = size_at(x, -x.ndim)
    if isinstance(at, Place) and at.node is not x and at.node.ndim and at.axis == -at.node.ndim:
        return length(at.node)
    return Dim(-x.ndim)(x)


def _is_stacked(x: Any) -> bool:
    return bool(x.op.index >= x.inputs[0].op.carries)


def _sliced_length(x: Any) -> Any:
    """Return the length of a slice, if the array is long enough for it."""
    _, start, stop, step = x.op.params[0][0]
    bounds = iter(x.inputs[1:])
    start, stop, step = (next(bounds) if b == "dynamic" else b for b in (start, stop, step))
    whole = length(x.inputs[0])
    if step in (1, -1, None) and start is None and stop is None:
        return whole
    if step in (1, None):
        first = 0 if start is None else as_size(start)
        if isinstance(first, int) and first >= 0:
            if stop is None:
                return whole - first
            end = as_size(stop)
            if isinstance(end, int):
                return (whole if end < 0 else 0) + end - first
            left = difference(whole, end)
            if left is not None and left >= 0:
                return end - first
    return Dim(-x.ndim)(x)


def difference(a: Any, b: Any) -> int | None:
    """Return how much larger a length is than another one, if that is the same for all sizes."""
    first, second = Counter(dict(_terms(a, 1))), Counter(dict(_terms(b, 1)))
    first.subtract(second)
    number = first.pop(None, 0)
    return None if any(first.values()) else number


def _simple(number: Any) -> Any:
    """Return a number of iterations as the length of an array that it is read from, if it is."""
    terms = [(x, count) for x, count in _terms(number, 1) if count]
    if len(terms) == 1 and terms[0][0] is not None and terms[0][1] == 1:
        return terms[0][0]
    return number


def _terms(x: Any, sign: int) -> Iterator[tuple[Any, int]]:
    """Yield the terms of a sum of lengths with their signs, and None for a number."""
    total: Counter[Any] = Counter()
    waiting = [(x, sign)]
    while waiting:
        x, sign = waiting.pop()
        x = as_size(x)
        if isinstance(x, int):
            total[None] += sign * x
        elif isinstance(x.op, Cast) and x.inputs[0].dtype.kind in "iu":
            waiting.append((x.inputs[0], sign))
        elif x.op in (ew.add, ew.subtract):
            first, *others = x.inputs
            waiting.append((first, sign))
            waiting += [(y, sign if x.op is ew.add else -sign) for y in others]
        elif isinstance(x.op, Dim) and x.op.params[0] == -x.inputs[0].ndim:
            found = length(x.inputs[0])
            if found is x:
                total[x] += sign
            else:
                waiting.append((found, sign))
        else:
            total[x] += sign
    yield from total.items()


# The step.


class _Inner:
    """The graph of a step, translated for what an iteration carries and reads."""

    def __init__(self, use: Use, taps: _Taps) -> None:
        self.use, self.taps, self.info = use, taps, use.op.info
        self.types = [x.type for x in self._carried()]

    def _carried(self) -> list[Any]:
        states = [x for state in self.taps.states for x in state.starts]
        return [*states, *self.taps.plain]

    def inputs(self) -> tuple[list[Any], list[Any], list[Any]]:
        """Return new inputs: what is carried, slices of sequences, entries read ahead."""
        taps = self.taps
        ahead = [x.ahead for x in taps.states if x.ahead is not None]
        carried = [fresh_input(f"carry_{i}", t) for i, t in enumerate(self.types)]
        slices, more = (
            [fresh_input("slice", TensorType(x.dtype, x.type.shape[1:])) for x in xs]
            for xs in (taps.sequences, ahead)
        )
        return carried, slices, more

    def step(self, carried: Sequence[Any], slices: Sequence[Any], ahead: Sequence[Any]) -> _Step:
        """Return the results of the step for what it carries and reads."""
        values, more = iter(carried), iter(ahead)
        windows = []
        for state in self.taps.states:
            window = list(islice(values, state.begins))
            windows.append(window if state.ahead is None else [*window, next(more)])
        operands = list(slices)
        for state, window in zip(self.taps.states, windows, strict=True):
            operands += [window[i] for i in state.reads]
        operands += [*values, *self.taps.rest]
        results = iter(self.use.loader.inline(self.use.op.fgraph, operands))
        step = _Step()
        for state, window in zip(self.taps.states, windows, strict=True):
            entries = {**dict(enumerate(window)), **dict(zip(state.writes, results, strict=False))}
            first, *following = [entries[i] for i in range(max(entries) + 1)]
            step.following += following
            step.stacked.append(first if state.ahead is not None else entries[state.begins])
        step.stacked += islice(results, self.info.n_nit_sot)
        step.following += islice(results, len(self.taps.plain))
        step.until = next(results, None)
        return step

    def agreed(self) -> tuple[list[Any], _Step]:
        """Return the inputs and results of the step, for types that stay the same."""
        loader = self.use.loader
        while True:
            missing = Counter(loader.missing)
            inputs = self.inputs()
            step = self.step(*inputs)
            if loader.missing != missing:
                raise Missing
            pairs = list(zip(self.types, step.following, strict=True))
            types = [joined(t, x.type, "the next value") for t, x in pairs]
            if types == self.types:
                return [x for part in inputs for x in part], step
            self.types = types
            loader.missing = missing


class Missing(Unsupported):
    """Raised for a loop whose step has ops without a translation, which are counted."""


def _counted(use: Use, taps: _Taps) -> list[Any]:
    """Return the results of a loop with a known number of iterations."""
    inner = _Inner(use, taps)
    inputs, step = inner.agreed()
    starts = inner._carried()
    ahead = [x.ahead for x in taps.states if x.ahead is not None]
    sequences = [*taps.sequences, *ahead]
    index = fresh_input("index", _INDEX)
    names = ["index", *[f"carry_{i}" for i in range(len(starts))]]
    names += [f"slice_{i}" for i in range(len(sequences))]
    (body,), captured = closed([([index, *inputs], [*step.following, *step.stacked])], names)
    size: Any = as_size(taps.number)
    if not isinstance(size, int):
        sizes = [x.type.shape[0] for x in sequences if isinstance(x.type.shape[0], int)]
        size = sizes[0] if sizes else sequences[0].type.shape[0] if sequences else None
    number = constant(size, dtype="int64") if isinstance(size, int) else taps.number
    op = Scan(body, len(starts), len(sequences), size, False)
    results = results_of(op(number, *starts, *sequences, *captured))
    last, stacked = results[: len(starts)], results[len(starts) :]
    return _buffers(use, taps, taps.number, last, stacked)


def _buffers(
    use: Use, taps: _Taps, number: Any, last: Sequence[Any], stacked: Sequence[Any]
) -> list[Any]:
    """Return the buffers after a loop, and the states without one."""
    ends, rows = iter(last), iter(stacked)
    results = []
    for state in taps.states:
        final = list(islice(ends, state.begins))
        join = _stretch if state.ahead is not None else _joined
        results.append(join(use, state, number, final, next(rows)))
    for size, ys in zip(taps.kept, rows, strict=True):
        state = _State([], (), (), as_dtype(size, "int64"))
        results.append(_joined(use, state, number, [], ys))
    return [*results, *ends]


def _joined(use: Use, state: _State, number: Any, final: Sequence[Any], ys: Any) -> Any:
    """Return a buffer: the first values, then those computed; the last ones if it is shorter."""
    extra = difference(state.length, number)
    whole = rnp.concatenate([rnp.stack(state.starts), ys]) if state.starts else ys
    end = final[-1] if final else None
    if extra == state.begins:
        use.loader.buffers[whole] = Buffer(state.begins, ys, end)
        if end is not None:
            use.loader.buffers.setdefault(ys, Buffer(0, ys, end))
        return whole
    if extra is not None and extra < state.begins:
        return whole[state.begins - extra :]
    if state.length == 1 and end is not None:
        return end[None]
    left = state.length - (number + state.begins)
    shape = tuple([dim(ys, i) for i in range(1, ys.ndim)])
    zero = constant(np.zeros((), ys.dtype))
    zeros = broadcast_to(zero, (as_size(ew.maximum(left, 0)), *shape))
    return rnp.concatenate([whole[ew.maximum(-left, 0) :], zeros])


def _stretch(use: Use, state: _State, number: Any, final: Sequence[Any], ys: Any) -> Any:
    """Return a buffer of which iterations wrote several entries."""
    parts = [ys, rnp.stack(final)] if final else [ys]
    extra = difference(state.length, number)
    if extra != state.begins:
        parts.append(state.buffer[number + state.begins :])
    whole = rnp.concatenate(parts) if len(parts) > 1 else ys
    if final and extra == state.begins:
        use.loader.buffers[whole] = Buffer(None, ys, final[-1])
    return whole


def _until(use: Use, taps: _Taps) -> list[Any]:
    """Return the results of a loop that ends early, whose buffers end where it does."""
    inner = _Inner(use, taps)
    lengths = [(x.length, x.begins) for x in taps.states] + [(x, 0) for x in taps.kept]
    if any(difference(x, taps.number) != begins for x, begins in lengths):
        raise Unsupported("it keeps the last values of a loop that ends early")
    inputs, step = inner.agreed()
    starts = inner._carried()
    count = len(starts)
    carried, slices = inputs[:count], inputs[count:]
    index, going = fresh_input("index", _INDEX), fresh_input("going", TensorType("bool"))
    images = dict(zip([*carried, *slices], [*starts, *taps.sequences], strict=True))
    memory = [_memory(y, taps.number, images) for y in step.stacked]
    places = [fresh_input("stacked", x.type) for x in memory]
    slices_at = [x[index] for x in taps.sequences]
    again = inner.step(carried, slices_at, [])
    written = [buffer.at[index].set(y) for buffer, y in zip(places, again.stacked, strict=True)]
    own = [index, going, *carried, *places]
    following = [index + 1, ew.equal(again.until, 0), *again.following, *written]
    names = ["index", "going", *[f"carry_{i}" for i in range(len(own) - 2)]]
    goes = ew.logical_and(going, ew.less(index, taps.number))
    (test, body), captured = closed([(own, [goes]), (own, following)], names)
    zero, true = constant(np.int64(0)), constant(np.bool_(True))
    op = WhileLoop(test, body, len(own))
    results = results_of(op(zero, true, *starts, *memory, *captured))
    number, last = results[0], results[2 : 2 + count]
    stacked = [x[:number] for x in results[2 + count :]]
    ended = taps._replace(
        states=[_State(x.starts, (), (), number + x.begins) for x in taps.states],
        kept=[number for _ in taps.kept],
    )
    return _buffers(use, ended, number, last, stacked)


def _memory(y: Any, number: Any, images: dict[Any, Any]) -> Any:
    """Return zeros for the results of iterations, before the loop."""
    sizes = []
    for axis in range(-y.ndim, 0):
        size = size_at(y, axis)
        if isinstance(size, Place) and size.node in images:
            outer = images[size.node]
            size = dim(outer, size.axis + outer.ndim)
        elif not isinstance(size, int):
            raise Unsupported("it ends early, and the shapes of its results are not known")
        sizes.append(size)
    return broadcast_to(constant(np.zeros((), y.dtype)), (as_size(number), *sizes))


# Choices.


def _if_else(use: Use, condition: Any, *operands: Any) -> Any:
    count = use.op.n_outs
    graphs: list[Any] = [([], operands[:count]), ([], operands[count:])]
    (then, other), captured = closed(graphs, [], whole=True)
    try:
        return results_of(Cond(then, other)(ew.not_equal(condition, 0), *captured))
    except RelgraphError as error:
        raise Unsupported(f"its results differ in type: {error.what}") from error


def selected(buffer: Buffer | None, key: Sequence[Any]) -> Any:
    """Return the part of a buffer that a key selects if the loop computes it, or None."""
    if buffer is None or len(key) != 1:
        return None
    (entry,) = key
    if isinstance(entry, int | np.integer) and entry == -1:
        return buffer.last
    if isinstance(entry, slice) and (entry.stop, entry.step) in ((None, None), (None, 1)):
        start = entry.start or 0
        if isinstance(start, int) and start == buffer.first:
            return buffer.stacked
    return None


TABLE: dict[str, Callable[..., Any]] = {"Scan": _scan, "IfElse": _if_else}

__all__ = ["TABLE", "Buffer", "Missing", "difference", "length", "selected"]
