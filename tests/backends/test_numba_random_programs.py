"""Random programs on the CPU, over arrays that may share memory with their results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError
from tests.backends.programs import N, inputs, program, results


def agree(found: Any, expected: Any) -> bool:
    return all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-9, atol=1e-8)
        for a, b in zip(found, expected, strict=True)
    )


def laid_out(rng: np.random.Generator, values: list[Any]) -> tuple[list[Any], Any]:
    """Return the values in arrays of one of four layouts, and memory that two of them may share."""
    memory = np.empty((2 * N, N))
    kind = rng.integers(4)
    found = []
    for i, value in enumerate(values):
        if kind == 0 and i < 2:
            array = memory[N * i : N * (i + 1)]
        elif kind == 1:
            array = np.empty(value.shape, order="F")
        elif kind == 2:
            array = np.empty(value.shape)[::-1]
        else:
            array = np.empty(value.shape)
        array[...] = value
        found.append(array)
    return found, memory


@pytest.mark.parametrize("seed", range(250))
def test_a_program_computes_what_numpy_does(seed):
    rng = np.random.default_rng(seed)
    variables, values = inputs(rng, known=bool(seed % 2))
    steps = program(rng, values, int(rng.integers(2, 9)))
    outputs, expected = results(steps, variables), results(steps, values)
    assert agree(rg.function(variables, outputs)(*values), expected)

    donated = tuple(x.name for x in variables if rng.random() < 0.3)
    f = rg.function(variables, outputs, donate=donated)
    given, memory = laid_out(rng, values)
    start = rng.integers(N)
    shared = [*given, given[0][::-1], given[1].T, memory[start : start + N]]
    places = []
    for value in expected:
        fitting = [x for x in shared if x.shape == np.shape(value)] + [np.empty(np.shape(value))]
        places.append(fitting[rng.integers(len(fitting))])
    try:
        found = f(*given, out=tuple(places))
    except ArgumentError as error:
        assert "overlaps with that of another result" in str(error)
        assert all(np.array_equal(x, y) for x, y in zip(given, values, strict=True))
        return
    assert agree(found, expected)
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
