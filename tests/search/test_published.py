"""Expressions from the literature: the search finds a program as cheap as the best by hand."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import relgraph as rg
from tests.acceptance.published import Row
from tests.flop_counter import count
from tests.search.published_rows import CANCELLING_ROWS, ROWS

MARGIN = 1.02
ALL = ROWS | CANCELLING_ROWS

# The rows that the search does not reach; a row that it reaches must go.
SHORT = {
    "trace of three, thin": "no law turns the sum of an elementwise product into a trace",
    "elements of a low-rank matrix": "no law turns the sum of an elementwise product into a trace",
    "inverse of an inverse sum": "no law takes inv(A) and inv(B) out of their sum",
    "two Householders": "a multiple of a scaled vector is computed after it is scaled",
    "push-through": "mode o4, which runs first, makes a call of gemm, which the search keeps whole",
}

NUMPY = {
    "col": lambda x: x[:, None],
    "cs": lambda x: x.sum(axis=0),
    "det": np.linalg.det,
    "diag": np.diag,
    "eye": lambda n, like: np.eye(n),
    "inv": np.linalg.inv,
    "ones": lambda m, n: np.ones((m, n)),
    "outer": np.outer,
    "rs": lambda x: x.sum(axis=1),
    "sum_": np.sum,
    "tr": np.trace,
}


def optimized(row: Row, sizes: dict[str, int]) -> rg.FunctionGraph:
    """Return the cheapest program found; cancelling laws take part where a row needs them."""
    exclude = () if row.name in CANCELLING_ROWS else None
    return rg.optimize(row.graph(row.naive, sizes), cost="flops", exclude=exclude)


@cache
def flops(name: str) -> tuple[int, int, int, int]:
    """Return the operations as written, by the search, in mode o5, and of the best form."""
    row = ALL[name]
    written = row.graph(row.naive, row.sizes)
    graphs = (
        written,
        optimized(row, row.sizes),
        rg.rewrite_graph(written, mode="o5"),
        row.graph(row.target, row.sizes),
    )
    a, b, c, d = [rg.flops(graph.outputs) for graph in graphs]
    return a, b, c, d


@pytest.mark.parametrize("name", ALL)
def test_the_search_is_as_good_as_by_hand(name):
    written, found, _, best = flops(name)
    assert found <= written
    assert (found <= MARGIN * best + 2) is (name not in SHORT), (written, found, best)


@pytest.mark.parametrize("name", ROWS)
def test_the_mode_never_costs_more_than_what_is_written(name):
    written, _, by_mode, _ = flops(name)
    assert by_mode <= MARGIN * written


@pytest.mark.parametrize("name", ALL)
def test_the_values_are_those_of_numpy(name):
    row = ALL[name]
    sizes = {"n": 24, "m": 18, "k": 3, "q": 5, "b": 2}
    arrays = row.arrays(sizes)
    expected = eval(row.naive, NUMPY | sizes | arrays)
    scale = np.max(np.abs(expected))
    for graph in (optimized(row, sizes), row.graph(row.target, sizes)):
        (value,) = count(graph, arrays).values
        np.testing.assert_allclose(value, expected, rtol=1e-7, atol=1e-8 * scale)
