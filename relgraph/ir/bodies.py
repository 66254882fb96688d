"""The text of ops with bodies, such as loops: functions of Python, on one line or in a block."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from relgraph.ir.infix import brief

if TYPE_CHECKING:
    from relgraph.ir.node import Variable

WIDTH = 72  # characters of a body on one line
_NODES = 16  # half of those of such a body
DOTS = "..."
_NUMBER, _WORD = re.compile(r"_\d+$"), re.compile(r"[A-Za-z_]\w*")
_SHORT = re.compile(r"-?[\w.]{1,20}$")  # an operand that bodies name by its text


def op_text(op: Any) -> str:
    """Return an op with its parameters, but without its bodies."""
    pairs = zip(op.parameters, op.params, strict=True)
    shown = [f"{name}={x!r}" for name, x in pairs if x not in op.bodies]
    return f"{op.name}{{{', '.join(shown)}}}" if shown else str(op.name)


def body_names(op: Any) -> list[str]:
    """Return the names of the parameters that are bodies."""
    return [name for name, x in zip(op.parameters, op.params, strict=True) if x in op.bodies]


def read_operands(op: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """Return the operands that bodies read besides the arguments that they are called with."""
    return operands[len(operands) - len(op.bodies[0].graph.inputs) + op.own :]


def argument_names(op: Any, body: Any, operands: Iterable[str]) -> dict[Variable, str]:
    """Return the names of the inputs that a body is called with, which no operand has.

    A name has a number only if there are others like it.
    """
    inputs = body.graph.inputs[: op.own]
    stems = [_NUMBER.sub("", x.name) for x in inputs]
    count = Counter(stems)
    taken = {word for text in operands for word in _WORD.findall(text)}
    names = {}
    for x, stem in zip(inputs, stems, strict=True):
        name = stem if count[stem] == 1 else x.name
        while name in taken:
            name += "_"
        names[x] = name
    return names


def parameters(body: Any, names: Mapping[Any, str]) -> str:
    """Return the parameters of a body as a function; an index that nothing reads is left out."""
    read = {i for x in body.graph for i in x.inputs} | set(body.graph.outputs)
    return ", ".join([name for x, name in names.items() if x in read or x.name != "index"])


def inline(op: Any, body: Any, operands: Sequence[str]) -> str:
    """Return a body as a function on one line, with dots for a long result.

    Parameters
    ----------
    op : Op
        The op with the body.
    body : Body
        The body.
    operands : sequence of str
        The texts of the operands that it reads.
    """
    names = argument_names(op, body, operands)
    before = parameters(body, names)
    head = f"lambda {before}:" if before else "lambda:"
    graph = body.graph
    known = {**names, **dict(zip(graph.inputs[op.own :], operands, strict=True))}
    if len(graph) <= 2 * _NODES:
        results = [known[x] if x in known else brief(x, 2 * _NODES, known) for x in graph.outputs]
        text = f"{head} {op.returned(body, results)}"
        if len(text) <= WIDTH:
            return text
    return f"{head} {DOTS}"


def call_texts(op: Any, operands: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the bodies on one line, and what else the call has to say of their operands."""
    inputs = op.bodies[0].graph.inputs[op.own :]
    read = list(read_operands(op, operands))
    long = [not _SHORT.match(text) for text in read]
    texts = [x.name if cut else text for x, text, cut in zip(inputs, read, long, strict=True)]
    more = [f"{x.name}={text}" for x, text, cut in zip(inputs, read, long, strict=True) if cut]
    return [inline(op, body, texts) for body in op.bodies], more


def grouped(texts: Sequence[str]) -> str:
    """Return one text as it is, several as a tuple, and None for none."""
    if len(texts) == 1:
        return texts[0]
    return f"({', '.join(texts)})" if texts else "None"


__all__ = [
    "DOTS", "argument_names", "body_names", "call_texts", "grouped", "inline", "op_text",
    "parameters", "read_operands",
]  # fmt: skip
