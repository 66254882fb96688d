"""Exponentials and logarithms: one row each."""

import math

import numpy as np
import pytest

from relgraph.checking.evaluation import evaluate
from relgraph.ops.elementwise import (
    exp,
    exp2,
    expm1,
    log,
    log1mexp,
    log1p,
    log2,
    log10,
    reciprocal,
    sigmoid,
    softplus,
    sqrt,
    square,
    where,
)
from relgraph.relations.catalogue import explog as r
from tests.relations.catalogue.table import (
    Row,
    check,
    covers_theme,
    i,
    n,
    p,
    q,
    rewritten,
    tensor,
    x,
    y,
)

share = tensor("share", 3, facts=("(0, 1)",))

ROWS = [
    Row(r.cancel_log_expo, log(exp(x)), x, log(exp2(x))),
    Row(r.cancel_exp_logo, exp(log(n)), n, exp(log(x))),
    Row(r.distribute_exp_addo.reversed, exp(x) * exp(y), exp(x + y), exp(x) * y),
    Row(r.distribute_exp_subtracto.reversed, exp(x) / exp(y), exp(x - y), exp(x) / exp2(y)),
    Row(r.reciprocal_expo, 1.0 / exp(x), exp(-x), 2.0 / exp(x)),
    Row(r.merge_power_expo, exp(x) ** y, exp(x * y), x ** exp(y)),
    Row(r.halve_sqrt_expo, sqrt(exp(x)), exp(0.5 * x), exp(sqrt(x))),
    Row(r.halve_log_sqrto, log(sqrt(x)), 0.5 * log(x), sqrt(log(x))),
    Row(r.lower_log_powero, log(p**y), y * log(p), log(x**y)),
    Row(r.distribute_log_multiplyo, log(p * x), log(p) + log(x), log(x * y)),
    Row(r.distribute_log_divideo, log(p / q), log(p) - log(q), log(x / y)),
    Row(r.log_reciprocalo, log(1.0 / x), -log(x), log(2.0 / x)),
    Row(r.cancel_log_powero, log10(10.0**x), x, log10(2.0**x)),
    Row(r.cancel_power_logo, 10.0 ** log10(n), n, 10.0 ** log10(x)),
    Row(r.change_log_baseo, log(exp2(x)), x * math.log(2), log(exp(x))),
    Row(r.exp_softpluso, exp(softplus(x)), 1.0 + exp(x), softplus(exp(x))),
    Row(r.cancel_exp_log1po, exp(log1p(n)), 1.0 + n, exp(log1p(x))),
    Row(r.switch_exp_logo, exp(log(x)), where(x >= 0, x, math.nan), exp(log(i))),
    Row(r.exp_negative_logo, exp(-log(p)), reciprocal(p), exp(-log(x))),
    Row(r.exp_multiply_logo, exp(y * log(n)), n**y, exp(y * log(x))),
    Row(r.divide_expo, x / exp(y), x * exp(-y), x / exp2(y)),
    Row(r.square_expo, square(exp(x)), exp(2.0 * x), square(exp2(x))),
    Row(r.distribute_exp2_addo.reversed, exp2(x) * exp2(y), exp2(x + y), exp2(x) * exp(y)),
    Row(r.distribute_exp2_subtracto.reversed, exp2(x) / exp2(y), exp2(x - y), exp2(x) / exp(y)),
    Row(r.softplus_logo, softplus(log(n)), log1p(n), softplus(log(x))),
    Row(
        r.cancel_sigmoid_logito,
        sigmoid(log(share / (1.0 - share))),
        share,
        sigmoid(log(x / (1.0 - x))),
    ),
    Row(r.sigmoid_logo, sigmoid(log(n)), n / (1.0 + n), sigmoid(log(x))),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


def test_other_bases():
    assert rewritten(r.cancel_log_expo, log2(exp2(x))) is x
    assert rewritten(r.cancel_log_expo, log1p(expm1(x))) is x
    assert rewritten(r.cancel_exp_logo, expm1(log1p(n))) is n
    assert rewritten(r.lower_log_powero, log(square(p))) is 2.0 * log(p)


PAIRS = [
    exp(log(x)), exp2(log2(x)), expm1(log1p(x)), exp(log1p(x)), expm1(log(x)), exp(log1mexp(x)),
    expm1(log1mexp(x)),
]  # fmt: skip


@pytest.mark.parametrize("graph", PAIRS, ids=str)
def test_what_a_logarithm_does_not_take_stays_nan(graph):
    result = rewritten(r.switch_exp_logo, graph)
    assert result.op is where
    for values in (np.array([-2.0, -0.5, 0.0]), np.array([3.0, np.inf, np.nan])):
        done = evaluate((graph, result), {"x": values})
        np.testing.assert_allclose(done[result], done[graph], rtol=1e-14, atol=1e-15)


def test_the_power_of_a_logarithm_needs_a_base_that_is_not_negative():
    assert rewritten(r.exp_multiply_logo, exp(0.5 * log(p))) is p**0.5
    b = tensor("b", 3, dtype="int64", facts=("nonnegative",))
    graph = exp(2.0 * log(b))
    assert rewritten(r.exp_multiply_logo, graph) is graph
