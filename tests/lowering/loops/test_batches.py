"""Loops over steps of many series, as loops over series: in any order, they compute the same."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.ir.records import replace
from relgraph.lowering.loops import interpreter
from relgraph.lowering.loops.batches import SERIES, batched, substituted
from relgraph.lowering.loops.nodes import Loop, Op, index
from relgraph.lowering.loops.verify import verify
from tests.api.loop_programs import Plain, leaves
from tests.lowering.loops.evaluation import outcome, written

RNG = np.random.default_rng(3)
B = 5  # series
T = 4  # steps


def backwards(function):
    """Return a function that takes the series from the last to the first."""
    *first, loop = function.body
    assert isinstance(loop, Loop) and loop.apart and not loop.carried
    last = Op("sub", (loop.high, index(1)), "int64")
    other = Op("sub", (last, loop.index), "int64")
    body = substituted(loop.body, {loop.index: other})
    return replace_body(function, (*first, Loop(loop.index, loop.low, loop.high, body, (), True)))


def replace_body(function, body):
    return type(function)(function.name, function.integers, function.arrays, body)


def loop_of(program, arrays, sizes):
    inputs = [
        rg.tensor(f"x{k}", shape, x.dtype.name)
        for k, (x, shape) in enumerate(zip(arrays, sizes, strict=True))
    ]
    node = leaves(program(rg, *inputs))[0].inputs[0]
    operands = rg.function(inputs, list(node.inputs), target="numpy", mode=None)(*arrays)
    return written(node), operands


def smoothed(loops, start, x):
    return loops.scan(lambda y, x: (0.5 * y + np.abs(x), y), start, x)


def reversed_steps(loops, start, x):
    return loops.scan(lambda y, x: (np.maximum(y, x) - 1.0, y * x), start, x, reverse=True)


def pairs(loops, start, x):
    def step(state, x):
        a, b = state
        return (b, a + x), np.where(a < b, a, b)

    return loops.scan(step, (start, start * 2), x)


def counted(loops, start, x):
    return loops.fori_loop(0, 3, lambda i, y: y * 0.5 + i + x[0], start)


def chosen(loops, start, x):
    def step(i, y):
        return loops.cond(i > 1, lambda y: y + 1.0, lambda y: y * 2.0, y)

    return loops.fori_loop(0, 3, step, start)


def each(loops, start, x):
    return loops.scan(lambda _, x: ((), loops.scan(lambda y, z: (y + z, y), 0.0, x)[1]), (), x)[1]


def check_program(loop, operands, series):
    verify(series)
    expected = outcome(loop, interpreter.run, operands)
    for function in (series, backwards(series)):
        verify(function)
        status, found = outcome(replace(loop, function=function), interpreter.run, operands)
        assert status == expected[0] == 0
        for a, b in zip(found, expected[1], strict=True):
            np.testing.assert_array_equal(a, b)
    return expected[1]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("program", [smoothed, reversed_steps, pairs, counted, chosen, each])
def test_independent_series(program, named):
    b = B if named else 9  # vectors of at most 8 elements of known number are in variables
    arrays = RNG.normal(size=b), RNG.normal(size=(T, b))
    sizes = [("n",), ("t", "n")] if named else [(b,), (T, b)]
    loop, operands = loop_of(program, arrays, sizes)
    series = batched(loop.function)
    assert series is not None
    results = check_program(loop, operands, series)
    for a, b in zip(results, leaves(program(Plain, *arrays)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def matrices(loops, start, x):
    return loops.scan(lambda y, x: (y * 0.5 + x[:, None], y + 1.0), start, x)


def test_series_of_rows():
    arrays = RNG.normal(size=(B, 3)), RNG.normal(size=(T, B))
    loop, operands = loop_of(matrices, arrays, [("n", 3), ("t", "n")])
    series = batched(loop.function)
    assert series.body[-1].index is SERIES
    check_program(loop, operands, series)


def total(loops, start, x):
    return loops.fori_loop(0, 3, lambda i, y: y + np.sum(y), start)


def turned(loops, start, x):
    return loops.fori_loop(0, 3, lambda i, y: np.concatenate([y[1:], y[:1]]) + y, start)


def first_of_all(loops, start, x):
    return loops.scan(lambda y, x: (y + y[0] * x, y), start, x)


def of_one_number(loops, start, x):
    return loops.scan(lambda y, x: (y + x[0], y), 0.0, x)


@pytest.mark.parametrize("program", [total, turned, first_of_all, of_one_number])
def test_series_that_are_not_independent(program):
    arrays = RNG.normal(size=9), RNG.normal(size=(T, 9))
    loop, _ = loop_of(program, arrays, [(9,), (T, 9)])
    assert batched(loop.function) is None
