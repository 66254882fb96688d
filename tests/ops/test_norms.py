"""Norms of vectors and matrices, against NumPy."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import DomainError, PatternError
from relgraph.ops import norms
from tests.ops.evaluation import Term, check, typed

A = np.random.default_rng(0).standard_normal((3, 4))
T = np.random.default_rng(1).standard_normal((2, 3, 4))
WHOLE = np.arange(12).reshape(3, 4) % 5 - 2
VECTORS = [0, 1, 2, 3, -1, 0.5, -2.5, np.inf, -np.inf]
MATRICES = [1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"]
INF = np.array([1.0, np.inf, -2.0])


def rtol(array):
    return 1e-5 if array.dtype == "float32" else 1e-12


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("ord", VECTORS)
def test_vectors(ord):
    for array in (A, A.astype("float32"), WHOLE, WHOLE.astype("int8"), A > 0):
        one = array[0]
        check(lambda x: np.linalg.norm(x, ord), np.linalg.norm(one, ord), one, rtol=rtol(array))
        for options in ({"axis": 1}, {"axis": (0,), "keepdims": True}):
            check(lambda x, o=options: np.linalg.norm(x, ord, **o),
                  np.linalg.norm(array, ord, **options), array, rtol=rtol(array))  # fmt: skip
        for options in ({}, {"axis": (0, 1)}, {"axis": 0, "keepdims": True}):
            check(lambda x, o=options: np.linalg.vector_norm(x, ord=ord, **o),
                  np.linalg.vector_norm(array, ord=ord, **options), array,
                  rtol=rtol(array))  # fmt: skip
    check(lambda x: np.linalg.norm(x, ord), np.linalg.norm(INF, ord), INF, rtol=1e-12)


@pytest.mark.parametrize("ord", MATRICES)
def test_matrices(ord):
    for array in (A, A.astype("float32"), WHOLE, WHOLE.astype("int8"), T):
        if array.ndim == 2:
            check(lambda x: np.linalg.norm(x, ord), np.linalg.norm(array, ord), array,
                  rtol=rtol(array))  # fmt: skip
        for options in ({"axis": (0, 1)}, {"axis": (-1, 0)}, {"axis": (1, 0), "keepdims": True}):
            check(lambda x, o=options: np.linalg.norm(x, ord, **o),
                  np.linalg.norm(array, ord, **options), array, rtol=rtol(array))  # fmt: skip
        for options in ({}, {"keepdims": True}):
            check(lambda x, o=options: np.linalg.matrix_norm(x, ord=ord, **o),
                  np.linalg.matrix_norm(array, ord=ord, **options), array,
                  rtol=rtol(array))  # fmt: skip


def test_of_all_elements():
    for options in ({}, {"axis": 0}, {"axis": (0, 2), "keepdims": True}, {"keepdims": True}):
        check(lambda x, o=options: np.linalg.norm(x, **o), np.linalg.norm(T, **options), T,
              rtol=1e-12)  # fmt: skip
    check(np.linalg.norm, np.linalg.norm(A[:0]), A[:0])
    check(lambda x: np.linalg.norm(x, 1), np.linalg.norm(A[0, :0], 1), A[0, :0])


def test_orders_that_there_are_not():
    for call in (
        lambda x: np.linalg.norm(x, 3), lambda x: np.linalg.norm(x, "fro", axis=0),
        lambda x: np.linalg.norm(x, "max"), lambda x: np.linalg.vector_norm(x, ord="nuc"),
        lambda x: np.linalg.norm(x[0, 0], 1), lambda x: np.linalg.norm(x, 1, axis=2),
    ):  # fmt: skip
        with pytest.raises(DomainError):
            call(typed("x", A))
    with pytest.raises(DomainError, match="of vectors or matrices"):
        np.linalg.norm(typed("x", T), 1)
    with pytest.raises(PatternError, match="norm needs the type"):
        norms.norm(Term(), 1)


def test_they_trace_and_compile():
    def three(x):
        return np.linalg.norm(x, 1), np.linalg.norm(x, 3, axis=1), np.linalg.norm(x, np.inf, axis=0)

    for got, expected in zip(rg.jit(three)(A), three(A), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13)
