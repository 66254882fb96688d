"""Systems whose matrix is definite by what it is made of are solved by Cholesky's factor."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.ir.graph import toposort
from relgraph.ops.linalg.solve import Inv, Solve

N, M = 4, 2
P = rg.matrix("P", shape=("n", "n"), facts="spd")
F = rg.matrix("F", shape=("n", "n"))
H = rg.matrix("H", shape=("m", "n"))
Q = rg.matrix("Q", shape=("n", "n"), facts="psd")
R = rg.matrix("R", shape=("m", "m"), facts="spd")
x, z = rg.vector("x", shape=("n",)), rg.vector("z", shape=("m",))


def predicted(x, P, F, Q):
    """Return the state and its covariance after a step, before the observation."""
    return F @ x, F @ P @ F.T + Q


def filtered_by_solve(given, solve):
    """Return a step of Kalman's filter, its gain from a system."""
    x, P, F, Q, H, R, z = given
    x, P = predicted(x, P, F, Q)
    gain = solve(H @ P @ H.T + R, H @ P).T
    return x + gain @ (z - H @ x), P - gain @ H @ P


def filtered_by_inverse(given, inv):
    """Return a step of Kalman's filter as it is written in most books."""
    x, P, F, Q, H, R, z = given
    x, P = predicted(x, P, F, Q)
    gain = P @ H.T @ inv(H @ P @ H.T + R)
    return x + gain @ (z - H @ x), P - gain @ H @ P


def values():
    """Return one point at which the step is computed."""
    rng = np.random.default_rng(5)
    half, noise = rng.normal(size=(N, N)), rng.normal(size=(N, 1))
    return {
        "x": rng.normal(size=N), "P": half @ half.T + np.eye(N), "F": rng.normal(size=(N, N)),
        "Q": noise @ noise.T, "H": rng.normal(size=(M, N)), "R": np.diag([0.5, 0.25]),
        "z": rng.normal(size=M),
    }  # fmt: skip


def ops_of(*graphs):
    """Return the ops of graphs that the mode o4 has rewritten."""
    return {node.op for node in toposort(rg.rewrite_graph(graphs, mode="o4"))} - {None}


@pytest.mark.parametrize(
    ("step", "way"),
    [(filtered_by_solve, "solve"), (filtered_by_inverse, "inv")],
    ids=["solve", "inverse"],
)
def test_a_step_of_kalmans_filter_uses_cholesky(step, way):
    given = (x, P, F, Q, H, R, z)
    outputs = step(given, getattr(rg, way))
    ops = ops_of(*outputs)
    assert not ops & {Solve("general"), Inv()}
    assert Solve("spd") in ops or {"cholesky", "cho_solve"} & {op.name for op in ops}
    data = values()
    arrays = [data[v.name] for v in given]
    expected = step(arrays, getattr(np.linalg, way))
    for target in ("numpy", "cpu"):
        f = rg.function(given, outputs, mode="o4", target=target)
        for got, wanted in zip(f(*arrays), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-10)


def test_the_likelihood_of_an_innovation_is_of_one_factor():
    S = H @ P @ H.T + R
    v = z - H @ x
    graph = v @ rg.solve(S, v) + rg.slogdet(S)[1]
    names = {op.name for op in ops_of(graph)}
    assert "cholesky" in names
    assert not names & {"slogdet", "lu_factor"}
    data = values()
    S_value = data["H"] @ data["P"] @ data["H"].T + data["R"]
    v_value = data["z"] - data["H"] @ data["x"]
    expected = v_value @ np.linalg.solve(S_value, v_value) + np.linalg.slogdet(S_value)[1]
    f = rg.function((x, P, H, R, z), graph, mode="o4", target="numpy")
    got = f(*[data[name] for name in "xPHRz"])
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_ridge_regression_uses_cholesky():
    X, y = rg.matrix("X", shape=("m", "n")), rg.vector("y", shape=("m",))
    graph = rg.solve(X.T @ X + 0.1 * rg.eye(rg.dim(X, 1)), X.T @ y)
    assert Solve("spd") in ops_of(graph)
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(9, 3)), rng.normal(size=9)
    got = rg.function((X, y), graph, mode="o4", target="numpy")(a, b)
    np.testing.assert_allclose(got, np.linalg.solve(a.T @ a + 0.1 * np.eye(3), a.T @ b), rtol=1e-10)


def test_what_is_semidefinite_and_inverted_uses_cholesky():
    K = rg.matrix("K", shape=("m", "n"))
    graph = rg.solve(K.T @ R @ K, x)
    ops = ops_of(graph)
    assert Solve("spd") in ops and Solve("general") not in ops
    rng = np.random.default_rng(4)
    k, r, at = rng.normal(size=(7, N)), np.diag(rng.uniform(0.5, 1, 7)), rng.normal(size=N)
    got = rg.function((K, R, x), graph, mode="o4")(k, r, at)
    np.testing.assert_allclose(got, np.linalg.solve(k.T @ r @ k, at), rtol=1e-10)
    determinant = rg.slogdet(K.T @ R @ K)[1]  # which a singular matrix has, too
    assert rg.rewrite_graph(determinant, mode="o4") is determinant
