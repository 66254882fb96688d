"""Derivations pickle: nodes once, relations and rewriters by what they are."""

import copy
import pickle
import subprocess
import sys

import pytest
from etuples import etuple
from kanren.graph import mapo as kanren_mapo
from unification import vars as lvars

import relgraph as rg
from relgraph.errors import ArgumentError
from tests.samples import cancel_log_expo

x, y = rg.vectors("x y", 3)
A, B = rg.matrices("A B", (3, 3))


@rg.relation
def spread_matmulo(left, right):
    """A (a + b) = A a + A b, by goals whose answers do not end."""
    a, term, terms, products = lvars(4)
    return rg.lall(
        rg.eq(left, etuple(rg.matmul, a, term)),
        rg.heado(rg.add, term),
        rg.tailo(terms, term),
        rg.conso(rg.add, products, right),
        kanren_mapo(lambda u, v: rg.eq(v, etuple(rg.matmul, a, u)), terms, products),
    )


class Halve(rg.NodeRewriter):
    """x + x is 2 x."""

    def tracks(self):
        return [rg.add]

    def transform(self, graph, node):
        a, b = node.inputs
        return 2 * a if a is b else None


GRAPHS = [
    rg.log(rg.exp(x + x)) - x + 0 * y + (A @ B.T).T @ x,
    2.0 * x * 3.0 + rg.sum(A @ x) * 4.0 + (rg.constant(2.0) + 3.0),
    rg.where(x > 0, y, y) + x[:2].sum() + rg.maximum(x, x),
]


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_derivation_pickles_with_its_firings(graph):
    derivation = rg.explain(graph, mode="o4")
    again = pickle.loads(pickle.dumps(derivation))
    assert again.before == derivation.before and again.after == derivation.after
    assert str(again) == str(derivation)
    assert len(again) == len(derivation) > 1
    for mine, other in zip(derivation.steps, again.steps, strict=True):
        assert (mine.before, mine.after) == (other.before, other.after)
        for a, b in zip(mine.firings, other.firings, strict=True):
            assert a[1:] == b[1:]
            assert str(a.rewrite) == str(b.rewrite)
    again.check()


def test_phases_and_copies():
    derivation = rg.explain(rg.log(rg.exp(x)) + 1, cancel_log_expo)
    (phase,) = derivation.phases
    again = pickle.loads(pickle.dumps(phase))
    again.check()
    assert again.selection is phase.selection
    assert again == phase
    for made in (copy.copy, copy.deepcopy):
        assert made(derivation) is derivation
        assert made(phase) is phase


def test_steps_of_kanren_and_of_rewriters_in_python():
    assert spread_matmulo.interpreted
    derivation = rg.explain(A @ (x + y) + rg.sin(x + x), spread_matmulo, Halve())
    used = {name for step in derivation for name in step.relations}
    assert used == {"spread_matmulo", "Halve"}
    again = pickle.loads(pickle.dumps(derivation))
    assert str(again) == str(derivation)
    again.check()


def test_another_process_reads_and_checks_it(tmp_path):
    derivation = rg.explain(GRAPHS[0], mode="o4")
    file = tmp_path / "derivation.pickle"
    file.write_bytes(pickle.dumps(derivation))
    program = (
        "import pickle, sys\n"
        "found = pickle.load(open(sys.argv[1], 'rb'))\n"
        "found.check()\n"
        "print(found)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{derivation}\n"


def test_long_derivations_pickle():
    graph = x
    for _ in range(3_000):
        graph = rg.log(rg.exp(graph)) * y
    derivation = rg.explain(graph, cancel_log_expo)
    packed = pickle.dumps(derivation)
    assert len(packed) < 1_000 * len(derivation)
    assert pickle.loads(packed).after == derivation.after


def test_pickling_a_local_relation_raises():
    @rg.identity
    def localo(a):
        return rg.log(rg.exp(a)), a

    with pytest.raises(ArgumentError, match="localo"):
        pickle.dumps(rg.explain(rg.log(rg.exp(x)), localo))


def nameless(op, inverse):
    return rg.identity(lambda a: (inverse(op(a)), a))


def test_relations_with_equal_names_are_distinguished():
    relations = [nameless(rg.exp, rg.log), nameless(rg.log, rg.exp)]
    assert relations[0].label == relations[1].label
    derivation = rg.explain(rg.exp(rg.log(rg.log(rg.exp(x)))), relations)
    assert derivation.after == (x,)
    derivation.check()
    with pytest.raises(ArgumentError, match="cannot be pickled: no module holds it"):
        pickle.dumps(derivation)


def test_relations_of_one_name_pickle_where_a_module_holds_them(monkeypatch):
    there = sys.modules[__name__]
    for held, pair in (("first", (rg.exp, rg.log)), ("second", (rg.log, rg.exp))):
        monkeypatch.setattr(there, held, nameless(*pair), raising=False)
    both = [there.first, there.second]
    derivation = rg.explain(rg.exp(rg.log(rg.log(rg.exp(x)))), both)
    again = pickle.loads(pickle.dumps(derivation))
    again.check()
    found = [f.rewrite.source for step in again for f in step.firings]
    assert found == [f.rewrite.source for step in derivation for f in step.firings]
    assert set(found) == set(both)
