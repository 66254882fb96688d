"""``rg.cost``: the measures of programs, over static and named sizes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError
from relgraph.ir.machine import FIXED, Machine
from relgraph.ir.polynomial import Polynomial

m, n, k = map(Polynomial.of, "mnk")


def test_a_fused_kernel_reads_its_operands_and_writes_its_results():
    x, y = rg.matrices("x y", shape=("m", "n"))
    cost = rg.cost(rg.sqrt(x * y + 1))
    assert (cost.kernels, cost.library_calls) == (1, 0)
    assert cost.bytes == 3 * 8 * m * n
    assert cost.peak_memory == 8 * m * n
    assert cost.flops == (1 + 1 + 4) * m * n
    assert cost.names == ("m", "n")


def test_a_reduction_writes_a_scalar():
    x = rg.vector("x", shape=("n",))
    cost = rg.cost(rg.sum(x * x))
    assert (cost.kernels, cost.library_calls) == (1, 0)
    assert cost.bytes == 8 * n + 8
    assert cost.peak_memory == 8


def test_products_and_systems_are_library_calls():
    A, B = rg.matrices("A B", shape=("n", "n"))
    cost = rg.cost(rg.solve(A, B @ B) + B.T)
    assert (cost.kernels, cost.library_calls) == (1, 2)
    assert cost.flops == 2 * n**3 + 2 * n**3 // 3 + 2 * n**3 + n**2


def test_facts_count():
    X = rg.matrix("X", shape=("m", "k"))
    assert rg.cost(X @ X.T).flops == m * m * k
    assert rg.cost(X.T @ X).flops == m * k * k
    assert rg.cost(X @ (2 * X).T).flops == 2 * m * m * k + m * k
    S, b = rg.matrix("S", shape=("n", "n")), rg.matrix("b", shape=("n", "k"))
    systems = {
        "general": 2 * n**3 // 3 + 2 * n**2 * k,
        "spd": n**3 // 3 + 2 * n**2 * k,
    }
    for assume, flops in systems.items():
        assert rg.cost(rg.solve(S, b, assume=assume)).flops == flops
    assert rg.cost(rg.solve_triangular(S, b)).flops == n**2 * k


def test_a_shared_factorisation_counts_once():
    A = rg.matrix("A", shape=("n", "n"))
    x, y = rg.vectors("x y", shape=("n",))
    factors = rg.lu_factor(A)
    both = rg.cost([rg.lu_solve(factors, x), rg.lu_solve(factors, y)])
    assert both.flops == 2 * n**3 // 3 + 4 * n**2
    assert both.library_calls == 3


def test_static_sizes_are_ints():
    A, B = rg.matrices("A B", shape=(30, 30))
    cost = rg.cost(rg.solve(A, B))
    assert cost.flops == 2 * 30**3 // 3 + 2 * 30**3
    assert all(isinstance(x, int) for x in (cost.flops, cost.bytes, cost.peak_memory))
    assert cost.names == ()


def test_given_sizes_are_those_of_the_polynomial():
    for shape in [("n", "n"), (7, 7)]:
        A, B = rg.matrices("A B", shape=shape)
        cost = rg.cost(rg.inv(A) @ rg.exp(B) + rg.trace(A), sizes={"n": 7} if "n" in shape else {})
        assert cost.flops == 2 * 7**3 + 2 * 7**3 + 10 * 49 + 7 + 49
        assert cost.bytes == 8 * (2 * 49 + 2 * 49 + 3 * 49 + (7 + 1) + 2 * 49 + 1)


def test_sizes_that_are_equal_by_the_graph_are_one():
    x, y = rg.vectors("x y")
    cost = rg.cost(x * y + x)
    assert cost.names == ("x.shape[0]",)
    assert cost.at({"x.shape[0]": 5}).flops == 10


def test_a_size_that_is_no_polynomial_is_a_function():
    X = rg.matrix("X", shape=("m", "n"))
    cost = rg.cost(rg.trace(X))
    assert str(cost.flops) == "min(m, n)"
    assert cost.at(m=3, n=5).flops == 3


def test_memory_is_reused():
    x = rg.vector("x", shape=("n",))
    A, B, C = rg.matrices("A B C", shape=("n", "n"))
    assert rg.cost(A @ B @ C).peak_memory == 16 * n**2
    assert rg.cost(A @ B @ C @ A @ B).peak_memory == 16 * n**2
    assert rg.cost([A @ B, B @ C]).peak_memory == 16 * n**2
    assert rg.cost(A.T).peak_memory == 0
    undecided = rg.cost(rg.sum(rg.outer(x, x) @ A) + rg.sum(rg.vector("y", shape=("m",)) ** 2))
    assert undecided.at(n=10, m=1).peak_memory >= 1600


SIDE = 100  # beyond 64, only NumPy knows the memory that LAPACK takes
A, B, C = rg.matrices("A B C", shape=("n", "n"))


@pytest.mark.parametrize(
    "graph",
    [A @ B @ C, A @ B @ C @ A @ B, [A @ B, B @ C], (A @ B).T @ C, rg.solve(A, B) @ C,
     rg.exp(A @ B) + C, rg.softmax(A @ B, axis=1) @ C, rg.inv(A) + rg.inv(B),
     rg.concatenate([A @ B, C], axis=0) @ A, [rg.exp(A) @ B + rg.tanh(C) @ B, rg.sum(A @ C)],
     rg.svd(A)[0] @ B],
    ids=lambda graph: f"{graph}"[:40],
)  # fmt: skip
def test_peak_memory_is_what_a_run_allocates(graph):
    f = rg.function([A, B, C], graph, mode=None)
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(SIDE, SIDE)) + SIDE * np.eye(SIDE) for _ in range(3)]
    for _ in range(2):
        f(*arrays)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        f(*arrays)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    matrix = 8 * SIDE * SIDE
    assert abs(peak - before - rg.cost(graph).at(n=SIDE).peak_memory) < 0.2 * matrix


def test_comparison():
    A, B = rg.matrices("A B", shape=("n", "n"))
    x = rg.vector("x", shape=("n",))
    right, left = rg.cost(A @ (B @ x)), rg.cost((A @ B) @ x)
    assert right.flops == 4 * n**2
    assert (right.compare(left), left.compare(right), left.compare(left)) == (-1, 1, 0)
    u, w = rg.vector("u", shape=("m",)), rg.vector("w", shape=("k",))
    assert rg.cost(rg.exp(u)).compare(rg.cost(rg.exp(w))) is None
    assert rg.cost(u + 1).compare(rg.cost(w + 1), "kernels") == 0


def test_times_compare_for_sizes_with_values():
    A, B = rg.matrices("A B", shape=("n", "n"))
    product, sum_ = rg.cost(A @ B), rg.cost(A + B)
    sides = product.at(n=500), sum_.at(n=500)
    assert sides[0].seconds > sides[1].seconds
    assert [a.compare(b, "seconds") for a in sides for b in sides] == [0, 1, -1, 0]
    with pytest.raises(ArgumentError, match="a time depends on the sizes n"):
        product.compare(sum_, "seconds")


def test_comparison_under_assumptions():
    x = rg.vector("x", shape=("n",))
    A = rg.matrix("A", shape=("n", "n"))
    thrice, square = rg.cost(rg.exp(x)), rg.cost(A + 1)  # 10 n and n**2
    assert thrice.compare(square) is None
    assert thrice.compare(square, assuming={"n": 10}) == -1
    assert thrice.compare(square, assuming={"n": 9}) is None


def test_seconds():
    A, B = rg.matrices("A B", shape=("n", "n"))
    cost = rg.cost(rg.solve(A, B))
    with pytest.raises(ArgumentError, match="depends on the sizes n"):
        _ = cost.seconds
    small, large = cost.at(n=2).seconds, cost.at(n=1000).seconds
    assert 2.5e-6 <= small < 3.5e-6
    assert large > 8 / 3 * 1000**3 / FIXED.factorisation.peak
    slow = rg.cost(rg.solve(A, B), {"n": 2}, machine=Machine(calls=10))
    assert 2.5e-5 <= slow.seconds < 3.5e-5


def test_a_compiled_function_has_the_cost_of_its_graph():
    A, B = rg.matrices("A B", shape=("n", "n"))
    x = rg.vector("x", shape=("n",))
    f = rg.function([A, B, x], A @ B @ x)
    assert rg.cost(f).flops == 4 * n**2
    assert rg.cost(f.graph) == rg.cost(f)
    report = f.report()
    cost = rg.cost(f)
    assert (cost.kernels, cost.library_calls) == (report.loops, len(report.calls))
    np.testing.assert_allclose(f(np.eye(2), np.eye(2), np.ones(2)), np.ones(2))


def test_several_results_and_containers():
    x = rg.vector("x", shape=("n",))
    y = rg.exp(x)
    assert rg.cost([y, y + 1]).flops == rg.cost({"a": y, "b": y + 1}).flops == 11 * n
    assert rg.cost(x).flops == 0


def test_the_printed_cost():
    x = rg.vector("x", shape=("n",))
    assert repr(rg.cost(x + 1)).splitlines() == [
        "flops         n",
        "bytes         16*n",
        "kernels       1",
        "library_calls 0",
        "peak_memory   8*n",
    ]
    assert repr(rg.cost(x + 1, {"n": 1000})).splitlines()[0] == "flops         1,000"
    assert "seconds" in repr(rg.cost(x + 1, {"n": 1000}))


@pytest.mark.parametrize(
    ("call", "message"),
    [(lambda c: c.at(q=3), "does not depend on a size 'q'"),
     (lambda c: c.at(n=-1), "integer from 0"),
     (lambda c: c.at(n=1.5), "integer from 0"),
     (lambda c: c.compare(c, "speed"), "no measure 'speed'"),
     (lambda c: c.compare(rg.vector("x")), "compares with a cost")],
)  # fmt: skip
def test_wrong_calls(call, message):
    cost = rg.cost(rg.vector("x", shape=("n",)) + 1)
    with pytest.raises(ArgumentError, match=message):
        call(cost)


def test_a_machine_that_does_not_exist():
    with pytest.raises(ArgumentError, match="a machine is 'fixed', 'measured' or a Machine"):
        rg.cost(rg.vector("x"), machine="fast")


def test_a_long_chain():
    x = rg.vector("x", shape=("n",))
    y = x
    for _ in range(3000):
        y = rg.sin(y) + x
    cost = rg.cost(y)
    assert cost.flops == 3000 * 11 * n
    assert cost.kernels > 1
