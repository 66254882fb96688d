"""Merging: applications that differ only in the order of their operands are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable, apply
from relgraph.relations.nary import canonical
from relgraph.rewriting.derivation.passes import report_pass
from relgraph.rewriting.rewriters import GraphRewriter


class Merge(GraphRewriter):
    """Shares ``x + y`` with ``y + x``; equal subgraphs are one object from the start.

    The first application in topological order stands for all of them.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.merge import Merge
    >>> x, y = rg.vectors("x y")
    >>> rg.rewrite_graph(rg.exp(x + y) * rg.sin(y + x), Merge())
    exp(x + y) * sin(x + y)
    """

    def __init__(self) -> None:
        super().__init__(name="merge")

    def outputs_of(self, outputs: Sequence[Variable]) -> tuple[Variable, ...]:
        """Return the outputs with commuted applications shared."""
        before = tuple(outputs)
        if not _has_commuted(before):
            return before
        keys: dict[Any, Variable] = {}
        images: dict[Variable, Variable] = {}
        for node in toposort(before):
            op: Any = node.op
            if op is None:
                continue
            image = node
            if images:
                operands = tuple([images.get(x, x) for x in node.inputs])
                if operands != node.inputs:
                    image = apply(op, operands)
            if op.commutative:
                image = keys.setdefault(canonical(image, regroup=False), image)
            if image is not node:
                images[node] = image
        after = tuple([images.get(x, x) for x in before])
        report_pass(self.name, before, after)
        return after


def _has_commuted(outputs: Sequence[Variable]) -> bool:
    """Return True if a graph has two applications that differ only in the order of operands."""
    keys: set[Any] = set()
    nodes = dict.fromkeys([x for x in outputs if x.inputs])
    stack = list(nodes)
    for node in stack:  # grows as it goes
        op: Any = node.op
        if op.commutative:
            floats = node.type.dtype.kind == "f"
            key: Any = (op, frozenset(node.inputs)) if floats else canonical(node, regroup=False)
            if key in keys:
                return True
            keys.add(key)
        for x in node.inputs:
            if x.inputs and x not in nodes:
                nodes[x] = None
                stack.append(x)
    return False
