"""The cost of large results: reused or new memory, streaming or cached stores, and alignment.

    python benchmarks/large_results.py

Each pair runs in one process, in turns; times are medians.  It writes results/large_results.json.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from calibration import machine, versions

import relgraph as rg
from relgraph.backends.numba.launch import LEAST

RESULTS = Path(__file__).parent / "results" / "large_results.json"
ROUNDS, CALLS = 7, 6


def turns(call: Callable[[], Any], *ways: Callable[[], None]) -> list[float]:
    """Return the milliseconds of a call after each of some preparations."""
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(ROUNDS):
        for k, prepare in enumerate(ways):
            prepare()
            call()
            for _ in range(CALLS):
                start = time.perf_counter()
                call()
                times[k].append(1e3 * (time.perf_counter() - start))
    return [round(statistics.median(x), 3) for x in times]


def graphs(dtype: str) -> dict[str, tuple[list[Any], Any]]:
    """Return what is measured: its inputs and its outputs."""
    a, b, c, d = (rg.tensor(name, dtype=dtype, shape=("n",)) for name in "abcd")
    return {
        "2*a + 1": ([a], 2 * a + 1),
        "a*b": ([a, b], a * b),
        "a*b + c*d": ([a, b, c, d], a * b + c * d),
        "exp(a)*b": ([a, b], rg.exp(a) * b),
        "tanh(a)": ([a], rg.tanh(a)),
        "a + 1, a*2": ([a], [a + 1, a * 2]),
    }


def placed(count: int, offset: int) -> np.ndarray:
    """Return an array of float64 that begins some bytes after a page."""
    memory = np.ones(count + 1024)
    first = (offset - memory.ctypes.data) % 4096 // 8
    return memory[first : first + count]


def beginnings(count: int) -> list[list[Any]]:
    """Return times of exp where the result begins 48 bytes after its operand, and 16 before."""
    x = rg.vector("x", shape=("n",))
    f, a = rg.function([x], rg.exp(x)), placed(count, 16)
    places = [placed(count, offset) for offset in (64, 0)]  # the last is used
    return [["exp(a)", count, *turns(lambda: f(a, out=places[-1]), places.reverse, places.reverse)]]


def main() -> None:
    """Measure, print and write."""
    rows = []
    rg.config.threads = None
    print(f"{'':12} {'':8} {'n':>9} {'new, ms':>9} {'kept':>8} {'cached':>8} {'past':>8}")
    for dtype in ("float64", "float32"):
        for name, (inputs, outputs) in graphs(dtype).items():
            f = rg.function(inputs, outputs)
            tables = [k.__self__ for k in f._program._schedule.functions.values()]
            least = [int(table[LEAST]) for table in tables]

            def past(used: bool, tables: Any = tables, least: Any = least) -> None:
                for table, number in zip(tables, least, strict=True):
                    table[LEAST] = number if used else 0

            for n in (2**20, 2**22, 10**7):
                arrays = [
                    np.random.default_rng(i).normal(size=n).astype(dtype)
                    for i in range(len(inputs))
                ]
                memory = turns(
                    lambda: f(*arrays),  # noqa: B023 - called at once
                    lambda: rg.config(arena_limit=0),
                    lambda: rg.config(arena_limit=2**28),
                )
                cache = turns(lambda: f(*arrays), lambda: past(False), lambda: past(True))  # noqa: B023
                rows.append([name, dtype, n, *memory, *cache])
                print(f"{name:12} {dtype:8} {n:9,} " + " ".join(f"{x:8.2f}" for x in rows[-1][3:]))
    begins = [row for count in (2**17, 2**20) for row in beginnings(count)]
    for name, count, after, before in begins:
        print(f"{name}, {count:,}: a result 48 bytes after its operand {after}, 16 before {before}")
    found = {
        "machine": machine(),
        "versions": versions("numpy", "llvmlite"),
        "unit": "ms",
        "columns": ["graph", "dtype", "n", "new", "kept", "through the cache", "past it"],
        "rows": rows,
        "beginnings": ["graph", "n", "48 bytes after the operand", "16 before"],
        "begins": begins,
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
