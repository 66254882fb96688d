"""The options of a search for the cheapest program, and its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from relgraph.errors import DomainError, count_of
from relgraph.ir.cost import node_flops, resolved
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.infix import brief
from relgraph.ir.machine import node_seconds
from relgraph.ir.node import Variable

NodeCost = Callable[[Variable], float]
ProgramCost = Callable[[Sequence[Variable], Mapping[str, int]], list[float]]

# For each form of a region: operands and results of one that was searched, and its report.
Memory = dict[Any, "tuple[list[Variable], list[Variable], Searched]"]


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
    memory : dict or None
        What became of each form of a region, where several searches share it.
    program_cost : callable or None
        The costs of whole programs, of which none may rise: a function of outputs and of ``sizes``,
        such as :func:`relgraph.search.program_cost.program_seconds`.  The cost of nodes then only
        finds programs.
    nonfinite : {"assume", "keep"}
        Whether values are finite; the laws hold for no others, so "keep" leaves the search out.
    """

    node_cost: NodeCost
    sizes: Mapping[str, int]
    steps: int | None
    seconds: float | None
    exclude: frozenset[str] | None
    relations: tuple[Any, ...]
    report: OptimizationReport | None
    memory: Memory | None = None
    program_cost: ProgramCost | None = None
    nonfinite: str = "assume"


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
    used : tuple of str
        The laws by which the region equals what replaced it.
    before, after : tuple of Variable
        Its outputs, and what replaced them; inputs stand for the operands.
    """

    size: int
    cost: float
    new_cost: float
    rounds: int
    stopped: str
    laws: dict[str, int]
    used: tuple[str, ...] = ()
    before: tuple[Variable, ...] = ()
    after: tuple[Variable, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield its cost and the laws, then what was replaced by what."""
        changes = [(x, y) for x, y in zip(self.before, self.after, strict=True) if x is not y]
        laws = f" by {', '.join(self.used) or 'normal forms'}" if changes else ""
        yield f"  {count_of(self.size, 'node')}: {self.cost:.4g} -> {self.new_cost:.4g}{laws}"
        for old, new in changes:
            yield f"    {brief(old)}"
            yield f"  = {brief(new)}"


@dataclass
class OptimizationReport:
    """What a search did.

    Attributes
    ----------
    regions : list of Searched
        One entry a region, in the order of the graph; then those that a later round changed again.
    stopped : {"", "time", "nonfinite"}
        Why the graph was not rewritten or searched to the end, if it was not: a limit of time, or
        ``nonfinite="keep"``, under which there is no search.
    """

    regions: list[Searched] = field(default_factory=list)
    stopped: str = ""
    _ends: tuple[tuple[Variable, ...], ...] = ()
    _cost: Callable[[Sequence[Variable]], float] | None = None

    def add(
        self,
        regions: Sequence[Searched],
        before: FunctionGraph,
        after: FunctionGraph,
        cost: Callable[[Sequence[Variable]], float],
    ) -> None:
        """Add a search of a whole graph."""
        changed = [x for x in regions if x.before != x.after and x not in self.regions]
        self.regions += changed if self._ends else regions
        self._ends = (*(self._ends[:1] or (before.outputs,)), after.outputs)
        self._cost = cost
        if any([x.stopped == "time" for x in regions]):
            self.stopped = "time"

    @property
    def costs(self) -> tuple[float, ...]:
        """The costs of the whole graph, before and after."""
        return tuple([self._cost(end) for end in self._ends]) if self._cost else (0.0, 0.0)

    def __str__(self) -> str:
        count = count_of(len(self.regions), "region")
        before, after = self.costs
        stopped = f", stopped by {self.stopped}" if self.stopped else ""
        lines = [f"{count}, cost {before:.4g} -> {after:.4g}{stopped}"]
        for region in self.regions:
            first, *rest = region.lines()
            end = f"{count_of(region.rounds, 'round')}, stopped by {region.stopped}"
            lines += [f"{first}; {end}", *rest]
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
