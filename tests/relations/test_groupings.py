"""Patterns see sums and products whole: any bracketing, any order, any split of few operands."""

import itertools

import numpy as np
import pytest

import relgraph as rg
from relgraph.ir.graph import toposort
from relgraph.relations.nary import alike, canonical
from tests.samples import double_addo

x, y, z, w = rg.vectors("x y z w", 3)
p = rg.vector("p", 3, facts=("positive",))
VALUES = {"x": [1.0, 2.0, -3.0], "y": [0.5, -1.5, 2.5], "z": [4.0, 1.0, 0.25], "w": [3.0, 7.0, 0.5]}


def value(graph):
    """Return what a graph computes, by NumPy, op by op."""
    inputs = [v for v in (x, y, z, w, p) if v in toposort([graph])]
    given = [np.array(VALUES.get(v.name, [1.0, 2.0, 0.5])) for v in inputs]
    return rg.function(inputs, graph, mode="fast_compile", target="numpy")(*given)


@rg.identity
def sine_of_sumo(a, b):
    return rg.sin(a + b), rg.sin(a) * rg.cos(b) + rg.cos(a) * rg.sin(b)


@rg.identity
def cancel_sumo(a):
    return a + rg.negative(a), 0


@rg.identity(rounding="exact")
def equal_itselfo(a):
    return rg.equal(a, a), True


@rg.identity
def meet_tangento(a):
    return rg.tan(a + rg.sin(a)), rg.cosh(a)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_condition_of_a_variable_finds_its_group_in_any_order(order):
    terms = [[x, p, y][i] for i in order]
    graph = rg.log1p(terms[0] + terms[1] + terms[2])

    @rg.identity(where=lambda a, b: rg.positiveo(b))
    def take_positiveo(a, b):
        return rg.log1p(a + b), rg.log(1 + a + b)

    made = rg.rewrite_graph(graph, take_positiveo)
    assert made.op is rg.log
    assert np.allclose(value(made), value(graph), equal_nan=True)


def test_a_condition_on_two_operands_together():
    """Only y + w has the property; no single operand has."""
    wanted = {y + w, w + y}

    @rg.identity(where=lambda a, b: rg.checko(lambda v: v in wanted, b))
    def pick_pairo(a, b):
        return rg.sin(a + b), rg.sin(a) * rg.cos(b) + rg.cos(a) * rg.sin(b)

    made = rg.rewrite_graph(rg.sin(x + y + z + w), pick_pairo)
    assert made.op is rg.add
    assert {rg.cos(y + w), rg.sin(y + w)} <= set(toposort([made]))
    assert np.allclose(value(made), value(rg.sin(x + y + z + w)))


@pytest.mark.parametrize(
    "graph",
    [
        x + (y + rg.negative(x + y)),
        (y + rg.negative(y + x)) + x,
        x + y + z + rg.negative(z + x + y),
        rg.negative(x + z) + x + z,
    ],
)
def test_a_repeated_variable_stands_for_several_operands(graph):
    made = rg.rewrite_graph(graph, cancel_sumo)
    assert not [v for v in toposort([made]) if v.op is rg.negative]
    assert np.allclose(value(made), 0)


def test_an_operand_that_takes_all_leaves_nothing_for_another():
    @rg.identity
    def take_sumo(a, b):
        return (a + b) - a, b

    shared = x + y
    graph = shared - (y + x)
    assert rg.rewrite_graph(graph, take_sumo) is graph
    assert rg.rewrite_graph(z + shared - (y + x), take_sumo) is z


@rg.identity
def square_of_sumo(a, b):
    return (a + b) * (a + b), a * a + 2 * (a * b) + b * b


@rg.identity
def equal_maximao(a, b):
    return rg.maximum(a + b, b + a), a + b


@pytest.mark.parametrize(
    ("relation", "graph"),
    [
        (square_of_sumo, (x + y) * (x + y + z)),
        (square_of_sumo, (x + y) * (z + x + y)),
        (square_of_sumo, (x + x) * (x + (x + y))),
        (equal_maximao, rg.maximum(x + y, y + (x + z))),
    ],
)
def test_a_nested_sum_of_more_than_the_bound_variables_is_left(relation, graph):
    assert rg.rewrite_graph(graph, relation) is graph


@pytest.mark.parametrize(
    ("relation", "graph"),
    [
        (square_of_sumo, (x + y + z) * (z + (x + y))),
        (equal_maximao, rg.maximum(x + (y + z), z + (y + x))),
    ],
)
def test_a_nested_sum_of_just_the_bound_variables_is_matched(relation, graph):
    made = rg.rewrite_graph(graph, relation)
    assert made is not graph
    assert np.allclose(value(made), value(graph))


def test_below_the_root_too():
    made = rg.rewrite_graph(rg.tan(x + (rg.sin(y + x) + y)), meet_tangento)
    assert made.op is rg.cosh
    assert alike(made.inputs[0], x + y)


def test_a_repeated_variable_stands_for_reordered_operands():
    assert rg.rewrite_graph(x * y + y * x, double_addo).inputs[1] in {x * y, 2 * (x * y)}
    made = rg.rewrite_graph(x * y * z + z * (x * y), double_addo)
    assert made.op is rg.multiply
    assert np.allclose(value(made), value(x * y * z + z * (x * y)))


def test_an_exact_relation_does_not_take_other_bracketings_for_equal():
    """(x + y) + z and x + (y + z) round otherwise; x + y and y + x are the same bits."""
    assert rg.rewrite_graph(rg.equal(x + y, y + x), equal_itselfo).op is not rg.equal
    regrouped = rg.equal(x + y + z, x + (y + z))
    assert rg.rewrite_graph(regrouped, equal_itselfo) is regrouped
    i, j, k = rg.vectors("i j k", 3, dtype="int64")
    assert rg.rewrite_graph(rg.equal(i + j + k, i + (j + k)), equal_itselfo).op is not rg.equal


def test_gathering_takes_reordered_factors_for_equal():
    @rg.identity
    def factoro(a, b, c):
        return rg.exp(a) * b + rg.exp(a) * c, rg.exp(a) * (b + c)

    graph = rg.exp(x * y) * z + rg.exp(y * x) * w
    made = rg.rewrite_graph(graph, factoro)
    assert made.op is rg.multiply
    assert np.allclose(value(made), value(graph))


def test_canonical_forms_distinguish_other_operands():
    assert canonical(x * y) == canonical(y * x) != canonical(x * z)
    assert canonical(x * (y * z)) == canonical((z * x) * y)
    assert canonical(x * (y * z), regroup=False) != canonical((z * x) * y, regroup=False)
    assert canonical(x * x) != canonical(x * y)
    assert canonical(x - y) != canonical(y - x)
    assert canonical(rg.equal(x, y)) == canonical(rg.equal(y, x))
