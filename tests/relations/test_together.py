"""Relations with one head op share a matcher: together they do what each does alone, in order."""

from __future__ import annotations

import random

import pytest

from relgraph.checking import matching
from relgraph.checking.generators.arrays import draw, generator
from relgraph.checking.generators.cases import cases, needs_regular
from relgraph.checking.outcome import Problem
from relgraph.checking.promises import disagreement
from relgraph.relations.clause import op_name
from relgraph.relations.operand_index import Match
from relgraph.relations.pattern import OpPattern
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.selection import Selection
from tests.relations.test_soundness import RELATIONS

SETS = 6  # random sets of relations tried for each head
GRAPHS = 4  # graphs made from each relation of a set


def by_head():
    """Return the directions of the catalogue that match each op."""
    found = {}
    for theme, relation in RELATIONS:
        for rewrite in relation.rewrites:
            op = rewrite.pattern.op
            head = op.cls.name if isinstance(op, OpPattern) else op_name(op)
            listed = found.setdefault(head, [])
            if (theme, relation) not in listed:
                listed.append((theme, relation))
    return {head: listed for head, listed in found.items() if len(listed) > 1}


HEADS = by_head()


def drawn(head, number):
    """Return some relations of a head, in some order; of two directions of one, only one."""
    draw = random.Random(f"{head} {number}")
    listed = draw.sample(HEADS[head], len(HEADS[head]))
    chosen = {}
    for theme, relation in listed:
        chosen.setdefault(relation.name, (theme, relation))
    most = draw.randint(2, max(2, min(12, len(chosen))))
    return list(chosen.values())[:most]


def match(selection, node):
    """Return what a selection makes of a node itself, and the relation that did, or None."""
    op = node.op
    if op in selection.ac_ops:
        found = selection.ac_of(op).pair(*node.inputs)
        if isinstance(found, Match):
            found = found.firing.result, found.firing.rewrite
    else:
        compiled = selection.plain(op)
        found = compiled(node) if compiled is not None else None
    return None if found is None else (found[0], found[1].relation)


def assert_agrees(relation, instance, graph, result):
    """Compare what a graph and its replacement compute, by the labels of the relation."""
    regular = needs_regular(graph, result)
    rng = generator(relation.name, str(instance), "moderate", 0)
    values = {x.name: draw(x, rng, "moderate", regular) for x in instance.inputs}
    verdict = disagreement(relation, graph, values, "moderate")
    assert not isinstance(verdict, Problem), f"{relation.label}: {graph} at {values}: {verdict}"


@pytest.mark.parametrize("head", HEADS)
def test_the_first_that_fires_alone_fires_together(head):
    fired = 0
    for number in range(SETS):
        chosen = drawn(head, number)
        relations = [relation for _, relation in chosen]
        together = Selection(relations)
        alone = [Selection([relation]) for relation in relations]
        for _, relation in chosen:
            for _, sides in cases(relation):
                for graph, _, instance in sides[:GRAPHS]:
                    first = next((f for s in alone if (f := match(s, graph)) is not None), None)
                    assert match(together, graph) == first, (
                        f"{graph} with {', '.join(r.label for r in relations)}"
                    )
                    if first is not None:
                        fired += 1
                        by = next(r for r in relations if r.label == first[1])
                        assert_agrees(by, instance, graph, first[0])
    assert fired


@pytest.mark.parametrize("head", HEADS)
def test_what_fires_alone_is_never_left_when_together(head):
    for number in range(SETS):
        chosen = drawn(head, number)
        together = Selection([relation for _, relation in chosen])
        for _, relation in chosen:
            for _, sides in cases(relation):
                for graph, _, _ in sides[:1]:
                    if matching.match(relation, graph) is not None:
                        (result,) = normalise([graph], together, once=True)
                        assert result is not graph, f"{relation.label} fires alone on {graph}"
