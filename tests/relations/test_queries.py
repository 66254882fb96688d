"""``relation.run`` answers what rewriting would: no graph of another value, or that fails."""

from __future__ import annotations

import kanren
import numpy as np
import pytest
from kanren.constraints import neq
from unification import var

import relgraph as rg

A, B = rg.matrices("A B", shape=("n", "n"))
x, y = rg.vectors("x y", shape=("n",))
M, v = rg.matrix("M", shape=("n", 3)), rg.vector("v", shape=(3,))
P, Q = rg.vectors("P Q", shape=(None,))


@rg.identity(specials="assumes_finite")
def associateo(X, Y, Z):
    """(X Y) Z = X (Y Z)."""
    return (X @ Y) @ Z, X @ (Y @ Z)


@rg.identity(specials="assumes_finite")
def sum_addo(x, y):
    """sum(x + y) = sum(x) + sum(y)."""
    return rg.sum(x + y), rg.sum(x) + rg.sum(y)


@rg.identity(specials="assumes_finite")
def commuteo(X, Y):
    """X Y = Y X, of two vectors."""
    return X @ Y, Y @ X


@rg.relation(specials="assumes_finite")
def commute_kanreno(left, right):
    """X Y = Y X for X other than Y, which kanren runs."""
    X, Y = rg.lvars("X Y")
    return kanren.lall(rg.eq(left, X @ Y), rg.eq(right, Y @ X), neq(X, Y))


def test_an_answer_of_another_value_is_none():
    rng = np.random.default_rng(0)
    a, b, u = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    assert not np.allclose((a @ u) @ b, a @ (u @ b))
    assert not np.allclose(a @ b, b @ a)
    assert not np.isclose(np.sum(a + u), np.sum(a) + np.sum(u))
    assert associateo.run(None, (A @ x) @ B) == ()
    assert associateo.run(None, None, A @ (x @ B)) == ()
    assert associateo.run(None, (A @ x) @ B, A @ (x @ B)) == ()
    assert sum_addo.run(None, rg.sum(M + v)) == ()
    assert commuteo.run(None, A @ B) == ()


def test_an_answer_of_the_same_value_is_given():
    assert associateo.run(None, (A @ B) @ x) == (A @ (B @ x),)
    assert associateo.run(None, None, A @ (B @ x)) == ((A @ B) @ x,)
    assert associateo.run(None, (A @ B) @ x, A @ (B @ x)) == ((A @ B) @ x,)
    assert associateo.reversed.run(None, A @ (B @ x)) == ((A @ B) @ x,)
    assert sum_addo.run(None, rg.sum(M + M)) == (rg.sum(M) + rg.sum(M),)
    assert commuteo.run(None, x @ y) == (y @ x,)


def test_an_answer_that_may_fail_where_the_graph_does_not_is_none():
    assert sum_addo.run(None, None, rg.sum(P) + rg.sum(Q)) == ()
    assert sum_addo.run(None, rg.sum(P + Q)) == (rg.sum(P) + rg.sum(Q),)


def test_what_is_declared_to_broadcast_is_answered():
    scale = rg.identity(lambda a, X: (rg.sum(a * X), a * rg.sum(X)), name="o", broadcast=["a"])
    number = rg.scalar("a")
    assert scale.run(1, rg.sum(number * M)) == (number * rg.sum(M),)


@pytest.mark.parametrize("graph", [A @ B, rg.exp(A @ B)], ids=str)
def test_a_goal_that_kanren_runs_is_held_to_matrices_too(graph):
    assert commute_kanreno.interpreted
    assert commute_kanreno.run(None, A @ B) == ()
    assert rg.rewrite_graph(graph, commute_kanreno) is graph
    assert commute_kanreno.run(None, x @ y) == (y @ x,)


def test_a_term_with_logic_variables_is_answered_as_it_is():
    X, Y = rg.lvars("X Y")
    (answer,) = associateo.run(1, (A @ X) @ Y)
    assert "matmul" in str(answer)
    q = var()
    assert len(kanren.run(0, q, associateo((A @ x) @ B, q))) == 1  # a goal only unifies
