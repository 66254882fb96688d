"""The cheapest equal graph, region by region: saturate, extract, stop when nothing is gained."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NamedTuple

from relgraph.errors import DomainError, count_of
from relgraph.ir.cost import node_flops, resolved
from relgraph.ir.graph import FunctionGraph, substitute
from relgraph.ir.machine import node_seconds
from relgraph.ir.node import Variable
from relgraph.rewriting.rewriters import GraphRewriter, with_outputs
from relgraph.search.candidates import Candidates
from relgraph.search.egraph import EGraph, OutOfSteps
from relgraph.search.embedding import Embedding, nodes_of
from relgraph.search.extraction import Extraction
from relgraph.search.joins import Joins
from relgraph.search.labels import Reference
from relgraph.search.regions import Region, regions_of
from relgraph.search.saturation import LAWS, Saturation

ROUNDS = 12
STALLED = 2  # rounds without gain after which the search of a region ends
STEPS = 4_000  # for a region, and for each of its nodes:
STEPS_OF_A_NODE = 100
GAIN = 1e-9  # the least part of the cost that counts as a gain

UNSTABLE = frozenset(name for name, law in LAWS.items() if law.label == "cancels")

NodeCost = Callable[[Variable], float]


class Searched(NamedTuple):
    """What became of one region.

    Attributes
    ----------
    size : int
        Its nodes.
    cost, new_cost : float
        Before and after, by the cost that was asked for.
    rounds : int
        How often all laws were applied.
    stopped : str
        Why the search ended: "saturated", "no gain", "rounds", "steps" or "time".
    laws : dict of str to int
        How often each law said something new.
    """

    size: int
    cost: float
    new_cost: float
    rounds: int
    stopped: str
    laws: dict[str, int]


@dataclass
class OptimizationReport:
    """What a search did: one entry a region, in the order of the graph."""

    regions: list[Searched] = field(default_factory=list)

    def __str__(self) -> str:
        before = sum(region.cost for region in self.regions)
        after = sum(region.new_cost for region in self.regions)
        lines = [f"{count_of(len(self.regions), 'region')}, cost {before:.4g} -> {after:.4g}"]
        for region in self.regions:
            laws = ", ".join(f"{law} {n}" for law, n in sorted(region.laws.items()))
            lines.append(
                f"  {count_of(region.size, 'node')}: {region.cost:.4g} -> {region.new_cost:.4g}, "
                f"{count_of(region.rounds, 'round')}, stopped by {region.stopped}"
                + (f" ({laws})" if laws else "")
            )
        return "\n".join(lines)


class CheapestProgram(GraphRewriter):
    """Searches each region of a graph for the cheapest equal program.

    Parameters
    ----------
    cost : {"seconds", "flops", "bytes"} or callable
        What to make small: a figure of :func:`relgraph.cost`, or a function of a node.
    sizes : mapping of str to int, optional
        Values of named sizes, for the cost.
    steps : int, optional
        How many terms the search of a region may build.
    seconds : float, optional
        After which time no new round begins; results then depend on the machine.
    exclude : collection of str, optional
        Laws not to use, by their names in :data:`relgraph.search.saturation.LAWS`; by default those
        that cancel.
    relations : iterable of relation
        Identities that take part beside the laws of sums and products, in both directions.
    report : OptimizationReport, optional
        What to record the search in.

    References
    ----------
    R. Tate, M. Stepp, Z. Tatlock, S. Lerner, Equality saturation: a new approach to optimization,
    POPL 2009.  M. Willsey et al., egg: fast and extensible equality saturation, POPL 2021.
    """

    def __init__(
        self,
        cost: str | NodeCost = "seconds",
        *,
        sizes: Mapping[str, int] | None = None,
        steps: int | None = None,
        seconds: float | None = None,
        exclude: Collection[str] | None = None,
        relations: Iterable[Any] = (),
        report: OptimizationReport | None = None,
    ) -> None:
        super().__init__(name="cheapest_program")
        self.node_cost = cost if callable(cost) else cost_of_nodes(cost, sizes)
        self.steps = steps
        self.seconds = seconds
        self.exclude = UNSTABLE if exclude is None else frozenset(exclude)
        self.relations = tuple(relations)
        self.ops = Joins(self.relations).ops if self.relations else frozenset()
        self.report = report

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with each region replaced by the cheapest equal one found."""
        end = None if self.seconds is None else monotonic() + self.seconds
        changes: dict[Variable, Variable] = {}
        for region in regions_of(graph.outputs, self.ops):
            new, searched = self._search(region, end)
            if self.report is not None:
                self.report.regions.append(searched)
            for old, result in zip(region.outputs, new, strict=True):
                if old is not result:
                    changes[old] = result
        return with_outputs(graph, replaced(graph, changes)) if changes else graph

    def _search(self, region: Region, end: float | None) -> tuple[list[Variable], Searched]:
        """Return the cheapest outputs found for a region, or its own."""
        outputs, node_cost = region.outputs, self.node_cost
        egraph = EGraph(self.steps or STEPS + STEPS_OF_A_NODE * region.size)
        embedding = Embedding(egraph, outputs, region.boundary)
        roots = [embedding.references[x] for x in outputs]
        saturation = Saturation(egraph, roots, self.exclude)
        joins = Joins(self.relations) if self.relations else None
        memo: dict[Any, Any] = {}
        cost = least = cost_of(outputs, node_cost, region.boundary)
        best, stopped, rounds, stalled = outputs, "rounds", 0, 0
        while rounds < ROUNDS:
            rounds += 1
            try:
                stopped = "" if saturation.round() else "saturated"
            except OutOfSteps:
                stopped = "steps"
            candidates = Candidates(egraph, embedding, node_cost, memo)
            if joins is not None and stopped != "steps":
                fired = joins.round(candidates)
                for name, times in fired.items():
                    saturation.fired[name] += times
                if fired:
                    stopped = ""
                    candidates = Candidates(egraph, embedding, node_cost, memo)
            new = _cheapest(candidates, roots, outputs)
            new_cost = cost_of(new, node_cost, region.boundary)
            if new_cost < least * (1 - GAIN):
                best, least, stalled = new, new_cost, 0
            else:
                stalled += 1
            if not stopped and stalled >= STALLED:
                stopped = "no gain"
            if not stopped and end is not None and monotonic() > end:
                stopped = "time"
            if stopped:
                break
            egraph.bounded = True
        laws = dict(saturation.fired)
        return best, Searched(region.size, cost, least, rounds, stopped or "rounds", laws)


def replaced(graph: FunctionGraph, changes: Mapping[Variable, Variable]) -> list[Variable]:
    """Return the outputs of a graph with nodes replaced, inside of replacements too."""
    done: dict[Variable, Variable] = {}
    for node in graph:
        new = changes.get(node)
        if new is None:
            (done[node],) = substitute([node], {x: done[x] for x in node.inputs})
        else:
            (done[node],) = substitute([new], done)
    return [done[x] for x in graph.outputs]


def _cheapest(
    candidates: Candidates, roots: Sequence[Reference], outputs: Sequence[Variable]
) -> list[Variable]:
    """Return the cheapest program that an e-graph has now."""
    operands = [candidates.goal(root) for root in roots]
    extraction = Extraction(candidates, [operand.state for operand in operands])
    values = extraction.build(extraction.cheapest())
    return [
        candidates.finished(values[operand.state], operand, root, node)
        for node, operand, root in zip(outputs, operands, roots, strict=True)
    ]


def cost_of(
    outputs: Iterable[Variable], node_cost: NodeCost, boundary: Collection[Variable] = ()
) -> float:
    """Return the cost of a graph above a boundary, each node counted once."""
    return sum(
        node_cost(x) for x in nodes_of(outputs, boundary) if x.op is not None and x not in boundary
    )


def cost_of_nodes(name: str, sizes: Mapping[str, int] | None = None) -> NodeCost:
    """Return the function that gives one figure of a node's cost."""
    if name == "seconds":
        return lambda node: node_seconds(node, sizes)
    if name == "flops":
        return lambda node: _flops(node, sizes or {})
    raise DomainError(
        f"there is no cost {name!r:.40}",
        fix='Use "seconds" or "flops", or pass a function of a node.',
    )


def _flops(node: Variable, sizes: Mapping[str, int]) -> float:
    """Return the flops of a node, and one for its kernel, so that fewer kernels win."""
    op = node.op
    if op is None:
        return 0.0
    if sizes:
        types = tuple([resolved(x.type, sizes) for x in node.inputs])
        flops = op.node_flops(node.inputs, types, resolved(node.type, sizes))
    else:
        flops = node_flops(node)
    return float(flops + (flops > 0))
