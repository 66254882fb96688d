"""Functions of the loop language as one loop over independent series.

A batch of recurrences is written as a loop over steps, each with loops over the series.  If a
series touches elements of its own only, the series can be the outermost loop, whose iterations go
to threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from relgraph.errors import VerifyError
from relgraph.lowering.loops.builder import ZERO
from relgraph.lowering.loops.nodes import (
    Body,
    Buffer,
    Const,
    Function,
    If,
    Let,
    Loop,
    Node,
    Scalar,
    Statement,
    Store,
    Var,
    While,
)
from relgraph.lowering.loops.verify import verify

SERIES = Var("series", "int64")


def batched(function: Function) -> Function | None:
    """Return a function whose last statement is a loop over independent series.

    Parameters
    ----------
    function : Function
        The function.

    Returns
    -------
    Function or None
        The statements before the loop write to nothing but the stack and the status.  The result
        is None if series are not independent, or there are none.
    """
    first, rest = _split(function)
    if len(rest) == 1 and _over_series(rest[0]):
        return function
    for size in dict.fromkeys(_sizes(rest)):
        if not (isinstance(size, Const) or size in function.integers):
            continue
        body = _Spread(size).body(rest)
        if body is None:
            continue
        loop = Loop(SERIES, ZERO, size, body, (), True)
        result = Function(function.name, function.integers, function.arrays, (*first, loop))
        try:
            verify(result)
        except VerifyError:  # a series touches elements of another one
            continue
        return result
    return None


def _split(function: Function) -> tuple[Body, Body]:
    """Return the statements that each thread may run, and the rest."""
    body = function.body
    for k, s in enumerate(body):
        stack = isinstance(s, Store) and s.buffer.space == "stack"
        if not (k == 0 or stack or isinstance(s, Let)):
            return body[:k], body[k:]
    return body, ()


def _over_series(s: Statement) -> bool:
    return isinstance(s, Loop) and s.apart and not s.carried


def _sizes(body: Body) -> Iterator[Scalar]:
    """Yield the sizes of the outermost loops whose iterations are apart."""
    for s in body:
        if isinstance(s, Loop) and _over_series(s) and s.low is ZERO:
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
                return substituted(s.body, {s.index: SERIES}) if _over_series(s) else None
            body = self.body(s.body)
            return None if body is None else (_with(s, body=body),)
        if isinstance(s, While):
            head, body = self.body(s.head), self.body(s.body)
            return None if head is None or body is None else (_with(s, head=head, body=body),)
        if isinstance(s, If):
            then, other = self.body(s.then), self.body(s.other)
            return None if then is None or other is None else (_with(s, then=then, other=other),)
        return (s,)


def _with(node: Statement, **fields: Any) -> Statement:
    return type(node)(*[fields.get(name, getattr(node, name)) for name in node.fields])


def substituted(x: Any, values: Mapping[Node, Node]) -> Any:
    """Return statements or scalars with some of them replaced; buffers keep their sizes."""
    images: dict[Node, Node] = dict(values)

    def image(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple([image(y) for y in x])
        if not isinstance(x, Node) or isinstance(x, Buffer):
            return x
        if x not in images:
            images[x] = type(x)(*[image(y) for y in x.values])
        return images[x]

    return image(x)


__all__ = ["SERIES", "batched", "substituted"]
