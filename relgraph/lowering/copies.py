"""Copies as nodes of the graph: kernels like all others, so they fuse.

A result must share no memory with an argument, a constant or another result.  One that is an
argument, a part of an array, or the same as another result gets a copy, so a call treats every
result alike.  A view gets one, too, if a reshape or an update would have to copy its elements.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from relgraph.ir.graph import FunctionGraph, map_nodes
from relgraph.ir.node import Constant, Input, Variable, apply
from relgraph.ir.op import Op
from relgraph.ir.types import Type
from relgraph.lowering.views import in_order, is_view
from relgraph.ops.linalg.structured import Diagonal
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.shape import ExpandDims, Reshape, Squeeze


class Copy(Op):
    """A copy of an array, which prints as the array."""

    __slots__ = ()
    name = "copy"
    arity = 1
    pointwise = True
    returns_new_array = True

    def infer(self, *types: Any) -> Type:
        """Return the type of the array."""
        return types[0]  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Copy with NumPy."""
        return np.array(values[0])

    def infix(self, operands: list[str]) -> str | None:
        """Print the operand."""
        return operands[0]


_WHOLE = (ExpandDims, MatrixTranspose, Reshape, Squeeze, Transpose)


def with_copies(graph: FunctionGraph, donated: Collection[Variable] = ()) -> FunctionGraph:
    """Return the graph with a copy of each result and operand that needs memory of its own.

    Transposed or reshaped new arrays and donated inputs are returned without a copy.
    """
    graph = _with_copied_views(graph)
    outputs: list[Variable] = []
    taken: set[Variable] = set()
    for x in graph.outputs:
        array = owner(x)
        borrowed = isinstance(array, Input | Constant) and array not in donated
        if x.type.layout == "dense" and (borrowed or array in taken or not _is_whole(x)):
            array = x = _copied(x)
            while x in taken:
                array = x = _copied(x)
        taken.add(array)
        outputs.append(x)
    return graph if outputs == list(graph.outputs) else FunctionGraph(graph.inputs, outputs)


def _with_copied_views(graph: FunctionGraph) -> FunctionGraph:
    """Return the graph with copies of the views that a reshape or an update cannot use."""
    if not any(_copies(node) for node in graph):
        return graph

    def change(node: Variable, inputs: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return node
        if _copies(node):
            inputs = (_copied(inputs[0]), *inputs[1:])
        return apply(node.op, inputs)

    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, change))


def _copies(node: Variable) -> bool:
    """Return True if a node changes a view that is not contiguous, or joins or splits its axes."""
    if not node.inputs or not is_view(node.inputs[0]) or in_order(node.inputs[0]):
        return False
    if not isinstance(node.op, Reshape):
        return hasattr(node.op, "overwrite")
    x = node.inputs[0]
    sizes = [[dim for dim in y.type.shape if dim != 1] for y in (x, node)]
    return sizes[0] != sizes[1]


def owner(x: Variable) -> Variable:
    """Return the array whose memory a view or reshape has; for any other value, the value."""
    while is_view(x) or isinstance(x.op, Diagonal | Reshape):
        x = x.inputs[0]
    return x


def _is_whole(x: Variable) -> bool:
    """Return True if a view holds each element of its array once."""
    while is_view(x) or isinstance(x.op, Diagonal | Reshape):
        if not isinstance(x.op, _WHOLE):
            return False
        x = x.inputs[0]
    return True


def _copied(x: Variable) -> Variable:
    return apply(Copy(), (x,))


__all__ = ["Copy", "owner", "with_copies"]
