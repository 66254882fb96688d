"""Circular and hyperbolic functions: one row each."""

import math

import numpy as np
import pytest

from relgraph.checking.evaluation import evaluate
from relgraph.ir.node import constant
from relgraph.ops.elementwise import (
    absolute,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctanh,
    cbrt,
    cos,
    cosh,
    exp,
    hypot,
    log,
    logaddexp,
    reciprocal,
    sigmoid,
    sin,
    sinh,
    sqrt,
    square,
    tan,
    tanh,
    where,
)
from relgraph.relations.catalogue import trigonometric as r
from tests.relations.catalogue.table import Row, check, covers_theme, rewritten, tensor, x, y

unit = where(absolute(x) <= 1, x, math.nan)

ROWS = [
    Row(r.absorb_even_negativeo, cos(-x), cos(x), sin(-x)),
    Row(r.complement_cos_squareo, 1.0 - square(cos(x)), square(sin(x)), 2.0 - square(cos(x))),
    Row(r.quotient_sin_coso, sin(x) / cos(x), tan(x), sin(x) / cos(y)),
    Row(r.quotient_cos_sino, cos(x) / sin(x), reciprocal(tan(x)), cos(y) / sin(x)),
    Row(r.multiply_tan_coso, tan(x) * cos(x), sin(x), tan(x) * cos(y)),
    Row(r.double_angle_sino, sin(x) * cos(x), 0.5 * sin(2.0 * x), sin(x) * cos(y)),
    Row(
        r.double_angle_coso, square(cos(x)) - square(sin(x)), cos(2.0 * x),
        square(cos(x)) - square(sin(y)),
    ),
    Row(
        r.double_angle_cos_oneo, 2.0 * square(cos(x)) - 1.0, cos(2.0 * x),
        2.0 * square(cos(x)) - 2.0,
    ),
    Row(
        r.double_angle_sin_oneo, 1.0 - 2.0 * square(sin(x)), cos(2.0 * x),
        1.0 - 3.0 * square(sin(x)),
    ),
    Row(r.half_angle_coso, 1.0 - cos(x), 2.0 * square(sin(0.5 * x)), 2.0 - cos(x)),
    Row(r.complement_cosh_squareo, square(cosh(x)) - 1.0, square(sinh(x)), square(cosh(x)) - 2.0),
    Row(r.add_sinh_squareo, 1.0 + square(sinh(x)), square(cosh(x)), 2.0 + square(sinh(x))),
    Row(
        r.complement_tanh_squareo, 1.0 - square(tanh(x)), reciprocal(square(cosh(x))),
        2.0 - square(tanh(x)),
    ),
    Row(r.quotient_sinh_cosho, sinh(x) / cosh(x), tanh(x), sinh(x) / cosh(y)),
    Row(r.multiply_tanh_cosho, tanh(x) * cosh(x), sinh(x), tanh(x) * cosh(y)),
    Row(r.double_angle_sinho, sinh(x) * cosh(x), 0.5 * sinh(2.0 * x), sinh(x) * cosh(y)),
    Row(r.exponential_hyperbolico, 0.5 * (exp(x) - exp(-x)), sinh(x), 0.5 * (exp(x) - exp(-y))),
    Row(
        r.exponential_tanho, (exp(x) - exp(-x)) / (exp(x) + exp(-x)), tanh(x),
        (exp(x) - exp(-x)) / (exp(x) + exp(-y)),
    ),
    Row(r.sigmoid_tanho, 2.0 * sigmoid(2.0 * x) - 1.0, tanh(x), 2.0 * sigmoid(2.0 * x) - 2.0),
    Row(r.add_cosh_sinho, cosh(x) + sinh(x), exp(x), cosh(x) + sinh(y)),
    Row(r.subtract_cosh_sinho, cosh(x) - sinh(x), exp(-x), cosh(x) - sinh(y)),
    Row(r.log_cosho, log(cosh(x)), logaddexp(x, -x) - math.log(2), log(sinh(x))),
    Row(
        r.log_complement_tanh_squareo, log(1.0 - square(tanh(x))),
        2.0 * math.log(2) - 2.0 * logaddexp(x, -x), log(2.0 - square(tanh(x))),
    ),
    Row(r.cancel_arccosh_cosho, arccosh(cosh(x)), absolute(x), cosh(arccosh(x))),
    Row(r.cancel_arcsinh_sinho, arcsinh(sinh(x)), x, arcsinh(cosh(x))),
    Row(r.cancel_sinh_arcsinho, sinh(arcsinh(x)), x, sinh(arccosh(x))),
    Row(r.cancel_tan_arctano, tan(arctan(x)), x, arctan(tan(x))),
    Row(r.cancel_partial_inverseo, tanh(arctanh(x)), unit, arcsin(sin(x))),
    Row(r.leg_arcsino, sin(arccos(x)), sqrt((1.0 - x) * (1.0 + x)), sin(arcsin(x))),
    Row(r.cos_arctano, cos(arctan(x)), reciprocal(hypot(1.0, x)), sin(arctan(x))),
    Row(r.cosh_arcsinho, cosh(arcsinh(x)), hypot(1.0, x), sinh(arcsinh(x))),
    Row(
        r.logarithmic_arccosho, 0.5 * log((1.0 + x) / (1.0 - x)), arctanh(x),
        0.5 * log((1.0 + x) / (1.0 - y)),
    ),
    Row(
        r.logarithmic_arcsinho, log(x + sqrt(square(x) + 1.0)), arcsinh(x),
        log(y + sqrt(square(x) + 1.0)),
    ),
    Row(r.hypot_sqrto, sqrt(square(x) + square(y)), hypot(x, y), sqrt(square(x) + y)),
    Row(r.lift_odd_negativeo, sin(-x), -sin(x), cos(-x)),
]  # fmt: skip
CONSTANT = {r.pythagoras_circularo.name, r.pythagoras_hyperbolico.name}


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert covers_theme(ROWS, r.RELATIONS) == CONSTANT


def test_pythagoras():
    s = tensor("s")
    one = constant(1.0)
    assert rewritten(r.pythagoras_circularo, square(sin(s)) + square(cos(s))) is one
    assert rewritten(r.pythagoras_hyperbolico, square(cosh(s)) - square(sinh(s))) is one
    near = square(sin(s)) + square(cos(2.0 * s))
    assert rewritten(r.pythagoras_circularo, near) is near


@pytest.mark.parametrize("f", [sin, tan, arcsin, arctan, sinh, tanh, arcsinh, arctanh, cbrt])
def test_odd_functions(f):
    assert rewritten(r.lift_odd_negativeo, f(-x)) is -f(x)


POINTS = np.array([-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize(
    ("f", "g"), [(tanh, arctanh), (cosh, arccosh), (sin, arcsin), (cos, arccos)]
)
def test_inverses_keep_their_domain(f, g):
    v = tensor("v", 10)
    graph = f(g(v))
    result = rewritten(r.cancel_partial_inverseo, graph)
    done = evaluate((graph, result), {"v": POINTS})
    np.testing.assert_allclose(done[result], done[graph], rtol=1e-14, atol=1e-15)


def test_arccosh_of_cosh_is_the_absolute_value():
    v = tensor("v", 10)
    result = rewritten(r.cancel_arccosh_cosho, arccosh(cosh(v)))
    np.testing.assert_array_equal(evaluate((result,), {"v": POINTS})[result], np.abs(POINTS))
