"""Products of a tall matrix with vectors, and what is between them, in one pass over the matrix."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest

import relgraph.numpy.operators  # noqa: F401  operators of nodes look their functions up
from relgraph.api.function import function as rewritten_function
from relgraph.errors import ShapeError
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.numpy import reductions
from relgraph.ops.elementwise import Elementwise

function = partial(rewritten_function, mode=None)
exp, softplus, sigmoid = map(Elementwise, ("exp", "softplus", "sigmoid"))
SHAPES = [(300, 5), (1, 1), (7, 20), (1000, 64), (37, 65), (40, 600), (0, 3), (5, 0), (33, 2)]


def variables(dtype="float64", n="n", k="k"):
    shapes = {"X": (n, k), "w": (k,), "y": (n,)}
    return [make_input(name, TensorType(dtype, shape)) for name, shape in shapes.items()]


def observations(n, k, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(n, k)), 0.3 * rng.normal(size=k)
    return X.astype(dtype), w.astype(dtype), rng.integers(0, 2, n).astype(dtype)


def logistic(X, w, y):
    e = X @ w
    return [reductions.sum(y * e - softplus(e)), X.T @ (y - sigmoid(e))]


def numpy_logistic(X, w, y):
    e = X @ w
    return (y * e - np.logaddexp(0, e)).sum(), X.T @ (y - 1 / (1 + np.exp(-e)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_logistic_likelihood_and_its_gradient_are_one_kernel(dtype):
    inputs = variables(dtype)
    f = function(inputs, logistic(*inputs))
    assert f.source.count("def rgk_") == 2  # and what combines partial results
    assert "matmul" not in f.source
    assert "call_" not in f.source
    unit = np.finfo(dtype).eps
    for n, k in SHAPES:
        arrays = observations(n, k, dtype)
        wide = [a.astype(float) for a in arrays]
        total, gradient = f(*arrays)
        expected, slope = numpy_logistic(*wide)
        e = np.abs(wide[0]) @ np.abs(wide[1])
        assert abs(total - expected) <= 64 * unit * (1 + e.sum())
        bound = np.abs(wide[0]).T @ (1 + e)
        assert (np.abs(gradient - slope) <= (64 + k) * unit * bound).all()


@pytest.mark.parametrize("kept", [x for n in (1, 2, 3) for x in combinations(range(4), n)], ids=str)
def test_any_of_the_results_may_be_all_that_is_asked_for(kept):
    """``X.T @ (X @ w)`` is one: a product and its transpose, and nothing between or beside them."""

    def results(X, w, y):
        e = X @ w
        return [X.T @ e, e, (e * y).sum(), (y - e) @ X]

    inputs = variables()
    f = function(inputs, [results(*inputs)[i] for i in kept])
    for n, k in SHAPES:
        arrays = observations(n, k)
        expected = results(*arrays)
        for result, i in zip(f(*arrays), kept, strict=True):
            np.testing.assert_allclose(result, expected[i], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("twice", [False, True])
def test_what_is_computed_from_the_second_product_of_a_square_matrix_waits_for_it(twice):
    X, w, _ = variables(n=4, k=4)
    g = X.T @ (X @ w)
    f = function([X, w], [reductions.logsumexp(X.T @ exp(-g) if twice else g), exp(g)])
    A, p, _ = observations(4, 4)
    expected = A.T @ (A @ p)
    last = A.T @ np.exp(-expected) if twice else expected
    total, elements = f(A, p)
    np.testing.assert_allclose(total, np.log(np.exp(last).sum()), rtol=1e-12)
    np.testing.assert_allclose(elements, np.exp(expected), rtol=1e-12)


def test_several_products_of_one_matrix():
    X, w, y = variables()
    v = make_input("v", TensorType("float64", ("k",)))
    a, b = X @ w, X @ v
    r = exp(-a * a) * b
    results = [r, reductions.max(a), reductions.mean(b), (y * r) @ X, X.T @ (a + b)]
    f = function([X, w, v, y], results)
    assert "matmul" not in f.source
    assert f.source.count("def rgk_") == 2
    A, p, q = observations(50, 6)
    o = np.random.default_rng(5).normal(size=6)
    a, b = A @ p, A @ o
    r = np.exp(-a * a) * b
    expected = [r, a.max(), b.mean(), (q * r) @ A, A.T @ (a + b)]
    for result, value in zip(f(A, p, o, q), expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-12, atol=1e-13)


def test_a_total_that_the_second_product_needs_keeps_them_apart():
    X, w, _ = variables()
    e = exp(X @ w)
    f = function([X, w], X.T @ (e / reductions.sum(e)))
    assert "matmul" in f.source
    A, p, _ = observations(30, 4)
    weights = np.exp(A @ p)
    np.testing.assert_allclose(f(A, p), A.T @ (weights / weights.sum()), rtol=1e-13)


def test_products_of_different_matrices_stay_calls():
    X, w, y = variables()
    Z = make_input("Z", TensorType("float64", ("n", "k")))
    f = function([X, Z, w, y], Z.T @ (y - X @ w))
    assert "matmul" in f.source
    A, p, q = observations(9, 4)
    B = A[::-1].copy()
    np.testing.assert_allclose(f(A, B, p, q), B.T @ (q - A @ p), rtol=1e-12, atol=1e-13)


def test_special_values_reach_the_results_that_read_them():
    inputs = variables()
    f = function(inputs, logistic(*inputs))
    X, w, y = observations(600, 3)
    X[400, 1] = np.nan
    total, gradient = f(X, w, y)
    assert np.isnan(total)
    assert np.isnan(gradient).all()
    X[400, 1] = np.inf
    likely = float(w[1] > 0)
    for y[400], infinite in ((likely, np.nan), (1 - likely, np.inf * (1 - 2 * likely))):
        with np.errstate(all="ignore"):
            e = X @ w
            slope = X.T @ (y - 1 / (1 + np.exp(-e)))
        gradient = f(X, w, y)[1]
        np.testing.assert_array_equal([slope[1], gradient[1]], infinite)
        np.testing.assert_allclose(gradient[[0, 2]], slope[[0, 2]], rtol=1e-11)


def test_sizes_are_checked():
    inputs = variables(n=None, k=None)
    f = function(inputs, logistic(*inputs))
    assert "matmul" not in f.source
    X, w, y = observations(20, 4)
    np.testing.assert_allclose(f(X, w, y)[1], numpy_logistic(X, w, y)[1], rtol=1e-12)
    with pytest.raises(ShapeError, match="must have equal sizes"):
        f(X, w[:3], y)
    with pytest.raises(ShapeError, match="must have equal sizes"):
        f(X, w, y[:19])


def test_an_extreme_over_no_rows_is_an_error():
    X, w, _ = variables()
    e = X @ w
    f = function([X, w], [reductions.max(e), X.T @ e])
    with pytest.raises(ShapeError, match="no value over no elements"):
        f(np.ones((0, 2)), np.ones(2))
