"""The profile of a rewriting run: its rewriters, and firings, attempts and time of each relation.

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
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.relations.ac_matcher import AcMatcher
from relgraph.relations.block_matcher import GatherRule
from relgraph.relations.clause import Rewrite
from relgraph.relations.discrimination_tree import Matcher, PlainMatcher
from relgraph.relations.neighbours import Accepts
from relgraph.relations.operand_index import Firing
from relgraph.rewriting.driver import RUNNER, normalise
from relgraph.rewriting.rewriters import WATCHER, GraphRewriter, Run, item_name
from relgraph.rewriting.selection import Selection
from relgraph.viz.display import Displayed
from relgraph.viz.document import Element, Note, Table, text

Outputs = tuple[Variable, ...]


@dataclass
class Count:
    """The use of one relation or rewriter of nodes.

    Attributes
    ----------
    fired, tried : int
        Its firings, and its attempts to match.
    seconds : float
        The time of the attempts, with building the results.
    interpreted : bool
        Whether miniKanren runs it.
    created : int
        The nodes that its firings brought in.
    """

    fired: int = 0
    tried: int = 0
    seconds: float = 0.0
    interpreted: bool = False
    created: int = 0


@dataclass
class Stage:
    """One rewriter in a run: a phase of relations, a pass, or a sequence of them.

    Attributes
    ----------
    name : str
        The rewriter.
    seconds : float
        The time of all its runs.
    runs, changes : int
        How often it ran, and how often it changed the graph.
    start, end, largest, created : int
        The nodes before its first run, after the last one, of the largest graph between runs, and
        those that it made.
    matchers : float
        The seconds that compiling the matchers took.  An ordinary run compiles those of a selection
        together, once, and keeps them.
    counts : dict of str and Count
        The relations that it applies.
    stages : dict of str and Stage
        The rewriters within it.
    """

    name: str
    seconds: float = 0.0
    runs: int = 0
    changes: int = 0
    start: int = 0
    end: int = 0
    largest: int = 0
    created: int = 0
    matchers: float = 0.0
    counts: dict[str, Count] = field(default_factory=dict)
    stages: dict[str, Stage] = field(default_factory=dict)

    @property
    def nodes(self) -> str:
        """Its numbers of nodes, as text."""
        return (
            f"nodes: {self.start} at start, {self.largest} largest, {self.end} at end, "
            f"{self.created} created"
        )


@dataclass(repr=False)
class RewriteProfile(Displayed):
    """The profile of a run.

    Attributes
    ----------
    counts : dict of str and Count
        All relations and rewriters of nodes, in declared order.
    whole : Stage
        The run, with its rewriters as stages within stages.
    """

    counts: dict[str, Count] = field(default_factory=dict)
    whole: Stage = field(default_factory=lambda: Stage("rewriting"))

    def text(self, every: bool = False) -> str:
        """Return the profile as a tree, sorted by time.

        Parameters
        ----------
        every : bool
            Whether to list what did not fire and what changed nothing, too.

        Returns
        -------
        str
            One line for each rewriter and each relation.
        """
        return "\n".join(self.lines(every))

    def __str__(self) -> str:
        return self.text()

    def lines(self, every: bool = False) -> Iterator[str]:
        """Yield the lines of :meth:`text`.

        Parameters
        ----------
        every : bool
            As for :meth:`text`.

        Yields
        ------
        str
            A line.
        """
        waiting: list[tuple[int, Stage]] = [(0, self.whole)]
        while waiting:
            depth, stage = waiting.pop()
            yield from _stage_lines(stage, "  " * depth, every)
            shown = [x for x in stage.stages.values() if every or x.changes]
            shown.sort(key=lambda x: x.seconds)  # the last one is first to leave the stack
            waiting += [(depth + 1, x) for x in shown]

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
        rest = f"{count_of(idle, 'relation')} fired nowhere; text(every=True) lists them"
        return [*([table] if rows else []), *([Note(rest)] if idle else [])]


def _stage_lines(stage: Stage, indent: str, every: bool) -> Iterator[str]:
    """Yield the lines of one stage, without the stages within it."""
    runs = f", {count_of(stage.runs, 'run')}" if stage.runs > 1 else ""
    yield f"{indent}{ms(stage.seconds)} {stage.name}{runs}"
    if stage.changes or not stage.stages:
        yield f"{indent}{' ' * MS}   {stage.nodes}"
    ordered = sorted(stage.counts.items(), key=lambda x: (-x[1].seconds, x[0]))
    fired = [x for x in ordered if every or x[1].fired]
    for name, c in fired:
        mark = ", by kanren" if c.interpreted else ""
        made = f", created {c.created}" if c.created else ""
        yield f"{indent}  {ms(c.seconds)} {name}: fired {c.fired}, tried {c.tried}{made}{mark}"
    if stage.matchers:
        yield f"{indent}  {ms(stage.matchers)} compiling matchers"
    rest = [c for _, c in ordered if c.tried and not c.fired]
    if rest and not every:
        seconds = sum(c.seconds for c in rest)
        yield f"{indent}  {ms(seconds)} in {count_of(len(rest), 'relation')} that did not fire"
    idle = [x for x in stage.stages.values() if not x.changes]
    if idle and not every:
        seconds = sum(x.seconds for x in idle)
        yield f"{indent}  {ms(seconds)} in {count_of(len(idle), 'rewriter')} that changed nothing"


MS = 12  # the width of a time


def ms(seconds: float) -> str:
    """Return a time in milliseconds, in a column."""
    return f"{1e3 * seconds:>{MS - 3}.3f} ms"


@contextmanager
def profiling() -> Iterator[RewriteProfile]:
    """Profile all rewriting inside the block; yields the profile, which the block fills."""
    recorder = _Recorder(RewriteProfile())
    token, watching = RUNNER.set(recorder.run), WATCHER.set(recorder.watch)
    try:
        yield recorder.profile
    finally:
        RUNNER.reset(token)
        WATCHER.reset(watching)


class _Recorder:
    """Runs rewriters and selections, and records them in the current stage of a profile."""

    def __init__(self, profile: RewriteProfile) -> None:
        self.profile = profile
        self.stages = [profile.whole]  # from the whole run to the current stage

    def run(self, outputs: Sequence[Variable], selection: Selection, once: bool) -> Outputs:
        """Normalise by a selection, and count what its relations do."""
        result, stage = self.profile, self.stages[-1]
        for names in (
            {x.label: x.interpreted for x in selection.relations},
            dict.fromkeys([x.relation for x in selection.transforms], False),
        ):
            for name, interpreted in names.items():
                result.counts.setdefault(name, Count(interpreted=interpreted))
                stage.counts.setdefault(name, Count(interpreted=interpreted))
        start = perf_counter()
        profiled = _ProfiledSelection(selection, stage)
        stage.matchers += perf_counter() - start
        earlier = {x: (c.tried, c.seconds) for x, c in stage.counts.items()}
        log = _Counts(result, self.stages, outputs)
        try:
            after = normalise(outputs, profiled, log=log, once=once)
        finally:
            for name, c in stage.counts.items():
                tried, seconds = earlier.get(name, (0, 0.0))
                total = result.counts.setdefault(name, Count())
                total.tried += c.tried - tried
                total.seconds += c.seconds - seconds
        selection.unsettled = profiled.unsettled
        return after

    def watch(self, run: Run, rewriter: Any, outputs: Outputs) -> Outputs:
        """Run a rewriter as a stage within the current one."""
        name = item_name(rewriter)
        stage = self.stages[-1].stages.setdefault(name, Stage(name))
        outermost = len(self.stages) == 1
        self.stages.append(stage)
        before = len(toposort(outputs))
        start = perf_counter()
        try:
            after = run(rewriter, outputs)
        finally:
            seconds = perf_counter() - start
            self.stages.pop()
            stage.seconds += seconds
            if outermost:
                self.profile.whole.seconds += seconds
                self.profile.whole.runs += 1
        for x in (stage, self.profile.whole) if outermost else (stage,):
            _count_nodes(x, before, outputs, after)
        if not isinstance(rewriter, GraphRewriter) or not (stage.counts or stage.stages):
            made = len({*toposort(after)} - {*toposort(outputs)})
            for x in (stage, *self.stages):
                x.created += made
        return after


def _count_nodes(stage: Stage, before: int, outputs: Outputs, after: Outputs) -> None:
    """Add one run to the numbers of nodes of a stage."""
    if not stage.largest:
        stage.start = before
    stage.end = len(toposort(after))
    largest = max((x.largest for x in stage.stages.values()), default=0)
    stage.largest = max(stage.largest, largest, before, stage.end)
    stage.runs += stage.name != "rewriting"
    stage.changes += after != outputs


class _Counts:
    """The log that counts firings."""

    def __init__(
        self, profile: RewriteProfile, stages: Sequence[Stage], outputs: Sequence[Variable]
    ) -> None:
        self.profile = profile
        self.stages = tuple(stages)
        self.seen = set(toposort(outputs))

    def step(self, before: Variable, after: Variable, firings: Sequence[Firing]) -> int:
        """Count the firings of a step, and the nodes that it brings in."""
        self._unseen(before)  # rebuilt on new operands
        created = self._unseen(after)
        for firing in firings:
            name = firing.rewrite.relation
            for counts in (self.profile.counts, self.stages[-1].counts):
                count = counts.setdefault(name, Count())
                count.fired += max(len(firing.taken) - 1, 1)
                count.created += created
            for stage in self.stages:
                stage.created += created
            created = 0  # those of a step with several firings count for the first
        return 0

    def _unseen(self, node: Variable) -> int:
        """Return how many nodes of a graph were not there before."""
        waiting, number = [node], 0
        while waiting:
            x = waiting.pop()
            if x not in self.seen:
                self.seen.add(x)
                number += 1
                waiting += x.inputs
        return number

    def total(self, *_: Any) -> None:
        """Do nothing: the steps of a sum or product were counted."""


class _ProfiledSelection(Selection):
    """A selection that tries each rewrite separately and times it."""

    def __init__(self, selection: Selection, stage: Stage) -> None:
        counts = stage.counts
        super().__init__(
            selection.relations,
            [_TimedTransform(t, counts) for t in selection.transforms],
            selection.thrifty,
        )
        for shapes in self.shapes:
            shapes.answer = timed(shapes.answer, counts[shapes.relation.label])  # type: ignore[method-assign]
        self._counts = counts
        self._stage = stage

    def plain(self, op: Op) -> Any:
        matcher: Any = self._plain.get(op)
        if matcher is None and op not in self._plain:
            clauses = self.clauses_of(op, type(op)) if op not in self.ac_ops else []
            if clauses:
                start = perf_counter()
                matcher = _one_by_one({
                    x: timed(PlainMatcher(op, [x]), self._counts[x[0].label]) for x in clauses
                })  # fmt: skip
                self._stage.matchers += perf_counter() - start
            self._plain[op] = matcher
        return matcher

    def ac_of(self, op: Any) -> AcMatcher | None:
        if op in self._ac:
            return super().ac_of(op)
        start = perf_counter()
        try:
            return self._timed_ac(op)
        finally:
            self._stage.matchers += perf_counter() - start

    def _timed_ac(self, op: Any) -> AcMatcher | None:
        matcher = super().ac_of(op)
        if matcher is None:
            return None
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
