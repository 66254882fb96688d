"""What errors say to write instead of functions that graphs lack, against those functions."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError
from relgraph.ir.graph import toposort
from relgraph.numpy.unsupported import instead_of

X = rg.vector("x")
I = rg.vector("i", dtype="int64")  # noqa: E741 - places
V = rg.vector("v")
x, v = np.array([0.5, -1.0, 2.0, 0.5, 1.0]), np.array([3.0, 0.25, -2.0])
i = np.array([4, 0, 4])


def updated(ufunc, *values):
    array = x.copy()
    ufunc.at(array, i, *values)
    return array


@pytest.mark.parametrize(
    ("call", "advice", "graph", "expected"),
    [
        (lambda: np.add.at(X, I, V), "x.at[i].add(v)", X.at[I].add(V), updated(np.add, v)),
        (lambda: np.subtract.at(X, I, V), "x.at[i].add(-v)",
         X.at[I].add(-V), updated(np.subtract, v)),
        (lambda: np.multiply.at(X, I, V), "x.at[i].multiply(v)",
         X.at[I].multiply(V), updated(np.multiply, v)),
        (lambda: np.maximum.at(X, I, V), "x.at[i].max(v)",
         X.at[I].max(V), updated(np.maximum, v)),
        (lambda: np.minimum.at(X, I, V), "x.at[i].min(v)",
         X.at[I].min(V), updated(np.minimum, v)),
        (lambda: np.exp.at(X, I), "v may be made of x[i]",
         X.at[I].set(np.exp(X[I])), np.r_[np.exp(0.5), -1, 2, 0.5, np.exp(1)]),
        (lambda: np.isin(X, [0.5, 2.0]), "np.any(np.equal(x[..., None], values), axis=-1)",
         np.any(np.equal(X[..., None], np.array([0.5, 2.0])), axis=-1), np.isin(x, [0.5, 2.0])),
        (lambda: np.putmask(X, X > 0, 1), "np.where(mask, v, x)",
         np.where(X > 0, 1, X), np.array([1.0, -1, 1, 1, 1])),
    ],
)  # fmt: skip
def test_what_is_said_to_be_written_instead_computes_the_same(call, advice, graph, expected):
    with pytest.raises(ArgumentError, match="is not supported on graphs") as caught:
        call()
    assert advice in str(caught.value).splitlines()[-1]
    values = {X: x, I: i, V: v}
    given = {node: values[node] for node in values if node in toposort(graph)}
    found = rg.evaluate(graph, given)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_what_is_not_known():
    assert instead_of("np.add.reduceat") == instead_of("np.lexsort") == ""
    assert instead_of("np.partition") == instead_of("partition") != ""


def test_where_of_a_condition_alone():
    x = rg.vector("x")
    with pytest.raises(ArgumentError, match="condition alone is not supported") as caught:
        np.where(x > 0)
    assert "np.where(condition, a, b)" in str(caught.value)
    with pytest.raises(ArgumentError, match="takes 3 operands, not 2"):
        np.where(x > 0, x)
