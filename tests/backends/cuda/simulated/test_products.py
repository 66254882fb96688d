"""Products of matrices, simulated on the device, equal NumPy's."""

from functools import partial

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ShapeError

function = partial(rg.function, mode=None, target="cuda")

SHAPES = [
    ((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 3)), ((2, 3, 4), (4, 2)),
    ((2, 3, 4), (2, 4, 1)), ((2, 1, 2, 3), (3, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)),
    ((1, 1), (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_shapes(left, right):
    x = rg.tensor("x", shape=[1 if n == 1 else None for n in left])
    y = rg.tensor("y", shape=[1 if n == 1 else None for n in right])
    f = function([x, y], x @ y)
    assert "on the CPU" not in f.source
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=left), rng.normal(size=right)
    result = f(a, b).to_host()
    assert result.shape == (a @ b).shape
    np.testing.assert_allclose(result, a @ b, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint64", "bool", "int32"])
def test_dtypes(dtype):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 2 if dtype == "bool" else 90, (3, 3)).astype(dtype) for _ in range(2))
    x, y = rg.matrix("x", dtype=dtype), rg.matrix("y", dtype=dtype)
    np.testing.assert_array_equal(function([x, y], x @ y)(a, b).to_host(), a @ b, strict=True)


def test_a_product_between_kernels():
    x, w, b = rg.matrix("x"), rg.matrix("w"), rg.vector("b")
    f = function([x, w, b], rg.tanh(2 * x @ w + b))
    rng = np.random.default_rng(2)
    a, c, d = rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), rng.normal(size=2)
    np.testing.assert_allclose(f(a, c, d).to_host(), np.tanh(2 * a @ c + d), rtol=1e-13)
    with pytest.raises(ShapeError):
        f(a, c[:3], d)


def test_sums_with_products_are_products_and_sums():
    x, y = rg.matrix("x", shape=("n", "n")), rg.matrix("y", shape=("n", "n"))
    v = rg.vector("v", shape="n")
    outputs = [2.0 * x + 3.0 * (x @ y), v + 0.5 * (x @ v), x + 2.0 * rg.outer(v, v)]
    f = rg.function([x, y, v], outputs, target="cuda")  # a mode makes calls of BLAS of these
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    expected = [2 * a + 3 * a @ b, c + 0.5 * a @ c, a + 2 * np.outer(c, c)]
    assert "on the CPU" not in f.source
    for result, value in zip(f(a, b, c), expected, strict=True):
        np.testing.assert_allclose(result.to_host(), value, rtol=1e-13)


EINSUMS = {
    "ij,jk->ik": ((3, 4), (4, 2)), "ij,j->i": ((3, 4), (4,)), "i,i->": ((5,), (5,)),
    "bij,bkj->bik": ((2, 3, 4), (2, 2, 4)), "ij,kj,k->i": ((3, 4), (2, 4), (2,)),
    "ij->ji": ((2, 3),), "ij->j": ((4, 3),), "i,j->ij": ((3,), (2,)), "ab,bc,cd->ad": ((2, 3),) * 3,
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8"])
@pytest.mark.parametrize("subscripts", EINSUMS)
def test_contractions_are_kernels(subscripts, dtype):
    shapes = EINSUMS[subscripts]
    if subscripts == "ab,bc,cd->ad":
        shapes = ((2, 3), (3, 2), (2, 3))
    inputs = [rg.tensor(f"x{k}", shape=[None] * len(s), dtype=dtype) for k, s in enumerate(shapes)]
    f = function(inputs, rg.einsum(subscripts, *inputs))
    assert "on the CPU" not in f.source
    rng = np.random.default_rng(6)
    arrays = [(rng.normal(size=s) * 3).astype(dtype) for s in shapes]
    expected = np.einsum(subscripts, *arrays)
    eps = np.finfo(dtype).eps if dtype != "int8" else 0
    result = f(*arrays).to_host()
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(result, expected, rtol=30 * eps, atol=100 * eps)


def test_a_diagonal_of_a_contraction_is_taken_on_the_cpu_in_the_simulator():
    x = rg.matrix("x", shape=("n", "n"))
    with pytest.warns(RuntimeWarning, match="run on the CPU.*: einsum"):
        f = function([x], rg.einsum("ii,ij->j", x, x + 1))
    a = np.random.default_rng(7).normal(size=(3, 3))
    np.testing.assert_allclose(f(a).to_host(), np.einsum("ii,ij->j", a, a + 1), rtol=1e-14)
