"""Bounds of rounding errors hold for float32, whose errors float64 shows."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg
from relgraph.checking.rounding.running_error import error_bounds

GRAPHS = {
    "products": lambda A, x: A.T @ (A @ x),
    "softmax": lambda A, x: rg.softmax(A, axis=1) @ x,
    "cancellation": lambda A, x: rg.sum(A, axis=0) * x - x * rg.sum(A, axis=0) + x,
    "elementwise": lambda A, x: rg.log(1 + rg.exp(x)) * rg.tanh(A) / (2 + rg.cos(x)),
    "variance": lambda A, x: rg.var(A + 100, axis=0),
    "views": lambda A, x: np.concatenate([x * x, A[0] / 3])[::-2],
    "norm": lambda A, x: rg.sqrt(rg.sum(rg.square(A))) + rg.max(x * x),
    "einsum": lambda A, x: np.einsum("ij,j,j->i", A, x, x),
}


@pytest.mark.parametrize("name", list(GRAPHS))
def test_errors_are_within_the_bound(name):
    rng = np.random.default_rng(0)
    for m, n in ((1, 1), (30, 40), (200, 3)):
        a, b = rng.normal(size=(m, n)).astype("float32"), rng.normal(size=n).astype("float32")
        A, x = rg.matrix("A", ("m", "n"), "float32"), rg.vector("x", ("n",), "float32")
        graph = GRAPHS[name](A, x)
        exact = rg.evaluate(GRAPHS[name](A.astype("float64"), x.astype("float64")), {A: a, x: b})
        (bound,) = error_bounds([graph], {A: a, x: b})
        error = np.abs(rg.evaluate(graph, {A: a, x: b}).astype("float64") - exact)
        assert (error <= bound).all()
        assert np.max(bound) < 1  # a bound that says something


def test_what_has_no_bound():
    A = rg.matrix("A", ("n", "n"))
    a = np.eye(3)
    assert error_bounds([rg.inv(A)], {A: a}) is None
    assert error_bounds([rg.fori_loop(0, 3, lambda i, X: X @ X, A)], {A: a}) is None
    assert error_bounds([rg.where(A * A > 0.1, A, 0)], {A: a}) is None
    assert (error_bounds([rg.where(A > 0.1, A, 0)], {A: a})[0] == 0).all()


def test_exact_values_have_no_error():
    A = rg.matrix("A", ("n", "n"))
    (bound,) = error_bounds([A.T[::-1]], {A: np.eye(3)})
    assert np.all(np.asarray(bound) == 0)
