"""Relations of users in a search: each is tried, in both directions, on what an e-graph holds.

For each node of the e-graph there are small graphs that show it to a relation: its op, applied to
operands that are spelt out as far as the relation looks, and placeholders below.  The compiled
matcher of the relation rewrites them, so that commuted operands, coefficients, conditions and facts
count as in any rewriting; what comes out is embedded, and is equal to the node's class.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice, product
from typing import Any

from relgraph.errors import RelgraphError
from relgraph.ir.node import Variable
from relgraph.relations.decorators import as_relation
from relgraph.relations.pattern import PatternNode, subterms
from relgraph.relations.relation import Relation
from relgraph.rewriting.rewriters import GraphRewriter
from relgraph.search.candidates import Candidates
from relgraph.search.labels import Reference, transposed
from relgraph.search.values import State

SPELLINGS = 12  # how many graphs show one node
FORMS = 4  # how many nodes of an operand's class are spelt out
DEEPEST = 4


class Joins:
    """Relations that take part in a search.

    Parameters
    ----------
    relations : iterable of relation
        Each is used in both directions, where it has both.
    names : collection of str, optional
        The labels of those to use; all by default.
    """

    def __init__(self, relations: Iterable[Any], names: Collection[str] | None = None) -> None:
        self.rewriters: list[tuple[Relation, GraphRewriter]] = []
        self.depth = 0
        self.ops: frozenset[Any] = frozenset()  # those that the relations speak of
        for relation in map(as_relation, relations):
            for directed in _directions(relation):
                if names is not None and directed.label not in names:
                    continue
                self.rewriters.append((directed, GraphRewriter([directed], "once")))
                sides = [side for c in directed.clauses or () for side in (c.left, c.right)]
                self.depth = min(DEEPEST, max([self.depth, *map(_depth, sides)]))
                parts = [part for side in sides for part in subterms(side)]
                self.ops |= {part.op for part in parts if isinstance(part, PatternNode)}
        self.shown: set[Variable] = set()
        self.placeholders: dict[Variable, Reference] = {}

    def round(self, candidates: Candidates) -> dict[str, int]:
        """Try each relation on each node; return how often each said something new."""
        egraph, embedding = candidates.egraph, candidates.embedding
        news: list[tuple[Reference, Variable, str]] = []
        for x in sorted(egraph.classes):
            if x not in candidates.values.facts:
                continue
            for graph in islice(self._spellings(candidates, State(x), self.depth), SPELLINGS):
                if graph.op is None or graph in self.shown:
                    continue
                self.shown.add(graph)
                for relation, rewriter in self.rewriters:
                    (new,) = rewriter.outputs_of((graph,))
                    if new is not graph and new.type == graph.type:
                        news.append(((1, x, 0, 0), new, relation.label))
        embedding.references.update(self.placeholders)
        fired: dict[str, int] = {}
        for ref, new, name in news:
            embedding.add([new])
            equal = embedding.references.get(new)
            if equal is None:
                continue
            if egraph.shape(equal) != egraph.shape(ref):
                equal = transposed(equal)
            if egraph.shape(equal) == egraph.shape(ref) and egraph.union(ref, equal):
                fired[name] = fired.get(name, 0) + 1
        egraph.rebuild()
        return fired

    def _placeholder(self, candidates: Candidates, state: State) -> Variable:
        """Return an input for the value of a state, and tell the embedding what it stands for."""
        value = candidates.values.placeholder(state, f"value_{state.x}_{state.inverse}")
        ref: Reference = (1, state.x, 0, state.inverse)
        m, n = candidates.egraph.shape(ref)
        # A vector is a column.
        is_row = value.ndim < 2 and m == 1 != n
        self.placeholders[value] = transposed(ref) if is_row else ref
        return value

    def _spellings(self, candidates: Candidates, state: State, depth: int) -> Iterator[Variable]:
        """Yield graphs of a state: its nodes with operands spelt out, down to placeholders."""
        x, i, *_ = state
        if not depth or i:
            yield self._placeholder(candidates, state)
            return
        for node, label, _ in candidates.egraph.view(x)[:FORMS]:
            if label[2] or node[0] in ("leaf", "rows"):
                continue
            for candidate in candidates.spelt(node, label):
                operands = [
                    list(islice(self._spellings(candidates, need, depth - 1), FORMS))
                    for need in candidate.needs
                ]
                for values in islice(product(*operands), SPELLINGS):
                    yield candidate.build(*values)
        yield self._placeholder(candidates, state)


def _directions(relation: Relation) -> Iterator[Relation]:
    yield relation
    try:
        yield relation.reversed
    except RelgraphError:  # it runs in one direction only
        return


def _depth(term: Any) -> int:
    """Return how many ops deep a side of a relation is."""
    return 1 + max(map(_depth, term.args), default=0) if isinstance(term, PatternNode) else 0
