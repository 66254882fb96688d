"""The relations of the seed documents, as printed there, forward and with their sides swapped."""

import kanren
import numpy as np
import pytest
from etuples import etuple
from kanren import conso, eq, heado, tailo
from kanren.assoccomm import assoc_flatten
from kanren.graph import mapo
from unification import var
from unification import vars as lvars

import relgraph as rg
from relgraph.checking.matching import canonical
from relgraph.ops.linalg.structured import Diag
from relgraph.ops.reductions import Sum
from relgraph.ops.shape import ExpandDims
from tests.relations.kanren_goals import dot_distributeo
from tests.relations.test_converse import arrangements
from tests.samples import distribute_matmulo


def own_distributeo(in_lv, out_lv):
    """The same, with the goals that relgraph compiles."""
    A_lv, add_term_lv, add_cdr_lv, dot_cdr_lv, add_flat_lv = lvars(5)
    return rg.lall(
        rg.eq(in_lv, etuple(rg.matmul, A_lv, add_term_lv)),
        rg.heado(rg.add, add_term_lv),
        rg.assoc_flatten(add_term_lv, add_flat_lv),
        rg.tailo(add_cdr_lv, add_flat_lv),
        rg.conso(rg.add, dot_cdr_lv, out_lv),
        rg.mapo(lambda x, y: rg.conso(rg.matmul, etuple(A_lv, x), y), add_cdr_lv, dot_cdr_lv),
    )


FORMS = {
    "identity": (distribute_matmulo, distribute_matmulo.reversed),
    "own goals": (own_distributeo, rg.relation(own_distributeo).reversed),
    "kanren": (dot_distributeo, lambda left, right: dot_distributeo(right, left)),
}
SHAPES = {"vector": ("n",), "matrix": ("n", "k"), "batch": (5, "n", "k")}
SIZES = {"n": 3, "k": 2}


def arrays(nodes):
    rng = np.random.default_rng(3)
    return {
        x: rng.integers(-4, 5, [SIZES.get(d, d) for d in x.type.shape]).astype(float) for x in nodes
    }


def products(graph):
    return sum(x.op is rg.matmul for x in rg.FunctionGraph(None, graph))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rank", SHAPES)
def test_distributes_and_gathers_back(form, rank):
    forward, backward = FORMS[form]
    A, B = rg.matrices("A B", shape=("n", "n"))
    x, y, z, w = (rg.tensor(name, shape=SHAPES[rank]) for name in "xyzw")
    compact = A @ (x + (y + B @ (z + w)))
    spread = rg.rewrite_graph(compact, forward)
    assert products(spread) == 6
    assert [t.op for t in spread.inputs].count(rg.add) <= 1
    back = rg.rewrite_graph(spread, backward)
    assert products(back) == 2
    assert back.op is rg.matmul and back.inputs[0] is A
    values = arrays([A, B, x, y, z, w])
    a, b, *rest = values.values()
    expected = a @ (rest[0] + (rest[1] + b @ (rest[2] + rest[3])))
    for graph in (compact, spread, back):
        np.testing.assert_array_equal(rg.evaluate(graph, values), expected)


def test_the_forms_print_as_in_the_seed():
    A, B = rg.matrices("A B")
    x, y, z, w = rg.vectors("x y z w")
    compact = A @ (x + (y + B @ (z + w)))
    rewriter = rg.EquilibriumGraphRewriter(
        [rg.KanrenRelationSub(dot_distributeo)], max_use_ratio=10
    )
    spread = rewriter.rewrite(compact)
    assert repr(spread) == "A @ x + (A @ y + (A @ (B @ z) + A @ (B @ w)))"
    gather = rg.EquilibriumGraphRewriter(
        [rg.KanrenRelationSub(lambda x, y: dot_distributeo(y, x))], max_use_ratio=10
    )
    assert gather.rewrite(spread) is compact


@pytest.mark.parametrize("form", ["identity", "own goals"])
@pytest.mark.parametrize("rank", SHAPES)
def test_a_mixed_sum_gathers_what_fits(form, rank):
    A, B = rg.matrices("A B", shape=("n", "n"))
    x, y, z = (rg.tensor(name, shape=SHAPES[rank]) for name in "xyz")
    mixed = A @ x + B @ y + A @ z
    gathered = rg.rewrite_graph(mixed, FORMS[form][1])
    assert repr(gathered) == "A @ (x + z) + B @ y"
    values = arrays([A, B, x, y, z])
    a, b, u, v, w = values.values()
    for graph in (mixed, gathered):
        np.testing.assert_array_equal(rg.evaluate(graph, values), a @ (u + w) + b @ v)


def test_two_buckets_take_the_larger_saving():
    A, B, C = rg.matrices("A B C", shape=("n", "n"))
    x, y = rg.vectors("x y", shape=("n",))

    @rg.identity
    def distribute_left_matmulo(X, Y, Z):
        """(X + Y) Z = X Z + Y Z."""
        return (X + Y) @ Z, X @ Z + Y @ Z

    both = [distribute_matmulo.reversed, distribute_left_matmulo.reversed]
    graph = A @ x + A @ y + B @ y + C @ y
    assert products(rg.rewrite_graph(graph, both)) == 2
    values = arrays([A, B, C, x, y])
    np.testing.assert_array_equal(
        rg.evaluate(rg.rewrite_graph(graph, both), values), rg.evaluate(graph, values)
    )


@rg.identity
def distribute_sumo(x, y):
    """sum(x + y) = sum(x) + sum(y)."""
    axis = rg.lvars("axis")[0]
    return rg.sum(x + y, axis=axis), rg.sum(x, axis=axis) + rg.sum(y, axis=axis)


def sum_distributeo(left, right):
    """The same for sums over the last axis, with miniKanren's goals."""
    total = Sum((-1,), False)
    a, b = lvars(2)
    return kanren.lall(
        eq(left, etuple(total, etuple(rg.add, a, b))),
        eq(right, etuple(rg.add, etuple(total, a), etuple(total, b))),
    )


U, V = rg.matrices("U V", shape=(4, 4))
t = rg.vector("t", shape=(4,))
narrow, wide = rg.matrix("narrow", shape=(3, 1)), rg.matrix("wide", shape=(3, 5))
TRAPS = {
    "a vector beside a matrix": (U @ (t + V), lambda U, t, V: U @ (t + V)),
    "products of both": (U @ t + U @ V, lambda U, t, V: U @ t + U @ V),
    "a column": (rg.sum(narrow + wide, axis=1), lambda narrow, wide: (narrow + wide).sum(1)),
    "sums of both": (
        rg.sum(narrow, axis=1) + rg.sum(wide, axis=1),
        lambda narrow, wide: narrow.sum(1) + wide.sum(1),
    ),
}
BOTH = {
    **FORMS,
    "sums": (distribute_sumo, distribute_sumo.reversed),
    "sums by kanren": (sum_distributeo, lambda left, right: sum_distributeo(right, left)),
}
MODES = ("o1", "o2", "o3", "o4", "fast_run", "stabilization", "unsafe")


@pytest.mark.parametrize("trap", TRAPS)
def test_traps_of_broadcasting_do_not_fire(trap):
    graph, meaning = TRAPS[trap]
    for name, directions in BOTH.items():
        for goal in directions:
            assert rg.rewrite_graph(graph, goal) is graph, name
    values = arrays(rg.FunctionGraph(None, graph).inputs)
    expected = meaning(**{x.name: value for x, value in values.items()})
    for mode in MODES:
        result = rg.evaluate(rg.rewrite_graph(graph, mode=mode), values)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", ["sums", "sums by kanren"])
def test_sums_of_one_shape_distribute(name):
    forward, backward = BOTH[name]
    other = rg.matrix("other", shape=(3, 5))
    spread = rg.rewrite_graph(rg.sum(wide + other, axis=1), forward)
    assert spread is rg.sum(wide, axis=1) + rg.sum(other, axis=1)
    assert rg.rewrite_graph(spread, backward) is rg.sum(wide + other, axis=1)


def test_intended_broadcasting_is_declared():
    def scale_rowso(left, right):
        """diag(v) X = v[:, None] X."""
        v, X = lvars(2)
        return kanren.lall(
            eq(left, etuple(rg.matmul, etuple(Diag(0), v), X)),
            eq(right, etuple(rg.multiply, etuple(ExpandDims((-1,)), v), X)),
        )

    graph = rg.diag(t) @ U
    assert rg.rewrite_graph(graph, rg.relation(scale_rowso)) is graph
    free = rg.relation(broadcast="*")(scale_rowso)
    scaled = rg.rewrite_graph(graph, free)
    assert scaled is rg.expand_dims(t, -1) * U
    values = arrays([t, U])
    np.testing.assert_array_equal(rg.evaluate(scaled, values), np.diag(values[t]) @ values[U])


def test_pointwise_identities_fire_under_broadcasting():
    a, b = rg.matrix("a", shape=(3, 1)), rg.vector("b", shape=(5,))

    @rg.identity
    def merge_expo(x, y):
        """exp(x) exp(y) = exp(x + y)."""
        return rg.exp(x) * rg.exp(y), rg.exp(x + y)

    merged = rg.rewrite_graph(rg.exp(a) * rg.exp(b), merge_expo)
    assert repr(merged) == "exp(a + b)"
    assert merged.type.shape == (3, 5)

    @rg.identity(specials="assumes_finite")
    def cancel_subtracto(x):
        """x - x = 0."""
        return x - x, 0

    n = rg.vector("n", shape=("n",))
    zero = rg.rewrite_graph((a + b) - (a + b), cancel_subtracto)
    assert zero.type is (a + b).type
    np.testing.assert_array_equal(rg.evaluate(zero, {}), np.zeros((3, 5)))
    named = rg.rewrite_graph(n - n, cancel_subtracto)
    assert named.type is n.type
    np.testing.assert_array_equal(rg.evaluate(named, {n: np.ones(4)}), np.zeros(4))


x, y, z, w = rg.vectors("x y z w", shape=("n",))
A, B = rg.matrices("A B", shape=("n", "n"))
FORWARD = [
    A @ (x + y), A @ (x + (y + z)), A @ ((x + y) + (z + w)), A @ (x * y), A @ x, (A + B) @ x,
    A @ (x - y), A @ rg.exp(x + y),
]  # fmt: skip
BACKWARD = [
    A @ x + A @ y, A @ x + (A @ y + A @ z), (A @ x + A @ y) + (A @ z + A @ w), A @ x + B @ y,
    A @ x + x, A @ x + x * y, A @ x + x @ A, A @ x + B @ x, A @ x * (A @ y), A @ x + rg.exp(A @ y),
]  # fmt: skip


@pytest.mark.parametrize(
    ("graph", "backward"),
    [*[(g, False) for g in FORWARD], *[(g, True) for g in BACKWARD]],
    ids=str,
)
def test_compiled_goals_fire_where_kanren_has_an_answer(graph, backward):
    relation = rg.relation(own_distributeo)
    assert not relation.interpreted
    found = rg.rewrite_graph(graph, relation.reversed if backward else relation)
    q = var()
    answers = [
        (node, rg.raise_(term))
        for same in arrangements(graph)
        for node in rg.FunctionGraph(None, same)
        for term in kanren.run(1, q, own_distributeo(*((q, node) if backward else (node, q))))
    ]
    assert (found is not graph) == bool(answers)
    whole = {canonical(made) for node, made in answers if canonical(node) == canonical(graph)}
    assert not whole or canonical(found) in whole


def test_simplification_of_the_seed_in_three_forms():
    x, y, z = rg.scalars("x y z")
    graph = z + ((y * x) / y) * (z / x)
    expected = z + x * (z / x)

    @rg.identity(specials="assumes_finite")
    def cancel_divide_multiplyo(a, b):
        """a b / b = a."""
        return (a * b) / b, a

    class LocalSimplify(rg.NodeRewriter):
        """The same, node by node in Python."""

        def transform(self, fgraph, node):
            if node.op is rg.true_divide and node.inputs[0].op is rg.multiply:
                a, b = node.inputs[0].inputs
                if node.inputs[1] is a:
                    return [b]
                if node.inputs[1] is b:
                    return [a]
            return False

        def tracks(self):
            return [rg.true_divide]

    patterns = [
        rg.PatternNodeRewriter((rg.true_divide, (rg.multiply, "x", "y"), "y"), "x"),
        rg.PatternNodeRewriter((rg.true_divide, (rg.multiply, "x", "y"), "x"), "y"),
    ]
    assert rg.rewrite_graph(graph, cancel_divide_multiplyo) is expected
    assert rg.WalkingGraphRewriter(LocalSimplify()).rewrite(graph) is expected
    assert rg.WalkingGraphRewriter(patterns[:1]).rewrite(graph) is expected
    nested = ((y + z) * x) / (y + z)
    assert rg.rewrite_graph(nested, cancel_divide_multiplyo) is x


def test_goals_read_graphs_as_lists():
    x, y = rg.vectors("x y")
    total = x + y
    head, tail, whole = var(), var(), var()
    assert kanren.run(0, (head, tail), conso(head, tail, total)) == ((rg.add, etuple(x, y)),)
    assert kanren.run(0, tail, tailo(tail, total)) == (etuple(x, y),)
    assert kanren.run(0, head, heado(head, total)) == (rg.add,)
    (built,) = kanren.run(0, whole, conso(rg.multiply, etuple(x, y), whole))
    assert rg.raise_(built) is x * y
    flat = etuple(rg.add, x, y, x)
    assert kanren.run(1, whole, assoc_flatten(rg.lower(x + (y + x)), whole)) == (flat,)
    assert kanren.run(1, whole, rg.assoc_flatten(x + (y + x), whole)) == (flat,)
    (doubled,) = kanren.run(1, whole, mapo(lambda a, b: eq(b, etuple(rg.exp, a)), [x, y], whole))
    assert [rg.raise_(t) for t in doubled] == [rg.exp(x), rg.exp(y)]


def merged(a, b):
    """Return the axes of a sum over ``b`` of a sum over ``a``, both counted from the end."""
    if a is None or b is None:
        return None
    kept = [axis for axis in range(-9, 0) if axis not in a]
    return tuple(sorted({*a, *(kept[axis] for axis in b)}))


def test_a_side_condition_computes_an_open_parameter():
    a, b, c = rg.lvars("a b c")

    @rg.identity(name="merge_sumo", where=lambda x: rg.calco(c, merged, a, b))
    def merge_sumo(x):
        """sum(sum(x, a), b) = sum(x, merged(a, b))."""
        return rg.sum(rg.sum(x, axis=a), axis=b), rg.sum(x, axis=c)

    x = rg.tensor("x", shape=(2, 3, 4))
    graph = rg.sum(rg.sum(x, axis=1), axis=0)
    result = rg.rewrite_graph(graph, merge_sumo)
    assert result is rg.sum(x, axis=(0, 1))
    values = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(rg.evaluate(result, {x: values}), values.sum((0, 1)))
    with pytest.raises(rg.errors.NotInvertibleError, match="computed backwards"):
        merge_sumo.reversed
