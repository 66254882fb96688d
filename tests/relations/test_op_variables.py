"""Op variables: one identity for all ops of a kind, in all four readings."""

import kanren
import numpy as np
import pytest
from cons import cons
from etuples import etuple
from unification import var, vars

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.ir.graph import toposort
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.elementwise import ROWS, Elementwise
from relgraph.ops.permutation import MatrixTranspose
from relgraph.ops.reductions import Max, Sum
from relgraph.ops.shape import Reshape
from relgraph.relations.op_kinds import KINDS
from relgraph.relations.op_variables import samples_of
from relgraph.rewriting.selection import selection_of
from tests.relations.catalogue.table import assert_equal_values

A, B = rg.matrices("A B", shape=(2, 3))
C, D = rg.matrices("C D", shape=(3, 3))
c = rg.scalar("c")
x, y = rg.vectors("x y", shape=(3,))


@rg.identity(where=rg.elementwiseo, rounding="exact", broadcast=["x"])
def lifto(f, x):
    """f(x.mT, ...) = f(x, ...).mT."""
    return f(x.mT, ...), f(x, ...).mT


def keeps_all(g):
    return isinstance(g, MatrixTranspose | Reshape)


@rg.identity(where=rg.reductiono, specials="assumes_finite")
def reduce_viewo(f, g, x, k):
    """f(g(x)) = f(x) for a reduction of everything."""
    whole = rg.checko(lambda f: f.params[0] is None and not f.params[1], f)
    return f(g(x, *k)), f(x), (rg.rearrangemento(g), whole, rg.checko(keeps_all, g))


@rg.identity(where=rg.linearo, specials="assumes_finite")
def linear_addo(f, x, y):
    """f(x + y) = f(x) + f(y)."""
    return f(x + y), f(x) + f(y)


@rg.identity(rounding="exact")
def flatten_joino(a, b, c, k):
    """concatenate(..., concatenate(...), ...) = concatenate(..., ..., ...)."""
    return Concatenate(k)(*a, Concatenate(k)(*b), *c), Concatenate(k)(*a, *b, *c)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_every_row_moves_both_ways(name):
    f = Elementwise(name)
    inputs = [rg.matrix(f"m{i}", shape=(2, 3)) for i in range(f.arity)]
    kinds = ["bool", "float64", "float64"] if name == "where" else ["float64"] * 3
    try:
        inner = f(*[m.astype(kind) for m, kind in zip(inputs, kinds, strict=False)])
        outer = f(*[m.astype(kind).mT for m, kind in zip(inputs, kinds, strict=False)])
    except rg.errors.DTypeError:
        ints = [rg.matrix(f"i{i}", shape=(2, 3), dtype="int64") for i in range(f.arity)]
        inner, outer = f(*ints), f(*[m.mT for m in ints])
    assert rg.rewrite_graph(outer, lifto) is inner.mT
    assert rg.rewrite_graph(inner.mT, lifto.reversed).op is f


def test_numbers_stay_and_other_operands_do_not():
    assert rg.rewrite_graph(rg.arctan2(A.mT, c) * 2, lifto) is (rg.arctan2(A, c) * 2).mT
    assert rg.rewrite_graph((A * c).mT, lifto.reversed) is A.mT * c
    for graph in (A.mT + rg.vector("v", shape=(2,)), C.mT + D, c + c):
        assert rg.rewrite_graph(graph, lifto) is graph


def test_queries_read_both_sides():
    assert lifto.run(None, rg.tanh(A.mT)) == (rg.tanh(A).mT,)
    assert lifto.run(1, None, (A * B).mT) == (A.mT * B.mT,)
    assert lifto.run(1, None, (A * c).mT) == (A.mT * c,)
    assert lifto.run(None, C.mT + D) == ()
    assert lifto.run(1, A.mT * B.mT, (A * B).mT) and not lifto.run(1, A.mT * B.mT, (B - A).mT)


def test_kanren_binds_the_op():
    f, xs = vars(2)
    goal = kanren.lall(kanren.eq(A + B, cons(f, xs)), rg.elementwiseo(f))
    assert kanren.run(0, f, goal) == (rg.add,)
    q = var()
    goals = rg.op_kindo(q, "linear"), kanren.membero(q, (rg.exp, Sum(None, False)))
    assert kanren.run(0, q, *goals) == (Sum(None, False),)


@rg.relation(broadcast="*")
def lift_by_goalso(left, right):
    """f(x.mT, ...) = f(x, ...).mT, by goals."""
    f, xs, ys = vars(3)
    turn = MatrixTranspose()
    return rg.lall(
        rg.eq(left, cons(f, xs)),
        rg.eq(right, etuple(turn, cons(f, ys))),
        rg.mapo(lambda x, y: rg.eq(x, etuple(turn, y)), xs, ys),
        rg.elementwiseo(f),
    )


def test_a_goal_with_an_op_variable_compiles():
    assert not lift_by_goalso.interpreted
    assert "(v0.mT, ...) = " in str(lift_by_goalso)
    assert rg.rewrite_graph(rg.exp(A.mT) * B.mT, lift_by_goalso) is (rg.exp(A) * B).mT


def test_reductions_and_rearrangements_are_kinds():
    graphs = [rg.sum(A.mT), rg.max(A.reshape(-1)), rg.sum(A.mT, axis=0), rg.exp(A.mT)]
    expected = [rg.sum(A), rg.max(A), *graphs[2:]]
    assert rg.rewrite_graph(graphs, reduce_viewo) == expected
    assert Max(None, False) in [g.op for g in toposort(expected)]


def test_a_linear_op_distributes_over_a_sum():
    graphs = [rg.sum(A + B), rg.cumsum(x + y, axis=0), rg.exp(A + B), rg.trace(A.mT @ A + B.mT @ B)]
    result = rg.rewrite_graph(graphs, linear_addo)
    assert result[:3] == [
        rg.sum(A) + rg.sum(B),
        rg.cumsum(x, axis=0) + rg.cumsum(y, axis=0),
        graphs[2],
    ]
    assert result[3] is rg.trace(A.mT @ A) + rg.trace(B.mT @ B)
    assert rg.rewrite_graph(rg.sum(A) + rg.sum(B), linear_addo.reversed) is rg.sum(A + B)


def test_every_linear_op_is_linear():
    for op in KINDS["linear"].samples:
        M, N = rg.matrix("M", shape=(3, 3)), rg.matrix("N", shape=(3, 3))
        assert_equal_values(op(2 * M + N), 2 * op(M) + op(N))


def test_sequences_of_operands_splice():
    graph = rnp.concatenate([x, rnp.concatenate([y, x]), y])
    assert rg.rewrite_graph(graph, flatten_joino) is rnp.concatenate([x, y, x, y])
    assert rnp.concatenate([x, y, x, y]) in flatten_joino.run(None, graph)


@pytest.mark.parametrize("relation", [lifto, reduce_viewo, linear_addo], ids=lambda r: r.name)
def test_it_is_checked_on_sample_ops(relation):
    ops = {x.op for c in relation.clauses for s in samples_of(c) for x in (s.left, s.right)}
    assert len(ops) > 1
    report = rg.check(relation)
    assert report, report


def test_a_false_identity_has_a_counterexample():
    @rg.identity(where=rg.elementwiseo)
    def sum_of_functiono(f, x):
        """sum(f(x)) = f(sum(x)), which is wrong."""
        return rg.sum(f(x)), f(rg.sum(x))

    assert rg.check(sum_of_functiono).counterexample is not None


def test_derivations_replay(monkeypatch):
    monkeypatch.setenv("RELGRAPH_CHECK", "1")
    graph = rg.exp(A.mT) * B.mT - c
    assert rg.rewrite_graph(graph, lifto) is (rg.exp(A) * B - c).mT
    assert rg.rewrite_graph((A * B - c).mT, lifto.reversed) is A.mT * B.mT - c
    joined = rnp.concatenate([x, rnp.concatenate([y, x])])
    assert rg.rewrite_graph(joined, flatten_joino) is rnp.concatenate([x, y, x])


def test_nodes_that_cannot_match_compile_nothing():
    selection = selection_of((lifto,))
    before = selection.source
    rg.rewrite_graph([rg.exp(A) + B, rg.sum(rg.arctan2(A, B))], lifto)
    assert selection.source == before
    assert selection.needs == {MatrixTranspose()}


def test_values_agree_with_numpy():
    value = np.arange(6.0).reshape(2, 3)
    graph = rg.rewrite_graph(rg.arctan2(A.mT, 2) + rg.exp(B.mT), lifto)
    computed = rg.function([A, B], graph)(value, value / 7)
    np.testing.assert_allclose(computed, np.arctan2(value.T, 2) + np.exp(value.T / 7))
