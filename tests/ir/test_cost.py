"""Costs: floating-point operations by each op's own rule."""

from __future__ import annotations

import pytest

import relgraph as rg
from relgraph.ir.cost import NOMINAL, extent, size
from relgraph.ir.types import TensorType, TupleType


def test_sizes():
    assert extent(7) == 7
    assert extent("n") == extent(None) == NOMINAL
    assert size(TensorType("float64")) == 1
    assert size(TensorType("float64", (2, 0, 3))) == 0
    assert size(TensorType("float64", (2, "n"))) == 2 * NOMINAL
    assert size(TupleType((TensorType("float64", (2,)), TensorType("int64", (3,))))) == 5


@pytest.mark.parametrize(
    ("left", "right", "flops"),
    [((3, 4), (4, 5), 2 * 3 * 4 * 5), ((3, 4), (4,), 2 * 3 * 4), ((4,), (4,), 2 * 4),
     ((7, 3, 4), (7, 4, 5), 7 * 2 * 3 * 4 * 5)],
)  # fmt: skip
def test_products(left, right, flops):
    a, b = rg.tensor("a", shape=left), rg.tensor("b", shape=right)
    assert rg.flops([a @ b]) == flops


def test_elementwise_ops_and_reductions_cost_their_size():
    a = rg.matrix("a", shape=(3, 4))
    assert rg.flops([a + a]) == 12
    assert rg.flops([rg.sum(a)]) == 12
    assert rg.flops([rg.sum(a, axis=0)]) == 12
    assert rg.flops([rg.exp(a)]) > rg.flops([a + a])
    assert rg.flops([a.T]) == 0
    assert rg.flops([a]) == rg.flops([rg.constant(1.0)]) == 0


def test_a_shared_node_is_counted_once():
    a = rg.matrix("a", shape=(3, 4))
    product = a @ a.T
    alone = rg.flops([product])
    assert rg.flops([product, product]) == alone
    assert rg.flops([product + product]) == alone + 9
    assert rg.flops([product, a + a]) == alone + 12


def test_a_matrix_times_its_own_transpose_costs_half():
    a, b = rg.matrices("a b", shape=(3, 4))
    assert rg.flops([a @ a.T]) == rg.flops([a @ b.T]) // 2 == 3 * 3 * 4
    assert rg.flops([a.T @ a]) == 3 * 4 * 4
    v = rg.vector("v", shape=(4,))
    assert rg.flops([v @ v]) == 2 * 4


@pytest.mark.parametrize(
    ("made", "flops"),
    [(rg.solve, 2 * 30**3 // 3 + 2 * 30**2 * 5),
     (lambda a, b: rg.solve(a, b[:, 0]), 2 * 30**3 // 3 + 2 * 30**2),
     (lambda a, b: rg.solve(a, b, assume="spd"), 30**3 // 3 + 2 * 30**2 * 5),
     (rg.solve_triangular, 30**2 * 5),
     (lambda a, b: rg.lu_solve(rg.lu_factor(a), b), 2 * 30**3 // 3 + 2 * 30**2 * 5),
     (lambda a, b: rg.det(a), 2 * 30**3 // 3),
     (lambda a, b: rg.qr(b)[1], 4 * 30 * 5**2 - 2 * (2 * 5**3 // 3))],
)  # fmt: skip
def test_factorisations_and_right_sides(made, flops):
    a, b = rg.matrix("a", shape=(30, 30)), rg.matrix("b", shape=(30, 5))
    assert abs(rg.flops([made(a, b)]) - flops) <= 1


def test_some_constant_exponents_are_cheap():
    v = rg.vector("v", shape=(5,))
    assert rg.flops([v**2]) == rg.flops([v * v])
    assert rg.flops([v**0.5]) == rg.flops([rg.sqrt(v)])
    assert rg.flops([v**2.5]) == rg.flops([v**v]) > rg.flops([rg.exp(v)])


def test_the_order_of_a_product_of_three_matters():
    a, b = rg.matrices("a b", shape=(10, 10))
    v = rg.vector("v", shape=(10,))
    assert rg.flops([a @ (b @ v)]) == 400
    assert rg.flops([(a @ b) @ v]) == 2200
