"""Statistical and machine-learning models: a loss of parameters, as NumPy would compute it.

Each is written once, for a module of NumPy's functions: NumPy itself, ``relgraph.numpy``, or
another library's.  A second module has the functions that NumPy does not have.
"""
# ruff: noqa: PLR0917 - a model takes its parameters and its data by position

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import relgraph as rg

# The second module for graphs.
GRAPHS = types.SimpleNamespace(
    gammaln=rg.gammaln,
    erf=rg.erf,
    logsumexp=lambda x: rg.logsumexp(x, axis=-1),
    cholesky=rg.cholesky,
    solve_triangular=lambda L, b: rg.solve_triangular(L, b, lower=True),
)


@dataclass(frozen=True)
class Model:
    """A loss, its parameters and its data.

    Attributes
    ----------
    loss : callable
        ``loss(m, s, *parameters, *data)``, where ``m`` has NumPy's functions and ``s`` the special
        ones: gammaln, logsumexp, erf, solve_triangular, cholesky.
    parameters, data : tuple of array
        The loss is differentiated with respect to the parameters.
    """

    loss: Callable[..., Any]
    parameters: tuple[np.ndarray, ...]
    data: tuple[np.ndarray, ...] = ()


MODELS: dict[str, Model] = {}


def model(*parameters: Any, data: tuple[Any, ...] = ()) -> Callable[[Any], Any]:
    """Add a model under the name of its loss."""

    def add(loss: Any) -> Any:
        arrays = tuple([np.asarray(p, float) for p in parameters])
        MODELS[loss.__name__] = Model(loss, arrays, tuple([np.asarray(d) for d in data]))
        return loss

    return add


random = np.random.default_rng(2026)


def normal(*shape: int) -> np.ndarray:
    """Return standard normal numbers."""
    return random.normal(size=shape)


N, P = 40, 4
X = normal(N, P)
BINARY = (random.random(N) < 0.5).astype(float)
COUNTS = random.poisson(2.0, N).astype(float)
TARGET = normal(N)
GROUP = random.integers(0, 5, N)


@model(normal(P), data=(X, BINARY))
def logistic(m, s, w, X, y):
    """Logistic regression with a normal prior."""
    eta = X @ w
    return m.sum(m.log(1 + m.exp(eta)) - y * eta) + 0.5 * m.sum(w**2)


@model(0.3 * normal(P), data=(X, COUNTS))
def poisson(m, s, w, X, y):
    """Poisson regression."""
    eta = X @ w
    return m.sum(m.exp(eta) - y * eta + s.gammaln(y + 1))


@model(0.3 * normal(P), [0.4], data=(X, COUNTS))
def negative_binomial(m, s, w, a, X, y):
    """Negative binomial regression with a log link."""
    r, mu = m.exp(a[0]), m.exp(X @ w)
    terms = s.gammaln(y + r) - s.gammaln(r) - s.gammaln(y + 1)
    return -m.sum(terms + r * m.log(r / (r + mu)) + y * m.log(mu / (r + mu)))


@model(normal(P), [0.1], [0.7], data=(X, TARGET))
def student_t(m, s, w, log_scale, log_df, X, y):
    """Robust regression with Student's t distribution."""
    nu, scale = m.exp(log_df[0]), m.exp(log_scale[0])
    z = (y - X @ w) / scale
    constant = s.gammaln((nu + 1) / 2) - s.gammaln(nu / 2) - 0.5 * m.log(nu * np.pi) - log_scale[0]
    return -m.sum(constant - (nu + 1) / 2 * m.log1p(z**2 / nu))


@model(normal(5, 2), normal(2), [0.2, -0.3, 0.1], data=(X[:, 0], TARGET, GROUP))
def hierarchical(m, s, b, mu, log_scales, x, y, group):
    """Regression with an intercept and a slope for each group."""
    scales = m.exp(log_scales)
    prior = m.sum(((b - mu) / scales[:2]) ** 2) / 2 + 5 * m.sum(log_scales[:2])
    rows = b[group]
    residual = (y - rows[:, 0] - rows[:, 1] * x) / scales[2]
    return prior + m.sum(residual**2) / 2 + len(x) * log_scales[2] + m.sum(mu**2) / 2


TIMES = np.linspace(0.0, 1.0, 15)
GAPS = (TIMES[:, None] - TIMES[None, :]) ** 2
SIGNAL = np.sin(6 * TIMES) + 0.1 * normal(15)


def covariance(m, theta):
    """Return a squared exponential covariance with noise."""
    return m.exp(theta[0]) * m.exp(-0.5 * GAPS * m.exp(-2 * theta[1])) + m.exp(theta[2]) * np.eye(
        len(TIMES)
    )


@model([0.1, -1.0, -2.0], data=(SIGNAL,))
def gaussian_process(m, s, theta, y):
    """Marginal likelihood of a Gaussian process, by Cholesky's factor."""
    L = s.cholesky(covariance(m, theta))
    z = s.solve_triangular(L, y)
    return 0.5 * m.sum(z**2) + m.sum(m.log(m.diagonal(L)))


@model([0.1, -1.0, -2.0], data=(SIGNAL,))
def gaussian_process_by_solve(m, s, theta, y):
    """Marginal likelihood of a Gaussian process, by a solution and a determinant."""
    K = covariance(m, theta)
    return 0.5 * (y @ m.linalg.solve(K, y)) + 0.5 * m.linalg.slogdet(K)[1]


@model(normal(3), [-1.0, 0.5, 2.0], [0.1, -0.2, 0.3], data=(normal(60),))
def gaussian_mixture(m, s, logits, means, log_scales, x):
    """A mixture of three normal distributions."""
    weights = logits - s.logsumexp(logits)
    z = (x[:, None] - means) / m.exp(log_scales)
    return -m.sum(s.logsumexp(weights - log_scales - 0.5 * z**2))


@model(0.5 * normal(P, 6), normal(6), 0.5 * normal(6, 1), data=(X, TARGET[:, None]))
def perceptron(m, s, W, b, V, X, y):
    """A network with one hidden layer."""
    hidden = m.tanh(X @ W + b)
    return m.mean((hidden @ V - y) ** 2) + 1e-3 * (m.sum(W**2) + m.sum(V**2))


@model(0.5 * normal(P, 3), normal(3), data=(X, np.eye(3)[random.integers(0, 3, N)]))
def softmax_regression(m, s, W, b, X, labels):
    """Multinomial logistic regression."""
    scores = X @ W + b
    chosen = m.sum(scores * labels, axis=1)
    return m.mean(s.logsumexp(scores) - chosen)


D = 6
TOKENS = normal(7, D)


@model(
    *[0.4 * normal(D, D) for _ in range(4)], np.ones(D), np.zeros(D), data=(TOKENS, normal(7, D))
)
def attention(m, s, Wq, Wk, Wv, Wo, scale, shift, x, y):
    """A block of self-attention, with a residual connection and layer normalisation."""
    scores = (x @ Wq) @ m.transpose(x @ Wk) / np.sqrt(D)
    e = m.exp(scores - m.max(scores, axis=1, keepdims=True))
    h = x + (e / m.sum(e, axis=1, keepdims=True)) @ (x @ Wv) @ Wo
    centred = h - m.mean(h, axis=1, keepdims=True)
    variance = m.mean(centred**2, axis=1, keepdims=True)
    return m.mean((centred / m.sqrt(variance + 1e-5) * scale + shift - y) ** 2)


@model([[0.9, 0.1], [0.0, 0.8]], [[1.0, 0.3]], [0.1, -0.2], [0.3], data=(normal(10),))
def kalman(m, s, F, H, log_q, log_r, y):
    """The likelihood of a linear state-space model by the Kalman filter."""
    state, cov = np.zeros(2), np.eye(2)
    loss = 0.0
    for t in range(10):
        state, cov = F @ state, F @ cov @ m.transpose(F) + m.diag(m.exp(log_q))
        S = H @ cov @ m.transpose(H) + m.exp(log_r[0]) * np.eye(1)
        residual = y[t : t + 1] - H @ state
        gain = m.transpose(m.linalg.solve(S, H @ cov))
        loss = loss + 0.5 * (residual @ m.linalg.solve(S, residual)) + 0.5 * m.linalg.slogdet(S)[1]
        state, cov = state + gain @ residual, cov - gain @ H @ cov
    return loss


@model([0.5], data=(X, TARGET))
def ridge(m, s, log_penalty, X, y):
    """The generalised cross-validation error of ridge regression, by its penalty."""
    A = m.transpose(X) @ X + m.exp(log_penalty[0]) * np.eye(P)
    hat = X @ m.linalg.solve(A, m.transpose(X))
    residual = y - hat @ y
    return m.sum(residual**2) / (1 - m.trace(hat) / N) ** 2


@model(normal(8, 5))
def principal_components(m, s, X):
    """Variance that two principal components leave over, by eigenvalues."""
    centred = X - m.mean(X, axis=0)
    values = m.linalg.eigvalsh(m.transpose(centred) @ centred)
    return m.sum(values[:3]) / m.sum(values)


@model(normal(6, 2), normal(5, 2), data=(normal(6, 5), random.random((6, 5)) < 0.7))
def low_rank_factorisation(m, s, U, V, R, seen):
    """A low-rank factorisation of a matrix of which a part is seen."""
    error = m.where(seen, R - U @ m.transpose(V), 0.0)
    return m.sum(error**2) + 0.1 * (m.sum(U**2) + m.sum(V**2))


@model(0.1 * normal(30), [-0.5, 1.0, -1.5], data=(0.3 * normal(30),))
def stochastic_volatility(m, s, h, theta, y):
    """Log-volatility that follows an autoregressive process."""
    mu, phi, log_sigma = theta[0], m.tanh(theta[1]), theta[2]
    steps = (h[1:] - mu - phi * (h[:-1] - mu)) / m.exp(log_sigma)
    prior = 0.5 * m.sum(steps**2) + 29 * log_sigma + 0.5 * (h[0] - mu) ** 2
    return prior + 0.5 * m.sum(h + y**2 * m.exp(-h))


@model(normal(3), normal(3, 3), normal(3), data=(normal(12),))
def hidden_markov(m, s, start, transition, means, y):
    """The likelihood of a hidden Markov model by the forward algorithm."""
    rows = transition - s.logsumexp(transition)[:, None]
    alpha = start - s.logsumexp(start) - 0.5 * (y[0] - means) ** 2
    for t in range(1, 12):
        alpha = s.logsumexp(m.transpose(alpha[:, None] + rows)) - 0.5 * (y[t] - means) ** 2
    return -s.logsumexp(alpha)


@model(normal(6, 2), data=(normal(5, 2),))
def optimal_transport(m, s, x, y):
    """Transport between two clouds of points, with entropy, by Sinkhorn's iteration."""
    cost = m.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=2)
    f, g = np.zeros(6), np.zeros(5)
    for _ in range(8):
        f = -s.logsumexp(g - cost - np.log(5.0))
        g = -s.logsumexp(m.transpose(f[:, None] - cost) - np.log(6.0))
    plan = m.exp(f[:, None] + g - cost) / 30.0
    return m.sum(plan * cost)


@model([0.8, 0.4, 0.6, 0.3], data=(1 + 0.1 * normal(20, 2),))
def predator_prey(m, s, theta, y):
    """Lotka and Volterra's equations by Euler's method."""
    u, v, loss = 1.0 + 0.0 * theta[0], 1.0 + 0.0 * theta[0], 0.0
    for t in range(20):
        u, v = (
            u + 0.05 * u * (theta[0] - theta[1] * v),
            v + 0.05 * v * (theta[3] * u - theta[2]),
        )
        loss = loss + (u - y[t, 0]) ** 2 + (v - y[t, 1]) ** 2
    return loss


@model(0.3 * normal(3, 3), [0.1], data=(normal(10, 10), normal(8, 8)))
def stencil(m, s, kernel, bias, image, y):
    """A convolution of an image with a small kernel, as a sum of slices."""
    total = bias[0]
    for i in range(3):
        for j in range(3):
            total = total + kernel[i, j] * image[i : i + 8, j : j + 8]
    return m.mean((m.log1p(m.exp(total)) - y) ** 2)


@model(normal(N), normal(6), [0.2], data=(random.integers(0, 6, (50, 1))[:, 0],
       random.integers(0, N, 50), (random.random(50) < 0.6).astype(float)))  # fmt: skip
def item_response(m, s, ability, difficulty, log_scale, item, person, correct):
    """Item response with two parameters: persons answer items."""
    eta = m.exp(log_scale[0]) * (ability[person] - difficulty[item])
    likelihood = m.sum(correct * eta - m.log(1 + m.exp(eta)))
    return -likelihood + 0.5 * m.sum(ability**2) + 0.5 * m.sum(difficulty**2)


@model(0.3 * normal(P), data=(X, random.exponential(size=N), BINARY))
def cox(m, s, w, X, times, events):
    """Cox's partial likelihood, with a matrix of who is at risk."""
    eta = X @ w
    at_risk = (times[None, :] >= times[:, None]) * 1.0
    return -m.sum(events * (eta - m.log(at_risk @ m.exp(eta))))


@model(normal(4), normal(4, 4), data=(normal(25, 4),))
def multivariate_normal(m, s, mean, factor, x):
    """A multivariate normal distribution, by the triangular factor of its covariance."""
    L = m.tril(factor, -1) + m.diag(m.exp(m.diagonal(factor)))
    z = s.solve_triangular(L, m.transpose(x - mean))
    return 0.5 * m.sum(z**2) + 25 * m.sum(m.diagonal(factor))


@model(normal(P), [0.3], data=(X, TARGET, (random.random(N) < 0.3)))
def censored(m, s, w, log_scale, X, y, is_censored):
    """Regression with observations that are censored from above."""
    z = (y - X @ w) / m.exp(log_scale[0])
    seen = 0.5 * z**2 + log_scale[0]
    hidden = -m.log(0.5 * (1 - s.erf(z / np.sqrt(2.0))))
    return m.sum(m.where(is_censored, hidden, seen))
