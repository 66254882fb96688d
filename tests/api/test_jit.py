"""rg.jit: traced functions against the same functions run by NumPy, and what they are told."""

import copy
import math
import operator
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import relgraph as rg
from relgraph.api import jit as jit_module
from relgraph.errors import (
    ArgumentError,
    DomainError,
    DTypeError,
    ImmutableGraphError,
    IndexRangeError,
    RelgraphError,
    UnknownTagError,
    UnsupportedAttributeError,
)
from tests.concurrency import at_once

RNG = np.random.default_rng(0)
DTYPES = ("bool", "int8", "int64", "uint8", "uint64", "float32", "float64")


def traced(function):
    """Trace for the reference backend, as the graph is written."""
    return rg.jit(function, mode=None, target="numpy")


def programs(function):
    """Return how many programs a traced function holds."""
    return len(function._programs)


def assert_same(got, expected, rtol=0.0):
    """Compare values, dtypes, shapes and containers."""
    assert type(got) is type(expected) or isinstance(expected, np.ndarray | np.generic)
    if isinstance(expected, dict):
        assert list(got) == list(expected)
        for key in expected:
            assert_same(got[key], expected[key], rtol)
    elif isinstance(expected, list | tuple):
        assert len(got) == len(expected)
        for x, y in zip(got, expected, strict=True):
            assert_same(x, y, rtol)
    elif isinstance(expected, np.ndarray | np.generic):
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=0, strict=True)
    else:
        assert repr(got) == repr(expected)


def values(dtype, n=5):
    if dtype == "bool":
        return RNG.random(n) > 0.5
    if np.dtype(dtype).kind == "f":
        return RNG.normal(size=n).astype(dtype)
    return RNG.integers(1, 7, n).astype(dtype)


# Python numbers.

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


# Containers.

Point = namedtuple("Point", "x y")


def test_containers_are_taken_and_returned():
    def function(p, d, rest, scale=1):
        x, y = p
        return Point(p.x + y, {"w": d["w"] * scale, "n": [rest[0], (rest[1] @ x,)], 3: None})

    compiled = traced(function)
    arguments = (
        Point(np.arange(3.0), 2.5),
        {"w": values("float32"), "unused": [np.ones(2)]},
        (np.ones(4), RNG.normal(size=(2, 3))),
    )
    for scale in (1, 2):
        got = compiled(*arguments, scale=scale)
        assert_same(got, function(*arguments, scale=scale), rtol=1e-12)
        assert type(got) is Point
    assert programs(compiled) == 1
    names = [x.name for x in compiled.graph(*arguments).inputs]
    assert names == ["p_x", "d_w", "d_unused_0", "rest_0", "rest_1", "p_y"]


def test_the_make_of_a_container_is_part_of_the_signature():
    def function(p):
        return isinstance(p, list), p[0] * 2

    compiled = traced(function)
    x = np.ones(2)
    assert_same(
        [compiled([x]), compiled((x,)), compiled({0: x})], [(True, x * 2), *[(False, x * 2)] * 2]
    )
    assert programs(compiled) == 3
    ordered = traced(lambda d: next(iter(d.items()))[1])
    assert_same(ordered(OrderedDict(a=x, b=-x)), x)
    assert_same(ordered({"b": -x, "a": x}), -x)


def test_what_cannot_be_taken_or_returned():
    @dataclass
    class Pair:
        x: object

    x = np.ones(2)
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.asmatrix(x)
    for value, text in [
        (Pair(x), r"argument 0 is a Pair.*\n.*\n.*asdict"),
        ({1.5}, "argument 0 is a set, which cannot be traced"),
        (1j, "argument 0 is a complex"),
        (np.ma.masked_array(x), "MaskedArray, whose operators"),
        (matrix, "matrix, whose operators"),
    ]:
        with pytest.raises(ArgumentError, match=text):
            traced(lambda v: v)(value)
    with pytest.raises(ArgumentError, match="argument 'b' is a set"):
        traced(lambda a, b: a)(x, b=set())
    with pytest.raises(DTypeError, match="'v' has the dtype complex128"):
        traced(lambda v: v)(x * 1j)
    for value, text in [
        (None, "returned None"),
        ("text", "returned a str, which is no array: 'text'"),
        ([{"a": 1j}], "returned a complex"),
        (Pair(1), r"returned a Pair(.|\n)*Return its fields"),
    ]:
        with pytest.raises(ArgumentError, match=text):
            traced(lambda v, r=value: r)(x)


def test_results_that_need_no_array():
    compiled = traced(lambda x, n: (n, n + 1, 5, True, x.shape, np.ones(2), np.float32(3), len(x)))
    assert_same(
        compiled(np.zeros((3, 2)), 4),
        (4, 5, 5, True, (3, 2), np.ones(2), np.float32(3), 3),
    )
    x = np.ones(2)
    result = traced(lambda x: [x, x])(x)
    assert result[0] is not x
    assert not np.shares_memory(result[0], result[1])


# Arrays.


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_numpy_code_traces(target):
    def function(x, y):
        first, *_ = x
        z = np.where(x == y, 0.0, np.sqrt(np.abs(x - y.T)))
        z += 1
        total = sum(row @ first for row in x)
        return {"z": z, "total": total, "mean": x.mean(axis=0), "max": (-y).max(), "T": z.T[1:]}

    x, y = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 3))
    assert_same(rg.jit(function, target=target)(x, y), function(x, y), rtol=1e-12)


def test_operators_of_bits_trace():
    def bits(a, b):
        return [a | b, b | a, a | True, True | a, a & b, a ^ b]

    def integers(i, j):
        by_arrays = [i | np.array([1, 2]), np.array([1, 2]) | i, i << j, i >> 1, 1 << j]
        return [i | j, i | 4, 4 | i, *by_arrays, *divmod(i, j), *divmod(i, 2), *divmod(9, j)]

    a, b = np.array([True, False, True]), np.array([False, False, True])
    assert_same(traced(bits)(a, b), bits(a, b))
    i, j = np.array([5, -6]), np.array([3, 1])
    assert_same(traced(integers)(i, j), integers(i, j))
    assert_same(traced(lambda i, k: [i | k, i << k])(i, 2), [i | 2, i << 2])
    x = np.array([0.5, 2.26])
    assert_same(traced(lambda x: [round(x), round(x, 1)])(x), [np.round(x), np.round(x, 1)])


def test_half_precision_is_taken_as_float32():
    x = np.array([1.5, 2.25], "float16")
    expected = x.astype("float32") * np.float32(0.1)
    assert_same(traced(lambda x: x * 0.1)(x), expected)
    assert_same(rg.jit(lambda x: x * 0.1)(x), expected, rtol=1e-7)
    got = rg.function([rg.vector("x")], rg.vector("x") * 0.1, target="numpy")(x)
    assert_same(got, x.astype("float64") * 0.1)


def test_nonfinite_is_passed_on():
    x = np.array([np.inf, 1.0])
    kept = rg.jit(lambda x: x - x, nonfinite="keep", target="numpy")
    assert_same(kept(x), np.array([np.nan, 0.0]))
    assert_same(rg.jit(nonfinite="keep", target="numpy")(lambda x: x - x)(x), kept(x))
    with pytest.raises(ArgumentError, match="'assume' or 'keep', not 'no'"):
        rg.jit(lambda x: x, nonfinite="no")


def test_a_mode_that_does_not_exist_is_refused_where_a_function_is_decorated():
    with pytest.raises(UnknownTagError, match="there is no mode 'o5'"):
        rg.jit(lambda x: x, mode="o5")
    with pytest.raises(ArgumentError, match="a mode is a name or a query, not 4"):
        rg.jit(mode=4)(lambda x: x)


def test_any_name_may_be_passed_by_keyword():
    x = np.array([1.0, 2.0])
    assert_same(traced(lambda self, out: self * out)(self=x, out=3.0), x * 3.0)
    v = rg.vector("self")
    assert_same(rg.function([v], v * 2, target="numpy")(self=x), x * 2)
    assert_same(rg.evaluate(v * 2, {"self": x}), x * 2)


def test_iteration_yields_tracers():
    assert_same(
        traced(lambda x: [v == 1.0 for v in x])(np.array([1.0, 2.0])), [np.True_, np.False_]
    )


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda x: x if x.sum() else -x, ArgumentError, "the truth of an array"),
        (lambda x: 1.0 in x, ArgumentError, "the truth of an array"),
        (lambda x: math.exp(x[0]), ArgumentError, "the value of an array"),
        (lambda x: int(x[0]), ArgumentError, "the value of an array"),
        (lambda x: complex(x[0]), ArgumentError, "the value of an array"),
        (lambda x: [1, 2][x[0]], ArgumentError, "the value of an array"),
        (lambda x: range(x[0]), ArgumentError, "the value of an array"),
        (lambda x: f"{x[0]:.2f}", ArgumentError, r"formats an array with '\.2f'"),
        (lambda x: len(x[0]), ArgumentError, r"len\(\) of an array without dimensions"),
        (lambda x: len(x[x > 0]), ArgumentError, "size is not known while tracing"),
        (lambda x: list(x[x > 0]), ArgumentError, "first dimension of known size"),
        (lambda x: list(x[0]), ArgumentError, "a scalar cannot be iterated over"),
        (np.asarray, ArgumentError, r"(?s)makes a NumPy array.*Leave np.asarray out"),
        (lambda x: np.array([x[0], 1]), ArgumentError, r"(?s)makes a NumPy array.*np\.stack"),
        (lambda x: np.partition(x, 1), ArgumentError, r"(?s)np\.partition is not.*np\.sort\(x\)"),
        (np.argwhere, ArgumentError, r"(?s)np\.argwhere is not supported.*np\.where"),
        (lambda x: x.sort(), UnsupportedAttributeError, r"(?s)attribute 'sort'.*a new array"),
        (lambda x: x.tolist(), UnsupportedAttributeError, r"(?s)'tolist'.*call tolist"),
        (lambda x: x.nbytes, UnsupportedAttributeError, "NumPy's attribute 'nbytes'"),
        (lambda x: x.nonsense, AttributeError, "no attribute 'nonsense'"),
        (lambda x: x.__setitem__(0, 1), ImmutableGraphError, r"x\.at\[key\]\.set"),
        (lambda x: {x: 1}, TypeError, "unhashable"),
        (lambda x: x.astype("int64") ** -1, DomainError, "negative integer powers"),
    ],
)
def test_what_tracing_cannot_do_is_told(function, error, text):
    with pytest.raises(error, match=text):
        traced(function)(np.array([1.0, 2.0]))


def test_printing_while_tracing():
    seen = []

    def function(x, n):
        seen.extend([f"{x}", repr(x + 1), f"{n}", f"{n:.1f}"])
        return x + n

    assert_same(traced(function)(np.ones(2), 3), np.full(2, 4.0))
    assert seen == ["Tracer(x)", "Tracer(x + 1)", "3", "3.0"]


def test_updates_of_traced_arrays():
    def function(x, y, s):
        return x.at[1:].set(y), x.at[0].add(s), x.at[np.array([0, 0])].add(y[:2])

    x, y = np.arange(3.0), np.array([5.0, 7.0])
    expected = (np.array([0, 5.0, 7.0]), np.array([2.5, 1, 2]), np.array([12.0, 1, 2]))
    assert_same(traced(function)(x, y, 2.5), expected)


def test_a_traced_function_may_call_another():
    inner = traced(lambda x, s: x * s)
    outer = traced(lambda x, s: inner(x, s) + inner(x, 2) + inner(np.ones(2), 3.0))
    x = values("float32", 2)
    assert_same(outer(x, 4), x * 4 + x * 2 + np.ones(2) * 3.0)
    assert programs(outer) == 1
    assert programs(inner) == 1  # for the array that was not traced


def test_signatures():
    compiled = traced(lambda x: x * 2)
    for x in (np.ones(2), np.ones(3), np.ones(2, "float32"), np.float64(1), np.ones(2)):
        assert_same(compiled(x), x * 2)
    assert programs(compiled) == 4
    assert repr(compiled) == "<jit <lambda>, 4 signatures compiled>"
    x = np.ones(2, ">f8")
    assert_same(compiled(x), (x * 2).astype("float64"))
    assert_same(compiled(np.ones((4, 4))[::2, 1]), np.full(2, 2.0))


def test_graph_and_names():
    def loss(x, *rest, scale, **others):
        return np.sum(x * rest[0] * scale + others["bias"])

    compiled = rg.jit(loss, mode="o4", target="numpy")
    arguments = {"scale": 2.0, "bias": np.ones(2)}
    graph = compiled.graph(np.ones(2), np.ones(2), **arguments)
    assert [x.name for x in graph.inputs] == ["x", "rest_0", "bias", "scale"]
    assert str(graph.outputs[0]) == "sum(x * rest_0 * scale + bias)"
    assert compiled(np.ones(2), np.ones(2), **arguments) == 6.0
    assert compiled.__name__ == "loss"
    assert compiled.__wrapped__ is loss


def test_one_number_beside_several_dtypes():
    def function(x, y, s):
        return x * s, y * s, s * np.arange(2)

    x, y = np.ones(2, "float32"), np.ones(2, "int8")
    compiled = traced(function)
    assert_same(compiled(x, y, 3), function(x, y, 3))
    names = [i.name for i in compiled.graph(x, y, 3).inputs]
    assert names == ["x", "y", "s", "s_int8", "s_int64"]


def test_decorators():
    @rg.jit(mode=None, target="numpy")
    def double(x):
        """Double."""
        return 2 * x

    assert double.__doc__ == "Double."
    assert_same(double(np.ones(2)), np.full(2, 2.0))
    with pytest.raises(ArgumentError, match="jit takes a function"):
        rg.jit(3)


def test_errors_leave_nothing_behind():
    compiled = traced(lambda x, flag: x.sort() if flag else x)
    with pytest.raises(UnsupportedAttributeError):
        compiled(np.ones(2), True)
    assert programs(compiled) == 0
    assert_same(compiled(np.ones(2), False), np.ones(2))
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        compiled(np.ones(2))


def test_threads_share_programs():
    compiled = traced(lambda x, s, n: x * s + sum(range(n)))
    x = np.arange(4.0)
    wrong = []

    def work(offset):
        for k in range(30):
            s, n = 0.5 * (k + offset), (k + offset) % 4
            if not np.array_equal(compiled(x, s, n), x * s + sum(range(n))):
                wrong.append((s, n))

    at_once(work, range(4))
    assert wrong == []
    assert programs(compiled) == 4


def test_a_parameter_that_is_donated_is_written_over():
    @rg.jit(donate="state")
    def step(state, rate, *, scale=1.0):
        return np.sqrt(state) * rate + scale

    a, rate = np.array([1.0, 4.0, 9.0]), np.array([2.0, 2.0, 3.0])
    kept, expected = rate.copy(), np.sqrt(a) * rate + 1
    result = step(a, rate)
    assert np.shares_memory(result, a)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(rate, kept)
    again = np.array([1.0, 4.0, 9.0])
    assert np.shares_memory(copy.copy(step)(again, rate), again)
    same = np.array([4.0, 9.0])
    np.testing.assert_array_equal(step(same, same), [9.0, 28.0])
    np.testing.assert_array_equal(same, [4.0, 9.0])


def test_all_arrays_of_a_donated_parameter_are():
    @rg.jit(donate=["params", "rest"])
    def step(params, x, *rest, **more):
        return {k: v - 0.5 * x for k, v in params.items()}, [r * x for r in rest], more["c"] * x

    params = {"a": np.ones(4), "b": np.arange(4.0)}
    rest = (np.ones(4), np.full(4, 2.0))
    x, c = np.arange(4.0), np.ones(4)
    made, others, last = step(params, x, *rest, c=c)
    for array, source in (
        (made["a"], params["a"]),
        (made["b"], params["b"]),
        *zip(others, rest, strict=True),
    ):
        assert np.shares_memory(array, source)
    np.testing.assert_array_equal(made["b"], np.arange(4.0) * 0.5)
    np.testing.assert_array_equal(others[1], 2 * np.arange(4.0))
    np.testing.assert_array_equal((x, c, last), (np.arange(4.0), np.ones(4), np.arange(4.0)))


def test_a_method_donates_an_argument():
    class Model:
        def __init__(self):
            self.weight = np.full(3, 2.0)

        @rg.jit(donate="x")
        def scaled(self, x):
            return x * self.weight

    model, a = Model(), np.arange(3.0)
    assert np.shares_memory(model.scaled(a), a)
    np.testing.assert_array_equal(a, [0, 2, 4])
    np.testing.assert_array_equal(model.weight, 2.0)


def test_what_is_no_parameter_cannot_be_donated():
    with pytest.raises(ArgumentError, match="Did you mean 'state'"):
        rg.jit(lambda state: state, donate="stat")
    with pytest.raises(ArgumentError, match="no input 'y' to donate"):
        rg.jit(donate=("x", "y"))(lambda x: x)
    assert rg.jit(lambda **arrays: arrays["x"], donate="x").donate == {"x"}
