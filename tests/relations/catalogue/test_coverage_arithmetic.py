"""One graph for each of the peer's rewrites of sums and products: what o4 makes of it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import relgraph as rg
from relgraph.checking.matching import canonical
from relgraph.relations.catalogue.arithmetic import distribute_multiply_addo

x, y, z = rg.vectors("x y z", 3)
n = rg.vector("n", 3, facts=("nonzero",))
PAGE = Path(__file__).parents[3] / "docs" / "coverage" / "arithmetic.md"

CASES = {
    "local_add_canonizer": [
        (x + y - x + z - y, z), (2 * x - y + 3 * x, 5 * x - y), ((x - y) - (z - y), x - z),
        (x * y - y * x + z, z),
    ],
    "local_mul_canonizer": [
        (n / n * x, x), (x * n / n, x), (x / n * n, x), (rg.square(x) * x, x**3.0),
        (0 * x + y, y), (n / rg.absolute(n), rg.sign(n)), (2 * x * 3, 6 * x),
        (3 * x / 4, 0.75 * x),
    ],
    "flatten_nested_add_mul": [((x + y) + (z - x), y + z)],
    "constant_fold_branches_of_add_mul": [(1 + x + 2, 3 + x), (2 * x * 4.0, 8 * x)],
    "local_neg_to_mul": [(-1 * x, -x), (y + -x + x, y)],
    "local_mul_specialize": [(-1 * x, -x), (1 * x * y, x * y), (y + 0 * x, y)],
    "local_add_remove_zeros": [(x + 0, x), (0.0 + x + y, x + y)],
    "local_sub_neg_to_add": [(x - (-y), x + y)],
    "local_add_neg_to_sub": [(x + (-y), x - y)],
    "local_neg_div_neg": [((-x) / (-y), x / y)],
    "useless_Neg_of_Neg": [(rg.negative(-x), x)],
    "local_div_by_one": [(x / 1, x)],
    "local_zero_div": [(0.0 / n + x, x)],
    "local_elemwise_sub_zeros": [(y + (x - x), y)],
}  # fmt: skip
ROWS = [(name, graph, made) for name, pairs in CASES.items() for graph, made in pairs]


def values(*graphs):
    """Return what graphs compute of the same arrays, by NumPy."""
    inputs = [x, y, z, n]
    rng = np.random.default_rng(5)
    arrays = [rng.uniform(0.5, 3, 3) for _ in inputs]
    return rg.function(inputs, list(graphs), mode=None, target="numpy")(*arrays)


@pytest.mark.parametrize(("name", "graph", "made"), ROWS, ids=[f"{r[0]}: {r[1]}" for r in ROWS])
def test_o4_does_it(name, graph, made):
    found = rg.rewrite_graph(graph, mode="o4")
    assert canonical(found) == canonical(rg.rewrite_graph(made, mode="o4")), found
    first, second = values(graph, found)
    np.testing.assert_allclose(first, second, rtol=1e-12)


@pytest.mark.shows("local_greedy_distributor")
def test_distribution_is_done_by_name():
    found = rg.rewrite_graph(x * (y + z), distribute_multiply_addo)
    assert found is x * y + x * z
    np.testing.assert_allclose(*values(found, x * (y + z)), rtol=1e-12)


def test_every_row_has_a_case():
    listed = re.findall(r"^\| `(\w+)`", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(listed) == {*CASES, "local_greedy_distributor"}
