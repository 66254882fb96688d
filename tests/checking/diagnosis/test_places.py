"""Places near a match: where a relation fires no test fails, and near a side one does, by name."""

from __future__ import annotations

from itertools import islice

import pytest

import relgraph as rg
from relgraph.checking.diagnosis.places import nearest_places
from relgraph.checking.diagnosis.reasons import KINDS
from relgraph.checking.generators.cases import cases, clauses_of
from relgraph.checking.matching import match
from relgraph.db.catalogue import THEMES, relations_of
from relgraph.db.listing import both_directions
from relgraph.ir.graph import toposort
from relgraph.ir.node import make_input
from relgraph.rewriting.rewriters import images_of
from tests.relations.agreement import asks_for_facts, graph_of
from tests.relations.near_misses import near_misses

EACH = 3  # relations of a theme


def near(theme):
    """Yield relations of a theme with graphs that differ from their sides in one place."""
    relations = [r for r in relations_of(theme) if not r.interpreted]
    for relation in relations[:: max(1, len(relations) // EACH)][:EACH]:
        clause = clauses_of(relation)[0]
        for ways in islice(near_misses(clause, relation.backward), 3):
            graph = graph_of(relation, clause, ways)
            if graph is not None:
                yield relation, graph


@pytest.mark.parametrize("theme", THEMES)
def test_a_graph_that_does_not_match_fails_a_test_by_name(theme):
    for relation, graph in near(theme):
        if any(match(relation, node) is not None for node in toposort([graph])):
            continue
        answer = rg.why_not(graph, relation)
        assert answer.fired == ()
        assert answer.reason.kind in KINDS and answer.reason.text
        # The search goes through the pattern as the matcher does: where nothing fails, it fires.
        assert "other signs" not in answer.reason.text, (relation, graph)


@pytest.mark.parametrize("theme", THEMES)
def test_no_test_fails_where_a_relation_fires(theme):
    for relation in relations_of(theme):
        for direction in both_directions(relation):
            clause = clauses_of(direction)[0]
            graph = graph_of(direction, clause, [clause])
            if graph is not None and match(direction, graph) is not None:
                (place, *_) = nearest_places(direction, [graph])
                assert place.reasons == (), (direction, graph, place)


def with_facts(graph, facts):
    """Return a graph whose inputs have more facts."""
    changes = {x: make_input(x.name, x.type, (*x.facts, name)) for x, name in facts}
    return images_of([graph], changes)[graph]


@pytest.mark.parametrize("theme", THEMES)
def test_a_relation_fires_once_the_facts_are_declared_that_it_lacks(theme):
    """Each fact that is named is declared in turn, until none is left to declare."""
    for relation in relations_of(theme):
        for clause, drawn in cases(relation, facts=False):
            if not asks_for_facts(relation, clause):
                continue
            graphs = [g for g, *_ in drawn if g.op is not None and match(relation, g) is None]
            for graph in graphs[:1]:
                reasons = nearest_places(relation, [graph])[0].reasons
                while reasons and reasons[0].facts:
                    assert reasons[0].kind == "fact"
                    graph = with_facts(graph, reasons[0].facts)
                    reasons = nearest_places(relation, [graph])[0].reasons
                left = [reason.kind for reason in reasons]
                fires = match(relation, graph) is not None
                assert (left == []) is fires, (relation, graph, reasons)
                if left[:1] == ["fact"]:  # of a type that cannot have it
                    assert "is not" in reasons[0].text, (relation, graph, reasons)


def test_no_test_fails_on_the_graphs_of_sides():
    x, y = rg.vectors("x y", shape="n")
    A, B = rg.matrices("A B", shape=("n", "n"))
    for name, graph in {
        "log1p_addo": rg.log(x + 1),
        "pythagoras_circularo": rg.square(rg.cos(x)) + y + rg.square(rg.sin(x)),
        "transpose_matmulo": (A @ B).mT,
        "trace_matmulo": rg.trace(A @ B),
        "hypot_sqrto": rg.sqrt(rg.square(y) + rg.square(x)),
        "join_extremeo": rg.minimum(x, y) + rg.maximum(y, x),
        "logsumexpo": rg.log(rg.sum(rg.exp(A), axis=0)),
    }.items():
        relation = rg.catalogue(name).relations[0].forward
        (place, *_) = nearest_places(relation, [graph])
        assert place.reasons == (), (name, place.reasons)
