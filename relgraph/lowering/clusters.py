"""Clusters: steps of a schedule that can become one kernel.

Steps can be joined if none of them waits for another one through a step outside of the cluster; the
joined schedule then stays acyclic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.lowering.kernels import Call, Kernel, Step
from relgraph.lowering.regions import Fusion
from relgraph.lowering.sizes import Sizes, Terms
from relgraph.lowering.views import is_view

_REACH = 512  # how many of the newest clusters a step may join


@dataclass(eq=False)
class Cluster:
    """Steps to join into one kernel.

    Attributes
    ----------
    key
        What the steps have in common, such as the shape of their rows; each subclass of
        :class:`Clusters` has its own kind of key.
    number
        The position of the cluster among all clusters, in order of creation.
    members
        The positions of the steps in the schedule.
    full
        The members that stay in the kernel even if no other member reads their results.
    """

    key: Any
    number: int
    members: list[int] = field(default_factory=list)
    full: set[int] = field(default_factory=set)
    weight: int = 0
    arrays: set[Variable] = field(default_factory=set)


Unit = int | Cluster
"""A cluster, or the position in the schedule of a step that is in no cluster."""


class Ancestors:
    """The clusters that each unit of a schedule waits for, directly or through other units.

    A set of clusters is an int with one bit for each of the newest :data:`_REACH` clusters; the
    lowest bit is the oldest one.  The work for each step is therefore bounded.
    """

    def __init__(self) -> None:
        self.clusters: list[Cluster] = []
        self._oldest = 0  # the number of the cluster of the lowest bit
        self._sets: dict[Hashable, tuple[int, int]] = {}  # a set, and the number of its lowest bit
        self._awaited = 0  # the clusters that some unit waits for
        self._grown = 0  # those that gained ancestors after some unit began to wait for them

    def bit(self, cluster: Cluster) -> int:
        """Return the set that holds one cluster; it is empty if the cluster is too old."""
        place = cluster.number - self._oldest
        return 1 << place if place >= 0 else 0

    def listed(self, clusters: int) -> Iterator[Cluster]:
        """Yield the clusters of a set, the oldest one first."""
        while clusters:
            lowest = clusters & -clusters
            yield self.clusters[self._oldest + lowest.bit_length() - 1]
            clusters ^= lowest

    def of(self, unit: Unit) -> int:
        """Return the clusters that a unit waits for.

        Its own set may be out of date, so this adds the ancestors that its clusters gained later.
        """
        before = self._noted(unit)
        pending = before & self._grown
        while pending:
            cluster = next(self.listed(pending))
            more = self._noted(cluster) & ~before
            before |= more
            pending = (pending ^ self.bit(cluster)) | (more & self._grown)
        return before

    def with_key(self, key: Hashable) -> int:
        """Return the open clusters that have a key."""
        return self._noted(("key", key))

    def _noted(self, owner: Hashable) -> int:
        clusters, oldest = self._sets.get(owner, (0, 0))
        return clusters >> (self._oldest - oldest)

    def open(self, key: Hashable) -> Cluster:
        """Create a cluster."""
        cluster = Cluster(key, len(self.clusters))
        self.clusters.append(cluster)
        self._sets["key", key] = self.with_key(key) | self.bit(cluster), self._oldest
        return cluster

    def close(self, cluster: Cluster) -> None:
        """Remove a cluster at its limit from those that have its key."""
        key = "key", cluster.key
        self._sets[key] = self._noted(key) & ~self.bit(cluster), self._oldest

    def add(self, unit: Unit, before: int) -> None:
        """Make a unit wait for more clusters."""
        old = self._noted(unit)
        if isinstance(unit, Cluster) and before & ~old:
            self._grown |= self._awaited & self.bit(unit)
        self._awaited |= before
        self._sets[unit] = old | before, self._oldest
        aged = max(len(self.clusters) - _REACH - self._oldest, 0)
        self._oldest += aged
        self._awaited >>= aged
        self._grown >>= aged


class Clusters(ABC):
    """The clusters of a schedule, within the limits that ``fusion`` sets for a kernel."""

    def __init__(self, graph: FunctionGraph, steps: Sequence[Step], fusion: Fusion) -> None:
        self.graph = graph
        self.steps = steps
        self.fusion = fusion
        self.sizes = Sizes(graph, steps)
        self.producer = {x: i for i, step in enumerate(steps) for x in step.results}
        self.outputs = frozenset(graph.outputs)
        self.readers: dict[Variable, list[int]] = {}
        for i, step in enumerate(steps):
            for x in step.reads:
                self.readers.setdefault(x, []).append(i)
        self.cluster: dict[int, Cluster] = {}
        self.ancestors = Ancestors()

    def shape(self, x: Variable) -> Terms:
        """Return the shape of a value, in terms that are equal where the sizes are."""
        return self.sizes.find_all(self.sizes.shape[x])

    def loop(self, step: Kernel) -> Terms:
        """Return the shape of a kernel's loop nest, in such terms."""
        return self.sizes.find_all(self.sizes.loop[step])

    @abstractmethod
    def seed(self, step: Step) -> Any:
        """Return the key of the cluster that a step starts; None if it starts none."""

    @abstractmethod
    def kind(self, step: Step, cluster: Cluster) -> str | None:
        """Return the role of a step in a cluster; None if it cannot join.

        The role "full" keeps the step in the kernel even if no other member reads its results.
        """

    def near(self, step: Step, free: int) -> Iterable[Cluster]:
        """Return the clusters that a step may join; by default, those whose results it reads.

        ``free`` is the set of clusters that the step waits for through no other unit.
        """
        return [unit for unit in self._units(step) if isinstance(unit, Cluster)]

    def complete(self, cluster: Cluster) -> bool:
        """Return True if a cluster is worth joining."""
        return len(cluster.full) > 1

    def build(self) -> list[Cluster]:
        """Return the clusters worth joining, each without members that its kernel does not need."""
        ancestors = self.ancestors
        for i, step in enumerate(self.steps):
            units = self._units(step)
            between = 0  # the clusters that the step waits for through other units
            for unit in units:
                between |= ancestors.of(unit)
            cluster = self._joined(i, ~between)
            if cluster is None and (key := self.seed(step)) is not None:
                cluster = ancestors.open(key)
                self._add(i, cluster, full=True)
            for unit in units:
                if isinstance(unit, Cluster) and unit is not cluster:
                    between |= ancestors.bit(unit)
            ancestors.add(i if cluster is None else cluster, between)
        for cluster in ancestors.clusters:
            self._trim(cluster)
        return [cluster for cluster in ancestors.clusters if self.complete(cluster)]

    def _units(self, step: Step) -> dict[Unit, None]:
        """Return the units whose results a step reads."""
        positions = [self.producer[x] for x in step.reads if x in self.producer]
        return dict.fromkeys([self.cluster.get(i, i) for i in positions])

    def _joined(self, i: int, free: int) -> Cluster | None:
        """Add a step to the first cluster that accepts it, and return that cluster."""
        for cluster in self.near(self.steps[i], free):
            if self.ancestors.bit(cluster) & free and self._join(i, cluster):
                return cluster
        return None

    def read_outside(self, cluster: Cluster) -> set[Variable]:
        """Return the results of a cluster that other steps read or that are outputs."""
        members = set(cluster.members)
        return {
            x
            for i in cluster.members
            for x in self.steps[i].results
            if x in self.outputs or not members.issuperset(self.readers.get(x, ()))
        }

    def operands_in(self, step: Step, cluster: Cluster) -> list[Variable]:
        """Return the operands of a step that a cluster computes."""
        return [x for x in step.reads if self.cluster.get(self.producer.get(x, -1)) is cluster]

    def _add(self, i: int, cluster: Cluster, full: bool) -> None:
        step = self.steps[i]
        cluster.members.append(i)
        self.cluster[i] = cluster
        if full:
            cluster.full.add(i)
        cluster.weight += self._weight(step)
        cluster.arrays.update(_arrays(step))

    def _join(self, i: int, cluster: Cluster) -> bool:
        step = self.steps[i]
        kind = self.kind(step, cluster)
        if kind is None:
            return False
        weight, arrays = cluster.weight + self._weight(step), cluster.arrays.union(_arrays(step))
        if weight > self.fusion.limit or len(arrays) > self.fusion.arrays:
            if isinstance(step, Call):
                self.ancestors.close(cluster)
            return False
        self._add(i, cluster, kind == "full")
        return True

    def _weight(self, step: Step) -> int:
        return sum(map(self.fusion.weight, step.nodes)) if isinstance(step, Kernel) else 0

    def _trim(self, cluster: Cluster) -> None:
        """Drop the members that no full member needs, directly or through others."""
        read: set[Variable] = set()
        kept = []
        for i in reversed(cluster.members):
            step = self.steps[i]
            if i in cluster.full or not read.isdisjoint(step.results):
                kept.append(i)
                read.update(step.reads)
        cluster.members = kept[::-1]


def _arrays(step: Step) -> tuple[Variable, ...]:
    """Return the arrays of a step that count toward a kernel's limit; a view has none."""
    if isinstance(step, Call) and is_view(step.node):
        return ()
    return (*step.reads, *step.results)


__all__ = ["Cluster", "Clusters"]
