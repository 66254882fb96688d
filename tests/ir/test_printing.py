"""Printing: what is printed reads as the Python that builds it."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError

x, y = rg.vectors("x y", shape=("n",))
A, B = rg.matrices("A B", shape=("n", "n"))

SPELLINGS = """
x + y + x
x + (y + x)
x - (y - x)
x - y - x
x - (y + x)
x / (y * x)
x / y / x
x * (y + 1)
x * y + 1
-(x + y)
-x + y
-(x * y)
(-x) ** 2
x ** y ** x
(x ** y) ** x
x ** (-y)
(x * y) ** 2
2 - x
x * -2
x + -1
x + 0.5
A @ (A + B)
A @ B @ A
A @ (B @ A)
A @ B + A
(x + y) * (x - y)
x % (y * x)
x // y
x > y
(x > y) & (y > x)
~(x > y)
(x > y) | ~(y > x)
(x > y) ^ (y > x)
x <= y + 1
rg.exp(-x)
rg.maximum(x, y + 1)
rg.where(x > y, x, -y)
rg.sum(A)
rg.sum(A, axis=0)
x[0]
x[1:3]
A[:, 0]
A.mT
abs(x)
""".strip().splitlines()


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_is_printed_builds_the_same_graph(spelling):
    names = {**vars(rg), "rg": rg, "x": x, "y": y, "A": A, "B": B}
    graph = eval(spelling, names)
    for text in (repr(graph), rg.pprint(graph)):
        assert eval(text, names) is graph, text


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (x - (y - x), "x - (y - x)"),
        ((x - y) - x, "x - y - x"),
        (-(x + y), "-(x + y)"),
        ((-x) ** 2, "(-x) ** 2"),
        ((x**y) ** x, "(x ** y) ** x"),
        (x ** (y**x), "x ** y ** x"),
        (A @ (A + B), "A @ (A + B)"),
        (rg.sum(A, axis=0, keepdims=True), "sum(A, axis=(-2,), keepdims=True)"),
        (rg.constant(-0.0) + x, "-0.0 + x"),
        (x + np.array([1.0, 2.0]).sum(), "x + 3"),
        (rg.constant([1, 2, 3]), "[1, 2, 3]"),
        (rg.constant(np.zeros(9)), "<float64[9]>"),
        (rg.constant(np.float32(0.1)), "0.1"),
        (rg.constant(True), "True"),
    ],
)
def test_spellings(graph, text):
    assert repr(graph) == text


def test_a_shared_node_is_named_once():
    shared = rg.exp(x + y)
    text = rg.pprint(shared * shared + shared)
    assert text.splitlines() == ["t0 = exp(x + y)", "t0 * t0 + t0"]
    assert text.count("exp") == 1


def test_inputs_and_constants_are_never_named():
    assert rg.pprint(x * x + 2 * x + 2) == "x * x + 2 * x + 2"


def test_outputs_may_be_named():
    assert rg.pprint([x + y, x], names=["a", "b"]).splitlines() == ["a = x + y", "b = x"]
    lines = rg.pprint([x + y, (x + y) * 2]).splitlines()
    assert lines[0].endswith("x + y")
    assert lines[-1].endswith("* 2")


def test_lines_stay_short():
    graph = x
    for i in range(60):
        graph = rg.maximum(graph, y + i)
    assert max(map(len, rg.pprint(graph).splitlines())) < 130
    assert len(repr(rg.sin(graph))) < 2000
    assert "..." in repr(graph)


def test_a_tree_expands_a_shared_node_once():
    shared = rg.exp(x)
    assert rg.dprint(shared * shared).splitlines() == [
        "multiply [0] float64[n]",
        "├─ exp [1] float64[n]",
        "│  └─ x float64[n]",
        "└─ exp [1] ...",
    ]
    assert rg.dprint([x, rg.constant(2.0)]).splitlines() == ["x float64[n]", "2 float64[]"]


def test_a_doubled_graph_prints_in_linear_size():
    graph = x
    for _ in range(200):
        graph = rg.sin(graph + graph)
    assert len(rg.dprint(graph).splitlines()) == 1 + 3 * 200
    assert len(rg.pprint(graph).splitlines()) == 200
    assert len(repr(graph)) < 2000


def test_functions_and_graphs_print_their_outputs():
    x, y = rg.vectors("x y")
    graph = rg.FunctionGraph([x, y], [rg.exp(x) + 1, x])
    compiled = rg.function([x, y], [rg.exp(x) + 1, x], mode=None, target="numpy")
    for show in (rg.dprint, rg.pprint):
        assert show(graph) == show(compiled) == show(graph.outputs)
    assert rg.pprint(graph) == "exp(x) + 1\nx"


def test_a_traced_function_says_how_to_print_a_graph_of_it():
    double = rg.jit(lambda x: 2 * x, target="numpy")
    with pytest.raises(ArgumentError, match="a graph for each signature") as caught:
        rg.dprint(double)
    assert "f.graph(*arguments)" in caught.value.fix
    assert rg.pprint(double.graph(np.ones(2))) == "2 * x"


def test_what_is_printed_shows_as_text_in_a_console():
    x = rg.vector("x")
    for text in (rg.dprint(rg.exp(x)), rg.pprint(rg.exp(x))):
        assert isinstance(text, str)
        assert repr(text) == str(text)
