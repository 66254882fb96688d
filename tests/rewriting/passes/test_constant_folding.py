"""Constant folding: what is computed now, that values stay the same, and what is left alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relgraph as rg
from relgraph.ir.node import Constant
from relgraph.ops.linalg.solve import Inv
from relgraph.ops.shape import Dim
from relgraph.rewriting.passes.constant_folding import ConstantCollecting, ConstantFolding

folding, collecting = ConstantFolding(), ConstantCollecting()
x = rg.vector("x", shape=(3,))
rng = np.random.default_rng(1)


def fold(graph):
    return rg.rewrite_graph(graph, folding)


def collect(graph):
    return rg.rewrite_graph(graph, folding, collecting)


MATRIX = rng.normal(size=(4, 4))


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (rg.constant(2.0) * 3, np.float64(6)),
        (rg.exp(rg.constant(np.arange(3.0))), np.exp(np.arange(3.0))),
        (rg.sum(rg.constant(MATRIX), axis=0), MATRIX.sum(0)),
        (rg.constant(MATRIX) @ MATRIX, MATRIX @ MATRIX),
        (rg.det(rg.constant(MATRIX)), np.linalg.det(MATRIX)),
        (rg.slogdet(rg.constant(MATRIX))[1], np.linalg.slogdet(MATRIX)[1]),
        (rg.constant(np.int8(100)) + np.int8(100), np.int8(-56)),
        (rg.constant(1.0) / 0.0, np.float64(np.inf)),
        (rg.constant([True, False]) & np.True_, np.array([True, False])),
        (rg.constant(MATRIX).T[1:, 0], MATRIX.T[1:, 0]),
        (rg.constant(np.float32(1)) / 3, np.float32(1) / np.float32(3)),
        (rg.cast(rg.constant(2.7), "int64"), np.int64(2)),
    ],
)
def test_constants_are_computed_as_numpy_does(graph, expected):
    found = fold(graph)
    assert isinstance(found, Constant)
    assert found.value.dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(found.value, expected)


def test_sizes_that_are_static():
    n = rg.tensor("n", shape=(3, "m", None))
    size = fold(Dim(-3)(n))
    assert isinstance(size, Constant)
    assert size.value == 3
    assert size.dtype == np.int64
    assert fold(Dim(-3)(rg.exp(n))) is size
    assert fold(Dim(-2)(n)) is Dim(-2)(n)
    assert fold(Dim(-1)(n)) is Dim(-1)(n)


def test_only_constants_are_folded():
    graph = rg.exp(x) + rg.sqrt(rg.constant(4.0))
    assert fold(graph) is rg.exp(x) + 2
    assert fold(rg.exp(x) + 2) is rg.exp(x) + 2


def test_what_fails_is_left_for_the_call():
    singular = Inv()(rg.constant(np.zeros((2, 2))))
    assert fold(singular) is singular
    indefinite = rg.cholesky(rg.constant([[1.0, 2.0], [2.0, 1.0]]))
    assert fold(indefinite) is indefinite
    with pytest.raises(np.linalg.LinAlgError):
        rg.evaluate(singular, {})


def test_numpy_does_not_warn():
    divided = fold(rg.constant([1.0, 0.0]) / [0.0, 0.0])
    np.testing.assert_array_equal(divided.value, [np.inf, np.nan])
    integers = rg.constant([7, 8]) // rg.constant([0, 2])
    np.testing.assert_array_equal(fold(integers).value, [0, 4])


def test_large_results_are_left_alone():
    small = ConstantFolding(limit=10)
    grown = rg.broadcast_to(rg.constant(1.0), (11,))
    assert rg.rewrite_graph(grown, small) is grown
    assert isinstance(fold(grown), Constant)
    kept = rg.exp(rg.constant(np.zeros(20)))
    assert isinstance(rg.rewrite_graph(kept, small), Constant)  # no larger than it was
    outer = rg.constant(np.zeros((2000, 1))) * np.zeros((1, 2000))
    assert fold(outer) is outer


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (x + 1 + 2, 3 + x),
        (1 + (x + 2), 3 + x),
        ((1 + x) + (2 + x), rg.constant(3.0) + x + x),
        (2 * (x * 3), 6 * x),
        (rg.maximum(rg.maximum(x, 1), 2), rg.maximum(2, x)),
        (rg.exp(x + 1 + 2), rg.exp(3 + x)),
        (rg.constant(1.0) + 2 + x, 3 + x),
    ],
)
def test_constants_of_a_sum_are_collected(graph, expected):
    assert collect(graph) is expected


@pytest.mark.parametrize(
    "graph",
    [
        x + 1e308 + 1e308,
        x * 1e200 * 1e200,
        x * 1e-200 * 1e-200,
        x * 0.0 * 5.0,
        (x + np.zeros((3, 1))) + np.zeros((2, 1, 1)),
    ],
)
def test_constants_are_not_collected_where_a_value_would_be_lost(graph):
    assert collect(graph) is graph


def test_constants_of_a_narrower_dtype_do_not_wrap_around():
    wide = rg.vector("w", shape=(3,), dtype="int64")
    graph = (wide + rg.constant(np.int8(100))) + rg.constant(np.int8(100))
    found = rg.evaluate(collect(graph), {"w": np.arange(3)})
    np.testing.assert_array_equal(found, np.arange(3) + 200)


def test_integers_wrap_around_as_numpy_does():
    small = rg.vector("s", shape=(3,), dtype="int8")
    graph = (small + np.int8(100)) + np.int8(100)
    values = np.array([0, 100, -128], dtype=np.int8)
    found = collect(graph)
    assert len(rg.FunctionGraph(None, found)) == 3
    np.testing.assert_array_equal(
        rg.evaluate(found, {"s": values}), values + np.int8(100) + np.int8(100)
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(st.none(), st.floats(-1e6, 1e6, width=32)), min_size=1, max_size=6
    ),
    st.sampled_from(["add", "multiply", "maximum", "minimum"]),
    st.sampled_from(["float64", "float32", "int32"]),
)  # fmt: skip
def test_values_stay_the_same(operands, name, dtype):
    v = rg.vector("v", shape=(4,), dtype=dtype)
    value = np.array([-3, 0, 1, 7], dtype)
    op, function = getattr(rg, name), getattr(np, name)
    graph, expected = v, value
    scale = np.abs(value).astype(float)
    for operand in operands:
        number = None if operand is None else np.asarray(operand).astype(dtype)
        graph = op(graph, v if number is None else rg.constant(number))
        with np.errstate(all="ignore"):
            expected = function(expected, value if number is None else number)
        other = np.abs(value if number is None else number).astype(float)
        scale = scale * other if name == "multiply" else scale + other
    if not np.isfinite(scale).all():
        return
    found = rg.evaluate(collect(graph), {"v": value})
    assert found.dtype == expected.dtype
    if dtype == "int32":
        np.testing.assert_array_equal(found, expected)
    else:
        unit = np.finfo(dtype).eps
        assert (np.abs(found - expected) <= 8 * unit * scale + np.finfo(dtype).tiny).all()


def test_keep_folds_exactly_and_does_not_regroup():
    graph = x + 1 + 2
    assert rg.rewrite_graph(graph, mode="o4", nonfinite="keep") is graph
    assert rg.rewrite_graph(rg.exp(x) * rg.exp(rg.constant(0.0)), mode="o1") is rg.exp(x) * 1


def test_constants_of_all_ranks_have_one_dtype_object():
    types = [rg.constant(np.zeros((1,) * n)).type.dtype for n in range(4)]
    assert all(dtype is types[0] for dtype in types)
    assert x.type.dtype is types[0]
