"""Expressions of SymPy as graphs, and back."""

from __future__ import annotations

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, UnsupportedOpError

sympy = pytest.importorskip("sympy", reason="SymPy is not installed")

from relgraph.interop.sympy import dump, load  # noqa: E402

a, b = sympy.symbols("a b", real=True)
x, y = rg.scalars("a b")
POINT = {"a": 0.3, "b": 0.7}

EXPRESSIONS = [
    a + b - 2, a * b / 3, a**2 + b**-3, sympy.sqrt(a) + sympy.cbrt(b), sympy.exp(-a) * sympy.sin(b),
    sympy.log(a) / sympy.log(b), sympy.Max(a, b, 0.5), sympy.Abs(a - b), sympy.atan2(a, b),
    sympy.Piecewise((a, a > b), (b, a < 0), (a * b, True)), sympy.pi * a + sympy.E,
    sympy.erf(a) + sympy.gamma(b) + sympy.loggamma(a) + sympy.digamma(b), sympy.tanh(a) ** 3,
    sympy.diff(sympy.exp(a * b) / (1 + a), a), sympy.Rational(1, 3) * a, sympy.asinh(a),
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_a_loaded_expression_has_its_value(expression):
    expected = float(expression.subs({a: 0.3, b: 0.7}).evalf(20))
    symbols = {}
    graph = load(expression, symbols)
    value = rg.evaluate(graph, {symbols[s]: POINT[s.name] for s in symbols})
    np.testing.assert_allclose(value, expected, rtol=1e-13)


GRAPHS = [
    x + y * 2 - 1, x / y, x**3, rg.square(x), rg.sqrt(x), rg.expm1(x), rg.log1p(y), rg.softplus(x),
    rg.sigmoid(x), rg.logaddexp(x, y), rg.maximum(x, y), rg.where(x > y, x, y), rg.ndtr(x),
    rg.gammaln(x), rg.trigamma(x), rg.betaln(x, y), rg.log2(x), rg.hypot(x, y), -x, 1 / x,
    rg.where((x > 0) & (y < 1), x, 0.1), rg.grad(rg.exp(x * y), x), rg.logit(x),
]  # fmt: skip


@pytest.mark.parametrize("graph", GRAPHS, ids=str)
def test_a_dumped_graph_has_its_value(graph):
    try:
        expression = dump(graph)
    except UnsupportedOpError as error:
        assert "bitwise_and" in str(error)
        return
    value = expression.subs({a: 0.3, b: 0.7}).evalf(20)
    inputs = rg.FunctionGraph(None, graph).inputs
    expected = rg.evaluate(graph, {v: POINT[v.name] for v in inputs}, mode=None)
    np.testing.assert_allclose(float(value), expected, rtol=1e-13)


def test_derivatives_agree_with_sympys():
    graph = rg.exp(rg.sin(x) * y) / (1 + x**2)
    difference = dump(rg.derivative(graph, x)) - sympy.diff(dump(graph), a)
    assert sympy.simplify(difference) == 0


def test_numbers_are_exact_and_symbols_are_kept():
    symbols = {}
    assert dump(x / 2 + 0.25, symbols) == a / 2 + sympy.Rational(1, 4)
    assert symbols == {x: a}
    v = rg.vector("v")
    assert load(a**2, {a: v}).type is v.type


def test_deep_expressions_do_not_recurse():
    graph = x
    for _ in range(3000):
        graph = rg.sin(graph)
    expression = a
    assert rg.FunctionGraph(None, graph).inputs == (x,)
    for _ in range(200):
        expression = sympy.sin(expression, evaluate=False)
    assert load(expression, {a: x}).op is rg.sin


def test_errors():
    with pytest.raises(UnsupportedOpError, match="zeta"):
        load(sympy.zeta(a) + 1)
    with pytest.raises(UnsupportedOpError, match="erfcx"):
        dump(rg.erfcx(x))
    with pytest.raises(ArgumentError, match="graph of scalars"):
        dump(rg.vector("v"))
    with pytest.raises(ArgumentError, match="expression of SymPy"):
        load("x + 1")
