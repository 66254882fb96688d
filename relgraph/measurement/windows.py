"""Interleaved timing of contenders, without disturbance by other processes.

Contenders take turns in one process.  A turn is a window of some milliseconds; if other processes
used the processors during a window, according to the operating system, the harness repeats it.
"""

from __future__ import annotations

import gc
import math
import os
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from relgraph.viz.progress import progress

Contender = Callable[[], Any]
_ACCOUNTS = "/proc/stat"
_TICK = 1 / os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0.01
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
    deadline : float
        When to stop, on the clock of :func:`time.perf_counter`, once each contender had a turn.
    """

    rounds: int = 7
    window: float = 0.03
    attempts: int = 5
    patience: float = 1800.0
    deadline: float = math.inf

    @property
    def over(self) -> bool:
        """Whether the deadline has passed."""
        return time.perf_counter() >= self.deadline


@dataclass
class Timing:
    """The windows of one contender, in seconds a call.

    Attributes
    ----------
    kept, disturbed : list of float
        Those that no other process disturbed, and the others.
    turns : list of float
        One for each round: the window kept, or else the last disturbed one.
    """

    kept: list[float] = field(default_factory=list)
    disturbed: list[float] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """The median of the windows kept; the shortest where all were disturbed."""
        return statistics.median(self.kept) if self.kept else min(self.disturbed)

    @property
    def median(self) -> float:
        """The median of all turns, which compares with the other contenders of the same rounds."""
        return _quartiles(self.turns)[0]

    @property
    def spread(self) -> float:
        """Half of the distance between the quartiles of all turns."""
        return _quartiles(self.turns)[1]


class Ratio(NamedTuple):
    """How many times as long one contender takes as another.

    Attributes
    ----------
    value : float
        The median over the rounds of the ratio of both times.
    noise : float
        The standard error of the median, from the quartiles.
    """

    value: float
    noise: float


def ratio(first: Timing, second: Timing) -> Ratio:
    """Return the time of the first over that of the second, from the rounds that both have."""
    rounds = [a / b for a, b in zip(first.turns, second.turns, strict=False)]
    middle, half = _quartiles(rounds)
    return Ratio(middle, 1.86 * half / math.sqrt(len(rounds)))  # 2 * 1.253 / 1.349 of the half


def _quartiles(values: list[float]) -> tuple[float, float]:
    """Return the median, and half of the distance between the quartiles; infinite for one value."""
    if len(values) < 2:
        return values[0], math.inf
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return middle, (high - low) / 2


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
    while plan.patience > 0 and not plan.over:
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
        for done in progress(range(plan.rounds), "rounds"):
            if done and plan.over:
                break
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
            break
        timing.disturbed.append(seconds)
        if plan.over:
            break
    timing.turns.append(seconds)


__all__ = ["Contender", "Plan", "Ratio", "Timing", "measure", "ratio"]
