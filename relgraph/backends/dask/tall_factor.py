"""R of a tall matrix in blocks of rows: the factor of each block, and of these factors stacked.

References
----------
J. Demmel, L. Grigori, M. Hoemmen and J. Langou, "Communication-optimal parallel and sequential QR
and LU factorizations", SIAM J. Sci. Comput. 34 (2012): the tree of QR factorisations (TSQR).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgraph.ir.graph import FunctionGraph, map_nodes
from relgraph.ir.node import Variable, apply
from relgraph.ir.op import GetItem, Op
from relgraph.ir.types import TensorType, Type
from relgraph.ops.linalg.factorisations import QR, SVD
from relgraph.ops.linalg.lapack import float_dtype


class TallFactor(Op):
    """R of a QR factorisation of a matrix, without Q; its rows may have either sign."""

    __slots__ = ()
    name = "tall_factor"
    arity = 1
    returns_new_array = True
    rate = "factorisation"

    def infer(self, *types: Any) -> Type:
        """Return the type [k, n], where k is the smaller of m and n."""
        (x,) = types
        m, n = x.shape
        known = isinstance(m, int) and isinstance(n, int)
        return TensorType(float_dtype(x), (min(m, n) if known else None, n))

    def perform(self, *values: Any) -> Any:
        """Factor with NumPy."""
        return np.linalg.qr(values[0], mode="r")


def stacked(factors: Sequence[Any]) -> Any:
    """Return R of factors that are stacked."""
    return np.linalg.qr(np.vstack(factors), mode="r")


def with_tall_factors(graph: FunctionGraph) -> FunctionGraph:
    """Return a graph that makes R alone where nothing reads Q or the left singular vectors."""
    items: dict[Variable, set[int]] = {}
    for node in graph:
        if isinstance(node.op, GetItem):
            items.setdefault(node.inputs[0], set()).add(node.op.params[0])
    without_left = {x for x, read in items.items() if _is_tall(x) and 0 not in read}
    if not without_left:
        return graph

    def change(node: Variable, operands: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return node
        if isinstance(node.op, GetItem) and node.inputs[0] in without_left:
            (several,) = operands
            factor = apply(TallFactor(), several.inputs)
            if isinstance(several.op, QR):
                return factor
            op: Any = several.op
            return apply(node.op, (apply(op, (factor,)),))
        return apply(node.op, operands)

    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, change))


def _is_tall(x: Variable) -> bool:
    op = x.op
    if not (isinstance(op, SVD) and not op.params[0]) and not (
        isinstance(op, QR) and op.params[0] == "reduced"
    ):
        return False
    shape = x.inputs[0].type.shape
    return len(shape) == 2 and None not in shape and shape[0] >= shape[1]


__all__ = ["TallFactor", "stacked", "with_tall_factors"]
