"""Gradients: building them, and the value and gradient of models, beside JAX and torch.

    python benchmarks/gradients.py                    # building, and all models
    python benchmarks/gradients.py --models kalman    # some models
    python benchmarks/gradients.py --memory           # the peak memory of each library, by process
    python benchmarks/gradients.py --json benchmarks/results/gradients.json

Building is timed on graphs of 100 to 20,000 nodes: a chain, a graph in which every node has two
users (it has 2^n paths), and a mixture of ops; in microseconds of the processor a forward node.
Models are those of ``tests/derivatives/models.py``.  Values and gradients are compared with JAX's
first, to 1e-10 of the largest element.  Libraries then take turns in one process and one thread;
a ratio is the median of the ratios of turns.  A library that is not installed is left out.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import argparse
import gc
import json
import math
import resource
import statistics
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from calibration import machine, versions

import relgraph as rg
import relgraph.numpy as rnp

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.derivatives.models import GRAPHS, MODELS, Model

SIZES = (100, 1_000, 5_000, 20_000)
TURNS = 21
WINDOW = 2e-3  # seconds of one turn of one library
TOLERANCE = 1e-10


# Building.


def chain(n: int) -> tuple[Any, Any]:
    """Return the end of a chain of n elementwise ops, and its input."""
    x = y = rg.vector("x", 10)
    for k in range(n):
        y = rg.sin(y) if k % 2 else rg.tanh(y)
    return rg.sum(y), x


def doubling(n: int) -> tuple[Any, Any]:
    """Return a graph in which each value is used twice."""
    x = y = rg.vector("x", 10)
    for _ in range(n // 2):
        y = y + rg.sin(y)
    return rg.sum(y), x


def mixed(n: int) -> tuple[Any, Any]:
    """Return a graph of products of matrices, reductions, slices and elementwise ops."""
    A, x = rg.matrix("A", (10, 10)), rg.vector("x", 10)
    y = x
    for _ in range(n // 8):
        z = rg.tanh(A @ y + x)
        y = z * rg.sum(z) / (1 + rg.square(y[::-1]))
    return rg.sum(y), x


def processor_seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    """Return the shortest of a few processor times of a call."""
    times = []
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        kept = call()
        times.append(time.process_time() - start)
        del kept
    return min(times)


def building() -> list[dict[str, Any]]:
    """Time rg.grad on graphs of growing size."""
    rows = []
    for build in (chain, doubling, mixed):
        seconds = []
        for n in SIZES:
            loss, x = build(n)
            nodes = len(rg.FunctionGraph(None, loss))
            rg.grad(loss, x, stabilize=False)  # derives the templates
            plain = processor_seconds(lambda a=loss, b=x: rg.grad(a, b, stabilize=False))
            stable = processor_seconds(lambda a=loss, b=x: rg.grad(a, b), 1)
            size = len(rg.FunctionGraph(None, [loss, rg.grad(loss, x, stabilize=False)]))
            seconds.append((nodes, plain))
            rows.append(
                {
                    "graph": build.__name__,
                    "nodes": nodes,
                    "us_per_node": plain / nodes * 1e6,
                    "us_per_node_with_stabilisation": stable / nodes * 1e6,
                    "nodes_of_value_and_gradient": size / nodes,
                }
            )
        (n0, t0), (n1, t1) = seconds[1], seconds[-1]
        rows[-1]["growth"] = math.log(t1 / t0) / math.log(n1 / n0)
    return rows


# Models.


def relgraph_function(model: Model) -> Callable[[], Any]:
    """Return a call of the compiled value and gradient of a model."""
    count = len(model.parameters)

    def loss(*arrays: Any) -> Any:
        return model.loss(np, GRAPHS, *arrays)

    f = rg.value_and_grad(loss, argnums=tuple(range(count)))
    arrays = (*model.parameters, *model.data)
    return lambda: f(*arrays)


def jax_function(model: Model) -> Callable[[], Any]:
    """Return a call of JAX's compiled value and gradient of a model."""
    import jax
    import jax.numpy as jnp
    from jax.scipy import linalg, special

    jax.config.update("jax_enable_x64", True)
    functions = types.SimpleNamespace(
        gammaln=special.gammaln,
        erf=special.erf,
        logsumexp=lambda x: special.logsumexp(x, axis=-1),
        cholesky=jnp.linalg.cholesky,
        solve_triangular=lambda L, b: linalg.solve_triangular(L, b, lower=True),
    )
    count = len(model.parameters)

    def loss(*arrays: Any) -> Any:
        return model.loss(jnp, functions, *arrays)

    f = jax.jit(jax.value_and_grad(loss, argnums=tuple(range(count))))
    arrays = [jnp.asarray(x) for x in (*model.parameters, *model.data)]
    return lambda: jax.block_until_ready(f(*arrays))


LIBRARIES: dict[str, Callable[[Model], Callable[[], Any]]] = {
    "relgraph": relgraph_function,
    "jax": jax_function,
}


def available() -> Iterator[str]:
    """Yield the libraries that are installed."""
    for name in LIBRARIES:
        try:
            __import__(name)
        except ImportError:
            print(f"{name} is not installed: left out")
        else:
            yield name


def difference(a: Any, b: Any) -> float:
    """Return the largest difference of two results beside the largest element."""
    value, gradients = a
    other, others = b
    pairs = [(value, other), *zip(gradients, others, strict=True)]
    scale = max(1.0, *[float(np.abs(np.asarray(y)).max(initial=0.0)) for _, y in pairs])
    return (
        max(float(np.abs(np.asarray(x) - np.asarray(y)).max(initial=0.0)) for x, y in pairs) / scale
    )


def flop_ratio(model: Model) -> float:
    """Return the operations of value and gradient over those of the value, both rewritten."""
    inputs = [rg.tensor(f"p{i}", p.shape) for i, p in enumerate(model.parameters)]
    loss = model.loss(rnp, GRAPHS, *inputs, *model.data)
    value, gradients = rg.value_and_grad(loss, inputs)
    both = rg.rewrite_graph([value, *gradients], mode="fast_run")
    alone = rg.rewrite_graph([loss], mode="fast_run")
    flops = [rg.cost(g, sizes={}).flops for g in (both, alone)]
    return float(flops[0]) / max(1.0, float(flops[1]))


def turns(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the median seconds of a call of each library, which take turns."""
    counts = {}
    for name, call in calls.items():
        start = time.perf_counter()
        call()
        counts[name] = max(1, int(WINDOW / max(time.perf_counter() - start, 1e-7)))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TURNS):
        order = list(calls) if turn % 2 else list(calls)[::-1]
        for name in order:
            call = calls[name]
            start = time.perf_counter()
            for _ in range(counts[name]):
                call()
            times[name].append((time.perf_counter() - start) / counts[name])
    medians = {name: statistics.median(t) for name, t in times.items()}
    if "jax" in times:
        ratios = [a / b for a, b in zip(times["relgraph"], times["jax"], strict=True)]
        medians["ratio"] = statistics.median(ratios)
    return medians


def measure(name: str, libraries: list[str]) -> dict[str, Any]:
    """Return the row of a model."""
    model = MODELS[name]
    row: dict[str, Any] = {"model": name}
    calls, results = {}, {}
    for library in libraries:
        start = time.perf_counter()
        calls[library] = LIBRARIES[library](model)
        results[library] = calls[library]()
        row[f"{library}_first_ms"] = (time.perf_counter() - start) * 1e3
    if "jax" in results:
        row["difference"] = difference(results["relgraph"], results["jax"])
        assert row["difference"] <= TOLERANCE, row
    row["flops"] = flop_ratio(model)
    for key, seconds in turns(calls).items():
        row["ratio" if key == "ratio" else f"{key}_us"] = (
            seconds if key == "ratio" else seconds * 1e6
        )
    return row


def mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


# Memory.


def memory(names: list[str]) -> None:
    """Print the peak memory of value and gradient of all models, in a process of each library."""
    for library in available():
        command = [sys.executable, __file__, "--process", library, "--models", *names]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        print(out.strip().splitlines()[-1])


def process(library: str, names: list[str]) -> None:
    """Run the models by one library, and print the memory that the process has used at most."""
    first = LIBRARIES[library](MODELS[names[0]])
    first()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name in names:
        LIBRARIES[library](MODELS[name])()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{library}: {before / 1024:.0f} MB after one model, {after / 1024:.0f} MB after all")


def main() -> None:
    """Run what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--process", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.process:
        process(options.process, options.models)
        return
    if options.memory:
        memory(options.models)
        return
    report: dict[str, Any] = {
        "machine": machine(),
        "versions": versions("numpy", "scipy", "numba", "jax"),
        "building": building(),
    }
    for row in report["building"]:
        growth = f"  growth n^{row['growth']:.2f}" if "growth" in row else ""
        print(
            f"{row['graph']:9} {row['nodes']:6} nodes  {row['us_per_node']:5.1f} us a node, "
            f"{row['us_per_node_with_stabilisation']:5.1f} with stabilisation, "
            f"{row['nodes_of_value_and_gradient']:4.2f} times the nodes{growth}"
        )
    libraries = list(available())
    rows = report["models"] = []
    for name in options.models:
        row = measure(name, libraries)
        rows.append(row)
        print(
            "  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{v:24}" for k, v in row.items())
        )
    if "jax" in libraries:
        ratios = [row["ratio"] for row in rows]
        firsts = [row["relgraph_first_ms"] / row["jax_first_ms"] for row in rows]
        report["geometric_mean"] = {"run": mean(ratios), "first_call": mean(firsts)}
        print(f"relgraph / jax: run {mean(ratios):.2f}, first call {mean(firsts):.2f}")
    print(f"largest ratio of flops {max(row['flops'] for row in rows):.2f}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
