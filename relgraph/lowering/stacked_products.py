"""Products of a stack of matrices and one matrix, written as a product of two matrices.

NumPy multiplies the matrices of a stack one after another; all their rows take one call of BLAS,
and no copy if the stack is contiguous.
"""

from __future__ import annotations

from math import prod

from relgraph.ir.graph import FunctionGraph, map_nodes
from relgraph.ir.node import Variable, apply
from relgraph.lowering.views import is_view
from relgraph.ops.contraction import Matmul
from relgraph.ops.shape import Reshape


def as_matrices(graph: FunctionGraph) -> FunctionGraph:
    """Return a graph in which matrices, not stacks of them, are multiplied by a matrix."""
    if not any(map(_is_stacked, graph)):
        return graph

    def change(node: Variable, inputs: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return node
        if not _is_stacked(node):
            return apply(node.op, inputs)
        stack, matrix = inputs
        *outer, last = stack.type.shape
        rows = apply(Reshape((prod(outer), last)), (stack,))
        return apply(Reshape(node.type.shape), (apply(node.op, (rows, matrix)),))

    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, change))


def _is_stacked(node: Variable) -> bool:
    if not isinstance(node.op, Matmul) or node.dtype.kind != "f":
        return False
    stack, matrix = node.inputs
    if stack.ndim <= 2 or matrix.ndim != 2 or (stack.op is not None and is_view(stack)):
        return False
    sizes = (*stack.type.shape, *node.type.shape)
    return all([isinstance(n, int) and n > 0 for n in sizes])


__all__ = ["as_matrices"]
