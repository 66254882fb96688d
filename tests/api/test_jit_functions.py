"""relgraph's own functions in functions that are traced."""

import numpy as np
import pytest
from scipy import interpolate, linalg, special

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.errors import ArgumentError
from relgraph.ir.dispatch import interceptors
from tests.concurrency import at_once

X = np.linspace(-1, 1, 6).reshape(2, 3)

CASES = {
    "op": (rg.erf, special.erf(X)),
    "op_beside_numpy": (
        lambda x: 0.5 * x * (1 + rg.erf(x / np.sqrt(2.0))),
        0.5 * X * (1 + special.erf(X / np.sqrt(2))),
    ),
    "function": (lambda x: rg.softmax(x, axis=1), special.softmax(X, axis=1)),
    "function_of_tuples": (lambda x: rg.logsumexp(x, axis=(0, 1)), special.logsumexp(X)),
    "choice": (lambda x: rg.where(x > 0, x, 0.0), np.where(X > 0, X, 0)),
    "list": (
        lambda x: rg.concatenate([rg.zeros((1, 3)), x]),
        np.concatenate([np.zeros((1, 3)), X]),
    ),
    "numpy_with_a_constant": (
        lambda x: np.concatenate([rg.zeros((1, 3)), x]),
        np.concatenate([np.zeros((1, 3)), X]),
    ),
    "constant_first": (lambda x: rg.ones((2, 3)) - x, 1 - X),
    "constant_alone": (lambda x: rg.eye(2), np.eye(2)),
    "several_results": (lambda x: rg.split(x, 3, axis=1)[2], X[:, 2:]),
    "matrices": (
        lambda x: rg.solve(x @ x.T + rg.eye(2), x),
        np.linalg.solve(X @ X.T + np.eye(2), X),
    ),
    "namespace": (lambda x: rnp.linalg.norm(x) * rnp.pi, np.linalg.norm(X) * np.pi),
    "cast": (lambda x: rg.cast(x, "float32"), X.astype("float32")),
    "size": (lambda x: rg.dim(x, 1) + 0, 3),
}


@pytest.mark.parametrize("name", CASES)
def test_they_take_and_return_traced_arrays(name):
    function, expected = CASES[name]
    result = rg.jit(function)(X)
    np.testing.assert_allclose(result, expected, rtol=1e-12)
    assert np.asarray(result).dtype == np.asarray(expected).dtype


def test_results_are_compared_element_by_element():
    equal = rg.jit(lambda x: rg.abs(x) == x)
    np.testing.assert_array_equal(equal(X), abs(X) == X)


def test_numbers_beside_them_are_weak():
    function = rg.jit(lambda x, s: rg.softplus(x * s) + rg.maximum(s, x))
    for s in (2.0, 3.0):
        expected = np.logaddexp(0, X * s) + np.maximum(s, X)
        np.testing.assert_allclose(function(X, s), expected, rtol=1e-12)
    assert "1 signature" in repr(function)
    assert function(X.astype("float32"), 2.0).dtype == "float32"
    total = rg.jit(lambda x, axis: rg.sum(x, axis=axis))
    np.testing.assert_allclose(total(X, 0), X.sum(axis=0), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(total(X, 1), X.sum(axis=1), rtol=1e-12)


def test_graphs_stay_graphs_meanwhile():
    v = rg.vector("v", 3)

    def function(x):
        assert isinstance(rg.exp(v), rg.Variable)
        inner = rg.function([v], rg.exp(v) + rg.logsumexp(v))
        return x + inner(np.arange(3.0))

    expected = X + np.exp(np.arange(3.0)) + special.logsumexp(np.arange(3.0))
    np.testing.assert_allclose(rg.jit(function)(X), expected, rtol=1e-12)
    assert interceptors == []


def test_after_an_error_nothing_is_left():
    def function(x):
        rg.softmax(x, axes=1)

    with pytest.raises(ArgumentError, match="Did you mean axis="):
        rg.jit(function)(X)
    assert interceptors == []
    with pytest.raises(ArgumentError, match="takes 1 operand"):
        rg.jit(lambda x: rg.erf(x, 1))(X)
    kept = []
    rg.jit(lambda x: kept.append(x) or x + 1)(X)
    with pytest.raises(ArgumentError, match="depend on inputs that are not given: x"):
        rg.function([], rg.exp(kept[0]))


def test_functions_traced_in_several_threads():
    results = {}

    def work(k):
        function = rg.jit(lambda x: rg.softplus(x) * k + rg.logsumexp(x))
        results[k] = function(X)

    at_once(work, range(6))
    for k, result in results.items():
        expected = np.logaddexp(0, X) * k + special.logsumexp(X)
        np.testing.assert_allclose(result, expected, rtol=1e-12)
    assert len(results) == 6
    assert interceptors == []


def test_functions_of_scipy_are_named_in_errors():
    with pytest.raises(ArgumentError, match=r"scipy\.special\.ellipk is not supported"):
        rg.jit(special.ellipk)(X)
    with pytest.raises(ArgumentError, match="a function of SciPy needs the values"):
        rg.jit(linalg.svdvals)(X)
    with pytest.raises(ArgumentError, match=r"scipy\.interpolate\S* needs the values"):
        rg.jit(lambda x: interpolate.PchipInterpolator(x, x))(X[0])


def test_arrays_from_outside_are_constants_of_the_graph():
    weights = np.ones((2, 3))
    weigh = rg.jit(lambda x: x * weights)
    np.testing.assert_array_equal(weigh(X), X)
    weights[:] = 5.0
    np.testing.assert_array_equal(weigh(X), X)
