"""Derivations name the passes over whole graphs that took part, and what is not replayed."""

import pickle

import numpy as np
import pytest

import relgraph as rg
from relgraph.rewriting.derivation.passes import Pass
from tests.ops.evaluation import evaluate
from tests.samples import double_addo

A, B = rg.matrices("A B", shape=("n", "n"))
S = rg.matrix("S", shape=("n", "n"), facts=("spd",))
x, y = rg.vectors("x y", shape=("n",))


class ExchangeTerms(rg.GraphRewriter):
    """a + b becomes b + a, at the root."""

    def apply(self, graph):
        (out,) = graph.outputs
        return graph.replace(out, out.inputs[1] + out.inputs[0])


class DoubleFirst(rg.GraphRewriter):
    """Runs a relation of its own, and nothing else."""

    def apply(self, graph):
        return rg.GraphRewriter([double_addo]).apply(graph)


def passes(derivation):
    return [p for p in derivation.phases if isinstance(p, Pass)]


def test_a_pass_of_a_mode_is_printed_with_what_it_saves():
    derivation = rg.explain(A @ B @ x, mode="o4")
    (found,) = passes(derivation)
    assert (found.name, found.before, found.after) == (
        "matmul_chain", (A @ B @ x,), (A @ (B @ x),)
    )  # fmt: skip
    assert str(derivation) == "\n".join(
        [
            "    A @ B @ x",
            "   matmul_chain, a pass: 33685504 -> 262144 flops at n = 256",
            "    A @ B @ x",
            "  = A @ (B @ x)",
            "result, 0 steps, 33685504 -> 262144 flops at n = 256",
            "    A @ (B @ x)",
        ]
    )
    derivation.check()
    assert derivation.unreplayed == ("matmul_chain",)


@pytest.mark.parametrize(
    ("outputs", "name"),
    [
        ([rg.solve(A, x), rg.solve(A, y)], "reuse_factorisation"),
        ([A @ B @ x, y], "matmul_chain"),
    ],
)
def test_phases_and_passes_lead_from_the_graph_to_the_result(outputs, name):
    derivation = rg.explain(outputs, mode="o4")
    assert name in derivation.unreplayed
    reached = derivation.before
    for phase in derivation.phases:
        assert phase.before == reached
        reached = phase.after
    assert reached == derivation.after
    rng = np.random.default_rng(0)
    values = {v.name: rng.normal(size=(3,) * v.ndim) for v in (A, B, x, y)}
    for old, new in zip(derivation.before, derivation.after, strict=True):
        np.testing.assert_allclose(evaluate(new, values), evaluate(old, values), rtol=1e-9)


def test_a_pass_of_a_user_is_named_by_its_class():
    derivation = rg.explain(x + y, ExchangeTerms())
    assert [p.name for p in passes(derivation)] == ["ExchangeTerms"]
    assert "= y + x" in str(derivation)


def test_a_pass_that_runs_relations_is_recorded_as_their_steps():
    derivation = rg.explain(x + x, DoubleFirst())
    assert not passes(derivation)
    assert [step.relations for step in derivation] == [("double_addo",)]
    assert derivation.unreplayed == ()


def test_rewriters_of_single_nodes_are_not_replayed_either():
    derivation = rg.explain(x + 1 + 2, mode="o4")
    assert derivation.unreplayed == ("constant_collecting",)
    assert rg.explain(x + x, double_addo).unreplayed == ()


def test_passes_pickle_and_are_written_to_pages(tmp_path):
    derivation = rg.explain(A @ B @ x + A @ B @ x, mode="o4")
    copy = pickle.loads(pickle.dumps(derivation))
    assert str(copy) == str(derivation)
    assert copy.unreplayed == derivation.unreplayed
    path = tmp_path / "derivation.html"
    derivation.to_html(str(path))
    assert "matmul_chain" in path.read_text(encoding="utf-8")
