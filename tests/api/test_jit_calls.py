"""Repeated calls of rg.jit, which run the source that is generated for a program."""

from collections import OrderedDict, namedtuple
from typing import Any, NamedTuple

import numpy as np
import pytest

import relgraph as rg
from relgraph.api.tracing.arguments import Leaves
from relgraph.errors import ArgumentError, RelgraphError
from tests.api.traced_functions import RNG, assert_same, programs, values
from tests.concurrency import at_once

TARGETS = ("cpu", "numpy")
Point = namedtuple("Point", "x y")


def vectors(count, dtype="float64"):
    return [values(dtype, 3) for _ in range(count)]


def nested(tree, rows, *, scale=1):
    x, (y, z) = tree["layers"]
    named = Point(x * scale, {"y": y + rows[0].x, 3: [z, rows[0].y]})
    return named, None, (), scale, scale * 2


def arithmetic(x, rate, n, flag):
    decay = rate / (1 - 0.5**n)
    return x * decay + n, (x + 1 if flag else x - 1), rate - n


def statics(x, how, axis, dtype):
    return getattr(np, how)(x, axis=axis).astype(dtype), x.sum()


def scalars(x, a, b):
    return a + b, x * a, np.exp(b)


def library(a, b):
    return np.linalg.solve(a, b), np.sum(b)


# Each function with arguments that one program serves.
CALLS: list[tuple[Any, Any]] = [
    (lambda x: x + 1, lambda: (*vectors(1),)),
    (lambda *xs: sum(xs), lambda: (*vectors(12),)),
    (lambda x, y: y @ x, lambda: (*vectors(2),)),
    (lambda x, y: (x.sum(), y), lambda: (*vectors(2),)),
    (lambda x, y: {"x": y, "y": [x, (x,)]}, lambda: (*vectors(2, "float32"),)),
    (nested, lambda: ({"layers": [values("int8", 3), (*vectors(2),)]}, (Point(*vectors(2)),))),
    (arithmetic, lambda: (*vectors(1), RNG.random(), int(RNG.integers(1, 9)), True)),
    (arithmetic, lambda: (*vectors(1, "float32"), RNG.random(), int(RNG.integers(1, 9)), False)),
    (statics, lambda: (RNG.normal(size=(2, 3)), "max", 1, np.dtype("float32"))),
    (statics, lambda: (RNG.normal(size=(2, 3)), "sum", None, float)),
    (scalars, lambda: (*vectors(1), np.float64(RNG.random()), np.array(RNG.random()))),
    (scalars, lambda: (*vectors(1, "int8"), np.int8(3), np.array(RNG.random(), "float32"))),
    (library, lambda: (RNG.normal(size=(3, 3)), *vectors(1))),
    (lambda x, s: [x * s, s], lambda: (*vectors(1, "bool"), bool(RNG.random() > 0.5))),
    (lambda x, s: x * s, lambda: (values("uint8"), int(RNG.integers(9)))),
    (lambda x, s: x[s], lambda: (values("float64"), int(RNG.integers(5)))),
    (lambda x, s: x * s, lambda: (RNG.normal(size=(3, 4)).T[::2], RNG.random())),
    (lambda d, e: d["w"] * 2 if not e else d, lambda: ({"w": vectors(1)[0]}, {})),
]  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_one_program_serves_calls_without_a_signature(number, target, monkeypatch):
    function, arguments = CALLS[number]
    compiled = rg.jit(function, target=target)
    compiled(*arguments())
    monkeypatch.setattr(Leaves, "signature", None)
    for _ in range(4):
        args = arguments()
        assert_same(compiled(*args), function(*args), rtol=1e-6)
    assert programs(compiled) == 1


SOURCE = """\
def call(args, kwargs):
    if len(args) != 3:
        return OTHER
    (a1, a2, a3,) = args
    if type(a1) is not dict:
        return OTHER
    if [*a1] != c3:
        return OTHER
    a4 = a1['x']
    if type(a2) is not float:
        return OTHER
    if type(a3) is not int:
        return OTHER
    if [*kwargs] != c4:
        return OTHER
    a5 = kwargs['how']
    if type(a5) is not c5:
        return OTHER
    if a5 != c6:
        return OTHER
    try:
        n2 = a2 ** c7
        n3 = c8(n2)
        if n3 is not c9:
            return OTHER
        n4 = c11(a3, c10)
        if n4 is not c12:
            return OTHER
        n5 = -9223372036854775808 <= a3 <= 9223372036854775807
        if n5 is not c13:
            return OTHER
        n6 = a3 * c14
    except Exception:
        return OTHER
    if type(n2) is not float:
        return OTHER
    x = (a4,)
    r = run(a4, array(n2), array(float(a3)))
    if r is OTHER:
        if type(a4) is not ndarray or a4.shape != (2,):
            return OTHER
        if a4.dtype != c17:
            return OTHER
        if aliases(x):
            return OTHER
        r = function(a4, array(n2), array(float(a3)))
    r = written(r, x)
    s = (a2, a3, n2, n3, n4, n5, n6,)
    return (r[1], s[6],)
"""


def test_source():
    def function(tree, rate, n, *, how):
        tree["x"] *= rate**2
        return tree["x"] + (n if n > 0 else 0), n * 2

    compiled = rg.jit(function)
    compiled({"x": np.ones(2)}, 0.5, 3, how="sum")
    source = compiled.last.__globals__["__loader__"].get_source("") + "\n"
    assert source == SOURCE


@pytest.mark.parametrize("target", TARGETS)
def test_arguments_by_name(target):
    def function(x, y, scale=2.0):
        return x - y * scale

    compiled = rg.jit(function, target=target)
    x, y = vectors(2)
    for _ in range(2):
        for args, kwargs in (
            ((x, y), {}), ((x,), {"y": y}), ((), {"y": y, "x": x}), ((), {"x": x, "y": y}),
            ((x, y), {"scale": 3.0}), ((x, y), {"scale": 3}), ((x,), {"scale": 0.5, "y": y}),
        ):  # fmt: skip
            assert_same(compiled(*args, **kwargs), function(*args, **kwargs), rtol=1e-15)
        with pytest.raises(ArgumentError, match="missing 1 required"):
            compiled(x)
        with pytest.raises(ArgumentError, match="unexpected keyword"):
            compiled(x, y, z=1)


class Dict(dict):
    pass


class Other(NamedTuple):
    x: Any
    y: Any


ALIKE = (
    1, True, 1.0, np.float64(1), np.float32(1), np.int64(1), np.array(1.0), np.array(1), "1", None,
    float, b"1", np.dtype("float64"), np.ones(1), np.ones((1, 1)), np.ones(1, "float32"),
    [np.ones(1)], (np.ones(1),), {"x": np.ones(1)}, {"y": np.ones(1)}, Dict(x=np.ones(1)),
    OrderedDict(x=np.ones(1)), [], (), {}, [np.ones(1), 1], (np.ones(1), 1), Point(np.ones(1), 1),
    Other(np.ones(1), 1), {"x": 1, "y": np.ones(1)}, {"y": np.ones(1), "x": 1}, [[np.ones(1)]],
)  # fmt: skip


def kinds(x, tree):
    """Return what a trace can tell of an argument."""
    if isinstance(tree, dict):
        return {key: kinds(x, value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return {type(tree).__name__: [kinds(x, value) for value in tree]}
    if tree is None or isinstance(tree, str | bytes | type | np.dtype):
        return [x, len(repr(tree))]
    return [x * tree, tree * 2]


@pytest.mark.parametrize("target", TARGETS)
def test_arguments_that_look_alike_are_told_apart(target):
    compiled = rg.jit(kinds, target=target)
    x = np.ones(1, "int8")
    for _ in range(3):
        for tree in (*ALIKE, *reversed(ALIKE)):
            plain = dict(tree) if isinstance(tree, dict) else tree
            assert_same(compiled(x, tree), kinds(x, plain))
    for tree in ALIKE:  # the same one twice
        compiled(x, tree)
        plain = dict(tree) if isinstance(tree, dict) else tree
        assert_same(compiled(x, tree), kinds(x, plain))


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int64", "uint64", "float32", "float64"]
)
def test_numbers_of_any_size(dtype):
    def function(x, s):
        return np.maximum(x, s)

    compiled = rg.jit(function)
    x = np.array([0, 1, 1], dtype)
    numbers = [True, False]
    if dtype != "bool":
        numbers = [3, 0, 127, -1, 128, 255, 256, 2**40, 2**63 - 1, 2**63, 2**64, -(2**63) - 1]
    if dtype.startswith("float"):
        numbers += [0.5, -0.0, 1e300, -1e300, np.inf, np.nan, 3.4028235e38]
    for s in np.repeat(np.array(numbers, object), 2):
        with np.errstate(all="ignore"):
            try:
                expected = function(x, s)
            except OverflowError:
                with pytest.raises(RelgraphError):
                    compiled(x, s)
                continue
        assert_same(compiled(x, s), expected)
    assert programs(compiled) <= 2 + sum(type(s) is int for s in numbers)


def test_what_the_function_asked_is_asked_again():
    def function(x, n, s):
        if s < 0:
            return x * n
        return x + (n if s != s else 1 / n)

    compiled = rg.jit(function)
    x = np.ones(2)
    for n, s in [(1, 1.0), (2, -1.0), (4, np.nan), (8, 0.5), (3, -0.5), (5, np.nan), (6, 7.0)] * 2:
        assert_same(compiled(x, n, s), function(x, n, s), rtol=1e-15)
    assert programs(compiled) == 3
    with pytest.raises(ZeroDivisionError):
        compiled(x, 0, 1.0)
    assert_same(compiled(x, 0, -1.0), x * 0)


@pytest.mark.parametrize("target", TARGETS)
def test_arrays_of_any_layout_and_shape(target):
    def function(x, s):
        return x * s, x.sum()

    compiled = rg.jit(function, target=target)
    base = RNG.normal(size=(6, 8))
    unaligned = np.frombuffer(b"x" + base.tobytes(), "float64", offset=1).reshape(base.shape)
    for _ in range(2):
        for x in (
            base, base.T, base[::-1], base[::2, 1::3], np.asfortranarray(base), unaligned,
            base.astype(">f8"), base.astype("float32"), base.astype("float16"), base[:0], base[0],
            np.broadcast_to(base[0], (6, 8)), base.view(np.recarray),
        ):  # fmt: skip
            wide = x.astype("float32") if x.dtype == "float16" else np.asarray(x)
            wide = wide.astype(wide.dtype.newbyteorder("="))
            assert_same(compiled(x, 2.5), function(wide, 2.5), rtol=1e-5)


def test_a_function_may_call_itself_and_others():
    @rg.jit
    def double(x, s):
        return x * s

    @rg.jit
    def power(x, n):
        return x if n == 0 else double(power(x, n - 1), 2.0)

    for x in (*vectors(2), np.float64(3), np.array(3.0)):
        for n in (0, 3, 3, 1):
            double(x, 2.0)
            assert_same(power(x, n), x * 2.0**n)


def test_results_are_new_arrays():
    compiled = rg.jit(lambda x, s: (x, x[1:], x * s))
    (x,) = vectors(1)
    for _ in range(3):
        for result in compiled(x, 2.0):
            assert not np.shares_memory(result, x)


def test_threads_with_different_signatures():
    def function(tree, s):
        return {key: x * s for key, x in tree.items()}

    compiled = rg.jit(function)
    wrong = []

    def work(offset):
        for k in range(200):
            n = (k + offset) % 12 + 1
            tree, s = {"a": np.full(n, k), "b": np.arange(n)}, (float, int)[k % 2](k)
            result = compiled(tree, s)
            if not all(np.array_equal(result[key], tree[key] * s) for key in tree):
                wrong.append((n, s))

    at_once(work, range(4))
    assert wrong == []
    assert programs(compiled) == 24


def test_programs_that_are_forgotten_are_not_called(monkeypatch):
    monkeypatch.setattr("relgraph.api.jit.PROGRAMS", 2)
    traces = []

    def function(x):
        traces.append(x.shape)
        return x + 1

    compiled = rg.jit(function)
    for n in (1, 2, 1, 3, 1, 3, 2):
        assert_same(compiled(np.zeros(n)), np.ones(n))
    assert traces == [(1,), (2,), (3,), (2,)]


# In place.


def step(u, v, dt):
    u += dt * v
    v[1:] -= u[:-1] * 2


@pytest.mark.parametrize("target", TARGETS)
def test_arguments_are_changed_by_every_call(target, monkeypatch):
    compiled = rg.jit(step, target=target)
    u, v = vectors(2)
    x, y = u.copy(), v.copy()
    for k in range(6):
        if k == 1:
            monkeypatch.setattr(Leaves, "signature", None)
        assert compiled(u, v, 0.5 + k) is None
        step(x, y, 0.5 + k)
        assert_same([u, v], [x, y], rtol=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_arguments_that_are_changed_and_share_memory(target):
    def function(u, v):
        u += v
        v *= 2
        return u, v.sum()

    compiled = rg.jit(function, target=target)
    for _ in range(2):
        for case in range(4):
            u, v = vectors(2)
            one = (u, u, u[::1], u)[case]
            two = (v, u, u, v[::-1])[case]
            x, y = u.copy(), v.copy()
            expected = function((x, x, x, x)[case], (y, x, x, y[::-1])[case])
            assert_same(compiled(one, two), expected, rtol=1e-12)
            assert_same([u, v], [x, y], rtol=1e-12)
        u = RNG.normal(size=4)
        with pytest.raises(ArgumentError, match="in a part of the same memory"):
            compiled(u[1:], u[:-1])
        u.flags.writeable = False
        with pytest.raises(ArgumentError, match="read-only"):
            compiled(u[1:], vectors(1)[0])


def test_views_of_changed_arguments_are_returned():
    def function(state, s):
        state["x"] *= s
        return state["x"][1:], {"n": s}

    compiled = rg.jit(function)
    (x,) = vectors(1)
    for s in (2.0, 3.0, 0.5):
        view, _ = compiled({"x": x}, s)
        assert np.shares_memory(view, x)


def test_numbers_of_a_method():
    class Model:
        def __init__(self):
            self.w, self.rate, self.name = vectors(1)[0], 0.5, "model"

        @rg.jit
        def __call__(self, x, n):
            return self.w * x + self.rate * n

    first, second = Model(), Model()
    for k in range(3):
        for model in (first, second):
            model.rate = 0.5 * k
            assert_same(model(np.ones(3), k), model.w + model.rate * k, rtol=1e-15)


def test_no_warning_for_numbers():
    compiled = rg.jit(lambda x, s: x * s)
    x = np.ones(2, "float32")
    for s, expected in ((2.0, 2), (1e300, np.inf), (0.5, 0.5), (-1e300, -np.inf), (3.0, 3)):
        assert_same(compiled(x, s), np.full_like(x, expected))
