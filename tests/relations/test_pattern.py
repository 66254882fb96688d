"""Patterns: logic variables under the operators of graphs, and as terms of kanren."""

from __future__ import annotations

import kanren
import numpy as np
import pytest
from etuples import etuple
from unification import isvar, reify, unify, var

import relgraph as rg
from relgraph.errors import PatternError
from relgraph.ops.reductions import Sum
from relgraph.relations.pattern import (
    OpPattern,
    Pattern,
    PatternNode,
    fresh,
    from_term,
    rename,
    same_term,
    subterms,
    to_term,
    variables,
)
from tests.concurrency import at_once

p, q, r = rg.lvars("p q r")
x, y = rg.vectors("x y", shape=("n",))
A = rg.matrix("A", shape=("n", "n"))


def test_logic_variables_are_fresh():
    one, two = rg.lvars("v v")
    assert one != two
    assert one == one
    assert repr(one) == repr(two) == "v"
    assert [v.name for v in rg.lvars("a, b c")] == ["a", "b", "c"]
    assert isvar(one.token)
    assert fresh("a") != fresh("a")


def test_threads_get_variables_of_their_own():
    def draw(names):
        return [v.token for _ in range(200) for v in rg.lvars(names)]

    found = [token for drawn in at_once(draw, ["a b"] * 4) for token in drawn]
    assert len(set(found)) == len(found) == 1600


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (p + q * 2, "p + q * 2"), ((p + q) * 2, "(p + q) * 2"), (1 - p, "1 - p"),
        (p - (q - r), "p - (q - r)"), (-(p**2), "-p ** 2"), ((-p) ** 2, "(-p) ** 2"),
        (p @ (q + 1), "p @ (q + 1)"), (np.exp(p), "exp(p)"), (rg.where(p > 0, p, q),
        "where(p > 0, p, q)"), (rg.sum(p, axis=q), "sum(p, axis=q)"),
        (rg.sum(p, axis=-1), "sum(p, axis=(-1,))"), (rg.add(p, q, r), "p + q + r"),
        (x + p, "x + p"), (p // q % r, "p // q % r"), (~(p > q), "~(p > q)"),
        (abs(p), "absolute(p)"),
    ],
)  # fmt: skip
def test_patterns_read_as_graphs_do(pattern, text):
    assert isinstance(pattern, PatternNode)
    assert repr(pattern) == text


def test_patterns_compare_by_structure():
    assert p + q == p + q
    assert p + q != q + p
    assert hash(p + q) == hash(p + q)
    assert p + 1 != p + 1.0
    assert p + 1 != p + True
    assert p + 0.0 != p + -0.0
    assert not same_term(1, True)
    assert same_term(float("nan"), float("nan"))
    assert rg.sum(p, axis=q) == rg.sum(p, axis=q)
    assert rg.sum(p, axis=q) != rg.sum(p, axis=r)


def test_open_parameters():
    pattern = rg.sum(p, axis=q)
    assert isinstance(pattern.op, OpPattern)
    assert pattern.op.cls is Sum
    assert variables(pattern) == [q, p] or variables(pattern) == [p, q]
    assert repr(pattern.op) == "sum{axis=q, keepdims=False}"


def test_terms_below_a_term():
    pattern = rg.exp(p) + q * p
    assert list(subterms(pattern)) == [pattern, rg.exp(p), p, q * p, q, p]
    assert variables(pattern) == [p, q]
    assert variables(3) == []
    assert rename(pattern, {p: r, q: x}.get) == rg.exp(r) + x * r
    assert rename(rg.sum(p, axis=q), {p: p, q: r}.get) == rg.sum(p, axis=r)


@pytest.mark.parametrize("name", ["shape", "size", "ndim", "dtype", "type"])
def test_patterns_are_untyped(name):
    for pattern in (p, p + q):
        with pytest.raises(PatternError, match=f"a pattern has no {name}"):
            getattr(pattern, name)
    with pytest.raises(AttributeError):
        p.anything


@pytest.mark.parametrize("bad", ["text", object(), None])
def test_what_cannot_stand_in_a_pattern(bad):
    with pytest.raises(PatternError, match="cannot stand in a pattern"):
        rg.add(p, bad)


def test_what_needs_a_rank_is_refused():
    with pytest.raises(PatternError, match="rank"):
        p[0]


def test_arrays_and_scalars_in_patterns():
    assert rg.add(p, np.float64(2)) == p + 2.0
    assert (p + np.array([1.0, 2.0])).args[1] is rg.constant([1.0, 2.0])
    assert rg.add(p, etuple(rg.exp, q.token)) == p + rg.exp(q)


@pytest.mark.parametrize(
    ("pattern", "graph", "bound"),
    [
        (p + q, x + y, {p: x, q: y}),
        (p + p, x + y, None),
        (p + p, x + x, {p: x}),
        (p * q, x + y, None),
        (rg.exp(p) + 1, rg.exp(x) + 1, {p: x}),
        (p + 1, x + 2, None),
        (p + 0.0, x + -0.0, None),
        (rg.sum(p, axis=q), rg.sum(A, axis=0), {p: A, q: (-2,)}),
        (rg.sum(p, axis=q), rg.sum(A), {p: A, q: None}),
        (rg.sum(p, axis=q), rg.sum(A, axis=0, keepdims=True), None),
        (x + p, x + y, {p: y}),
    ],
    ids=repr,
)
def test_patterns_unify_as_terms(pattern, graph, bound):
    expected = False if bound is None else {v.token: value for v, value in bound.items()}
    assert unify(pattern, graph, {}) == expected
    assert unify(graph, pattern, {}) == expected
    assert unify(pattern, rg.lower(graph), {}) == expected


def test_patterns_unify_with_each_other():
    s = unify(rg.exp(p) + q, r, {})
    assert from_term(reify(r, s)) == rg.exp(p) + q
    assert unify(rg.exp(p), rg.log(q), {}) is False
    assert unify(p, q, {}) is not False


def test_patterns_are_terms_of_kanren():
    v = var()
    assert kanren.run(0, p.token, kanren.eq(rg.exp(p) + y, rg.exp(x) + y)) == (x,)
    (made,) = kanren.run(0, v, kanren.eq(p, x), kanren.eq(v, rg.exp(p)))
    assert rg.raise_(made) is rg.exp(x)


def test_a_pattern_is_the_term_it_stands_for():
    for pattern in (p, p + q, rg.exp(p) * 2 + x, rg.sum(p, axis=q), rg.sum(p), x):
        assert from_term(to_term(pattern), {v.token: v for v in (p, q)}) == pattern
    assert isinstance(from_term(etuple(rg.add, var("a"), var("b"))), Pattern)
    with pytest.raises(PatternError, match="must be an op"):
        from_term(etuple(3, x))


def test_a_negative_number_is_bracketed_left_of_a_power():
    x, y = rg.lvars("x y")
    assert str((-2) ** x) == "(-2) ** x"
    assert str(rg.constant(-2.0) ** x) == "(-2) ** x"
    assert str(x ** (-2)) == "x ** -2"
    assert str(x * (-2) - y) == "x * -2 - y"
    assert str((-x) ** 2) == "(-x) ** 2"


def test_an_open_op_takes_all_of_its_parameters():
    a, b = rg.lvars("a b")
    for wrong in (lambda: Sum(a), lambda: Sum(a, b, b), lambda: Sum(a, b, axis=b)):
        with pytest.raises(PatternError, match=r"Sum takes the parameters \(axis, keepdims\)"):
            wrong()
    with pytest.raises(PatternError, match=r"given : keepdims=b, to=a"):
        Sum(keepdims=b, to=a)
    assert Sum(a, keepdims=b).params == Sum(a, b).params == (a, b)


def test_elements_are_not_compared_with_python_s_equality_in_an_identity():
    for function in (
        lambda a: (rg.where(a == 0, 1.0, rg.sin(a) / a), rg.sin(a) / a),
        lambda a: (rg.where(rg.sin(a) != 0, rg.sin(a), 0.0), rg.sin(a)),
        lambda a, b: (rg.where(a == b, a, b), b),
    ):
        with pytest.raises(PatternError, match="ask whether two are the same") as caught:
            rg.identity(function, name="choiceo")
        assert "rg.equal(a, b)" in caught.value.fix
    made = rg.identity(lambda a, b: (rg.where(rg.equal(a, b), a, b), b), name="choiceo")
    assert rg.rewrite_graph(rg.where(rg.equal(x, y), x, y), made) is y


def test_patterns_are_compared_elsewhere():
    a, b = rg.lvars("a b")
    assert a != b
    assert (rg.sin(a) == rg.sin(a)) is True
    assert (a == 3) is False
