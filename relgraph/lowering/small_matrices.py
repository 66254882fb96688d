"""Products, diagonals and triangles of small matrices, written as elementwise ops and sums.

Kernels then compute them, together with the ops around them.  A call of a library takes longer than
the arithmetic on a small matrix, and a program without calls needs no Python between its steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from relgraph.ir.graph import FunctionGraph, map_nodes
from relgraph.ir.node import Variable, apply, constant
from relgraph.ir.op import Op
from relgraph.ir.types import Dim
from relgraph.ops.contraction import Matmul, Outer
from relgraph.ops.elementwise import Cast, Elementwise
from relgraph.ops.linalg.structured import Diag, Diagonal, Tril, Triu
from relgraph.ops.permutation import MatrixTranspose
from relgraph.ops.reductions import Sum
from relgraph.ops.shape import ExpandDims

# The most multiplications that take less time in a kernel than in a call: in a product of a matrix
# and a vector, along its rows or down its columns, and of two matrices.
ALONG_ROWS, DOWN_COLUMNS, OF_MATRICES = 8192, 2048, 512

MASK = 4096  # elements of a matrix of which a kernel keeps a triangle
SIDE = 16  # rows of a matrix of which a kernel keeps, or sums, one element each


def in_kernels(graph: FunctionGraph) -> FunctionGraph:
    """Return a graph in which kernels can compute what takes them less time than a call."""
    if not any(map(_is_small, graph)):
        return graph

    def change(node: Variable, inputs: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return node
        if not _is_small(node):
            return apply(node.op, inputs)
        return _REWRITTEN[type(node.op)](node, *inputs)

    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, change))


def _is_small(node: Variable) -> bool:
    if type(node.op) not in _REWRITTEN:
        return False
    if isinstance(node.op, Matmul):
        return node.ndim > 0 and node.dtype.kind == "f" and _is_small_product(node)
    if isinstance(node.op, Outer):
        return True
    rows, columns = max(node.type.shape, node.inputs[0].type.shape, key=len)[-2:]
    if not (isinstance(rows, int) and isinstance(columns, int) and rows and columns):
        return False
    if isinstance(node.op, Tril | Triu):
        return rows * columns <= MASK
    return node.op.params[0] == 0 and rows == columns <= SIDE  # type: ignore[union-attr]


def _is_small_product(node: Variable) -> bool:
    a, b = node.inputs
    rows, columns = a.type.shape[-2:-1], b.type.shape[-1:] if b.ndim > 1 else ()
    pair = (*rows, a.type.shape[-1], *columns)
    limit = OF_MATRICES
    if columns in ((), (1,)):
        limit = DOWN_COLUMNS if isinstance(a.op, MatrixTranspose) else ALONG_ROWS
    elif rows in ((), (1,)):
        limit = ALONG_ROWS if isinstance(b.op, MatrixTranspose) else DOWN_COLUMNS
    batch = node.type.shape[: node.ndim - len(rows) - len(columns)]
    return _count((*batch, *pair)) <= limit


def _count(sizes: tuple[Dim, ...]) -> float:
    """Return the product of sizes, infinity if one is unknown."""
    return math.prod([size if isinstance(size, int) else math.inf for size in sizes])


def _product(node: Variable, a: Variable, b: Variable) -> Variable:
    if b.ndim > 1:
        b = apply(MatrixTranspose(), (b,))
        if a.ndim > 1:
            a, b = apply(ExpandDims((-2,)), (a,)), apply(ExpandDims((-3,)), (b,))
    return apply(Sum((-1,), False), (apply(Elementwise("multiply"), (a, b)),))


def _outer(node: Variable, a: Variable, b: Variable) -> Variable:
    return apply(Elementwise("multiply"), (apply(ExpandDims((-1,)), (a,)), b))


def _diagonal(node: Variable, x: Variable) -> Variable:
    kept = _masked(np.eye(x.type.shape[-1], dtype=bool), x)
    total = apply(Sum((-1,), False), (kept,))
    # Sums of narrow integers are wider.
    return total if total.dtype == node.dtype else apply(Cast(node.dtype.name), (total,))


def _diag(node: Variable, x: Variable) -> Variable:
    return _masked(np.eye(x.type.shape[-1], dtype=bool), apply(ExpandDims((-2,)), (x,)))


def _triangle(node: Variable, x: Variable) -> Variable:
    return _masked(node.op.perform(np.ones(x.type.shape[-2:], bool)), x)  # type: ignore[union-attr]


def _masked(mask: np.ndarray, x: Variable) -> Variable:
    zero = constant(0, dtype=x.dtype)
    return apply(Elementwise("where"), (constant(mask), x, zero))


_REWRITTEN: dict[type[Op], Callable[..., Variable]] = {
    Matmul: _product,
    Outer: _outer,
    Diag: _diag,
    Diagonal: _diagonal,
    Tril: _triangle,
    Triu: _triangle,
}


__all__ = ["in_kernels"]
