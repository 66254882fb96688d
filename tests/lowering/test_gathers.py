"""Gathers: which elements kernels read at places, and how those are checked before."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.lowering.gathers import furthest, is_gather
from relgraph.lowering.kernels import Kernel
from tests.lowering.evaluation import check_run, graph_of, steps_of, values_of

x, z = rg.vectors("x z", "n")
X = rg.matrix("X", ("n", "m"))
i = rg.tensor("i", ("k",), "int64")
j = rg.tensor("j", ("k", 2), "int32")


@pytest.mark.parametrize("node", [x[i], x[j]], ids=["vector of places", "matrix of places"])
def test_elements_of_a_vector_at_places(node):
    assert is_gather(node)


@pytest.mark.parametrize(
    "node", [X[i], x[x > 0.0], x[1:], X[i, i], rg.exp(x), x],
    ids=["rows", "mask", "slice", "two arrays", "op", "input"],
)  # fmt: skip
def test_what_is_not_a_gather(node):
    assert not is_gather(node)


@pytest.mark.parametrize(
    ("places", "largest"), [([0, 3, 2], 3), ([1, -1], 2**64 - 1), ([1, -7, 2], 2**64 - 7), ([], 0)]
)
def test_a_negative_index_is_the_largest(places, largest):
    node = furthest(i, "n")
    assert values_of(graph_of(node), [np.array(places, "int64")])[node] == largest


def kernel_of(*outputs):
    steps = steps_of(*outputs, gathers=True)
    (kernel,) = [s for s in steps if isinstance(s, Kernel) and s.gathers]
    return kernel, steps


def test_a_vector_that_is_gathered_from_is_a_table():
    kernel, _ = kernel_of(rg.exp(x[i]))
    assert kernel.tables == (x,)
    assert kernel.arrays == (i,)
    assert kernel.structure.tables == ("float64",)
    assert set(kernel.reads) == {i, x, kernel.gathers[0].furthest}


def test_vectors_of_one_size_share_their_places():
    kernel, _ = kernel_of(x[i] * z[i])
    assert kernel.tables == (x, z)
    assert kernel.arrays == (i,)


def test_vectors_of_different_sizes_have_places_each():
    kernel, _ = kernel_of(x[i] * rg.vector("w", "m")[i])
    assert kernel.arrays == (i, i)


def test_a_table_that_is_computed_is_computed_before():
    kernel, steps = kernel_of(rg.sin(x)[i] * 2.0)
    assert kernel.tables == (rg.sin(x),)
    assert steps.index(kernel) == len(steps) - 1


def test_gathers_compute_what_numpy_does():
    graph = graph_of(rg.sum(rg.sin(x)[i] * z[i]))
    steps = steps_of(*graph.outputs, gathers=True)
    arrays = {"x": np.arange(4.0), "z": np.arange(4.0) * 2, "i": np.array([3, 3, 0])}
    check_run(graph, steps, [arrays[one.name] for one in graph.inputs])


def test_indices_that_are_surely_in_range_are_computed_where_they_are_used():
    table, v = rg.vector("table", 8), rg.vector("v", "k")
    place = rg.clip(rg.cast(v, "int64"), 0, 7)
    steps = steps_of(table[place] * table[rg.maximum(place - 1, 0)], gathers=True)
    (kernel,) = steps
    assert kernel.tables == (table,) and kernel.gathers == ()
    assert set(kernel.reads) == {v, table}
    for node in (table[place + 1], rg.vector("short", 7)[place], rg.exp(table)[place]):
        assert len(steps_of(node, gathers=True)) > 1


def test_bytes_index_a_table_of_256_without_a_check():
    table, b = rg.vector("table", 256), rg.vector("b", "k", dtype="uint8")
    (kernel,) = steps_of(table[rg.cast(b, "int64")], gathers=True)
    assert kernel.gathers == ()
    found = rg.function([table, b], table[rg.cast(b, "int64")])(
        np.arange(256.0), np.arange(256, dtype="uint8")
    )
    np.testing.assert_array_equal(found, np.arange(256.0))


def test_what_inputs_declare_does_not_prove_that_indices_are_in_range():
    table = rg.vector("table", 8)
    declared, plain = rg.vector("i", dtype="int64", facts="[0, 7]"), rg.vector("i", dtype="int64")
    for i, places in ((declared, declared), (plain, rg.assume(plain, "[0, 7]"))):
        f = rg.function([table, i], table[places])
        np.testing.assert_array_equal(f(np.arange(8.0), np.array([7, -1])), [7.0, 7.0])
        with pytest.raises(IndexError, match="out of bounds"):
            f(np.arange(8.0), np.array([9]))


def test_unsigned_indices_are_those_of_numpy():
    table, i = np.arange(100.0), np.array([2**64 - 3, 4], "uint64")
    doubled = rg.jit(lambda table, i: table[i] * 2)
    np.testing.assert_array_equal(doubled(table, i), table[i] * 2)
    with pytest.raises(IndexError, match="out of bounds"):
        doubled(table, np.array([2**63], "uint64"))


def test_results_of_loops_are_indices_in_range():
    def program(x, table):
        _, places = rg.scan(lambda c, y: ((c * 2 + y) % 17, c), np.int64(1), x)
        return table[np.clip(places, 0, 9)]

    x, table = np.arange(8), np.arange(10.0)
    c, places = 1, []
    for y in x:
        places.append(c)
        c = (c * 2 + y) % 17
    np.testing.assert_array_equal(rg.jit(program)(x, table), table[np.clip(places, 0, 9)])
