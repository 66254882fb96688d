"""The time of a script that begins, compiles a function or two, and ends; and of a first rewriting.

Every measurement is a fresh process.  Processes of relgraph and JAX take turns, each with a cold
cache on disk and then with the cache that it has filled.

    python benchmarks/startup.py                        # prints the tables
    python benchmarks/startup.py --jax PATH/bin/python  # with JAX from another environment
    python benchmarks/startup.py --rounds 9

``import`` does not contain the import of NumPy, which both frameworks need; ``total`` does, and
``processor`` is the time of all threads on all processors, interpreter included.  A first rewriting
is that of a model of about 300 nodes, in processor time: ``database`` is that of ``rg.optdb``, ``us
a node`` that of the rewriting, and ``later`` that of a second fresh model in the same process.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROGRAMS = {
    "relgraph": """
import relgraph as rg
imported = clock()
x, y = rg.vectors("x y")
f = rg.function([x, y], rg.tanh(x) / (1 + rg.exp(y)) + rg.log1p(x * x + y))
a = f(p, q)
first = clock()
g = rg.function([x, y], rg.sum(x * y + 3 * x) / (2 + rg.exp(y)))
b = g(p, q)
""",
    "jax": """
import jax
import jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
imported = clock()
f = jax.jit(lambda x, y: jnp.tanh(x) / (1 + jnp.exp(y)) + jnp.log1p(x * x + y))
a = f(p, q).block_until_ready()
first = clock()
g = jax.jit(lambda x, y: jnp.sum(x * y + 3 * x) / (2 + jnp.exp(y)))
b = g(p, q).block_until_ready()
""",
}
BEFORE = """
import time
clock = time.perf_counter
start = clock()
import numpy as np
numpy = clock()
p, q = np.linspace(0.1, 1, 1000), np.linspace(0.2, 2, 1000)
"""
AFTER = """
end = clock()
import json
assert np.allclose(a, np.tanh(p) / (1 + np.exp(q)) + np.log1p(p * p + q))
assert np.allclose(b, np.sum(p * q + 3 * p) / (2 + np.exp(q)))
print(json.dumps({
    "import": imported - numpy, "first function": first - imported,
    "second function": end - first, "total": end - start, "processor": time.process_time(),
}))
"""
REWRITE = """
import json, sys, time
import relgraph as rg
sys.path.insert(0, {folder!r})
from startup import graph_of
from relgraph.ir.graph import toposort
model, again = graph_of({model!r}, "first"), graph_of({model!r}, "again")
nodes = sum(x.op is not None for x in toposort(model))
start = time.process_time()
rg.optdb
built = time.process_time()
rg.rewrite_graph(model, mode="fast_run")
end = time.process_time()
rg.rewrite_graph(again, mode="fast_run")
later = time.process_time()
print(json.dumps({{
    "nodes": nodes, "database ms": (built - start) * 1e3, "us a node": (end - built) / nodes * 1e6,
    "with database": (end - start) / nodes * 1e6, "later": (later - end) / nodes * 1e6,
}}))
"""
# Models as copies of a workload that share no inputs.
MODELS = {"attention, two layers": 3, "radon gradient": 2, "algebra, 100 ops": 3}


def graph_of(name: str, prefix: str) -> list[Any]:
    """Return the outputs of a model; models with other prefixes have other inputs."""
    from modes import RelgraphSpace
    from workloads import WORKLOADS

    import relgraph as rg

    workload = next(x for x in WORKLOADS if x.name == name)
    outputs = []
    for copy in range(MODELS[name]):
        inputs = {
            name: rg.tensor(f"{prefix}{copy}{name}", x.shape, x.dtype)
            for name, x in workload.inputs.items()
        }
        outputs += workload.build(RelgraphSpace, inputs)
    return outputs


def environment(folder: str) -> dict[str, str]:
    """Return the variables that make both frameworks keep their caches in a folder."""
    return {
        **os.environ,
        "RELGRAPH_CACHE_DIR": f"{folder}/relgraph",
        "JAX_COMPILATION_CACHE_DIR": f"{folder}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def run(python: str, program: str, folder: str) -> dict[str, float]:
    """Return what a process prints."""
    done = subprocess.run(
        [python, "-c", program],
        env=environment(folder),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def medians(runs: list[dict[str, float]]) -> dict[str, float]:
    """Return the median of each figure."""
    return {key: statistics.median(x[key] for x in runs) for key in runs[0]}


def functions(pythons: dict[str, str], rounds: int) -> dict[tuple[str, str], dict[str, float]]:
    """Return the median seconds of each framework, with a cold and a warm disk."""
    runs: dict[tuple[str, str], list[dict[str, float]]] = {}
    for i in range(rounds + 1):
        for name, python in pythons.items():
            with tempfile.TemporaryDirectory() as folder:
                for cache in ("cold", "warm"):
                    result = run(python, BEFORE + PROGRAMS[name] + AFTER, folder)
                    if i:  # the first round brings files into memory
                        runs.setdefault((name, cache), []).append(result)
    return {key: medians(found) for key, found in runs.items()}


def rewriting(rounds: int) -> dict[tuple[str, str], dict[str, float]]:
    """Return the median figures of the first rewriting of each model, cold and warm."""
    runs: dict[tuple[str, str], list[dict[str, float]]] = {}
    here = str(Path(__file__).parent)
    for _ in range(rounds):
        for model in MODELS:
            with tempfile.TemporaryDirectory() as folder:
                for cache in ("cold", "warm"):
                    program = REWRITE.format(folder=here, model=model)
                    result = run(sys.executable, program, folder)
                    runs.setdefault((model, cache), []).append(result)
    return {key: medians(found) for key, found in runs.items()}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--jax", default=sys.executable, help="the Python that has JAX")
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()

    from calibration import compile_sources

    compile_sources()
    pythons = {"relgraph": sys.executable, "jax": given.jax}
    if given.jax == sys.executable and importlib.util.find_spec("jax") is None:
        print("JAX is not here: relgraph is measured alone.\n")
        del pythons["jax"]
    found = functions(pythons, given.rounds)
    for cache in ("cold", "warm"):
        for key in ("import", "first function", "second function", "total", "processor"):
            row = {name: found[name, cache][key] for name in pythons}
            ratio = f"  {row['relgraph'] / row['jax']:.2f} of JAX's" if "jax" in row else ""
            print(f"{cache}  {key:16}", *[f"{n} {x:.3f} s" for n, x in row.items()], ratio)
    for (model, cache), figures in rewriting(given.rounds).items():
        print(f"{cache}  {model:22}", *[f"{key} {x:.0f}" for key, x in figures.items()])


if __name__ == "__main__":
    main()
