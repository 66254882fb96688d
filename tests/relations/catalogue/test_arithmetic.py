"""Sums, products and signs: one row each."""

import pytest

from relgraph.ir.node import constant
from relgraph.ops.elementwise import absolute
from relgraph.ops.shape import broadcast_to
from relgraph.relations.catalogue import arithmetic as r
from tests.relations.catalogue.table import (
    Row,
    b,
    check,
    covers_theme,
    i,
    p,
    q,
    rewritten,
    tensor,
    u,
    x,
    y,
    z,
)

zeros, ones = broadcast_to(constant(0.0), (3,)), broadcast_to(constant(1.0), (3,))
i8, u8 = tensor("i8", 3, dtype="int8"), tensor("u8", 3, dtype="uint8")

ROWS = [
    Row(r.cancel_negative_negativeo, -(-x), x, -absolute(-x)),  # noqa: B002 - two negations
    Row(r.absorb_subtract_negativeo, x - (-y), x + y, i - (-u8)),
    Row(r.absorb_add_negativeo, x + (-y), x - y, x + absolute(y)),
    Row(r.negate_subtracto, -(x - y), y - x, -(x + y)),
    Row(r.negate_differenceo, -(x * (y - z)), x * (z - y), -(x * y)),
    Row(r.cancel_multiply_negativeo, (-x) * (-y), x * y, (-x) * y),
    Row(r.cancel_divide_negativeo, (-x) / (-y), x / y, (-u8) / (-i8)),
    Row(r.negate_multiplyo, x * -1.0, -x, x * -2.0),
    Row(r.negate_divideo, x / -1.0, -x, -1.0 / x),
    Row(r.remove_add_zeroo, x + 0.0, x, x + 1e-300),
    Row(r.remove_add_negative_zeroo, x + -0.0, x, x + 0.0),
    Row(r.remove_subtract_zeroo, x - 0.0, x, x - -0.0),
    Row(r.negate_subtract_zeroo, 0.0 - x, -x, 1.0 - x),
    Row(r.remove_multiply_oneo, x * 1.0, x, x * 2.0),
    Row(r.remove_divide_oneo, x / 1.0, x, 1.0 / x),
    Row(r.annihilate_multiply_zeroo, x * 0.0, zeros, x * 1e-300),
    Row(r.annihilate_divide_zeroo, 0.0 / x, zeros, x / 0.5),
    Row(r.cancel_subtract_selfo, x - x, zeros, x - y),
    Row(r.cancel_divide_selfo, u / u, ones, x / y),
    Row(r.double_addo, x + x, 2.0 * x, b + b),
    Row(r.collect_like_termso, x + 3.0 * x, 4.0 * x, x + y * x),
    Row(r.gather_subtract_multiplyo, 3.0 * x - x, 2.0 * x, 3.0 * y - x),
    Row(r.distribute_multiply_addo.reversed, x * y + x * z, x * (y + z), x * y + z * z),
    Row(r.distribute_multiply_subtracto.reversed, x * y - x * z, x * (y - z), x * y - z),
    Row(r.distribute_divide_addo.reversed, x / z + y / z, (x + y) / z, z / x + z / y),
    Row(r.cancel_add_subtracto, (x - y) + y, x, (x - y) + x),
    Row(r.cancel_subtract_addo, (x + y) - y, x, (x + y) - z),
    Row(r.cancel_subtract_subtracto, x - (x - y), y, x - (y - x)),
    Row(r.cancel_divide_multiplyo, (x * u) / u, x, (x * y) / u),
    Row(r.cancel_multiply_divideo, (x / u) * u, x, (x / y) * u),
    Row(r.negate_multiply_numbero, -(3 * x), -3 * x, -(y * x)),
    Row(r.negate_multiply_numbero, -x * 3, -3 * x, -x * y),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


def test_a_sum_of_many_terms_is_gathered_in_place():
    graph = p * x + z + q * y + p * y
    result = rewritten(r.distribute_multiply_addo.reversed, graph)
    assert result is p * (x + y) + z + q * y
