"""Printing graphs: one line, infix statements, and a tree.  Shared nodes are named once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from relgraph.errors import ArgumentError
from relgraph.ir.graph import FunctionGraph, as_outputs, toposort
from relgraph.ir.node import Constant, Input, Variable
from relgraph.ir.op import Op

ATOM = 100  # the precedence of names, numbers and calls
SIGN = 13  # that of a minus sign
_WIDTH = 100


class Text(str):
    """A text that a console or notebook shows without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def brief(node: Variable, limit: int = 80) -> str:
    """Return a graph in infix on one line, with ``...`` for parts that are too deep.

    Parameters
    ----------
    node : Variable
        The graph.
    limit : int
        The number of nodes to write out at most.
    """
    # Breadth first, to cut off the deepest parts.
    kept: list[Variable] = [node]
    tree: list[list[int]] = []
    for place, x in enumerate(kept):
        row: list[int] = []
        if len(kept) + len(x.inputs) <= limit:
            row = list(range(len(kept), len(kept) + len(x.inputs)))
            kept.extend(x.inputs)
        tree.append(row)
        assert place < limit
    texts: list[tuple[str, int]] = [("", 0)] * len(kept)
    for place in reversed(range(len(kept))):
        x = kept[place]
        if x.inputs and not tree[place]:
            texts[place] = ("...", ATOM)
        else:
            texts[place] = _text(x, [texts[i] for i in tree[place]])
    return texts[0][0]


def pprint(outputs: Any, names: Iterable[str] | None = None) -> Text:
    """Return a graph as infix statements.

    A node with several users, or with a text longer than a line, gets a name.

    Parameters
    ----------
    outputs : Variable, iterable of Variable, FunctionGraph or Function
        What to print; the last statements are the outputs.
    names : iterable of str, optional
        Names for the outputs; without them a single output is printed bare.

    Returns
    -------
    Text
        A str of one line a statement.

    Examples
    --------
    >>> import relgraph as rg
    >>> x = rg.vector("x")
    >>> y = rg.exp(x)
    >>> print(rg.pprint(y + y * 2))
    t0 = exp(x)
    t0 + t0 * 2
    """
    nodes = _outputs_of(outputs)
    wanted = set(nodes)
    order = toposort(nodes)
    uses: dict[Variable, int] = dict.fromkeys(order, 0)
    for x in order:
        for operand in x.inputs:
            uses[operand] += 1
    texts: dict[Variable, tuple[str, int]] = {}
    lines: list[str] = []
    for x in order:
        text = _text(x, [texts[i] for i in x.inputs])
        last = x in wanted and uses[x] == 0
        if x.inputs and not last and (uses[x] > 1 or len(text[0]) > _WIDTH):
            name = f"t{len(lines)}"
            lines.append(f"{name} = {text[0]}")
            text = (name, ATOM)
        texts[x] = text
    labels = list(names) if names is not None else []
    for i, x in enumerate(nodes):
        lines.append(f"{labels[i]} = {texts[x][0]}" if labels else texts[x][0])
    return Text("\n".join(lines))


def dprint(outputs: Any) -> Text:
    """Return a graph as a tree, one node a line, with types; a shared node is expanded once.

    Parameters
    ----------
    outputs : Variable, iterable of Variable, FunctionGraph or Function
        What to print.

    Returns
    -------
    Text
        A str of one line a node.

    Examples
    --------
    >>> import relgraph as rg
    >>> x = rg.vector("x", shape=(3,))
    >>> print(rg.dprint(rg.exp(x) + x))
    add [0] float64[3]
    ├─ exp [1] float64[3]
    │  └─ x float64[3]
    └─ x float64[3]
    """
    lines: list[str] = []
    labels: dict[Variable, int] = {}
    # (node, depth marks of the line, marks for its operands)
    stack: list[tuple[Variable, str, str]] = [(x, "", "") for x in reversed(_outputs_of(outputs))]
    while stack:
        node, lead, below = stack.pop()
        if not node.inputs:
            lines.append(f"{lead}{_text(node, [])[0]} {node.type}")
            continue
        if node in labels:
            lines.append(f"{lead}{node.op!r} [{labels[node]}] ...")
            continue
        labels[node] = len(labels)
        lines.append(f"{lead}{node.op!r} [{labels[node]}] {node.type}")
        if len(below) > 3 * 40:  # past this depth, labels replace indentation
            below = below[: 3 * 40]
        for i, operand in reversed(list(enumerate(node.inputs))):
            end = i == len(node.inputs) - 1
            stack.append(
                (operand, below + ("└─ " if end else "├─ "), below + ("   " if end else "│  "))
            )
    return Text("\n".join(lines))


def _outputs_of(x: Any) -> tuple[Variable, ...]:
    """Return the outputs of a graph, of a compiled function, or those in a container."""
    if isinstance(x, Variable):
        return (x,)
    graph = x if isinstance(x, FunctionGraph) else getattr(x, "graph", None)
    if isinstance(graph, FunctionGraph):
        return graph.outputs
    if callable(graph):
        raise ArgumentError(
            f"{x!r} has a graph for each signature",
            fix="Print one of them: rg.dprint(f.graph(*arguments)).",
        )
    return as_outputs(x)


def _text(node: Variable, operands: list[tuple[str, int]]) -> tuple[str, int]:
    """Return a node's text and the precedence of its outermost operator."""
    if isinstance(node, Input):
        return node.name, ATOM
    if isinstance(node, Constant):
        text = constant_text(node)
        return text, SIGN if text.startswith("-") else ATOM
    assert node.op is not None
    return applied_text(node.op, operands)


def applied_text(op: Op, operands: list[tuple[str, int]]) -> tuple[str, int]:
    """Return the text of an op on operands, and its precedence, given those of the operands."""
    infix = op.infix([text for text, _ in operands])
    if infix is not None:
        return infix, ATOM
    if op.symbol and len(operands) == 2:
        (left, p), (right, q) = operands
        rank = op.precedence
        right_binds = op.symbol == "**"
        if p < rank or (p == rank and right_binds):
            left = f"({left})"
        if q < rank or (q == rank and not right_binds):
            right = f"({right})"
        return f"{left} {op.symbol} {right}", rank
    if op.symbol and len(operands) == 1:
        text, p = operands[0]
        return (f"{op.symbol}({text})" if p < op.precedence else f"{op.symbol}{text}"), (
            op.precedence
        )
    return call_text(op.name, operands, zip(op.parameters, op.params, strict=True))


def call_text(
    name: str, operands: list[tuple[str, int]], parameters: Iterable[tuple[str, Any]]
) -> tuple[str, int]:
    """Return the text of a call with operands and parameters; None and False are left out."""
    shown = [f"{key}={x!r}" for key, x in parameters if x is not None and x is not False]
    return f"{name}({', '.join([text for text, _ in operands] + shown)})", ATOM


def constant_text(node: Constant) -> str:
    """Write a constant: as a number if it is one, otherwise by its first elements."""
    if node.ndim == 0:
        return number_text(node.value[()])
    if node.value.size <= 4:
        return np.array2string(node.value, separator=", ").replace("\n", "")
    return f"<{node.type}>"


def number_text(value: Any) -> str:
    """Write a NumPy scalar like Python, but whole floats without a point."""
    if isinstance(value, np.bool_):
        return str(bool(value))
    text = repr(value.item()) if value.dtype.itemsize == 8 else str(value)
    return text[:-2] if text.endswith(".0") and text not in ("-0.0",) else text
