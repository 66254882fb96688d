"""The relations of a phase together: they end, and keep type and value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relgraph.checking.numbers import all_finite, close, draw, evaluate
from relgraph.ir.node import constant
from relgraph.ops.elementwise import Elementwise
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.selection import selection_of
from tests.relations.catalogue.table import n, p, tensor, u, x, y
from tests.relations.test_soundness import PHASES, shipped

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
    return selection_of(tuple(r for _, r in shipped() if name in r.tags))


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
