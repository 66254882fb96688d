"""Functions of the loop language as text, in the notation of Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relgraph.lowering.loops.nodes import (
    START,
    STOP,
    Address,
    Body,
    Buffer,
    Call,
    Carry,
    Const,
    Function,
    If,
    Let,
    Load,
    Loop,
    Op,
    Scalar,
    Statement,
    Store,
    Stream,
    Var,
    While,
    buffers_of,
)
from relgraph.ops.elementwise import Cast, Elementwise

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "//", "rem": "%", "less": "<", "equal": "==",
    "and": "and", "or": "or", "sum": "+",
}  # fmt: skip


def text(function: Function) -> str:
    """Return a function as text.

    An array is declared with its dtype, sizes and, after colons, its strides in bytes.  A value
    that a loop carries is assigned before the loop and at the end of each iteration.
    """
    names = [x.name for x in (START, STOP, *function.integers)]
    arrays = [_declared(x) for x in function.arrays]
    stack = sorted(buffers_of(function.body) - set(function.arrays), key=lambda x: x.name)
    lines = [f"def {function.name}(", f"    {', '.join(names)},"]
    lines += [f"    {', '.join(arrays)},"] if arrays else []
    lines += ["):", *[f"    {_declared(x).replace(': ', ' = stack.', 1)}" for x in stack]]
    lines += [f"    {line}" for line in _body(function.body)]
    return "\n".join([*lines, ""])


def _declared(x: Buffer) -> str:
    sizes = [_scalar(n) for n in x.shape]
    if x.strides:
        sizes = [f"{n}:{_scalar(d)}" for n, d in zip(sizes, x.strides, strict=True)]
    return f"{x.name}: {x.dtype}[{', '.join(sizes)}]"


def _body(body: Body) -> Iterator[str]:
    for statement in body:
        yield from _statement(statement)


def _statement(s: Statement) -> Iterator[str]:
    if isinstance(s, Let):
        yield f"{s.var.name} = {_scalar(s.value)}"
    elif isinstance(s, Store):
        yield f"{_element(s.buffer, s.index)} = {_scalar(s.value)}"
    elif isinstance(s, Stream):
        yield f"stream({_element(s.buffer, s.index)}, {s.source.name}, {_scalar(s.count)})"
    elif isinstance(s, Call):
        yield f"{s.routine}({', '.join(map(_argument, s.arguments))})"
    elif isinstance(s, Loop):
        yield from _assigned([(c.var, c.start) for c in s.carried])
        bounds = [_scalar(s.low), _scalar(s.high)] + ([str(s.step)] if s.step != 1 else [])
        if bounds[0] == "0" and len(bounds) == 2:
            del bounds[0]
        yield f"for {s.index.name} in range({', '.join(bounds)}):"
        yield from _block(s.body, s.carried)
    elif isinstance(s, While):
        yield from _assigned([(c.var, c.start) for c in s.carried])
        yield "while True:"
        yield from _block(s.head, ())
        yield f"    if not {_scalar(s.test, nested=True)}: break"
        yield from _block(s.body, s.carried)
    elif isinstance(s, If):
        for word, body, values in (
            (f"if {_scalar(s.test)}:", s.then, [(r.var, r.then) for r in s.results]),
            ("else:", s.other, [(r.var, r.other) for r in s.results]),
        ):
            yield word
            lines = [*_body(body), *_assigned(values)]
            yield from [f"    {line}" for line in lines or ["pass"]]


def _block(body: Body, carried: Sequence[Carry]) -> Iterator[str]:
    for line in (*_body(body), *_assigned([(c.var, c.next) for c in carried])):
        yield f"    {line}"


def _assigned(pairs: Sequence[tuple[Var, Scalar]]) -> Iterator[str]:
    if pairs:
        names, values = zip(*[(a.name, _scalar(b)) for a, b in pairs], strict=True)
        yield f"{', '.join(names)} = {', '.join(values)}"


def _element(buffer: Buffer, index: Sequence[Scalar]) -> str:
    return f"{buffer.name}[{', '.join(map(_scalar, index))}]"


def _argument(x: Address | Scalar) -> str:
    return f"&{_element(x.buffer, x.index)}" if isinstance(x, Address) else _scalar(x)


def _scalar(x: Scalar, nested: bool = False) -> str:
    if isinstance(x, Const):
        return x.text
    if isinstance(x, Var):
        return x.name
    if isinstance(x, Load):
        return _element(x.buffer, x.index)
    assert isinstance(x, Op)
    symbol = _symbol(x)
    if symbol and len(x.args) == 2:
        written = f" {symbol} ".join([_scalar(y, nested=True) for y in x.args])
        return f"({written})" if nested else written
    if isinstance(x.op, Cast):
        return f"{x.dtype}({_scalar(x.args[0])})"
    name = x.op if isinstance(x.op, str) else x.op.name
    return f"{name}({', '.join(map(_scalar, x.args))})"


def _symbol(x: Op) -> str:
    if isinstance(x.op, str):
        return _INFIX.get(x.op, "")
    return x.op.row.symbol if isinstance(x.op, Elementwise) else ""


__all__ = ["text"]
