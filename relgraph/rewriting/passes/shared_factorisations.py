"""One shared factorisation for several systems, determinants and slogdets of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import fsum
from typing import Any

from relgraph.ir.fact_inference import fact
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.machine import node_seconds
from relgraph.ir.node import Variable, constant
from relgraph.ir.op import GetItem
from relgraph.numpy.reductions import prod
from relgraph.numpy.reductions import sum as total
from relgraph.ops.elementwise import absolute, cast, log, multiply, sign, square
from relgraph.ops.linalg.factored_solve import ChoSolve, LUSolve, PivotSign
from relgraph.ops.linalg.factorisations import Eigh, Eigvalsh, LUFactor
from relgraph.ops.linalg.solve import Cholesky, Det, Slogdet
from relgraph.ops.linalg.structured import Diagonal
from relgraph.rewriting.passes.chain_words import GENERAL, INV, MATMUL, SPD, SWAP, SYMMETRIC, flip
from relgraph.rewriting.rewriters import GraphRewriter, with_changes

DET, SLOGDET, LOWER = Det(), Slogdet(), Cholesky(True)
SYSTEMS = (GENERAL, SYMMETRIC, SPD, MATMUL)

Changes = dict[Variable, Variable]

MARGIN = 1.1  # costs are estimates


class FactorReuse(GraphRewriter):
    """Factors a matrix once for several systems, determinants and slogdets of it in a graph.

    Systems with the transpose also share the factors.  An SPD matrix shares Cholesky's factor, any
    other its LU factors.  If an inverse has several products, each counts as a system.  Batches are
    unchanged.  So are small matrices, for which the additional calls take longer than the
    factorisations they save; unknown sizes count as large.  Eigenvalues are read from the
    eigendecomposition of the matrix, if the graph has it.

    References
    ----------
    G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., sections 3.4 and 4.2.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.shared_factorisations import FactorReuse
    >>> A = rg.matrix("A", shape=("n", "n"))
    >>> x, y = rg.vectors("x y", shape=("n",))
    >>> first, second = rg.rewrite_graph([rg.solve(A, x), rg.solve(A, y)], FactorReuse())
    >>> second.op.name, first.inputs[0] is second.inputs[0]
    ('lu_solve', True)
    """

    def __init__(self) -> None:
        super().__init__(name="reuse_factorisation")

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with each matrix factored once."""
        uses: dict[Variable, list[Variable]] = {}
        for node in graph:
            if node.op in (GENERAL, SYMMETRIC, SPD, DET, SLOGDET, LOWER):
                matrix = node.inputs[0]
                if node.op in SYSTEMS and matrix.op is SWAP:
                    matrix = matrix.inputs[0]
                if matrix.ndim == 2:
                    uses.setdefault(matrix, []).append(node)
            elif node.op is INV and node.ndim == 2:
                products: list[Any] = [x for x, _ in graph.clients[node]]
                if all(_applies(x, node) for x in products):
                    uses.setdefault(node.inputs[0], []).extend(products)
        present = frozenset(graph)
        values = [x for x in graph if isinstance(x.op, Eigvalsh)]
        decomposed = {x: Eigh(*x.op.params)(*x.inputs) for x in values}  # type: ignore[union-attr]
        changes: Changes = {x: GetItem(0)(y) for x, y in decomposed.items() if y in present}
        for matrix, nodes in uses.items():
            if len(nodes) > 1:
                shared = _shared(matrix, nodes, graph)
                if all(new.type.narrows(old.type) for old, new in shared.items()) and _pays(
                    shared, present
                ):
                    changes |= shared
        return with_changes(graph, changes)


def _pays(changes: Changes, present: Collection[Variable]) -> bool:
    """Return True if the new nodes take clearly less time than those they replace."""
    replaced = {x.inputs[0] if isinstance(x.op, GetItem) else x for x in changes}
    replaced |= {y for x in changes if x.op is MATMUL for y in x.inputs if y.op is INV}
    new: set[Variable] = set()
    stack = list(changes.values())
    while stack:
        x = stack.pop()
        if x not in new and x not in present:
            new.add(x)
            stack += x.inputs
    return MARGIN * fsum(map(node_seconds, new)) < fsum(map(node_seconds, replaced))


def _shared(matrix: Variable, nodes: list[Variable], graph: FunctionGraph) -> Changes:
    """Return the replacements for the uses of one matrix."""
    systems = [x for x in nodes if x.op in SYSTEMS]
    definite = [x for x in nodes if x.op in (SPD, LOWER)]
    if fact(matrix, "spd") and (systems or definite):
        return _by_cholesky(matrix, nodes, graph)
    if len(definite) > 1:
        return _by_cholesky(matrix, definite, graph)
    general = [x for x in nodes if x.op in (GENERAL, SYMMETRIC, MATMUL, DET, SLOGDET)]
    return _by_elimination(matrix, general, graph) if len(general) > 1 else {}


def _applies(product: Any, inverse: Variable) -> bool:
    """Return True for a product of an inverse and one other matrix or vector of its dtype."""
    if not isinstance(product, Variable) or product.op is not MATMUL:
        return False
    operands = product.inputs
    if sum(x.op is INV for x in operands) > 1:
        return False
    return all(x.ndim <= 2 and x.dtype == inverse.dtype for x in operands)


def _solution(node: Variable, matrix: Variable, solve: Callable[[int, Variable], Any]) -> Any:
    """Return the solution of a system, or a product with the inverse, from the factors."""
    first, second = node.inputs
    if node.op is not MATMUL:
        return solve(int(first is not matrix), second)
    if first.op is INV:
        return solve(0, second)
    return flip(solve(1, flip(first)))


def _by_cholesky(matrix: Variable, nodes: list[Variable], graph: FunctionGraph) -> Changes:
    factor = LOWER(matrix)
    roots = Diagonal(0)(factor)
    changes: Changes = {}
    for x in nodes:
        if x.op in SYSTEMS:
            changes[x] = _solution(x, matrix, lambda _, b: ChoSolve(True)(factor, b))
        elif x.op is DET:
            changes[x] = square(prod(roots, axis=-1))
        elif x.op is SLOGDET:
            for part in _parts(x, graph):
                logarithm = multiply(2.0, total(log(roots), axis=-1))
                changes[part] = logarithm if part.op.params[0] else constant(1.0, part.dtype)
    return changes


def _by_elimination(matrix: Variable, nodes: list[Variable], graph: FunctionGraph) -> Changes:
    both = LUFactor()(matrix)
    factors, pivots = GetItem(0)(both), GetItem(1)(both)
    upper = Diagonal(0)(factors)
    changes: Changes = {}
    for x in nodes:
        if x.op in SYSTEMS:
            changes[x] = _solution(x, matrix, lambda t, b: LUSolve(t)(factors, pivots, b))
        elif x.op is DET:
            changes[x] = multiply(_odd(pivots, x.dtype), prod(upper, axis=-1))
        else:
            for part in _parts(x, graph):
                changes[part] = (
                    total(log(absolute(upper)), axis=-1)
                    if part.op.params[0]
                    else multiply(_odd(pivots, part.dtype), prod(sign(upper), axis=-1))
                )
    return changes


def _odd(pivots: Variable, dtype: Any) -> Any:
    return cast(PivotSign()(pivots), dtype)


def _parts(node: Variable, graph: FunctionGraph) -> list[Any]:
    """Return the results of a slogdet that a graph uses."""
    clients = (x for x, _ in graph.clients[node])
    return [x for x in clients if isinstance(x, Variable) and isinstance(x.op, GetItem)]
