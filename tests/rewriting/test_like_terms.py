"""Sums with signs: like terms meet across additions, subtractions and negations."""

import random

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import VerifyError
from relgraph.ir.graph import toposort
from relgraph.ir.records import replace
from relgraph.relations.catalogue.arithmetic import (
    absorb_add_negativeo,
    absorb_subtract_negativeo,
    annihilate_multiply_zeroo,
    cancel_negative_negativeo,
    collect_like_termso,
    double_addo,
    negate_multiplyo,
    negate_subtracto,
    remove_multiply_oneo,
)
from relgraph.rewriting.passes.constant_folding import ConstantCollecting, ConstantFolding

a, b, c, d = rg.vectors("a b c d", 3)
RULES = [
    collect_like_termso, remove_multiply_oneo, annihilate_multiply_zeroo, cancel_negative_negativeo,
]  # fmt: skip


def value(graph, arrays):
    """Return what a graph computes, op by op with NumPy."""
    inputs = [x for x in toposort([graph]) if x.op is None and hasattr(x, "name")]
    call = rg.function(inputs, graph, mode=None, target="numpy")
    with np.errstate(all="ignore"):
        return call(*[arrays[x.name] for x in inputs])


ARRAYS = {
    n: np.array(v)
    for n, v in zip("abcd", np.random.default_rng(3).normal(size=(4, 3)), strict=True)
}


def count(graph, x):
    """Return in how many places a node stands in a graph."""
    return sum(y is x for node in toposort([graph]) for y in node.inputs)


@pytest.mark.parametrize(
    ("graph", "gone", "kept"),
    [
        ((a - b) + (c - a), [a], [b, c]),
        (a - b - b, [], [a, b]),
        (a + b - c - a, [a], [b, c]),
        ((a - b) - (c - b), [b], [a, c]),
        (a - (b - (c - (d - a))), [], [a, b, c, d]),
        (2 * a - b + 3 * a, [], [a, b]),
        (a - b + c - 2 * b, [], [a, b, c]),
        (-(a + b) + a + c, [a], [b, c]),
        ((a * b - c) - (b * a - d), [a, b], [c, d]),
        (rg.exp(a) - b - rg.exp(a), [a], [b]),
    ],
)
def test_like_terms_meet_across_signs(graph, gone, kept):
    derivation = rg.explain(graph, [*RULES, ConstantFolding()], include=None)
    derivation.check()
    (made,) = derivation.after
    tidy = rg.rewrite_graph(graph, include=["canonicalize"])
    for x in kept:
        assert count(tidy, x) == 1
    for x in gone:
        assert count(tidy, x) <= 1 and x not in [y for y in tidy.inputs]
    for found in (made, tidy):
        np.testing.assert_allclose(value(found, ARRAYS), value(graph, ARRAYS), atol=1e-12)


@pytest.mark.parametrize(
    ("graph", "written"),
    [
        (a - b - b - b, a - 3 * b),
        (a - 2 * b + c - 2 * b, (a + c) - 4 * b),
        (a - 2 * b - 2 * b + 3 * c - 8 * c, a - (4 * b + 5 * c)),
        (-b - b - c - c, -2 * b - 2 * c),
        (-b - b, -2 * b),
    ],
)
def test_what_is_added_with_a_negative_coefficient_is_taken_away(graph, written):
    made = rg.rewrite_graph(graph, collect_like_termso)
    assert made is written
    np.testing.assert_allclose(value(made, ARRAYS), value(graph, ARRAYS), rtol=1e-12)


@pytest.mark.parametrize("graph", [a - b - c, a + b - c, a - (b - c), -(a + b) - c, a - b + 1])
def test_a_sum_without_like_terms_is_the_same_object(graph):
    assert rg.rewrite_graph(graph, collect_like_termso) is graph


def test_terms_that_become_alike_meet():
    """log(exp(x)) is x only once it is rewritten."""
    graph = a - rg.log(rg.exp(a - b))
    assert rg.rewrite_graph(graph, include=["canonicalize"]) is b
    chain = a
    for _ in range(50):
        chain = rg.log(rg.exp(chain - b))
    made = rg.rewrite_graph(chain, include=["canonicalize"])
    assert count(made, b) == 1
    np.testing.assert_allclose(value(made, ARRAYS), ARRAYS["a"] - 50 * ARRAYS["b"])


def test_a_shared_sum_is_not_opened():
    shared = a - b
    outputs = rg.rewrite_graph([shared + c, rg.sin(shared)], collect_like_termso)
    assert outputs[0] is shared + c
    both = rg.rewrite_graph([shared - b, rg.sin(shared)], collect_like_termso)
    assert both[1] is rg.sin(shared)


@pytest.mark.parametrize("dtype", ["uint8", "uint64", "bool"])
def test_where_there_are_no_negative_values_signs_stay(dtype):
    u, v = rg.vectors("u v", 3, dtype=dtype)
    graph = (u + v) + u if dtype == "bool" else u - v - u
    made = rg.rewrite_graph(graph, collect_like_termso)
    arrays = {"u": np.array([1, 0, 1], dtype), "v": np.array([0, 1, 1], dtype)}
    np.testing.assert_array_equal(value(made, arrays), value(graph, arrays))


def test_an_exact_selection_keeps_the_bracketing_of_floats():
    f = rg.vector("f", 3, dtype="float32")
    graph = 127 * f + f + f
    assert rg.rewrite_graph(graph, double_addo) is graph
    assert rg.rewrite_graph(f + f, double_addo) is 2 * f
    i = rg.vector("i", 3, dtype="int64")
    assert count(rg.rewrite_graph(127 * i + i + i, double_addo), i) == 2


def test_coefficients_that_overflow_stay_apart():
    f = rg.vector("f", 3, dtype="float32")
    graph = np.float32(3e38) * f - b.astype("float32") - np.float32(-3e38) * f
    made = rg.rewrite_graph(graph, collect_like_termso)
    assert made is graph


x, y = rg.vectors("x y", 3)
f = rg.vector("f", 3, dtype="float32")
LARGE, SMALL = np.float32(3e38), np.float32(1e-30)


@pytest.mark.parametrize(
    "graph",
    [
        x * 1e200 * 1e200,
        x * 1e-200 * 1e-200 + y,
        x * 1e200 * y * 1e200,
        f * np.float32(1e30) * np.float32(1e30),
        f * SMALL * SMALL,
        f + LARGE + LARGE,
        LARGE * f - (-LARGE * f),
        rg.sum(np.float32(1e30) * f) * np.float32(1e30),
        rg.sum(1e200 * x) * 1e200,
    ],
)
def test_equal_constants_are_not_combined_where_that_overflows(graph):
    arrays = {
        "x": np.array([0.0, 1e-200, 1e300]),
        "y": np.array([0.0, 1.0, 1e-300]),
        "f": np.array([0.0, 0.5, -1e-3], "float32"),
    }
    expected = value(graph, arrays)
    found = value(rg.rewrite_graph(graph, mode="o4"), arrays)
    finite = np.isfinite(expected)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-6)


def draw(rng, inputs, depth):
    """Return a random sum of few inputs, with many like terms."""
    if depth == 0 or rng.random() < 0.15:
        x = rng.choice(inputs)
        return x if rng.random() < 0.6 else rng.randrange(-3, 4) * x
    kind = rng.random()
    first = draw(rng, inputs, depth - 1)
    if kind < 0.1:
        return -first
    second = draw(rng, inputs, depth - 1)
    return first + second if kind < 0.5 else first - second


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("dtype", ["int64", "int8", "float64"])
def test_random_sums_keep_their_values(seed, dtype):
    rng = random.Random(f"{seed} {dtype}")
    inputs = [rg.vector(n, 3, dtype=dtype) for n in "pqr"]
    graph = draw(rng, inputs, rng.randrange(2, 6))
    arrays = {n: np.array([rng.randrange(-100, 100) for _ in range(3)], dtype) for n in "pqr"}
    expected = value(graph, arrays)
    folding = [ConstantFolding(), ConstantCollecting()]
    for found in (
        rg.rewrite_graph(graph, [*RULES, *folding]),
        rg.rewrite_graph(graph, include=["canonicalize"]),
        rg.rewrite_graph(graph, mode="o4"),
    ):
        np.testing.assert_array_equal(value(found, arrays), expected)
        assert found.type.narrows(graph.type)


def shared(rng, inputs, functions):
    """Return a random graph in which sums and products have several users."""
    pool = list(inputs)
    for _ in range(rng.randrange(4, 16)):
        x, y, kind = rng.choice(pool[-6:]), rng.choice(pool), rng.random()
        if kind < 0.65:
            pool.append(x + y if kind < 0.35 else x - y)
        elif kind < 0.75:
            pool.append(-x)
        elif kind < 0.9:
            pool.append(rng.randrange(-3, 4) * x if kind < 0.85 else x * y)
        else:
            pool.append(rng.choice(functions)(x))
    return pool[-1] if rng.random() < 0.7 else pool[-3:]


@pytest.mark.parametrize("dtype", ["int64", "int8", "float64"])
def test_derivations_of_random_sums_are_accepted(dtype):
    functions = [rg.exp, rg.sin, rg.sqrt] if dtype == "float64" else [rg.abs, rg.sign]
    inputs = [rg.vector(n, 3, dtype=dtype) for n in "pqr"]
    uses = 0
    for seed in range(120):
        rng = random.Random(f"{seed} {dtype}")
        for graph in (
            draw(rng, inputs, rng.randrange(2, 6)),
            shared(random.Random(f"shared {seed} {dtype}"), inputs, functions),
        ):
            derivation = rg.explain(graph, include=["canonicalize"])
            derivation.check()
            uses += len(derivation)
    assert uses > 500


def test_derivations_of_random_sums_are_accepted_where_nothing_may_cancel():
    relations = [
        double_addo, remove_multiply_oneo, cancel_negative_negativeo, absorb_subtract_negativeo,
        absorb_add_negativeo, negate_subtracto, negate_multiplyo,
    ]  # fmt: skip
    assert all(x.specials == "kept" for x in relations)
    inputs = rg.vectors("p q r", 3)
    uses = 0
    for seed in range(150):
        depth = random.Random(f"{seed} z").randrange(2, 6)
        for graph in (
            draw(random.Random(f"{seed} k"), inputs, depth),
            shared(random.Random(f"s {seed}"), inputs, [rg.exp, rg.sin]),
        ):
            derivation = rg.explain(graph, relations)
            derivation.check()
            uses += len(derivation)
    assert uses > 300


@pytest.mark.parametrize("seed", range(20))
def test_derivations_of_other_results_are_refused(seed):
    rng = random.Random(f"{seed} other")
    p, q, r = inputs = [rg.vector(n, 3, dtype="int64") for n in "pqr"]
    graph = draw(rng, inputs, 4) + 2 * p - p
    derivation = rg.explain(graph, [*RULES, ConstantFolding()], include=None)
    phase = max(derivation.phases, key=lambda x: len(x.steps))
    phase.check()
    (result,) = phase.after
    for wrong in (result + p, result - q, -(result + r)):
        with pytest.raises(VerifyError, match="do not lead"):
            replace(phase, after=(wrong,)).check()


def test_a_long_alternating_sum_takes_time_in_proportion():
    """Ten thousand terms of a few inputs, nested to the right, are one step."""
    total = a
    for i in range(10_000):
        total = (b if i % 3 else c) - total
    derivation = rg.explain(total, [collect_like_termso])
    assert len(derivation.phases[0].steps) == 1
    made = rg.rewrite_graph(total, include=["canonicalize"])
    assert len(toposort([made])) < 20
    np.testing.assert_allclose(value(made, ARRAYS), value(total, ARRAYS), rtol=1e-9)
