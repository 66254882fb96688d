"""Rewriters: the forms in which a rewrite can be written, and what each one does."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from etuples import etuple

import relgraph as rg
from relgraph.errors import (
    ArgumentError,
    BudgetError,
    NotInvertibleError,
    NotOverriddenError,
    OscillationError,
    PatternError,
    RelationError,
)
from relgraph.ir.op import Op
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.reductions import Sum
from tests.relations.kanren_goals import dot_distributeo

x, y, z, w = rg.vectors("x y z w", shape=("n",))
A, B = rg.matrices("A B", shape=("n", "n"))

distribute = rg.EquilibriumGraphRewriter([rg.KanrenRelationSub(dot_distributeo)], max_use_ratio=10)
gather = rg.EquilibriumGraphRewriter(
    [rg.KanrenRelationSub(lambda x, y: dot_distributeo(y, x))], max_use_ratio=10
)


@pytest.mark.parametrize(
    ("graph", "distributed"),
    [
        (A @ (x + y), A @ x + A @ y),
        (A @ ((x + y) + (z + w)), (A @ x + A @ y) + (A @ z + A @ w)),
        (A @ (x + (y + B @ (z + w))), A @ x + (A @ y + (A @ (B @ z) + A @ (B @ w)))),
    ],
)
def test_a_goal_runs_both_ways(graph, distributed):
    res = rg.rewrite_graph(graph, include=[], custom_rewrite=distribute, clone=False)
    assert res is distributed
    assert rg.rewrite_graph(res, include=[], custom_rewrite=gather, clone=False) is graph


def test_the_same_goal_with_the_goals_of_relgraph_is_compiled():
    def distributeo(left, right):
        X, term, terms, products, flat = rg.lvars("X term terms products flat")
        return rg.lall(
            rg.eq(left, etuple(rg.matmul, X, term)),
            rg.heado(rg.add, term),
            rg.assoc_flatten(term, flat),
            rg.tailo(terms, flat),
            rg.conso(rg.add, products, right),
            rg.mapo(lambda a, b: rg.eq(b, etuple(rg.matmul, X, a)), terms, products),
        )

    relation = rg.relation(distributeo)
    assert not relation.interpreted
    graph = A @ (x + (y + B @ (z + w)))
    flat = A @ x + A @ y + A @ (B @ z) + A @ (B @ w)
    assert set(terms(rg.rewrite_graph(graph, relation))) == set(terms(flat))
    assert rg.rewrite_graph(flat, relation.reversed) is A @ (x + y + B @ (z + w))


def terms(node):
    return [t for a in node.inputs for t in terms(a)] if node.op is rg.add else [node]


# x y / y = x, in the three forms.


class Chosen(Op):
    """One of any number of operands of one type."""

    name = "chosen"
    parameters = ("which",)

    def infer(self, *types):
        return types[0]

    def perform(self, *arrays):
        return arrays[0 if self.params[0] == "first" else -1]


class Global(rg.GraphRewriter):
    """Simplifies x y / y, one place at a time."""

    def apply(self, graph):
        for node in graph.toposort():
            if node.op is rg.true_divide:
                x, y = node.inputs
                if x.op is rg.multiply and y in x.inputs:
                    a, b = x.inputs
                    return self.apply(graph.replace(node, b if y is a else a))
        return graph


class Local(rg.NodeRewriter):
    """Simplifies x y / y at one node."""

    def transform(self, graph, node):
        if node.op is rg.true_divide:
            x, y = node.inputs
            if x.op is rg.multiply:
                a, b = x.inputs
                if y is a:
                    return [b]
                if y is b:
                    return [a]
        return False

    def tracks(self):
        return [rg.true_divide]


pattern = rg.PatternNodeRewriter((rg.true_divide, (rg.multiply, "x", "y"), "y"), "x")


@pytest.mark.parametrize(
    "form", [Global(), Local(), pattern, rg.WalkingGraphRewriter(Local()),
             rg.EquilibriumGraphRewriter([Local()]), rg.SequentialGraphRewriter(pattern)],
)  # fmt: skip
def test_three_forms_of_one_rewrite(form):
    graph = z + (y * x / y) * (z / x)
    assert rg.rewrite_graph(graph, form) is z + x * (z / x)
    assert rg.rewrite_graph((y + z) * x / (y + z), form) is x
    assert rg.rewrite_graph(x * y / z, form) is x * y / z


def test_the_pattern_form_knows_that_products_commute():
    assert rg.rewrite_graph(y * x / y, pattern) is x
    assert rg.rewrite_graph(y * x * z / z, pattern) is y * x


def test_walking_visits_each_node_once():
    peel = rg.PatternNodeRewriter((rg.exp, (rg.exp, "x")), (rg.exp, "x"), name="peel")
    graph = rg.exp(rg.exp(rg.exp(x)))
    grow = rg.SubstitutionNodeRewriter(rg.exp, rg.log)
    assert rg.WalkingGraphRewriter(grow).rewrite(graph) is rg.log(rg.log(rg.log(x)))
    assert rg.EquilibriumGraphRewriter([peel]).rewrite(graph) is rg.exp(x)
    swap = [
        rg.SubstitutionNodeRewriter(rg.exp, rg.log),
        rg.SubstitutionNodeRewriter(rg.log, rg.exp),
    ]
    assert rg.WalkingGraphRewriter(*swap).rewrite(rg.exp(x) + rg.log(y)) is rg.log(x) + rg.exp(y)
    with pytest.raises(OscillationError, match="undo each other"):
        rg.EquilibriumGraphRewriter(swap).rewrite(rg.exp(x))


def test_kinds_are_returned_as_given():
    rewriter = rg.GraphRewriter([pattern])
    before, after = x * y / y, x
    assert rewriter.rewrite(before) is after
    assert rewriter.rewrite([before, y]) == [after, y]
    assert rewriter.rewrite((before,)) == (after,)
    assert rewriter.rewrite({"a": before}) == {"a": after}
    graph = rg.FunctionGraph([y, x], [before])
    assert rewriter.rewrite(graph) == rg.FunctionGraph([y, x], [after])
    untouched = rg.FunctionGraph([x, y], [x + y])
    assert rewriter.rewrite(untouched) is untouched


@pytest.mark.parametrize("graph", [3, "x", None, [x, 3], np.ones(3)])
def test_what_is_no_graph(graph):
    with pytest.raises(ArgumentError, match="not a graph"):
        rg.GraphRewriter([pattern]).rewrite(graph)


# Constructors.


def test_substitution():
    relation = rg.SubstitutionNodeRewriter(rg.add, rg.multiply)
    assert relation.name == "add_to_multiply"
    assert rg.rewrite_graph(x + (y + z), relation) in (x * (y * z), x * y * z)
    assert rg.rewrite_graph(x * y, relation.reversed) is x + y


def test_substitution_of_an_op_of_any_number_of_operands():
    relation = rg.SubstitutionNodeRewriter(Chosen("first"), Chosen("last"))
    many = [rg.matrix(name) for name in "PQR"]
    for count in (2, 3):
        graph = Chosen("first")(*many[:count])
        assert rg.rewrite_graph(graph, relation) is Chosen("last")(*many[:count])


def test_substitution_keeps_the_shape():
    relation = rg.SubstitutionNodeRewriter(Concatenate(-2), Concatenate(-1))
    square = rg.concatenate([A, B], axis=0)
    assert rg.rewrite_graph(square, relation) is square  # the result would have another shape
    unknown = rg.concatenate([rg.matrix("P"), rg.matrix("Q")], axis=0)
    assert rg.rewrite_graph(unknown, relation) is unknown  # and here it may have


def test_removal():
    assert rg.rewrite_graph(rg.exp(rg.absolute(x)), rg.RemovalNodeRewriter(rg.absolute)) is rg.exp(
        x
    )
    total = Sum(None, False)
    assert rg.rewrite_graph(total(x), rg.RemovalNodeRewriter(total)) is total(x)
    with pytest.raises(NotInvertibleError, match="a bare variable"):
        rg.RemovalNodeRewriter(rg.absolute).reversed


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: rg.RemovalNodeRewriter(rg.add), "it has 2 operands"),
        (lambda: rg.RemovalNodeRewriter(Sum), "op must be an op"),
        (lambda: rg.SubstitutionNodeRewriter(rg.add, np.multiply), "op2 must be an op"),
        (lambda: rg.SubstitutionNodeRewriter(rg.add, rg.add), "cannot be replaced by itself"),
        (lambda: rg.KanrenRelationSub(3), "a relation is a goal constructor"),
        (lambda: rg.KanrenRelationSub(rg.add), "a relation is a goal constructor"),
        (lambda: rg.GraphRewriter([3]), "3 is no relation and no rewriter"),
        (lambda: rg.GraphRewriter([Local]), "Local is a class, not a rewriter"),
        (lambda: rg.GraphRewriter([], strategy="outermost"), "there is no strategy 'outermost'"),
        (lambda: rg.EquilibriumGraphRewriter([], max_use_ratio=0), "is a positive number"),
    ],
)
def test_bad_arguments(make, text):
    with pytest.raises(ArgumentError, match=text):
        make()


def test_patterns_take_numbers_nodes_and_constraints():
    double = rg.PatternNodeRewriter((rg.add, "x", "x"), (rg.multiply, 2, "x"), name="double")
    assert rg.rewrite_graph(y + y, double) is 2 * y
    assert rg.rewrite_graph(2 * y, double.reversed) is y + y
    only_x = rg.PatternNodeRewriter((rg.multiply, x, "v"), "v", name="drop_x")
    assert rg.rewrite_graph(rg.exp(y * x), only_x) is rg.exp(y)
    assert rg.rewrite_graph(y * z, only_x) is y * z
    of_rank_one = rg.PatternNodeRewriter(
        (rg.exp, {"pattern": "x", "constraint": lambda node: node.ndim == 1}), (rg.log, "x")
    )
    assert rg.rewrite_graph(rg.exp(x), of_rank_one) is rg.log(x)
    assert rg.rewrite_graph(rg.exp(A), of_rank_one) is rg.exp(A)


def test_patterns_take_side_conditions():
    p = rg.vector("p", facts=["nonnegative"])
    square = rg.PatternNodeRewriter(
        (rg.sqrt, (rg.square, "x")), "x", name="sqrt_square", where=rg.nonnegativeo
    )
    assert rg.rewrite_graph(rg.sqrt(rg.square(p)), square) is p
    assert rg.rewrite_graph(rg.sqrt(rg.square(x)), square) is rg.sqrt(rg.square(x))
    with pytest.raises(ArgumentError, match="where= asks for q"):
        rg.PatternNodeRewriter(
            (rg.exp, "x"), "x", where=lambda q, x: (rg.nonnegativeo(q), rg.nonnegativeo(x))
        )


def test_patterns_are_relations():
    assert isinstance(pattern, rg.Relation)
    assert pattern.name == "x * y / y = x"
    assert pattern.location.startswith("test_rewriters.py:")
    (answer,) = pattern.run(1, x * y / y)
    assert answer is x


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (("add", "x", "y"), "the head of a pattern must be an op, not 'add'"),
        ((), "the head of a pattern must be an op, not None"),
        ((rg.add, "x", [1, 2]), "the head of a pattern must be an op, not 1"),
        ((rg.add, "x", object), "cannot stand in a pattern"),
        ((rg.add, "x y", "z"), "not 'x y'"),
        ({"pattern": "x", "test": len}, "has the keys 'pattern' and 'constraint'"),
    ],
)
def test_bad_patterns(bad, text):
    with pytest.raises(PatternError, match=text):
        rg.PatternNodeRewriter(bad, "x")


# Node rewriters.


def test_a_node_rewriter_sees_only_what_it_tracks():
    seen = []

    class Spy(rg.NodeRewriter):
        def transform(self, graph, node):
            seen.append(node)

        def tracks(self):
            return [rg.exp, Sum]

    total = rg.sum(rg.exp(x) + y)
    rg.rewrite_graph(total, Spy())
    assert seen == [rg.exp(x), total]


@pytest.mark.parametrize("nothing", [None, False])
def test_a_node_rewriter_may_decline(nothing):
    class Declines(rg.NodeRewriter):
        def transform(self, graph, node):
            return nothing

    graph = rg.exp(x) + y
    assert rg.rewrite_graph(graph, Declines()) is graph


@pytest.mark.parametrize(
    ("result", "error", "text"),
    [
        (lambda n: 3, ArgumentError, "must return a Variable or None, not 3"),
        (lambda n: [x, y], ArgumentError, "must return a Variable or None"),
        (lambda n: {n: x}, ArgumentError, "returned a dict, but is not declared contextual"),
        (rg.sum, RelationError, "returned a graph of another type"),
        (lambda n: A, RelationError, "returned a graph of another type"),
        (lambda n: rg.cast(x, "float32"), RelationError, "returned a graph of another type"),
    ],
)
def test_bad_results_of_a_node_rewriter(result, error, text):
    class Bad(rg.NodeRewriter):
        def transform(self, graph, node):
            return result(node)

    with pytest.raises(error, match=text):
        rg.rewrite_graph(rg.exp(x), Bad())


def test_bad_tracks():
    class Bad(Local):
        def tracks(self):
            return ["add"]

    class One(rg.NodeRewriter):
        def tracks(self):
            return rg.add

    class Attribute(rg.NodeRewriter):
        tracks = (rg.add,)

    with pytest.raises(ArgumentError, match=r"One.tracks\(\) must return a sequence of ops"):
        rg.rewrite_graph(x + y, One())
    with pytest.raises(ArgumentError, match=r"Attribute.tracks must be a method, not \(add,\)"):
        rg.rewrite_graph(x + y, Attribute())
    with pytest.raises(ArgumentError, match=r"Bad.tracks\(\) must return ops"):
        rg.rewrite_graph(x, Bad())


def test_a_rewriter_that_reads_the_graph_says_so():
    class Reads(rg.NodeRewriter):
        def transform(self, graph, node):
            return x if len(graph.clients[node]) == 1 else None

    with pytest.raises(ArgumentError, match=r"reads graph.clients, but is not declared contextual"):
        rg.rewrite_graph(rg.exp(x), Reads())


class InlineOnce(rg.NodeRewriter):
    """Replaces square(v) by v * v where it has one user."""

    contextual = True

    def transform(self, graph, node):
        if node.op is rg.square and len(graph.clients[node]) == 1:
            return node.inputs[0] * node.inputs[0]
        return None


def test_contextual_rewriters_see_the_whole_graph():
    once = rg.square(x) + y
    twice = rg.square(x) + rg.exp(rg.square(x))
    assert rg.rewrite_graph(once, InlineOnce()) is x * x + y
    assert rg.rewrite_graph(twice, InlineOnce()) is twice
    assert rg.rewrite_graph([once, rg.square(x)], InlineOnce()) == [once, rg.square(x)]
    nested = rg.rewrite_graph(rg.square(rg.square(x)), InlineOnce())
    assert nested is rg.square(x) * rg.square(x)  # which has two users now


def test_a_contextual_rewriter_may_replace_other_nodes():
    class Both(rg.NodeRewriter):
        contextual = True

        def transform(self, graph, node):
            logs = [n for n in graph if n.op is rg.log]
            return {n: n.inputs[0] for n in logs} if node.op is rg.exp and logs else None

    assert rg.rewrite_graph(rg.exp(x) + rg.log(y), Both()) is rg.exp(x) + y


def test_relations_and_python_rewriters_run_together():
    class MergeAdd(rg.NodeRewriter):
        """Sees binary sums, also where a compiled relation sees the n-ary view."""

        def transform(self, graph, node):
            a, b = node.inputs
            return rg.exp(a) if a is b else None

        def tracks(self):
            return [rg.add]

    unlog = rg.PatternNodeRewriter((rg.add, (rg.log, "a"), (rg.log, "b")),
                                   (rg.log, (rg.multiply, "a", "b")), name="log_mul")  # fmt: skip
    graph = rg.log(x) + rg.log(y) + (z + z)
    found = rg.rewrite_graph(graph, unlog, MergeAdd())
    assert set(found.inputs) == {rg.log(x * y), rg.exp(z)}


def test_python_rewriters_that_undo_each_other():
    class ToLog(rg.NodeRewriter):
        contextual = True

        def transform(self, graph, node):
            return rg.log(node.inputs[0]) if node.op is rg.exp else None

    back = rg.SubstitutionNodeRewriter(rg.log, rg.exp)
    with pytest.raises(OscillationError, match="undo each other") as caught:
        rg.rewrite_graph(rg.exp(x), ToLog(), back)
    assert "ToLog" in str(caught.value)
    assert "log_to_exp" in str(caught.value)


# Budgets.


def test_max_use_ratio_is_a_budget():
    add_one = rg.PatternNodeRewriter(
        (rg.maximum, "x", "y"), (rg.minimum, (rg.minimum, "x", "y"), "y"), name="unfold"
    )
    graph = rg.maximum(rg.maximum(rg.maximum(x, y), z), w)
    generous = rg.EquilibriumGraphRewriter([add_one], max_use_ratio=10)
    assert rg.maximum not in [n.op for n in rg.FunctionGraph(None, generous.rewrite(graph))]
    tight = rg.EquilibriumGraphRewriter([add_one], max_use_ratio=0.3)
    with pytest.raises(BudgetError, match="its budget of 1 firing is spent"):
        tight.rewrite(graph)


def test_the_budget_of_a_goal_that_kanren_runs():
    tight = rg.EquilibriumGraphRewriter([rg.KanrenRelationSub(dot_distributeo)], max_use_ratio=0.1)
    with pytest.raises(BudgetError, match="dot_distributeo does not come to an end"):
        tight.rewrite(A @ (x + (y + (z + w))))


# Composition and printing.


def test_sequences_run_in_order():
    to_log = rg.SubstitutionNodeRewriter(rg.exp, rg.log)
    to_exp = rg.SubstitutionNodeRewriter(rg.log, rg.exp)
    assert rg.SequentialGraphRewriter(to_log, to_exp).rewrite(rg.exp(x)) is rg.exp(x)
    assert rg.SequentialGraphRewriter([to_exp, to_log]).rewrite(rg.exp(x)) is rg.log(x)
    nested = rg.SequentialGraphRewriter(rg.WalkingGraphRewriter(to_log), Global())
    assert nested.rewrite(rg.exp(x) * y / y) is rg.log(x)


def test_an_empty_rewriter_is_the_identity():
    graph = rg.FunctionGraph(None, rg.exp(x))
    for empty in (
        rg.GraphRewriter(),
        rg.EquilibriumGraphRewriter([]),
        rg.SequentialGraphRewriter(),
        rg.WalkingGraphRewriter(),
    ):
        assert empty.rewrite(graph) is graph
        assert empty.rewrite(graph.outputs[0]) is graph.outputs[0]


@pytest.mark.parametrize(
    ("result", "error", "text"),
    [
        (lambda g: None, ArgumentError, "apply must return a FunctionGraph, not None"),
        (lambda g: rg.FunctionGraph(None, [x, y]), ArgumentError, "returned 2 outputs for 1"),
        (lambda g: rg.FunctionGraph(None, [A]), RelationError, "changed the type of an output"),
    ],
)
def test_graph_rewriters_must_return_a_graph_of_the_same_type(result, error, text):
    class Bad(rg.GraphRewriter):
        def apply(self, graph):
            return result(graph)

    with pytest.raises(error, match=text):
        Bad().rewrite(rg.exp(x))


def test_any_object_with_apply_is_a_graph_rewriter():
    class Plain:
        name = "plain"

        def apply(self, graph):
            return graph.replace(rg.exp(x), rg.log(x))

    assert rg.rewrite_graph(rg.exp(x) + y, Plain()) is rg.log(x) + y


def test_printing():
    rewriter = rg.SequentialGraphRewriter(
        rg.EquilibriumGraphRewriter([pattern], name="simplify"), Global(), name="all"
    )
    assert str(rewriter) == (
        "all\n  simplify (to a fixed point)\n    x * y / y = x: x * y / y = x\n  Global"
    )


def test_sources_are_readable():
    (selection,) = rg.GraphRewriter([pattern]).selections
    assert rg.GraphRewriter([pattern]).rewrite(x * y / y) is x
    assert "# x * y / y = x" in selection.source


def test_results_pickle():
    graph = rg.GraphRewriter([pattern]).rewrite(rg.exp(x * y / y))
    assert pickle.loads(pickle.dumps(graph)) is rg.exp(x)


def test_deep_graphs():
    deep = x
    for _ in range(20_000):
        deep = rg.exp(deep * y / y)
    result = rg.rewrite_graph(deep, pattern)
    assert len(rg.FunctionGraph(None, result)) == 20_001


def test_a_rewriter_without_transform_says_what_to_define():
    class Idle(rg.NodeRewriter):
        pass

    with pytest.raises(NotOverriddenError, match=r"Idle does not say .*\n.*transform\(self"):
        rg.rewrite_graph(x + y, Idle())
