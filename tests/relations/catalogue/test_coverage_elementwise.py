"""One graph for each of the peer's elementwise and stabilising rewrites: what o4 makes of it."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import relgraph as rg
from relgraph.checking.matching import canonical
from relgraph.ir.node import constant
from relgraph.ir.op import GetItem
from relgraph.numpy.reductions import log_softmax, logsumexp, max, prod, softmax, sum
from relgraph.ops.elementwise import (
    absolute,
    arccosh,
    arcsinh,
    arctanh,
    cos,
    cosh,
    digamma,
    equal,
    erf,
    erfc,
    erfcx,
    exp,
    expm1,
    gamma,
    gammaln,
    ive,
    kve,
    log,
    log1mexp,
    log1p,
    logaddexp,
    logerfc,
    polygamma,
    reciprocal,
    sigmoid,
    sign,
    sin,
    sinh,
    softplus,
    sqrt,
    square,
    tan,
    tanh,
    trigamma,
    where,
)
from relgraph.ops.linalg.solve import Slogdet, det
from relgraph.relations.catalogue import explog, powers, signs, special, stabilise, trigonometric
from tests.relations.catalogue.table import (
    A,
    assert_equal_values,
    n,
    p,
    q,
    rewritten,
    t,
    u,
    x,
    y,
    z,
)

PAGE = Path(__file__).parents[3] / "docs/coverage/elementwise.md"
ones = constant(np.ones(3))
first, second = (GetItem(k)(Slogdet()(A)) for k in (0, 1))
top = max(t, 1, keepdims=True)
unit = where(rg.logical_and(rg.less_equal(0, x), x <= 1), x, math.nan)

# The peer's name, a graph, and what mode o4 makes of it.
ROWS = [
    ("useless_Reciprocal_of_Reciprocal", 1.0 / (1.0 / x), x),
    ("local_reciprocal_canon", x**-1.0, reciprocal(x)),
    ("local_div_to_reciprocal", 1.0 / x, reciprocal(x)),
    ("local_mul_to_sqr", x * x, square(x)),
    ("local_pow_canonicalize", x**0.0, ones),
    ("local_pow_canonicalize", x**1.0, x),
    ("local_pow_canonicalize", 1.0**x, ones),
    ("local_pow_specialize", x**2.0, square(x)),
    ("local_pow_specialize", x**0.5, sqrt(x)),
    ("local_pow_specialize", x**-2.0, reciprocal(square(x))),
    ("local_pow_specialize", x**-0.5, reciprocal(sqrt(x))),
    ("local_pow_to_nested_squaring", x**7.0, x * square(x) * square(square(x))),
    ("local_pow_to_nested_squaring", x**-3.0, reciprocal(x * square(x))),
    ("local_mul_pow_to_pow_add", p**x * p**y, p ** (x + y)),
    ("local_mul_pow_to_pow_add", p**x / p**y, p ** (x - y)),
    ("local_mul_pow_to_pow_add", x**3.0 * x**5.0, square(square(square(x)))),
    ("local_mul_exp_to_exp_add", exp(x) * exp(y) * exp(z), exp(x + y + z)),
    ("local_mul_exp_to_exp_add", exp(x) / exp(y), exp(x - y)),
    ("local_div_exp_to_mul_exp", x / exp(y), x * exp(-y)),
    ("local_exp_log", log(exp(x)), x),
    ("local_exp_log", log1p(expm1(x)), x),
    ("local_exp_log", exp(softplus(x)), 1.0 + exp(x)),
    ("local_exp_log", expm1(softplus(x)), exp(x)),
    ("local_exp_log_nan_switch", exp(log(x)), where(rg.less_equal(0, x), x, math.nan)),
    ("local_exp_log_nan_switch", exp(log1p(x)), where(rg.less_equal(-1, x), 1.0 + x, math.nan)),
    ("local_exp_log_nan_switch", expm1(log(x)), where(rg.less_equal(0, x), x - 1.0, math.nan)),
    ("local_exp_log_nan_switch", exp(log1mexp(x)), where(x <= 0, -expm1(x), math.nan)),
    ("local_log_sqrt", log(sqrt(x)), 0.5 * log(x)),
    ("local_log_div", log(1.0 / x), -log(x)),
    ("local_sqrt_sqr", sqrt(x**2.0), absolute(x)),
    ("local_sqrt_sqr", sqrt(x) ** 2.0, where(rg.less_equal(0, x), x, math.nan)),
    ("local_sqrt_sqr", x**0.5 * x**0.5, where(rg.less_equal(0, x), x, math.nan)),
    ("local_sqrt_sqr", p**0.5 * p**0.5, p),
    ("local_sign_div", sign(1.0 / x), sign(x)),
    ("local_sign_div", sign(x / p), sign(x)),
    ("local_abs_lift", absolute(x * y) / absolute(z), absolute(x * y / z)),
    ("local_abs_merge", absolute(x) * absolute(y), absolute(x * y)),
    ("local_abs_merge", absolute(x) / absolute(y), absolute(x / y)),
    ("useless_Cosh_of_Arccosh", cosh(arccosh(x)), where(rg.less_equal(1, x), x, math.nan)),
    ("useless_Arccosh_of_Cosh", arccosh(cosh(x)), absolute(x)),
    ("useless_Sinh_of_Arcsinh", sinh(arcsinh(x)), x),
    ("useless_Arcsinh_of_Sinh", arcsinh(sinh(x)), x),
    ("useless_Tanh_of_Arctanh", tanh(arctanh(x)), where(absolute(x) <= 1, x, math.nan)),
    ("useless_Arctanh_of_Tanh", arctanh(tanh(x)), x),
    ("local_log1p", log(1.0 + x), log1p(x)),
    ("local_log1p", log(1.0 + x + y), log1p(x + y)),
    ("local_log1p", log(1.0 - x), log1p(-x)),
    ("local_expm1", exp(x) - 1.0, expm1(x)),
    ("local_log1p_plusminus_exp", log1p(exp(x)), softplus(x)),
    ("local_log1p_plusminus_exp", log1p(-exp(x)), log1mexp(x)),
    ("logmexpm1_to_log1mexp", log(-expm1(x)), log1mexp(x)),
    (
        "logdiffexp_to_log1mexpdiff", log(exp(x) - exp(y)),
        where(equal(y, -math.inf), x, x + log1mexp(y - x)),
    ),
    ("local_log_add_exp", log(exp(x) + exp(y)), logaddexp(x, y)),
    (
        "local_log_add_exp", log(exp(x) + exp(y) + exp(z) + exp(p) + exp(q)),
        logaddexp(logaddexp(logaddexp(logaddexp(x, y), z), p), q),
    ),
    ("local_log_sum_exp", log(sum(exp(t), 1)), logsumexp(t, 1)),
    ("local_softmax_stabilize", exp(t) / sum(exp(t), 1, keepdims=True), softmax(t, 1)),
    (
        "local_softmax_stabilize", exp(t - top) / sum(exp(t - top), 1, keepdims=True),
        softmax(t, 1),
    ),
    ("local_logsoftmax", log(softmax(t, 1)), log_softmax(t, 1)),
    ("local_logsoftmax", log(softmax(t, 1).T), log_softmax(t, 1).T),
    ("local_logsoftmax", log(softmax(t, 1)[:, 0]), log_softmax(t, 1)[:, 0]),
    ("local_exp_log_softmax", exp(log_softmax(t, 1)), softmax(t, 1)),
    ("local_log_softmax_from_logsumexp", t - logsumexp(t, 1, True), log_softmax(t, 1)),
    ("local_exp_over_1_plus_exp", exp(x) / (1.0 + exp(x)), sigmoid(x)),
    ("local_exp_over_1_plus_exp", y / (1.0 + exp(x)), y * sigmoid(-x)),
    ("local_reciprocal_1_plus_exp", 1.0 / (1.0 + exp(x)), sigmoid(-x)),
    ("local_sigm_times_exp", exp(x) * sigmoid(-x), sigmoid(x)),
    ("local_sigm_times_exp", y * exp(x) * sigmoid(-x), y * sigmoid(x)),
    ("local_1msigmoid", 1.0 - sigmoid(x), sigmoid(-x)),
    ("local_sigmoid_logit", sigmoid(log(x / (1.0 - x))), unit),
    ("local_odds_sigmoid", sigmoid(x) / (1.0 - sigmoid(x)), exp(x)),
    ("local_inv_odds_sigmoid", (1.0 - sigmoid(x)) / sigmoid(x), exp(-x)),
    ("logsigm_to_softplus", log(sigmoid(x)), -softplus(-x)),
    ("log1msigm_to_softplus", log(1.0 - sigmoid(x)), -softplus(x)),
    ("log1p_neg_sigmoid", log1p(-sigmoid(x)), -softplus(x)),
    ("local_one_plus_erf", 1.0 + erf(x), erfc(-x)),
    ("local_one_minus_erf", 1.0 - erf(x), erfc(x)),
    ("local_erf_minus_one", erf(x) - 1.0, -erfc(x)),
    ("local_one_minus_erfc", 1.0 - erfc(x), erf(x)),
    ("local_erf_neg_minus_one", erfc(-x) - 1.0, erf(x)),
    ("local_log_erfc", log(erfc(x)), logerfc(x)),
    ("local_grad_log_erfc_neg", exp(-(x**2.0)) / erfc(x), reciprocal(erfcx(x))),
    ("local_log_kv", log(kve(y, x) * exp(-x)), log(kve(y, x)) - x),
    ("local_log_iv", log(ive(y, x) * exp(absolute(x))), log(ive(y, x)) + absolute(x)),
    ("local_log_prod_to_sum_log", log(prod(p)), sum(log(p))),
    ("local_polygamma_to_digamma", polygamma(0.0, x), digamma(x)),
    ("local_polygamma_to_tri_gamma", polygamma(1.0, x), trigamma(x)),
    ("slogdet_specialization", sign(det(A)), first),
    ("slogdet_specialization", log(absolute(det(A))), second),
    ("slogdet_specialization", log(det(A)), where(rg.less_equal(0, first), second, math.nan)),
]  # fmt: skip

BEYOND = [
    (exp(-log(p)), reciprocal(p)),
    (exp(y * log(n)), n**y),
    (sin(x) ** 2.0 + cos(x) ** 2.0, ones),
    (cosh(x) ** 2.0 - sinh(x) ** 2.0, ones),
    (sin(x) / cos(x), tan(x)),
    (2.0 * sin(x) * cos(x), sin(2.0 * x)),
    (cos(x) ** 2.0 - sin(x) ** 2.0, cos(2.0 * x)),
    ((exp(x) + exp(-x)) / 2.0, cosh(x)),
    ((exp(x) - exp(-x)) / (exp(x) + exp(-x)), tanh(x)),
    (tanh(-x), -tanh(x)),
    (cos(-x), cos(x)),
    (erf(-x), -erf(x)),
    (log(gamma(p)), gammaln(p)),
    (softplus(log(n)), log1p(n)),
    (exp(x) / (exp(x) + exp(y)), sigmoid(x - y)),
    (exp(t - logsumexp(t, 1, True)), softmax(t, 1)),
    (u / absolute(u), sign(u)),
]


def assert_becomes(graph, expected):
    result = rg.rewrite_graph(graph, mode="o4")
    assert canonical(result) == canonical(expected), f"{graph} became {result}"
    assert_equal_values(graph, result)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "graph", "expected"), ROWS, ids=lambda v: str(v)[:40])
def test_a_row(name, graph, expected):
    assert_becomes(graph, expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("graph", "expected"), BEYOND, ids=lambda v: str(v)[:40])
def test_beyond(graph, expected):
    assert_becomes(graph, expected)


def test_a_logarithm_of_a_quotient_is_split_on_request():
    graph = log(x / p)
    assert rewritten(explog.distribute_log_divideo, graph) is log(x) - log(p)


def table():
    return [
        re.findall(r"`([^`]+)`", row) for row in PAGE.read_text().splitlines() if row[:3] == "| `"
    ]


def test_every_row_of_the_page_is_shown():
    rows = {names[0] for names in table() if not names[0].endswith("o")}
    assert rows == {name for name, _, _ in ROWS}


def test_every_relation_that_the_page_names_is_shipped():
    themes = (explog, powers, signs, special, stabilise, trigonometric)
    shipped = {relation.name for theme in themes for relation in theme.RELATIONS}
    named = {name for names in table() for name in names[1:]}
    assert named <= shipped
