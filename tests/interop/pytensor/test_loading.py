"""Graphs of PyTensor, translated: values, dtypes, shapes and names."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, UnsupportedOpError

pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed")

import pytensor.tensor as pt  # noqa: E402
from pytensor.tensor import nlinalg, slinalg  # noqa: E402
from pytensor.tensor.basic import alloc_diag  # noqa: E402

from relgraph.interop.pytensor import compile, load  # noqa: E402

x, y = pt.dvector("x"), pt.dvector("y")
A, B = pt.dmatrix("A"), pt.dmatrix("B")
T = pt.dtensor3("T")
i = pt.lvector("i")
n = pt.lscalar("n")
b = pt.vector("b", dtype="bool")
f = pt.fvector("f")
S = A @ A.T + 3 * pt.eye(3)

RNG = np.random.default_rng(0)
VALUES = {
    x: RNG.standard_normal(3), y: RNG.standard_normal(3), A: RNG.standard_normal((3, 3)),
    B: RNG.standard_normal((3, 3)), T: RNG.standard_normal((2, 3, 3)), i: np.array([2, 0, 2]),
    n: np.array(2), b: np.array([True, False, True]), f: np.float32([0.5, -1.5, 2.5]),
}  # fmt: skip

GRAPHS = {
    "sum of three": x + y + x,
    "product and quotient": x * y / (1 + x**2),
    "integers": (i // 2, i % 2, i**2, -i),
    "integer quotient": i / 2,
    "float32": (f + 1, f / 2, pt.exp(f), f.sum(), f.mean(), f + x),
    "comparison and switch": pt.switch(x > y, x, y),
    "logic": (b & ~b, b | (x > 0), b ^ b, pt.and_(i, 6)),
    "clip": pt.clip(x, -0.5, 0.5),
    "clip with crossing bounds": pt.clip(x, 0.5, -0.5),
    "rounding": (pt.round(x * 3), pt.floor(x), pt.ceil(x), pt.trunc(x), pt.sign(x)),
    "rounding half away": pt.round(pt.round(x * 4) / 2, mode="half_away_from_zero"),
    "special functions": (
        pt.gammaln(pt.abs(x)), pt.digamma(pt.abs(x)), pt.erf(x), pt.erfc(x), pt.erfcx(x),
        pt.erfinv(pt.tanh(x)), pt.sigmoid(x), pt.softplus(x), pt.log1mexp(-pt.abs(x)),
        pt.gammainc(2.0, pt.abs(x)), pt.gammaincc(pt.abs(x), 2.0),
        pt.betainc(2.0, 3.0, pt.sigmoid(x)), pt.i0(x), pt.i1(x), pt.iv(2.5, pt.abs(x)), pt.j0(x),
        pt.kve(1.5, pt.abs(x)), pt.tri_gamma(pt.abs(x)), pt.polygamma(1, pt.abs(x)),
        pt.gamma(pt.abs(x)), pt.hyp2f1(1.0, 2.0, 3.0, pt.tanh(x) / 2), pt.owens_t(x, y),
    ),
    "reductions": (
        A.sum(), A.sum(axis=0), A.prod(axis=1), A.max(axis=0), A.min(), A.mean(axis=1),
        A.var(axis=0), pt.any(A > 1, axis=0), pt.all(A > -9), pt.logsumexp(A, axis=1),
    ),
    "arguments of extremes": (A.argmax(axis=0), A.argmin(axis=1), A.argmax()),
    "arguments of extremes over axes": T.argmax(axis=(0, 2)),
    "cumulative": (pt.cumsum(x), pt.cumprod(A, axis=1), pt.cumsum(A)),
    "sort": (pt.sort(A, axis=0), pt.argsort(x)),
    "softmax": (pt.special.softmax(A, axis=1), pt.special.log_softmax(A, axis=0)),
    "shapes": (A.shape, A.shape[0], x.shape[0] + n, A.size),
    "reshape": (A.reshape((9,)), A.reshape((-1, 1)), T.reshape((A.shape[0], 6)), A.flatten()),
    "transpose": (A.T, T.transpose(2, 0, 1), A[None, :, None], x[:, None] * y[None, :]),
    "squeeze": (pt.specify_shape(A[:1], (1, 3))[0], x[None, :].squeeze(0)),
    "broadcasts": (pt.zeros((2, x.shape[0])), pt.alloc(x, 2, 3), pt.full_like(A, 2.0)),
    "ranges": (pt.arange(5), pt.arange(n), pt.arange(0, x.shape[0]), pt.arange(1, n + 4, 2)),
    "identity matrices": (pt.eye(3), pt.eye(n), pt.eye(2, 3, 1)),
    "diagonals": (
        pt.diag(x), pt.diag(A), A.diagonal(1), pt.diag(x, -1), alloc_diag(A, axis1=1, axis2=2),
    ),
    "slices": (x[1:], x[::-1], A[:, 1:], A[n - 1], A[:n], T[..., 0], x[n], x[-1], A[::2, ::-1]),
    "index arrays": (x[i], A[i], A[i, i], A[:, i], A[i][:, None], T[0, i], x[b], A[b]),
    "updates": (
        pt.set_subtensor(x[1:], 0.0), pt.inc_subtensor(x[i], 1.0), pt.set_subtensor(A[0], x),
        pt.inc_subtensor(A[i, i], x), pt.set_subtensor(x[n], 5.0), pt.inc_subtensor(A[:n], 1.0),
        pt.set_subtensor(x[b], 0.0),
    ),
    "joins": (
        pt.concatenate([x, y]), pt.stack([x, y], axis=1), pt.join(1, A, B),
        pt.as_tensor([x[0], y[1], 2.0]), pt.tile(x, 2), pt.repeat(x, 2),
    ),
    "split": pt.split(A, splits_size=[1, 2], n_splits=2, axis=1),
    "products": (A @ x, x @ A, x @ y, A @ B, pt.dot(A, B), pt.outer(x, y), T @ T, T @ A, T @ x),
    "tensordot": (pt.tensordot(A, B, axes=1), pt.tensordot(T, A, axes=[[2], [0]])),
    "systems": (
        pt.linalg.solve(S, x), pt.linalg.solve(S, B), pt.linalg.solve(S, x, assume_a="pos"),
        slinalg.solve_triangular(pt.tril(A), x, lower=True),
        slinalg.solve_triangular(pt.triu(A), B, lower=False),
        slinalg.cho_solve((pt.linalg.cholesky(S), True), x),
    ),
    "batches of systems": (
        pt.linalg.inv(T), pt.linalg.det(T), pt.linalg.solve(T, x, b_ndim=1),
        pt.linalg.cholesky(T @ T.mT + pt.eye(3)), pt.linalg.solve(T, T), pt.linalg.slogdet(T)[1],
    ),
    "factorisations": (
        pt.linalg.cholesky(S), pt.linalg.inv(S), pt.linalg.det(A), nlinalg.slogdet(A)[0],
        nlinalg.slogdet(A)[1], pt.linalg.eigh(S)[0], nlinalg.svd(A, compute_uv=False),
        pt.linalg.expm(A), slinalg.eigvalsh(S, pt.eye(3)), pt.linalg.kron(A, B), pt.trace(A),
        slinalg.block_diag(A, B), pt.linalg.cholesky(S, lower=False),
    ),
    "triangles": (pt.tril(A), pt.triu(A, 1)),
    "gradients": tuple(
        pytensor.grad(loss, wrt)
        for loss, wrt in [
            (pt.sum(pt.log1p(pt.exp(A @ x))), x), ((x[i] ** 2).sum(), x), (pt.logsumexp(A), A),
            (pt.linalg.slogdet(S)[1], A), (pt.linalg.cholesky(S).sum(), A),
            (pt.linalg.solve(S, x).sum(), A), (pt.linalg.eigh(S)[0][0], A), (pt.max(A), A),
            (pt.prod(x), x), (pt.gammaln(pt.exp(x)).sum(), x), (pt.cumsum(x)[1], x),
            (pt.special.softmax(x)[0], x), (pt.linalg.det(T).sum(), T),
            (pt.gammainc(pt.exp(x), 2.0).sum(), x), (pt.linalg.eigh(S)[1][0, 0], A),
            (pt.betainc(pt.exp(x), 2.0, 0.3).sum(), x),
        ]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_values_and_dtypes_are_those_of_pytensor(name):
    outputs = GRAPHS[name]
    outputs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    expected = pytensor.function(
        list(VALUES), outputs, mode="FAST_COMPILE", on_unused_input="ignore"
    )(*VALUES.values())
    images = {}
    graphs = load(outputs, images)
    for graph, variable in zip(graphs, outputs, strict=True):
        assert graph.dtype == variable.dtype
        assert graph.ndim == variable.ndim
        for ours, theirs in zip(graph.type.shape, variable.type.shape, strict=True):
            assert theirs is None or ours == theirs
    values = {images[v]: value for v, value in VALUES.items() if v in images}
    results = rg.evaluate(graphs, values, target="cpu", mode="fast_run")
    for result, value in zip(results, expected, strict=True):
        assert np.shape(result) == value.shape
        rtol = 1e-6 if value.dtype == "float32" else 1e-10
        np.testing.assert_allclose(result, value, rtol=rtol, atol=1e-12)


def test_names_are_kept_where_they_are_identifiers_and_differ():
    a, b, c = pt.dvector("a"), pt.dvector("a"), pt.dvector("beta[1]")
    graph = load((a + b) * c + pt.dvector())
    names = [v.name for v in rg.FunctionGraph(None, graph).inputs]
    assert names[0] == "a"
    assert len(set(names)) == 4
    assert all(name.isidentifier() for name in names)


def test_containers_and_known_variables():
    u = rg.vector("u", 3)
    both = load({"sum": x.sum(), "exp": pt.exp(x)}, {x: u})
    assert both["sum"] is rg.sum(u)
    assert both["exp"] is rg.exp(u)
    assert isinstance(load((x, y)), tuple)


def test_static_shapes_constants_and_shared_variables():
    p = pt.tensor("p", shape=(None, 3), dtype="float32")
    w = pytensor.shared(np.arange(3.0), name="w")
    images = {}
    graph = load(p * 2 + w, images)
    assert images[p] is rg.tensor("p", (None, 3), "float32")
    assert isinstance(images[w], rg.Shared)
    assert rg.evaluate(graph, {images[p]: np.ones((1, 3), "float32")}).tolist() == [[2, 3, 4]]
    images[w].set_value(np.zeros(3))
    assert w.get_value().tolist() == [0, 1, 2]


def test_assertions_stay():
    from pytensor.raise_op import Assert

    graph = load(Assert("x must be positive")(x, (x > 0).all()))
    function = rg.function(None, graph)
    assert function([1.0, 2.0]).tolist() == [1.0, 2.0]
    with pytest.raises(rg.errors.DomainError, match="x must be positive"):
        function([1.0, -2.0])


def test_inner_graphs_are_inlined():
    from pytensor.compile.builders import OpFromGraph

    op = OpFromGraph([x, y], [x * y + 1, pt.exp(x)])
    product, exponential = op(y, x)
    graphs = load([product, exponential])
    assert len(rg.FunctionGraph(None, graphs)) == 6
    values = {"x": [1.0, 2.0], "y": [3.0, 4.0]}
    assert rg.evaluate(graphs, values)[0].tolist() == [4.0, 9.0]
    fused = pytensor.function([x, y], pt.exp(x) * y + 1, mode="FAST_RUN").maker.fgraph
    (output,) = load(list(fused.outputs))
    assert "exp" in str(output)


def test_all_unsupported_ops_are_listed_at_once():
    with pytest.raises(UnsupportedOpError) as caught:
        load([x + pt.random.normal(size=3), pt.searchsorted(x, y)])
    reasons = dict(caught.value.facts)
    assert "draws of random numbers" in reasons["NormalRV"]
    assert reasons["SearchsortedOp"] == "relgraph has no such op"


def test_an_output_of_relgraph_is_refused():
    with pytest.raises(ArgumentError, match="not a variable of PyTensor"):
        load(rg.vector("x"))


def test_compile_takes_the_arguments_of_function():
    w, rate = pytensor.shared(np.ones(3), name="w"), pt.dscalar("rate")
    call = compile(
        [x, pytensor.In(rate, value=0.5)], [(w * x).sum(), x], updates=[(w, w - rate * x)]
    )
    total, same = call(np.arange(3.0))
    assert isinstance(total, np.ndarray)
    assert (total, same.tolist()) == (3.0, [0, 1, 2])
    assert w.get_value().tolist() == [1, 0.5, 0]
    call(np.arange(3.0), rate=1.0)
    assert w.get_value().tolist() == [1, -0.5, -2]
    single = compile([x], x * y, givens={y: 2 * x})
    assert single(np.ones(3)).tolist() == [2, 2, 2]
    for wrong in (call, lambda: call(np.ones(3), speed=1), lambda: compile([x * y], x)):
        with pytest.raises(ArgumentError) as caught:
            wrong()
        assert caught.value.fix


def test_the_mode_runs_functions_of_pytensor():
    w = pytensor.shared(np.ones(3), name="w")
    call = pytensor.function([x], [(w * x).sum(), w], updates={w: w * 2}, mode="RELGRAPH")
    assert [r.tolist() for r in call(np.arange(3.0))] == [3.0, [1, 1, 1]]
    assert [r.tolist() for r in call(np.arange(3.0))] == [6.0, [2, 2, 2]]
    with pytest.raises(UnsupportedOpError, match="draws of random numbers"):
        pytensor.function([], pt.random.normal(size=3), mode="RELGRAPH")
