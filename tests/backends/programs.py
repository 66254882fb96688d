"""Random programs of views, updates, gathers, products and scans of square matrices.

Each is written once, runs on arrays with NumPy, and builds a graph of the same steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import relgraph as rg

N = 4
KEYS = (0, -1, slice(1, None), slice(None, None, 2), (slice(None), 0), slice(None, None, -1))
Step = Callable[[list[Any]], Any]


def updated(x: Any, key: Any, how: str, value: Any) -> Any:
    if isinstance(x, rg.Variable):
        return getattr(x.at[key], how)(value)
    result = np.array(x)
    if how == "set":
        result[key] = value
    else:
        ufunc = {"add": np.add, "multiply": np.multiply}[how]
        ufunc.at(result, key, value)
    return result


def step(rng: np.random.Generator, made: int) -> Step:
    """Return a step of a program that has three inputs and has computed so many values."""
    i, j = rng.integers(made + 3), rng.integers(made + 3)
    if made and rng.random() < 0.5:
        i = made + 2  # what was computed last
    how = ("set", "add", "multiply")[rng.integers(3)]
    key = KEYS[rng.integers(len(KEYS))]
    places = rng.integers(-N, N, size=3)
    axis = int(rng.integers(-1, 1))
    reverse = (slice(None, None, -1),) if axis else (..., slice(None, None, -1))
    ufunc = (np.exp, np.negative, np.square)[rng.integers(3)]
    steps: list[Step] = [
        lambda v: ufunc(v[i]),
        lambda v: v[i] * v[j] + v[i],
        lambda v: updated(v[i], key, how, v[j][key]),
        lambda v: updated(v[i], places, how, 2.5),
        lambda v: v[i][reverse],
        lambda v: np.transpose(v[i]),
        lambda v: np.cumsum(v[i], axis=axis),
        lambda v: np.tanh(v[i]) @ v[j],
        lambda v: v[i] - np.max(v[j], axis=axis, keepdims=True),
        lambda v: v[i][np.array([*places, 0])],
    ]
    return steps[rng.integers(len(steps))]


def results(steps: list[Step], inputs: list[Any]) -> list[Any]:
    values = list(inputs)
    for made in steps:
        values.append(made(values))
    return [values[-1], values[max(3, len(values) - 3)]]
