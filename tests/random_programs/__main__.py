"""Run random programs, and print what fails, each as a short program to run.

    python -m tests.random_programs --count 1000 --seed 1 --jobs 2

Each job appends a line of JSON for each batch to a file in the folder ``--log``; batches that are
there already are not run again.  A job that ends or stands still is started anew, and the batch
counts as a failure.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.random_programs.jobs import BATCH, lines_of, work


def main() -> int:
    """Run the command line.

    Returns
    -------
    int
        1 where a program fails.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="programs to run")
    parser.add_argument("--seed", type=int, default=0, help="of the first batch, times a million")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--log", type=Path, help="folder of results, to go on from")
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with TemporaryDirectory() as temporary:
        folder = options.log or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        first = options.seed * 10**6
        batches = range(first, first + -(-options.count // BATCH))
        done = {line["batch"] for line in lines_of(folder)}
        left = [batch for batch in batches if batch not in done]
        work(folder, [left[job :: options.jobs] for job in range(options.jobs)])
        lines = [line for line in lines_of(folder) if line["batch"] in batches]
    return _summary(lines)


def _summary(lines: list[dict[str, Any]]) -> int:
    """Print outcomes, by setting, and failures; return the exit status."""
    outcomes: Counter[str] = Counter()
    parts: dict[str, Counter[str]] = {name: Counter() for name in ("way", "mode", "target")}
    failures: list[str] = []
    for line in lines:
        if "lost" in line:
            failures.append(f"# batch {line['batch']}: the process ended, with {line['lost']}")
            continue
        outcomes += Counter(line["outcomes"])
        way, mode, nonfinite, target, sizes = line["setting"].split()
        programs = sum(line["outcomes"].values())
        parts["way"][f"{way}, {sizes} sizes"] += programs
        parts["mode"][f"{mode} {nonfinite}"] += programs
        parts["target"][target] += programs
        failures += [f"# batch {line['batch']}\n{text}" for text in line["failures"]]
    for failure in failures:
        print(failure, end="\n\n")
    for name, counts in {"outcome": outcomes, **parts}.items():
        print(f"{name}: " + ", ".join(f"{key} {n:,}" for key, n in sorted(counts.items())))
    again = sum(line.get("again", 0) for line in lines)
    print(f"{again:,} programs ran with static sizes because others forbid them")
    seconds = sum(line.get("seconds", 0) for line in lines)
    programs = sum(outcomes.values())
    print(f"{programs:,} programs, {1000 * seconds / max(programs, 1):.0f} ms each")
    print(f"{len(failures):,} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
