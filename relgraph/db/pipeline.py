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
    Run,
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


class Rounds(SequentialGraphRewriter):
    """Applies rewriters in sequence, again and again.

    A later one may leave what an earlier one simplifies.  So they run in rounds until nothing
    changes, or until a round begins as an earlier one did, where they undo each other.  A graph
    that has been rewritten stays as it is.
    """

    rounds: ClassVar[int] = 4

    def in_rounds(self, run: Run, outputs: tuple[Variable, ...]) -> tuple[Variable, ...]:
        """Return the outputs after all rounds; see :class:`SequentialGraphRewriter`."""
        starts: list[tuple[Variable, ...]] = []
        stages = {x: x.with_memory() if hasattr(x, "with_memory") else x for x in self.rewriters}
        is_cycle = False

        def step(rewriter: Any, now: tuple[Variable, ...]) -> tuple[Variable, ...]:
            nonlocal is_cycle
            if rewriter is self.rewriters[0]:
                is_cycle = now in starts
                starts.append(now)
            return now if is_cycle else run(stages[rewriter], now)

        return super().in_rounds(step, outputs)


class Pipeline(Rounds):
    """The phases and choices that a query selected, in order, in rounds.

    Attributes
    ----------
    query : Query
        The query that selected them.
    """

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
