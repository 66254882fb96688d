"""Walks over graphs, substitution, and graphs with named inputs and outputs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DTypeError, ImmutableGraphError, ShapeError
from relgraph.ir.graph import flatten, free_inputs, map_nodes, substitute, toposort, unflatten

x, y, z = rg.vectors("x y z", shape=("n",))
shared = rg.exp(x)
graph = shared * y + shared


def chain(length):
    node = x
    for _ in range(length):
        node = rg.sin(node)
    return node


def test_operands_come_before_their_clients():
    order = toposort([graph, shared])
    assert set(order) == {x, y, shared, shared * y, graph}
    assert len(order) == 5
    place = {node: i for i, node in enumerate(order)}
    assert all(place[i] < place[node] for node in order for i in node.inputs)
    assert toposort([graph, shared]) == order


def test_inputs_come_in_order_of_first_occurrence():
    assert free_inputs([y + x, z]) == [y, x, z]
    assert free_inputs(rg.constant(1.0) + 1) == []


def test_walks_do_not_recurse():
    deep = chain(20_000)
    assert len(toposort(deep)) == 20_001
    (moved,) = substitute(deep, {x: y})
    assert free_inputs(moved) == [y]
    assert unflatten(flatten([deep]))[0] is deep


def test_substitution_is_everywhere_at_once():
    (swapped,) = substitute(graph, {x: y, y: x})
    assert swapped is rg.exp(y) * x + rg.exp(y)
    assert substitute(swapped, {x: y, y: x}) == (graph,)
    assert substitute([graph, z], {shared: z}) == (z * y + z, z)
    assert substitute(graph, {}) == (graph,)
    assert substitute(graph, {z: x}) == (graph,)


def test_a_substituted_node_is_not_looked_into():
    assert substitute(graph, {shared: x, x: z}) == (x * y + x,)


def test_mapping_nodes():
    def negated(node, inputs):
        return rg.negative(node) if node is x else (node.op(*inputs) if inputs else node)

    assert map_nodes(graph, negated) == (rg.exp(-x) * y + rg.exp(-x),)


@pytest.mark.parametrize("bad", [3, [x, 3], ["x"], [None]])
def test_outputs_that_are_no_graphs(bad):
    with pytest.raises((ArgumentError, TypeError)):
        toposort(bad)


def test_clients():
    g = rg.FunctionGraph([x, y], [graph, shared])
    assert g.clients[graph] == (("output", 0),)
    assert set(g.clients[shared]) == {(shared * y, 0), (graph, 1), ("output", 1)}
    assert g.clients[y] == ((shared * y, 1),)
    twice = rg.FunctionGraph([x], x * x)
    assert twice.clients[x] == ((x * x, 0), (x * x, 1))


def test_a_function_graph_is_a_value():
    g = rg.FunctionGraph([x, y], [graph])
    assert g == rg.FunctionGraph([x, y], [graph])
    assert hash(g) == hash(rg.FunctionGraph([x, y], [graph]))
    assert g != rg.FunctionGraph([y, x], [graph])
    assert g != graph
    assert len(g) == 5
    assert list(g) == g.toposort() == toposort(graph)
    assert repr(g) == "FunctionGraph(exp(x) * y + exp(x))"
    again = pickle.loads(pickle.dumps(g))
    assert again == g
    assert again.outputs[0] is graph
    with pytest.raises(ImmutableGraphError):
        g.inputs = ()
    g.toposort().clear()
    assert len(g) == 5


def test_inputs_are_found_when_they_are_not_given():
    assert rg.FunctionGraph(None, y + x).inputs == (y, x)
    assert rg.FunctionGraph([x, y, z], x).inputs == (x, y, z)


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ([x], "not given: y"),
        ([x, y, x], "given twice"),
        ([x, y, rg.vector("x")], "two different inputs"),
        ([x, shared], "not an input"),
        ([x, 3], "not an input"),
    ],
)
def test_bad_inputs(inputs, text):
    with pytest.raises(ArgumentError, match=text):
        rg.FunctionGraph(inputs, graph)


def test_replacing_returns_a_new_graph():
    g = rg.FunctionGraph([x, y], [graph, shared])
    replaced = g.replace(shared, rg.cos(x))
    assert replaced.outputs == (rg.cos(x) * y + rg.cos(x), rg.cos(x))
    assert g.outputs == (graph, shared)
    assert replaced.inputs == (x, y)
    assert g.replace(shared, z).inputs == (x, y, z)


def test_a_replacement_has_the_type_of_what_it_replaces():
    g = rg.FunctionGraph([x, y], graph)
    for bad, error in (
        (rg.sum(x), ShapeError),
        (rg.vector("w", shape=("m",)), ShapeError),
        (rg.exp(x).astype("float32"), DTypeError),
        (rg.sum(x).astype("int8"), DTypeError),
    ):
        with pytest.raises(error, match=r"a replacement must have the (shape|dtype) of the node"):
            g.replace(shared, bad)
    assert repr(g.replace(shared, rg.sum(x), check=False)) == "FunctionGraph(sum(x) * y + sum(x))"
    with pytest.raises(ArgumentError, match="not in the graph"):
        g.replace(rg.cos(x), shared)


def test_a_replaced_graph_computes():
    g = rg.FunctionGraph([x, y], graph).replace(shared, x)
    a, b = np.arange(3.0), np.ones(3) * 2
    np.testing.assert_array_equal(rg.evaluate(g.outputs[0], {x: a, y: b}), a * b + a)


def test_replace_all_replaces_at_once():
    x, y = rg.vectors("x y", shape=("n",))
    graph = rg.FunctionGraph([x, y], [rg.exp(x) - y])
    swapped = graph.replace_all([(x, y), (y, x)])
    assert swapped.outputs == (rg.exp(y) - x,)
    assert swapped.inputs == graph.inputs
    assert graph.replace_all({}) == graph
    assert graph.replace_all([(x, x), (x, x)]) == graph


def test_replace_all_takes_back_nothing_where_one_pair_is_wrong():
    x, y, z = rg.vectors("x y z", shape=("n",))
    i = rg.vector("i", dtype="int64", shape=("n",))
    graph = rg.FunctionGraph([x, y], [rg.exp(x) - y])
    with pytest.raises(ArgumentError, match="two replacements"):
        graph.replace_all([(x, y), (x, z)])
    with pytest.raises(ArgumentError, match="not in the graph"):
        graph.replace_all({x: y, z: x})
    with pytest.raises(DTypeError):
        graph.replace_all({x: i})
    assert graph.replace_all({x: i}, check=False).outputs == (rg.exp(i) - y,)


FORMS = {
    "a list": lambda: [x + 1, x],
    "a dict": lambda: {"up": x + 1, "down": x},
    "a FunctionGraph": lambda: rg.FunctionGraph([x], [x + 1, x]),
    "a function": lambda: rg.function([x], [x + 1, x], mode=None, target="numpy"),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_reads_a_graph_takes_it_in_every_form(form):
    graph = FORMS[form]()
    assert rg.pprint(graph) == "x + 1\nx"
    assert rg.dprint(graph).count("x float64") == 2
    assert rg.latex(graph) == rg.latex([x + 1, x])
    assert repr(rg.draw(graph)) == "<drawing of 2 nodes>"
    assert rg.cost(graph).flops == rg.cost([x + 1, x]).flops
    assert "x + 1" in rg.source(graph)
    assert not rg.why_not(graph, "log1p_addo").fired


@pytest.mark.parametrize("read", [rg.pprint, rg.latex, rg.draw, rg.cost, rg.source])
def test_a_traced_function_has_a_graph_for_each_signature(read):
    with pytest.raises(ArgumentError, match="has a graph for each signature") as caught:
        read(rg.jit(lambda v: v + 1))
    assert "f.graph(*arguments)" in caught.value.fix
