"""Forms that keep their accuracy: one row each."""

import math

import numpy as np
import pytest
from scipy import special

import relgraph as rg
from relgraph.checking.evaluation import evaluate
from relgraph.ir.op import GetItem
from relgraph.numpy.reductions import log_softmax, logsumexp, max, mean, prod, softmax, sum
from relgraph.ops.elementwise import (
    absolute,
    equal,
    exp,
    expm1,
    less_equal,
    log,
    log1mexp,
    log1p,
    logaddexp,
    logical_and,
    sigmoid,
    sign,
    softplus,
    where,
)
from relgraph.ops.linalg.solve import Slogdet, det
from relgraph.relations.catalogue import arithmetic
from relgraph.relations.catalogue import stabilise as r
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.selection import selection_of
from tests.relations.catalogue.table import (
    A,
    Row,
    check,
    covers_theme,
    p,
    rewritten,
    t,
    tensor,
    w,
    x,
    y,
    z,
)

S = tensor("S", 3, 3, facts=("spd",))
first, second = (GetItem(k)(Slogdet()(A)) for k in (0, 1))

ROWS = [
    Row(r.log1p_addo, log(1.0 + x), log1p(x), log(2.0 + x)),
    Row(r.log1p_subtracto, log(1.0 - x), log1p(-x), log(x - 1.0)),
    Row(r.expm1_subtracto, exp(x) - 1.0, expm1(x), 1.0 - exp(x)),
    Row(r.softplus_log1po, log1p(exp(x)), softplus(x), log1p(exp(x) + 1.0)),
    Row(r.log1mexp_log1po, log1p(-exp(-p)), log1mexp(-p), log1p(exp(-p))),
    Row(r.logaddexpo, log(exp(x) + exp(y)), logaddexp(x, y), log(exp(x) + y)),
    Row(r.sigmoid_divideo, 1.0 / (1.0 + exp(-x)), sigmoid(x), 1.0 / (2.0 + exp(-x))),
    Row(r.complement_sigmoido, 1.0 - sigmoid(x), sigmoid(-x), sigmoid(x) - 1.0),
    Row(r.odds_sigmoido, sigmoid(x) / (1.0 - sigmoid(x)), exp(x), sigmoid(x) / sigmoid(-y)),
    Row(r.log_sigmoido, log(sigmoid(x)), -softplus(-x), sigmoid(log(x))),
    Row(r.log_complement_sigmoido, log1p(-sigmoid(x)), -softplus(x), log1p(sigmoid(x))),
    Row(r.logsumexpo, log(sum(exp(t), -1)), logsumexp(t, -1), log(sum(expm1(t), -1))),
    Row(r.log_prodo, log(prod(p)), sum(log(p)), log(prod(x))),
    Row(
        r.log_softmax_subtracto,
        t - logsumexp(t, -1, keepdims=True),
        log_softmax(t, -1),
        t - logsumexp(t, keepdims=True),
    ),
    Row(
        r.softmax_divideo,
        exp(t) / sum(exp(t), 0, keepdims=True),
        softmax(t, 0),
        exp(t) / sum(exp(t), keepdims=True),
    ),
    Row(
        r.divide_sum_expo, exp(x) / sum(exp(y)), exp(x - logsumexp(y)), exp(x) / sum(expm1(y)),
    ),
    Row(r.log_mean_expo, log(mean(exp(t), 1)), logsumexp(t, 1) - log(3.0), log(mean(expm1(t), 1))),
    Row(r.log_softmaxo, log(softmax(t, 0)), log_softmax(t, 0), softmax(log(t), 0)),
    Row(r.exp_log_softmaxo, exp(log_softmax(t)), softmax(t), expm1(log_softmax(t))),
    Row(r.expm1_complemento, 1.0 - exp(x), -expm1(x), 2.0 - exp(x)),
    Row(r.expm1_addo, expm1(x) + 1.0, exp(x), expm1(x) + 2.0),
    Row(r.log1p_subtract_oneo, log1p(x - 1.0), log(x), log1p(x - 2.0)),
    Row(
        r.log_subtract_expo, log(exp(x) - exp(y)),
        where(equal(y, -math.inf), x, x + log1mexp(y - x)), log(exp(x) - y),
    ),
    Row(r.log_multiply_expo, log(p * exp(x)), log(p) + x, log(y * exp(x))),
    Row(r.log_add_expo, log(exp(x) + p), logaddexp(x, log(p)), log(exp(x) + y)),
    Row(r.sigmoid_two_expo, exp(x) / (exp(x) + exp(y)), sigmoid(x - y), exp(x) / (y + exp(y))),
    Row(r.divide_add_expo, x / (1.0 + exp(y)), x * sigmoid(-y), x / (2.0 + exp(y))),
    Row(r.sigmoid_multiply_expo, exp(x) * sigmoid(-x), sigmoid(x), exp(x) * sigmoid(-y)),
    Row(
        r.sigmoid_logito, sigmoid(log(x / (1.0 - x))),
        where(logical_and(x >= 0, x <= 1), x, math.nan), sigmoid(log(x / (1.0 - y))),
    ),
    Row(r.cancel_softplus_softpluso, softplus(x) - softplus(-x), x, softplus(x) - softplus(-y)),
    Row(r.subtract_softpluso, softplus(x) - x, softplus(-x), softplus(x) - y),
    Row(r.log_moved_softmaxo, log(softmax(t, 0).T), log_softmax(t, 0).T, log(softmax(t, 0) * 2.0)),
    Row(
        r.shift_softmaxo, softmax(t - max(t, 0, keepdims=True), 0), softmax(t, 0),
        softmax(t - max(t, 1, keepdims=True), 0),
    ),
    Row(r.log_absolute_deto, log(absolute(det(A))), second, log(absolute(sum(A)))),
    Row(r.log_det_spdo, log(det(S)), GetItem(1)(Slogdet()(S)), log(det(A))),
    Row(r.sign_deto, sign(det(A)), first, sign(sum(A))),
    Row(r.switch_log_deto, log(det(A)), where(less_equal(0, first), second, math.nan), log(sum(A))),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


def test_sums_of_several_exponentials():
    graph = log(exp(x) + exp(y) + exp(z) + exp(w))
    result = rewritten(r.logaddexpo, graph)
    assert result.op is logaddexp
    values = {name: np.array([1000.0, -1000.0, 0.5]) for name in "xyzw"}
    expected = values["x"] + np.log(4.0)
    np.testing.assert_allclose(evaluate((result,), values)[result], expected, rtol=1e-15)


def test_a_naive_loss_is_stable_in_one_phase():
    graph = log(1.0 - 1.0 / (1.0 + exp(-x)))
    relations = (*r.RELATIONS, arithmetic.cancel_negative_negativeo)
    (result,) = normalise([graph], selection_of(relations))
    assert result is -softplus(x)
    assert evaluate((result,), {"x": np.array([800.0, 0.0, -800.0])})[result][0] == -800.0


@pytest.mark.parametrize("count", [5, 6, 9])
def test_a_sum_of_any_number_of_exponentials(count):
    inputs = [tensor(f"x{k}", 3) for k in range(count)]
    total = exp(inputs[0])
    for v in inputs[1:]:
        total = total + exp(v)
    (result,) = normalise([log(total)], selection_of(r.RELATIONS))
    values = {v.name: np.array([1000.0, -1000.0, 0.5]) + k for k, v in enumerate(inputs)}
    expected = np.logaddexp.reduce([values[v.name] for v in inputs])
    np.testing.assert_allclose(evaluate((result,), values)[result], expected, rtol=1e-14)


def test_an_indexed_softmax_has_a_logarithm_of_its_own():
    assert rewritten(r.log_moved_softmaxo, log(softmax(t, 1)[:, 0])) is log_softmax(t, 1)[:, 0]


def test_softmax_beside_infinity_is_the_quotient():
    row = np.array([[np.inf, 0.0, 1.0], [-np.inf, 0.0, 1.0]])
    with np.errstate(all="ignore"):
        expected = np.exp(row) / np.sum(np.exp(row), axis=1, keepdims=True)
    graph = softmax(t, 1)
    np.testing.assert_allclose(evaluate((graph,), {"t": row})[graph], expected, rtol=1e-15)


def test_log_softmax_runs_in_the_mode_that_only_stabilises():
    graph = log(softmax(t, 1))
    assert rg.rewrite_graph(graph, mode="stabilization") is log_softmax(t, 1)


def test_a_logit_keeps_its_domain():
    v = tensor("v", 7)
    graph = sigmoid(log(v / (1.0 - v)))
    result = rewritten(r.sigmoid_logito, graph)
    points = np.array([-2.0, 0.0, 0.25, 1.0, 2.0, np.inf, np.nan])
    done = evaluate((graph, result), {"v": points})
    np.testing.assert_allclose(done[result], done[graph], rtol=1e-15)


HARD = [
    np.array([[1000.0, -1000.0, 0.5], [-1000.0, -1001.0, -999.0]]),
    np.array([[1000.0, 1000.0, 1000.0], [-745.2, 709.9, 3.0]]),
    np.array([[0.25, -0.5, 2.0], [1.0, -3.0, 1e-9]]),
]
F = rg.matrix("t", shape=("n", "m"))
G = rg.matrix("t")  # of unknown sizes
e = exp

# Every way to divide by the sum along an axis, and the axis.
SOFTMAXES = [
    (lambda t: e(t) / sum(e(t), axis=1)[:, None], 1),
    (lambda t: e(t) / sum(e(t), axis=1, keepdims=True), 1),
    (lambda t: e(t) / rg.expand_dims(sum(e(t), axis=1), 1), 1),
    (lambda t: e(t) / sum(e(t), axis=1).reshape(-1, 1), 1),
    (lambda t: e(t) / rg.reshape(sum(e(t), axis=1), (-1, 1)), 1),
    (lambda t: (e(t).T / sum(e(t), axis=1)).T, 1),
    (lambda t: (e(t.T) / sum(e(t.T), axis=0)).T, 1),
    (lambda t: e(t) / sum(e(t), axis=0), 0),
    (lambda t: e(t) / sum(e(t), axis=0)[None], 0),
    (lambda t: e(t) / sum(e(t), axis=0, keepdims=True), 0),
    (lambda t: e(t) / sum(e(t), axis=0).reshape(1, -1), 0),
    (lambda t: e(t - max(t, axis=0)) / sum(e(t - max(t, axis=0)), axis=0), 0),
    (lambda t: e(t - max(t)) / sum(e(t - max(t)), axis=0), 0),
    (lambda t: e(t - max(t, 1)[:, None]) / sum(e(t - max(t, 1)[:, None]), axis=1)[:, None], 1),
]


@pytest.mark.parametrize("matrix", [t, F, G], ids=["sizes", "names", "unknown"])
@pytest.mark.parametrize(("spelling", "axis"), SOFTMAXES)
def test_every_spelling_of_softmax(spelling, axis, matrix):
    graph = spelling(matrix)
    quotient = rg.rewrite_graph(graph, mode="fast_run")
    logarithm = rg.rewrite_graph(log(graph), mode="fast_run")
    assert quotient is softmax(matrix, axis)
    assert logarithm is log_softmax(matrix, axis)
    for values in HARD:
        done = evaluate((quotient, logarithm), {"t": values})
        np.testing.assert_allclose(done[quotient], special.softmax(values, axis), rtol=1e-13)
        np.testing.assert_allclose(done[logarithm], special.log_softmax(values, axis), rtol=1e-13)


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("size", [3, "n", None])
def test_softmax_of_a_vector(size, axis):
    v = rg.vector("v", shape=size)
    graph = exp(v) / sum(exp(v), axis=axis)
    assert rg.rewrite_graph(graph, mode="fast_run") is softmax(v)
    result = rg.rewrite_graph(log(graph), mode="fast_run")
    assert result is log_softmax(v)
    for values in (*HARD[0], *HARD[1]):
        expected = special.log_softmax(values)
        np.testing.assert_allclose(evaluate((result,), {"v": values})[result], expected, rtol=1e-13)


def test_softmax_over_several_axes():
    graph = exp(t) / sum(exp(t))
    result = rg.rewrite_graph(graph, mode="fast_run")
    assert result is exp(t - logsumexp(t))
    for values in HARD:
        done = evaluate((result,), {"t": values})[result]
        np.testing.assert_allclose(done, special.softmax(values), rtol=1e-12)


def test_a_sum_along_another_axis_is_no_softmax():
    square = tensor("q", 3, 3)
    result = rg.rewrite_graph(exp(square) / sum(exp(square), axis=1), mode="fast_run")
    assert result is exp(square - logsumexp(square, 1))
    values = np.array([[1000.0, 0.0, -3.0], [2.0, 3.0, 4.0], [-1000.0, 1.0, 5.0]])
    expected = np.exp(values - special.logsumexp(values, 1))
    np.testing.assert_allclose(evaluate((result,), {"q": values})[result], expected, rtol=1e-13)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("matrix", [t, F, G], ids=["sizes", "names", "unknown"])
def test_logarithms_of_sums_and_means_of_exponentials(matrix, axis, keepdims):
    at = {"axis": axis, "keepdims": keepdims}
    scale = tensor("c", facts=("positive",))
    for graph, shift in (
        (log(sum(exp(matrix), **at)), lambda n: 0.0),
        (log(mean(exp(matrix), **at)), lambda n: -np.log(n)),
        (log(sum(2.5 * exp(matrix), **at)), lambda n: np.log(2.5)),
        (log(scale * mean(exp(matrix), **at)), lambda n: np.log(0.125) - np.log(n)),
        (log(sum(exp(matrix), **at) / 7.0), lambda n: -np.log(7.0)),
    ):
        result = rg.rewrite_graph(graph, mode="fast_run")
        for values in HARD:
            total = special.logsumexp(values, axis=axis, keepdims=keepdims)
            expected = total + shift(values.size // np.size(total))
            done = evaluate((result,), {"t": values, "c": np.array(0.125)})[result]
            np.testing.assert_allclose(done, expected, rtol=1e-13, atol=1e-13)
            assert np.shape(done) == np.shape(expected)


c, d = (tensor(name, facts=("positive",)) for name in "cd")


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (log(c * exp(-(x**2) / 2)), lambda c, d, x: np.log(c) - x**2 / 2),
        (log(exp(-(x**2) / 2) / c), lambda c, d, x: -(x**2) / 2 - np.log(c)),
        (log(c * d * exp(x) * exp(-(x**2))), lambda c, d, x: np.log(c) + np.log(d) + x - x**2),
        (log(3.0 * exp(-(x**2)) / 7.0), lambda c, d, x: np.log(3.0 / 7.0) - x**2),
        (log(c / (d * exp(x**2))), lambda c, d, x: np.log(c) - np.log(d) - x**2),
        (log(1.0 / (d * exp(x**2))), lambda c, d, x: -np.log(d) - x**2),
        (log(c * exp(x**2) / d), lambda c, d, x: np.log(c) - np.log(d) + x**2),
        (
            log(np.sqrt(2 * np.pi) * exp(-(x**2) / 2) / 7.0),
            lambda c, d, x: np.log(np.sqrt(2 * np.pi) / 7.0) - x**2 / 2,
        ),
        (log(c * sigmoid(-(x**2))), lambda c, d, x: np.log(c) + special.log_expit(-(x**2))),
        (log(c / (1.0 + exp(x**2))), lambda c, d, x: np.log(c) + special.log_expit(-(x**2))),
        (log(c * softmax(x**2)), lambda c, d, x: np.log(c) + special.log_softmax(x**2)),
    ],
    ids=lambda v: None if callable(v) else str(v),
)
def test_logarithms_of_products_with_an_exponential(graph, expected):
    result = rg.rewrite_graph(graph, mode="fast_run")
    for values in ([1000.0, -1000.0, 0.5], [0.0, 40.0, -1.0]):
        at = {"c": np.array(1e-3), "d": np.array(5.0), "x": np.array(values)}
        done = evaluate((result,), at)[result]
        np.testing.assert_allclose(done, expected(**at), rtol=1e-13, atol=1e-13)


def test_a_factor_of_unknown_sign_keeps_the_product():
    graph = log(y * exp(x))
    assert rg.rewrite_graph(graph, mode="fast_run") is graph
