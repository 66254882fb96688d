"""Graphs of relgraph, translated to PyTensor's."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import UnsupportedOpError

pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed")

from relgraph.interop.pytensor import dump, load  # noqa: E402

x, y = rg.vectors("x y", shape=(3,))
A, B = rg.matrices("A B", shape=(3, 3))
i, n = rg.vector("i", 2, dtype="int64"), rg.scalar("n", dtype="int64")
u = rg.vector("u")
S = A @ A.mT + 3 * rg.eye(3)
RNG = np.random.default_rng(0)
VALUES = {
    x: RNG.standard_normal(3), y: RNG.standard_normal(3), A: RNG.standard_normal((3, 3)),
    B: RNG.standard_normal((3, 3)), i: np.array([2, 0]), n: np.array(2), u: RNG.standard_normal(4),
}  # fmt: skip

GRAPHS = {
    "elementwise": (x * y + 1, x / y, -x, x**2, rg.exp(x), rg.log1p(x**2), rg.maximum(x, y)),
    "logic": (rg.where((x > 0) & (y > 0), x, y), rg.logical_not(x > 0), rg.logical_or(x, y > 0)),
    "special functions": (
        rg.gammaln(rg.exp(x)), rg.erf(x), rg.softplus(x), rg.sigmoid(x), rg.ndtr(x),
        rg.xlogy(rg.exp(x), rg.exp(y)), rg.logaddexp(x, y), rg.digamma(rg.exp(x)),
    ),
    "casts": (x.astype("float32"), (x * 3).astype("int64"), n / 2),
    "reductions": (
        rg.sum(A, axis=0), rg.mean(A), rg.max(A, axis=1, keepdims=True), rg.logsumexp(A, axis=1),
        rg.argmax(A, axis=0), rg.any(x > 0), rg.prod(x), rg.softmax(A, axis=0),
    ),
    "shapes": (
        A.T, x[:, None] * y, rg.reshape(A, (9,)), rg.reshape(u, (n, -1)),
        rg.broadcast_to(x, (2, 3)),
        rg.broadcast_to(x, (rg.dim(u, 0), 3)), rg.concatenate([x, u]), rg.stack([x, y], axis=1),
        rg.squeeze(x[None], 0), rg.transpose(A[None], (2, 0, 1)),
    ),
    "indices": (
        A[1:, i], A[n, ::2], A.at[i].set(1.0), A.at[:n].add(x), x[-1], A[i][:, None], x[x > 0],
        x.at[x > 0].set(0.0),
    ),
    "cumulative": (rg.cumsum(A, axis=0), rg.cumprod(x), rg.sort(A, axis=0), rg.argsort(x)),
    "linear algebra": (
        A @ x, A @ B, x @ y, rg.outer(x, y), rg.inv(S), rg.det(A), rg.slogdet(A)[1],
        rg.cholesky(S), rg.solve(S, x), rg.solve(S, B), rg.eigh(S)[0], rg.kron(A, B),
        rg.solve_triangular(rg.tril(A), x, lower=True, trans=1), rg.trace(A), rg.diag(x, 1),
        rg.diag(A), rg.triu(A, 1), rg.block_diag(A, B), rg.einsum("i,ij,j->", x, A, y),
    ),
    "gradients": tuple(rg.grad(rg.sum(rg.log1p(rg.exp(A @ x))), [A, x])),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_pytensor_computes_the_values_of_numpy(name):
    graphs = list(GRAPHS[name])
    images = {}
    outputs = dump(graphs, images)
    for graph, output in zip(graphs, outputs, strict=True):
        assert output.dtype == graph.dtype
        assert output.ndim == graph.ndim
    inputs = [v for v in VALUES if v in images]
    call = pytensor.function([images[v] for v in inputs], outputs, mode="FAST_COMPILE")
    expected = rg.evaluate(graphs, VALUES, target="numpy", mode=None)
    for result, value in zip(call(*[VALUES[v] for v in inputs]), expected, strict=True):
        assert result.shape == np.shape(value)
        np.testing.assert_allclose(result, value, rtol=1e-10)


def test_what_is_dumped_loads_again():
    variables = {}
    output = dump(rg.sum(rg.exp(A @ x)), variables)
    assert output.type.dtype == "float64"
    assert variables[A].type.shape == (3, 3)
    back = load(output, {variables[A]: A, variables[x]: x})
    assert back is rg.sum(rg.exp(A @ x))


def test_shared_variables_and_containers():
    w = rg.shared([1.0, 2.0], name="w")
    both = dump({"w": w, "double": 2 * w})
    assert both["w"].get_value().tolist() == [1.0, 2.0]
    assert isinstance(dump((x, y)), tuple)


def test_all_unsupported_ops_are_listed_at_once():
    with pytest.raises(UnsupportedOpError) as caught:
        dump([rg.solve_sylvester(S, A, B) + 1, rg.copysign(x, y)])
    assert {name for name, _ in caught.value.facts} == {"solve_sylvester", "copysign"}
