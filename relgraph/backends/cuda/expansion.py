"""Ops decomposed into smaller ones, so that their loops fuse with the loops around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relgraph.backends.cuda.libraries import cupy
from relgraph.ir.graph import FunctionGraph, map_nodes
from relgraph.ir.node import Variable, apply
from relgraph.ir.op import Op
from relgraph.lowering.expansion import expanded as rows_expanded
from relgraph.ops.contraction import Einsum, Matmul, Outer
from relgraph.ops.elementwise import Cast, Elementwise
from relgraph.ops.linalg.blas import Gemm, Gemv, Ger, Syrk
from relgraph.ops.linalg.structured_matmul import TriangularMatmul, TridiagonalMatmul
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.reductions import Sum
from relgraph.ops.shape import ExpandDims


def expanded(graph: FunctionGraph) -> FunctionGraph:
    """Return the graph with row functions, contractions and BLAS ops decomposed."""
    graph = rows_expanded(graph)
    if not any(type(node.op) in _EXPANSIONS for node in graph):
        return graph

    def change(node: Variable, inputs: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return node
        expand = _EXPANSIONS.get(type(node.op))
        expansion = None if expand is None else expand(node, *inputs)
        return apply(node.op, inputs) if expansion is None else expansion

    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, change))


def _map(name: str, *operands: Variable) -> Variable:
    return apply(Elementwise(name), operands)


def _gemm(node: Variable, *operands: Variable) -> Variable:
    c, alpha, a, b, beta = operands
    product: Any = Matmul()(a, b)
    return _map("add", _map("multiply", c, beta), _map("multiply", alpha, product))


def _syrk(node: Variable, *operands: Variable) -> Variable:
    c, alpha, a, beta = operands
    return _gemm(node, c, alpha, a, apply(MatrixTranspose(), (a,)), beta)


def _ger(node: Variable, *operands: Variable) -> Variable:
    a, alpha, x, y = operands
    column = apply(ExpandDims((-1,)), (x,))
    return _map("add", a, _map("multiply", alpha, _map("multiply", column, y)))


def _product(node: Variable, *operands: Variable) -> Variable:
    return apply(Matmul(), operands)


def _outer(node: Variable, *operands: Variable) -> Variable | None:
    x, y = operands
    if x.ndim != 1 or y.ndim != 1:
        return None
    return _map("multiply", apply(ExpandDims((-1,)), (x,)), y)


def _einsum(node: Variable, *operands: Variable) -> Variable | None:
    """Write a contraction as the sum of a product, in one kernel; None if CuPy computes it."""
    op: Any = node.op
    inputs, result = op.params[0].split("->")
    terms = inputs.split(",")
    if node.dtype.kind == "b" or any(len(set(term)) < len(term) for term in terms):
        return None
    if node.dtype.kind == "f" and cupy() is not None:
        return None
    labels = result + "".join(sorted(set(inputs.replace(",", "")) - set(result)))
    total: Variable | None = None
    for term, x in zip(terms, operands, strict=True):
        x = x if x.dtype == node.dtype else apply(Cast(node.dtype), (x,))
        present = [label for label in labels if label in term]
        axes = tuple(term.index(label) - len(term) for label in present)
        if axes != tuple(range(-len(term), 0)):
            x = apply(Transpose(axes), (x,))
        missing = [k - len(labels) for k, label in enumerate(labels) if label not in term]
        x = apply(ExpandDims(tuple(missing)), (x,)) if missing else x
        total = x if total is None else _map("multiply", total, x)
    assert total is not None
    if len(labels) > len(result):
        total = apply(Sum(tuple(range(len(result) - len(labels), 0))), (total,))
    return total if total.dtype == node.dtype else apply(Cast(node.dtype), (total,))


_EXPANSIONS: dict[type[Op], Callable[..., Variable | None]] = {
    Einsum: _einsum,
    Gemm: _gemm,
    Gemv: _gemm,
    Syrk: _syrk,
    Ger: _ger,
    Outer: _outer,
    TriangularMatmul: _product,
    TridiagonalMatmul: _product,
}
