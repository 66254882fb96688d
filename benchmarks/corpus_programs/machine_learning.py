"""Machine learning: layers, distances, clusters, least squares."""

from __future__ import annotations

import numpy as np

from corpus_programs.program import Program, jax, jnp, normals, prange


def layer_norm(x, scale, shift):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred**2, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * scale + shift


def layer_norm_numba(x, scale, shift):
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        centred = x[i] - np.mean(x[i])
        variance = np.mean(centred**2)
        out[i] = centred / np.sqrt(variance + np.float32(1e-5)) * scale + shift
    return out


def batch_norm(x, scale, shift):
    """Normalise each channel of images, the last axis, over all images and places."""
    mean = np.mean(x, axis=(0, 1, 2))
    variance = np.var(x, axis=(0, 1, 2))
    return scale * (x - mean) / np.sqrt(variance + 1e-5) + shift


def batch_norm_numba(x, scale, shift):
    rows = x.reshape(-1, x.shape[-1])
    n = np.float32(rows.shape[0])
    mean = np.sum(rows, axis=0) / n
    variance = np.sum((rows - mean) ** 2, axis=0) / n
    factor = scale / np.sqrt(variance + np.float32(1e-5))
    return ((rows - mean) * factor + shift).reshape(x.shape)


def attention(q, k, v):
    """Return the attention of several heads, the first axis."""
    scores = q @ np.swapaxes(k, 1, 2) / np.sqrt(np.float32(q.shape[-1]))
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return weights / np.sum(weights, axis=-1, keepdims=True) @ v


def attention_numba(q, k, v):
    out = np.empty_like(q)
    for h in prange(q.shape[0]):
        scores = q[h] @ k[h].T / np.sqrt(np.float32(q.shape[2]))
        for i in range(scores.shape[0]):
            weights = np.exp(scores[i] - np.max(scores[i]))
            scores[i] = weights / np.sum(weights)
        out[h] = scores @ v[h]
    return out


def gru_cell(x, h, W, U, b):
    """Return the next state of gated recurrent units."""
    n = h.shape[1]
    given, recurrent = x @ W + b, h @ U
    reset = 1 / (1 + np.exp(-(given[:, :n] + recurrent[:, :n])))
    update = 1 / (1 + np.exp(-(given[:, n : 2 * n] + recurrent[:, n : 2 * n])))
    new = np.tanh(given[:, 2 * n :] + reset * recurrent[:, 2 * n :])
    return (1 - update) * new + update * h


def kmeans_step(points, centres):
    """Assign each point to the nearest centre, and move the centres."""
    squared = np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    labels = np.argmin(squared, axis=1)
    sums, counts = np.zeros_like(centres), np.zeros(centres.shape[0])
    np.add.at(sums, labels, points)
    np.add.at(counts, labels, 1.0)
    return labels, sums / np.maximum(counts, 1.0)[:, None]


def kmeans_step_jax(points, centres):
    squared = jnp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    labels = jnp.argmin(squared, axis=1)
    sums = jax.ops.segment_sum(points, labels, centres.shape[0])
    counts = jnp.bincount(labels, length=centres.shape[0])
    return labels, sums / jnp.maximum(counts, 1.0)[:, None]


def kmeans_step_numba(points, centres):
    n, d = points.shape
    k = centres.shape[0]
    labels = np.empty(n, np.int64)
    for i in prange(n):
        best = np.inf
        for j in range(k):
            squared = 0.0
            for axis in range(d):
                squared += (points[i, axis] - centres[j, axis]) ** 2
            if squared < best:
                best, labels[i] = squared, j
    sums, counts = np.zeros_like(centres), np.zeros(k)
    for i in range(n):
        sums[labels[i]] += points[i]
        counts[labels[i]] += 1.0
    return labels, sums / np.maximum(counts, 1.0).reshape(k, 1)


def distances(x, y):
    """Return the distance of each point of x to each of y."""
    return np.sqrt(np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1))


def distances_numba(x, y):
    out = np.empty((x.shape[0], y.shape[0]), x.dtype)
    for i in prange(x.shape[0]):
        for j in range(y.shape[0]):
            total = x.dtype.type(0)
            for axis in range(x.shape[1]):
                total += (x[i, axis] - y[j, axis]) ** 2
            out[i, j] = np.sqrt(total)
    return out


def row_dots(x, y):
    return np.sum(x * y, axis=1)


def row_dots_einsum(x, y):
    return np.einsum("ij,ij->i", x, y)


def row_dots_numba(x, y):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        total = x[i, 0] * y[i, 0]
        for j in range(1, x.shape[1]):
            total += x[i, j] * y[i, j]
        out[i] = total
    return out


def cosine_similarity(x, y):
    norms = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    return np.sum(x * y, axis=1) / norms


def cosine_similarity_numba(x, y):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        out[i] = np.sum(x[i] * y[i]) / np.sqrt(np.sum(x[i] ** 2) * np.sum(y[i] ** 2))
    return out


def normal_equations(X, y):
    """Return the coefficients of least squares."""
    return np.linalg.solve(X.T @ X, X.T @ y)


def ridge(X, y, strength):
    """Return the coefficients of ridge regression, and the predictions."""
    w = np.linalg.inv(X.T @ X + strength * np.eye(X.shape[1])) @ X.T @ y
    return w, X @ w


def cross_entropy(scores, labels):
    """Return the mean loss of a classifier."""
    largest = np.max(scores, axis=1, keepdims=True)
    shifted = scores - largest
    log_total = np.log(np.sum(np.exp(shifted), axis=1))
    return np.mean(log_total - shifted[np.arange(labels.size), labels])


def cross_entropy_numba(scores, labels):
    total = 0.0
    for i in prange(labels.size):
        shifted = scores[i] - np.max(scores[i])
        total += np.log(np.sum(np.exp(shifted))) - shifted[labels[i]]
    return total / labels.size


def _gru(rng, n, inputs, units):
    shapes = (n, inputs), (n, units), (inputs, 3 * units), (units, 3 * units), 3 * units
    return tuple(x * np.float32(0.1) for x in normals(*shapes, dtype="float32")(rng))


def _rows(dtype):
    return lambda rng, m, n: normals((m, n), (m, n), dtype=dtype)(rng)


def _points(rng, n, m, d):
    return normals((n, d), (m, d), dtype="float32")(rng)


PROGRAMS = [
    Program(
        layer_norm, lambda rng, m, n: normals((m, n), n, n, dtype="float32")(rng),
        ((1000, 1024), (10_000, 64)), (4, 5), numba=layer_norm_numba,
    ),
    Program(
        batch_norm,
        lambda rng, n, size, c: normals((n, size, size, c), c, c, dtype="float32")(rng),
        ((16, 32, 64),), (2, 3, 4), numba=batch_norm_numba,
    ),
    Program(
        attention,
        lambda rng, heads, n, d: normals(*[(heads, n, d)] * 3, dtype="float32")(rng),
        ((8, 256, 64),), (2, 3, 4), numba=attention_numba,
    ),
    Program(gru_cell, _gru, ((64, 128, 256), (1, 16, 16)), (2, 3, 4)),
    Program(
        kmeans_step, lambda rng, n, k, d: normals((n, d), (k, d))(rng),
        ((10_000, 16, 4),), (6, 3, 2), jax=kmeans_step_jax, numba=kmeans_step_numba,
    ),
    Program(distances, _points, ((1000, 1000, 3), (300, 300, 8)), (4, 5, 3), numba=distances_numba),
    Program(row_dots, _rows("float64"), ((100_000, 8), (10_000, 100)), (4, 5),
        numba=row_dots_numba,
    ),
    Program(
        row_dots_einsum, _rows("float32"), ((100_000, 8), (10_000, 100)), (4, 5),
        numba=row_dots_numba,
    ),
    Program(cosine_similarity, _rows("float32"), ((10_000, 100),), (4, 5),
        numba=cosine_similarity_numba,
    ),
    Program(
        normal_equations, lambda rng, n, k: normals((n, k), n)(rng), ((10_000, 20), (200, 4)),
        (8, 3),
    ),
    Program(
        ridge, lambda rng, n, k: (*normals((n, k), n)(rng), 0.1), ((2000, 100),), (8, 3)
    ),
    Program(
        cross_entropy,
        lambda rng, n, classes: (*normals((n, classes))(rng), rng.integers(0, classes, n)),
        ((10_000, 100),), (5, 3), numba=cross_entropy_numba,
    ),
]  # fmt: skip
