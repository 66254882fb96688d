"""Finance: prices of options, simulated paths, volatility."""

# ruff: noqa: PLR0917 - formulas take many numbers

from __future__ import annotations

import math

import numpy as np
from scipy import special

from corpus_programs.program import UNROLLED, Program, jax, jnp, lax, normals, prange, uniforms


def black_scholes(spot, strike, time, rate, volatility):
    """Return the prices of European calls and puts."""
    spread = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * time)
    call = spot * _normal_cdf(d1) - discounted * _normal_cdf(d2)
    return call, call - spot + discounted


def _normal_cdf(x):
    return 0.5 * (1.0 + special.erf(x / np.sqrt(2.0)))


def black_scholes_relgraph(spot, strike, time, rate, volatility):
    import relgraph as rg

    def normal_cdf(x):
        return 0.5 * (1.0 + rg.erf(x / np.sqrt(2.0)))

    spread = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * time)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    return call, call - spot + discounted


def black_scholes_jax(spot, strike, time, rate, volatility):
    cdf = jax.scipy.stats.norm.cdf
    spread = volatility * jnp.sqrt(time)
    d1 = (jnp.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / spread
    discounted = strike * jnp.exp(-rate * time)
    call = spot * cdf(d1) - discounted * cdf(d1 - spread)
    return call, call - spot + discounted


def black_scholes_numba(spot, strike, time, rate, volatility):
    call, put = np.empty_like(spot), np.empty_like(spot)
    for i in prange(spot.size):
        spread = volatility * math.sqrt(time[i])
        d1 = math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility**2) * time[i]
        d1 /= spread
        d2 = d1 - spread
        discounted = strike[i] * math.exp(-rate * time[i])
        call[i] = spot[i] * 0.5 * (1.0 + math.erf(d1 / math.sqrt(2.0)))
        call[i] -= discounted * 0.5 * (1.0 + math.erf(d2 / math.sqrt(2.0)))
        put[i] = call[i] - spot[i] + discounted
    return call, put


def monte_carlo_paths(normal, start, strike, rate, volatility, dt):
    """Return the price of an option on the mean of each path, a row."""
    steps = (rate - 0.5 * volatility**2) * dt + volatility * np.sqrt(dt) * normal
    paths = start * np.exp(np.cumsum(steps, axis=1))
    payoffs = np.maximum(np.mean(paths, axis=1) - strike, 0.0)
    return np.exp(-rate * dt * normal.shape[1]) * np.mean(payoffs)


def monte_carlo_paths_numba(normal, start, strike, rate, volatility, dt):
    drift, scale = (rate - 0.5 * volatility**2) * dt, volatility * np.sqrt(dt)
    n, steps = normal.shape
    total = 0.0
    for i in prange(n):
        level = mean = 0.0
        for t in range(steps):
            level += drift + scale * normal[i, t]
            mean += start * np.exp(level)
        total += max(mean / steps - strike, 0.0)
    return np.exp(-rate * dt * steps) * total / n


def ewma_volatility(returns, decay):
    """Return the volatility of each asset, a column, from its past returns."""
    variance = np.empty_like(returns)
    variance[0] = returns[0] ** 2
    for t in range(1, returns.shape[0]):
        variance[t] = decay * variance[t - 1] + (1 - decay) * returns[t - 1] ** 2
    return np.sqrt(252 * variance)


def ewma_volatility_jax(returns, decay):
    def step(variance, r):
        variance = decay * variance + (1 - decay) * r**2
        return variance, variance

    first = returns[0] ** 2
    later = lax.scan(step, first, returns[:-1])[1]
    return jnp.sqrt(252 * jnp.concatenate([first[None], later]))


def binomial_tree(spot, strike, rate, volatility, time, steps):
    """Return the price of an American put."""
    dt = time / steps
    up = np.exp(volatility * np.sqrt(dt))
    discount = np.exp(-rate * dt)
    p = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    prices = spot * up ** np.arange(-steps, steps + 1.0, 2.0)
    values = np.maximum(strike - prices, 0.0)
    for _ in range(steps):
        prices = prices[1:] / up
        values = discount * (p * values[1:] + (1 - p) * values[:-1])
        values = np.maximum(values, strike - prices)
    return values[0]


def binomial_tree_jax(spot, strike, rate, volatility, time, steps):
    dt = time / steps
    up = jnp.exp(volatility * jnp.sqrt(dt))
    discount = jnp.exp(-rate * dt)
    p = (jnp.exp(rate * dt) - 1 / up) / (up - 1 / up)
    prices = spot * up ** jnp.arange(-steps, steps + 1.0, 2.0)

    def step(_, state):
        prices, values = state
        prices = jnp.roll(prices, -1) / up
        values = discount * (p * jnp.roll(values, -1) + (1 - p) * values)
        return prices, jnp.maximum(values, strike - prices)

    return lax.fori_loop(0, steps, step, (prices, jnp.maximum(strike - prices, 0.0)))[1][0]


def _options(rng, n):
    return *uniforms(n, n, n)(rng), 0.03, 0.2


def _tree(rng, steps):
    return np.float64(100.0), np.float64(rng.uniform(90, 110)), 0.03, 0.2, 1.0, steps


PROGRAMS = [
    Program(
        black_scholes, _options, ((1_000_000,), (1000,)), (5,),
        relgraph=black_scholes_relgraph, relgraph_reason="rg.erf in place of SciPy's",
        jax=black_scholes_jax, numba=black_scholes_numba,
    ),
    Program(
        monte_carlo_paths,
        lambda rng, paths, steps: (*normals((paths, steps))(rng), 100.0, 100.0, 0.03, 0.2, 0.01),
        ((20_000, 100),), (4, 3), numba=monte_carlo_paths_numba,
    ),
    Program(
        ewma_volatility,
        lambda rng, days, assets: (0.01 * normals((days, assets))(rng)[0], 0.94),
        ((500, 100),), (5, 3), jax=ewma_volatility_jax, torch=UNROLLED, loops=True,
    ),
    Program(
        binomial_tree, _tree, ((200,),), (4,), jax=binomial_tree_jax, torch=UNROLLED, loops=True,
    ),
]  # fmt: skip
