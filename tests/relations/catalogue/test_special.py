"""Special functions: one row each."""

import math

import numpy as np
import pytest

from relgraph.ir.node import constant
from relgraph.ops.elementwise import (
    absolute,
    digamma,
    erf,
    erfc,
    erfcx,
    exp,
    gamma,
    gammaln,
    iv,
    ive,
    kv,
    kve,
    log,
    log_ndtr,
    logerfc,
    ndtr,
    polygamma,
    reciprocal,
    sin,
    square,
    tan,
    trigamma,
)
from relgraph.relations.catalogue import special as r
from tests.relations.catalogue.table import (
    Row,
    check,
    covers_theme,
    p,
    rewritten,
    tensor,
    u,
    x,
    y,
)

ROWS = [
    Row(r.log_gammao, log(gamma(p)), gammaln(p), log(gamma(x))),
    Row(r.log_absolute_gammao, log(absolute(gamma(x))), gammaln(x), log(gamma(x))),
    Row(r.exp_gammalno, exp(gammaln(p)), gamma(p), exp(gammaln(x))),
    Row(r.divide_gammao, gamma(x + 1.0) / gamma(x), x, gamma(x + 2.0) / gamma(x)),
    Row(r.multiply_gammao, u * gamma(u), gamma(u + 1.0), x * gamma(x)),
    Row(r.subtract_gammalno, gammaln(p + 1.0) - gammaln(p), log(p), gammaln(x + 1.0) - gammaln(x)),
    Row(
        r.reflect_gammao, gamma(x) * gamma(1.0 - x), math.pi / sin(math.pi * x),
        gamma(x) * gamma(1.0 - y),
    ),
    Row(r.name_polygammao, polygamma(1.0, x), trigamma(x), polygamma(2.0, x)),
    Row(
        r.subtract_digammao, digamma(x + 1.0) - digamma(x), reciprocal(x),
        digamma(x + 2.0) - digamma(x),
    ),
    Row(
        r.subtract_trigammao, trigamma(x) - trigamma(x + 1.0), reciprocal(square(x)),
        trigamma(x) - trigamma(y + 1.0),
    ),
    Row(
        r.reflect_digammao, digamma(1.0 - x) - digamma(x), math.pi / tan(math.pi * x),
        digamma(1.0 - x) - digamma(y),
    ),
    Row(r.lift_erf_negativeo, erf(-x), -erf(x), erfc(-x)),
    Row(r.complement_erfo, 1.0 - erf(x), erfc(x), 2.0 - erf(x)),
    Row(r.complement_erfco, 1.0 - erfc(x), erf(x), erfc(x) + 1.0),
    Row(r.erfc_addo, 1.0 + erf(x), erfc(-x), 1.0 + erfc(x)),
    Row(r.erfc_subtracto, erf(x) - 1.0, -erfc(x), erf(x) - 2.0),
    Row(r.erf_subtracto, erfc(-x) - 1.0, erf(x), erfc(-x) - 2.0),
    Row(r.reflect_erfco, 2.0 - erfc(x), erfc(-x), 3.0 - erfc(x)),
    Row(r.log_erfco, log(erfc(x)), logerfc(x), log(erf(x))),
    Row(r.log_ndtro, log(ndtr(x)), log_ndtr(x), log(erf(x))),
    Row(r.exp_logerfco, exp(logerfc(x)), erfc(x), log(logerfc(x))),
    Row(r.scale_erfco, exp(square(x)) * erfc(x), erfcx(x), exp(square(x)) * erfc(y)),
    Row(
        r.divide_erfco, exp(-square(x)) / erfc(x), reciprocal(erfcx(x)), exp(-square(x)) / erfc(y)
    ),
    Row(r.log_kvo, log(kv(y, x)), log(kve(y, x)) - x, log(kve(y, x))),
    Row(r.log_ivo, log(iv(y, x)), log(ive(y, x)) + absolute(x), log(ive(y, x))),
    Row(r.lift_kv_negativeo, kv(-y, x), kv(y, x), iv(-y, x)),
    Row(r.unscale_kveo, kve(y, x) * exp(-x), kv(y, x), kve(y, x) * exp(x)),
]  # fmt: skip
CONSTANT = {r.add_erf_erfco.name, r.add_erfc_erfco.name}


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert covers_theme(ROWS, r.RELATIONS) == CONSTANT


def test_complements_add_up():
    s = tensor("s")
    assert rewritten(r.add_erf_erfco, erf(s) + erfc(s)) is constant(1.0)
    assert rewritten(r.add_erfc_erfco, erfc(s) + erfc(-s)) is constant(2.0)
    near = erf(s) + erfc(2.0 * s)
    assert rewritten(r.add_erf_erfco, near) is near


def test_polygamma_of_order_zero():
    assert rewritten(r.name_polygammao, polygamma(0.0, x)) is digamma(x)
    assert rewritten(r.name_polygammao, polygamma(0, x)) is digamma(x)
    assert not np.isnan(polygamma(2.0, x).op.perform(2.0, 3.0))
