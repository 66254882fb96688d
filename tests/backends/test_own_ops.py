"""Ops of a user: what they are called decides nothing."""

import re

import numpy as np
import pytest

import relgraph as rg
from relgraph.ir.op import Op
from relgraph.ops.elementwise import ROWS

OTHER = "quite_another"
A = np.arange(12.0).reshape(3, 4) - 5.0


def names(cls=Op):
    """Return the names of all ops that relgraph has."""
    shipped = {x for c in cls.__subclasses__() for x in names(c)} | set(ROWS)
    if isinstance(cls.name, str) and cls.__module__.startswith("relgraph."):
        shipped.add(cls.name)
    return shipped


def declared(called):
    """Return an op of one operand and one of two, with a parameter, under a name."""

    class Turned(rg.Op):
        __slots__ = ()
        name = called
        parameters = ("k",)
        arity = 1

        def infer(self, x):
            return x

        def perform(self, x):
            return self.k - x

    class Weighed(Turned):
        __slots__ = ()
        arity = 2

        def infer(self, x, y):
            return x

        def perform(self, x, y):
            return self.k * x - y

    class Same(Turned):
        __slots__ = ()

        def perform(self, x):
            return x

    return Turned(3), Weighed(2), Same(0)


def graphs(x, called):
    turned, weighed, same = declared(called)
    y = x * 2.0
    return [
        rg.exp(turned(x)) + turned(turned(x)),
        rg.sum(weighed(x, y) @ turned(y).T, axis=0),
        -(-weighed(turned(x), x + 1.0))[0],
        *(same(y), turned(y) + 1.0),  # the first is a view of y, whose memory nothing may take over
        turned(rg.sum(y, axis=0)).at[1].add(1.0),
    ]


def expected(a):
    b = a * 2.0
    last = 3 - b.sum(axis=0)
    last[1] += 1.0
    return [
        np.exp(3 - a) + a,
        ((2 * a - b) @ (3 - b).T).sum(axis=0),
        (2 * (3 - a) - (a + 1.0))[0],
        *(b, 4 - b),
        last,
    ]


@pytest.mark.parametrize("called", sorted(names()))
def test_the_name_of_an_op_of_another_kind_is_free(called):
    x = rg.matrix("x", shape=("n", 4))
    f = rg.function([x], graphs(x, called))
    for value, right in zip(f(A), expected(A), strict=True):
        np.testing.assert_allclose(value, right, rtol=1e-13)


def shown(called):
    """Return the graphs as they are rewritten."""
    x = rg.matrix("x", shape=(None, 4))
    return rg.dprint(rg.rewrite_graph(graphs(x, called), mode="fast_run"))


@pytest.mark.parametrize("called", sorted(names()))
def test_graphs_are_rewritten_as_with_any_other_name(called):
    first, second = (re.sub(rf"\b{called}\b", OTHER, shown(name)) for name in (called, OTHER))
    assert first == second


@pytest.mark.parametrize("called", ["index", "add", "matmul", "sum"])
def test_kernels_are_those_of_any_other_name(called):
    x = rg.matrix("x", shape=("n", 4))
    first, second = (rg.function([x], graphs(x, name)).report() for name in (called, OTHER))
    assert first.kernels == second.kernels
    assert [OTHER if name == called else name for name in first.calls] == [
        OTHER if name == called else name for name in second.calls
    ]
