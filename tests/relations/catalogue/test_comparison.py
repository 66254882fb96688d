"""Comparison and logic: one row each."""

import pytest

from relgraph.ir.node import constant
from relgraph.ops.elementwise import (
    Cast,
    equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    not_equal,
)
from relgraph.ops.shape import broadcast_to
from relgraph.relations.catalogue import comparison as r
from relgraph.relations.catalogue import logic
from tests.relations.catalogue.table import (
    Row,
    b,
    c,
    check,
    covers_theme,
    i,
    j,
    p,
    q,
    rewritten,
    tensor,
    u,
    x,
    y,
    z,
)

real, other = tensor("real", 3, facts=("not_nan",)), tensor("other", 3, facts=("not_nan",))
d = tensor("d", 3, dtype="bool")
false, true = broadcast_to(constant(False), (3,)), broadcast_to(constant(True), (3,))

ROWS = [
    Row(r.swap_greatero, x > y, y < x, x < y),
    Row(r.compare_selfo, less(x, x), false, equal(x, x)),
    Row(r.test_selfo, not_equal(x, x), isnan(x), not_equal(x, y)),
    Row(r.complement_equalo, logical_not(equal(x, y)), not_equal(x, y), logical_not(less(x, y))),
    Row(r.complement_lesso, logical_not(real < other), other <= real, logical_not(x < y)),
    Row(r.cancel_compare_negativeo, -x < -y, y < x, -i < -j),
    Row(r.cancel_equal_negativeo, equal(-x, -y), equal(x, y), equal(-x, y)),
    Row(r.compare_differenceo, x - y < 0, x < y, i - j < 0),
    Row(r.equal_differenceo, equal(x - y, 0), equal(x, y), equal(x + y, 0)),
    Row(r.compare_signo, p < -q, false, p < x),
    Row(r.compare_nonzeroo, equal(u, 0), false, equal(x, 0)),
    Row(r.test_zeroo, not_equal(x, 0), Cast("bool")(x), not_equal(x, 1)),
    Row(r.equal_trutho, equal(b, constant(True)), b, equal(x, constant(True))),
    Row(r.equal_falseo, equal(b, constant(False)), logical_not(b), equal(x, constant(False))),
    Row(r.join_comparisono, logical_or(x < y, equal(y, x)), x <= y, logical_or(x < y, y < x)),
    Row(
        r.join_less_greatero,
        logical_or(real < other, other < real),
        not_equal(real, other),
        logical_or(x < y, y < x),
    ),
    Row(
        r.gather_and_lesso,
        logical_and(x < z, y < z),
        maximum(x, y) < z,
        logical_and(x < z, z < y),
    ),
    Row(
        r.gather_or_lesso,
        logical_or(z < real, z < other),
        z < maximum(real, other),
        logical_or(z < x, z < y),
    ),
    Row(r.decide_testo, isnan(real), false, isinf(real)),
    Row(r.absorb_test_signo, isnan(-x), isnan(x), isnan(x)),
    Row(r.join_testo, logical_or(isnan(x), isinf(x)), logical_not(isfinite(x)), isnan(x)),
    Row(logic.logical_bitwiseo, b & c, logical_and(b, c), i & j),
    Row(logic.cancel_not_noto, logical_not(logical_not(b)), b, logical_not(logical_not(i))),
    Row(
        logic.test_not_noto,
        logical_not(logical_not(x)),
        Cast("bool")(x),
        logical_not(logical_not(b)),
    ),
    Row(logic.neutral_logico, logical_and(b, constant(True)), b, logical_and(x, constant(True))),
    Row(logic.annihilate_logico, logical_xor(x, x), false, logical_xor(x, y)),
    Row(logic.neutral_bitwiseo, i | 0, i, i | 1),
    Row(
        logic.complement_logico, logical_or(b, logical_not(b)), true, logical_or(b, logical_not(c))
    ),
    Row(
        logic.distribute_noto.reversed,
        logical_and(logical_not(b), logical_not(c)),
        logical_not(logical_or(b, c)),
        logical_and(logical_not(b), c),
    ),
    Row(
        logic.cancel_xor_noto,
        logical_xor(logical_not(b), logical_not(c)),
        logical_xor(b, c),
        logical_xor(logical_not(b), c),
    ),
    Row(logic.absorb_logico, logical_or(b, logical_and(b, c)), b, logical_or(x, logical_and(x, c))),
    Row(
        logic.absorb_complemento,
        logical_or(b, logical_and(logical_not(b), c)),
        logical_or(b, c),
        logical_or(b, logical_and(logical_not(c), d)),
    ),
    Row(
        logic.distribute_logico.reversed,
        logical_or(logical_and(b, c), logical_and(b, d)),
        logical_and(b, logical_or(c, d)),
        logical_or(logical_and(b, c), d),
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS + logic.RELATIONS)


def test_comparisons_with_itself_keep_nan():
    assert rewritten(r.test_selfo, equal(x, x)) is logical_not(isnan(x))
    assert rewritten(r.compare_selfo, less_equal(real, real)) is true
    assert rewritten(r.compare_selfo, less_equal(i, i)) is true


def test_a_size_is_not_negative():
    v = tensor("v", None)
    assert rewritten(r.compare_signo, v.size < 0) is constant(False)
    assert rewritten(r.compare_signo, less_equal(0, v.size)) is constant(True)
    assert rewritten(r.compare_signo, equal(v.size, -3)) is constant(False)


def test_the_truth_of_a_number():
    assert rewritten(logic.test_not_noto, logical_not(logical_not(i))) is Cast("bool")(i)
    assert rewritten(r.gather_and_lesso, logical_and(z <= x, z <= y)) is (z <= minimum(x, y))
