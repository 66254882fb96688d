"""The relations of a phase together: they end, and keep type and value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relgraph as rg
from relgraph.checking.evaluation import all_finite, close, evaluate
from relgraph.checking.generators.arrays import draw
from relgraph.db.catalogue import relations
from relgraph.ir.node import constant
from relgraph.ops.elementwise import Elementwise
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.selection import selection_of
from tests.relations.catalogue.table import n, p, tensor, u, x, y
from tests.relations.test_soundness import PHASES

UNARY = ("negative", "absolute", "square", "sqrt", "exp", "log", "log1p", "expm1", "sigmoid", "erf")
BINARY = ("add", "add", "subtract", "multiply", "multiply", "true_divide", "maximum", "power")
NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0)
wide = tensor("wide", 2, 3)

leaves = st.sampled_from([x, y, p, n, u, wide, *map(constant, NUMBERS)])
terms = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda op, a: Elementwise(op)(a), st.sampled_from(UNARY), inner),
        st.builds(lambda op, a, b: Elementwise(op)(a, b), st.sampled_from(BINARY), inner, inner),
    ),
    max_leaves=8,
)


def phase(name):
    return selection_of(tuple(r for r in relations() if name in r.tags))


@pytest.mark.parametrize("name", sorted(PHASES))
@given(graph=terms)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_random_graphs_keep_type_and_value(name, graph):
    (result,) = normalise([graph], phase(name))
    assert result.type.narrows(graph.type)
    assert normalise([result], phase(name))[0] is result
    rng = np.random.default_rng(11)
    values = {v.name: np.abs(draw(v, rng)) + 0.1 for v in (x, y, p, n, u, wide)}
    done = evaluate((graph, result), values)
    if all_finite(done):
        assert close(done[graph], done[result], done, 2.0**-52), f"{graph} -> {result}"


def test_each_phase_has_relations():
    for name in PHASES:
        assert len(phase(name).relations) > 10


D = rg.matrix("D", shape=(4, 4), facts=("diagonal", "orthogonal", "invertible"))
Q = rg.matrix("Q", shape=(4, 4), facts=("orthogonal",))
A, B = rg.matrices("A B", shape=(4, 4))
v, a, b = rg.vectors("v a b", shape=(4,))
c, d, e = (rg.tensor(name, (4,), "bool") for name in "cde")
chosen = rg.where(c, d, e)
ORDERED = {
    "an orthogonal diagonal matrix": ("canonicalize", rg.inv(D), D),
    "a solution for a product": ("specialize", rg.solve(Q, Q @ B), B),
    "an outer product": ("specialize", rg.outer(a, b) @ rg.solve(rg.outer(a, b), v), v),
    "factors of a matrix": ("specialize", rg.lu(A)[0] @ (rg.lu(A)[1] @ rg.lu(A)[2]), A),
    "one choice of two": ("canonicalize", rg.where(rg.equal(d, chosen), d, chosen), chosen),
    "a sign that comes twice": ("canonicalize", v / -1 * -1, v),
}


@pytest.mark.parametrize("case", ORDERED)
def test_where_two_relations_apply_the_one_that_leaves_less_is_first(case):
    phase_of, graph, expected = ORDERED[case]
    assert rg.rewrite_graph(graph, include=[phase_of]) is expected
