"""The rewriter that searches for the cheapest equal program, and what it reports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from relgraph.errors import DomainError, count_of
from relgraph.ir.cost import node_flops, resolved
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.machine import node_seconds
from relgraph.ir.node import Variable
from relgraph.rewriting.rewriters import GraphRewriter

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
        self.exclude = None if exclude is None else frozenset(exclude)
        self.relations = tuple(relations)
        self.report = report

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with each region replaced by the cheapest equal one found."""
        from relgraph.search.optimize import optimized  # most programs never search

        return optimized(graph, self)


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
