"""The judge of relations: what mpmath makes of a graph, and how far computing it may be off."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import scipy.linalg

import relgraph as rg
from relgraph.checking.rounding import mpmath_linalg, mpmath_semantics
from relgraph.ops.linalg import factored_solve, solve
from relgraph.ops.linalg import factorisations as d
from relgraph.ops.sorting import Sort

EPS = float(np.finfo(float).eps)
RNG = np.random.default_rng(0)
SQUARE = [
    d.QR("reduced"), d.QR("complete"), d.LU(), d.LUFactor(), d.Eigvalsh(True), d.Eigvalsh(False),
    solve.Det(), solve.Slogdet(), solve.Inv(),
]  # fmt: skip
x, y = rg.vectors("x y", shape=(3,))


def real(a):
    return mpmath_semantics._real(np.asarray(a))


def floats(a):
    return np.asarray(a).astype(float)


def several(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)])
@pytest.mark.parametrize("op", SQUARE, ids=str)
def test_matrices_have_the_meaning_that_numpy_gives_them(op, shape):
    a = RNG.uniform(-3, 3, shape)
    with mpmath.workdps(30):
        found = several(mpmath_linalg.value(op, [real(a)]))
    for got, wanted in zip(found, several(op.perform(a)), strict=True):
        np.testing.assert_allclose(floats(got), wanted, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (2, 2, 3)])
@pytest.mark.parametrize("mode", d.MODES)
def test_factors_of_any_shape_have_the_signs_of_lapack(shape, mode):
    a = RNG.uniform(-3, 3, shape)
    with mpmath.workdps(30):
        found = mpmath_linalg.value(d.QR(mode), [real(a)])
    for got, wanted in zip(found, np.linalg.qr(a, mode), strict=True):
        np.testing.assert_allclose(floats(got), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("full", [False, True])
def test_singular_values_and_eigenvalues_belong_to_their_vectors(full):
    a = RNG.uniform(-3, 3, (3, 2))
    with mpmath.workdps(30):
        u, s, v = (floats(p) for p in mpmath_linalg.value(d.SVD(full), [real(a)]))
        w, vectors = (floats(p) for p in mpmath_linalg.value(d.Eigh(True), [real(a @ a.T)]))
    np.testing.assert_allclose(s, np.linalg.svd(a)[1])
    np.testing.assert_allclose((u[:, :2] * s) @ v[:2], a, atol=1e-13)
    np.testing.assert_allclose(w, np.linalg.eigh(a @ a.T)[0], atol=1e-13)
    np.testing.assert_allclose((vectors * w) @ vectors.T, a @ a.T, atol=1e-13)
    assert u.shape == ((3, 3) if full else (3, 2))


def test_schur_forms_that_are_real():
    a, b, q = (RNG.uniform(-3, 3, (3, 3)) for _ in range(3))
    a, b = a + a.T, b @ b.T + np.eye(3)  # of which all eigenvalues are real
    with mpmath.workdps(30):
        t, z = map(floats, mpmath_linalg.value(d.Schur(), [real(a)]))
        aa, bb, left, right = map(floats, mpmath_linalg.value(d.QZ(), [real(a), real(b)]))
        operands = [real(x) for x in (a, b, q)]
        solved = floats(mpmath_linalg.value(factored_solve.SolveSylvester(), operands))
        with pytest.raises(mpmath_linalg.Undefined, match="complex"):
            mpmath_linalg.value(d.Schur(), [real([[0.0, 1.0], [-1.0, 0.0]])])
        with pytest.raises(mpmath_linalg.Undefined, match="empty"):
            mpmath_linalg.value(d.Schur(), [real(np.zeros((0, 0)))])
    np.testing.assert_allclose(z @ t @ z.T, a, atol=1e-12)
    for form, matrix in ((aa, a), (bb, b)):
        np.testing.assert_allclose(left @ form @ right.T, matrix, atol=1e-12)
        np.testing.assert_allclose(np.tril(form, -1), 0)
    assert (np.diagonal(bb) > 0).all()
    np.testing.assert_allclose(solved, scipy.linalg.solve_sylvester(a, b, q), rtol=1e-8)


def test_a_diagonal_matrix_is_its_own_form():
    c, b = np.diag([3.0, -1.0, 2.0]), np.diag([-2.0, 4.0, 1.0])
    with mpmath.workdps(30):
        for op, operands in ((d.Schur(), [c]), (d.QZ(), [c, b]), (d.QR("reduced"), [c])):
            found = mpmath_linalg.value(op, list(map(real, operands)))
            for got, wanted in zip(found, op.perform(*operands), strict=True):
                np.testing.assert_array_equal(floats(got), wanted, str(op))


def width(graph, **values):
    """Return the bound of a graph's error in eps, beside its value."""
    values = {k: np.asarray(v, float) for k, v in values.items()}
    with mpmath.workdps(50):
        true = mpmath_semantics.value(graph, values)
        return floats(mpmath_semantics.bound(graph, values, EPS, true) / abs(true) / EPS)


def test_what_moves_elements_is_not_rounded():
    A = rg.matrix("A", shape=(2, 2))
    for graph in (-A.mT[0], rg.concatenate([A, A]), rg.maximum(A, 1.0), Sort(-1)(A), A.reshape(4)):
        assert not np.any(width(graph, A=[[1, 2], [3, 4]]))
        assert np.any(width(rg.exp(graph), A=[[1, 2], [3, 4]]))


def test_a_step_is_rounded_once_and_what_follows_may_magnify_it():
    one = {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]}
    assert (width(x + y, **one) <= 1).all()
    assert (width(rg.exp(100 * x), **one) > 50).all()  # the product is rounded
    assert (width(rg.sum(x) - 5.999, **one) > 500).all()  # the sum is
    assert (width(rg.sum(x - 2.0 + 1e-3), **one) > 100).all()  # and its operands


# SciPy 1.17 takes a wrong norm to choose a scaling (https://github.com/scipy/scipy/issues/25864),
# which costs it up to 3,000 eps; where nothing is scaled, 10 are what a stable algorithm makes.
@pytest.mark.parametrize(("reach", "most"), [(0.5, 10), (3, 3000)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_exponential_is_as_exact_as_its_error_in_the_judgement_of_relations(dtype, reach, most):
    rng = np.random.default_rng(1)
    op = d.Expm()
    for n in (1, 2, 3, 4):
        full = [rng.uniform(-reach, reach, (n, n)).astype(dtype) for _ in range(5)]
        for a in (*full, np.triu(full[0]), full[1] + full[1].T):
            with mpmath.workdps(40):
                (true,) = several(mpmath_linalg.value(op, [real(a)]))
                error = np.max(abs(real(op.perform(a)) - true)) / np.max(abs(true))
            assert error <= most * np.finfo(dtype).eps


def test_only_constants_that_are_rounded_may_be_off():
    values = {"x": np.array([1.0, 2.0, 3.0]), "y": np.ones(3)}
    with mpmath.workdps(50):
        for number, off in ((0.5, 0), (3.0, 0), (math.log(2), EPS / 2), (0.1, EPS / 2)):
            graph = x * number
            true = mpmath_semantics.value(graph, values)
            error = floats(mpmath_semantics.error_of_constants(graph, values, true))
            np.testing.assert_allclose(error, off * np.abs(floats(true)), rtol=1e-6)


def test_what_has_no_exact_value_is_undefined():
    n = rg.vector("n", shape=(2,), dtype="int8")
    values = {"x": -np.ones(3), "n": np.array([100, 2], "int8")}
    for graph in (rg.log(x), rg.sqrt(x), 1 / (x + 1), rg.arcsin(x - 1), n + n):
        with mpmath.workdps(30), pytest.raises(mpmath_linalg.Undefined):
            mpmath_semantics.value(graph, values)
    assert floats(mpmath_semantics.value((x * 2.5).astype("int64"), values)).tolist() == [
        -2,
        -2,
        -2,
    ]
    assert floats(mpmath_semantics.value(rg.argmax(n), values)) == 0
