"""Declarations that cannot mean anything are refused where they stand."""

import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, PatternError, RelationError


def test_conditions_are_not_joined_by_and():
    with pytest.raises(ArgumentError, match="has no truth of its own"):
        rg.identity(where=lambda a, c: rg.constanto(c) and rg.floato(a))(
            lambda a, c: (a * c, rg.abs(a))
        )


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: rg.identity(3), "takes a function"),
        (lambda: rg.identity(lambda a, b=2: (a * b, a + a)), "plain logic variable"),
        (lambda: rg.identity(lambda *a: (a[0], a[0])), "plain logic variable"),
        (lambda: rg.identity(lambda a, b: (a + b, b + a)), "both sides are the same"),
        (
            lambda: rg.identity(lambda a, b, c: ((a + b) + c, c + (b + a))),
            "both sides are the same",
        ),
        (lambda: rg.identity(broadcast=["q"])(lambda a: (rg.exp(a), a)), "broadcast= names q"),
        (lambda: rg.identity(budget=0)(lambda a: (rg.log(rg.exp(a)), a)), "a positive integer"),
        (lambda: rg.identity(budget="3")(lambda a: (rg.log(rg.exp(a)), a)), "a positive integer"),
    ],
)
def test_ill_formed_identities_are_refused(declare, message):
    with pytest.raises(RelationError, match=message):
        declare()


def test_an_identity_states_several_pairs():
    @rg.identity(where=lambda b: (rg.floato(b),))
    def logarithmso(a, b):
        """log(a^b) = b log a for a > 0, and for base 2; log(e^b) = b."""
        for f in (rg.log, rg.log2):
            yield f(a**b), b * f(a), rg.positiveo(a)
        yield rg.log(rg.exp(b)), b

    assert str(logarithmso).splitlines() == [
        "logarithmso: log(a ** b) = b * log(a)  where float(b), positive(a)",
        "logarithmso: log2(a ** b) = b * log2(a)  where float(b), positive(a)",
        "logarithmso: log(exp(b)) = b  where float(b)",
    ]
    x, p = rg.vector("x"), rg.vector("p", facts="positive")
    graphs = [rg.log2(x**2.5), rg.log2(p**2.5), rg.log(rg.exp(x))]
    assert rg.rewrite_graph(graphs, logarithmso) == [graphs[0], 2.5 * rg.log2(p), x]
    assert logarithmso.run(0, graphs[1]) == (2.5 * rg.log2(p),)
    assert rg.log(p**2.5) in logarithmso.reversed.run(0, 2.5 * rg.log(p))


def test_pairs_are_stated_as_a_list_too():
    relation = rg.identity(
        lambda a: [(f(g(a)), a) for f, g in ((rg.log, rg.exp), (rg.log2, rg.exp2))], name="cancelo"
    )
    assert str(relation) == "cancelo: log(exp(a)) = a\ncancelo: log2(exp2(a)) = a"


@pytest.mark.parametrize(
    "statement",
    [
        lambda a: [],
        lambda a: [rg.exp(a), a],
        lambda a: [(rg.exp(a),)],
        lambda a: [(rg.log(rg.exp(a)), a, "positive")],
        lambda a: [(rg.log(rg.exp(a)), a, rg.eq(a, 1))],
    ],
)
def test_a_statement_consists_of_pairs(statement):
    with pytest.raises(RelationError, match="must return its two sides") as e:
        rg.identity(statement, name="cancelo")
    assert "yield left, right, condition" in str(e.value)


def test_the_number_of_answers_is_a_number():
    relation = rg.identity(lambda a: (rg.log(rg.exp(a)), a), name="cancel_log_expo")
    x = rg.vector("x")
    graph = rg.log(rg.exp(x))
    assert relation.run(0, graph) == relation.run(None, graph) == (x,)  # as in kanren
    assert relation.run(1, graph) == (x,)
    for wrong in ("a", -1, True, 1.0, graph):
        with pytest.raises(ArgumentError, match="number of answers first"):
            relation.run(wrong, graph)


def test_lvars_takes_names():
    with pytest.raises(PatternError, match="a string of names"):
        rg.lvars(3)


def test_one_name_for_two_inputs_is_refused():
    graph = rg.vector("a") + rg.vector("a", dtype="float32")
    with pytest.raises(ArgumentError, match="names two different inputs"):
        rg.function(None, graph, target="numpy")


def test_a_condition_that_fails_is_named_with_its_relation():
    @rg.identity(where=lambda a: rg.checko(lambda a: a.no_such_attribute, a, label="wrong(a)"))
    def cancel_log_expo(a):
        """log(exp(a)) = a."""
        return rg.log(rg.exp(a)), a

    x = rg.vector("x")
    with pytest.raises(RelationError, match="cancel_log_expo: a side condition failed: wrong") as e:
        rg.rewrite_graph(rg.log(rg.exp(x)), cancel_log_expo)
    assert "no_such_attribute" in str(e.value)
