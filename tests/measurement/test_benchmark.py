"""rg.benchmark: what it counts and compares, on graphs whose costs and values are known."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, RelgraphError

BUDGET = 0.3


@pytest.fixture
def patient(monkeypatch):
    """Return a budget that ends after a few rounds, however long it takes to compile."""
    monkeypatch.setattr("relgraph.measurement.benchmark.ROUNDS", 2)
    return 30.0


@rg.identity(specials="assumes_finite")
def distribute_matmulo(X, Y, Z):
    """X (Y + Z) = X Y + X Z."""
    return X @ (Y + Z), X @ Y + X @ Z


@rg.identity(rounding="rounded")
def wrong_double_addo(x):
    """x + x = 2.0001 x, which is false."""
    return x + x, 2.0001 * x


def test_rows_have_the_costs_of_both_graphs():
    A, B = rg.matrices("A B", shape=("n", "n"))
    x = rg.vector("x", shape=("n",))
    graph = A @ x + A @ (B @ x)
    result = rg.benchmark(graph, distribute_matmulo.reversed, sizes={"n": 20}, budget=BUDGET)
    rewritten = rg.rewrite_graph(graph, distribute_matmulo.reversed)
    for name, form in (("as written", graph), ("rewritten", rewritten)):
        cost = rg.cost(form, sizes={"n": 20})
        row = result[name]
        assert (row.flops, row.bytes) == (cost.flops, cost.bytes)
        assert (row.kernels, row.library_calls) == (cost.kernels, cost.library_calls)
    assert result.changed
    assert result["rewritten"].within
    assert 0 < result["rewritten"].ulps <= result["rewritten"].bound
    assert result.points[0].sizes == {"n": 20}


def test_a_graph_that_nothing_changes_says_so():
    x = rg.vector("x", shape=("n",))
    result = rg.benchmark(rg.exp(x) + 1, sizes={"n": 10}, budget=BUDGET)
    assert not result.changed
    assert [x.name for x in result.rows] == ["as written"]
    assert result.ratio == 1.0
    assert "Rewriting gains nothing here: it leaves the graph as written." in str(result)


def test_a_wrong_relation_differs_by_more_than_rounding():
    x = rg.vector("x", shape=("n",))
    result = rg.benchmark(x + x, wrong_double_addo, sizes={"n": 10}, budget=BUDGET)
    assert not result["rewritten"].within
    assert "rewritten: a result differs by more than rounding explains." in str(result)


def test_steps_are_rows_of_their_own():
    x, y = rg.vectors("x y", shape=("n",))
    graph = rg.log(rg.exp(x)) * rg.log(rg.exp(y))
    result = rg.benchmark(graph, mode="fast_run", sizes={"n": 10}, steps=True, budget=BUDGET)
    names = [x.name for x in result.rows]
    assert names[:2] == ["as written", "rewritten"]
    assert len(names) > 2 and all(x.startswith("step ") for x in names[2:])
    flops = [result[x].flops for x in (names[0], *names[2:], names[1])]
    assert flops == sorted(flops, reverse=True)


def test_sizes_give_a_point_each():
    x = rg.vector("x", shape=("n",))
    result = rg.benchmark(rg.log(1 + rg.exp(x)), sizes={"n": [3, 30]}, budget=BUDGET)
    assert [p.sizes for p in result.points] == [{"n": 3}, {"n": 30}]
    assert [p["as written"].flops for p in result.points] == [63, 630]
    assert result.varied == "n"


def test_arrays_by_position_by_name_and_for_a_function_of_numpy():
    x, y = rg.vector("x", shape=("n",)), rg.scalar("y")
    a = np.linspace(-1, 1, 7)
    for arrays in ([a, 2.0], {"y": 2.0, "x": a}):
        result = rg.benchmark(rg.log(1 + rg.exp(x)) * y, arrays=arrays, budget=BUDGET)
        assert result.points[0].sizes == {"n": 7}
    result = rg.benchmark(lambda x: np.log(1 + np.exp(x)), arrays=[a], budget=BUDGET)
    assert result.changed and result["rewritten"].within
    f = rg.function([x, y], rg.exp(x) * y)
    assert not rg.benchmark(f, arrays=[a, 2.0], budget=BUDGET).changed


def test_drawn_arrays_have_the_facts_of_inputs():
    A = rg.matrix("A", shape=("n", "n"), facts=("spd",))
    x = rg.vector("x", shape=("n",), facts=("positive",))
    result = rg.benchmark(rg.solve(A, rg.log(x)), sizes={"n": 6}, budget=BUDGET)
    assert result["as written"].rounds >= 1


def test_numpy_runs_the_source_of_the_graph(patient):
    A = rg.matrix("A", shape=("n", "n"))
    result = rg.benchmark(rg.exp(A) @ A, sizes={"n": 8}, peers="numpy", budget=patient)
    row = result["numpy"]
    assert row.within and row.flops is None and row.first_call > 0


def test_peers_run_loops(patient):
    steps = rg.scan(lambda c, x: (0.5 * c + x, c), 0.0, rg.vector("x", ("n",)))[1]
    result = rg.benchmark(steps, sizes={"n": 8}, peers="numpy", budget=patient)
    assert result["numpy"].within and result["numpy"].first_call > 0


def test_peers_that_cannot_run_are_left_out_with_the_reason(monkeypatch, patient):
    x = rg.vector("x", shape=("n",))
    monkeypatch.setitem(sys.modules, "torch", None)
    result = rg.benchmark(
        rg.polygamma(2, x), sizes={"n": 5}, peers=["numpy", "torch"], budget=patient
    )
    assert set(result.left_out) == {"numpy", "torch"}
    assert "polygamma" in result.left_out["numpy"]
    assert "numpy is left out: 1 op of the graph cannot be written" in str(result)


def test_a_budget_that_compiling_uses_up_leaves_one_round():
    x = rg.vector("x", shape=("n",))
    result = rg.benchmark(rg.log(1 + rg.exp(x)), sizes={"n": 5}, budget=1e-9)
    assert {row.rounds for row in result.rows} == {1}
    assert "give more than budget=1e-09" in result.verdict


x = rg.vector("x", shape=("n",))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rg.benchmark(x + 1, budget=BUDGET), "Pass sizes={'n': 1000}"),
        (lambda: rg.benchmark(x + 1, sizes={"m": 3}), "no input has a size 'm'"),
        (lambda: rg.benchmark(x + 1, sizes={"n": 0}), "a positive integer, not 0"),
        (lambda: rg.benchmark(x + 1, sizes={"n": []}), "the list of sizes n is empty"),
        (lambda: rg.benchmark(x + 1, sizes=3), 'Write sizes={"n": 1000}'),
        (
            lambda: rg.benchmark(x + 1, sizes={"n": 3}, peers="theano"),
            "there is no peer called 'theano'",
        ),
        (lambda: rg.benchmark(x + 1, sizes={"n": 3}, peers=3), "there is no peer that is an int"),
        (
            lambda: rg.benchmark(x + 1, sizes={"n": 3}, budget=0),
            "a positive number of seconds, not 0",
        ),
        (lambda: rg.benchmark(x + 1, arrays=[1, 2]), "2 positional arguments for 1 input"),
        (lambda: rg.benchmark(x + 1, arrays={"y": 1}), "no input is called 'y'"),
        (lambda: rg.benchmark(x + 1, arrays=[]), "no value for the input 'x'"),
        (lambda: rg.benchmark(np.exp), "needs arguments"),
        (lambda: rg.benchmark(3), "this is an int, not a graph"),
        (lambda: rg.benchmark(rg.vector("u") + 1), "Pass arrays="),
    ],
)
def test_wrong_arguments_raise(call, words):
    with pytest.raises(ArgumentError) as error:
        call()
    assert words in str(error.value)


@pytest.mark.parametrize("array", [np.ones(3) * 1j, np.array(["a"])])
def test_arrays_are_converted_as_in_a_call(array):
    with pytest.raises(RelgraphError) as error:
        rg.benchmark(x + 1, arrays=[array], budget=BUDGET)
    with pytest.raises(type(error.value)) as called:
        rg.function([x], x + 1)(array)
    assert str(error.value) == str(called.value)
