"""Sums with a product: one call of BLAS, or a product and a loop that adds.

    python benchmarks/products.py            # all, and results/products.json
    python benchmarks/products.py gemv       # the sums whose routine or text holds "gemv"

Each sum is compiled twice, with and without the rewriters of ``BlasOpt``, and computed by NumPy as
written.  All three return new arrays.  The contenders of a row take turns in one process; one
process runs BLAS on one thread, and one runs BLAS on all cores.  NumPy and SciPy each load a BLAS
with separate threads: the sums whose operands are products show the cost of alternating between
them.  Times on one thread are processor times, which other processes disturb least.  All times are
medians; the table also shows the ratios of the shortest times.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from calibration import calibrate, interleaved, machine, versions

import relgraph as rg

SIZES = (10, 50, 200, 500, 1000, 2000)
LETTERS = {"k": 20, "h": 100}

Sum = Callable[..., Any]

# Routine, the sum, and the shapes of its operands: k is 20, h is 100, and "" is a number.
SUMS: dict[str, tuple[str, Sum, tuple[str, ...]]] = {
    "C + A @ B": ("gemm", lambda C, A, B: C + A @ B, ("nn", "nn", "nn")),
    "C + A @ B, 20 terms": ("gemm", lambda C, A, B: C + A @ B, ("nn", "nk", "kn")),
    "C + A @ B, 100 terms": ("gemm", lambda C, A, B: C + A @ B, ("nn", "nh", "hn")),
    "b * C - A @ B, 20 terms": ("gemm", lambda b, C, A, B: b * C - A @ B, ("", "nn", "nk", "kn")),
    "b * C - A.T @ B": ("gemm", lambda b, C, A, B: b * C - A.T @ B, ("", "nn", "nn", "nn")),
    "A @ B + C @ A": ("gemm", lambda C, A, B: A @ B + C @ A, ("nn", "nn", "nn")),
    "C + A @ (B @ A)": ("gemm", lambda C, A, B: C + A @ (B @ A), ("nn", "nn", "nn")),
    "C + tanh(D @ A) @ B, 20 terms": (
        "gemm",
        lambda C, D, A, B: C + np.tanh(D @ A) @ B,
        ("nn", "nn", "nk", "kn"),
    ),
    "y + A @ x": ("gemv", lambda y, A, x: y + A @ x, ("n", "nn", "n")),
    "b * y - A.T @ x": ("gemv", lambda b, y, A, x: b * y - A.T @ x, ("", "n", "nn", "n")),
    "y + A @ (A @ x)": ("gemv", lambda y, A, x: y + A @ (A @ x), ("n", "nn", "n")),
    "A + b * outer(x, y)": ("ger", lambda A, b, x, y: A + b * np.outer(x, y), ("nn", "", "n", "n")),
    "A + x[:, None] * y": ("ger", lambda A, x, y: A + x[:, None] * y, ("nn", "n", "n")),
    "S + A @ A.T": ("syrk", lambda S, A: S + A @ A.T, ("nn", "nn")),
    "S + A @ A.T, 20 terms": ("syrk", lambda S, A: S + A @ A.T, ("nn", "nk")),
}


def operands(shapes: tuple[str, ...], n: int, dtype: str) -> list[Any]:
    """Return normally distributed arrays."""
    draw = np.random.default_rng(0)
    extents = {"n": n, **LETTERS}
    return [
        np.asarray(draw.standard_normal([extents[d] for d in shape]), dtype) for shape in shapes
    ]


def compiled(routine: str, build: Sum, values: list[Any], mode: Any) -> Any:
    """Return the function of a sum of arrays of static sizes, in a mode."""
    facts = ("symmetric",) if routine == "syrk" else ()
    inputs = [
        rg.tensor(f"x{i}", x.shape, x.dtype, facts=facts if i == 0 else ())
        for i, x in enumerate(values)
    ]
    return rg.function(inputs, build(*inputs), mode=mode)


def makes(routine: str, function: Any) -> bool:
    """Return True if a function calls a routine."""
    return routine in [x.op.name for x in function.graph.toposort() if x.op is not None]


def measured(name: str, n: int, dtype: str, clock: Callable[[], float]) -> dict[str, Any]:
    """Return microseconds of each contender, and how many times as fast the call is."""
    routine, build, shapes = SUMS[name]
    values = operands(shapes, n, dtype)
    if routine == "syrk":
        values[0] = values[0] + values[0].T
    with_call = compiled(routine, build, values, rg.mode("o4").including(routine))
    without = compiled(routine, build, values, rg.mode("o4").excluding("BlasOpt"))
    found, expected = np.asarray(with_call(*values)), np.asarray(build(*values))
    error = float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
    assert error < (1e-4 if dtype == "float32" else 1e-12), (name, n, dtype, error)
    repeats = max(1, 200 // n)

    def timer(call: Callable[..., Any]) -> Callable[[], float]:
        def run() -> float:
            start = clock()
            for _ in range(repeats):
                call(*values)
            return (clock() - start) / repeats

        return run

    contenders = {"call us": timer(with_call), "loop us": timer(without), "numpy us": timer(build)}
    turns = 5 if n >= 1000 else 9
    times = interleaved(contenders, turns, 0.002)
    row: dict[str, Any] = {"sum": name, "routine": routine, "n": n, "dtype": dtype}
    row["called"] = makes(routine, with_call)
    row["called by o4"] = makes(routine, compiled(routine, build, values, "o4"))
    row |= {key: statistics.median(seconds) * 1e6 for key, seconds in times.items()}
    least = {key: min(seconds) for key, seconds in times.items()}
    for other in ("loop", "numpy"):
        row[f"{other} / call"] = row[f"{other} us"] / row["call us"]
        row[f"{other} / call, least"] = least[f"{other} us"] / least["call us"]
    return row


def sizes(shapes: tuple[str, ...]) -> tuple[int, ...]:
    """Return the sizes of a sum; the product of two large matrices takes too long at the last."""
    cubic = set(shapes) <= {"nn", ""}
    return SIZES[:-1] if cubic else SIZES


def rows(threads: int, wanted: list[str]) -> list[dict[str, Any]]:
    """Measure every sum that is asked for, in every size and dtype."""
    clock = time.process_time if threads == 1 else time.perf_counter
    with rg.config(threads=threads):
        return [
            measured(name, n, dtype, clock)
            for name, (routine, _, shapes) in SUMS.items()
            if not wanted or any(x == routine or x in name for x in wanted)
            for dtype in ("float32", "float64")
            for n in sizes(shapes)
        ]


def in_process(threads: int, wanted: list[str]) -> list[dict[str, Any]]:
    """Measure in a new process, in which BLAS has so many threads."""
    count = str(threads)
    names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
    command = [sys.executable, __file__, "--rows", count, *wanted]
    done = subprocess.run(
        command,
        env=os.environ | dict.fromkeys(names, count),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Measure what is asked for; all of it is written to results/products.json."""
    if sys.argv[1:2] == ["--rows"]:
        print(json.dumps(rows(int(sys.argv[2]), sys.argv[3:])))
        return
    from rewriting import show

    wanted = sys.argv[1:]
    report: dict[str, Any] = {
        "machine": machine(),
        "versions": versions("numpy", "scipy", "numba"),
        "calibration": calibrate(),
    }
    for threads in sorted({1, os.cpu_count() or 1}):
        title = f"{threads} thread{'s' if threads > 1 else ''}"
        report[title] = in_process(threads, wanted)
        report[f"load, {title}"] = round(os.getloadavg()[0], 1)
        show(title, report[title])
    if not wanted:
        path = Path(__file__).parent / "results" / "products.json"
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
