"""What a profile holds: where compiling and calls spend their time, as a tree and as a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any

from relgraph.errors import count_of
from relgraph.ir import forks
from relgraph.ir.records import record
from relgraph.ir.spans import COMPILED, LOADED, Span, recorded
from relgraph.rewriting.profile import RewriteProfile, Stage, ms, profiling
from relgraph.viz.display import Displayed
from relgraph.viz.document import Code, Element, Graphic
from relgraph.viz.icicle import Part, icicle

_lock = forks.lock()


@record
class StepTime:
    """The time of one step of a program.

    Attributes
    ----------
    name : str
        The name of a kernel, or of the op of a library call.
    computes : str
        A short text of what it computes.
    kernel : bool
        Whether it is a kernel.
    seconds : float
        The median of its time.
    bytes : int or None
        What it reads and writes; None if that is known only at run time.
    bandwidth : float or None
        The share of the machine's bandwidth that this needs, of the level of memory that holds so
        many bytes: 1 if moving them takes all of the time.
    """

    name: str
    computes: str
    kernel: bool
    seconds: float
    bytes: int | None
    bandwidth: float | None


@record
class RunProfile:
    """The time of a call by steps.

    Attributes
    ----------
    seconds : float
        The median of a call.
    rounds : int
        How many calls were timed.
    steps : tuple of StepTime
        The kernels and library calls, in the order in which they run.  Their sum may differ from
        the time of a call, since a call runs them from machine code.
    allocations, allocated : int
        The buffers and results that relgraph allocates in a call, and their bytes; libraries
        allocate some of their results themselves.
    """

    seconds: float
    rounds: int
    steps: tuple[StepTime, ...]
    allocations: int
    allocated: int

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report.

        Yields
        ------
        str
            A line.
        """
        yield f"{ms(self.seconds)} a call, the median of {self.rounds}"
        if self.allocations:
            word = count_of(self.allocations, "array")
            yield f"{' ' * 15}allocates {word}, {self.allocated:,} bytes"
        for x in sorted(self.steps, key=lambda x: -x.seconds):
            moved = "" if x.bytes is None else f", {x.bytes:,} bytes"
            share = "" if x.bandwidth is None else f", {x.bandwidth:.0%} of the bandwidth"
            kind = "" if x.kernel else " (library)"
            yield f"  {ms(x.seconds)} {x.name}{kind}{moved}{share}: {x.computes}"


@dataclass
class Calls:
    """The calls of a function since it was made.

    Attributes
    ----------
    count : int
        How many calls there were, also those that raised.
    seconds : float
        Their time.
    """

    count: int = 0
    seconds: float = 0.0

    def counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that counts and times its calls.

        Parameters
        ----------
        call : callable
            What to call.

        Returns
        -------
        callable
            With the same arguments and results.
        """

        @wraps(call, updated=())
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = perf_counter()
            try:
                return call(*args, **kwargs)
            finally:
                seconds = perf_counter() - start
                with _lock:
                    self.count += 1
                    self.seconds += seconds

        return timed


@dataclass(repr=False)
class Profile(Displayed):
    """Where the time goes of rewriting, compiling and running a function.

    It prints as a tree, sorted by time; notebooks show a picture above it, as :func:`draw` does.

    Attributes
    ----------
    rewriting : RewriteProfile
        The phases, passes, relations and rewriters.  Timing each attempt makes rewriting slower.
    making : Span
        The time to make the function, with the parts of compiling.
    run : RunProfile or None
        The time of a call; None if no arrays were given.
    calls : Calls
        The calls of a function that was made with ``profile=True``.
    """

    rewriting: RewriteProfile = field(default_factory=RewriteProfile)
    making: Span = field(default_factory=lambda: Span("making the function"))
    run: RunProfile | None = None
    calls: Calls = field(default_factory=Calls)

    @property
    def kernels(self) -> dict[str, int]:
        """How many kernels were compiled, loaded from disk, or in memory already."""
        whole = self.making.parts.get("kernels")
        parts = [] if whole is None else list(whole.parts.values())
        counts = {"compiled": 0, "from disk": 0, "in memory": 0}
        for x in parts:
            names = {"compiled": COMPILED, "from disk": LOADED}
            found = next((k for k, name in names.items() if name in x.parts), "in memory")
            counts[found] += 1
            counts["in memory"] += x.count - 1
        return counts

    def text(self, every: bool = False) -> str:
        """Return the profile as a tree, sorted by time.

        Parameters
        ----------
        every : bool
            Whether to list relations that did not fire, and rewriters that changed nothing, too.

        Returns
        -------
        str
            Several lines.
        """
        return "\n".join(self._lines(every))

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def pictured(self) -> list[Part]:
        """Return the times of making the function and of a call, with their parts.

        Returns
        -------
        list of Part
            What :func:`draw` draws.
        """
        wholes = []
        if self.making.count:
            parts = [_of_span(x) for x in self.making.parts.values()]
            if self.rewriting.whole.stages:
                parts.append(_of_stage(self.rewriting.whole, "rewriting"))
            wholes.append(_part(self.making.name, self.making.seconds, parts=parts))
        if self.run is not None:
            steps = [_part(x.name, x.seconds, x.computes) for x in self.run.steps]
            wholes.append(_part("a call", self.run.seconds, parts=steps))
        return wholes

    def _document(self) -> list[Element]:
        wholes = self.pictured()
        picture = [Graphic(icicle(wholes))] if wholes else []
        return [*picture, Code(self.text())]

    def _lines(self, every: bool) -> Iterator[str]:
        if self.making.count:
            yield f"{ms(self.making.seconds)} making the function"
            parts: list[tuple[float, list[str]]] = []
            whole = self.rewriting.whole
            if whole.stages:
                parts.append((whole.seconds, list(self.rewriting.lines(every))))
            parts += [(x.seconds, list(self._part(x))) for x in self.making.parts.values()]
            for _, lines in sorted(parts, key=lambda x: -x[0]):
                yield from (f"  {x}" for x in lines)
        if self.run is not None:
            yield from self.run.lines()
        if self.calls.count:
            yield f"{ms(self.calls.seconds)} in {count_of(self.calls.count, 'call')}"

    def _part(self, part: Span) -> Iterator[str]:
        """Yield the lines of a part of compiling."""
        note = ""
        if part.name == "kernels":
            found = [f"{n} {where}" for where, n in self.kernels.items() if n]
            note = f": {', '.join(found)}" if found else ": none"
        yield f"{ms(part.seconds)} {part.name}{note}"
        for x in sorted(part.parts.values(), key=lambda x: -x.seconds):
            yield from (f"  {line}" for line in self._part(x))

    def table(self) -> list[dict[str, Any]]:
        """Return one dict for each part, for a data frame.

        Returns
        -------
        list of dict
            "part" is a path such as "rewriting/canonicalize/collect_like_termso", "seconds" its
            time; the others depend on the kind of part.
        """
        rows: list[dict[str, Any]] = []
        waiting: list[tuple[str, Stage]] = [("rewriting", self.rewriting.whole)]
        while waiting:
            path, stage = waiting.pop()
            if stage.runs or stage.stages:
                numbers = ("seconds", "runs", "changes", "start", "largest", "end", "created")
                rows.append({"part": path, **{k: getattr(stage, k) for k in numbers}})
            for name, c in stage.counts.items():
                if c.tried or c.fired:
                    rows.append({"part": f"{path}/{name}", **vars(c)})
            waiting += [(f"{path}/{x.name}", x) for x in reversed(stage.stages.values())]
        spans = [("making", self.making)]
        while spans:
            path, part = spans.pop()
            if part.count:
                rows.append({"part": path, "seconds": part.seconds, "count": part.count})
            spans += [(f"{path}/{x.name}", x) for x in reversed(part.parts.values())]
        for i, step in enumerate(self.run.steps if self.run is not None else ()):
            values = {k: getattr(step, k) for k in StepTime.__annotations__ if k != "name"}
            rows.append({"part": f"run/{i}/{step.name}", **values})
        return rows

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """Return the profile as JSON, and write it to a file if a path is given.

        Parameters
        ----------
        path : str or path, optional
            The file.

        Returns
        -------
        str
            An object with the table, the kernels, the calls, and the time of a call.
        """
        run = self.run
        data = {
            "table": self.table(),
            "kernels": self.kernels,
            "calls": vars(self.calls),
            "run": run
            and {k: getattr(run, k) for k in ("seconds", "rounds", "allocations", "allocated")},
        }
        text = json.dumps(data, indent=1)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text


def _part(name: str, seconds: float, detail: str = "", parts: Sequence[Part] = ()) -> Part:
    """Return a part with its time in the detail, and its parts sorted by time."""
    time = ms(seconds).strip()
    ordered = tuple(sorted(parts, key=lambda x: -x.seconds))
    return Part(name, seconds, f"{time}, {detail}" if detail else time, ordered)


def _of_span(span: Span) -> Part:
    parts = [_of_span(x) for x in span.parts.values()]
    return _part(span.name, span.seconds, f"{count_of(span.count, 'time')}", parts)


def _of_stage(stage: Stage, name: str = "") -> Part:
    parts = [_of_stage(x) for x in stage.stages.values()]
    parts += [
        _part(label, c.seconds, f"fired {c.fired}, tried {c.tried}")
        for label, c in stage.counts.items()
    ]
    parts += [_part("compiling matchers", stage.matchers)] if stage.matchers else []
    return _part(name or stage.name, stage.seconds, stage.nodes, parts)


@contextmanager
def recording() -> Iterator[Profile]:
    """Record what is made inside the block; yields the profile, which the block fills."""
    profile = Profile()
    with recorded(profile.making), profiling() as profile.rewriting:
        yield profile


__all__ = ["Calls", "Profile", "RunProfile", "StepTime", "recording"]
