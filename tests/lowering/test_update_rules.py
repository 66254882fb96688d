"""Rules of updates: which ones kernels can make, and what their keys select."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.lowering.update_rules import (
    has_places,
    is_fusible,
    joined,
    part_of,
    selects_few,
)
from relgraph.ops.indexing.update import IndexUpdate
from tests.lowering.evaluation import graph_of, values_of

X = rg.matrix("X", ("n", "m"))
x, y = rg.vectors("x y", "n")
v = rg.vector("v", "m")
i = rg.tensor("i", ("k",), "int64")
k = rg.scalar("k", "int64")
u = rg.vector("u", "k")

FUSIBLE = {
    "row": X.at[0].set(v),
    "row at a number": X.at[k].set(v),
    "column": X.at[:, 1].set(x),
    "slice by a number": X.at[1:].set(2.0),
    "slice by a slice": x.at[1:].set(y[1:]),
    "slices as long": x.at[1:-1].set(y[2:]),
    "reversed": x.at[::-1].set(y),
    "stretched": X.at[:].set(rg.matrix("row", (1, "m"))),
    "places": x.at[i].add(u),
    "rows at places": X.at[i].add(v),
}
OTHERS = {
    "mask": x.at[x > 0.0].set(1.0),
    "two arrays": X.at[i, i].set(u),
    "a size without a name": x.at[:].set(rg.vector("z")),
    "slices of other lengths": x.at[1:].set(rg.vector("z", "l")),
    "a shorter slice": x.at[1:].set(y[2:]),
    "no update": rg.exp(X),
    "an input": X,
}


@pytest.mark.parametrize("name", FUSIBLE)
def test_updates_that_kernels_make(name):
    assert is_fusible(FUSIBLE[name])


@pytest.mark.parametrize("name", OTHERS)
def test_updates_that_are_left_to_numpy(name):
    assert not is_fusible(OTHERS[name])


def test_a_part_is_what_the_key_selects():
    assert part_of(X.at[0].set(v)) is X[0]
    assert part_of(x.at[i].add(u)) is x[i]


def test_which_keys_are_places():
    assert has_places(x.at[i].add(u))
    assert not has_places(x.at[1:].set(1.0))


def test_slices_select_much_and_numbers_and_places_little():
    assert selects_few(x.at[i].add(u))
    assert selects_few(X.at[0].set(v))
    assert selects_few(X.at[k].set(v))
    assert not selects_few(x.at[1:].set(1.0))


@pytest.mark.parametrize("kind", ["set", "add", "multiply", "min", "max"])
def test_an_element_and_a_value_are_joined_as_the_update_does(kind):
    update = getattr(x.at[:], kind)(y)
    graph = graph_of(joined(update, x, y), update)
    values = values_of(graph, [np.array([1.0, 5.0]), np.array([3.0, 2.0])])
    np.testing.assert_array_equal(values[graph.outputs[0]], values[graph.outputs[1]])
    assert isinstance(update.op, IndexUpdate)


def test_a_value_is_cast_before_it_is_joined():
    node = joined(x.at[:].add(rg.vector("h", "n", dtype="float32")), x, y.astype("float32"))
    assert node.dtype == "float64"
