"""Conversions between dtypes: one row each."""

import numpy as np
import pytest

from relgraph.ops.elementwise import Cast, floor, isnan, less, logical_and, logical_not, sqrt, trunc
from relgraph.relations.catalogue import casts as r
from tests.relations.catalogue.table import (
    Row,
    b,
    c,
    check,
    covers_theme,
    i,
    j,
    n,
    rewritten,
    tensor,
    x,
    y,
)

small = tensor("small", 3, dtype="int8")
f, g = tensor("f", 3, dtype="float32"), tensor("g", 3, dtype="float32")
wide, narrow, long, byte = Cast("float64"), Cast("float32"), Cast("int64"), Cast("int8")

ROWS = [
    Row(r.merge_casto, wide(Cast("int32")(small)), wide(small), narrow(wide(i))),
    Row(r.merge_cast_integero, byte(Cast("int32")(i)), byte(i), Cast("int32")(byte(i))),
    Row(r.remove_casto, wide(x), x, narrow(x)),
    Row(r.drop_cast_trutho, logical_not(narrow(i)), logical_not(i), logical_not(narrow(x))),
    Row(r.drop_cast_compareo, wide(f) < wide(g), f < g, wide(i) < wide(j)),
    Row(r.drop_cast_testo, isnan(wide(f)), isnan(f), isnan(narrow(x))),
    Row(r.gather_cast_logico, wide(b) * wide(c), wide(logical_and(b, c)), wide(i) * wide(j)),
    Row(r.gather_cast_noto, 1 - wide(b), wide(logical_not(b)), 1 - wide(i)),
    Row(r.drop_trunco, long(trunc(x)), long(x), wide(trunc(f))),
    Row(r.drop_flooro, long(floor(n)), long(n), long(floor(x))),
    Row(r.remove_roundingo, floor(trunc(x)), trunc(x), floor(x)),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


DTYPES = ("bool", "int8", "int32", "int64", "uint8", "uint32", "uint64", "float32", "float64")


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_the_table_of_what_is_lossless_agrees_with_values(source, target):
    """The ends of a dtype, and the numbers beside them, tell whether another one holds it."""
    kind = np.dtype(source)
    if kind.kind == "f":
        info = np.finfo(kind)
        ends = np.array([info.max, info.tiny, 0.1, -1.5], kind)
    elif kind.kind == "b":
        ends = np.array([False, True])
    else:
        limits = np.iinfo(kind)
        ends = np.array([limits.min, limits.max, limits.max - 1, 1], kind)
    with np.errstate(all="ignore"):
        there = ends.astype(target)
    kept = all(
        (int(a) == int(c)) if kind.kind != "f" and np.isfinite(float(c)) else (a == c)
        for a, c in zip(ends, there, strict=True)
    )
    assert r.keeps_values(target, source) == kept


def test_a_large_integer_is_not_rounded_on_the_way():
    kept = narrow(wide(i))
    assert rewritten(r.merge_casto, kept) is kept
    value = np.array([2**60 + 2**36 + 1])
    assert value.astype("float64").astype("float32") != value.astype("float32")
    assert sqrt(wide(small)).inputs[0] is wide(small)
    assert rewritten(r.drop_cast_compareo, less(narrow(x), narrow(y))).op is less
