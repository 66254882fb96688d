"""Published linear algebra: relgraph, NumPy as written, PyTensor, JAX and torch.compile in one run.

    python benchmarks/algebra.py                 # all, and results/algebra.json
    python benchmarks/algebra.py "LAAB-2c" 4b    # the rows whose names hold one of these
    python benchmarks/algebra.py --rewriting     # the times of rewriting and search only

The rows are those of LAAB (Sankaran et al. 2022) in ``tests/acceptance/algebra.json``, with n =
1000.  Every framework gets the expression as it is written there; relgraph compiles it in modes
``o4`` and ``o5``.  Contenders take turns in one process with one thread each, and all return new
arrays of float64.  ``best / o5`` is the time of the fastest peer over that of mode ``o5``.

The second table has the seconds that rewriting takes, search included: of each row, the median over
three graphs that the process has not seen, and of one model, sum and chain of each size.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from calibration import calibrate, growth_exponent, interleaved, machine, versions
from peers import arrays_of, opened

import relgraph as rg

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.acceptance.published import ROWS
from tests.acceptance.published import Row as Published

RESULTS = Path(__file__).parent / "results" / "algebra.json"
LAAB = [row for row in ROWS if row.name.startswith("LAAB")]
DIVISOR = 3  # of the published sizes: n is 3000 there
FRAMEWORKS = ("numpy", "pytensor", "jax", "torch.compile")
MODES = ("o4", "o5")
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
ONE_THREAD = dict.fromkeys(THREADS, "1") | {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "NPROC": "1",
}
TURNS = 7
LEAST = 0.02  # seconds of a contender's turn, at least one call
NODES = (60, 125, 250, 500)  # about as many a model has
TERMS = (25, 50, 100, 200)
FACTORS = (15, 30, 60)


def functions(name: str) -> dict[str, Any]:
    """Return what the expressions call, in one framework."""
    if name == "jax":
        import jax.numpy as xp
    elif name == "pytensor":
        import pytensor.tensor as xp
    elif name == "torch.compile":
        import torch

        return {
            "cat": lambda axis, *xs: torch.cat(xs, dim=axis),
            "outer": torch.outer,
            "zeros": lambda m, n, like: torch.zeros((m, n), dtype=like.dtype),
        }
    else:
        xp = np
    return {
        "cat": lambda axis, *xs: xp.concatenate(xs, axis=axis),
        "outer": xp.outer,
        "zeros": lambda m, n, like: xp.zeros((m, n)),
    }


@dataclass(frozen=True)
class Experiment:
    """A published row as a workload of the frameworks."""

    name: str
    expression: str
    functions: dict[str, Any]
    operators: None = None

    def build(self, _: Any, values: dict[str, Any]) -> list[Any]:
        """Return the result, of arrays or graphs."""
        return [eval(self.expression, self.functions | values)]


def contenders(row: Published, frameworks: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Return a call for each framework, all of which agree with NumPy."""
    sizes = row.smaller(DIVISOR)
    arrays = row.arrays(sizes)
    calls: dict[str, Callable[[], Any]] = {}
    for mode in MODES:
        graph = row.graph(row.naive, sizes)
        calls[mode] = partial(rg.function(graph.inputs, graph.outputs, mode=mode), *arrays.values())
    for name, framework in frameworks.items():
        experiment = Experiment(row.name, row.naive, functions(name))
        calls[name] = framework.contender(experiment, arrays)
    (expected,) = arrays_of(calls["numpy"]())
    for name, call in calls.items():
        (result,) = arrays_of(call())
        np.testing.assert_allclose(
            result, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max(), err_msg=name
        )
    return calls


def timed(row: Published, frameworks: dict[str, Any]) -> dict[str, Any]:
    """Return the milliseconds of each contender, and how the peers compare with mode o5."""

    def timer(call: Callable[[], Any]) -> Callable[[], float]:
        def run() -> float:
            start = time.perf_counter()
            call()
            return time.perf_counter() - start

        return run

    timers = {name: timer(call) for name, call in contenders(row, frameworks).items()}
    times = interleaved(timers, TURNS, LEAST)
    middle = {name: statistics.median(seconds) for name, seconds in times.items()}
    least = {name: min(seconds) for name, seconds in times.items()}
    flops = operations(row, row.smaller(DIVISOR))
    found: dict[str, Any] = {"row": row.name}
    found |= {f"{name} ms": seconds * 1e3 for name, seconds in middle.items()}
    for title, values in (("", middle), (", least", least)):
        peers = {name: values[name] for name in frameworks}
        found[f"best / o5{title}"] = min(peers.values()) / values["o5"]
        found[f"numpy / o5{title}"] = values["numpy"] / values["o5"]
        found[f"o4 / o5{title}"] = values["o4"] / values["o5"]
    return found | {"written / o5, flops": flops["written"] / max(1, flops["o5"])}


def operations(row: Published, sizes: dict[str, int]) -> dict[str, int]:
    """Return the operations by the cost model: as written, in mode o5, and of the best form."""
    written = row.graph(row.naive, sizes)
    return {
        "written": rg.flops(written.outputs),
        "o5": rg.flops(rg.rewrite_graph(written, mode="o5").outputs),
        "target": rg.flops(row.graph(row.target, sizes).outputs),
    }


_fresh = count()


def model(nodes: int) -> Any:
    """Return blocks of attention and of two dense layers, of about so many nodes."""
    name = f"_{next(_fresh)}"
    x = rg.matrix(f"x{name}", shape=(128, 64))
    outputs: list[Any] = [x]
    while len(rg.FunctionGraph(None, outputs).toposort()) < nodes:
        x = outputs[0]
        k = f"{name}_{next(_fresh)}"
        wq, wk, wv, wo = rg.matrices(f"q{k} k{k} v{k} o{k}", shape=(64, 64))
        up, down = rg.matrix(f"u{k}", shape=(64, 256)), rg.matrix(f"d{k}", shape=(256, 64))
        bias, scale = rg.vector(f"b{k}", shape=(256,)), rg.vector(f"s{k}", shape=(64,))
        scores = rg.exp((x @ wq) @ (x @ wk).T / 8.0)
        weights = scores / rg.sum(scores, axis=1, keepdims=True)
        x = x + weights @ (x @ wv) @ wo
        centred = x - rg.mean(x, axis=1, keepdims=True)
        spread = rg.sqrt(rg.mean(rg.square(centred), axis=1, keepdims=True) + 1e-5)
        x = centred / spread * scale
        outputs = [x + rg.maximum(x @ up + bias, 0.0) @ down]
    return outputs[0]


def long_sum(terms: int) -> Any:
    """Return a sum of products that share some of their factors."""
    name, draw = f"_{next(_fresh)}", np.random.default_rng(terms)
    left = [rg.matrix(f"l{k}{name}", shape=(64, 64)) for k in range(10)]
    right = [rg.matrix(f"r{k}{name}", shape=(64, 64)) for k in range(terms)]
    total = left[0] @ right[0]
    for _ in range(1, terms):
        total = total + left[draw.integers(10)] @ right[draw.integers(terms)]
    return total


def chain(factors: int) -> Any:
    """Return the product of matrices of random sizes, from the left."""
    name = f"_{next(_fresh)}"
    sizes = [int(n) for n in np.random.default_rng(factors).integers(2, 200, size=factors + 1)]
    product, *rest = [
        rg.matrix(f"f{k}{name}", shape=(sizes[k], sizes[k + 1])) for k in range(factors)
    ]
    for factor in rest:
        product = product @ factor
    return product


GROWING: dict[str, tuple[Callable[[int], Any], tuple[int, ...]]] = {
    "model": (model, NODES),
    "sum of terms": (long_sum, TERMS),
    "chain of factors": (chain, FACTORS),
}


def seconds_of_rewriting(build: Callable[[], Any], mode: str, repeats: int = 3) -> float:
    """Return the median time of rewriting, each time of another graph."""
    found = []
    for _ in range(repeats):
        graph = build()
        start = time.perf_counter()
        rg.rewrite_graph(graph, mode=mode)
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def _of_a_new_size(row: Published, sizes: Any) -> Any:
    """Return the graph as written, a little smaller each time, so that nothing is known of it."""
    by = 1 + next(sizes) / 500
    return row.graph(row.naive, {k: 2 * round(n / DIVISOR / by / 2) for k, n in row.sizes.items()})


def rewriting_of_rows(wanted: list[str]) -> list[dict[str, Any]]:
    """Return the seconds that rewriting takes, and the operations, of each row."""
    found = []
    for row in LAAB:
        if not chosen(row.name, wanted):
            continue
        entry: dict[str, Any] = {"row": row.name}
        for mode in MODES:
            build = partial(_of_a_new_size, row, count(1))
            entry[f"{mode} s"] = seconds_of_rewriting(build, mode)
        flops = operations(row, row.smaller(DIVISOR))
        found.append(entry | {f"{name} Mflop": n / 1e6 for name, n in flops.items()})
    return found


def rewriting_of_large_graphs() -> list[dict[str, Any]]:
    """Return the seconds that rewriting takes of graphs of growing size."""
    found = []
    for name, (build, sizes) in GROWING.items():
        for size in sizes:
            graph = build(size)
            _, report = rg.optimize(graph, full_output=True)
            entry: dict[str, Any] = {
                "graph": f"{name}, {size}",
                "nodes": len(rg.FunctionGraph(None, [graph]).toposort()),
                "regions": len(report.regions),
            }
            for mode in MODES:
                entry[f"{mode} s"] = seconds_of_rewriting(partial(build, size), mode, 1)
            found.append(entry)
        times = [entry["o5 s"] for entry in found[-len(sizes) :]]
        found[-1]["exponent"] = growth_exponent(sizes, times)
    return found


def chosen(name: str, wanted: list[str]) -> bool:
    """Return True if a row is asked for."""
    return not wanted or any(text in name for text in wanted)


def rows(wanted: list[str]) -> list[dict[str, Any]]:
    """Time every row that is asked for."""
    frameworks = opened(FRAMEWORKS)
    if "torch.compile" in frameworks:
        frameworks["torch.compile"].torch.set_num_threads(1)
    with rg.config(threads=1):
        return [timed(row, frameworks) for row in LAAB if chosen(row.name, wanted)]


def in_process(wanted: list[str]) -> list[dict[str, Any]]:
    """Time in a new process, in which every library has one thread."""
    command = [sys.executable, __file__, "--rows", *wanted]
    done = subprocess.run(
        command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True
    )
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Run the rows that the command line selects; write a full run to results/algebra.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of rows")
    parser.add_argument("--rewriting", action="store_true", help="rewriting and search only")
    parser.add_argument("--rows", action="store_true", help="print the times as JSON")
    options = parser.parse_args()
    if options.rows:
        print(json.dumps(rows(options.names)))
        return
    from rewriting import show

    report: dict[str, Any] = {
        "machine": machine(),
        "versions": versions("numpy", "scipy", "numba", "pytensor", "jax", "torch"),
        "calibration": calibrate(),
    }
    report["rewriting"] = rewriting_of_rows(options.names)
    show("Seconds of rewriting and search", report["rewriting"])
    if not options.names:
        report["rewriting of large graphs"] = rewriting_of_large_graphs()
        show("Graphs of growing size", report["rewriting of large graphs"])
    if options.rewriting:
        return
    report["times"] = in_process(options.names)
    report["load"] = round(os.getloadavg()[0], 1)
    show("Times", report["times"])
    if not options.names:
        RESULTS.write_text(
            json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
