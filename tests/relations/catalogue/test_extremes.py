"""Maximum, minimum and clip: one row each."""

import pytest

from relgraph.ir.node import constant
from relgraph.ops.elementwise import absolute, clip, erfc, exp, log, logical_or, maximum, minimum
from relgraph.relations.catalogue import extremes as r
from tests.relations.catalogue.table import (
    Row,
    b,
    c,
    check,
    covers_theme,
    i,
    j,
    n,
    p,
    q,
    rewritten,
    x,
    y,
    z,
)

two, five = constant(2.0), constant(5.0)

ROWS = [
    Row(r.idempotent_extremeo, maximum(x, x), x, maximum(x, y)),
    Row(r.idempotento, logical_or(b, b), b, logical_or(b, c)),
    Row(r.absorb_extremeo, maximum(x, minimum(y, x)), x, maximum(x, minimum(y, z))),
    Row(
        r.distribute_extremeo.reversed,
        minimum(maximum(x, y), maximum(x, z)),
        maximum(x, minimum(y, z)),
        minimum(maximum(x, y), z),
    ),
    Row(r.gather_extreme_negativeo, maximum(-x, -y), -minimum(x, y), maximum(-i, -j)),
    Row(
        r.gather_extreme_increasingo,
        maximum(exp(x), exp(y)),
        exp(maximum(x, y)),
        maximum(exp(x), y),
    ),
    Row(
        r.gather_extreme_partialo,
        minimum(log(p), log(q)),
        log(minimum(p, q)),
        minimum(log(p), q),
    ),
    Row(
        r.gather_extreme_decreasingo,
        maximum(erfc(x), erfc(y)),
        erfc(minimum(x, y)),
        maximum(erfc(x), y),
    ),
    Row(r.gather_extreme_addo, maximum(x + z, z + y), maximum(x, y) + z, maximum(i + 1, j + 1)),
    Row(
        r.gather_extreme_subtracto,
        maximum(z - x, z - y),
        z - minimum(x, y),
        maximum(z - x, y - x),
    ),
    Row(r.gather_extreme_multiplyo, maximum(n * x, n * y), n * maximum(x, y), maximum(z * x, z)),
    Row(r.decide_extremeo, maximum(n, constant(0.0)), n, maximum(n, x)),
    Row(r.join_extremeo, maximum(x, y) + minimum(y, x), x + y, maximum(x, y) + minimum(x, z)),
    Row(
        r.spread_extremeo,
        maximum(x, y) - minimum(x, y),
        absolute(x - y),
        maximum(i, j) - minimum(i, j),
    ),
    Row(r.clip_extremeo, minimum(maximum(x, y), z), clip(x, y, z), minimum(minimum(x, y), z)),
    Row(
        r.clip_minimumo,
        maximum(two, minimum(x, five)),
        clip(x, two, five),
        maximum(five, minimum(x, two)),
    ),
    Row(
        r.merge_clipo,
        clip(clip(x, -1.0, 3.0), 0.0, 8.0),
        clip(x, 0.0, 3.0),
        clip(clip(x, y, z), 0.0, 8.0),
    ),
    Row(r.idempotent_clipo, clip(clip(x, y, z), y, z), clip(x, y, z), clip(clip(x, y, z), z, y)),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


def test_the_least_and_the_greatest_of_itself():
    assert rewritten(r.idempotent_extremeo, minimum(x, x)) is x
    assert rewritten(r.idempotento, logical_or(b, b)) is b
