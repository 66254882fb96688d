"""The time of the first call of a new function, each framework in a separate process.

A process imports a framework, calls one small function so that the compiler is loaded, and then
builds, compiles and calls each graph below once.  ``cold`` starts with an empty cache on disk,
``warm`` is the next process with the same cache.

    python benchmarks/first_call.py                 # prints the table
    python benchmarks/first_call.py child relgraph  # one process, as JSON
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from calibration import compile_sources

GRAPHS = {
    "10 ops": (10, False),
    "10 ops with exp, log1p, tanh": (10, True),
    "100 ops": (100, False),
    "100 ops with exp, log1p, tanh": (100, True),
}
COMPILERS = ("relgraph", "jax", "torch.compile", "pytensor", "pytensor c")


def graph(count: int, functions: bool) -> Any:
    """Return a workload of that many ops that no algebra shortens."""

    def build(xp: Any, v: dict[str, Any]) -> list[Any]:
        inputs = list(v.values())
        node = inputs[0]
        for i in range(count):
            other = inputs[1 + i % 4]
            if functions and i % 10 in (2, 5, 8):
                node = (xp.tanh, xp.exp, xp.log1p)[i % 10 // 3](node)
            elif i % 2:
                node = node * other
            else:
                node = node + other if i % 4 else node - other
        return [node]

    return build


def warm_up(xp: Any, v: dict[str, Any]) -> list[Any]:
    """Return a workload that uses what the others use."""
    a, b = v["x0"], v["x1"]
    return [xp.tanh(a) / (1 + xp.exp(b)) + xp.log1p(a * a - b)]


def child(name: str) -> dict[str, float]:
    """Return the milliseconds of each first call in this process."""
    start = time.perf_counter()
    from kernel_workloads import Row
    from peers import FRAMEWORKS

    peer = FRAMEWORKS[name]()
    found = {"import": time.perf_counter() - start}
    names = [f"x{i}" for i in range(5)]

    def draw(size: int, generator: Any) -> dict[str, Any]:
        return {x: generator.uniform(0.1, 0.3, size) for x in names}

    dims = dict.fromkeys(names, ("n",))
    workloads = {"warm-up": warm_up} | {k: graph(*v) for k, v in GRAPHS.items()}
    for title, build in workloads.items():
        row = Row(title, title, build, draw, dims, ())
        arrays = row.inputs(1000, "float64")
        used = {k: arrays[k] for k in names[:2]} if title == "warm-up" else arrays
        start = time.perf_counter()
        peer.contender(row, used)()
        found[title] = time.perf_counter() - start
    return {k: round(v * 1e3, 2) for k, v in found.items()}


def environment(folder: str) -> dict[str, str]:
    """Return the variables that make every framework keep its cache in a folder."""
    return {
        **os.environ,
        "RELGRAPH_CACHE_DIR": f"{folder}/relgraph",
        "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "TORCHINDUCTOR_CACHE_DIR": f"{folder}/torch",
        "PYTENSOR_FLAGS": f"base_compiledir={folder}/pytensor",
        "NUMBA_CACHE_DIR": f"{folder}/numba",
    }


def run(name: str, folder: str) -> dict[str, float]:
    """Return what a process measured."""
    result = subprocess.run(
        [sys.executable, __file__, "child", name],
        env=environment(folder),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    measured: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return measured


def first_calls(names: list[str], repeats: int = 3) -> list[dict[str, Any]]:
    """Return the median milliseconds of each framework and graph, cold and warm."""
    compile_sources()
    runs: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(repeats):
        for name in [x for x in COMPILERS if x in names]:
            with tempfile.TemporaryDirectory() as folder:
                for cache in ("cold", "warm"):
                    runs.setdefault((name, cache), []).append(run(name, folder))
    found = []
    for cache in ("cold", "warm"):
        for title in ("import", "warm-up", *GRAPHS):
            found.append(
                {
                    "what": title,
                    "cache": cache,
                    "ms": {
                        name: round(statistics.median(x[title] for x in values), 2)
                        for (name, kind), values in runs.items()
                        if kind == cache
                    },
                }
            )
    return found


def main() -> None:
    """Print the table, or measure in this process."""
    if sys.argv[1:2] == ["child"]:
        print(json.dumps(child(sys.argv[2])))
        return
    for row in first_calls(sys.argv[1:] or list(COMPILERS), repeats=1):
        print(row["cache"], row["what"], row["ms"])


if __name__ == "__main__":
    main()
