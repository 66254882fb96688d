"""Whole programs, rewritten by the default mode and simulated on the device, equal NumPy's."""

import numpy as np
import pytest
from scipy import special

import relgraph as rg
from relgraph.backends.cuda import adapter


def test_logistic_regression_and_its_gradient():
    X, y, b = rg.matrix("X", shape=("n", "k")), rg.vector("y", shape="n"), rg.vector("b", shape="k")
    z = X @ b
    loss = rg.mean(rg.log(1 + rg.exp(z)) - y * z)
    gradient = X.T @ (1 / (1 + rg.exp(-z)) - y) / 7.0
    f = rg.function([X, y, b], [loss, gradient], target="cuda")
    assert "on the CPU" not in f.source
    rng = np.random.default_rng(0)
    a, t, c = rng.normal(size=(7, 3)), rng.integers(0, 2, 7).astype(float), rng.normal(size=3)
    first, second = rg.cuda.to_host(f(a, t, c))
    np.testing.assert_allclose(first, np.mean(np.logaddexp(0, a @ c) - t * (a @ c)), rtol=1e-13)
    np.testing.assert_allclose(second, a.T @ (special.expit(a @ c) - t) / 7, rtol=1e-12)


def test_attention():
    q, k, v = (rg.tensor(name, shape=("h", "n", "d")) for name in "qkv")
    scores = q @ rg.transpose(k, (0, 2, 1)) * 0.5
    e = rg.exp(scores - rg.max(scores, axis=2, keepdims=True))
    f = rg.function([q, k, v], (e / rg.sum(e, axis=2, keepdims=True)) @ v, target="cuda")
    assert "on the CPU" not in f.source
    a, b, c = np.random.default_rng(1).normal(size=(3, 2, 4, 3))
    expected = special.softmax(a @ b.transpose(0, 2, 1) * 0.5, axis=2) @ c
    np.testing.assert_allclose(f(a, b, c).to_host(), expected, rtol=1e-13)


def test_a_layer_with_a_gate():
    x, w, b = rg.matrix("x", dtype="float32"), rg.matrix("w", dtype="float32"), rg.vector("b")
    h = x @ w + b
    f = rg.function([x, w, b], 0.5 * h * (1 + rg.erf(h / np.sqrt(2.0))), target="cuda")
    rng = np.random.default_rng(2)
    a, c = rng.normal(size=(3, 4)).astype("float32"), rng.normal(size=(4, 2)).astype("float32")
    d = rng.normal(size=2)
    g = a @ c + d
    expected = 0.5 * g * (1 + special.erf(g / np.sqrt(2.0)))
    np.testing.assert_allclose(f(a, c, d).to_host(), expected, rtol=1e-5)


def test_each_input_moves_once_and_nothing_moves_back(monkeypatch):
    moves = []
    for name in ("upload", "download"):
        real = getattr(adapter, name)
        monkeypatch.setattr(adapter, name, lambda *a, n=name, r=real: moves.append(n) or r(*a))
    x, y = rg.matrix("x", shape=("n", "n")), rg.matrix("y", shape=("n", "n"))
    product = rg.exp(x) @ y
    f = rg.function([x, y], [product + x, rg.sum(product, axis=0), y.T @ x], target="cuda")
    results = f(np.eye(3), np.ones((3, 3)))
    assert moves == ["upload", "upload"]
    f(results[0], results[2])
    assert moves == ["upload", "upload"]
    rg.cuda.to_host(results)
    assert moves[2:] == ["download"] * 3


def test_a_function_of_one_kernel_for_each_op():
    x = rg.matrix("x", shape=("n", "m"))
    mode = rg.mode("fast_run").excluding("fusion")
    f = rg.function([x], rg.exp(x) * 2 + rg.sum(x, axis=1, keepdims=True), mode=mode, target="cuda")
    assert f.source.count("def rgc_") > 3
    a = np.random.default_rng(3).normal(size=(3, 5))
    expected = np.exp(a) * 2 + a.sum(1, keepdims=True)
    np.testing.assert_allclose(f(a).to_host(), expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("mode", [None, "o1", "o2", "o3", "o4", "fast_compile"])
def test_every_mode(mode):
    x, y = rg.matrix("x"), rg.vector("y")
    outputs = [rg.log(rg.sum(rg.exp(x), axis=1)) + 0 * y, (x.T.T + 1 - 1) * y[:, None] * 1]
    f = rg.function([x, y], outputs, mode=mode, target="cuda")
    a, b = np.random.default_rng(4).normal(size=(3, 5)), np.arange(3.0)
    first, second = rg.cuda.to_host(f(a, b))
    np.testing.assert_allclose(first, special.logsumexp(a, axis=1), rtol=1e-13)
    np.testing.assert_allclose(second, a * b[:, None], rtol=1e-13)
