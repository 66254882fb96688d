"""``if``, conditional expressions and ``while`` of traced functions, with the results of Python."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError
from relgraph.lowering.loops.build import written_loop
from relgraph.lowering.loops.text import text as text_of
from relgraph.ops.loops import Cond, Scan, WhileLoop

RNG = np.random.default_rng(8)
X = RNG.normal(size=12)
INTEGERS = RNG.integers(0, 5, 30)


def clipped(x):
    if x > 1:
        y = x * 0 + 1
    elif x < -1:
        y = x * 0 - 1
    else:
        y = x
    return y


def written(x):
    out = np.zeros(x.shape)
    if x[0] > 0:
        out[:3] = x[:3]
        x[-1] = 7
    else:
        out[3:] += 2
    return out, x


def branches_of_a_loop(x):
    out = np.zeros(x.size)
    kept = 0.0
    for i in range(x.size):
        if i > 0 and x[i] > x[i - 1]:
            out[i - 1] = x[i]
            kept = kept + x[i]
        elif not 2 <= i < 5:
            out[i] = -1
    return out, kept


def first_and_last(x):
    out = np.empty_like(x)
    for k in range(x.shape[0]):
        if k == 0:
            step = x[k] * 2
        else:
            step = out[k - 1] + x[k]
        out[k] = step / 2 if k < x.shape[0] - 1 else step
    return out


def checksum(data):
    crc = 0xFFFF
    for byte in data:
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0x8408 ^ byte
            else:
                crc >>= 1
    return crc


def longest_common_subsequence(a, b):
    table = np.zeros((a.size + 1, b.size + 1), int)
    for i in range(a.size):
        for j in range(b.size):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table[-1, -1]


def exchanged(x):
    low, high = x[0], x[1]
    if low > high:
        low, high = high, low
    return low, high


def of_integers(x):
    return int(x[0] * 10) + float(int(x[1] > 0)), min(x[0], 0.0, x[2]), bool(x[3] > 0)


def newton(x):
    y, steps = x, 0
    while abs(y * y - x) > 1e-12 and steps < 50:
        y = (y + x / y) / 2
        steps += 1
    return y, steps


def relaxed(u):
    change = 1.0
    while change > 1e-3:
        new = u.copy()
        new[1:-1] = (u[:-2] + u[2:]) / 2
        change = np.abs(new - u).max()
        u[:] = new
    return u


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def _smooth(u):
    u[1:-1] = (u[:-2] + u[2:]) / 2


def calls(u):
    for _ in range(9):
        _smooth(u)
    return u


def changed_elements(x):
    for value in x:
        value += 1
    for row in x.reshape(-1, 1):
        row *= 2
    return value, row


def descent(x):
    i = 5
    while 0 < i < len(x) - 1 and x[i - 1] < x[i]:
        i -= 1
    return x[i]


PROGRAMS = {
    "elif": (clipped, [np.float64(0.3)], None),
    "arrays": (written, [X], Cond),
    "a loop": (branches_of_a_loop, [X], Scan),
    "the first and the last": (first_and_last, [RNG.normal(size=(9, 4))], Scan),
    "a loop over an array": (checksum, [INTEGERS], Scan),
    "tables": (longest_common_subsequence, [INTEGERS, INTEGERS[::2].copy()], Scan),
    "elements": (changed_elements, [X], None),
    "exchanges": (exchanged, [X], None),
    "functions of Python": (of_integers, [X], None),
    "while": (newton, [np.float64(3.0)], WhileLoop),
    "while of arrays": (relaxed, [np.linspace(0, 1, 9) ** 2], WhileLoop),
    "while and if": (collatz, [np.int64(27)], WhileLoop),
    "while a chain holds": (descent, [np.arange(9.0)], WhileLoop),
    "calls for what they change": (calls, [X], Scan),
}


def agrees(function, arrays):
    changed, expected_changed = copy.deepcopy(arrays), copy.deepcopy(arrays)
    expected = function(*expected_changed)
    results = rg.jit(function)(*changed)
    for a, b in (
        zip(results, expected, strict=True) if type(expected) is tuple else [(results, expected)]
    ):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-12)
    for a, b in zip(changed, expected_changed, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_choices_have_the_results_of_python(name):
    function, arrays, op = PROGRAMS[name]
    agrees(function, arrays)
    agrees(function, [-x if x.dtype.kind == "f" and x.ndim else x + 2 for x in arrays])
    graph = rg.jit(function).graph(*arrays)
    assert op is None or any(isinstance(node.op, op) for node in graph)


def test_only_the_branch_that_is_taken_runs():
    def f(x, i):
        y = x[0]
        if i < x.size:
            y = x[i]
        return y

    compiled = rg.jit(f)
    assert compiled(X, np.int64(3)) == X[3]
    assert compiled(X, np.int64(99)) == X[0]


def test_known_conditions_are_python():
    names = []

    def f(x):
        if x.ndim == 1:
            names.append("vector")
        return x + 1 if names else x

    np.testing.assert_array_equal(rg.jit(f)(X), X + 1)
    assert names == ["vector"]


def test_a_name_that_a_branch_may_not_assign_has_no_value():
    def f(x):
        if x > 0:
            y = x
        return y

    with pytest.raises(UnboundLocalError):
        rg.jit(f)(np.float64(1.0))


@pytest.mark.parametrize(
    ("branch", "message"),
    [
        (lambda x: x[:2], r"'y' has two shapes.*one shape in both branches"),
        (lambda x: "text", r"'y' is not an array or a number in one"),
    ],
)
def test_branches_of_different_types_are_errors(branch, message):
    def f(x):
        if x[0] > 0:
            y = x
        else:
            y = branch(x)
        return y

    with pytest.raises(ArgumentError, match=f"(?s){message}"):
        rg.jit(f)(X)


def test_elements_of_lists_are_not_assigned_in_branches():
    def f(x):
        parts = [x, x]
        if x[0] > 0:
            parts[0] = -x
        return parts[0]

    with pytest.raises(ArgumentError, match="changes 'parts', which is not a traced array"):
        rg.jit(f)(X)


def test_known_arrays_change_in_the_branch_that_is_taken():
    def f(x):
        counts = np.zeros(3)
        if x[0] > 0:
            counts += 1
            counts[0] = 5
        else:
            counts[:] = 2
        for _ in range(9):
            counts += 1
        return counts

    for x in (X, -X):
        np.testing.assert_array_equal(rg.jit(f)(x), f(x))


def test_an_array_that_may_be_one_of_two_is_not_written_to():
    def f(x, y):
        z = x if x[0] > 0 else y
        z[0] = 1
        return x, y

    def g(x, y):
        if y[0] > -9:
            z = x if x[0] > 0 else y
            z[0] = 1
        return x, y

    for function in (f, g):
        with pytest.raises(ArgumentError, match="view or a copy"):
            rg.jit(function)(X.copy(), X.copy())


def test_numbers_chosen_at_the_call_take_the_dtype_of_arrays():
    def f(x, a):
        count, scale = 0, 1.0
        for i in range(x.size):
            if x[i] > 0:
                count += 1
                scale = scale / 2
        while scale < 3:
            scale *= 2
        return a * count + int(x[0]), a * scale, a // max(count, 1), np.exp(count), count + 0.5

    for dtype in ("float32", "int32", "float64"):
        a = np.arange(3, dtype=dtype)
        for got, expected in zip(rg.jit(f)(X, a), f(X, a), strict=True):
            assert np.asarray(got).dtype == np.asarray(expected).dtype
            np.testing.assert_allclose(got, expected, rtol=1e-6)


k = 2.0


def after_the_write(x, y, w):
    if x[0] > 0:
        x += 1
        z = x
        part = x[:2]
    else:
        z = y
        part = y[:2]
    for i in range(10):
        w[i] = i
        row = w[2:4]
    return z + 0, part + 0, row + 0


def equal_branches(x):
    if x[0] > 0:
        x[1] = 5
    else:
        x[1] = 5
    return x


def captured(x):
    scale = 1.0

    def scaled(v):
        return v * scale

    if x.ndim == 1:
        scale = 2.0
        y = scaled(x)
    else:
        y = x
    return y


def nested_functions(x):
    def first(v):
        return v if v.ndim == 0 else v[0]

    def last(v):
        for i in range(v.size):
            value = v[i]
        return value

    return first(x), last(x)


def unsigned(x):
    y = x[0]
    if x[1] > 3:
        y = 0.5
    return y * 2


def flags(x, a):
    one = two = False
    count = 0
    if x[0] > 0:
        one = True
    if x[1] > 0:
        two = True
    for i in range(x.size):
        flag = bool(x[i] > 0)
        count += flag
    return one + two, count, a * count


def comprehensions(x):
    if x[0] > -9:
        y = sum([x[k] for k in range(3)])
    else:
        y = x[0]
    return y * k


def temporary(x):
    if x[0] > 0:
        t = x[:2]
        shape = (2, 1)
        y = t.sum() * shape[0]
    else:
        t = x
        shape = (2, 1)
        y = t.sum() * shape[0]
    return y


def zeros(x):
    return np.copysign(1.0, 0.0 if x[0] > 0 else -0.0)


def text(x, mode="text"):
    y = 0.0
    if x[0] > -9 and mode:
        y = 1.0
    return y


REVIEWED = {
    "elements after a write": (after_the_write, [X, X[::-1].copy(), X * 2]),
    "equal branches": (equal_branches, [X]),
    "names of nested functions": (captured, [X]),
    "nested functions": (nested_functions, [X]),
    "floats and unsigned integers": (unsigned, [np.array([1, 9], "uint8")]),
    "flags": (flags, [X, np.ones(3, "float32")]),
    "comprehensions": (comprehensions, [X]),
    "temporary names": (temporary, [X]),
    "signs of zeros": (zeros, [X]),
    "operands that are no truths": (text, [X]),
}


@pytest.mark.parametrize("name", REVIEWED)
def test_statements_keep_the_meaning_of_python(name):
    function, arrays = REVIEWED[name]
    agrees(function, arrays)
    agrees(function, [-x if x.dtype.kind == "f" else x for x in arrays])


def test_methods_keep_super_and_private_names():
    class Base:
        def step(self, x):
            return x + 1

    class Model(Base):
        __weight = 3.0

        def step(self, x):
            y = super().step(x) if x.ndim else x
            if x[0] > 0:
                y = y * self.__weight
            return y

    with pytest.raises(ArgumentError, match="truth"):  # its source would lose the private name
        rg.jit(Model().step)(X)
    assert len(rg.jit(Base().step)(X)) == len(X)


def test_numbers_of_python_that_a_loop_computes():
    def root(x):
        y = x
        while abs(y * y - x) > 1e-9:
            y = (y + x / y) / 2
        return y

    def padded(x, n):
        size = 1
        while size < n:
            size *= 2
        out = np.zeros(size)
        out[: x.size] = x
        return out

    compiled = rg.jit(root)
    for x in (9.0, 2.0, 5.5):
        assert np.isclose(compiled(x), root(x), rtol=1e-12)
    assert "1 signature" in repr(compiled)
    for n in (12, 20):
        np.testing.assert_array_equal(rg.jit(padded)(X, n), padded(X, n))


def test_tuples_that_differ_are_not_taken_for_equal():
    def f(x):
        if x[0] > 0:
            pair = (x * 2, 1)
        else:
            pair = (x * 3, 1)
        return pair[0]

    with pytest.raises(ArgumentError, match="'pair' is not an array or a number"):
        rg.jit(f)(X)


def test_a_name_that_only_the_loop_assigns():
    def f(x):
        while x > 1:
            y = x / 2
            x = y
        return y

    with pytest.raises(ArgumentError, match=r"(?s)'y', which is not assigned.*before the loop"):
        rg.jit(f)(np.float64(10.0))


def test_calls_for_side_effects():
    seen = []

    def put(parts, v):
        parts[0] = parts[0] + v

    def note(v):
        seen.append(v)

    def loop(x):
        parts = [0.0]
        for i in range(10):
            put(parts, x[i])
        return parts[0]

    def scanned(x):
        def step(total, v):
            note(1)
            return total + v, total

        return rg.scan(step, 0.0, x)[0]

    def choice(x):
        if x[0] > 0:
            note(2)
            y = x
        else:
            y = -x
        return y

    assert np.isclose(rg.jit(loop)(X), X[:10].sum())
    assert np.isclose(rg.jit(scanned)(X), X.sum())
    with pytest.raises(ArgumentError, match="an if statement calls 'note' for its side effects"):
        rg.jit(choice)(X)


def test_what_is_computed_before_a_choice_is_not_computed_again():
    def f(x):
        c = np.cumsum(x)
        s = 0.0
        for i in range(x.size):
            if x[i] > 0:
                s = s + c[i]
        return s

    graph = rg.jit(f).graph(X)
    (scan,) = [node for node in graph if isinstance(node.op, Scan)]
    (choice,) = [node for node in scan.op.body.graph if isinstance(node.op, Cond)]
    bodies = [node.op.name for body in choice.op.bodies for node in body.graph if node.op]
    assert "cumsum" not in bodies
    agrees(f, [X])


def test_gradients_of_choices():
    def f(x):
        total = 0.0
        for i in range(x.size):
            if x[i] > 0:
                total = total + x[i] ** 2
        return total

    np.testing.assert_allclose(rg.grad(f)(X), np.where(X > 0, 2 * X, 0))


def test_branches_write_to_arrays_that_a_loop_carries():
    def f(x):
        for i in range(x.size):
            if x[i] > 0:
                x[i] = 2 * x[i]
                if i > 0:
                    x[i - 1] += 1
        return x

    x = RNG.normal(size=200)
    agrees(f, [x])
    (scan,) = [n for n in rg.rewrite_graph(rg.jit(f).graph(x)) if isinstance(n.op, Scan)]
    loop = written_loop(scan, "NAME")
    assert not loop.scratch
    assert "stack" not in text_of(loop.function)
