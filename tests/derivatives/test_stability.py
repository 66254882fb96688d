"""Gradients where the formula as written overflows, and at branches that are not taken."""

import mpmath
import numpy as np
import pytest

import relgraph as rg

POINTS = np.array([-1000.0, -40.0, -1.0, 0.25, 3.0, 1000.0])
WEIGHTS = np.arange(1.0, 7.0)
x = rg.vector("x", 6)


def softmax(v):
    total = mpmath.fsum([mpmath.exp(e) for e in v])
    return [mpmath.exp(e) / total for e in v]


def log_softmax_gradient(v):
    return [w - mpmath.fsum(WEIGHTS) * s for w, s in zip(WEIGHTS, softmax(v), strict=True)]


def each(f):
    return lambda v: [f(e) for e in v]


def expit(e):
    return 1 / (1 + mpmath.exp(-e))


# A loss as a person would write it, and its gradient by mpmath.
LOSSES = {
    "log(1 + exp(x))": (lambda x: rg.log(1 + rg.exp(x)), each(expit)),
    "log1p(exp(x))": (lambda x: rg.log1p(rg.exp(x)), each(expit)),
    "log(1 / (1 + exp(-x)))": (
        lambda x: rg.log(1 / (1 + rg.exp(-x))), each(lambda e: expit(-e)),
    ),
    "log(1 - sigmoid(x))": (lambda x: rg.log(1 - rg.sigmoid(x)), each(lambda e: -expit(e))),
    "log(sum(exp(x)))": (lambda x: rg.log(rg.sum(rg.exp(x))), softmax),
    "log(mean(exp(x)))": (lambda x: rg.log(rg.mean(rg.exp(x))), softmax),
    "logsumexp(x)": (rg.logsumexp, softmax),
    "log of softmax": (
        lambda x: rg.log(rg.exp(x) / rg.sum(rg.exp(x))) * WEIGHTS, log_softmax_gradient,
    ),
    "log(softmax(x))": (lambda x: rg.log(rg.softmax(x)) * WEIGHTS, log_softmax_gradient),
    "log(exp(x) + exp(2 x))": (
        lambda x: rg.log(rg.exp(x) + rg.exp(2 * x)), each(lambda e: 1 + expit(e)),
    ),
    "logaddexp(x, -x)": (lambda x: rg.logaddexp(x, -x), each(mpmath.tanh)),
    "log(cosh(x))": (lambda x: rg.log(rg.cosh(x)), each(mpmath.tanh)),
    "log of a normal density": (lambda x: rg.log(0.4 * rg.exp(-(x**2) / 2)), each(lambda e: -e)),
    "log(ndtr(x))": (
        lambda x: rg.log(rg.ndtr(x)), each(lambda e: mpmath.npdf(e) / mpmath.ncdf(e)),
    ),
    "log(erfc(-x / sqrt(2)) / 2)": (
        lambda x: rg.log(0.5 * rg.erfc(-x / np.sqrt(2))),
        each(lambda e: mpmath.npdf(e) / mpmath.ncdf(e)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_of_a_formula_is_stable(name):
    loss, exact = LOSSES[name]
    gradient = rg.evaluate(rg.grad(rg.sum(loss(x)), x), {x: POINTS})
    with mpmath.workdps(1000):  # 1 / (1 + exp(-1000)) is 1 with fewer digits
        expected = np.array([float(e) for e in exact([mpmath.mpf(e) for e in POINTS])])
    np.testing.assert_allclose(gradient, expected, rtol=1e-11, atol=1e-300)


def test_stabilisation_can_be_switched_off():
    with np.errstate(all="ignore"):
        graph = rg.grad(rg.log(1 + rg.exp(x[5])), x, stabilize=False)
        assert np.isnan(rg.evaluate(graph, {x: POINTS})[5])


def test_stabilisation_does_not_pass_through_what_is_differentiated_by():
    y = rg.exp(x)
    gradient = rg.grad(rg.sum(rg.log(1 + y)), y)
    np.testing.assert_allclose(rg.evaluate(gradient, {x: np.zeros(6)}), np.full(6, 0.5), rtol=1e-15)


# Formulas with a branch whose derivative is infinite or NaN where it is not taken.
V = np.array([-4.0, -1.0, 0.0, 2.0, 3.0, 5.0])
BRANCHES = {
    "log": (lambda m, x: m.where(x > 0, m.log(x), 0.0), [0, 0, 0, 1 / 2, 1 / 3, 1 / 5]),
    "sqrt in the other branch": (
        lambda m, x: m.where(x <= 0, x, m.sqrt(x)),
        [1, 1, 1, *(0.5 / np.sqrt(V[3:]))],
    ),
    "sin(x) / x": (
        lambda m, x: m.where(m.not_equal(x, 0), m.sin(x) / x, 1.0),
        [*((np.cos(V[:2]) - np.sin(V[:2]) / V[:2]) / V[:2]), 0,
         *((np.cos(V[3:]) - np.sin(V[3:]) / V[3:]) / V[3:])],
    ),
    "x log x": (lambda m, x: m.where(x > 0, x * m.log(x), 0.0), [0, 0, 0, *(1 + np.log(V[3:]))]),
    "a branch in a branch": (
        lambda m, x: m.where(x > 0, m.where(x > 2.5, m.sqrt(x - 2.5), m.log(x)), 0.0),
        [0, 0, 0, 1 / 2, *(0.5 / np.sqrt(V[4:] - 2.5))],
    ),
    "a vector norm": (
        lambda m, x: m.where(m.not_equal(x, 0), m.sqrt(x * x), 0.0), [-1, -1, 0, 1, 1, 1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_that_is_not_taken_adds_nothing(name):
    loss, expected = BRANCHES[name]
    gradient = rg.grad(rg.sum(loss(rg, x)), x)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(rg.evaluate(gradient, {x: V}), expected, rtol=1e-14)
        np.testing.assert_allclose(rg.function([x], gradient)(V), expected, rtol=1e-14)


def test_a_number_in_a_branch_gets_the_sum_over_the_elements_that_take_it():
    s = rg.scalar("s")
    gradient = rg.grad(rg.sum(rg.where(x > 0, rg.log(x * s), 0.0)), s)
    with np.errstate(all="ignore"):
        assert rg.evaluate(gradient, {x: V, s: 2.0}) == pytest.approx(3 / 2)
