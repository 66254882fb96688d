"""Calls on traced arrays: how relgraph's own functions and ops reach the tracer of ``rg.jit``.

``rg.jit`` runs a function on tracers, which stand for arrays.  NumPy hands calls on tracers over by
its protocols.  Relgraph's functions and ops ask :data:`interceptors` first, so that under a trace
they take tracers where they take graphs, and return tracers.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from relgraph.errors import unbound_arguments
from relgraph.ir import forks

_P = ParamSpec("_P")
_R = TypeVar("_R")

Interceptor = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]

interceptors: list[Interceptor] = []
"""Who answers calls of public functions and ops: nobody, or the tracer while any thread traces.

An interceptor receives the function or op, the positional arguments and those by name.  It returns
the result, or NotImplemented to let the call run as usual.  The list is changed in place and never
replaced, so that modules can import it by name."""

_lock = forks.lock()
_threads: list[int] = []  # the thread of each block of intercepted_by


@contextmanager
def intercepted_by(interceptor: Interceptor) -> Iterator[None]:
    """Let an interceptor answer calls until the block ends.

    Blocks may nest, and several threads may have one; all give the same interceptor.
    """
    thread = threading.get_ident()
    with _lock:
        _threads.append(thread)
        interceptors[:] = [interceptor]
    try:
        yield
    finally:
        with _lock:
            _threads.remove(thread)
            if not _threads:
                interceptors.clear()


def is_tracing() -> bool:
    """Return True while this thread traces a function."""
    return threading.get_ident() in _threads


def _only_this_thread() -> None:
    """Forget the blocks of the parent's other threads, which a forked child does not have."""
    thread = threading.get_ident()
    _threads[:] = [x for x in _threads if x == thread]
    if not _threads:
        interceptors.clear()


forks.in_child(_only_this_thread)


def traceable(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a public function of graphs take tracers, and list its parameters in errors.

    One wrapper does both, because a second one would slow every call down.  A function that takes
    no graphs needs only :func:`relgraph.errors.checks_arguments`.
    """

    @functools.wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        for ask in interceptors:
            answer: _R = ask(checked, args, kwargs)
            if answer is not NotImplemented:
                return answer
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            unbound = unbound_arguments(function, error, kwargs)
            if unbound is None:
                raise
            raise unbound from None

    return checked
