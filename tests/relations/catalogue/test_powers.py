"""Powers, squares, roots and reciprocals: one row each."""

import pytest

from relgraph.ir.node import constant
from relgraph.ops.elementwise import absolute, reciprocal, sqrt, square
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
    Row(r.cancel_reciprocal_reciprocalo, 1.0 / (1.0 / u), u, 1.0 / (1.0 / x)),
    Row(r.cancel_square_sqrto, sqrt(n) ** 2, n, sqrt(x) ** 2),
    Row(r.cancel_sqrt_squareo, sqrt(x**2), absolute(x), sqrt(i**2)),
    Row(r.cancel_divide_squareo, square(u) / u, u, square(x) / x),
    Row(r.absorb_square_negativeo, square(-x), square(x), square(sqrt(x))),
    Row(r.absorb_square_absoluteo, square(absolute(x)), square(x), sqrt(absolute(x))),
    Row(r.distribute_power_addo.reversed, p**x * p**y, p ** (x + y), x**y * x**x),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


def test_a_root_of_a_square_is_found_however_it_is_written():
    assert rewritten(r.cancel_sqrt_squareo, sqrt(square(x))) is absolute(x)
    assert rewritten(r.cancel_square_sqrto, square(sqrt(n))) is n
