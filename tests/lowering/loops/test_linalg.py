"""Linear algebra in the loop language: machine code, the interpreter, NumPy and mpmath agree."""

import mpmath
import numpy as np
import pytest
import scipy.linalg

import relgraph as rg
from relgraph.backends.numba import kernels
from relgraph.backends.numba.llvm_printer import printed
from relgraph.backends.numba.machine import optimised
from relgraph.lowering.loops import interpreter
from relgraph.lowering.loops.build import has_function, written_loop
from relgraph.lowering.loops.nodes import Call, buffers_of
from relgraph.lowering.loops.writer import FAILED
from tests.lowering.loops.evaluation import machine, outcome, written

DTYPES = ("float64", "float32", "int64")
BUILD = {
    "solve": rg.solve,
    "solve symmetric": lambda a, b: rg.solve(a, b, assume="symmetric"),
    "solve spd": lambda a, b: rg.solve(a, b, assume="spd"),
    "lower": lambda a, b: rg.solve_triangular(a, b, lower=True),
    "upper": rg.solve_triangular,
    "lower transposed": lambda a, b: rg.solve_triangular(a, b, lower=True, trans=1),
    "unit": lambda a, b: rg.solve_triangular(a / 9, b, trans=1, unit_diagonal=True),
    "cho_solve": lambda a, b: rg.cho_solve((a, True), b),
    "cho_solve upper": lambda a, b: rg.cho_solve((a, False), b),
    "cholesky": lambda a, b: rg.cholesky(a),
    "cholesky upper": lambda a, b: rg.cholesky(a, lower=False),
    "inv": lambda a, b: rg.inv(a),
    "det": lambda a, b: rg.det(a),
    "slogdet": lambda a, b: rg.slogdet(a)[0].inputs[0],
    "matmul": lambda a, b: a @ b,
}
SINGULAR = [name for name in BUILD if name not in ("unit", "matmul")]


def spd(rng, shape, dtype="float64"):
    """Return symmetric positive definite matrices."""
    x = rng.integers(-4, 5, shape) if dtype == "int64" else rng.standard_normal(shape)
    n = shape[-1]
    return (x @ np.swapaxes(x, -1, -2) + 16 * n * np.eye(n, dtype=int)).astype(dtype)


def application(name, arrays, named=False):
    """Return the application of an op to two inputs of the types of arrays, and its operands."""
    nodes = []
    for x, which in zip(arrays, "ab", strict=True):
        shape = list(x.shape)
        if named:
            n = arrays[0].shape[-1]
            shape = [
                ("n" if d == n else d) if k >= x.ndim - 2 else "m" for k, d in enumerate(shape)
            ]
        nodes.append(rg.tensor(which, tuple(shape), x.dtype.name))
    node = BUILD[name](*nodes)
    return node, rg.function(nodes, list(node.inputs), mode=None)(*arrays)


def compare(node, operands):
    """Compare machine code and the interpreter with the op's definition; return the function."""
    loop = written(node)
    assert loop is not None
    expected = node.op.perform(*operands)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for run in (interpreter.run, machine):
        status, results = outcome(loop, run, operands)
        assert status == 0
        for x, y in zip(results, expected, strict=True):
            y = np.asarray(y)
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            tolerance = 2e-5 if x.dtype == np.float32 else 1e-11
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * np.abs(y).max())
    return loop


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(x, dtype) for x in BUILD for dtype in DTYPES if (x, dtype) != ("matmul", "int64")],
)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9, 13])
def test_one_matrix(name, n, dtype):
    rng = np.random.default_rng(n)
    a = spd(rng, (n, n), dtype)
    for shape in ((n,), (n, 1), (n, 3)):
        compare(*application(name, [a, rng.integers(-5, 6, shape).astype(dtype)]))


@pytest.mark.parametrize(
    ("n", "shape"),
    [*[(n, shape) for n in (1, 2, 4, 7, 10) for shape in ((11,), (2, 3))],
     *[(n, shape) for n in (2, 10) for shape in ((1,), (8,))], (8, (2, 3)), (33, (2, 3))],
)  # fmt: skip
@pytest.mark.parametrize("name", BUILD)
def test_batches(name, n, shape):
    rng = np.random.default_rng(n)
    a = spd(rng, (*shape, n, n))
    for right in ((n,), (*shape, n, 2), (n, 2), (*shape, n, n), (1, n, 1)):
        if name == "matmul" and right == (n,):
            continue
        compare(*application(name, [a, rng.standard_normal(right)]))


@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("name", [name for name in BUILD if name != "matmul"])
def test_sizes_that_only_a_call_knows(name, shape):
    rng = np.random.default_rng(3)
    for n in (1, 2, 6, 20):
        a = spd(rng, (*shape, n, n))
        right = rng.standard_normal((*shape, n, 3)) if shape or n == 6 else rng.standard_normal(n)
        loop = compare(*application(name, [a, right], named=True))
        assert any(isinstance(x, Call) for x in statements(loop.function.body))


def statements(body):
    """Yield the statements of a body, those inside of others too."""
    for s in body:
        yield s
        for part in s.values:
            if isinstance(part, tuple):
                yield from statements([x for x in part if hasattr(x, "values")])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [1, 3, 8, 12])
@pytest.mark.parametrize("batch", [(), (9,)])
@pytest.mark.parametrize("name", SINGULAR)
def test_a_singular_matrix_sets_the_flag(name, batch, n, dtype):
    rng = np.random.default_rng(n)
    a = spd(rng, (*batch, n, n), dtype)
    one = a[-1] if batch else a
    one[:, n // 2] = 0
    one[n // 2] = 0
    node, operands = application(name, [a, rng.standard_normal((*batch, n, 1)).astype(dtype)])
    loop = written(node)
    for run in (interpreter.run, machine):
        assert outcome(loop, run, operands)[0] == FAILED


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [2, 6, 12])
@pytest.mark.parametrize("batch", [(), (9,)])
@pytest.mark.parametrize(
    "name", ["solve", "solve spd", "lower", "cho_solve", "inv", "det", "slogdet"]
)
def test_what_is_not_finite_is_left_to_the_definition_or_equal_to_it(name, batch, n, value):
    rng = np.random.default_rng(n)
    a = spd(rng, (*batch, n, n))
    a[(*[0] * len(batch), n - 1, n - 2)] = value
    node, operands = application(name, [a, rng.standard_normal((*batch, n, 1))])
    loop = written(node)
    status, results = outcome(loop, machine, operands)
    if status != FAILED:
        expected = node.op.perform(*operands)
        np.testing.assert_allclose(results[0], expected, rtol=1e-9)


def hilbert(n):
    """Return a Hilbert matrix: its condition grows with exp(3.5 n)."""
    return 1 / (np.arange(n)[:, None] + np.arange(n) + 1.0)


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in ("solve", "solve spd", "cholesky", "inv", "det", "lower")
     for kind in ("well", "hilbert", "graded", "permuted")
     if kind != "permuted" or name in ("solve", "inv", "det")],
)  # fmt: skip
@pytest.mark.parametrize("n", [2, 4, 6, 8, 12])
def test_errors_are_those_of_lapack(name, kind, n):
    rng, scale = np.random.default_rng(n), 10.0 ** -np.arange(n)
    a = {
        "well": lambda: spd(rng, (n, n)),
        "hilbert": lambda: hilbert(n),
        "graded": lambda: np.outer(scale, scale) * spd(rng, (n, n)),
        "permuted": lambda: np.eye(n)[::-1] + 1e-3 * rng.standard_normal((n, n)),
    }[kind]()
    b = rng.standard_normal(n)
    node, operands = application(name, [a, b])
    with mpmath.workdps(80):
        m, right = mpmath.matrix(a.tolist()), mpmath.matrix(b.tolist())
        lower = mpmath.matrix(np.tril(a).tolist())
        exact = {
            "solve": lambda: mpmath.lu_solve(m, right),
            "solve spd": lambda: mpmath.lu_solve(m, right),
            "lower": lambda: mpmath.lu_solve(lower, right),
            "cholesky": lambda: mpmath.cholesky(m),
            "inv": lambda: m**-1,
            "det": lambda: mpmath.matrix([[mpmath.det(m)]]),
        }[name]()
        exact = np.array(exact.tolist(), dtype=float).reshape(np.shape(node.op.perform(*operands)))
    for batch in (False, True):
        arrays = [np.stack([x] * 9) if batch and (x is a) else x for x in (a, b)]
        node, operands = application(name, arrays)
        status, results = outcome(written(node), machine, operands)
        assert status == 0
        expected = np.asarray(node.op.perform(*operands))
        scale = np.abs(exact).max()
        own = np.abs(results[0] - exact).max() / scale
        theirs = np.abs(expected - exact).max() / scale
        if name == "cholesky":  # rounding errors that grow differ with the triangle that is read
            other = scipy.linalg.cholesky(a).T
            theirs = max(theirs, np.abs(other - exact).max() / scale)
            factors = results[0].reshape(-1, n, n)
            backward = np.abs(factors @ factors.swapaxes(-1, -2) - a).max()
            assert backward <= 2 * n * np.finfo(float).eps * np.abs(a).max()
        assert own <= 10 * theirs + 1e-14


def test_determinants_that_overflow_on_the_way():
    a = np.diag([1e200, 1e200, 1e-200, 1e-200])
    node, operands = application("det", [a, a])
    assert outcome(written(node), machine, operands)[0] == FAILED
    assert rg.function(node.inputs, node)(a) == pytest.approx(1)


def test_float32_is_computed_in_float64():
    rng = np.random.default_rng(0)
    for n in (3, 8, 12, 20):
        a = hilbert(3) if n == 3 else rng.standard_normal((n, n))
        a, b = a.astype("float32"), rng.standard_normal((n, 2)).astype("float32")
        node, operands = application("solve", [a, b])
        (x,) = outcome(written(node), machine, operands)[1]
        exact = np.linalg.solve(a.astype(float), b.astype(float))
        np.testing.assert_allclose(x, exact, rtol=1e-6)


def test_small_matrices_need_no_memory_and_no_routine():
    a, b = rg.matrix("a", (4, 4)), rg.vector("b", (4,))
    loop = written_loop(rg.solve(a, b), "NAME")
    spaces = {x.space for x in buffers_of(loop.function.body)}
    assert spaces == {"argument"}
    assert not any(isinstance(x, Call) for x in statements(loop.function.body))


def test_matrices_without_elements_and_large_ones_have_no_function():
    for n in (0, 65):
        a, b = rg.matrix("a", (n, n)), rg.vector("b", (n,))
        assert not any(map(has_function, (rg.solve(a, b), rg.cholesky(a), rg.det(a))))


def step(name, n):
    """Return a step of a loop whose matrix depends on what the loop carries, and NumPy's."""

    def matrix(c, a, m):
        return a @ a.mT + m.outer(c, c) if m is rg else a @ a.T + m.outer(c, c)

    def by_relgraph(c, a):
        s = matrix(c, a, rg)
        y = {
            "solve": lambda: rg.solve(s, c),
            "spd": lambda: rg.solve(s, c, assume="spd"),
            "cholesky": lambda: rg.solve_triangular(rg.cholesky(s), c, lower=True),
            "inv": lambda: rg.inv(s) @ c,
            "matmul": lambda: (s.mT @ a @ s) @ c,
            "det": lambda: c * rg.det(s / n),
            "slogdet": lambda: c * rg.slogdet(s)[1],
        }[name]()
        return y / rg.sqrt(rg.sum(y * y))

    def by_numpy(c, a):
        s = matrix(c, a, np)
        y = {
            "solve": lambda: np.linalg.solve(s, c),
            "spd": lambda: np.linalg.solve(s, c),
            "cholesky": lambda: np.linalg.solve(np.linalg.cholesky(s), c),
            "inv": lambda: np.linalg.inv(s) @ c,
            "matmul": lambda: (s.T @ a @ s) @ c,
            "det": lambda: c * np.linalg.det(s / n),
            "slogdet": lambda: c * np.linalg.slogdet(s)[1],
        }[name]()
        return y / np.sqrt(np.sum(y * y))

    return by_relgraph, by_numpy


@pytest.mark.parametrize("size", [3, 12, 30, "n"])
@pytest.mark.parametrize("name", ["solve", "spd", "cholesky", "inv", "matmul", "det", "slogdet"])
def test_in_a_loop(name, size):
    n = 11 if size == "n" else size
    rng = np.random.default_rng(n)
    a, c = rg.matrix("a", (size, size)), rg.vector("c", (size,))
    by_relgraph, by_numpy = step(name, n)
    last, stacked = rg.scan(lambda c, _: (by_relgraph(c, a),) * 2, c, length=4)
    matrix, start = rng.standard_normal((n, n)), rng.standard_normal(n)
    node = last.inputs[0]
    loop = written(node)
    operands = rg.function([a, c], list(node.inputs), mode=None)(matrix, start)
    expected, rows = start, []
    for _ in range(4):
        expected = by_numpy(expected, matrix)
        rows.append(expected)
    for run in (interpreter.run, machine):
        status, results = outcome(loop, run, operands)
        assert status == 0
        np.testing.assert_allclose(results[0], expected, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(results[1], rows, rtol=1e-7, atol=1e-9)
    f = rg.function([a, c], [last, stacked])
    np.testing.assert_allclose(f(matrix, start)[1], rows, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["solve", "det", "inv"])
@pytest.mark.parametrize("shape", [(3, 3), (9, 3, 3), (9, 10, 10)])
def test_pivots_without_an_inverse(name, shape):
    """The inverse of 1e-310 overflows."""
    n = shape[-1]
    a = np.broadcast_to(1e-310 * (3 * np.eye(n) + np.tril(np.ones((n, n)))), shape).copy()
    node, operands = application(name, [a, np.full((*shape[:-1], 1), 1e-310)])
    status, _ = outcome(written(node), machine, operands)
    assert status == FAILED
    with np.errstate(all="ignore"):
        expected = node.op.perform(*operands)
        found = rg.function(node.inputs, node, mode=None)(*operands)
    np.testing.assert_array_equal(found, expected)


def test_zeros_of_a_factor_need_no_call():
    node = rg.cholesky(rg.tensor("a", (64, 5, 5)))
    text = printed([written_loop(node, "NAME").function], kernels.scalar).text
    assert "llvm.memset" not in str(optimised(text))  # a loop with a call does not run on vectors
