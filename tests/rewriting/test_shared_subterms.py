"""Counting users from one graph to the next gives what counting them anew gives."""

import random

import pytest

import relgraph as rg
from relgraph.ir.graph import toposort
from relgraph.ops.indexing.update import SetIndex
from relgraph.rewriting import shared_subterms
from relgraph.rewriting.shared_subterms import Sharing, families, last_count

FAMILIES = families([rg.add, rg.multiply])
FAMILY = {rg.add: "+", rg.subtract: "+", rg.negative: "+", rg.multiply: "*"}


def counted_anew(outputs):
    """Return the closed applications, by the definition."""
    nodes = toposort(outputs)
    uses = {x: outputs.count(x) for x in nodes}
    nested = set()
    for node in nodes:
        for x in node.inputs:
            uses[x] += 1
            if FAMILY.get(node.op, node) is FAMILY.get(x.op, x):
                nested.add(x)
    return {x for x in nested if uses[x] > 1}


def grown(draw, pool, steps):
    """Return a pool with some more nodes, each on recent ones."""
    for _ in range(steps):
        x, y = draw.choice(pool[-6:]), draw.choice(pool)
        op = draw.choice((rg.add, rg.add, rg.multiply, rg.subtract, lambda a, b: rg.sin(a)))
        pool.append(op(x, y))
    return pool


@pytest.mark.parametrize("seed", range(40))
def test_counts_follow_a_sequence_of_graphs(seed):
    draw = random.Random(seed)
    pool = grown(draw, [rg.scalar(name) for name in "abcd"], 25)
    kept = Sharing()
    for _ in range(30):
        if draw.random() < 0.2:  # a graph that shares nothing with the last one
            pool = grown(draw, [rg.scalar(name) for name in "efgh"], 10)
        elif draw.random() < 0.5:
            pool = grown(draw, pool, 3)
        outputs = [draw.choice(pool[-8:]) for _ in range(draw.randint(1, 3))]
        assert kept.count(outputs, FAMILIES)[0] == counted_anew(outputs)


def test_a_large_graph_is_not_kept(monkeypatch):
    monkeypatch.setattr(shared_subterms, "KEPT", 10)
    kept = Sharing()
    x = rg.scalar("x")
    small = (x + 1) + 2
    node = small
    for _ in range(40):
        node = rg.sin(node)
    both = [node + small, small]
    assert kept.count(both, FAMILIES)[0] == counted_anew(both)
    assert not kept._users
    assert kept.count([small], FAMILIES)[0] == frozenset()


def test_outputs_count_as_users():
    x, y, z = (rg.scalar(name) for name in "xyz")
    inner = x + y
    kept = Sharing()
    assert kept.count([inner + z, inner], FAMILIES)[0] == {inner}
    assert kept.count([inner + z], FAMILIES)[0] == frozenset()
    assert kept.count([inner + inner], FAMILIES)[0] == {inner}
    assert kept.count([x], FAMILIES)[0] == frozenset()
    assert kept.count([inner + z, rg.sin(inner)], FAMILIES)[0] == {inner}


def test_each_selection_sees_its_own_families():
    x, y, z = (rg.scalar(name) for name in "xyz")
    total, product = x + y, x * y
    outputs = [total + z, total, product * z, product]
    kept = Sharing()
    assert kept.count(outputs, families([rg.add]))[0] == {total}
    assert kept.count(outputs, FAMILIES)[0] == {total, product}
    assert kept.count(outputs, families([rg.multiply]))[0] == {product}
    assert kept.count(outputs, {})[0] == frozenset()


def test_a_run_within_a_run_has_its_own_count():
    x = rg.scalar("x")
    with last_count() as outer:
        _, users = outer.count([rg.sin(x)], FAMILIES)
        with last_count() as inner:
            inner.count([rg.cos(x)], FAMILIES)
        assert inner is not outer
        assert set(users) == {rg.sin(x)}
    with last_count() as again:
        assert again is outer


def test_a_sum_that_something_else_needs_is_not_taken_apart():
    A, B = rg.vectors("A B", shape=(20,))

    def step(x):
        return 0.125 * (x[2:] - 2 * x[1:-1] + x[:-2]) + x[1:-1]

    first = B.at[1:-1].set(step(A))
    graph = [A.at[1:-1].set(step(first)), first]
    rewritten = rg.rewrite_graph(graph)
    assert rg.flops(rewritten) <= rg.flops(graph)
    assert isinstance(rewritten[0].op, SetIndex)
