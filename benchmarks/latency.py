"""Overheads of relgraph: first calls, compilation, and calls.

The first process starts with an empty cache, and a second one uses the cache of the first.  Run it
as

    python benchmarks/latency.py          # the table
    python benchmarks/latency.py process  # the measurements of one process, as JSON

Every figure is a median: of different graphs, of processes, or of interleaved runs of calls.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from typing import Any

from calibration import compile_sources

GRAPHS = 9  # for each row of compilation
PROCESSES = 3
TURNS, CALLS = 200, 200


def graph(ops: int, transcendental: bool, seed: int) -> tuple[list[Any], Any]:
    """Return a graph of so many ops drawn at random, different for each seed."""
    import relgraph as rg

    draw = random.Random(f"{ops} {transcendental} {seed}")
    inputs = [rg.tensor(name, shape=("n",)) for name in "abcd"]
    nodes = list(inputs)
    functions = [rg.exp, rg.log1p, rg.tanh]
    for k in range(ops):
        x, y = draw.sample(nodes[-6:], 2)
        if transcendental and k % 4 == 0:
            nodes.append(functions[k // 4 % 3](x * draw.random()))
        else:
            nodes.append(draw.choice([x + y, x * y, x - y, rg.maximum(x, y)]))
    return inputs, nodes[-1]


def milliseconds(work: Callable[[], Any]) -> float:
    """Return how long some work takes."""
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def compiled(ops: int, transcendental: bool, seed: int) -> float:
    """Return the time from a graph to the result of its first call."""
    import numpy as np

    import relgraph as rg

    inputs, output = graph(ops, transcendental, seed)
    arrays = [np.full(8, 0.5) for _ in inputs]
    return milliseconds(lambda: rg.function(inputs, output)(*arrays))


def process() -> dict[str, float]:
    """Measure one process."""
    rows = {"import numpy": milliseconds(lambda: __import__("numpy"))}
    rows["import relgraph"] = milliseconds(lambda: __import__("relgraph"))
    rows["first function and call"] = compiled(10, False, -1)
    rows["first with transcendentals"] = compiled(10, True, -1)
    for ops in (10, 100):
        for transcendental in (False, True):
            name = f"{ops} ops{', transcendentals' if transcendental else ''}"
            times = [compiled(ops, transcendental, seed) for seed in range(GRAPHS)]
            rows[name] = statistics.median(times)
    rows["numba imported"] = float("numba" in sys.modules)
    return rows


def calls() -> dict[str, float]:
    """Return microseconds for each call of a function of five arrays of three elements."""
    import numpy as np

    import relgraph as rg

    nodes = [rg.tensor(name, shape=("n",)) for name in "abcde"]
    a, b, c, d, e = nodes
    f = rg.function(nodes, a * b + c * d - e)
    arrays = [np.arange(3.0) + k for k in range(5)]
    p, q, r, s, t = arrays
    unchecked = f.unchecked
    candidates: dict[str, Callable[[], Any]] = {
        "call": lambda: f(p, q, r, s, t),
        "unchecked": lambda: unchecked(p, q, r, s, t),
        "numpy": lambda: p * q + r * s - t,
    }
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(TURNS):
        for name, work in candidates.items():
            times[name].append(timeit.timeit(work, number=CALLS) / CALLS * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    """Print the table, or the measurements of one process."""
    if len(sys.argv) > 1:
        print(json.dumps(process()))
        return
    compile_sources()
    found: dict[str, dict[str, list[float]]] = {}
    for _ in range(PROCESSES):
        with tempfile.TemporaryDirectory() as folder:
            for cache in ("cold", "warm"):
                result = subprocess.run(
                    [sys.executable, __file__, "process"],
                    stdout=subprocess.PIPE, text=True, check=True,
                    env={**os.environ, "RELGRAPH_CACHE_DIR": folder},
                )  # fmt: skip
                for name, value in json.loads(result.stdout).items():
                    found.setdefault(name, {}).setdefault(cache, []).append(value)
    print(f"{'milliseconds':32}{'empty cache':>12}{'full cache':>12}")
    for name, row in found.items():
        cells = "".join(f"{statistics.median(row[cache]):12.2f}" for cache in ("cold", "warm"))
        print(f"{name:32}{cells}")
    print(f"\n{'microseconds a call':32}")
    for name, value in calls().items():
        print(f"{name:32}{value:12.2f}")


if __name__ == "__main__":
    main()
