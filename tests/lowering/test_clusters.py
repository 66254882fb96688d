"""Clusters: which steps can become one without waiting for themselves."""

import relgraph as rg
from relgraph.lowering.clusters import Ancestors, Clusters
from relgraph.lowering.kernels import Call, Kernel, schedule
from tests.lowering.evaluation import fusion, graph_of

S = rg.matrix("S", ("n", "n"))
v = rg.vector("v", "n")


class Kernels(Clusters):
    """Any kernel begins a cluster, and joins each that it reads from."""

    def seed(self, step):
        return "kernels" if isinstance(step, Kernel) else None

    def kind(self, step, cluster):
        if isinstance(step, Call):
            return None
        return "full" if step.folded else "map"


def clusters_of(*outputs, kind=Kernels, **changes):
    """Return the clusters of a schedule, each as the results of its members."""
    graph = graph_of(*outputs)
    limits = fusion(**changes)
    steps = schedule(graph, limits)
    clusters = kind(graph, steps, limits)
    return clusters, [
        [x for i in cluster.members for x in steps[i].results] for cluster in clusters.build()
    ]


def test_the_ancestors_of_a_step_are_those_it_waits_for_through_others():
    ancestors = Ancestors()
    first, second = ancestors.open("a"), ancestors.open("a")
    ancestors.add(second, ancestors.bit(first))
    ancestors.add(7, ancestors.bit(second))
    assert list(ancestors.listed(ancestors.of(second))) == [first]
    assert list(ancestors.listed(ancestors.of(7))) == [second]  # the caller adds those of second


def test_what_a_cluster_waits_for_later_reaches_those_that_wait_for_it():
    ancestors = Ancestors()
    first, second = ancestors.open("a"), ancestors.open("b")
    ancestors.add(7, ancestors.bit(second))
    ancestors.add(second, ancestors.bit(first))
    assert set(ancestors.listed(ancestors.of(7))) == {first, second}


def test_clusters_are_listed_by_their_key_until_they_are_closed():
    ancestors = Ancestors()
    first, second, other = (ancestors.open(key) for key in ("a", "a", "b"))
    assert list(ancestors.listed(ancestors.with_key("a"))) == [first, second]
    ancestors.close(first)
    assert list(ancestors.listed(ancestors.with_key("a"))) == [second]
    assert list(ancestors.listed(ancestors.with_key("b"))) == [other]


def test_only_the_newest_clusters_are_remembered():
    ancestors = Ancestors()
    first = ancestors.open("a")
    for step in range(600):
        last = ancestors.open("a")
        ancestors.add(step, ancestors.bit(last))
    assert ancestors.bit(first) == 0
    assert ancestors.bit(last) != 0
    assert list(ancestors.listed(ancestors.of(599))) == [last]


def test_kernels_that_read_from_each_other_join():
    total = rg.sum(S, axis=1)
    _, found = clusters_of(rg.sum(S - total, axis=1))
    assert found == [[total, rg.sum(S - total, axis=1)]]


def test_a_cluster_of_one_step_is_not_worth_joining():
    assert clusters_of(rg.sum(S, axis=1))[1] == []


def test_a_step_does_not_join_a_cluster_that_it_waits_for_through_a_call():
    total = rg.sum(S, axis=1)
    product = S @ total
    _, found = clusters_of(rg.sum(S - total * product, axis=1))
    assert all(total not in members for members in found)


def test_a_cluster_keeps_the_limit_of_a_kernel():
    total = rg.sum(rg.exp(S), axis=1)
    result = rg.sum(rg.sin(S - total), axis=1)
    assert clusters_of(result, limit=5)[1] != []
    assert clusters_of(result, limit=4)[1] == []


def test_a_cluster_keeps_the_number_of_arrays_of_a_kernel():
    total = rg.sum(S, axis=1)
    result = rg.sum(S - total, axis=1)
    assert clusters_of(result, arrays=3)[1] != []
    assert clusters_of(result, arrays=2)[1] == []


def test_what_no_full_member_reads_is_left_out():
    total = rg.sum(S, axis=1)
    unread = rg.exp(total)
    _, found = clusters_of(rg.sum(S - total, axis=1), unread @ S)
    assert found == [[total, rg.sum(S - total, axis=1)]]


def test_results_that_others_read_leave_the_cluster():
    total = rg.sum(S, axis=1)
    result = rg.sum(S - total, axis=1)
    graph = graph_of(result, total @ S)
    steps = schedule(graph, fusion())
    clusters = Kernels(graph, steps, fusion())
    (cluster,) = clusters.build()
    assert clusters.read_outside(cluster) == {total, result}
