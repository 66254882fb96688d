"""What counts as a near miss, and that a matcher which errs on one is found out."""

from __future__ import annotations

import pytest

import relgraph as rg
from relgraph.ir.graph import free_inputs
from relgraph.ops.shape import ExpandDims, Squeeze
from tests.relations import agreement
from tests.relations.near_misses import mutants, near_misses

x, y, a, b = rg.lvars("x y a b")

MUTANTS = {
    "a number": (rg.exp(x) + 1, {"exp(x) + 4", "cbrt(x) + 1", "fresh + 1"}),
    "a repeated variable": (rg.exp(x) - x, {"exp(x) - fresh", "x - exp(x)"}),
    "a repeated parameter": (
        Squeeze(a)(ExpandDims(a)(x)),
        {"squeeze(expand_dims(x, axes=a), axes=fresh)"},
    ),
    "a parameter": (rg.trace(rg.diag(x)), {"trace(diag(x, k=1))"}),
    "the order": (rg.inv(x) @ y, {"y @ inv(x)"}),
    "an op": (rg.det(rg.inv(x)), {"det(cbrt(x))", "det(fresh)", "cbrt(inv(x))"}),
    "three operands": (rg.where(x, y, y), {"arctan2(arctan2(x, y), y)", "where(x, y, fresh)"}),
    "a test": (rg.isnan(-x), {"isinf(-x)", "isnan(cbrt(x))"}),
}


@pytest.mark.parametrize("kind", MUTANTS)
def test_a_pattern_is_changed_in_one_place(kind):
    side, expected = MUTANTS[kind]
    found = list(map(str, mutants(side)))
    assert expected <= set(found)
    assert len(set(found)) == len(found)


def test_another_name_makes_no_other_pattern():
    assert "y @ x" not in map(str, mutants(x @ y))
    assert "y - x" not in map(str, mutants(x - y))


def test_one_of_several_results_stays_one():
    side = rg.slogdet(rg.inv(x))[1]
    assert {str(m) for m in mutants(side)} == {
        "getitem(slogdet(inv(x)), index=0)", "getitem(slogdet(cbrt(x)), index=1)",
        "getitem(slogdet(fresh), index=1)",
    }  # fmt: skip


def test_each_condition_is_broken_with_the_others_kept():
    @rg.identity(where=lambda x, y: (rg.positiveo(x), rg.checko(lambda y: y.ndim == 1, y)))
    def log_producto(x, y):
        """log(x exp(y)) = log(x) + y."""
        return rg.log(x * rg.exp(y)), rg.log(x) + y

    clause = log_producto.clauses[0]
    broken = [ways[0] for ways in near_misses(clause, False) if ways[0].left is clause.left]
    assert [len(c.conditions) for c in broken] == [1, 2]
    first, second = (agreement.graph_of(log_producto, clause, [c]) for c in broken)
    assert {x.ndim for x in free_inputs([first])} >= {1}
    assert not any(x.facts for x in free_inputs([first]))
    assert any("positive" in x.facts for x in free_inputs([second]))


@rg.relation
def twoo(left, right):
    """2 exp(x) = exp(x) + exp(x), and wrong for 5, of which it is asked here whether it fires."""
    (x,) = rg.lvars("x")
    return rg.lany(
        *[rg.lall(rg.eq(left, n * rg.exp(x)), rg.eq(right, rg.exp(x) + rg.exp(x))) for n in (2, 5)]
    )


def test_a_matcher_that_fires_on_anything_is_found_out(monkeypatch):
    assert agreement.near_misses(twoo).failure is None
    monkeypatch.setattr(agreement, "match", lambda relation, graph: graph)
    assert agreement.near_misses(twoo).failure.problem.what.startswith("fires where")


def test_a_matcher_that_fires_on_nothing_is_found_out(monkeypatch):
    monkeypatch.setattr(agreement, "match", lambda relation, graph: None)
    assert agreement.near_misses(twoo).failure.problem.what.startswith("does not fire")
