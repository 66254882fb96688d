"""Whether the engine does with a relation what it states: fires on its own sides, and only there.

What kanren answers is the meaning; the compiled matcher is compared with it.
"""

from __future__ import annotations

from itertools import islice, product
from typing import Any

from relgraph.checking.generators.cases import (
    cases,
    clauses_of,
    never_compared,
    rewrite_of,
    sides,
)
from relgraph.checking.generators.instances import facts_of, instances
from relgraph.checking.generators.shapes import dtypes_of, is_pointwise, shapes_of
from relgraph.checking.matching import canonical, match
from relgraph.checking.outcome import Counterexample, Outcome, Problem
from relgraph.errors import RelgraphError
from relgraph.ir.etuple import raise_
from relgraph.ir.node import Apply, Variable, apply
from relgraph.relations.clause import Clause
from relgraph.relations.pattern import variables
from relgraph.relations.relation import Relation
from tests.relations.near_misses import near_misses as changed

FAMILY = 4  # clauses of which every near miss is tried; of twice as many, every second one
DRAWS = 300  # of shapes and parameters for one near miss


def _failure(
    relation: Relation, clause: Clause, graph: Variable, what: str, expected: Any = None
) -> Counterexample:
    result = match(relation, graph)
    return Counterexample(relation, clause, graph, result, {}, Problem(what, expected, result))


def fires(relation: Relation) -> Outcome:
    """Check that a direction fires on what is made of its sides, and makes its other side."""
    tried, idle = 0, []
    for clause, drawn in cases(relation):
        fired = 0
        for graph, other, instance in drawn:
            result = match(relation, graph)
            if result is None:
                if is_pointwise(clause) and one_dtype(graph, other, *instance.inputs):
                    return Outcome(tried, _failure(relation, clause, graph, "does not fire"))
                continue
            fired += 1
            first = not relation.backward or len(relation.clauses or ()) == 1
            first = first and not relation.binds_ops  # which may leave a number where it is
            comparable = isinstance(other, Variable) and other.type.narrows(graph.type)
            if first and comparable and canonical(result) != canonical(other):
                what = "makes another graph than its other side"
                return Outcome(tried, _failure(relation, clause, graph, what, other))
        tried += fired
        if not fired:
            idle.append(clause)
    return Outcome(tried, None, never_compared(relation, idle))


def one_dtype(graph: Variable, other: Any, *inputs: Variable) -> bool:
    """Return True if the sides have one dtype, and the inputs have one."""
    same_result = not isinstance(other, Variable) or other.dtype == graph.dtype
    return same_result and len({x.dtype for x in inputs}) == 1


def kanren_answers(relation: Relation) -> Outcome:
    """Check that kanren has an answer wherever the matcher fires."""
    tried, idle = 0, []
    for clause, drawn in cases(relation, ("float64",), 40):
        agreed = 0
        for graph, _, _ in drawn:
            if match(relation, graph) is None:
                continue
            if not answers(relation, graph):
                what = "fires where kanren has no answer"
                return Outcome(tried, _failure(relation, clause, graph, what))
            agreed += 1
            if agreed == 8:
                break
        tried += agreed
        if not agreed:
            idle.append(clause)
    return Outcome(tried, None, never_compared(relation, idle))


def answers(relation: Relation, node: Variable) -> bool:
    """Return True if kanren has an answer of the node's type, in some order of operands."""
    for variant in swaps(node):
        for term in relation.run(4, variant):
            try:
                answer = (
                    raise_(term) if not isinstance(term, Variable | bool | int | float) else term
                )
            except (RelgraphError, TypeError, ValueError):
                continue
            if answer is not None:
                return True
    return False


def swaps(node: Variable, most: int = 64) -> list[Variable]:
    """Return variants of a graph with the operands of its commutative ops in every order."""
    if not isinstance(node, Apply):
        return [node]
    variants: dict[Variable, None] = {}
    for inputs in islice(product(*[swaps(x, most) for x in node.inputs]), most):
        variants[apply(node.op, inputs)] = None
        if node.op.commutative:
            variants[apply(node.op, inputs[::-1])] = None
    return list(variants)[:most]


def near_misses(relation: Relation) -> Outcome:
    """Check graphs that differ from a side in one place: matcher and kanren agree on them."""
    tried, idle = 0, []
    clauses = [c for c in clauses_of(relation) if rewrite_of(relation, c) is not None]
    step = -(-len(clauses) // FAMILY)
    for number, clause in enumerate(clauses):
        before = tried
        near = list(changed(clause, relation.backward))
        chosen = near[number % step :: step]
        for i, ways in enumerate([*chosen, *near]):
            if i >= len(chosen) and tried > before:
                break
            graph = graph_of(relation, clause, ways)
            if graph is None:
                continue
            fired = match(relation, graph) is not None
            if fired != answers(relation, graph):
                what = f"{'fires' if fired else 'does not fire'} where kanren says otherwise"
                return Outcome(tried, _failure(relation, clause, graph, what))
            tried += 1
        if tried == before:
            idle.append(clause)
    return Outcome(tried, None, never_compared(relation, idle))


def graph_of(relation: Relation, clause: Clause, ways: list[Clause]) -> Variable | None:
    """Return a graph of the matched side of a changed clause, or None where there is none."""
    shapes, dtypes = shapes_of(relation, clause), dtypes_of(clause)
    for way, listed in product(ways, (shapes.usual, shapes.open)):
        drawn = islice(instances(way, listed, dtypes, draws=DRAWS), 1)
        for graph, _, _ in sides(relation, drawn):
            if graph.op is not None:
                return graph
    return None


def held_back(relation: Relation) -> Outcome:
    """Check that a direction whose condition is not proved does not fire."""
    asked, idle = 0, []
    for clause, drawn in cases(relation, facts=False):
        if not asks_for_facts(relation, clause):
            continue
        before = asked
        for graph, _, instance in drawn:
            if not all(x.dtype.kind == "f" for x in instance.inputs):
                continue
            asked += 1
            # Only squareness is seen from a type.
            if match(relation, graph) is not None and "square(" not in str(clause):
                what = "fires although its condition is not proved"
                return Outcome(asked, _failure(relation, clause, graph, what))
        if asked == before:
            idle.append(clause)
    return Outcome(asked, None, never_compared(relation, idle))


def asks_for_facts(relation: Relation, clause: Clause) -> bool:
    """Return True if a direction of a clause asks for facts, beyond those its pattern proves."""
    rewrite = rewrite_of(relation, clause)
    return rewrite is not None and any(facts_of(rewrite, v) for v in variables(rewrite.pattern))
