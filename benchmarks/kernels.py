"""Compiled kernels compared with NumPy, numexpr, JAX, torch and PyTensor: times, errors, memory.

    python benchmarks/kernels.py                          # all of it, and results/kernels.json
    python benchmarks/kernels.py --rows softmax,gelu --peers jax,torch.compile --quick
    python benchmarks/kernels.py --rows stencil --save    # measures that row anew in the file

All contenders of a row run in one process, in turns; a time is the median of windows in which no
other process worked (``harness.py``).  Every contender returns new arrays (see ``peers.py``),
except in the row ``triad, given array``, where all write into a given one.  ``--quick`` measures
the smaller sizes in fewer rounds; it skips memory and, unless it saves them, errors.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from calibration import calibrate, machine, versions
from first_call import first_calls
from harness import Ceiling, Plan, Timing, measure
from kernel_workloads import ROWS, Arrays, ExactSpace, Row, label
from peers import PEERS, arrays_of, opened
from performance_page import lines_of, summaries

RESULTS = Path(__file__).parent / "results" / "kernels.json"
DTYPES = ("float64", "float32")
QUICK_SIZES = 5e6
TOLERANCE = {"float64": 1e-9, "float32": 1e-2}  # for agreement of contenders; not accuracy
FIRST_CALL = "first_call"
GIVEN = ", given array"
LEAST_TRAFFIC = 1 << 20  # below it there is no ceiling but the processor's own
PACKAGES = (
    "numpy", "scipy", "numba", "llvmlite", "tbb", "numexpr", "jax", "jaxlib", "torch", "pytensor",
)  # fmt: skip


def traffic(arrays: Arrays, results: list[np.ndarray]) -> tuple[int, int]:
    """Return the bytes that are read and written, each array counted once."""
    return sum(x.nbytes for x in arrays.values()), sum(x.nbytes for x in results)


def agree(results: list[np.ndarray], expected: list[np.ndarray], name: str) -> None:
    """Raise unless a contender's results have NumPy's dtypes, shapes and about its values."""
    for x, y in zip(results, expected, strict=True):
        if x.dtype != y.dtype or x.shape != y.shape:
            raise AssertionError(f"{name}: {x.dtype} {x.shape}, and NumPy {y.dtype} {y.shape}")
        tolerance, scale = TOLERANCE[y.dtype.name], float(np.max(np.abs(y))) or 1.0
        if not np.allclose(x, y, rtol=tolerance, atol=tolerance * scale):
            raise AssertionError(f"{name}: differs from NumPy by {np.max(np.abs(x - y)):.3g}")


@dataclass
class Run:
    """What all rows of a run share."""

    frameworks: dict[str, Any]
    ceiling: Ceiling
    plan: Plan


def contenders_of(
    row: Row, arrays: Arrays, expected: list[np.ndarray], run: Run, given: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a call for each framework, ready and right; and what went wrong elsewhere."""
    found, failed = {}, {}
    for name, framework in run.frameworks.items():
        try:
            if given:
                contender = framework.into and framework.into(
                    row, arrays, np.empty_like(expected[0])
                )
            else:
                contender = framework.contender(row, arrays)
            if contender is not None:
                agree(arrays_of(contender()), expected, name)
                found[name] = contender
        except Exception as error:  # a framework that fails does not end the run
            failed[name] = f"{type(error).__name__}: {error}".splitlines()[0]
            print(f"{row.name}, {label(arrays)}: {name} fails: {failed[name]}")
    return found, failed


def cell(row: Row, size: int, dtype: str, run: Run, given: bool) -> dict[str, Any] | None:
    """Measure a workload at one size and dtype; None where relgraph has no such call."""
    arrays = row.inputs(size, dtype)
    expected = arrays_of(PEERS["numpy"]().contender(row, arrays)())
    read, written = traffic(arrays, expected)
    contenders, failed = contenders_of(row, arrays, expected, run, given)
    if "relgraph" not in contenders and "relgraph" not in failed:
        return None
    if read + written >= LEAST_TRAFFIC:
        contenders |= run.ceiling.contenders(read, written, fresh=not given)
    timings = measure(contenders, run.plan)
    return {
        "row": row.name + GIVEN * given,
        "case": label(arrays),
        "dtype": dtype,
        "bytes": read + written,
        "µs": {name: _digits(x.seconds * 1e6) for name, x in timings.items()},
        "disturbed": _disturbed(timings),
        "failed": failed,
    }


def _digits(x: float) -> float:
    return float(f"{x:.4g}")


def _disturbed(timings: dict[str, Timing]) -> dict[str, int]:
    """Return how many windows were dropped, and how many contenders had no other."""
    return {
        "windows dropped": sum(len(x.disturbed) for x in timings.values()),
        "contenders without a quiet window": sum(not x.kept for x in timings.values()),
    }


def errors(row: Row, dtype: str, peers: dict[str, Any]) -> dict[str, Any]:
    """Return the error of each contender against long doubles.

    It is the largest error of an output divided by the largest value of that output, and the
    largest of these quotients over the outputs.
    """
    arrays = row.inputs(min(row.exact_size, max(row.sizes)), dtype)
    wide = {k: x.astype(np.longdouble) if x.dtype.kind == "f" else x for k, x in arrays.items()}
    exact = arrays_of(row.build(ExactSpace, wide))
    found = {}
    for name, peer in peers.items():
        contender = peer.contender(row, arrays)
        if contender is not None:
            quotients = [
                np.max(np.abs(x.astype(np.longdouble) - y)) / np.max(np.abs(y))
                for x, y in zip(arrays_of(contender()), exact, strict=True)
            ]
            found[name] = float(f"{max(map(float, quotients)):.2g}")
    return {"row": row.name, "case": label(arrays), "dtype": dtype, "error": found}


def memory(row: Row, names: list[str]) -> dict[str, Any]:
    """Return the megabytes that a call of each contender needs beside its inputs."""
    found = {}
    for name in names:
        result = subprocess.run(
            [sys.executable, str(Path(__file__).with_name("peak_memory.py")), row.name, name],
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            print(f"memory of {name}: {result.stderr.strip().splitlines()[-1:]}")
        elif (value := json.loads(result.stdout.splitlines()[-1])) is not None:
            found[name] = value
    arrays = row.inputs(max(row.sizes), "float64")
    return {"row": row.name, "case": label(arrays), "dtype": "float64", "MB": found}


def settings(run: Run, largest: float) -> dict[str, Any]:
    """Return what a reader of the results must know of how they were made."""
    return {
        "rounds": run.plan.rounds,
        "window s": run.plan.window,
        "threads": os.cpu_count(),
        "sizes": "all" if math.isinf(largest) else f"up to {largest:,.0f} elements",
        **{name: framework.setting for name, framework in run.frameworks.items()},
    }


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    known = [x.name for x in ROWS] + [FIRST_CALL]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rows", default=",".join(known), help="some of: " + ", ".join(known))
    parser.add_argument("--peers", default=",".join(PEERS), help="some of: " + ", ".join(PEERS))
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--largest", type=float, help="leave larger sizes out, such as 1e6")
    parser.add_argument(
        "--quick", action="store_true", help="seconds a row: small sizes, few rounds"
    )
    parser.add_argument("--save", action="store_true", help="put the rows into the results")
    given = parser.parse_args()
    given.largest = given.largest or (QUICK_SIZES if given.quick else math.inf)
    given.all = given.rows == ",".join(known) and not given.quick
    for option, allowed in (("rows", known), ("peers", list(PEERS)), ("dtypes", list(DTYPES))):
        chosen = [x for x in getattr(given, option).split(",") if x and x != "none"]
        if unknown := set(chosen) - set(allowed):
            parser.error(f"--{option}: {', '.join(unknown)}; known are {', '.join(allowed)}")
        setattr(given, option, chosen)
    return given


def selected_sizes(row: Row, given: argparse.Namespace) -> list[int]:
    """Return the sizes of a row to measure; the smallest at least."""
    return [x for x in row.sizes if x <= given.largest] or [min(row.sizes)]


def measured(row: Row, run: Run, given: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Return all that is measured of a row, and print the times."""
    found: dict[str, list[dict[str, Any]]] = {"cells": [], "errors": [], "memory": []}
    for dtype in given.dtypes:
        for size in selected_sizes(row, given):
            for into in (False, True)[: 1 + row.given_array]:
                result = cell(row, size, dtype, run, into)
                if result is not None:
                    found["cells"].append(result)
                    show(result)
        if given.save or not given.quick:
            found["errors"].append(errors(row, dtype, run.frameworks))
    if not given.quick:
        found["memory"].append(memory(row, list(run.frameworks)))
    return found


def show(result: dict[str, Any]) -> None:
    """Print the times of a cell, and how many times as fast relgraph is."""
    times = result["µs"]
    ours = times.get("relgraph", float("nan"))
    dropped = result["disturbed"]["windows dropped"]
    print(f"{result['row']}, {result['case']}, {result['dtype']} ({dropped} windows dropped)")
    for name, value in sorted(times.items(), key=lambda item: item[1]):
        print(f"  {name:22s} {value:12.2f} µs  {value / ours:7.2f} of relgraph's")
    sys.stdout.flush()


def merged(before: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return results in which rows that were measured anew replace those of before."""
    together = {**before, **new}
    for kind in ("cells", "errors", "memory", "first calls"):
        rows = {_row_of(x) for x in new.get(kind, [])}
        kept = [x for x in before.get(kind, []) if _row_of(x) not in rows]
        order = {row.name: i for i, row in enumerate(ROWS)}
        together[kind] = sorted(
            kept + new.get(kind, []), key=lambda x: order.get(_row_of(x), len(order))
        )
    return together


def _row_of(x: dict[str, Any]) -> str:
    return str(x.get("row", FIRST_CALL)).split(",")[0]


def main() -> None:
    """Measure what is asked for, print it, and save it."""
    given = arguments()
    plan = Plan(rounds=5, window=0.01, attempts=2, patience=5.0) if given.quick else Plan()
    run = Run(opened(["relgraph", *given.peers]), Ceiling(), plan)
    results: dict[str, Any] = {
        "machine": machine(),
        "versions": versions(*PACKAGES),
        "calibration": calibrate(),
        "settings": settings(run, given.largest),
    }
    before = {} if given.all or not RESULTS.exists() else json.loads(RESULTS.read_text())
    for row in ROWS:
        if row.name in given.rows:
            results = merged(results, measured(row, run, given))
            save(before, results, given)
    if FIRST_CALL in given.rows:
        results["first calls"] = first_calls(list(run.frameworks), 1 if given.quick else 3)
        save(before, results, given)
    print("\n" + "\n".join(lines_of(summaries(results))))


def save(before: dict[str, Any], results: dict[str, Any], given: argparse.Namespace) -> None:
    """Write what there is so far, so that an interruption loses one row."""
    if given.all or given.save:
        text = json.dumps(merged(before, results), indent=1, ensure_ascii=False)
        RESULTS.write_text(text + "\n")


if __name__ == "__main__":
    main()
