"""The estimated time of products, factorisations, systems and loops, and the time that they take.

    python benchmarks/costs.py            # all, and results/costs.json
    python benchmarks/costs.py solve      # the ops whose name holds "solve"
    python benchmarks/costs.py loop       # the compiled loops, and the rates at which they compute

Each op runs on one thread, with matrices of 2 to 2000 rows and 1, 8 or as many right sides, and
each loop with vectors that the first, second or third cache holds, or none.  The time of a loop is
that of its compiled program, less that of the same program for one element.  Its
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

import relgraph as rg
from relgraph.costs.measured import measure
from relgraph.ir.machine import FIXED, Machine, op_seconds
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType, TupleType
from relgraph.ops.contraction import Matmul
from relgraph.ops.linalg.factored_solve import ChoSolve, LUSolve
from relgraph.ops.linalg.factorisations import LUFactor
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Solve, SolveTriangular

SIZES = (2, 4, 10, 30, 60, 150, 300, 600, 1000, 2000)
RIGHT_SIDES = (1, 8, 0)  # 0: as many as the matrix has rows
LIMIT, SHORTEST = 0.1, 1e-4  # seconds for each time, and of the calls that are timed together
# The most that an estimate is off, either way, and of a loop or a matrix that no cache holds.
FACTOR, UNCACHED = 2.5, 4.0
CACHED = 1000  # rows
ELEMENTS = (1_000, 20_000, 300_000, 4_000_000)  # of vectors, for each level of the memory
HELD = 300_000  # elements that the caches hold
TERMS = 10  # of the polynomial
REPEATS = 5  # of the times of a loop
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


def polynomial(x: Any) -> Any:
    """Return a polynomial by Horner's scheme, whose loop only multiplies and adds."""
    result = x
    for i in range(TERMS):
        result = result * x + 1 / (i + 1)
    return result


# Elementwise loops and a reduction, of one or two vectors.
LOOPS: dict[str, tuple[int, Callable[..., Any]]] = {
    "add": (2, lambda x, y: x + y),
    "divide": (2, lambda x, y: x / y),
    "polynomial": (1, polynomial),
    "exp": (1, rg.exp),
    "tanh": (1, rg.tanh),
    "sum": (1, rg.sum),
}


def loop_program(name: str, count: int) -> tuple[Any, Any, list[Any]]:
    """Return a loop over vectors of a length: its graph, its program, and its arguments."""
    operands, build = LOOPS[name]
    inputs = [rg.vector(f"x{i}", shape=(count,)) for i in range(operands)]
    graph = build(*inputs)
    draw = np.random.default_rng(count)
    arrays = [draw.uniform(0.5, 1.5, count) for _ in inputs]
    return graph, rg.function(inputs, graph, mode=None), arrays


def loop_seconds(steps: Any, figures: Machine) -> float:
    """Return the estimated time of the loops of a program, without their calls."""
    return sum([step.seconds(figures) - figures.kernel for step in steps])


def loop_rows(part: str, here: Machine) -> list[dict[str, Any]]:
    """Return the estimated and the measured time of each loop."""
    rows = []
    for name in LOOPS:
        for count in ELEMENTS if part in f"loop, {name}" else ():
            graph, program, arrays = loop_program(name, count)
            _, call, single = loop_program(name, 1)
            with rg.config(threads=1):
                pairs = [
                    (shortest(program, *arrays), shortest(call, *single)) for _ in range(REPEATS)
                ]
            cost = rg.cost(graph)
            seconds = max(min(a for a, _ in pairs) - min(b for _, b in pairs), 1e-9)
            rows.append({
                "op": f"loop, {name}",
                "n": count,
                "seconds": seconds,
                "measured figures": loop_seconds(cost.steps, here),
                "fixed figures": loop_seconds(cost.steps, FIXED),
                "rate": cost.flops / seconds,
            })  # fmt: skip
    return rows


def is_loop(row: dict[str, Any]) -> bool:
    """Return True for the row of a loop, not of an op on matrices."""
    return "rate" in row


def bound_of(row: dict[str, Any]) -> float:
    """Return the most that the estimate of a row may be off; loops have one rate for all."""
    return FACTOR if row["n"] <= CACHED and not is_loop(row) else UNCACHED


def measured_rows(part: str) -> list[dict[str, Any]]:
    """Return the estimated and the measured time of each application."""
    here = measure()
    rows = loop_rows(part, here)
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
        "elements of loops": " ".join(map(str, ELEMENTS)),
    }
    columns = {figures: ratios(rows, figures) for figures in FIGURES}
    lines = []
    for name in dict.fromkeys(row["op"] for row in rows):
        chosen = [i for i, row in enumerate(rows) if row["op"] == name]
        times = {"op": name, "microseconds": [round(rows[i]["seconds"] * 1e6, 2) for i in chosen]}
        if is_loop(rows[chosen[0]]):
            times["operations per ns"] = [round(rows[i]["rate"] / 1e9, 1) for i in chosen]
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
        for loops, sizes in ((False, SIZES), (True, ELEMENTS)):
            print(f"\n{figures:32}" + "".join(f"{n:>9}" for n in sizes))
            for name in dict.fromkeys(row["op"] for row in rows if is_loop(row) == loops):
                shown = [v for v, row in zip(values, rows, strict=True) if row["op"] == name]
                print(f"{name:32}" + "".join(f"{v:9.2f}" for v in shown))
        off = [max(v, 1 / v) for v in values]
        bad = sum([v > bound_of(row) for v, row in zip(off, rows, strict=True)])
        within = sum([v <= 1.5 for v in off]) / len(off)
        print(f"{within:.0%} within a factor of 1.5, {bad} of {len(off)} out of bounds")
        outside += bad
    rates = [row["rate"] / 1e9 for row in rows if is_loop(row) and row["n"] <= HELD]
    if rates:
        least, most = min(rates), max(rates)
        print(f"loops in the caches: {least:.1f} to {most:.1f} operations per ns")
    if not part:
        write(rows)
    return outside


if __name__ == "__main__":
    sys.exit(min(1, main(*sys.argv[1:2])))
