"""Calls of BLAS that add: values against NumPy, their error against mpmath, and what they keep."""

from __future__ import annotations

import copy
import itertools
import pickle

import mpmath
import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import DTypeError, ShapeError
from relgraph.ir.fact_inference import facts_of
from relgraph.ops.linalg.blas import Gemm, Gemv, Ger, Syrk

SIZES = ((3, 4, 5), (1, 4, 5), (3, 1, 1), (0, 3, 2), (3, 0, 2), (3, 2, 0), (70, 5, 130))
LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: np.flip(np.flip(x).copy()),
}
FACTORS = ((1, 1), (-0.5, 2), (2, 0), (0, 1), (0, -1))


def symmetric(x):
    return np.tril(x) + np.tril(x, -1).T


def cases(m, k, n, draw):
    """Yield each op, its operands without the numbers, and what it means."""
    c, a, b, x, y, z = (draw(*s) for s in ((m, n), (m, k), (k, n), (k,), (m,), (n,)))
    square = draw(m, m)
    yield Gemm(), (c, a, b), lambda al, be: be * c + al * (a @ b)
    yield Gemv(), (y, a, x), lambda al, be: be * y + al * (a @ x)
    yield Ger(), (c, y, z), lambda al, be: c + al * np.outer(y, z)
    yield Syrk(), (square, a), lambda al, be: be * symmetric(square) + al * (a @ a.T)


def with_numbers(op, operands, alpha, beta):
    first, *others = operands
    values = [first, np.array(alpha, first.dtype), *others]
    return values if op is Ger() else [*values, np.array(beta, first.dtype)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_values_in_every_layout(layout, dtype):
    rng = np.random.default_rng(3)

    def draw(*shape):
        return LAYOUTS[layout](rng.standard_normal(shape).astype(dtype))

    tolerance = 1e-4 if dtype == "float32" else 1e-12
    for sizes, (alpha, beta) in itertools.product(SIZES, FACTORS):
        for op, operands, meaning in cases(*sizes, draw):
            before = [x.copy() for x in operands]
            # OpenBLAS may set the flag of an invalid operation on lanes that it does not use.
            with np.errstate(invalid="ignore"):
                result = op.perform(*with_numbers(op, operands, alpha, beta))
                expected = meaning(alpha, beta)
            assert result.dtype == dtype
            assert result.flags.c_contiguous
            assert result.base is None
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)
            for x, kept in zip(operands, before, strict=True):
                np.testing.assert_array_equal(x, kept)
            own = np.array(operands[0], order="C")
            assert op.overwrite(*with_numbers(op, (own, *operands[1:]), alpha, beta)) is own
            np.testing.assert_array_equal(own, result)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 3, 40, 200])
def test_nan_and_infinities_come_out_as_in_the_graph_as_written(size, dtype):
    a, zeros = np.zeros((2, size, size), dtype)
    a[size // 2, 0], a[0, -1] = np.nan, np.inf
    one = np.array(1, dtype)
    with np.errstate(all="ignore"):
        for left, right in ((a, zeros), (zeros, a), (a.T, zeros), (zeros, a.T), (a, a)):
            np.testing.assert_array_equal(
                Gemm().perform(zeros, one, left, right, one), left @ right
            )
        for column in (zeros[0], a[:, 0]):
            np.testing.assert_array_equal(Gemv().perform(zeros[0], one, a, column, one), a @ column)
            found = Ger().perform(zeros, one, a[:, 0], column)
            np.testing.assert_array_equal(found, np.outer(a[:, 0], column))
        np.testing.assert_array_equal(Syrk().perform(zeros, one, a, one), a @ a.T)


@pytest.mark.parametrize("number", [0.0, -0.0, np.inf, -np.inf, np.nan])
def test_numbers_that_blas_treats_apart(number):
    rng = np.random.default_rng(4)

    def draw(*shape):
        special = rng.choice([np.nan, np.inf, 0.0, 1.0, -2.0], shape)
        return special.astype("float64")

    with np.errstate(all="ignore"):
        for alpha, beta in ((number, 1.0), (1.0, number), (number, number)):
            for op, operands, meaning in cases(3, 2, 4, draw):
                result = op.perform(*with_numbers(op, operands, alpha, beta))
                expected = meaning(alpha, beta)
                np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_forward_error(dtype):
    rng = np.random.default_rng(5)
    unit = np.finfo(dtype).eps / 2

    def draw(*shape):
        return (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 3, shape)).astype(dtype)

    for k in (1, 20, 400):
        bound = (k + 2) * unit / (1 - (k + 2) * unit)
        c, a, b = draw(3, 4), draw(3, k), draw(k, 4)
        alpha, beta = np.array(-1.7, dtype), np.array(0.3, dtype)
        whole = Gemm().perform(c, alpha, a, b, beta)
        column = Gemv().perform(c[:, 0].copy(), alpha, a, b[:, 0].copy(), beta)
        square = draw(3, 3)
        gram = Syrk().perform(symmetric(square), alpha, a, beta)
        for i, j in np.ndindex(3, 4):
            row = list(map(float, a[i]))
            check_element(whole[i, j], (alpha, beta, c[i, j]), row, b[:, j], bound)
            if j == 0:
                check_element(column[i], (alpha, beta, c[i, j]), row, b[:, j], bound)
            if j < 3:
                low = square[max(i, j), min(i, j)]
                check_element(gram[i, j], (alpha, beta, low), row, a[j], bound)


def check_element(found, numbers, row, column, bound):
    """Assert that an element is as near to the exact one as its operands allow."""
    alpha, beta, c = map(float, numbers)
    with mpmath.workdps(60):
        products = [mpmath.mpf(float(x)) * float(y) for x, y in zip(row, column, strict=True)]
        exact = alpha * mpmath.fsum(products) + mpmath.mpf(beta) * c
        size = abs(alpha) * mpmath.fsum(map(abs, products)) + abs(mpmath.mpf(beta) * c)
        assert abs(exact - float(found)) <= bound * size


C = rg.matrix("C", shape=("m", "n"))
A, B = rg.matrix("A", shape=("m", "k")), rg.matrix("B", shape=("k", "n"))
x, y = rg.vector("x", shape=("k",)), rg.vector("y", shape=("m",))


def test_types():
    assert Gemm()(C, 1, A, B, 1).type == C.type
    assert Gemv()(y, 1, A, x, 1).type == y.type
    assert Ger()(C, 1, y, rg.vector("z", shape=("n",))).type == C.type
    assert Syrk()(rg.matrix("S"), 1, A, 1).type == rg.matrix("T", shape=("m", "m")).type


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda: Gemm()(C, 1, B, A, 1), ShapeError, "gemm: .*summed over"),
        (lambda: Gemm()(rg.matrix("R", shape=(1, "n")), 1, A, B, 1), ShapeError, "stretched"),
        (lambda: Gemm()(y, 1, A, B, 1), ShapeError, "operand 0 has 1 dimension, not 2"),
        (lambda: Gemm()(C, x, A, B, 1), ShapeError, "operand 1 has 1 dimension, not 0"),
        (lambda: Gemm()(C, rg.scalar("s", dtype="float32"), A, B, 1), DTypeError, "one dtype"),
        (lambda: Gemv()(rg.vector("i", ("m",), "int64"), 1, A, x, 1), DTypeError, "one dtype"),
        (lambda: Ger()(C, 1, x, y), ShapeError, "ger: "),
        (lambda: Syrk()(C, 1, A, 1), ShapeError, "syrk: "),
    ],
)
def test_what_does_not_fit(build, error, text):
    with pytest.raises(error, match=text):
        build()


def test_sizes_that_are_not_known_are_compared_at_the_call():
    u, v, w = (rg.matrix(name, shape=(None, None)) for name in "uvw")
    call = rg.function([u, v, w], Gemm()(u, 1, v, w, 1), mode=None, target="numpy")
    np.testing.assert_array_equal(call(np.ones((2, 3)), np.ones((2, 4)), np.ones((4, 3))), 5)
    with pytest.raises(ShapeError, match=r"gemm: a product of shape .2, 3. is added to an array"):
        call(np.ones((1, 3)), np.ones((2, 4)), np.ones((4, 3)))
    with pytest.raises(ShapeError, match="the sizes 4 and 5 differ"):
        call(np.ones((2, 3)), np.ones((2, 4)), np.ones((5, 3)))


def test_costs():
    c, a, b = (rg.matrix(n, s) for n, s in (("c", (3, 4)), ("a", (3, 5)), ("b", (5, 4))))
    u, v = rg.vector("u", 3), rg.vector("v", 4)
    assert rg.flops([Gemm()(c, 1, a, b, 1)]) == rg.flops([c + a @ b]) == 132
    assert rg.flops([Gemv()(v, 1, c.T, u, 1)]) == rg.flops([v + c.T @ u]) == 28
    assert rg.flops([Ger()(c, 1, u, v)]) == rg.flops([c + rg.outer(u, v)]) == 24


def test_facts():
    def matrix(name, *facts):
        return rg.matrix(name, shape=("n", "n"), facts=facts)

    positive = [matrix(name, "nonnegative", "integer") for name in "pqr"]
    node = Gemm()(positive[0], 1, positive[1], positive[2], 2)
    assert {"nonnegative", "integer"} <= set(facts_of(node).names())
    assert not facts_of(Gemm()(positive[0], -1, *positive[1:], 1)).holds("nonnegative")
    assert not facts_of(Gemm()(positive[0], 0.5, *positive[1:], 1)).holds("integer")
    assert not facts_of(Gemm()(matrix("f"), 1, *positive[1:], 1)).holds("nonnegative")
    assert facts_of(Syrk()(matrix("f"), 1, matrix("g"), 1)).holds("symmetric")
    assert not facts_of(Gemm()(matrix("f"), 1, matrix("g"), matrix("h"), 1)).holds("symmetric")


def test_they_copy_pickle_and_print():
    node = Gemm()(C, -2, A, B, 1)
    assert pickle.loads(pickle.dumps(node)) is node
    assert copy.deepcopy(node) is node
    assert str(node) == "gemm(C, -2, A, B, 1)"
