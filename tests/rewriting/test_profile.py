"""rg.profile_rewrites: firings and attempts of each relation, and that it changes no result."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, BudgetError
from relgraph.rewriting.profile import Count, RewriteProfile, Stage, profiling, timed
from tests.samples import cancel_log_expo, distribute_matmulo, double_addo


@rg.relation
def cos_oppositeo(left, right):
    """cos(-x) = cos(x)."""
    (v,) = rg.lvars("v")
    return rg.lall(rg.eq(left, rg.cos(rg.negative(v))), rg.eq(right, rg.cos(v)))


class Identity(rg.NodeRewriter):
    """abs(abs(x)) = abs(x)."""

    def tracks(self):
        return [rg.absolute]

    def transform(self, graph, node):
        inner = node.inputs[0]
        return inner if inner.op is node.op else None


x, y, z = rg.vectors("x y z", shape=("n",))
A = rg.matrix("A", shape=("n", "n"))


def test_a_relation_is_counted_where_it_fires_and_where_it_is_tried():
    graph = [rg.log(rg.exp(x)), rg.log(rg.exp(y)), rg.log(z), rg.sin(z)]
    profile = rg.profile_rewrites(graph, cancel_log_expo)
    assert isinstance(profile, RewriteProfile)
    count = profile.counts["cancel_log_expo"]
    assert (count.fired, count.tried) == (2, 3)
    assert count.seconds > 0
    assert not count.interpreted


def test_relations_that_do_not_fire_are_listed():
    profile = rg.profile_rewrites(rg.sin(x), cancel_log_expo, double_addo)
    assert list(profile.counts) == ["cancel_log_expo", "double_addo"]
    assert all(c.fired == 0 for c in profile.counts.values())


def test_each_use_of_a_relation_in_a_sum_counts():
    vectors = rg.vectors("a b c d", shape=("n",))
    products = [A @ v for v in vectors]
    graph = sum(products[1:], products[0])
    profile = rg.profile_rewrites(graph, distribute_matmulo.reversed)
    assert profile.counts["distribute_matmulo.reversed"].fired == 3


@pytest.mark.parametrize("relation", [cancel_log_expo, distribute_matmulo, double_addo])
def test_profiling_changes_no_result(relation):
    graph = A @ (rg.log(rg.exp(x)) + (y + y))
    values = {"A": np.arange(9.0).reshape(3, 3), "x": np.arange(3.0), "y": np.ones(3)}
    expected = values["A"] @ (values["x"] + 2 * values["y"])
    plain = rg.rewrite_graph(graph, relation)
    with profiling() as profile:
        profiled = rg.rewrite_graph(graph, relation)
    assert profiled is plain
    assert profile.counts[relation.label].fired == len(rg.explain(graph, relation)) == 1
    np.testing.assert_allclose(rg.evaluate(profiled, values), expected)


def test_goals_and_rewriters_are_counted():
    graph = rg.absolute(rg.absolute(rg.cos(-x)))
    profile = rg.profile_rewrites(graph, [cos_oppositeo, Identity()])
    assert profile.counts["cos_oppositeo"].fired == 1
    assert profile.counts["Identity"].fired == 1
    assert profile.counts["Identity"].tried >= 1
    assert rg.rewrite_graph(graph, [cos_oppositeo, Identity()]) is rg.absolute(rg.cos(x))


def test_modes_are_profiled():
    graph = rg.log(1 + rg.exp(x)) + 0
    profile = rg.profile_rewrites(graph, mode="o4")
    fired = {name: c.fired for name, c in profile.counts.items() if c.fired}
    steps = [name for step in rg.explain(graph, mode="o4") for name in step.relations]
    assert fired
    assert set(steps) == set(fired)


SHOWN = """\
   10.000 ms rewriting
               nodes: 7 at start, 9 largest, 5 at end, 3 created
      0.125 ms in 1 rewriter that changed nothing
      8.000 ms phase, 2 runs
                 nodes: 7 at start, 9 largest, 5 at end, 3 created
        1.500 ms often_usedo: fired 3, tried 5, created 2, by kanren
        0.250 ms in 1 relation that did not fire"""

EVERY = """\
   10.000 ms rewriting
               nodes: 7 at start, 9 largest, 5 at end, 3 created
      8.000 ms phase, 2 runs
                 nodes: 7 at start, 9 largest, 5 at end, 3 created
        1.500 ms often_usedo: fired 3, tried 5, created 2, by kanren
        0.250 ms rareo: fired 0, tried 4
      0.125 ms idle
                 nodes: 7 at start, 7 largest, 7 at end, 0 created"""


def test_the_tree():
    counts = {"rareo": Count(0, 4, 0.00025), "often_usedo": Count(3, 5, 0.0015, True, 2)}
    phase = Stage("phase", 0.008, 2, 1, 7, 5, 9, 3, counts=counts)
    idle = Stage("idle", 0.000125, 1, 0, 7, 7, 7)
    stages = {"idle": idle, "phase": phase}
    whole = Stage("rewriting", 0.01, 1, 1, 7, 5, 9, 3, stages=stages)
    profile = RewriteProfile(counts, whole)
    assert str(profile) == SHOWN
    assert profile.text(every=True) == EVERY


def test_passes_and_users_rewriters_are_stages():
    class Halve(rg.GraphRewriter):
        """Replaces 2 x by x: wrong, but a pass."""

        def apply(self, graph):
            return graph.replace(2 * x, x)

    graph = rg.exp(rg.absolute(rg.absolute(2 * x)))
    profile = rg.profile_rewrites(graph, [Identity(), Halve()])
    assert rg.rewrite_graph(graph, [Identity(), Halve()]) is rg.exp(rg.absolute(x))
    found, waiting = {}, [profile.whole]
    while waiting:
        stage = waiting.pop()
        found[stage.name] = stage
        waiting += stage.stages.values()
    assert found["Halve"].changes == 1
    assert (found["Halve"].start, found["Halve"].end) == (5, 3)
    assert profile.counts["Identity"].fired == 1
    whole = profile.whole
    assert (whole.start, whole.end, whole.largest, whole.changes) == (6, 3, 6, 1)
    assert whole.seconds >= found["Halve"].seconds > 0


def test_created_nodes_are_those_that_were_not_there():
    profile = rg.profile_rewrites([rg.log(rg.exp(y)), x + x], cancel_log_expo, double_addo)
    assert profile.counts["cancel_log_expo"].created == 0  # y was there
    assert profile.counts["double_addo"].created == 2  # 2 and 2 x
    assert profile.whole.created == 2


def test_an_attempt_that_raises_is_counted():
    count = Count()
    with pytest.raises(ZeroDivisionError):
        timed(lambda: 1 / 0, count)()
    assert count.tried == 1


def test_errors_end_the_profile():
    @rg.identity(budget=2)
    def growo(x):
        return rg.exp(x), rg.exp(x + 1)

    with pytest.raises(BudgetError, match="growo"):
        rg.profile_rewrites(rg.exp(x), growo)
    with pytest.raises(ArgumentError, match="refine a mode"):
        rg.profile_rewrites(x, mode=[cancel_log_expo], include="canonicalize")
    with profiling() as profile:
        pass
    rg.rewrite_graph(rg.log(rg.exp(x)), cancel_log_expo)
    assert profile.counts == {}
