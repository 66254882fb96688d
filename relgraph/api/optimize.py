"""The cheapest equal graph: what no fixed direction of relations can reach."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from relgraph.api.rewrite import selected
from relgraph.api.targets import dask_backend
from relgraph.costs.blocks import seconds_in_blocks
from relgraph.db.pipeline import Rounds
from relgraph.errors import ArgumentError, BudgetError, DomainError, checks_arguments, kind_of
from relgraph.ir.dispatch import traceable
from relgraph.ir.graph import FunctionGraph, with_outputs
from relgraph.ir.node import Variable
from relgraph.rewriting.budgets import END, is_over
from relgraph.rewriting.passes.shared_factorisations import FactorReuse
from relgraph.rewriting.rewriters import GraphRewriter, map_graph
from relgraph.search.cheapest_program import CheapestProgram
from relgraph.search.options import OptimizationReport, ProgramCost
from relgraph.search.saturation import LAWS

Graph = TypeVar("Graph")


@traceable
@checks_arguments
def optimize(
    graph: Graph,
    *relations: Any,
    mode: Any = "o4",
    sizes: Mapping[str, int] | None = None,
    chunks: Mapping[str, int] | None = None,
    cost: str | Callable[[Variable], float] = "seconds",
    exclude: Collection[str] | None = None,
    budget: int | None = None,
    seconds: float | None = None,
    nonfinite: str = "assume",
    full_output: bool = False,
) -> Graph | tuple[Graph, OptimizationReport]:
    """Return the cheapest equal graph that a search finds.

    A mode has one direction for each relation.  Here the laws of sums, products, inverses,
    determinants and diagonals of matrices, and your own relations, apply in both directions at once
    (equality saturation), and the cost decides: ``A @ B + A @ C`` becomes ``A @ (B + C)``, and
    ``(A - H.T @ H) @ x`` becomes ``A @ x - H.T @ (H @ x)``.

    Parameters
    ----------
    graph : Variable, list or tuple or dict of Variable, or FunctionGraph
        The graph, which does not change.
    *relations : relation or goal constructor
        Identities that take part, beside the built-in laws.
    mode : str, Query, relation, rewriter, list of them, or None
        What rewrites the graph first, and what the search makes of it; None for nothing.
    sizes : mapping of str to int, optional
        Values of named sizes, for the cost.  Where a name has no value, only programs are chosen
        that take no more operations than the graph for all its values from 4.
    chunks : mapping of str to int, optional
        For a program of the target "dask", the size of a block along each named size that is
        divided.  The estimated time then counts reading the arguments, moving values between
        workers, and scheduling tasks; the other named sizes need values in ``sizes``.
    cost : {"seconds", "flops"} or callable
        What to make small: the estimated time, the number of operations, or the sum over all nodes
        of a function of a node.
    exclude : collection of str, optional
        Laws not to use; by default those after which rounding errors may be much larger, since
        their results are small differences of large numbers.  ``exclude=()`` allows all;
        :data:`relgraph.search.saturation.LAWS` lists them.
    budget : int, optional
        How many terms the search of a region of the graph may build.  By default 4,000, and 100
        for each node.
    seconds : float, optional
        The time of the search, after which it returns the cheapest graph that it has found; writing
        that out may take as long again.  ``rg.config.time_limit`` also limits the mode, which
        leaves the graph as it is if it does not end in time.  Without either, results do not depend
        on the machine.
    nonfinite : {"assume", "keep"}
        Whether infinities and NaN must stay as they are.  All laws of the search hold for finite
        values only, so with "keep" there is **no search**: the result is what ``mode`` makes of
        the graph with ``nonfinite="keep"``, and a mode of None returns the graph.
    full_output : bool
        Whether to return a report too: for each region, what replaced it and by which laws, its
        cost before and after, and why the search stopped.

    Returns
    -------
    the kind of ``graph``, or (that, OptimizationReport)
        The same object if nothing cheaper was found.

    Raises
    ------
    ArgumentError
        For relations beside ``nonfinite="keep"``, and for ``chunks`` beside another cost than
        "seconds", or of names without a value in ``sizes``.
    DomainError
        For a cost, a law or a budget that does not exist.
    MissingPackageError
        For ``chunks`` if Dask is not installed.

    References
    ----------
    R. Tate, M. Stepp, Z. Tatlock and S. Lerner, Equality saturation: a new approach to
    optimization, POPL 2009.

    Examples
    --------
    >>> import relgraph as rg
    >>> A, H = rg.matrices("A H", shape=(1000, 1000))
    >>> x = rg.vector("x", shape=(1000,))
    >>> rg.optimize((A - H.T @ H) @ x)
    A @ x - H.mT @ (H @ x)
    >>> new, report = rg.optimize(A @ H + A @ A, cost="flops", full_output=True)
    >>> new
    A @ (H + A)
    >>> report.regions[0].stopped
    'saturated'
    """
    _check(exclude, budget, seconds)
    keeps = nonfinite == "keep"
    if relations and keeps:
        raise ArgumentError(
            "relations take part in the search, and nonfinite='keep' leaves the search out",
            fix="Call rewrite_graph(graph, relation, nonfinite='keep').",
        )
    report = OptimizationReport(stopped="nonfinite" if keeps else "") if full_output else None
    search = CheapestProgram(
        cost,
        sizes=sizes,
        steps=budget,
        seconds=seconds,
        exclude=exclude,
        relations=relations,
        report=report,
        nonfinite=nonfinite,
        program_cost=_cost_in_blocks(chunks, sizes or {}, cost) if chunks else None,
    )
    rewriter = selected(mode, nonfinite)[0]
    first = [] if rewriter is None else [_InTime(rewriter, report)]
    last = [] if keeps else [FactorReuse()]
    graph = map_graph(graph, Rounds(*first, search, *last))
    return graph if report is None else (graph, report)


class _InTime(GraphRewriter):
    """Applies a rewriter, unless it reaches the limit of time."""

    def __init__(self, rewriter: Any, report: OptimizationReport | None) -> None:
        super().__init__(name="in_time")
        self.rewriter, self.report = rewriter, report

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the rewritten graph, or the graph itself if there is no time to rewrite it."""
        try:
            return with_outputs(graph, list(map_graph(graph.outputs, self.rewriter)))
        except BudgetError:
            if not is_over(END.get()):
                raise
        if self.report is not None:
            self.report.stopped = "time"
        return graph


def _cost_in_blocks(chunks: Mapping[str, int], sizes: Mapping[str, int], cost: Any) -> ProgramCost:
    if cost != "seconds":
        raise ArgumentError(
            "chunks are for the estimated time", {"cost": cost}, "Leave cost= or chunks= out."
        )
    if not isinstance(chunks, Mapping):
        raise ArgumentError(
            f"chunks map names of sizes to sizes of blocks; {kind_of(chunks)} does not",
            fix="Write chunks={'n': 100_000}.",
        )
    for name, size in chunks.items():
        if name not in sizes:
            raise ArgumentError(
                f"the size {name!r} has chunks, but no value",
                {"sizes": ", ".join(sizes) or "none"},
                f"Write sizes={{{name!r}: ...}}.",
            )
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ArgumentError(
                f"the size of a chunk is a positive integer, not {size!r}",
                fix=f"Write chunks={{{name!r}: 100_000}}.",
            )
    return seconds_in_blocks(chunks, dask_backend())


def _check(exclude: Collection[str] | None, budget: int | None, seconds: float | None) -> None:
    if isinstance(exclude, str):
        raise ArgumentError(
            f"exclude is a collection of names of laws, not the string {exclude!r}",
            fix=f"Write exclude=({exclude!r},).",
        )
    for name in exclude or ():
        if name not in LAWS:
            raise DomainError(
                f"there is no law {name!r:.60}",
                {"laws": ", ".join(LAWS)},
                "Use names of relgraph.search.saturation.LAWS.",
            )
    if budget is not None and budget < 1:
        raise DomainError(
            f"budget must be a positive integer, not {budget}",
            fix="Leave it out for one that grows with the graph.",
        )
    if seconds is not None and not seconds > 0:
        raise DomainError(
            f"seconds must be positive, not {seconds}",
            fix="Leave it out for a search without a limit of time.",
        )
