"""Loops over elements with loops inside: blocks of elements compute what single ones do."""

import linecache
from copy import copy

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numba import loop_calls
from relgraph.lowering.loops import interpreter
from relgraph.lowering.loops.lanes import LANES, on_lanes
from relgraph.lowering.loops.nodes import Const, Loop
from relgraph.lowering.loops.verify import verify

RNG = np.random.default_rng(5)


def product(a, b):
    c = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def product_in_place(a, b):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    return b


def normalised(a, b):
    out = np.zeros(b.shape)
    for j in range(b.shape[1]):
        total = 0.0
        for i in range(b.shape[0]):
            total += b[i, j]
        mean = total / b.shape[0]
        square = 0.0
        for i in range(b.shape[0]):
            square += (b[i, j] - mean) ** 2
        for i in range(b.shape[0]):
            out[i, j] = (b[i, j] - mean) / np.sqrt(square)
    return out


def fibonacci(a, b):
    out = np.zeros(b.shape[1])
    for j in range(b.shape[1]):
        one, two = b[0, j], b[1, j]
        for i in range(20):
            one, two = two, one + a[i, 0] * two
        out[j] = one - two
    return out


def triangles(a, b):
    out = np.zeros(b.shape)
    for i in range(b.shape[0]):
        for j in range(2, b.shape[1]):
            for k in range(i, b.shape[0]):
                for m in range(k):
                    out[i, j] += b[m, j] * a[k, m]
    return out


def shifted(a, b):
    out = np.zeros(b.shape[1])
    for j in range(b.shape[1] - 2):
        for i in range(b.shape[0]):
            out[j] = max(out[j], b[i, j + 2] - b[i, j])
    return out


PROGRAMS = [product, product_in_place, normalised, fibonacci, triangles, shifted]


def prefixes(a, b):
    for j in range(1, b.shape[1]):
        for i in range(b.shape[0]):
            b[i, j] += b[i, j - 1]
    return b


def row_sums(a, b):
    out = np.zeros(b.shape[0])
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            out[i] += b[i, j]
    return out


def growing(a, b):
    out = np.zeros(b.shape[1])
    for j in range(b.shape[1]):
        for i in range(j % 2):
            out[j] += b[i, j]
    return out


def every_other(a, b):
    out = np.zeros(b.shape[1])
    for j in range(b.shape[1] // 2):
        for i in range(b.shape[0]):
            out[j] += b[i, 2 * j]
    return out


OTHERS = [prefixes, row_sums, growing, every_other]


def loops_of(monkeypatch, program, *arrays):
    """Return the functions of the loop language of a program, after comparing it with NumPy."""
    found = []
    real = loop_calls._kernel
    monkeypatch.setattr(
        loop_calls, "_kernel", lambda loop: found.append(loop.function) or real(loop)
    )
    expected = program(*[copy(x) for x in arrays])
    result = rg.jit(program)(*[copy(x) for x in arrays])
    rtol = 2e-6 if expected.dtype == "f4" else 1e-13
    np.testing.assert_allclose(result, expected, rtol, 1e-13)
    return found


def blocks(function):
    """Return the numbers of lanes of the blocks in a function."""
    stack, found = [function.body], set()
    while stack:
        x = stack.pop()
        stack += x if isinstance(x, tuple) else []
        if isinstance(x, Loop):
            found.add(x.step)
            stack.append(x.body)
    return found - {1}


def interpreted(function):
    """Return all arrays after a function ran on random ones of constant sizes."""
    assert function.integers == () or [x.name for x in function.integers] == ["once"]
    rng = np.random.default_rng(0)
    arrays = []
    for b in function.arrays:
        assert all(isinstance(n, Const) for n in b.shape)
        arrays.append(rng.uniform(1, 9, [n.value for n in b.shape]).astype(b.dtype))
    with np.errstate(all="ignore"):
        interpreter.run(function, [1] * len(function.integers), arrays)
    return arrays


@pytest.mark.parametrize("columns", [24, 45, 73])
@pytest.mark.parametrize("program", PROGRAMS)
def test_blocks_of_elements_compute_what_elements_do(monkeypatch, program, columns):
    a, b = RNG.uniform(0.5, 1.5, (20, 20)), RNG.uniform(0.5, 1.5, (20, columns))
    functions = loops_of(monkeypatch, program, a, b)
    changed = [(f, on_lanes(f)) for f in functions]
    assert any(blocks(new) == set(LANES) for _, new in changed)
    for function, new in changed:
        verify(new)
        for x, y in zip(interpreted(new), interpreted(function), strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("dtype", ["float32", "int64", "int16"])
def test_blocks_of_other_dtypes(monkeypatch, dtype):
    a, b = [RNG.integers(1, 5, shape).astype(dtype) for shape in ((20, 20), (20, 41))]
    assert any(blocks(on_lanes(f)) for f in loops_of(monkeypatch, product, a, b))


@pytest.mark.parametrize("program", OTHERS)
def test_loops_that_stay(monkeypatch, program):
    """Iterations that read each other, or elements apart, or whose loops differ in length."""
    a, b = RNG.uniform(0.5, 1.5, (20, 20)), RNG.uniform(0.5, 1.5, (20, 45))
    for function in loops_of(monkeypatch, program, a, b):
        assert not blocks(on_lanes(function))


class Nest:
    """The text of a random program: loops over elements, with loops inside."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.names = ["b[i, j]", "w[j]", "a[i, i]"]
        self.lines = ["def program(a, b, w):", "    out = np.zeros(b.shape)"]
        self.add(1, "for i in range(b.shape[0]):")
        low = self.rng.integers(3)
        self.add(2, f"for j in range({low}, b.shape[1] - {self.rng.integers(2)}):")
        self.values(3, int(self.rng.integers(1, 3)))
        for _ in range(self.rng.integers(1, 3)):
            self.inner(3, ["k"])
            self.values(3, int(self.rng.integers(2)))
        totals = [name for name in self.names if name[0] == "t"]
        self.add(3, f"out[i, j] += {' + '.join(totals)} + {self.value()}")
        self.lines.append("    return out")

    def add(self, depth, line):
        self.lines.append("    " * depth + line)

    def value(self):
        """Return a random expression, which stays between -4 and 4 for such values."""
        one, two = self.rng.choice(self.names, 2)
        forms = (
            "({} + {}) * 0.5",
            "max({}, {})",
            "{} - 0.25 * {}",
            "{} * {} * 0.25",
            "abs({}) - {} * 0.5",
        )
        return str(self.rng.choice(forms)).format(one, two)

    def values(self, depth, count):
        for _ in range(count):
            name = f"v{len(self.lines)}"
            self.add(depth, f"{name} = {self.value()}")
            self.names.append(name)

    def inner(self, depth, indices):
        k = indices[-1]
        total = f"t{len(self.lines)}"
        self.add(depth, f"{total} = {self.value()}")
        high = self.rng.choice(["20", "i", "a.shape[0] - 1", *indices[:-1]])
        self.add(depth, f"for {k} in range({high}):")
        outside = list(self.names)
        self.names += [f"a[i, {k}]", f"b[{k}, j]", f"a[{k}, {indices[0]}]", total]
        self.values(depth + 1, int(self.rng.integers(2)))
        if len(indices) < 2 and self.rng.random() < 0.3:
            self.inner(depth + 1, [*indices, "m"])
        self.add(depth + 1, f"{total} = 0.5 * {total} + {self.value()} * 0.25")
        if self.rng.random() < 0.3:
            self.add(depth + 1, f"out[i, j] = 0.5 * out[i, j] + {self.value()} * 0.25")
        self.names = [*outside, total]

    def program(self):
        text, name = "\n".join([*self.lines, ""]), f"<nest {id(self)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        scope = {"np": np}
        exec(compile(text, name, "exec"), scope)
        return scope["program"]


@pytest.mark.parametrize("seed", range(12))
def test_random_nests(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, (20, 20)), rng.uniform(-1, 1, (20, rng.integers(15, 60)))
    changed = [
        (f, on_lanes(f))
        for f in loops_of(monkeypatch, Nest(seed).program(), a, b, rng.uniform(-1, 1, b.shape[1]))
    ]
    assert any(blocks(new) for _, new in changed)
    for function, new in changed:
        verify(new)
        for x, y in zip(interpreted(new), interpreted(function), strict=True):
            np.testing.assert_array_equal(x, y)


def stencil(a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.25 * (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] - a[1:-1, :-2])
        a[1:-1, 1:-1] = 0.5 * b[1:-1, 1:-1] + b[1:-1, :-2]
    return a


def test_the_rest_of_a_loop_is_a_vector_that_overlaps_the_last_one(monkeypatch):
    for columns, overlaps in [
        (25, True),
        (17, True),
        (16, True),
        (18, False),
        (15, True),
        (9, False),
    ]:
        a, b = RNG.uniform(0.5, 1.5, (2, 12, columns))
        with pytest.MonkeyPatch.context() as patch:
            functions = loops_of(patch, stencil, a, b, 20)
        changed = [(f, on_lanes(f)) for f in functions]
        assert any(f.body != new.body for f, new in changed) == overlaps
        for function, new in changed:
            verify(new)
            for x, y in zip(interpreted(new), interpreted(function), strict=True):
                np.testing.assert_array_equal(x, y)


def test_iterations_that_change_what_they_read_do_not_run_twice(monkeypatch):
    def halved(a, steps):
        for _ in range(steps):
            a[:, 1:] = 0.5 * a[:, 1:] + 1.0
        return a

    for function in loops_of(monkeypatch, halved, RNG.uniform(0.5, 1.5, (12, 24)), 20):
        inside = function.body[-1]
        assert on_lanes(function).body[-1] == inside
