"""The summary of the measurements of kernels.py, and the page that shows it.

    python benchmarks/performance_page.py   # writes the tables of docs/performance.md anew

A ratio is the time of a peer divided by relgraph's: above 1, relgraph is faster.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_workloads import ROWS, Target

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "kernels.json"
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
LEAST_CELL = 0.95
AT_CEILING = 0.9
# The cold figures exclude JAX: it compiles in tens of milliseconds, without a cache to fill.
FIRST_CALLS = {
    "cold": Target(1.0, ("torch.compile", "pytensor", "pytensor c")),
    "warm": Target(1.0, ("jax", "torch.compile", "pytensor", "pytensor c")),
}


@dataclass(frozen=True)
class Summary:
    """A row against some peers.

    Attributes
    ----------
    title : str
        The workload.
    target : Target
        What is asked, and against whom.
    peer : str
        The peer with the smallest geometric mean.
    ratio : float
        The geometric mean of the ratios to that peer.
    strict : float
        The geometric mean of the ratios to the fastest peer of each cell.
    worst : float
        The smallest ratio to the fastest peer of a cell.
    lifted : int
        How many cells are at the ceiling of the memory, and count as met.
    met : bool
        Whether the geometric mean over cells is as asked, and no cell falls behind.
    """

    title: str
    target: Target
    peer: str
    ratio: float
    strict: float
    worst: float
    lifted: int
    met: bool


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean; 0 where a value is."""
    found = list(values)
    return math.exp(math.fsum(map(math.log, found)) / len(found)) if all(found) else 0.0


def ceiling_of(times: dict[str, float]) -> float | None:
    """Return the microseconds that the memory needs at least, where that was measured."""
    return min((x for name, x in times.items() if name.startswith("ceiling")), default=None)


def ratios(cell: dict[str, Any], against: tuple[str, ...]) -> dict[str, float]:
    """Return each peer's time divided by relgraph's; 0 where relgraph fails."""
    ours = cell["µs"].get("relgraph", math.inf)
    return {
        name: value / ours
        for name, value in cell["µs"].items()
        if name != "relgraph"
        and not name.startswith("ceiling")
        and (not against or name in against)
    }


def summary(title: str, target: Target, cells: list[dict[str, Any]]) -> Summary | None:
    """Return what the cells of a row say of a target; None without cells or peers."""
    found = [(cell, ratios(cell, target.against)) for cell in cells]
    found = [(cell, r) for cell, r in found if r]
    if not found:
        return None
    everywhere = set.intersection(*(set(r) for _, r in found))
    means = {name: geometric_mean(r[name] for _, r in found) for name in sorted(everywhere)}
    peer = min(means, key=means.__getitem__)
    counted, lifted = [], 0
    for cell, r in found:
        ratio, ceiling = min(r.values()), ceiling_of(cell["µs"])
        if ceiling is not None and ceiling >= AT_CEILING * cell["µs"]["relgraph"]:
            lifted += ratio < target.value
            ratio = max(ratio, target.value)
        counted.append(ratio)
    smallest = [min(r.values()) for _, r in found]
    return Summary(
        title, target, peer, means[peer], geometric_mean(smallest), min(smallest), lifted,
        geometric_mean(counted) >= target.value and min(counted) >= LEAST_CELL,
    )  # fmt: skip


def summaries(results: dict[str, Any]) -> list[Summary]:
    """Return a summary for each target of each row that was measured."""
    found = []
    for row in ROWS:
        cells = [x for x in results.get("cells", []) if x["row"] == row.name]
        found += [summary(row.title, target, cells) for target in row.targets]
    for cache, target in FIRST_CALLS.items():
        cells = [
            {"µs": x["ms"]}
            for x in results.get("first calls", [])
            if x["cache"] == cache and "ops" in x["what"]
        ]
        found.append(summary(f"first call, {cache} cache", target, cells))
    return [x for x in found if x is not None]


def overall(results: dict[str, Any]) -> float:
    """Return the geometric mean over rows, each against its best peer of all."""
    found = []
    for row in ROWS:
        cells = [x for x in results.get("cells", []) if x["row"] == row.name]
        if (one := summary(row.title, Target(1.0), cells)) is not None:
            found.append(one.ratio)
    return geometric_mean(found)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    head = list(head)
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def lines_of(found: list[Summary]) -> list[str]:
    """Return the table of targets."""
    return table(
        ("workload", "asked", "best peer", "times as fast", "of each cell", "worst cell", "met"),
        (
            (
                f"{x.title}{_against(x.target)}", f"{x.target.value:g}",
                x.peer, f"{x.ratio:.2f}", f"{x.strict:.2f}",
                f"{x.worst:.2f}" + (f" ({x.lifted} at the ceiling)" if x.lifted else ""),
                "yes" if x.met else "no",
            )
            for x in found
        ),
    )  # fmt: skip


def _against(target: Target) -> str:
    if not target.against or target in FIRST_CALLS.values():
        return ""
    return f", against {target.against[0] if len(target.against) == 1 else 'compilers'}"


def peers_of(cells: list[dict[str, Any]]) -> list[str]:
    """Return the peers that were measured, in the order of the first cells."""
    found = dict.fromkeys(name for cell in cells for name in cell["µs"])
    return [x for x in found if x != "relgraph" and not x.startswith("ceiling")]


def quiet(cells: list[dict[str, Any]]) -> str:
    """Return how far the times are undisturbed."""
    times = sum(len(x["µs"]) for x in cells)
    disturbed = sum(x["disturbed"]["contenders without a quiet window"] for x in cells)
    return f"Of {times} times, {disturbed} had no window without other processes."


def triad_share(cells: list[dict[str, Any]]) -> str:
    """Return which part of the bandwidth of a triad the workload of that form reaches."""
    shares = [
        (ceiling / cell["µs"]["relgraph"], cell)
        for cell in cells
        if cell["row"].startswith("triad") and "relgraph" in cell["µs"]
        if (ceiling := ceiling_of(cell["µs"])) is not None
    ]
    said = (
        f"{share:.0%} ({cell['case']} {cell['dtype']}{cell['row'].removeprefix('triad')})"
        for share, cell in shares
    )
    return f"`a*b + c*d` moves, of the bytes a second of a triad: {'; '.join(said)}."


def by_peer(results: dict[str, Any]) -> list[str]:
    """Return the geometric mean of the ratios to each peer, a row a line."""
    names = peers_of(results["cells"])
    lines = []
    for row in ROWS:
        cells = [x for x in results["cells"] if x["row"] == row.name]
        if cells:
            found = [ratios(cell, ()) for cell in cells]
            means = [
                f"{geometric_mean(r[n] for r in found):.2f}" if all(n in r for r in found) else "–"
                for n in names
            ]
            lines.append([row.title, *means])
    return table(["workload", *names], lines)


def by_cell(results: dict[str, Any]) -> list[str]:
    """Return every cell: relgraph's time, the fastest peer's, and the ceiling."""
    titles = {row.name: row.title for row in ROWS}
    lines = []
    for cell in results["cells"]:
        found = ratios(cell, ())
        best = min(found, key=found.__getitem__)
        ceiling = ceiling_of(cell["µs"])
        name, _, given = cell["row"].partition(", ")
        lines.append(
            [
                titles[name] + (f", {given}" if given else ""), cell["case"], cell["dtype"],
                _time(cell["µs"]["relgraph"]), best, f"{found[best]:.2f}",
                "–" if ceiling is None else f"{ceiling / cell['µs']['relgraph']:.2f}",
            ]
        )  # fmt: skip
    head = ("workload", "shape", "dtype", "relgraph", "fastest peer", "times as fast", "of ceiling")
    return table(head, lines)


def _time(microseconds: float) -> str:
    if microseconds < 1000:
        return f"{microseconds:.3g} µs"
    return f"{microseconds / 1000:.3g} ms"


def _named(results: dict[str, Any], kind: str, column: str, form: str) -> list[str]:
    """Return a table of one value for each contender."""
    titles = {row.name: row.title for row in ROWS}
    entries = results.get(kind, [])
    names = list(dict.fromkeys(name for x in entries for name in x[column]))
    return table(
        ["workload", "shape", "dtype", *names],
        (
            [titles[x["row"]], x["case"], x["dtype"]]
            + [format(x[column][n], form) if n in x[column] else "–" for n in names]
            for x in entries
        ),
    )


def first_call_lines(results: dict[str, Any]) -> list[str]:
    """Return the milliseconds of first calls."""
    entries = results.get("first calls", [])
    names = list(dict.fromkeys(name for x in entries for name in x["ms"]))
    return table(
        ["", "cache", *names],
        (
            [x["what"], x["cache"]] + [f"{x['ms'][n]:.3g}" if n in x["ms"] else "–" for n in names]
            for x in entries
        ),
    )


def tables(results: dict[str, Any]) -> str:
    """Return the generated part of the page."""
    told = results["machine"]
    versions = ", ".join(f"{k} {v}" for k, v in results["versions"].items())
    chosen = results["settings"]
    kept = {"rounds", "window s", "threads", "sizes"}
    parts = [
        f"Machine: {told['cpu']}, {told['cores']} cores, {told['system']}. Versions: {versions}.",
        "Settings: " + "; ".join(f"{k}: {v}" for k, v in chosen.items() if k not in kept) + ".",
        f"Medians of {chosen['rounds']} windows of {chosen['window s'] * 1e3:g} ms. "
        f"Sizes: {chosen['sizes']}.",
        quiet(results["cells"]),
        "",
        "## Targets",
        "",
        *lines_of(summaries(results)),
        "",
        f"The geometric mean over the workloads, each against its best peer, is "
        f"{overall(results):.2f}, first calls left out.",
        "",
        triad_share(results["cells"]),
        "",
        "## Every peer",
        "",
        *by_peer(results),
        "",
        "## Every cell",
        "",
        *by_cell(results),
    ]
    if results.get("first calls"):
        parts += ["", "## First calls, ms", "", *first_call_lines(results)]
    if results.get("memory"):
        parts += ["", "## Memory, MB", "", *_named(results, "memory", "MB", ".4g")]
    if results.get("errors"):
        parts += ["", "## Errors", "", *_named(results, "errors", "error", ".1e")]
    return "\n".join(parts)


def page(text: str, results: dict[str, Any]) -> str:
    """Return a page with its generated part made anew."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n\n{tables(results)}\n\n{END}{rest.split(END)[1]}"


def main() -> None:
    """Write the page."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
