"""NPBench's statistics, physics, codes and networks."""

# ruff: noqa: PLR0917 - kernels take many arrays

from __future__ import annotations

import numpy as np

from corpus_programs.program import (
    UNROLLED,
    Program,
    jax,
    jnp,
    lax,
    normals,
    prange,
)
from tests.numerical_programs import data as np_forms

COMPLEX = "cannot: relgraph computes with real numbers"


def correlation_jax(data):
    n, m = data.shape
    deviation = jnp.std(data, axis=0)
    deviation = jnp.where(deviation <= 0.1, 1.0, deviation)
    data = (data - jnp.mean(data, axis=0)) / (jnp.sqrt(n) * deviation)

    def row(i, corr):
        products = data[:, i] @ data
        new = jnp.where(jnp.arange(m) > i, products, corr[i])
        return corr.at[i].set(new).at[:, i].set(new)

    return lax.fori_loop(0, m - 1, row, jnp.eye(m)), data


def correlation_numba(data):
    n, m = data.shape
    for j in range(m):
        column = data[:, j]
        mean, deviation = np.mean(column), np.std(column)
        if deviation <= 0.1:
            deviation = 1.0
        data[:, j] = (column - mean) / (np.sqrt(n) * deviation)
    corr = np.eye(m)
    for i in range(m - 1):
        corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
        corr[i + 1 :, i] = corr[i, i + 1 :]
    return corr


def covariance_jax(data):
    n, m = data.shape
    data = data - jnp.mean(data, axis=0)

    def row(i, cov):
        new = jnp.where(jnp.arange(m) >= i, data[:, i] @ data / (n - 1.0), cov[i])
        return cov.at[i].set(new).at[:, i].set(new)

    return lax.fori_loop(0, m, row, jnp.zeros((m, m))), data


def covariance_numba(data):
    n, m = data.shape
    data -= np.sum(data, axis=0) / n
    cov = np.zeros((m, m), dtype=data.dtype)
    for i in range(m):
        cov[i, i:] = data[:, i] @ data[:, i:] / (n - 1.0)
        cov[i:, i] = cov[i, i:]
    return cov


def azimint_naive_jax(values, radius, bins):
    largest = radius.max()

    def one(i):
        inside = (largest * i / bins <= radius) & (radius < largest * (i + 1) / bins)
        return jnp.sum(jnp.where(inside, values, 0.0)) / jnp.sum(inside)

    return lax.map(one, jnp.arange(bins))


def azimint_naive_numba(values, radius, bins):
    largest = radius.max()
    means = np.zeros(bins)
    for i in prange(bins):
        low, high = largest * i / bins, largest * (i + 1) / bins
        total, count = 0.0, 0
        for j in range(values.size):
            if low <= radius[j] < high:
                total += values[j]
                count += 1
        means[i] = total / count
    return means


def azimint_hist_numba(values, radius, bins):
    low, high = radius.min(), radius.max()
    counts, totals = np.zeros(bins), np.zeros(bins)
    for j in range(values.size):
        i = min(int((radius[j] - low) * bins / (high - low)), bins - 1)
        counts[i] += 1
        totals[i] += values[j]
    return totals / counts


def softmax_numba(x):
    out = np.empty_like(x)
    a, b, c, n = x.shape
    for i in prange(a * b * c):
        row = x.reshape(a * b * c, n)[i]
        e = np.exp(row - np.max(row))
        out.reshape(a * b * c, n)[i] = e / np.sum(e)
    return out


def go_fast_jax(a):
    return a + lax.fori_loop(0, a.shape[0], lambda i, t: t + jnp.tanh(a[i, i]), 0.0)


def _pairs(position):
    d = position[None, :, :] - position[:, None, :]
    return d, jnp.sum(d**2, axis=-1)


def nbody_jax(mass, position, velocity, steps, dt, gravity, softening):
    upper = jnp.triu(jnp.ones((mass.shape[0], mass.shape[0])), 1)

    def acceleration(position):
        d, squared = _pairs(position)
        inverse = (squared + softening**2) ** -1.5
        return gravity * jnp.einsum("ijk,ij,j->ik", d, inverse, mass[:, 0])

    def energies(position, velocity):
        squared = _pairs(position)[1]
        inverse = jnp.where(squared > 0, 1.0 / jnp.sqrt(jnp.where(squared > 0, squared, 1.0)), 0.0)
        kinetic = 0.5 * jnp.sum(mass * velocity**2)
        return kinetic, gravity * jnp.sum(upper * -(mass * mass.T) * inverse)

    def step(state, _):
        position, velocity, force = state
        velocity = velocity + force * dt / 2.0
        position = position + velocity * dt
        force = acceleration(position)
        velocity = velocity + force * dt / 2.0
        return (position, velocity, force), energies(position, velocity)

    velocity = velocity - jnp.mean(mass * velocity, axis=0) / jnp.mean(mass)
    first = energies(position, velocity)
    start = (position, velocity, acceleration(position))
    (position, velocity, _), later = lax.scan(step, start, length=steps)
    found = [jnp.concatenate([x[None], y]) for x, y in zip(first, later, strict=True)]
    return *found, position, velocity


def _accelerate_numba(position, mass, gravity, softening, acceleration):
    n = position.shape[0]
    for i in range(n):
        for axis in range(3):
            acceleration[i, axis] = 0.0
        for j in range(n):
            squared = softening**2
            for axis in range(3):
                squared += (position[j, axis] - position[i, axis]) ** 2
            factor = gravity * mass[j, 0] * squared**-1.5 if squared > 0 else 0.0
            for axis in range(3):
                acceleration[i, axis] += factor * (position[j, axis] - position[i, axis])


def _energies_numba(position, velocity, mass, gravity):
    kinetic = potential = 0.0
    n = position.shape[0]
    for i in range(n):
        for axis in range(3):
            kinetic += 0.5 * mass[i, 0] * velocity[i, axis] ** 2
        for j in range(i + 1, n):
            squared = 0.0
            for axis in range(3):
                squared += (position[j, axis] - position[i, axis]) ** 2
            if squared > 0:
                potential -= gravity * mass[i, 0] * mass[j, 0] / np.sqrt(squared)
    return kinetic, potential


def nbody_numba(mass, position, velocity, steps, dt, gravity, softening):
    kinetic, potential = np.empty(steps + 1), np.empty(steps + 1)
    velocity -= np.sum(mass * velocity, axis=0) / np.sum(mass)
    acceleration = np.empty_like(position)
    _accelerate_numba(position, mass, gravity, softening, acceleration)
    kinetic[0], potential[0] = _energies_numba(position, velocity, mass, gravity)
    for i in range(steps):
        velocity += acceleration * dt / 2.0
        position += velocity * dt
        _accelerate_numba(position, mass, gravity, softening, acceleration)
        velocity += acceleration * dt / 2.0
        kinetic[i + 1], potential[i + 1] = _energies_numba(position, velocity, mass, gravity)
    return kinetic, potential


def contour_integral_jax(matrices, Y, radius):
    def point(k):
        z = radius * jnp.exp(2j * jnp.pi * (k + 0.5) / 8)
        powers = z ** jnp.arange(matrices.shape[0])
        return z * jnp.linalg.solve(jnp.tensordot(powers, matrices, 1), Y)

    return lax.fori_loop(0, 8, lambda k, total: total + point(k), jnp.zeros(Y.shape, complex))


def scattering_self_energies_jax(D, G, dH, sigma):
    for q in range(D.shape[0]):
        turned = jnp.roll(G, -q, axis=0)
        for i in range(dH.shape[0]):
            sigma = sigma + G @ dH[i] @ turned * (1j * D[q, i])
    return sigma


def stockham_fft_numba(x):
    y = x.astype(np.complex128)
    z = np.empty_like(y)
    stride, length = 1, x.size
    while length > 1:
        length //= 2
        for p in range(length):
            twiddle = np.exp(-1j * np.pi * p / length)
            for q in range(stride):
                a, b = y[q + stride * p], y[q + stride * (p + length)]
                z[q + stride * 2 * p] = a + b
                z[q + stride * (2 * p + 1)] = (a - b) * twiddle
        y, z = z, y
        stride *= 2
    return y


def mandelbrot1(x, y, limit):
    """Iterate all points until they leave a disc, and count."""
    c = x + y[:, None] * 1j
    z, counts = np.zeros(c.shape, c.dtype), np.zeros(c.shape, "int64")
    for n in range(limit):
        inside = np.abs(z) < 2.0
        counts[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    counts[counts == limit - 1] = 0
    return counts


def mandelbrot1_relgraph(x, y, limit):
    real, imaginary = np.zeros((y.size, x.size)), np.zeros((y.size, x.size))
    counts = np.zeros((y.size, x.size), "int64")
    for n in range(limit):
        inside = real**2 + imaginary**2 < 4.0
        counts = np.where(inside, n, counts)
        new = real**2 - imaginary**2 + x
        imaginary = np.where(inside, 2 * real * imaginary + y[:, None], imaginary)
        real = np.where(inside, new, real)
    return np.where(counts == limit - 1, 0, counts)


def mandelbrot1_jax(x, y, limit):
    c = x + y[:, None] * 1j

    def step(n, state):
        z, counts = state
        inside = jnp.abs(z) < 2.0
        return jnp.where(inside, z**2 + c, z), jnp.where(inside, n, counts)

    start = (jnp.zeros_like(c), jnp.zeros(c.shape, "int64"))
    counts = lax.fori_loop(0, limit, step, start)[1]
    return jnp.where(counts == limit - 1, 0, counts)


def mandelbrot1_numba(x, y, limit):
    counts = np.zeros((y.size, x.size), "int64")
    for i in prange(y.size):
        for j in range(x.size):
            z, c = 0j, complex(x[j], y[i])
            for n in range(limit):
                if z.real**2 + z.imag**2 >= 4.0:
                    break
                counts[i, j] = n
                z = z * z + c
            if counts[i, j] == limit - 1:
                counts[i, j] = 0
    return counts


def mandelbrot2(x, y, limit):
    """Iterate the points that have not left a disc, and drop the others."""
    c = (x + 1j * y[:, None]).ravel()
    places, z, counts = np.arange(c.size), c.copy(), np.zeros(c.size, "int64")
    for n in range(limit):
        if not z.size:
            break
        z = z * z + c
        left = np.abs(z) > 2.0
        counts[places[left]] = n + 1
        places, z, c = places[~left], z[~left], c[~left]
    return counts.reshape(y.size, x.size)


def mandelbrot2_jax(x, y, limit):
    c = x + 1j * y[:, None]

    def step(n, state):
        z, counts, inside = state
        z = jnp.where(inside, z * z + c, z)
        left = inside & (jnp.abs(z) > 2.0)
        return z, jnp.where(left, n + 1, counts), inside & ~left

    start = (c, jnp.zeros(c.shape, "int64"), jnp.ones(c.shape, bool))
    return lax.fori_loop(0, limit, step, start)[1]


def mandelbrot2_numba(x, y, limit):
    counts = np.zeros((y.size, x.size), "int64")
    for i in prange(y.size):
        for j in range(x.size):
            z = c = complex(x[j], y[i])
            for n in range(limit):
                z = z * z + c
                if z.real**2 + z.imag**2 > 4.0:
                    counts[i, j] = n + 1
                    break
    return counts


def crc16_jax(data, polynomial):
    def bit(_, state):
        crc, current = state
        moved = crc >> 1
        return jnp.where((crc ^ current) & 1, moved ^ polynomial, moved), current >> 1

    def byte(crc, current):
        return lax.fori_loop(0, 8, bit, (crc, 0xFF & current))[0], None

    crc = ~lax.scan(byte, jnp.asarray(0xFFFF), data)[0] & 0xFFFF
    return ((crc << 8) | ((crc >> 8) & 0xFF)) & 0xFFFF


def nussinov_jax(bases):
    n = bases.shape[0]
    places = jnp.arange(n)

    def element(i, j, table):
        pair = jnp.where(i < j - 1, bases[i] + bases[j] == 3, False).astype("int32")
        best = jnp.maximum(table[i, j - 1], table[i + 1, j])
        best = jnp.maximum(best, table[i + 1, j - 1] + pair)
        inside = (places > i) & (places < j)
        split = jnp.where(inside, table[i] + jnp.roll(table[:, j], -1), 0)
        return table.at[i, j].set(jnp.maximum(best, jnp.max(split)))

    def row(k, table):
        i = n - 1 - k
        return lax.fori_loop(i + 1, n, lambda j, table: element(i, j, table), table)

    return lax.fori_loop(0, n, row, jnp.zeros((n, n), "int32"))


def _relu(x):
    return np.maximum(x, 0)


def _softmax_rows(x):
    for i in range(x.shape[0]):
        e = np.exp(x[i] - np.max(x[i]))
        x[i] = e / np.sum(e)
    return x


def mlp_numba(x, w1, b1, w2, b2, w3, b3):
    return _softmax_rows(_relu(_relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3)


def _convolved_jax(x, weights):
    return lax.conv_general_dilated(
        x, weights, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def conv2d_jax(x, weights, bias):
    return _convolved_jax(x, weights) + bias


def _convolved_loops(x, weights):
    k = weights.shape[0]
    n, height, width = x.shape[0], x.shape[1] - k + 1, x.shape[2] - k + 1
    inner, outer = weights.shape[2], weights.shape[3]
    out = np.zeros((n, height, width, outer), x.dtype)
    for b in prange(n):
        for i in range(height):
            for j in range(width):
                for di in range(k):
                    for dj in range(k):
                        for c in range(inner):
                            for o in range(outer):
                                out[b, i, j, o] += x[b, i + di, j + dj, c] * weights[di, dj, c, o]
    return out


def conv2d_numba(x, weights, bias):
    return _convolved_loops(x, weights) + bias


def _pooled_jax(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def lenet_jax(x, c1, b1, c2, b2, w1, d1, w2, d2):
    x = _pooled_jax(jax.nn.relu(_convolved_jax(x, c1) + b1))
    x = _pooled_jax(jax.nn.relu(_convolved_jax(x, c2) + b2))
    x = jnp.reshape(x, (x.shape[0], w1.shape[0]))
    return jax.nn.relu(x @ w1 + d1) @ w2 + d2


def _pooled_loops(x):
    n, height, width, channels = x.shape
    out = np.empty((n, height // 2, width // 2, channels), x.dtype)
    for b in prange(n):
        for i in range(height // 2):
            for j in range(width // 2):
                for c in range(channels):
                    top = max(x[b, 2 * i, 2 * j, c], x[b, 2 * i, 2 * j + 1, c])
                    low = max(x[b, 2 * i + 1, 2 * j, c], x[b, 2 * i + 1, 2 * j + 1, c])
                    out[b, i, j, c] = max(top, low)
    return out


def lenet_numba(x, c1, b1, c2, b2, w1, d1, w2, d2):
    x = _pooled_loops(_relu(_convolved_loops(x, c1) + b1))
    x = _pooled_loops(_relu(_convolved_loops(x, c2) + b2))
    flat = x.reshape(x.shape[0], w1.shape[0])
    return _relu(flat @ w1 + d1) @ w2 + d2


def _normalised_jax(x):
    mean, std = jnp.mean(x, axis=0, keepdims=True), jnp.std(x, axis=0, keepdims=True)
    return (x - mean) / jnp.sqrt(std + 1e-5)


def resnet_jax(x, c1, c2, c3):
    padded = jnp.pad(_convolved_jax(x, c1), ((0, 0), (1, 1), (1, 1), (0, 0)))
    y = jax.nn.relu(_normalised_jax(padded))
    y = jax.nn.relu(_normalised_jax(_convolved_jax(y, c2)))
    return jax.nn.relu(_normalised_jax(_convolved_jax(y, c3)) + x)


def _normalised_loops(x):
    n = x.shape[0]
    mean = np.sum(x, axis=0) / n
    variance = np.sum((x - mean) ** 2, axis=0) / n
    return (x - mean) / np.sqrt(np.sqrt(variance) + 1e-5)


def resnet_numba(x, c1, c2, c3):
    padded = np.zeros((x.shape[0], x.shape[1] + 2, x.shape[2] + 2, c1.shape[3]))
    padded[:, 1:-1, 1:-1, :] = _convolved_loops(x, c1)
    y = _relu(_normalised_loops(padded))
    y = _relu(_normalised_loops(_convolved_loops(y, c2)))
    y = _normalised_loops(_convolved_loops(y, c3))
    return _relu(y + x)


def _bodies(rng, n, steps):
    return rng.uniform(1, 2, (n, 1)), *rng.normal(size=(2, n, 3)), steps, 0.05, 1.0, 0.1


def _radii(rng, n, bins):
    return rng.uniform(size=n), rng.uniform(size=n), bins


def _polynomial(rng, n, columns):
    matrices, Y = normals((3, n, n), (n, columns))(rng)
    return matrices.astype(complex), Y.astype(complex), 2.0


def _green(rng, momenta, phonons, directions, n):
    shapes = (phonons, directions), (momenta, n, n), (directions, n, n)
    arrays = [x + 1j * y for x, y in zip(normals(*shapes)(rng), normals(*shapes)(rng), strict=True)]
    return *arrays, np.zeros((momenta, n, n), complex)


def _plane(rng, n, limit):
    return np.linspace(-2.0, 0.5, n), np.linspace(-1.25, 1.25, n), limit


def _images(rng, n, size):
    side = ((size - 4) // 2 - 4) // 2
    flat = 16 * side * side
    shapes = [
        (n, size, size, 1), (5, 5, 1, 6), 6, (5, 5, 6, 16), 16,
        (flat, 120), 120, (120, 10), 10,
    ]  # fmt: skip
    return normals(*shapes, dtype="float32")(rng)


def _layers(rng, n, c, a, b, d):
    return normals((n, c), (c, a), a, (a, b), b, (b, d), d, dtype="float32")(rng)


def _block(rng, n, size, outer, inner):
    shapes = (n, size, size, outer), (1, 1, outer, inner), (3, 3, inner, inner)
    return normals(*shapes, (1, 1, inner, outer))(rng)


f = np_forms
PROGRAMS = [
    Program(
        f.correlation, lambda rng, n, m: normals((n, m))(rng), ((500, 600),), (7, 4),
        jax=correlation_jax, numba=correlation_numba, torch=UNROLLED, loops=True,
    ),
    Program(
        f.covariance, lambda rng, n, m: normals((n, m))(rng), ((500, 600),), (7, 4),
        jax=covariance_jax, numba=covariance_numba, torch=UNROLLED, loops=True,
    ),
    Program(
        f.covariance2, lambda rng, n, m: normals((n, m))(rng), ((500, 600),), (7, 4),
    ),
    Program(
        f.azimint_naive, _radii, ((400_000, 1000),), (40, 4),
        jax=azimint_naive_jax, numba=azimint_naive_numba, torch=UNROLLED, loops=True,
    ),
    Program(
        f.azimint_hist, _radii, ((400_000, 1000),), (40, 4), numba=azimint_hist_numba, rtol=1e-3,
    ),
    Program(
        f.compute, lambda rng, m, n: (*np.array([4, 3, 9]), *rng.integers(0, 1000, (2, m, n))),
        ((2000, 2000),), (5, 6),
    ),
    Program(
        f.softmax, lambda rng, n, h, m: normals((n, h, m, m), dtype="float32")(rng),
        ((16, 16, 128),), (2, 3, 4), numba=softmax_numba,
    ),
    Program(
        f.go_fast, lambda rng, n: normals((n, n))(rng), ((2000,),), (5,),
        jax=go_fast_jax, torch=UNROLLED, loops=True,
    ),
    Program(f.arc_distance, lambda rng, n: normals(n, n, n, n)(rng), ((100_000,),), (6,)),
    Program(
        f.nbody, _bodies, ((25, 40),), (4, 2),
        jax=nbody_jax, numba=nbody_numba, torch=UNROLLED, loops=True,
    ),
    Program(
        f.contour_integral, _polynomial, ((150, 50),), (4, 2),
        jax=contour_integral_jax, relgraph=COMPLEX,
    ),
    Program(
        f.scattering_self_energies, _green, ((8, 4, 3, 12),), (2, 2, 2, 3),
        jax=scattering_self_energies_jax, relgraph=COMPLEX,
        loops=True,
    ),
    Program(
        f.stockham_fft, lambda rng, n: normals(n)(rng), ((2**15,),), (8,),
        numba=stockham_fft_numba,
        relgraph=COMPLEX, loops=True,
    ),
    Program(
        mandelbrot1, _plane, ((125, 60),), (6, 4),
        relgraph=mandelbrot1_relgraph, relgraph_reason="complex numbers as pairs of arrays",
        jax=mandelbrot1_jax, numba=mandelbrot1_numba, loops=True,
    ),
    Program(
        mandelbrot2, _plane, ((200, 40),), (6, 4), relgraph=COMPLEX,
        jax=mandelbrot2_jax, numba=mandelbrot2_numba, loops=True,
    ),
    Program(
        f.crc16, lambda rng, n: (rng.integers(0, 256, n), 0x8408), ((1600,),), (3,),
        jax=crc16_jax, loops=True,
    ),
    Program(
        f.nussinov, lambda rng, n: (rng.integers(0, 4, n),), ((40,),), (6,),
        jax=nussinov_jax, loops=True,
    ),
    Program(f.mlp, _layers, ((8, 3, 3000, 2000, 2000),), (3, 4, 5, 6, 3), numba=mlp_numba),
    Program(
        f.conv2d,
        lambda rng, n, size, c, k, out: normals(
            (n, size, size, c), (k, k, c, out), out, dtype="float32"
        )(rng),
        ((8, 32, 3, 2, 16),), (2, 5, 3, 2, 4),
        jax=conv2d_jax, numba=conv2d_numba, torch=UNROLLED, loops=True,
    ),
    Program(
        f.lenet, _images, ((4, 28),), (2, 16),
        jax=lenet_jax, numba=lenet_numba, torch=UNROLLED, loops=True,
    ),
    Program(
        f.resnet, _block, ((8, 14, 32, 8),), (2, 4, 3, 2),
        jax=resnet_jax, numba=resnet_numba, torch=UNROLLED, loops=True,
    ),
]  # fmt: skip
