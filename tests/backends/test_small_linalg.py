"""Compiled functions with small linear algebra: native programs, errors, sizes and code on disk."""

import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import relgraph as rg
from relgraph.backends.numba import kernels
from relgraph.backends.numba.llvm_printer import printed
from relgraph.lowering.loops.build import written_loop

ROOT = Path(__file__).resolve().parents[2]
rng = np.random.default_rng(5)


def is_native(f):
    return isinstance(f.unchecked, types.BuiltinFunctionType)


def spd(*shape):
    x = rng.standard_normal(shape)
    return x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])


A, b = rg.matrix("A", (4, 4)), rg.vector("b", (4,))
L, v = rg.matrix("L", (30, 30)), rg.vector("v", (30,))
S, w = rg.tensor("S", ("batch", 5, 5)), rg.tensor("w", ("batch", 5, 1))
N, u = rg.matrix("N", ("n", "n")), rg.vector("u", ("n",))

CASES = {
    "solve": (rg.solve(A, b), np.linalg.solve, [A, b]),
    "solve with the transpose": (rg.solve(A.mT, b), lambda A, b: np.linalg.solve(A.T, b), [A, b]),
    "ops before and after": (
        rg.exp(rg.solve(A + rg.eye(4), b * 2)) / rg.det(A),
        lambda A, b: np.exp(np.linalg.solve(A + np.eye(4), b * 2)) / np.linalg.det(A),
        [A, b],
    ),
    "several results": (
        [rg.cholesky(A), rg.inv(A), rg.slogdet(A)[0], rg.slogdet(A)[1] + b],
        lambda A, b: (
            np.linalg.cholesky(A),
            np.linalg.inv(A),
            np.linalg.slogdet(A)[0],
            np.linalg.slogdet(A)[1] + b,
        ),
        [A, b],
    ),
    "by LAPACK and BLAS": (
        rg.solve(L @ L.mT + rg.eye(30), rg.exp(v)),
        lambda L, v: np.linalg.solve(L @ L.T + np.eye(30), np.exp(v)),
        [L, v],
    ),
    "a batch": (
        rg.sum(rg.solve(S, w) * rg.det(S)[:, None, None], axis=0),
        lambda S, w: (np.linalg.solve(S, w) * np.linalg.det(S)[:, None, None]).sum(axis=0),
        [S, w],
    ),
    "of unknown size": (rg.solve(N, u), np.linalg.solve, [N, u]),
}
ARRAYS = {A: spd(4, 4), b: rng.standard_normal(4), L: spd(30, 30), v: rng.standard_normal(30),
          S: spd(7, 5, 5), w: rng.standard_normal((7, 5, 1)), N: spd(6, 6),
          u: rng.standard_normal(6)}  # fmt: skip


@pytest.mark.parametrize("mode", [None, "fast_run"])
@pytest.mark.parametrize("case", CASES)
def test_a_program_with_linear_algebra_is_one_call_of_machine_code(case, mode):
    graph, expected, inputs = CASES[case]
    f = rg.function(inputs, graph, mode=mode)
    many = isinstance(graph, list)
    assert many or is_native(f)  # a list of results is made in Python
    arrays = [ARRAYS[x] for x in inputs]
    results, values = f(*arrays), expected(*arrays)
    for x, y in zip(results if many else [results], values if many else [values], strict=True):
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)


def test_results_are_new_arrays_and_operands_stay_as_they_are():
    f = rg.function([A], [rg.cholesky(A), rg.inv(A)], mode=None)
    a = ARRAYS[A].copy()
    first, second = f(a), f(a)
    assert not any(np.shares_memory(x, y) for x in first for y in (*second, a))
    np.testing.assert_array_equal(a, ARRAYS[A])
    assert all(x.flags.owndata and x.flags.writeable for x in first)


@pytest.mark.parametrize("order", ["C", "F", "reversed", "read-only"])
def test_arguments_of_any_layout(order):
    f = rg.function([A, b], rg.solve(A, b), mode=None)
    a, right = spd(4, 4), rng.standard_normal(4)
    a = {"C": a, "F": np.asfortranarray(a), "reversed": a[::-1, ::-1], "read-only": a.copy()}[order]
    a.flags.writeable = order != "read-only"
    np.testing.assert_allclose(f(a, right), np.linalg.solve(a, right), rtol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 9, 20, 64, 70, "n"])
@pytest.mark.parametrize("batch", [(), (9,)])
@pytest.mark.parametrize("name", ["solve", "spd", "inv", "cholesky", "lower", "cho_solve"])
def test_singular_matrices_raise_the_error_of_numpy(name, batch, n):
    size = 6 if n == "n" else n
    a, right = rg.tensor("a", (*batch, n, n)), rg.tensor("c", (*batch, n, 1))
    graph = {
        "solve": lambda: rg.solve(a, right),
        "spd": lambda: rg.solve(a, right, assume="spd"),
        "inv": lambda: rg.inv(a),
        "cholesky": lambda: rg.cholesky(a),
        "lower": lambda: rg.solve_triangular(a, right, lower=True),
        "cho_solve": lambda: rg.cho_solve((a, True), right),
    }[name]()
    f = rg.function([a, right], graph, mode=None)
    good = spd(*batch, size, size)
    c = rng.standard_normal((*batch, size, 1))
    f(good, c)
    bad = good.copy()
    one = bad[3] if batch else bad
    one[0] = one[:, 0] = 0
    message = "not positive definite" if name in ("spd", "cholesky") else "ingular"
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError, match=message):
            f(bad, c)
    with pytest.raises(rg.errors.LinearAlgebraError):
        f(bad, c)
    f(good, c)


@pytest.mark.parametrize("n", [2, 3, 8, 12])
def test_determinants_of_singular_matrices_are_those_of_numpy(n):
    a = rg.matrix("a", (n, n))
    f = rg.function([a], [rg.det(a), *rg.slogdet(a)], mode=None)
    for matrix in (np.zeros((n, n)), np.ones((n, n)), np.arange(float(n * n)).reshape(n, n)):
        found, expected = f(matrix), [np.linalg.det(matrix), *np.linalg.slogdet(matrix)]
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("n", [1, 3, 8, 20])
@pytest.mark.parametrize("batch", [(), (9,)])
def test_what_is_not_finite_gives_what_the_definition_gives(batch, n, value):
    a, right = rg.tensor("a", (*batch, n, n)), rg.tensor("c", (*batch, n, 1))
    graphs = [
        rg.solve(a, right),
        rg.solve(a, right, assume="symmetric"),
        rg.solve_triangular(a, right),
        rg.inv(a),
        rg.det(a),
    ]
    bad = spd(*batch, n, n)
    bad[..., 0, -1] = bad[..., -1, 0] = value
    c = rng.standard_normal((*batch, n, 1))
    for graph in graphs:
        f = rg.function([a, right], graph, mode=None)
        arrays = (bad, c)[: len(graph.inputs)]
        with np.errstate(all="ignore"):
            try:
                expected = graph.op.perform(*arrays)
            except np.linalg.LinAlgError:
                with pytest.raises(np.linalg.LinAlgError):
                    f(bad, c)
                continue
            np.testing.assert_allclose(f(bad, c), expected, rtol=1e-9)


@pytest.mark.parametrize("shape", [(0, 0), (3, 0, 0), (0, 4, 4), (0, 20, 20)])
def test_arrays_without_elements(shape):
    for declared in (shape, (*("batch",)[: len(shape) - 2], *shape[-2:])):
        a = rg.tensor("a", declared)
        f = rg.function([a], [rg.cholesky(a), rg.inv(a), rg.det(a)], mode=None)
        x = np.empty(shape)
        expected = np.linalg.cholesky(x), np.linalg.inv(x), np.linalg.det(x)
        for found, value in zip(f(x), expected, strict=True):
            assert found.shape == value.shape
            np.testing.assert_array_equal(found, value)


def test_a_matrix_that_is_not_square_raises():
    a = rg.matrix("a")
    f = rg.function([a], rg.det(a), mode=None)
    with pytest.raises((rg.errors.ShapeError, np.linalg.LinAlgError)):
        f(np.ones((2, 3)))


def test_large_matrices_of_unknown_size_are_left_to_numpy():
    f = rg.function([N, u], rg.solve(N, u), mode=None)
    a, c = spd(100, 100), rng.standard_normal(100)
    np.testing.assert_array_equal(f(a, c), np.linalg.solve(a, c))


def test_code_names_its_routines():
    loop = written_loop(rg.cholesky(L), "NAME")
    text = printed([loop.function], kernels.scalar).text
    assert "call void @relgraph_dpotrf(ptr" in text
    assert "inttoptr" not in text


SCRIPT = """
import numpy as np, relgraph as rg
from relgraph.backends.numba import kernels
a = rg.matrix("a", (20, 20))
x = np.eye(20) * 4
print(float(rg.function([a], rg.cholesky(a), mode=None)(x)[3, 3]), *set(kernels.stats().values()))
"""


def test_code_on_disk_calls_the_routines_of_another_process(tmp_path):
    environment = {**os.environ, "RELGRAPH_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    lines = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert lines == [["2.0", "compiled"], ["2.0", "disk"]]


def test_threads_share_a_function():
    from concurrent.futures import ThreadPoolExecutor

    f = rg.function([L, v], rg.solve(L, v), mode=None)
    systems = [(spd(30, 30), rng.standard_normal(30)) for _ in range(40)]
    with ThreadPoolExecutor(4) as pool:
        for x, (a, c) in zip(pool.map(lambda s: f(*s), systems), systems, strict=True):
            np.testing.assert_allclose(x, np.linalg.solve(a, c), rtol=1e-9, atol=1e-12)
