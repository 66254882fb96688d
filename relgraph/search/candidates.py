"""The candidates of the states of an e-graph: for each kind of node, the ways to compute it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any
from weakref import ref

from relgraph.ir.node import Variable
from relgraph.ops.elementwise import reciprocal
from relgraph.ops.indexing.index import Index
from relgraph.ops.linalg.solve import Det, SolveTriangular
from relgraph.ops.linalg.structured import Diag, Diagonal
from relgraph.ops.shape import expand_dims
from relgraph.search.egraph import EGraph, Node, factors
from relgraph.search.embedding import Embedding
from relgraph.search.labels import Coefficient, Label, Reference, compose, flipped, quotient
from relgraph.search.options import NodeCost
from relgraph.search.products import hadamard, product
from relgraph.search.sums import sum_
from relgraph.search.values import (
    INV,
    Candidate,
    Operand,
    Rule,
    State,
    Values,
    cost_of,
    on_fewer_transposes,
    plain,
)

__all__ = ["Candidate", "Candidates", "State", "cost_of"]


class Candidates:
    """The candidates of the states of an e-graph.

    Parameters
    ----------
    egraph : EGraph
        Saturated; from here on it grows only by parts of products.
    embedding : Embedding
    node_cost : callable
        The cost of one node.
    memo : dict
        What is kept between the rounds of a search: candidates, and facts and costs of nodes.
    """

    def __init__(
        self,
        egraph: EGraph,
        embedding: Embedding,
        node_cost: NodeCost,
        memo: dict[Any, Any],
    ) -> None:
        egraph.bounded = False
        self.egraph, self.embedding, self.unions = egraph, embedding, egraph.unions
        last: Any = memo["candidates"]() if "candidates" in memo else None
        if last is not None and last.unions != egraph.unions:
            last = None  # otherwise, what is needed is as it was
        self.values: Values = (
            last.values if last else Values(egraph, embedding, node_cost, memo, RULES)
        )
        self._explicit: set[int] = last._explicit if last else self._inverses_as_wholes()
        self._candidates: dict[State, list[Candidate]] = last._candidates if last else {}
        memo["candidates"] = ref(self)  # the search holds it for a round

    def _inverses_as_wholes(self) -> set[int]:
        """Return the classes whose inverses are needed as such, not only as factors of products.

        A product with an inverse is the solution of a system.
        """
        egraph = self.egraph
        refs = list(self.embedding.references.values())
        for node in egraph.table:
            if node[0] != "product":
                refs += [(1, *factor) for factor in factors(node)]
        return {
            x
            for _, x, _, i in map(egraph.canonical, refs)
            if i or egraph.classes[x].shape == (1, 1)
        }

    def of(self, state: State) -> list[Candidate]:
        """Return the candidates of a state, each with its cost."""
        candidates = self._candidates.get(state)
        if candidates is None:
            self.egraph.check_time()
            candidates = self._candidates[state] = []
            for candidate in self._make(state):
                if state not in candidate.needs:
                    if candidate.cost is None:
                        candidate = candidate._replace(cost=self.values.cost(candidate))
                    candidates.append(candidate)
        return candidates

    def spelt(self, node: Node, label: Label) -> Iterator[Candidate]:
        """Return the plainest way to compute a node under a label that does not invert."""
        return RULES[node[0]](self.values, node, label, True)

    def _make(self, state: State) -> Iterator[Candidate]:
        x, inverse, scale, factored = state
        egraph, values = self.egraph, self.values
        if factored:  # what it costs is left out of the cost of solutions
            yield Candidate(values.factorisation_cost(x), (State(x),), lambda matrix: matrix)
            return
        if scale != 1:
            yield values.linear(scale, [(1, x, 0, inverse)], values.scaled)
        for node, label, _ in egraph.view(x):
            if values.reads_batch(node) and not values.batches[x]:
                continue
            c, t, i = compose((scale, 0, inverse), label)
            if not i:
                yield from RULES[node[0]](values, node, (c, t, 0), False)
            elif node[0] == "product" and egraph.all_square(node[2]):
                powers = tuple([(y, -e) for y, e in node[1]])
                turned = ("product", powers, flipped(node[2], 0, 1), node[3])
                yield from product(values, turned, (c, t, 0), False)
            elif node[0] == "diag":
                yield _diagonal_matrix(values, node, c, reciprocals=True)
        if scale == 1 and (x in self._explicit if inverse else self._is_inverse(x)):
            yield self._explicit_inverse(State(x, 1 - inverse))

    def _is_inverse(self, x: int) -> bool:
        """Return whether nodes of a class are the inverse of its value, and for matrices all."""
        inverses = [label[2] for _, label, _ in self.egraph.view(x)]
        scalar = self.egraph.classes[x].shape == (1, 1)
        return any(inverses) and (scalar or all(inverses))

    def _explicit_inverse(self, state: State) -> Candidate:
        """Return the inverse of a state."""
        values, n = self.values, self.egraph.classes[state.x].shape[0]
        if n == 1:
            return Candidate(None, (state,), reciprocal)
        for name, lower in (("lower_triangular", True), ("upper_triangular", False)):
            if values.holds(state.x, name):
                return Candidate(None, (state,), partial(_inverse_of_triangle, values, lower))
        return Candidate(None, (state,), _inverse)

    def goal(self, ref: Reference) -> Operand:
        """Return a reference as an operand whose state includes the coefficient."""
        operand = self.values.operand(ref)
        state = operand.state._replace(scale=operand.coefficient)
        return operand._replace(state=state, coefficient=1)

    def finished(
        self, value: Variable, operand: Operand, ref: Reference, like: Variable
    ) -> Variable:
        """Return the value of a goal in the rank and shape of a node that it replaces."""
        value = self.values.oriented(value, operand.transposed)
        value = self.values.at_rank(value, operand.shape, min(like.ndim, 2))
        if value.type.shape != like.type.shape:
            value = self.values.broadcast(value, like.type.shape)
        return value


def _inverse(x: Variable) -> Variable:
    return on_fewer_transposes(lambda parts: INV(*parts), [x])


def _inverse_of_triangle(values: Values, lower: bool, x: Variable) -> Variable:
    return SolveTriangular(lower, 0, False)(x, values.identity(x.type.shape[-1]))  # type: ignore[no-any-return]


# -- the ways to compute a node, but for sums and products -----------------------------------------


def _leaf(values: Values, node: Node, label: Label, first: bool) -> Iterator[Candidate]:
    """Yield a leaf in the form that its class has: a vector where that is n x 1."""
    c, t, _ = label
    leaf = values.embedding.leaves[node[1]]
    build = lambda: values.scaled(c, values.oriented(values.squeezed(leaf), t))  # noqa: E731
    yield Candidate(None, (), build)


def _constant(values: Values, node: Node, label: Label, first: bool) -> Iterator[Candidate]:
    yield Candidate(None, (), lambda: _value_of_constant(values, node, label))


def _value_of_constant(values: Values, node: Node, label: Label) -> Variable:
    c, t, _ = label
    match node:
        case "eye", n:
            return values.scaled(c, values.number(1) if n == 1 else values.identity(n))
        case "ones", n:
            return values.filled(c, (n,))
        case "zero", m, n:
            return values.filled(0, plain((n, m) if t else (m, n)))
    _, a, b, n = node
    entry = ("int", a) if b - a == 1 else ("slice", a, b, None)
    return values.scaled(c, values.oriented(Index((entry,))(values.identity(n)), t))


def _diag(values: Values, node: Node, label: Label, first: bool) -> Iterator[Candidate]:
    yield _diagonal_matrix(values, node, label[0])


def _diagonal_matrix(
    values: Values, node: Node, c: Coefficient, reciprocals: bool = False
) -> Candidate:
    operand = values.operand((1, *node[1]))
    c *= quotient(1, operand.coefficient) if reciprocals else operand.coefficient

    def build(parts: list[Variable]) -> Variable:
        entries = reciprocal(parts[0]) if reciprocals else parts[0]
        return Diag(0)(values.scaled(c, entries))  # type: ignore[no-any-return]

    return values.candidate([operand], build)


def _diagonal(values: Values, node: Node, label: Label, first: bool) -> Iterator[Candidate]:
    c, t, _ = label

    def build(c: Coefficient, x: Variable) -> Variable:
        column = Diagonal(0)(x)
        if column.ndim > 1:  # of a batch
            column = values.oriented(expand_dims(column, (-1,)), t)
        return values.scaled(c, column)

    yield values.linear(c, [(1, *node[1])], build)


def _det(values: Values, node: Node, label: Label, first: bool) -> Iterator[Candidate]:
    c, x, _, i = values.egraph.canonical((1, node[1], 0, 0))
    n = values.egraph.classes[x].shape[0]
    d = c**n if isinstance(n, int) else 1
    d = label[0] * (quotient(1, d) if i else d)

    def build(matrix: Variable) -> Variable:
        det = Det()(matrix)
        return values.scaled(d, reciprocal(det) if i else det)

    yield Candidate(None, (State(x),), build)


def _application(values: Values, node: Node, label: Label, first: bool) -> Iterator[Candidate]:
    _, op, refs, (_, *ranks) = node
    operands = [values.operand(ref) for ref in refs]

    def build(parts: list[Variable]) -> Variable:
        args = [
            values.at_rank(values.scaled(operand.coefficient, part), operand.shape, rank)
            for part, operand, rank in zip(parts, operands, ranks, strict=True)
        ]
        c, t, _ = label
        return values.scaled(c, values.oriented(values.squeezed(op(*args)), t))

    yield values.candidate(operands, build)


RULES: dict[str, Rule] = {
    "leaf": _leaf,
    "eye": _constant,
    "zero": _constant,
    "ones": _constant,
    "rows": _constant,
    "sum": sum_,
    "product": product,
    "hadamard": hadamard,
    "diag": _diag,
    "diagonal": _diagonal,
    "det": _det,
    "apply": _application,
}
