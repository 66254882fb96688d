"""Loops over elements with loops inside: blocks of elements compute what single ones do."""

import linecache

import numpy as np
import pytest

from relgraph.lowering.loops.builder import ZERO
from relgraph.lowering.loops.lanes import LANES, on_lanes
from relgraph.lowering.loops.nodes import (
    Buffer,
    Function,
    Let,
    Load,
    Loop,
    Op,
    Store,
    Var,
    index,
    walk,
)
from relgraph.lowering.loops.verify import verify
from tests.lowering.loops.evaluation import interpreted, loops_of

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
    (function,) = loops_of(monkeypatch, program, a, b)
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


X = Buffer("x", "float64", (index(20), index(40)))
N = Buffer("n", "int64", (index(40),))
J, K = Var("j", "int64"), Var("k", "int64")


def nest(high, *inner, before=()):
    """Return a function of a loop over columns, with a loop over rows inside."""
    rows = Loop(K, ZERO, index(20), inner)
    return Function("NAME", (), (X, N), (Loop(J, ZERO, high, (*before, rows)),))


def added(value):
    return Store(X, (K, J), Op("sum", (Load(X, (K, J)), value), "float64"))


def test_a_difference_of_indices_that_stays_is_computed_by_each_lane():
    three, same = Var("p", "int64"), Var("q", "int64")
    lets = (
        Let(three, Op("add", (J, index(3)), "int64")),
        Let(same, Op("sub", (three, J), "int64")),
    )
    function = nest(index(40), added(Load(X, (same, J))), before=lets)
    verify(function)
    verify(on_lanes(function))
    for a, b in zip(interpreted(on_lanes(function)), interpreted(function), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_bound_that_the_loop_may_change_is_not_read_again():
    function = nest(Load(N, (ZERO,)), added(Load(X, (K, J))), Store(N, (J,), K))
    verify(function)
    assert not blocks(on_lanes(function))


def test_the_order_of_statements_is_that_of_the_program():
    values = [Var(name, "float64") for name in "zywuvx"]
    lets = [Let(v, Load(X, (index(i), J))) for i, v in enumerate(values)]
    total = values[0]
    for v in values[1:]:
        total = Op("sum", (total, v), "float64")
    new = on_lanes(nest(index(40), added(total), before=lets))
    stores = [x.buffer.name for x in walk(new.body) if isinstance(x, Store) and x.buffer is not X]
    assert [name[0] for name in stores] == list("zywuvx") * 2
