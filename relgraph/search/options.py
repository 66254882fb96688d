"""The options of a search for the cheapest program, and its report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from relgraph.errors import DomainError, count_of
from relgraph.ir.cost import node_flops, resolved
from relgraph.ir.machine import node_seconds
from relgraph.ir.node import Variable

NodeCost = Callable[[Variable], float]


class Options(NamedTuple):
    """The options of a search; :class:`relgraph.search.cheapest_program.CheapestProgram` says more.

    Attributes
    ----------
    node_cost : callable
    sizes : mapping of str to int
    steps : int or None
    seconds : float or None
    exclude : frozenset of str or None
    relations : tuple of relation
    report : OptimizationReport or None
    """

    node_cost: NodeCost
    sizes: Mapping[str, int]
    steps: int | None
    seconds: float | None
    exclude: frozenset[str] | None
    relations: tuple[Any, ...]
    report: OptimizationReport | None


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
