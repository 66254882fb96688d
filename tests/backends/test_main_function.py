"""Main functions in the loop language: its rules hold, and its meaning is that of NumPy."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numba import compiler, kernels, main_function
from relgraph.lowering.loops import interpreter
from relgraph.lowering.loops.nodes import Launch
from relgraph.lowering.loops.text import text
from relgraph.lowering.loops.verify import verify

X, Y = rg.tensor("x", (None,)), rg.tensor("y", (None,))
M = rg.tensor("m", ("n", "k"))
G = rg.tensor("g", ("n",), dtype="int64")
draw = np.random.default_rng(0)
VECTOR, MATRIX, GROUP = draw.normal(size=6), draw.normal(size=(6, 3)), np.array([0, 2, 1, 1, 0, 2])

PROGRAMS = {
    "one kernel": ([X, Y], rg.exp(X) * Y, lambda x, y: [np.exp(x) * y]),
    "results of all ranks": (
        [X, M],
        [rg.sum(X), rg.exp(M).sum(axis=1), M * 2, -X],
        lambda x, m: [np.sum(x), np.exp(m).sum(axis=1), m * 2, -x],
    ),
    "temporaries": (
        [M],
        [rg.exp(M) / rg.sum(rg.exp(M)) + rg.exp(M).sum(axis=0)],
        lambda m: [np.exp(m) / np.exp(m).sum() + np.exp(m).sum(axis=0)],
    ),
    "a gather": (
        [M, G],
        [(rg.exp(M).sum(axis=1)[G] * 2)[:, None] + M],
        lambda m, g: [(np.exp(m).sum(axis=1)[g] * 2)[:, None] + m],
    ),
    "a product": ([X, Y], [rg.exp(X) @ Y], lambda x, y: [np.exp(x) @ y]),
}
VALUES = {X: VECTOR, Y: VECTOR + 1, M: MATRIX, G: GROUP}


@pytest.fixture
def written(monkeypatch):
    """Return a function that compiles a program and returns its main function."""
    functions = []

    class Recorded(main_function.MainFunction):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            functions.append(self)

    monkeypatch.setattr(compiler, "MainFunction", Recorded)

    def compiled(inputs, outputs):
        rg.function(inputs, outputs, mode=None)
        return functions[0]

    return compiled


def interpreted(main, arguments):
    """Run a main function by the interpreter; compiled kernels run what it launches."""
    tables = {int(main_function.table_of(f).ctypes.data): f for f in main.kept if callable(f)}
    names = {buffer.name: tables[address] for address, buffer in main._tables.items()}
    constants = {x.ctypes.data: x.reshape(-1) for x in main.kept if isinstance(x, np.ndarray)}

    def launched(kernel):
        assert not main_function.table_of(kernel)[kernels.launch.STRIDES]

        def run(arrays, integers):
            if kernel is main.routines["dot"]:
                arrays[2][0] = np.dot(arrays[0][: integers[0]], arrays[1][: integers[0]])
                return
            kernel(*map(int, integers), *arrays)

        return run

    given = [constants.get(address, np.zeros(1)) for address in main.pointers]
    dims = [n for x in arguments for n in x.shape]
    flat = [x.reshape(-1) for x in arguments]
    host = np.zeros(2, np.int64)
    runs = {name: launched(kernel) for name, kernel in names.items()}
    made = interpreter.run(main.function, dims, [host, *flat, *given], kernels=runs)
    return [made[k] for k in range(len(main.results))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_interpreter_agrees_with_numpy(name, written):
    inputs, outputs, by_numpy = PROGRAMS[name]
    main = written(inputs, outputs)
    verify(main.function)
    arguments = [VALUES[x] for x in inputs]
    for found, value in zip(interpreted(main, arguments), by_numpy(*arguments), strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-13)


def test_the_text_shows_sizes_checks_memory_and_kernels(written):
    inputs, outputs, _ = PROGRAMS["a gather"]
    main = written(inputs, outputs)
    shown = text(main.function)
    assert "return" in shown and "allocate(0, d0_0, d0_1)" in shown
    launches = [s for s in main.function.body if isinstance(s, Launch)]
    assert len(launches) == shown.count("kernel") - len(main._tables)


def test_a_function_is_compiled_when_it_is_hot(monkeypatch):
    loaded = []
    load = kernels._loaded
    monkeypatch.setattr(kernels, "_loaded", lambda f: loaded.append(f) or load(f))
    monkeypatch.setattr(kernels.main_call, "HOT", 3)
    f = rg.function([X], rg.exp(X) + 1)
    for call in range(6):
        np.testing.assert_allclose(f(VECTOR), np.exp(VECTOR) + 1, rtol=1e-15)
        assert len(loaded) == (call >= 3)
