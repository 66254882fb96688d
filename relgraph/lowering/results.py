"""Results in memory of their own: copies, as nodes of the graph, where a result has none.

A result must share no memory with an argument, a constant or another result.  One that is an
argument, a part of an array, or the same as another result gets a copy, which is a cast to its own
dtype.  Copies are kernels like all others, so they fuse, and a call treats every result alike.
"""

from __future__ import annotations

from collections.abc import Collection

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant, Input, Variable, apply
from relgraph.lowering.views import is_view
from relgraph.ops.elementwise import Cast
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.shape import ExpandDims, Reshape, Squeeze

_WHOLE = (ExpandDims, MatrixTranspose, Reshape, Squeeze, Transpose)


def with_own_results(graph: FunctionGraph, donated: Collection[Variable] = ()) -> FunctionGraph:
    """Return the graph with copies of the results that have no memory of their own.

    A transposed or reshaped new array is a result as it is, and so is a donated input.
    """
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


def owner(x: Variable) -> Variable:
    """Return the array whose memory a view or reshape has; for any other value, the value."""
    while is_view(x) or isinstance(x.op, Reshape):
        x = x.inputs[0]
    return x


def _is_whole(x: Variable) -> bool:
    """Return True if a view holds each element of its array once."""
    while is_view(x) or isinstance(x.op, Reshape):
        if not isinstance(x.op, _WHOLE):
            return False
        x = x.inputs[0]
    return True


def _copied(x: Variable) -> Variable:
    return apply(Cast(x.dtype.name), (x,))


__all__ = ["owner", "with_own_results"]
