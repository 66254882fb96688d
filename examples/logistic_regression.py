"""
A loss that overflows, made stable
==================================

The textbook loss of a logistic regression overflows; relgraph rewrites it so that it does not.
The data are the breast cancer measurements of scikit-learn.  The loss of weights w is the sum of
log(1 + exp(-y * (X @ w))) over the rows of X, with labels y of -1 and 1.  If a row is far on the
wrong side, exp overflows, and so does the loss.
"""

from __future__ import annotations

import mpmath
import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

import relgraph as rg


def loss_graph() -> tuple[tuple[rg.Input, ...], rg.Variable]:
    """Return the inputs and the loss in its textbook form."""
    X = rg.matrix("X", shape=("n", "k"))
    y = rg.vector("y", shape=("n",))
    w = rg.vector("w", shape=("k",))
    return (X, y, w), rg.sum(rg.log(1 + rg.exp(-y * (X @ w))))


def exact_loss(X: NDArray[np.float64], y: NDArray[np.float64], w: NDArray[np.float64]) -> float:
    """Compute the loss with 50 digits."""
    with mpmath.workdps(50):
        total = mpmath.mpf(0)
        for row, label in zip(X, y, strict=True):
            margin = mpmath.fdot(zip(row.tolist(), w.tolist(), strict=True))
            total += mpmath.log1p(mpmath.exp(-label * margin))
        return float(total)


def main() -> None:
    """Compare the loss as written with the rewritten one, at weights of growing size."""
    data = load_breast_cancer()
    X = np.ascontiguousarray(data.data)
    y = 2.0 * data.target - 1.0
    inputs, loss = loss_graph()
    stable = rg.rewrite_graph(loss, mode="stabilization")
    print(f"as written  {loss}")
    print(f"rewritten   {stable}")
    print(rg.explain(loss, mode="stabilization"))

    naive = rg.function(inputs, loss, mode=None)
    rewritten = rg.function(inputs, stable, mode=None)
    compiled = rg.function(inputs, loss)  # rewrites by default

    direction = np.random.default_rng(0).standard_normal(X.shape[1])
    print(f"{'scale of w':>10}  {'as written':>22}  {'rewritten':>22}  {'exact':>22}")
    for scale in (1e-3, 1e-2, 1e-1, 1.0):
        w = scale * direction
        values = [float(f(X, y, w)) for f in (naive, rewritten, compiled)]
        exact = exact_loss(X, y, w)
        independent = float(np.logaddexp(0.0, -y * (X @ w)).sum())
        print(f"{scale:>10}  {values[0]:>22.15e}  {values[1]:>22.15e}  {exact:>22.15e}")
        for value in (*values[1:], independent):
            assert abs(value - exact) <= 1e-12 * exact
    assert np.isinf(values[0])
    assert np.isfinite(values[1])


if __name__ == "__main__":
    main()
