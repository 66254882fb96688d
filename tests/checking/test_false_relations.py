"""``rg.check`` on false relations that hold nearly everywhere, and on true ones that look alike."""

from __future__ import annotations

import pytest

import relgraph as rg
from tests.checking.false_relations import FALSE, TRUE

# True, but a tie that no float meets is asked for, or no matrix of the size is tried.
UNDECIDED = {"maximum_of_expo", "maximum_of_squareo", "determinant_of_two_by_twoo"}


def named(claim):
    return claim.name


@pytest.mark.parametrize("claim", FALSE, ids=named)
def test_the_counterexample_holds_in_numpy(claim):
    claim.verify()


@pytest.mark.parametrize("claim", FALSE, ids=named)
def test_a_false_relation_is_refuted_or_undecided(claim):
    report = rg.check(claim.relation())
    assert not report
    if claim.group != "silent":
        assert report.counterexample or report.unreached
    if report.counterexample is None and report.unreached:
        (branch, *_) = next(iter(report.unreached.values()))
        assert branch.name in str(report)


@pytest.mark.parametrize("claim", TRUE, ids=named)
def test_a_true_relation_is_not_refuted(claim):
    report = rg.check(claim.relation())
    assert report.counterexample is None, report
    assert bool(report) == (claim.name not in UNDECIDED), report
