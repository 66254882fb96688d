"""Skeletons show the upper levels of a graph, and tell when more is looked at."""

import pytest
from cons import cons
from etuples import etuple
from kanren import conso, eq, lall, membero, nullo
from kanren.goals import ConsPair
from unification import reify, unify, var

import relgraph as rg
from relgraph.relations.kanren.search import State, Steps, search
from relgraph.relations.kanren.skeleton import Looked, Outline, Watch

x, y, z = rg.vectors("x y z", 3)
a, b, c = (var(f"test_skeleton.{i}") for i in range(3))


def skeleton(node, levels):
    watch = Watch()
    return Outline(node, levels).skeleton(watch), watch


def state(watch):
    return State({}, Steps(1000, watch))


def test_nodes_of_one_shape_have_one_key():
    assert Outline(x + y, 1).key == Outline(rg.sin(x) + z, 1).key
    assert Outline(x + y, 1).key != Outline(x + x, 1).key
    assert Outline(x + y, 1).key != Outline(x - y, 1).key
    assert Outline(x + y, 2).key != Outline(rg.sin(x) + z, 2).key
    assert Outline(rg.sin(x) + z, 2).key == Outline(rg.sin(y * 3) + x, 2).key
    assert Outline(rg.sin(x) + x, 2).key != Outline(rg.sin(x) + y, 2).key
    assert Outline(x * 2, 2).key != Outline(x * 3, 2).key
    assert Outline(x * 2, 1).key == Outline(x * 3, 1).key


def test_parts_that_are_shown_unify():
    root, watch = skeleton(rg.sin(x) * x + 2, 2)
    s = unify(root, etuple(rg.add, etuple(rg.multiply, a, b), 2), state(watch))
    assert s is not False
    assert s.bound[a] is not s.bound[b]
    assert unify(root, etuple(rg.add, etuple(rg.sin, a), 2), state(watch)) is False
    assert unify(root, etuple(rg.add, etuple(rg.multiply, a, a), 2), state(watch)) is False
    assert unify(root, cons(rg.add, a), state(watch)) is not False
    assert not watch.looked


def test_one_node_is_one_skeleton():
    root, watch = skeleton(rg.sin(x) + x, 2)
    assert unify(root, etuple(rg.add, etuple(rg.sin, a), a), state(watch)) is not False
    root, watch = skeleton(rg.sin(x) + y, 2)
    assert unify(root, etuple(rg.add, etuple(rg.sin, a), a), state(watch)) is False
    assert not watch.looked


@pytest.mark.parametrize(
    "term",
    [etuple(rg.add, etuple(rg.sin, a), b), etuple(rg.add, cons(rg.sin, a), b),
     etuple(rg.add, 2, a), etuple(rg.add, a, [b]), etuple(rg.add, x, a)],
)  # fmt: skip
def test_parts_that_are_not_shown_ask_for_more(term):
    root, watch = skeleton(rg.sin(x) + y, 1)
    with pytest.raises(Looked):
        unify(root, term, state(watch))
    assert watch.looked
    assert watch.deeper


def test_inputs_that_are_shown_have_no_parts():
    root, watch = skeleton(x + y, 2)
    assert unify(root, etuple(rg.add, etuple(rg.sin, a), b), state(watch)) is False
    assert unify(root, etuple(rg.add, 2, b), state(watch)) is False
    assert unify(root, etuple(rg.add, cons(a, b), c), state(watch)) is False
    assert not watch.looked
    with pytest.raises(Looked):  # another x would not do
        unify(root, etuple(rg.add, x, b), state(watch))
    assert not watch.deeper


@pytest.mark.parametrize(
    "look",
    [lambda v: v.type, lambda v: v.dtype, lambda v: v.op, lambda v: v.inputs, lambda v: v.ndim,
     lambda v: v.name, lambda v: v.value, lambda v: v.digest, repr, hash, lambda v: v + 1,
     lambda v: v == x, lambda v: rg.is_positive(v) if hasattr(rg, "is_positive") else v.facts],
)  # fmt: skip
@pytest.mark.parametrize("levels", [1, 2])
def test_attributes_are_hidden(look, levels):
    root, watch = skeleton(rg.sin(x) + y, levels)
    with pytest.raises(Looked):
        look(root)
    assert watch.looked
    root, watch = skeleton(rg.sin(x) + y, 2)
    atom = root.parts[2]
    with pytest.raises(Looked):
        look(atom)
    assert watch.looked


def test_whether_a_node_is_a_pair_is_hidden_until_it_is_shown():
    root, watch = skeleton(rg.sin(x) + y, 1)
    assert isinstance(root, ConsPair)
    with pytest.raises(Looked):
        isinstance(root.parts[1], ConsPair)
    root, watch = skeleton(rg.sin(x) + y, 2)
    assert isinstance(root.parts[1], ConsPair)
    assert not isinstance(root.parts[2], ConsPair)
    assert not watch.looked


def test_goals_on_the_sequence_alone_may_reify():
    root, watch = skeleton(x + y, 1)

    def goal():
        return lall(conso(rg.add, a, root), membero(b, a), nullo(c))

    assert len(list(search(goal, Steps(1000, watch)))) == 2
    assert not watch.looked


def looks(read):
    def goal(s):
        read(s)
        yield s

    return goal


@pytest.mark.parametrize(
    "read", [lambda s: reify(a, s), lambda s: s[a], lambda s: s.get(a), dict, lambda s: a in s]
)
def test_goals_that_read_a_state_are_told(read):
    root, watch = skeleton(x + y, 1)
    with pytest.raises(Looked):
        list(search(lambda: lall(eq(a, root), looks(read)), Steps(1000, watch)))
    assert watch.looked
    assert not watch.deeper
