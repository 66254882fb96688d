"""Python numbers among the arguments of traced functions, against NumPy and Python."""

import copy
import math
import operator

import numpy as np
import pytest

import relgraph as rg
from relgraph.api import jit as jit_module
from relgraph.errors import (
    ArgumentError,
    DTypeError,
    IndexRangeError,
    RelgraphError,
)
from tests.api.traced_functions import DTYPES, RNG, assert_same, programs, traced, values

BINARY = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.lt, operator.ge, operator.eq, operator.ne, np.maximum, np.minimum,
    lambda x, s: s * x, lambda x, s: s - x, lambda x, s: s >= x, lambda x, s: np.where(x > 0, x, s),
    lambda x, s: np.clip(x, 0, s), lambda x, s: np.clip(x, None, s), lambda x, s: x.clip(0, s),
    lambda x, s: np.where(s, x, x), lambda x, s: x * 2 + s, lambda x, s: (s + s) * x,
    lambda x, s: np.add(s, x), lambda x, s: np.multiply(s, np.ones(5, "float32")) * x,
    lambda x, s: x + s * np.float32(2), lambda x, s: np.exp(s + 0.5) + x,
    lambda x, s: [x + s, s, s * 2],
)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [True, 2, 2.5])
def test_numbers_are_weak_as_in_numpy(dtype, number):
    x = values(dtype)
    for k, function in enumerate(BINARY):
        with np.errstate(all="ignore"):
            try:
                expected = function(x, number)
            except TypeError:  # NumPy has no subtraction of bools
                with pytest.raises(RelgraphError):
                    traced(function)(x, number)
                continue
            got = traced(function)(x, number)
        if isinstance(expected, np.ndarray):
            assert got.dtype == expected.dtype, (k, dtype, number)
        assert_same(got, expected, rtol=1e-6)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_one_program_serves_all_values(target):
    def step(w, g, rate, t, beta=0.9):
        return w - rate * g / (1 - beta**t)

    compiled = rg.jit(step, target=target)
    w, g = values("float32"), values("float32")
    for t in range(1, 6):
        got = compiled(w, g, 0.1 / t, t)
        assert got.dtype == "float32"
        np.testing.assert_allclose(got, step(w, g, 0.1 / t, t), rtol=1e-6)
    assert programs(compiled) == 1
    assert_same(compiled(w, g, 0.1, 2, beta=0.5), step(w, g, 0.1, 2, beta=0.5), rtol=1e-6)
    compiled(w, g, 1, 2)  # an int is a number of another type
    assert programs(compiled) == 3


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint64"])
def test_integers_beyond_the_dtype(dtype):
    x = values(dtype)
    add, less = traced(lambda x, s: x + s), traced(lambda x, s: (x < s, x == s, s >= x))
    for number in (3, 1000, -1, 2**40, 2**63, 2**64, -(2**70)):
        assert_same(less(x, number), (x < number, x == number, number >= x))
        try:
            expected = x + number
        except OverflowError:
            with pytest.raises(DTypeError, match="does not fit"):
                add(x, number)
        else:
            assert_same(add(x, number), expected)
    assert_same(add(np.ones(2), 2**70), np.ones(2) + 2**70)


def test_large_floats_become_infinite_without_a_warning():
    x = np.ones(2, "float32")
    assert_same(traced(lambda x, s: x * s)(x, 1e300), np.full(2, np.inf, "float32"))


def test_numbers_compute_as_python_does():
    def function(x, s, n):
        return (
            s + n, s - n, n * 2, n / 2, n // 2, -7 % n, n**2, n**-1, 2.0**s, -s, +n, abs(-n), ~n,
            n << 3, 5 >> n, n & 6, n | 6, n ^ 6, round(s), round(s, 1), divmod(7, n), divmod(n, 2),
            s < n, n >= 2, s == n, s != n, s == "a", n is None, isinstance(n, int), (n > 1) + 1,
            x * (s + n), x + n**2, x - n // 2,
        )  # fmt: skip

    compiled = traced(function)
    x = values("float32")
    for s, n in [(2.25, 3), (-0.75, 2), (700.5, 4), (0.5, 5)]:
        assert_same(compiled(x, s, n), function(x, s, n), rtol=1e-6)
    assert programs(compiled) == 1
    doubled = traced(lambda x, n: (n * 2, x * (n * 2 - n * 2 + 3), n // 10**25))
    assert_same(doubled(x, 10**30), (2 * 10**30, x * 3, 10**5))


def test_powers_follow_the_type_that_python_gives():
    def power(x, a, b):
        return x * a**b

    compiled = traced(power)
    x = values("int64")
    for a, b in [(2, 3), (2, -1), (3, 2), (2, -2)]:
        assert_same(compiled(x, a, b), power(x, a, b))
    assert programs(compiled) == 2
    with pytest.raises(ArgumentError, match="complex"):
        compiled(x, -8.0, 1 / 3)


@pytest.mark.parametrize("bad", [np.array(1), np.float64(1)])
def test_only_python_numbers_are_weak(bad):
    x = values("float32")
    assert_same(traced(lambda x, s: x * s)(x, bad), x * bad)


def test_a_list_beside_an_array_is_an_array():
    x = values("float32")
    assert_same(
        traced(lambda x, s: x * s)(x, [1.0, 2.5, 3.0, 4.0, 5.0]), x * [1.0, 2.5, 3.0, 4.0, 5.0]
    )


def test_a_function_is_traced_again_for_what_it_asks():
    calls = []

    def function(x, n, scale, flag=False, name="sum"):
        calls.append(n)
        if flag:
            x = -x
        if scale > 1:
            x = x * scale
        total = sum(x[:n] * i for i in range(n)) if n else x
        return getattr(np, name)(total, axis=-1) + math.sqrt(n)

    compiled = traced(function)
    x = RNG.normal(size=(4, 4))
    for arguments in [
        (x, 2, 3.0), (x, 2, 4.0), (x, 2, 0.5), (x, 3, 0.5), (x, 0, 0.5), (x, 2, 7.0),
    ]:  # fmt: skip
        np.testing.assert_allclose(compiled(*arguments), function(*arguments), rtol=1e-12)
    assert programs(compiled) == 4
    calls.clear()
    compiled(x, 3, 0.25)
    assert calls == []
    for kwargs in ({"flag": True}, {"flag": False}, {"name": "max"}, {"name": "max"}):
        np.testing.assert_allclose(
            compiled(x, 2, 2.0, **kwargs), function(x, 2, 2.0, **kwargs), rtol=1e-12
        )
    assert programs(compiled) == 7


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: np.sum(x, axis=n),
        lambda x, n: x.sum(axis=n, keepdims=True),
        lambda x, n: x.reshape(n + 1, -1),
        np.expand_dims,
        lambda x, n: x[n:],
        lambda x, n: x[..., None, n],
        lambda x, n: x[[0, n]],
        lambda x, n: [x, x * 2][n],
        lambda x, n: x * np.arange(n + 3)[-1],
        np.full_like,
        lambda x, n: x * np.full((4,), n),
        lambda x, n: np.stack([x] * (n + 1)),
        lambda x, n: x * {0: 3, 1: 4}[n],
        lambda x, n: x * int(f"{n}{n:02d}"),
        lambda x, n: x * n.bit_length(),
        lambda x, n: x * np.asarray(n),
        lambda x, n: x * np.array([n, 1.0, 2.0, 3.0]),
        lambda x, n: x * math.floor(n + 0.5),
        lambda x, n: x * complex(n).real,
        lambda x, n: np.var(x, ddof=n),
        np.round,
        np.tril,
        lambda x, n: x * copy.deepcopy(n),
        lambda x, n: x * np.linspace(0, n, 4),
        lambda x, n: x + np.result_type("float32", n).itemsize,
    ],
)
def test_values_that_must_be_known_are_those_of_the_call(function):
    compiled = traced(function)
    x = RNG.normal(size=(4, 4))
    for n in (0, 1, 0):
        assert_same(compiled(x, n), function(x, n), rtol=1e-12)


def test_equal_numbers_of_different_kinds_are_told_apart():
    compiled = traced(lambda x, n: x * math.copysign(1, n))
    x = np.ones(2)
    for n in (0.0, -0.0, math.inf, -math.inf):
        assert_same(compiled(x, n), x * math.copysign(1, n))
    compiled = traced(lambda x, n: x if n != n else -x)
    assert_same([compiled(x, n) for n in (math.nan, 1.0, math.nan)], [x, -x, x])
    assert programs(compiled) == 2


def test_errors_of_numbers_reach_the_function():
    def safe(x, s):
        try:
            return x * (1 / s)
        except ZeroDivisionError:
            return x * 0 - 1

    compiled = traced(safe)
    x = np.ones(2)
    for s in (2, 0, 4, 0, 2):
        assert_same(compiled(x, s), safe(x, s))
    with pytest.raises(ZeroDivisionError):
        traced(lambda x, s: x + 1 / s)(x, 0)


def test_indices_may_differ_without_a_new_program():
    compiled = traced(lambda x, i: (x[i], x[i, 0], x.at[i].set(i * 2)))
    x = RNG.normal(size=(4, 3))
    for i in (0, 3, -1):
        y = x.copy()
        y[i] = i * 2
        assert_same(compiled(x, i), (x[i], x[i, 0], y))
    assert programs(compiled) == 1
    with pytest.raises(IndexRangeError, match="index 9"):
        compiled(x, 9)


def test_old_programs_are_forgotten(monkeypatch):
    monkeypatch.setattr(jit_module, "PROGRAMS", 3)
    calls = []

    def function(x, n):
        calls.append(n)
        return x * 2 if n > 100 else x * sum(range(n))

    compiled = traced(function)
    for n in (1, 2, 3, 1, 4):
        assert_same(compiled(np.ones(2), n), np.ones(2) * sum(range(n)))
    assert programs(compiled) == 3
    calls.clear()
    for n in (1, 4, 3):
        compiled(np.ones(2), n)
    assert calls == []
    compiled(np.ones(2), 2)
    assert calls == [2]
    assert sum(len(b.answers) for b in _branches(compiled) if b.asked >= 0) >= 3


def _branches(compiled):
    stack = list(compiled._branches.values())
    while stack:
        branch = stack.pop()
        stack.extend(branch.answers.values())
        yield branch


def test_programs_for_shapes_are_forgotten_too(monkeypatch):
    monkeypatch.setattr(jit_module, "PROGRAMS", 2)
    compiled = traced(lambda x: x + 1)
    for n in range(5):
        assert_same(compiled(np.zeros(n)), np.ones(n))
    assert programs(compiled) == len(compiled._branches) == 2


WITH_BOOLS = (
    lambda x, flag: x * (x == 1),
    lambda x, flag: (x == 1) & (x != 2) | (x > 3),
    lambda x, flag: x * True + (x > 0) * False,
    lambda x, flag: x * flag + True,
    lambda x, flag: (x > 0) & flag,
    lambda x, flag: np.logical_and(x, True),
    lambda x, flag: np.where(flag, x, -x),
    lambda x, flag: np.where(True, x, -x),
    lambda x, flag: np.where(x > 0, flag, False),
    lambda x, flag: np.select([flag, x > 0], [x, x + 1], -1),
    lambda x, flag: np.select([x > 1, True], [x, x + 1]),
    lambda x, flag: np.select([x > 1], [True], False),
    lambda x, flag: np.maximum(x, True),
    lambda x, flag: np.clip(x, False, True),
    lambda x, flag: np.full_like(x, True),
    lambda x, flag: np.full_like(x > 0, flag),
)


@pytest.mark.parametrize("dtype", ["float64", "int8", "uint16"])
@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("function", WITH_BOOLS)
def test_python_bools_beside_traced_arrays(function, flag, dtype):
    x = np.array([0, 1, 2, 3, 4]).astype(dtype)
    if dtype == "uint16" and function in WITH_BOOLS[6:8]:
        x = x.astype("int32")
    assert_same(traced(function)(x, flag), function(x, flag))
