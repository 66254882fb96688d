"""Checkpoints: the gradient of a scan of scans is that of the scan, and less is kept."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.derivatives import checkpoints
from relgraph.derivatives.checkpoints import in_segments
from relgraph.ops.loops import Scan

RNG = np.random.default_rng(0)
A = RNG.standard_normal((3, 3)) / 3


def loss(A, h, xs, reverse):
    def step(h, x):
        h = np.tanh(A @ h + x)
        return h, h * x

    last, ys = rg.scan(step, h, xs, reverse=reverse)
    last = rg.fori_loop(0, len(xs), lambda i, c: 0.5 * np.sin(c) + 0.01 * i, last)
    return np.sum(ys**2) + np.sum(last)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [4, 10, 16, 37])
def test_the_gradient_with_checkpoints_is_that_of_finite_differences(length, reverse, monkeypatch):
    monkeypatch.setattr(checkpoints, "KEPT", 0)
    xs, h = RNG.standard_normal((length, 3)), np.ones(3)
    gradient = rg.grad(lambda *args: loss(*args, reverse), argnums=(0, 1, 2))
    graph = gradient.graph(A, h, xs)
    inner = [x.op.body.graph for x in graph if isinstance(x.op, Scan)]
    assert any(isinstance(x.op, Scan) for body in inner for x in body)
    value = rg.jit(lambda *args: loss(*args, reverse))
    arguments = [A, h, xs]
    for k, part in enumerate(gradient(*arguments)):
        for place in [(0,) * part.ndim, tuple(n - 1 for n in part.shape)]:
            moved = [x.copy() for x in arguments]
            step = 1e-6
            moved[k][place] += step
            above = value(*moved)
            moved[k][place] -= 2 * step
            slope = (above - value(*moved)) / (2 * step)
            assert abs(slope - part[place]) < 1e-7 * max(1, abs(slope))


def test_a_scan_in_segments_has_the_values_of_the_scan():
    xs = rg.matrix("xs", (37, 3))
    h = rg.vector("h", 3)
    last, ys = rg.scan(lambda h, x: (rg.tanh(A @ h + x), h), h, xs)
    scan = last.inputs[0]
    f = rg.function([h, xs], [last, ys, *in_segments(scan)])
    one, many, last_again, ys_again = f(np.ones(3), RNG.standard_normal((37, 3)))
    np.testing.assert_allclose(last_again, one, rtol=1e-14)
    np.testing.assert_allclose(ys_again, many, rtol=1e-14)


def test_short_scans_have_no_checkpoints():
    xs = np.ones((10, 3))
    graph = rg.grad(lambda h: loss(A, h, xs, False)).graph(np.ones(3))
    inner = [x.op.body.graph for x in graph if isinstance(x.op, Scan)]
    assert not any(isinstance(x.op, Scan) for body in inner for x in body)
