"""Bounded searches: their states unify and reify as plain ones do, and count what is done."""

import itertools

import hypothesis.strategies as st
import kanren
import pytest
from cons import cons
from etuples import etuple
from etuples.core import ExpressionTuple
from hypothesis import given, settings
from kanren.constraints import neq
from unification import isvar, reify, unify, var

import relgraph as rg
from relgraph.errors import RelationError
from relgraph.relations.kanren import search
from relgraph.relations.kanren.search import OutOfSteps, State, Steps, constrained, substitution
from relgraph.relations.pattern import PatternVariable

x, y = rg.vectors("x y", 3)
VARS = [var(f"test_search.{i}") for i in range(4)]
NODES = [
    x,
    y,
    x + y,
    x + x,
    rg.sin(x),
    rg.sum(x, axis=0),
    rg.constant(2.0),
    rg.constant(0.0),
    x * 2,
]
OPS = [rg.add, rg.sin, rg.sum(x, axis=0).op, type(rg.sum(x).op)]
ATOMS = [*VARS, *VARS, *NODES, *OPS, 2.0, 2, 0.0, -0.0, True, None, "a", (-1,), False]


def _compound(inner):
    # An empty sequence inside of another one, in the tail of a bound pair, unifies with anything in
    # the plain substitution of logical-unification: test_an_empty_sequence_is_itself.
    few = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        few.map(lambda parts: etuple(*parts)),
        st.tuples(st.sampled_from(OPS), few).map(lambda p: etuple(p[0], *p[1])),
        few,
        few.map(tuple),
        st.tuples(inner, st.sampled_from(VARS)).map(lambda p: cons(*p)),
        st.tuples(st.sampled_from(OPS), st.sampled_from(VARS)).map(lambda p: cons(*p)),
        inner.map(lambda v: rg.lvars("p")[0] if isvar(v) else v),
    )


terms = st.recursive(st.sampled_from(ATOMS), _compound, max_leaves=6)


def _acyclic(s):
    """Return True if no variable is bound to a term that contains it: reify would not end."""

    def inner(term):
        if isvar(term):
            yield term
        elif isinstance(term, PatternVariable):
            yield term.token
        elif isinstance(term, ExpressionTuple | tuple | list):
            for part in term:
                yield from inner(part)
        elif type(term) is kanren.goals.ConsPair:
            yield from inner(term.car)
            yield from inner(term.cdr)

    reached = {v: set(inner(t)) for v, t in s.items()}
    for _ in reached:
        reached = {v: ws.union(*[reached.get(w, set()) for w in ws]) for v, ws in reached.items()}
    return not any(v in ws for v, ws in reached.items())


def _shown(term, found):
    """Return a term as plain data: which nodes, numbers, kinds of sequences.

    Equal numbers are shown alike: logical-unification may return -0.0 or False for 0.0.
    """
    if isinstance(term, ExpressionTuple | tuple | list):
        return (type(term), *[_shown(part, found) for part in term])
    if type(term) is kanren.goals.ConsPair:
        return ("cons", _shown(term.car, found), _shown(term.cdr, found))
    if isvar(term):
        return ("variable", found.setdefault(term, len(found)))
    if isinstance(term, rg.Variable | rg.ir.op.Op):
        return ("node or op", id(term))
    if isinstance(term, int | float):
        return ("number", term)
    return (type(term), term if isinstance(term, str) else None)


def _reified(term, s):
    """Reify a term; cons pairs with a tail that is no sequence are an error in any substitution."""
    try:
        return reify(term, s)
    except TypeError as error:
        return str(type(error))


@settings(max_examples=600, deadline=None)
@given(st.lists(st.tuples(terms, terms), min_size=1, max_size=3))
def test_terms_unify_and_reify_as_in_a_plain_substitution(pairs):
    plain, state = {}, State({}, Steps(10_000))
    for u, v in pairs:
        plain, state = unify(u, v, plain), unify(u, v, state)
        assert (plain is False) == (state is False)
        if plain is False or not _acyclic(plain):
            return
    for term in (*VARS, *itertools.chain(*pairs)):
        assert _shown(_reified(term, state), {}) == _shown(_reified(term, plain), {})


def test_reified_numbers_are_those_that_were_written():
    tail, first = VARS[:2]
    bound = unify(cons(0.0, tail), etuple(-0.0, first), State({}, Steps(1000)))
    assert repr(reify(cons(0.0, tail), bound)[0]) == "0.0"
    assert repr(reify(etuple(-0.0, first), bound)[0]) == "-0.0"


def test_an_empty_sequence_is_itself():
    head, tail = VARS[:2]
    state = State({}, Steps(1000))
    bound = unify(etuple(rg.add, "a", etuple()), cons(head, tail), state)
    assert substitution(bound) == {head: rg.add, tail: etuple("a", etuple())}
    assert unify(etuple(rg.add, etuple(), etuple()), cons(head, tail), bound) is False
    assert unify(etuple(rg.add, "a", etuple()), cons(head, tail), bound) is not False


def test_unifying_leaves_the_state_it_began_with():
    steps = Steps(100)
    state = State({}, steps)
    bound = unify(etuple(VARS[0], VARS[1]), etuple(x, y), state)
    assert substitution(state) == {}
    assert substitution(bound) == {VARS[0]: x, VARS[1]: y}
    assert bound.steps is steps
    assert unify(VARS[0], y, bound) is False


def test_what_graphs_are_made_of():
    a, b, c = VARS[:3]
    state = State({}, Steps(1000))
    assert substitution(unify(x + y, cons(a, b), state)) == {a: rg.add, b: etuple(x, y)}
    assert substitution(unify(etuple(a, b, c), x + y, state)) == {a: rg.add, b: x, c: y}
    total = rg.sum(x, axis=0)
    made = substitution(unify(total.op, etuple(a, b, c), state))
    assert total.op.__class__ is made[a]
    assert (made[b], made[c]) == total.op.params
    assert unify(rg.constant(2.0), 2, state) is state
    assert unify(rg.constant(0.0), -0.0, state) is False
    assert unify(x, cons(a, b), state) is False


@pytest.mark.parametrize(
    "look",
    [
        lambda s: s.get(VARS[0]), lambda s: VARS[0] in s, lambda s: s.copy(),
        lambda s: unify(VARS[0], 1, s), lambda s: reify(VARS[0], s), dict,
        lambda s: unify(VARS[0], 1, kanren.constraints.ConstrainedState(s)),
    ],
)  # fmt: skip
def test_whatever_is_done_with_a_state_counts(look):
    steps = Steps(5)
    state = State({VARS[0]: 1, steps: None}, steps) if look is not dict else State({}, steps)
    with pytest.raises(OutOfSteps):
        for _ in range(100):
            look(state)


def test_constraints_that_are_not_decided_are_told():
    a = VARS[0]
    (answer,) = search.search(lambda: neq(a, 1), Steps(1000))
    assert constrained(answer)
    assert substitution(answer) == {}
    (answer,) = search.search(lambda: kanren.lall(neq(a, 1), kanren.eq(a, 2)), Steps(1000))
    assert not constrained(answer)
    assert substitution(answer) == {a: 2}


def test_a_relation_under_constraints_is_left_to_kanren():
    @rg.relation
    def unlikeo(left, right):
        a, b = VARS[:2]
        return kanren.lall(
            kanren.eq(left, etuple(rg.hypot, a, b)),
            neq(a, b),
            kanren.eq(right, etuple(rg.arctan2, a, b)),
        )

    assert unlikeo.interpreted
    assert rg.rewrite_graph(rg.hypot(x, y), unlikeo) is rg.arctan2(x, y)
    assert rg.rewrite_graph(rg.hypot(x, x), unlikeo) is rg.hypot(x, x)


def forever():
    """A goal that unifies for ever and never answers."""

    def goal(state):
        while True:
            unify(etuple(var(), 1), etuple(2, var()), state)
        yield state

    return goal


def test_a_query_that_runs_away_is_named():
    @rg.relation
    def endlesso(left, right):
        return kanren.lany(kanren.eq(left, right), kanren.lall(kanren.eq(right, x), forever()))

    assert endlesso.run(1, rg.sin(x)) == (rg.sin(x),)
    with pytest.raises(RelationError, match=r"endlesso: its search ran away .* without an answer"):
        endlesso.run(2, rg.sin(x))


def test_answers_without_end_can_be_asked_for_one_by_one(monkeypatch):
    monkeypatch.setattr(search, "STEPS", 200)
    q = var()

    def counted(n):
        return kanren.conde([kanren.eq(q, n)], [kanren.core.Zzz(counted, n + 1)])

    found = [reify(q, s) for s in itertools.islice(search.answers(lambda: counted(0), "n"), 60)]
    assert found == list(range(60))
