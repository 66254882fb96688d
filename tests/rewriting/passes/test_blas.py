"""Sums with a product as calls of BLAS: which sums, which calls, and the values."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg
from relgraph.ir.graph import free_inputs, toposort
from relgraph.rewriting.passes.blas import (
    GemmMotif,
    GemvMotif,
    GerMotif,
    NarrowGemmMotif,
    OuterInLoop,
    SyrkMotif,
)

A, B, C = rg.matrices("A B C", shape=("n", "n"))
S = rg.matrix("S", shape=("n", "n"), facts=("symmetric",))
x, y, z = rg.vectors("x y z", shape=("n",))
a, b = rg.scalars("a b")
outer = rg.outer
half = rg.matrix("half", shape=("n", "n"), dtype="float32")
whole = rg.matrix("whole", shape=("n", "n"), dtype="int64")
row = rg.matrix("row", shape=(1, "n"))
batch = rg.tensor("batch", shape=(2, "n", "n"))
U, V, W = rg.matrices("U V W")
SIZES = {"n": 6, None: 6}


def values_of(inputs):
    rng = np.random.default_rng(7)
    values = []
    for v in inputs:
        shape = tuple(SIZES.get(d, d) for d in v.type.shape)
        value = rng.standard_normal(shape) * 3
        values.append((value + value.T if v is S else value).astype(v.dtype))
    return values


def computed(inputs, graphs, **options):
    return rg.function(inputs, graphs, **options)(*values_of(inputs))


def calls(graphs):
    return [v.op.name for v in toposort(graphs) if v.op is not None]


SUMS = [
    # missing and negative numbers, in any order
    (C + A @ B, "gemm(C, 1, A, B, 1)"),
    (A @ B - C, "gemm(C, 1, A, B, -1)"),
    (C - A @ B, "gemm(C, -1, A, B, 1)"),
    (-(A @ B) - C, "gemm(C, -1, A, B, -1)"),
    (a * (A @ B) + b * C, "gemm(C, a, A, B, b)"),
    (b * C - a * (A @ B), "gemm(C, -a, A, B, b)"),
    (a * -(A @ B) + (C * 3) * 2, "gemm(C, -a, A, B, 6)"),
    ((C * 3) * b - 2 * (A @ B), "gemm(C * 3 * b, -2, A, B, 1)"),
    (half @ half + 2 * half, "gemm(half, 1, half, half, 2)"),
    # transposes
    (A.T @ B + C.T, "gemm(C.mT, 1, A.mT, B, 1)"),
    (A @ A + A.T, "gemm(A.mT, 1, A, A, 1)"),
    (y + A.T @ x, "gemv(y, 1, A.mT, x, 1)"),
    # longer sums
    (C + A @ B - S, "gemm(C - S, 1, A, B, 1)"),
    (-C - A @ B - S, "gemm(-C - S, -1, A, B, 1)"),
    (A @ B + x + C, "gemm(x + C, 1, A, B, 1)"),
    (A @ B + C @ A, "gemm(A @ B, 1, C, A, 1)"),
    (2 * (A @ B) - C @ A, "gemm(A @ B, -1, C, A, 2)"),
    (A @ B + C - B @ A, "gemm(gemm(C, 1, A, B, 1), -1, B, A, 1)"),
    (A @ B - 2 * rg.exp(C), "gemm(-(2 * exp(C)), 1, A, B, 1)"),
    # vectors
    (A @ x + y, "gemv(y, 1, A, x, 1)"),
    (b * y - A @ x, "gemv(y, -1, A, x, b)"),
    (x @ A - y, "gemv(y, 1, A.mT, x, -1)"),
    (A @ x + B @ y + z, "gemv(gemv(z, 1, A, x, 1), 1, B, y, 1)"),
    # outer products
    (C + outer(x, y), "ger(C, 1, x, y)"),
    (2 * C - a * outer(x, y), "ger(2 * C, -a, x, y)"),
    (outer(x, y) - outer(y, z) + A @ B, "ger(ger(A @ B, 1, x, y), -1, y, z)"),
    # a matrix and its transpose
    (S + A @ A.T, "syrk(S, 1, A, 1)"),
    (b * S - a * (A.T @ A), "syrk(S, -a, A.mT, b)"),
    (A @ A.T + B @ B.T, "syrk(A @ A.mT, 1, B, 1)"),
    # sizes that are not known are compared at the call
    (U @ V + W, "gemm(W, 1, U, V, 1)"),
    # a sum in a product in a sum
    (A @ (B @ C + S) + B, "gemm(B, 1, A, gemm(S, 1, B, C, 1), 1)"),
]


@pytest.mark.parametrize(("graph", "expected"), SUMS, ids=[text for _, text in SUMS])
def test_a_sum_becomes_a_call(graph, expected):
    result = rg.rewrite_graph(graph, SyrkMotif(), GerMotif(), GemvMotif(), GemmMotif())
    assert result.type.narrows(graph.type)
    assert str(result) == expected
    inputs = free_inputs([graph])
    tolerance = 1e-4 if graph.dtype == "float32" else 1e-10
    want = computed(inputs, graph, mode=None, target="numpy")
    for target in ("numpy", "cpu"):
        found = computed(inputs, result, mode=None, target=target)
        np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance)


NEAR = {
    "stretched rows": A @ B + x,
    "stretched column": A @ B + x[:, None],
    "a row": A @ B + row,
    "a number": A @ B + a,
    "read elsewhere": None,
    "integers": whole @ whole + whole,
    "wider than the product": half @ half + C,
    "a product that is widened": (half @ half).astype("float64") + C,
    "a batch": batch @ batch + batch,
    "a matrix times a stretched batch": batch + A @ B,
    "a dot product": x @ y + a,
    "one product": 2 * (A @ B),
    "a product of elements": A * B + C,
    "no symmetric matrix": C + A @ A.T,
    "its transpose is another": S.T + (A @ B.T) * C,
    "elementwise": x[:, None] * y + C,
    "twice the same": A @ B + A @ B,
}


@pytest.mark.parametrize("name", NEAR)
def test_what_is_no_such_sum_stays(name):
    graph = NEAR[name]
    if graph is None:
        shared = A @ B
        graphs = [shared + C, rg.exp(shared)]
    else:
        graphs = [graph]
    for motif in (SyrkMotif(), GerMotif(), GemvMotif(), GemmMotif()):
        assert rg.rewrite_graph(graphs, motif) == graphs


@pytest.mark.parametrize(
    "graph",
    [rg.exp(A @ B + C), rg.sum(A @ x + y), 2 * (C + outer(x, y)), (S + A @ A.T) * B, A @ B + C + x],
)
def test_what_is_added_up_in_the_loop_of_its_reader_stays(graph):
    for motif in (SyrkMotif(), GerMotif(), GemvMotif()):
        assert rg.rewrite_graph(graph, motif) is graph
    if "+ x" not in str(graph):
        assert rg.rewrite_graph(graph, GemmMotif()) is graph


def test_each_name_selects_and_excludes_its_call():
    graphs = {"gemm": C + A @ B, "gemv": y + A @ x, "ger": C + outer(x, y), "syrk": S + A @ A.T}
    every = rg.mode("o4").including("BlasOpt")
    for name, graph in graphs.items():
        for tag in (name, "blas", "BlasOpt"):
            assert calls([rg.rewrite_graph(graph, mode=rg.mode("o4").including(tag))])[-1] == name
        assert calls([rg.rewrite_graph(graph, include=[name])])[-1] == name
        assert name not in calls([rg.rewrite_graph(graph, mode=every.excluding(name))])
        assert name not in calls([rg.rewrite_graph(graph, mode="o4")])
        assert f" {name} " in str(rg.optdb.query(every))
        assert f" {name} " not in str(rg.optdb.query(every.excluding(name)))
    kept = rg.mode("o4", nonfinite="keep").including("BlasOpt")
    assert calls([rg.rewrite_graph(C + A @ B, mode=kept)]) == ["matmul", "add"]


def narrow(rows, terms, columns, dtype="float64"):
    shapes = {"L": (rows, columns), "M": (rows, terms), "N": (terms, columns)}
    left, m, n = (rg.matrix(name, shape, dtype) for name, shape in shapes.items())
    return left + m @ n


@pytest.mark.parametrize(
    ("sizes", "dtype", "fires"),
    [
        ((600, 20, 600), "float64", True),
        ((600, 20, 600), "float32", True),
        ((256, 128, 4096), "float32", True),
        ((600, 129, 600), "float64", False),
        ((255, 20, 4096), "float64", False),
        ((4096, 20, 255), "float64", False),
        ((300, 20, 300), "float64", False),
        ((500, 20, 500), "float32", False),
        (("m", 20, 600), "float64", False),
        ((600, "k", 600), "float64", False),
    ],
)
def test_modes_call_blas_where_sizes_prove_that_it_costs_no_more(sizes, dtype, fires):
    graph = narrow(*sizes, dtype)
    assert (rg.rewrite_graph(graph, NarrowGemmMotif()) is not graph) is fires
    for mode in ("o4", "o3", "unsafe", "o2", "o1", "stabilization"):
        found = calls([rg.rewrite_graph(graph, mode=mode)])
        assert ("gemm" in found) is (fires and mode in ("o4", "o3", "unsafe"))
    without = rg.mode("o4").excluding("gemm")
    assert "gemm" not in calls([rg.rewrite_graph(graph, mode=without)])


def test_modes_keep_the_products_of_a_graph_in_one_blas():
    graph = narrow(600, 20, 600)
    product = U @ V
    assert rg.rewrite_graph([graph, product], NarrowGemmMotif()) == [graph, product]
    assert calls(rg.rewrite_graph([graph, rg.exp(W)], NarrowGemmMotif())) == ["gemm", "exp"]


def test_relations_and_other_passes_come_first():
    mode = rg.mode("o4").including("gemm", "gemv")
    distributed = A @ x + A @ y + z
    assert str(rg.rewrite_graph(distributed, mode=mode)) == "gemv(z, 1, A, x + y, 1)"
    chain = A @ B @ x + y
    assert str(rg.rewrite_graph(chain, mode=mode)) == "gemv(y, 1, A, B @ x, 1)"
    scaled = (a * A) @ B - -(b * C)
    assert str(rg.rewrite_graph(scaled, mode=mode)) == "gemm(C, a, A, B, b)"


def overwriting(f):
    """Return the names of the ops of a compiled function that change their array."""
    calls = f._program._main.__globals__
    return sorted(
        call.node.op.name
        for name, call in calls.items()
        if name.startswith("call_") and getattr(call.perform, "__name__", "") == "overwrite"
    )


def test_the_array_is_taken_over_where_nothing_else_reads_it():
    mode = rg.mode("o4").including("BlasOpt")
    inputs = [A, B, C, S, x, y]
    values = values_of(inputs)
    n = dict(zip("ABCSxy", values, strict=True))
    gram = n["A"] @ n["A"].T
    cases = {
        "gemm": (A @ B + rg.exp(C), n["A"] @ n["B"] + np.exp(n["C"])),
        "gemv": (A @ x - rg.exp(y), n["A"] @ n["x"] - np.exp(n["y"])),
        "ger": (outer(x, y) - rg.exp(C), np.outer(n["x"], n["y"]) - np.exp(n["C"])),
        "syrk": (A @ A.T + rg.exp(S), gram + np.exp(n["S"])),
    }
    for name, (graph, expected) in cases.items():
        before = [v.copy() for v in values]
        for chosen, taken in ((mode, [name]), (mode.excluding("inplace_setsubtensor"), [])):
            f = rg.function(inputs, graph, mode=chosen)
            assert overwriting(f) == taken
            np.testing.assert_allclose(f(*values), expected, rtol=1e-10, atol=1e-10)
        for v, kept in zip(values, before, strict=True):
            np.testing.assert_array_equal(v, kept)


def test_an_array_that_others_read_is_copied():
    mode = rg.mode("o4").including("BlasOpt")
    shared = rg.exp(C)
    graphs = [A @ B + shared, shared, C + A @ B, rg.tanh(B) + rg.tanh(B) @ A]
    f = rg.function([A, B, C], graphs, mode=mode)
    assert overwriting(f) == []
    values = values_of([A, B, C])
    p, q, r = values
    expected = [p @ q + np.exp(r), np.exp(r), r + p @ q, np.tanh(q) + np.tanh(q) @ p]
    for found, want in zip(f(*values), expected, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-10, atol=1e-10)


def test_what_is_computed_from_views_of_the_array():
    mode = rg.mode("o4").including("BlasOpt")
    first = rg.exp(C)
    f = rg.function([A, C], first + first.T @ A, mode=mode)
    p, r = values_of([A, C])
    np.testing.assert_allclose(f(p, r), np.exp(r) + np.exp(r).T @ p, rtol=1e-10, atol=1e-10)


def test_a_sum_of_ten_thousand_products():
    terms = [A @ rg.vector(f"v{i}", shape=("n",)) for i in range(10_000)]
    total = terms[0]
    for term in terms[1:]:
        total = total - term
    found = calls([rg.rewrite_graph(total, GemvMotif())])
    assert found.count("gemv") == 9_999
    assert found.count("matmul") == 1


def test_an_outer_product_is_computed_in_the_loop_that_reads_it():
    graphs = [C - 2 * outer(x, y), rg.sum(outer(x, x), axis=0), outer(y, x), rg.exp(outer(y, y))]
    graphs.append(A @ outer(z, y))
    found = rg.rewrite_graph(graphs, OuterInLoop())
    assert list(map(str, found)) == [
        "C - 2 * (expand_dims(x, axes=(-1,)) * y)",
        "sum(expand_dims(x, axes=(-1,)) * x, axis=(-2,))",
        "outer(y, x)",
        "exp(expand_dims(y, axes=(-1,)) * y)",
        "A @ outer(z, y)",
    ]
    inputs = [A, C, x, y, z]
    wanted = computed(inputs, graphs, mode=None, target="numpy")
    for p, q in zip(computed(inputs, found, mode=None), wanted, strict=True):
        np.testing.assert_allclose(p, q, rtol=1e-12)
    shared = outer(x, y)
    kept = [rg.exp(shared), A @ shared]
    assert rg.rewrite_graph(kept, OuterInLoop()) == kept
    small = rg.vector("small", shape=(3,), dtype="int8")
    (integers,) = rg.rewrite_graph([outer(small, small) + 1], OuterInLoop())
    assert integers.type == (outer(small, small) + 1).type


def test_numbers_are_multiplied_only_where_their_dtype_holds_the_product():
    product = A @ C
    large, small = np.float64(1e200), np.float64(1e-200)
    kept = [C + large * (large * product), C + small * (small * product)]
    a, b = rg.scalars("a b")
    kept.append(C + a * (b * product))
    assert rg.rewrite_graph(kept, GemmMotif()) == kept
    assert str(rg.rewrite_graph(C + 2.0 * (3.0 * product), GemmMotif())) == "gemm(C, 6, A, C, 1)"
