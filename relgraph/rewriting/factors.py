"""One factorisation for several uses of a matrix: systems, determinants and their logarithms."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from relgraph.ir.facts import fact
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable, constant
from relgraph.ir.op import GetItem
from relgraph.ops.decompositions import LUFactor
from relgraph.ops.elementwise import absolute, cast, log, multiply, sign, square
from relgraph.ops.factored import ChoSolve, LUSolve, PivotSign
from relgraph.ops.linalg import Cholesky, Det, Slogdet, Solve
from relgraph.ops.matrices import Diagonal
from relgraph.ops.permutation import MatrixTranspose
from relgraph.ops.reduction import prod
from relgraph.ops.reduction import sum as total
from relgraph.rewriting.rewriters import GraphRewriter, with_changes

GENERAL, SPD, DET, SLOGDET = Solve("general"), Solve("spd"), Det(), Slogdet()
LOWER, SWAP = Cholesky(True), MatrixTranspose()

Changes = dict[Variable, Variable]


# What a call of an op takes besides its operations, in operations: half a nanosecond each.
CALLS = {
    "solve": 11_000, "lu_solve": 12_000, "cho_solve": 12_000, "lu_factor": 7_000,
    "cholesky": 10_000, "det": 6_500, "slogdet": 9_500, "pivot_sign": 12_000,
}  # fmt: skip
ELEMENTWISE = 700  # of any other: several share a loop


class FactorReuse(GraphRewriter):
    """Factors a matrix once for several systems, determinants and slogdets of it in a graph.

    Systems with the transpose share the factors too.  An SPD matrix shares Cholesky's factor, any
    other its LU factors; batches are left as they are.  So are small matrices, where more calls
    take longer than the factorisations that they save; a size that is not known is taken as large.

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
        changes: Changes = {}
        present = frozenset(graph)
        for matrix, nodes in uses.items():
            if len(nodes) > 1:
                shared = _shared(matrix, nodes, graph)
                if all(new.type.narrows(old.type) for old, new in shared.items()) and _pays(
                    shared, present
                ):
                    changes |= shared
        return with_changes(graph, changes)


def _pays(changes: Changes, present: Collection[Variable]) -> bool:
    """Return True if the nodes that are not yet present take less time than those they replace."""
    replaced = {x.inputs[0] if isinstance(x.op, GetItem) else x for x in changes}
    before = sum(map(_time, replaced))
    new: set[Variable] = set()
    stack = list(changes.values())
    while stack and before > 0:
        x = stack.pop()
        if x in new or x in present:
            continue
        new.add(x)
        before -= _time(x)
        stack += x.inputs
    return before > 0


def _time(node: Variable) -> int:
    """Return how long an application takes, in operations."""
    op = node.op
    if op is None or isinstance(op, GetItem):
        return 0
    work = op.flops(tuple(x.type for x in node.inputs), node.type)
    return work + CALLS.get(op.name, ELEMENTWISE)


def _shared(matrix: Variable, nodes: list[Variable], graph: FunctionGraph) -> Changes:
    """Return what becomes of the uses of one matrix."""
    systems = [x for x in nodes if x.op in (GENERAL, SPD)]
    definite = [x for x in nodes if x.op in (SPD, LOWER)]
    if fact(matrix, "spd") and (systems or definite):
        return _by_cholesky(matrix, nodes, graph)
    if len(definite) > 1:
        return _by_cholesky(matrix, definite, graph)
    general = [x for x in nodes if x.op in (GENERAL, DET, SLOGDET)]
    return _by_elimination(matrix, general, graph) if len(general) > 1 else {}


def _by_cholesky(matrix: Variable, nodes: list[Variable], graph: FunctionGraph) -> Changes:
    factor = LOWER(matrix)
    roots = Diagonal(0)(factor)
    changes: Changes = {}
    for x in nodes:
        if x.op in (GENERAL, SPD):
            changes[x] = ChoSolve(True)(factor, x.inputs[1])
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
        if x.op is GENERAL:
            trans = int(x.inputs[0] is not matrix)
            changes[x] = LUSolve(trans)(factors, pivots, x.inputs[1])
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
