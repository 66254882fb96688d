"""Updated operands: an op of an updated array becomes an update of the op where that pays."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.lowering.updated_operands import apart
from tests.lowering.evaluation import fusion, graph_of, values_of

x, y = rg.vectors("x y", 6)
S = rg.matrix("S", (4, 6))
i = rg.tensor("i", (3,), "int64")
u = rg.vector("u", 3)
ARRAYS = {"x": np.arange(6.0), "y": np.arange(6.0)[::-1] + 1.0, "u": np.array([0.5, 1.5, 2.5]),
          "S": np.arange(24.0).reshape(4, 6), "i": np.array([4, 1, 1])}  # fmt: skip


def moved(*outputs, weight=1):
    """Return the outputs of the changed graph, after a check of their values."""
    graph = graph_of(*outputs)
    changed = apart(graph, fusion(weight=lambda node: weight))
    arrays = [ARRAYS[one.name] for one in graph.inputs]
    before, after = values_of(graph, arrays), values_of(changed, arrays)
    for one, other in zip(graph.outputs, changed.outputs, strict=True):
        np.testing.assert_array_equal(after[other], before[one])
    return changed.outputs


def test_an_op_of_an_updated_array_becomes_an_update():
    (result,) = moved(x.at[0].set(2.0) * y)
    assert result.op.name == "set_index"
    assert result.inputs[0] is x * y


def test_an_op_that_a_call_reads_becomes_an_update():
    (result,) = moved(rg.sort(x.at[0].set(2.0) * y))
    assert result.inputs[0].op.name == "set_index"


def test_an_op_that_only_a_reduction_reads_stays():
    node = rg.sum(x.at[0].set(2.0) * y)
    assert moved(node) == (node,)


def test_an_updated_array_with_other_readers_stays():
    updated = x.at[0].set(2.0)
    outputs = (rg.exp(updated * y), updated)
    assert moved(*outputs) == outputs


def test_a_costly_op_is_moved_only_where_the_key_selects_little():
    few, many = x.at[2].set(2.0), x.at[1:].set(u[0])
    assert moved(rg.exp(few), weight=20)[0].op.name == "set_index"
    assert moved(rg.exp(many), weight=20) == (rg.exp(many),)
    assert moved(rg.exp(many), weight=1)[0].op.name == "set_index"


def test_repeated_places_that_are_added_to_stay():
    node = rg.exp(x.at[i].add(u))
    assert moved(node) == (node,)


def test_places_that_are_set_are_moved():
    assert moved(rg.exp(x.at[i].set(u[0])))[0].op.name == "set_index"


def test_an_op_that_stretches_the_updated_array_stays():
    node = rg.exp(S + x.at[0].set(2.0))
    assert moved(node) == (node,)


@pytest.mark.parametrize("kind", ["add", "multiply", "min", "max"])
def test_other_kinds_of_updates_become_a_set(kind):
    (result,) = moved(rg.exp(getattr(x.at[2:4], kind)(2.0)))
    assert result.op.name == "set_index"


def test_a_mask_is_a_choice():
    (result,) = moved(x.at[x > 2.0].set(1.5))
    assert result.op.name == "where"


@pytest.mark.parametrize("kind", ["add", "multiply", "min", "max"])
def test_a_mask_with_an_op_is_a_choice(kind):
    (result,) = moved(getattr(x.at[x > 2.0], kind)(1.5))
    assert result.op.name == "where"


def test_a_graph_without_updates_stays_as_it_is():
    graph = graph_of(rg.exp(x))
    assert apart(graph, fusion()) is graph
