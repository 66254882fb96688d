"""NPBench's stencils on grids, and its finite differences in time."""

# ruff: noqa: PLR0917 - kernels take many arrays

from __future__ import annotations

import numpy as np

from corpus_programs.program import UNROLLED, Program, jnp, lax, prange, uniforms
from tests.numerical_programs import stencils as np_forms

PRESSURE_STEPS = 3


def jacobi_1d_jax(steps, A, B):
    def step(_, state):
        A, B = state
        B = B.at[1:-1].set(0.33333 * (A[:-2] + A[1:-1] + A[2:]))
        return A.at[1:-1].set(0.33333 * (B[:-2] + B[1:-1] + B[2:])), B

    return lax.fori_loop(1, steps, step, (A, B))


def _neighbours(A):
    return A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]


def jacobi_2d_jax(steps, A, B):
    def step(_, state):
        A, B = state
        B = B.at[1:-1, 1:-1].set(0.2 * _neighbours(A))
        return A.at[1:-1, 1:-1].set(0.2 * _neighbours(B)), B

    return lax.fori_loop(1, steps, step, (A, B))


def _diffused(A):
    middle = A[1:-1, 1:-1, 1:-1]
    return (
        0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * middle + A[:-2, 1:-1, 1:-1])
        + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * middle + A[1:-1, :-2, 1:-1])
        + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * middle + A[1:-1, 1:-1, :-2])
        + middle
    )


def heat_3d_jax(steps, A, B):
    def step(_, state):
        A, B = state
        B = B.at[1:-1, 1:-1, 1:-1].set(_diffused(A))
        return A.at[1:-1, 1:-1, 1:-1].set(_diffused(B)), B

    return lax.fori_loop(1, steps, step, (A, B))


def seidel_2d_jax(steps, A):
    n = A.shape[0]

    def row(i, A):
        given = (
            A[i, 1:-1] + A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:]
            + A[i + 1, :-2] + A[i + 1, 1:-1] + A[i + 1, 2:]
        )  # fmt: skip

        def element(left, x):
            new = (x + left) / 9.0
            return new, new

        return A.at[i, 1:-1].set(lax.scan(element, A[i, 0], given)[1])

    return lax.fori_loop(0, steps - 1, lambda _, A: lax.fori_loop(1, n - 1, row, A), A)


def fdtd_2d_jax(steps, ex, ey, hz, source):
    def step(t, state):
        ex, ey, hz = state
        ey = ey.at[0, :].set(source[t])
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return ex, ey, hz

    return lax.fori_loop(0, steps, step, (ex, ey, hz))


def adi_jax(steps, u):
    a, b = -0.4, 1.8

    def half(w, lines):
        """Return the rows of the solution between the first and the last."""
        right = 0.4 * w[:, :-2] + 0.2 * w[:, 1:-1] + 0.4 * w[:, 2:]

        def forth(state, r):
            p, q = state
            new = (-a / (a * p + b), (r - a * q) / (a * p + b))
            return new, new

        start = (jnp.zeros(lines), jnp.ones(lines))
        _, (p, q) = lax.scan(forth, start, right[1:-1])

        def back(x, given):
            x = given[0] * x + given[1]
            return x, x

        return lax.scan(back, jnp.ones(lines), (p, q), reverse=True)[1]

    def step(_, u):
        n = u.shape[0]
        v = jnp.zeros_like(u).at[0, 1:-1].set(1.0).at[n - 1, 1:-1].set(1.0)
        v = v.at[1:-1, 1:-1].set(half(u, n - 2))
        u = u.at[1:-1, 0].set(1.0).at[1:-1, n - 1].set(1.0)
        inner = half(v.T, n - 2)
        return u.at[1:-1, 1:-1].set(inner.T)

    return lax.fori_loop(0, steps, step, u)


def deriche_jax(alpha, image):
    decay = jnp.exp(-alpha)
    k = (1 - decay) ** 2 / (1 + 2 * alpha * decay - jnp.exp(2 * alpha))
    a1, a2 = k, k * decay * (alpha - 1)
    a3, a4 = k * decay * (alpha + 1), -k * jnp.exp(-2 * alpha)
    b1, b2 = 2.0 ** (-alpha), -jnp.exp(-2 * alpha)

    def both(x):
        """Return the sum of the filters forth and back along the first axis."""

        def recur(state, given):
            near, far = state
            new = given + b1 * near + b2 * far
            return (new, near), new

        zero = jnp.zeros_like(x[0])
        first = jnp.stack([a1 * x[0]])
        forth = lax.scan(recur, (zero, zero), jnp.concatenate([first, a1 * x[1:] + a2 * x[:-1]]))[1]
        last = jnp.stack([a3 * x[-1], zero])
        given = jnp.concatenate([a3 * x[1:-1] + a4 * x[2:], last])
        return forth + lax.scan(recur, (zero, zero), given, reverse=True)[1]

    return both(both(image.T).T)


def hdiff_jax(field, out, coefficient):
    rows, columns = out.shape[:2]
    middle = field[1 : rows + 3, 1 : columns + 3, :]
    lap = 4.0 * middle - (
        field[2 : rows + 4, 1 : columns + 3, :] + field[: rows + 2, 1 : columns + 3, :]
        + field[1 : rows + 3, 2 : columns + 4, :] + field[1 : rows + 3, : columns + 2, :]
    )  # fmt: skip
    res = lap[1:, 1 : columns + 1, :] - lap[:-1, 1 : columns + 1, :]
    slope = field[2 : rows + 3, 2 : columns + 2, :] - field[1 : rows + 2, 2 : columns + 2, :]
    flx = jnp.where(res * slope > 0, 0, res)
    res = lap[1 : rows + 1, 1:, :] - lap[1 : rows + 1, :-1, :]
    slope = field[2 : rows + 2, 2 : columns + 3, :] - field[2 : rows + 2, 1 : columns + 2, :]
    fly = jnp.where(res * slope > 0, 0, res)
    return field[2 : rows + 2, 2 : columns + 2, :] - coefficient * (
        flx[1:, :, :] - flx[:-1, :, :] + fly[:, 1:, :] - fly[:, :-1, :]
    )


def vadv_jax(utens_stage, u_stage, wcon, u_pos, utens, dtr):
    rows, columns, _ = u_stage.shape
    w = 0.25 * (wcon[1:] + wcon[:-1])
    low, high = (-w).at[:, :, 0].set(0.0), jnp.roll(w, -1, axis=2).at[:, :, -1].set(0.0)
    below = jnp.concatenate([u_stage[:, :, :1], u_stage[:, :, :-1]], axis=2)
    above = jnp.concatenate([u_stage[:, :, 1:], u_stage[:, :, -1:]], axis=2)
    a, c = low * 0.1, high * 0.1
    b = dtr - a - c
    change = -low * 0.9 * (below - u_stage) - high * 0.9 * (above - u_stage)
    d = dtr * u_pos + utens + utens_stage + change

    def forth(state, given):
        c_before, d_before = state
        a, b, c, d = given
        divided = 1.0 / (b - c_before * a)
        new = (c * divided, (d - d_before * a) * divided)
        return new, new

    zero = jnp.zeros((rows, columns))
    level_first = [jnp.moveaxis(x, 2, 0) for x in (a, b, c, d)]
    _, (c, d) = lax.scan(forth, (zero, zero), tuple(level_first))

    def back(x, given):
        x = given[1] - given[0] * x
        return x, x

    x = lax.scan(back, zero, (c, d), reverse=True)[1]
    return dtr * (jnp.moveaxis(x, 0, 2) - u_pos)


def vadv_numba(utens_stage, u_stage, wcon, u_pos, utens, dtr):
    rows, columns, levels = u_stage.shape
    c, d = np.empty_like(u_stage), np.empty_like(u_stage)
    for i in prange(rows):
        for j in range(columns):
            for k in range(levels):
                low = high = 0.0
                change = 0.0
                if k > 0:
                    low = -0.25 * (wcon[i + 1, j, k] + wcon[i, j, k])
                    change -= low * 0.9 * (u_stage[i, j, k - 1] - u_stage[i, j, k])
                if k < levels - 1:
                    high = 0.25 * (wcon[i + 1, j, k + 1] + wcon[i, j, k + 1])
                    change -= high * 0.9 * (u_stage[i, j, k + 1] - u_stage[i, j, k])
                a, b = low * 0.1, dtr - low * 0.1 - high * 0.1
                right = dtr * u_pos[i, j, k] + utens[i, j, k] + utens_stage[i, j, k] + change
                if k > 0:
                    b -= c[i, j, k - 1] * a
                    right -= d[i, j, k - 1] * a
                c[i, j, k] = high * 0.1 / b
                d[i, j, k] = right / b
            x = d[i, j, levels - 1]
            utens_stage[i, j, levels - 1] = dtr * (x - u_pos[i, j, levels - 1])
            for k in range(levels - 2, -1, -1):
                x = d[i, j, k] - c[i, j, k] * x
                utens_stage[i, j, k] = dtr * (x - u_pos[i, j, k])


def _flow_step(u, v, p, dt, dx, dy, rho, nu):
    du = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
    dv = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
    cross = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
    source = rho * (1 / dt * (du + dv) - du**2 - 2 * cross - dv**2)

    def relax(_, p):
        new = ((p[1:-1, 2:] + p[1:-1, :-2]) * dy**2 + (p[2:, 1:-1] + p[:-2, 1:-1]) * dx**2) / (
            2 * (dx**2 + dy**2)
        ) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * source
        p = p.at[1:-1, 1:-1].set(new)
        p = p.at[:, -1].set(p[:, -2])
        p = p.at[0, :].set(p[1, :])
        p = p.at[:, 0].set(p[:, 1])
        return p.at[-1, :].set(0.0)

    p = lax.fori_loop(0, PRESSURE_STEPS, relax, p)

    def moved(w, gradient):
        return w.at[1:-1, 1:-1].set(
            w[1:-1, 1:-1]
            - u[1:-1, 1:-1] * dt / dx * (w[1:-1, 1:-1] - w[1:-1, :-2])
            - v[1:-1, 1:-1] * dt / dy * (w[1:-1, 1:-1] - w[:-2, 1:-1])
            - gradient
            + nu * dt / dx**2 * (w[1:-1, 2:] - 2 * w[1:-1, 1:-1] + w[1:-1, :-2])
            + nu * dt / dy**2 * (w[2:, 1:-1] - 2 * w[1:-1, 1:-1] + w[:-2, 1:-1])
        )

    along = dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
    across = dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
    return moved(u, along), moved(v, across), p


def cavity_flow_jax(steps, u, v, p, dt, dx, dy, rho, nu):
    def step(_, state):
        u, v, p = _flow_step(*state, dt, dx, dy, rho, nu)
        u = u.at[0, :].set(0.0).at[:, 0].set(0.0).at[:, -1].set(0.0).at[-1, :].set(1.0)
        v = v.at[0, :].set(0.0).at[-1, :].set(0.0).at[:, 0].set(0.0).at[:, -1].set(0.0)
        return u, v, p

    return lax.fori_loop(0, steps, step, (u, v, p))


def channel_flow_jax(u, v, p, dt, dx, dy, rho, nu, force):
    def step(state):
        before, v, p, _, steps = state
        u, v, p = _flow_step(before, v, p, dt, dx, dy, rho, nu)
        u = u.at[1:-1, 1:-1].add(force * dt)
        return u, v, p, (jnp.sum(u) - jnp.sum(before)) / jnp.sum(u), steps + 1

    u, v, p, _, steps = lax.while_loop(lambda s: s[3] > 0.001, step, (u, v, p, 1.0, 0))
    return steps, u, v, p


def _box(rng, n):
    fields = uniforms(*[(n, n)] * 3, low=0.0, high=0.1)(rng)
    return *fields, 0.001, 2 / (n - 1), 2 / (n - 1), 1.0, 0.1


def _columns(rng, i, j, k):
    shapes = [(i, j, k)] * 2 + [(i + 1, j, k)] + [(i, j, k)] * 2
    return *uniforms(*shapes)(rng), 3 / 20


def _fields(rng, i, j, k):
    return uniforms((i + 4, j + 4, k), (i, j, k), (i, j, k))(rng)


f = np_forms
PROGRAMS = [
    Program(
        f.jacobi_1d, lambda rng, steps, n: (steps, *uniforms(n, n)(rng)), ((800, 3200),), (4, 12),
        jax=jacobi_1d_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.jacobi_2d, lambda rng, steps, n: (steps, *uniforms((n, n), (n, n))(rng)), ((50, 150),),
        (3, 6), jax=jacobi_2d_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.heat_3d, lambda rng, steps, n: (steps, *uniforms((n, n, n), (n, n, n))(rng)),
        ((25, 25),), (3, 5), jax=heat_3d_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.seidel_2d, lambda rng, steps, n: (steps, *uniforms((n, n))(rng)), ((8, 50),), (3, 5),
        jax=seidel_2d_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.fdtd_2d,
        lambda rng, steps, m, n: (steps, *uniforms((m, n), (m, n), (m, n), steps)(rng)),
        ((20, 200, 220),), (3, 6, 7), jax=fdtd_2d_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.adi, lambda rng, steps, n: (steps, *uniforms((n, n))(rng)), ((5, 100),), (2, 6),
        jax=adi_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.deriche, lambda rng, w, h: (0.25, *uniforms((w, h))(rng)), ((400, 200),), (7, 6),
        jax=deriche_jax, torch=UNROLLED, loops=True,
    ),
    Program(f.hdiff, _fields, ((64, 64, 60),), (4, 4, 3), jax=hdiff_jax),
    Program(
        f.vadv, _columns, ((60, 60, 40),), (3, 4, 5),
        jax=vadv_jax, numba=vadv_numba, torch=UNROLLED, loops=True,
    ),
    Program(
        f.cavity_flow, lambda rng, steps, n: (steps, *_box(rng, n)), ((25, 41),), (2, 6),
        jax=cavity_flow_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        f.channel_flow, lambda rng, n: (*_box(rng, n), 1.0), ((61,),), (6,),
        jax=channel_flow_jax, loops=True,
    ),
]  # fmt: skip
