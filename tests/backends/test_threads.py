"""Threads: equal results for any number, concurrent callers, forks, interrupts."""

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numba import threads
from tests.concurrency import at_once

ROOT = Path(__file__).resolve().parents[2]
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module", autouse=True)
def layer():
    with rg.config(threads=2):
        x = rg.vector("x")
        rg.function([x], rg.sqrt(x))(np.ones(1_000_000))
        yield threads.layer()


def test_a_layer_that_is_safe_is_used(layer):
    assert layer in ("pool", "tbb")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_result_depends_on_the_number_of_threads(dtype):
    X, y = rg.matrix("X", dtype=dtype), rg.vector("y", dtype=dtype)
    graphs = [
        rg.sum(X * y), rg.sum(X * y, axis=0), rg.mean(X * X, axis=1), rg.prod(X * 0.001 + 1),
        rg.max(X - y), rg.min(X, axis=0), X * y + 1.0,
    ]  # fmt: skip
    f = rg.function([X, y], graphs, mode=None)
    for shape in ((700, 300), (100_000, 3), (3, 100_000), (20, 16385)):
        a = RNG.normal(size=shape).astype(dtype)
        b = RNG.normal(size=shape[1]).astype(dtype)
        found = []
        for count in (1, 2, 3, 16):
            with rg.config(threads=count):
                found.append(f(a, b))
        for other in found[1:]:
            for one, two in zip(found[0], other, strict=True):
                np.testing.assert_array_equal(one, two)
        wide = a.astype(float) * b.astype(float)
        size = np.abs(wide).sum()
        u = float(np.finfo(dtype).eps)
        assert abs(float(found[0][0]) - wide.sum()) <= 8 * u * size
        np.testing.assert_allclose(found[0][1], wide.sum(0), atol=shape[0] * u * np.abs(wide).max())
        np.testing.assert_array_equal(found[0][4], (a - b).max())
        np.testing.assert_array_equal(found[0][5], a.min(0))
        np.testing.assert_array_equal(found[0][6], a * b + np.ones(1, dtype))


def test_special_values_survive_in_every_block():
    x = rg.vector("x")
    f = rg.function([x], [rg.sum(x), rg.max(x), rg.min(x), rg.mean(x)])
    a = RNG.normal(size=300_000)
    for place in (0, 16383, 16384, 299_999):
        for value in (np.nan, np.inf, -np.inf):
            b = a.copy()
            b[place] = value
            np.testing.assert_array_equal(f(b), [b.sum(), b.max(), b.min(), b.mean()])


def test_sixteen_threads_call_one_function():
    x, y = rg.vector("x"), rg.vector("y")
    f = rg.function([x, y], [rg.sum(x * y), x * y - x])
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        n = 1000 if seed % 2 else 300_000
        a, b = rng.normal(size=n), rng.normal(size=n)
        expected = a * b - a
        for _ in range(8):
            total, values = f(a, b)
            if not (np.array_equal(values, expected) and np.isclose(total, a @ b, atol=1e-9)):
                failures.append(seed)

    at_once(work, range(16))
    assert failures == []


def test_sixteen_threads_compile_at_once():
    x = rg.vector("x")

    def work(k):
        f = rg.function([x], rg.sqrt(x) * float(k % 4) - x**2, mode=None)
        return f(np.array([4.0, 9.0]))

    for k, found in enumerate(at_once(work, range(16))):
        np.testing.assert_array_equal(found, np.array([2.0, 3.0]) * (k % 4) - [16.0, 81.0])


def _child(f, a, pipe):
    x = rg.vector("x")
    g = rg.function([x], rg.floor(x) * 17.0 - x)  # compiled in the child
    pipe.send((float(f(a)), float(g(a)[0]), threads.layer()))
    pipe.close()


def test_a_forked_child_computes_and_compiles(layer):
    x = rg.vector("x")
    f = rg.function([x], rg.sum(x * x))
    a = RNG.normal(size=500_000)
    before = float(f(a))
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_child, args=(f, a, theirs))
    child.start()
    assert ours.poll(60)
    total, compiled, used = ours.recv()
    child.join(60)
    assert child.exitcode == 0
    assert total == before
    assert compiled == np.floor(a[0]) * 17.0 - a[0]
    assert used == layer
    assert float(f(a)) == before
    assert threads.layer() == layer


def test_numbers_of_threads_are_settings():
    x = rg.vector("x")
    f = rg.function([x], rg.sqrt(x) + 1.0)
    a = np.ones(200_000)
    with rg.config(threads=1):
        assert f(a).sum() == 400_000
        assert int(threads.settings[threads.THREADS]) == 1
    assert int(threads.settings[threads.THREADS]) == 2


INTERRUPTED = """
import os, signal, threading, time
import numpy as np, relgraph as rg
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job starts without it
x = rg.vector("x")
y = x
for _ in range(12):
    y = rg.sqrt(y * y + 1.0) / (y + 2.0)
f = rg.function([x], rg.sum(y), mode=None)
a = np.linspace(0, 1, 10_000_000)
expected = f(a[:1000])
started = time.perf_counter()
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    while time.perf_counter() - started < 60:
        f(a)
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", f(a[:1000]) == expected, bool(np.isfinite(f(a[:1_000_000]))))
"""


@pytest.mark.parametrize("count", ["1", "2"])
def test_an_interrupt_leaves_the_library_usable(count):
    script = f"import relgraph; relgraph.config(threads={count})\n{INTERRUPTED}"
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=100,
        env={**os.environ}, check=False,
    )  # fmt: skip
    assert result.stdout == "interrupted True True\n", result.stderr
    assert signal.SIGINT.name not in result.stderr
