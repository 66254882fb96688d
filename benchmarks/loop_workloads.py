"""Loops to time: each is one program for NumPy, relgraph, JAX and PyTensor, and one for numba.

A program takes a module of NumPy's functions, a namespace with JAX's loops, and its arrays.  The
functions for numba have every loop written out over scalars, and return new arrays, as the others.
"""
# ruff: noqa: PLR0917 - programs take their arrays by position

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

jit = numba.njit(error_model="numpy")


@dataclass(frozen=True)
class Workload:
    """A loop with its arrays.

    Attributes
    ----------
    name : str
        Its name, with its size.
    steps : int
        The iterations, of which a time is reported.
    program : callable
        ``program(m, loops, *arrays)``.
    by_hand : callable or None
        ``by_hand(*arrays)``, for numba.
    arrays : tuple of array
        The arguments.
    gradient : int
        How many of the first arguments the result is differentiated by; 0 for a value alone.
    """

    name: str
    steps: int
    program: Callable[..., Any]
    by_hand: Callable[..., Any] | None
    arrays: tuple[Any, ...]
    gradient: int = 0


# Kalman filter.


def kalman(m: Any, loops: Any, F: Any, Q: Any, H: Any, R: Any, x: Any, P: Any, Y: Any) -> Any:
    """Return the filtered states."""

    def step(state: Any, y: Any) -> Any:
        x, P = state
        x, P = F @ x, F @ P @ F.T + Q
        HP = H @ P
        K = m.linalg.solve(HP @ H.T + R, HP).T
        x = x + K @ (y - H @ x)
        return (x, P - K @ HP), x

    return loops.scan(step, (x, P), Y)[1]


@jit
def kalman_by_hand(
    F: Any, Q: Any, H: Any, R: Any, x0: Any, P0: Any, Y: Any
) -> Any:  # pragma: no cover - compiled
    """Return the filtered states of 4 states and 2 observations."""
    n = len(Y)
    X, x, P, xp = np.empty((n, 4)), np.empty(4), np.empty((4, 4)), np.empty(4)
    A, B, HP, K, e = (np.empty((4, 4)), np.empty((4, 4)), np.empty((2, 4)), np.empty((2, 4)),
                      np.empty(2))  # fmt: skip
    for i in range(4):
        x[i] = x0[i]
        for j in range(4):
            P[i, j] = P0[i, j]
    for t in range(n):
        for i in range(4):
            s = 0.0
            for p in range(4):
                s += F[i, p] * x[p]
            xp[i] = s
        for i in range(4):
            for j in range(4):
                s = 0.0
                for p in range(4):
                    s += F[i, p] * P[p, j]
                A[i, j] = s
        for i in range(4):
            for j in range(4):
                s = Q[i, j]
                for p in range(4):
                    s += A[i, p] * F[j, p]
                B[i, j] = s
        for i in range(2):
            for j in range(4):
                s = 0.0
                for p in range(4):
                    s += H[i, p] * B[p, j]
                HP[i, j] = s
        a, b, d = R[0, 0], R[1, 0], R[1, 1]
        for p in range(4):
            a += HP[0, p] * H[0, p]
            b += HP[1, p] * H[0, p]
            d += HP[1, p] * H[1, p]
        l0 = math.sqrt(a)
        l1 = b / l0
        l2 = math.sqrt(d - l1 * l1)
        for c in range(4):
            z0 = HP[0, c] / l0
            z1 = (HP[1, c] - l1 * z0) / l2
            K[1, c] = z1 / l2
            K[0, c] = (z0 - l1 * K[1, c]) / l0
        for i in range(2):
            s = Y[t, i]
            for p in range(4):
                s -= H[i, p] * xp[p]
            e[i] = s
        for i in range(4):
            x[i] = xp[i] + K[0, i] * e[0] + K[1, i] * e[1]
            X[t, i] = x[i]
            for j in range(4):
                P[i, j] = B[i, j] - K[0, i] * HP[0, j] - K[1, i] * HP[1, j]
    return X


def kalman_arrays(steps: int) -> tuple[Any, ...]:
    """Return a model of a position and a velocity in the plane, and observations."""
    Y = np.random.default_rng(1).standard_normal((steps, 2))
    F = np.eye(4) + 0.1 * np.eye(4, k=2)
    return F, 0.01 * np.eye(4), np.eye(2, 4), 0.1 * np.eye(2), np.zeros(4), np.eye(4), Y


def kalman_loss(m: Any, loops: Any, F: Any, Q: Any, R: Any, H: Any, x: Any, P: Any, Y: Any) -> Any:
    """Return the negative log-likelihood of the observations."""

    def step(state: Any, y: Any) -> Any:
        x, P, total = state
        x, P = F @ x, F @ P @ F.T + Q
        HP = H @ P
        S = HP @ H.T + R
        e = y - H @ x
        K = m.linalg.solve(S, HP).T
        total = total + 0.5 * (e @ m.linalg.solve(S, e) + m.log(m.linalg.det(S)))
        return (x + K @ e, P - K @ HP, total), None

    return loops.scan(step, (x, P, 0.0), Y)[0][2]


# Autoregressive series.


def ar1(m: Any, loops: Any, a: Any, E: Any) -> Any:
    """Return an autoregressive series."""

    def step(x: Any, e: Any) -> Any:
        x = a * x + e
        return x, x

    return loops.scan(step, 0.0, E)[1]


@jit
def ar1_by_hand(a: Any, E: Any) -> Any:  # pragma: no cover - compiled
    """Return an autoregressive series."""
    X, x = np.empty_like(E), 0.0
    for k in range(len(E)):
        x = a * x + E[k]
        X[k] = x
    return X


def ar1_loss(m: Any, loops: Any, a: Any, s: Any, Y: Any) -> Any:
    """Return the negative log-likelihood of a series."""

    def step(state: Any, y: Any) -> Any:
        before, total = state
        z = (y - a * before) / s
        return (y, total + 0.5 * z * z + m.log(s)), None

    return loops.scan(step, (0.0, 0.0), Y)[0][1]


def ar_batch(m: Any, loops: Any, a: Any, E: Any) -> Any:
    """Return the last values of independent series."""
    return loops.scan(lambda x, e: (a * x + e, None), E[0], E)[0]


@jit
def ar_batch_by_hand(a: Any, E: Any) -> Any:  # pragma: no cover - compiled
    """Return the last values of independent series."""
    T, n = E.shape
    x = E[0].copy()
    for t in range(T):
        for i in range(n):
            x[i] = a[i] * x[i] + E[t, i]
    return x


# A hidden Markov model.


def hmm(m: Any, loops: Any, start: Any, A: Any, B: Any, seen: Any) -> Any:
    """Return the log-likelihood of observations, by the forward pass."""

    def step(state: Any, o: Any) -> Any:
        alpha, total = state
        alpha = (alpha @ A) * B[o]
        c = m.sum(alpha)
        return (alpha / c, total + m.log(c)), None

    return loops.scan(step, (start, 0.0), seen)[0][1]


@jit
def hmm_by_hand(start: Any, A: Any, B: Any, seen: Any) -> Any:  # pragma: no cover - compiled
    """Return the log-likelihood of observations, by the forward pass."""
    k = len(start)
    alpha, new, total = start.copy(), np.empty(k), 0.0
    for t in range(len(seen)):
        o = seen[t]
        for j in range(k):
            new[j] = 0.0
        for i in range(k):
            x = alpha[i]
            for j in range(k):
                new[j] += x * A[i, j]
        c = 0.0
        for j in range(k):
            new[j] *= B[o, j]
            c += new[j]
        for j in range(k):
            alpha[j] = new[j] / c
        total += math.log(c)
    return total


def hmm_arrays(states: int, symbols: int, steps: int) -> tuple[Any, ...]:
    """Return a random model, and observations."""
    rng = np.random.default_rng(2)
    A, B = rng.random((states, states)), rng.random((symbols, states))
    A /= A.sum(1, keepdims=True)
    return np.full(states, 1 / states), A, B / B.sum(0), rng.integers(0, symbols, steps)


# Recurrent networks.


def rnn(m: Any, loops: Any, W: Any, U: Any, b: Any, X: Any) -> Any:
    """Return the states of a recurrent cell."""

    def step(h: Any, x: Any) -> Any:
        h = m.tanh(W @ h + U @ x + b)
        return h, h

    return loops.scan(step, b * 0, X)[1]


@jit
def rnn_by_hand(W: Any, U: Any, b: Any, X: Any) -> Any:  # pragma: no cover - compiled
    """Return the states of a recurrent cell."""
    T, k = X.shape
    n = len(b)
    h, H = np.zeros(n), np.empty((T, n))
    for t in range(T):
        for i in range(n):
            s = b[i]
            for j in range(n):
                s += W[i, j] * h[j]
            for j in range(k):
                s += U[i, j] * X[t, j]
            H[t, i] = math.tanh(s)
        for i in range(n):
            h[i] = H[t, i]
    return H


def rnn_loss(m: Any, loops: Any, W: Any, U: Any, b: Any, X: Any, Y: Any) -> Any:
    """Return the squared error of the states of a recurrent cell."""
    return m.sum((rnn(m, loops, W, U, b, X) - Y) ** 2)


def rnn_arrays(hidden: int, steps: int) -> tuple[Any, ...]:
    """Return weights and inputs."""
    rng = np.random.default_rng(3)
    W, U = rng.standard_normal((hidden, hidden)), rng.standard_normal((hidden, 8))
    X = rng.standard_normal((steps, 8))
    return W / np.sqrt(hidden), U / 3, 0.1 * rng.standard_normal(hidden), X


def gru(m: Any, loops: Any, W: Any, U: Any, b: Any, X: Any) -> Any:
    """Return the states of a gated recurrent cell, whose weights are stacked."""

    def gate(x: Any) -> Any:
        return 1 / (1 + m.exp(-x))

    def step(h: Any, x: Any) -> Any:
        z = gate(W[0] @ h + U[0] @ x + b[0])
        r = gate(W[1] @ h + U[1] @ x + b[1])
        new = m.tanh(W[2] @ (r * h) + U[2] @ x + b[2])
        h = (1 - z) * h + z * new
        return h, h

    return loops.scan(step, b[0] * 0, X)[1]


@jit
def gru_by_hand(W: Any, U: Any, b: Any, X: Any) -> Any:  # pragma: no cover - compiled
    """Return the states of a gated recurrent cell."""
    T, k = X.shape
    n = b.shape[1]
    h, z, g, H = np.zeros(n), np.empty(n), np.empty(n), np.empty((T, n))
    for t in range(T):
        for i in range(n):
            s, r = b[0, i], b[1, i]
            for j in range(n):
                s += W[0, i, j] * h[j]
                r += W[1, i, j] * h[j]
            for j in range(k):
                s += U[0, i, j] * X[t, j]
                r += U[1, i, j] * X[t, j]
            z[i] = 1 / (1 + math.exp(-s))
            g[i] = h[i] / (1 + math.exp(-r))
        for i in range(n):
            s = b[2, i]
            for j in range(n):
                s += W[2, i, j] * g[j]
            for j in range(k):
                s += U[2, i, j] * X[t, j]
            H[t, i] = (1 - z[i]) * h[i] + z[i] * math.tanh(s)
        for i in range(n):
            h[i] = H[t, i]
    return H


def gru_arrays(hidden: int, steps: int) -> tuple[Any, ...]:
    """Return stacked weights, and inputs."""
    parts = [rnn_arrays(hidden, steps) for _ in range(3)]
    W, U, b = (np.stack([(-1) ** k * p[i] for k, p in enumerate(parts)]) for i in range(3))
    return W, U, b, parts[0][3]


# Differential equations.


def lorenz(m: Any, loops: Any, s: Any, times: Any) -> Any:
    """Return a path of Lorenz's equations, by the classical Runge-Kutta method."""

    def slope(s: Any) -> Any:
        x, y, z = s[0], s[1], s[2]
        return m.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def step(s: Any, h: Any) -> Any:
        k1 = slope(s)
        k2 = slope(s + 0.5 * h * k1)
        k3 = slope(s + 0.5 * h * k2)
        k4 = slope(s + h * k3)
        s = s + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return s, s

    return loops.scan(step, s, times)[1]


@jit
def lorenz_by_hand(s: Any, times: Any) -> Any:  # pragma: no cover - compiled
    """Return a path of Lorenz's equations, by the classical Runge-Kutta method."""
    X = np.empty((len(times), 3))
    x, y, z = s[0], s[1], s[2]
    for t in range(len(times)):
        h = times[t]
        a1, b1, c1 = 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z
        u, v, w = x + 0.5 * h * a1, y + 0.5 * h * b1, z + 0.5 * h * c1
        a2, b2, c2 = 10.0 * (v - u), u * (28.0 - w) - v, u * v - 8.0 / 3.0 * w
        u, v, w = x + 0.5 * h * a2, y + 0.5 * h * b2, z + 0.5 * h * c2
        a3, b3, c3 = 10.0 * (v - u), u * (28.0 - w) - v, u * v - 8.0 / 3.0 * w
        u, v, w = x + h * a3, y + h * b3, z + h * c3
        a4, b4, c4 = 10.0 * (v - u), u * (28.0 - w) - v, u * v - 8.0 / 3.0 * w
        x += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        y += h / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4)
        z += h / 6.0 * (c1 + 2.0 * c2 + 2.0 * c3 + c4)
        X[t, 0], X[t, 1], X[t, 2] = x, y, z
    return X


def heat(m: Any, loops: Any, u: Any, steps: int) -> Any:
    """Return a temperature after explicit steps in place."""

    def step(_: Any, u: Any) -> Any:
        new = u[1:-1] + 0.25 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        if hasattr(u, "at"):
            return u.at[1:-1].set(new)
        u[1:-1] = new
        return u

    return loops.fori_loop(0, steps, step, u)


@jit
def heat_by_hand(u: Any, steps: int) -> Any:  # pragma: no cover - compiled
    """Return a temperature after explicit steps, of which each has one pass."""
    u = u.copy()
    n = len(u)
    new = u.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            new[i] = u[i] + 0.25 * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, new = new, u
    return u


# Newton's method.


def kepler(m: Any, loops: Any, M: Any) -> Any:
    """Return the solution of Kepler's equation for an eccentricity of 0.8."""

    def again(state: Any) -> Any:
        return m.abs(state[1]) > 1e-13

    def step(state: Any) -> Any:
        E = state[0]
        d = (E - 0.8 * m.sin(E) - M) / (1.0 - 0.8 * m.cos(E))
        return E - d, d

    return loops.while_loop(again, step, (M + 0.8, M * 0 + 1.0))[0]


@jit
def kepler_by_hand(M: Any) -> Any:  # pragma: no cover - compiled
    """Return the solution of Kepler's equation."""
    E, d = M + 0.8, 1.0
    while abs(d) > 1e-13:
        d = (E - 0.8 * math.sin(E) - M) / (1.0 - 0.8 * math.cos(E))
        E -= d
    return E


def keplers(m: Any, loops: Any, Ms: Any) -> Any:
    """Return the solutions for several anomalies, one after the other."""
    return loops.scan(lambda c, M: (c, kepler(m, loops, M)), 0.0, Ms)[1]


@jit
def keplers_by_hand(Ms: Any) -> Any:  # pragma: no cover - compiled
    """Return the solutions for several anomalies."""
    found = np.empty_like(Ms)
    for i in range(len(Ms)):
        found[i] = kepler_by_hand(Ms[i])
    return found


# Distance of texts.


def levenshtein(m: Any, loops: Any, a: Any, b: Any, first: Any) -> Any:
    """Return the number of changes from one text to another."""

    def row(above: Any, letter: Any) -> Any:
        def column(left: Any, pair: Any) -> Any:
            other, diagonal, up = pair
            new = m.minimum(m.minimum(left, up) + 1, diagonal + m.not_equal(letter, other))
            return new, new

        start = above[0] + 1
        _, rest = loops.scan(column, start, (b, above[:-1], above[1:]))
        return m.concatenate([m.reshape(start, (1,)), rest]), None

    return loops.scan(row, first, a)[0][-1]


@jit
def levenshtein_by_hand(a: Any, b: Any, first: Any) -> Any:  # pragma: no cover - compiled
    """Return the number of changes from one text to another."""
    row = first.copy()
    for i in range(len(a)):
        diagonal = row[0]
        row[0] += 1
        left = row[0]
        for j in range(len(b)):
            up = row[j + 1]
            left = min(min(left, up) + 1, diagonal + (a[i] != b[j]))
            row[j + 1] = left
            diagonal = up
    return row[-1]


def _workloads() -> list[Workload]:
    rng = np.random.default_rng(4)
    rows = [
        Workload(f"kalman T={T}", T, kalman, kalman_by_hand, kalman_arrays(T))
        for T in (10, 100, 1_000, 10_000)
    ]
    rows += [
        Workload(f"ar1 T={T}", T, ar1, ar1_by_hand, (np.float64(0.9), rng.standard_normal(T)))
        for T in (10, 1_000, 10_000)
    ]
    rows.append(Workload("hmm K=10 T=1000", 1_000, hmm, hmm_by_hand, hmm_arrays(10, 6, 1_000)))
    rows += [
        Workload(f"{name} h={h} T=100", 100, program, by_hand, arrays(h, 100))
        for h in (16, 64)
        for name, program, by_hand, arrays in (
            ("rnn", rnn, rnn_by_hand, rnn_arrays),
            ("gru", gru, gru_by_hand, gru_arrays),
        )
    ]
    start, times = np.array([1.0, 1.0, 1.0]), np.full(1_000, 0.01)
    rows.append(Workload("lorenz T=1000", 1_000, lorenz, lorenz_by_hand, (start, times)))
    rows.append(Workload("kepler n=1", 7, kepler, kepler_by_hand, (np.float64(0.7),)))
    anomalies = np.linspace(0.1, 3.0, 1_000)
    rows.append(Workload("kepler n=1000", 1_000, keplers, keplers_by_hand, (anomalies,)))
    series = (rng.uniform(-0.9, 0.9, 1_000), rng.standard_normal((500, 1_000)))
    rows.append(Workload("ar batch n=1000 T=500", 500, ar_batch, ar_batch_by_hand, series))
    a, b = rng.integers(0, 4, 200), rng.integers(0, 4, 180)
    texts = (a, b, np.arange(len(b) + 1))
    rows.append(Workload("levenshtein 200x180", 36_000, levenshtein, levenshtein_by_hand, texts))
    rows.append(Workload("heat n=1000 T=500", 500, heat, heat_by_hand, (rng.random(1_000), 500)))
    F, Q, H, R, x, P, Y = kalman_arrays(200)
    rows.append(Workload("grad kalman T=200", 200, kalman_loss, None, (F, Q, R, H, x, P, Y), 3))
    W, U, c, X = rnn_arrays(16, 100)
    weights = (W, U, c, X, rng.standard_normal((100, 16)))
    rows.append(Workload("grad rnn h=16 T=100", 100, rnn_loss, None, weights, 3))
    noisy = (np.float64(0.5), np.float64(1.2), rng.standard_normal(1_000))
    rows.append(Workload("grad ar1 T=1000", 1_000, ar1_loss, None, noisy, 2))
    return rows


WORKLOADS = {row.name: row for row in _workloads()}
