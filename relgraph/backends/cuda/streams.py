"""The stream that the calls of a thread use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from relgraph.backends.cuda import adapter

_CHOSEN: ContextVar[Any] = ContextVar("stream", default=None)


def current_stream() -> Any:
    """Return the stream of the current thread; by default, the default stream."""
    chosen = _CHOSEN.get()
    return adapter.default_stream() if chosen is None else chosen


@contextmanager
def chosen_stream(stream: Any) -> Iterator[Any]:
    """Run the calls in the block, in this thread, on a stream; None creates one."""
    adapter.require()
    numba_stream = adapter.new_stream() if stream is None else adapter.stream_of(stream)
    token = _CHOSEN.set(numba_stream)
    try:
        yield numba_stream
    finally:
        _CHOSEN.reset(token)
