"""The e-graph: normal forms of terms, and that whatever is one class is one value."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import relgraph as rg
from relgraph.ir.node import toposort
from relgraph.search.egraph import EGraph, OutOfSteps
from relgraph.search.embedding import Embedding
from relgraph.search.labels import UNIT, compose, inverse, inverted, transposed
from relgraph.search.saturation import LAWS, Saturation
from tests.search.expressions import Expressions
from tests.search.values import evaluated

SHAPES = [(), (3,), (8,), (5, 3), (8, 8), (2, 5)]


@pytest.fixture
def egraph():
    return EGraph(100_000)


def test_labels_are_a_group():
    labels = [(c, t, i) for c in (1, -2, Fraction(1, 3)) for t in (0, 1) for i in (0, 1)]
    for a in labels:
        assert compose(a, inverse(a)) == compose(inverse(a), a) == UNIT
        for b in labels:
            for c in labels:
                assert compose(a, compose(b, c)) == compose(compose(a, b), c)


def test_products_are_one_class_in_any_bracketing_and_transposed(egraph):
    a, b, c = (egraph.leaf(k, (4, 4)) for k in range(3))
    left = egraph.product(1, (), (egraph.product(1, (), (a, b)), c))
    saturation = Saturation(egraph, [left])
    right = egraph.product(1, (), (a, egraph.product(1, (), (b, c))))
    turned = egraph.product(1, (), (transposed(c), transposed(b), transposed(a)))
    for _ in range(4):
        saturation.round()
    assert egraph.same(left, right)
    assert egraph.same(transposed(left), egraph.canonical(turned)) or egraph.same(
        transposed(right), turned
    )


def test_sums_collect_like_terms_and_cancel(egraph):
    a, b = egraph.leaf(0, (4, 3)), egraph.leaf(1, (4, 3))
    twice = egraph.sum([a, b, a, egraph.scaled(-1, b)])
    assert egraph.same(twice, egraph.scaled(2, a))
    assert egraph.special(egraph.sum([a, egraph.scaled(-1, a)])) == "zero"
    one = egraph.sum([egraph.scaled(2, a), egraph.scaled(2, b)])
    assert egraph.same(one, egraph.scaled(2, egraph.sum([a, b])))


def test_inverses_cancel_and_turn_around(egraph):
    a, b = egraph.leaf(0, (4, 4)), egraph.leaf(1, (4, 4))
    product = egraph.product(1, (), (a, b))
    assert egraph.special(egraph.product(1, (), (inverted(a), a))) == "eye"
    assert egraph.same(inverted(product), egraph.product(1, (), (inverted(b), inverted(a))))


def test_a_gram_matrix_is_symmetric(egraph):
    a = egraph.leaf(0, (4, 3))
    gram = egraph.product(1, (), (transposed(a), a))
    assert egraph.of(gram).symmetry == 1
    assert egraph.same(gram, transposed(gram))


def test_congruence_merges_what_is_built_of_equals(egraph):
    a, b, x = egraph.leaf(0, (4, 4)), egraph.leaf(1, (4, 4)), egraph.leaf(2, (4, 4))
    first, second = egraph.product(1, (), (a, x)), egraph.product(1, (), (b, x))
    assert not egraph.same(first, egraph.scaled(2, second))
    egraph.union(a, egraph.scaled(2, b))
    egraph.rebuild()
    assert egraph.same(first, egraph.scaled(2, second))


def test_constants_multiply_to_constants(egraph):
    top, bottom = egraph.rows(0, 2, 5), egraph.rows(2, 5, 5)
    assert egraph.special(egraph.product(1, (), (top, transposed(bottom)))) == "zero"
    assert egraph.special(egraph.product(1, (), (top, transposed(top)))) == "eye"
    ones = egraph.ones(5)
    assert egraph.same(egraph.product(1, (), (transposed(ones), ones)), egraph.number(5))
    column = egraph.leaf(0, (5, 1))
    assert egraph.same(egraph.product(1, (), (egraph.diag(column), ones)), column)


@pytest.mark.parametrize("limit", ["steps", "time"])
def test_steps_and_time_run_out_and_leave_a_congruent_graph(limit):
    a, b = rg.matrices("a b", shape=(6, 6))
    graph = (a + b) @ (a - b) @ (a + rg.eye(6)) @ (b + rg.eye(6)) @ (a + b)
    egraph = EGraph(500 if limit == "steps" else 10**9)
    embedding = Embedding(egraph, [graph])
    egraph.end = None if limit == "steps" else 0.0
    saturation = Saturation(egraph, [embedding.references[graph]])
    with pytest.raises(OutOfSteps):
        for _ in range(50):
            saturation.round()
    assert not egraph.dirty


def test_each_law_has_an_equation_and_a_source():
    assert len(LAWS) == 19
    for law in LAWS.values():
        assert "=" in law.equation
        assert law.source
        assert law.label in ("", "cancels", "conditioned")


class Recorded(EGraph):
    """An e-graph that records which references were stated to be equal."""

    def __init__(self, steps):
        super().__init__(steps)
        self.equations = []

    def union(self, a, b):
        self.equations.append((a, b))
        return super().union(a, b)


@pytest.mark.parametrize("block", range(8))
def test_what_is_one_class_has_one_value(block):
    """Whatever a law states to be equal has equal values by NumPy."""
    equations = 0
    for seed in range(20 * block, 20 * (block + 1)):
        expressions = Expressions(seed)
        term = expressions.draw(expressions.random.choice(SHAPES), 3)
        egraph = Recorded(4_000)
        embedding = Embedding(egraph, [term.graph])
        saturation = Saturation(egraph, [embedding.references[term.graph]])
        try:
            for _ in range(4):
                if not saturation.round():
                    break
        except OutOfSteps:
            pass
        arrays = [_matrix(_value(leaf, expressions.arrays)) for leaf in embedding.leaves]
        values = evaluated(egraph, arrays)
        for sides in egraph.equations:
            left, right = (_scaled_value(values, side) for side in sides)
            scale = max(1, np.abs(right).max(initial=0))
            np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6 * scale, err_msg=sides)
        equations += len(set(egraph.equations))
    assert equations > 200


def _scaled_value(values, ref):
    c, x, t, i = ref
    value = values[x].T if t else values[x]
    return float(c) * (np.linalg.inv(value) if i else value)


def _value(node, arrays):
    values = {}
    for x in toposort([node]):
        if x.op is not None:
            values[x] = x.op.perform(*[values[y] for y in x.inputs])
        else:
            values[x] = arrays[x] if x in arrays else x.value  # noqa: SIM401 - inputs have none
    return values[node]


def _matrix(value):
    value = np.asarray(value)
    return value if value.ndim == 2 else value.reshape(-1, 1)
