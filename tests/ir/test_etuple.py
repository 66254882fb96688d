"""The etuple bridge: graphs as S-expressions, read by unification, cons and kanren."""

from __future__ import annotations

import kanren
import numpy as np
import pytest
from cons import car, cdr
from cons.core import ConsError
from etuples import etuple, etuplize, rands, rator
from etuples.core import ExpressionTuple
from unification import reify, unify, var

import relgraph as rg
from relgraph.errors import NonGroundError
from relgraph.ir.etuple import same_number
from relgraph.ops.reductions import Sum

x, y, z = rg.vectors("x y z", shape=("n",))
A = rg.matrix("A", shape=("n", "n"))
a, b, q = var("a"), var("b"), var("q")

GRAPHS = [
    x, rg.constant(2.0), x + y, rg.exp(x) * (y - 2), rg.sum(A, axis=0), rg.sum(A), A @ (x + y),
    rg.sum(rg.exp(A), axis=1, keepdims=True), x.astype("float32"), rg.where(x > y, x, 0.5),
    rg.reshape(A, (-1,)), x[1:3], *rg.slogdet(A),
]  # fmt: skip


@pytest.mark.parametrize("graph", GRAPHS, ids=repr)
def test_a_term_is_raised_to_the_graph_it_came_from(graph):
    term = rg.lower(graph)
    assert rg.raise_(term) is graph
    assert isinstance(term, ExpressionTuple) == bool(graph.inputs)
    if isinstance(term, ExpressionTuple):
        assert term.evaled_obj is graph
        assert unify(term, graph, {}) == {}
        assert unify(graph, term, {}) == {}


def test_terms_of_deep_graphs():
    node = x
    for _ in range(5_000):
        node = rg.exp(node)
    assert rg.raise_(rg.lower(node)) is node


def test_a_shared_node_is_a_shared_term():
    shared = rg.exp(x)
    term = rg.lower(shared * shared)
    assert term[1] is term[2]


@pytest.mark.parametrize(
    "term",
    [a, etuple(rg.add, x, a), etuple(a, x, y), etuple(rg.add, etuple(rg.exp, a), y),
     etuple(etuple(Sum, a, False), A), *rg.lvars("v"), rg.exp(rg.lvars("v")[0])],
    ids=repr,
)  # fmt: skip
def test_a_term_with_variables_is_no_graph(term):
    with pytest.raises(NonGroundError, match="logic variable"):
        rg.raise_(term)


def test_head_and_operands():
    assert car(x + y) is rg.add
    assert tuple(cdr(x + y)) == (x, y)
    assert rator(x + y) is rg.add
    assert tuple(rands(x + y)) == (x, y)
    assert car(rg.sum(A, axis=0).op) is Sum
    assert tuple(cdr(rg.sum(A, axis=0).op)) == ((-2,), False)
    for atom in (x, rg.constant(1.0), rg.add):
        with pytest.raises((ConsError, NotImplementedError)):
            car(atom)


@pytest.mark.parametrize(
    ("pattern", "graph", "bound"),
    [
        (etuple(rg.add, a, b), x + y, {a: x, b: y}),
        (etuple(rg.add, a, a), x + x, {a: x}),
        (etuple(rg.add, a, a), x + y, False),
        (etuple(rg.add, a, b), x * y, False),
        (etuple(a, x, y), x + y, {a: rg.add}),
        (etuple(rg.add, etuple(rg.exp, a), y), rg.exp(x) + y, {a: x}),
        (etuple(rg.add, x), x + y, False),
        (etuple(rg.add, a, 2), x + 2, {a: x}),
        (etuple(rg.add, a, 3), x + 2, False),
        (etuple(etuple(Sum, a, False), b), rg.sum(A, axis=0), {a: (-2,), b: A}),
        (etuple(etuple(Sum, a, True), b), rg.sum(A, axis=0), False),
        (etuple(etuple(Sum, a, False), b), rg.sum(A), {a: None, b: A}),
        (x, x, {}),
        (x, y, False),
        (x + y, x + y, {}),
        (x + y, y + x, False),
    ],
    ids=repr,
)
def test_unification(pattern, graph, bound):
    assert unify(pattern, graph, {}) == bound
    assert unify(graph, pattern, {}) == bound


def test_a_graph_is_a_leaf_for_reify():
    s = unify(etuple(rg.add, a, b), x + y, {})
    assert reify(x + y, s) is x + y
    assert rg.raise_(reify(etuple(rg.multiply, b, a), s)) is y * x


@pytest.mark.parametrize(
    ("value", "number", "same"),
    [
        (2.0, 2, True), (2.0, 2.0, True), (np.full(3, 2.0), 2, True), (2, 2, True),
        (2, 2.0, False), (2.0, 3, False), (1, True, False), (True, True, True), (True, 1, False),
        (1.0, True, False), (0.0, 0.0, True), (0.0, 0, True), (-0.0, -0.0, True),
        (-0.0, 0.0, False), (0.0, -0.0, False), (-0.0, 0, False), (np.nan, float("nan"), True),
        (np.inf, float("inf"), True), (np.inf, -float("inf"), False), (np.zeros(0), 0, False),
        (np.array([1.0, 2.0]), 1.0, False), (np.uint8(44), 300, False),
        (np.float32(0.1), 0.1, True), (np.uint8(255), -1, False),
    ],
)  # fmt: skip
def test_numbers_and_constants(value, number, same):
    node = rg.constant(value)
    assert same_number(node.uniform, number) is same
    assert (unify(node, number, {}) == {}) is same
    assert (unify(number, node, {}) == {}) is same


def test_goals_read_graphs():
    assert kanren.run(0, q, kanren.heado(q, x + y)) == (rg.add,)
    (tail,) = kanren.run(0, q, kanren.tailo(q, x + y))
    assert tuple(tail) == (x, y)
    assert kanren.run(0, (a, b), kanren.conso(a, b, x)) == ()
    ((head, rest),) = kanren.run(0, (a, b), kanren.conso(a, b, x + y))
    assert head is rg.add
    assert tuple(rest) == (x, y)
    (made,) = kanren.run(0, q, kanren.conso(rg.multiply, etuple(x, y), q))
    assert rg.raise_(made) is x * y
    assert kanren.run(0, q, kanren.membero(q, (x, y)), kanren.eq(q, y)) == (y,)


def test_a_goal_over_graphs():
    goal = kanren.lall(kanren.eq(etuple(rg.exp, etuple(rg.log, a)), rg.exp(rg.log(x + y))))
    assert kanren.run(0, a, goal) == (x + y,)
    (made,) = kanren.run(0, q, kanren.eq(q, etuple(rg.add, etuple(rg.exp, x), 1)))
    assert rg.raise_(made) is rg.exp(x) + 1


def test_etuplize_is_deep_and_builds_the_graph_again():
    A = rg.matrix("A", shape=("n", "n"))
    x = rg.vector("x", shape=("n",))
    graph = A @ x + rg.sum(x)
    term = etuplize(graph)
    assert term[1] == etuple(rg.matmul, A, x)
    assert isinstance(term[2][0], ExpressionTuple)  # an op with parameters
    assert term == rg.lower(graph)
    assert term.evaled_obj is graph
    assert etuplize(graph, shallow=True)[1] is A @ x
    assert etuplize(x, return_bad_args=True) is x
    with pytest.raises(TypeError, match="no expression tuple"):
        etuplize(x)


def test_etuplize_does_not_recurse():
    x = rg.vector("x")
    graph = x
    for _ in range(3000):
        graph = rg.exp(graph)
    assert rg.raise_(etuplize(graph)) is graph
