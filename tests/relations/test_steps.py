"""Matches are bounded: large sums, conditions that fail, patterns that share variables, depth."""

import itertools
import random
from functools import reduce
from operator import add, mul

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import RelationError
from relgraph.relations import generated_source
from relgraph.relations.nary import leaves

OPS = [
    rg.sin, rg.cos, rg.tan, rg.exp, rg.log, rg.sqrt, rg.sinh, rg.cosh, rg.tanh, rg.arctan,
    rg.floor, rg.ceil, rg.log1p, rg.expm1, rg.arcsinh, rg.sign, rg.square, rg.reciprocal,
]  # fmt: skip


def identity(count, sides, where=None, **kwargs):
    """Return an identity whose sides are made from a list of logic variables."""
    names = ", ".join(f"a{i}" for i in range(count))
    scope = {"sides": sides, "where": where}
    function = eval(f"lambda {names}: sides([{names}])", scope)
    condition = eval(f"lambda {names}: where([{names}])", scope) if where else None
    return rg.identity(function, name="largeo", where=condition, **kwargs)


def inputs(count, **kwargs):
    return [rg.tensor(f"x{i}", (3,), **kwargs) for i in range(count)]


def merged(a):
    return reduce(mul, map(rg.exp, a)), rg.exp(reduce(add, a))


def cycle(a):
    return reduce(add, [x * y for x, y in zip(a, a[1:] + a[:1], strict=True)]), rg.log(
        reduce(add, a)
    )


def is_negated(x):
    return x.op is rg.negative


@pytest.fixture
def few_steps(monkeypatch):
    monkeypatch.setattr(generated_source, "STEPS", 200)


@pytest.mark.parametrize("count", [8, 9, 10, 20, 40])
@pytest.mark.usefixtures("few_steps")
def test_a_pattern_of_one_operand_more_than_the_graph_takes_few_steps(count):
    relation = identity(count, merged)
    graph = reduce(mul, map(rg.exp, inputs(count - 1)))
    assert rg.rewrite_graph(graph, relation) is graph
    nested = identity(count, lambda a: tuple(map(rg.sin, merged(a))))
    other = rg.sin(graph * rg.log(inputs(1)[0]))
    assert rg.rewrite_graph(other, nested) is other


@pytest.mark.parametrize("count", [3, 10, 20, 40])
def test_an_identity_of_many_terms_fires(count):
    relation = identity(count, merged)
    xs = inputs(count + 1)
    graph = reduce(mul, map(rg.exp, xs))
    result = rg.rewrite_graph(graph, relation)
    assert repr(result).count("exp") < repr(graph).count("exp") or count > 3
    values = [np.random.default_rng(i).uniform(-0.1, 0.1, 3) for i in range(count + 1)]
    computed = rg.evaluate(result, dict(zip(xs, values, strict=True)))
    np.testing.assert_allclose(computed, np.exp(sum(values)), rtol=1e-12)
    nested = identity(count, lambda a: tuple(map(rg.log, merged(a))))
    whole = rg.log(reduce(mul, map(rg.exp, xs[:-1])))
    assert rg.rewrite_graph(whole, nested).inputs[0].op is rg.exp


@pytest.mark.parametrize("count", [10, 18])
def test_an_identity_of_many_different_terms_fires(count):
    relation = identity(
        count, lambda a: (reduce(add, [f(x) for f, x in zip(OPS, a, strict=False)]), a[0])
    )
    xs = inputs(count)
    terms = [f(x) for f, x in zip(OPS, xs, strict=False)]
    random.Random(0).shuffle(terms)
    assert rg.rewrite_graph(reduce(add, terms), relation) is xs[0]
    graph = reduce(add, terms[1:])
    assert rg.rewrite_graph(graph, relation) is graph


@pytest.mark.parametrize("count, failing", [(9, 12), (10, 8), (13, 8), (19, 8)])
def test_a_condition_on_one_variable_is_decided_before_operands_are_combined(count, failing):
    calls = []

    def holds(x):
        calls.append(x)
        return is_negated(x)

    relation = identity(count, merged, lambda a: tuple(rg.checko(holds, x) for x in a))
    xs = [x if i < failing else -x for i, x in enumerate(inputs(20))]
    graph = reduce(mul, map(rg.exp, xs))
    fires = 20 - failing >= count
    assert (rg.rewrite_graph(graph, relation) is not graph) == fires
    assert len(calls) <= 20 * 20


@pytest.mark.parametrize("count", [4, 12])
def test_coefficients_are_told_apart_in_few_steps(few_steps, count):
    def sides(a):
        pairs = zip(a[::2], a[1::2], strict=True)
        return reduce(add, [c * rg.exp(x) for c, x in pairs]), rg.log(reduce(add, a))

    relation = identity(2 * count, sides)
    terms = [(x + 1) * rg.exp(x) for x in inputs(count + 1)]
    graph = reduce(add, terms[: count - 1])
    assert rg.rewrite_graph(graph, relation) is graph
    assert rg.rewrite_graph(reduce(add, terms[:count]), relation).op is rg.log


def never(*values):
    return False


@pytest.mark.parametrize("profile", [False, True])
def test_a_match_without_end_is_an_error_that_names_the_relation(profile):
    """A cycle of six products in a sum of all products of two of 24 inputs."""
    run = rg.profile_rewrites if profile else rg.rewrite_graph
    relation = identity(6, cycle, lambda a: rg.checko(never, *a))
    graph = reduce(add, [x * y for x, y in itertools.combinations(inputs(24), 2)])
    messages = []
    for _ in range(2):
        with pytest.raises(RelationError, match="largeo: matching one node took more") as caught:
            run(graph, relation)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    part = reduce(add, [x * y for x, y in itertools.combinations(inputs(11), 2)])
    other = rg.identity(lambda a: (rg.sin(rg.exp(a)), rg.cos(a)), name="othero")
    nested = identity(
        7, lambda a: (rg.sin(cycle(a[1:])[0] + a[0]), a[0]), lambda a: rg.checko(never, *a)
    )
    with pytest.raises(RelationError, match="largeo: matching one node took more"):
        run(rg.sin(part), [other, nested])


def test_operands_of_several_dtypes_match_in_any_order():
    relation = identity(3, merged)
    i, j = (rg.tensor(name, (3,), dtype="int64") for name in "ij")
    x = rg.tensor("x", (3,))
    for terms in itertools.permutations([i, j, x]):
        assert rg.rewrite_graph(reduce(mul, map(rg.exp, terms)), relation).op is rg.exp
    whole = reduce(mul, map(rg.exp, [rg.tensor(f"i{k}", (3,), dtype="int64") for k in range(60)]))
    assert rg.rewrite_graph(whole, relation) is whole


def different(x, y):
    return x is not y


# The sides of patterns with operands that may and may not be exchanged, and their conditions.
SMALL = [
    (lambda a, b, c: rg.exp(a) + rg.exp(b) + rg.exp(c), None),
    (lambda a, b: rg.exp(a) + rg.exp(a) + rg.exp(b), None),
    (lambda a, b, c, d: a * rg.exp(b) + c * rg.exp(d), None),
    (lambda a, b, c: rg.exp(a) + rg.exp(b) + rg.sin(a - c), None),
    (lambda a, b, c: a * b + b * c + c * a, None),
    (lambda a, b: rg.sin(a) + rg.sin(b) + rg.cos(a) + rg.cos(b), None),
    (
        lambda a, b, c: rg.exp(a) + rg.exp(b) + rg.sin(c),
        lambda a, b: rg.checko(different, a, b),
    ),
    (
        lambda a, b, c: rg.exp(a) + rg.exp(b) + rg.exp(c),
        lambda a, c: (rg.checko(different, a, c), rg.checko(different, c, a)),
    ),
    (lambda a, b, c: rg.exp(a - b) + rg.exp(b - c) + rg.exp(c - a), None),
    (lambda a, b: rg.exp(a) * rg.sin(b) + rg.exp(b) * rg.sin(a), None),
]


def term(draw, side, xs):
    """Return an operand like those of a side, of inputs that are drawn."""
    chosen = [draw.choice(xs) for _ in range(side.__code__.co_argcount)]
    return draw.choice(leaves(side(*chosen), rg.add))


def turned(terms):
    """Yield the sum of terms, with the factors of each in both orders."""
    both = [(x, x.op(*x.inputs[::-1])) if x.op is rg.multiply else (x,) for x in terms]
    for chosen in itertools.product(*both):
        yield reduce(add, chosen)


@pytest.mark.parametrize("number", range(len(SMALL)))
def test_a_sum_matches_where_kanren_has_an_answer_for_some_of_its_operands(number):
    side, where = SMALL[number]
    names = ", ".join(side.__code__.co_varnames)
    sides = eval(f"lambda {names}: (side({names}), rg.log(a))", {"side": side, "rg": rg})
    relation = rg.identity(sides, name="smallo", where=where)
    draw, xs = random.Random(number), inputs(3)
    size = len(leaves(side(*inputs(len(names.split(", ")))), rg.add))
    seen = {False: 0, True: 0}
    while min(seen.values()) < 4 and max(seen.values()) < 16:
        terms = [term(draw, side, xs) for _ in range(draw.randint(size - 1, size + 1))]
        orders = itertools.permutations(terms, size)
        answers = any(relation.run(1, graph) for order in orders for graph in turned(order))
        graph = reduce(add, terms)
        assert (rg.rewrite_graph(graph, relation) is not graph) == answers, graph
        seen[answers] += 1
    assert all(seen.values())


def test_a_deep_pattern_matches():
    def deep(x):
        return reduce(lambda y, _: rg.exp(y), range(180), x)

    relation = rg.identity(lambda a: (deep(a), rg.log(a)), name="deepo")
    x = inputs(1)[0]
    assert rg.rewrite_graph(deep(x), relation) is rg.log(x)
    near = reduce(lambda y, _: rg.exp(y), range(179), rg.sin(x))
    assert rg.rewrite_graph(near, relation) is near
    assert rg.rewrite_graph(rg.log(x), relation.reversed) is deep(x)


@pytest.mark.parametrize("depth", [300, 5000])
def test_a_pattern_that_is_too_deep_is_an_error_where_it_is_declared(depth):
    def deep(x):
        return reduce(lambda y, _: rg.exp(y), range(depth), x)

    with pytest.raises(RelationError, match="deepo: a side nests more than 200 ops"):
        rg.identity(lambda a: (deep(a), rg.log(a)), name="deepo")
    a = rg.lvars("a")[0]

    def deepo(left, right):
        return rg.lall(rg.eq(left, deep(a)), rg.eq(right, rg.log(a)))

    with pytest.raises(RelationError, match="deepo: a side nests more than 200 ops"):
        rg.relation(deepo)
