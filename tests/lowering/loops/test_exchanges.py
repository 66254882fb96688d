"""Steps that exchange buffers compute what those that copy them do."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numba import loop_calls
from relgraph.ir.records import replace
from relgraph.lowering.loops import interpreter
from relgraph.lowering.loops.builder import ONE, ZERO
from relgraph.lowering.loops.exchanges import with_exchanges
from relgraph.lowering.loops.function import Array, LoopFunction
from relgraph.lowering.loops.nodes import (
    Buffer,
    Const,
    Function,
    Load,
    Loop,
    Op,
    Store,
    Var,
    const,
    index,
)
from relgraph.lowering.loops.verify import verify
from tests.lowering.loops.evaluation import interpreted, is_exact, machine, outcome, same_bits

RNG = np.random.default_rng(8)


def shortest(path, steps):
    for k in range(steps):
        path[:] = np.minimum(path[:], path[:, k, None] + path[k])
    return path


def heat(u, steps):
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u


def plane(u, steps):
    for _ in range(steps):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    return u


def wave(u, steps):
    old = 0.9 * u
    for _ in range(steps):
        new = 2.0 * u - old + 0.1 * (np.roll(u, 1, axis=0) - 2.0 * u + np.roll(u, -1, axis=0))
        old, u = u, new
    return u, old


def changing(u, steps):
    for _ in range(steps):
        u[0] = 0.5 * u[1]
        u[1:-1] = 0.25 * (u[2:] + u[:-2])
    return u


def remembering(u, steps):
    old = 0.9 * u
    for _ in range(steps):
        new = old[::-1] + u
        old, u = u, new
    return u, old


def watched(u, steps):
    changes = np.zeros(steps)
    for k in range(steps):
        new = 0.5 * (u[::-1] + 0.3 * u)
        changes[k] = np.sum(np.abs(new - u))
        u = new
    return u, changes


def moving(u, steps):
    for k in range(steps):
        u[k] = 0.5 * u[k, ::-1] + u[3]
    return u


def few(u, steps):
    for _ in range(steps):
        u[3:14] = 0.5 * u[2:13] + 0.2 * u[5:16]
    return u


def halved(u, steps):
    for _ in range(steps):
        u[1:-1] = 0.5 * u[1:-1] + 0.1
    return u


def arrays(result):
    return result if isinstance(result, tuple) else (result,)


def loops(monkeypatch, program, *arguments):
    """Return the loops of a program as they were written, after a comparison with NumPy."""
    found = []
    monkeypatch.setattr(
        loop_calls, "with_exchanges", lambda loop: found.append(loop) or with_exchanges(loop)
    )
    expected = program(*[np.copy(x) if np.ndim(x) else x for x in arguments])
    result = rg.jit(program)(*arguments)
    for x, y in zip(arrays(result), arrays(expected), strict=True):
        np.testing.assert_allclose(x, y, 1e-13, 1e-13)
    return found


@pytest.mark.parametrize("steps", [20, 21])
@pytest.mark.parametrize(
    ("program", "exchanges"),
    [
        (shortest, True), (heat, True), (plane, True), (wave, True), (changing, False),
        (remembering, True), (watched, True), (moving, False), (few, False),
        (halved, False),
    ],
)  # fmt: skip
def test_arrays_are_those_of_steps_that_copy(monkeypatch, program, exchanges, steps):
    u = RNG.uniform(0.5, 1.5, (23, 23))
    (loop,) = loops(monkeypatch, program, u, steps)
    new = with_exchanges(loop)
    assert any([isinstance(s, Loop) and s.step == 2 for s in new.function.body]) == exchanges
    verify(new.function)
    operands = [np.zeros(())] * (max(loop.operands) + 1)
    for i, buffer in zip(loop.operands, loop.function.arrays, strict=False):
        assert all(isinstance(n, Const) for n in buffer.shape)
        operands[i] = RNG.uniform(0.5, 1.5, [n.value for n in buffer.shape])
    _, expected = outcome(loop, interpreter.run, operands)
    for run in (interpreter.run, machine):
        status, results = outcome(new, run, operands)
        assert status == 0
        for x, y in zip(results, expected, strict=True):
            np.testing.assert_allclose(x, y, 1e-14)
            assert same_bits(x, y) or not is_exact(loop.function)


def test_steps_over_no_elements(monkeypatch):
    (loop,) = loops(monkeypatch, wave, np.zeros((0, 3)), 20)
    assert with_exchanges(loop) is loop


def test_few_steps_are_as_they_are_written(monkeypatch):
    (loop,) = loops(monkeypatch, heat, RNG.uniform(0.5, 1.5, (23, 23)), 20)
    (*_, steps) = loop.function.body
    three = Loop(steps.index, steps.low, Const("3", "int64"), steps.body)
    short = (*loop.function.body[:-1], three)
    function = type(loop.function)("NAME", loop.function.integers, loop.function.arrays, short)
    assert with_exchanges(replace(loop, function=function)).function is function


def test_an_array_that_changes_after_it_was_kept_is_not_exchanged():
    n, f, k = index(6), "float64", Var("k", "int64")
    u, old, keep = (Buffer(name, f, (n,)) for name in ("o0", "o1", "w0"))

    def nest(name, target, value):
        i = Var(name, "int64")
        return Loop(i, ZERO, n, (Store(target, (i,), value(i)),), (), True)

    step = [
        nest("i", keep, lambda i: Load(u, (i,))),
        nest("j", u, lambda i: Op("sum", (Load(old, (i,)), Load(u, (i,))), f)),
        nest("l", old, lambda i: Load(keep, (i,))),
    ]
    change = Store(keep, (ZERO,), const(5.0, f))
    for body in (step, [*step[:1], change, *step[1:]], [*step[:2], change, *step[2:]]):
        arrays = (u, old, keep, Buffer("status", "int64", (ONE,)))
        steps = Loop(k, ZERO, n, tuple(body))
        function = Function("NAME", (Var("once", "int64"),), arrays, (steps,))
        array = Array(f, (n,))
        loop = LoopFunction(function, (), (), frozenset(), (array,) * 2, (array,), {}, False, 1)
        verify(function)
        new = with_exchanges(loop)
        assert (new is loop) == (change in body)
        before, after = (interpreted(x.function)[:2] for x in (loop, new))
        np.testing.assert_array_equal(after, before)
