"""One factorisation for several uses of a matrix: systems, determinants and their logarithms."""

from __future__ import annotations

from typing import Any

from relgraph.ir.facts import fact
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.ir.op import GetItem
from relgraph.ops.decompositions import LUFactor
from relgraph.ops.elementwise import absolute, cast, log, multiply, sign
from relgraph.ops.factored import ChoSolve, LUSolve, PivotSign
from relgraph.ops.linalg import Cholesky, Det, Slogdet, Solve
from relgraph.ops.matrices import Diagonal
from relgraph.ops.permutation import MatrixTranspose
from relgraph.ops.reduction import prod
from relgraph.ops.reduction import sum as total
from relgraph.rewriting.rewriters import GraphRewriter, with_changes

GENERAL, SPD, DET, SLOGDET = Solve("general"), Solve("spd"), Det(), Slogdet()
LOWER, SWAP = Cholesky(True), MatrixTranspose()


class FactorReuse(GraphRewriter):
    """Factors a matrix once for all systems, determinants and slogdets of it in a graph.

    Systems with the transpose share the factors too.  An SPD matrix shares Cholesky's factor, any
    other its LU factors; batches are left as they are.

    References
    ----------
    G. H. Golub and C. F. Van Loan, Matrix Computations, 4th ed., sections 3.4 and 4.2.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.factors import FactorReuse
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
            if node.op in (GENERAL, SPD, DET, SLOGDET, LOWER):
                matrix = node.inputs[0]
                if node.op in (GENERAL, SPD) and matrix.op is SWAP:
                    matrix = matrix.inputs[0]
                if matrix.ndim == 2:
                    uses.setdefault(matrix, []).append(node)
        changes: dict[Variable, Variable] = {}
        for matrix, nodes in uses.items():
            if len(nodes) > 1:
                changes |= _shared(matrix, nodes, graph)
        changes = {old: new for old, new in changes.items() if new.type.narrows(old.type)}
        return with_changes(graph, changes)


def _shared(
    matrix: Variable, nodes: list[Variable], graph: FunctionGraph
) -> dict[Variable, Variable]:
    """Return what becomes of the uses of one matrix."""
    if fact(matrix, "spd"):
        factor = LOWER(matrix)
        return {x: ChoSolve(True)(factor, x.inputs[1]) for x in nodes if x.op in (GENERAL, SPD)}
    general = [x for x in nodes if x.op in (GENERAL, DET, SLOGDET)]
    if len(general) < 2:
        return {}
    both = LUFactor()(matrix)
    factors, pivots = GetItem(0)(both), GetItem(1)(both)
    found: dict[Variable, Variable] = {}
    for x in general:
        if x.op is GENERAL:
            trans = int(x.inputs[0] is not matrix)
            found[x] = LUSolve(trans)(factors, pivots, x.inputs[1])
        elif x.op is DET:
            found[x] = multiply(_odd(pivots, x.dtype), prod(Diagonal(0)(factors), axis=-1))
        else:
            found |= _logarithm(x, factors, pivots, graph)
    return found


def _odd(pivots: Variable, dtype: Any) -> Any:
    return cast(PivotSign()(pivots), dtype)


def _logarithm(
    node: Variable, factors: Variable, pivots: Variable, graph: FunctionGraph
) -> dict[Variable, Variable]:
    """Return what becomes of both results of a slogdet."""
    upper = Diagonal(0)(factors)
    found: dict[Variable, Variable] = {}
    for client, _ in graph.clients[node]:
        if isinstance(client, Variable) and isinstance(client.op, GetItem):
            found[client] = (
                total(log(absolute(upper)), axis=-1)
                if client.op.params[0]
                else multiply(_odd(pivots, client.dtype), prod(sign(upper), axis=-1))
            )
    return found
