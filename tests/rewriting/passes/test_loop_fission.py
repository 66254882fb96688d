"""Work that no iteration hands to the next leaves scans."""

import numpy as np

import relgraph as rg
from relgraph.ops.loops import Scan
from relgraph.rewriting.passes.loop_fission import LoopFission

RNG = np.random.default_rng(0)
W, U = RNG.standard_normal((12, 12)) / 4, RNG.standard_normal((12, 12)) / 4
XS = RNG.standard_normal((20, 12))
h = rg.vector("h", 12)
xs = rg.matrix("xs", (20, 12))


def bodies(graph):
    return [x.op.body.graph for x in rg.FunctionGraph(None, graph) if isinstance(x.op, Scan)]


def ops_of(body):
    return {x.op for x in body if x.op is not None}


def test_products_with_slices_become_one_product():
    last, _ = rg.scan(lambda h, x: (rg.tanh(W @ h + U @ x), None), h, xs)
    (new,) = rg.rewrite_graph([last], LoopFission())
    (body,) = bodies([new])
    assert sum(x.op is rg.matmul for x in body) == 1
    expected = np.zeros(12)
    for x in XS:
        expected = np.tanh(W @ expected + U @ x)
    np.testing.assert_allclose(rg.function([h, xs], last)(np.zeros(12), XS), expected, rtol=1e-12)


def test_functions_of_what_is_stacked_leave_the_loop():
    _, ys = rg.scan(lambda c, x: (0.5 * c + x, rg.exp(-c) * rg.log1p(x * x)), h, xs)
    (new,) = rg.rewrite_graph([ys], LoopFission())
    (body,) = bodies([new])
    assert ops_of(body).isdisjoint({rg.exp, rg.log1p})
    c, expected = np.ones(12), []
    for x in XS:
        expected.append(np.exp(-c) * np.log1p(x * x))
        c = 0.5 * c + x
    np.testing.assert_allclose(rg.function([h, xs], ys)(np.ones(12), XS), expected, rtol=1e-12)


def test_what_the_next_iteration_reads_stays():
    last, _ = rg.scan(lambda c, x: (rg.exp(-c) + x, None), h, xs)
    assert rg.rewrite_graph([last], LoopFission()) == [last]


def test_reversed_scans_divide_too():
    _, ys = rg.scan(lambda c, x: (c + rg.exp(x), rg.sin(c)), h, xs, reverse=True)
    (new,) = rg.rewrite_graph([ys], LoopFission())
    (body,) = bodies([new])
    assert ops_of(body).isdisjoint({rg.exp, rg.sin})
    c, expected = np.zeros(12), np.empty((20, 12))
    for i in range(19, -1, -1):
        expected[i] = np.sin(c)
        c = c + np.exp(XS[i])
    np.testing.assert_allclose(rg.function([h, xs], ys)(np.zeros(12), XS), expected, rtol=1e-12)


def test_a_scan_of_unknown_length_divides():
    x = rg.vector("x")
    last, _ = rg.scan(lambda c, x: (0.5 * c + rg.exp(x), None), 0.0, x)
    (new,) = rg.rewrite_graph([last], LoopFission())
    assert rg.exp not in ops_of(bodies([new])[0])
    for n in (0, 1, 5):
        values, expected = np.linspace(0, 1, n), 0.0
        for value in values:
            expected = 0.5 * expected + np.exp(value)
        assert abs(rg.function([x], last)(values) - expected) < 1e-12
