"""A relation fires only where what it builds runs for all sizes for which the graph does."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg
from relgraph.relations.shape_proof import proved

m, k = rg.matrices("m k")
x, y = rg.vectors("x y")
square = rg.matrix("square", facts=("square",))
other = rg.matrix("other", facts=("square",))


@pytest.mark.parametrize(
    "graph",
    [
        rg.trace(m @ k),
        rg.diagonal(m @ k),
        rg.sum(x) + rg.sum(y),
        rg.trace(rg.matrix("a", shape=(None, "n")) @ rg.matrix("b", shape=("n", None))),
    ],
    ids=str,
)
def test_it_does_not_fire_where_an_equality_is_not_proved(graph):
    assert rg.rewrite_graph(graph, mode="o4") is graph


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (rg.trace(m.T @ m), "sum(square(m))"),
        (m @ x + m @ y, "m @ (x + y)"),
        (m @ x + k @ x, "(m + k) @ x"),
        (rg.diag(x) @ m, "expand_dims(x, axes=(-1,)) * m"),
        (rg.sum(x) + rg.sum(y) + rg.sum(x + y), "2 * sum(x + y)"),
        (rg.trace(square @ other), "sum(square * other.mT)"),
        (rg.det(square @ other), "det(square) * det(other)"),
    ],
    ids=str,
)
def test_it_fires_where_the_graph_proves_it(graph, expected):
    assert str(rg.rewrite_graph(graph, mode="o4")) == expected


def test_proved_of_operands_that_meet():
    assert proved(x * y, x + y, (x, y)) is not None
    assert proved(x * y, (x, y), (x, y)) is not None
    assert proved(x * y, rg.sum(x) + rg.sum(y), (x, y)) is None
    assert proved(None, x + y, (x, y)) is None
    assert proved(x * y, rg.stack([x, y]), ([x, y],)) is not None


def test_without_bindings_both_sides_are_compared():
    assert proved(rg.sum(m * k.T), rg.trace(m @ k), ()) is None
    assert proved(rg.sum(m * m), rg.trace(m @ m.T), ()) is not None
    assert proved(rg.exp(x), rg.exp(x) + 0, ()) is not None


def test_what_stands_between_known_operands_may_have_an_unknown_size():
    a, b = rg.matrices("a b", shape=(4, 4))
    mask = rg.tensor("mask", shape=(4,), dtype="bool")
    rows = a[mask]
    assert proved(rg.sum(rows * b.T), rg.trace(rows @ b), (a, mask, b)) is None
    assert proved(rg.sum(a * b.T), rg.trace(a @ b), (a, b)) is not None


@rg.identity
def no_difference(x):
    """``x - x = 0``, for vectors of three elements."""
    return x - x, rg.zeros((3,))


@rg.identity
def no_product(x):
    """``A^-1 A = I``, for matrices of three rows."""
    return rg.inv(x) @ x, rg.eye(3)


three = rg.vector("three", shape=(3,))
rows = rg.matrix("rows", shape=(None, 3))
ends = rg.matrix("ends", shape=(3, None), facts=("square",))


@pytest.mark.parametrize("graph", [x - x, m - m, rg.inv(square) @ square, rg.sum(x - x)], ids=str)
def test_an_unknown_size_is_not_replaced_by_a_number(graph):
    assert rg.rewrite_graph(graph, [no_difference, no_product]) is graph


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (three - three, "broadcast_to(0, shape=(3,))"),
        ((x + three) - (x + three), "broadcast_to(0, shape=(3,))"),
        (rg.sum((three * x - three * x) + x), "sum(broadcast_to(0, shape=(3,)) + x)"),
        (rg.inv(ends) @ ends, "eye(n=3, m=3, k=0, dtype='float64')"),
    ],
    ids=str,
)
def test_an_unknown_size_is_replaced_by_the_number_that_it_must_be(graph, expected):
    assert str(rg.rewrite_graph(graph, [no_difference, no_product])) == expected


@pytest.mark.parametrize("shape", [(0,), (1,), (2,), (4,)])
def test_what_does_not_fire_keeps_its_value(shape):
    value = np.arange(shape[0], dtype=float)
    found = rg.function([x], rg.rewrite_graph(x - x, [no_difference]))(value)
    np.testing.assert_array_equal(found, value - value)


def test_a_matrix_is_not_given_rows_of_another_length():
    graph = rg.rewrite_graph(rows - rows, [no_difference])
    value = np.ones((4, 3))
    np.testing.assert_array_equal(rg.function([rows], graph)(value), np.zeros((4, 3)))
    assert graph is not rows - rows
