"""Derivations: what they record, and a checker that accepts honest ones only."""

import random

import numpy as np
import pytest
from etuples import etuple
from unification import vars as lvars

import relgraph as rg
from relgraph.errors import VerifyError
from relgraph.ir.records import replace
from relgraph.relations.operand_index import Firing
from relgraph.rewriting.derivation.derivation import Derivation, Phase, Step, run_recorded
from relgraph.rewriting.derivation.equality import Keys
from relgraph.rewriting.selection import Selection
from tests.ops.evaluation import evaluate
from tests.samples import (
    collapse_whereo,
    count_oneso,
    distribute_matmulo,
    distribute_multiplyo,
    double_addo,
    merge_maximum_minimumo,
    remove_multiply_oneo,
)


@rg.identity(where=rg.nonnegativeo)
def cancel_sqrt_squareo(x):
    return rg.sqrt(rg.square(x)), x


A, B = rg.matrices("A B", shape=(3, 3))
x, y, z = rg.vectors("x y z", 3)


def derive(outputs, selection, once=False):
    """Return the derivation of one selection's run."""
    phase = run_recorded(outputs, selection, once)
    return Derivation(phase.before, phase.after, (phase,))


def derived(graph, *relations):
    found = derive([graph], Selection(relations))
    found.check()
    return found


def test_a_step_names_its_relation_and_its_graphs():
    d = derived(A @ (x + y), distribute_matmulo)
    (step,) = d
    assert step.relations == ("distribute_matmulo",)
    assert step.before is A @ (x + y)
    assert step.after is A @ x + A @ y
    assert d.after == (A @ x + A @ y,)
    assert str(d) == "\n".join(
        [
            "    A @ (x + y)",
            "1. distribute_matmulo",
            "    A @ (x + y)",
            "  = A @ x + A @ y",
            "result, 1 step, 21 -> 39 flops",
            "    A @ x + A @ y",
        ]
    )


def test_a_gather_of_k_terms_counts_as_k_less_one_uses():
    terms = [A @ rg.vector(f"v{i}", 3) for i in range(7)]
    d = derived(sum(terms[1:], terms[0]), distribute_matmulo.reversed)
    assert [step.uses for step in d] == [6]
    assert "distribute_matmulo.reversed x6" in str(d)


def test_nothing_to_do_is_no_step():
    d = derived(x + y, distribute_matmulo)
    assert len(d) == 0
    assert d.after == d.before


@pytest.mark.parametrize(
    "graph, relation, expected",
    [
        (rg.sqrt(rg.square(rg.exp(x))), cancel_sqrt_squareo, rg.exp(x)),
        (rg.sqrt(rg.square(x)), cancel_sqrt_squareo, None),
        (rg.exp(x * 1), remove_multiply_oneo, rg.exp(x)),
        ((x + y) * z, distribute_multiplyo, z * x + z * y),
        (y + x * 3.0 + x, count_oneso, None),
    ],
)
def test_the_checker_accepts_what_the_engine_does(graph, relation, expected):
    d = derived(graph, relation)
    if expected is not None:
        assert d.after == (expected,)
    values = {v.name: np.array([0.5, -2.0, 3.0]) for v in (x, y, z)}
    np.testing.assert_allclose(evaluate(d.after[0], values), evaluate(graph, values))


def test_the_checker_accepts_results_that_were_broadcast():
    c = rg.tensor("c", (2, 3), dtype="bool")
    d = derived(rg.where(c, x, x), collapse_whereo)
    assert d.after == (rg.broadcast_to(x, (2, 3)),)


def test_the_checker_accepts_goals_that_kanren_runs():
    from kanren.graph import mapo as kanren_mapo

    @rg.relation
    def spread_matmulo(left, right):
        a, term, terms, products = lvars(4)
        return rg.lall(
            rg.eq(left, etuple(rg.matmul, a, term)),
            rg.conso(rg.add, terms, term),
            rg.conso(rg.add, products, right),
            kanren_mapo(lambda u, v: rg.eq(v, etuple(rg.matmul, a, u)), terms, products),
        )

    assert spread_matmulo.interpreted
    d = derived(A @ (x + y), spread_matmulo)
    assert d.after == (A @ x + A @ y,)
    for nested in (A @ x + (A @ y + A @ z), A @ x + A @ y + (A @ z + A @ x), A @ x + A @ y + A @ z):
        d = derived(nested, spread_matmulo.reversed)
        assert d.after[0].op is rg.matmul
        d.check()


def honest():
    return derive([A @ (x + y) + z], Selection([distribute_matmulo]))


def rebuilt(d, step, **changes):
    (phase,) = d.phases
    return Derivation(d.before, d.after, (replace(phase, steps=(step,), **changes),))


def test_a_forged_result_is_found():
    d = honest()
    (step,) = d
    wrong = A @ x + A @ z
    firing = step.firings[0]._replace(result=wrong)
    with pytest.raises(VerifyError, match="what was made is no instance of distribute_matmulo"):
        rebuilt(d, Step(step.before, wrong, (firing,))).check()


def test_a_forged_binding_is_found():
    d = honest()
    (step,) = d
    firing = step.firings[0]._replace(bindings=(B, [x, y]))
    with pytest.raises(VerifyError, match="what was taken is no instance of distribute_matmulo"):
        rebuilt(d, Step(step.before, step.after, (firing,))).check()


@pytest.mark.parametrize("count", [3, 9, 20])
def test_a_term_of_a_long_gather_that_is_bound_twice_is_found(count):
    A, *terms = (rg.matrix(f"m{i}", shape=(3, 3)) for i in range(count + 1))
    graph = sum((A @ term for term in terms[1:]), A @ terms[0])
    phase = run_recorded([graph], Selection([distribute_matmulo.reversed]))
    phase.check()
    (step,) = phase.steps
    (firing,) = step.firings
    shared, own = firing.bindings
    own = [*own[:-1], own[-2]]
    made = A @ sum(own[1:], own[0])
    forged = firing._replace(bindings=(shared, own), result=made)
    with pytest.raises(VerifyError, match="no instance"):
        replace(phase, after=(made,), steps=(replace(step, after=made, firings=(forged,)),)).check()


def test_a_lost_term_is_found():
    d = derive([A @ x + A @ y + z], Selection([distribute_matmulo.reversed]))
    (step,) = d
    with pytest.raises(VerifyError, match="gains or loses a term"):
        rebuilt(d, Step(step.before, A @ (x + y), step.firings)).check()


def test_a_condition_that_does_not_hold_is_found():
    d = derive([rg.sqrt(rg.square(rg.exp(x)))], Selection([cancel_sqrt_squareo]))
    (rewrite,) = cancel_sqrt_squareo.rewrites
    before = rg.sqrt(rg.square(x))
    forged = Step(before, x, (Firing(rewrite, (x,), (before,), x),))
    with pytest.raises(VerifyError, match="does not hold for this use of cancel_sqrt_squareo"):
        rebuilt(d, forged).check()


def test_a_relation_that_was_not_selected_is_found():
    d = derive([A @ x + A @ y + z], Selection([distribute_matmulo.reversed]))
    (phase,) = d.phases
    for other in ([], [double_addo], [distribute_matmulo]):
        with pytest.raises(VerifyError, match="the selection does not hold distribute_matmulo"):
            replace(phase, selection=Selection(other)).check()


def test_a_changed_type_is_found():
    d = honest()
    (step,) = d
    narrow = rg.cast(step.after, "float32")
    with pytest.raises(VerifyError, match="changes a type"):
        rebuilt(d, Step(step.before, narrow, step.firings)).check()


def test_steps_that_lead_elsewhere_are_found():
    d = honest()
    (phase,) = d.phases
    other = Phase(phase.before, (A @ x + A @ y + x,), phase.steps, phase.selection)
    with pytest.raises(VerifyError, match="do not lead from the graph to the result"):
        Derivation(d.before, other.after, (other,)).check()


def test_keys_are_equal_up_to_order_and_bracketing_only():
    key = Keys()
    assert key(x + (y + z)) == key(z + y + x)
    assert key(rg.exp(x + y) * z) == key(z * rg.exp(y + x))
    assert key(rg.maximum(x, y)) == key(rg.maximum(y, x))
    assert key(x - y) != key(y - x)
    assert key(x + x) != key(x)
    assert key(x + x + y) != key(x + y + y)
    assert key(x * y) != key(x + y)


def test_keys_of_products_ignore_bracketing_where_a_pattern_does():
    first, second, third = rg.matrices("first second third", shape=(3, 3))
    batch = rg.tensor("batch", shape=(2, 3, 3))
    left, right = first @ second @ third, first @ (second @ third)
    key = Keys()
    assert key(left) != key(right)
    key = Keys(any_brackets=True)
    assert key(left) == key(right)
    assert key(rg.inv(left)) == key(rg.inv(right))
    assert key(first @ second) != key(second @ first)
    assert key(batch @ first) != key(first @ batch)
    assert key((batch @ x) @ first) != key(x @ first)


@pytest.mark.parametrize("zero", [0.0, np.zeros(3), np.zeros(3, "float32")], ids=str)
def test_a_number_in_a_pattern_stands_for_constants_of_any_shape(zero):
    @rg.identity
    def remove_zeroo(a):
        return rg.exp(a) + 0, rg.exp(a)

    graph = rg.tanh(rg.exp(x) + zero)
    derivation = rg.explain(graph, remove_zeroo)
    assert derivation.after == (rg.tanh(rg.exp(x)),)
    derivation.check()


def test_keys_of_doubled_sums_count_every_path():
    key = Keys()
    node = x
    for _ in range(1000):
        node = node + node
    assert key.terms(node) == {x: 2**1000}
    inner = x + y
    assert key.terms((inner + z) + inner) == {x: 2, y: 2, z: 1}


RELATIONS = (
    distribute_matmulo,
    distribute_multiplyo,
    double_addo,
    remove_multiply_oneo,
    merge_maximum_minimumo,
    count_oneso,
    cancel_sqrt_squareo,
    collapse_whereo,
)


def drawn(draw):
    """Return a graph of sums and products with sharing."""
    pool = [rg.tensor("a", (3,)), rg.tensor("b", (3, 3)), rg.tensor("c", (3, 3)), rg.scalar("d")]
    ops = (
        rg.add, rg.add, rg.add, rg.multiply, rg.maximum, rg.minimum, rg.matmul,
        lambda u, v: u * 1, lambda u, v: u + u, lambda u, v: 2 * u + u,
        lambda u, v: rg.maximum(u, v) + rg.minimum(u, v), lambda u, v: rg.where(u > v, v, v),
        lambda u, v: rg.sqrt(rg.square(rg.absolute(u))),
    )  # fmt: skip
    while len(pool) < draw.randint(6, 18):
        try:
            pool.append(draw.choice(ops)(draw.choice(pool[-5:]), draw.choice(pool)))
        except rg.errors.RelgraphError:
            continue
    return pool[-1]


@pytest.mark.parametrize("seed", range(150))
def test_random_derivations_check_and_keep_values(seed):
    draw = random.Random(seed)
    graph = drawn(draw)
    chosen = draw.sample(RELATIONS, draw.randint(1, 5))
    if count_oneso in chosen and distribute_multiplyo in chosen:  # each undoes the other
        chosen.remove(count_oneso)
    d = derive([graph], Selection(chosen))
    d.check()
    numbers = np.random.default_rng(seed)
    values = {
        v.name: numbers.uniform(-1, 1, v.type.shape) for v in rg.FunctionGraph(None, graph).inputs
    }
    with np.errstate(over="ignore", invalid="ignore"):
        before, after = evaluate(graph, values), evaluate(d.after[0], values)
    if np.isfinite(before).all():
        size = 1 + np.abs(before).max(initial=0)
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9 * size)


def test_a_term_that_becomes_a_sum_is_counted_as_often_as_it_occurs():
    term = x * (y + z)
    graph = term + (term + y)
    d = derived(graph, distribute_multiplyo)
    assert Keys().terms(d.after[0]) == {x * y: 2, x * z: 2, y: 1}
    d = derived(rg.exp(graph) + graph, distribute_multiplyo, double_addo)
    values = {v.name: np.array([0.5, -2.0, 3.0]) for v in (x, y, z)}
    np.testing.assert_allclose(
        evaluate(d.after[0], values), evaluate(rg.exp(graph) + graph, values)
    )


def test_results_of_two_dtypes_are_not_opened_into_a_sum():
    P, Q = (rg.tensor(name, (3,), dtype="int64") for name in "PQ")
    v, w = (rg.tensor(name, (), dtype="int8") for name in "vw")
    graph = (rg.maximum(P, w) + rg.minimum(P, w)) + (rg.maximum(Q, v) + rg.minimum(Q, v))
    d = derived(graph, merge_maximum_minimumo)
    values = {"P": np.arange(3), "Q": np.arange(3), "v": np.int8(100), "w": np.int8(100)}
    values = {name: np.asarray(value) for name, value in values.items()}
    np.testing.assert_array_equal(evaluate(d.after[0], values), [200, 202, 204])
