"""Where unknown sizes are read, and which must be equal, by the type rules of ops."""

from __future__ import annotations

import pytest

import relgraph as rg
from relgraph.ir.sizes import Equalities, Given, Place, Tie, rule_of, size_at

A, B = rg.matrices("A B")
x, y, z = rg.vectors("x y z")
s = rg.vector("s", shape=(3,))
n = rg.vector("n", shape=("n",))
T = rg.tensor("T", shape=(None, None, None))
U = rg.tensor("U", shape=(None, None, None))


def ties(node):
    return rule_of(node.op, tuple(i.type for i in node.inputs)).ties


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (x + y, [((0, -1), (1, -1))]),
        (A + x, [((0, -1), (1, -1))]),
        (x + 1, []),
        (x + s, [((0, -1), (1, -1))]),
        (n * x, [((1, -1), (0, -1))]),
        (rg.where(x > 0, y, z), [((0, -1), (1, -1)), ((0, -1), (2, -1))]),
        (A @ B, [((0, -1), (1, -2))]),
        (A @ s, [((0, -1), (1, -1))]),
        (T @ U, [((0, -3), (1, -3)), ((0, -1), (1, -2))]),
        (rg.inv(A), [((0, -2), (0, -1))]),
        (rg.solve(A, x), [((0, -2), (0, -1)), ((0, -2), (1, -1)), ((0, -1), (1, -1))]),
        (rg.concatenate([A, B]), [((0, -1), (1, -1))]),
        (rg.matrix("row", shape=(1, None)) @ rg.matrix("r", shape=(1, 2)), [((0, -1), (1, -2))]),
        (rg.broadcast_to(rg.matrix("row", shape=(1, None)), (rg.dim(A, 0), 3)), [((0, -1), 3)]),
        (rg.broadcast_to(x, (2, 3)), [((0, -1), 3)]),
        (rg.broadcast_to(x, (2, rg.dim(y, 0))), [((0, -1), Given(1))]),
        (rg.broadcast_to(n, (rg.dim(y, 0), rg.dim(z, 0))), [((0, -1), Given(2))]),
        (rg.broadcast_to(n, (2, "n")), []),
        (rg.broadcast_to(s, (2, 3)), []),
        (rg.inv(rg.matrix("one", shape=(1, None))), [((0, -1), (0, -2))]),
        (rg.squeeze(n, 0), [((0, -1), 1)]),
        (rg.squeeze(A, 0), [((0, -2), 1)]),
        (rg.trace(A), []),
        (rg.sum(A, 0), []),
    ],
    ids=str,
)
def test_ties_of_ops(node, expected):
    assert list(ties(node)) == [Tie(*pair) for pair in expected]


@pytest.mark.parametrize(
    ("node", "axis", "expected"),
    [
        (A, -2, Place(A, -2)),
        (rg.exp(A.T) + 1, -2, Place(A, -1)),
        ((A @ B).T, -1, Place(A, -2)),
        (rg.sum(A, 0), -1, Place(A, -1)),
        (rg.expand_dims(x, 1), -2, Place(x, -1)),
        (rg.broadcast_to(0.0, (rg.dim(x + 1, 0), 4)), -2, Place(x, -1)),
        (n + 1, -1, "n"),
        (s + x, -1, 3),
    ],
    ids=str,
)
def test_where_a_size_is_read(node, axis, expected):
    assert size_at(node, axis) == expected


def test_a_size_that_an_op_makes_is_its_own():
    both = rg.concatenate([x, y])
    assert size_at(both + 1, -1) == Place(both, -1)


def test_a_long_chain_is_read_without_recursion():
    chain = x
    for _ in range(5000):
        chain = chain + y
    assert size_at(chain, -1) == Place(x, -1)


def test_equalities_follow_from_what_was_computed():
    known = Equalities()
    known.learn(x + y)
    known.learn(y + s)
    assert known.find(Place(x, -1)) == 3
    assert known.implies(x * s) and known.implies(rg.dot(x, y))
    assert not known.implies(x * z) and not known.implies(x * n)
    known.together([x, z])
    assert known.implies(z * s)


def test_a_declared_square_matrix_has_equal_sizes():
    square = rg.matrix("square", facts=("square",))
    known = Equalities()
    assert not known.implies(rg.inv(square))
    known.learn(square)
    assert known.implies(rg.inv(square))
    assert not known.implies(rg.inv(A))


def test_squeezing_needs_a_size_of_one():
    known = Equalities()
    graph = rg.squeeze(A, 0)
    assert not known.implies(graph)
    known.learn(graph)
    assert known.implies(graph)
