"""Named spans of time within others, which a profile records; otherwise they cost nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter

# Spans of a kernel: it was loaded from the cache on disk, or compiled.
LOADED, COMPILED = "loaded from disk", "compiled"


@dataclass
class Span:
    """A part of a program's time.

    Attributes
    ----------
    name : str
        What took the time.
    seconds : float
        The time of all its runs.
    count : int
        How often it ran.
    parts : dict of str and Span
        The spans within it, by name.
    """

    name: str
    seconds: float = 0.0
    count: int = 0
    parts: dict[str, Span] = field(default_factory=dict)

    def part(self, name: str) -> Span:
        """Return the span of that name within this one, which is made if it is not there."""
        return self.parts.setdefault(name, Span(name))

    def total(self, name: str) -> int:
        """Return how often spans of that name ran, at any depth."""
        found, waiting = 0, [self]
        while waiting:
            x = waiting.pop()
            waiting += x.parts.values()
            found += x.count if x.name == name else 0
        return found


_current: ContextVar[Span | None] = ContextVar("relgraph_span", default=None)


@contextmanager
def span(name: str) -> Iterator[None]:
    """Add the time of the block to the span of that name, if a profile is being recorded."""
    outer = _current.get()
    if outer is None:
        yield
        return
    with recorded(outer.part(name)):
        yield


@contextmanager
def recorded(whole: Span) -> Iterator[Span]:
    """Record the block in a span, and what is in the block in its parts."""
    token, start = _current.set(whole), perf_counter()
    try:
        yield whole
    finally:
        whole.seconds += perf_counter() - start
        whole.count += 1
        _current.reset(token)


__all__ = ["COMPILED", "LOADED", "Span", "recorded", "span"]
