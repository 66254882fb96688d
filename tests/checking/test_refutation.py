"""Values that tell graphs apart: they have the facts and sizes declared, and rounding is none."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg
from relgraph.checking.refutation import drawn, refutation, replay
from relgraph.errors import VerifyError

A, B = rg.matrices("A B", shape=("n", "n"))
X = rg.matrix("X", shape=("n", "k"))
P = rg.matrix("P", shape=("n", "n"), facts=("spd",))
x = rg.vector("x", shape=("n",))
p = rg.vector("p", shape=("n",), facts=("positive",))


def test_values_have_the_declared_sizes_and_facts():
    kinds = set()
    for values in drawn([X, P, x, p], regular=True):
        n, k = values["X"].shape
        assert values["P"].shape == (n, n) and values["x"].shape == values["p"].shape == (n,)
        assert n != k
        assert np.linalg.eigvalsh(values["P"]).min() > 0 and values["p"].min() > 0
        kinds.add((values["x"] < 0).any())
    assert kinds == {True, False}


def test_values_are_the_same_in_every_run():
    first, second = (list(drawn([X, x], regular=False)) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert all((a[name] == b[name]).all() for name in a)


def test_a_difference_is_shown_as_numpy_computes_it():
    found, _ = refutation(A @ B, B @ A)
    a, b = found.values["A"], found.values["B"]
    np.testing.assert_array_equal(found.left, a @ b)
    np.testing.assert_array_equal(found.right, b @ a)
    assert not np.allclose(a @ b, b @ a)
    assert str(found).startswith("A = [[") and "right = [[" in str(found)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((x + 1e9) - 1e9, x),
        (rg.sum(x) - rg.sum(x[::-1]), 0 * rg.sum(x)),
        (rg.inv(rg.inv(P)), P),
        (rg.cosh(x) - rg.sinh(x), rg.exp(-x)),
        (rg.inv(X @ X.T) @ X @ X.T @ A, A),  # the inverse exists for few sizes
    ],
)
def test_rounding_is_no_difference(left, right):
    found, _ = refutation(left, right)
    assert found is None


def test_a_difference_where_there_is_no_value_is_none():
    found, held = refutation(rg.log(-p), rg.log(p))
    assert found is None and held == 0
    singular = rg.inv(A - A)
    assert refutation(singular, 2 * singular) == (None, 0)


def test_equal_names_have_no_values():
    other = rg.vector("x", shape=("n",), dtype="float32")
    assert refutation(x, rg.cast(other, "float64")) == (None, 0)


def test_integers_are_compared_exactly():
    i = rg.vector("i", shape=("n",), dtype="int64")
    found, _ = refutation(i * i, i)
    assert (found.left != found.right).any()
    assert refutation(i * i - i, i * (i - 1))[0] is None


def test_an_op_without_an_exact_meaning_refutes_nothing():
    class Twice(rg.Op):
        name = "twice"
        arity = 1

        def infer(self, *types):
            return types[0]

        def perform(self, *values):
            return 2 * values[0]

    assert refutation(Twice()(x), 3 * x) == (None, 0)


def test_equations_are_compared_where_what_is_given_has_values():
    assert replay([(rg.abs(x), x)], (rg.log(x),)) == 1
    with pytest.raises(VerifyError, match="step 1 is not an equation"):
        replay([(rg.abs(x), x)])
