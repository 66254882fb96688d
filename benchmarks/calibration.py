"""Calibration of one run: times of a few Python steps, and a description of the machine.

Compare the times of a benchmark with these: a rewrite of 1 µs is 30 look-ups in a dict here, and
about as many elsewhere.
"""

from __future__ import annotations

import compileall
import math
import os
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib import metadata, util
from typing import Any

LOOPS = 20_000


@cache
def compile_sources() -> None:
    """Write the bytecode of relgraph, which installed packages have, before processes are timed."""
    spec = util.find_spec("relgraph")
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        compileall.compile_dir(folder, quiet=2)


class _Record:
    __slots__ = ("field",)

    def __init__(self) -> None:
        self.field = 1


def _dict_lookup(loops: int) -> float:
    table = {(i, i): i for i in range(1000)}
    keys = list(table)[:100] * (loops // 100)
    start = time.perf_counter()
    for key in keys:
        _ = table[key]
    return time.perf_counter() - start


def _tuple_build(loops: int) -> float:
    a, b = object(), object()
    start = time.perf_counter()
    for _ in range(loops):
        _ = (a, b)
    return time.perf_counter() - start


def _attribute_load(loops: int) -> float:
    record = _Record()
    start = time.perf_counter()
    for _ in range(loops):
        _ = record.field
    return time.perf_counter() - start


def _call(loops: int) -> float:
    def function(x: object) -> object:
        return x

    start = time.perf_counter()
    for _ in range(loops):
        function(None)
    return time.perf_counter() - start


def calibrate() -> dict[str, float]:
    """Return nanoseconds of one step of each kind, loop included; the median of nine runs."""
    steps = {
        "dict look-up ns": _dict_lookup,
        "tuple of two ns": _tuple_build,
        "attribute load ns": _attribute_load,
        "call ns": _call,
    }
    return {
        name: round(statistics.median(step(LOOPS) for _ in range(9)) / LOOPS * 1e9, 1)
        for name, step in steps.items()
    }


def versions(*packages: str) -> dict[str, str]:
    """Return the version of Python and of each package, or that it is not installed."""
    found = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def machine() -> dict[str, Any]:
    """Return the CPU, how many of them there are, and the operating system."""
    cpu = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if "model name" in line]
        cpu = names[0] if names else cpu
    except OSError:
        pass  # not Linux: the name the platform gives must do
    return {"cpu": cpu, "cores": os.cpu_count(), "system": f"{sys.platform} {platform.machine()}"}


def interleaved(
    contenders: dict[str, Callable[[], float]], turns: int = 7, least: float = 0.005
) -> dict[str, list[float]]:
    """Time contenders in turns, so that a slow moment of the machine meets all of them.

    Parameters
    ----------
    contenders : dict
        Each returns the seconds that one run took.
    turns : int
        How many turns, in an order drawn for each.
    least : float
        A contender's turn is its runs until they took that many seconds, the first left out unless
        it is the only one: it finds the caches as another contender left them.
    """
    draw = random.Random(0)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for _ in range(turns):
        draw.shuffle(names)
        for name in names:
            runs = [contenders[name]()]
            while sum(runs) < least:
                runs.append(contenders[name]())
            times[name].append(statistics.median(runs[1:] or runs))
    return times


def growth_exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the slope of a line through the logarithms of sizes and times."""
    xs, ys = [math.log(x) for x in sizes], [math.log(y) for y in seconds]
    mx, my = statistics.fmean(xs), statistics.fmean(ys)
    return sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / sum(
        (x - mx) ** 2 for x in xs
    )
