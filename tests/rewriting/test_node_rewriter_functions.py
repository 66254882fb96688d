"""Node rewriters made of functions, what happens when one raises, and kanren's filters."""

from __future__ import annotations

import pytest
from etuples import etuple
from kanren import conde, eq, lall
from unification import var

import relgraph as rg
from relgraph.errors import ArgumentError

x, y = rg.vectors("x y", shape=("n",))


@rg.node_rewriter([rg.exp])
def exp_of_log(graph, node):
    """Replaces exp(log(x)) by x."""
    (operand,) = node.inputs
    return operand.inputs[0] if operand.op is rg.log else None


@rg.node_rewriter([rg.add])
def failing(graph, node):
    """Raises at every sum."""
    raise ZeroDivisionError("one")


class FailingGlobal(rg.GraphRewriter):
    """Raises."""

    def apply(self, graph):
        raise ZeroDivisionError("two")


@rg.node_rewriter([rg.add], contextual=True)
def failing_in_context(graph, node):
    """Raises where it reads the graph."""
    return graph.clients[node][99]


def test_a_function_is_a_node_rewriter():
    assert isinstance(exp_of_log, rg.NodeRewriter)
    assert exp_of_log.name == "exp_of_log"
    assert rg.rewrite_graph(rg.exp(rg.log(x)) + y, exp_of_log) is x + y
    assert rg.WalkingGraphRewriter(exp_of_log).rewrite(rg.exp(rg.log(x))) is x


def test_a_function_may_read_the_graph():
    @rg.node_rewriter([rg.exp], contextual=True)
    def drop_last(graph, node):
        return node.inputs[0] if graph.clients[node] == (("output", 0),) else None

    assert rg.rewrite_graph(rg.exp(rg.sin(x)), drop_last) is rg.sin(x)


@pytest.mark.parametrize("wrong", [3, "add", [3], exp_of_log.function])
def test_only_ops_are_tracked(wrong):
    with pytest.raises(ArgumentError):
        rg.node_rewriter(wrong)(lambda graph, node: None)


def test_only_functions_are_decorated():
    with pytest.raises(ArgumentError, match="decorates a function"):
        rg.node_rewriter([rg.add])(rg.Op)


@pytest.mark.parametrize(
    ("rewriter", "kind", "named"),
    [
        (failing, ZeroDivisionError, ["failing", "x + y"]),
        (failing_in_context, IndexError, ["failing_in_context", "x + y"]),
        (FailingGlobal(), ZeroDivisionError, ["FailingGlobal"]),
    ],
)
def test_an_exception_names_the_rewriter_and_the_node(rewriter, kind, named):
    with pytest.raises(kind) as caught:
        rg.rewrite_graph(rg.exp(x + y), rewriter)
    (note,) = caught.value.__notes__
    assert all(text in note for text in named)


@pytest.mark.parametrize("rewriter", [failing, failing_in_context])
@pytest.mark.parametrize(
    "make",
    [
        lambda r, f: rg.GraphRewriter([r, exp_of_log], failure_callback=f),
        lambda r, f: rg.WalkingGraphRewriter(r, exp_of_log, failure_callback=f),
        lambda r, f: rg.EquilibriumGraphRewriter([r, exp_of_log], failure_callback=f),
    ],
)
def test_a_failure_callback_takes_over(rewriter, make):
    calls = []
    whole = make(rewriter, lambda *arguments: calls.append(arguments))
    assert whole.rewrite(rg.exp(rg.log(x)) + y) is x + y
    assert calls
    for error, failed, node in calls:
        assert isinstance(error, ZeroDivisionError | IndexError)
        assert failed is rewriter
        assert node.op is rg.add
    with pytest.raises(ArgumentError, match="failure_callback"):
        make(rewriter, 3)


def test_a_failure_callback_may_raise():
    def strict(error, rewriter, node):
        raise RuntimeError(rewriter.name) from error

    with pytest.raises(RuntimeError, match="failing"):
        rg.GraphRewriter([failing], failure_callback=strict).rewrite(x + y)


def double_or_squareo(left, right):
    """x + x is 2 x, and x + 0 x, in this order."""
    z = var()
    return lall(
        eq(left, etuple(rg.add, z, z)),
        conde([eq(right, etuple(rg.multiply, 2, z))], [eq(right, etuple(rg.subtract, z, 0))]),
    )


def test_a_results_filter_picks_among_the_answers_of_kanren():
    assert rg.rewrite_graph(x + x, rg.KanrenRelationSub(double_or_squareo)) is 2 * x
    seen = []

    def second(results):
        seen.extend(results)
        return seen[1]

    rewriter = rg.KanrenRelationSub(double_or_squareo, second)
    assert rg.WalkingGraphRewriter(rewriter).rewrite(x + x) is x - 0
    assert seen == [2 * x, x - 0]
    none = rg.KanrenRelationSub(double_or_squareo, results_filter=lambda results: None)
    assert rg.rewrite_graph(x + x, none) is x + x


def test_a_node_filter_leaves_nodes_out():
    rewriter = rg.KanrenRelationSub(
        double_or_squareo, node_filter=lambda node: node.inputs[:1] == (x,)
    )
    assert rg.rewrite_graph([x + x, y + y], rewriter) == [x + x, 2 * y]
    with pytest.raises(ArgumentError, match="node_filter is a function"):
        rg.KanrenRelationSub(double_or_squareo, node_filter=3)
