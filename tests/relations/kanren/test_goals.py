"""Goals: decided when their arguments are bound, suspended until then."""

from __future__ import annotations

from functools import partial

import kanren
import numpy as np
import pytest
from etuples import etuple
from unification import reify, unify, var

import relgraph as rg
from relgraph.errors import ArgumentError, DomainError
from relgraph.relations.kanren.goals import (
    Suspended,
    drop_residuals,
    require_goal,
    residuals,
    settle,
)

p, q = rg.lvars("p q")
x, y, z = rg.vectors("x y z", shape=("n",))
pos = rg.vector("pos", facts="positive")
S = rg.matrix("S", shape=("n", "n"), facts="spd")
A = rg.matrix("A", shape=("n", "n"))
i = rg.vector("i", dtype="int64")
a, b = var("a"), var("b")


@pytest.mark.parametrize(
    ("goal", "holds", "fails"),
    [
        (rg.positiveo, pos, x), (rg.nonnegativeo, rg.exp(x), x), (rg.nonzeroo, pos, x),
        (rg.finiteo, i, x), (rg.integero, i, x), (rg.invertibleo, S, rg.constant(1.0)),
        (rg.symmetrico, S, A), (rg.constanto, rg.constant(1.0), x), (rg.floato, x, i),
        (rg.positiveo, rg.constant(2.0), rg.constant(-2.0)), (rg.positiveo, 2, -2),
        (rg.constanto, 3, x), (rg.floato, 1.5, 1),
        (lambda v: rg.facto(v, "spd"), S, rg.matrix("T", shape=("n", "n"))),
        (lambda v: rg.checko(lambda n: n.ndim == 1, v), x, S),
    ],
)  # fmt: skip
def test_side_conditions(goal, holds, fails):
    assert kanren.run(0, a, kanren.eq(a, holds), goal(a)) == (holds,)
    assert kanren.run(0, a, kanren.eq(a, fails), goal(a)) == ()
    assert len(list(goal(holds)({}))) == 1
    assert list(goal(fails)({})) == []


def test_a_goal_waits_for_its_arguments():
    goal = rg.positiveo(p)
    (state,) = goal({})
    assert residuals(state) == (goal,)
    assert drop_residuals(state) == {}
    assert repr(goal) == "positive(p)"
    good, bad = ({**state, p.token: rg.constant(v)} for v in (2.0, -2.0))
    (settled,) = settle(good)
    assert residuals(settled) == ()
    assert list(settle(bad)) == []
    assert list(settle(state)) == [state]


def test_order_of_goals_does_not_matter():
    for goals in ((rg.positiveo(a), kanren.eq(a, pos)), (kanren.eq(a, pos), rg.positiveo(a))):
        found = [
            reify(a, final) for s in kanren.lall(*goals)({}) for final in settle(s)
            if not residuals(final)
        ]  # fmt: skip
        assert found == [pos]


def test_settling_goes_on_while_there_is_progress():
    b, c = var("b"), var("c")
    goals = [rg.calco(c, lambda v: v + 1, b), rg.calco(b, lambda v: v * 2, a)]
    (state,) = kanren.lall(*goals)({})
    assert len(residuals(state)) == 2
    (final,) = settle({**state, a: 5})
    assert (reify(b, final), reify(c, final)) == (10, 11)
    assert residuals(final) == ()
    (final,) = kanren.lall(*goals, kanren.eq(a, 5))({})
    assert (reify(b, final), reify(c, final)) == (10, 11)
    assert residuals(final) == ()


DOUBLE = partial(rg.mapo, lambda u, v: rg.calco(v, lambda n: n * 2, u))


@pytest.mark.parametrize(
    ("waits", "binds", "asked", "answers"),
    [
        (rg.positiveo(a), kanren.eq(a, pos), a, (pos,)),
        (rg.positiveo(a), kanren.eq(a, x), a, ()),
        (rg.positiveo(a), kanren.membero(a, (x, pos, y, rg.exp(pos) + pos)), a,
         (pos, rg.exp(pos) + pos)),
        (rg.checko(lambda n: n.ndim == 1, a), kanren.eq(etuple(rg.exp, a), rg.exp(S)), a, ()),
        (rg.calco(7, lambda v: v + 1, a), kanren.membero(a, (5, 6)), a, (6,)),
        (rg.calco(b, lambda v: v + 1, a), kanren.eq(a, 2), b, (3,)),
        (DOUBLE(a, b), kanren.eq(a, [1, 2]), b, ([2, 4],)),
        (DOUBLE(a, b), kanren.lall(kanren.eq(b, [2, 5]), kanren.eq(a, [1, 2])), a, ()),
        (rg.assoc_flatten(a, b), kanren.eq(a, x + (y + z)), b, (etuple(rg.add, x, y, z),)),
        (rg.assoc_flatten(a, b), kanren.eq(b, etuple(rg.add, x, y, z)), a,
         (etuple(rg.add, etuple(rg.add, x, y), z),)),
        (rg.assoc_flatten(a, b), kanren.eq(a, x - y), a, ()),
    ],
)  # fmt: skip
def test_run_decides_what_waits_wherever_it_stands(waits, binds, asked, answers):
    assert kanren.run(0, asked, waits, binds) == answers
    assert kanren.run(0, asked, binds, waits) == answers
    assert kanren.run(0, asked, rg.lall(waits, binds)) == answers
    assert kanren.run(0, asked, kanren.conde([waits, binds])) == answers


def test_what_stays_open_is_an_answer_with_a_variable():
    assert kanren.run(0, a, rg.positiveo(a)) == (a,)
    assert kanren.run(0, a, rg.positiveo(b), kanren.eq(a, pos)) == (pos,)


def test_computing():
    assert kanren.run(0, a, rg.calco(a, lambda u, v: u + v, 2, 3)) == (5,)
    assert kanren.run(0, a, rg.calco(a, lambda v: None, 2)) == ()
    assert kanren.run(0, a, rg.calco(7, lambda v: v, 2), kanren.eq(a, 1)) == ()
    assert kanren.run(0, a, rg.calco(a, rg.exp, x + y)) == (rg.exp(x + y),)
    assert "p == max(q)" in repr(rg.calco(p, max, q))


def test_checks_get_graphs_not_terms():
    seen = []
    kanren.run(0, a, kanren.eq(a, 1), rg.checko(lambda g: seen.append(g) or True, rg.exp(x) + p))
    assert seen == []  # p is open
    kanren.run(0, a, kanren.eq(p, y), rg.checko(lambda g: seen.append(g) or True, rg.exp(x) + p))
    assert seen == [rg.exp(x) + y]


def test_none_is_a_value():
    (state,) = rg.checko(lambda axis: axis is None, a)({a: None})
    assert residuals(state) == ()


def test_mapping():
    double = lambda u, v: rg.calco(v, lambda n: n * 2, u)  # noqa: E731 - as users write it
    assert kanren.run(0, a, rg.mapo(double, [1, 2, 3], a)) == ([2, 4, 6],)
    assert kanren.run(0, a, rg.mapo(double, (1, 2), a)) == ((2, 4),)
    assert kanren.run(0, a, rg.mapo(double, [], a)) == ([],)
    assert kanren.run(0, a, rg.mapo(double, [1, 2], [2, 4]), kanren.eq(a, 1)) == (1,)
    assert kanren.run(0, a, rg.mapo(double, [1, 2], [2, 5]), kanren.eq(a, 1)) == ()
    assert kanren.run(0, a, rg.mapo(double, [1, 2], [2]), kanren.eq(a, 1)) == ()
    exps = rg.mapo(lambda u, v: kanren.eq(v, etuple(rg.exp, u)), a, etuple(rg.exp(x), rg.exp(y)))
    assert tuple(kanren.run(0, a, exps)[0]) == (x, y)


def test_mapping_over_open_ends_waits():
    goal = rg.mapo(kanren.eq, p, q)
    (state,) = goal({})
    assert residuals(state) == (goal,)


def test_flattening():
    (flat,) = kanren.run(0, a, rg.assoc_flatten(x + (y + z), a))
    assert tuple(flat) == (rg.add, x, y, z)
    (flat,) = kanren.run(0, a, rg.assoc_flatten((x + y) + (z + x), a))
    assert tuple(flat) == (rg.add, x, y, z, x)
    assert tuple(kanren.run(0, a, rg.assoc_flatten(x * y + z, a))[0]) == (rg.add, x * y, z)
    assert kanren.run(0, a, rg.assoc_flatten(x - y, a)) == ()
    assert kanren.run(0, a, rg.assoc_flatten(x, a)) == ()
    (nested,) = kanren.run(0, a, rg.assoc_flatten(a, etuple(rg.add, x, y, z)))
    assert rg.raise_(nested) is (x + y) + z
    (state,) = rg.assoc_flatten(p, q)({})
    assert len(residuals(state)) == 1


def test_flattening_keeps_the_value():
    (flat,) = kanren.run(0, a, rg.assoc_flatten(x + (y + (z + x)), a))
    values = {x: [1.0, 2.0], y: [3.0, 4.0], z: [5.0, 6.0]}
    expected = sum(np.array(values[n]) for n in (x, y, z, x))
    np.testing.assert_array_equal(rg.evaluate(flat[0](*flat[1:]), values), expected)


def test_facts_that_do_not_exist_are_refused_at_once():
    with pytest.raises(DomainError, match="Did you mean 'positive'"):
        rg.facto(p, "postive")


def test_a_relation_must_return_a_goal():
    assert require_goal(kanren.eq(1, 1), "here")
    with pytest.raises(ArgumentError, match="here must return a goal"):
        require_goal(True, "here")
    with pytest.raises(ArgumentError, match="must return a goal"):
        rg.relation(lambda left, right: None, name="nothingo")


def test_suspended_goals_are_goals():
    goal = rg.positiveo(p)
    assert isinstance(goal, Suspended)
    assert unify(p, pos, {}) is not False
    (state,) = goal(unify(p, pos, {}))
    assert residuals(state) == ()
