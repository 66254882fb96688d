"""Why a relation fired nowhere in a graph: the condition without which it would have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relgraph.errors import RelgraphError
from relgraph.ir.infix import brief
from relgraph.ir.node import Variable
from relgraph.relations.clause import Clause
from relgraph.relations.kanren.goals import Suspended
from relgraph.relations.pattern import text
from relgraph.relations.relation import Relation
from relgraph.rewriting.derivation.derivation import run_recorded
from relgraph.rewriting.selection import selection_of


def near_miss(relation: Relation, before: Sequence[Variable], after: Sequence[Variable]) -> str:
    """Return why a relation did not fire while one graph became another."""
    try:
        node = _first_match(relation, before)
    except RelgraphError as error:
        return error.what
    if node is not None:
        return f"others fire first at {brief(node)}, or it does not pay there"
    if relation.interpreted:
        return "kanren finds no answer for any node"
    for relaxed, dropped in _relaxed(relation):
        try:
            node = _first_match(relaxed, after)
        except RelgraphError:  # without the condition, it builds what no op accepts
            continue
        if node is not None:
            return f"no proof of {', '.join(map(repr, dropped))} at {brief(node)}"
    return f"no node matches {', nor '.join(dict.fromkeys(map(text, relation.patterns)))}"


def _first_match(relation: Relation, outputs: Sequence[Variable]) -> Variable | None:
    """Return the first node that a relation rewrites, or None."""
    steps = run_recorded(outputs, selection_of((relation,)), once=True).steps
    return steps[0].before if steps else None


def _relaxed(relation: Relation) -> Iterator[tuple[Relation, tuple[Suspended, ...]]]:
    """Yield weaker relations: with one condition dropped, then with all of a clause dropped.

    Each comes with the dropped conditions.  Conditions that compute a value are kept.
    """
    clauses = relation.clauses or ()
    single = [(clause, (c,)) for clause in clauses for c in clause.conditions]
    several = [(clause, clause.conditions) for clause in clauses if len(clause.conditions) > 1]
    for clause, conditions in (*single, *several):
        dropped = tuple([c for c in conditions if c.kind == "check"])
        if not dropped:
            continue
        kept = tuple([c for c in clause.conditions if c not in dropped])
        made = Relation(
            relation.name,
            clauses=(Clause(clause.left, clause.right, kept),),
            rounding=relation.rounding,
            specials=relation.specials,
            broadcast=relation.broadcast,
            location=relation.location,
        )
        try:
            yield (made.reversed if relation.backward else made), dropped
        except RelgraphError:  # the condition bound a variable
            continue
