"""Random programs on the CPU, over arrays that may share memory with results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import RelgraphError
from tests.backends.programs import N, results, step


def inputs_laid_out(rng: np.random.Generator, values: list[Any]) -> tuple[list[Any], Any]:
    """Return the values in arrays of one of four layouts, and memory that three of them share."""
    memory = np.empty((3 * N, N))
    kind = rng.integers(4)
    if kind == 0:
        found = [memory[N * i : N * (i + 1)] for i in range(3)]
    elif kind == 1:
        found = [np.empty((N, N), order="F") for _ in values]
    elif kind == 2:
        found = [np.empty((N, N))[::-1] for _ in values]
    else:
        found = [np.empty((N, N)) for _ in values]
    for array, value in zip(found, values, strict=True):
        array[...] = value
    return found, memory


@pytest.mark.parametrize("seed", range(200))
def test_a_program_computes_what_numpy_does(seed):
    rng = np.random.default_rng(seed)
    shape = (N, N) if seed % 2 else (None, None)
    variables = [rg.matrix(name, shape=shape) for name in "abc"]
    values = [rng.normal(size=(N, N)) / 2 for _ in variables]
    steps = [step(rng, made) for made in range(rng.integers(2, 8))]
    outputs = results(steps, variables)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = results(steps, values)

    def agree(found: Any) -> bool:
        return all(
            np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)
            for a, b in zip(found, expected, strict=True)
        )

    assert agree(rg.function(variables, outputs)(*values))
    donated = tuple(x.name for x in variables if rng.random() < 0.3)
    f = rg.function(variables, outputs, donate=donated)
    given, memory = inputs_laid_out(rng, values)
    start = rng.integers(2 * N)
    choices = [*given, given[0][::-1], given[1].T, memory[start : start + N], np.empty((N, N))]
    places = tuple(choices[rng.integers(len(choices))] for _ in outputs)
    try:
        found = f(*given, out=places)
    except RelgraphError:  # the places overlap each other, or what is read after they are written
        assert all(np.array_equal(x, y) for x, y in zip(given, values, strict=True))
        return
    assert agree(found)
    for x, array, value in zip(variables, given, values, strict=True):
        written = any(np.shares_memory(array, place) for place in places)
        assert written or x.name in donated or np.array_equal(array, value)


def test_a_reversed_view_whose_elements_are_updated_is_still_read_through_its_strides():
    x = rg.matrix("x", shape=(N, N))
    flipped = x[:, ::-1]
    changed = flipped.at[np.array([0, 1, 2])].set(2.5)
    value = np.arange(1.0, 17.0).reshape(N, N)
    expected = value[:, ::-1].copy()
    expected[[0, 1, 2]] = 2.5
    f = rg.function([x], [changed - rg.max(flipped, axis=-1, keepdims=True), changed, flipped - 1])
    found = f(value)
    np.testing.assert_array_equal(found[0], expected - value.max(-1, keepdims=True))
    np.testing.assert_array_equal(found[1], expected)
    np.testing.assert_array_equal(found[2], value[:, ::-1] - 1)
