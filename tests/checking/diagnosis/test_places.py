"""Places near a match: where a relation fires no test fails, and near a side one does, by name."""

from __future__ import annotations

from itertools import islice

import pytest

import relgraph as rg
from relgraph.checking.diagnosis.places import nearest_places
from relgraph.checking.diagnosis.reasons import KINDS
from relgraph.checking.generators.cases import clauses_of
from relgraph.checking.matching import match
from relgraph.db.catalogue import THEMES, relations_of
from relgraph.db.listing import both_directions
from relgraph.ir.graph import toposort
from tests.relations.agreement import graph_of
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
