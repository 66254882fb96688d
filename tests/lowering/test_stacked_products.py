"""Products of stacks of matrices and a matrix are one product of matrices."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.lowering.stacked_products import as_matrices
from relgraph.ops.contraction import Matmul

RNG = np.random.default_rng(9)
S = rg.tensor("S", (4, 5, 6))
B = rg.matrix("B", (6, 7))


def ranks(node):
    graph = as_matrices(rg.FunctionGraph(None, [node]))
    return [x.inputs[0].ndim for x in graph if isinstance(x.op, Matmul)]


@pytest.mark.parametrize("shape", [(4, 5, 6), (2, 3, 1, 6), (1, 5, 6)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_stack_is_one_matrix(shape, dtype):
    s, b = RNG.normal(0, 1, shape).astype(dtype), RNG.normal(0, 1, (6, 7)).astype(dtype)
    x, y = rg.tensor("x", shape, dtype), rg.matrix("y", (6, 7), dtype)
    assert ranks(x @ y) == [2]
    found = rg.function([x, y], rg.exp(x @ y))(s, b)
    np.testing.assert_allclose(found, np.exp(s @ b), 1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize(
    "node",
    [
        S @ rg.tensor("T", (4, 6, 7)), B.mT @ S.mT, S[:, ::2] @ B, S @ rg.vector("v", 6),
        rg.tensor("N", ("n", 5, 6)) @ B, rg.matrix("M", (5, 6)) @ B,
        rg.tensor("I", (4, 5, 6), "int64") @ rg.matrix("J", (6, 7), "int64"),
        rg.tensor("E", (0, 5, 6)) @ B,
    ],
    ids=["stacks", "matrix first", "part", "vector", "unknown", "matrix", "integers", "empty"],
)  # fmt: skip
def test_other_products_stay(node):
    assert ranks(node) == [x.inputs[0].ndim for x in rg.FunctionGraph(None, [node])
                           if isinstance(x.op, Matmul)]  # fmt: skip
