"""Derivatives and antiderivatives as formulas, against differences of their values."""

import re
from pathlib import Path

import mpmath
import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DerivativeError, DomainError, DTypeError, NotFoundError
from relgraph.ir.graph import toposort
from relgraph.search.differential_ring import DifferentialRing
from relgraph.search.polynomials import Budget

x, a = rg.scalar("x"), rg.scalar("a")
exp, sin, cos, log, sqrt = rg.exp, rg.sin, rg.cos, rg.log, rg.sqrt
PLACES = (0.3, 0.6, 0.9)
FAR = (-7.3, -2.4, -1.9, -0.8, 1.7, 2.6, 5.1)

FOUND = {
    "power": x**3 + 2 * x + 5,
    "root": sqrt(x),
    "whole power": (x + 1) ** 5,
    "reciprocal": 1 / x,
    "parameter": cos(a * x),
    "parameter, by parts": x * exp(a * x),
    "parameter as exponent": x**a,
    "by substitution": x * exp(x**2),
    "inner derivative": cos(sin(x)) * cos(x),
    "arctangent": 1 / (4 + x**2),
    "of exp": exp(x) / (1 + exp(x) ** 2),
    "arcsine": 1 / sqrt(4 - x**2),
    "area of a circle": sqrt(1 - x**2),
    "improper": x**2 / (1 + x**2),
    "log": log(x),
    "log squared": log(x) ** 2,
    "log of log": 1 / (x * log(x)),
    "log by parts": x * rg.log(1 + x),
    "by parts": x**2 * sin(x),
    "circular": exp(x) * sin(x),
    "powers of sine": sin(x) ** 2 * cos(x) ** 3,
    "square of cosine": cos(x) ** 2,
    "tangent": rg.tan(x),
    "hyperbolic": rg.tanh(x) ** 2,
    "inverse": rg.arctan(x) * x,
    "arcsin": rg.arcsin(x),
    "Gauss": exp(-(x**2)),
    "normal": exp(-(x**2) / 2),
    "erf": rg.erf(x),
    "digamma": rg.digamma(x),
    "sigmoid": rg.sigmoid(x),
    "kink": abs(x - 0.5),
    "sigmoid of exp": 1 / (1 + exp(-x)),
    "exp below": 1 / (1 + exp(x)),
    "root below": 1 / sqrt(1 + exp(x)),
    "partial fractions": 1 / (x * (1 + x**2)),
    "two poles": 1 / (x * (3 * x + 2)),
    "poles beside": (3 * x - 2) / (x + 1) + x**2 / (x**2 - 4),
    "even power": x / (1 + x**4),
    "a sum that no part of is found": (1 + 2 * x**2) * exp(x**2),
}

# By Liouville's theorem, and for the gamma function, these have none in the functions of relgraph.
NOT_FOUND = {
    "Gauss, growing": exp(x**2),
    "sine integral": sin(x) / x,
    "exponential integral": exp(x) / x,
    "logarithmic integral": 1 / log(x),
    "exp of exp": exp(exp(x)),
    "elliptic": sqrt(1 + x**3),
    "power tower": x**x,
    "log of log": log(log(x)),
    "Fresnel": cos(x**2),
    "sine of sine": sin(sin(x)),
    "gamma": rg.gamma(x),
    "dilogarithm": log(1 + x) / x,
}


def value(graph, place, parameter=1.3):
    nodes = set(toposort([graph]))
    return float(rg.evaluate(graph, {v: c for v, c in ((x, place), (a, parameter)) if v in nodes}))


def difference(graph, place):
    """Return the derivative by Richardson's extrapolation of central differences."""
    h = 2e-3
    coarse, fine = (
        (value(graph, place + k) - value(graph, place - k)) / (2 * k) for k in (h, h / 2)
    )
    return (4 * fine - coarse) / 3


@pytest.mark.parametrize("name", FOUND)
def test_the_derivative_of_an_antiderivative_is_the_integrand(name):
    f = FOUND[name]
    result = rg.antiderivative(f, x)
    back = rg.derivative(result, x)
    for place in PLACES:
        assert difference(result, place) == pytest.approx(value(f, place), rel=1e-8, abs=1e-9)
        assert value(back, place) == pytest.approx(value(f, place), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("name", NOT_FOUND)
def test_what_is_not_found_is_said_within_the_budget(name):
    with pytest.raises(NotFoundError, match="candidates"):
        rg.antiderivative(NOT_FOUND[name], x, budget=3000)


@pytest.mark.parametrize("name", [x for x in FOUND if x != "parameter as exponent"])
def test_an_antiderivative_holds_wherever_the_integrand_is_finite(name):
    f = FOUND[name]
    result = rg.antiderivative(f, x)
    for place in FAR:
        with np.errstate(all="ignore"):
            slope, expected = difference(result, place), value(f, place)
        if np.isfinite(expected):
            assert slope == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_an_antiderivative_is_continuous_at_a_kink():
    result = rg.antiderivative(abs(x - 1), x)
    area = value(result, 1.2) - value(result, 0.3)
    assert area == pytest.approx(0.7**2 / 2 + 0.2**2 / 2)


@pytest.mark.parametrize("f", [rg.maximum(x, 1.0), exp(x) * rg.where(x > 1, x, x**2)], ids=str)
def test_pieces_are_not_integrated_one_by_one(f):
    with pytest.raises(NotFoundError, match="has pieces"):
        rg.antiderivative(f, x)


def test_a_definite_integral():
    result = rg.antiderivative(x * exp(-x) * sin(x), x)
    expected = mpmath.quad(lambda t: t * mpmath.exp(-t) * mpmath.sin(t), [0.3, 0.9])
    assert value(result, 0.9) - value(result, 0.3) == pytest.approx(float(expected), rel=1e-13)


def test_the_table_of_the_page_is_true():
    page = (Path(__file__).parents[2] / "docs" / "formulas.md").read_text()
    rows = re.findall(r"^\| `(.*)` \| `(.*)` \|$", page, re.MULTILINE)
    names = {name: getattr(rg, name) for name in ("exp", "sin", "sqrt", "tanh", "arctan")}
    assert len(rows) == 6
    for integrand, expected in rows:
        f = eval(integrand, {"x": x, **names})
        assert str(rg.antiderivative(f, x)) == expected


def test_formulas_are_simple():
    assert rg.derivative(x * log(x) - x, x) is log(x)
    assert rg.antiderivative(cos(x), x) is sin(x)
    assert rg.antiderivative(rg.tanh(x) ** 2, x) is x - rg.tanh(x)
    assert rg.antiderivative(1 / x, x) is log(abs(x))


def test_arrays_are_elementwise():
    v, w = rg.vectors("v w", shape=("n",))
    array = np.array([0.2, 0.5, 0.8])
    f = rg.antiderivative(v * exp(v) * w, v)
    values = rg.evaluate(rg.derivative(f, v), {v: array, w: 1 + array})
    np.testing.assert_allclose(values, array * np.exp(array) * (1 + array), rtol=1e-14)


def test_what_does_not_depend_on_the_input():
    v = rg.vector("v", shape=(3,))
    np.testing.assert_array_equal(rg.evaluate(rg.derivative(v * 2, x), {}), np.zeros(3))
    assert value(rg.antiderivative(a, x), 0.7) == pytest.approx(0.7 * 1.3)


@pytest.mark.parametrize("function", [rg.derivative, rg.antiderivative])
def test_mistakes(function):
    v, n = rg.vector("v", shape=("n",)), rg.scalar("n", dtype="int64")
    with pytest.raises(DTypeError, match="int64"):
        function(n * x, n)
    with pytest.raises(DerivativeError, match="not an elementwise expression"):
        function(rg.sum(v) * v, v)
    with pytest.raises(ArgumentError, match="x is a str"):
        function(x, "x")


def test_derivatives_are_by_inputs():
    with pytest.raises(ArgumentError, match=r"x is not an input, but sin\(x\)"):
        rg.antiderivative(x, sin(x))
    with pytest.raises(DerivativeError, match="neither an input nor a node"):
        rg.derivative(x, sin(x))
    assert rg.derivative(sin(x) ** 2, sin(x)) is rg.rewrite_graph(2 * sin(x))


def test_budgets_are_positive():
    with pytest.raises(DomainError, match="budget=0"):
        rg.antiderivative(x, x, budget=0)
    with pytest.raises(DomainError, match="seconds=-1"):
        rg.antiderivative(x, x, seconds=-1)


def test_nested_functions_do_not_recurse():
    f = x
    for _ in range(1500):
        f = exp(f)
    ring = DifferentialRing(x, Budget(10**6))
    (((factor,), _),) = ring.read(f)
    assert ring.depends(factor[0])
    assert len(ring.derivative_of(factor[0])) == 1
    with pytest.raises(NotFoundError, match="budget of 1000 steps"):
        rg.antiderivative(f, x, budget=1000)
