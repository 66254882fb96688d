"""The profile of a rewriting run: firings, attempts and time of each relation.

Relations of a selection share matchers, so a profiled run compiles each rewrite separately and
times every attempt.  It takes longer than an ordinary run; the counts are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from relgraph.errors import count_of
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.relations.ac_matcher import AcMatcher
from relgraph.relations.block_matcher import GatherRule
from relgraph.relations.clause import Rewrite
from relgraph.relations.discrimination_tree import Matcher, PlainMatcher
from relgraph.relations.neighbours import Accepts
from relgraph.relations.operand_index import Firing
from relgraph.rewriting.driver import RUNNER, normalise
from relgraph.rewriting.selection import Selection
from relgraph.viz.display import Displayed
from relgraph.viz.document import Element, Note, Table, text


@dataclass
class Count:
    """The firings of one relation, its attempts to match, and the time they took with building."""

    fired: int = 0
    tried: int = 0
    seconds: float = 0.0
    interpreted: bool = False


@dataclass(repr=False)
class RewriteProfile(Displayed):
    """The counts of a run by relation, in declared order."""

    counts: dict[str, Count] = field(default_factory=dict)

    def __str__(self) -> str:
        width = max((len(name) for name in self.counts), default=8)
        lines = [f"{'relation':<{width}}  {'fired':>7}  {'tried':>8}  {'ms':>9}"]
        ordered = sorted(self.counts.items(), key=lambda item: (-item[1].fired, item[0]))
        for name, c in ordered:
            mark = "  by kanren" if c.interpreted else ""
            lines.append(
                f"{name:<{width}}  {c.fired:>7}  {c.tried:>8}  {c.seconds * 1e3:>9.3f}{mark}"
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return text(self._document())

    def _document(self) -> list[Element]:
        fired = sorted(
            [item for item in self.counts.items() if item[1].fired],
            key=lambda item: (-item[1].seconds, item[0]),
        )
        rows = [
            (name + " by kanren" * c.interpreted, str(c.fired), str(c.tried),
             f"{c.seconds * 1e3:.3f}")
            for name, c in fired
        ]  # fmt: skip
        table = Table(("relation", "fired", "tried", "ms"), tuple(rows), frozenset((1, 2, 3)))
        idle = len(self.counts) - len(fired)
        rest = f"{count_of(idle, 'relation')} fired nowhere; print(...) lists all"
        return [*([table] if rows else []), *([Note(rest)] if idle else [])]


@contextmanager
def profiling() -> Iterator[RewriteProfile]:
    """Profile all rewriting inside the block; yields the profile, which the block fills."""
    result = RewriteProfile()

    def run(outputs: Sequence[Variable], selection: Selection, once: bool) -> tuple[Variable, ...]:
        for relation in selection.relations:
            result.counts.setdefault(relation.label, Count(interpreted=relation.interpreted))
        for transform in selection.transforms:
            result.counts.setdefault(transform.relation, Count())
        profiled = _ProfiledSelection(selection, result.counts)
        after = normalise(outputs, profiled, log=_Counts(result), once=once)
        selection.unsettled = profiled.unsettled
        return after

    token = RUNNER.set(run)
    try:
        yield result
    finally:
        RUNNER.reset(token)


class _Counts:
    """The log that counts firings."""

    def __init__(self, profile: RewriteProfile) -> None:
        self.profile = profile

    def step(self, before: Variable, after: Variable, firings: Sequence[Firing]) -> int:
        """Count the firings of a step."""
        for firing in firings:
            count = self.profile.counts.setdefault(firing.rewrite.relation, Count())
            count.fired += max(len(firing.taken) - 1, 1)
        return 0

    def total(self, *_: Any) -> None:
        """Do nothing: the steps of a sum or product were counted."""


class _ProfiledSelection(Selection):
    """A selection that tries each rewrite separately and times it."""

    def __init__(self, selection: Selection, counts: dict[str, Count]) -> None:
        super().__init__(
            selection.relations,
            [_TimedTransform(t, counts) for t in selection.transforms],
            selection.thrifty,
        )
        for shapes in self.shapes:
            shapes.answer = timed(shapes.answer, counts[shapes.relation.label])  # type: ignore[method-assign]
        self._counts = counts

    def plain(self, op: Op) -> Any:
        matcher: Any = self._plain.get(op)
        if matcher is None and op not in self._plain:
            clauses = self.clauses_of(op, type(op)) if op not in self.ac_ops else []
            if clauses:
                matcher = _one_by_one({
                    x: timed(PlainMatcher(op, [x]), self._counts[x[0].label]) for x in clauses
                })  # fmt: skip
            self._plain[op] = matcher
        return matcher

    def ac_of(self, op: Any) -> AcMatcher | None:
        known = op in self._ac
        matcher = super().ac_of(op)
        if matcher is None or known:
            return matcher
        rewrites = self.rewrites_of(op)
        for rule, rewrite in zip(matcher.rules, rewrites, strict=True):
            count = self._counts[rewrite.relation]
            if isinstance(rule, GatherRule):
                rule.deal = timed(rule.deal, count)
                rule.build = timed(rule.build, count)
            else:
                if len(rule.roles) == 2:
                    rule.pair = timed(rule.pair, count)
                rule.matchers = [timed(rule.matcher(i), count) for i in range(len(rule.roles))]
        return matcher


class _TimedTransform:
    """A transform with its calls timed; other attributes are those of the transform."""

    def __init__(self, transform: Any, counts: dict[str, Count]) -> None:
        self._transform = transform
        count = counts[transform.relation]
        self.transform = timed(transform.transform, count)
        if hasattr(transform, "fold"):
            self.fold = timed(transform.fold, count)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transform, name)


def timed(function: Callable[..., Any], count: Count) -> Callable[..., Any]:
    """Return the function with each call counted and timed."""

    def call(*args: Any) -> Any:
        start = perf_counter()
        try:
            return function(*args)
        finally:
            count.seconds += perf_counter() - start
            count.tried += 1

    return call


def _one_by_one(matchers: Mapping[tuple[Any, int], Matcher]) -> Matcher:
    def match(node: Variable, accepts: Accepts | None = None) -> Any:
        for matcher in matchers.values():
            fired = matcher(node, accepts)
            if fired is not None:
                return fired
        return None

    def only(rewrite: Rewrite) -> Matcher:
        return matchers[rewrite.source, rewrite.source.number_of(rewrite)]

    match.only = only  # type: ignore[attr-defined]
    return match
