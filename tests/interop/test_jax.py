"""Functions of relgraph inside transformations of JAX, and arrays of JAX as arguments."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, ShapeError

jax = pytest.importorskip("jax", reason="JAX is not installed")

import jax.numpy as jnp  # noqa: E402

from relgraph.interop.jax import wrap  # noqa: E402


@pytest.fixture(autouse=True)
def wide():
    """Compute in float64."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def loss(w, X):
    """Return the logistic loss."""
    return np.sum(np.log1p(np.exp(X @ w)))


def jax_loss(w, X):
    """Return the same, computed by JAX."""
    return jnp.sum(jnp.log1p(jnp.exp(X @ w)))


W, X = np.array([0.3, -0.5]), np.arange(6.0).reshape(3, 2) / 5


def test_value_gradient_and_jit():
    f = wrap(loss)
    np.testing.assert_allclose(f(W, X), jax_loss(W, X), rtol=1e-12)
    np.testing.assert_allclose(jax.jit(f)(W, X), jax_loss(W, X), rtol=1e-12)
    for argnums in (0, 1):
        np.testing.assert_allclose(
            jax.jit(jax.grad(f, argnums))(W, X), jax.grad(jax_loss, argnums)(W, X), rtol=1e-12
        )


def test_it_composes_with_ops_of_jax_and_second_derivatives():
    f, g = (lambda w: wrap(loss)(jnp.sin(w), X) ** 2), (lambda w: jax_loss(jnp.sin(w), X) ** 2)
    np.testing.assert_allclose(jax.grad(f)(W), jax.grad(g)(W), rtol=1e-12)
    second = jax.jacrev(jax.grad(lambda w: wrap(loss)(w, X)))(W)
    np.testing.assert_allclose(second, jax.hessian(lambda w: jax_loss(w, X))(W), rtol=1e-10)


def test_vmap_runs_one_element_after_another():
    many = np.stack([W, 2 * W, -W])
    expected = jax.vmap(jax.grad(jax_loss), (0, None))(many, X)
    np.testing.assert_allclose(jax.vmap(jax.grad(wrap(loss)), (0, None))(many, X), expected)


def test_pytrees_integers_and_several_results():
    def f(tree, i):
        return {"first": tree["a"][i], "rest": (tree["a"] * tree["b"], i + 1)}

    a, i = np.arange(3.0), np.array([2, 0])
    result = wrap(f)({"a": a, "b": 2.0}, i)
    assert result["first"].tolist() == [2.0, 0.0]
    assert result["rest"][1].tolist() == [3, 1]
    gradient = jax.grad(lambda t: wrap(f)(t, i)["first"].sum())({"a": a, "b": 2.0})
    assert gradient["a"].tolist() == [1.0, 0.0, 1.0]
    assert gradient["b"] == 0.0


def test_compiled_and_jitted_functions():
    x = rg.vector("x", "n")
    for f in (rg.function([x], rg.sum(rg.exp(x))), rg.jit(lambda x: np.sum(np.exp(x)))):
        np.testing.assert_allclose(jax.grad(wrap(f))(W), np.exp(W))


def test_float32_stays():
    result = wrap(loss)(W.astype("float32"), X.astype("float32"))
    assert result.dtype == np.float32


def test_errors():
    with pytest.raises(ArgumentError, match="takes a function"):
        wrap(3)
    with pytest.raises(ShapeError, match="depends on values"):
        wrap(lambda x: x[x > 0])(W)


def test_arrays_of_jax_are_arguments():
    x = rg.vector("x")
    assert rg.function([x], 2 * x)(jnp.arange(3.0)).tolist() == [0, 2, 4]
    assert rg.jit(np.sum)(jnp.arange(3.0)) == 3.0


def test_gradients_and_functions_that_write_in_place_are_wrapped():
    x = np.array([1.0, 2.0])
    gradient = wrap(rg.grad(lambda x: np.sum(x**2)))
    np.testing.assert_array_equal(gradient(x), 2 * x)

    def first(x):
        out = np.zeros(2)
        out[0] = x[0] ** 2
        return np.sum(out)

    for function in (first, rg.jit(first)):
        np.testing.assert_array_equal(jax.grad(wrap(function))(x), [2, 0])
