"""The places of a graph at which a relation might have fired, those nearest to a match first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from relgraph.checking.diagnosis.near_match import NearMatch, size_of
from relgraph.checking.diagnosis.reasons import CONDITION, FACT, Place
from relgraph.checking.diagnosis.result import failure
from relgraph.errors import RelgraphError
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.relations.clause import Rewrite, is_ac, orient, traits
from relgraph.relations.nary import kind_of, sequence
from relgraph.relations.op_kinds import OpKind
from relgraph.relations.operand_index import anchor, plays
from relgraph.relations.relation import Relation

STEPS = 50_000  # of all searches in one graph
FARTHER = 3  # how much farther from a match than the nearest place another one may be
PENDING = {FACT, CONDITION}  # where only these fail, what follows a match can be tested


def nearest_places(relation: Relation, nodes: Iterable[Variable]) -> list[Place]:
    """Return the nodes at which a relation might fire and does not, the nearest match first."""
    found: list[tuple[int, int, Place]] = []
    rewrites, steps = plain_rewrites(relation), 0
    least: int | None = None
    sums = dict.fromkeys(x for r in rewrites if is_ac(x := anchor(r.pattern)))
    inside: set[Variable] = set()  # of a sum or product that is looked at as a whole
    for number, node in enumerate(reversed(list(nodes))):
        best: tuple[int, Place] | None = None
        for rewrite in rewrites:
            within = node in inside and is_ac(anchor(rewrite.pattern))
            if steps > STEPS or within or not _fits(rewrite, node):
                continue
            most = size_of(rewrite.pattern) + len(rewrite.conditions) + 1
            if least is not None:
                most = min(most, least + FARTHER)
            if best is not None:
                most = min(most, best[0] - 1)
            search = NearMatch(rewrite)
            search.rebrackets = node not in inside
            best = _nearest(search, node, most) or best
            steps += search.steps
        inside.update(_opened(node, sums) if node not in inside else ())
        if best is not None:
            found.append((best[0], number, best[1]))
            least = best[0] if least is None else min(least, best[0])
    places: dict[Any, Place] = {}  # a sum within a sum fails for the same reasons
    for _, _, place in sorted(found, key=lambda x: x[:2]):
        places.setdefault((id(place.rewrite), place.reasons or place.node), place)
    return list(places.values())


def _opened(node: Variable, sums: Iterable[Op]) -> list[Variable]:
    """Return the applications inside a sum or product that belong to its view."""
    op: Any = node.op
    if op is None:
        return []
    for own in sums:
        if op in kind_of(own).family:
            return [x for x in kind_of(own).terms(node)[1] if x is not node]
    opened: list[Variable] = []
    stack = [node] if op.chains else []
    factors = set(sequence(op, node)) if op.chains else set()
    while stack:
        inner = [x for x in stack.pop().inputs if x.op is op and x not in factors]
        opened += inner
        stack += inner
    return opened


def plain_rewrites(relation: Relation) -> list[Rewrite]:
    """Return the clauses of a relation in its direction, with sums of two terms as declared."""
    rewrites = []
    for clause in relation.clauses or ():
        try:
            rewrite = orient(
                clause,
                relation.backward,
                relation.label,
                relation.location,
                broadcast=relation.broadcast,
                exact=relation.rounding == "exact",
                source=relation,
            )
        except RelgraphError:  # this clause does not run that way
            continue
        rewrites.append(rewrite)
    return rewrites


def _fits(rewrite: Rewrite, node: Variable) -> bool:
    """Return True if a node has the head of a pattern, or one that means the same."""
    head = anchor(rewrite.pattern)
    if isinstance(head, OpKind):
        return head(node.op)
    if is_ac(head):
        return node.op in kind_of(head).family
    same_class = not isinstance(head, type) and bool(head.parameters) and not traits(head).pointwise
    return plays(node.op, head) or (same_class and type(node.op) is type(head))


def _nearest(search: NearMatch, node: Variable, most: int) -> tuple[int, Place] | None:
    """Return the nearest match of a rewrite at a node that costs at most so much, and the cost."""
    rewrite = search.rewrite
    for limit in range(most + 1):
        for way in search.ways(node, limit):
            reason = None
            if PENDING.issuperset([x.kind for x in way.reasons]):
                reason = failure(rewrite, node, way)
            cost = way.cost + (reason is not None)
            if cost <= limit:
                reasons = way.reasons if reason is None else (*way.reasons, reason)
                return cost, Place(node, rewrite, reasons)
    return None
