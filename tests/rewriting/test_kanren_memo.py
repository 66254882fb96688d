"""What kanren answers for the shape of a node is what it answers for the node."""

import hypothesis.strategies as st
import pytest
from etuples import etuple
from hypothesis import given, settings
from kanren import conde, conso, eq, lall, lany, membero
from kanren.constraints import neq
from kanren.graph import mapo
from unification import reify
from unification import vars as lvars

import relgraph as rg
from relgraph.errors import RelationError
from relgraph.rewriting import kanren_memo as shapes_module
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.interpreter import answer
from relgraph.rewriting.kanren_memo import Shapes
from relgraph.rewriting.selection import Selection
from tests.relations.kanren_goals import spread_matmulo

A, B = rg.matrices("A B", shape=(3, 3))
x, y, z = rg.vectors("x y z", 3)
i, j = rg.vectors("i j", 3, dtype="int64")
p = rg.vector("p", 3, facts="positive")


def endless(goal):
    """Return a goal constructor's relation, with a branch that keeps it from being compiled."""

    def relation(left, right):
        terms, made = lvars(2)
        never = lall(
            conso(rg.hypot, terms, left),
            conso(rg.arctan2, made, right),
            mapo(lambda u, v: eq(v, etuple(rg.tan, u)), terms, made),
        )
        return lany(goal(left, right), never)

    made = rg.relation(relation, name=goal.__name__)
    assert made.interpreted
    return made


def doubleo(left, right):
    """x + x = 2 x."""
    (a,) = lvars(1)
    return lall(eq(left, etuple(rg.add, a, a)), eq(right, etuple(rg.multiply, 2, a)))


def oneo(left, right):
    """1 x = x, in both orders."""
    (a,) = lvars(1)
    return lall(
        eq(right, a),
        conde([eq(left, etuple(rg.multiply, 1, a))], [eq(left, etuple(rg.multiply, a, 1))]),
    )


def cancelo(left, right):
    """log(exp(x)) = x, and -(-x) = x under any function."""
    a, f = lvars(2)
    inner = etuple(rg.negative, etuple(rg.negative, a))
    return conde(
        [eq(left, etuple(rg.log, etuple(rg.exp, a))), eq(right, a)],
        [eq(left, etuple(f, inner)), eq(right, etuple(f, a))],
    )


def memberso(left, right):
    """f(..., x y, ...) = x f(...): not true, but a goal that picks operands."""
    tail, a, b = lvars(3)
    return lall(
        conso(rg.maximum, tail, left),
        membero(etuple(rg.multiply, a, b), tail),
        eq(right, etuple(rg.minimum, b, a)),
    )


def positiveo(left, right):
    """sqrt(x^2) = x where x is positive, by a goal that looks at the node."""
    (a,) = lvars(1)

    def positive(state):
        node = reify(a, state)
        if isinstance(node, rg.Variable) and getattr(node, "facts", set()) >= {"positive"}:
            yield state

    return lall(eq(left, etuple(rg.sqrt, etuple(rg.square, a))), positive, eq(right, a))


def floato(left, right):
    """x * x = x^2 where x is floating, by a goal that reads the state."""
    (a,) = lvars(1)

    def floating(state):
        node = state.get(a)
        if getattr(node, "dtype", None) == "float64":
            yield state

    return lall(eq(left, etuple(rg.multiply, a, a)), floating, eq(right, etuple(rg.square, a)))


def unlikeo(left, right):
    """max(x, y) = max(y, x) where they differ."""
    a, b = lvars(2)
    return lall(eq(left, etuple(rg.maximum, a, b)), neq(a, b), eq(right, etuple(rg.maximum, b, a)))


def checkedo(left, right):
    """exp(x) = expm1(x) + 1 where x is a matrix, by a side condition of relgraph."""
    (a,) = rg.lvars("a")
    return lall(
        eq(left, etuple(rg.exp, a)),
        rg.checko(lambda v: v.ndim == 2, a),
        eq(right, etuple(rg.add, etuple(rg.expm1, a), 1)),
    )


def mentiono(left, right):
    """sin(x) = cos(x) for one x."""
    return lall(eq(left, etuple(rg.sin, x)), eq(right, rg.cos(x)))


def axiso(left, right):
    """sum over an axis = mean over it: not true, but a goal on the parameters of an op."""
    a, axis, keep = lvars(3)
    return lall(
        eq(left, etuple(etuple(type(rg.sum(x).op), axis, keep), a)),
        eq(right, etuple(etuple(type(rg.mean(x).op), axis, keep), a)),
    )


def deepo(left, right):
    """sin(cos(tan(exp(x)))) = x: four levels."""
    (a,) = lvars(1)
    inner = etuple(rg.cos, etuple(rg.tan, etuple(rg.exp, a)))
    return lall(eq(left, etuple(rg.sin, inner)), eq(right, a))


def typedo(left, right):
    """max(x, y) = x: an answer that has another type than the node where y is larger."""
    a, b = lvars(2)
    return lall(eq(left, etuple(rg.maximum, a, b)), conde([eq(right, a)], [eq(right, b)]))


GOALS = [
    spread_matmulo, doubleo, oneo, cancelo, memberso, positiveo, floato, unlikeo, checkedo,
    mentiono, axiso, deepo, typedo,
]  # fmt: skip
RELATIONS = [endless(goal) for goal in GOALS]

ONES = [rg.constant(1), rg.constant(1.0), rg.constant(2)]
leaves = st.sampled_from([x, y, z, i, j, p, A, B, *ONES, rg.tensor("c", (3, 1))])
UNARY = [rg.exp, rg.log, rg.negative, rg.sin, rg.cos, rg.tan, rg.square, rg.sqrt, rg.sum]
BINARY = [rg.add, rg.multiply, rg.maximum, rg.matmul, rg.hypot]


def _apply(f, *operands):
    try:
        return f(*operands)
    except rg.errors.RelgraphError:  # shapes that do not fit
        return operands[0]


def _larger(inner):
    return st.one_of(
        st.tuples(st.sampled_from(UNARY), inner).map(lambda a: _apply(*a)),
        st.tuples(st.sampled_from(BINARY), inner, inner).map(lambda a: _apply(*a)),
        st.tuples(inner, inner, inner).map(lambda a: _apply(lambda u, v, w: u @ v + u @ w, *a)),
        st.tuples(inner, inner, inner).map(lambda a: _apply(lambda u, v, w: u @ (v + w), *a)),
        inner.map(lambda a: _apply(lambda u: u + u, a)),
        inner.map(lambda a: _apply(lambda u: u * u, a)),
        inner.map(lambda a: _apply(lambda u: rg.negative(-u), a)),
        inner.map(lambda a: _apply(lambda u: rg.sqrt(rg.square(u)), a)),
        inner.map(lambda a: _apply(lambda u: rg.sin(rg.cos(rg.tan(rg.exp(u)))), a)),
    )


graphs = st.recursive(leaves, _larger, max_leaves=7)


@settings(max_examples=60, deadline=None)
@given(st.lists(graphs, min_size=1, max_size=6))
@pytest.mark.parametrize("relation", RELATIONS, ids=lambda r: r.name)
def test_shapes_answer_as_nodes_do(relation, found):
    shapes = Shapes(relation)
    for graph in found:
        for node in rg.FunctionGraph(None, graph):
            if node.inputs:
                assert shapes.answer(node) is answer(relation, node)


@pytest.mark.parametrize("relation", [RELATIONS[0].reversed, RELATIONS[1].reversed], ids=str)
def test_they_do_backward_too(relation):
    shapes = Shapes(relation)
    for graph in (A @ x + A @ y, A @ x + B @ y, 2 * x, 3 * x, x + y, A @ x + x, A @ x + A @ x):
        assert shapes.answer(graph) is answer(relation, graph)


def asked(monkeypatch):
    """Return the list of the nodes that kanren itself is asked about from now on."""
    nodes = []

    def counted(relation, node):
        nodes.append(node)
        return answer(relation, node)

    monkeypatch.setattr(shapes_module, "answer", counted)
    return nodes


@pytest.mark.parametrize("relation", RELATIONS[:5], ids=lambda r: r.name)
def test_goals_that_unify_are_run_once_for_a_shape(relation, monkeypatch):
    nodes = asked(monkeypatch)
    shapes = Shapes(relation)
    graphs = (
        A @ (x + y),
        x + x,
        x * 1,
        rg.negative(-x),
        rg.exp(rg.negative(-x)),
        rg.log(rg.exp(x)),
        A @ x,
        x + y,
    )
    for graph in graphs:
        shapes.answer(graph)
    known = dict(shapes.known)
    for graph in (B @ (y + z), y + y, z * 1, rg.negative(-z), rg.log(rg.exp(z)), B @ z, z + y):
        shapes.answer(graph)
    assert nodes == []
    assert known
    assert shapes.known == known


@pytest.mark.parametrize(
    "relation, graph",
    [
        (positiveo, rg.sqrt(rg.square(p))), (floato, x * x), (unlikeo, rg.maximum(x, y)),
        (checkedo, rg.exp(A)), (mentiono, rg.sin(x)), (deepo, rg.sin(rg.cos(rg.tan(rg.exp(x))))),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)  # fmt: skip
def test_goals_that_look_further_are_run_on_nodes(relation, graph, monkeypatch):
    nodes = asked(monkeypatch)
    shapes = Shapes(endless(relation))
    assert shapes.answer(graph) is not None
    assert shapes.answer(graph) is not None
    assert nodes == [graph, graph]
    assert shapes.levels[graph.op] == 0


def test_shapes_are_forgotten_when_there_are_many(monkeypatch):
    monkeypatch.setattr(shapes_module, "KEPT", 3)
    shapes = Shapes(RELATIONS[2])
    for n in range(20):
        shapes.answer(x * n)
    assert len(shapes.known) <= 3


def test_an_op_with_many_operands_is_run_on_nodes(monkeypatch):
    nodes = asked(monkeypatch)
    shapes = Shapes(RELATIONS[0])
    many = rg.concatenate([rg.vector(f"many{n}", 3) for n in range(shapes_module.NODES + 1)])
    assert shapes.answer(many) is None
    assert nodes == [many]


def test_errors_of_a_goal_are_raised_for_the_node():
    def brokeno(left, right):
        def broken(state):
            node = reify(left, state)
            if isinstance(node, rg.Variable):
                raise ZeroDivisionError
            yield state

        return lall(broken, eq(left, etuple(rg.exp, right)))

    with pytest.raises(RelationError, match="brokeno: its goal failed") as caught:
        Shapes(endless(brokeno)).answer(rg.exp(x))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_goal_that_hides_that_it_looked_is_run_on_nodes():
    def quieto(left, right):
        (a,) = lvars(1)

        def quiet(state):
            try:
                wide = reify(a, state).dtype == "float64"
            except Exception:  # whatever happens
                wide = False
            if wide:
                yield state

        return lall(eq(left, etuple(rg.exp, a)), quiet, eq(right, a))

    shapes = Shapes(endless(quieto))
    assert shapes.answer(rg.exp(rg.vector("f", 3, dtype="float32"))) is None
    assert shapes.answer(rg.exp(x)) is x


def test_a_selection_keeps_its_shapes():
    selection = Selection([RELATIONS[0]])
    (shapes,) = selection.shapes
    assert shapes.relation is RELATIONS[0]
    assert normalise([A @ (x + y)], selection) == (A @ x + A @ y,)
    assert shapes.known
