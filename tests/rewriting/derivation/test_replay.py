"""Replaying derivations: graphs of several results, conditions that are truth values, long sums."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import VerifyError
from relgraph.rewriting.derivation import replay
from relgraph.rewriting.derivation.derivation import run_recorded
from relgraph.rewriting.selection import Selection
from tests.ops.evaluation import evaluate

A, B = rg.matrices("A B", shape=(3, 3))
x, y = rg.vectors("x y", shape=(3,))


@pytest.mark.parametrize(
    ("graph", "steps"),
    [
        (rg.log(rg.det(A)), 1),
        (rg.slogdet(A)[1] + rg.slogdet(A @ B)[1], 2),
        (rg.svd(A)[1] + rg.svd(A)[1], 1),
        (rg.qr(A)[1] @ x + rg.qr(A)[1] @ x, 1),
        (rg.lu(A)[2] + rg.lu(A)[2], 1),
    ],
    ids=str,
)
def test_ops_of_several_results_are_replayed(graph, steps):
    derivation = rg.explain(graph, mode="o4")
    assert len(derivation) == steps
    derivation.check()
    rng = np.random.default_rng(3)
    values = {v.name: rng.normal(size=v.type.shape) for v in (A, B, x, y)}
    np.testing.assert_allclose(
        evaluate(derivation.after[0], values), evaluate(graph, values), rtol=1e-10
    )


@pytest.mark.parametrize(("condition", "expected"), [(x > x, y), (rg.equal(x > x, x > x), x)])
def test_a_condition_that_is_one_truth_value_is_replayed(condition, expected):
    derivation = rg.explain(rg.where(condition, x, y), mode="o4")
    assert any("choose_constanto" in step.relations for step in derivation)
    assert derivation.after == (expected,)
    derivation.check()


@rg.identity(where=lambda a, b, c: rg.calco(c, lambda a, b: a + b, a, b))
def collect_multiplyo(a, b, c, x):
    return a * x + b * x, c * x


def test_an_instance_that_many_terms_share_is_asked_once(monkeypatch):
    asked = []

    def counted(relation, node, ask=replay.answers):
        asked.append(node)
        return ask(relation, node)

    monkeypatch.setattr(replay, "answers", counted)
    graph = x * 2.0
    for i in range(60):
        graph = graph + (i % 3 + 2) * x
    phase = run_recorded([graph], Selection([collect_multiplyo]))
    phase.check()
    assert 0 < len(asked) < 10
    np.testing.assert_allclose(evaluate(phase.after[0], {"x": np.ones(3)}), 182.0)


def test_without_steps_nothing_but_the_graph_itself_is_reached():
    phase = run_recorded([x + y], Selection([collect_multiplyo]))
    assert not phase.steps
    phase.check()
    with pytest.raises(VerifyError, match="do not lead"):
        type(phase)(phase.before, (x * y,), (), phase.selection).check()
