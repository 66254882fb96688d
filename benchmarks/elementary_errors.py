"""Test the elementary functions on very many numbers, and show the largest errors.

    python benchmarks/elementary_errors.py                # hours of one processor; may be stopped
    python benchmarks/elementary_errors.py --kind mpmath exp log
    python benchmarks/elementary_errors.py --page         # writes the table of docs/accuracy.md

A second run continues where the first stopped; after a change of a function, repeat its tests with
``--afresh``.  The reference for float64 is the 80-bit format of x86 (10**8 numbers) and mpmath
(10**6 finite results above 1e-300), that for float32 is float64: all numbers, or 10**8 pairs of
them.  :mod:`ulp` draws the numbers, with one seed a block.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import ulp
from calibration import machine, versions

from relgraph.backends.numba.elementary.table import TABLE
from relgraph.settings import config

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "elementary_errors.json"
PAGE = ROOT / "docs" / "accuracy.md"
BEGIN, END = "<!-- tested: begin -->", "<!-- tested: end -->"
KINDS = {"float64": 1_000_000, "mpmath": 10_000, "float32": 1 << 19}  # numbers in a block
SAVE = 10.0  # seconds
FIRST = 1000  # the seed of the first block; those of ulp.py are below


def wanted(name: str, kind: str) -> int:
    """Return how many numbers to test."""
    if kind == "float32" and TABLE[name].arity == 1:
        return 1 << 32
    return 1_000_000 if kind == "mpmath" else 100_000_000


def block(name: str, kind: str, number: int, run: Any) -> dict[str, Any]:
    """Test one block of numbers; ``worst`` is at least the half that any rounding may cost."""
    if kind == "mpmath":
        args = ulp.random_operands(name, np.float64, KINDS[kind], FIRST + number)
        count, worst, at, of_reference = ulp.judged_exactly(name, run, args)
        return {"values": count, "worst": worst, "at": at, "reference": of_reference}
    size = min(KINDS[kind], wanted(name, kind) - number * KINDS[kind])
    if kind == "float32" and TABLE[name].arity == 1:
        bits = np.arange(size, dtype=np.uint64) + np.uint64(number * KINDS[kind])
        args = [bits.astype(np.uint32).view(np.float32)]
    else:
        args = ulp.random_operands(name, np.dtype(kind).type, size, FIRST + number)
    worst, where = ulp.judged(name, run, args)
    return {"values": size, "worst": worst, "at": [float(x) for x in where]}


def join(total: dict[str, Any], one: dict[str, Any]) -> None:
    """Add what a block has shown to what is known."""
    total["blocks"] += 1
    total["values"] += one["values"]
    if one["worst"] > total["worst"]:
        total["worst"], total["at"] = one["worst"], one["at"]
    if "reference" in one:
        total["reference"] = max(total.get("reference", 0.0), one["reference"])


def save(results: dict[str, Any], path: Path) -> None:
    """Write the results, whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def survey(names: list[str], kinds: list[str], path: Path, afresh: bool) -> None:
    """Test functions until all are done, and save what is known every few seconds."""
    results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"functions": {}}
    results["machine"] = machine()
    results["versions"] = versions("numpy", "scipy", "mpmath")
    saved = time.monotonic()
    for kind in kinds:
        for name in names:
            own = results["functions"].setdefault(name, {})
            if afresh:
                own.pop(kind, None)
            total = own.setdefault(kind, {"blocks": 0, "values": 0, "worst": 0.0, "at": []})
            run = ulp.compiled(name, "float32" if kind == "float32" else "float64")
            while total["values"] < wanted(name, kind):
                join(total, block(name, kind, total["blocks"], run))
                if time.monotonic() - saved > SAVE:
                    save(results, path)
                    saved = time.monotonic()
            print(f"{name:10} {kind:8} {total['values']:11} {total['worst']:.4f}", flush=True)
    save(results, path)


def table(results: dict[str, Any]) -> str:
    """Return the table of what was tested, in Markdown."""
    known = results["functions"].values()
    kinds = [kind for kind in ("float32", "float64", "mpmath") if any(kind in x for x in known)]
    titles = ["function", *kinds, "the 80-bit reference, by mpmath"]
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for name in TABLE:
        cells = []
        for kind in kinds:
            total = results["functions"].get(name, {}).get(kind)
            cells.append(cell(total, kind) if total and total["values"] else "-")
        exact = results["functions"].get(name, {}).get("mpmath", {})
        cells.append(f"{exact['reference']:.4f}" if "reference" in exact else "-")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def cell(total: dict[str, Any], kind: str) -> str:
    """Return the largest error, and of how many numbers."""
    count = total["values"]
    many = "all" if kind == "float32" and count == 1 << 32 else f"{count:,}"
    return f"{total['worst']:.3f} ({many})"


def page(text: str, results: dict[str, Any]) -> str:
    """Return the text of the page with the table in its place."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{table(results)}\n{END}{rest.split(END)[1]}"


def main() -> None:
    """Test, or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="functions; all of them if none is named")
    parser.add_argument("--kind", choices=KINDS, action="append", help="all kinds if none is named")
    parser.add_argument("--afresh", action="store_true", help="discard earlier results for these")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", action="store_true", help="write the table, test nothing")
    options = parser.parse_args()
    if options.page:
        results = json.loads(options.results.read_text(encoding="utf-8"))
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
        return
    with config(threads=1):
        survey(options.names or [*TABLE], options.kind or [*KINDS], options.results, options.afresh)


if __name__ == "__main__":
    main()
