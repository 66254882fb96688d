"""Budgets of rewriting, and the errors for rewriting that does not terminate."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any, Protocol

from relgraph.errors import BudgetError, OscillationError, count_of
from relgraph.ir.node import Variable
from relgraph.relations.neighbours import Firings
from relgraph.relations.operand_index import Firing
from relgraph.rewriting.selection import Selection, relation_of
from relgraph.settings import config

Parts = Sequence[tuple[Variable, bool]]  # operands of a sum, and whether they are taken away


class Log(Protocol):
    """Listens to a run."""

    def step(self, before: Variable, after: Variable, firings: Sequence[Firing]) -> int:
        """Record a replaced node, or a whole sum or product, and the firings that justify it.

        Return the number of steps before it.
        """
        ...

    def total(
        self, node: Variable, parts: Parts, history: Sequence[tuple[int, Parts]], result: Variable
    ) -> None:
        """Record what became of a sum or product: its operands, and what its steps returned.

        Each step comes with the parts that it brought in.
        """
        ...


CHAIN = 10_000  # the longest chain of rewrites from one node before it counts as runaway growth
SIMPLER = "a side condition under which its result is simpler than what it matches."
WORK = 1_000_000  # operands of sums and products to visit, in addition to 20 for each node

# When the rewriting of the present graph must end, by the monotonic clock; None for no limit.
END: ContextVar[float | None] = ContextVar("relgraph_end", default=None)


def is_over(end: float | None) -> bool:
    """Return whether a time of the monotonic clock has passed; None never does."""
    return end is not None and monotonic() > end


@contextmanager
def time_limit() -> Iterator[None]:
    """Start the time of :attr:`rg.config.time_limit`, unless it is running."""
    if config.time_limit is None or END.get() is not None:
        yield
        return
    token = END.set(monotonic() + config.time_limit)
    try:
        yield
    finally:
        END.reset(token)


class Limits:
    """The log, the budgets, and the rewrite chains of one run of a selection."""

    def __init__(
        self,
        selection: Selection,
        normal: dict[Variable, Variable],
        log: Log | None = None,
    ) -> None:
        self.selection = selection
        self.normal = normal
        self.log = log
        self.forward: dict[Variable, Variable] = {}
        self.why: dict[Variable, str] = {}
        self.firings = 0
        self.work = 0
        self.depth: dict[Variable, int] = {}
        self.spent: dict[Any, int] = {}
        self.end = END.get()

    def waiting_for(self, node: Variable) -> Variable | None:
        """Return the next reduct of a node in this run, or the node that it waits for."""
        return self.forward.get(node)

    def settled(self, node: Variable) -> bool:
        """Return True if the node's reduct is normal by now, and record the node's normal form."""
        reduct = self.forward.get(node)
        if reduct is None or reduct not in self.normal:
            return False
        self.normal[node] = self.normal[reduct]
        return True

    def inherit(self, node: Variable, operands: Sequence[Variable]) -> None:
        """Count the operands of a reduct as part of the chain that built it."""
        steps = self.depth.get(node)
        if steps is not None:
            for x in operands:
                self.depth.setdefault(x, steps)

    def fired(
        self,
        before: Variable,
        after: Variable,
        rewrite: Any,
        bindings: tuple[Any, ...],
        firing: Firing | None = None,
    ) -> None:
        """Log a firing and charge it to the budgets; it takes the whole node unless it is given.

        Several firings on neighbours stand in the place of the bindings.
        """
        self.why[before] = rewrite.relation
        if self.end is not None:
            self.in_time(rewrite, before)
        several = bindings if bindings.__class__ is Firings else ()
        self.firings += len(several) or 1
        if self.firings > CHAIN:
            self.deepen(before, after, rewrite.relation)
        if self.selection.budgets:
            self.charge(rewrite, before, len(several) or 1)
        if self.log is not None:
            one = firing or Firing(rewrite, bindings, (before,), after)
            self.log.step(before, after, several or (one,))

    def in_time(self, rewrite: Any, before: Variable) -> None:
        """Raise BudgetError if the time of the rewriting is over."""
        if is_over(self.end):
            raise BudgetError(
                f"rewriting stopped at the time limit of {config.time_limit:g} s",
                {"last relation": rewrite.relation, "last graph": before},
                "Raise rg.config.time_limit, or choose a mode with fewer relations.",
            )

    def deepen(self, before: Variable, after: Variable, name: str) -> None:
        """Measure the chain of rewrites that ends at a node, once the run has many rewrites."""
        steps = self.depth.get(before, 0) + 1
        self.depth[after] = max(steps, self.depth.get(after, 0))
        if steps > CHAIN:
            raise self.runaway(name, f"{CHAIN} rewrites followed from one node", before)

    def worked(self, operands: int, nodes: int, before: Variable) -> None:
        """Charge a visit to a sum or product: one that grows at every step is runaway."""
        self.work += operands
        if self.work > WORK + 20 * nodes and self.why:
            name = next(reversed(self.why.values()))
            raise self.runaway(name, "its sums and products grow at every step", before)

    def charge(self, rewrite: Any, before: Variable, times: int = 1) -> None:
        """Charge the budget of the relation, or of the rewriter in Python, that fired."""
        owner = relation_of(rewrite) or rewrite
        limit = self.selection.budgets.get(owner)
        if limit is None:
            return
        self.spent[owner] = self.spent.get(owner, 0) + times
        if self.spent[owner] > limit:
            why = f"its budget of {count_of(limit, 'firing')} is spent"
            raise self.runaway(rewrite.relation, why, before)

    def runaway(self, name: str, why: str, before: Variable) -> BudgetError:
        """Return the error for a relation that keeps firing."""
        error = BudgetError(
            f"{name} does not come to an end: {why}",
            {"last graph": before},
            f"Leave it out, or give it {SIMPLER}",
        )
        error.relation = name
        return error

    def oscillation(self, node: Variable, reduct: Variable) -> OscillationError:
        """Return the error for a chain of rewrites that returns to an earlier node."""
        cycle: list[tuple[str, object, object]] = []
        x: Variable | None = reduct
        seen: set[Variable] = set()
        chain = [node]
        while x is not None and x not in seen and len(chain) < 12:
            seen.add(x)
            chain.append(x)
            x = self.waiting_for(x)
        for a, b in itertools.pairwise(chain):
            cycle.append((self.why.get(a, "(rebuilt)"), a, b))
        names = list(dict.fromkeys(name for name, _, _ in cycle if name != "(rebuilt)"))
        fix = f"Give it {SIMPLER}"
        if len(names) > 1:
            what = "undo each other"
            fix = (
                "Exclude one of them, or orient them the same way; a relation that only grows "
                "needs a side condition."
            )
        elif node in chain[1:]:
            what = "undoes itself"
        else:
            what = "makes a graph grow inside its own result"
        error = OscillationError(
            f"{' and '.join(names) or 'the relations'} {what}",
            [(name, f"{a}  ->  {b}") for name, a, b in cycle],
            fix,
        )
        error.cycle = tuple(cycle)
        return error
