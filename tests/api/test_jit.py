"""rg.jit: traced functions against NumPy, and their error messages."""

import copy
import math
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
from numpy import asarray

import relgraph as rg
from relgraph.errors import (
    ArgumentError,
    DomainError,
    DTypeError,
    UnknownTagError,
    UnsupportedAttributeError,
)
from tests.api.traced_functions import RNG, assert_same, programs, traced, values
from tests.concurrency import at_once

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
        ("text", "returned a str, which is not an array: 'text'"),
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


@pytest.mark.parametrize("nonfinite", ["keep", "assume"])
@pytest.mark.parametrize("shape", [(0,), (2,)])
def test_quotients_by_constants_without_a_number(shape, nonfinite):
    def function(x):
        return np.fix(np.absolute(-(x / np.isposinf(x)))), np.exp(x) / np.full(shape, np.nan)

    compiled = rg.jit(function, mode="o4", nonfinite=nonfinite)
    for dtype in ("uint64", "float64"):
        x = np.zeros(shape, dtype)
        with np.errstate(all="ignore"):
            assert_same(compiled(x), function(x))


def test_nonfinite_is_passed_on():
    x = np.array([np.inf, 1.0])
    kept = rg.jit(lambda x: x - x, nonfinite="keep", target="numpy")
    assert_same(kept(x), np.array([np.nan, 0.0]))
    assert_same(rg.jit(nonfinite="keep", target="numpy")(lambda x: x - x)(x), kept(x))
    with pytest.raises(ArgumentError, match="'assume' or 'keep', not 'no'"):
        rg.jit(lambda x: x, nonfinite="no")


def test_a_mode_that_does_not_exist_is_refused_where_a_function_is_decorated():
    with pytest.raises(UnknownTagError, match="there is no mode 'o6'"):
        rg.jit(lambda x: x, mode="o6")
    with pytest.raises(ArgumentError, match=r"a mode is a name, a query, .*: 4 is no relation"):
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
        (asarray, ArgumentError, r"(?s)to a NumPy array.*spelled like this"),
        (lambda x: asarray([x[0], 1]), ArgumentError, r"(?s)to a NumPy array.*np\.stack"),
        (lambda x: np.partition(x, 1), ArgumentError, r"(?s)np\.partition is not.*np\.sort\(x\)"),
        (np.argwhere, ArgumentError, r"(?s)np\.argwhere is not supported.*np\.where"),
        (lambda x: x.partition(1), UnsupportedAttributeError, r"(?s)'partition'.*np\.sort"),
        (lambda x: x.tolist(), UnsupportedAttributeError, r"(?s)'tolist'.*call tolist"),
        (lambda x: x.nbytes, UnsupportedAttributeError, "NumPy's attribute 'nbytes'"),
        (lambda x: x.nonsense, AttributeError, "no attribute 'nonsense'"),
        (lambda x: x[0].__setitem__((), 1), ArgumentError, r"(?s)elements of a scalar.*np\.zeros"),
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
    ones = np.ones(2)
    outer = traced(lambda x, s: inner(x, s) + inner(x, 2) + inner(ones, 3.0))
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
    compiled = traced(lambda x, flag: x.tolist() if flag else x)
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
    with pytest.raises(ArgumentError, match="no input to donate is called 'y'"):
        rg.jit(donate=("x", "y"))(lambda x: x)
    assert rg.jit(lambda **arrays: arrays["x"], donate="x").donate == {"x"}


# What other libraries pass, indices that are traced, and assignments.


class OfArray:
    """An array of a library that has ``__array__``."""

    def __init__(self, value):
        self.value = value

    def __array__(self, dtype=None, copy=None):
        return self.value


class OfDLPack:
    """An array of a library that has DLPack alone."""

    def __init__(self, value):
        self.value = value

    def __dlpack__(self, **options):
        return self.value.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.value.__dlpack_device__()


@pytest.mark.parametrize("kind", [OfArray, OfDLPack])
def test_arrays_of_other_libraries_are_arguments(kind):
    value = RNG.normal(size=(2, 3))
    x = rg.matrix("x")
    traced = rg.jit(lambda x, n: np.sum(x["a"] * n, axis=0))
    for _ in range(2):
        np.testing.assert_allclose(rg.function([x], x * 2)(kind(value)), value * 2)
        np.testing.assert_allclose(traced({"a": kind(value)}, 3), np.sum(value * 3, axis=0))
    np.testing.assert_allclose(traced({"a": value}, 3), np.sum(value * 3, axis=0))
    assert repr(traced) == "<jit <lambda>, 1 signature compiled>"


def test_graphs_made_while_tracing_take_traced_indices():
    @rg.jit
    def counts(i):
        once = rg.zeros(3, "int64").at[i].add(1)
        return once, rg.numpy.arange(3)[i] == 2, once[i]

    i = np.array([0, 2, 2])
    expected = np.bincount(i, minlength=3)
    once, is_two, gathered = counts(i)
    assert once.tolist() == expected.tolist()
    assert is_two.tolist() == [False, True, True]
    assert gathered.tolist() == expected[i].tolist()


def test_a_name_of_a_new_array_may_be_assigned_to():
    def total(A):
        s = A[0] * 0
        for row in A:
            s += row
            s *= 2
        return s

    A = RNG.normal(size=(3, 2))
    np.testing.assert_allclose(rg.jit(total)(A), total(A), rtol=1e-14)
