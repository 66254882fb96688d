"""A counter of floating-point operations that knows nothing of relgraph's rules of cost.

It runs a compiled graph on arrays, node by node with NumPy, and counts each operation from the
shapes of its arrays, and from where they lie in memory: NumPy computes ``X @ X.T`` as half of a
product exactly if both operands are one buffer.  An elementwise function counts one operation for
each element of its result, a reduction one for each element of its operand, and what moves elements
none.  An op that is not listed raises an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant, Input

MOVES = {
    "AsGiven", "Assert", "Assume", "BlockDiag", "BroadcastTo", "Concatenate", "Diag", "Diagonal",
    "Dim", "ExpandDims", "Eye", "GetItem", "Index", "MatrixTranspose", "Reshape", "SetIndex",
    "SpecifyShape", "Squeeze", "Stack", "Transpose", "Tril", "Triu",
}  # fmt: skip
REDUCTIONS = {"All", "Any", "Max", "Mean", "Min", "Prod", "Sum"}


@dataclass(frozen=True)
class Count:
    """What a run of a graph computed: its values, and the operations of each op."""

    values: tuple[Any, ...]
    by_op: dict[str, int]

    @property
    def flops(self) -> int:
        """All operations."""
        return sum(self.by_op.values())


def count(graph: FunctionGraph, arrays: dict[str, Any]) -> Count:
    """Run a graph on arrays, by the names of its inputs, and count the operations."""
    known: dict[Any, Any] = {}
    by_op: dict[str, int] = {}
    for node in graph.toposort():
        if isinstance(node, Input):
            known[node] = arrays[node.name]
        elif isinstance(node, Constant):
            known[node] = node.value
        else:
            operands = [known[x] for x in node.inputs]
            known[node] = node.op.performer(node)(*operands)
            operations = of_node(node.op, operands, known[node])
            by_op[node.op.name] = by_op.get(node.op.name, 0) + operations
    return Count(tuple([known[x] for x in graph.outputs]), by_op)


def of_node(op: Any, operands: list[Any], result: Any) -> int:
    """Return the operations of one application, from its arrays."""
    kind = type(op).__name__
    arrays = [np.asarray(x) for x in operands if not isinstance(x, tuple)]
    if kind in MOVES:
        return 0
    if kind in ("Elementwise", "Cast", "Outer", "Kron", "Cumsum"):
        return int(np.asarray(result).size)
    if kind in REDUCTIONS:
        return int(arrays[0].size)
    if kind not in LINEAR_ALGEBRA:
        raise NotImplementedError(f"the counter does not know {op!r}: say what it computes")
    return int(LINEAR_ALGEBRA[kind](op, arrays, result))


def matmul(op: Any, arrays: list[Any], result: Any) -> int:
    a, b = arrays
    whole = 2 * np.asarray(result).size * a.shape[-1]
    return whole // 2 if is_one_buffer(a, b) else whole


def is_one_buffer(a: Any, b: Any) -> bool:
    """Return True if one matrix is the transpose of the other one, in the same memory."""
    same = a.__array_interface__["data"][0] == b.__array_interface__["data"][0]
    return bool(same and a.ndim >= 2 and a.strides == b.mT.strides and a.shape == b.mT.shape)


def product_added(op: Any, arrays: list[Any], result: Any) -> int:
    return 2 * result.size * arrays[2].shape[-1] + result.size


def system(share: float) -> Any:
    """Return the count of systems, of which the factorisation costs a share of n^3."""

    def operations(op: Any, arrays: list[Any], result: Any) -> int:
        spd = 1 / 3 if getattr(op, "assume", "") == "spd" else share
        n = arrays[0].shape[-1]
        return round(spd * n**3) + 2 * n * result.size

    return operations


def cube(share: float) -> Any:
    """Return the count of an op that costs a multiple of n^3."""
    return lambda op, arrays, result: round(share * arrays[0].shape[-1] ** 3)


def einsum(op: Any, arrays: list[Any], result: Any) -> int:
    order = "optimal" if len(arrays) > 2 else False
    report = np.einsum_path(op.params[0], *arrays, optimize=order)[1]
    label = "Optimized FLOP count:" if order else "Naive FLOP count:"
    (line,) = (x for x in report.splitlines() if label in x)
    return round(float(line.partition(":")[2]))


def triangular_product(op: Any, arrays: list[Any], result: Any) -> int:
    """Count half of a product; one of the matrices must have zeros on one side."""
    assert min(min(widths(x)) for x in arrays) == 0, "neither matrix is triangular"
    return arrays[0].shape[-1] * result.size


def band_product(op: Any, arrays: list[Any], result: Any) -> int:
    """Count the diagonals of the matrix that has fewest."""
    return 2 * min(1 + sum(widths(x)) for x in arrays) * result.size


def widths(x: Any) -> tuple[int, int]:
    """Return how many diagonals below and above the main one hold elements."""
    rows, columns = np.nonzero(x)
    below, above = (max(0, int(d.max(initial=0))) for d in (rows - columns, columns - rows))
    return below, above


LINEAR_ALGEBRA = {
    "Trmm": triangular_product,
    "TriangularMatmul": triangular_product,
    "Band": band_product,
    "TridiagonalMatmul": band_product,
    "Matmul": matmul,
    "Einsum": einsum,
    "Gemm": product_added,
    "Gemv": product_added,
    "Ger": lambda op, arrays, result: 2 * result.size,
    "Syrk": lambda op, arrays, result: result.size * arrays[2].shape[-1] + result.size,
    "Solve": system(2 / 3),
    "LUSolve": lambda op, arrays, result: 2 * arrays[0].shape[-1] * result.size,
    "ChoSolve": lambda op, arrays, result: 2 * arrays[0].shape[-1] * result.size,
    "SolveTriangular": lambda op, arrays, result: arrays[0].shape[-1] * result.size,
    "Inv": cube(2),
    "Det": cube(2 / 3),
    "Slogdet": cube(2 / 3),
    "LUFactor": cube(2 / 3),
    "Cholesky": cube(1 / 3),
    "PivotSign": lambda op, arrays, result: arrays[0].size,
    "Trace": lambda op, arrays, result: min(arrays[0].shape[-2:]),
}
