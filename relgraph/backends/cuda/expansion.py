"""Ops written out in smaller ones, so that their loops fuse with those around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relgraph.ir.graph import FunctionGraph, map_nodes
from relgraph.ir.node import Variable, apply
from relgraph.lowering.expansion import expanded as rows_expanded
from relgraph.ops.contraction import Matmul
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.permutation import MatrixTranspose
from relgraph.ops.shape import ExpandDims


def expanded(graph: FunctionGraph) -> FunctionGraph:
    """Return the graph with functions of rows, and sums with products, written out.

    Parameters
    ----------
    graph : FunctionGraph
        The graph.

    Returns
    -------
    FunctionGraph
        The same graph where there are none.
    """
    graph = rows_expanded(graph)
    if not any(node.op is not None and node.op.name in _EXPANSIONS for node in graph):
        return graph

    def change(node: Variable, inputs: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return node
        expand = _EXPANSIONS.get(node.op.name)
        found = None if expand is None else expand(*inputs)
        return apply(node.op, inputs) if found is None else found

    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, change))


def _map(name: str, *operands: Variable) -> Variable:
    return apply(Elementwise(name), operands)


def _gemm(*operands: Variable) -> Variable:
    c, alpha, a, b, beta = operands
    product: Any = Matmul()(a, b)
    return _map("add", _map("multiply", c, beta), _map("multiply", alpha, product))


def _syrk(*operands: Variable) -> Variable:
    c, alpha, a, beta = operands
    return _gemm(c, alpha, a, apply(MatrixTranspose(), (a,)), beta)


def _ger(*operands: Variable) -> Variable:
    a, alpha, x, y = operands
    column = apply(ExpandDims((-1,)), (x,))
    return _map("add", a, _map("multiply", alpha, _map("multiply", column, y)))


def _outer(*operands: Variable) -> Variable | None:
    x, y = operands
    if x.ndim != 1 or y.ndim != 1:
        return None
    return _map("multiply", apply(ExpandDims((-1,)), (x,)), y)


_EXPANSIONS: dict[str, Callable[..., Variable | None]] = {
    "gemm": _gemm,
    "gemv": _gemm,
    "syrk": _syrk,
    "ger": _ger,
    "outer": _outer,
}
