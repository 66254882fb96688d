"""The time of one application, by the fixed figures of a machine."""

from __future__ import annotations

import pytest

import relgraph as rg
from relgraph.errors import ArgumentError
from relgraph.ir.machine import FIXED, Machine, Rate, node_seconds, op_seconds


def test_calls_of_lapack_on_small_matrices_cost_their_overhead():
    a, b = rg.matrices("a b", shape=("n", "n"))
    node = rg.solve(a, b)
    assert node.op.overhead * 1e-9 <= node_seconds(node, {"n": 2}) < 1.1 * node.op.overhead * 1e-9
    assert node_seconds(node, {"n": 1000}) > 2 / 3 * 1000**3 / FIXED.factorisation.peak
    # Two calls on 2 x 2 matrices cost more than one, although they have fewer operations.
    factored = rg.lu_factor(a)
    once = node_seconds(rg.lu_solve(factored, b), {"n": 2})
    assert once + node_seconds(factored[0].inputs[0], {"n": 2}) > node_seconds(node, {"n": 2})


def test_unknown_sizes_are_nominal():
    a, b = rg.matrices("a b", shape=("n", "n"))
    assert node_seconds(a @ b) == node_seconds(a @ b, {"n": 256})
    assert node_seconds(a @ b, {"m": 3}) == node_seconds(a @ b)
    assert node_seconds(a) == 0


def test_products_with_vectors_take_the_time_of_their_bytes():
    a, v = rg.matrix("a", shape=(4000, 4000)), rg.vector("v", shape=(4000,))
    moved = 8 * (4000**2 + 2 * 4000)
    assert node_seconds(a @ v) == pytest.approx(1e-6 + moved / FIXED.caches[-1][1])


def test_views_move_nothing():
    small, large = rg.matrix("s", shape=(2, 2)), rg.matrix("l", shape=(2000, 2000))
    assert node_seconds(small.T) == node_seconds(large.T) < 1e-6
    assert node_seconds(large[:5]) == node_seconds(small[:1])


@pytest.mark.parametrize("assume", ["general", "symmetric", "spd"])
def test_a_system_takes_the_time_of_its_factorisation_and_of_its_right_sides(assume):
    n, r = 1000, 3000
    a, b = rg.matrix("a", shape=(n, n)), rg.matrix("b", shape=(n, r))
    system = rg.solve(a, b, assume=assume)
    machine = Machine(factorisation=Rate(3e9), substitution=Rate(2e9))
    factored = (2 if assume == "general" else 1) * n**3 / 3
    expected = system.op.overhead * 1e-9 + factored / 3e9 + 2 * n * n * r / 2e9
    assert node_seconds(system, machine=machine) == pytest.approx(expected, rel=1e-6)
    assert rg.cost(system, machine=machine).seconds == pytest.approx(expected, rel=1e-6)


def test_systems_with_known_factors_have_the_rate_of_substitution():
    a, b = rg.matrices("a b", shape=(1000, 1000))
    slow = Machine(factorisation=Rate(1.0))
    for node in (
        rg.lu_solve(rg.lu_factor(a), b),
        rg.cho_solve((a, True), b),
        rg.solve_triangular(a, b),
    ):
        assert node_seconds(node, machine=slow) == node_seconds(node) < 0.1
    assert node_seconds(rg.cholesky(a), machine=slow) > 1e6


def test_a_triangular_system_reads_one_triangle():
    a, b = rg.matrix("a", shape=(4000, 4000)), rg.vector("b", shape=(4000,))
    moved = 8 * (4000**2 / 2 + 2 * 4000)
    node = rg.solve_triangular(a, b)
    assert node_seconds(node) == pytest.approx(5e-6 + moved / FIXED.caches[-1][1])
    assert rg.cost(node).bytes == moved


def test_float32_is_twice_as_fast():
    times = []
    for dtype in ("float32", "float64"):
        a, b = rg.matrices("a b", shape=(2000, 2000), dtype=dtype)
        times.append(node_seconds(a @ b))
    assert times[1] == pytest.approx(2 * times[0], rel=1e-3)


def test_an_application_that_is_no_node():
    a, b = rg.matrices("a b", shape=("n", "n"))
    node = a @ b
    assert op_seconds(node.op, [a.type, b.type], node.type) == node_seconds(node)
    gram = a @ a.T
    assert op_seconds(node.op, [a.type, b.type], node.type) > node_seconds(gram)


def test_a_machine_of_other_figures():
    a, b = rg.matrices("a b", shape=(1000, 1000))
    slow = Machine(product=Rate(1e9))
    assert node_seconds(a @ b, machine=slow) == pytest.approx(2.0, rel=1e-3)


def test_a_rate_that_does_not_exist():
    with pytest.raises(ArgumentError, match="no rate 'gemm'"):
        type("Mine", (rg.Op,), {"__slots__": (), "name": "mine", "rate": "gemm"})


def test_a_batch_costs_a_call_for_each_matrix_where_lapack_takes_one_at_a_time():
    a, b = rg.tensor("a", ("k", 3, 3)), rg.tensor("b", ("k", 3, 3))
    for node, calls in (
        (rg.solve(a, b), 1),
        (rg.solve(a, b, assume="spd"), 100),
        (rg.solve_triangular(a, b), 100),
        (rg.cho_solve((a, True), b), 100),
        (rg.schur(a)[0].inputs[0], 100),
    ):
        overhead = calls * node.op.overhead * 1e-9
        assert overhead <= node_seconds(node, {"k": 100}) < overhead + 50e-6
        assert rg.cost(node, {"k": 100}).seconds == pytest.approx(node_seconds(node, {"k": 100}))
