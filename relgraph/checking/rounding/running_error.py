"""A bound of the rounding errors of a graph on given arrays, to first order.

Each value carries a bound of its error, which the ops propagate: an elementwise op by the change of
its result over that error, an op that is linear in its operands by the same op on absolute values.

References
----------
N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM, 2002, sections 3.1 (a
sum of k products has a relative error of k u of the sum of absolute values) and 3.3 (running error
analysis).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relgraph.ir.graph import FunctionGraph, toposort
from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType, TupleType
from relgraph.lowering.expansion import expanded
from relgraph.ops.contraction import Einsum, Matmul, Outer
from relgraph.ops.cumulative import Cumsum
from relgraph.ops.differentials import InnerProduct
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.indexing.update import AddIndex
from relgraph.ops.linalg.blas import Gemm, Gemv, Ger, Syrk
from relgraph.ops.linalg.blocks import Kron
from relgraph.ops.linalg.structured import Trace
from relgraph.ops.linalg.structured_matmul import TriangularMatmul, TridiagonalMatmul
from relgraph.ops.reductions import Max, Mean, Min, Sum

_FEW = 4.0  # the ulps of an elementwise function whose row states no bound
_LINEAR = (
    Sum, Mean, Cumsum, Matmul, Einsum, Outer, Kron, InnerProduct, Trace, TriangularMatmul,
    TridiagonalMatmul, Gemm, Gemv, Ger, Syrk, AddIndex,
)  # fmt: skip

Array = Any


class NoBound(Exception):
    """The graph has an op whose errors are not bounded here."""


def error_bounds(
    outputs: Sequence[Variable], values: Mapping[Variable, Array]
) -> list[Array] | None:
    """Return a bound of the error of each output, elementwise; None if an op has none.

    Parameters
    ----------
    outputs : sequence of Variable
        The graphs.
    values : mapping of Variable and array
        The value of each input, which is exact.
    """
    outputs = expanded(FunctionGraph(None, outputs)).outputs
    done: dict[Variable, Any] = {}
    errors: dict[Variable, Any] = {}
    try:
        with np.errstate(all="ignore"):
            for node in toposort(list(outputs)):
                if isinstance(node, Constant):
                    done[node] = node.value
                elif node.op is None:
                    done[node] = values[node]
                else:
                    done[node] = node.op.perform(*[done[x] for x in node.inputs])
                errors[node] = _error(node, done, errors)
    except NoBound:
        return None
    return [errors[x] for x in outputs]


def _error(node: Variable, done: Mapping[Variable, Any], errors: Mapping[Variable, Any]) -> Any:
    """Return the bound of one node; 0 for exact values."""
    if isinstance(node.type, TupleType) and any(x.dtype.kind == "f" for x in node.type.items):
        raise NoBound  # factors, and results of loops
    if node.op is None or not isinstance(node.type, TensorType) or node.dtype.kind != "f":
        if any(np.any(errors[x]) for x in node.inputs):
            raise NoBound  # a comparison of rounded numbers
        return 0.0
    operands = [done[x] for x in node.inputs]
    before = [errors[x] for x in node.inputs]
    eps = float(np.finfo(node.dtype).eps)
    result = np.asarray(done[node], "float64")
    op = node.op
    if isinstance(op, Elementwise):
        return _moved(op, operands, before, result) + _ulps(op, node) * eps * np.abs(result)
    if type(op) in _LINEAR:
        sizes = [np.abs(np.asarray(x, "float64")) for x in operands]
        total = np.asarray(op.perform(*sizes)) * (_terms(node, operands, result) + 1) * eps
        for i, error in enumerate(before):
            if np.any(error):
                parts = [
                    np.broadcast_to(error, x.shape) if i == k else x for k, x in enumerate(sizes)
                ]
                total = total + np.asarray(op.perform(*parts))
        return total
    if op.moves_elements or isinstance(op, Max | Min):
        if not any(np.any(x) for x in before):
            return 0.0
        if op.rearranges or isinstance(op, Max | Min) or op.arity is None:
            return _rearranged(op, operands, before)
    raise NoBound


def _moved(op: Elementwise, operands: list[Any], before: list[Any], result: Array) -> Any:
    """Return how far the result moves with the errors of the operands."""
    total: Any = 0.0
    wide = [np.asarray(x, "float64") if np.asarray(x).dtype.kind == "f" else x for x in operands]
    center = np.asarray(op.perform(*wide), "float64")
    for i, error in enumerate(before):
        if not np.any(error):
            continue
        away = [
            np.abs(np.asarray(op.perform(*[*wide[:i], x, *wide[i + 1 :]]), "float64") - center)
            for x in (wide[i] - error, wide[i] + error)
        ]
        total = total + np.fmax(*away)
    return total


def _ulps(op: Elementwise, node: Variable) -> float:
    """Return the error of an elementwise op itself, in ulps of the result."""
    if op.row.rounding == "none":
        return 0.0
    if op.row.ulps is not None:
        return float(getattr(op.row.ulps, node.dtype.name, _FEW))
    return 0.5 if op.row.rounding == "relative" else _FEW


def _terms(node: Variable, operands: list[Any], result: Array) -> int:
    """Return at most how many terms each element of a result has."""
    return max(int(np.size(operands[0])) // max(int(result.size), 1), *map(_longest, operands))


def _longest(x: Any) -> int:
    return max(np.shape(x), default=1)


def _rearranged(op: Op, operands: list[Any], before: list[Any]) -> Any:
    """Return the errors in the places of the elements that they belong to."""
    parts = []
    for x, error in zip(operands, before, strict=True):
        array = np.asarray(x)
        floats = array.dtype.kind == "f"
        parts.append(np.array(np.broadcast_to(error, array.shape), "float64") if floats else x)
    return op.perform(*parts)


__all__ = ["error_bounds"]
