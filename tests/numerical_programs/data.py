"""Statistics, physics, codes and networks."""

# ruff: noqa: PLR0917 - kernels take many arrays

import numpy as np

from tests.numerical_programs.program import Program

# Statistics.


def correlation(data):
    n, m = data.shape
    mean = np.mean(data, axis=0)
    deviation = np.std(data, axis=0)
    deviation[deviation <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(n) * deviation
    corr = np.eye(m, dtype=data.dtype)
    for i in range(m - 1):
        corr[i + 1 :, i] = corr[i, i + 1 :] = data[:, i] @ data[:, i + 1 :]
    return corr


def covariance(data):
    n, m = data.shape
    data -= np.mean(data, axis=0)
    cov = np.zeros((m, m), dtype=data.dtype)
    for i in range(m):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (n - 1.0)
    return cov


def covariance2(data):
    return np.cov(np.transpose(data))


def azimint_naive(values, radius, bins):
    largest = radius.max()
    means = np.zeros(bins)
    for i in range(bins):
        low, high = largest * i / bins, largest * (i + 1) / bins
        inside = np.logical_and(low <= radius, radius < high)
        means[i] = values[inside].mean()
    return means


def azimint_hist(values, radius, bins):
    counts = np.histogram(radius, bins)[0]
    totals = np.histogram(radius, bins, weights=values)[0]
    return totals / counts


def compute(a, b, c, array_1, array_2):
    return np.clip(array_1, 2, 10) * a + array_2 * b + c


def softmax(x):
    largest = np.max(x, axis=-1, keepdims=True)
    exponentials = np.exp(x - largest)
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


# Physics.


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    half = np.sin((theta_2 - theta_1) / 2) ** 2
    half += np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(half), np.sqrt(1 - half))


def nbody(mass, position, velocity, steps, dt, gravity, softening):
    kinetic, potential = np.empty(steps + 1), np.empty(steps + 1)
    velocity -= np.mean(mass * velocity, axis=0) / np.mean(mass)
    acceleration = _acceleration(position, mass, gravity, softening)
    kinetic[0], potential[0] = _energies(position, velocity, mass, gravity)
    for i in range(steps):
        velocity += acceleration * dt / 2.0
        position += velocity * dt
        acceleration[:] = _acceleration(position, mass, gravity, softening)
        velocity += acceleration * dt / 2.0
        kinetic[i + 1], potential[i + 1] = _energies(position, velocity, mass, gravity)
    return kinetic, potential


def _differences(position):
    x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
    return x.T - x, y.T - y, z.T - z


def _acceleration(position, mass, gravity, softening):
    dx, dy, dz = _differences(position)
    inverse = dx**2 + dy**2 + dz**2 + softening**2
    inverse[inverse > 0] = inverse[inverse > 0] ** (-1.5)
    parts = [gravity * (d * inverse) @ mass for d in (dx, dy, dz)]
    return np.hstack(parts)


def _energies(position, velocity, mass, gravity):
    kinetic = 0.5 * np.sum(mass * velocity**2)
    dx, dy, dz = _differences(position)
    inverse = np.sqrt(dx**2 + dy**2 + dz**2)
    inverse[inverse > 0] = 1.0 / inverse[inverse > 0]
    potential = gravity * np.sum(np.triu(-(mass * mass.T) * inverse, 1))
    return kinetic, potential


def contour_integral(matrices, Y, radius):
    """Add up solutions at complex points of a circle."""
    total = np.zeros(Y.shape, dtype=np.complex128)
    for k in range(8):
        z = radius * np.exp(2j * np.pi * (k + 0.5) / 8)
        polynomial = np.zeros(matrices.shape[1:], dtype=np.complex128)
        for power in range(matrices.shape[0]):
            polynomial += z**power * matrices[power]
        total += z * np.linalg.solve(polynomial, Y)
    return total


def scattering_self_energies(D, G, dH, sigma):
    """Accumulate products of Green's functions over energies and momenta."""
    for k in range(G.shape[0]):
        for q in range(D.shape[0]):
            for i in range(dH.shape[0]):
                sigma[k] += G[k] @ dH[i] @ G[(k + q) % G.shape[0]] * (1j * D[q, i])


def stockham_fft(x):
    n = x.size
    y = x.astype(np.complex128)
    stride, length = 1, n
    while length > 1:
        length //= 2
        twiddle = np.exp(-2j * np.pi * np.arange(length) / (2 * length))[:, None]
        parts = y.reshape(2, length, stride)
        y = np.stack([parts[0] + parts[1], (parts[0] - parts[1]) * twiddle], axis=1).ravel()
        stride *= 2
    return y


def mandelbrot1(low, high, size, limit):
    """Iterate all points until they leave a disc, and count."""
    x, y = np.linspace(low, high, size), np.linspace(low, high, size)
    c = x + y[:, None] * 1j
    z, counts = np.zeros(c.shape, c.dtype), np.zeros(c.shape, "int64")
    for n in range(limit):
        inside = np.abs(z) < 2.0
        counts[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    counts[counts == limit - 1] = 0
    return z, counts


def mandelbrot2(low, high, size, limit):
    """Iterate the points that have not left a disc, and drop the others."""
    x, y = np.meshgrid(np.linspace(low, high, size), np.linspace(low, high, size))
    c = (x + 1j * y).ravel()
    places, z, counts = np.arange(c.size), c.copy(), np.zeros(c.size, "int64")
    for n in range(limit):
        if not z.size:
            break
        z = z * z + c
        left = np.abs(z) > 2.0
        counts[places[left]] = n + 1
        places, z, c = places[~left], z[~left], c[~left]
    return counts.reshape(size, size)


# Codes.


def crc16(data, polynomial):
    crc = 0xFFFF
    for byte in data:
        current = 0xFF & byte
        for _ in range(8):
            if (crc & 1) ^ (current & 1):
                crc = (crc >> 1) ^ polynomial
            else:
                crc >>= 1
            current >>= 1
    crc = ~crc & 0xFFFF
    return ((crc << 8) | ((crc >> 8) & 0xFF)) & 0xFFFF


def nussinov(bases):
    """Fold RNA: the largest number of pairs of bases."""
    n = bases.shape[0]
    table = np.zeros((n, n), np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1])
            table[i, j] = max(table[i, j], table[i + 1, j])
            pair = int(bases[i] + bases[j] == 3) if i < j - 1 else 0
            table[i, j] = max(table[i, j], table[i + 1, j - 1] + pair)
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


# Networks.


def _relu(x):
    return np.maximum(x, 0)


def mlp(x, w1, b1, w2, b2, w3, b3):
    return softmax(_relu(_relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3)


def _convolved(x, weights):
    k = weights.shape[0]
    n, height, width = x.shape[0], x.shape[1] - k + 1, x.shape[2] - k + 1
    out = np.empty((n, height, width, weights.shape[3]), dtype=x.dtype)
    for i in range(height):
        for j in range(width):
            out[:, i, j, :] = np.sum(
                x[:, i : i + k, j : j + k, :, np.newaxis] * weights[np.newaxis, :, :, :],
                axis=(1, 2, 3),
            )
    return out


def conv2d(x, weights, bias):
    return _convolved(x, weights) + bias


def _pooled(x):
    out = np.empty([x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]], dtype=x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            out[:, i, j, :] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :], axis=(1, 2))
    return out


def lenet(x, c1, b1, c2, b2, w1, d1, w2, d2):
    x = _pooled(_relu(_convolved(x, c1) + b1))
    x = _pooled(_relu(_convolved(x, c2) + b2))
    x = np.reshape(x, (x.shape[0], w1.shape[0]))
    return _relu(x @ w1 + d1) @ w2 + d2


def _normalised(x):
    mean = np.mean(x, axis=0, keepdims=True)
    std = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(std + 1e-5)


def resnet(x, c1, c2, c3):
    padded = np.zeros((x.shape[0], x.shape[1] + 2, x.shape[2] + 2, c1.shape[3]))
    padded[:, 1:-1, 1:-1, :] = _convolved(x, c1)
    y = _relu(_normalised(padded))
    y = _relu(_normalised(_convolved(y, c2)))
    y = _normalised(_convolved(y, c3))
    return _relu(y + x)


def _normal(*shapes):
    return lambda rng: tuple(rng.normal(size=shape) for shape in shapes)


def _bodies(rng):
    return rng.uniform(1, 2, (4, 1)), *rng.normal(size=(2, 4, 3)), 2, 0.01, 1.0, 0.1


def _radii(rng):
    return rng.uniform(size=40), rng.uniform(size=40), 4


PROGRAMS = [
    Program(correlation, _normal((7, 4))),
    Program(covariance, _normal((7, 4))),
    Program(covariance2, _normal((7, 4))),
    Program(azimint_naive, _radii),
    Program(azimint_hist, _radii),
    Program(compute, lambda rng: (4, 3, 9, *rng.integers(0, 1000, (2, 5, 6)))),
    Program(softmax, _normal((2, 3, 4))),
    Program(go_fast, _normal((5, 5))),
    Program(arc_distance, _normal(6, 6, 6, 6)),
    Program(nbody, _bodies),
    Program(contour_integral, lambda rng: (*_normal((3, 4, 4), (4, 2))(rng), 2.0)),
    Program(
        scattering_self_energies,
        lambda rng: (*_normal((2, 2), (2, 3, 3), (2, 3, 3))(rng), np.zeros((2, 3, 3), complex)),
    ),
    Program(stockham_fft, _normal(8)),
    Program(mandelbrot1, lambda rng: (-1.5, 1.5, 6, 4)),
    Program(mandelbrot2, lambda rng: (-1.5, 1.5, 6, 4)),
    Program(crc16, lambda rng: (rng.integers(0, 256, 3), 0x8408)),
    Program(nussinov, lambda rng: (rng.integers(0, 4, 6),)),
    Program(mlp, _normal((3, 4), (4, 5), 5, (5, 6), 6, (6, 3), 3)),
    Program(conv2d, _normal((2, 5, 5, 3), (2, 2, 3, 4), 4)),
    Program(
        lenet,
        _normal((2, 10, 10, 1), (3, 3, 1, 2), 2, (3, 3, 2, 3), 3, (3, 4), 4, (4, 2), 2),
    ),
    Program(resnet, _normal((2, 4, 4, 3), (1, 1, 3, 2), (3, 3, 2, 2), (1, 1, 2, 3))),
]
