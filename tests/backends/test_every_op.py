"""Each op, compiled for the CPU between two kernels, computes what NumPy or SciPy does.

Elementwise ops, reductions, cumulative ops and sparse operands have tests of their own.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import relgraph as rg
from relgraph.ir.graph import toposort
from relgraph.ops import differentials, sorting
from relgraph.ops.linalg import factored_solve
from relgraph.ops.linalg.blas import Gemm, Gemv, Ger, Syrk
from relgraph.ops.linalg.factorisations import ExpmFrechet
from relgraph.ops.linalg.structured_matmul import TriangularMatmul, TridiagonalMatmul
from relgraph.ops.reductions import Bottom, Top
from tests.test_documentation import op_classes

ROOT = Path(__file__).parents[2]

# Compiled for the CPU by the tests of a module of its own.
ELSEWHERE = {
    "tests/api/test_loops.py": "Scan WhileLoop Cond",
    "tests/backends/test_numba_elementwise.py": "Elementwise Cast",
    "tests/backends/test_numba_reductions.py": "Sum Prod Max Min Mean Any All LogSumExp",
    "tests/backends/test_numba_cumulative.py": "Cumsum Cumprod Cummax Cummin",
    "tests/ops/test_sparse.py": "Densify SparseMatmul SparseTranspose",
}


def updated(ufunc, x, key, value):
    """Return a copy of an array with a part updated."""
    result = x.copy()
    if ufunc is None:
        result[key] = value
    else:
        ufunc.at(result, key, value)
    return result


def both(function):
    """Return a function of NumPy's names as what builds the graph, and as its meaning."""
    return function, function


STEP = (slice(None), slice(None, None, 2))

# By class: what is computed exactly, of matrices x and y, a vector v and places k of rows.
EXACT = {
    "BroadcastTo": both(lambda x, y, v, k: np.broadcast_to(v, x.shape)),
    "Dim": (lambda x, y, v, k: rg.dim(x, 1) + k, lambda x, y, v, k: x.shape[1] + k),
    # A value does not change, so that its differential is zero.
    "Differential": (lambda x, y, v, k: differentials.d(x), lambda x, y, v, k: np.zeros_like(x)),
    "NoPartial": (
        lambda x, y, v, k: differentials.no_partial(x),
        lambda x, y, v, k: np.zeros_like(x),
    ),
    "StopGradient": (lambda x, y, v, k: differentials.stop_gradient(x), lambda x, y, v, k: x),
    "Concatenate": both(lambda x, y, v, k: np.concatenate([x, y, x])),
    "Stack": both(lambda x, y, v, k: np.stack([x, y], axis=1)),
    "ExpandDims": both(lambda x, y, v, k: np.expand_dims(x, (0, 2))),
    "Squeeze": both(lambda x, y, v, k: np.squeeze(np.expand_dims(x, 1), 1)),
    "Reshape": both(lambda x, y, v, k: np.reshape(x, (x.shape[1], x.shape[0]))),
    "Transpose": both(lambda x, y, v, k: np.transpose(np.stack([x, y]), (1, 2, 0))),
    "MatrixTranspose": both(lambda x, y, v, k: x.T),
    "Index": both(lambda x, y, v, k: x[:, ::-2]),
    "Index, places": both(lambda x, y, v, k: x[k]),
    "Diag": both(lambda x, y, v, k: np.diag(v, 1)),
    "Diagonal": both(lambda x, y, v, k: np.diagonal(x, -1)),
    "Tril": both(lambda x, y, v, k: np.tril(x, 1)),
    "Triu": both(lambda x, y, v, k: np.triu(x)),
    "Eye": (
        lambda x, y, v, k: rg.eye(x.shape[0], dtype="int8"),
        lambda x, y, v, k: np.eye(x.shape[0], dtype="int8"),
    ),
    "BlockDiag": (
        lambda x, y, v, k: rg.block_diag(x, y),
        lambda x, y, v, k: np.block([[x, np.zeros_like(x)], [np.zeros_like(y), y]]),
    ),
    "Kron": both(lambda x, y, v, k: np.kron(x, y)),
    "Outer": both(lambda x, y, v, k: np.outer(v, v)),
    "SetIndex": (
        lambda x, y, v, k: x.at[STEP].set(y[STEP]),
        lambda x, y, v, k: updated(None, x, STEP, y[STEP]),
    ),
    "SetIndex, places": (
        lambda x, y, v, k: x.at[k].set(v),
        lambda x, y, v, k: updated(None, x, k, v),
    ),
    "AddIndex": (
        lambda x, y, v, k: x.at[k].add(y[k]),
        lambda x, y, v, k: updated(np.add, x, k, y[k]),
    ),
    "MultiplyIndex": (
        lambda x, y, v, k: x.at[STEP].multiply(y[STEP]),
        lambda x, y, v, k: updated(np.multiply, x, STEP, y[STEP]),
    ),
    "MaximumIndex": (
        lambda x, y, v, k: x.at[k].max(y[k]),
        lambda x, y, v, k: updated(np.maximum, x, k, y[k]),
    ),
    "MinimumIndex": (
        lambda x, y, v, k: x.at[k].min(v),
        lambda x, y, v, k: updated(np.minimum, x, k, v),
    ),
    "Sort": (lambda x, y, v, k: sorting.sort(x, 0), lambda x, y, v, k: np.sort(x, 0)),
    "Argsort": (
        lambda x, y, v, k: sorting.argsort(x, 1),
        lambda x, y, v, k: np.argsort(x, 1, stable=True),
    ),
    "Unique": (lambda x, y, v, k: rg.unique(k), lambda x, y, v, k: np.unique(k)),
    "Assume": (lambda x, y, v, k: rg.assume(k, "finite"), lambda x, y, v, k: k),
    "Assert": (lambda x, y, v, k: rg.assert_(x, k < 99), lambda x, y, v, k: x),
    "SpecifyShape": (
        lambda x, y, v, k: rg.specify_shape(k[k.shape[0] :], (0,)),
        lambda x, y, v, k: k[:0],
    ),
}

# What is computed up to rounding, of finite matrices with elements.
CLOSE = {
    "Trace": both(lambda x, y, v: np.trace(x)),
    "Matmul": both(lambda x, y, v: x @ y.T),
    "Matmul, vector": both(lambda x, y, v: x @ v),
    "Einsum": both(lambda x, y, v: np.einsum("ij,ij,j->i", x, y, v)),
    "InnerProduct": (
        lambda x, y, v: differentials.inner_product(x, y),
        lambda x, y, v: (x * y).sum(),
    ),
    "Top": (lambda x, y, v: Top((-1,))(x), lambda x, y, v: np.max(x, axis=1)),
    "Top, of nothing": (
        lambda x, y, v: Top((-1,))(x[:, :0]),
        lambda x, y, v: np.full(len(x), -np.inf, x.dtype),
    ),
    "Bottom": (lambda x, y, v: Bottom((-2,))(x), lambda x, y, v: np.min(x, axis=0)),
    "Bottom, of nothing": (
        lambda x, y, v: Bottom((-1,))(x[:, :0]),
        lambda x, y, v: np.full(len(x), np.inf, x.dtype),
    ),
    "Argmax": both(lambda x, y, v: np.argmax(x, axis=1)),
    "Argmin": both(lambda x, y, v: np.argmin(x)),
    "Softmax": (
        lambda x, y, v: rg.softmax(x, axis=0),
        lambda x, y, v: scipy.special.softmax(x, axis=0),
    ),
    "LogSoftmax": (
        lambda x, y, v: rg.log_softmax(x),
        lambda x, y, v: scipy.special.log_softmax(x, axis=-1),
    ),
    "Gemm": (
        lambda x, y, v: Gemm()(x @ y.T, 2.0, x, y.T, -1.0),
        lambda x, y, v: 2 * (x @ y.T) - x @ y.T,
    ),
    "Gemv": (
        lambda x, y, v: Gemv()(x @ v, 0.5, y, v, 3.0),
        lambda x, y, v: 3 * (x @ v) + 0.5 * (y @ v),
    ),
    "Ger": (
        lambda x, y, v: Ger()(x, 2.0, x @ v, v),
        lambda x, y, v: x + 2 * np.outer(x @ v, v),
    ),
    "Syrk": (
        lambda x, y, v: Syrk()(x @ x.T, 2.0, y, -1.0),
        lambda x, y, v: 2 * (y @ y.T) - x @ x.T,
    ),
}

# Of an invertible matrix a, a positive definite one s, and a vector v.
SQUARE = {
    "Solve": both(lambda a, s, v: np.linalg.solve(a, v)),
    "SolveTriangular": (
        lambda a, s, v: rg.solve_triangular(a, v, lower=True),
        lambda a, s, v: scipy.linalg.solve_triangular(a, v, lower=True),
    ),
    "TriangularMatmul": (
        lambda a, s, v: TriangularMatmul(True, 0)(np.linalg.cholesky(s), a),
        lambda a, s, v: np.linalg.cholesky(s) @ a,
    ),
    "TridiagonalMatmul": (
        lambda a, s, v: TridiagonalMatmul(1)(a, rg.diag(v)),
        lambda a, s, v: a @ np.diag(v),
    ),
    "Cholesky": both(lambda a, s, v: np.linalg.cholesky(s)),
    "ChoSolve": (
        lambda a, s, v: rg.cho_solve((np.linalg.cholesky(s), True), v),
        lambda a, s, v: np.linalg.solve(s, v),
    ),
    "Inv": both(lambda a, s, v: np.linalg.inv(a)),
    "Det": both(lambda a, s, v: np.linalg.det(a)),
    "Slogdet GetItem": both(lambda a, s, v: np.linalg.slogdet(a)[1]),
    "Eigvalsh": (lambda a, s, v: rg.eigvalsh(s), lambda a, s, v: np.linalg.eigvalsh(s)),
    "Eigh": (
        lambda a, s, v: rg.eigh(s)[1] * rg.eigh(s)[0] @ rg.eigh(s)[1].T,
        lambda a, s, v: s,
    ),
    "SVD": (lambda a, s, v: rg.svd(a)[1], lambda a, s, v: np.linalg.svd(a)[1]),
    "QR": (lambda a, s, v: rg.qr(a)[1], lambda a, s, v: np.linalg.qr(a)[1]),
    "LU": (lambda a, s, v: rg.lu(a)[2], lambda a, s, v: scipy.linalg.lu(a)[2]),
    "LUFactor": (lambda a, s, v: rg.lu_factor(a)[0], lambda a, s, v: scipy.linalg.lu_factor(a)[0]),
    "LUSolve": (
        lambda a, s, v: rg.lu_solve(rg.lu_factor(a), v),
        lambda a, s, v: np.linalg.solve(a, v),
    ),
    "PivotSign": (
        lambda a, s, v: factored_solve.PivotSign()(rg.lu_factor(a)[1]),
        lambda a, s, v: np.linalg.det(scipy.linalg.lu(a)[0]),
    ),
    "PermutationSign": (
        lambda a, s, v: factored_solve.PermutationSign()(sorting.argsort(v)),
        lambda a, s, v: np.linalg.det(np.eye(len(v))[np.argsort(v)]),
    ),
    "Expm": (lambda a, s, v: rg.expm(a), lambda a, s, v: scipy.linalg.expm(a)),
    "ExpmFrechet": (
        lambda a, s, v: ExpmFrechet()(a, s),
        lambda a, s, v: scipy.linalg.expm_frechet(a, s, compute_expm=False).astype(a.dtype),
    ),
    "Schur": (lambda a, s, v: rg.schur(a)[0], lambda a, s, v: scipy.linalg.schur(a)[0]),
    "QZ": (lambda a, s, v: rg.qz(a, s)[0], lambda a, s, v: scipy.linalg.qz(a, s)[0]),
    "SolveSylvester": (
        lambda a, s, v: rg.solve_sylvester(a, s, s @ a),
        lambda a, s, v: scipy.linalg.solve_sylvester(a, s, s @ a),
    ),
}


def classes(table):
    """Return the classes that the rows of a table are for."""
    return {name for key in table for name in key.partition(",")[0].split()}


def test_every_op_is_compiled_by_some_test():
    tested = classes(EXACT) | classes(CLOSE) | classes(SQUARE)
    tested |= {name for names in ELSEWHERE.values() for name in names.split()}
    # Lowering ops are implementation details of other ops.
    inside = (".lowering.", ".interop.")
    every = {x.__name__ for x in op_classes() if not any(part in x.__module__ for part in inside)}
    assert every - tested == set()
    assert tested - every == {"Max", "Min"}  # which have subclasses, and count as abstract there
    assert all((ROOT / path).exists() for path in ELSEWHERE)


def through(x):
    """Return a graph as a kernel makes it, with the same values: NaN and zeros keep their sign."""
    return np.maximum(x, x)


def compiled(table, inputs):
    """Compile what a table says twice: alone, and of operands from kernels and into one."""
    outputs = {}
    for key, (graph, _) in table.items():
        outputs[key] = graph(*inputs)
        outputs[f"{key}, between kernels"] = through(graph(*map(through, inputs)))
    return rg.function(inputs, outputs, mode=None)


def meanings(table, arrays):
    """Yield the names of a table with what is expected."""
    for key, (_, meaning) in table.items():
        with np.errstate(all="ignore"):
            expected = np.asarray(meaning(*arrays))
        yield key, expected
        yield f"{key}, between kernels", expected


def elements(dtype, shape, rng):
    """Return an array with special values among its elements."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind != "f":
        info = np.iinfo(dtype)
        return rng.choice(np.array([0, 1, 2, 3, info.min, info.max, info.max // 2], dtype), shape)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).max]
    return rng.choice(np.array([*special, *rng.normal(size=12)], dtype), shape)


SHAPES = ((3, 4), (1, 1), (1, 5), (5, 1), (0, 3), (3, 0), (17, 9))


@pytest.mark.parametrize("dtype", ["float64", "float32", "bool", "int8", "uint64"])
def test_what_is_exact_equals_numpy(dtype):
    x, y = rg.matrices("x y", shape=("m", "n"), dtype=dtype)
    v, k = rg.vector("v", shape=("n",), dtype=dtype), rg.vector("k", shape=(None,), dtype="int64")
    f = compiled(EXACT, [x, y, v, k])
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        a, b, c = (elements(dtype, s, rng) for s in (shape, shape, shape[1]))
        places = rng.integers(-shape[0], shape[0], min(shape[0], 4))
        results = f(a, b, c, places)
        for key, expected in meanings(EXACT, (a, b, c, places)):
            result = results[key]
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape), key
            np.testing.assert_array_equal(result, expected, err_msg=f"{key} {shape}")
            if expected.dtype.kind == "f" and "Index" not in key and "Unique" not in key:
                here = ~np.isnan(expected)
                signs = np.signbit(result[here]), np.signbit(expected[here])
                np.testing.assert_array_equal(*signs, err_msg=f"{key} {shape}")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_rounded_equals_numpy(dtype):
    x, y = rg.matrices("x y", shape=("m", "n"), dtype=dtype)
    v = rg.vector("v", shape=("n",), dtype=dtype)
    f = compiled(CLOSE, [x, y, v])
    rng = np.random.default_rng(2)
    for shape in ((3, 4), (1, 1), (1, 5), (5, 1), (33, 70)):
        arrays = [rng.normal(size=s).astype(dtype) for s in (shape, shape, shape[1])]
        results = f(*arrays)
        for key, expected in meanings(CLOSE, arrays):
            assert_close(results[key], expected, key)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_linear_algebra_equals_numpy_and_scipy(dtype):
    a, s = rg.matrices("a s", shape=("n", "n"), dtype=dtype)
    v = rg.vector("v", shape=("n",), dtype=dtype)
    f = compiled(SQUARE, [a, s, v])
    rng = np.random.default_rng(3)
    for n in (1, 2, 7):
        a = (rng.normal(size=(n, n)) / n + 2 * np.eye(n)).astype(dtype)
        arrays = [a, a @ a.T, rng.normal(size=n).astype(dtype)]
        results = f(*arrays)
        for key, expected in meanings(SQUARE, arrays):
            assert_close(results[key], expected, key)


def assert_close(result, expected, key):
    """Assert equality up to rounding; signs of permutations are float64 in any case."""
    assert result.shape == expected.shape, key
    assert result.dtype == ("float64" if "Sign" in key else expected.dtype), key
    tolerance = 1e-12 if expected.dtype == np.float64 else 2e-4
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance, err_msg=key)


def parts_of(value):
    """Return the arrays of a value, which is one array or a tuple of them."""
    return [np.asarray(x) for x in (value if isinstance(value, tuple) else (value,))]


def applications(table, inputs, arrays):
    """Yield each op in the graphs of a table, with its results and its operands."""
    values = dict(zip(inputs, arrays, strict=True))
    for x in toposort([build(*inputs) for build, _ in table.values()]):
        if x.op is None:
            values.setdefault(x, getattr(x, "value", None))
            continue
        with np.errstate(all="ignore"):
            values[x] = x.op.perform(*[values[y] for y in x.inputs])
        yield x.op, parts_of(values[x]), [z for y in x.inputs for z in parts_of(values[y])]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("table", [EXACT, CLOSE, SQUARE], ids=["exact", "close", "square"])
def test_ops_move_elements_and_return_new_arrays_where_they_say_so(table, order):
    shape = ("n", "n") if table is SQUARE else ("m", "n")
    inputs = [*rg.matrices("x y", shape=shape), rg.vector("v", shape=("n",))]
    rng = np.random.default_rng(4)
    a = rng.normal(size=(4, 4)) + 4 * np.eye(4)
    arrays = [np.array(a, order=order), np.array(a @ a.T, order=order), rng.normal(size=4)]
    if table is EXACT:
        inputs.append(rg.vector("k", shape=(None,), dtype="int64"))
        arrays.append(np.array([0, 2, 3]))
    for op, results, operands in applications(table, inputs, arrays):
        for result in results:
            if op.returns_new_array:
                assert not any(np.shares_memory(result, x) for x in operands), op
            if op.moves_elements and result.dtype.kind == "f":
                elements = [0.0, 1.0, -np.inf, np.inf, *(y for x in operands for y in np.ravel(x))]
                assert np.isin(result, elements).all(), op


@pytest.mark.parametrize("table", [EXACT, CLOSE, SQUARE], ids=["exact", "close", "square"])
def test_ops_are_views_where_they_say_so(table):
    shape = ("n", "n") if table is SQUARE else ("m", "n")
    inputs = [*rg.matrices("x y", shape=shape), rg.vector("v", shape=("n",))]
    a = np.random.default_rng(4).normal(size=(4, 4)) + 4 * np.eye(4)
    arrays = [a, a @ a.T, a[0]]
    if table is EXACT:
        inputs.append(rg.vector("k", shape=(None,), dtype="int64"))
        arrays.append(np.array([0, 2, 3]))
    for op, results, operands in applications(table, inputs, arrays):
        if op.view and results[0].ndim and results[0].size:  # numbers are no views
            assert any(np.shares_memory(results[0], x) for x in operands), op


@pytest.mark.parametrize("table", [EXACT, CLOSE, SQUARE], ids=["exact", "close", "square"])
def test_every_op_has_a_cost_over_static_and_named_sizes(table):
    sizes = {"m": 128, "n": 128}  # small matrices are lowered differently
    costs = []
    for shape in (("m", "n"), (128, 128)):
        shape = ("n", "n") if table is SQUARE and "m" in shape else shape
        inputs = [*rg.matrices("x y", shape=shape), rg.vector("v", shape=shape[1:])]
        inputs += [rg.vector("k", shape=(3,), dtype="int64")] * (table is EXACT)
        found = {key: rg.cost(build(*inputs)) for key, (build, _) in table.items()}
        costs.append(found)
    for key, cost in costs[0].items():
        given = cost.at({name: sizes[name] for name in cost.names if name in sizes})
        if given.names:
            continue  # of sizes that only a run tells
        static = costs[1][key]
        assert static.names == ()
        assert abs(given.flops - static.flops) <= len(static.steps), key
        assert static.seconds >= 0
