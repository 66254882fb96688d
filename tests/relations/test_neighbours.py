"""Rewrites of neighbours: one step for all of a sequence, in work linear in its operands."""

import pickle

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.checking.evaluation import evaluate
from relgraph.errors import BudgetError, VerifyError
from relgraph.ir.records import replace
from relgraph.ops.concatenate import Concatenate
from relgraph.relations.catalogue import joins
from relgraph.relations.neighbours import Firings
from tests.scale.calls import calls

ALMOST_LINEAR = 2.4  # times the work for twice the operands, which takes one more step


def names(count, letter="x"):
    return " ".join(f"{letter}{count}_{i}" for i in range(count))


def vectors(count, size=5):
    return rg.vectors(names(count), shape=(size,))


def adjacent_slices(count):
    return rnp.concatenate([part for x in vectors(count) for part in (x[:3], x[3:])])


def slices_of_one(count):
    x = rg.vector(f"x{count}", shape=(3 * count + 1,))
    return rnp.concatenate([x[3 * i : 3 * i + 3] for i in range(count)])


def rows(count):
    return rnp.concatenate([x[None] for x in vectors(count)])


def nested_joins(count):
    return rnp.concatenate([rnp.concatenate([x, rg.exp(x)]) for x in vectors(count)])


def blocks(count):
    x, y, *_ = vectors(count + 1)
    return rnp.block([[x[None, :2] * i, y[None, 2:] + i] for i in range(1, count + 1)])


def empty_parts(count):
    return rnp.concatenate([part for x in vectors(count) for part in (x[:0], x, x[5:])])


def repeated_rows(count):
    return rnp.concatenate([rnp.broadcast_to(x, (k, 5)) for x in vectors(count) for k in (2, 3)])


def shared_rows(count):
    """Joins of broadcasts that all have other users, so that no firing pays."""
    x, y = vectors(2)
    copies = [rnp.broadcast_to(x, (2, 5)), rnp.broadcast_to(y, (2, 5))]
    return rnp.concatenate([copies[i % 3 == 2] for i in range(3 * count)])


GRAPHS = [
    adjacent_slices, slices_of_one, rows, nested_joins, blocks, empty_parts, repeated_rows,
    shared_rows,
]  # fmt: skip


def values_of(graph):
    draw = np.random.default_rng(0)
    return {x.name: draw.normal(size=x.type.shape) for x in rg.FunctionGraph(None, graph).inputs}


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("count", [1, 2, 3, 8, 21])
def test_values_stay_and_the_result_is_normal(graph, count):
    node = graph(count)
    result = rg.rewrite_graph(node)
    assert rg.rewrite_graph(result) is result
    given = values_of(node)
    np.testing.assert_array_equal(
        evaluate((result,), given)[result], evaluate((node,), given)[node]
    )


@pytest.mark.parametrize("graph", GRAPHS)
def test_derivations_hold(graph):
    derivation = rg.explain(graph(7), mode="fast_run")
    derivation.check()
    pickle.loads(pickle.dumps(derivation)).check()


@pytest.mark.parametrize("graph", GRAPHS)
def test_work_is_linear_in_the_operands(graph):
    rg.rewrite_graph(graph(5))  # compiles the matchers
    works = []
    for count in (200, 400):
        node = graph(count)
        works.append(calls(rg.rewrite_graph, node)[1])
    assert works[1] < ALMOST_LINEAR * works[0]


def test_one_step_holds_all_firings_at_their_own_neighbours():
    x, y = rg.vectors("x y", shape=(5,))
    node = rnp.concatenate([x[:2], x[2:4], y, y[:1], y[1:2], x])
    (step,) = rg.explain(node, joins.join_indexo).steps
    assert [f.taken[0] for f in step.firings] == [
        rnp.concatenate([x[:2], x[2:4]]), rnp.concatenate([y[:1], y[1:2]]),
    ]  # fmt: skip
    assert [f.result.inputs for f in step.firings] == [(x[:4],), (y[:2],)]
    assert step.after is rnp.concatenate([x[:4], y, y[:2], x])


def test_a_profile_counts_every_firing():
    profile = rg.profile_rewrites(adjacent_slices(6), joins.join_indexo)
    assert profile.counts["join_indexo"].fired == 6


def test_every_firing_is_charged_to_the_budget():
    @rg.identity(rounding="exact", budget=5)
    def flatteno(a, b, c, k):
        return Concatenate(k)(*a, Concatenate(k)(*b), *c), Concatenate(k)(*a, *b, *c)

    rg.rewrite_graph(nested_joins(5), flatteno)
    with pytest.raises(BudgetError, match="budget of 5 firings"):
        rg.rewrite_graph(nested_joins(6), flatteno)


def test_operands_of_another_dtype_keep_the_dtype_of_the_join():
    x, y = vectors(2)
    i = rg.vector("i", shape=(4,), dtype="int32")
    node = rnp.concatenate([i[:2], i[2:], x[:3], x[3:], i[:1], i[1:], y[:2], y[2:]])
    result = rg.rewrite_graph(node)
    assert result.type == node.type
    given = values_of(rnp.concatenate([x, y])) | {"i": np.arange(4, dtype="int32")}
    np.testing.assert_array_equal(
        evaluate((result,), given)[result], evaluate((node,), given)[node]
    )


def forged(change):
    """Check the derivation of two firings in one step, changed."""
    x, y = rg.vectors("x y", shape=(5,))
    node = rnp.concatenate([x[:2], x[2:], y, y[:1], y[1:]])
    derivation = rg.explain(node, joins.join_indexo)
    (phase,) = derivation.phases
    (step,) = phase.steps
    replace(phase, steps=(change(step, x, y),)).check()


@pytest.mark.parametrize(
    "change",
    [
        lambda step, x, y: replace(step, firings=Firings(step.firings[::-1])),
        lambda step, x, y: replace(step, firings=Firings(step.firings[:1])),
        lambda step, x, y: replace(step, firings=Firings(step.firings + step.firings[-1:])),
        lambda step, x, y: replace(step, after=rnp.concatenate([y, x, y])),
        lambda step, x, y: replace(step, after=rnp.concatenate([x[::1], y, x[::-1]])),
    ],
)
def test_forged_steps_are_refused(change):
    forged(lambda step, x, y: step)
    with pytest.raises(VerifyError, match="gains or loses a term"):
        forged(change)


def test_a_rewrite_that_looks_at_what_stands_beside_has_no_window():
    def window(relation):
        return [rewrite.window for rewrite in relation.rewrites]

    assert window(joins.join_indexo) == [2]
    assert window(joins.flatten_joino) == [1]
    assert window(joins.join_repeatedo) == [0]

    @rg.identity(
        rounding="exact",
        where=lambda a, x, y: rg.checko(lambda a, x, y: len(a) == 1, a, x, y),
    )
    def swapo(a, x, y, b, k):
        return Concatenate(k)(*a, x, y, *b), Concatenate(k)(*a, y, x, *b)

    @rg.identity(rounding="exact")
    def reverseo(a, x, y, b, k):
        return Concatenate(k)(*a, x, y, *b), Concatenate(k)(*b, y, x, *a)

    assert window(swapo) == window(reverseo) == [0]
