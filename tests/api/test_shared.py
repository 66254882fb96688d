"""Shared variables, updates, givens and default values of inputs."""

from __future__ import annotations

import inspect
import pickle
import signal
import threading

import numpy as np
import pytest

import relgraph as rg
from relgraph.api.shared import Cell
from relgraph.errors import (
    ArgumentError,
    DomainError,
    DTypeError,
    IndexRangeError,
    LinearAlgebraError,
    NumberRangeError,
    ShapeError,
    StateLostError,
)

TARGETS = ["cpu", "numpy"]


def address(variable):
    """Return where the value of a shared variable is."""
    return variable.get_value(borrow=True).ctypes.data


@pytest.mark.parametrize("target", TARGETS)
def test_a_call_reads_the_value_of_the_moment(target):
    w, x = rg.shared([1.0, 2.0], name="w"), rg.vector("x", 2)
    f = rg.function([x], x * w, target=target)
    assert f([3.0, 4.0]).tolist() == [3.0, 8.0]
    w.set_value([0.0, 1.0])
    assert f([3.0, 4.0]).tolist() == [0.0, 4.0]
    assert f.inputs == (x,)
    assert f.shared == (w,)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", [dict, list, tuple])
def test_updates_are_computed_from_the_old_values(kind, target):
    a, b = rg.shared(1.0, name="a"), rg.shared(2.0, name="b")
    pairs = [(a, b), (b, a + b)]
    f = rg.function([], [a, a * b], updates=kind(pairs), target=target)
    assert f() == [1.0, 2.0]
    assert f() == [2.0, 6.0]
    assert (a.get_value(), b.get_value()) == (3.0, 5.0)


def test_gradient_descent_solves_least_squares():
    rng = np.random.default_rng(0)
    X, t = rng.standard_normal((50, 3)), rng.standard_normal(50)
    w, A, y = rg.shared(np.zeros(3), name="w"), rg.matrix("A", ("n", 3)), rg.vector("y", "n")
    error = A @ w - y
    step = rg.function([A, y], rg.sum(error**2), updates={w: w - 0.01 * (A.T @ error)})
    losses = [step(X, t) for _ in range(300)]
    assert losses[0] == pytest.approx(t @ t)
    np.testing.assert_allclose(w.get_value(), np.linalg.lstsq(X, t)[0], rtol=1e-9)


@pytest.mark.parametrize("target", TARGETS)
def test_a_function_of_updates_only_returns_none(target):
    n = rg.shared(0, name="n")
    f = rg.function([], updates=[(n, n + 1)], target=target)
    assert f() is None
    assert n.get_value() == 1
    assert n.get_value().dtype == np.int64


def test_numbers_and_arrays_become_the_new_value():
    w, n = rg.shared(np.ones(2, dtype="float32"), name="w"), rg.shared(5, name="n")
    rg.function([], updates={w: np.zeros(2, dtype="float32"), n: 0})()
    assert w.get_value().tolist() == [0.0, 0.0]
    assert w.get_value().dtype == np.float32
    assert n.get_value() == 0


def test_an_update_writes_over_memory_that_nothing_else_holds():
    w, g = rg.shared(np.ones(100), name="w"), rg.vector("g", 100)
    f = rg.function([g], updates={w: w - 0.5 * g})
    before = address(w)
    for _ in range(3):
        f(np.ones(100))
    assert address(w) == before
    assert w.get_value().tolist() == [-0.5] * 100
    assert f.report().in_place == ("w",)


@pytest.mark.parametrize("part", [slice(None), slice(0, 10)], ids=["whole", "view"])
def test_an_array_that_is_held_elsewhere_does_not_change(part):
    mine = np.ones(100)
    w = rg.shared(mine, borrow=True)
    borrowed = w.get_value(borrow=True)[part]
    rg.function([], updates={w: w + 1})()
    assert borrowed.tolist() == [1.0] * len(borrowed)
    assert mine.tolist() == [1.0] * 100
    assert w.get_value().tolist() == [2.0] * 100


def test_results_and_values_share_no_memory():
    w = rg.shared(np.ones(50), name="w")
    f = rg.function([], [w, w * 2, w * 2], updates={w: w * 2})
    old, first, second = f()
    arrays = [old, first, second, w.get_value(borrow=True)]
    assert [x[0] for x in arrays] == [1.0, 2.0, 2.0, 2.0]
    assert not any(np.shares_memory(x, y) for x in arrays for y in arrays if x is not y)


def test_values_are_copied_unless_borrowed():
    mine = np.ones(3)
    copied, lent = rg.shared(mine), rg.shared(mine, borrow=True)
    mine[0] = 5
    assert copied.get_value().tolist() == [1.0, 1.0, 1.0]
    assert lent.get_value().tolist() == [5.0, 1.0, 1.0]
    assert lent.get_value(borrow=True) is mine
    copied.get_value()[0] = 7
    assert copied.get_value()[0] == 1.0
    lent.set_value(np.zeros(3))
    assert mine[0] == 5


@pytest.mark.parametrize("target", TARGETS)
def test_a_call_that_raises_updates_nothing(target):
    w, n = rg.shared(np.ones((2, 2)), name="w"), rg.shared(0, name="n")
    k, A = rg.scalar("k", dtype="int64"), rg.matrix("A", (2, 2))
    f = rg.function([k, A], (w + 1)[k], updates={w: w + rg.cholesky(A), n: n + 1}, target=target)
    with pytest.raises(IndexRangeError):
        f(9, np.eye(2))
    with pytest.raises(LinearAlgebraError):
        f(0, -np.eye(2))
    with pytest.raises(ShapeError):
        f(0, np.eye(3))
    with pytest.raises(DTypeError):
        f(0.5, np.eye(2))
    assert w.get_value().tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert n.get_value() == 0
    assert f(0, np.eye(2)).tolist() == [2.0, 2.0]
    assert w.get_value().tolist() == [[2.0, 1.0], [1.0, 2.0]]


class Broken:
    """An argument whose conversion fails."""

    def __array__(self, *args, **kwargs):
        raise OSError("the device is gone")


def test_an_argument_that_raises_while_it_is_converted_updates_nothing():
    w, g = rg.shared(np.ones(3), name="w"), rg.vector("g", 3)
    f = rg.function([g], updates={w: w - g})
    assert f.report().in_place == ("w",)
    for wrong, error in [(Broken(), OSError), (np.ones(4), ShapeError), (["a"], ArgumentError)]:
        with pytest.raises(error):
            f(wrong)
        assert w.get_value().tolist() == [1.0, 1.0, 1.0]


def test_a_size_that_only_the_call_knows_is_compared_before_any_update():
    w, n, x = rg.shared(np.ones(3), name="w"), rg.shared(0, name="n"), rg.vector("x")
    f = rg.function([x], updates={n: n + 1, w: x * 2})
    with pytest.raises(ShapeError, match="update of the shared variable 'w'"):
        f(np.ones(4))
    assert (w.get_value().tolist(), n.get_value()) == ([1.0, 1.0, 1.0], 0)
    f(np.ones(3))
    assert (w.get_value().tolist(), n.get_value()) == ([2.0, 2.0, 2.0], 1)


def test_sizes_may_vary_where_they_are_declared_so():
    data = rg.shared(np.ones((2, 3)), name="data", shape=(None, 3))
    f = rg.function([], rg.sum(data))
    data.set_value(np.ones((5, 3)))
    assert f() == 15.0
    with pytest.raises(ShapeError, match="axis 1 is 4"):
        data.set_value(np.ones((5, 4)))
    assert f() == 15.0


def test_variables_of_one_name_are_different():
    a, b = rg.shared(1.0, name="w"), rg.shared(1.0, name="w")
    w = rg.scalar("w")
    f = rg.function([w], [a - b + w, rg.exp(a)], updates={a: a + 10})
    assert f(5.0) == pytest.approx([5.0, np.exp(1.0)])
    assert f(5.0) == pytest.approx([15.0, np.exp(11.0)])
    assert b.get_value() == 1.0
    assert a is not b
    assert rg.shared(0).name != rg.shared(0).name


def test_graphs_of_shared_variables_are_rewritten_and_evaluated():
    w, x = rg.shared([1.0, 2.0], name="w"), rg.vector("x", 2)
    stable = rg.rewrite_graph(rg.log(1 + rg.exp(w + x)), include=["stabilize"])
    assert stable is rg.softplus(w + x)
    assert rg.evaluate(w + x, {x: [1.0, 1.0]}).tolist() == [2.0, 3.0]
    assert rg.function(None, w + x).inputs == (x,)


def test_givens_replace_nodes_in_outputs_updates_and_replacements():
    x, y, z = rg.scalars("x y z")
    w = rg.shared(1.0, name="w")
    f = rg.function([z], x + w, updates={w: w + x}, givens={x: 2 * y, y: z + 1})
    assert f(4.0) == 11.0
    assert w.get_value() == 11.0
    g = rg.function([x], w * 2, givens=[(w, x)])
    assert g(3.0) == 6.0
    assert g.shared == ()
    h = rg.function([x], rg.exp(x + y), givens={x + y: x})
    assert h(0.0) == 1.0


def test_default_values_of_inputs():
    x, y, z = rg.scalars("x y z")
    f = rg.function([x, rg.In(y, value=10.0), rg.In(z)], x + y * z)
    assert f(1.0, 2.0, 3.0) == 7.0
    assert f(1.0, z=3.0) == 31.0
    assert f(x=1.0, z=3, y=0.5) == 2.5
    assert list(inspect.signature(f).parameters) == ["x", "y", "z"]
    assert inspect.signature(f).parameters["y"].default == 10.0
    with pytest.raises(ArgumentError, match="no value for the input 'z'"):
        f(1.0)


def test_pickles_hold_the_values_and_copies_share_them():
    w, x = rg.shared([1.0, 2.0], name="w"), rg.vector("x", 2)
    f = rg.function([x], w * x, updates={w: w + 1})
    copied, variable = pickle.loads(pickle.dumps((f, w)))
    assert copied.shared == (variable,)
    assert variable is not w
    copied([1.0, 1.0])
    assert variable.get_value().tolist() == [2.0, 3.0]
    assert w.get_value().tolist() == [1.0, 2.0]
    graph, other = pickle.loads(pickle.dumps((rg.exp(w), w)))
    assert graph.inputs == (other,)


def test_no_update_of_concurrent_calls_is_lost_and_no_reader_sees_half_of_one():
    w = rg.shared(np.zeros(20_000), name="w")
    add = rg.function([], updates={w: w + 1})
    extremes = rg.function([], (rg.min(w), rg.max(w)))
    torn = []

    def write():
        for _ in range(200):
            add()

    def read():
        for _ in range(200):
            low, high = extremes()
            torn.extend([(low, high)] if low != high else [])

    threads = [threading.Thread(target=f) for f in (write, write, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not torn
    assert set(w.get_value()) == {400.0}


def test_an_interrupt_during_an_update_in_place_comes_after_it(monkeypatch):
    w = rg.shared(np.ones(3), name="w")
    f = rg.function([], updates={w: w + 1})
    take = Cell.take

    def interrupted(cell, name):
        result = take(cell, name)
        signal.raise_signal(signal.SIGINT)
        return result

    monkeypatch.setattr(Cell, "take", interrupted)
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            f()
        assert w.get_value().tolist() == [2.0, 2.0, 2.0]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, outside)


def test_a_value_whose_memory_was_half_written_is_an_error():
    w = rg.shared(np.ones(2), name="w")
    w.storage.array = None  # as a program leaves it that runs out of memory
    with pytest.raises(StateLostError, match="'w' is lost"):
        rg.function([], w + 1)()
    w.set_value([3.0, 4.0])
    assert rg.function([], w + 1)().tolist() == [4.0, 5.0]


x, v = rg.scalar("x"), rg.vector("v", 3)
w = rg.shared(np.zeros(3), name="w")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: rg.function([x], x, updates={x: x + 1}), ArgumentError, "not a shared variable"),
        (lambda: rg.function([], w, updates=[(w, w), (w, w + 1)]), ArgumentError, "occurs twice"),
        (lambda: rg.function([], w, updates={w: rg.sum(w)}), ShapeError, "does not have its shape"),
        (lambda: rg.function([v], w, updates={w: v[:2]}), ShapeError, "does not have its shape"),
        (
            lambda: rg.function([], w, updates={w: w.astype("float32")}),
            DTypeError,
            "has dtype float32",
        ),
        (lambda: rg.function([], w, updates=w), ArgumentError, "a dict or a list of pairs"),
        (lambda: rg.function([], w, updates=[w]), ArgumentError, "a dict or a list of pairs"),
        (lambda: rg.function([], w, updates={"w": w}), ArgumentError, "'w' is a str"),
        (lambda: rg.function([x], x, givens={x: x + 1}), ArgumentError, "in a circle"),
        (
            lambda: rg.function([], v + x, givens={v: w + x, x: rg.sum(v)}),
            ArgumentError,
            "v needs x needs v|x needs v needs x",
        ),
        (lambda: rg.function([], v, givens={v: x}), ShapeError, "given of v"),
        (lambda: rg.function([w], w), ArgumentError, "not an argument"),
        (lambda: rg.function([rg.In(w, 1)], w), ArgumentError, "not an argument"),
        (lambda: rg.function([x]), ArgumentError, "there are no updates"),
        (lambda: rg.In(x + 1, 3.0), ArgumentError, "In takes an input"),
        (lambda: rg.In(v, [1.0]), ShapeError, "default value does not fit"),
        (lambda: rg.In(x, "a"), ArgumentError, "not an array"),
        (lambda: rg.shared(x), ArgumentError, "is a graph"),
        (lambda: rg.shared([[1], [2, 3]]), ArgumentError, "not an array"),
        (lambda: rg.shared(1.0, name="a b"), ArgumentError, "identifier"),
        (lambda: rg.shared(1j), DTypeError, "not a dtype"),
        (lambda: rg.shared([1.0], shape=(2,)), ShapeError, "does not have its shape"),
        (lambda: rg.shared(1.0, facts=["odd"]), DomainError, "odd"),
        (lambda: w.set_value([1.0, 2.0]), ShapeError, "does not fit"),
        (lambda: w.set_value(np.ones(3) * 1j), DTypeError, "complex128"),
        (lambda: rg.shared(1, dtype="int8").set_value(300), NumberRangeError, "does not fit int8"),
        (
            lambda: rg.jit(lambda a: a + w)(np.ones(3)),
            ArgumentError,
            "reads the shared variable 'w'",
        ),
        (lambda: rg.function([], w)(out=np.zeros(3)), ArgumentError, "out="),
        (lambda: rg.function([], w).unchecked, ArgumentError, "unchecked"),
        (lambda: rg.function([], w)(1.0), ArgumentError, "1 positional argument for 0 inputs"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert caught.value.fix


@pytest.mark.parametrize(
    ("new", "donated"),
    [
        (lambda w, v, k: w - 0.1 * v, True),
        (lambda w, v, k: w / (1 + np.exp(v)) + v @ w, True),
        (lambda w, v, k: w - rg.cholesky(rg.outer(w, w))[0], False),
        (lambda w, v, k: w + v[k], False),
        (lambda w, v, k: rg.assert_(w, v > 0), False),
        (lambda w, v, k: w + rg.max(v), False),  # fails if v has no elements, which is not known
    ],
)
def test_only_programs_that_cannot_fail_halfway_write_in_place(new, donated):
    w = rg.shared(np.ones(3), name="w")
    v, k = rg.vector("v", 3), rg.scalar("k", dtype="int64")
    f = rg.function([v, k], updates={w: new(w, v, k)})
    taken = f._state.overwritten(f.graph)
    assert (taken == {w: "w"}) == donated
