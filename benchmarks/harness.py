"""Interleaved timing of contenders, without disturbance by other processes.

Contenders take turns in one process.  A turn is a window of some milliseconds; if other processes
used the processors during a window, according to the operating system, the harness repeats it.
"""

from __future__ import annotations

import ctypes
import gc
import os
import random
import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

Contender = Callable[[], Any]
_ACCOUNTS = "/proc/stat"
_TICK = 1 / os.sysconf("SC_CLK_TCK")
_IDLE = {3, 4}  # the columns of idle time and of waiting for disks


@dataclass
class Plan:
    """How long to measure.

    Attributes
    ----------
    rounds : int
        How many windows of each contender are kept.
    window : float
        Seconds of a window; one call where a call takes longer.
    attempts : int
        How often a disturbed window is measured again.
    patience : float
        Seconds to wait in all for other processes to be done.
    """

    rounds: int = 7
    window: float = 0.03
    attempts: int = 5
    patience: float = 1800.0


@dataclass
class Timing:
    """The windows of one contender, in seconds a call."""

    kept: list[float] = field(default_factory=list)
    disturbed: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The median of the windows kept; the shortest where all were disturbed."""
        return statistics.median(self.kept) if self.kept else min(self.disturbed)


def _used() -> float:
    """Return the seconds that all processors have worked, for whomever."""
    try:
        with open(_ACCOUNTS, encoding="ascii") as file:
            columns = [int(x) for x in file.readline().split()[1:9]]
    except OSError:
        return _own()  # not Linux: other processes are unknown
    return sum(x for i, x in enumerate(columns) if i not in _IDLE) * _TICK


def _own() -> float:
    times = os.times()
    return times.user + times.system


def _others() -> float:
    """Return the seconds that processors have worked for other processes."""
    return _used() - _own()


def _wait(plan: Plan) -> None:
    """Wait until no other process works, as long as the plan has patience."""
    while plan.patience > 0:
        start, others = time.perf_counter(), _others()
        time.sleep(0.03)
        if _others() - others <= 1.1 * _TICK:
            return
        time.sleep(0.1)
        plan.patience -= time.perf_counter() - start


def _window(contender: Contender, calls: int) -> tuple[float, bool]:
    """Return the seconds a call, and whether other processes worked meanwhile."""
    others = _others()
    start = time.perf_counter()
    for _ in range(calls):
        contender()
    elapsed = time.perf_counter() - start
    return elapsed / calls, _others() - others > 1.1 * _TICK + 0.08 * elapsed


def _calls(contender: Contender, window: float) -> int:
    """Return how many calls fill a window."""
    calls = 1
    while True:
        seconds = _window(contender, calls)[0]
        if seconds * calls >= window / 4 or calls >= 1_000_000:
            return max(1, round(window / seconds))
        calls *= 4


def measure(contenders: dict[str, Contender], plan: Plan) -> dict[str, Timing]:
    """Time contenders in turns, in an order drawn for each round.

    Parameters
    ----------
    contenders : dict
        What to call, each of them ready to run.
    plan : Plan
        How long to measure.
    """
    draw = random.Random(0)
    calls = {name: _calls(x, plan.window) for name, x in contenders.items()}
    timings = {name: Timing() for name in contenders}
    names = list(contenders)
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(plan.rounds):
            draw.shuffle(names)
            for name in names:
                _turn(contenders[name], calls[name], timings[name], plan)
    finally:
        if enabled:
            gc.enable()
    return timings


def _turn(contender: Contender, calls: int, timing: Timing, plan: Plan) -> None:
    for _ in range(plan.attempts):
        _wait(plan)
        if calls > 1:
            contender()  # with the caches left by another contender
        seconds, disturbed = _window(contender, calls)
        if not disturbed:
            timing.kept.append(seconds)
            return
        timing.disturbed.append(seconds)


def _load_tbb(numba: Any) -> None:
    """Have numba use the threads of tbb where its wheel is installed, as relgraph does.

    A process has one layer of threads, which the first to ask for it chooses.
    """
    with suppress(metadata.PackageNotFoundError, OSError):
        for file in metadata.files("tbb") or []:
            if file.name == "libtbb.so.12":
                ctypes.CDLL(str(file.locate()), mode=ctypes.RTLD_GLOBAL)
                numba.config.THREADING_LAYER = "tbb"


class Ceiling:
    """What the memory allows: a triad, or a sum, over as many bytes as a workload moves.

    Bytes are counted as in STREAM: each array once, whether it is read or written.
    """

    def __init__(self) -> None:
        import numba
        import numpy as np

        _load_tbb(numba)

        def triad(a: Any, b: Any, out: Any) -> None:
            for i in numba.prange(out.size):
                out[i] = a[i] + 2.0 * b[i]

        def total(a: Any) -> float:
            found = 0.0
            for i in numba.prange(a.size):
                found += a[i]
            return found

        options = {"fastmath": True, "nogil": True}
        self._triads = [numba.njit(parallel=p, **options)(triad) for p in (False, True)]
        self._totals = [numba.njit(parallel=p, **options)(total) for p in (False, True)]
        self._empty = np.empty
        self._ones = np.ones

    def contenders(self, read: int, written: int, fresh: bool) -> dict[str, Contender]:
        """Return what to time beside a workload; the faster of the two is its ceiling.

        Parameters
        ----------
        read, written : int
            The bytes of the inputs and of the outputs.
        fresh : bool
            Whether a result is a new array, as the workload's, or always the same.
        """
        if written < read / 8:
            a = self._ones((read + written) // 8 or 1)
            kernels = [lambda f=f: f(a) for f in self._totals]
        else:
            count = (read + written) // 24 or 1
            a, b, out = self._ones(count), self._ones(count), self._ones(count)
            if fresh:
                kernels = [lambda f=f: f(a, b, self._empty(count)) for f in self._triads]
            else:
                kernels = [lambda f=f: f(a, b, out) for f in self._triads]
        return dict(zip(("ceiling, one thread", "ceiling, all threads"), kernels, strict=True))
