"""Programs: the source, which kernels there are, memory, checks, views, threads."""

import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import relgraph.numpy.operators  # noqa: F401  operators of nodes look their functions up
from relgraph.api.function import function as rewritten_function
from relgraph.backends.numba.compiler import NumbaBackend
from relgraph.errors import ShapeError
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import constant, make_input
from relgraph.ir.types import TensorType
from relgraph.numpy import reductions
from relgraph.ops.elementwise import Elementwise
from tests.concurrency import at_once

# The graph as it is written: what is rewritten is tested with the relations.
function = partial(rewritten_function, mode=None)

sin, exp = Elementwise("sin"), Elementwise("exp")


def vector(name, size="n", dtype="float64"):
    return make_input(name, TensorType(dtype, (size,)))


def matrix(name, shape=("n", "n")):
    return make_input(name, TensorType("float64", shape))


def program(inputs, outputs):
    return NumbaBackend().compile(FunctionGraph(inputs, outputs))


def test_source_is_readable_and_stable():
    x, y = vector("x"), vector("y")
    f = program([x, y], [reductions.sum(exp(x) * y + 2.0)])
    (name,) = f.kernels
    assert f.source.replace(name, "rgk") == SOURCE


SOURCE = """\
def rgk(
    start, stop, n0, rows,
    x0: float64[n0], x1: float64[n0], c_float64: float64[1], r0: float64[1], w0: float64[stop],
):
    e1 = c_float64[0]
    for b1 in range(start, stop):
        v1 = b1 * rows
        v3 = min(v1 + rows, n0)
        c1, c2 = 0.0, 0.0
        for k1 in range(v1, v3, 1024):
            c3 = 0.0
            for i1 in range(min(1024, v3 - k1)):
                v6 = k1 + i1
                e2 = x0[v6]
                e3 = x1[v6]
                c3 = c3 + ((exp(e2) * e3) + e1)
            v11 = c1 + c3
            v12 = v11 - c1
            c1, c2 = v11, c2 + ((c1 - (v11 - v12)) + (c3 - v12))
        w0[b1] = select(c2 == c2, c1 + c2, c1)


def rgk_finish(
    start, stop, n0, rows,
    x0: float64[n0], x1: float64[n0], c_float64: float64[1], r0: float64[1], w0: float64[stop],
):
    c1, c2 = 0.0, 0.0
    for b1 in range(start, stop):
        e1 = w0[b1]
        v1 = c1 + e1
        v2 = v1 - c1
        c1, c2 = v1, c2 + ((c1 - (v1 - v2)) + (e1 - v2))
    r0[0] = select(c2 == c2, c1 + c2, c1)


# sum(exp(x) * y + 2)
# c_0 = [2]
def main(x, y):
    n = x.shape[0]
    t0 = empty((), float64)
    rgk(n, x, y, c_0, t0)
    return t0[()]
"""


def test_a_regular_chain_shares_its_kernels():
    x, y = vector("x"), vector("y")
    node = x
    for i in range(3000):
        node = sin(node) * y + float(i)
    f = program([x, y], [node])
    assert len(f.steps) == 46  # 198 of 9000 ops each
    assert len(f.kernels) == 2  # the last one is shorter
    a, b = np.full(3, 0.5), np.full(3, 0.25)
    expected = a
    for i in range(3000):
        expected = np.sin(expected) * b + float(i)
    np.testing.assert_allclose(f([a, b])[0], expected, rtol=1e-12)


def test_doubling_a_thousand_times():
    x = vector("x")
    node = x
    for _ in range(1000):
        node = node + node
    f = program([x], [node])
    assert len(f.kernels) == 1
    np.testing.assert_array_equal(f([np.array([1.0, 3.0])])[0], np.array([1.0, 3.0]) * 2.0**1000)


def test_an_irregular_chain_stays_within_its_budget():
    rng = np.random.default_rng(0)
    x, y = vector("x"), vector("y")
    ops = [Elementwise(name) for name in ("sin", "cos", "negative", "absolute")]
    more = [Elementwise(name) for name in ("add", "subtract", "multiply", "maximum")]
    numpy = {"negative": np.negative, "absolute": np.absolute}
    node, expected = x, np.full(2, 0.5)
    b = np.full(2, 0.25)
    for _ in range(10_000):
        k = int(rng.integers(4))
        if rng.random() < 0.5:
            node = ops[k](node)
            expected = (numpy.get(ops[k].name) or getattr(np, ops[k].name))(expected)
        else:
            node = more[k](node, y)
            expected = getattr(np, more[k].name)(expected, b)
    fusion = NumbaBackend().fusion
    small = type(fusion)(**{**vars(fusion), "budget": 600})
    f = NumbaBackend(small).compile(FunctionGraph([x, y], [node]))
    assert len(f.kernels) <= 3 + 8
    np.testing.assert_allclose(f([np.full(2, 0.5), b])[0], expected, rtol=1e-9)


def test_ten_thousand_steps_run_in_parts():
    a = matrix("a")
    node = a
    for _ in range(2500):
        node = Elementwise("tanh")(a @ node)
    f = program([a], [node, a + 1.0])
    assert "def part_4(v):" in f.source
    m = np.random.default_rng(0).normal(size=(3, 3))
    expected = m
    for _ in range(2500):
        expected = np.tanh(m @ expected)
    result, other = f([m])
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    np.testing.assert_array_equal(other, m + 1.0)


def test_dead_buffers_are_taken_over():
    a = matrix("a")
    node = a
    for _ in range(10):
        node = sin(a @ node)
    source = program([a], [node]).source
    assert source.count("empty(") == 2
    m = np.random.default_rng(0).normal(size=(4, 4))
    expected = m
    for _ in range(10):
        expected = np.sin(m @ expected)
    np.testing.assert_allclose(program([a], [node])([m])[0], expected, rtol=1e-9)


def test_results_share_memory_with_nothing():
    x = vector("x", 3)
    wide = constant(np.arange(3.0))
    y = x + wide
    flipped = matrix("q")
    inputs = [x, flipped]
    outputs = [x, y, y, wide, flipped.T, reductions.sum(x), flipped.reshape(-1)]
    a, q = np.arange(3.0), np.arange(9.0).reshape(3, 3)
    for target in ("cpu", "numpy"):
        results = function(inputs, outputs, target=target)(a, q)
        arrays = [r for r in results if isinstance(r, np.ndarray)]
        for i, r in enumerate(arrays):
            assert r.flags.writeable
            assert r.base is None
            for other in [a, q, wide.value, *arrays[i + 1 :]]:
                assert not np.shares_memory(r, other)
        np.testing.assert_array_equal(results[0], a)
        np.testing.assert_array_equal(results[4], q.T)


def test_a_view_keeps_its_memory():
    x = matrix("x", ("n", "m"))
    e = exp(x)
    view = e.T
    f = program([x], [sin(exp(x) + 1.0) + 2.0, view * 2.0, view])
    a = np.random.default_rng(0).normal(size=(3, 4))
    first, second, third = f([a])
    np.testing.assert_allclose(first, np.sin(np.exp(a) + 1) + 2, rtol=1e-14)
    np.testing.assert_allclose(second, np.exp(a).T * 2, rtol=1e-14)
    np.testing.assert_allclose(third, np.exp(a).T, rtol=1e-14)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_unknown_sizes_are_never_stretched(target):
    x, y = vector("x", None), vector("y", None)
    f = function([x, y], sin(x) + y, target=target)
    np.testing.assert_allclose(f(np.ones(3), np.ones(3)), np.sin(1) + np.ones(3))
    with pytest.raises(ShapeError, match="they are 3 and 1") as error:
        f(np.ones(3), np.ones(1))
    assert "x" in str(error.value)
    assert "y" in str(error.value)
    p, q = matrix("p", (None, None)), matrix("q", (None, None))
    g = function([p, q], p @ q, target=target)
    with pytest.raises(ShapeError):
        g(np.ones((2, 3)), np.ones((2, 3)))
    b, c = (make_input(n, TensorType("float64", (None, 2, 2))) for n in "bc")
    h = function([b, c], b @ c, target=target)
    with pytest.raises(ShapeError, match="they are"):
        h(np.ones((3, 2, 2)), np.ones((1, 2, 2)))


def test_products_of_every_rank():
    rng = np.random.default_rng(0)
    shapes = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
              ((5, 1, 2, 3), (6, 3, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 2))]  # fmt: skip
    for left, right in shapes:
        a, b = rng.normal(size=left), rng.normal(size=right)
        x = make_input("x", TensorType("float64", left))
        y = make_input("y", TensorType("float64", [s if s == 1 else None for s in right]))
        np.testing.assert_allclose(program([x, y], [x @ y])([a, b])[0], a @ b, rtol=1e-14)


def test_arrays_of_every_layout():
    x = matrix("x", ("n", "m"))
    f = function([x], [x * 2.0, reductions.sum(x, axis=0)])
    a = np.arange(24.0).reshape(4, 6)
    misaligned = np.zeros(a.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(4, 6)
    misaligned[...] = a
    frozen = a.copy()
    frozen.flags.writeable = False
    repeated = np.broadcast_to(a[0], (3, 6))
    views = (a, a.T, a[::2, ::-1], np.asfortranarray(a), a[:, :0], a[1:1])
    for b in (*views, a.astype(">f8"), misaligned, frozen, repeated):
        doubled, total = f(b)
        np.testing.assert_array_equal(doubled, np.asarray(b, float) * 2.0)
        np.testing.assert_array_equal(total, np.asarray(b, float).sum(axis=0))


def test_names_that_python_could_not_use():
    names = ["lambda", "t0", "main", "empty", "n", "ünder", "float64", "d0", "v"]
    inputs = [make_input(name, TensorType("float64", ("n", None))) for name in names]
    total = inputs[0]
    for x in inputs[1:]:
        total = total + x
    f = program(inputs, [total])
    arrays = [np.full((2, 2), float(i)) for i in range(len(names))]
    np.testing.assert_array_equal(f(arrays)[0], sum(arrays))


def test_assumptions_cost_nothing():
    from relgraph.ops.inputs import assume

    x = vector("x")
    f = program([x], [sin(assume(exp(x), "finite")) + assume(x, "positive")])
    assert len(f.steps) == 1
    a = np.array([0.5, 2.0])
    np.testing.assert_allclose(f([a])[0], np.sin(np.exp(a)) + a, rtol=1e-14)


def test_threads_call_one_program():
    a, x = matrix("a"), vector("x")
    f = function([a, x], [sin(a @ a) + x, reductions.sum(exp(x))])
    rng = np.random.default_rng(0)
    cases = [(rng.normal(size=(k + 2, k + 2)), rng.normal(size=k + 2)) for k in range(8)]
    failures = []

    def work(m, v):
        for _ in range(200):
            first, second = f(m, v)
            if not np.allclose(first, np.sin(m @ m) + v) or not np.isclose(second, np.exp(v).sum()):
                failures.append((m, v))

    at_once(work, *zip(*cases, strict=True))
    assert not failures


SCRIPT = """
import pickle, sys, numpy as np
f = pickle.load(open(sys.argv[1], "rb"))
from relgraph.backends.numba import kernels
print(f(np.arange(3.0), np.ones(3))[0], sorted(kernels.stats().values()))
"""


def run(script, *args, **env):
    import os

    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *args],
        capture_output=True, text=True, check=False, env={**os.environ, **env},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_second_process_does_not_compile(tmp_path):
    x, y = vector("x"), vector("y")
    node = x
    for i in range(500):
        node = sin(node) * y + float(i)
    path = tmp_path / "function.pickle"
    path.write_bytes(pickle.dumps(function([x, y], node)))
    folder = tmp_path / "cache"
    first = run(SCRIPT, str(path), RELGRAPH_CACHE_DIR=str(folder))
    assert first.split("[")[1] == "'compiled', 'compiled']\n"
    second = run(SCRIPT, str(path), RELGRAPH_CACHE_DIR=str(folder))
    assert second.split("[")[1] == "'disk', 'disk']\n"
    assert first.split("[")[0] == second.split("[")[0]
    assert not list(folder.glob("*.tmp"))


def test_an_unwritable_folder_means_one_warning(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("RELGRAPH_CACHE_DIR", str(blocked / "folder"))
    x = vector("x")
    with pytest.warns(RuntimeWarning, match="not cached") as caught:
        f = function([x], Elementwise("cbrt")(x) * 3.0 - 17.0)
        g = function([x], Elementwise("cbrt")(x) * 3.0 / 17.0)
    assert len(caught) == 1
    np.testing.assert_allclose(f(np.array([8.0])), -11.0)
    np.testing.assert_allclose(g(np.array([8.0])), 6 / 17)


def test_the_warning_is_raised_as_it_is_where_a_filter_makes_it_an_error(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("RELGRAPH_CACHE_DIR", str(blocked / "folder"))
    x = vector("x")
    graph = Elementwise("cbrt")(x) * 5.0 - x / 19.0
    with pytest.raises(RuntimeWarning, match="Set RELGRAPH_CACHE_DIR to a folder"):
        function([x], graph)
    np.testing.assert_allclose(function([x], graph)(np.array([8.0])), 10 - 8 / 19)


def test_importing_the_interface_imports_no_compiler():
    out = run(
        "import sys, relgraph.api.function, relgraph.backends.base, relgraph.lowering.buffers\n"
        "print([m for m in ('numba', 'llvmlite', 'scipy') if m in sys.modules])"
    )
    assert out == "[]\n"
