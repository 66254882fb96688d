"""Where the naive form loses its digits and the stable one keeps them, with mpmath as judge.

A row names a stabilising relation, a graph that it matches, and a point: there the graph is off by
at least a hundredth of its value, or overflows, and what the relation makes of it is right to ten
digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytest

from relgraph.checking.evaluation import evaluate
from relgraph.checking.rounding import mpmath_semantics
from relgraph.db.catalogue import relations
from relgraph.ir.node import Variable
from relgraph.numpy.reductions import log_softmax, logsumexp, max, mean, prod, softmax, sum
from relgraph.ops.cumulative import cumprod
from relgraph.ops.elementwise import (
    absolute,
    arccosh,
    arcsinh,
    arctanh,
    cos,
    cosh,
    digamma,
    erf,
    erfc,
    exp,
    exp2,
    expm1,
    gamma,
    gammaln,
    iv,
    kv,
    kve,
    log,
    log1p,
    log2,
    log10,
    ndtr,
    reciprocal,
    sigmoid,
    sign,
    sinh,
    softplus,
    sqrt,
    square,
    tanh,
    trigamma,
)
from relgraph.ops.linalg.solve import det
from relgraph.ops.shape import expand_dims
from relgraph.relations.catalogue import (
    cumulative,
    explog,
    reduced_shapes,
    special,
    stabilise,
    trigonometric,
)
from tests.relations.catalogue.table import rewritten, tensor

x, y = tensor("x"), tensor("y")
p, n = tensor("p", facts=("positive",)), tensor("n", facts=("nonnegative",))
v, w = tensor("v", 3), tensor("w", 3, facts=("positive",))
A, S = tensor("A", 2, 2), tensor("S", 2, 2, facts=("spd",))
DIGITS = 1000
KEPT = 1e-10


@dataclass(frozen=True)
class Case:
    """A relation, a graph that it matches, and where the graph is computed."""

    relation: Any
    graph: Variable
    at: Any
    other: Any = 0.0

    def __str__(self) -> str:
        return f"{self.relation.name}: {self.graph}"


TALL = np.diag([1e-200, 1e-200])

CASES = [
    Case(explog.cancel_log_expo, log(exp(x)), 800.0),
    Case(explog.cancel_log_expo, log1p(expm1(x)), 800.0),
    Case(explog.cancel_log_powero, log10(10.0**x), 400.0),
    Case(explog.change_log_baseo, log(exp2(x)), 2000.0),
    Case(explog.change_log_baseo, log2(exp(x)), 800.0),
    Case(explog.distribute_exp_addo.reversed, exp(x) * exp(y), 800.0, -799.0),
    Case(explog.distribute_exp_subtracto.reversed, exp(x) / exp(y), 800.0, 799.0),
    Case(explog.distribute_exp2_addo.reversed, exp2(x) * exp2(y), 1100.0, -1099.0),
    Case(explog.distribute_exp2_subtracto.reversed, exp2(x) / exp2(y), 1100.0, 1099.0),
    Case(explog.log_reciprocalo, log(1.0 / x), 1e-310),
    Case(trigonometric.complement_cos_squareo, 1.0 - square(cos(x)), 1e-9),
    Case(trigonometric.half_angle_coso, 1.0 - cos(x), 1e-9),
    Case(trigonometric.half_angle_coso, cos(x) - 1.0, 1e-9),
    Case(trigonometric.complement_cosh_squareo, square(cosh(x)) - 1.0, 1e-9),
    Case(trigonometric.complement_tanh_squareo, 1.0 - square(tanh(x)), 25.0),
    Case(trigonometric.quotient_sinh_cosho, sinh(x) / cosh(x), 800.0),
    Case(trigonometric.exponential_hyperbolico, (exp(x) - exp(-x)) / 2.0, 1e-17),
    Case(trigonometric.exponential_tanho, (exp(x) - exp(-x)) / (exp(x) + exp(-x)), 800.0),
    Case(trigonometric.add_cosh_sinho, cosh(x) + sinh(x), -40.0),
    Case(trigonometric.subtract_cosh_sinho, cosh(x) - sinh(x), 40.0),
    Case(trigonometric.log_cosho, log(cosh(x)), 800.0),
    Case(trigonometric.log_complement_tanh_squareo, log(1.0 - square(tanh(x))), 25.0),
    Case(trigonometric.cancel_arccosh_cosho, arccosh(cosh(x)), 1e-9),
    Case(trigonometric.cancel_arcsinh_sinho, arcsinh(sinh(x)), 800.0),
    Case(trigonometric.cancel_arcsinh_sinho, arctanh(tanh(x)), 25.0),
    Case(trigonometric.logarithmic_arccosho, log(x + sqrt(square(x) - 1.0)), 1e200),
    Case(trigonometric.logarithmic_arccosho, 0.5 * log((1.0 + x) / (1.0 - x)), 1e-17),
    Case(trigonometric.logarithmic_arcsinho, log(x + sqrt(square(x) + 1.0)), -1e9),
    Case(trigonometric.hypot_sqrto, sqrt(square(x) + square(y)), 1e200, 1e200),
    Case(special.log_gammao, log(gamma(p)), 200.0),
    Case(special.log_absolute_gammao, log(absolute(gamma(x))), 200.0),
    Case(special.divide_gammao, gamma(x + 1.0) / gamma(x), 200.0),
    Case(special.subtract_gammalno, gammaln(p + 1.0) - gammaln(p), 1e16),
    Case(special.reflect_gammao, gamma(x) * gamma(1.0 - x), 180.5),
    Case(special.subtract_digammao, digamma(x + 1.0) - digamma(x), 1e15),
    Case(special.subtract_trigammao, trigamma(x) - trigamma(x + 1.0), 1e15),
    Case(special.complement_erfo, 1.0 - erf(x), 8.0),
    Case(special.complement_erfco, 1.0 - erfc(x), 1e-17),
    Case(special.erfc_addo, 1.0 + erf(x), -8.0),
    Case(special.erfc_subtracto, erf(x) - 1.0, 8.0),
    Case(special.erf_subtracto, erfc(-x) - 1.0, 1e-17),
    Case(special.reflect_erfco, 2.0 - erfc(x), -8.0),
    Case(special.log_erfco, log(erfc(x)), 40.0),
    Case(special.log_ndtro, log(ndtr(x)), -60.0),
    Case(special.scale_erfco, exp(square(x)) * erfc(x), 30.0),
    Case(special.divide_erfco, exp(-square(x)) / erfc(x), 30.0),
    Case(special.log_kvo, log(kv(x, y)), 1.5, 800.0),
    Case(special.log_ivo, log(iv(x, y)), 1.5, 800.0),
    Case(stabilise.log1p_addo, log(1.0 + x), 1e-17),
    Case(stabilise.log1p_subtracto, log(1.0 - x), 1e-17),
    Case(stabilise.expm1_subtracto, exp(x) - 1.0, 1e-17),
    Case(stabilise.expm1_complemento, 1.0 - exp(x), 1e-17),
    Case(stabilise.expm1_addo, expm1(x) + 1.0, -40.0),
    Case(stabilise.log1p_subtract_oneo, log1p(x - 1.0), 1e-17),
    Case(stabilise.softplus_log1po, log(1.0 + exp(x)), 800.0),
    Case(stabilise.softplus_log1po, log(1.0 + exp(x)), -40.0),
    Case(stabilise.log1mexp_log1po, log(1.0 - exp(x)), -1e-17),
    Case(stabilise.log1mexp_log1po, log(1.0 - exp(x)), -40.0),
    Case(stabilise.logaddexpo, log(exp(x) + exp(y)), -800.0, -801.0),
    Case(stabilise.log_add_expo, log(exp(x) + n), 800.0),
    Case(stabilise.log_subtract_expo, log(exp(x) - exp(y)), 800.0, 799.0),
    Case(stabilise.log_multiply_expo, log(kve(1.5, p) * exp(-p)), 800.0),
    Case(stabilise.log_multiply_expo, log(p / exp(y)), 2.0, 800.0),
    Case(stabilise.sigmoid_multiply_expo, exp(x) * sigmoid(-x), 800.0),
    Case(stabilise.sigmoid_two_expo, exp(x) / (exp(x) + exp(y)), 800.0, 801.0),
    Case(stabilise.complement_sigmoido, 1.0 - sigmoid(x), 40.0),
    Case(stabilise.odds_sigmoido, sigmoid(x) / (1.0 - sigmoid(x)), 40.0),
    Case(stabilise.log_sigmoido, log(sigmoid(x)), -800.0),
    Case(stabilise.log_complement_sigmoido, log1p(-sigmoid(x)), 40.0),
    Case(stabilise.cancel_softplus_softpluso, softplus(x) - softplus(-x), 1e-17),
    Case(stabilise.subtract_softpluso, softplus(x) - x, 40.0),
    Case(stabilise.logsumexpo, log(sum(exp(v))), [-800.0, -801.0, -802.0]),
    Case(stabilise.log_mean_expo, log(mean(exp(v))), [800.0, 801.0, 802.0]),
    Case(stabilise.log_multiply_expo, log(p * sum(exp(v))), [800.0, 801.0, 802.0]),
    Case(stabilise.log_multiply_expo, log(exp(y) / p), 2.0, 800.0),
    Case(stabilise.log_prodo, log(prod(w)), [1e-200, 1e-200, 1.0]),
    Case(cumulative.log_cumprodo, log(cumprod(w, 0)), [1e-200, 1e-200, 2.0]),
    Case(stabilise.softmax_divideo, exp(v) / sum(exp(v), 0, keepdims=True), [800.0, 801.0, 802.0]),
    Case(stabilise.divide_sum_expo, exp(v - 1.0) / sum(exp(v)), [800.0, 801.0, 802.0]),
    Case(stabilise.log_softmaxo, log(softmax(v)), [0.0, 800.0, 800.0]),
    Case(stabilise.log_moved_softmaxo, log(softmax(v)[:1]), [0.0, 800.0, 800.0]),
    Case(stabilise.log_absolute_deto, log(absolute(det(A))), TALL),
    Case(stabilise.log_det_spdo, log(det(S)), TALL),
    Case(stabilise.sign_deto, sign(det(A)), TALL),
    Case(stabilise.switch_log_deto, log(det(A)), TALL),
]
# These make a stable form one op; neither side loses digits of its own.
AS_GOOD = {
    stabilise.sigmoid_divideo.name: (reciprocal(1.0 + exp(x)), 40.0),
    stabilise.divide_add_expo.name: (y / (1.0 + exp(x)), 40.0),
    stabilise.log_softmax_subtracto.name: (v - logsumexp(v, 0, keepdims=True), [0.0, 800.0, 800.0]),
    stabilise.exp_log_softmaxo.name: (exp(log_softmax(v)), [0.0, 30.0, 1.0]),
    stabilise.shift_softmaxo.name: (softmax(v - max(v, 0, keepdims=True)), [800.0, 801.0, 802.0]),
    reduced_shapes.keep_reduced_axeso.name: (
        expand_dims(logsumexp(v, 0), 0),
        [800.0, 801.0, 802.0],
    ),
    trigonometric.add_sinh_squareo.name: (1.0 + square(sinh(x)), 1.0),
}


def point(case):
    """Return the values of all inputs that a graph may have."""
    value = np.asarray(case.at, float)
    return {name: value for name in "xpvwAS"} | {"y": np.asarray(case.other, float),
                                                 "n": np.asarray(case.other, float)}  # fmt: skip


def errors(graph, values, true):
    """Return the largest relative error of a computed graph; infinite where it is not finite."""
    computed = evaluate((graph,), values)[graph]
    found = [
        abs(mpmath.mpf(float(c)) - t) / abs(t) if np.isfinite(c) else mpmath.inf
        for c, t in zip(computed.flat, true.flat, strict=True)
    ]
    return float(mpmath.mpf(np.max(found)))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_naive_form_loses_all_digits_and_the_stable_one_keeps_them(case):
    result = rewritten(case.relation, case.graph)
    assert result is not case.graph
    values = point(case)
    with mpmath.workdps(DIGITS):
        true = mpmath_semantics.value(case.graph, values)
        naive, stable = (errors(g, values, true) for g in (case.graph, result))
    assert naive > 1e-2, f"{case.graph} is right to {naive}"
    assert stable < KEPT, f"{result} is off by {stable}"


def test_every_stabilising_relation_has_a_case():
    shipped = {r.name for r in relations() if "stabilize" in r.tags}
    assert shipped - {case.relation.name for case in CASES} == set(AS_GOOD)


@pytest.mark.parametrize("name", AS_GOOD)
def test_what_only_names_a_stable_form_keeps_its_digits(name):
    graph, at = AS_GOOD[name]
    themes = (stabilise, reduced_shapes, trigonometric)
    (relation,) = [r for t in themes for r in t.RELATIONS if r.name == name]
    result = rewritten(relation, graph)
    values = {k: np.asarray(at, float) for k in "xyv"}
    with mpmath.workdps(DIGITS):
        true = mpmath_semantics.value(graph, values)
        assert result is not graph and errors(result, values, true) < KEPT
