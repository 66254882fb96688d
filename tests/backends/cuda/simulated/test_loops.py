"""Loops and choices as kernels, simulated on the device, against plain Python and NumPy."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.cuda import loop_calls
from relgraph.backends.cuda.loop_calls import LoopCall
from relgraph.errors import CaptureError
from relgraph.lowering.loops import control
from relgraph.ops.loops import results_of
from tests.api.loop_programs import Plain, leaves
from tests.lowering.loops.programs import Program

RNG = np.random.default_rng(12)


def call_of(f):
    """Return the only loop of a function."""
    (call,) = [x for x in f._program._calls.values() if isinstance(x, LoopCall)]
    return call


def runs(f):
    """Return what runs the only loop of a function, if there are many series."""
    return call_of(f).kernels[0].runs


def on_device(inputs, outputs, **options):
    f = rg.function(inputs, outputs, target="cuda", mode=None, **options)
    assert "on the CPU" not in f.source
    return f


def compare(program, *arrays, sizes=None, rtol=1e-12):
    """Run a program on the device, as a graph of inputs with these sizes; return the function."""
    shapes = [np.shape(x) for x in arrays] if sizes is None else sizes
    inputs = [
        rg.tensor(f"x{k}", shape, np.asarray(x).dtype.name)
        for k, (x, shape) in enumerate(zip(arrays, shapes, strict=True))
    ]
    f = on_device(inputs, leaves(program(rg, *inputs)))
    found = rg.cuda.to_host(f(*arrays))
    for a, b in zip(found, leaves(program(Plain, *arrays)), strict=True):
        assert a.shape == np.shape(b)
        assert a.dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=rtol)
    return f


def kalman_step(model, state, y):
    (F, H), (m, P) = model, state
    m, P = F @ m, F @ P @ F.T + np.eye(2) * 0.1
    gain = P @ H / (H @ P @ H + 0.5)
    return (m + gain * (y - H @ m), P - np.outer(gain, H @ P)), m


def kalman(loops, *arrays):
    *model, m, P, ys = arrays
    return loops.scan(lambda state, y: kalman_step(model, state, y), (m, P), ys)


def batch_of_kalman(loops, *arrays):
    *model, m, P, ys = arrays

    def series(_, y):
        return (), loops.scan(lambda state, z: kalman_step(model, state, z), (m, P), y)[1]

    return loops.scan(series, (), ys)[1]


MODEL = (np.array([[0.9, 0.1], [0.0, 0.8]]), np.array([1.0, 0.5]), np.zeros(2), np.eye(2))


def test_a_kalman_filter_on_one_thread():
    f = compare(kalman, *MODEL, RNG.normal(size=9))
    assert runs(f) == "thread"
    assert not call_of(f).checks


@pytest.mark.parametrize("length", [6, "m"])
def test_a_batch_of_kalman_filters_has_a_thread_for_each(length):
    shapes = [*map(np.shape, MODEL), ("n", length)]
    f = compare(batch_of_kalman, *MODEL, RNG.normal(size=(11, 6)), sizes=shapes)
    assert runs(f) == "series"


def autoregression(loops, a, start, x):
    return loops.scan(lambda y, x: (a * y + np.tanh(x),) * 2, start, x)


@pytest.mark.parametrize("series", [1, 5, 19])
def test_recurrences_of_vectors_are_a_batch(series):
    arrays = np.float64(0.5), RNG.normal(size=series), RNG.normal(size=(4, series))
    f = compare(autoregression, *arrays, sizes=[(), ("n",), ("t", "n")])
    assert runs(f) == "series"


@pytest.mark.parametrize("waits", [1, 100])
def test_few_series_of_wide_arrays_run_on_a_block(monkeypatch, waits):
    monkeypatch.setattr(loop_calls, "WAITS", waits)
    arrays = np.float64(0.5), RNG.normal(size=(2, 40)), RNG.normal(size=(3, 2, 40))
    f = compare(autoregression, *arrays, sizes=[(), ("n", "m"), ("t", "n", "m")])
    kernel = call_of(f).kernel([2, 40, 3])
    assert kernel.runs == ("block" if waits == 1 else "series")
    assert ("place" in kernel.text.module()[1]) == (waits == 1)  # in both axes


def heat(loops, u):
    def step(i, u):
        u[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
        return u

    return loops.fori_loop(0, 3, step, u)


@pytest.mark.parametrize("n", [4, 31, 33, 70])
def test_elements_that_read_each_other_run_on_a_block(n):
    f = compare(heat, RNG.normal(size=n))
    assert runs(f) == ("block" if n > 31 else "thread")


def totalled(loops, x):
    def step(i, state):
        x, y = state
        return x * 0.5 + np.sum(x * y), np.minimum(y, np.max(x)) - np.min(y)

    return loops.fori_loop(0, 3, step, (x, x * 2.0))


def test_elements_of_matrices_run_on_a_block():
    def program(loops, x):
        return loops.fori_loop(0, 2, lambda i, x: x + np.tanh(x).T * 0.5, x)

    assert runs(compare(program, RNG.normal(size=(9, 9)))) == "block"


@pytest.mark.parametrize("n", [33, 300])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_totals_of_floats(n, dtype):
    x = RNG.normal(size=n).astype(dtype)
    f = compare(totalled, x, rtol=1e-4 if dtype == "float32" else 1e-11)
    assert runs(f) == "block"


@pytest.mark.parametrize("n", [0, 1, 5, 21])
def test_totals_of_named_sizes(n):
    def program(loops, x):
        return loops.fori_loop(0, 3, lambda i, x: x * 0.5 + np.sum(x) - np.prod(x), x)

    assert runs(compare(program, RNG.normal(size=n), sizes=[("n",)])) == "block"


@pytest.mark.parametrize("dtype", ["int64", "int32", "bool"])
def test_totals_of_integers(dtype):
    def program(loops, x):
        def step(i, x):
            if dtype == "bool":
                return x ^ np.any(x[1:] & x[:-1])
            return x % 7 + np.max(x) - (np.sum(x) % 5).astype(dtype)

        return loops.fori_loop(0, 3, step, x)

    x = RNG.integers(-9, 9, 40).astype(dtype)
    assert runs(compare(program, x)) == "block"


def test_elements_that_one_thread_writes():
    def program(loops, x):
        def step(i, x):
            x[i] = np.sum(x)
            x[2 * i] += x[i]
            return x + 1.0

        return loops.fori_loop(0, 4, step, x)

    assert runs(compare(program, RNG.normal(size=40))) == "block"


def newton(loops, x):
    def step(state):
        i, root = state
        return i + 1, 0.5 * (root + x / root)

    return loops.while_loop(lambda s: np.abs(s[1] * s[1] - x) > 1e-12, step, (0, x))


def test_a_while_loop_that_goes_on_in_further_launches(monkeypatch):
    x = np.float64(2.0)
    assert call_of(compare(newton, x)).checks
    monkeypatch.setattr(control, "ROUNDS", 2)
    compare(newton, x)


def levenshtein(loops, a, b):
    def row(above, letter):
        def cell(left, parts):
            corner, upper, other = parts
            best = np.minimum(np.minimum(left, upper) + 1, corner + (letter != other))
            return best, best

        _, cells = loops.scan(cell, above[0] + 1, (above[:-1], above[1:], b))
        return np.concatenate([above[:1] + 1, cells]), cells[-1]

    return loops.scan(row, np.arange(b.shape[0] + 1), a)[1]


def test_edit_distances():
    a, b = np.array([1, 2, 2, 3, 1]), np.array([2, 2, 1, 3])
    (found,) = rg.cuda.to_host(compare(levenshtein, a, b)(a, b))
    assert found[-1] == 3


def picked(loops, x, places):
    return loops.scan(lambda c, i: (c + x[i], c), 0.0, places)


def batch_of_distances(loops, words, b):
    return loops.scan(lambda _, word: ((), levenshtein(loops, word, b)), (), words)[1]


def test_series_with_arrays_of_their_own():
    words, b = RNG.integers(0, 4, (7, 5)), RNG.integers(0, 4, 12)
    f = compare(batch_of_distances, words, b, sizes=[("n", 5), (12,)])
    assert runs(f) == "series"
    assert len(call_of(f).kernels[0].loop.scratch) > 0


def test_series_that_look_elements_up():
    table, places = RNG.normal(size=4), RNG.integers(-4, 4, (9, 3))

    def program(loops, table, places):
        return loops.scan(lambda _, p: ((), picked(loops, table, p)[0]), (), places)[1]

    f = compare(program, table, places, sizes=[("m",), ("n", 3)])
    assert runs(f) == "series"
    places[5, 1] = 4
    with pytest.raises(IndexError, match="out of bounds"):
        f(table, places)
    with pytest.raises(IndexError, match="out of bounds"):
        f(table[:0], places)


def chosen(loops, flag, x):
    return loops.cond(flag, lambda x: x * 2, lambda x: np.cumsum(x[::-1]), x)


@pytest.mark.parametrize("flag", [True, False])
def test_a_choice(flag):
    compare(chosen, np.bool_(flag), RNG.normal(size=5))


def test_an_index_out_of_range_raises():
    x, places = rg.vector("x", "n"), rg.vector("i", "m", dtype="int64")
    f = on_device([x, places], leaves(picked(rg, x, places)))
    a = RNG.normal(size=4)
    total, _ = rg.cuda.to_host(f(a, np.array([1, -1, 3])))
    np.testing.assert_allclose(total, a[1] + 2 * a[3])
    with pytest.raises(IndexError, match="out of bounds"):
        f(a, np.array([1, 4, 3]))
    total, _ = rg.cuda.to_host(f(a, np.array([2])))
    np.testing.assert_allclose(total, a[2])


def test_a_check_of_one_series_is_seen():
    x, places = rg.matrix("x", ("b", 3)), rg.vector("i", "b", dtype="int64")
    f = on_device([x, places], rg.scan(lambda c, p: ((), p[0][p[1]] * 2), (), (x, places))[1])
    assert runs(f) == "series"
    a, i = RNG.normal(size=(9, 3)), np.arange(9) % 3
    np.testing.assert_allclose(f(a, i).to_host(), a[np.arange(9), i] * 2)
    i[7] = 3
    with pytest.raises(IndexError, match="out of bounds"):
        f(a, i)


def test_no_series_at_all():
    f = compare(batch_of_kalman, *MODEL, RNG.normal(size=(2, 3)), sizes=[
        *map(np.shape, MODEL), ("n", 3)
    ])  # fmt: skip
    (found,) = f(*MODEL, np.zeros((0, 3)))
    assert found.shape == (0, 3, 2)


def test_a_loop_is_recorded_if_the_cpu_needs_no_status():
    a, start, x = rg.scalar("a"), rg.vector("s", "n"), rg.matrix("x", (4, "n"))
    f = on_device([a, start, x], autoregression(rg, a, start, x)[1])
    arrays = np.float64(0.5), RNG.normal(size=3), RNG.normal(size=(4, 3))
    g = f.capture(*arrays)
    other = [2 * y for y in arrays]
    np.testing.assert_allclose(g(*other).to_host(), autoregression(Plain, *other)[1])
    y = rg.scalar("y")
    with pytest.raises(CaptureError, match="while_loop"):
        on_device([y], leaves(newton(rg, y))).capture(2.0)


def test_ops_that_the_language_does_not_have_run_on_the_cpu():
    x = rg.matrix("x", ("n", "n"))
    y = rg.fori_loop(0, 2, lambda i, x: np.linalg.qr(x)[1] + x, x)
    with pytest.warns(RuntimeWarning, match="fori_loop|scan"):
        f = rg.function([x], y, target="cuda", mode=None)
    a = RNG.normal(size=(3, 3))
    expected = Plain.fori_loop(0, 2, lambda i, x: np.linalg.qr(x)[1] + x, a)
    np.testing.assert_allclose(f(a).to_host(), expected)


@pytest.mark.filterwarnings("ignore:.*run on the CPU:RuntimeWarning")
@pytest.mark.parametrize("batch", range(8))
def test_random_loops(batch):
    kernels = 0
    with np.errstate(all="ignore"):
        for seed in range(10 * batch, 10 * (batch + 1)):
            program = Program(seed)
            node = program.application
            operands = program.operands()
            f = rg.function(program.inputs, results_of(node), target="cuda", mode=None)
            kernels += any(isinstance(x, LoopCall) for x in f._program._calls.values())
            try:
                expected = node.op.perform(*operands)
            except (ValueError, IndexError):  # sizes that only a call knows
                with pytest.raises((ValueError, IndexError)):
                    f(*program.arrays)
                continue
            for a, b in zip(rg.cuda.to_host(f(*program.arrays)), expected, strict=True):
                tolerance = 1e-4 if np.asarray(b).dtype == np.float32 else 1e-9
                assert a.shape == np.shape(b)
                np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    assert kernels >= 4
