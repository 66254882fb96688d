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


def contenders() -> dict[str, dict[str, Callable[[], Any]]]:
    """Return calls on arrays of three elements; each row computes the same in several ways."""
    import numpy as np

    import relgraph as rg

    def formula(a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
        return a * b + c * d - e

    def of_pytrees(tree: Any, pair: Any, *, last: Any) -> Any:
        return {"out": formula(tree["a"], tree["b"][0], *pair, last)}

    def in_place(a: Any, b: Any) -> None:
        a += b

    class Model:
        def __init__(self) -> None:
            self.a, self.b, self.c = p, q, r

        @rg.jit
        def method(self, d: Any, e: Any) -> Any:
            return formula(self.a, self.b, self.c, d, e)

    arrays = [np.arange(3.0) + k for k in range(5)]
    p, q, r, s, t = arrays
    nodes = [rg.tensor(name, shape=("n",)) for name in "abcde"]
    f = rg.function(nodes, formula(*nodes))
    unchecked = f.unchecked
    scalars = [rg.tensor(name, shape=()) for name in "bde"]
    a, _, c, _, _ = nodes
    b, d, e = scalars
    of_numbers = rg.function([a, b, c, d, e], formula(a, b, c, d, e))
    g, tree_g, model = rg.jit(formula), rg.jit(of_pytrees), Model()
    tree, pair = {"a": p, "b": [q]}, (r, s)
    x, y = rg.vectors("x y", shape=("n",))
    donating, changing, changed = rg.function([x, y], x + y, donate="x"), rg.jit(in_place), p.copy()
    odd, zero = np.arange(6.0)[::2], np.array(0.5)
    longer = [np.arange(4.0) + k for k in range(5)]
    return {
        "5 arrays": {
            "numpy": lambda: formula(p, q, r, s, t),
            "unchecked": lambda: unchecked(p, q, r, s, t),
            "rg.function": lambda: f(p, q, r, s, t),
            "rg.jit": lambda: g(p, q, r, s, t),
        },
        "in a dict, a list and a tuple, by name": {
            "numpy": lambda: of_pytrees(tree, pair, last=t),
            "rg.jit": lambda: tree_g(tree, pair, last=t),
        },
        "3 of them attributes, in a method": {"rg.jit": lambda: model.method(s, t)},
        "2 arrays, 3 Python floats": {
            "numpy": lambda: formula(p, 2.5, r, 0.5, 1.5),
            "rg.function": lambda: of_numbers(p, 2.5, r, 0.5, 1.5),
            "rg.jit": lambda: g(p, 2.5, r, 0.5, 1.5),
        },
        "2 arrays, 3 Python ints": {
            "numpy": lambda: formula(p, 2, r, 3, 1),
            "rg.jit": lambda: g(p, 2, r, 3, 1),
        },
        "2 arrays, 3 arrays without axes": {
            "numpy": lambda: formula(p, zero, r, zero, zero),
            "rg.function": lambda: of_numbers(p, zero, r, zero, zero),
            "rg.jit": lambda: g(p, zero, r, zero, zero),
        },
        "2 arrays, one of them changed in place": {
            "numpy": lambda: in_place(changed, q),
            "rg.function": lambda: donating(changed, q),
            "rg.jit": lambda: changing(changed, q),
        },
        "5 arrays, one with gaps": {
            "numpy": lambda: formula(p, q, r, s, odd),
            "rg.function": lambda: f(p, q, r, s, odd),
            "rg.jit": lambda: g(p, q, r, s, odd),
        },
        "5 arrays, then 5 of another size": {
            "numpy": lambda: (formula(p, q, r, s, t), formula(*longer)),
            "rg.function": lambda: (f(p, q, r, s, t), f(*longer)),
            "rg.jit": lambda: (g(p, q, r, s, t), g(*longer)),
        },
    }


def calls() -> dict[str, dict[str, float]]:
    """Return microseconds for each call."""
    rows = contenders()
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(TURNS):
        for row, candidates in rows.items():
            for name, work in candidates.items():
                took = timeit.timeit(work, number=CALLS) / CALLS * 1e6
                times.setdefault((row, name), []).append(took)
    return {
        row: {name: statistics.median(times[row, name]) for name in candidates}
        for row, candidates in rows.items()
    }


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
    columns = ("numpy", "unchecked", "rg.function", "rg.jit")
    print(f"\n{'microseconds a call':40}" + "".join(f"{name:>12}" for name in columns))
    for name, times in calls().items():
        cells = "".join(f"{times[x]:12.2f}" if x in times else " " * 12 for x in columns)
        print(f"{name:40}{cells}")


if __name__ == "__main__":
    main()
