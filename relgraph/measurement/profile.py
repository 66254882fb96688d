"""``rg.profile``: where rewriting, compiling and running a function spend their time."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, cast

from relgraph.api.function import Function, function
from relgraph.api.profile_report import Profile, RunProfile, StepTime, recording
from relgraph.api.rewrite import DEFAULT_MODE
from relgraph.costs.measured import measured
from relgraph.costs.program import works
from relgraph.errors import ArgumentError
from relgraph.ir.dispatch import traceable
from relgraph.ir.infix import brief
from relgraph.lowering.kernels import Kernel
from relgraph.measurement.arguments import graph_of, in_order, sizes_of

ROUNDS = 100  # calls that are timed, at most
SECONDS = 1.0  # that they may take
LEAST = 3  # calls, however long they take


@traceable
def profile(graph: Any, *arrays: Any, mode: Any = DEFAULT_MODE) -> Profile:
    """Return where the time goes of rewriting and compiling a graph, and of calls on arrays.

    Parameters
    ----------
    graph : Variable, list or tuple or dict of Variable, FunctionGraph, Function, or callable
        What to compile; or a function of NumPy, which needs arrays.  A Function is compiled once
        more, without rewriting: pass ``profile=True`` to :func:`function` to profile that too.
    *arrays : array-like, or one dict of them
        A value for each input, in order, or by name.  Without them, nothing runs.
    mode : str, Query, relation, rewriter, or list of them
        The rewrites, as in :func:`function`.

    Returns
    -------
    Profile
        Prints as a tree, sorted by time; ``text(every=True)`` lists what did not fire, too.
        ``rewriting``, ``making`` and ``run`` have the numbers, ``table()`` all of them in a list.

    Raises
    ------
    ArgumentError
        For a function of NumPy without arrays, other objects, and a function that reads or updates
        shared variables.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> x = rg.vector("x", shape=("n",))
    >>> profile = rg.profile(rg.log(1 + rg.exp(x)), np.ones(1000))
    >>> profile.rewriting.counts["softplus_log1po"].fired
    1
    >>> [(step.kernel, step.bytes) for step in profile.run.steps]
    [(True, 16000)]
    """
    if isinstance(graph, Function):
        return _of_function(graph, arrays)
    whole = graph_of(graph, arrays or None, "Pass them after it: rg.profile(function, a, b).")
    compiled = function(whole.inputs, list(whole.outputs), mode, profile=True)
    report = compiled.profile
    assert report is not None
    if arrays or not compiled.inputs:
        report.run = run_profile(compiled, _in_order(compiled, arrays))
        report.calls.count, report.calls.seconds = 0, 0.0
    return report


def _of_function(compiled: Function, arrays: Sequence[Any]) -> Profile:
    if compiled.shared:
        raise ArgumentError(
            "a call would change the shared variables of the function",
            {"shared": ", ".join(str(x.name) for x in compiled.shared)},
            "Make it with rg.function(..., profile=True), call it, and read its profile.",
        )
    make, parts = cast("tuple[Callable[..., Function], tuple[Any, ...]]", compiled.__reduce__())
    with recording() as report:
        again = make(*parts)
    if arrays or not compiled.inputs:
        report.run = run_profile(again, _in_order(again, arrays))
    return report


def _in_order(compiled: Function, arrays: Sequence[Any]) -> Sequence[Any]:
    """Return the arrays in the order of the inputs."""
    by_name = len(arrays) == 1 and isinstance(arrays[0], Mapping)
    return in_order(compiled.inputs, arrays[0] if by_name else arrays)


def run_profile(compiled: Function, arrays: Sequence[Any]) -> RunProfile:
    """Return the time of calls of a function, and of its steps where the back end can time them.

    Parameters
    ----------
    compiled : Function
        The function, without shared variables.
    arrays : sequence of array-like
        Its arguments.

    Returns
    -------
    RunProfile
        Medians of at most 100 calls.
    """
    compiled(*arrays)
    calls = _timed(lambda: compiled(*arrays))
    timed = compiled.timed(*arrays)
    if timed is None:
        return RunProfile(statistics.median(calls), len(calls), (), 0, 0)
    rounds: list[list[float]] = []

    def run() -> None:
        timed.run()
        rounds.append(list(timed.seconds))

    run()
    _timed(run)
    seconds = [statistics.median(x) for x in zip(*rounds[1:], strict=True)]
    sizes = sizes_of(compiled.inputs, arrays)
    return RunProfile(
        statistics.median(calls),
        len(calls),
        tuple(_steps(timed, seconds, sizes)),
        len(timed.allocated),
        sum(timed.allocated),
    )


def _timed(call: Any) -> list[float]:
    """Return the seconds of several calls."""
    times: list[float] = []
    while len(times) < LEAST or (len(times) < ROUNDS and sum(times) < SECONDS):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return times


def _steps(timed: Any, seconds: Sequence[float], sizes: Mapping[str, int]) -> list[StepTime]:
    """Return the times of the steps, without those of views."""
    machine = measured()
    found = []
    for step, name, time, work in zip(
        timed.steps, timed.names, seconds, works(timed.graph, timed.steps), strict=True
    ):
        kernel = isinstance(step, Kernel)
        if not kernel and work.op is not None and work.op.view:
            continue
        names = getattr(work.bytes, "names", ())
        counted = work.at({k: v for k, v in sizes.items() if k in names}).bytes
        moved = counted if isinstance(counted, int) else None
        share = machine.moving(moved) / time if moved and time else None
        computes = ", ".join(brief(x, 12) for x in step.results)
        found.append(StepTime(name, computes, kernel, time, moved, share))
    return found


__all__ = ["profile"]
