"""Bodies are rewritten; what stays the same leaves loops; scans are merged and pruned."""

import numpy as np

import relgraph as rg
from relgraph.ops.loops import Cond, Scan

x = rg.vector("x", "n")
a = rg.scalar("a")


def scan_of(graph):
    (node,) = [n for n in rg.FunctionGraph(None, graph) if isinstance(n.op, Scan)]
    return node


def test_bodies_are_rewritten():
    last, _ = rg.scan(lambda c, x: (rg.log(1 + rg.exp(c)) + x - 0 * x, None), 0.0, x)
    body = scan_of(rg.rewrite_graph([last], mode="o4")).op.body.graph
    assert {n.op for n in body if n.op} == {rg.softplus, rg.add}


def test_a_relation_of_a_user_fires_in_bodies():
    @rg.identity(specials="assumes_finite")
    def double_sineo(y):
        """sin(y) cos(y) = sin(2 y) / 2."""
        return rg.sin(y) * rg.cos(y), rg.sin(2 * y) / 2

    last, _ = rg.scan(lambda c, x: (rg.sin(c) * rg.cos(c) + x, None), 0.0, x)
    body = scan_of(rg.rewrite_graph([last], double_sineo)).op.body.graph
    assert rg.cos not in {n.op for n in body}


def test_what_stays_the_same_leaves_the_loop():
    last, _ = rg.scan(lambda c, x: (c * (rg.exp(a) * 2) + x, None), 0.0, x)
    node = scan_of([last])
    assert rg.exp in {n.op for n in node.inputs[3].inputs} | {node.inputs[3].op}
    assert rg.exp not in {n.op for n in node.op.body.graph}


def test_what_a_choice_computes_stays_in_it():
    y = rg.cond(a > 0, lambda: rg.log(a), lambda: rg.exp(a))
    (node,) = [n for n in rg.FunctionGraph(None, [y]) if isinstance(n.op, Cond)]
    assert set(node.inputs) == {node.inputs[0], a}
    (new,) = rg.rewrite_graph([y])
    assert {n.op for n in new.inputs[0].op.then.graph if n.op} == {rg.log}


def test_scans_that_carry_the_same_are_one():
    first = rg.scan(lambda c, x: (a * c + x, c), 0.0, x)[1]
    second = rg.scan(lambda c, x: (a * c + x, c + x), 0.0, x)[1]
    new = rg.rewrite_graph([first, second])
    scan_of(new)
    values = np.arange(4.0)
    got = rg.function([a, x], [first, second])(0.5, values)
    c, expected = 0.0, []
    for value in values:
        expected.append((c, c + value))
        c = 0.5 * c + value
    np.testing.assert_allclose(np.transpose(got), expected)


def test_nobody_computes_what_nobody_reads():
    (count, total), ys = rg.scan(
        lambda c, x: ((c[0] + 1, c[1] + x), (rg.sin(x), rg.cos(c[0]))), (0.0, 0.0), x
    )
    node = scan_of(rg.rewrite_graph([total], mode="o1"))
    assert node.op.carries == 1
    assert len(node.type.items) == 1
    values = np.arange(3.0)
    assert rg.function([x], total)(values) == 3
    assert rg.function([x], count)(values) == 3
    np.testing.assert_allclose(rg.function([x], ys[1])(values), np.cos([0, 1, 2]))


def test_nested_loops_keep_their_inputs_apart():
    def outer(c, x):
        inner, _ = rg.scan(lambda d, y: (d * 0.5 + y * x, None), c, xs)
        return inner, inner

    xs = rg.vector("xs", "m")
    last, _ = rg.scan(outer, 1.0, x)
    f = rg.function([x, xs], last)
    c = 1.0
    for u in np.arange(3.0):
        for v in np.arange(2.0):
            c = c * 0.5 + v * u
    np.testing.assert_allclose(f(np.arange(3.0), np.arange(2.0)), c)
