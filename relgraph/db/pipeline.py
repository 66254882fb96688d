"""Results of queries: phases that run the selected entries, and lowering choices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from relgraph.db.entries import Entry, LoweringChoice, width_of
from relgraph.db.query import RewriteDatabaseQuery
from relgraph.errors import BudgetError
from relgraph.ir.node import Variable
from relgraph.rewriting.budgets import SIMPLER
from relgraph.rewriting.rewriters import (
    EquilibriumGraphRewriter,
    SequentialGraphRewriter,
    item_name,
)


class Phase(EquilibriumGraphRewriter):
    """The entries of one phase, selected by a query, to a fixed point.

    A relation that would compute what other users of the matched nodes need anyway does not fire.
    """

    thrifty = True

    def __init__(self, name: str, entries: Sequence[Entry]) -> None:
        self.entries = tuple(entries)
        super().__init__([entry.item for entry in entries], name=name)

    def _step(self, step: Any, outputs: tuple[Variable, ...]) -> tuple[Variable, ...]:
        try:
            return super()._step(step, outputs)
        except BudgetError as error:
            for entry in self.entries:
                if item_name(entry.item) == error.relation:
                    error.fix = f"Leave it out with excluding({entry.name!r}), or give it {SIMPLER}"
            raise

    def lines(self, indent: str = "") -> Iterator[str]:
        """Yield the phase's name, and a line for each entry."""
        yield f"{indent}{self.name}, to a fixed point:" + ("" if self.entries else " nothing")
        width = width_of(self.entries)
        for entry in self.entries:
            yield f"{indent}  {entry.line(width)}"


class Pipeline(SequentialGraphRewriter):
    """The phases and choices that a query selected, in order.

    A later phase may leave what an earlier one simplifies.  So the phases run in rounds until
    nothing changes, and a graph that has been rewritten stays as it is.

    Attributes
    ----------
    query : Query
        The query that selected them.
    """

    rounds: ClassVar[int] = 4

    def __init__(
        self, name: str, query: RewriteDatabaseQuery, stages: Iterable[tuple[Entry, Any]]
    ) -> None:
        self.query = query
        self.stages = tuple(stages)
        super().__init__(*[rewriter for _, rewriter in self.stages], name=name)

    @property
    def choices(self) -> tuple[str, ...]:
        """The names of the lowering choices that are selected."""
        return tuple(x.name for x in self.rewriters if isinstance(x, LoweringChoice))

    def lines(self, indent: str = "") -> Iterator[str]:
        """Yield the query, then each stage with its position and entries."""
        yield f"{indent}{self.name}, in order: {self.query}"
        if not self.stages:
            yield f"{indent}  nothing"
        width = width_of([entry for entry, x in self.stages if not isinstance(x, Phase | Pipeline)])
        for entry, rewriter in self.stages:
            if isinstance(rewriter, Phase | Pipeline):
                first, *rest = rewriter.lines()
                yield f"{indent}  {entry.position:<4g}  {first}"
                yield from (f"{indent}        {line}" for line in rest)
            else:
                yield f"{indent}  {entry.position:<4g}  {entry.line(width)}"
