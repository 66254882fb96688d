"""Extremes, truth and logsumexp over axes: one row each."""

import pytest

from relgraph.numpy.reductions import all, any, argmax, argmin, logsumexp, max, min, sum
from relgraph.ops.elementwise import (
    Cast,
    erfc,
    exp,
    log,
    logical_not,
    logical_or,
    maximum,
    minimum,
    sqrt,
)
from relgraph.relations.catalogue import reduced_extremes as r
from tests.relations.catalogue.table import Row, check, covers_theme, i, rewritten, s, t, tensor

T = tensor("T", 2, 3, 4)
row, wide = tensor("row", 3), tensor("wide", 2, 3)
flags, marks = tensor("flags", 2, 3, dtype="bool"), tensor("marks", 2, 3, dtype="bool")
positive = tensor("positive", facts=("positive",))
weights = tensor("weights", 2, 3, facts=("nonnegative",))
single = tensor("single", 2, 3, dtype="float32")

ROWS = [
    Row(r.merge_extremeo, max(max(T, 1), 1), max(T, (1, 2)), max(min(T, 1), 1)),
    Row(r.merge_logsumexpo, logsumexp(logsumexp(T, 0)), logsumexp(T), sum(logsumexp(T, 0))),
    Row(
        r.distribute_extreme_maximumo.reversed,
        maximum(max(t, 0), max(wide, 0)),
        max(maximum(t, wide), 0),
        maximum(max(t, 0), min(wide, 0)),
    ),
    Row(
        r.distribute_any_oro.reversed,
        logical_or(any(flags), any(marks)),
        any(logical_or(flags, marks)),
        logical_or(any(flags), all(marks)),
    ),
    Row(r.lift_extreme_negativeo, max(-t, 0), -min(t, 0), max(-i)),
    Row(r.place_extreme_negativeo, argmax(-t, 0), argmin(t, 0), argmax(-i)),
    Row(r.lift_extreme_increasingo, max(exp(t), 0), exp(max(t, 0)), sum(exp(t), 0)),
    Row(r.lift_extreme_partialo, min(sqrt(t), 0), sqrt(min(t, 0)), sum(sqrt(t), 0)),
    Row(r.lift_extreme_decreasingo, max(erfc(t), 0), erfc(min(t, 0)), sum(erfc(t), 0)),
    Row(r.lift_extreme_addo, max(s - t, 1), s - min(t, 1), max(t + row, 1)),
    Row(r.lift_extreme_multiplyo, max(positive * t, 1), positive * max(t, 1), max(s * t, 1)),
    Row(r.lift_extreme_cuto, max(minimum(t, s), 1), minimum(max(t, 1), s), max(minimum(t, row), 1)),
    Row(r.lift_logsumexp_addo, logsumexp(t + s, 1), logsumexp(t, 1) + s, logsumexp(t + row, 1)),
    Row(
        r.cancel_logsumexp_logo,
        logsumexp(log(weights), 0),
        log(sum(weights, 0)),
        logsumexp(log(t), 0),
    ),
    Row(r.drop_cast_anyo, any(Cast("float64")(single), 0), any(single, 0), any(Cast("int8")(t))),
    Row(r.lift_any_noto, any(logical_not(flags), 0), logical_not(all(flags, 0)), any(flags, 0)),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


def test_what_is_the_same_along_the_axes_leaves():
    assert rewritten(r.lift_extreme_addo, max(t + row, 0)) is max(t, 0) + row
