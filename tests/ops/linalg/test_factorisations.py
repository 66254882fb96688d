"""Factorisations against NumPy and SciPy: values, dtypes, batches, facts and errors."""

from functools import partial

import numpy as np
import pytest
import scipy.linalg

from relgraph.errors import DomainError, ShapeError
from relgraph.ir.fact_inference import facts_of
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.ops.linalg import factored_solve as f
from relgraph.ops.linalg import factorisations as d
from relgraph.ops.linalg.solve import cholesky
from tests.ops.evaluation import check, evaluate, holds

BATCHES = [(), (2,), (0,)]
SIDES = [0, 1, 3]
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "int32": 1e-12}
matrices = pytest.mark.parametrize(
    ("batch", "n", "dtype"), [(b, n, t) for b in BATCHES for n in SIDES for t in TOLERANCE]
)


def array(batch, m, n, dtype="float64", seed=0):
    x = np.random.default_rng(seed).integers(-3, 4, (*batch, m, n))
    return (x + 9 * np.eye(m, n)).astype(dtype)


def one_by_one(function, count, a, *others):
    """Return SciPy's answer for each matrix of a batch, stacked."""
    batch, n = a.shape[:-2], a.shape[-1]
    dtype = "float32" if a.dtype == "float32" else "float64"
    results = [np.zeros((*batch, n, n), dtype) for _ in range(count)]
    for at in np.ndindex(*batch):
        if n:
            made = function(a[at].astype(dtype), *[x[at].astype(dtype) for x in others])
            for result, one in zip(results, made if count > 1 else (made,), strict=True):
                result[at] = one
    return results


@matrices
def test_what_numpy_factors(batch, n, dtype):
    x = array(batch, n, n, dtype)
    s = (x + x.mT).astype(dtype)
    cases = [(d.eigh, np.linalg.eigh(s), s), (d.qr, np.linalg.qr(x), x)]
    cases += [(d.svd, np.linalg.svd(x), x)]
    for function, expected, value in cases:
        for i, one in enumerate(expected):
            check(lambda v, f=function, i=i: f(v)[i], one, value)
    check(d.eigvalsh, np.linalg.eigvalsh(s), s)
    check(lambda v: d.eigvalsh(v, lower=False), np.linalg.eigvalsh(s, "U"), s)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (0, 2), (2, 0)])
def test_oblong_matrices(shape):
    x = array((), *shape)
    for i, one in enumerate(np.linalg.svd(x, full_matrices=False)):
        check(lambda v, i=i: d.svd(v, full_matrices=False)[i], one, x)
    for mode in ("reduced", "complete"):
        for i, one in enumerate(np.linalg.qr(x, mode)):
            check(lambda v, i=i, mode=mode: d.qr(v, mode)[i], one, x)


@matrices
def test_what_scipy_factors(batch, n, dtype):
    x, y = array(batch, n, n, dtype), array(batch, n, n, dtype, seed=1)
    for i, one in enumerate(one_by_one(scipy.linalg.lu, 3, x)):
        check(lambda v, i=i: d.lu(v)[i], one, x)
    for i, one in enumerate(one_by_one(scipy.linalg.schur, 2, x)):
        check(lambda v, i=i: d.schur(v)[i], one, x)
    for i, one in enumerate(one_by_one(scipy.linalg.qz, 4, x, y)):
        check(lambda v, w, i=i: d.qz(v, w)[i], one, x, y)
    check(d.expm, one_by_one(scipy.linalg.expm, 1, x)[0], x)
    frechet = partial(scipy.linalg.expm_frechet, compute_expm=False)
    check(d.ExpmFrechet(), one_by_one(frechet, 1, x, y)[0], x, y)
    (expected,) = one_by_one(scipy.linalg.solve_sylvester, 1, x, y, y)
    check(f.solve_sylvester, expected, x, y, y)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("right", [(), (2,)])
def test_systems_with_a_known_factor(batch, dtype, right):
    x = array(batch, 3, 3, dtype)
    s = x @ x.mT
    b = np.random.default_rng(2).normal(size=(3, *right)).astype(dtype)
    rtol = 100 * TOLERANCE[dtype]
    check(lambda v, w: f.lu_solve(d.lu_factor(v), w), np.linalg.solve(x, b), x, b, rtol=rtol)
    expected = np.linalg.solve(x.mT, b)
    check(lambda v, w: f.lu_solve(d.lu_factor(v), w, trans=1), expected, x, b, rtol=rtol)
    for lower in (True, False):
        check(
            lambda v, w, lower=lower: f.cho_solve((cholesky(v, lower), lower), w),
            np.linalg.solve(s, b),
            s,
            b,
            rtol=rtol,
        )


def test_signs_of_permutations():
    rng = np.random.default_rng(3)
    p = np.stack([rng.permutation(5) for _ in range(6)])
    check(f.PermutationSign(), np.linalg.det(np.eye(5)[p]).round(), p)
    x = array((4,), 3, 3)[:, ::-1]
    sign = np.sign(np.linalg.det(x))
    node = make_input("x", TensorType("float64", x.shape))
    factors, pivots = d.lu_factor(node)
    swaps = evaluate(f.PivotSign()(pivots), {"x": x})
    upper = np.diagonal(evaluate(factors, {"x": x}), axis1=-2, axis2=-1)
    np.testing.assert_array_equal(swaps * np.sign(upper.prod(-1)), sign)


def test_a_singular_matrix_has_no_solution_and_no_warning():
    x, b = np.ones((2, 2)), np.ones(2)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        check(lambda v, w: f.lu_solve(d.lu_factor(v), w), b, x, b)


FACTORS = {
    "eigh": (lambda a: d.eigh(a)[1], "orthogonal"),
    "svd": (lambda a: d.svd(a)[0], "orthogonal"),
    "singular values": (lambda a: d.svd(a)[1], "nonnegative"),
    "q": (lambda a: d.qr(a)[0], "orthogonal"),
    "r": (lambda a: d.qr(a)[1], "upper_triangular"),
    "p": (lambda a: d.lu(a)[0], "permutation"),
    "l": (lambda a: d.lu(a)[1], "lower_triangular"),
    "u": (lambda a: d.lu(a)[2], "upper_triangular"),
    "schur": (lambda a: d.schur(a)[1], "orthogonal"),
    "qz": (lambda a: d.qz(a, a)[2], "orthogonal"),
    "expm": (d.expm, "spd"),
}


@pytest.mark.parametrize("which", FACTORS)
def test_facts_of_factors(which):
    function, fact = FACTORS[which]
    x = array((), 3, 3) / 4
    node = function(make_input("x", TensorType("float64", (3, 3)), ("symmetric",)))
    names = facts_of(node).names()
    assert fact in names
    value = evaluate(node, {"x": x + x.T})
    assert all(holds(name, np.asarray(value)) for name in names)
    oblong = make_input("x", TensorType("float64", (4, 3)))
    assert "orthogonal" not in facts_of(d.qr(oblong)[0]).names()
    assert "orthogonal" in facts_of(d.qr(oblong, "complete")[0]).names()


def test_parameters_and_shapes_that_do_not_exist():
    x = make_input("x", TensorType("float64", (3, 2)))
    with pytest.raises(DomainError, match="no mode"):
        d.qr(x, "economic")
    for function in (d.eigh, d.eigvalsh, d.lu, d.lu_factor, d.schur, d.expm):
        with pytest.raises(ShapeError, match="square"):
            function(x)
    with pytest.raises(ShapeError, match="square"):
        f.solve_sylvester(x, x, x)
