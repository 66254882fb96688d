"""Norms of vectors and matrices, against NumPy."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DomainError, PatternError, ShapeError
from relgraph.numpy import norms
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


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("ord", [None, 0, 1, 2, 3, np.inf, -np.inf, -2])
def test_vectors_without_elements(ord):
    for shape, axis in (((0,), None), ((0, 3), 0), ((3, 0), -1), ((0, 0), 0), ((2, 0), 0)):
        array = np.zeros(shape)
        try:
            expected = np.linalg.norm(array, ord, axis)
        except ValueError:
            with pytest.raises(ShapeError, match="min over axis"):
                np.linalg.norm(typed("x", array), ord, axis)
        else:
            check(lambda x, a=axis: np.linalg.norm(x, ord, a), expected, array)
            check(lambda x, a=axis: np.linalg.vector_norm(x, ord=ord, axis=a), expected, array)


@pytest.mark.parametrize("ord", MATRICES)
def test_matrices_without_elements(ord):
    for shape in ((0, 0), (0, 3), (3, 0), (2, 0, 3), (0, 2, 3)):
        array = np.zeros(shape, "float32")
        for keepdims in (False, True):
            try:
                expected = np.linalg.matrix_norm(array, ord=ord, keepdims=keepdims)
            except ValueError:
                with pytest.raises(ShapeError, match="min over axis"):
                    np.linalg.matrix_norm(typed("x", array), ord=ord, keepdims=keepdims)
            else:
                check(lambda x, k=keepdims: np.linalg.matrix_norm(x, ord=ord, keepdims=k),
                      expected, array)  # fmt: skip


def test_unknown_sizes_without_elements_compile():
    x = rg.matrix("x")
    orders = [1, 2, np.inf, "nuc", "fro"]
    for target in ("numpy", "cpu"):
        f = rg.function([x], [np.linalg.norm(x, ord) for ord in orders], target=target)
        for array in (A, A[:0], A[:, :0]):
            expected = [np.linalg.norm(array, ord) for ord in orders]
            np.testing.assert_allclose(f(array), expected, rtol=1e-12)


def test_axes_and_orders_as_numpy_takes_them():
    check(lambda x: np.linalg.vector_norm(x, ord=None), np.linalg.vector_norm(A), A, rtol=1e-12)
    for call in (
        lambda x: np.linalg.norm(x, axis=[0]), lambda x: np.linalg.norm(x, 1, axis=[0, 1]),
        lambda x: np.linalg.vector_norm(x, axis=[1]),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            call(A)
        with pytest.raises(ArgumentError, match="not a list"):
            call(typed("x", A))
    for call in (
        lambda x: np.linalg.norm(x, axis=()), lambda x: np.linalg.norm(x, axis=(0, 1, 2)),
        lambda x: np.linalg.norm(x[0, 0, 0], axis=0),
        lambda x: np.linalg.vector_norm(x[0, 0, 0], axis=-1),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"Improper number|out of bounds"):
            call(T)
        with pytest.raises(DomainError):
            call(typed("x", T))


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
