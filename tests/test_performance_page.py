"""docs/performance.md shows what was measured, and says rightly which targets are met."""

import json
import math
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(scope="module")
def page():
    """Return the module that writes the page."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import performance_page
    finally:
        sys.path.remove(str(BENCHMARKS))
    return performance_page


def cell(row="triad", **times):
    return {"row": row, "case": "1,000", "dtype": "float64", "µs": times}


def only(page, *cells, row="triad"):
    """Return the one summary of cells of one row."""
    (found,) = page.summaries({"cells": [{**x, "row": row} for x in cells]})
    return found


def test_page_matches_results(page):
    results = json.loads(page.RESULTS.read_text(encoding="utf-8"))
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.page(text, results) == text, "run: python benchmarks/performance_page.py"


def test_every_measured_row_is_shown(page):
    results = json.loads(page.RESULTS.read_text(encoding="utf-8"))
    text = page.PAGE.read_text(encoding="utf-8")
    assert len(results["cells"]) >= len(page.ROWS)
    for row in page.ROWS:
        cells = [x for x in results["cells"] if x["row"] == row.name]
        assert cells, f"{row.name} was not measured"
        assert sum(line.startswith(f"| {row.title} |") for line in text.splitlines()) >= len(cells)


def test_ratio_is_the_geometric_mean_against_one_peer(page):
    found = only(
        page,
        cell(relgraph=1.0, numpy=4.0, jax=2.0),
        cell(relgraph=10.0, numpy=10.0, jax=80.0),
    )
    assert found.peer == "numpy"
    assert found.ratio == pytest.approx(2.0)  # sqrt(4 * 1), where jax has sqrt(2 * 8)
    assert found.strict == pytest.approx(math.sqrt(2.0))  # sqrt(2 * 1)
    assert found.worst == pytest.approx(1.0)
    assert found.met


def test_one_cell_behind_fails_the_row(page):
    found = only(page, cell(relgraph=1.0, numpy=100.0), cell(relgraph=1.0, numpy=0.94))
    assert found.ratio > 9
    assert not found.met


def test_cell_at_the_ceiling_counts_as_met(page):
    behind = {"relgraph": 1.0, "numpy": 0.8, "ceiling, all threads": 0.91}
    assert only(page, cell(**behind)).met
    assert only(page, cell(**behind)).ratio == pytest.approx(0.8)  # shown as it was measured
    assert not only(page, cell(**{**behind, "ceiling, all threads": 0.89})).met


def test_target_against_some_peers(page):
    times = cell(relgraph=1.0, numpy=2.0, numexpr=0.5, jax=3.0, pytensor=5.0)
    against_numpy, against_compilers = page.summaries({"cells": [{**times, "row": "tiny"}]})
    assert (against_numpy.peer, against_numpy.met) == ("numpy", True)
    assert (against_compilers.peer, against_compilers.met) == ("jax", False)  # 3 of the 4 asked


def test_workload_that_fails_is_not_met(page):
    found = only(page, cell(relgraph=1.0, numpy=9.0), cell(numpy=9.0))
    assert found.worst == 0.0
    assert not found.met
