"""Plots of the results of kernels.py: one of each workload, one of first calls.

    python benchmarks/plot.py          # writes results/plots/*.svg
    python benchmarks/plot.py softmax  # those of the rows named

A bar is the time of a contender divided by relgraph's, on a logarithmic axis; beyond 1, relgraph is
faster.  The bar of the ceiling is the time that the memory needs for the same number of bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
from kernel_workloads import ROWS
from performance_page import RESULTS, ceiling_of, ratios

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "relgraph"  # one result gives one file, byte for byte

from matplotlib import pyplot as plt  # noqa: E402 - the backend is chosen before

PLOTS = RESULTS.parent / "plots"
COLOURS = {
    "numpy": "#4c72b0", "numexpr": "#8c8c8c", "jax": "#8172b3", "torch": "#f0a35e",
    "torch.compile": "#dd8452", "pytensor": "#55a868", "pytensor c": "#a1d6ac",
    "ceiling": "#222222",
}  # fmt: skip


def bars(axes: Any, groups: list[tuple[str, dict[str, float]]]) -> None:
    """Draw a group of bars for each label, a bar for each contender."""
    names = list(dict.fromkeys(name for _, group in groups for name in group))
    height = 0.8 / max(1, len(names))
    for i, name in enumerate(names):
        places = [k for k, (_, group) in enumerate(groups) if name in group]
        axes.barh(
            [k + (i - (len(names) - 1) / 2) * height for k in places],
            [groups[k][1][name] - 1 for k in places],
            height=height,
            left=1,  # so that bars begin where relgraph is, on a logarithmic axis too
            label=name,
            color=COLOURS.get(name, "#cccccc"),
        )
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(groups)), [title for title, _ in groups])
    axes.invert_yaxis()
    axes.set_xlabel("time, relgraph = 1")


def draw(name: str, title: str, groups: list[tuple[str, dict[str, float]]]) -> Path:
    """Write one plot."""
    figure, axes = plt.subplots(figsize=(7, 1.5 + 0.9 * len(groups)), layout="constrained")
    bars(axes, groups)
    axes.set_title(title.replace("`", ""))
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    PLOTS.mkdir(exist_ok=True)
    path = PLOTS / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path


def cells_of(results: dict[str, Any], name: str) -> list[tuple[str, dict[str, float]]]:
    """Return the bars of a row: a group for each size and dtype."""
    groups = []
    for cell in results["cells"]:
        if cell["row"].partition(",")[0] == name and "relgraph" in cell["µs"]:
            bars = ratios(cell, ())
            ceiling = ceiling_of(cell["µs"])
            if ceiling is not None:
                bars["ceiling"] = ceiling / cell["µs"]["relgraph"]
            given = cell["row"].partition(", ")[2]
            groups.append((f"{cell['case']}\n{cell['dtype']}" + f"\n{given}" * bool(given), bars))
    return groups


def first_calls_of(results: dict[str, Any]) -> list[tuple[str, dict[str, float]]]:
    """Return the bars of first calls: a group for each graph and state of the cache."""
    return [
        (
            f"{x['what']}\n{x['cache']}",
            {k: v / x["ms"]["relgraph"] for k, v in x["ms"].items() if k != "relgraph"},
        )
        for x in results.get("first calls", [])
        if "relgraph" in x["ms"]
    ]


def main() -> None:
    """Write the plots."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    plots = [(row.name, row.title, cells_of(results, row.name)) for row in ROWS]
    plots.append(("first_call", "first calls", first_calls_of(results)))
    for name, title, groups in plots:
        if groups and (not sys.argv[1:] or name in sys.argv[1:]):
            print(draw(name, title, groups))


if __name__ == "__main__":
    main()
