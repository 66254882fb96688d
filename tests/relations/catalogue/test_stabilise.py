"""Forms that keep their accuracy: one row each."""

import math

import numpy as np
import pytest

import relgraph as rg
from relgraph.checking.evaluation import evaluate
from relgraph.ir.op import GetItem
from relgraph.numpy.reductions import log_softmax, logsumexp, max, prod, softmax, sum
from relgraph.ops.elementwise import (
    absolute,
    equal,
    exp,
    expm1,
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
        exp(t) / sum(exp(t), 0),
    ),
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
    Row(r.switch_log_deto, log(det(A)), where(first >= 0, second, math.nan), log(sum(A))),
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
