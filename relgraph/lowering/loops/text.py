"""Functions of the loop language as text, in the notation of Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from relgraph.lowering.loops.nodes import (
    START,
    STOP,
    Address,
    Alias,
    Allocate,
    Atomic,
    Barrier,
    Body,
    Buffer,
    Call,
    Const,
    Function,
    If,
    Join,
    Launch,
    Leave,
    Let,
    Load,
    Loop,
    Node,
    Op,
    Prefix,
    Scalar,
    Statement,
    Store,
    Stream,
    Var,
    While,
    buffers_of,
)
from relgraph.ops.elementwise import Cast, Elementwise

_DEEPEST = 4  # ops in each other in a line
_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "//", "rem": "%", "less": "<", "equal": "==",
    "and": "and", "or": "or", "sum": "+",
}  # fmt: skip


def text(function: Function) -> str:
    """Return a function as text.

    An array is declared with its dtype, sizes and, after colons, its strides in bytes.  A value
    that a loop carries is assigned before the loop and at the end of each iteration.
    """
    return _Text().function(function)


class _Text:
    def __init__(self) -> None:
        self.inlined: dict[Var, Op] = {}  # ops that one statement of their block reads
        self.depth: dict[Var, int] = {}  # of their expressions

    def function(self, f: Function) -> str:
        names = [x.name for x in (START, STOP, *f.integers)]
        arrays = [self.declared(x) for x in f.arrays]
        stack = sorted(buffers_of(f.body) - set(f.arrays), key=lambda x: x.name)
        lines = [f"def {f.name}(", f"    {', '.join(names)},"]
        lines += [f"    {', '.join(arrays)},"] if arrays else []
        lines += ["):", *[f"    {self.declared(x).replace(': ', ' = stack.', 1)}" for x in stack]]
        lines += [f"    {line}" for line in self.block(f.body, ())]
        return "\n".join([*lines, ""])

    def declared(self, x: Buffer) -> str:
        sizes = [self.scalar(n) for n in x.shape]
        if x.strides:
            sizes = [f"{n}:{self.scalar(d)}" for n, d in zip(sizes, x.strides, strict=True)]
        return f"{x.name}: {x.dtype}[{', '.join(sizes)}]"

    def block(self, body: Body, ends: Sequence[tuple[Var, Scalar]]) -> Iterator[str]:
        """Yield the lines of a block, which ends with assignments."""
        reads = Counter(x for s in body for y in _own(s) for x in _variables(y))
        reads.update([x for _, y in ends for x in _variables(y)])
        inner = {x for s in body for y in _nested(s) for x in _variables(y)}
        for s in body:
            if isinstance(s, Let) and isinstance(s.value, Op):
                depth = 1 + max(
                    [self.depth.get(x, 0) for x in s.value.args if isinstance(x, Var)], default=0
                )
                if reads[s.var] == 1 and s.var not in inner and depth <= _DEEPEST:
                    self.inlined[s.var], self.depth[s.var] = s.value, depth
                    continue
            yield from self.statement(s)
        if ends:
            names, values = zip(*[(a.name, self.scalar(b)) for a, b in ends], strict=True)
            yield f"{', '.join(names)} = {', '.join(values)}"

    def statement(self, s: Statement) -> Iterator[str]:
        if isinstance(s, Let):
            yield f"{s.var.name} = {self.scalar(s.value)}"
        elif isinstance(s, Join):
            yield f"{s.var.name} = join_{s.op.name}({self.scalar(s.value)})"
        elif isinstance(s, Prefix):
            values = f"{self.scalar(s.start)}, {self.scalar(s.value)}"
            yield f"{s.before.name}, {s.after.name} = prefix_{s.op.name}({values})"
        elif isinstance(s, Barrier):
            yield "barrier()"
        elif isinstance(s, Atomic):
            yield f"atomic {self.element(s.buffer, s.index)} += {self.scalar(s.value)}"
        elif isinstance(s, Store):
            yield f"{self.element(s.buffer, s.index)} = {self.scalar(s.value)}"
        elif isinstance(s, Stream):
            target = self.element(s.buffer, s.index)
            yield f"stream({target}, {s.source.name}, {self.scalar(s.count)})"
        elif isinstance(s, Call):
            yield f"{s.routine}({', '.join(map(self.argument, s.arguments))})"
        elif isinstance(s, Leave):
            yield f"if {self.scalar(s.test)}: return"
        elif isinstance(s, Alias):
            yield f"{self.declared(s.buffer)} = {self.argument(s.address)}"
        elif isinstance(s, Allocate):
            sizes = [self.scalar(n) for n in s.sizes]
            yield f"{self.declared(s.buffer)} = allocate({', '.join([str(s.number), *sizes])})"
        elif isinstance(s, Launch):
            arguments = [*map(self.scalar, s.integers), *map(self.argument, s.arrays)]
            yield f"{s.kernel.name}({', '.join(arguments)})"
        elif isinstance(s, If):
            for word, body, ends in (
                (f"if {self.scalar(s.test)}:", s.then, [(r.var, r.then) for r in s.results]),
                ("else:", s.other, [(r.var, r.other) for r in s.results]),
            ):
                yield word
                yield from _indented([*self.block(body, ends)] or ["pass"])
        elif isinstance(s, Loop | While):
            yield from self.block((), [(c.var, c.start) for c in s.carried])
            ends = [(c.var, c.next) for c in s.carried]
            if isinstance(s, Loop):
                bounds = [self.scalar(s.low), self.scalar(s.high), *[str(s.step)] * (s.step != 1)]
                shown = bounds[1:] if bounds[0] == "0" and len(bounds) == 2 else bounds
                who = f"{s.level or 'range'}({', '.join(shown)})"
                yield f"for {s.index.name} in {who}:"
                yield from _indented(self.block(s.body, ends))
            else:
                yield "while True:"
                yield from _indented(self.block(s.head, ()))
                yield f"    if not {self.scalar(s.test, nested=True)}: break"
                yield from _indented(self.block(s.body, ends))

    def element(self, buffer: Buffer, index: Sequence[Scalar]) -> str:
        return f"{buffer.name}[{', '.join(map(self.scalar, index))}]"

    def argument(self, x: Address | Scalar) -> str:
        return f"&{self.element(x.buffer, x.index)}" if isinstance(x, Address) else self.scalar(x)

    def scalar(self, x: Scalar, nested: bool = False) -> str:
        if isinstance(x, Const):
            return x.text
        if isinstance(x, Load):
            return self.element(x.buffer, x.index)
        if isinstance(x, Var):
            return self.scalar(self.inlined[x], nested) if x in self.inlined else x.name
        assert isinstance(x, Op)
        symbol = _symbol(x)
        if symbol and len(x.args) == 2:
            written = f" {symbol} ".join([self.scalar(y, nested=True) for y in x.args])
            return f"({written})" if nested else written
        if isinstance(x.op, Cast):
            return f"{x.dtype}({self.scalar(x.args[0])})"
        name = x.op if isinstance(x.op, str) else x.op.name
        return f"{name}({', '.join(map(self.scalar, x.args))})"


def _symbol(x: Op) -> str:
    if isinstance(x.op, str):
        return _INFIX.get(x.op, "")
    return x.op.row.symbol if isinstance(x.op, Elementwise) else ""


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines)


def _nested(s: Statement) -> tuple[Any, ...]:
    """Return the blocks of a statement, and what these read."""
    if isinstance(s, Loop):
        return s.body, tuple([c.next for c in s.carried])
    if isinstance(s, While):
        return s.head, s.test, s.body, tuple([c.next for c in s.carried])
    if isinstance(s, If):
        return s.then, s.other, tuple([(r.then, r.other) for r in s.results])
    return ()


def _own(s: Statement) -> tuple[Any, ...]:
    """Return what a statement reads outside of its blocks."""
    if isinstance(s, Loop):
        return s.low, s.high, tuple([c.start for c in s.carried])
    if isinstance(s, While):
        return (tuple([c.start for c in s.carried]),)
    if isinstance(s, If):
        return (s.test,)
    return (s.value,) if isinstance(s, Let | Join) else s.values


def _variables(x: Any) -> Iterator[Var]:
    """Yield each occurrence of a variable in scalars and statements."""
    if isinstance(x, Var):
        yield x
    elif isinstance(x, tuple):
        for y in x:
            yield from _variables(y)
    elif isinstance(x, Node) and not isinstance(x, Buffer):
        for y in x.values:
            yield from _variables(y)


__all__ = ["text"]
