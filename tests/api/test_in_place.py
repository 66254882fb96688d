"""Traced functions that write in place: arrays, views and arguments, against NumPy."""

import copy
import math
import threading

import numpy as np
import pytest
from numpy import zeros as imported_zeros
from scipy import linalg, spatial

import relgraph as rg
from relgraph.errors import (
    ArgumentError,
    DerivativeError,
    DTypeError,
    IndexRangeError,
    NumberRangeError,
    ShapeError,
)
from tests.concurrency import at_once

X = np.array([3.0, -1.0, 2.0, 0.5])
A = np.arange(12.0).reshape(3, 4)
I = np.array([2, 0, 2])  # noqa: E741 - indices


def assert_same(function, *arguments, mode="fast_run"):
    """Assert that results and arguments of a traced function are those of NumPy."""
    expected_arguments, arguments = copy.deepcopy(arguments), copy.deepcopy(arguments)
    expected = function(*expected_arguments)
    traced = rg.jit(function, mode=mode)
    for x, y in zip(
        leaves((traced(*arguments), arguments)), leaves((expected, expected_arguments)), strict=True
    ):
        assert np.shape(x) == np.shape(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=1e-12)


def leaves(value):
    """Return the arrays and numbers of nested containers."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in leaves(part)]
    return [] if value is None else [value]


# Arrays that the function makes.


def filled(x):
    out = np.zeros(6)
    out[0] = x[0]
    out[1:3] = x[:2]
    out[3:] += x[1:] * 2
    return out


def accumulated(x):
    out = np.empty_like(x)
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = out[i - 1] + x[i]
    return out


def made_by(x):
    made = [
        np.ones(4), np.full(4, 2.0), np.arange(4.0), np.linspace(0, 1, 4), np.array([1.0, 2, 3, 4]),
        np.zeros_like(x), np.ones_like(A[0]), np.copy(A[0]), np.array(x), x.copy(), np.eye(4)[1],
        np.asarray(x) + 0, np.full(4, x[1]), np.identity(4)[0], np.full_like(x, x[0]),
        np.array([x[0], 1.0, x[1], 2.0]), np.arange(8.0)[::2].reshape(2, 2).ravel(),
    ]  # fmt: skip
    for out in made:
        out[1:3] *= x[0]
    return made


def masked(x):
    y = x.copy()
    y[y < 0] = 0
    y[y > 2] += 10
    z = np.where(x > 1, x, 0)
    z[x > 1] = z[x > 1] ** 2
    return y, z


def at_indices(x):
    y = np.zeros(4)
    y[I] = [1, 2, 3]
    y[I] += x[0]
    np.add.at(y, I, x[1])
    np.subtract.at(y, 0, 1.5)
    np.maximum.at(y, [1, 3], x[:2])
    return y


def swapped(x):
    x = x.copy()
    x[0], x[1] = x[1], x[0]
    B = np.arange(6.0).reshape(3, 2) + x[0]
    B[0], B[1] = B[1], B[0]  # views: both rows become the second
    B[[1, 2]] = B[[2, 1]]
    return x, B


def shifted(x):
    y = x + 0
    y[1:] = y[:-1]
    y[:-1] += y[1:]
    z = np.outer(x, x)
    z += z.T
    return y, z


@pytest.mark.parametrize(
    "function", [filled, accumulated, made_by, masked, at_indices, swapped, shifted]
)
@pytest.mark.parametrize("mode", [None, "fast_run"])
def test_arrays_that_the_function_makes(function, mode):
    assert_same(function, X, mode=mode)


def test_sizes_come_from_shapes_and_numbers():
    def windows(x, n):
        out = np.zeros((len(x) - n + 1, n))
        for i in range(x.shape[0] - n + 1):
            out[i] = x[i : i + n]
        return out

    traced = rg.jit(windows)
    for n in (2, 3):
        np.testing.assert_array_equal(traced(X, n), windows(X, n))
    assert repr(traced) == "<jit windows, 2 signatures compiled>"


@pytest.mark.parametrize("s", [2, np.int64(-1)])
def test_an_element_of_known_ones_is_chosen_at_the_call(s):
    def function(s):
        out = np.arange(6.0)
        out[s] = 7.0
        out[: abs(s)] += 1.0
        return out

    np.testing.assert_array_equal(rg.jit(function)(s), function(s))


def test_an_array_is_added_to_the_elements_under_a_mask():
    def function(x, m, v):
        x[m] += v
        return x

    x, m = np.arange(6.0), np.arange(6) > 2
    for v in (np.array([1.0, 2.0, 3.0]), np.ones(1), np.float64(2.0)):
        np.testing.assert_array_equal(rg.jit(function)(x.copy(), m, v), function(x.copy(), m, v))
    with pytest.raises(ValueError, match="equal sizes"):
        rg.jit(function)(x.copy(), m, np.ones(4))


def test_a_number_among_the_arguments_is_written_as_any_value():
    def function(x, n):
        out = np.zeros(3, "int32")
        out[0] = n
        out[1:] += n
        full = np.full(2, n)
        full[0] *= 2
        return out, full, x

    traced = rg.jit(function)
    for n in (2, 7):
        for x, y in zip(traced(X, n), function(X, n), strict=True):
            np.testing.assert_array_equal(x, y)
            assert x.dtype == y.dtype
    assert repr(traced) == "<jit function, 1 signature compiled>"


# Views.


def through_views(A):
    row = A[1]
    row -= 1
    part = row[1:3]
    part[...] = 7
    A.T[0] += 10
    A[::-1, None, ::2][0] *= 2
    flat = A.reshape(-1)
    flat[5] = -1
    A.reshape(2, 6)[1, ::3] = 8
    np.swapaxes(A, 0, 1)[3] = A[:, 0]
    np.ravel(A)[0] = 99
    first, *_ = np.split(A, 3)
    first += 1
    for column in A.T:
        column -= column[0]
    return row, part, flat


def after_a_write(A):
    view = A[:, 1]
    copied = A[:, 1].copy()
    picked = A[:, [1, 2]]
    A[...] = A * 2
    return view, copied, picked, view + 1


def copies_that_look_like_views(A):
    noncontiguous = A.T.reshape(-1)
    noncontiguous[:] = 0
    raveled = np.ravel(A[:, ::2])
    raveled[:] = 0
    A[[0, 1]][0] = 100
    scalar = A[0, 0]
    scalar += 1
    return noncontiguous, raveled, scalar


@pytest.mark.parametrize("function", [through_views, after_a_write, copies_that_look_like_views])
@pytest.mark.parametrize("mode", [None, "o4"])
def test_writes_through_views(function, mode):
    assert_same(function, A, mode=mode)


def test_an_array_without_dimensions_is_changed_and_a_scalar_is_not():
    def function(x):
        array, scalar = np.zeros(()), np.sum(x)
        other, name = array, scalar
        array += scalar
        scalar += 1
        view = x[0, ...]
        view += 5
        return array, scalar, other, name

    assert_same(function, X)
    argument = np.array(2.0)
    assert rg.jit(add_one)(argument) is argument and argument == 3
    assert rg.jit(add_one)(np.float64(2.0)) == 3


def add_one(x):
    x += 1
    return x


# Functions that write.


def outs(x, A):
    c = np.empty(4)
    result = np.add(x, 1, out=c)
    assert result is c
    np.multiply(c, x, c)
    np.exp(x, out=c, where=x < 0)
    total = np.zeros(3)
    np.sum(A, axis=1, out=total)
    A.sum(axis=1, out=total[::-1])
    np.dot(A, x, out=total)
    np.matmul(A, x, out=total)
    np.cumsum(A, axis=0, out=A)
    np.clip(A, 1, 20, out=A)
    x.clip(0, 1, out=x)
    quotient, rest = np.zeros(4), np.zeros(4)
    np.divmod(c, 2, out=(quotient, rest))
    return c, total, quotient, rest


def methods(x, A):
    A.fill(3)
    A[1].sort()
    x.sort()
    np.copyto(A[0], x)
    np.copyto(A, 5, where=A > 2)
    np.fill_diagonal(A, x)
    np.put(A, [0, -1], [7.5, 8.5])
    np.putmask(x, x > 1, -x)
    np.put_along_axis(A, np.argmax(A, axis=1, keepdims=True), 0, axis=1)
    A.put([1, 2], 4)
    return A.astype("float64", copy=False) is A


@pytest.mark.parametrize("function", [outs, methods])
def test_functions_that_write(function):
    assert_same(function, X, A)


def test_conversions_are_those_of_numpy():
    def assigned(x):
        out = np.zeros(4, "int64")
        out[:] = x * 1.9
        out[0] = 2.7
        small = np.zeros(4, "float32")
        small += x
        small[...] = x / 3
        flags = np.zeros(4, bool)
        flags[1:] = x[1:]
        return out, small, flags

    assert_same(assigned, X)
    for text, dtype, error in (
        ("x += 0.5", "int64", DTypeError),
        ("x /= 2", "int64", DTypeError),
        ("x += np.ones(4)", "int32", DTypeError),
        ("np.add(x, 0.5, out=x)", "int64", DTypeError),
        ("x -= np.ones(4, 'int64')", "uint8", DTypeError),
        ("x += 300", "uint8", NumberRangeError),
        ("x += np.ones((2, 4))", "float64", ShapeError),
        ("x[:2] = np.ones(3)", "float64", ShapeError),
        ("x[4] = 1", "float64", IndexRangeError),
        ("np.broadcast_to(x, (2, 4))[0] = 1", "float64", ArgumentError),
    ):
        namespace = {"np": np, "__name__": "function"}
        exec(f"def f(x):\n    {text}\n    return x", namespace)
        with pytest.raises((TypeError, ValueError, IndexError, OverflowError)):
            namespace["f"](np.zeros(4, dtype))
        with pytest.raises(error):
            rg.jit(namespace["f"])(np.zeros(4, dtype))


# Arguments.


def test_the_arrays_of_the_caller_change_and_are_returned():
    def update(params, x, scale):
        params["w"] -= scale * x
        params["b"][0] = x[0]
        return params["w"], params["w"][1:], x * 2

    params = {"w": X.copy(), "b": np.zeros(2)}
    traced = rg.jit(update)
    w, tail, double = traced(params, np.ones(4), 0.5)
    np.testing.assert_array_equal(params["w"], X - 0.5)
    np.testing.assert_array_equal(params["b"], [1, 0])
    np.testing.assert_array_equal(double, np.full(4, 2.0))
    assert w is params["w"] and np.shares_memory(tail, w)
    traced(params, np.ones(4), 0.5)
    np.testing.assert_array_equal(params["w"], X - 1)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_an_array_of_any_strides_changes(target):
    def halve(A):
        A[...] = A.T / 2
        A[0, 0] = 9

    for make in (
        lambda: np.eye(3),
        lambda: np.eye(3)[::-1],
        lambda: np.arange(9.0).reshape(3, 3).T,
        lambda: np.ones((6, 6))[::2, ::2],
    ):
        expected, changed = make(), make()
        halve(expected)
        rg.jit(halve, target=target)(changed)
        np.testing.assert_array_equal(changed, expected)


def exchanged(x, y):
    x[:], y[:] = y.copy(), x.copy()
    return x + y


def added(x, y):
    x += 1
    y *= 2
    return x - y


@pytest.mark.parametrize("function", [exchanged, added])
@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_two_arguments_change_at_once_even_if_they_are_one(function, target):
    traced = rg.jit(function, target=target)
    for shared in (False, True, False):
        x, a = X.copy(), X.copy()
        y, b = (x, a) if shared else (X + 1, X + 1)
        np.testing.assert_array_equal(traced(x, y), function(a, b))
        np.testing.assert_array_equal(x, a)
        np.testing.assert_array_equal(y, b)


def read_only(x):
    x.flags.writeable = False
    return x


class Lent:
    """An array of another library, which gives copies."""

    def __array__(self, dtype=None, copy=None):
        return np.ones(4)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((read_only(X.copy()), X), "'x' in place, and the array is read-only"),
        ((Lent(), X), "whose array is a copy"),
        ((np.lib.stride_tricks.as_strided(X.copy(), (4,), (0,)), X), "overlaps itself"),
    ],
)
def test_arrays_that_cannot_change(arguments, text):
    with pytest.raises(ArgumentError, match=text):
        rg.jit(added)(*arguments)


def test_arguments_that_overlap_in_part_are_refused():
    x = np.arange(6.0)
    traced = rg.jit(added)
    with pytest.raises(ArgumentError, match="a part of the same memory"):
        traced(x[:4], x[2:])
    np.testing.assert_array_equal(x, np.arange(6.0))
    traced(x[:3], x[3:])
    np.testing.assert_array_equal(x, [1, 2, 3, 6, 8, 10])


def test_reshaped_arguments_are_in_c_order():
    def function(A):
        A.reshape(-1)[1] = 5

    traced = rg.jit(function)
    B = A.copy()
    traced(B)
    assert B[0, 1] == 5
    with pytest.raises(ArgumentError, match=r"(?s)not in C order.*np\.ascontiguousarray"):
        traced(np.asfortranarray(A))


def test_reshaped_arrays_that_are_read_may_be_in_any_order():
    def function(A, x):
        A += A.reshape(-1).max() + A.T.reshape(-1)[1]
        x -= np.ravel(x[::2]).sum()
        return A

    for order in "CF":
        B, C = np.array(A, order=order), A.copy()
        np.testing.assert_array_equal(rg.jit(function)(B, X.copy()), function(C, X.copy()))


def test_containers_of_the_caller_do_not_change_in_silence():
    def function(state):
        state["n"] = state["x"] + 1

    with pytest.raises(ArgumentError, match="changes its argument 'state', a dict"):
        rg.jit(function)({"x": X, "n": X})


def test_an_inner_function_changes_the_arrays_of_the_outer_one():
    inner = rg.jit(add_one)

    def outer(x):
        y = np.zeros(4)
        inner(y)
        inner(x[1:])
        return y

    assert_same(outer, X)


# Derivatives.


def products(w):
    out = np.zeros(3)
    for i in range(3):
        out[i] = w[i] ** 2
    out[1:] *= out[0]
    return np.sum(out)


def gradient_of_products(w):
    a, b, c = w
    return np.array([2 * a * (1 + b**2 + c**2), 2 * b * a**2, 2 * c * a**2])


def test_functions_that_write_in_place_have_derivatives():
    w = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(rg.grad(products)(w), gradient_of_products(w), rtol=1e-13)
    value, pullback = rg.vjp(products, w)
    assert value == 14
    np.testing.assert_allclose(pullback(2.0)[0], 2 * gradient_of_products(w), rtol=1e-13)

    @rg.jit
    def descend(w, steps):
        for _ in range(steps):
            w -= 0.1 * rg.grad(products)(w)

    expected = w.copy()
    for _ in range(3):
        expected -= 0.1 * gradient_of_products(expected)
    descend(w, 3)
    np.testing.assert_allclose(w, expected, rtol=1e-12)


def test_a_differentiated_function_does_not_change_its_argument():
    def doubled(w):
        w *= 2
        return np.sum(w)

    with pytest.raises(DerivativeError, match=r"(?s)changes its argument 0 in place.*x\.copy"):
        rg.grad(doubled)(X)
    np.testing.assert_array_equal(rg.grad(lambda w: doubled(w.copy()))(X), np.full(4, 2.0))


# Arrays that are known while tracing.


def test_known_arrays_may_be_asked_for_their_values():
    def function(x):
        table = np.zeros(4)
        table[0] = 1
        for i in range(1, 4):
            table[i] = table[i - 1] * 2 if table[i - 1] < 3 else 0.5
        order = np.argsort(table)
        total = math.sqrt(float(table.sum())) if table.any() else 0.0
        picked = [x[i] for i in order]
        circulant = linalg.circulant(table)
        out = np.zeros(int(table[1]))
        out[:] = x[:2]
        assert f"{table[1]:.1f}" == "2.0" and len(table) == 4 and 4.0 in table
        return picked, total, circulant @ x, out, table, table.max()

    assert_same(function, X)


def test_known_arrays_and_their_views_become_traced():
    def function(x):
        table = np.arange(6.0).reshape(2, 3)
        row = table[1]
        table[0, 0] = 5
        before = x[:3] + table[0]
        row[0] = x[0]
        table[0] += row
        return table, row, before

    assert_same(function, X)


KNOWN = np.zeros(4)


def test_arrays_of_others_take_no_traced_values():
    def imported(x):
        imported_zeros(4)[0] = x[0]

    def outside(x):
        KNOWN[:] = x

    def added_to(x):
        KNOWN.view()[1:] += x[1:]

    def shared(x):
        np.asarray(KNOWN)[0] = x[0]

    def lent(x):
        table = np.zeros(4)
        view = table.__array__()
        table[0] = x[0]
        return view

    for function, text in (
        (imported, "puts a traced array into one of NumPy|asks for the value"),
        (outside, "converts a traced array, which has no values yet"),
        (added_to, "(?s)array that the trace cannot follow.*np.zeros"),
        (shared, "memory other code sees"),
        (lent, "memory other code sees"),
    ):
        with pytest.raises(ArgumentError, match=text):
            rg.jit(function)(X)
    assert not KNOWN.any()


# NumPy itself stays as it is.


def test_other_threads_and_numpy_see_numpys_functions():
    seen = []
    original = np.zeros

    def function(x):
        thread = threading.Thread(target=lambda: seen.append(np.zeros is original))
        thread.start()
        thread.join()
        seen.append(np.zeros is original)
        seen.append(type(linalg.hilbert(2)) is np.ndarray)
        return x

    rg.jit(function)(X)
    assert seen == [True, False, True]
    assert np.zeros is original and type(np) is type(math)


def test_code_that_ran_before_is_followed_and_runs_as_before_afterwards():
    for _ in range(100):  # Python specialises the look-up of np.zeros
        assert type(accumulated_by_loop(X)) is np.ndarray
    np.testing.assert_array_equal(rg.jit(accumulated_by_loop)(X), np.cumsum(X))
    for _ in range(100):
        assert type(accumulated_by_loop(X)) is np.ndarray


def accumulated_by_loop(x):
    for _ in range(10):
        out = np.zeros(4)
    for i in range(4):
        out[i:] += x[i]
    return out


def test_threads_trace_at_once():
    def run(k):
        traced = rg.jit(lambda x: accumulated_by_loop(x) * k, target="numpy")
        for n in range(1, 6):
            array = np.full(4, float(n))
            np.testing.assert_array_equal(traced(array), np.cumsum(array) * k)
            assert type(np.zeros(3)) is np.ndarray
        return k

    assert at_once(run, range(6)) == list(range(6))
    assert type(np) is type(math)


def test_errors_leave_numpy_as_it_was():
    def function(x):
        np.zeros(3)[0] = x[0]
        raise KeyError("mine")

    with pytest.raises(KeyError):
        rg.jit(function)(X)
    assert type(np) is type(math)
    np.zeros(3)[0] = 1.0


def test_a_function_kept_beyond_the_trace_is_numpys():
    kept = []

    def function(x):
        kept.append(np.zeros)
        return x

    rg.jit(function)(X)
    assert type(kept[0](3)) is np.ndarray


def diagonal_by_einsum(x):
    square = np.outer(x, x)
    diagonal = np.einsum("ii->i", square)
    diagonal[:] = 0
    return square


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: np.place(x, x > 0, [1]), "np.place is not supported"),
        (lambda x: x.partition(2), "'partition'"),
        (lambda x: x.resize(2), r"(?s)'resize'.*np\.zeros"),
        (lambda x: x.flat[0], r"(?s)'flat'.*x\.reshape\(-1\)"),
        (lambda x: setattr(x, "shape", (2, 2)), r"(?s)attribute 'shape'.*x\.reshape\(\(2, 2\)\)"),
        (lambda x: np.fill_diagonal(x, 1), "at least two dimensions"),
        (lambda x: np.put(x, [0], x[x > 0]), "how many values"),
        (lambda x: np.exp.at(x, [0]), r"np\.exp\.at"),
        (diagonal_by_einsum, "not known while tracing"),
    ],
)
def test_what_cannot_be_written_says_what_to_write_instead(function, text):
    with pytest.raises((ArgumentError, ShapeError, AttributeError), match=text):
        rg.jit(function)(X)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: np.random.default_rng(3).normal(size=4),
        lambda: np.random.RandomState(3).standard_normal(4),
        lambda: np.random.default_rng(3).integers(0, 9, 4),
        lambda: np.random.default_rng(3).choice(np.array([1.0, 2.0, 5.0]), 4),
        lambda: spatial.cKDTree(np.eye(4)).query(np.ones((4, 4)))[0],
    ],
)
def test_compiled_code_makes_arrays_of_numpy(draw):
    np.testing.assert_allclose(rg.jit(lambda x: x * draw())(X), X * draw(), rtol=1e-15)
