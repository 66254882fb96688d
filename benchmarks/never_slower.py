"""Programs rewritten by the default mode against the same programs as written.

    python benchmarks/never_slower.py                      # the programs of benchmarks/
    python benchmarks/never_slower.py --random 1000        # and random programs
    python benchmarks/never_slower.py --random 1000 --flops  # the operations only, nothing is timed

A program is compiled twice, with the default mode and with ``mode=None``, and both take turns, so
that what disturbs one disturbs the other.  Times are those of the processor, in one thread, so that
other processes do not count.  A program counts as slower if the median ratio of a turn's two
times is above 1.1 by more than its noise: the standard error of the median, from the quartiles.
One that seems slower is measured again, five times as long, before it counts.  Random programs
are those of ``tests/random_programs``, on arrays as they draw them: most calls take microseconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from calibration import machine, versions
from kernel_workloads import ROWS
from modes import RelgraphSpace
from peers import relgraph_space
from workloads import WORKLOADS

import relgraph as rg

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.random_programs.generator import Generator, random_inputs
from tests.random_programs.program import GRAPHS

ALLOWED = 1.1
WINDOW = 1e-3  # seconds of one side of a turn, at least one call
TURNS = 21
SIZES = 100_000  # elements of the largest input of a kernel's workload


class Case(NamedTuple):
    """A program: its graph, and values for the inputs."""

    name: str
    inputs: list[Any]
    outputs: list[Any]
    values: list[Any]


def own_cases() -> Iterator[Case]:
    """Yield the programs of benchmarks/."""
    for workload in WORKLOADS:
        graphs = {name: rg.tensor(name, x.shape, x.dtype) for name, x in workload.inputs.items()}
        outputs = workload.build(RelgraphSpace, graphs)
        yield Case(workload.name, [*graphs.values()], outputs, [*workload.inputs.values()])
    for row in ROWS:
        size = min(row.sizes, key=lambda n: abs(n - SIZES))
        arrays = row.inputs(size, "float64")
        graphs = {name: rg.tensor(name, x.shape, x.dtype) for name, x in arrays.items()}
        yield Case(
            row.title, [*graphs.values()], row.build(relgraph_space(rg), graphs), [*arrays.values()]
        )


def random_cases(numbers: Iterable[int], seed: int) -> Iterator[Case]:
    """Yield random programs; those that raise, or that need no graph, are left out."""
    for number in numbers:
        rng = np.random.default_rng([seed, number])
        inputs = random_inputs(rng, False)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            generator = Generator(rng, inputs, True)
            program = generator.program()
            if generator.error is not None:
                continue
            values = {name: np.asarray(inputs.values[name]) for name in sorted(program.inputs())}
            graphs = {k: rg.tensor(k, x.shape, x.dtype.name) for k, x in values.items()}
            try:
                output = program.values(graphs, GRAPHS)[program.result]
            except rg.errors.RelgraphError:
                continue
        if isinstance(output, rg.Variable):
            name = f"random {number}"
            yield Case(name, [*graphs.values()], [output], [*values.values()])


def window(function: Any, values: list[Any], calls: int) -> float:
    """Return the seconds of one call, over several."""
    start = time.process_time()
    for _ in range(calls):
        function(*values)
    return (time.process_time() - start) / calls


def ratio(case: Case, turns: int) -> dict[str, float]:
    """Return the time rewritten over the time as written, and its noise."""
    rewritten = rg.function(case.inputs, case.outputs)
    written = rg.function(case.inputs, case.outputs, mode=None)
    for function in (rewritten, written):
        function(*case.values)
    once = min(window(written, case.values, 1) for _ in range(5))
    calls = max(1, round(WINDOW / max(once, 1e-9)))
    pairs = []
    for turn in range(turns):
        order = (rewritten, written) if turn % 2 else (written, rewritten)
        times = {function: window(function, case.values, calls) for function in order}
        pairs.append((times[rewritten], times[written]))
    ratios = sorted(a / b for a, b in pairs)
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {
        "ratio": middle,
        "noise": 0.93 * (high - low) / len(ratios) ** 0.5,  # 1.253 / 1.349 of the spread
        "µs": statistics.median(a for a, _ in pairs) * 1e6,
        "written µs": statistics.median(b for _, b in pairs) * 1e6,
    }


def slower(row: dict[str, Any]) -> bool:
    """Return True if a program is slower than allowed, beyond noise."""
    return bool(row["ratio"] - 2 * row["noise"] > ALLOWED)


def measured(case: Case, timed: bool) -> dict[str, Any]:
    """Return the record of one program."""
    after = rg.rewrite_graph(case.outputs, mode="fast_run")
    row: dict[str, Any] = {
        "program": case.name,
        "flops": rg.flops(after),
        "written flops": rg.flops(case.outputs),
    }
    if timed:
        row |= ratio(case, TURNS)
        if slower(row):
            row |= ratio(case, 5 * TURNS)
    return row


def main() -> None:
    """Time the selected programs, and print those that got slower or larger."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=0, help="how many random programs")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--flops", action="store_true", help="count operations only")
    parser.add_argument("--only", default="", help="programs whose name holds this")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for case in chain(own_cases(), random_cases(range(options.random), options.seed)):
        if options.only not in case.name:
            continue
        try:
            with rg.config(threads=1):
                row = measured(case, not options.flops)
        except rg.errors.RelgraphError as error:  # as written it raises, too
            print(f"{case.name} raises {type(error).__name__}")
            continue
        rows.append(row)
        if row["flops"] > row["written flops"] or ("ratio" in row and slower(row)):
            rounded = {k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}
            print(rounded, flush=True)
    larger = [x for x in rows if x["flops"] > x["written flops"]]
    print(f"{len(rows)} programs, {len(larger)} with more operations", end="")
    total = sum(x["flops"] for x in rows) / max(sum(x["written flops"] for x in rows), 1)
    print(f"; operations in all x{total:.3f}")
    if options.flops or not rows:
        return
    late = [x for x in rows if slower(x)]
    print(f"{len(late)} slower by more than {ALLOWED - 1:.0%} beyond noise")
    ratios = [x["ratio"] for x in rows]
    print(f"geometric mean of time over time as written: {statistics.geometric_mean(ratios):.3f}")
    if options.random and not options.only:
        report = {
            "machine": machine(), "versions": versions("numpy", "numba"), "programs": len(rows),
            "slower": late, "mean": statistics.geometric_mean(ratios),
        }  # fmt: skip
        path = Path(__file__).parent / "results" / "never_slower.json"
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
