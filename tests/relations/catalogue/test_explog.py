"""Exponentials and logarithms: one row each."""

import pytest

from relgraph.ops.elementwise import exp, exp2, expm1, log, log1p, log2, sqrt, square
from relgraph.relations.catalogue import explog as r
from tests.relations.catalogue.table import Row, check, covers_theme, n, p, q, rewritten, x, y

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
    Row(r.distribute_log_multiplyo, log(p * q), log(p) + log(q), log(x * y)),
    Row(r.distribute_log_divideo, log(p / q), log(p) - log(q), log(p / x)),
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
