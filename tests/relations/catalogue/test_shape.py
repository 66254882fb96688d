"""Rearrangements of elements: one row each."""

import itertools

import numpy as np
import pytest

from relgraph.api.rewrite import rewrite_graph
from relgraph.checking.evaluation import evaluate
from relgraph.ops.checks import SpecifyShape
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.elementwise import exp, maximum, minimum
from relgraph.ops.permutation import Transpose, matrix_transpose, transpose
from relgraph.ops.shape import BroadcastTo, Dim, ExpandDims, Reshape, Squeeze
from relgraph.relations.catalogue import shape as r
from relgraph.rewriting.driver import normalise
from relgraph.rewriting.selection import selection_of
from tests.relations.catalogue.table import Row, check, covers_theme, rewritten, t, tensor, x

PERMUTATIONS = list(itertools.permutations(range(3)))
T, S = tensor("T", 2, 3, 4), tensor("S", 1, 3, 1)
u, v, m, k = tensor("u", None), tensor("v", None), tensor("m", None, None), tensor("k", None, None)

ROWS = [
    Row(r.merge_reshapeo, Reshape((6,))(Reshape((3, 2))(t)), Reshape((6,))(t), Reshape((6,))(t)),
    Row(r.remove_reshapeo, Reshape((2, 3))(t), t, Reshape((3, 2))(t)),
    Row(
        r.absorb_reshapeo,
        Reshape((6,))(ExpandDims((-1,))(t)),
        Reshape((6,))(t),
        ExpandDims((-1,))(Reshape((6,))(t)),
    ),
    Row(r.cancel_matrix_transposeo, matrix_transpose(matrix_transpose(t)), t, matrix_transpose(t)),
    Row(
        r.merge_transposeo,
        transpose(transpose(T, 2, 0, 1), 1, 0, 2),
        Transpose((-3, -1, -2))(T),
        transpose(T, 2, 0, 1),
    ),
    Row(r.remove_transposeo, Transpose((-2, -1))(t), t, Transpose((-1, -3, -2))(T)),
    Row(
        r.merge_expand_dimso,
        ExpandDims((-1,))(ExpandDims((-2,))(x)),
        ExpandDims((-3, -1))(x),
        ExpandDims((-1,))(Squeeze((-1,))(S)),
    ),
    Row(
        r.merge_squeezeo,
        Squeeze((-2,))(Squeeze((-1,))(S)),
        Squeeze((-3, -1))(S),
        Squeeze((-1,))(S),
    ),
    Row(
        r.cancel_squeeze_expand_dimso,
        Squeeze((-2,))(ExpandDims((-2,))(x)),
        x,
        Squeeze((-2,))(ExpandDims((-2, -3))(x)),
    ),
    Row(
        r.lift_dimo,
        Dim(-1)(matrix_transpose(exp(m)) + transpose(k, 1, 0)),
        Dim(-2)(m),
        Dim(-1)(Concatenate(-1)(u, v)),
    ),
    Row(
        r.dim_reshapeo,
        Dim(-2)(BroadcastTo((None, 3))(x, Dim(-1)(u))),
        Dim(-1)(u),
        Dim(-1)(Reshape((-1,))(m)),
    ),
    Row(
        r.dim_joino,
        Dim(-1)(Concatenate(-1)(u, v, u)),
        Dim(-1)(u) + Dim(-1)(v) + Dim(-1)(u),
        Dim(-1)(Concatenate(-2)(m, k)),
    ),
    Row(
        r.dim_indexo,
        Dim(-1)(m[0, 1:3]),
        maximum(minimum(Dim(-1)(m), 3) - 1, 0),
        Dim(-1)(u[::-1]),
    ),
    Row(
        r.specify_shape_elementwiseo,
        SpecifyShape((4, 4))(m * tensor("r", 1, None)),
        SpecifyShape((4, 4))(m) * SpecifyShape((None, 4))(tensor("r", 1, None)),
        SpecifyShape((4, None))(m @ k),
    ),
    Row(
        r.merge_broadcast_too,
        BroadcastTo((2, 2, 3))(BroadcastTo((2, 3))(x)),
        BroadcastTo((2, 2, 3))(x),
        BroadcastTo((2, 3))(x),
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row):
    check(row)


def test_every_relation_has_a_row():
    assert not covers_theme(ROWS, r.RELATIONS)


@pytest.mark.parametrize("first", PERMUTATIONS)
@pytest.mark.parametrize("second", PERMUTATIONS)
def test_permutations_compose_as_in_numpy(first, second):
    value = np.arange(24).reshape(2, 3, 4)
    graph = transpose(transpose(T, first), second)
    result = normalise([graph], selection_of(r.RELATIONS))[0]
    expected = value.transpose(first).transpose(second)
    assert result is T or result.inputs == (T,)
    computed = value if result is T else result.op.perform(value)
    np.testing.assert_array_equal(computed, expected)


@pytest.mark.parametrize("inner", [(-1,), (-2,), (-3,), (-4,), (-2, -4)])
@pytest.mark.parametrize("outer", [(-1,), (-3,), (-5,), (-2, -3)])
def test_new_axes_merge_as_in_numpy(inner, outer):
    value = np.zeros((2, 3, 4))
    graph = ExpandDims(outer)(ExpandDims(inner)(T))
    result = rewritten(r.merge_expand_dimso, graph)
    assert result.inputs == (T,)
    expected = np.expand_dims(np.expand_dims(value, inner), outer)
    assert result.op.perform(value).shape == expected.shape == result.type.shape


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (u - u + v, "v"),
        (v - (u - u), "v"),
        (u - u + m, "m"),
        (u * v - v * u, "broadcast_to(0, dim(u, axis=-1), shape=(None,))"),
        (exp(m * 0 + k), "exp(k)"),
        (m - m + u, "u + broadcast_to(0, dim(m, axis=-2), dim(m, axis=-1), shape=(None, None))"),
        ((m - m + 2) / k, "2 / k"),
    ],
    ids=str,
)
def test_a_repeated_number_goes_where_another_operand_has_the_shape(graph, expected):
    assert str(rewrite_graph(graph, mode="o4")) == expected


def test_a_reshape_that_may_fail_is_kept():
    odd = Reshape((-1,))(Reshape((2, -1))(u))
    assert rewritten(r.merge_reshapeo, odd) is odd
    even = Reshape((4, -1))(Reshape((2, -1))(u))
    assert rewritten(r.merge_reshapeo, even) is Reshape((4, -1))(u)
    whole = Reshape((-1,))(Reshape((2, -1))(tensor("W", 2, None)))
    assert rewritten(r.merge_reshapeo, whole).op == Reshape((-1,))


def test_a_broadcast_moves_out_of_a_transpose_of_three_axes():
    graph = transpose(BroadcastTo((2, 3, 4))(S), 2, 0, 1)
    found = rewrite_graph(graph, include=["canonicalize"])
    assert found is BroadcastTo((4, 2, 3))(transpose(S, 2, 0, 1))


@pytest.mark.parametrize(
    ("graph", "expected", "meaning"),
    [
        (
            matrix_transpose(BroadcastTo((5, 2, 3))(t)),
            BroadcastTo((5, 3, 2))(matrix_transpose(t)),
            lambda t, S, u: np.broadcast_to(t, (5, 2, 3)).mT,
        ),
        (
            matrix_transpose(BroadcastTo((2, 3, 4))(S)),
            BroadcastTo((2, 4, 3))(matrix_transpose(S)),
            lambda t, S, u: np.broadcast_to(S, (2, 3, 4)).mT,
        ),
        (
            matrix_transpose(BroadcastTo((None, 2, 3))(t, Dim(-1)(u))),
            BroadcastTo((None, 3, 2))(matrix_transpose(t), Dim(-1)(u)),
            lambda t, S, u: np.broadcast_to(t, (len(u), 2, 3)).mT,
        ),
        (
            transpose(BroadcastTo((5, 4, 2, 3))(t), 1, 0, 3, 2),
            BroadcastTo((4, 5, 3, 2))(matrix_transpose(t)),
            lambda t, S, u: np.broadcast_to(t, (5, 4, 2, 3)).transpose(1, 0, 3, 2),
        ),
        (
            transpose(BroadcastTo((5, 4, 2, 3))(t), 1, 0, 2, 3),
            BroadcastTo((4, 5, 2, 3))(t),
            lambda t, S, u: np.broadcast_to(t, (5, 4, 2, 3)).transpose(1, 0, 2, 3),
        ),
    ],
    ids=["lead", "ones", "dynamic", "both", "batch"],
)
def test_a_broadcast_moves_out_of_a_transpose_of_batches(graph, expected, meaning):
    found = rewrite_graph(graph, include=["canonicalize"])
    assert found is expected
    values = {"t": np.arange(6.0).reshape(2, 3), "S": np.ones((1, 3, 1)), "u": np.zeros(7)}
    values["S"] *= np.arange(3.0)[:, None]
    np.testing.assert_array_equal(evaluate((found,), values)[found], meaning(**values))


@pytest.mark.parametrize(
    "graph",
    [matrix_transpose(BroadcastTo((2, 3))(x)), transpose(BroadcastTo((4, 2, 3))(t), 1, 0, 2)],
    ids=str,
)
def test_a_broadcast_of_too_few_axes_stays_in_its_transpose(graph):
    assert rewrite_graph(graph, include=["canonicalize"]) is graph


def test_a_squeeze_of_new_axes_leaves_its_broadcast():
    graph = Squeeze((-2,))(BroadcastTo((2, 1, 3))(x))
    assert rewrite_graph(graph, include=["canonicalize"]) is BroadcastTo((2, 3))(x)
    twice = BroadcastTo((4, 2, 3))(Reshape((2, 3))(BroadcastTo((2, 1, 3))(x)))
    found = rewrite_graph(twice)
    assert found is BroadcastTo((4, 2, 3))(x)
    values = {"x": np.arange(3.0)}
    expected = np.broadcast_to(values["x"], (4, 2, 3))
    np.testing.assert_array_equal(evaluate((found,), values)[found], expected)
    own = Squeeze((-1,))(BroadcastTo((2, 3, 1))(tensor("column", 3, 1)))
    assert rewrite_graph(own, include=["canonicalize"]) is own
