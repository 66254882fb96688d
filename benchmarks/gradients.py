"""Gradients: building them, and the value and gradient of models, beside JAX and torch.

    python benchmarks/gradients.py                    # building, and all models
    python benchmarks/gradients.py --models kalman    # some models
    python benchmarks/gradients.py --libraries relgraph jax
    python benchmarks/gradients.py --memory           # the peak memory of each library, by process
    python benchmarks/gradients.py --json benchmarks/results/gradients.json

Building is timed on graphs of 100 to 20,000 nodes: a chain, a graph in which every node has two
users (it has 2^n paths), and a mixture of ops; in microseconds of the processor a forward node.
Models are those of ``tests/derivatives/models.py``.  Values and gradients are compared with JAX's
first, to 1e-10 of the largest element.  Libraries then take turns in one process and one thread;
a ratio is the median of the ratios of turns.  A library that is not installed is left out.  torch
compiles the models as written for NumPy, by ``torch.compile(fullgraph=True)``, and needs minutes.
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
from collections.abc import Callable, Iterable, Iterator
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


def torch_function(model: Model) -> Callable[[], Any]:
    """Return a call of the value and gradient of a model, which torch.compile takes as NumPy."""
    import torch

    torch.set_num_threads(1)

    def on_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *xs: function(*[torch.as_tensor(x) for x in xs]).numpy()

    def solve_triangular(L: Any, b: Any) -> Any:
        columns = b if b.ndim > 1 else b[:, None]
        x = torch.linalg.solve_triangular(L, columns, upper=False)
        return x if b.ndim > 1 else x[:, 0]

    functions = types.SimpleNamespace(
        gammaln=on_arrays(torch.lgamma),
        erf=on_arrays(torch.special.erf),
        logsumexp=on_arrays(lambda x: torch.logsumexp(x, dim=-1)),
        cholesky=on_arrays(torch.linalg.cholesky),
        solve_triangular=on_arrays(solve_triangular),
    )

    def loss(*tensors: Any) -> Any:
        return torch.as_tensor(model.loss(np, functions, *[x.numpy() for x in tensors]))

    torch._dynamo.reset()  # its limit of compiled variants counts all models
    compiled = torch.compile(loss, fullgraph=True)
    parameters = [torch.tensor(p, requires_grad=True) for p in model.parameters]
    data = [torch.tensor(x) for x in model.data]

    def call() -> Any:
        value = compiled(*parameters, *data)
        return value.detach(), torch.autograd.grad(value, parameters)

    return call


LIBRARIES: dict[str, Callable[[Model], Callable[[], Any]]] = {
    "relgraph": relgraph_function,
    "jax": jax_function,
    "torch": torch_function,
}


def available(names: Iterable[str]) -> Iterator[str]:
    """Yield the libraries among some that are installed."""
    for name in names:
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


def turns(calls: dict[str, Callable[[], Any]]) -> tuple[dict[str, float], dict[str, float]]:
    """Time the calls of libraries, which take turns.

    Return the median seconds of each, and the medians of the ratios of relgraph's to the others'.
    """
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
    return medians, {
        name: statistics.median(a / b for a, b in zip(times["relgraph"], other, strict=True))
        for name, other in times.items()
        if name != "relgraph"
    }


def measure(name: str, libraries: list[str]) -> dict[str, Any]:
    """Return the row of a model."""
    model = MODELS[name]
    row: dict[str, Any] = {"model": name}
    calls, results = {}, {}
    for library in libraries:
        start = time.perf_counter()
        try:
            call = LIBRARIES[library](model)
            results[library] = call()
        except Exception as error:
            if library == "relgraph":
                raise
            row[f"{library}_raises"] = f"{type(error).__name__}: {error}"[:200]
            continue
        calls[library] = call
        row[f"{library}_first_ms"] = (time.perf_counter() - start) * 1e3
    for library, result in results.items():
        if library != "relgraph":
            row[f"{library}_difference"] = difference(results["relgraph"], result)
            assert row[f"{library}_difference"] <= TOLERANCE, row
    row["flops"] = flop_ratio(model)
    seconds, ratios = turns(calls)
    row |= {f"{key}_us": value * 1e6 for key, value in seconds.items()}
    row |= {f"ratio_to_{key}": value for key, value in ratios.items()}
    return row


def mean(values: list[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


# Memory.


def memory(names: list[str], libraries: list[str]) -> None:
    """Print the peak memory of value and gradient of all models, in a process of each library."""
    for library in available(libraries):
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
    parser.add_argument("--libraries", nargs="*", default=list(LIBRARIES), choices=LIBRARIES)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--process", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.process:
        process(options.process, options.models)
        return
    if options.memory:
        memory(options.models, options.libraries)
        return
    report: dict[str, Any] = {
        "machine": machine(),
        "versions": versions("numpy", "scipy", "numba", "jax", "torch"),
        "building": building(),
    }
    for row in report["building"]:
        growth = f"  growth n^{row['growth']:.2f}" if "growth" in row else ""
        print(
            f"{row['graph']:9} {row['nodes']:6} nodes  {row['us_per_node']:5.1f} us a node, "
            f"{row['us_per_node_with_stabilisation']:5.1f} with stabilisation, "
            f"{row['nodes_of_value_and_gradient']:4.2f} times the nodes{growth}"
        )
    libraries = list(available(options.libraries))
    rows = report["models"] = []
    for name in options.models:
        row = measure(name, libraries)
        rows.append(row)
        print(
            "  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{v:24}" for k, v in row.items())
        )
    report["geometric_mean"] = {}
    for peer in libraries[1:]:
        both = [row for row in rows if f"ratio_to_{peer}" in row]
        if not both:
            continue
        means = {
            "run": mean([row[f"ratio_to_{peer}"] for row in both]),
            "first_call": mean(
                [row["relgraph_first_ms"] / row[f"{peer}_first_ms"] for row in both]
            ),
        }
        report["geometric_mean"][peer] = means
        print(f"relgraph / {peer}: run {means['run']:.2f}, first call {means['first_call']:.2f}")
    print(f"largest ratio of flops {max(row['flops'] for row in rows):.2f}")
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
