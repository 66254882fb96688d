"""The order of a loop's statements: arrays are read before they change, and change in place."""

import numpy as np
import pytest

from relgraph.lowering.loops.nodes import Store, walk
from tests.lowering.loops.evaluation import loops_of

RNG = np.random.default_rng(7)


def chosen(x, steps):
    for _ in range(steps):
        total = np.sum(x)
        if x[3] > 0.5:
            x[0] = 1.0
        else:
            x[1] = 2.0
        x[5] = total / len(x)
    return x


def two_arrays(x, steps):
    y = np.zeros_like(x)
    for _ in range(steps):
        y[1:-1] = 0.3 * (x[2:] - 2.0 * x[1:-1] + x[:-2]) + x[1:-1]
        x[1:-1] = 0.3 * (y[2:] - 2.0 * y[1:-1] + y[:-2]) + y[1:-1]
    return x


@pytest.mark.parametrize(("program", "count"), [(chosen, 4), (two_arrays, 4)])
def test_arrays_change_where_they_are(monkeypatch, program, count):
    """The stores are those of the program, and of a copy of each argument."""
    (function,) = loops_of(monkeypatch, program, RNG.uniform(0, 1, 100), 20)
    status = function.arrays[-1]
    stores = [s for s in walk(function.body) if isinstance(s, Store) and s.buffer is not status]
    assert len(stores) == count
