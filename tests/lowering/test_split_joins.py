"""Elementwise ops of joined arrays, part by part, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numba.schedules import FUSION, planned
from relgraph.lowering.kernels import Call
from relgraph.lowering.split_joins import SMALLEST, Empty, split_joins
from relgraph.ops.concatenate import Concatenate

RNG = np.random.default_rng(5)
N = 70
assert N * N >= SMALLEST


def blurred(x):
    rolled = [np.roll(x, s, axis=a) for s in (1, -1) for a in (0, 1)]
    corners = [np.roll(np.roll(x, s, axis=0), t, axis=1) for s in (1, -1) for t in (1, -1)]
    return (4 * x + 2 * sum(rolled) + sum(corners)) / 16


PROGRAMS = {
    "a stencil whose edges wrap around": blurred,
    "one axis": lambda x: np.roll(x, 3, axis=1) * x,
    "a row beside all": lambda x: np.roll(x, -2, axis=0) + x[0],
    "a column beside all": lambda x: np.roll(x, 5, axis=1) - x[:, :1],
    "a function of a join": lambda x: np.exp(np.concatenate([x[:1], x[:-1]])) + x,
    "a part of a join": lambda x: np.concatenate([x, x])[1 : N + 1] * 2 + x,
    "a difference with edges": lambda x: np.abs(np.roll(x, 1, axis=0) - np.roll(x, -1, axis=0)),
    "a comparison": lambda x: np.where(np.roll(x, 1, axis=1) > x, x, np.roll(x, 1, axis=1)),
    "the maximum of a result": lambda x: [blurred(x), np.max(blurred(x), axis=0)],
    "a join that is a result too": lambda x: [np.roll(x, 1, axis=0), np.roll(x, 1, axis=0) + x],
    "integers": lambda x: np.roll(np.floor(x * 9).astype(np.int64), 1, axis=0) + 1,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_numpys(name):
    x = RNG.normal(size=(N, N))
    expected, found = PROGRAMS[name](x), rg.jit(PROGRAMS[name])(x)
    if not isinstance(expected, list):
        expected, found = [expected], [found]
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_no_joined_array_is_stored():
    x = rg.tensor("x", shape=(N, N))
    graph = rg.FunctionGraph([x], [np.abs(rg.numpy.roll(x, 1, axis=0)) + x])
    _, steps = planned(graph, FUSION)
    calls = [step.node.op for step in steps if isinstance(step, Call)]
    assert not any(isinstance(op, Concatenate) for op in calls)
    assert sum(isinstance(op, Empty) for op in calls) == 1


@pytest.mark.parametrize(
    "build",
    [
        lambda x: rg.numpy.concatenate([x[:9], x[9:]]),  # nothing but a join
        lambda x: rg.numpy.concatenate([x[k : k + 1] for k in range(N)]) + 1.0,  # many parts
        lambda x: rg.numpy.concatenate([x[:30], x[:30], x[:10]]) + 1.0,  # none of them large
    ],
)
def test_other_joins_stay(build):
    x = rg.tensor("x", shape=(N, N))
    graph = rg.FunctionGraph([x], [build(x)])
    assert split_joins(graph) is graph


def test_sizes_that_are_unknown_stay():
    x = rg.tensor("x", shape=("n", N))
    graph = rg.FunctionGraph([x], [rg.numpy.concatenate([x[1:], x[:1]]) + x])
    assert split_joins(graph) is graph


def test_operands_of_unknown_size_are_compared_whole():
    x, y = rg.tensor("x", shape=(N, N)), rg.tensor("y", shape=(None,))
    f = rg.function([x, y], rg.numpy.roll(x, 1, axis=0) * (rg.numpy.zeros((N, N)) + y))
    value, row = RNG.normal(size=(N, N)), RNG.normal(size=N)
    np.testing.assert_array_equal(f(value, row), np.roll(value, 1, axis=0) * row)
    with pytest.raises(rg.errors.ShapeError, match="size 71"):
        f(value, RNG.normal(size=N + 1))


def test_results_go_to_given_arrays():
    x = rg.tensor("x", shape=(N, N))
    f = rg.function([x], rg.numpy.roll(x, 1, axis=0) * x)
    value, out = RNG.normal(size=(N, N)), np.empty((N, N))
    assert f(value, out=out) is out
    np.testing.assert_array_equal(out, np.roll(value, 1, axis=0) * value)
    f(value, out=value)
    np.testing.assert_array_equal(value, out)
