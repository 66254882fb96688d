"""
Fit a Kalman filter by gradient
===============================

A particle moves with a random acceleration, and its position is measured with noise.  The
log-likelihood of a thousand measurements is one ``rg.scan``, whose body predicts and corrects the
state.  Its gradient is a scan in the other direction, so Newton's method on the logarithms of both
variances needs no derivation by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import relgraph as rg

STEPS, DT = 1000, 0.1
MOVE = np.array([[1.0, DT], [0.0, 1.0]])
KICK = np.array([[DT**3 / 3, DT**2 / 2], [DT**2 / 2, DT]])  # the covariance of a random kick
LOOK = np.array([[1.0, 0.0]])


def simulated(rng: np.random.Generator, acceleration: float, noise: float) -> Any:
    """Return measurements of a particle."""
    state, factor, seen = np.zeros(2), np.linalg.cholesky(KICK * acceleration), []
    for _ in range(STEPS):
        state = MOVE @ state + factor @ rng.standard_normal(2)
        seen.append(LOOK @ state + np.sqrt(noise) * rng.standard_normal(1))
    return np.array(seen)


def loss(logs: Any, measured: Any) -> Any:
    """Return the negative log-likelihood, up to a constant; ``logs`` has those of the variances."""
    Q, R = np.exp(logs[0]) * KICK, np.exp(logs[1]) * np.eye(1)

    def step(carry: Any, y: Any) -> Any:
        x, P = carry
        x, P = MOVE @ x, MOVE @ P @ MOVE.T + Q
        S = LOOK @ P @ LOOK.T + R
        gain = np.linalg.solve(S, LOOK @ P).T
        error = y - LOOK @ x
        term = error @ np.linalg.solve(S, error) + np.log(np.linalg.det(S))
        return (x + gain @ error, P - gain @ LOOK @ P), term

    return rg.scan(step, (np.zeros(2), np.eye(2)), measured)[1].sum() / 2


def main() -> None:
    """Fit both variances to simulated measurements."""
    true = np.log([0.5, 0.2])
    measured = simulated(np.random.default_rng(0), *np.exp(true))
    value_and_gradient = rg.value_and_grad(loss)
    curvature = rg.hessian(loss)
    logs = np.zeros(2)
    for iteration in range(8):
        value, gradient = value_and_gradient(logs, measured)
        print(f"{iteration}: loss {value:9.3f}, variances {np.exp(logs).round(3)}")
        if np.abs(gradient).max() < 1e-8:
            break
        logs = logs - np.linalg.solve(curvature(logs, measured), gradient)
    assert np.abs(gradient).max() < 1e-6
    deviations = np.sqrt(np.diag(np.linalg.inv(curvature(logs, measured))))
    assert (np.abs(logs - true) < 4 * deviations).all()


if __name__ == "__main__":
    main()
