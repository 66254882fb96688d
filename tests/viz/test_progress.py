"""Bars on a terminal, and records of the logger "relgraph"."""

import logging

import relgraph as rg
from relgraph.viz.progress import progress
from tests.terminal import on_a_terminal

LONG = """
import time
from relgraph.viz import progress
progress.DELAY = 0.05
for _ in progress.progress(range(20), "rounds"):
    time.sleep({seconds})
print("done")
"""


def test_items_pass_without_a_bar_where_there_is_no_terminal(capsys):
    assert list(progress(range(3), "numbers")) == [0, 1, 2]
    rg.check(square_roots)
    assert capsys.readouterr() == ("", "")


def test_long_work_shows_a_bar_on_a_terminal():
    shown = on_a_terminal("-c", LONG.format(seconds=0.02))
    assert "rounds" in shown
    assert "/20" in shown
    assert "done" in shown


def test_short_work_shows_none():
    assert on_a_terminal("-c", LONG.format(seconds=0)).split() == ["done"]


@rg.identity(where=rg.nonnegativeo, specials="assumes_finite")
def square_roots(x):
    """sqrt(x^2) = x, for nonnegative x."""
    return rg.sqrt(rg.square(x)), x


def test_checks_and_benchmarks_make_records(caplog):
    x = rg.vector("x", "n")
    with caplog.at_level(logging.INFO, "relgraph"):
        rg.check(square_roots)
        rg.benchmark(rg.exp(x) + 1, sizes={"n": 10}, budget=0.5)
    texts = [record.getMessage() for record in caplog.records if record.name == "relgraph"]
    assert texts[0].startswith("checked square_roots: ")
    assert "budget 0.5 s: Rewriting gains nothing" in texts[-1]
