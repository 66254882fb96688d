"""Short loops whose last vector overlaps the one before compute the same."""

import numpy as np
import pytest

from relgraph.lowering.loops.overlaps import with_overlaps
from relgraph.lowering.loops.verify import verify
from tests.lowering.loops.evaluation import interpreted, loops_of

RNG = np.random.default_rng(6)


def stencil(a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.25 * (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] - a[1:-1, :-2])
        a[1:-1, 1:-1] = 0.5 * b[1:-1, 1:-1] + b[1:-1, :-2]
    return a


@pytest.mark.parametrize(
    ("columns", "overlaps"),
    [(25, True), (17, True), (16, True), (18, False), (15, True), (9, False)],
)
def test_a_long_rest_is_a_vector(monkeypatch, columns, overlaps):
    (function,) = loops_of(monkeypatch, stencil, *RNG.uniform(0.5, 1.5, (2, 12, columns)), 20)
    new = with_overlaps(function)
    assert (new.body != function.body) == overlaps
    verify(new)
    for x, y in zip(interpreted(new), interpreted(function), strict=True):
        np.testing.assert_array_equal(x, y)


def halved(a, steps):
    for _ in range(steps):
        a[:, 1:] = 0.5 * a[:, 1:] + 1.0
    return a


def test_iterations_that_change_what_they_read_do_not_run_twice(monkeypatch):
    (function,) = loops_of(monkeypatch, halved, RNG.uniform(0.5, 1.5, (12, 24)), 20)
    assert with_overlaps(function).body[-1] == function.body[-1]
