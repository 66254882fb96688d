"""Functions of the loop language as one loop over independent series.

A batch of recurrences is a loop over steps, each with loops over the series, or a loop over the
series, each with buffers of its own.  If a series touches elements of its own only, the function is
written with the series as the outermost loop, whose iterations are apart and go to threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from relgraph.errors import VerifyError
from relgraph.ir.records import replace
from relgraph.lowering.loops.builder import ZERO
from relgraph.lowering.loops.changes import Steps, mapped
from relgraph.lowering.loops.function import Array, LoopFunction
from relgraph.lowering.loops.nodes import (
    Body,
    Buffer,
    Const,
    Function,
    If,
    Let,
    Load,
    Loop,
    Node,
    Scalar,
    Statement,
    Store,
    Var,
    While,
    buffers_of,
    walk,
)
from relgraph.lowering.loops.verify import verify

SERIES = Var("series", "int64")


def batched(loop: LoopFunction) -> LoopFunction | None:
    """Return a function whose last statement is a loop over independent series.

    Parameters
    ----------
    loop : LoopFunction
        The function.

    Returns
    -------
    LoopFunction or None
        The statements before the loop over series write to nothing but the stack and the status.
        The result is None if series are not independent, or there are none.
    """
    cleared, *others = loop.function.body
    first, rest = _split(tuple(others))
    first = (cleared, *first)
    outermost = _loop_of(rest)
    if outermost is not None:
        series = _with_own_buffers(loop, first, outermost)
        if series is not None:
            return series
    for size in dict.fromkeys(_sizes(rest)):
        body = _Spread(size).body(rest) if _is_known(loop, size) else None
        if body is not None:
            all_series = Loop(SERIES, ZERO, size, body, (), True)
            function = _with_loop(loop.function, first, all_series)
            if function is not None:
                return replace(loop, function=function)
    return None


def series_in_turn(loop: LoopFunction) -> LoopFunction:
    """Return a function that runs one series after another, if that saves memory traffic.

    It does for arrays whose steps lie along the last axis, such as the levels of an atmosphere, and
    whose series have several rows: a step reads one element of each line of memory.
    """
    accesses = [x for x in walk(loop.function.body) if isinstance(x, Load | Store)]
    series = batched(loop) if any([len(x.index) > 2 for x in accesses]) else None
    if series is None or series.scratch != loop.scratch:
        return loop
    (*_, outermost) = series.function.body
    assert isinstance(outermost, Loop)
    inside = list(walk(outermost.body))
    accesses = [x for x in inside if isinstance(x, Load | Store)]
    along = Steps(outermost)
    own = [x for x in accesses if any([along.of(i) != 0 for i in x.index])]
    if not all([_is_first(along, x.index) for x in own]):
        return loop
    recurrences = [Steps(x) for x in inside if isinstance(x, Loop) and not x.apart]
    rows = [x for x in own if len(x.index) > 2]
    return series if any([s.of(x.index[-1]) != 0 for s in recurrences for x in rows]) else loop


def _is_first(steps: Steps, at: Sequence[Scalar]) -> bool:
    """Return True if iterations differ in the first of several indices only, by one."""
    first, *rest = [steps.of(i) for i in at]
    return first == 1 and bool(rest) and not any([n != 0 for n in rest])


def _split(body: Body) -> tuple[Body, Body]:
    """Return the statements that each thread may run, and the rest."""
    for k, s in enumerate(body):
        stack = isinstance(s, Store) and s.buffer.space == "stack"
        if not (stack or isinstance(s, Let)):
            return body[:k], body[k:]
    return body, ()


def _loop_of(body: Body) -> Loop | None:
    """Return the loop that is all of a body, with a check around it made a part of it."""
    if len(body) != 1:
        return None
    (s,) = body
    if isinstance(s, If) and not s.results:
        first, rest = _split(s.other)
        loop = _loop_of(rest)
        if loop is None:
            return None
        guarded = If(s.test, s.then, (*first, *loop.body))
        return Loop(loop.index, loop.low, loop.high, (guarded,), loop.carried, loop.apart)
    return s if isinstance(s, Loop) else None


def _over_series(s: Loop) -> bool:
    return s.apart and not s.carried and s.low is ZERO


def _is_known(loop: LoopFunction, size: Scalar) -> bool:
    return isinstance(size, Const) or size in loop.function.integers


def _with_loop(function: Function, first: Body, series: Loop) -> Function | None:
    """Return the function with another end, or None if a series touches elements of another one."""
    result = Function(function.name, function.integers, function.arrays, (*first, series))
    try:
        verify(result)
    except VerifyError:
        return None
    return result


def _with_own_buffers(loop: LoopFunction, first: Body, series: Loop) -> LoopFunction | None:
    """Return a function in which each series has buffers of its own, as parts of larger ones.

    A buffer is a value of the body, which a series writes before it reads it: what another series
    left there does not matter.
    """
    if series.carried or series.low is not ZERO or not _is_known(loop, series.high):
        return None
    function = loop.function
    fixed = len(loop.operands) + len(loop.results)
    scratch, status = function.arrays[fixed:-1], function.arrays[-1]
    inside = sorted(buffers_of(series.body) - buffers_of(first), key=lambda b: b.name)
    own = {
        b: Buffer(f"{b.name}s", b.dtype, (*b.shape, series.high))
        for b in inside
        if b.space == "stack" or b in scratch
    }

    def in_parts(x: Node) -> Node:
        if isinstance(x, Load) and x.buffer in own:
            return Load(own[x.buffer], (*x.index, series.index))
        if isinstance(x, Store) and x.buffer in own:
            return Store(own[x.buffer], (*x.index, series.index), x.value)
        return x

    made = (*[b for b in scratch if b not in own], *own.values())
    arrays = (*function.arrays[:fixed], *made, status)
    body = mapped(series.body, in_parts)
    result = _with_loop(
        Function(function.name, function.integers, arrays, ()),
        first,
        Loop(series.index, ZERO, series.high, body, (), True),
    )
    if result is None:
        return None
    return replace(loop, function=result, scratch=tuple([Array(b.dtype, b.shape) for b in made]))


def _sizes(body: Body) -> Iterator[Scalar]:
    """Yield the sizes of the outermost loops whose iterations are apart."""
    for s in body:
        if isinstance(s, Loop) and _over_series(s):
            yield s.high
        elif isinstance(s, Loop):
            yield from _sizes(s.body)
        elif isinstance(s, While):
            yield from _sizes((*s.head, *s.body))
        elif isinstance(s, If):
            yield from _sizes((*s.then, *s.other))


class _Spread:
    """The statements of a series: those of all loops over series, for one."""

    def __init__(self, size: Scalar) -> None:
        self.size = size

    def body(self, body: Body) -> Body | None:
        """Return the statements, or None if each series would run a loop over all of them."""
        result: list[Statement] = []
        for s in body:
            part = self.statement(s)
            if part is None:
                return None
            result += part
        return tuple(result)

    def statement(self, s: Statement) -> Body | None:
        if isinstance(s, Loop):
            if s.high is self.size and s.low is ZERO:
                if not _over_series(s):
                    return None
                body: Body = mapped(s.body, lambda x: SERIES if x is s.index else x)
                return body
            inner = self.body(s.body)
            return None if inner is None else (_with(s, body=inner),)
        if isinstance(s, While):
            head, inner = self.body(s.head), self.body(s.body)
            return None if head is None or inner is None else (_with(s, head=head, body=inner),)
        if isinstance(s, If):
            then, other = self.body(s.then), self.body(s.other)
            return None if then is None or other is None else (_with(s, then=then, other=other),)
        return (s,)


def _with(node: Statement, **fields: Any) -> Statement:
    return type(node)(*[fields.get(name, getattr(node, name)) for name in node.fields])


__all__ = ["SERIES", "batched", "series_in_turn"]
