"""The result of one relation on one node, by the compiled matcher, and a key to compare results."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from relgraph.checking.generators.instances import fixed_inputs
from relgraph.ir.graph import free_inputs
from relgraph.ir.node import Apply, Input, Variable
from relgraph.relations.ac_matcher import AcMatcher
from relgraph.relations.nary import leaves
from relgraph.relations.operand_index import Match
from relgraph.relations.relation import Relation
from relgraph.rewriting.selection import selection_of


def match(relation: Relation, node: Variable) -> Variable | None:
    """Return the replacement of a node itself, or None if the relation does not match it."""
    selection = selection_of((relation,))
    op = node.op
    if op is None:
        return None
    matcher = selection.ac_of(op)
    if matcher is not None:
        a, b = node.inputs
        firing: Any = matcher.pair(a, b)
        if isinstance(firing, Match):
            result = firing.firing.result
            return matcher.kind.negated(result) if firing.negative else result
        if firing is None and (selection.regroups or node.dtype.kind != "f"):
            return _match_all_operands(matcher, node)
    else:
        compiled = selection.plain(op)
        firing = compiled(node) if compiled is not None else None
    return None if firing is None else firing[0]


def _match_all_operands(matcher: AcMatcher, node: Variable) -> Variable | None:
    """Return a matcher's replacement for all operands of a nested application, or None."""
    operands = leaves(node, matcher.op)
    if len(operands) < 3:
        return None
    view = matcher.view()
    view.fill(operands)
    matches = matcher.step(view)
    return next((m.firing.result for m in matches if len(m.slots) == len(operands)), None)


def inputs_of(relation: Relation, graph: Variable) -> list[Input]:
    """Return the inputs of a graph, and those of the relation's own graph nodes."""
    return list(dict.fromkeys([*free_inputs([graph]), *_fixed_inputs(relation)]))


@lru_cache(256)
def _fixed_inputs(relation: Relation) -> tuple[Input, ...]:
    return tuple(fixed_inputs(*(relation.clauses or ())))


def canonical(node: Any) -> Any:
    """Return a key that is equal for graphs equal up to order and bracketing of AC ops."""
    if not isinstance(node, Apply):
        return node
    op = node.op
    if op.associative and op.commutative:
        terms, stack = [], list(node.inputs)
        while stack:
            x = stack.pop()
            if x.op is op:
                stack.extend(x.inputs)
            else:
                terms.append(canonical(x))
        return op, tuple(sorted(terms, key=repr))
    inner = tuple(map(canonical, node.inputs))
    return op, tuple(sorted(inner, key=repr)) if op.commutative else inner
