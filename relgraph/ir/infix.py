"""The infix text of a node: on one line, with the brackets that Python would need.

Leaves say their own text, and ops their symbols, so nodes can print themselves with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from relgraph.ir.node import Constant, Variable
    from relgraph.ir.op import Op

ATOM = 100  # the precedence of names, numbers and calls
SIGN = 13  # that of a minus sign

# Returns a node's text and the precedence of its outermost operator, given its operands'.
Writer = Callable[["Variable", list[tuple[str, int]]], tuple[str, int]]


def brief(
    node: Variable,
    limit: int = 80,
    names: Mapping[Variable, str] | None = None,
    write: Writer | None = None,
    dots: str = "...",
) -> str:
    """Return a graph in infix on one line; ``...`` stands for the parts below ``limit`` nodes.

    Parameters
    ----------
    node : Variable
        The graph.
    limit : int
        How many nodes to write.
    names : mapping of Variable to str, optional
        Names to write for some nodes below it.
    write : callable, optional
        What writes a node from its operands, by default :func:`infix_text`.
    dots : str
        What stands for the parts that are left out.

    Returns
    -------
    str
        The text.
    """
    write, named = write or infix_text, names or {}
    # Breadth first, to cut off the deepest parts.
    kept: list[Variable] = [node]
    tree: list[list[int]] = []
    for place, x in enumerate(kept):
        row: list[int] = []
        if len(kept) + len(x.inputs) <= limit and (place == 0 or x not in named):
            row = list(range(len(kept), len(kept) + len(x.inputs)))
            kept.extend(x.inputs)
        tree.append(row)
        assert place < limit
    texts: list[tuple[str, int]] = [("", 0)] * len(kept)
    for place in reversed(range(len(kept))):
        x = kept[place]
        if place and x in named:
            texts[place] = (named[x], ATOM)
        elif x.inputs and not tree[place]:
            texts[place] = (dots, ATOM)
        else:
            texts[place] = write(x, [texts[i] for i in tree[place]])
    return texts[0][0]


def infix_text(node: Variable, operands: list[tuple[str, int]]) -> tuple[str, int]:
    """Return a node's text and the precedence of its outermost operator, given its operands'."""
    if node.op is None:
        text = node._leaf_text()
        return text, SIGN if text.startswith("-") else ATOM
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


class Style(NamedTuple):
    """How terms are written: an op on operands, a call, the name of a variable, and a leaf."""

    applied: Callable[[Op, list[tuple[str, int]]], tuple[str, int]]
    call: Callable[[str, list[tuple[str, int]], Iterable[tuple[str, Any]]], tuple[str, int]]
    name: Callable[[str], str]
    leaf: Callable[[Any], str]
    dots: str


INFIX = Style(applied_text, call_text, str, repr, "...")


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
