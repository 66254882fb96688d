"""Linear algebra of small matrices: relgraph beside NumPy, SciPy and JAX.

    python benchmarks/linalg_small.py                    # all rows, and results/linalg_small.json
    python benchmarks/linalg_small.py solve              # rows whose names hold one of these words
    python benchmarks/linalg_small.py --sizes 2 4 8 --rounds 31

A row is one op (a solution, a Cholesky factor, a determinant) of one matrix or of a batch, in one
dtype.  relgraph runs it as ``rg.function`` of inputs of constant size, and as ``rg.jit``.  Results
are compared with NumPy's.  Then all take turns in one process and one thread; a ratio is the median
of the ratios of turns, and above 1 where ``rg.function`` is faster.  "first" is the time of its
first call, without caches on disk.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import argparse
import functools
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from calibration import machine, versions
from harness import Plan, measure

import relgraph as rg
from relgraph.measurement.windows import ratio

RESULTS = Path(__file__).parent / "results" / "linalg_small.json"
SIZES = (2, 3, 4, 6, 8, 12, 16, 32, 64)
BATCH = 1000
OPS = ("solve", "cholesky", "det")
TOLERANCE = {"float64": 1e-9, "float32": 2e-3}
WINDOW = 1e-3  # seconds: shorter than the time slices of a scheduler, so that most are undisturbed
PEERS = ("relgraph", "rg.jit", "numpy", "scipy", "jax")


def operands(op: str, n: int, batch: tuple[int, ...], dtype: str) -> list[Any]:
    """Return symmetric positive definite matrices, and right sides for ``solve``."""
    draw = np.random.default_rng(n)
    x = draw.standard_normal((*batch, n, n))
    a = x @ np.swapaxes(x, -1, -2) / n + np.eye(n)
    b = draw.standard_normal((*batch, n, 1) if batch else n)
    return [np.asarray(v, dtype) for v in ((a, b) if op == "solve" else (a,))]


def call_of(peer: str, op: str, arrays: list[Any]) -> Callable[[], Any]:
    """Return a call of a peer."""
    if peer == "numpy":
        return functools.partial(getattr(np.linalg, op), *arrays)
    if peer == "scipy":
        import scipy.linalg

        f = getattr(scipy.linalg, op)
        return functools.partial(f, *arrays, **({"lower": True} if op == "cholesky" else {}))
    if peer == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        compiled = jax.jit(getattr(jax.numpy.linalg, op))
        own = [jax.numpy.asarray(x) for x in arrays]
        return lambda: jax.block_until_ready(compiled(*own))
    if peer == "rg.jit":
        return functools.partial(rg.jit(getattr(np.linalg, op)), *arrays)
    inputs = [rg.tensor(f"x{i}", x.shape, x.dtype.name) for i, x in enumerate(arrays)]
    return functools.partial(rg.function(inputs, getattr(rg, op)(*inputs)), *arrays)


def compare(op: str, n: int, batch: tuple[int, ...], dtype: str, *, rounds: int) -> dict[str, Any]:
    """Return one row of the table."""
    arrays = operands(op, n, batch, dtype)
    row: dict[str, Any] = {"op": op, "n": n, "batch": sum(batch), "dtype": dtype}
    calls, results = {}, {}
    for peer in PEERS:
        start = time.perf_counter()
        calls[peer] = call_of(peer, op, arrays)
        results[peer] = np.asarray(calls[peer]())
        row[f"{peer} first ms"] = (time.perf_counter() - start) * 1e3
    expected = results["numpy"]
    for peer, found in results.items():
        apart = np.abs(found - expected).max() / np.abs(expected).max()
        assert apart <= TOLERANCE[dtype], (row, peer, apart)
    timings = measure(calls, Plan(rounds=rounds, window=WINDOW, attempts=1, patience=0.0))
    for peer in PEERS:
        row[f"{peer} us"] = timings[peer].median * 1e6
        if peer != "relgraph":
            row[f"ratio to {peer}"] = ratio(timings[peer], timings["relgraph"]).value
    return row


def show(row: dict[str, Any]) -> None:
    """Print a row."""
    name = f"{row['op']} {row['dtype']} {row['batch'] or 'one'}"
    cells = [f"{name:24} {row['n']:3} {row['relgraph us']:9.4g} {row['relgraph first ms']:8.4g}"]
    for peer in PEERS[1:]:
        cells.append(f"{row[f'{peer} us']:10.4g} {row[f'ratio to {peer}']:7.2f}x")
    print(" ".join(cells), flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=61)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    heads = " ".join([f"{peer + ': us, ratio':>19}" for peer in PEERS[1:]])
    print(f"{'':24} {'n':>3} {'relgraph':>9} {'first ms':>8} {heads}")
    rows = []
    with tempfile.TemporaryDirectory() as folder, rg.config(threads=1):
        os.environ["RELGRAPH_CACHE_DIR"] = folder
        for op in OPS:
            for dtype in TOLERANCE:
                for batch in ((), (BATCH,)):
                    if options.names and not any(
                        x in f"{op} {dtype} {'batch' if batch else 'one'}" for x in options.names
                    ):
                        continue
                    for n in options.sizes:
                        rows.append(compare(op, n, batch, dtype, rounds=options.rounds))
                        show(rows[-1])
    path = options.json or (None if options.names else RESULTS)
    if path is not None:
        report = {
            "machine": machine(),
            "versions": versions("numpy", "scipy", "numba", "jax"),
            "rows": rows,
        }
        path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
