"""Goals that kanren runs node by node, and rewriters written in Python."""

import pytest
from etuples import etuple
from kanren import conde, conso, eq, heado, lall, tailo
from kanren.graph import mapo as kanren_mapo
from unification import vars as lvars

import relgraph as rg
from relgraph.errors import RelationError
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.interpreter import answer, answers
from relgraph.rewriting.selection import Selection

A, B = rg.matrices("A B", shape=(3, 3))
x, y, z = rg.vectors("x y z", 3)


@rg.relation
def spread_matmulo(left, right):
    """A (a + b) = A a + A b, by goals whose answers do not end."""
    a, term, terms, products = lvars(4)
    return lall(
        eq(left, etuple(rg.matmul, a, term)),
        heado(rg.add, term),
        tailo(terms, term),
        conso(rg.add, products, right),
        kanren_mapo(lambda u, v: eq(v, etuple(rg.matmul, a, u)), terms, products),
    )


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


def test_a_search_that_runs_away_is_named():
    with pytest.raises(RelationError, match="nowhere_elseo: its search ran away") as raised:
        answer(nowhere_elseo, x + y)
    assert "x + y" in str(raised.value)


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
