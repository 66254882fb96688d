"""Small products, diagonals and triangles in kernels: their values, and that nothing is called."""

import types

import numpy as np
import pytest

import relgraph as rg
from relgraph.lowering import small_matrices

A, B, X = rg.matrices("A B X", shape=(4, 4))
v = rg.vector("v", shape=(4,))
random = np.random.default_rng(7)
VALUES = {x: random.normal(size=x.type.shape) for x in (A, B, X, v)}

CASES = {
    "matmul": (A @ B, lambda A, B, X, v: A @ B),
    "of a transpose": (A.mT @ B, lambda A, B, X, v: A.T @ B),
    "matrix and vector": (A @ v, lambda A, B, X, v: A @ v),
    "vector and matrix": (v @ A[:, :3], lambda A, B, X, v: v @ A[:, :3]),
    "row and column": (A[:1] @ B[:, 1:2], lambda A, B, X, v: A[:1] @ B[:, 1:2]),
    "outer": (rg.outer(v, v[:3]), lambda A, B, X, v: np.outer(v, v[:3])),
    "diag": (rg.diag(v) + X, lambda A, B, X, v: np.diag(v) + X),
    "diagonal": (rg.diagonal(A @ B), lambda A, B, X, v: np.diagonal(A @ B)),
    "tril": (rg.tril(A + X, 1), lambda A, B, X, v: np.tril(A + X, 1)),
    "triu": (rg.triu(A[:3], -1), lambda A, B, X, v: np.triu(A[:3], -1)),
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_called_and_the_value_is_that_of_numpy(case):
    graph, expected = CASES[case]
    f = rg.function([A, B, X, v], graph, mode=None)
    assert not f.report().calls
    np.testing.assert_allclose(f(*VALUES.values()), expected(*VALUES.values()), rtol=1e-14)


@pytest.mark.parametrize("seed", range(40))
def test_products_of_random_shapes(seed):
    rng = np.random.default_rng([seed, 3])
    m, k, n = map(int, rng.integers(0, 9, 3))
    batch = tuple(map(int, rng.integers(1, 4, rng.integers(0, 3))))
    left = (k,) if seed % 5 == 0 else (*batch, m, k)
    right = (k,) if seed % 7 == 0 else (*batch[len(batch) // 2 :], k, n)
    dtypes = rng.choice(["float32", "float64"], 2)
    x, y = (rng.normal(size=s).astype(t) for s, t in zip((left, right), dtypes, strict=True))
    inputs = [rg.tensor(name, a.shape, a.dtype.name) for name, a in (("x", x), ("y", y))]
    f = rg.function(inputs, inputs[0] @ inputs[1], mode=None)
    found, expected = np.asarray(f(x, y)), x @ y
    assert found.dtype == expected.dtype
    tolerance = 1e-5 if found.dtype == "float32" else 1e-13
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("build", [rg.tril, rg.triu, rg.diagonal, rg.diag])
def test_what_is_left_out_may_be_infinite_or_nan(build):
    x = rg.tensor("x", (3,) if build is rg.diag else (3, 3))
    values = np.full(x.type.shape, np.inf)
    values[..., 0] = np.nan
    f = rg.function([x], build(x), mode=None)
    assert not f.report().calls
    np.testing.assert_array_equal(f(values), getattr(np, build.__name__)(values))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "int64", "float32"])
@pytest.mark.parametrize("build", [rg.tril, rg.triu, rg.diagonal])
def test_dtypes_are_those_of_numpy(build, dtype):
    x = (np.arange(16).reshape(4, 4) % 3).astype(dtype)
    found = rg.function([M := rg.matrix("M", (4, 4), dtype=dtype)], build(M))(x)
    expected = getattr(np, build.__name__)(x)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_batches_of_unknown_size():
    x, y = rg.tensor("x", (None, 3, 2)), rg.tensor("y", (None, 2, 3))
    f = rg.function([x, y], x @ y, mode=None)
    assert isinstance(f.unchecked, types.BuiltinFunctionType)  # a call of machine code
    one, other = random.normal(size=(5, 3, 2)), random.normal(size=(5, 2, 3))
    np.testing.assert_allclose(f(one, other), one @ other, rtol=1e-13)


@pytest.mark.parametrize(
    "graph",
    [
        rg.matrix("M", (40, 40)) @ rg.matrix("N", (40, 40)),
        rg.matrix("M", ("n", "n")) @ rg.vector("w", ("n",)),
        rg.tril(rg.matrix("M", (100, 100))),
        rg.diagonal(rg.matrix("M", (20, 20)) + 1, 1),
        rg.matrix("M", (3, 3), dtype="int64") @ rg.matrix("N", (3, 3), dtype="int64"),
    ],
    ids=["large", "of unknown size", "large triangle", "another diagonal", "integers"],
)
def test_everything_else_stays_as_it_is(graph):
    whole = rg.FunctionGraph(None, graph)
    assert small_matrices.in_kernels(whole) is whole


def test_a_step_of_a_filter_runs_in_machine_code():
    F, P = rg.matrices("F P", shape=(2, 2))
    H, q = rg.matrix("H", (1, 2)), rg.vector("q", (2,))

    def step(F, P, H, q, diag):
        S = F @ P @ F.mT + diag(q)
        return S - S @ H.mT / (H @ S @ H.mT) @ H @ S

    f = rg.function([F, P, H, q], step(F, P, H, q, rg.diag), mode=None)
    assert not f.report().calls
    arrays = [random.random(x.type.shape) for x in (F, P, H, q)]
    np.testing.assert_allclose(f(*arrays), step(*arrays, np.diag), rtol=1e-12, atol=1e-14)
