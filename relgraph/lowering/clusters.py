"""Clusters: steps of a schedule that can become one kernel, because none waits for another one
through a step outside of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.lowering.kernels import Kernel, Step
from relgraph.lowering.regions import Fusion
from relgraph.lowering.sizes import Sizes, Terms

_REACH = 500  # steps that are looked at to find out whether two wait for each other


@dataclass(eq=False)
class Cluster:
    """Steps to join.

    Attributes
    ----------
    key : object
        What they have in common; a matter of those who seek them.
    members : list of int
        Their places in the schedule.
    full : set of int
        Those that stay in the kernel even if no other member reads what they make.
    """

    key: Any
    members: list[int] = field(default_factory=list)
    full: set[int] = field(default_factory=set)
    weight: int = 0
    arrays: set[Variable] = field(default_factory=set)


class Clusters:
    """The clusters of a schedule.

    Parameters
    ----------
    graph : FunctionGraph
        The graph.
    steps : sequence of Step
        Its schedule.
    fusion : Fusion
        The limits of a kernel.
    """

    def __init__(self, graph: FunctionGraph, steps: Sequence[Step], fusion: Fusion) -> None:
        self.graph = graph
        self.steps = steps
        self.fusion = fusion
        self.sizes = Sizes(graph, steps)
        self.producer = {x: i for i, step in enumerate(steps) for x in step.results}
        self.cluster: dict[int, Cluster] = {}

    def shape(self, x: Variable) -> Terms:
        """Return the shape of a value."""
        return self.sizes.found(self.sizes.shape[x])

    def loop(self, step: Kernel) -> Terms:
        """Return the shape of a kernel's loop."""
        return self.sizes.found(self.sizes.loop[step])

    def seed(self, step: Step) -> Any:
        """Return the key of a cluster that a step begins; None where it begins none."""
        raise NotImplementedError  # abstract: each kind of kernel has its own

    def kind(self, step: Step, cluster: Cluster) -> str | None:
        """Return what a step is in a cluster, "full" where it stays anyway; None if nothing."""
        raise NotImplementedError  # abstract: each kind of kernel has its own

    def near(self, step: Step) -> list[Cluster]:
        """Return the clusters that a step may join: those whose results it reads."""
        found = {self.cluster.get(self.producer.get(x, -1)): None for x in step.reads}
        return [cluster for cluster in found if cluster is not None]

    def complete(self, cluster: Cluster) -> bool:
        """Tell whether a cluster is worth joining."""
        return len(cluster.full) > 1

    def found(self) -> list[Cluster]:
        """Return the clusters that are worth joining, without what none of their kernels needs."""
        clusters: list[Cluster] = []
        for i, step in enumerate(self.steps):
            if any(self._join(i, cluster) for cluster in self.near(step)):
                continue
            key = self.seed(step)
            if key is not None:
                clusters.append(Cluster(key))
                self._add(i, clusters[-1], full=True)
        for cluster in clusters:
            self._trim(cluster)
        return [cluster for cluster in clusters if self.complete(cluster)]

    def made(self, step: Step, cluster: Cluster) -> list[Variable]:
        """Return what a step reads of the results of a cluster."""
        return [x for x in step.reads if self.cluster.get(self.producer.get(x, -1)) is cluster]

    def _add(self, i: int, cluster: Cluster, full: bool) -> None:
        step = self.steps[i]
        cluster.members.append(i)
        self.cluster[i] = cluster
        if full:
            cluster.full.add(i)
        if isinstance(step, Kernel):
            cluster.weight += sum(map(self.fusion.weight, step.nodes))
            cluster.arrays.update(step.reads, step.results)

    def _join(self, i: int, cluster: Cluster) -> bool:
        step = self.steps[i]
        kind = self.kind(step, cluster)
        if kind is None or self._waits(i, cluster):
            return False
        if isinstance(step, Kernel):
            weight = cluster.weight + sum(map(self.fusion.weight, step.nodes))
            arrays = cluster.arrays.union(step.reads, step.results)
            if weight > self.fusion.limit or len(arrays) > self.fusion.arrays:
                return False
        self._add(i, cluster, kind == "full")
        return True

    def _waits(self, i: int, cluster: Cluster) -> bool:
        """Tell whether a step waits for a cluster through a step that is not in it."""
        first = cluster.members[0]
        stack = [j for j in self._needed(i) if self.cluster.get(j) is not cluster]
        seen: set[int] = set()
        while stack:
            j = stack.pop()
            if j in seen:
                continue
            other = self.cluster.get(j)
            if other is cluster or len(seen) > _REACH:
                return True
            group = [j] if other is None else other.members
            seen.update(group)
            if group[-1] > first:
                stack.extend(k for member in group for k in self._needed(member))
        return False

    def _needed(self, i: int) -> list[int]:
        return [self.producer[x] for x in self.steps[i].reads if x in self.producer]

    def _trim(self, cluster: Cluster) -> None:
        """Drop what no member that stays anyway needs."""
        read: set[Variable] = set()
        kept = []
        for i in reversed(cluster.members):
            step = self.steps[i]
            if i in cluster.full or not read.isdisjoint(step.results):
                kept.append(i)
                read.update(step.reads)
        cluster.members = kept[::-1]


__all__ = ["Cluster", "Clusters"]
