"""Loops and choices print as calls of their functions, with bodies as functions of Python."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ShapeError
from relgraph.ir.diagram import described, label

a, n = rg.scalar("a"), rg.scalar("n", "int64")
x = rg.vector("x", ("n",))
A = rg.matrix("A", (3, 3))


def loop(node):
    """Return the loop of a result."""
    return node.inputs[0]


def nested(c, row):
    return c + rg.scan(lambda s, e: (s * c + e, None), 0.0, row)[0], c


TEXTS = {
    "scan(lambda carry, slice: (a * carry + slice, carry), 0, x)": rg.scan(
        lambda c, x: (a * c + x, c), 0.0, x
    )[1],
    "scan(lambda carry, slice: (carry + slice, None), 0, x, reverse=True)": rg.scan(
        lambda c, x: (c + x, None), 0.0, x, reverse=True
    )[0],
    "scan(lambda slice: (None, 2 * slice), None, x)": rg.scan(lambda c, x: (c, 2 * x), None, x)[1],
    "scan(lambda carry_0, carry_1: ((carry_1, carry_0), carry_0), (a, 0), length=n)": rg.scan(
        lambda c, _: ((c[1], c[0]), c[0]), (a, 0.0), length=n
    )[1],
    "scan(lambda index, carry: ((index + 1) * carry, None), a, length=8)": rg.fori_loop(
        1, 9, lambda i, c: i * c, a
    ),
    "scan(lambda carry: (carry * operand_0, None), a, length=3, operand_0=exp(a))": rg.fori_loop(
        0, 3, lambda i, c: c * rg.exp(a), a
    ),
    "while_loop(lambda carry: carry < 9, lambda carry: 2 * carry, a)": rg.while_loop(
        lambda v: v < 9.0, lambda v: 2 * v, a
    ),
    "cond(a > 0, lambda: 2 * x, lambda: -x)": rg.cond(a > 0, lambda v: 2 * v, lambda v: -v, x),
    "scan(lambda carry, slice: ..., 0, x)": rg.scan(
        lambda c, x: (rg.tanh(a * c + x) / rg.cosh(c + x * x), rg.log(1 + rg.exp(c))), 0.0, x
    )[1],
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_loop_is_a_call(text):
    assert str(loop(TEXTS[text])) == text


def test_names_of_operands_are_not_those_of_arguments():
    inner = rg.scan(nested, 0.0, A)[1]
    assert str(rg.pprint(inner)) == inspect.cleandoc("""
        def body0(carry, slice):
            return (carry + getitem(scan(lambda carry_, slice: (carry_ * carry + slice, None), 0, slice), index=0), carry)
        t0 = scan(body0, 0, A)
        getitem(t0, index=1)""")  # noqa: E501  (the line is as long as its parts)


def test_long_bodies_are_functions_before_the_statement():
    def step(c, x):
        y = rg.exp(c * rg.log(rg.sqrt(a * a + 1) + a)) + x * rg.sqrt(2 * a)
        return y / (1 + y), y

    last, ys = rg.scan(step, 0.0, x)
    assert str(rg.pprint([last, ys], names=["last", "ys"])) == inspect.cleandoc("""
        t0 = log(sqrt(a * a + 1) + a)
        def body0(carry, slice):
            t1 = exp(carry * t0) + slice * sqrt(2 * a)
            return (t1 / (1 + t1), t1)
        t2 = scan(body0, 0, x)
        last = getitem(t2, index=0)
        ys = getitem(t2, index=1)""")


def test_all_names_differ():
    def step(c, x):
        y = rg.exp(c) + rg.exp(c * x)
        return y / (1 + y), y

    first = rg.scan(step, 0.0, x)[1]
    second = rg.scan(step, 1.0, first / rg.sum(first))[1]
    lines = str(rg.pprint(second)).splitlines()
    names = [line.strip().partition(" = ")[0] for line in lines if " = " in line]
    assert len(set(names)) == len(names) == 6
    assert [line for line in lines if line.startswith("def")] == [
        "def body0(carry, slice):",
        "def body1(carry, slice):",
    ]


def test_a_result_that_occurs_twice_has_a_name():
    def step(c, x):
        c = rg.tanh(c * x + 0.5) * rg.exp(c * x + 0.25) + rg.log1p(x * x)
        return c, c

    text = str(rg.pprint(rg.scan(step, 0.0, x)[1]))
    assert "return (t1, t1)" in text


def test_a_tree_has_bodies_above_operands():
    text = str(rg.dprint(rg.cond(a > 0, lambda v: 2 * v, lambda v: v, x)))
    assert text == inspect.cleandoc("""
        getitem{index=0} [0] float64[n]
        └─ cond [1] (float64[n])
           ├─ then(argument_0)
           │  └─ multiply [2] float64[n]
           │     ├─ 2 float64[]
           │     └─ argument_0 float64[n]
           ├─ other(argument_0)
           │  └─ argument_0 float64[n]
           ├─ greater [3] bool[]
           │  ├─ a float64[]
           │  └─ 0 float64[]
           └─ x float64[n]""")


def test_pictures_show_bodies_on_hover():
    node = loop(next(iter(TEXTS.values())))
    assert label(node) == "scan"
    assert described(node).endswith("scan(lambda carry, slice: (a * carry + slice, carry), 0, x)")
    assert "lambda carry, slice" in rg.draw(next(iter(TEXTS.values())))._repr_html_()


def test_messages_name_a_loop_without_its_bodies():
    assert repr(loop(TEXTS["cond(a > 0, lambda: 2 * x, lambda: -x)"]).op) == "cond"
    with pytest.raises(ShapeError) as caught:
        rg.evaluate(rg.scan(lambda c, v: (c + v[0], v[1]), 0.0, (x, x[1:]))[1], {x: np.ones(3)})
    assert "<body" not in str(caught.value)
