"""The table, the verdict and the crossover of a benchmark, from given times."""

from __future__ import annotations

import json
import math

import pytest

from relgraph.measurement.results import Benchmark, Measured, Point, time_text
from relgraph.measurement.windows import Ratio


def row(name, value, noise=0.01, seconds=1e-3, rounds=21, **more):
    speedup = Ratio(value, noise)
    return Measured(name, seconds, seconds / 100, speedup, 0.5, rounds, 0, 1200, 800, 1, 0, **more)


def found(*speedups, changed=True, **options):
    points = [
        Point(
            {"n": 10 ** (i + 1)},
            (row("as written", 1.0, 0.0), row("rewritten", x, **options))[: 1 + changed],
        )
        for i, x in enumerate(speedups)
    ]
    return Benchmark(tuple(points), changed, {}, 10.0, 1.0)


@pytest.mark.parametrize(
    ("value", "noise", "rounds", "verdict"),
    [
        (2.0, 0.1, 21, "faster"),
        (0.5, 0.1, 21, "slower"),
        (1.01, 0.01, 21, "equal"),
        (1.04, 0.03, 21, "equal"),
        (1.3, 0.2, 21, "too noisy to tell"),
        (2.0, 0.1, 2, "too noisy to tell"),
        (2.0, math.inf, 21, "too noisy to tell"),
    ],
)
def test_verdicts(value, noise, rounds, verdict):
    assert row("rewritten", value, noise, rounds=rounds).verdict == verdict


def test_sentences():
    assert found(2.5).verdict == "The rewritten graph is 2.5 times as fast as written."
    assert found(0.5).verdict == "The rewritten graph is 2 times as slow as written."
    assert found(1.0).verdict == "Rewriting gains nothing here: the ratio is 1.00 +- 0.02."
    assert found(1.3, noise=0.2).verdict.startswith("The machine was too noisy to tell")
    assert found(1.0, changed=False).verdict == (
        "Rewriting gains nothing here: it leaves the graph as written."
    )
    assert "give more than budget=10" in found(2.0, rounds=1).verdict


def test_the_crossover_lies_between_sizes_where_the_verdict_changes():
    assert found(0.5, 2.0).crossover == pytest.approx((10**1.5,))
    assert found(0.5, 0.9, 2.0, 0.25).crossover == pytest.approx(
        (10 ** (2 + math.log(0.9) / math.log(0.45)), 10 ** (3 + 1 / 3))
    )
    assert found(2.0, 3.0).crossover == ()
    assert found(0.995, 2.0).crossover == ()  # the first is no difference
    assert found(2.0).crossover == ()


TABLE = """\
n = 10
            a call     +-  times as fast  first call  flops  bytes  kernels  calls     ULP
as written    1 ms  10 µs           1.00      500 ms  1,200    800        1      0
rewritten     1 ms  10 µs           2.50      500 ms  1,200    800        1      0  3 of 9
The rewritten graph is 2.5 times as fast as written.
jax is left out: it is not installed"""


def test_the_table():
    rows = row("as written", 1.0, 0.0), row("rewritten", 2.5, ulps=3.0, bound=9)
    reason = {"jax": "it is not installed"}
    assert str(Benchmark((Point({"n": 10}, rows),), True, reason, 10.0, 1.0)) == TABLE


def test_json_has_only_finite_numbers(tmp_path):
    result = found(2.0, noise=math.inf)
    text = result.to_json(tmp_path / "result.json")
    data = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert data == json.loads(text)
    assert data["points"][0]["rows"][1]["noise"] is None
    assert data["points"][0]["rows"][1]["flops"] == 1200


@pytest.mark.parametrize("speedups", [(2.0,), (0.5, 2.0)])
def test_the_plot_has_a_mark_for_each_row(speedups):
    pytest.importorskip("matplotlib")
    axes = found(*speedups).plot()
    if len(speedups) == 1:
        assert [x.get_text() for x in axes.get_yticklabels()] == ["as written", "rewritten"]
    else:
        assert len(axes.lines) == 3  # two curves and the crossover
        assert list(axes.lines[0].get_xdata()) == [10, 100]


def test_times_have_units():
    times = [2.5, 0.1234, 5e-5, 3.21e-9, 0.9999e-3]
    assert [time_text(x) for x in times] == ["2.5 s", "123 ms", "50 µs", "3.21 ns", "1000 µs"]
