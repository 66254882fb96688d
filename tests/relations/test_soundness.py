"""Every relation of the catalogue, in every direction that it can run, keeps what it promises.

``relgraph.checking`` makes the graphs and compares; a failure prints the smallest counterexample.
"""

from __future__ import annotations

import pytest

from relgraph.checking import promises
from relgraph.checking.branches.coverage import keeps_branches
from relgraph.checking.check import CHECKS
from relgraph.checking.generators.cases import clauses_of
from relgraph.checking.report import BY_CLAUSE, RelationReport
from relgraph.db.catalogue import THEMES, relations, relations_of
from relgraph.db.listing import both_directions
from relgraph.relations.termination_order import decreases
from tests.relations import agreement

PHASES = {"canonicalize", "stabilize", "specialize"}
_DOUBLE = "the signs it makes are float64, so no graph of float32 keeps its dtype"
# What has nothing to judge, in one direction and dtype; a reason that is no longer true fails.
NOT_JUDGED = {
    ("det_permutationo", "float32"): _DOUBLE,
    ("det_permutationo.reversed", "float32"): _DOUBLE,
    ("qz_diagonalo.reversed", "float32"): _DOUBLE,
}

RELATIONS = [
    (theme, r)
    for theme in THEMES
    for listed in relations_of(theme)
    for r in both_directions(listed)
]
IDS = [f"{r.label}" for _, r in RELATIONS]
every_direction = pytest.mark.parametrize(("theme", "relation"), RELATIONS, ids=IDS)


def passed(outcome):
    """Assert that nothing failed; return how much was compared."""
    assert outcome.failure is None, str(outcome.failure)
    return outcome.tried


@every_direction
def test_it_fires_on_its_sides(theme, relation):
    outcome = agreement.fires(relation)
    assert passed(outcome)
    assert not outcome.idle, f"no instance of {outcome.idle[0]} fires"


@every_direction
def test_it_keeps_type_and_value(theme, relation):
    found = {"values": promises.keeps_values(relation)}
    assert passed(found["values"])
    if found["values"].idle:  # other dtypes, or zeros, must then do for these clauses
        found |= {name: CHECKS[name](relation) for name in BY_CLAUSE[1:]}
    untried = RelationReport(relation, {relation.label: found}, {}).untried
    assert not untried, f"no values of {untried[relation.label][0]} are compared"


@every_direction
def test_it_keeps_values_of_every_dtype(theme, relation):
    assert passed(promises.keeps_every_dtype(relation))


@every_direction
def test_it_holds_on_each_branch_of_its_ops(theme, relation):
    outcome = keeps_branches(relation)
    passed(outcome)
    assert not outcome.unreached, f"no sample takes {outcome.unreached[0]}"
    scalars_only = promises.fires_on_arrays(relation).scalars_only
    assert not scalars_only, f"{scalars_only[0]} fires on no array"


@every_direction
def test_it_keeps_specials_as_labelled(theme, relation):
    assert passed(promises.keeps_specials(relation))


ROUNDED = [(theme, r) for theme, r in RELATIONS if r.rounding == "rounded"]


@pytest.mark.parametrize(("theme", "relation"), ROUNDED, ids=[r.label for _, r in ROUNDED])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_its_error_is_bounded(theme, relation, dtype):
    """Both sides have one exact value, and what is made is as accurate as its own steps allow."""
    judged = passed(promises.keeps_digits(relation, dtype))
    assert bool(judged) != ((relation.label, dtype) in NOT_JUDGED)


@every_direction
def test_kanren_and_matcher_agree(theme, relation):
    outcome = agreement.kanren_answers(relation)
    assert passed(outcome)
    assert not outcome.idle, f"no instance of {outcome.idle[0]} fires"


@every_direction
def test_near_misses_do_not_match(theme, relation):
    outcome = agreement.near_misses(relation)
    assert passed(outcome)
    assert not outcome.idle, f"there is no near miss of {outcome.idle[0]}"


@every_direction
def test_a_condition_that_is_not_proved_holds_it_back(theme, relation):
    outcome = agreement.held_back(relation)
    asked = passed(outcome)
    assert asked or not any(agreement.asks_for_facts(relation, c) for c in clauses_of(relation))


def test_every_shipped_direction_decreases_the_measure():
    for relation in relations():
        if PHASES & set(relation.tags):
            for rewrite in relation.rewrites:
                assert decreases(rewrite), rewrite


def test_docstrings_and_names():
    seen = set()
    for relation in relations():
        name, doc = relation.name, relation.__doc__ or ""
        assert name.endswith("o") and name not in seen
        seen.add(name)
        first, _, rest = doc.partition("\n")
        assert "=" in first or "by " in first or "solve" in first, name
        assert "Holds" in rest and "Source:" in rest, name
        labels_stated = rest.split("Source:")[0]
        assert relation.rounding in labels_stated, f"{name} is {relation.rounding}"
        assert relation.specials in labels_stated, f"{name}: {relation.specials}"
        other = "rounded" if relation.rounding == "exact" else "exact,"
        assert other not in labels_stated.replace("exact value", ""), name
