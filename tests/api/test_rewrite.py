"""rewrite_graph: what its arguments select, what it returns, and what it refuses."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, OscillationError, UnknownTagError
from tests.samples import double_addo

x, y = rg.vectors("x y", shape=("n",))
A, B, C = rg.matrices("A B C", shape=("n", "n"))
TWICE = rg.negative(rg.negative(x))


@rg.identity(tags=["canonicalize"])
def distribute_matmulo(X, Y, Z):
    """X (Y + Z) = X Y + X Z."""
    return X @ (Y + Z), X @ Y + X @ Z


@rg.identity(specials="assumes_finite")
def subtract_selfo(x):
    """x - x = 0."""
    return x - x, 0


def test_relations_in_either_direction():
    assert rg.rewrite_graph(A @ (B + C), distribute_matmulo) is A @ B + A @ C
    assert rg.rewrite_graph(A @ B + A @ C, distribute_matmulo.reversed) is A @ (B + C)
    assert rg.rewrite_graph(A @ B + A @ B, [distribute_matmulo, [double_addo]]) is 2 * (A @ B)


def test_no_relations_leave_a_graph_as_it_is():
    graph = A @ (B + C)
    assert rg.rewrite_graph(graph, []) is graph
    assert rg.rewrite_graph([graph], []) == [graph]


def test_the_result_has_the_container_of_the_argument():
    assert rg.rewrite_graph([x + x, y], double_addo) == [2 * x, y]
    assert rg.rewrite_graph((x + x,), double_addo) == (2 * x,)
    assert rg.rewrite_graph({"sum": x + x}, double_addo) == {"sum": 2 * x}
    graph = rg.FunctionGraph([x], [x + x])
    assert rg.rewrite_graph(graph, double_addo) == rg.FunctionGraph([x], [2 * x])


def test_inputs_stay_although_they_are_not_needed():
    found = rg.rewrite_graph(rg.FunctionGraph([y, x], [x - x + y]), subtract_selfo)
    assert found.inputs == (y, x)


def test_the_default_is_to_canonicalize():
    assert rg.rewrite_graph(rg.exp(TWICE)) is rg.exp(x)
    assert rg.rewrite_graph(rg.exp(TWICE), exclude=["neg_neg"]) is rg.exp(TWICE)
    assert rg.rewrite_graph(rg.exp(TWICE), include=[]) is rg.exp(TWICE)
    assert rg.rewrite_graph(rg.exp(TWICE), include="neg_neg") is rg.exp(x)


def test_modes_are_queries():
    folded = rg.constant(1.0) + 2 + rg.exp(TWICE)
    assert rg.rewrite_graph(folded, mode="o1") is rg.constant(3.0) + rg.exp(TWICE)
    assert rg.rewrite_graph(rg.exp(TWICE), mode="o4") is rg.exp(x)
    assert rg.rewrite_graph(rg.exp(TWICE), mode=rg.mode("o4")) is rg.exp(x)
    refined = rg.mode("o4").excluding("neg_neg")
    assert rg.rewrite_graph(rg.exp(TWICE), mode=refined) is rg.exp(TWICE)
    assert rg.rewrite_graph(rg.exp(TWICE), mode="o4", exclude="neg_neg") is rg.exp(TWICE)
    assert rg.rewrite_graph(rg.exp(TWICE), mode="o1", include=["neg_neg"]) is rg.exp(x)


def test_a_custom_rewrite_follows_the_query():
    class Log(rg.GraphRewriter):
        def apply(self, graph):
            (node,) = graph.outputs
            return rg.FunctionGraph(graph.inputs, [rg.log(node)])

    assert rg.rewrite_graph(TWICE, include=["canonicalize"], custom_rewrite=Log()) is rg.log(x)
    assert rg.rewrite_graph(TWICE, custom_rewrite=Log()) is rg.log(TWICE)
    assert rg.rewrite_graph(TWICE, include=[], custom_rewrite=Log(), clone=False) is rg.log(TWICE)
    assert rg.rewrite_graph(x + x, custom_rewrite=[double_addo, Log()]) is rg.log(2 * x)


def test_nonfinite():
    graph = x - x + y
    assert rg.rewrite_graph(graph, subtract_selfo).op is rg.add
    with pytest.warns(RuntimeWarning, match=r"leaves out subtract_selfo.*declare specials="):
        assert rg.rewrite_graph(graph, subtract_selfo, nonfinite="keep") is graph
    assert rg.rewrite_graph(x - x, mode="o4", nonfinite="keep") is x - x
    value = np.array([np.inf, 1.0])
    found = rg.evaluate(rg.rewrite_graph(x - x, mode="o4", nonfinite="keep"), {"x": value})
    np.testing.assert_array_equal(found, [np.nan, 0.0])


def test_strategies():
    halve = rg.PatternNodeRewriter((rg.exp, (rg.exp, "x")), (rg.exp, "x"), name="halve")
    swap = rg.SubstitutionNodeRewriter(rg.exp, rg.log)
    graph = rg.exp(rg.exp(rg.exp(x)))
    assert rg.rewrite_graph(graph, halve) is rg.exp(x)
    assert rg.rewrite_graph(graph, swap, strategy="once") is rg.log(rg.log(rg.log(x)))
    both = [rg.SubstitutionNodeRewriter(rg.log, rg.exp), swap]
    assert rg.rewrite_graph(rg.exp(x) + rg.log(y), *both, strategy="once") is rg.log(x) + rg.exp(y)


def test_once_sees_sums_as_they_are_flattened():
    graph = rg.exp(x) + (y + rg.exp(x))
    found = rg.rewrite_graph(graph, double_addo, strategy="once")
    assert set(found.inputs) == {y, 2 * rg.exp(x)}


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: rg.rewrite_graph(x, mode="o4", strategy="once"), ArgumentError,
         "strategy='once' applies to relations that you pass"),
        (lambda: rg.rewrite_graph(x, double_addo, strategy="twice"), ArgumentError,
         "there is no strategy 'twice'"),
        (lambda: rg.rewrite_graph(x, double_addo, nonfinite="no"), ArgumentError,
         "nonfinite is 'assume' or 'keep'"),
        (lambda: rg.rewrite_graph(x, mode="o4", nonfinite="no"), ArgumentError, "nonfinite is"),
        (lambda: rg.rewrite_graph(x, mode="o6"), UnknownTagError, "there is no mode 'o6'"),
        (lambda: rg.rewrite_graph(x, include=["o4"]), UnknownTagError, "'o4' is a mode"),
        (lambda: rg.rewrite_graph(x, include=["canonicalise"]), UnknownTagError,
         "Did you mean 'canonicalize'"),
        (lambda: rg.rewrite_graph(x, exclude=["fuson"]), UnknownTagError, "Did you mean 'fusion'"),
        (lambda: rg.rewrite_graph(x, 3), ArgumentError, "3 is no relation and no rewriter"),
        (lambda: rg.rewrite_graph(x, "canonicalize"), ArgumentError, r"include=\['canonicalize'\]"),
        (lambda: rg.rewrite_graph(np.ones(3), double_addo), ArgumentError, "not a graph"),
        (lambda: rg.rewrite_graph(x, distribute_matmulo, distribute_matmulo.reversed),
         OscillationError, "both directions of distribute_matmulo"),
    ],
)  # fmt: skip
def test_invalid_arguments_raise(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_clearing_caches_changes_no_result():
    before = rg.rewrite_graph(A @ (B + C), distribute_matmulo)
    queried = rg.optdb.query(rg.mode("o4"))
    rg.clear_caches()
    assert rg.rewrite_graph(A @ (B + C), distribute_matmulo) is before
    assert rg.optdb.query(rg.mode("o4")) is not queried


def test_results_compute_the_same_in_every_mode():
    rng = np.random.default_rng(2)
    values = {"A": rng.normal(size=(3, 3)), "x": rng.normal(size=3), "y": rng.uniform(1, 2, size=3)}
    graph = rg.log(rg.exp(A @ x + 0) * 1) - -(y * y) / y + (x - x)
    expected = values["A"] @ values["x"] + values["y"]
    for name in ("o1", "o2", "o3", "o4", "stabilization", "unsafe"):
        found = rg.evaluate(rg.rewrite_graph(graph, mode=name), values)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_public_names_are_there_and_importing_them_is_light():
    assert len(set(rg.__all__)) == len(rg.__all__)
    for name in rg.__all__:
        assert getattr(rg, name) is not None
    assert set(dir(rg)) == set(rg.__all__)
    with pytest.raises(AttributeError, match="relgraph has no nothing"):
        rg.nothing
    code = (
        "import sys, relgraph\n"
        "heavy = {'numba', 'llvmlite', 'scipy', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "from relgraph import exp, sum\n"
        "x = relgraph.vector('x')\n"
        "assert relgraph.rewrite_graph(exp(x), []) is exp(x)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_programs_that_hold_large_graphs_end_quietly():
    code = (
        "import relgraph as rg\n"
        "x = deep = rg.vector('x')\n"
        "for i in range(3000): deep = rg.exp(deep * 2.0 + x) / 3.0\n"
        "kept = rg.rewrite_graph(deep, mode='o4')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
