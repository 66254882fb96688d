"""Signs and absolute values: one row each."""

import pytest

from relgraph.ir.node import constant
from relgraph.ops.elementwise import absolute, sign, sqrt
from relgraph.ops.shape import broadcast_to
from relgraph.relations.catalogue import signs as r
from tests.relations.catalogue.table import Row, check, covers_theme, i, j, n, p, tensor, u, x, y

u8 = tensor("u8", 3, dtype="uint8")
ones = broadcast_to(constant(1.0), (3,))

ROWS = [
    Row(r.cancel_absolute_absoluteo, absolute(absolute(x)), absolute(x), absolute(-x)),
    Row(r.absorb_absolute_negativeo, absolute(-i), absolute(i), absolute(-u8)),
    Row(r.remove_absoluteo, absolute(n), n, absolute(x)),
    Row(
        r.distribute_absolute_multiplyo.reversed,
        absolute(x) * absolute(y),
        absolute(x * y),
        absolute(i) * absolute(j),
    ),
    Row(r.reflect_absoluteo, absolute(-n), -(-n), absolute(x)),  # noqa: B002 - two negations
    Row(
        r.distribute_absolute_divideo.reversed,
        absolute(x) / absolute(y),
        absolute(x / y),
        absolute(x) / y,
    ),
    Row(r.absorb_absolute_signo, sign(sign(x)), sign(x), sign(sqrt(x))),
    Row(r.lift_sign_negativeo, sign(-x), -sign(x), sign(-i)),
    Row(r.multiply_sign_absoluteo, sign(x) * absolute(x), x, sign(x) * absolute(y)),
    Row(r.divide_absoluteo, u / absolute(u), sign(u), x / absolute(x)),
    Row(r.sign_positiveo, sign(p), ones, sign(n)),
    Row(r.sign_divideo, sign(x / p), sign(x), sign(x / n)),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_rows(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)
