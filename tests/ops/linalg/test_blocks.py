"""Kronecker products and block-diagonal matrices against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.linalg

from relgraph.errors import ArgumentError, ShapeError
from relgraph.ir.fact_inference import facts_of
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.ops.linalg.blocks import STRUCTURES, BlockDiag, Kron, block_diag, kron
from tests.ops.evaluation import Term, check, holds, matrix_with


def array(*shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("first", [(2, 3), (0, 2), (1, 1), (3, 0)])
@pytest.mark.parametrize("second", [(2, 2), (1, 4), (0, 0)])
@pytest.mark.parametrize("dtypes", [("float64", "float64"), ("float32", "int8"), ("bool", "int64")])
def test_products_and_blocks_agree_with_numpy_and_scipy(first, second, dtypes):
    a, b = array(*first, dtype=dtypes[0]), array(*second, dtype=dtypes[1], seed=1)
    check(kron, np.kron(a, b), a, b)
    check(block_diag, scipy.linalg.block_diag(a, b), a, b)
    check(lambda x, y: block_diag(x, y, x), scipy.linalg.block_diag(a, b, a), a, b)


def test_vectors_and_batches():
    u, v = array(3), array(2, seed=1)
    check(kron, np.kron(u, v), u, v)
    a, b = array(2, 3, 3), array(3, 3, seed=1)
    expected = np.stack([scipy.linalg.block_diag(x, b) for x in a])
    check(block_diag, expected, a, b)
    check(block_diag, a, a)


@pytest.mark.parametrize("fact", STRUCTURES)
@pytest.mark.parametrize("make", [kron, block_diag])
def test_structure_of_both_is_kept(make, fact):
    first, second = matrix_with(fact, 3), matrix_with(fact, 2, seed=1)
    x, y = (
        make_input(name, TensorType("float64", m.shape), (fact,))
        for name, m in (("x", first), ("y", second))
    )
    names = facts_of(make(x, y)).names()
    assert fact in names
    value = make(x, y).op.perform(first, second)
    assert all(holds(name, value) for name in names)


@pytest.mark.parametrize(
    ("a", "b"),
    [((), ()), ((), (2, 3)), ((2,), (3, 2)), ((2, 3), (2,)), ((2, 1, 3), (2, 2)),
     ((0, 2), (1, 1, 3)), ((2, 1, 2, 2), (1, 2, 1, 3))],
)  # fmt: skip
def test_kron_of_any_dimensions(a, b):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=a), rng.integers(-3, 3, size=b)
    check(kron, np.kron(x, y), x, y)


def test_operands_that_do_not_fit():
    x = make_input("x", TensorType("float64", (3,)))
    m = make_input("m", TensorType("float64", (3, 3)))
    with pytest.raises(ShapeError, match="two matrices"):
        Kron()(x, m)
    with pytest.raises(ShapeError, match="needs a matrix"):
        block_diag(x)
    with pytest.raises(ShapeError, match="needs a matrix"):
        block_diag(m, x)
    with pytest.raises(ArgumentError, match="at least one block"):
        block_diag()


def test_patterns_are_taken():
    made = block_diag(Term(), Term(), Term())
    assert made.op is BlockDiag() and made.operands[1].op is BlockDiag()
    assert kron(Term(), 2.0).op.name == "kron"
