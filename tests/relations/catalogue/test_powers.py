"""Powers, squares, roots and reciprocals: one row each."""

import math

import numpy as np
import pytest

from relgraph.checking.evaluation import evaluate
from relgraph.ir.node import constant
from relgraph.ops.elementwise import absolute, cbrt, reciprocal, sqrt, square, where
from relgraph.ops.shape import broadcast_to
from relgraph.relations.catalogue import powers as r
from tests.relations.catalogue.table import (
    Row,
    check,
    covers_theme,
    i,
    n,
    p,
    rewritten,
    tensor,
    u,
    x,
    y,
)

ones = broadcast_to(constant(1.0), (3,))
i8 = tensor("i8", 3, dtype="int8")

ROWS = [
    Row(r.remove_power_oneo, x**1, x, x**2),
    Row(r.annihilate_power_zeroo, x**0, ones, x**y),
    Row(r.square_powero, x**2, square(x), x**3),
    Row(r.square_multiplyo, x * x, square(x), x * y),
    Row(r.sqrt_powero, x**0.5, sqrt(x), i8**0.5),
    Row(r.reciprocal_powero, x**-1.0, reciprocal(x), i**-1.0),
    Row(r.reciprocal_sqrt_powero, x**-0.5, reciprocal(sqrt(x)), x**0.5),
    Row(r.reciprocal_square_powero, x**-2.0, reciprocal(square(x)), x**-3.0),
    Row(r.reciprocal_divideo, 1.0 / x, reciprocal(x), 1 / i),
    Row(r.cancel_reciprocal_reciprocalo, 1.0 / (1.0 / x), x, 1.0 / (2.0 / x)),
    Row(r.cancel_square_sqrto, sqrt(n) ** 2, n, sqrt(x) ** 2),
    Row(r.cancel_sqrt_squareo, sqrt(x**2), absolute(x), sqrt(i**2)),
    Row(r.cancel_divide_squareo, square(u) / u, u, square(x) / u),
    Row(r.cancel_square_factoro, (y * square(u)) / u, u * y, (y * square(x)) / u),
    Row(r.cancel_square_factoro, (square(u) * x) / (y * u), (u * x) / y, (square(x) * u) / y),
    Row(r.cancel_square_factoro, (u * y) / square(u), y / u, y / square(u)),
    Row(r.absorb_square_negativeo, square(-x), square(x), square(sqrt(x))),
    Row(r.absorb_square_absoluteo, square(absolute(x)), square(x), sqrt(absolute(x))),
    Row(r.distribute_power_addo.reversed, p**x * p**y, p ** (x + y), x**y * x**x),
    Row(r.annihilate_one_powero, 1.0**x, ones, 2.0**x),
    Row(r.gather_whole_powero, x**3.0 * x**4.0, x**7.0, x**3.0 * y**4.0),
    Row(r.distribute_power_subtracto.reversed, p**x / p**y, p ** (x - y), x**y / x**x),
    Row(r.merge_power_powero, (p**x) ** y, p ** (x * y), (x**y) ** y),
    Row(r.merge_whole_powero, (x**3.0) ** 2.0, x**6.0, (x**3.0) ** 0.5),
    Row(r.halve_power_sqrto, sqrt(n) ** 3.0, n**1.5, sqrt(x) ** 3.0),
    Row(r.negate_powero, 1.0 / x**y, x ** (-y), 2.0 / x**y),
    Row(r.square_repeatedlyo, x**5.0, x * square(square(x)), x**65.0),
    Row(r.square_inverselyo, x**-3.0, reciprocal(x * square(x)), x**3.0),
    Row(r.square_half_powero, x**2.5, square(x) * sqrt(x), x**2.25),
    Row(r.square_half_powero, x**-1.5, reciprocal(x * sqrt(x)), x**-0.5),
    Row(r.square_quarter_powero, x**0.25, sqrt(sqrt(x)), x**0.5),
    Row(r.square_quarter_powero, x**0.75, sqrt(x) * sqrt(sqrt(x)), x**0.8),
    Row(r.square_quarter_powero, x**-1.25, reciprocal(x * sqrt(sqrt(x))), x**-1.5),
    Row(r.switch_square_sqrto, square(sqrt(x)), where(x >= 0, x, math.nan), sqrt(square(x))),
    Row(r.merge_sqrto, sqrt(n) * sqrt(p), sqrt(n * p), sqrt(n) * sqrt(x)),
    Row(r.cancel_divide_sqrto, p / sqrt(p), sqrt(p), x / sqrt(x)),
    Row(r.cancel_power_cbrto, cbrt(x) ** 3.0, x, cbrt(x) ** 2.0),
    Row(r.cancel_cbrt_powero, cbrt(x**3.0), x, cbrt(x**2.0)),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


def test_a_root_of_a_square_is_found_however_it_is_written():
    assert rewritten(r.cancel_sqrt_squareo, sqrt(square(x))) is absolute(x)
    assert rewritten(r.cancel_square_sqrto, square(sqrt(n))) is n


HALF = np.array([-2.0, 0.0, np.inf, np.nan])


def test_a_product_of_roots_keeps_its_domain():
    v = tensor("v", 4)
    result = rewritten(r.switch_square_sqrto, square(sqrt(v)))
    np.testing.assert_array_equal(
        evaluate((result,), {"v": HALF})[result], [np.nan, 0.0, np.inf, np.nan]
    )


def test_a_reciprocal_of_a_reciprocal_keeps_zeros_and_infinities():
    v = tensor("v", 4)
    graph = 1.0 / (1.0 / v)
    result = rewritten(r.cancel_reciprocal_reciprocalo, graph)
    assert result is v
    np.testing.assert_array_equal(evaluate((graph,), {"v": HALF})[graph], HALF)


@pytest.mark.parametrize("n", range(3, 20))
def test_repeated_squares_are_powers(n):
    result = rewritten(r.square_repeatedlyo, i**n)
    values = np.array([-3, 2, 7])
    np.testing.assert_array_equal(evaluate((result,), {"i": values})[result], values**n)


def test_exponents_of_other_signs_are_not_joined_over_a_pole():
    assert rewritten(r.gather_whole_powero, x**-3.0 * x**4.0).op.name == "multiply"
    assert rewritten(r.gather_whole_powero, x * x**-1.0).op.name == "multiply"
    assert rewritten(r.gather_whole_powero, x * x**-3.0) is x**-2.0
    assert rewritten(r.gather_whole_powero, square(x) * x**3.0) is x**5.0
