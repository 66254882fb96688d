"""Clauses: the two directions of an equation, and what becomes a block."""

import pytest

import relgraph as rg
from relgraph.errors import NotInvertibleError, UnboundVariableError
from relgraph.relations.clause import Clause, orient, with_block
from relgraph.relations.kanren.goals import calco, facto
from relgraph.relations.pattern import Block, PatternNode, same_term

x, y, z, a, b = rg.lvars("x y z a b")


def forward(clause, backward=False):
    return orient(clause, backward, "testo", "here.py:1")


def test_a_clause_reads_as_an_equation():
    assert str(Clause(rg.log(rg.exp(x)), x)) == "log(exp(x)) = x"
    guarded = Clause(rg.sqrt(rg.square(x)), x, (facto(x, "nonnegative"),))
    assert str(guarded) == "sqrt(square(x)) = x  where nonnegative(x)"


def test_an_orientation_reads_as_a_rewrite():
    clause = Clause(rg.exp(x) * rg.exp(y), rg.exp(x + y))
    assert str(forward(clause)) == "exp(x) * exp(y) -> exp(x + y)"
    assert str(forward(clause, backward=True)) == "exp(x + y) -> exp(x) * exp(y)"
    assert forward(clause).pointwise
    assert not forward(Clause(x @ y, y @ x)).pointwise


@pytest.mark.parametrize("side", [x, 3, 2.5], ids=repr)
def test_a_side_that_is_no_application_is_not_matched(side):
    with pytest.raises(NotInvertibleError, match="testo cannot run backward"):
        forward(Clause(rg.sin(x), side), backward=True)


def test_a_built_side_needs_its_variables():
    with pytest.raises(UnboundVariableError, match="nothing binds y") as raised:
        forward(Clause(x * 0, y * 0))
    assert "here.py:1" in str(raised.value)
    assert "x * 0" in str(raised.value)


def test_conditions_run_when_their_arguments_are_bound():
    double = calco(b, lambda v: v, a)
    clause = Clause(rg.sum(x, axis=a), rg.sum(-x, axis=b), (facto(x, "positive"), double))
    made = forward(clause)
    assert [c.kind for c in made.conditions] == ["check", "calc"]
    with pytest.raises(NotInvertibleError, match="a would have to be computed backwards"):
        forward(clause, backward=True)


def test_a_chain_of_computations_is_ordered():
    first, second = calco(b, len, a), calco(y, abs, b)
    clause = Clause(rg.sum(x, axis=a), rg.sum(x, axis=y), (second, first))
    assert forward(clause).conditions == (first, second)


@pytest.mark.parametrize(
    "left, right",
    [
        (x @ (y + z), x @ y + x @ z),
        ((y + z) @ x, y @ x + z @ x),
        (x * (y + z), x * y + x * z),
        (rg.sum(y + z, axis=a), rg.sum(y, axis=a) + rg.sum(z, axis=a)),
        (rg.exp(y + z), rg.exp(y) * rg.exp(z)),
        (rg.log(y * z), rg.log(y) + rg.log(z)),
        (-(y + z), -y + -z),
    ],
    ids=str,
)
def test_a_mapped_sum_becomes_a_block_in_both_directions(left, right):
    found = with_block(Clause(left, right))
    outer = found.right
    assert isinstance(outer, Block)
    assert len(outer.own) == 1
    assert isinstance(found.left, PatternNode)
    swapped = with_block(Clause(right, left))
    assert isinstance(swapped.left, Block)


@pytest.mark.parametrize(
    "left, right",
    [
        (rg.log(rg.exp(x)), x),
        (x * (y - z), x * y - x * z),
        (rg.sin(x) ** 2 + rg.cos(x) ** 2, 1),
        (x + x, 2 * x),
        (rg.maximum(x, y) + rg.minimum(x, y), x + y),
        (y * (y + z), y * y + y * z),
        (a * x + x, (a + 1) * x),
        (y + z, rg.sin(y) + rg.sin(z)),
    ],
    ids=str,
)
def test_what_is_not_mapped_stays_as_it_is(left, right):
    clause = Clause(left, right)
    assert with_block(clause) is clause


def test_conditions_of_both_terms_become_one():
    clause = Clause(
        rg.log(y * z), rg.log(y) + rg.log(z), (facto(y, "positive"), facto(z, "positive"))
    )
    found = with_block(clause)
    assert isinstance(found.right, Block)
    assert len(found.conditions) == 1
    (own,) = found.right.own
    assert same_term(found.conditions[0].args[0], own)


@pytest.mark.parametrize(
    "conditions",
    [
        (facto(y, "positive"),),
        (facto(y, "positive"), facto(z, "nonzero")),
        (rg.checko(lambda u, v: u is not v, y, z),),
    ],
    ids=repr,
)
def test_conditions_that_tell_the_terms_apart_keep_it_binary(conditions):
    clause = Clause(rg.log(y * z), rg.log(y) + rg.log(z), conditions)
    assert with_block(clause) is clause
