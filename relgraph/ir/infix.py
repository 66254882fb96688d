"""The infix text of a node: on one line, with the brackets that Python would need.

Leaves say their own text, and ops their symbols, so nodes can print themselves with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from relgraph.ir.node import Constant, Variable

ATOM = 100  # the precedence of names, numbers and calls


def brief(node: Variable, limit: int = 80) -> str:
    """Return a graph in infix on one line; ``...`` stands for the parts below ``limit`` nodes."""
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
            texts[place] = infix_text(x, [texts[i] for i in tree[place]])
    return texts[0][0]


def infix_text(node: Variable, operands: list[tuple[str, int]]) -> tuple[str, int]:
    """Return a node's text and the precedence of its outermost operator, given its operands'."""
    op = node.op
    if op is None:
        text = node._leaf_text()
        return text, 13 if text.startswith("-") else ATOM
    special = op.infix([text for text, _ in operands])
    if special is not None:
        return special, ATOM
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
    shown = [
        f"{name}={value!r}"
        for name, value in zip(op.parameters, op.params, strict=True)
        if value is not None and value is not False
    ]
    return f"{op.name}({', '.join([text for text, _ in operands] + shown)})", ATOM


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
