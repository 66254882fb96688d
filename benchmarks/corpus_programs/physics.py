"""Physics: differential equations in time and space, forces, angles."""

from __future__ import annotations

import numpy as np

from corpus_programs.program import UNROLLED, Program, jnp, lax, normals, prange, uniforms


def lorenz(state, steps, dt):
    """Return the path of Lorenz's system of three equations, by Runge and Kutta's method."""
    path = np.empty((steps, 3))
    for t in range(steps):
        k1 = _lorenz_slope(state)
        k2 = _lorenz_slope(state + dt / 2 * k1)
        k3 = _lorenz_slope(state + dt / 2 * k2)
        k4 = _lorenz_slope(state + dt * k3)
        state = state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path[t] = state
    return path


def _lorenz_slope(s):
    return np.array([10.0 * (s[1] - s[0]), s[0] * (28.0 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])


def lorenz_jax(state, steps, dt):
    def slope(s):
        x, y, z = s
        return jnp.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z])

    def step(s, _):
        k1 = slope(s)
        k2 = slope(s + dt / 2 * k1)
        k3 = slope(s + dt / 2 * k2)
        k4 = slope(s + dt * k3)
        s = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s, s

    return lax.scan(step, state, length=steps)[1]


def pendulums(angle, speed, steps, dt):
    """Swing pendulums with friction and a periodic force."""
    for t in range(steps):
        speed = speed + dt * (-np.sin(angle) - 0.1 * speed + 1.2 * np.cos(0.66 * t * dt))
        angle = angle + dt * speed
    return angle, speed


def pendulums_jax(angle, speed, steps, dt):
    def step(t, state):
        angle, speed = state
        speed = speed + dt * (-jnp.sin(angle) - 0.1 * speed + 1.2 * jnp.cos(0.66 * t * dt))
        return angle + dt * speed, speed

    return lax.fori_loop(0, steps, step, (angle, speed))


def pendulums_numba(angle, speed, steps, dt):
    angle, speed = angle.copy(), speed.copy()
    for i in prange(angle.size):
        a, s = angle[i], speed[i]
        for t in range(steps):
            s += dt * (-np.sin(a) - 0.1 * s + 1.2 * np.cos(0.66 * t * dt))
            a += dt * s
        angle[i], speed[i] = a, s
    return angle, speed


def lotka_volterra(prey, predators, steps, dt):
    """Return the last numbers of two species, by Euler's method on two numbers."""
    for _ in range(steps):
        change = prey * (1.1 - 0.4 * predators)
        predators = predators + dt * predators * (0.1 * prey - 0.4)
        prey = prey + dt * change
    return prey, predators


def lotka_volterra_jax(prey, predators, steps, dt):
    def step(_, state):
        prey, predators = state
        change = prey * (1.1 - 0.4 * predators)
        return prey + dt * change, predators + dt * predators * (0.1 * prey - 0.4)

    return lax.fori_loop(0, steps, step, (prey, predators))


def gravity(position, mass):
    """Return the acceleration of each body."""
    d = position[None, :, :] - position[:, None, :]
    squared = np.sum(d**2, axis=-1) + 1e-3
    return np.sum(d * (mass * squared**-1.5)[:, :, None], axis=1)


def gravity_numba(position, mass):
    n = position.shape[0]
    out = np.zeros_like(position)
    for i in prange(n):
        for j in range(n):
            dx = position[j, 0] - position[i, 0]
            dy = position[j, 1] - position[i, 1]
            dz = position[j, 2] - position[i, 2]
            factor = mass[j] * (dx * dx + dy * dy + dz * dz + 1e-3) ** -1.5
            out[i, 0] += factor * dx
            out[i, 1] += factor * dy
            out[i, 2] += factor * dz
    return out


def heat_equation(u, steps, rate):
    """Let heat flow on a plate."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += rate * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return u


def heat_equation_jax(u, steps, rate):
    def step(_, u):
        return u.at[1:-1, 1:-1].add(
            rate * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        )

    return lax.fori_loop(0, steps, step, u)


def wave_equation(u, before, steps, squared_speed):
    """Let a wave run on a string whose ends meet."""
    for _ in range(steps):
        bend = np.roll(u, 1) - 2 * u + np.roll(u, -1)
        u, before = 2 * u - before + squared_speed * bend, u
    return u


def wave_equation_jax(u, before, steps, squared_speed):
    def step(_, state):
        u, before = state
        bend = jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)
        return 2 * u - before + squared_speed * bend, u

    return lax.fori_loop(0, steps, step, (u, before))[0]


def great_circle(latitude_1, longitude_1, latitude_2, longitude_2):
    """Return distances on the earth by haversines, in kilometres."""
    a = np.sin((latitude_2 - latitude_1) / 2) ** 2
    b = np.cos(latitude_1) * np.cos(latitude_2) * np.sin((longitude_2 - longitude_1) / 2) ** 2
    return 2 * 6371.0 * np.arcsin(np.sqrt(a + b))


def sun_height(latitude, declination, hour):
    """Return the angle of the sun above the horizon."""
    return np.arcsin(
        np.sin(latitude) * np.sin(declination)
        + np.cos(latitude) * np.cos(declination) * np.cos(hour)
    )


def spherical(radius, angle, azimuth):
    """Return Cartesian coordinates as rows."""
    x = radius * np.sin(angle) * np.cos(azimuth)
    y = radius * np.sin(angle) * np.sin(azimuth)
    return np.stack([x, y, radius * np.cos(angle)], axis=1)


def spherical_numba(radius, angle, azimuth):
    out = np.empty((radius.size, 3))
    for i in prange(radius.size):
        flat = radius[i] * np.sin(angle[i])
        out[i, 0] = flat * np.cos(azimuth[i])
        out[i, 1] = flat * np.sin(azimuth[i])
        out[i, 2] = radius[i] * np.cos(angle[i])
    return out


PROGRAMS = [
    Program(
        lorenz, lambda rng, steps: (np.array([1.0, 1.0, 1.05]), steps, 0.01), ((500,), (10,)),
        (3,), jax=lorenz_jax, torch=UNROLLED, loops=True, rtol=1e-5,
    ),
    Program(
        pendulums, lambda rng, n, steps: (*normals(n, n)(rng), steps, 0.02), ((1000, 100),), (5, 3),
        jax=pendulums_jax, numba=pendulums_numba, torch=UNROLLED, loops=True, rtol=1e-7,
    ),
    Program(
        lotka_volterra,
        lambda rng, steps: (np.float64(10.0), np.float64(5.0), steps, 0.005), ((200,),), (3,),
        jax=lotka_volterra_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        gravity, lambda rng, n: normals((n, 3))(rng) + uniforms(n)(rng), ((500,),), (5,),
        numba=gravity_numba,
    ),
    Program(
        heat_equation, lambda rng, n, steps: (*normals((n, n))(rng), steps, 0.1), ((256, 50),),
        (6, 3), jax=heat_equation_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        wave_equation, lambda rng, n, steps: (*normals(n, n)(rng), steps, 0.2), ((10_000, 100),),
        (6, 3), jax=wave_equation_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        great_circle, lambda rng, n: uniforms(n, n, n, n, low=-1.2, high=1.2)(rng),
        ((1_000_000,), (1000,)), (5,),
    ),
    Program(
        sun_height, lambda rng, n: uniforms(n, n, n, low=-0.4, high=0.4)(rng), ((1_000_000,),), (5,)
    ),
    Program(
        spherical, lambda rng, n: uniforms(n, n, n, low=0.0, high=3.0)(rng), ((300_000,),), (5,),
        numba=spherical_numba,
    ),
]  # fmt: skip
