"""The workloads of the peer, each written once for NumPy, relgraph and PyTensor.

A workload is a function of a namespace and of its inputs by name.  NumPy's namespace computes the
reference values for the rewritten graphs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Inputs = dict[str, np.ndarray]


@dataclass(frozen=True)
class Workload:
    """An expression, and values for its inputs.

    Attributes
    ----------
    name : str
        What its rows are called.
    build : callable
        ``build(xp, inputs)`` returns the list of outputs in the namespace ``xp``.
    inputs : dict of str to array
        A value for each input; graphs take their static shapes and dtypes from it.
    """

    name: str
    build: Callable[[Any, dict[str, Any]], list[Any]]
    inputs: Inputs


# A hierarchical regression: log radon levels of homes, by county and floor.


HOMES, COUNTIES = 919, 85


def _normal(xp: Any, x: Any, mu: Any, sigma: Any) -> Any:
    """Return the log-density of a normal distribution, as a modelling library writes it."""
    return -0.5 * ((x - mu) / sigma) ** 2 - xp.log(math.sqrt(2 * math.pi)) - xp.log(sigma)


def _half_normal(xp: Any, log_x: Any, sigma: float) -> Any:
    """Return the log-density of log(x) for a half-normal x, with the Jacobian of exp."""
    x = xp.exp(log_x)
    density = -0.5 * (x / sigma) ** 2 + xp.log(math.sqrt(2 / math.pi)) - xp.log(sigma)
    return xp.where(x >= 0, density, -math.inf) + log_x


def radon(xp: Any, v: dict[str, Any]) -> list[Any]:
    """Return the log-density of the model, county effects not centred."""
    intercepts = v["intercept"] + v["county_intercept"] * xp.exp(v["intercept_sd_log"])
    slopes = v["slope"] + v["county_slope"] * xp.exp(v["slope_sd_log"])
    mu = intercepts[v["county"]] + slopes[v["county"]] * v["floor"]
    terms = [
        _normal(xp, v["intercept"], 0.0, 10.0),
        _normal(xp, v["slope"], 0.0, 10.0),
        _half_normal(xp, v["intercept_sd_log"], 5.0),
        _half_normal(xp, v["slope_sd_log"], 5.0),
        _half_normal(xp, v["noise_log"], 2.0),
        _normal(xp, v["county_intercept"], 0.0, 1.0),
        _normal(xp, v["county_slope"], 0.0, 1.0),
        _normal(xp, v["radon"], mu, xp.exp(v["noise_log"])),
    ]
    total = xp.sum(terms[0])
    for term in terms[1:]:
        total = total + xp.sum(term)
    return [total]


@dataclass
class _Adjoint:
    """The derivatives of a log-density: of what is drawn, of its mean and of its scale."""

    x: Any
    mu: Any
    sigma: Any


def _normal_adjoint(xp: Any, g: Any, x: Any, mu: Any, sigma: Any) -> _Adjoint:
    """Return what reverse mode writes down for the normal log-density, without simplifying it."""
    z = (x - mu) / sigma
    dz = (g * -0.5) * (2.0 * z ** (2.0 - 1.0))
    dx = dz / sigma
    spread = -(dz * (x - mu)) / (sigma * sigma)
    return _Adjoint(dx, -dx, spread + (-g) / sigma)


def _half_normal_adjoint(xp: Any, g: Any, log_x: Any, sigma: float) -> Any:
    """Return the derivative by log(x)."""
    x = xp.exp(log_x)
    inside = xp.where(x >= 0, g, 0.0)
    dz = (inside * -0.5) * (2.0 * (x / sigma) ** (2.0 - 1.0))
    return (dz / sigma) * x + g


def radon_gradient(xp: Any, v: dict[str, Any]) -> list[Any]:
    """Return the log-density and its gradient by each of the seven parameters."""
    county, floor, sd = v["county"], v["floor"], xp.exp(v["noise_log"])
    spread_a, spread_b = xp.exp(v["intercept_sd_log"]), xp.exp(v["slope_sd_log"])
    intercepts = v["intercept"] + v["county_intercept"] * spread_a
    slopes = v["slope"] + v["county_slope"] * spread_b
    mu = intercepts[county] + slopes[county] * floor
    one, homes, counties = 1.0, xp.ones(HOMES), xp.ones(COUNTIES)
    home = _normal_adjoint(xp, homes, v["radon"], mu, sd)
    d_intercepts = xp.scatter_add(COUNTIES, county, home.mu)
    d_slopes = xp.scatter_add(COUNTIES, county, home.mu * floor)
    own_a = _normal_adjoint(xp, counties, v["county_intercept"], 0.0, 1.0).x
    own_b = _normal_adjoint(xp, counties, v["county_slope"], 0.0, 1.0).x
    log_sd_a = xp.sum(d_intercepts * v["county_intercept"]) * spread_a
    log_sd_b = xp.sum(d_slopes * v["county_slope"]) * spread_b
    return [
        *radon(xp, v),
        _normal_adjoint(xp, one, v["intercept"], 0.0, 10.0).x + xp.sum(d_intercepts),
        _normal_adjoint(xp, one, v["slope"], 0.0, 10.0).x + xp.sum(d_slopes),
        log_sd_a + _half_normal_adjoint(xp, one, v["intercept_sd_log"], 5.0),
        log_sd_b + _half_normal_adjoint(xp, one, v["slope_sd_log"], 5.0),
        own_a + d_intercepts * spread_a,
        own_b + d_slopes * spread_b,
        xp.sum(home.sigma) * sd + _half_normal_adjoint(xp, one, v["noise_log"], 2.0),
    ]


def radon_inputs(homes: int, draw: np.random.Generator) -> Inputs:
    """Return parameters and the data of a number of homes."""
    return {
        "intercept": np.array(1.3),
        "slope": np.array(-0.6),
        "intercept_sd_log": np.array(-1.1),
        "slope_sd_log": np.array(-0.9),
        "noise_log": np.array(-0.3),
        "county_intercept": draw.normal(size=COUNTIES),
        "county_slope": draw.normal(size=COUNTIES),
        "county": draw.integers(0, COUNTIES, size=homes),
        "floor": draw.integers(0, 2, size=homes).astype(float),
        "radon": draw.normal(1.2, 0.8, size=homes),
    }


RADON = radon_inputs(HOMES, np.random.default_rng(0))


# Two layers of attention with a perceptron, and the log-likelihood of the next token.


TOKENS, WIDTH, HEADS, HIDDEN, WORDS, LAYERS = 24, 32, 4, 64, 50, 2


def _normalised(xp: Any, x: Any, scale: Any, shift: Any) -> Any:
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred**2, axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * scale + shift


def _softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x)
    return e / xp.sum(e, axis=-1, keepdims=True)


def _heads(xp: Any, x: Any) -> Any:
    split = xp.reshape(x, (TOKENS, HEADS, WIDTH // HEADS))
    return xp.transpose(split, (1, 0, 2))


def attention(xp: Any, v: dict[str, Any]) -> list[Any]:
    """Return the mean log-likelihood of the tokens that follow, and the logits."""
    x = v["x"]
    for i in range(LAYERS):
        y = _normalised(xp, x, v[f"scale{i}"], v[f"shift{i}"])
        q, k, w = (_heads(xp, y @ v[f"{name}{i}"]) for name in ("query", "key", "value"))
        scores = (q @ xp.transpose(k, (0, 2, 1))) / math.sqrt(WIDTH // HEADS) + v["mask"]
        mixed = xp.transpose(_softmax(xp, scores) @ w, (1, 0, 2))
        x = x + xp.reshape(mixed, (TOKENS, WIDTH)) @ v[f"out{i}"]
        y = _normalised(xp, x, v[f"scale_up{i}"], v[f"shift_up{i}"])
        up = y @ v[f"up{i}"] + v[f"bias{i}"]
        x = x + (0.5 * up * (1 + xp.erf(up / math.sqrt(2)))) @ v[f"down{i}"]
    logits = x @ v["words"]
    return [-xp.mean(xp.log(_softmax(xp, logits)) * v["next"]) * WORDS, logits]


def _attention_inputs() -> Inputs:
    draw = np.random.default_rng(1)
    found = {
        "x": draw.normal(size=(TOKENS, WIDTH)),
        "mask": np.where(np.tri(TOKENS) > 0, 0.0, -1e9),
        "words": draw.normal(size=(WIDTH, WORDS)) / 6,
        "next": np.eye(WORDS)[draw.integers(0, WORDS, size=TOKENS)],
    }
    for i in range(LAYERS):
        for name in ("query", "key", "value", "out"):
            found[f"{name}{i}"] = draw.normal(size=(WIDTH, WIDTH)) / 6
        found[f"up{i}"] = draw.normal(size=(WIDTH, HIDDEN)) / 6
        found[f"down{i}"] = draw.normal(size=(HIDDEN, WIDTH)) / 8
        found[f"bias{i}"] = draw.normal(size=HIDDEN)
        for name in ("scale", "shift", "scale_up", "shift_up"):
            found[f"{name}{i}"] = draw.normal(size=WIDTH)
    return found


# Algebra: sums, products, quotients and a few functions, many of which cancel or combine.


def algebra(nodes: int) -> Callable[[Any, dict[str, Any]], list[Any]]:
    """Return a workload of about that many ops, drawn with a fixed seed.

    Every value stays within a few orders of magnitude, so that it can be compared.
    """

    def build(xp: Any, v: dict[str, Any]) -> list[Any]:
        draw = random.Random(nodes)
        pool = list(v.values())
        counted = 0
        while counted < nodes:
            a, b, c = draw.choice(pool[-12:]), draw.choice(pool[-24:]), draw.choice(pool[:8])
            made, ops = draw.choice(_STEPS)(xp, a, b, c)
            pool.append(made)
            counted += ops
        terms = pool[8:]  # added in pairs: PyTensor's recursion does not reach a sum of thousands
        while len(terms) > 1:
            terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)] + (
                terms[-1:] if len(terms) % 2 else []
            )
        return [xp.sum(terms[0]) / len(pool)]

    return build


def _squashed(xp: Any, x: Any) -> Any:
    return x / (1 + xp.abs(x))


# Each step: the value it computes from three others, and how many ops it adds.  The third is an
# input, and inputs are positive.
_STEPS: tuple[Callable[[Any, Any, Any, Any], tuple[Any, int]], ...] = (
    lambda xp, a, b, c: (_squashed(xp, a * c + b * c), 6),
    lambda xp, a, b, c: (_squashed(xp, a + b - a * 1.0), 6),
    lambda xp, a, b, c: (_squashed(xp, 2.0 * a - 0.5 * b + 3.0 * a), 8),
    lambda xp, a, b, c: (_squashed(xp, (a * c) / c - (-b)), 7),
    lambda xp, a, b, c: (_squashed(xp, xp.log(xp.exp(a) * xp.exp(b))), 7),
    lambda xp, a, b, c: (xp.sqrt(c**2.0) * xp.sin(a + 0.0), 4),
    lambda xp, a, b, c: (xp.exp(-(a * a)) * xp.cos(-(-b)), 6),  # noqa: B002 - cancels
    lambda xp, a, b, c: (_squashed(xp, a - b + (b - a) * 0.5), 7),
    lambda xp, a, b, c: (xp.log(1.0 + xp.exp(_squashed(xp, a))) * c, 7),
    lambda xp, a, b, c: (1.0 / (1.0 + xp.exp(-a)) - xp.tanh(b) * 1.0, 7),
    lambda xp, a, b, c: (_squashed(xp, -a / -c + b * 0.0 + b), 8),
    lambda xp, a, b, c: (xp.maximum(xp.minimum(a, b), xp.minimum(b, a)) / (c + 1.0), 5),
)


def _algebra_inputs() -> Inputs:
    draw = np.random.default_rng(2)
    return {f"x{i}": draw.uniform(0.5, 2.0, size=16) for i in range(8)}


WORKLOADS = (
    Workload("radon log-density", radon, RADON),
    Workload("radon gradient", radon_gradient, RADON),
    Workload("attention, two layers", attention, _attention_inputs()),
    *(
        Workload(f"algebra, {nodes:,} ops", algebra(nodes), _algebra_inputs())
        for nodes in (100, 1_000, 10_000)
    ),
)
