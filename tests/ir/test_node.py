"""Nodes: hash-consing, constants, weak numbers, immutability."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import relgraph as rg
from relgraph.errors import (
    ArgumentError,
    DomainError,
    DTypeError,
    ImmutableGraphError,
    NumberRangeError,
    ShapeError,
)
from relgraph.ir.types import DTYPES

x, y = rg.vectors("x y", shape=("n",))


def test_equal_graphs_are_one_object():
    assert rg.exp(x) + 2 * y is rg.exp(x) + 2 * y
    assert rg.vector("x", shape=("n",)) is x
    assert rg.sum(x, axis=0) is rg.sum(x, axis=-1)
    assert (x + y).op is rg.add
    assert (x + y).inputs == (x, y)


def test_other_graphs_are_other_objects():
    assert x + y is not y + x
    assert rg.vector("x", shape=("m",)) is not x
    assert rg.vector("x", shape=("n",), dtype="float32") is not x
    assert rg.vector("x", shape=("n",), facts="positive") is not x
    assert rg.vector("z", shape=("n",)) is not x
    assert (x == x) is True
    assert (x == y) is False
    assert len({x, y, x + y, x + y}) == 3


CONSTANTS = [
    1, 1.0, True, 0, 0.0, -0.0, False, np.nan, -np.nan, np.inf, np.float32(1), np.int8(1),
    np.uint8(1), [1.0], [[1.0]], [1.0, 2.0], [2.0, 1.0], np.zeros(0), np.zeros((0, 3)),
    np.zeros((3, 0)), np.zeros(0, np.int64),
]  # fmt: skip


def test_constants_are_told_apart_by_dtype_shape_and_bits():
    nodes = [rg.constant(value) for value in CONSTANTS]
    assert len(set(nodes)) == len(nodes)
    for value, node in zip(CONSTANTS, nodes, strict=True):
        array = np.asarray(value)
        assert node.value.tobytes() == array.tobytes()
        assert node.value.dtype == array.dtype
        assert node.value.shape == array.shape
        assert rg.constant(array.copy()) is node
        assert pickle.loads(pickle.dumps(node)) is node


def test_large_constants_are_told_apart_too():
    one = np.arange(2000.0)
    two = one.copy()
    two[1234] = -1
    assert rg.constant(one) is rg.constant(one.copy())
    assert rg.constant(one) is not rg.constant(two)
    assert rg.constant(one) is not rg.constant(one.reshape(2, 1000))
    assert rg.constant(one).value.tobytes() == one.tobytes()
    assert rg.constant(one[::2]) is rg.constant(one[::2].copy())
    assert rg.constant(np.asfortranarray(one.reshape(2, 1000))) is rg.constant(one.reshape(2, -1))


def test_a_constant_is_a_private_copy():
    array = np.ones(3)
    node = rg.constant(array)
    array[0] = 7
    assert node.value.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        node.value[0] = 7
    assert rg.constant(array.astype(">f8")).value.dtype == np.dtype("float64")


@pytest.mark.parametrize(
    ("value", "uniform"),
    [(2.0, 2.0), ([2.0, 2.0], 2.0), ([2.0, 3.0], None), ([0.0, -0.0], None), ([], None),
     ([[7, 7], [7, 7]], 7), ([True, True], True)],
)  # fmt: skip
def test_the_uniform_value_of_a_constant(value, uniform):
    node = rg.constant(np.asarray(value))
    assert (node.uniform is None) == (uniform is None)
    assert uniform is None or node.uniform == uniform
    assert (node.bits is None) == (uniform is None)


def test_nan_is_uniform_bit_for_bit():
    assert np.isnan(rg.constant([np.nan, np.nan]).uniform)
    assert rg.constant([np.nan, 1.0]).uniform is None


@given(st.sampled_from(DTYPES), st.sampled_from([1, 1.5, 7]))
def test_python_numbers_are_weak_as_in_numpy(dtype, number):
    operand = rg.vector("v", dtype=dtype)
    expected = (np.ones(2, dtype) + number).dtype
    assert (operand + number).dtype == expected
    assert (number + operand).dtype == expected


@given(st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_numpy_scalars_are_strong_as_in_numpy(dtype, other):
    scalar = np.ones((), other)[()]
    assert (rg.vector("v", dtype=dtype) + scalar).dtype == (np.ones(2, dtype) + scalar).dtype
    assert (scalar + rg.vector("v", dtype=dtype)).dtype == (scalar + np.ones(2, dtype)).dtype


@pytest.mark.parametrize(("dtype", "number"), [("uint8", 256), ("uint8", -1), ("int8", 128)])
def test_integers_that_do_not_fit(dtype, number):
    with pytest.raises(OverflowError):
        np.ones(2, dtype) + number
    for error in (DTypeError, OverflowError):
        with pytest.raises(error, match="does not fit"):
            rg.vector("v", dtype=dtype) + number


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(300, "int8"), ([1, -1], "uint8"), (2**70, "int64"), (np.inf, "int8"), (10**400, "float32")],
)
def test_constants_that_their_dtype_does_not_hold(value, dtype):
    with pytest.raises(OverflowError):
        np.array(value, dtype)
    with pytest.raises(NumberRangeError, match=f"become a constant of dtype {dtype}") as caught:
        rg.constant(value, dtype)
    assert isinstance(caught.value, OverflowError)
    assert str(caught.value).endswith("Give a wider dtype, or numbers in its range.")


def test_numbers_beyond_float32_are_infinite_without_a_warning():
    for number in (1e300, 10**50):
        assert (rg.vector("v", dtype="float32") * number).inputs[1].value == np.inf


def test_integers_that_no_dtype_holds():
    assert rg.constant(2**64 - 1).dtype == (rg.exp(2**64 - 1)).inputs[0].dtype == "uint64"
    for number in (2**64, -(2**63) - 1, 10**5000):
        with pytest.raises(NumberRangeError, match="does not fit an integer"):
            rg.exp(number)
        with pytest.raises(NumberRangeError, match="does not fit an integer"):
            rg.constant(number)
    for numbers in ([2**70, 1], [10**5000]):
        with pytest.raises(NumberRangeError, match="does not fit an integer"):
            rg.constant(numbers)
    with pytest.raises(DTypeError, match="of 16610 bits does not fit float64"):
        rg.vector("v") + 10**5000


@pytest.mark.parametrize("bad", ["text", object(), None, {1: 2}, [object()]])
def test_what_is_no_operand(bad):
    with pytest.raises(ArgumentError):
        rg.add(x, bad)


def test_ragged_lists_are_no_operands():
    with pytest.raises((ArgumentError, ValueError)):
        rg.add(x, [[1.0], [1.0, 2.0]])


@pytest.mark.parametrize("name", ["", "2x", "a b", 3, None])
def test_names_of_inputs(name):
    with pytest.raises((DomainError, ArgumentError)):
        rg.tensor(name)


@pytest.mark.parametrize(
    "node", [x, rg.constant(2.0), x + y, rg.exp(x) + 1], ids=["input", "constant", "add", "exp"]
)
def test_nodes_cannot_be_changed(node):
    before = repr(node)
    for name in ("op", "inputs", "type", "value", "anything"):
        with pytest.raises(ImmutableGraphError):
            setattr(node, name, None)
        with pytest.raises(ImmutableGraphError):
            delattr(node, name)
    assert repr(node) == before
    rg.verify(node)
    for again in (copy.copy(node), copy.deepcopy(node), pickle.loads(pickle.dumps(node))):
        assert again is node
    assert copy.deepcopy([node, node]) == [node, node]


def test_facts_travel_with_an_input():
    p = rg.vector("p", facts=("positive", "integer"))
    assert pickle.loads(pickle.dumps(p)) is p
    assert pickle.loads(pickle.dumps(p)).facts == {"positive", "integer"}


def test_digests_follow_the_structure():
    assert (x + y).digest == (x + y).digest
    assert len({g.digest for g in (x, y, x + y, y + x, x * y, rg.exp(x), rg.exp(y))}) == 7
    assert rg.constant(1).digest != rg.constant(1.0).digest


def test_types_are_inferred_when_a_node_is_built():
    assert repr((x > 0).type) == "bool[n]"
    assert repr(rg.sum(x).type) == "float64[]"
    with pytest.raises(ShapeError, match="operand 1 : u : float64"):
        x + rg.vector("u", shape=("m",))
    with pytest.raises(ArgumentError, match="takes 1 operand"):
        rg.exp(x, x)


def test_an_associative_op_takes_any_number_of_operands():
    z = rg.vector("z", shape=("n",))
    assert rg.add(x, y, z) is (x + y) + z
    with pytest.raises(ArgumentError):
        rg.subtract(x, y, z)
