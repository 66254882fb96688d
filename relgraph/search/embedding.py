"""From a graph to an e-graph: sums, products and their relatives as nodes, the rest as leaves.

A vector becomes a column, a scalar a 1 x 1 matrix, and what stretches an operand becomes a product
with ones.  An array of three or more dimensions is a batch of matrices; all batches of an e-graph
have one shape, since each law holds for each matrix of a batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from relgraph.ir.fact_inference import facts_of
from relgraph.ir.graph import toposort_above
from relgraph.ir.node import Constant, Variable
from relgraph.ir.types import Dim, TensorType
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.contraction import Matmul, Outer
from relgraph.ops.elementwise import (
    add,
    multiply,
    negative,
    power,
    reciprocal,
    square,
    subtract,
    true_divide,
)
from relgraph.ops.indexing.index import Index
from relgraph.ops.linalg.solve import Det, Inv, Solve, SolveTriangular
from relgraph.ops.linalg.structured import Diag, Diagonal, Eye, Trace
from relgraph.ops.linalg.structured_matmul import TriangularMatmul, TridiagonalMatmul
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.reductions import Mean, Sum
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze
from relgraph.rewriting.passes.blas import structured_matmul
from relgraph.search.egraph import EGraph, Shape
from relgraph.search.labels import Reference, act, inverted, transposed

LARGEST_POWER = 16

SIGNS: dict[Any, tuple[int, ...]] = {add: (1, 1), subtract: (1, -1), negative: (-1,)}

Rule = Callable[["Embedding", Variable], Reference | None]


class Embedding:
    """An e-graph with the references of a graph's nodes.

    Parameters
    ----------
    egraph : EGraph
    outputs : iterable of Variable
        The nodes to embed, with all below them.
    boundary : collection of Variable
        Nodes that become leaves.

    Attributes
    ----------
    references : dict of Variable to Reference
    leaves : list of Variable
        The k-th is the value of the node ``("leaf", k)``.
    applied : set of Variable
        The nodes that are applications of an op without a rule.
    sizes : dict of Dim to Variable
        Named sizes that an operand gives.
    batch : tuple
        The leading dimensions of all batches of matrices.
    """

    def __init__(
        self, egraph: EGraph, outputs: Iterable[Variable], boundary: Collection[Variable] = ()
    ) -> None:
        self.egraph = egraph
        self.leaves: list[Variable] = []
        self.references: dict[Variable, Reference] = {}
        self.applied: set[Variable] = set()
        self.sizes: dict[Dim, Variable] = {}
        self.batch: tuple[Dim, ...] = ()
        self.dtype: np.dtype[Any] | None = None
        self._parts: dict[Variable, list[Reference]] = {}  # of what is absorbed
        self.add(outputs, boundary)

    def add(self, outputs: Iterable[Variable], boundary: Collection[Variable] = ()) -> None:
        """Embed more nodes; those that are embedded already keep their references."""
        bounded, self.egraph.bounded = self.egraph.bounded, False  # it ends by itself
        outputs = list(outputs)
        order = toposort_above(outputs, boundary)
        absorbed = self._absorbed(order, outputs, boundary)
        for node in order:
            if node in self.references or not is_matrix(node):
                continue
            if node in absorbed:
                self._parts[node] = self.parts_of(node)
                continue
            ref = None if node.op is None or node in boundary else self._embed(node)
            self.references[node] = self._leaf(node) if ref is None else ref
        self.egraph.bounded = bounded

    def _absorbed(
        self,
        order: Sequence[Variable],
        outputs: Sequence[Variable],
        boundary: Collection[Variable],
    ) -> set[Variable]:
        """Return the sums that only a sum uses, and products that only a product uses.

        They need no class of their own.
        """
        users: dict[Variable, list[Variable]] = {x: [x] for x in outputs}
        for node in order:
            if node not in boundary:
                for x in node.inputs:
                    users.setdefault(x, []).append(node)
        return {
            x
            for x in order
            if not (x.op is None or x in boundary or x in self.references)
            and len(users[x]) == 1
            and self._is_nested(x, users[x][0])
        }

    def _is_nested(self, x: Variable, user: Variable) -> bool:
        """Return whether a sum is a term of a sum, or a product a factor of a product."""
        nodes = (x, *x.inputs, user, *user.inputs)
        if x.op in SIGNS:
            nested = user.op in SIGNS and user.type == x.type
        else:
            is_product = isinstance(x.op, Matmul) and isinstance(user.op, Matmul)
            nested = is_product and all(y.ndim <= 2 for y in nodes) and _reads_along(x, user)
        return nested and user is not x and all(is_matrix(y) and self._fits(y) for y in nodes)

    def parts_of(self, node: Variable) -> list[Reference]:
        """Return the terms of a sum or the factors of a product, and of those that it absorbs."""
        parts: list[Reference] = []
        for place, (sign, x) in enumerate(
            zip(SIGNS.get(node.op, (1, 1)), node.inputs, strict=True)
        ):
            inner = self._parts.get(x)
            if inner is None and node.op in SIGNS:
                inner = [self.stretched(x, node)]
            elif inner is None:  # a vector on the left is a row
                ref = self.references[x]
                inner = [transposed(ref) if x.ndim == 1 and place == 0 else ref]
            parts += inner if sign == 1 else [act((sign, 0, 0), ref) for ref in inner]
        return parts

    def _embed(self, node: Variable) -> Reference | None:
        """Return the reference of an application, or None if it stays a leaf."""
        op: Any = node.op
        rule = RULES.get(op) or RULES.get(type(op))
        if not all(map(is_matrix, node.inputs)):
            return None
        operands = node.inputs
        if op.takes_shape:
            operands, named = operands[:1], [d for d in op.params[0] if not isinstance(d, int)]
            self.sizes.update(zip(named, node.inputs[1:], strict=True))
        if rule is not None and self._fits(node) and all(map(self._fits, operands)):
            ref = rule(self, node)
            if ref is not None:
                return ref
        if max([node.ndim, *[x.ndim for x in node.inputs]]) > 2:
            return None
        self.applied.add(node)
        details = (node.type, *[x.ndim for x in node.inputs])
        refs = [self.references[x] for x in node.inputs]
        return self.egraph.apply(op, refs, details, matrix_shape(node))

    def _fits(self, node: Variable) -> bool:
        """Return whether a node has the float dtype and the batch of all others."""
        if node.dtype.kind != "f":
            return False
        if self.dtype is None:
            self.dtype = node.dtype
        if node.ndim > 2 and not self.batch:
            self.batch = node.type.shape[:-2]
        return node.dtype == self.dtype and (node.ndim <= 2 or node.type.shape[:-2] == self.batch)

    def _leaf(self, node: Variable) -> Reference:
        """Return the reference of a node that is not taken apart: a constant or a leaf."""
        if isinstance(node, Constant) and node.ndim <= 2 and is_matrix(node):
            ref = self._constant(node)
            if ref is not None:
                return ref
        k = len(self.leaves)
        self.leaves.append(node)
        egraph = self.egraph
        ref = egraph.leaf(k, matrix_shape(node))
        facts = facts_of(node)
        if node.dtype.kind == "f" and node.ndim >= 2:
            if facts.holds("symmetric"):
                egraph.of(ref).symmetry = 1
            if facts.holds("orthogonal"):
                egraph.of(ref).inverse_is = 1
        return ref

    def _constant(self, node: Constant) -> Reference | None:
        if node.dtype.kind != "f":
            return None
        shape = matrix_shape(node)
        if node.uniform is not None:
            value = float(node.uniform)
            return self.egraph.number(Fraction(value), *shape) if np.isfinite(value) else None
        if facts_of(node).holds("diagonal") and node.value.size:
            diagonal = np.diagonal(node.value)
            if (diagonal == diagonal[0]).all() and np.isfinite(diagonal[0]):
                return self.egraph.scaled(Fraction(float(diagonal[0])), self.egraph.eye(shape[0]))
        return None

    # -- operands ----------------------------------------------------------------------------------

    def stretched(self, node: Variable, like: Variable) -> Reference:
        """Return an operand broadcast to the shape of the result, as a product with ones."""
        factors = [ref for ref in self.spread(node, like) if ref is not None]
        return self.egraph.product(1, (), factors)

    def spread(
        self, node: Variable, like: Variable
    ) -> tuple[Reference | None, Reference, Reference | None]:
        """Return an operand between the ones by which it is stretched on the left and right."""
        ref, egraph = self.references[node], self.egraph
        m, n = matrix_shape(like)
        rows, columns = matrix_shape(node)
        if node.ndim == 1 and like.ndim >= 2:  # a vector stands for a row
            ref, rows, columns = transposed(ref), 1, rows
        left = egraph.ones(m) if rows != m else None
        right = transposed(egraph.ones(n)) if columns != n else None
        return left, ref, right

    def rows(self, entry: tuple[Any, ...], size: Dim) -> Reference | None:
        """Return the rows of an identity that select what an entry of a key does."""
        if entry[0] == "int" and (entry[1] >= 0 or isinstance(size, int)):
            start = entry[1] if entry[1] >= 0 else self.egraph.extent(size) + entry[1]
            return self.egraph.rows(start, start + 1, size)
        if entry[0] != "slice" or entry[3] not in (None, 1) or "dynamic" in entry:
            return None
        if entry[1] is entry[2] is None:
            return self.egraph.eye(size)
        start, stop, _ = slice(entry[1], entry[2]).indices(self.egraph.extent(size))
        is_static = isinstance(size, int) and start < stop
        return self.egraph.rows(start, stop, size) if is_static else None


def _reads_along(product: Variable, user: Variable) -> bool:
    """Return whether a product of matrices, or of a row or column, stays one in its user."""
    a, b = product.inputs
    on_left, on_right = (x is product for x in user.inputs)
    if on_left and on_right:
        return False
    return a.ndim == b.ndim == 2 or (
        (b.ndim == 2 if on_left else a.ndim == 2) and product.ndim == 1
    )


def is_matrix(node: Variable) -> bool:
    """Return whether a node is a tensor all of whose sizes are static or named."""
    return isinstance(node.type, TensorType) and None not in node.type.shape


def matrix_shape(node: Variable) -> Shape:
    """Return the rows and columns of a node: a vector is a column."""
    shape = node.type.shape
    if len(shape) >= 2:
        return shape[-2], shape[-1]
    return (shape[0] if shape else 1), 1


# -- one rule for each op: from the references of the operands to that of the result ---------------


def _sum(self: Embedding, node: Variable) -> Reference:
    return self.egraph.sum(self.parts_of(node), matrix_shape(node))


def _product(*exponents: int) -> Rule:
    """Multiply elementwise; rows, columns and scalars become diagonal matrices and scalars."""

    def rule(self: Embedding, node: Variable) -> Reference:
        egraph = self.egraph
        scalars: list[tuple[Reference, int]] = []
        stretched: dict[tuple[bool, bool], list[tuple[Reference, int]]] = defaultdict(list)
        for e, x in zip(exponents, node.inputs, strict=True):
            before, ref, after = self.spread(x, node)
            is_scalar = egraph.shape(ref) == (1, 1)
            (scalars if is_scalar else stretched[bool(before), bool(after)]).append((ref, e))
        products = {key: egraph.hadamard(refs) for key, refs in stretched.items()}
        whole, column, row = (
            products.get(key) for key in ((False, False), (False, True), (True, False))
        )
        if whole is None:
            m, n = matrix_shape(node)
            body = [column or egraph.ones(m), row or transposed(egraph.ones(n))]
        else:
            body = [egraph.diag(column)] if column else []
            body += [whole, *([egraph.diag(row)] if row else [])]
        return egraph.product(1, tuple(scalars), body)

    return rule


def _power(self: Embedding, node: Variable) -> Reference | None:
    x, exponent = node.inputs
    if not isinstance(exponent, Constant) or exponent.uniform is None or x.type != node.type:
        return None
    e = float(exponent.uniform)
    if e != int(e) or not 0 < abs(e) <= LARGEST_POWER:
        return None
    return self.egraph.hadamard([(self.references[x], int(e))])


def _matmul(self: Embedding, node: Variable) -> Reference | None:
    a, b = node.inputs
    if max(a.ndim, b.ndim) > 2 and min(a.ndim, b.ndim) < 2:
        return None
    ref = self.egraph.product(1, (), self.parts_of(node))
    return transposed(ref) if a.ndim == 1 and b.ndim == 2 else ref  # a vector is a column


def _structured(self: Embedding, node: Variable) -> Reference | None:
    """Embed a product by a kernel for a structure that its matrix is known to have."""
    kernel = structured_matmul(Matmul()(*node.inputs))
    return _matmul(self, node) if kernel is node.op else None


def _outer(self: Embedding, node: Variable) -> Reference:
    a, b = [self.references[x] for x in node.inputs]
    return self.egraph.product(1, (), (a, transposed(b)))


def _transpose(self: Embedding, node: Variable) -> Reference | None:
    (x,) = node.inputs
    ref, order = self.references[x], tuple(range(-x.ndim, 0))
    axes = _axes(node) if isinstance(node.op, Transpose) else (*order[:-2], -1, -2)
    if axes == order:
        return ref
    return transposed(ref) if axes == (*order[:-2], -1, -2) else None


def _axes(node: Variable) -> tuple[int, ...]:
    """Return the axes that an op speaks of, by default all."""
    axes: tuple[int, ...] | None = _params(node)[0]
    return tuple(range(-node.inputs[0].ndim, 0)) if axes is None else axes


def _params(node: Variable) -> tuple[Any, ...]:
    return node.op.params  # type: ignore[union-attr]


def _reduction(self: Embedding, node: Variable) -> Reference | None:
    (x,) = node.inputs
    axes = _axes(node)
    if not axes or min(axes) < -2 or (node.ndim <= 2 < x.ndim):
        return None
    egraph, ref, shape = self.egraph, self.references[x], matrix_shape(x)
    axes = (-2,) if x.ndim == 1 else axes
    left = [transposed(egraph.ones(shape[0]))] if -2 in axes else []
    right = [egraph.ones(shape[1])] if -1 in axes else []
    ref = egraph.product(1, (), (*left, ref, *right))
    if isinstance(node.op, Mean):
        sizes = [shape[axis] for axis in axes]
        if not all(isinstance(d, int) and d for d in sizes):
            return None
        ref = egraph.scaled(Fraction(1, prod(map(egraph.extent, sizes))), ref)
    return transposed(ref) if node.ndim == 1 and axes == (-2,) and x.ndim > 1 else ref


def _diag(self: Embedding, node: Variable) -> Reference | None:
    (x,) = node.inputs
    return None if _params(node)[0] or x.ndim > 1 else self.egraph.diag(self.references[x])


def _diagonal(self: Embedding, node: Variable) -> Reference | None:
    (x,) = node.inputs
    m, n = matrix_shape(x)
    is_diagonal = isinstance(node.op, Diagonal)
    if x.ndim > 2 or m != n or (is_diagonal and _params(node)[0]):
        return None
    column = self.egraph.diagonal(self.references[x])
    total = (transposed(self.egraph.ones(m)), column)
    return column if is_diagonal else self.egraph.product(1, (), total)


def _det(self: Embedding, node: Variable) -> Reference | None:
    (x,) = node.inputs
    ref = self.egraph.canonical(self.references[x])
    if x.ndim > 2 or (ref[0] != 1 and not isinstance(x.type.shape[-1], int)):
        return None
    return self.egraph.det(ref)


def _inverse(self: Embedding, node: Variable) -> Reference:
    return inverted(self.references[node.inputs[0]])


def _solution(self: Embedding, node: Variable) -> Reference | None:
    a, b = node.inputs
    matrix = self.references[a]
    if isinstance(node.op, SolveTriangular):
        lower, turned, unit = _params(node)
        if unit or not facts_of(a).holds("lower_triangular" if lower else "upper_triangular"):
            return None
        matrix = transposed(matrix) if turned else matrix
    if b.ndim == 1 and a.ndim > 2:
        return None
    return self.egraph.product(1, (), (inverted(matrix), self.references[b]))


def _reshaped(self: Embedding, node: Variable) -> Reference | None:
    """Embed what only inserts or removes axes of size 1 in a vector or a matrix."""
    x = node.inputs[0]
    ref, shape, old = self.references[x], matrix_shape(node), matrix_shape(x)
    if x.ndim > 2 or node.ndim > 2 or shape not in (old, old[::-1]):
        return None
    if shape == old:
        return ref
    return transposed(ref) if 1 in shape else None


def _broadcast(self: Embedding, node: Variable) -> Reference | None:
    x = node.inputs[0]
    if node.ndim > 2 and (x.ndim < 2 or x.type.shape[:-2] != node.type.shape[:-2]):
        return None
    return self.stretched(x, node)


def _eye(self: Embedding, node: Variable) -> Reference | None:
    n, m, k, _ = _params(node)
    return self.egraph.eye(n) if n == m and k == 0 else None


def _index(self: Embedding, node: Variable) -> Reference | None:
    x, *others = node.inputs
    if others or x.ndim > 2:
        return None
    whole = ("slice", None, None, None)
    entries = [*_params(node)[0], whole, whole][: x.ndim]
    rows = [self.rows(entry, size) for entry, size in zip(entries, x.type.shape, strict=True)]
    left, right = (*rows, self.egraph.eye(1))[:2]
    if left is None or right is None:
        return None
    ref = self.egraph.product(1, (), (left, self.references[x], transposed(right)))
    is_row = x.ndim == 2 and node.ndim == 1 and entries[0][0] == "int"
    return transposed(ref) if is_row else ref


def _join(self: Embedding, node: Variable) -> Reference | None:
    axis, egraph = _params(node)[0], self.egraph
    sizes = [x.type.shape[axis] for x in node.inputs]
    total = node.type.shape[axis]
    along_rows = axis + node.ndim == 0
    if node.ndim > 2 or axis + node.ndim > 1 or not all(isinstance(d, int) for d in sizes):
        return None
    start, terms = 0, []
    for x, size in zip(node.inputs, map(egraph.extent, sizes), strict=True):
        if size:
            place, ref = egraph.rows(start, start + size, total), self.references[x]
            factors = (transposed(place), ref) if along_rows else (ref, place)
            terms.append(egraph.product(1, (), factors))
        start += size
    return egraph.sum(terms, matrix_shape(node)) if terms else None


RULES: dict[Any, Rule] = {
    **dict.fromkeys(SIGNS, _sum),
    multiply: _product(1, 1),
    true_divide: _product(1, -1),
    reciprocal: _product(-1),
    square: _product(2),
    power: _power,
    Matmul: _matmul,
    TriangularMatmul: _structured,
    TridiagonalMatmul: _structured,
    Outer: _outer,
    Transpose: _transpose,
    MatrixTranspose: _transpose,
    Sum: _reduction,
    Mean: _reduction,
    Diag: _diag,
    Diagonal: _diagonal,
    Trace: _diagonal,
    Det: _det,
    Inv: _inverse,
    Solve: _solution,
    SolveTriangular: _solution,
    Reshape: _reshaped,
    ExpandDims: _reshaped,
    Squeeze: _reshaped,
    BroadcastTo: _broadcast,
    Eye: _eye,
    Index: _index,
    Concatenate: _join,
}
