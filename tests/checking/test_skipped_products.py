"""Products that hold for some ranks only, or for no factors that are all matrices."""

from __future__ import annotations

import relgraph as rg
from relgraph.checking import skipped_products


def identity(sides, name="statedo", **labels_given):
    return rg.identity(sides, name=name, specials="assumes_finite", **labels_given)


def test_a_condition_on_the_ranks_makes_it_true():
    vectors = lambda A, B: rg.checko(lambda a, b: a.ndim == b.ndim == 1, A, B)  # noqa: E731
    report = rg.check(identity(lambda A, B: (A @ B, B @ A), where=vectors))
    assert report, str(report)
    assert not report.left_out


def test_what_holds_of_matrices_is_no_fault_and_the_rest_is_told():
    report = rg.check(identity(lambda X, Y, Z: ((X @ Y) @ Z, X @ (Y @ Z)), name="associateo"))
    assert report, str(report)
    left_out = report.left_out["associateo"]
    assert (2, 1, 2) in {tuple(x.ndim for x in g.inputs[0].inputs + g.inputs[1:]) for g in left_out}
    assert "false, and left alone" in str(report)
    sides = lambda a, X, Y: ((a * X) @ Y, a * (X @ Y))  # noqa: E731
    scaled = rg.check(identity(sides, broadcast=["a"]))
    assert scaled, str(scaled)  # of a number a
    assert scaled.left_out


def test_no_product_of_the_catalogue_is_false_of_matrices():
    tried = 0
    for listed in (r.item for r in rg.catalogue() if "@" in str(r.item)):
        outcome = skipped_products.keeps_products(listed)
        assert outcome.failure is None, str(outcome.failure)
        tried += bool(outcome.left_out)
    assert tried > 5
