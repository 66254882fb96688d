"""Views: which nodes move no element, and in which steps their elements lie."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.lowering.views import (
    Along,
    AsGiven,
    Operand,
    axes,
    is_contiguous,
    is_view,
    part_axes,
    root,
)
from tests.lowering.evaluation import graph_of, values_of

X = rg.matrix("X", (6, 7))
T = rg.tensor("T", (4, 5, 6))
v = rg.vector("v", 7)
i = rg.tensor("i", ("k",), "int64")

VIEWS = {
    "slice": X[1:5],
    "columns": X[:, 2:6],
    "every other": X[::2, 1::3],
    "reversed": X[::-1, ::-2],
    "row": X[2],
    "column": X[:, 2],
    "transpose": X.T,
    "axes in another order": rg.transpose(T, (2, 0, 1)),
    "transposed matrices": T.mT,
    "new axes": X[:, None, :, None],
    "repeated": rg.broadcast_to(v, (3, 7)),
    "squeezed": rg.squeeze(X[:, 1:2], axis=1),
    "a slice of a transpose": X.T[1:4, ::2],
    "a transpose of a slice": X[1:4, ::2].T,
}
COPIES = {
    "places": v[i],
    "a mask": v[v > 0.0],
    "an op": rg.exp(X),
    "reshape": rg.reshape(X, (7, 6)),
    "an input": X,
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory_in_numpy(name):
    node = VIEWS[name]
    assert is_view(node)
    base = root(node)
    array = np.zeros(base.type.shape)
    assert np.shares_memory(values_of(graph_of(node), [array])[node], array)


@pytest.mark.parametrize("name", COPIES)
def test_other_nodes_are_not_views(name):
    assert not is_view(COPIES[name])
    assert axes(COPIES[name]) is None
    assert root(COPIES[name]) is COPIES[name]


@pytest.mark.parametrize("name", VIEWS)
def test_axes_are_the_strides_of_numpy(name):
    node = VIEWS[name]
    array = np.zeros(root(node).type.shape)
    value = values_of(graph_of(node), [array])[node]
    for along, stride, size in zip(axes(node), value.strides, value.shape, strict=True):
        if size > 1:
            assert stride == (0 if along.axis is None else along.step * array.strides[along.axis])


@pytest.mark.parametrize("name", VIEWS)
def test_only_what_lies_in_order_is_contiguous(name):
    node = VIEWS[name]
    array = np.zeros(root(node).type.shape)
    value = values_of(graph_of(node), [array])[node]
    kept = value[tuple(0 if s == 0 else slice(None) for s in value.strides)]
    if is_contiguous(axes(node)):
        assert kept.flags.c_contiguous
    else:
        assert name not in ("slice", "new axes", "repeated", "row")


def test_the_root_of_views_of_views_is_the_array():
    assert root(X.T[1:][:, None]) is X
    assert root(rg.exp(X).T) is rg.exp(X)


def test_deep_views_are_copied():
    shallow = deep = rg.vector("w", 40)
    for k in range(17):
        deep = deep[1:] if k % 2 else deep[::-1]
        shallow = deep if k < 16 else shallow
    assert axes(shallow) is not None
    assert axes(deep) is None


def test_the_axes_of_a_part_start_at_its_operand():
    node = X.T[1:]
    assert axes(node) == (Along(-1, 1, False), Along(-2))
    assert part_axes(node) == (Along(-2, 1, False), Along(-1))


def test_an_axis_of_size_1_has_no_step():
    assert axes(rg.matrix("row", (1, 7)).T) == (Along(-1), Along(None))


def test_an_array_that_is_taken_as_it_lies_has_steps_of_run_time():
    node = AsGiven(None)(X)
    operand = Operand(node, 0, True)
    assert operand.in_place
    assert operand.strides(((0,), (1,))) == ((None, 0), (None, 1))
    last = Operand(AsGiven(1)(X), 0, True)
    assert last.strides(((0,), (1,))) == ((None, 0), (1, 1))


def test_an_operand_spans_the_axes_along_which_its_elements_differ():
    operand = Operand(rg.broadcast_to(v, (3, 7)), 0, True)
    assert [operand.spans(axis) for axis in range(2)] == [False, True]
    assert [Operand(v, -1, True).spans(axis) for axis in range(2)] == [False, True]


def test_an_operand_that_lies_in_order_has_no_strides():
    assert Operand(X, 0, True).strides(((0, 1),)) == ()
    assert Operand(X[1:], 0, True).strides(((0, 1),)) == ()


def test_a_column_step_is_known_before_the_program_runs():
    assert Operand(X[:, ::2], 0, True).strides(((0,), (1,))) == ((None, 0), (2, 1))


def test_neighbouring_axes_that_lie_in_order_are_one_run():
    operand = Operand(T[::2], 0, True)
    first, second, third = operand.runs(3)
    assert second == third != first


def test_axes_in_another_order_are_runs_of_their_own():
    assert len(set(Operand(rg.transpose(T, (2, 1, 0)), 0, True).runs(3))) == 3
