"""Plain matchers: what operands could not match is neither compiled nor tried."""

import numpy as np

import relgraph as rg
from relgraph.checking.generators.cases import cases
from relgraph.db import catalogue
from relgraph.db.listing import both_directions
from relgraph.ir.graph import toposort
from relgraph.ops.concatenate import Concatenate
from relgraph.relations.discrimination_tree import PlainMatcher
from relgraph.relations.matcher import compile_plain
from relgraph.relations.op_kinds import KINDS
from relgraph.relations.pattern import node
from relgraph.rewriting.selection import selection_of
from tests.samples import cancel_log_expo

x, y = rg.vectors("x y", shape=(3,))


@rg.identity
def log_sqrto(a):
    return rg.log(rg.sqrt(a)), rg.log(a) / 2


@rg.identity
def log_oneo():
    return node(rg.log, 1.0), 0.0


@rg.identity(where=lambda a: (rg.positiveo(a),))
def log_positiveo(a):
    return rg.log(a), rg.negative(rg.log(1 / a))


@rg.identity
def log_by_twoo(a):
    return rg.log(a), rg.log2(a) * np.log(2.0)


def matcher(op, *relations):
    return PlainMatcher(op, [(r, i) for r in relations for i in range(len(r.clauses))])


def fired(match, graph):
    found = match(graph)
    return None if found is None else (found[0], found[1].relation)


def test_only_what_operands_could_match_is_compiled():
    match = matcher(rg.log, cancel_log_expo, log_sqrto)
    assert match.source == ""
    assert fired(match, rg.log(x)) is None
    assert fired(match, rg.log(rg.sin(x))) is None
    assert match.source == ""
    assert fired(match, rg.log(rg.exp(x))) == (x, "cancel_log_expo")
    assert "# cancel_log_expo" in match.source
    assert "log_sqrto" not in match.source
    assert fired(match, rg.log(rg.sqrt(y))) == (rg.log(y) / 2, "log_sqrto")
    assert match.source.count("def ") == 2


def test_declared_order_decides_among_those_that_could_match():
    for relations in ((cancel_log_expo, log_by_twoo), (log_by_twoo, cancel_log_expo)):
        match = matcher(rg.log, *relations)
        assert fired(match, rg.log(rg.exp(x)))[1] == relations[0].name
        assert fired(match, rg.log(rg.sin(x)))[1] == "log_by_twoo"


def test_constants_are_matched_by_numbers_and_by_variables():
    match = matcher(rg.log, log_oneo, log_positiveo)
    assert fired(match, rg.log(rg.constant(1.0)))[1] == "log_oneo"
    assert fired(match, rg.log(rg.constant(2.0)))[1] == "log_positiveo"
    assert fired(match, rg.log(x)) is None


def test_operands_of_a_commutative_op_play_either_role():
    @rg.identity
    def equal_expo(a, b):
        return rg.equal(rg.exp(a), rg.sin(b)), rg.equal(rg.sin(b), rg.exp(a + 0.0))

    match = matcher(rg.equal, equal_expo)
    expected = rg.equal(rg.sin(y), rg.exp(x + 0.0))
    assert fired(match, rg.equal(rg.exp(x), rg.sin(y))) == (expected, "equal_expo")
    assert fired(match, rg.equal(rg.sin(y), rg.exp(x))) == (expected, "equal_expo")
    assert fired(match, rg.equal(rg.sin(y), rg.sin(x))) is None


def test_open_ops_and_nodes_among_the_operands():
    @rg.identity
    def exp_sumo(a, axis):
        return rg.exp(rg.sum(a, axis=axis)), rg.prod(rg.exp(a), axis=axis)

    @rg.identity
    def exp_xo():
        return node(rg.exp, x), rg.exp2(x)

    match = matcher(rg.exp, exp_sumo, exp_xo)
    A = rg.matrix("A")
    for axis in (None, -1, -2):
        assert fired(match, rg.exp(rg.sum(A, axis=axis)))[1] == "exp_sumo"
    assert fired(match, rg.exp(x))[1] == "exp_xo"
    assert fired(match, rg.exp(y)) is None


def test_ops_of_any_number_of_operands():
    @rg.identity
    def join_twiceo(a):
        return Concatenate(-1)(a, a), -Concatenate(-1)(-a, a)

    match = matcher(rg.concatenate([x, x]).op, join_twiceo)
    assert fired(match, rg.concatenate([x, x]))[0] is -rg.concatenate([-x, x])
    assert match(rg.concatenate([x, x, x])) is None
    assert match(rg.concatenate([x, y])) is None


def test_nothing_is_missed_that_one_matcher_of_all_rewrites_finds():
    selection = selection_of(
        tuple(
            r for r in catalogue.relations() if {name for name, _ in catalogue.PHASES} & set(r.tags)
        )
    )
    directions = [r for listed in catalogue.relations() for r in both_directions(listed)]
    sides = [side for r in directions[::15] for _, drawn in cases(r) for side, _, _ in drawn[:3]]
    wholes, seen, found = {}, set(), 0
    for graph in toposort(sides):
        op = graph.op
        kinds = [kind for kind in KINDS.values() if kind(op)]
        heads = (op, type(op), *kinds)
        rewrites = selection.rewrites_of(*heads) if op not in selection.ac_ops else []
        if op is None or not rewrites:
            continue
        if op not in wholes:
            wholes[op] = compile_plain(op, rewrites)
        wanted = wholes[op](graph, None)
        got = selection.plain(op)(graph)
        seen.add(graph)
        if wanted is None:
            assert got is None, graph
        else:
            assert got is not None and got[:2] == wanted[:2], graph
            found += 1
    assert len(seen) > 300 and found > 60
