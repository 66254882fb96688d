"""The ring of words decides equality of sums and products, as values by NumPy do."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

import relgraph as rg
from relgraph.checking.evaluation import evaluate
from relgraph.ir.node import toposort
from relgraph.search.normal_form import NormalForms
from relgraph.search.polynomials import Budget, Exhausted, key_of
from relgraph.search.proof import Question, by_words
from relgraph.search.word_graphs import WordGraphs
from relgraph.search.words import Words
from tests.search.identities import EQUAL, A, B, C, s, t, u, v, x, y

LEAVES = {
    "matrix": [A, B, rg.matrix("P", shape=("n", "n"), facts=("symmetric",))],
    "vector": [u, v],
    "scalar": [s, t],
}


def drawn(rng, kind, depth):
    """Return a random sum or product of a kind, over small integers."""
    if depth == 0:
        return rng.choice(LEAVES[kind])
    a = drawn(rng, kind, depth - 1)

    def other(k):
        return drawn(rng, k, rng.randrange(depth))

    choices = {
        "matrix": [
            lambda: a + other("matrix"),
            lambda: a @ other("matrix"),
            lambda: a - other("matrix"),
            lambda: a.T,
            lambda: rg.outer(other("vector"), other("vector")),
            lambda: other("scalar") * a,
            lambda: a * other("vector"),
        ],
        "vector": [
            lambda: a + other("vector"),
            lambda: a @ other("matrix"),
            lambda: other("matrix") @ a,
            lambda: a * other("vector"),
            lambda: rg.sum(other("matrix"), axis=rng.randrange(2)),
            lambda: rg.diagonal(other("matrix")),
        ],
        "scalar": [
            lambda: a * other("scalar"),
            lambda: a - other("scalar"),
            lambda: rg.trace(other("matrix")),
            lambda: other("vector") @ other("vector"),
            lambda: rg.sum(other("vector")),
        ],
    }
    return rng.choice(choices[kind])()


PRIME = 2**25 - 39


def fingerprint(graph):
    """Return the value of a graph on random integers modulo a prime, which is exact."""
    rng = np.random.default_rng(5)
    n = 5
    raw = rng.integers(PRIME, size=(n, n))
    values = {
        "P": raw + raw.T,
        **{name: rng.integers(PRIME, size=(n, n)) for name in "AB"},
        **{name: rng.integers(PRIME, size=n) for name in "uv"},
        **{name: rng.integers(PRIME, size=()) for name in "st"},
    }
    done = {}
    for node in toposort([graph]):
        value = (
            values[node.name]
            if node.op is None
            else node.op.perform(*[done[operand] for operand in node.inputs])
        )
        done[node] = np.asarray(value % PRIME)
    return done[graph].tobytes()


@pytest.mark.parametrize("kind", LEAVES)
def test_words_prove_what_is_equal_on_integers_and_nothing_else(kind):
    rng = random.Random(kind)
    graphs = list(dict.fromkeys(drawn(rng, kind, rng.randrange(1, 4)) for _ in range(120)))
    words = Words(Budget(10**6))
    reading = NormalForms(words)
    for node in toposort(graphs):
        reading.read(node)
    normal, exact = {}, {}
    for g in graphs:
        normal.setdefault(key_of(words.settled(reading.field(g))), []).append(g)
        exact.setdefault(fingerprint(g), []).append(g)
    assert sorted(map(len, normal.values())) == sorted(map(len, exact.values()))
    assert set(map(tuple, normal.values())) == set(map(tuple, exact.values()))
    assert len(graphs) > 50


@pytest.mark.parametrize("name", EQUAL)
def test_normal_forms_have_the_values_of_their_graphs(name):
    """What is read is written as a graph with the same value, by NumPy."""
    from relgraph.checking.refutation import drawn as values_for
    from relgraph.ir.graph import free_inputs

    left, right = EQUAL[name]
    words = Words(Budget(10**5))
    reading = NormalForms(words)
    for node in toposort([left, right]):
        reading.read(node)
    writing = WordGraphs(reading, left.dtype)
    forms = [writing.of(side) for side in (left, right)]
    values = next(values_for(free_inputs([left, right]), regular=True))
    values = {n: np.abs(z) if z.ndim < 2 else z for n, z in values.items()}
    for side, form in zip((left, right), forms, strict=True):
        done = evaluate((side, form), values)
        np.testing.assert_allclose(done[form], done[side], rtol=1e-7, atol=1e-7)


def test_coefficients_are_exact():
    third = Fraction(1, 3)
    left, right = x / 3 + x / 5, x * 8 / 15
    assert not isinstance(by_words(Question(left, right, 1000)), str)
    words = Words(Budget(100))
    reading = NormalForms(words)
    for node in toposort([x / 3]):
        reading.read(node)
    assert set(reading.field(x / 3).values()) == {third}
    # A float constant is the dyadic number that it holds.
    assert isinstance(by_words(Question(x * 0.1 * 10, x, 1000)), str)
    assert not isinstance(by_words(Question(x * 0.5 * 2, x, 1000)), str)


def test_a_budget_counts_steps():
    words = Words(Budget(10))
    reading = NormalForms(words)
    with pytest.raises(Exhausted, match="budget of 10 steps"):
        for node in toposort([(A + B) @ (A + C) @ (B + C) @ (A + B + C)]):
            reading.read(node)
    assert words.budget.steps == 11


def test_normal_forms_do_not_depend_on_the_order_of_operands():
    for left, right in ((x + y, y + x), (x * y * s, s * (y * x)), (u @ A @ v, v @ (u @ A))):
        words = Words(Budget(100))
        reading = NormalForms(words)
        for node in toposort([left, right]):
            reading.read(node)
        assert key_of(reading.field(left)) == key_of(reading.field(right))
