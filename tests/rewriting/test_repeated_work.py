"""What is not done again: runs that would find nothing, and normal forms that nothing needs."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.relations.catalogue.explog import square_expo
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.selection import Selection

N = 5
x, y, z = (rg.vector(name, shape=(N,)) for name in "xyz")
A = rg.matrix("A", shape=(N, N))


@rg.identity(where=rg.elementwiseo, rounding="exact", broadcast=["x"])
def lifto(f, x):
    """f(x.mT, ...) = f(x, ...).mT."""
    return f(x.mT, ...), f(x, ...).mT


def through(graph, term):
    """Return the operand of a sum that becomes a sum itself."""
    return rg.log(rg.exp(graph - term))


def chain(length, terms):
    """Return a sum within operands of sums."""
    graph = x
    for i in range(length):
        graph = through(graph, terms[i % len(terms)])
    return graph


def values(graph, **given):
    """Return the values of a graph as written."""
    names = [i.name for i in rg.FunctionGraph(None, graph).inputs]
    function = rg.function(rg.FunctionGraph(None, graph).inputs, graph, mode=None, target="numpy")
    return function(*[given[name] for name in names])


@pytest.mark.parametrize("length", [2, 3, 40])
def test_like_terms_meet_through_operands_that_become_sums(length):
    graph = chain(length, [y])
    assert rg.rewrite_graph(graph, include=["canonicalize"]) is x - length * y
    given = {"x": np.linspace(1, 2, N), "y": np.linspace(-1, 1, N)}
    np.testing.assert_allclose(values(x - length * y, **given), given["x"] - length * given["y"])
    derivation = rg.explain(graph, include=["canonicalize"])
    derivation.check()
    assert derivation.after == (x - length * y,)
    names = [f.rewrite.relation for step in derivation for f in step.firings]
    assert names.count("cancel_log_expo") == length
    assert names.count("collect_like_termso") == 1  # not one for each level


def test_terms_that_are_not_alike_keep_their_brackets():
    graph = chain(3, [y, z, A[0]])
    assert rg.rewrite_graph(graph, include=["canonicalize"]) is x - y - z - A[0]
    mixed = through(x, z) + rg.log(rg.exp(y + z))
    assert rg.rewrite_graph(mixed, include=["canonicalize"]) is x + y
    assert rg.rewrite_graph(y - through(x, y), include=["canonicalize"]) is 2 * y - x


def test_a_sum_that_something_else_uses_is_not_opened():
    inner = x - y
    graph = rg.log(rg.exp(inner)) - y, rg.sin(inner)
    derivation = rg.explain(list(graph), include=["canonicalize"])
    derivation.check()
    assert derivation.after == (x - 2 * y, rg.sin(x - y))
    other = rg.exp(x - y)
    both = rg.rewrite_graph([rg.log(other) - y, other], include=["canonicalize"])
    assert both == [x - 2 * y, other]


def test_views_move_in_the_run_that_makes_them():
    inner = x - x  # zeros of a shape
    for _ in range(12):
        inner = rg.cos(inner) + 1
    derivation = rg.explain(inner * y, include=["canonicalize"])
    derivation.check()
    changing = [p for p in derivation.phases if len(p.steps)]
    assert len(changing) == 1
    value = 0.0
    for _ in range(12):
        value = np.cos(value) + 1
    given = {"y": np.linspace(-1, 1, N)}
    np.testing.assert_allclose(values(derivation.after[0], **given), value * given["y"])


def test_a_graph_is_run_again_only_if_what_was_refused_may_fire():
    selection = Selection([square_expo], (), True)
    shared = rg.exp(x)
    graph = (rg.square(shared), shared)
    assert normalise(graph, selection) == graph
    assert selection.refused.keys() == {rg.square(shared)}
    assert not selection.unsettled
    (alone,) = normalise([rg.square(shared)], selection)
    assert alone is rg.exp(2 * x)


def test_a_selection_is_idle_where_nothing_fires():
    selection = Selection([lifto])
    assert selection.is_idle([rg.sum(A.mT)])
    assert not selection.is_idle([rg.sum(rg.exp(A.mT))])
    assert selection.is_idle([rg.exp(rg.sum(A.mT))])
