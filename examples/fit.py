"""
Train three models
==================

The models are a logistic regression, a small neural network, and a Gaussian process.  Each loss is
written once, with NumPy's functions, and ``rg.grad`` gives its gradient.  The logistic regression
keeps its weights in a shared variable that ``updates`` change; the other two pass values in and
out, the network in place by ``donate``.  Every result is compared with scikit-learn's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

import relgraph as rg

Array = NDArray[np.float64]


def train(name: str, step: Callable[[], float], steps: int) -> float:
    """Run a step many times beside a bar of progress, and return the last loss."""
    width, loss = 30, float("nan")
    shows = sys.stdout.isatty()
    for k in range(1, steps + 1):
        loss = float(step())
        if shows and (k == steps or k % max(1, steps // 100) == 0):
            bar = "#" * (width * k // steps)
            print(f"\r{name:20} [{bar:{width}}] {k}/{steps}  loss {loss:.6f}", end="", flush=True)
    print(f"\r{name:20} [{'#' * width}] {steps}/{steps}  loss {loss:.6f}")
    return loss


def data() -> tuple[Array, Array]:
    """Return standardised measurements with a column of ones, and labels of 0 and 1."""
    loaded = load_breast_cancer()
    X = (loaded.data - loaded.data.mean(axis=0)) / loaded.data.std(axis=0)
    return np.column_stack([X, np.ones(len(X))]), loaded.target.astype(float)


def logistic_regression(X: Array, t: Array) -> None:
    """Minimise the penalised logistic loss by Nesterov's method, with state in shared variables."""
    n, k = X.shape
    A, y = rg.matrix("A", (n, k)), rg.vector("y", n)
    w = rg.shared(np.zeros(k), name="w")
    ahead = rg.shared(np.zeros(k), name="ahead")
    penalty = np.append(np.ones(k - 1), 0.0)  # scikit-learn does not penalise the intercept

    def loss(w: Any) -> Any:
        margin = A @ w
        return rg.sum(rg.log(1 + rg.exp(margin)) - y * margin) + 0.5 * rg.sum(penalty * w * w)

    rate = 1 / (np.linalg.norm(X, 2) ** 2 / 4 + 1)
    new = ahead - rate * rg.grad(loss(ahead), ahead)
    momentum = (1 - np.sqrt(rate)) / (1 + np.sqrt(rate))
    step = rg.function([A, y], loss(ahead), updates={w: new, ahead: new + momentum * (new - w)})
    train("logistic regression", lambda: step(X, t), 3000)
    fitted = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X[:, :-1], t)
    expected = np.append(fitted.coef_[0], fitted.intercept_)
    apart = float(np.max(np.abs(w.get_value() - expected)))
    print(f"  largest difference from scikit-learn's weights: {apart:.0e}")
    assert apart < 1e-4


def network(X: Array, t: Array) -> None:
    """Train a network with one hidden layer by gradient descent, in the memory of its weights."""

    def loss(weights: dict[str, Any], X: Any, t: Any) -> Any:
        hidden = np.tanh(X @ weights["hidden"])
        margin = hidden @ weights["output"]
        return np.mean(np.log(1 + np.exp(margin)) - t * margin)

    def step(weights: dict[str, Any], X: Any, t: Any) -> Any:
        value, gradient = rg.value_and_grad(loss)(weights, X, t)
        return value, {name: w - 0.5 * gradient[name] for name, w in weights.items()}

    compiled = rg.jit(step, donate="weights")
    rng = np.random.default_rng(0)
    state = {
        "hidden": 0.3 * rng.standard_normal((X.shape[1], 16)),
        "output": 0.3 * rng.standard_normal(16),
    }

    def advance() -> float:
        nonlocal state
        value, state = compiled(state, X, t)
        return float(value)

    train("neural network", advance, 300)
    right = np.mean((np.tanh(X @ state["hidden"]) @ state["output"] > 0) == t)
    peer = MLPClassifier((16,), activation="tanh", alpha=0, max_iter=300, random_state=0)
    other = peer.fit(X, t).score(X, t)
    print(f"  correct on the training data: {right:.3f}, scikit-learn {other:.3f}")
    assert right > 0.97


def gaussian_process() -> None:
    """Maximise the marginal likelihood of a Gaussian process; SciPy chooses the steps."""
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(-3, 3, 60))
    y = np.sin(2 * x) + 0.2 * rng.standard_normal(60)
    squares = (x[:, None] - x[None, :]) ** 2

    def loss(theta: Any, squares: Any, y: Any) -> Any:
        signal, length, noise = np.exp(theta[0]), np.exp(theta[1]), np.exp(theta[2])
        K = signal * np.exp(-0.5 * squares / length**2) + noise * np.eye(60)
        _, log_determinant = np.linalg.slogdet(K)
        return 0.5 * (y @ np.linalg.solve(K, y) + log_determinant + 60 * np.log(2 * np.pi))

    objective = rg.value_and_grad(loss)
    values: list[float] = []

    def evaluated(theta: Array) -> tuple[float, Array]:
        value, gradient = objective(theta, squares, y)
        values.append(float(value))
        return float(value), gradient

    best = minimize(evaluated, np.zeros(3), jac=True, method="L-BFGS-B")
    train("Gaussian process", iter(values).__next__, len(values))
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    peer = GaussianProcessRegressor(kernel, alpha=0.0).fit(x[:, None], y)
    expected = -peer.log_marginal_likelihood_value_
    print(f"  negative log likelihood: {best.fun:.6f}, scikit-learn {expected:.6f}")
    assert best.fun < expected + 1e-4


def main() -> None:
    """Run all three."""
    X, t = data()
    logistic_regression(X, t)
    network(X, t)
    gaussian_process()


if __name__ == "__main__":
    main()
