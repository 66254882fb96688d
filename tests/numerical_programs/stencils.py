"""Stencils on grids, and finite differences in time."""

# ruff: noqa: PLR0917 - kernels take many arrays

import numpy as np

from tests.numerical_programs.program import Program


def jacobi_1d(steps, A, B):
    for _ in range(1, steps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])


def jacobi_2d(steps, A, B):
    for _ in range(1, steps):
        B[1:-1, 1:-1] = 0.2 * (
            A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]
        )
        A[1:-1, 1:-1] = 0.2 * (
            B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1]
        )


def _diffused(A):
    middle = A[1:-1, 1:-1, 1:-1]
    return (
        0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * middle + A[:-2, 1:-1, 1:-1])
        + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * middle + A[1:-1, :-2, 1:-1])
        + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * middle + A[1:-1, 1:-1, :-2])
        + middle
    )


def heat_3d(steps, A, B):
    for _ in range(1, steps):
        B[1:-1, 1:-1, 1:-1] = _diffused(A)
        A[1:-1, 1:-1, 1:-1] = _diffused(B)


def seidel_2d(steps, A):
    n = A.shape[0]
    for _ in range(steps - 1):
        for i in range(1, n - 1):
            A[i, 1:-1] += (
                A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:]
                + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
            )  # fmt: skip
            for j in range(1, n - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


def fdtd_2d(steps, ex, ey, hz, source):
    for t in range(steps):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])


def adi(steps, u):
    """Solve the heat equation by implicit steps along each axis in turn."""
    n = u.shape[0]
    v, p, q = np.empty_like(u), np.empty_like(u), np.empty_like(u)
    a, b = -0.4, 1.8
    for _ in range(1, steps + 1):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -a / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (
                0.4 * u[j, :-2] + 0.2 * u[j, 1:-1] + 0.4 * u[j, 2:] - a * q[1:-1, j - 1]
            ) / (a * p[1:-1, j - 1] + b)
        v[n - 1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            p[1:-1, j] = -a / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (
                0.4 * v[:-2, j] + 0.2 * v[1:-1, j] + 0.4 * v[2:, j] - a * q[1:-1, j - 1]
            ) / (a * p[1:-1, j - 1] + b)
        u[1:-1, n - 1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]


def deriche(alpha, image):
    """Detect edges by recursive filters along rows and columns."""
    decay = np.exp(-alpha)
    k = (1 - decay) ** 2 / (1 + 2 * alpha * decay - np.exp(2 * alpha))
    a1, a2 = k, k * decay * (alpha - 1)
    a3, a4 = k * decay * (alpha + 1), -k * np.exp(-2 * alpha)
    b1, b2 = 2.0 ** (-alpha), -np.exp(-2 * alpha)
    forth, back = np.empty_like(image), np.empty_like(image)
    forth[:, 0] = a1 * image[:, 0]
    forth[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * forth[:, 0]
    for j in range(2, image.shape[1]):
        forth[:, j] = a1 * image[:, j] + a2 * image[:, j - 1]
        forth[:, j] += b1 * forth[:, j - 1] + b2 * forth[:, j - 2]
    back[:, -1] = 0.0
    back[:, -2] = a3 * image[:, -1]
    for j in range(image.shape[1] - 3, -1, -1):
        back[:, j] = a3 * image[:, j + 1] + a4 * image[:, j + 2]
        back[:, j] += b1 * back[:, j + 1] + b2 * back[:, j + 2]
    rows = forth + back
    forth[0, :] = a1 * rows[0, :]
    forth[1, :] = a1 * rows[1, :] + a2 * rows[0, :] + b1 * forth[0, :]
    for i in range(2, image.shape[0]):
        forth[i, :] = a1 * rows[i, :] + a2 * rows[i - 1, :]
        forth[i, :] += b1 * forth[i - 1, :] + b2 * forth[i - 2, :]
    back[-1, :] = 0.0
    back[-2, :] = a3 * rows[-1, :]
    for i in range(image.shape[0] - 3, -1, -1):
        back[i, :] = a3 * rows[i + 1, :] + a4 * rows[i + 2, :]
        back[i, :] += b1 * back[i + 1, :] + b2 * back[i + 2, :]
    return forth + back


def hdiff(field, out, coefficient):
    """Diffuse horizontally, with limited fluxes."""
    rows, columns = out.shape[:2]
    middle = field[1 : rows + 3, 1 : columns + 3, :]
    lap = 4.0 * middle - (
        field[2 : rows + 4, 1 : columns + 3, :] + field[: rows + 2, 1 : columns + 3, :]
        + field[1 : rows + 3, 2 : columns + 4, :] + field[1 : rows + 3, : columns + 2, :]
    )  # fmt: skip
    res = lap[1:, 1 : columns + 1, :] - lap[:-1, 1 : columns + 1, :]
    slope = field[2 : rows + 3, 2 : columns + 2, :] - field[1 : rows + 2, 2 : columns + 2, :]
    flx = np.where(res * slope > 0, 0, res)
    res = lap[1 : rows + 1, 1:, :] - lap[1 : rows + 1, :-1, :]
    slope = field[2 : rows + 2, 2 : columns + 3, :] - field[2 : rows + 2, 1 : columns + 2, :]
    fly = np.where(res * slope > 0, 0, res)
    out[:, :, :] = field[2 : rows + 2, 2 : columns + 2, :] - coefficient * (
        flx[1:, :, :] - flx[:-1, :, :] + fly[:, 1:, :] - fly[:, :-1, :]
    )


def vadv(utens_stage, u_stage, wcon, u_pos, utens, dtr):
    """Advect vertically: solve a tridiagonal system for each column."""
    rows, columns, levels = u_stage.shape
    c, d = np.empty_like(u_stage), np.empty_like(u_stage)
    for k in range(levels):
        below, above = max(k - 1, 0), min(k + 1, levels - 1)
        low, high = np.zeros((rows, columns)), np.zeros((rows, columns))
        if k > 0:
            low = -0.25 * (wcon[1:, :, k] + wcon[:-1, :, k])
        if k < levels - 1:
            high[:] = 0.25 * (wcon[1:, :, above] + wcon[:-1, :, above])
        a_k, c_k = low * 0.1, high * 0.1
        b_k = dtr - a_k - c_k
        change = -low * 0.9 * (u_stage[:, :, below] - u_stage[:, :, k])
        change -= high * 0.9 * (u_stage[:, :, above] - u_stage[:, :, k])
        d[:, :, k] = dtr * u_pos[:, :, k] + utens[:, :, k] + utens_stage[:, :, k] + change
        if k == 0:
            divided = 1.0 / b_k
            d[:, :, k] *= divided
        else:
            divided = 1.0 / (b_k - c[:, :, k - 1] * a_k)
            d[:, :, k] = (d[:, :, k] - d[:, :, k - 1] * a_k) * divided
        c[:, :, k] = c_k * divided
    x = np.empty((rows, columns))
    for k in range(levels - 1, -1, -1):
        x[:] = d[:, :, k] - (c[:, :, k] * x if k < levels - 1 else 0.0)
        utens_stage[:, :, k] = dtr * (x - u_pos[:, :, k])


def _source(rho, dt, dx, dy, u, v):
    b = np.zeros_like(u)
    du = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
    dv = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
    cross = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
    b[1:-1, 1:-1] = rho * (1 / dt * (du + dv) - du**2 - 2 * cross - dv**2)
    return b


def _pressure(p, dx, dy, b):
    for _ in range(3):
        pn = p.copy()
        p[1:-1, 1:-1] = (
            (pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2
        ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


def _moved(u, un, vn, p, pressure_axis, rho, nu, dt, dx, dy):
    along = p[1:-1, 2:] - p[1:-1, :-2] if pressure_axis else p[2:, 1:-1] - p[:-2, 1:-1]
    size = dx if pressure_axis else dy
    w = un if pressure_axis else vn
    u[1:-1, 1:-1] = (
        w[1:-1, 1:-1]
        - un[1:-1, 1:-1] * dt / dx * (w[1:-1, 1:-1] - w[1:-1, :-2])
        - vn[1:-1, 1:-1] * dt / dy * (w[1:-1, 1:-1] - w[:-2, 1:-1])
        - dt / (2 * rho * size) * along
        + nu * dt / dx**2 * (w[1:-1, 2:] - 2 * w[1:-1, 1:-1] + w[1:-1, :-2])
        + nu * dt / dy**2 * (w[2:, 1:-1] - 2 * w[1:-1, 1:-1] + w[:-2, 1:-1])
    )


def cavity_flow(steps, u, v, p, dt, dx, dy, rho, nu):
    """Drive a flow in a box by its lid."""
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        _pressure(p, dx, dy, _source(rho, dt, dx, dy, u, v))
        _moved(u, un, vn, p, True, rho, nu, dt, dx, dy)
        _moved(v, un, vn, p, False, rho, nu, dt, dx, dy)
        u[0, :], u[:, 0], u[:, -1], u[-1, :] = 0, 0, 0, 1
        v[0, :], v[-1, :], v[:, 0], v[:, -1] = 0, 0, 0, 0


def channel_flow(u, v, p, dt, dx, dy, rho, nu, force):
    """Drive a flow through a channel until it hardly changes."""
    change, steps = 1.0, 0
    while change > 0.001:
        un, vn = u.copy(), v.copy()
        _pressure(p, dx, dy, _source(rho, dt, dx, dy, u, v))
        _moved(u, un, vn, p, True, rho, nu, dt, dx, dy)
        _moved(v, un, vn, p, False, rho, nu, dt, dx, dy)
        u[1:-1, 1:-1] += force * dt
        change = (np.sum(u) - np.sum(un)) / np.sum(u)
        steps += 1
    return steps


def _cells(*shapes, numbers=()):
    return lambda rng: (*numbers, *[rng.uniform(0.5, 1.5, shape) for shape in shapes])


def _box(rng):
    return 2, *[np.zeros((6, 6)) for _ in range(3)], 0.001, 0.4, 0.4, 1.0, 0.1


PROGRAMS = [
    Program(jacobi_1d, _cells(12, 12, numbers=(4,))),
    Program(jacobi_2d, _cells((6, 6), (6, 6), numbers=(3,))),
    Program(heat_3d, _cells((5, 5, 5), (5, 5, 5), numbers=(3,))),
    Program(seidel_2d, _cells((5, 5), numbers=(3,))),
    Program(fdtd_2d, _cells((6, 7), (6, 7), (6, 7), 3, numbers=(3,))),
    Program(adi, _cells((6, 6), numbers=(2,))),
    Program(deriche, _cells((7, 6), numbers=(0.25,))),
    Program(hdiff, _cells((8, 8, 3), (4, 4, 3), (4, 4, 3))),
    Program(
        vadv, lambda rng: (*_cells(*[(3, 4, 5)] * 2, (4, 4, 5), *[(3, 4, 5)] * 2)(rng), 3 / 20)
    ),
    Program(cavity_flow, _box),
    Program(channel_flow, lambda rng: (*_box(rng)[1:], 1.0)),
]
