"""Forms that keep their accuracy: one row each."""

import numpy as np
import pytest

from relgraph.checking.numbers import evaluate
from relgraph.ops.elementwise import (
    erf,
    erfc,
    exp,
    expm1,
    log,
    log1mexp,
    log1p,
    logaddexp,
    sigmoid,
    softplus,
)
from relgraph.ops.reduction import log_softmax, logsumexp, prod, softmax, sum
from relgraph.relations.catalogue import arithmetic
from relgraph.relations.catalogue import stabilise as r
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.selection import selection_of
from tests.relations.catalogue.table import (
    Row,
    check,
    covers_theme,
    p,
    rewritten,
    t,
    w,
    x,
    y,
    z,
)

ROWS = [
    Row(r.log1p_addo, log(1.0 + x), log1p(x), log(2.0 + x)),
    Row(r.log1p_subtracto, log(1.0 - x), log1p(-x), log(x - 1.0)),
    Row(r.expm1_subtracto, exp(x) - 1.0, expm1(x), 1.0 - exp(x)),
    Row(r.softplus_log1po, log1p(exp(x)), softplus(x), log1p(exp(x) + 1.0)),
    Row(r.log1mexp_log1po, log1p(-exp(-p)), log1mexp(-p), log1p(exp(-p))),
    Row(r.logaddexpo, log(exp(x) + exp(y)), logaddexp(x, y), log(exp(x) + y)),
    Row(r.sigmoid_divideo, 1.0 / (1.0 + exp(-x)), sigmoid(x), 1.0 / (2.0 + exp(-x))),
    Row(r.sigmoid_divide_expo, exp(x) / (1.0 + exp(x)), sigmoid(x), exp(x) / (1.0 + exp(y))),
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
    Row(r.complement_erfo, 1.0 - erf(x), erfc(x), 2.0 - erf(x)),
    Row(r.complement_erfco, 1.0 - erfc(x), erf(x), erfc(x) - 1.0),
    Row(r.erfc_addo, 1.0 + erf(x), erfc(-x), 1.0 + erfc(x)),
    Row(r.erfc_subtracto, erf(x) - 1.0, -erfc(x), erfc(x) - 1.0),
]


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
