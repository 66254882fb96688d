"""The estimated time of products, factorisations and systems, and the time that they take.

    python benchmarks/costs.py            # all, and results/costs.json
    python benchmarks/costs.py solve      # the ops whose name holds "solve"

Each op runs on one thread, with matrices of 2 to 2000 rows and 1, 8 or as many right sides.  Its
time is the shortest processor time, which other processes disturb least.  The estimates are those
of ``rg.cost(graph, machine="measured")``, whose figures are measured anew, and of the fixed
figures, which rewriting uses.  The fixed ones are for another machine: their ratios are divided by
the middle one.  The program ends with an error if a ratio is outside of the bounds that
``docs/cost.md`` states.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Callable
from math import inf
from pathlib import Path
from time import process_time
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from calibration import calibrate, machine, versions

from relgraph.costs.measured import measure
from relgraph.ir.machine import FIXED, op_seconds
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType, TupleType
from relgraph.ops.contraction import Matmul
from relgraph.ops.linalg.factored_solve import ChoSolve, LUSolve
from relgraph.ops.linalg.factorisations import LUFactor
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Solve, SolveTriangular

SIZES = (2, 4, 10, 30, 60, 150, 300, 600, 1000, 2000)
RIGHT_SIDES = (1, 8, 0)  # 0: as many as the matrix has rows
LIMIT, SHORTEST = 0.1, 1e-4  # seconds for each time, and of the calls that are timed together
# The most that an estimate is off, either way, and of a matrix that the caches do not hold.
FACTOR, UNCACHED = 2.5, 4.0
CACHED = 1000  # rows
FIGURES = ("measured figures", "fixed figures")
RESULTS = Path(__file__).parent / "results" / "costs.json"


def shortest(function: Callable[..., object], *operands: Any) -> float:
    """Return the least processor time of a call, in seconds; short calls are timed together."""
    function(*operands)
    best, spent, calls = inf, 0.0, 1
    while spent < LIMIT:
        start = process_time()
        for _ in range(calls):
            function(*operands)
        seconds = process_time() - start
        best, spent = min(best, seconds / calls), spent + seconds
        if seconds < SHORTEST:
            calls, best = 2 * calls, inf
    return best


def applications(n: int) -> list[tuple[str, Op, tuple[Any, ...]]]:
    """Return ops and their operands, with matrices of n rows."""
    draw = np.random.default_rng(n)
    matrix = draw.standard_normal((n, n))
    matrix = matrix @ matrix.T / n + 2 * np.eye(n)
    factors, pivots = LUFactor().perform(matrix)
    root = Cholesky(True).perform(matrix)
    rows: list[tuple[str, Op, tuple[Any, ...]]] = [
        ("lu_factor", LUFactor(), (matrix,)),
        ("cholesky", Cholesky(True), (matrix,)),
        ("inv", Inv(), (matrix,)),
        ("det", Det(), (matrix,)),
    ]
    for count in RIGHT_SIDES:
        right = draw.standard_normal((n, count or n)) if count != 1 else draw.standard_normal(n)
        for name, op, operands in (
            ("matmul", Matmul(), (matrix, right)),
            ("solve", Solve("general"), (matrix, right)),
            ("solve, spd", Solve("spd"), (matrix, right)),
            ("solve_triangular", SolveTriangular(True, 0, False), (root, right)),
            ("lu_solve", LUSolve(0), (factors, pivots, right)),
            ("cho_solve", ChoSolve(True), (root, right)),
        ):
            rows.append((f"{name}, {count or 'n'} right", op, operands))
    return rows


def type_of(value: Any) -> Any:
    """Return the type of an array, or of several."""
    if isinstance(value, tuple):
        return TupleType([type_of(x) for x in value])
    return TensorType(value.dtype, value.shape)


def measured_rows(part: str) -> list[dict[str, Any]]:
    """Return the estimated and the measured time of each application."""
    here = measure()
    rows = []
    for n in SIZES:
        for name, op, operands in applications(n):
            if part in name:
                types = [type_of(np.asarray(x)) for x in operands]
                result = op.infer(*types)
                rows.append({
                    "op": name,
                    "n": n,
                    "seconds": shortest(op.perform, *operands),
                    "measured figures": op_seconds(op, types, result, machine=here),
                    "fixed figures": op_seconds(op, types, result, machine=FIXED),
                })  # fmt: skip
    return rows


def ratios(rows: list[dict[str, Any]], figures: str) -> list[float]:
    """Return the estimates over the times; those by fixed figures, over the middle ratio."""
    plain = [row[figures] / row["seconds"] for row in rows]
    middle = statistics.median(plain) if figures == "fixed figures" else 1.0
    return [ratio / middle for ratio in plain]


def write(rows: list[dict[str, Any]]) -> None:
    """Write the times and the ratios to the file of results, one line an op."""
    report = {
        "machine": machine(),
        "versions": versions("numpy", "scipy"),
        "calibration": calibrate(),
        "load": round(os.getloadavg()[0], 1),
        "rows of matrices": " ".join(map(str, SIZES)),
    }
    columns = {figures: ratios(rows, figures) for figures in FIGURES}
    lines = []
    for name in dict.fromkeys(row["op"] for row in rows):
        chosen = [i for i, row in enumerate(rows) if row["op"] == name]
        times = {"op": name, "microseconds": [round(rows[i]["seconds"] * 1e6, 2) for i in chosen]}
        offs = {figures: [round(columns[figures][i], 2) for i in chosen] for figures in FIGURES}
        lines.append(json.dumps(times | offs))
    head = json.dumps(report, indent=1).removesuffix("\n}")
    text = head + ',\n "times": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n"
    RESULTS.write_text(text, encoding="utf-8")


def main(part: str = "") -> int:
    """Print the ratios of each op, and return how many are out of bounds."""
    rows = measured_rows(part)
    outside = 0
    for figures in FIGURES:
        values = ratios(rows, figures)
        print(f"\n{figures:32}" + "".join(f"{n:>7}" for n in SIZES))
        for name in dict.fromkeys(row["op"] for row in rows):
            shown = [v for v, row in zip(values, rows, strict=True) if row["op"] == name]
            print(f"{name:32}" + "".join(f"{v:7.2f}" for v in shown))
        off = [max(v, 1 / v) for v in values]
        bounds = [FACTOR if row["n"] <= CACHED else UNCACHED for row in rows]
        bad = sum([v > bound for v, bound in zip(off, bounds, strict=True)])
        within = sum([v <= 1.5 for v in off]) / len(off)
        print(f"{within:.0%} within a factor of 1.5, {bad} of {len(off)} out of bounds")
        outside += bad
    if not part:
        write(rows)
    return outside


if __name__ == "__main__":
    sys.exit(min(1, main(*sys.argv[1:2])))
