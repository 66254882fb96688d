"""Signals: filters with and without feedback, averages, correlations."""

from __future__ import annotations

import numpy as np

from corpus_programs.program import UNROLLED, Program, jnp, lax, normals, prange


def fir_convolve(x, taps):
    return np.convolve(x, taps, mode="valid")


def fir_convolve_numba(x, taps):
    k = taps.size
    out = np.empty(x.size - k + 1)
    for i in prange(out.size):
        total = 0.0
        for j in range(k):
            total += x[i + j] * taps[k - 1 - j]
        out[i] = total
    return out


def fir_shifts(x, taps):
    """Filter by a sum of shifted copies, one for each tap."""
    n = x.size - taps.size + 1
    y = np.zeros(n)
    for k in range(taps.size):
        y += taps[k] * x[taps.size - 1 - k : x.size - k]
    return y


def fir_shifts_jax(x, taps):
    n = x.size - taps.size + 1

    def tap(k, y):
        return y + taps[k] * lax.dynamic_slice(x, (taps.size - 1 - k,), (n,))

    return lax.fori_loop(0, taps.size, tap, jnp.zeros(n))


def ar1(noise, phi):
    """Draw an autoregressive series from its noise."""
    y = np.zeros_like(noise)
    y[0] = noise[0]
    for t in range(1, noise.size):
        y[t] = phi * y[t - 1] + noise[t]
    return y


def ar1_jax(noise, phi):
    def step(y, e):
        y = phi * y + e
        return y, y

    return lax.scan(step, 0.0, noise)[1]


def biquad(x, b, a):
    """Filter by two poles and two zeros, in the transposed direct form."""
    y = np.empty_like(x)
    first = second = 0.0
    for t in range(x.size):
        y[t] = b[0] * x[t] + first
        first = b[1] * x[t] - a[0] * y[t] + second
        second = b[2] * x[t] - a[1] * y[t]
    return y


def biquad_jax(x, b, a):
    def step(state, x):
        first, second = state
        y = b[0] * x + first
        return (b[1] * x - a[0] * y + second, b[2] * x - a[1] * y), y

    return lax.scan(step, (0.0, 0.0), x)[1]


def autocorrelation(x, lags):
    centred = x - np.mean(x)
    n = x.size
    r = np.empty(lags)
    for k in range(lags):
        r[k] = centred[: n - k] @ centred[k:]
    return r / r[0]


def autocorrelation_jax(x, lags):
    centred = x - jnp.mean(x)
    padded = jnp.concatenate([centred, jnp.zeros(lags)])

    def lag(k):
        return centred @ lax.dynamic_slice(padded, (k,), (x.size,))

    r = lax.map(lag, jnp.arange(lags))
    return r / r[0]


def exponential_average(x, alpha):
    """Average each channel, a column, with weights that decay."""
    y = np.empty_like(x)
    y[0] = x[0]
    for t in range(1, x.shape[0]):
        y[t] = alpha * x[t] + (1 - alpha) * y[t - 1]
    return y


def exponential_average_jax(x, alpha):
    def step(y, x):
        y = alpha * x + (1 - alpha) * y
        return y, y

    return lax.scan(step, x[0], x)[1]


def _biquad(rng, n):
    return *normals(n)(rng), np.array([0.2, 0.4, 0.2]), np.array([-0.5, 0.3])


PROGRAMS = [
    Program(
        fir_convolve, lambda rng, n, taps: normals(n, taps)(rng), ((100_000, 32),), (9, 3),
        numba=fir_convolve_numba,
    ),
    Program(
        fir_shifts, lambda rng, n, taps: normals(n, taps)(rng), ((100_000, 32),), (9, 3),
        jax=fir_shifts_jax, loops=True,
    ),
    Program(
        ar1, lambda rng, n: (*normals(n)(rng), 0.9), ((1000,),), (6,),
        jax=ar1_jax, torch=UNROLLED, loops=True,
    ),
    Program(biquad, _biquad, ((1000,),), (6,), jax=biquad_jax, torch=UNROLLED, loops=True),
    Program(
        autocorrelation, lambda rng, n, lags: (*normals(n)(rng), lags), ((100_000, 50),), (9, 3),
        jax=autocorrelation_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        exponential_average, lambda rng, steps, channels: (*normals((steps, channels))(rng), 0.1),
        ((500, 64),), (6, 3), jax=exponential_average_jax, torch=UNROLLED, loops=True,
    ),
]  # fmt: skip
