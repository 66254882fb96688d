"""Enumeration: a goal called with both ends free answers with its clauses, or is left to kanren."""

from __future__ import annotations

import kanren
import pytest
from etuples import etuple
from unification import var

import relgraph as rg
from relgraph.errors import ArgumentError, RelationError
from relgraph.relations.kanren.enumeration import MOST, enumerate_clauses

x, y, z = rg.vectors("x y z", shape=("n",))
A, B = rg.matrices("A B", shape=("n", "n"))
pos = rg.vector("pos", shape=("n",), facts="positive")


def clauses_of(goal):
    return enumerate_clauses(goal, "goal", "here")


def texts_of(goal):
    return [str(c) for c in clauses_of(goal)]


def cancelo(left, right):
    (x,) = rg.lvars("x")
    return rg.conde(
        [rg.eq(left, rg.exp(rg.log(x))), rg.eq(right, x), rg.positiveo(x)],
        [rg.eq(left, rg.log(rg.exp(x))), rg.eq(right, x)],
    )


def test_each_branch_is_a_clause():
    assert texts_of(cancelo) == ["exp(log(x)) = x  where positive(x)", "log(exp(x)) = x"]


def test_branches_rewrite_with_their_guards():
    relation = rg.relation(cancelo)
    assert not relation.interpreted
    assert rg.rewrite_graph(rg.exp(rg.log(pos)), relation) is pos
    assert rg.rewrite_graph(rg.exp(rg.log(x)), relation) is rg.exp(rg.log(x))
    assert rg.rewrite_graph(rg.log(rg.exp(x)), relation) is x


def test_lany_is_a_disjunction_too():
    def goal(left, right):
        (v,) = rg.lvars("v")
        return rg.lall(
            rg.eq(right, v),
            rg.lany(rg.eq(left, v + 0.0), rg.eq(left, v * 1), rg.eq(left, rg.negative(-v))),
        )

    assert sorted(texts_of(goal)) == ["--v = v", "v * 1 = v", "v + 0.0 = v"]


def test_the_order_of_goals_does_not_matter():
    def goal(left, right):
        u, v = rg.lvars("u v")
        return rg.lall(rg.eq(u, rg.exp(v)), rg.eq(right, v), rg.eq(left, rg.log(u)))

    assert texts_of(goal) == ["log(exp(v)) = v"]


def test_goals_on_terms_make_clauses():
    def goal(left, right):
        u, tail = var(), var()
        return rg.lall(
            rg.eq(tail, etuple(u, u)), rg.conso(rg.add, tail, left),
            rg.eq(right, etuple(rg.multiply, 2, u)),
        )  # fmt: skip

    (clause,) = clauses_of(goal)
    assert str(clause) == "v0 + v0 = 2 * v0"
    assert rg.rewrite_graph(rg.exp(x) + rg.exp(x), rg.relation(goal)) is 2 * rg.exp(x)


def mapped(left, right):
    """A @ (x + y + ...) and A @ x + A @ y + ..., as a goal on sequences."""
    a, term, flat, xs, ys = rg.lvars("a term flat xs ys")
    return rg.lall(
        rg.eq(left, rg.matmul(a, term)),
        rg.heado(rg.add, term),
        rg.assoc_flatten(term, flat),
        rg.tailo(xs, flat),
        rg.conso(rg.add, ys, right),
        rg.mapo(lambda u, v: rg.eq(v, rg.matmul(a, u)), xs, ys),
    )


def test_a_map_over_open_tails_is_a_block():
    (clause,) = clauses_of(mapped)
    assert str(clause) == "a @ (v0 + ...) = a @ v0 + ..."
    relation = rg.relation(mapped)
    assert not relation.interpreted
    assert rg.rewrite_graph(A @ (x + y + z), relation) is A @ x + A @ y + A @ z
    assert rg.rewrite_graph(A @ x + A @ y + A @ z, relation.reversed) is A @ (x + y + z)


def test_a_map_that_is_not_one_element_is_left_to_kanren():
    def goal(left, right):
        xs, ys = rg.lvars("xs ys")
        return rg.lall(
            rg.conso(rg.add, xs, left), rg.conso(rg.multiply, ys, right),
            rg.mapo(lambda u, v: rg.lany(rg.eq(v, rg.exp(u)), rg.eq(v, rg.log(u))), xs, ys),
        )  # fmt: skip

    assert clauses_of(goal) is None


def endlesso(left, right):
    """Peel exp off, any number of times: a clause for each number."""
    inner = var()

    def later(state):
        yield from endlesso(inner, right)(state)

    return rg.conde(
        [rg.eq(left, right), rg.eq(left, etuple(rg.sin, var()))],
        [rg.eq(left, etuple(rg.exp, inner)), later],
    )


def test_answers_without_end_are_left_to_kanren():
    assert clauses_of(endlesso) is None
    relation = rg.relation(endlesso)
    assert relation.interpreted
    assert str(relation) == "endlesso: a goal that kanren runs"
    assert len(relation.run(5, None, None)) == 5
    peeled = relation.run(1, rg.exp(rg.exp(rg.sin(x))))
    assert peeled == (rg.sin(x),)


def test_a_search_without_answers_or_end_is_left_to_kanren():
    def goal(left, right):
        def spin(state):
            while True:
                state.get(var())
            yield state

        return rg.lall(rg.eq(left, right), spin)

    assert clauses_of(goal) is None


def test_recursion_at_once_is_left_to_kanren():
    def goal(left, right):
        return goal(left, right)

    assert clauses_of(goal) is None

    @rg.relation
    def itselfo(left, right):
        return rg.lall(itselfo(left, right))

    assert itselfo.interpreted
    with pytest.raises(RelationError, match="its search ran away"):
        rg.rewrite_graph(rg.exp(x), itselfo)


def test_a_name_that_does_not_exist_is_still_an_error():
    def goal(left, right):
        return no_such_name(left, right)  # noqa: F821 - the mistake under test

    with pytest.raises(RelationError, match="no_such_name") as caught:
        clauses_of(goal)
    assert isinstance(caught.value.__cause__, NameError)


def test_too_many_clauses():
    def goal(count):
        return lambda left, right: rg.lany(
            *[rg.lall(rg.eq(left, etuple(rg.add, right, n))) for n in range(count)]
        )

    assert len(clauses_of(goal(MOST))) == MOST
    assert clauses_of(goal(MOST + 1)) is None


@pytest.mark.parametrize(
    "goals",
    [
        lambda left, right, v: (rg.eq(left, rg.exp(v)), rg.eq(v, rg.log(v)), rg.eq(right, v)),
        lambda left, right, v: (rg.eq(left, etuple(rg.exp, left)), rg.eq(right, v)),
        lambda left, right, v: (
            rg.eq(left, etuple(rg.exp, right)), rg.eq(right, rg.log(v)),
            rg.eq(v, etuple(rg.add, left, 1)),
        ),
    ],
)  # fmt: skip
def test_a_term_cannot_contain_itself(goals):
    with pytest.raises(RelationError, match="occurs check"):
        clauses_of(lambda left, right: rg.lall(*goals(left, right, rg.lvars("v")[0])))


def test_a_goal_without_answers():
    def goal(left, right):
        (v,) = rg.lvars("v")
        return rg.lall(rg.eq(left, rg.exp(v)), rg.eq(left, rg.log(v + 1)), rg.eq(right, v))

    with pytest.raises(RelationError, match="relates nothing"):
        clauses_of(goal)


def test_ops_on_the_ends_of_a_goal_say_how_to_write_them():
    with pytest.raises(ArgumentError, match=r"etuple\(op, ...\), or take the variables"):
        clauses_of(lambda left, right: rg.eq(left, rg.exp(right)))


def test_other_goals_on_open_ends_are_left_to_kanren():
    goal = lambda left, right: rg.lall(  # noqa: E731 - a goal without a name
        rg.conso(rg.add, var(), left), rg.conso(rg.multiply, var(), right)
    )
    assert clauses_of(goal) is None


def test_the_streams_of_nested_alternatives_interleave():
    def goal(left, right):
        (v,) = rg.lvars("v")
        ops = rg.exp, rg.log, rg.sin, rg.cos, rg.tan
        a, b, c, d, e = [rg.eq(left, op(v)) for op in ops]
        one, two, three = [rg.eq(right, n * v) for n in (1, 2, 3)]
        choice = rg.lany(rg.lany(a, b), c, rg.conde([rg.positiveo(v), d], [e]))
        return rg.lall(choice, rg.lany(one, rg.lany(two, three)))

    functions = ["exp(v)", "sin(v)", "cos(v)", "log(v)", "tan(v)"]
    assert [text.partition("  where")[0] for text in texts_of(goal)] == [
        f"{f} = {n} * v" for n in (1, 2, 3) for f in functions
    ]


def test_goals_run_as_those_of_minikanren_do():
    q, r = var(), var()
    assert kanren.run(0, q, rg.eq(q, 1)) == (1,)
    assert kanren.run(0, q, rg.eq(q, 1), rg.eq(q, 2)) == ()
    assert kanren.run(0, (q, r), rg.lall(rg.eq(q, 1), rg.eq(r, q))) == ((1, 1),)
    assert kanren.run(0, q, rg.lany(rg.eq(q, 1), rg.eq(q, 2))) == (1, 2)
    either = rg.conde([rg.eq(q, 1), rg.eq(r, 2)], (rg.eq(q, 3),))
    assert kanren.run(0, q, either) == kanren.run(0, q, either) == (1, 3)
    for joined in (rg.lall, rg.lany):  # as they come, and from an iterator, read once
        assert kanren.run(0, q, joined([rg.eq(q, 5)])) == (5,)
        assert kanren.run(0, q, joined(g for g in [rg.eq(q, 5)])) == (5,)
        assert len(kanren.run(0, q, joined())) == 1
    assert kanren.run(0, q, rg.conde(iter([[rg.eq(q, 5)]]))) == (5,)
