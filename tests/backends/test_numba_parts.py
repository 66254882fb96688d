"""Programs that are cut into parts: every value reaches the parts that read it."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numba import main_source
from tests.backends.programs import inputs, program, results

MODES = (None, "fast_compile", "fast_run", "o4")


def parts(function):
    return function.source.count("def part_")


@pytest.fixture
def cut(monkeypatch):
    """Return a function that sets the number of steps in a part."""
    return lambda steps: monkeypatch.setattr(main_source, "PART", steps)


@pytest.mark.parametrize("mode", MODES)
def test_one_constant_serves_many_products(mode):
    C = np.linspace(-1.0, 1.0, 16).reshape(4, 4)
    x = rg.vector("x", shape=(4,))
    node, expected = x, np.linspace(0.1, 0.4, 4)
    f_of = expected.copy()
    for _ in range(800):
        node, expected = rg.tanh(rg.constant(C) @ node), np.tanh(C @ expected)
    unrolled = rg.mode(mode).excluding("loop_rolling") if mode else None
    f = rg.function([x], node, mode=unrolled)
    assert parts(f) > 1
    np.testing.assert_allclose(f(f_of), expected, rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_many_updates_of_zeros(mode):
    x = rg.vector("x", shape=(400,))
    z = rg.zeros((400,))
    for i in range(400):
        z = z.at[i].add(rg.sin(x[i]))
    a = np.linspace(-2.0, 2.0, 400)
    np.testing.assert_allclose(rg.function([x], z, mode=mode)(a), np.sin(a), rtol=1e-14)


@pytest.mark.parametrize("size", range(1, 6))
@pytest.mark.parametrize("mode", MODES)
def test_constants_are_read_and_returned_on_both_sides_of_every_boundary(cut, size, mode):
    cut(size)
    rows = np.arange(12.0).reshape(3, 4)
    C, D = rg.constant(rows), rg.constant(rows.T + 1.0)
    x, y = rg.vector("x", shape=(4,)), rg.vector("y", shape=("n",))
    top = D @ (C @ x)
    outputs = [C, rg.sin(C @ top), D @ rg.cos(C @ (x + top)), y, x * rg.sum(y), D]
    f = rg.function([x, y], outputs, mode=mode)
    assert parts(f) > 1
    a, b = np.linspace(0.0, 0.1, 4), np.linspace(1.0, 2.0, 4)
    high = (rows.T + 1.0) @ (rows @ a)
    expected = [
        rows, np.sin(rows @ high), (rows.T + 1.0) @ np.cos(rows @ (a + high)), b, a * b.sum(),
        rows.T + 1.0,
    ]  # fmt: skip
    for result, value in zip(f(a, b), expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-11)


@pytest.mark.parametrize("seed", range(40))
def test_a_program_in_parts_computes_what_numpy_does(cut, seed):
    rng = np.random.default_rng(seed)
    cut(1 + seed % 3)
    variables, values = inputs(rng, known=bool(seed % 2))
    steps = program(rng, values, int(rng.integers(4, 12)))
    outputs, expected = results(steps, variables), results(steps, values)
    f = rg.function(variables, outputs, mode=MODES[seed % 4])
    places = tuple(np.empty(np.shape(x)) for x in expected)
    for found in (f(*values), f(*values, out=places)):
        for result, value in zip(found, expected, strict=True):
            np.testing.assert_allclose(result, value, rtol=1e-9, atol=1e-8)
