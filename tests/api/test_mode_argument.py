"""``mode=`` takes names, queries, relations, rewriters and lists; a setting is its default."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DomainError, UnknownTagError

A, B, C = rg.matrices("A B C", shape=("n", "n"))
GRAPH = A @ B + A @ C + 0
GATHERED = A @ (B + C)


@rg.identity(specials="assumes_finite")
def distribute_matmulo(X, Y, Z):
    """X (Y + Z) = X Y + X Z."""
    return X @ (Y + Z), X @ Y + X @ Z


gather = distribute_matmulo.reversed


def of_own_database():
    """Return what a query of a database of the user's returns."""
    database = rg.EquilibriumDB("mine")
    database.register(gather)
    return database.query("mine")


def multiplications(function):
    """Return how many products of matrices a compiled function computes."""
    return sum(node.op is rg.matmul for node in function.graph)


@pytest.mark.parametrize(
    ("mode", "count"),
    [
        (gather, 1),
        ([gather, "o1"], 1),
        (["o1", [gather]], 1),
        (of_own_database(), 1),
        ([of_own_database(), "o1"], 1),
        (rg.GraphRewriter([gather]), 1),
        ([], 2),
        (["o1"], 2),
        (rg.Query(["canonicalize"]), 1),
    ],
)
def test_every_function_with_a_mode_takes_it(mode, count):
    rng = np.random.default_rng(1)
    values = dict(zip("ABC", rng.normal(size=(3, 4, 4)), strict=True))
    expected = values["A"] @ values["B"] + values["A"] @ values["C"]
    compiled = rg.function([A, B, C], GRAPH, mode=mode)
    assert multiplications(compiled) == count
    np.testing.assert_allclose(compiled(**values), expected, rtol=1e-12)
    np.testing.assert_allclose(rg.evaluate(GRAPH, values, mode=mode), expected, rtol=1e-12)
    traced = rg.jit(lambda A, B, C: A @ B + A @ C + 0, mode=mode)
    np.testing.assert_allclose(traced(**values), expected, rtol=1e-12)


def test_a_list_is_applied_in_order():
    double = rg.PatternNodeRewriter((rg.exp, "x"), (rg.multiply, 2, "x"), name="double")
    square = rg.PatternNodeRewriter((rg.multiply, 2, "x"), (rg.square, "x"), name="square_it")
    x = rg.vector("x")
    once = rg.GraphRewriter([square])
    assert rg.function([x], rg.exp(x), mode=[double, once]).graph.outputs == (rg.square(x),)
    assert rg.function([x], rg.exp(x), mode=[once, double]).graph.outputs == (2 * x,)


def test_lowering_choices_come_from_the_modes_of_the_list():
    x = rg.vector("x")
    chain = rg.exp(rg.sin(x)) * 2 + 1
    kernels = {
        str(mode): len(rg.function([x], chain, mode=mode).source) for mode in (None, "o1", "o2")
    }
    assert kernels["None"] < kernels["o1"]  # fused, and not
    assert len(rg.function([x], chain, mode=[gather]).source) == kernels["None"]
    assert len(rg.function([x], chain, mode=[gather, "o1"]).source) == kernels["o1"]
    assert len(rg.function([x], chain, mode=of_own_database()).source) == kernels["None"]


@pytest.mark.parametrize("mode", [3, [3], object(), rg.add])
def test_what_is_no_rewrite_raises(mode):
    with pytest.raises(ArgumentError):
        rg.function([A], A, mode=mode)
    with pytest.raises(ArgumentError):
        rg.jit(lambda x: x, mode=mode)


def test_relations_go_with_tags_and_modes():
    graph = GRAPH * 1
    assert rg.rewrite_graph(graph, gather, mode="o4") is GATHERED
    assert rg.rewrite_graph(graph, gather, include=["canonicalize"]) is GATHERED
    both = rg.rewrite_graph(graph, gather, mode=["o1"], custom_rewrite=distribute_matmulo)
    assert both is rg.rewrite_graph(rg.rewrite_graph(graph, gather, mode="o1"), distribute_matmulo)
    with pytest.raises(ArgumentError, match="refine a mode or a query"):
        rg.rewrite_graph(graph, mode=[gather], exclude=["fusion"])


def test_the_default_mode_is_a_setting():
    assert rg.config.mode == "fast_run"
    assert multiplications(rg.function([A, B, C], GRAPH)) == 1
    traced = rg.jit(lambda x: x + 0)
    with rg.config(mode="o1"):
        assert multiplications(rg.function([A, B, C], GRAPH)) == 2
        assert multiplications(rg.function([A, B, C], GRAPH, mode="o4")) == 1
        assert traced(np.ones(2)).tolist() == [1, 1]
    for wrong in (None, "default"):
        with pytest.raises(DomainError, match="'mode'"):
            rg.config(mode=wrong)
    with rg.config(mode="o9"), pytest.raises(UnknownTagError, match="o9"):
        rg.function([A], A)


def test_excluded_names_are_a_setting():
    x = rg.vector("x", shape=("n",))
    graph = rg.log(rg.exp(x) + 0)
    assert rg.rewrite_graph(graph) is x
    with rg.config(exclude=["cancel_log_expo"]):
        assert rg.rewrite_graph(graph) is rg.log(rg.exp(x))
        assert rg.function([x], graph).graph.outputs == (rg.log(rg.exp(x)),)
    with (
        rg.config(exclude="cancel_log_exp"),
        pytest.raises(UnknownTagError, match="cancel_log_exp"),
    ):
        rg.function([x], graph)
    with pytest.raises(DomainError, match="'exclude'"):
        rg.config(exclude=3)
    with pytest.raises(DomainError, match="'exclude'"):
        rg.config(exclude=[3])


def test_the_environment_sets_the_defaults():
    code = "import relgraph as rg; print(rg.config.mode, rg.config.exclude)"
    settings = {"RELGRAPH_MODE": "o2", "RELGRAPH_EXCLUDE": "fusion, cancel_log_expo"}
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "o2 ('fusion', 'cancel_log_expo')\n"
