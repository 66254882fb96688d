"""A direction asks for no proof of what the side that it matches cannot be computed without."""

from __future__ import annotations

import relgraph as rg
from relgraph.relations.catalogue.linalg import cancel_solve_invo, det_invo, divide_elementso
from relgraph.relations.definedness import required, unproved

A = rg.matrix("A", shape=("n", "n"))
R = rg.matrix("R", shape=("n", "n"), facts=("invertible",))
v, b = rg.vectors("v b", shape=("n",))
w = rg.vector("w", shape=("n",), facts=("nonzero",))


def test_what_sides_require():
    X, y = rg.lvars("X y")
    assert required(rg.inv(X) @ y) == [(X, "invertible")]
    assert required(rg.exp(rg.solve(X, y))) == [(X, "invertible")]
    assert required(rg.solve(rg.diag(y), X)) == [(rg.diag(y), "invertible"), (y, "nonzero")]
    assert required(rg.solve(X, y, assume="spd")) == []  # one triangle of X is not read
    assert required(X @ y) == []


def test_conditions_that_follow_are_left_out():
    X, y = rg.lvars("X y")
    asked = (rg.facto(X, "square"), rg.nonzeroo(y), rg.facto(X, "symmetric"))
    assert unproved(asked, rg.inv(X) @ y) == asked[1:]
    assert unproved(asked, X @ y) == asked


def test_the_direction_that_matches_an_inverse_needs_no_proof():
    assert str(rg.rewrite_graph(rg.solve(rg.inv(A), b), cancel_solve_invo)) == "A @ b"
    assert str(rg.rewrite_graph(rg.det(rg.inv(A)), det_invo)) == "1 / det(A)"
    assert str(rg.rewrite_graph(rg.solve(rg.diag(v), b), divide_elementso)) == "b / v"


def test_the_direction_that_builds_one_does():
    for graph, other, relation in (
        (A @ b, R @ b, cancel_solve_invo),
        (1.0 / rg.det(A), 1.0 / rg.det(R), det_invo),
        (b / v, b / w, divide_elementso),
    ):
        assert rg.rewrite_graph(graph, relation.reversed) is graph
        made = rg.rewrite_graph(other, relation.reversed)
        assert made is not other
        assert rg.rewrite_graph(made, relation) is other


def test_queries_ask_for_proofs_as_rewriting_does():
    assert cancel_solve_invo.run(1, rg.solve(rg.inv(A), b)) == (A @ b,)
    assert cancel_solve_invo.run(1, None, A @ b) == ()
    assert cancel_solve_invo.run(1, None, R @ b) == (rg.solve(rg.inv(R), b),)
