"""Loops over steps of many series, as loops over series: in any order, they compute the same."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.api.differentiation import node_of
from relgraph.backends.numba import loop_calls
from relgraph.errors import RelgraphError
from relgraph.ir.graph import substitute
from relgraph.ir.records import replace
from relgraph.lowering.loops import interpreter
from relgraph.lowering.loops.batches import SERIES, batched, series_in_turn
from relgraph.lowering.loops.changes import mapped
from relgraph.lowering.loops.nodes import Loop, Op, index
from relgraph.lowering.loops.verify import verify
from relgraph.ops.loops import results_of
from tests.api.loop_programs import Plain, leaves
from tests.lowering.loops.evaluation import interpreted, outcome, written
from tests.lowering.loops.programs import Program

RNG = np.random.default_rng(3)
B = 5  # series
T = 4  # steps


def backwards(function):
    """Return a function that takes the series from the last to the first."""
    *first, loop = function.body
    assert isinstance(loop, Loop) and loop.apart and not loop.carried
    last = Op("sub", (loop.high, index(1)), "int64")
    other = Op("sub", (last, loop.index), "int64")
    body = mapped(loop.body, lambda x: other if x is loop.index else x)
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


def rows_in_buffers(loops, start, x):
    """Compute steps of each row in a buffer of its own."""

    def exchanged(i, y):
        low, high = np.minimum(y[:-1], y[1:]), np.maximum(y[:-1], y[1:])
        return np.concatenate([low, high[-1:]]) + i

    return loops.scan(lambda _, x: ((), loops.fori_loop(0, 3, exchanged, x * 2)), (), x)[1]


def check_program(loop, operands, series):
    expected = outcome(loop, interpreter.run, operands)
    for function in (series.function, backwards(series.function)):
        verify(function)
        status, found = outcome(replace(series, function=function), interpreter.run, operands)
        assert status == expected[0] == 0
        for a, b in zip(found, expected[1], strict=True):
            np.testing.assert_array_equal(a, b)
    return expected[1]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    "program", [smoothed, reversed_steps, pairs, counted, chosen, each, rows_in_buffers]
)
def test_independent_series(program, named):
    b = B if named else 9  # vectors of at most 8 elements of known number are in variables
    arrays = RNG.normal(size=b), RNG.normal(size=(T, b))
    sizes = [("n",), ("t", "n")] if named else [(b,), (T, b)]
    if program is rows_in_buffers:  # whose joins need known sizes
        sizes = [("n",), ("t", b)]
    loop, operands = loop_of(program, arrays, sizes)
    series = batched(loop)
    assert series is not None
    results = check_program(loop, operands, series)
    for a, b in zip(results, leaves(program(Plain, *arrays)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def matrices(loops, start, x):
    return loops.scan(lambda y, x: (y * 0.5 + x[:, None], y + 1.0), start, x)


def test_series_of_rows():
    arrays = RNG.normal(size=(B, 3)), RNG.normal(size=(T, B))
    loop, operands = loop_of(matrices, arrays, [("n", 3), ("t", "n")])
    series = batched(loop)
    assert series.function.body[-1].index is SERIES
    check_program(loop, operands, series)


def random_series(seed):
    """Return a loop over series of a random program, and arrays; None if sizes are not known."""
    program = Program(seed)
    if program.sizes != "known":
        return None
    results = results_of(program.application)
    stacks = [
        rg.tensor(f"s{k}", (3, *x.type.shape), x.dtype.name) for k, x in enumerate(program.inputs)
    ]

    def series(_, parts):
        nodes = [node_of(x, "x") for x in parts]
        return (), list(substitute(results, dict(zip(program.inputs, nodes, strict=True))))

    try:
        node = rg.scan(series, (), tuple(stacks))[1][0].inputs[0]
    except RelgraphError:  # an input that no slice can be
        return None
    arrays = [np.stack([x, np.flip(x), np.roll(x, 1)]) for x in map(np.asarray, program.arrays)]
    one = rg.function(program.inputs, results, target="numpy", mode=None)
    operands = rg.function(stacks, list(node.inputs), target="numpy", mode=None)(*arrays)
    return written(node), operands, [one(*[x[k] for x in arrays]) for k in range(3)]


def test_random_programs_as_series():
    batches = 0
    with np.errstate(all="ignore"):
        for seed in range(120):
            case = random_series(seed)
            if case is None or case[0] is None:
                continue
            loop, operands, each = case
            series = batched(loop)
            if series is None:
                continue
            batches += 1
            for function in (series.function, backwards(series.function)):
                run = replace(series, function=function)
                status, found = outcome(run, interpreter.run, operands)
                assert status == 0
                for a, *parts in zip(found, *each, strict=True):
                    tolerance = 1e-4 if a.dtype == np.float32 else 1e-9
                    np.testing.assert_allclose(a, np.stack(parts), tolerance, tolerance)
    assert batches >= 25


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
    assert batched(loop) is None


def columns_of_air(a, b):
    """Solve a recurrence along the last axis, plane by plane."""
    out = np.zeros_like(b)
    out[:, :, 0] = b[:, :, 0]
    for k in range(1, b.shape[2]):
        weight = 0.5 + 0.1 * a[:, :, k]
        out[:, :, k] = (b[:, :, k] - 0.3 * out[:, :, k - 1]) / weight
    return out


def rows_of_pixels(a, b):
    """Add up shifted rows, step by step."""
    out = np.zeros_like(b)
    for k in range(b.shape[1] - 12):
        out[:, :12] += a[:, k : k + 12, 0][:, :, None] * b[:, k : k + 12]
    return out


def recurrences_of_rows(a, b):
    out = b[:, :, 0].copy()
    for k in range(1, b.shape[1]):
        out[:, k] = 0.5 * out[:, k - 1] + b[:, k, 1]
    return out


@pytest.mark.parametrize(
    ("program", "in_turn"),
    [(columns_of_air, True), (rows_of_pixels, False), (recurrences_of_rows, False)],
)
def test_series_with_rows_along_the_steps_run_in_turn(monkeypatch, program, in_turn):
    found = []
    real = loop_calls._kernel
    monkeypatch.setattr(loop_calls, "_kernel", lambda loop: found.append(loop) or real(loop))
    a, b = RNG.uniform(0.5, 1.5, (2, 11, 30, 25))
    np.testing.assert_allclose(rg.jit(program)(a, b), program(a, b), rtol=1e-12)
    (loop,) = found
    series = series_in_turn(loop)
    assert (series is not loop) == in_turn
    for x, y in zip(interpreted(series.function), interpreted(loop.function), strict=True):
        np.testing.assert_array_equal(x, y)
