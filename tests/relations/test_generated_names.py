"""Names that reach generated source are identifiers, or one line of text in a comment."""

from typing import ClassVar

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, RelationError

EVIL = "x\nimport builtins; builtins.ran = True #"
NAMES = (EVIL, "a b", "a-b", "a.b", "", "1st", 'quote"', "x\r", "x\x00", "x\u2028", "f()")


def sides(x):
    return rg.log(rg.exp(x)), x


def goal(left, right):
    x = rg.lvars("x")
    return rg.lall(rg.eq(left, rg.log(rg.exp(x))), rg.eq(right, x))


@pytest.mark.parametrize("name", NAMES)
def test_names_of_relations_are_identifiers(name):
    for declare in (
        lambda: rg.identity(sides, name=name),
        lambda: rg.relation(goal, name=name),
        lambda: rg.KanrenRelationSub(goal, name=name),
        lambda: rg.SubstitutionNodeRewriter(rg.exp, rg.log, name=name),
        lambda: rg.RemovalNodeRewriter(rg.exp, name=name),
        lambda: rg.PatternNodeRewriter((rg.log, (rg.exp, "x")), "x", name=name),
    ):
        if name == "":  # as if it was left out
            continue
        with pytest.raises(RelationError, match="a name is an identifier of Python"):
            declare()


@pytest.mark.parametrize("name", [EVIL, "x\r", "x\x00", "x\u2028"])
def test_names_of_functions_stay_in_their_comment(name):
    def named(x):
        return rg.log(rg.exp(x)), x

    named.__name__ = name
    with pytest.raises(RelationError, match="one line of text"):
        rg.identity(named)


def test_lambdas_and_equations_are_names():
    x = rg.vector("x")
    unnamed = rg.identity(lambda x: (rg.log(rg.exp(x)), x))
    equation = rg.PatternNodeRewriter((rg.log, (rg.exp, "x")), "x")
    assert "=" in equation.name
    for relation in (unnamed, equation):
        assert rg.rewrite_graph(rg.log(rg.exp(x)), relation) is x


@pytest.mark.parametrize("wrong", NAMES)
def test_names_of_ops_are_identifiers(wrong):
    with pytest.raises(ArgumentError, match="name of the op Named is an identifier") as error:

        class Named(rg.Op):
            name = wrong

    assert "huber_loss" in str(error.value)


def test_names_that_ops_make_of_their_parameters_are_identifiers():
    class Power(rg.Op):
        parameters: ClassVar = ("text",)
        arity = 1

        @property
        def name(self):
            return f"power_{self.params[0]}"

        def infer(self, x):
            return x

        def perform(self, x):
            return np.asarray(x)

    assert Power("two").name == "power_two"
    with pytest.raises(ArgumentError, match="name of an op is an identifier"):
        Power(EVIL)


@pytest.mark.parametrize("name", ["n", "n0", "t", "view", "steps", "Variable", "apply", "type"])
def test_ops_may_have_the_names_of_generated_locals(name):
    class Pair(rg.Op):
        """Any op of two operands that commutes."""

        __slots__ = ()
        arity = 2
        commutative = associative = True

        def infer(self, x, y):
            return x

    Pair.name = name
    pair = Pair()
    a, b, c = rg.vectors("a b c", shape=("n",))

    @rg.identity
    def whole(x):
        return rg.exp(pair(x, x)), x

    @rg.identity
    def part(x, y):
        return pair(rg.exp(x), rg.sin(y)), rg.tanh(x) * y

    assert rg.rewrite_graph(rg.exp(pair(a, a)), whole) is a
    graph = pair(rg.sin(b), pair(c, rg.exp(a)))
    assert rg.rewrite_graph(graph, part) is pair(rg.tanh(a) * b, c)
