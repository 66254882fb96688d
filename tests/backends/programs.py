"""Random programs of every kind of kernel: each runs on arrays with NumPy, and builds a graph.

A program is a list of steps; a step is a function of all values so far, the inputs first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special

import relgraph as rg

N = 4
ROWS = 9
KEYS = (0, -1, slice(1, None), slice(None, None, 2), slice(None, None, -1))
LARGEST = 1e4  # larger values would lose too many digits on the way
Step = Callable[[Sequence[Any]], Any]


def inputs(rng: np.random.Generator, known: bool) -> tuple[list[Any], list[Any]]:
    """Return variables, with known sizes or not, and values: three matrices and a vector."""
    shapes = {"a": (N, N), "b": (N, N), "tall": (ROWS, N), "v": (N,)}
    variables = [
        rg.tensor(name, shape=shape if known else (None,) * len(shape))
        for name, shape in shapes.items()
    ]
    return variables, [rng.normal(size=shape) / 2 for shape in shapes.values()]


def program(rng: np.random.Generator, values: Sequence[Any], length: int) -> list[Step]:
    """Return steps that NumPy takes, and whose values are finite and not large."""
    steps: list[Step] = []
    found = list(values)
    while len(steps) < length:
        made = step(rng, len(found), len(values))
        try:
            with warnings.catch_warnings(action="error"):
                value = np.asarray(made(found))
        except (ValueError, IndexError, RuntimeWarning):
            continue
        if value.ndim <= 3 and np.abs(value).max(initial=0.0) < LARGEST:
            steps.append(made)
            found.append(value)
    return steps


def results(steps: Sequence[Step], given: Sequence[Any]) -> list[Any]:
    """Return the last value of a program, and one before it."""
    values = list(given)
    for made in steps:
        values.append(made(values))
    return [values[-1], values[max(len(given), len(values) - 3)]]


def step(rng: np.random.Generator, count: int, given: int) -> Step:
    """Return a step after so many values, of which some are given."""
    i, j = (int(k) for k in rng.integers(count, size=2))
    if count > given and rng.random() < 0.5:
        i = count - 1  # what was computed last
    how = ("set", "add", "multiply")[rng.integers(3)]
    key = KEYS[rng.integers(len(KEYS))]
    key = key if rng.random() < 0.5 else (..., key)
    places = rng.integers(-N, N, size=3)
    axis = int(rng.integers(-1, 1))
    keepdims = bool(rng.integers(2))
    ufunc = (np.exp, np.negative, np.square, np.tanh)[rng.integers(4)]
    reduce = (np.sum, np.max, np.mean)[rng.integers(3)]
    join = (np.concatenate, np.stack)[rng.integers(2)]
    steps: list[Step] = [
        lambda v: ufunc(v[i]),
        lambda v: v[i] * v[j] + v[i],
        lambda v: np.where(v[i] > v[j], v[i], 0.5),
        lambda v: v[i] - np.max(v[j], axis=axis, keepdims=True),
        lambda v: reduce(v[i], axis=axis, keepdims=keepdims),
        lambda v: np.sum(v[i] * v[j]) * v[i],
        lambda v: np.cumsum(v[i], axis=axis),
        lambda v: softmax(v[i], axis),
        lambda v: logsumexp(v[i], axis),
        lambda v: np.tanh(v[i]) @ v[j],
        lambda v: v[i].T @ (v[i] @ v[j]),
        lambda v: np.swapaxes(v[i], -1, -2),
        lambda v: v[i][key],
        lambda v: v[i][np.array([*places, 0])],
        lambda v: join([v[i], v[j]], axis=axis),
        lambda v: updated(v[i], key, how, v[j][key]),
        lambda v: updated(v[i], places, how, 2.5),
    ]
    return steps[rng.integers(len(steps))]


def updated(x: Any, key: Any, how: str, value: Any) -> Any:
    """Return an array with a part changed."""
    if isinstance(x, rg.Variable):
        return getattr(x.at[key], how)(value)
    result = np.array(x)
    if how == "set":
        result[key] = value
    else:
        ufunc = {"add": np.add, "multiply": np.multiply}[how]
        ufunc.at(result, key, value)
    return result


def softmax(x: Any, axis: int) -> Any:
    """Return exponentials that add up to 1 along an axis."""
    if isinstance(x, rg.Variable):
        return rg.softmax(x, axis=axis)
    x.shape[axis]  # an error for a scalar, which SciPy takes
    return scipy.special.softmax(x, axis=axis)


def logsumexp(x: Any, axis: int) -> Any:
    """Return the logarithm of the sum of exponentials along an axis."""
    if isinstance(x, rg.Variable):
        return rg.logsumexp(x, axis=axis)
    x.shape[axis]
    return scipy.special.logsumexp(x, axis=axis)
