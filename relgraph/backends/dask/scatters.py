"""Updates at divided indices: an array of nothing is updated for each block, and the parts joined.

``x.at[i].add(v)`` is ``x + zeros.at[i].add(v)``, of which each block of ``i`` and ``v`` has a part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.ir.graph import FunctionGraph, map_nodes
from relgraph.ir.node import Constant, Variable, apply, constant
from relgraph.ops.elementwise.instances import add, maximum, minimum, multiply
from relgraph.ops.indexing.expression import FULL
from relgraph.ops.indexing.update import IndexUpdate


def neutral(op: Any, dtype: np.dtype[Any]) -> Any:
    """Return the number with which an op of two operands returns the other one; None for others."""
    if op is add:
        return 0
    if op is multiply:
        return 1
    if op not in (maximum, minimum) or dtype.kind == "b":
        return None
    if dtype.kind == "f":
        return -np.inf if op is maximum else np.inf
    info = np.iinfo(dtype)
    return info.min if op is maximum else info.max


def is_scatter(node: Variable) -> bool:
    """Return True for an update of an array of neutral numbers, at indices along its first axes."""
    op = node.op
    if not isinstance(op, IndexUpdate) or op.combiner is None:
        return False
    x = node.inputs[0]
    return (
        isinstance(x, Constant)
        and x.uniform is not None
        and x.uniform == neutral(op.combiner, x.dtype)
        and all([entry[0] == "array" or entry == FULL for entry in op.params[0]])
    )


def with_scatters(graph: FunctionGraph, divided: frozenset[Variable]) -> FunctionGraph:
    """Return a graph in which updates at divided indices begin with arrays of neutral numbers.

    ``divided`` has the nodes in several blocks.
    """

    def change(node: Variable, operands: tuple[Variable, ...]) -> Variable:
        op: Any = node.op
        if op is None:
            return node
        if not isinstance(op, IndexUpdate) or op.combiner is None:
            return apply(op, operands)
        x, *others = node.inputs
        number = neutral(op.combiner, x.dtype)
        if number is None or x in divided or divided.isdisjoint(others[1:]) or is_scatter(node):
            return apply(op, operands)
        empty = constant(np.full(x.type.shape, number, x.dtype))
        return apply(op.combiner, (operands[0], apply(op, (empty, *operands[1:]))))

    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, change))


__all__ = ["is_scatter", "neutral", "with_scatters"]
