"""Jacobians and Hessians against differences of NumPy's values."""

import itertools

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.api.graph_derivatives import jacobians
from tests.derivatives.differences import jacobian_by_differences

random = np.random.default_rng(3)
M, N = random.normal(size=(3, 4)), random.normal(size=(4, 3))
S = M @ M.T + 3 * np.eye(3)
V = random.normal(size=3)
PLACES = np.array([2, 0, 2])

# Functions of one array, written once for NumPy and for graphs.
FUNCTIONS = {
    "elementwise": (lambda m, x: m.exp(x) * x, M),
    "broadcast": (lambda m, x: x[:, None] * m.sin(x), V),
    "scalar": (lambda m, x: m.sum(x**2), M),
    "sum": (lambda m, x: m.sum(x**2, axis=0), M),
    "mean": (lambda m, x: m.mean(x * x, keepdims=True), M),
    "cumsum": (lambda m, x: m.cumsum(x**2, axis=1), M),
    "transpose": (lambda m, x: m.transpose(x[:, None] ** 2, (2, 0, 1)), M),
    "reshape": (lambda m, x: m.reshape(x**2, (2, 6)), M),
    "concatenate": (lambda m, x: m.concatenate([x**2, x[:1], m.ones((1, 4))]), M),
    "stack": (lambda m, x: m.stack([x, x**2], axis=1), M),
    "matrix matrix": (lambda m, x: x @ N @ x, M),
    "matrix vector": (lambda m, x: N @ x, V),
    "vector matrix": (lambda m, x: x @ M, V),
    "square matrix vector": (lambda m, x: m.outer(x, x) @ x, V),
    "vector square matrix": (lambda m, x: x @ (m.outer(x, x)), V),
    "dot": (lambda m, x: x @ x, V),
    "batch vector": (lambda m, x: m.stack([m.outer(x, x), S]) @ x, V),
    "outer": (lambda m, x: m.outer(x, x**2), V),
    "einsum": (lambda m, x: m.einsum("ij,kj->ik", x, x), M),
    "index": (lambda m, x: x[1:, ::2] ** 2, M),
    "gather": (lambda m, x: x[PLACES] ** 2, M),
    "separate gather": (lambda m, x: (x[:, None] ** 2)[PLACES, :, PLACES], M),
    "inv": (lambda m, x: m.linalg.inv(x), S),
    "solve": (lambda m, x: m.linalg.solve(S, x**2), V),
    "solve matrix": (lambda m, x: m.linalg.solve(S, x**2), M),
    "solve by matrix": (lambda m, x: m.linalg.solve(x, V), S),
    "logdet": (lambda m, x: m.linalg.slogdet(x)[1], S),
    "cholesky": (lambda m, x: m.linalg.cholesky(x + x.mT), S),
    "diagonal": (lambda m, x: m.diag(x) ** 2, S),
    "diag": (lambda m, x: m.diag(x**2), V),
    "tril": (lambda m, x: m.tril(x**2), S),
    "trace": (lambda m, x: m.trace(x @ x), S),
    "sort": (lambda m, x: m.sort(x, axis=0), M),
    "kron": (lambda m, x: m.kron(x, S[:2]), S[:2, :2]),
}


@pytest.mark.parametrize(("name", "forwards"), list(itertools.product(FUNCTIONS, (True, False))))
def test_a_jacobian_has_all_derivatives(name, forwards):
    function, array = FUNCTIONS[name]
    x = rg.tensor("x", array.shape)
    y = function(rnp, x)
    ((jacobian,),) = jacobians([y], [x], forwards)
    assert tuple(jacobian.type.shape) == (*y.type.shape, *array.shape)
    expected = jacobian_by_differences(lambda v: function(np, v), array)
    np.testing.assert_allclose(
        rg.evaluate(jacobian, {x: array}), expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max()
    )


NAMED = ["elementwise", "sum", "square matrix vector", "vector square matrix", "dot", "outer",
         "index", "gather", "inv", "tril", "diag"]  # fmt: skip


@pytest.mark.parametrize(("name", "forwards"), list(itertools.product(NAMED, (True, False))))
def test_sizes_of_a_jacobian_may_be_named(name, forwards):
    function, array = FUNCTIONS[name]
    names = ("n", "n") if array.shape[0] == array.shape[-1] else ("n", 4)
    x = rg.tensor("x", names[: array.ndim])
    ((jacobian,),) = jacobians([function(rnp, x)], [x], forwards)
    expected = jacobian_by_differences(lambda v: function(np, v), array)
    np.testing.assert_allclose(
        rg.evaluate(jacobian, {x: array}), expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max()
    )


def test_fewer_unit_vectors_are_chosen():
    x = rg.vector("x", 100)
    rows = rg.jacobian(rg.stack([rg.sum(x**2), rg.sum(rg.sin(x))]), x)
    assert max(t.type.shape[0] for t in rg.FunctionGraph(None, rows) if t.ndim) == 100
    assert not any(t.type.shape == (100, 100) for t in rg.FunctionGraph(None, rows))


def test_the_graph_of_a_jacobian_does_not_grow_with_sizes():
    def nodes(n):
        x, A = rg.vector("x", n), rg.matrix("A", (n, n))
        return len(rg.FunctionGraph(None, rg.jacobian(rg.tanh(A @ rg.sin(x)), x)))

    assert nodes(1000) == nodes(10)


class Twice(rg.Op):
    """Twice a vector: a linear op without a rule for batches."""

    __slots__ = ()
    name = "twice"
    arity = 1
    linear = True

    def infer(self, x):
        """Return the type of the operand."""
        assert x.ndim == 1
        return x

    def perform(self, x):
        """Double."""
        return 2 * x

    def derivatives(self):
        """State that it is its own adjoint."""
        return [pair_twiceo]


@rg.adjoint
def pair_twiceo(g, x):
    """<g, 2 x> = <2 g, x>."""
    return rg.inner_product(g, Twice()(x)), rg.inner_product(Twice()(g), x)


def test_an_op_without_a_rule_is_applied_to_one_vector_at_a_time():
    x = rg.vector("x", 3)
    jacobian = rg.jacobian(Twice()(x**2), x)
    np.testing.assert_allclose(rg.evaluate(jacobian, {x: V}), np.diag(4 * V))


def test_an_op_without_a_rule_needs_a_static_size():
    x = rg.vector("x", "n")
    with pytest.raises(rg.errors.DerivativeError, match=r"twice.*size is not static"):
        rg.jacobian(Twice()(x), x)


def test_empty_arrays_have_empty_jacobians():
    f = rg.jacobian(lambda x: np.exp(x[:, None]) * np.ones((1, 2)))
    assert f(np.ones(0)).shape == (0, 2, 0)


def test_containers_nest():
    def f(p):
        return {"y": p["a"] ** 2, "z": (np.sum(p["b"]), p["a"][0] * p["b"])}

    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    J = rg.jacobian(f)({"a": a, "b": b})
    np.testing.assert_allclose(J["y"]["a"], np.diag(2 * a))
    assert J["y"]["b"].shape == (2, 3)
    np.testing.assert_allclose(J["z"][0]["b"], np.ones(3))
    np.testing.assert_allclose(J["z"][1]["b"], np.eye(3))
    np.testing.assert_allclose(J["z"][1]["a"], np.stack([b, 0 * b], axis=1))


def test_a_hessian_of_a_function_and_of_a_graph():
    def loss(x):
        return np.sum(np.log(1 + np.exp(M.T @ x))) + x[0] * x[1] ** 2

    p = 1 / (1 + np.exp(-M.T @ V))
    expected = M @ np.diag(p * (1 - p)) @ M.T
    expected += [[0, 2 * V[1], 0], [2 * V[1], 2 * V[0], 0], [0, 0, 0]]
    np.testing.assert_allclose(rg.hessian(loss)(V), expected, rtol=1e-12)
    np.testing.assert_allclose(rg.jacobian(rg.grad(loss))(V), expected, rtol=1e-12)
    x = rg.vector("x", 3)
    np.testing.assert_allclose(rg.evaluate(rg.hessian(loss(x), x), {x: V}), expected, rtol=1e-12)
    blocks = rg.hessian(lambda a, b: np.sum(a**2) * b, argnums=(0, 1))(V, 2.0)
    np.testing.assert_allclose(blocks[0][0], 4 * np.eye(3))
    np.testing.assert_allclose(blocks[0][1], 2 * V)
    assert blocks[1][1] == 0.0
