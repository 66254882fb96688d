"""Turns of contenders, and what follows from their times."""

from __future__ import annotations

import math

import pytest

from relgraph.measurement.windows import Plan, Timing, measure, ratio


def test_contenders_take_turns_until_the_rounds_are_done():
    calls = []
    contenders = {name: lambda name=name: calls.append(name) for name in "abc"}
    timings = measure(contenders, Plan(rounds=5, window=0.0, attempts=1, patience=0.0))
    assert {name: len(x.turns) for name, x in timings.items()} == {"a": 5, "b": 5, "c": 5}
    rounds = calls[-15:]  # a window of one call, after the calls that count how many fill it
    assert all(sorted(rounds[i : i + 3]) == ["a", "b", "c"] for i in range(0, 15, 3))


def test_after_the_deadline_every_contender_has_one_turn():
    timings = measure({"a": int, "b": int}, Plan(rounds=9, window=1e-4, deadline=-math.inf))
    assert {len(x.turns) for x in timings.values()} == {1}


def test_the_ratio_is_the_median_over_rounds_with_its_noise():
    slow, fast = Timing(turns=[2.0, 4.0, 6.0, 80.0]), Timing(turns=[1.0, 2.0, 3.0, 20.0])
    value, noise = ratio(slow, fast)
    assert value == 2.0
    assert noise == pytest.approx(1.86 * 0.25 / 2)  # the quartiles are 2 and 2.5
    assert ratio(Timing(turns=[3.0]), Timing(turns=[1.0])) == (3.0, math.inf)


def test_the_median_is_that_of_quiet_windows():
    assert Timing(kept=[1.0, 3.0, 2.0], disturbed=[0.1]).seconds == 2.0
    assert Timing(disturbed=[5.0, 4.0]).seconds == 4.0
