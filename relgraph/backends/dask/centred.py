"""Centred matrices in one pass: what is computed of ``X - mean(X, axis=0)`` from blocks of rows.

Read as it is written, ``X - mean(X, axis=0)`` needs two passes over the data, one for the mean.  In
one pass, each block gives its number of rows, its mean, and the result for its own deviations from
that mean; joining blocks adds what their means deviate from the mean of all.

References
----------
T. F. Chan, G. H. Golub and R. J. LeVeque, "Algorithms for computing the sample variance: analysis
and recommendations", The American Statistician 37 (1983), for sums of squares; the same identity,
``sum((x - m) (x - m).T) = sum of blocks + n_b (m_b - m) (m_b - m).T``, for products and for R.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from relgraph.backends.dask.tall_factor import TallFactor
from relgraph.ir.graph import FunctionGraph, map_nodes
from relgraph.ir.node import Variable, apply
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType, Type
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.contraction import Matmul
from relgraph.ops.elementwise import Cast, multiply, square, subtract, true_divide
from relgraph.ops.indexing.index import Index
from relgraph.ops.permutation import MatrixTranspose, Transpose, matrix_transpose
from relgraph.ops.reductions import Mean, Sum
from relgraph.ops.shape import Dim, broadcast_to

Kind = Literal["squares", "products", "factor"]
Joined = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Any]


class Centred(Op):
    """Rows: the number of rows, the mean row, and a function of the deviations from the mean.

    Parameters
    ----------
    kind : {"squares", "products", "factor"}
        The function of the deviations D: the sums of squares of its columns, in one row; the
        products D.T @ D; or R of a QR factorisation of D.
    """

    __slots__ = ()
    name = "centred"
    parameters = ("kind",)
    arity = 1
    returns_new_array = True

    def infer(self, *types: Any) -> Type:
        """Return the type float64[2 + k, n]."""
        m, n = types[0].shape
        k: Any = {"squares": 1, "products": n}.get(self.kind)
        if self.kind == "factor" and isinstance(m, int) and isinstance(n, int):
            k = min(m, n)
        return TensorType("float64", (k + 2 if isinstance(k, int) else None, n))

    def perform(self, *values: Any) -> Any:
        """Compute with NumPy."""
        x = np.asarray(values[0], "float64")
        mean = x.mean(axis=0)
        d = x - mean
        if self.kind == "squares":
            result = (d * d).sum(axis=0, keepdims=True)
        else:
            result = d.T @ d if self.kind == "products" else np.linalg.qr(d, mode="r")
        return np.vstack([np.full_like(mean, len(x)), mean, result])

    def of_block(self, x: Variable) -> Variable:
        """Return the graph that computes it for a block."""
        x = x if x.dtype == np.dtype("float64") else apply(Cast("float64"), (x,))
        mean = apply(Mean((-2,), True), (x,))
        d = subtract(x, mean)
        if self.kind == "squares":
            result = apply(Sum((-2,), True), (square(d),))
        elif self.kind == "products":
            result = matrix_transpose(d) @ d
        else:
            result = apply(TallFactor(), (d,))
        number = apply(Cast("float64"), (apply(Dim(-2), (x,)),))
        return apply(Concatenate(-2), (broadcast_to(number, (1, x.type.shape[1])), mean, result))


def _joined(blocks: Sequence[Any], join: Joined) -> Any:
    """Join the results of blocks: the third argument of ``join`` has how their means deviate."""
    numbers = [x[0, 0] for x in blocks]
    total = sum(numbers)
    mean = sum([n * x[1] for n, x in zip(numbers, blocks, strict=True)]) / total
    result = join([x[2:] for x in blocks], numbers, [x[1] - mean for x in blocks])
    return np.vstack([np.full_like(mean, total), mean, result])


def joined_squares(blocks: Sequence[Any]) -> Any:
    """Join sums of squares."""
    return _joined(blocks, lambda parts, ns, ds: sum(parts) + _total(ns, [d * d for d in ds]))


def joined_products(blocks: Sequence[Any]) -> Any:
    """Join products."""
    outer = np.multiply.outer
    return _joined(blocks, lambda parts, ns, ds: sum(parts) + _total(ns, [outer(d, d) for d in ds]))


def joined_factors(blocks: Sequence[Any]) -> Any:
    """Join factors: R of all of them, and of the deviations of the means."""

    def join(parts: Sequence[Any], ns: Sequence[Any], ds: Sequence[Any]) -> Any:
        means = [np.sqrt(n) * d for n, d in zip(ns, ds, strict=True)]
        return np.linalg.qr(np.vstack([*parts, *means]), mode="r")

    return _joined(blocks, join)


def _total(numbers: Sequence[Any], terms: Sequence[Any]) -> Any:
    return sum([n * x for n, x in zip(numbers, terms, strict=True)])


JOINED: dict[str, Callable[[Sequence[Any]], Any]] = {
    "squares": joined_squares,
    "products": joined_products,
    "factor": joined_factors,
}
"""What joins the results of blocks, by kind."""


class _Found(NamedTuple):
    """A matrix that is centred, and what is computed of it."""

    x: Variable
    kind: Kind


def with_centred(graph: FunctionGraph, divided: Collection[Variable]) -> FunctionGraph:
    """Return a graph that computes what it does of centred matrices in one pass.

    ``divided`` has the matrices whose rows alone are in several blocks.
    """
    found = {node: match for node in graph if (match := _match(node, divided)) is not None}
    if not found:
        return graph
    first = {match.x: Centred(match.kind) for match in reversed(found.values())}

    def change(node: Variable, operands: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return node
        x = _averaged(node)
        if x is not None and x in first:
            mean = apply(Index((("int", 1),)), (apply(first[x], operands),))
            return _like(mean.reshape(node.type.shape), node)
        if node not in found:
            return apply(node.op, operands)
        match = found[node]
        whole = apply(Centred(match.kind), (image[match.x],))
        if match.kind != "squares":
            return _like(apply(Index((("slice", 2, None, None),)), (whole,)), node)
        result = apply(Index((("int", 2),)), (whole,)).reshape(node.type.shape)
        if isinstance(node.op, Mean):
            result = true_divide(result, float(match.x.type.shape[0]))
        return _like(result, node)

    image: dict[Variable, Variable] = {}

    def noted(node: Variable, operands: tuple[Variable, ...]) -> Variable:
        image[node] = change(node, operands)
        return image[node]

    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, noted))


def _like(x: Any, node: Variable) -> Variable:
    return x if x.dtype == node.dtype else apply(Cast(node.dtype), (x,))


def _match(node: Variable, divided: Collection[Variable]) -> _Found | None:
    """Return the match of a node that computes something of a centred matrix."""
    op = node.op
    if isinstance(op, TallFactor):
        return _found(node.inputs[0], "factor", divided)
    if isinstance(op, Matmul):
        left, right = node.inputs
        if isinstance(left.op, MatrixTranspose | Transpose) and left.inputs[0] is right:
            return _found(right, "products", divided)
    if isinstance(op, Sum | Mean) and op.params[0] == (-2,):
        (x,) = node.inputs
        if x.op is square or (x.op is multiply and x.inputs[0] is x.inputs[1]):
            return _found(x.inputs[0], "squares", divided)
    return None


def _found(d: Variable, kind: Kind, divided: Collection[Variable]) -> _Found | None:
    """Return the match if a matrix is another one minus its mean row."""
    if d.op is not subtract or d.ndim != 2:
        return None
    x, mean = d.inputs
    averaged = _averaged(mean)
    return _Found(x, kind) if averaged is x and x in divided else None


def _averaged(node: Variable) -> Variable | None:
    """Return the matrix of which a node is the mean row."""
    x = node.inputs[0] if isinstance(node.op, Mean) else None
    if x is None or x.ndim != 2 or node.op.params[0] != (-2,):  # type: ignore[union-attr]
        return None
    return x


__all__ = ["JOINED", "Centred", "with_centred"]
