"""Goals that kanren runs node by node, and rewriters written in Python."""

import pytest
from etuples import etuple
from kanren import conde, conso, eq, lall, lany
from kanren.core import Zzz
from kanren.graph import mapo as kanren_mapo
from unification import unify, var
from unification import vars as lvars

import relgraph as rg
from relgraph.errors import RelationError
from relgraph.relations.kanren import search
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.interpreter import answer, answers
from relgraph.rewriting.selection import Selection
from tests.relations import kanren_goals

A, B = rg.matrices("A B", shape=(3, 3))
x, y, z = rg.vectors("x y z", 3)


spread_matmulo = rg.relation(kanren_goals.spread_matmulo)


@rg.relation
def nowhere_elseo(left, right):
    """A goal that diverges: it recurses before it binds anything."""

    def forever(term):
        def goal(state):
            yield from forever(term)(state)

        return goal

    return lall(forever(left), eq(left, right))


def test_goals_without_end_are_interpreted():
    assert spread_matmulo.interpreted
    assert Selection([spread_matmulo]).interpreted == (spread_matmulo,)


def test_answers_are_graphs():
    assert answer(spread_matmulo, A @ (x + y)) is A @ x + A @ y
    assert answer(spread_matmulo.reversed, A @ x + A @ y) is A @ (x + y)
    assert answer(spread_matmulo, A @ x) is None
    assert list(answers(spread_matmulo, A @ (x + y))) == [A @ x + A @ y]


@pytest.mark.parametrize(
    "graph, forward",
    [
        (A @ (x + y), A @ x + A @ y),
        (A @ (x + (y + z)), A @ x + (A @ y + A @ z)),
        (rg.exp(A @ (x + B @ (y + z))), rg.exp(A @ x + (A @ (B @ y) + A @ (B @ z)))),
    ],
    ids=str,
)
def test_both_directions_rewrite(graph, forward):
    assert rg.rewrite_graph(graph, spread_matmulo) is forward
    assert rg.rewrite_graph(forward, spread_matmulo.reversed) is graph


def test_compiled_and_interpreted_relations_work_together():
    @rg.identity
    def remove_multiply_oneo(a):
        return a * 1, a

    graph = A @ ((x * 1) + y * 1)
    assert rg.rewrite_graph(graph, spread_matmulo, remove_multiply_oneo) is A @ x + A @ y


def test_an_answer_of_another_type_is_none():
    @rg.relation
    def shorteno(left, right):
        a, rest = lvars(2)
        return lall(eq(left, etuple(rg.maximum, a, rest)), conde((eq(right, a),), (eq(right, a),)))

    column = rg.tensor("c", (3, 1))
    assert answer(shorteno, rg.maximum(x, y)) is x
    assert answer(shorteno, rg.maximum(column, x)) is None


def test_an_answer_with_free_variables_is_none():
    @rg.relation
    def guesso(left, right):
        unbound, terms, made = lvars(3)
        return lall(
            conso(rg.maximum, terms, left),
            conso(rg.minimum, made, right),
            kanren_mapo(lambda u, v: eq(v, etuple(rg.hypot, u, unbound)), terms, made),
        )

    assert guesso.interpreted
    assert answer(guesso, rg.maximum(x, y)) is None


def spinning(state):
    """A goal that unifies for ever, without an answer and without recursion."""
    while True:
        unify(etuple(var(), 1), etuple(2, var()), state)
    yield state


def counting(term):
    """A goal that recurses a level for each number; its answers do not end."""
    return conde([eq(term, 0)], [Zzz(counting, term)])


@rg.relation
def at_onceo(left, right):
    return lall(spinning, eq(left, right))


@rg.relation
def after_an_answero(left, right):
    """maximum(a, b) = a, and then nothing for ever."""
    a, b = lvars(2)
    return lall(eq(left, etuple(rg.maximum, a, b)), lany(eq(right, a), spinning))


@pytest.mark.parametrize("relation", [nowhere_elseo, at_onceo], ids=lambda r: r.name)
def test_a_search_that_runs_away_is_named(relation, monkeypatch):
    monkeypatch.setattr(search, "STEPS", 2000)
    for ask in (lambda: answer(relation, x + y), lambda: rg.rewrite_graph(x + y, relation)):
        with pytest.raises(RelationError, match="its search ran away") as raised:
            ask()
        text = str(raised.value)
        assert text.startswith(relation.name)
        assert "x + y" in text
        assert "put the goal that binds a term before the goal that recurses" in text


def test_a_search_that_runs_away_after_its_answer(monkeypatch):
    monkeypatch.setattr(search, "STEPS", 2000)
    assert after_an_answero.interpreted
    assert answer(after_an_answero, rg.maximum(x, y)) is x
    assert rg.rewrite_graph(rg.maximum(x, y), after_an_answero) is x
    column = rg.tensor("c", (3, 1))
    with pytest.raises(RelationError, match="after_an_answero: its search ran away"):
        answer(after_an_answero, rg.maximum(column, x))  # the answer has another type


def test_a_deep_recursion_is_named():
    @rg.relation
    def deepo(left, right):
        return lall(eq(left, etuple(rg.sin, right)), counting(right))

    assert deepo.interpreted
    with pytest.raises(RelationError, match=r"deepo: .* recursed past Python's limit"):
        answer(deepo, rg.sin(x))
    assert answer(deepo, rg.cos(x)) is None


def test_a_side_condition_that_runs_away_is_named(monkeypatch):
    monkeypatch.setattr(search, "STEPS", 2000)

    @rg.relation
    def mappedo(left, right):
        terms, made = rg.lvars("terms made")
        return lall(
            conso(rg.maximum, terms, left),
            conso(rg.minimum, made, right),
            rg.mapo(lambda u, v: lall(eq(u, v), spinning), terms, made),
        )

    assert mappedo.interpreted
    with pytest.raises(RelationError, match="mappedo: its search ran away"):
        answer(mappedo, rg.maximum(x, y))


def test_side_conditions_on_applications_are_decided():
    @rg.identity(where=rg.nonnegativeo)
    def cancel_sqrt_squareo(x):
        return rg.sqrt(rg.square(x)), x

    assert answer(cancel_sqrt_squareo, rg.sqrt(rg.square(rg.exp(x)))) is rg.exp(x)
    assert answer(cancel_sqrt_squareo, rg.sqrt(rg.square(x + y))) is None


def test_python_rewriters_are_asked_about_the_ops_they_track():
    asked = []

    class Halve(rg.NodeRewriter):
        def transform(self, graph, node):
            asked.append(node)
            return node.inputs[0] if node.inputs[1] is node.inputs[0] else None

        def tracks(self):
            return [rg.maximum]

    rewriter = rg.GraphRewriter([Halve()])
    assert rewriter.rewrite(rg.maximum(x, x) + rg.sin(rg.maximum(x, y))) is x + rg.sin(
        rg.maximum(x, y)
    )
    assert all(node.op is rg.maximum for node in asked)


def test_a_python_rewriter_that_changes_the_type_is_an_error():
    class Narrow(rg.NodeRewriter):
        def transform(self, graph, node):
            return rg.cast(node.inputs[0], "float32")

        def tracks(self):
            return [rg.sin]

    with pytest.raises(RelationError, match="another type"):
        rg.GraphRewriter([Narrow()]).rewrite(rg.sin(x))


def test_relations_are_tried_before_python_rewriters():
    class Last(rg.NodeRewriter):
        def transform(self, graph, node):
            return rg.tan(node.inputs[0])

        def tracks(self):
            return [rg.sin]

    @rg.identity
    def firsto(a):
        return rg.sin(a), rg.cos(a)

    assert normalise([rg.sin(x)], Selection([firsto])) == (rg.cos(x),)
    assert rg.rewrite_graph(rg.sin(x), [firsto, Last()]) is rg.cos(x)
