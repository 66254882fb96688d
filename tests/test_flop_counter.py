"""The independent counter of operations, against counts by hand."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg
from relgraph.ir.graph import FunctionGraph
from tests.flop_counter import count

RNG = np.random.default_rng(0)
ARRAYS = {
    "A": RNG.normal(size=(6, 6)) + 6 * np.eye(6),
    "B": RNG.normal(size=(6, 4)),
    "x": RNG.normal(size=6),
}
A, B, x = rg.matrix("A", shape=(6, 6)), rg.matrix("B", shape=(6, 4)), rg.vector("x", shape=(6,))


@pytest.mark.parametrize(
    ("graph", "flops"),
    [(A @ B, 2 * 6 * 6 * 4),
     (A @ x, 2 * 36),
     (B @ B.T, 6 * 6 * 4),
     (B.T @ B, 6 * 4 * 4),
     (A @ A, 2 * 6**3),
     (rg.exp(A) + x, 36 + 36),
     (rg.sum(A * A, axis=0), 36 + 36),
     (rg.solve(A, B), round(2 / 3 * 6**3) + 2 * 36 * 4),
     (rg.solve_triangular(A, x), 36),
     (rg.inv(A), 2 * 6**3),
     (rg.det(A), round(2 / 3 * 6**3)),
     (rg.trace(A.T), 6),
     (rg.concatenate([A, B], axis=1)[:, 1:3].T, 0)],
)  # fmt: skip
def test_counts(graph, flops):
    counted = count(FunctionGraph([A, B, x], [graph]), ARRAYS)
    assert counted.flops == flops
    np.testing.assert_allclose(
        counted.values[0], rg.evaluate(graph, {v: ARRAYS[v.name] for v in (A, B, x)})
    )


def test_a_shared_product_counts_once():
    product = A @ B
    counted = count(FunctionGraph([A, B, x], [product + product]), ARRAYS)
    assert counted.by_op == {"matmul": 2 * 36 * 4, "add": 24}


def test_an_unknown_op_raises():
    with pytest.raises(NotImplementedError, match="does not know"):
        count(FunctionGraph([A, B, x], [rg.expm(A)]), ARRAYS)
