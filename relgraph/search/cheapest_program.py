"""The rewriter that searches for the cheapest equal program."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from copy import copy
from typing import Any

from relgraph.ir.graph import FunctionGraph
from relgraph.rewriting.rewriters import GraphRewriter
from relgraph.search.options import (
    NodeCost,
    OptimizationReport,
    Options,
    ProgramCost,
    cost_of_nodes,
)
from relgraph.search.program_cost import program_seconds


class CheapestProgram(GraphRewriter):
    """Searches each region of a graph for the cheapest equal program.

    Parameters
    ----------
    cost : {"seconds", "flops", "bytes"} or callable
        What to make small: a figure of :func:`relgraph.cost`, or a function of a node.
    sizes : mapping of str to int, optional
        Values of named sizes, for the cost.  A program is chosen for other names only if it takes
        no more operations for all their values from 4.
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
    nonfinite : {"assume", "keep"}
        Whether values are finite; "keep" leaves the search out, because its laws assume it.
    program_cost : callable, optional
        The costs of a whole program, a function of its outputs and of ``sizes``; by default
        :func:`relgraph.search.program_cost.program_seconds` for a cost of "seconds", and none for
        others.

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
        nonfinite: str = "assume",
        program_cost: ProgramCost | None = None,
    ) -> None:
        super().__init__(name="cheapest_program")
        if cost == "seconds" and program_cost is None:
            program_cost = program_seconds
        self.options = Options(
            cost if callable(cost) else cost_of_nodes(cost, sizes),
            sizes or {},
            steps,
            seconds,
            None if exclude is None else frozenset(exclude),
            tuple(relations),
            report,
            program_cost=program_cost,
            nonfinite=nonfinite,
        )

    def with_memory(self) -> CheapestProgram:
        """Return a rewriter that searches each region once, however often it is applied."""
        search = copy(self)
        search.options = self.options._replace(memory={})
        return search

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with each region replaced by the cheapest equal one found."""
        from relgraph.search.optimize import optimized  # most programs never search

        return optimized(graph, self.options)
