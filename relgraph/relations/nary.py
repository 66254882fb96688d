"""The n-ary view of nested applications of one associative and commutative op.

Sums and products are binary in a graph; the matcher sees through their bracketing by this view.
It opens only applications whose operands all have the node's own dtype, and none of bool: combining
narrower operands with each other first would round or wrap around where the graph does not.  A
nested application that occurs twice is shared and stays closed, so that no view is larger than the
graph.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from operator import attrgetter
from typing import Any

from relgraph.ir.node import Variable, apply_chain
from relgraph.ir.op import Op

_RANK = attrgetter("ndim")
NEAR = 64  # how many nested applications a pattern looks through below its root


def uniform(node: Variable) -> bool:
    """Return True if the operands of an application have its own dtype."""
    type_ = node.type
    dtype = type_.dtype
    for x in node.inputs:  # noqa: SIM110 - the generator of all() costs more than the loop
        if x.type is not type_ and x.type.dtype is not dtype:
            return False
    return True


def region(
    node: Variable, op: Op, closed: Container[Variable] = (), limit: int | None = None
) -> dict[Variable, bool]:
    """Return the nested applications below ``node``, each with whether it is opened.

    The root is always opened, those in ``closed`` never, and at most ``limit`` in all.
    """
    dtype = node.type.dtype
    opened: dict[Variable, bool] = {node: True}
    if dtype.kind == "b" or not uniform(node):
        return opened
    queue = [node]
    for parent in queue:  # breadth first, each once
        for x in parent.inputs:
            if x.op is op and x.type.dtype is dtype:
                if x in opened:
                    opened[x] = False
                elif x not in closed and uniform(x) and (limit is None or len(opened) < limit):
                    opened[x] = True
                    queue.append(x)
    return opened


def leaves(
    node: Variable, op: Op, closed: Container[Variable] = (), limit: int | None = None
) -> list[Variable]:
    """Return the operands of the n-ary view of ``node``, left to right.

    The view opens what :func:`region` does.  A node with another op is its own only operand.
    """
    if node.op is not op:
        return [node]
    inner = node.inputs
    if len(inner) == 2 and inner[0].op is not op and inner[1].op is not op:
        return list(inner)
    dtype = node.type.dtype
    result: list[Variable] = []
    seen: set[Variable] = set()
    stack = list(reversed(inner)) if dtype.kind != "b" and uniform(node) else []
    while stack:
        x = stack.pop()
        if x.op is not op:
            result.append(x)
            continue
        kind = x.type
        first, second = x.inputs
        same = (first.type is kind and second.type is kind) or uniform(x)
        if kind.dtype is not dtype or not same or x in closed:
            result.append(x)
        elif x in seen or (limit is not None and len(seen) >= limit):
            return _shared_leaves(node, op, closed, limit)
        else:
            seen.add(x)
            stack.append(second)
            stack.append(first)
    return result or list(inner)


def _shared_leaves(
    node: Variable, op: Op, closed: Container[Variable], limit: int | None
) -> list[Variable]:
    """Return the operands of a view that is cut off, or in which an application occurs twice."""
    opened = region(node, op, closed, limit)
    result: list[Variable] = []
    stack = list(reversed(node.inputs))
    while stack:
        x = stack.pop()
        if x.op is op and opened.get(x, False):
            stack.extend(reversed(x.inputs))
        else:
            result.append(x)
    return result


def canonical(node: Variable, regroup: bool = True) -> Any:
    """Return a key that nodes share if they differ only in the order of their operands.

    Operands with the node's own op are opened, and others compared by identity.  With ``regroup``,
    floats may also be bracketed differently, which rounds differently.
    """
    op = node.op
    if op is None or not op.commutative:
        return node
    if op.associative and (regroup or node.type.dtype.kind != "f"):
        inner: Sequence[Variable] = leaves(node, op, (), NEAR)
    else:
        inner = node.inputs
    return (op, node.type, *sorted(inner, key=id))


def alike(a: Variable, b: Variable, regroup: bool = True) -> bool:
    """Return True if two nodes differ at most in the order of their operands."""
    return a is b or (a.op is b.op and canonical(a, regroup) == canonical(b, regroup))


def combined(op: Op, operands: Iterable[Variable]) -> Variable:
    """Return an op applied to operands; those of lower rank, which broadcast, come first."""
    return apply_chain(op, sorted(operands, key=_RANK))
