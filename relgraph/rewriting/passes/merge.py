"""Merging: applications that differ only in the order of their operands are computed once."""

from __future__ import annotations

from typing import Any

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable, apply
from relgraph.relations.nary import canonical
from relgraph.rewriting.rewriters import GraphRewriter, with_outputs


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

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with commuted applications shared."""
        keys: dict[Any, Variable] = {}
        images: dict[Variable, Variable] = {}
        for node in graph:
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
        return with_outputs(graph, [images.get(x, x) for x in graph.outputs]) if images else graph
