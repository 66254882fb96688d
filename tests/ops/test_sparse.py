"""Sparse matrices: types, products, transposes, and what refuses them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import relgraph as rg
from relgraph.errors import ArgumentError, DomainError, DTypeError, ShapeError
from relgraph.ir.types import DTYPES

TARGETS = ("numpy", "cpu")


def drawn(shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, size=shape) * (rng.random(shape) < 0.5)
    return values.astype(dtype)


def dense(value):
    return value.toarray() if sp.issparse(value) else value


def test_a_layout_is_part_of_a_type():
    plain = rg.TensorType("float64", ("m", "n"))
    csr = rg.TensorType("float64", ("m", "n"), "csr")
    assert rg.TensorType("float64", ("m", "n"), layout="csr") is csr
    assert plain is not csr
    assert plain.layout == "dense"
    assert csr.layout == "csr"
    assert rg.TensorType("float64", ("m", "n"), "dense") is plain
    assert repr(csr) == "float64[m, n] csr"
    assert pickle.loads(pickle.dumps(csr)) is csr
    assert copy.deepcopy(rg.matrix("S", ("m", "n"), layout="csr")).type is csr
    assert csr.with_dtype("float32") is rg.TensorType("float32", ("m", "n"), "csr")
    assert csr.with_shape((3, 4)) is rg.TensorType("float64", (3, 4), "csr")
    assert not csr.narrows(plain)
    assert not plain.narrows(csr)
    assert rg.TensorType("float64", (3, "n"), "csr").narrows(
        rg.TensorType("float64", (3, None), "csr")
    )


def test_what_a_sparse_type_accepts():
    csr = rg.TensorType("float64", (2, 3), "csr")
    value = sp.csr_array(drawn((2, 3)))
    assert csr.accepts(value) is None
    assert csr.accepts(value.tocsc()) == "it is a csc_array, not a csr matrix of scipy.sparse"
    assert "not a csr matrix" in csr.accepts(value.toarray())
    assert csr.accepts(value.astype("float32")) == "its dtype is float32, not float64"
    assert csr.accepts(sp.csr_array(drawn((2, 4)))) == "its size along axis 1 is 4, not 3"
    assert "not an array" in rg.TensorType("float64", (2, 3)).accepts(value)


def test_layouts_that_do_not_exist():
    with pytest.raises(DomainError, match="there is no layout 'coo'"):
        rg.matrix("S", layout="coo")
    with pytest.raises(ShapeError, match="a sparse layout is of a matrix, not of 1 dimension"):
        rg.tensor("s", (3,), layout="csr")


def test_equal_names_of_two_layouts_are_two_inputs():
    assert rg.matrix("S", ("m", "n"), layout="csr") is rg.matrix("S", ("m", "n"), layout="csr")
    assert rg.matrix("S", ("m", "n"), layout="csr") is not rg.matrix("S", ("m", "n"))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize("shape", [(5, 7), (1, 4), (0, 3), (3, 0)])
def test_products_and_transposes(layout, shape, target):
    m, n = shape
    S = rg.matrix("S", ("m", "n"), layout=layout)
    x, z = rg.vector("x", "n"), rg.vector("z", "m")
    B, C = rg.matrix("B", ("n", 3)), rg.matrix("C", (4, "m"))
    outputs = [S @ x, S @ B, z @ S, C @ S, S.T @ z, B.T @ S.mT, rg.densify(S), S.T, S]
    f = rg.function([S, x, z, B, C], outputs, target=target)
    s, rng = drawn(shape), np.random.default_rng(1)
    b, c, u, v = (rng.normal(size=k) for k in ((n, 3), (4, m), n, m))
    found = f(sp.csr_array(s), u, v, b, c)
    expected = [s @ u, s @ b, v @ s, c @ s, s.T @ v, b.T @ s.T, s, s.T, s]
    for node, one, other in zip(outputs, found, expected, strict=True):
        assert node.type.accepts(one) is None
        np.testing.assert_allclose(dense(one), other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", ["bool", "int8", "int64", "float32", "float64"])
def test_dtypes_are_those_of_numpy(dtype, other):
    S = rg.matrix("S", (3, 4), dtype, layout="csr")
    x = rg.vector("x", 4, other)
    s, u = drawn((3, 4), dtype), drawn(4, other, seed=1)
    found = rg.function([S, x], S @ x, target="numpy")(sp.csr_array(s), u)
    assert found.dtype == (S @ x).dtype == (s @ u).dtype
    np.testing.assert_allclose(found, s @ u)


@pytest.mark.parametrize("target", TARGETS)
def test_products_between_kernels(target):
    S = rg.matrix("S", ("m", "n"), layout="csr")
    x = rg.vector("x", "n")
    y = rg.sum(rg.exp(-(rg.sin(S @ (x * 2 + 1)) ** 2)))
    s, u = drawn((6, 9)), np.linspace(-1, 1, 9)
    expected = np.exp(-(np.sin(s @ (u * 2 + 1)) ** 2)).sum()
    for value in (sp.csr_array(s), sp.csc_matrix(s), sp.coo_array(s), sp.lil_array(s)):
        np.testing.assert_allclose(rg.function([S, x], y, target=target)(value, u), expected)


@pytest.mark.parametrize("target", TARGETS)
def test_results_share_no_memory_with_arguments(target):
    S = rg.matrix("S", ("m", "n"), layout="csr")
    value = sp.csr_array(drawn((3, 4)) + 1.0)
    same, turned = rg.function([S], [S, S.T], target=target)(value)
    same.data[:] = 0
    turned.data[:] = 0
    assert (value.toarray() >= 1).all()


def test_signs_and_facts():
    S = rg.matrix("S", ("n", "n"), layout="csr", facts=("lower_triangular", "nonnegative"))
    assert rg.facts(S.T).holds("upper_triangular")
    assert not rg.facts(S.T).holds("lower_triangular")
    assert rg.facts(rg.densify(S)).holds("lower_triangular")
    selection = rg.matrix("R", ("m", "n"), layout="csr", facts=("selection",))
    assert not rg.facts(selection.T).holds("selection")
    assert rg.facts(S @ rg.exp(rg.vector("x", "n"))).holds("nonnegative")
    assert not rg.facts(S @ rg.vector("x", "n")).holds("nonnegative")


def test_densify_of_what_is_dense_is_itself():
    A = rg.matrix("A", ("m", "n"))
    assert rg.densify(A) is A


S = rg.matrix("S", ("n", "n"), layout="csr")
X = rg.matrix("X", ("n", "n"))

REFUSED = {
    "add": lambda: S + 1,
    "multiply": lambda: S * X,
    "negative": lambda: -S,
    "exp": lambda: np.exp(S),
    "sum": lambda: rg.sum(S),
    "softmax": lambda: rg.softmax(S, axis=-1),
    "index": lambda: S[0],
    "at": lambda: S.at[0].set(1),
    "reshape": lambda: rg.reshape(S, (-1,)),
    "expand_dims": lambda: rg.expand_dims(S, 0),
    "dim": lambda: rg.dim(S, 0),
    "solve": lambda: rg.solve(S, X),
    "solve with": lambda: rg.solve(X, S),
    "inv": lambda: rg.inv(S),
    "trace": lambda: rg.trace(S),
    "diagonal": lambda: rg.diagonal(S),
    "einsum": lambda: rg.einsum("ij,jk,kl->il", S, X, X),
    "concatenate": lambda: rg.concatenate([S, X]),
    "where": lambda: rg.where(S, 1, 2),
    "cast": lambda: rg.cast(S, "float32"),
    "assume": lambda: rg.assume(S, "positive"),
    "matmul": lambda: S @ S,
}


@pytest.mark.parametrize("name", REFUSED)
def test_every_other_op_refuses_a_sparse_operand_and_names_densify(name):
    with pytest.raises(ArgumentError, match=r"sparse(.|\n)*rg\.densify\(x\)"):
        REFUSED[name]()


def test_products_that_do_not_fit():
    with pytest.raises(ShapeError, match="the sizes n and k differ along the axis"):
        S @ rg.vector("k", "k")
    with pytest.raises(ShapeError, match=r"a dense vector or matrix, not float64\[2, n, n\]"):
        S @ rg.tensor("t", (2, "n", "n"))
    with pytest.raises(ArgumentError, match="neither operand is sparse"):
        rg.sparse_matmul(X, X)
    with pytest.raises(ArgumentError, match="the operand is dense"):
        rg.sparse_transpose(X)


@pytest.mark.parametrize("target", TARGETS)
def test_arguments_that_do_not_fit(target):
    x = rg.vector("x", "n")
    f = rg.function([S, x], S @ x, target=target)
    s, u = drawn((4, 4)), np.ones(4)
    with pytest.raises(ArgumentError, match=r"scipy\.sparse\.csr_array"):
        f(s, u)
    with pytest.raises(DTypeError, match="the matrix given is complex128"):
        f(sp.csr_array(s.astype(complex)), u)
    with pytest.raises(ShapeError, match="the size 'n' is 4"):
        f(sp.csr_array(s), np.ones(3))
    with pytest.raises(ShapeError, match="the size 'n' is 4"):
        f(sp.csr_array(drawn((4, 5))), u)
    with pytest.raises(ArgumentError, match=r'layout="csr"(.|\n)*toarray'):
        rg.function([X], X + 1, target=target)(sp.csr_array(s))
    np.testing.assert_allclose(f(sp.csr_array(s.astype("float32")), u), s @ u)


@pytest.mark.parametrize("target", TARGETS)
def test_sizes_that_are_unknown_are_compared_at_the_call(target):
    T, x = rg.matrix("T", layout="csr"), rg.vector("x")
    f = rg.function([T, x], T @ x, target=target)
    s = drawn((4, 5))
    np.testing.assert_allclose(f(sp.csr_array(s), np.ones(5)), s.sum(1))
    with pytest.raises(ShapeError):
        f(sp.csr_array(s), np.ones(4))


@rg.identity
def distribute_matmulo(A, x, y):
    """A (x + y) = A x + A y."""
    return A @ (x + y), A @ x + A @ y


@rg.identity
def distribute_sparse_matmulo(A, x, y):
    """A (x + y) = A x + A y, for a sparse A."""
    return rg.sparse_matmul(A, x + y), rg.sparse_matmul(A, x) + rg.sparse_matmul(A, y)


@rg.identity
def transpose_sparse_matmulo(A, x):
    """A^T x = x A, for a sparse A."""
    return rg.sparse_matmul(rg.sparse_transpose(A), x), rg.sparse_matmul(x, A)


def test_identities_match_dense_operands_unless_they_say_otherwise():
    x, y = rg.vectors("x y", "n")
    both = [X @ x + X @ y, S @ x + S @ y]
    assert rg.rewrite_graph(both, distribute_matmulo.reversed) == [X @ (x + y), S @ x + S @ y]
    assert rg.rewrite_graph(both, distribute_sparse_matmulo.reversed) == [
        X @ x + X @ y,
        S @ (x + y),
    ]
    assert rg.rewrite_graph(S.T @ x, transpose_sparse_matmulo) is x @ S
    derivation = rg.explain(S @ x + S @ y, distribute_sparse_matmulo.reversed)
    derivation.check()


def test_no_mode_changes_a_product_with_a_sparse_operand():
    x, y = rg.vectors("x y", "n")
    z = S @ x + S @ y
    for name in ("o1", "o2", "o3", "o4", "stabilization", "unsafe"):
        assert rg.rewrite_graph(z, mode=name) is z
    rg.verify(z)
