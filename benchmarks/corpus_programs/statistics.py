"""Statistics: densities, regressions, resampling."""

from __future__ import annotations

import numpy as np

from corpus_programs.program import Program, normals, prange, uniforms


def gaussian_mixture(x, weights, means, scales):
    """Return the log-density of each point."""
    z = (x[:, None] - means) / scales
    terms = np.log(weights) - np.log(scales) - 0.5 * z**2 - 0.5 * np.log(2 * np.pi)
    largest = np.max(terms, axis=1, keepdims=True)
    return largest[:, 0] + np.log(np.sum(np.exp(terms - largest), axis=1))


def gaussian_mixture_numba(x, weights, means, scales):
    out = np.empty_like(x)
    constants = np.log(weights) - np.log(scales) - 0.5 * np.log(2 * np.pi)
    for i in prange(x.size):
        terms = constants - 0.5 * ((x[i] - means) / scales) ** 2
        largest = np.max(terms)
        out[i] = largest + np.log(np.sum(np.exp(terms - largest)))
    return out


def standardised_rows(x):
    return (x - np.mean(x, axis=1, keepdims=True)) / np.std(x, axis=1, keepdims=True)


def standardised_rows_numba(x):
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        out[i] = (x[i] - np.mean(x[i])) / np.std(x[i])
    return out


def kernel_density(points, data, width):
    z = (points[:, None] - data[None, :]) / width
    return np.sum(np.exp(-0.5 * z**2), axis=1) / (data.size * width * np.sqrt(2 * np.pi))


def kernel_density_numba(points, data, width):
    out = np.empty_like(points)
    for i in prange(points.size):
        total = 0.0
        for j in range(data.size):
            total += np.exp(-0.5 * ((points[i] - data[j]) / width) ** 2)
        out[i] = total / (data.size * width * np.sqrt(2 * np.pi))
    return out


def logistic_regression(w, X, y):
    """Return the mean loss, for labels of 0 and 1, and its gradient."""
    scores = X @ w
    p = 1 / (1 + np.exp(-scores))
    loss = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
    return loss, X.T @ (p - y) / y.size


def bootstrap_means(x, index):
    """Return the mean of each sample, whose indices are a row."""
    return np.mean(x[index], axis=1)


def bootstrap_means_numba(x, index):
    out = np.empty(index.shape[0])
    for i in prange(index.shape[0]):
        total = 0.0
        for j in range(index.shape[1]):
            total += x[index[i, j]]
        out[i] = total / index.shape[1]
    return out


def _mixture(rng, n, k):
    return *normals(n)(rng), np.full(k, 1 / k), *normals(k)(rng), *uniforms(k)(rng)


def _labelled(rng, n, features):
    w, X = normals(features, (n, features))(rng)
    return w, X, (rng.uniform(size=n) < 0.5).astype(float)


PROGRAMS = [
    Program(gaussian_mixture, _mixture, ((100_000, 8),), (6, 3), numba=gaussian_mixture_numba),
    Program(
        standardised_rows, lambda rng, m, n: normals((m, n))(rng), ((1000, 1000), (10_000, 16)),
        (4, 5), numba=standardised_rows_numba,
    ),
    Program(
        kernel_density, lambda rng, points, n: (*normals(points, n)(rng), 0.3),
        ((1000, 2000),), (4, 5), numba=kernel_density_numba,
    ),
    Program(logistic_regression, _labelled, ((10_000, 50), (200, 5)), (6, 3)),
    Program(
        bootstrap_means,
        lambda rng, n, samples: (*normals(n)(rng), rng.integers(0, n, (samples, n))),
        ((1000, 1000),), (6, 3), numba=bootstrap_means_numba,
    ),
]  # fmt: skip
