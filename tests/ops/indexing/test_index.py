"""Indexing and updates against NumPy: random keys, types, facts, printing and errors."""

import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, integer_array_indices

from relgraph.errors import (
    ArgumentError,
    DomainError,
    DTypeError,
    PatternError,
    ShapeError,
    UnsupportedAttributeError,
)
from relgraph.ir.etuple import lower, raise_
from relgraph.ir.fact_inference import fact, facts_of
from relgraph.ir.infix import brief
from relgraph.ir.node import Constant, constant, make_input
from relgraph.ir.types import TensorType
from relgraph.ops.elementwise import add, negative
from relgraph.ops.indexing import update
from relgraph.ops.indexing.index import Index, index, take
from relgraph.ops.indexing.update import AddIndex, SetIndex, at
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.shape import expand_dims
from tests.ops.evaluation import TYPINGS, Term, evaluate, typed

UPDATES = {
    "set": None,
    "add": np.add,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def array(shape, dtype="float64"):
    return np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape).astype(dtype)


def tensor(*dims, name="x", dtype="float64", facts=()):
    return make_input(name, TensorType(dtype, dims), facts)


bounds = st.one_of(st.none(), st.integers(-5, 5))
slices = st.builds(slice, bounds, bounds, st.one_of(st.none(), st.sampled_from([-3, -2, -1, 1, 2])))


@st.composite
def arrays_and_keys(draw):
    """Return an array and a key that NumPy takes: every kind of part, in any order."""
    shape = draw(array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    together = draw(st.sampled_from([(), (1,), (2,), (2, 2), (0,)]))
    parts = []
    axis = 0
    while axis < len(shape) and draw(st.integers(0, 4)):
        size = shape[axis]
        kinds = ["slice", "newaxis", "mask"] + ["int", "array", "int", "array"] * (size > 0)
        kind = draw(st.sampled_from(kinds))
        if kind == "slice":
            parts.append(draw(slices))
        elif kind == "newaxis":
            parts.append(None)
            continue
        elif kind == "int":
            parts.append(draw(st.integers(-size, size - 1)))
        elif kind == "array":
            own = draw(st.sampled_from([together, (1,), together[1:]]))
            values = [draw(st.integers(-size, size - 1)) for _ in range(int(np.prod(own)))]
            parts.append(np.array(values, draw(st.sampled_from(["int64", "int8"]))).reshape(own))
        else:
            width = draw(st.integers(1, min(2, len(shape) - axis)))
            flat = [draw(st.booleans()) for _ in range(int(np.prod(shape[axis : axis + width])))]
            parts.append(np.array(flat, bool).reshape(shape[axis : axis + width]))
            axis += width - 1
        axis += 1
    empty_mask = any(isinstance(p, np.ndarray) and p.size == 0 for p in parts)
    if not empty_mask and draw(st.booleans()):  # NumPy lets an empty mask meet an axis of size 1
        parts.insert(draw(st.integers(0, len(parts))), Ellipsis)
    x = array(shape)
    key = tuple(parts)
    try:
        x[key]
    except IndexError:  # the index arrays do not broadcast
        assume(False)
    return x, key


def with_inputs(key, typing, values):
    """Return a key in which arrays, ints and bounds are inputs; their values go into ``values``."""

    def as_input(value, typing=typing):
        name = f"k{len(values)}"
        values[name] = np.asarray(value)
        return typed(name, values[name], typing)

    def bound(value):
        return None if value is None else as_input(np.int64(value))

    made = []
    for part in key:
        if isinstance(part, np.ndarray):
            made.append(as_input(part))
        elif isinstance(part, slice):
            made.append(slice(bound(part.start), bound(part.stop), part.step))
        else:
            made.append(as_input(np.int64(part)) if isinstance(part, int) else part)
    return tuple(made)


def masked(key):
    """Return True if a key holds a mask, whose static sizes fit no named ones."""
    return any(isinstance(p, np.ndarray) and p.dtype == bool for p in key)


@given(arrays_and_keys(), st.sampled_from(TYPINGS))
@settings(max_examples=400, deadline=None)
def test_static_keys_agree_with_numpy(drawn, typing):
    x, key = drawn
    assume(typing != "named" or not masked(key))
    node = index(typed("x", x, typing), key)
    np.testing.assert_array_equal(evaluate(node, {"x": x}), x[key], strict=True)


@given(arrays_and_keys(), st.sampled_from(TYPINGS))
@settings(max_examples=300, deadline=None)
def test_dynamic_keys_agree_with_numpy(drawn, typing):
    x, key = drawn
    values = {"x": x}
    node = index(typed("x", x, typing), with_inputs(key, typing, values))
    np.testing.assert_array_equal(evaluate(node, values), x[key], strict=True)


@given(arrays_and_keys(), st.sampled_from(TYPINGS), st.sampled_from(sorted(UPDATES)), st.data())
@settings(max_examples=300, deadline=None)
def test_updates_agree_with_numpy(drawn, typing, kind, data):
    x, key = drawn
    assume(typing != "named" or not masked(key))
    part = x[key]
    keep = data.draw(st.integers(0, part.ndim))
    own = [data.draw(st.sampled_from([1, d])) for d in part.shape[part.ndim - keep :]]
    value = np.random.default_rng(0).normal(size=own)
    expected = x.copy()
    if UPDATES[kind] is None:
        expected[key] = value
    else:
        places = np.arange(x.size).reshape(x.shape)[key].ravel()
        for place, one in zip(places, np.broadcast_to(value, part.shape).ravel(), strict=True):
            expected.flat[place] = UPDATES[kind](expected.flat[place], one)
    target = at(typed("x", x, typing))[key]
    node = getattr(target, kind)(typed("v", value, "static" if typing == "static" else "unknown"))
    np.testing.assert_array_equal(evaluate(node, {"x": x, "v": value}), expected, strict=True)


@given(array_shapes(min_dims=1, max_dims=3, max_side=4), st.data())
@settings(max_examples=100, deadline=None)
def test_take_agrees_with_numpy(shape, data):
    x = array(shape, "float32")
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    (places,) = data.draw(integer_array_indices((shape[axis],)))
    node = take(typed("x", x), places, axis)
    np.testing.assert_array_equal(evaluate(node, {"x": x}), np.take(x, places, axis), strict=True)
    flat = take(typed("x", x), [0, -1])
    np.testing.assert_array_equal(evaluate(flat, {"x": x}), np.take(x, [0, -1]), strict=True)
    one = take(typed("x", x), 0, axis)
    np.testing.assert_array_equal(evaluate(one, {"x": x}), np.take(x, 0, axis), strict=True)


def test_where_the_advanced_axes_go():
    x, i, j = array((2, 3, 4)), np.array([0, 1]), np.array([1, 0])
    for key in [
        (0, slice(None), i),
        (slice(None), i, ..., j),  # an ellipsis of no axes separates, as in NumPy
        (slice(None), i, j),
        (slice(None), i, None, j),
        (i, ..., 0),
        (slice(None), 0, j),
    ]:
        for typing in TYPINGS:
            node = index(typed("x", x, typing), key)
            np.testing.assert_array_equal(evaluate(node, {"x": x}), x[key], strict=True)


def test_types_keep_what_is_known():
    x = tensor("n", 3, None)
    assert index(x, slice(None)) is x
    assert index(x, (...,)) is x
    assert index(x, ()) is x
    assert index(x, slice(None, None, -1)).type.shape == ("n", 3, None)
    assert index(x, (slice(1, None), slice(1, None), 0)).type.shape == (None, 2)
    assert index(x, ([0, 1],)).type.shape == (2, 3, None)
    assert index(x, (0, tensor("k", name="i", dtype="int64"))).type.shape == ("k", None)
    mask = tensor("n", 3, name="m", dtype="bool")
    assert index(x, mask).type.shape == (None, None)
    assert index(x, (..., None)).type.shape == ("n", 3, None, 1)


def test_equal_keys_are_one_node():
    x = tensor("n", 5)
    assert index(x, (slice(None), -1)) is index(x, (slice(None), 4)) is index(x, (..., 4))
    assert index(x, (..., slice(0, 5))) is x
    assert index(x, (..., slice(1, 9))) is index(x, (..., slice(-4, None, 1)))
    assert index(x, (..., slice(4, 2))) is index(x, (..., slice(0, 0)))
    assert index(x, (..., slice(None, None, -2))) is index(x, (..., slice(4, None, -2)))
    assert index(x, slice(0, None, 1)) is x
    assert index(x, (0, slice(None))).op is Index((("int", 0),))
    assert index(x, (..., [1, -1])) is index(x, (..., np.array([1, 4], "int8")))
    assert index(x, constant(1)) is index(x, np.int8(1)) is index(x, 1)
    mask = np.array([True, False, True, False, False])
    assert index(x, (..., mask)) is index(x, (..., [0, 2]))
    assert index(x, (slice(None), [])).type.shape == ("n", 0)
    part = index(x, (..., slice(3, None)))
    assert index(x, (..., slice(3, None), None)) is expand_dims(part, -1)
    assert index(x, (None, 0, None)) is expand_dims(index(x, 0), (0, 1))


def test_a_constant_mask_of_an_unknown_axis_is_checked_at_the_call():
    x = tensor(None)
    node = index(x, np.array([True, False]))
    np.testing.assert_array_equal(evaluate(node, {"x": np.array([5.0, 6.0])}), [5.0])
    with pytest.raises(IndexError, match="boolean index did not match"):
        evaluate(node, {"x": np.ones(3)})


def test_dynamic_indices_are_checked_at_the_call():
    x, i = tensor(3), tensor(name="i", dtype="int64")
    node = index(x, i)
    assert node.type.shape == ()
    with pytest.raises(IndexError, match="out of bounds"):
        evaluate(node, {"x": np.ones(3), "i": np.int64(3)})
    with pytest.raises(IndexError, match="out of bounds"):
        evaluate(index(tensor("n"), 3), {"x": np.ones(3)})


def test_static_indices_out_of_range_name_the_axis():
    for key in [3, -4, [0, 3], (np.array([[-4]]),)]:
        with pytest.raises(DomainError, match="out of range for axis 0"):
            index(tensor(3), key)
    with pytest.raises(DomainError, match="out of range for axis 1"):
        index(tensor("n", 2), (..., 2))
    with pytest.raises(DomainError, match="The axis is empty"):
        index(tensor(0), 0)
    with pytest.raises(DomainError, match="operand 0 : x : "):
        Index((("int", 7),))(tensor(3))


def test_errors_say_what_a_key_can_be():
    x = tensor(2, 3)
    for flag in (True, np.True_, tensor(2, name="y") == tensor(2, name="z")):
        with pytest.raises(ArgumentError, match=r"rg\.equal"):
            index(x, flag)
    with pytest.raises(ShapeError, match="too many indices: 3"):
        index(x, (0, 0, 0))
    with pytest.raises(ArgumentError, match="one ellipsis"):
        index(x, (..., 0, ...))
    for bad in (1.5, "n", {}):
        with pytest.raises(ArgumentError, match="is not an index"):
            index(x, bad)
    for bad in ([0.5], np.zeros(2), tensor(2, name="f"), tensor(name="b", dtype="bool")):
        with pytest.raises(DTypeError, match="integers or is a mask"):
            index(x, bad)
    with pytest.raises(DomainError, match="cannot be 0"):
        index(x, slice(None, None, 0))
    with pytest.raises(ArgumentError, match="static int"):
        index(x, slice(None, None, tensor(name="s", dtype="int64")))
    with pytest.raises(DTypeError, match="integer scalar"):
        index(x, slice(tensor(1, name="s", dtype="int64"), None))
    with pytest.raises(ArgumentError, match="bound of a slice"):
        index(x, slice(None, ...))
    with pytest.raises(ShapeError, match="mask does not fit"):
        index(x, np.array([True, False, True]))
    with pytest.raises(ShapeError, match="mask does not fit"):
        index(x, tensor(2, 4, name="m", dtype="bool"))
    with pytest.raises(ShapeError, match="do not broadcast"):
        index(x, ([0, 1], [0, 1, 2]))
    with pytest.raises(ArgumentError, match="fewer operands"):
        Index((("array",),))(x)
    with pytest.raises(ArgumentError, match="more operands"):
        Index((("int", 0),))(x, 1)


def test_update_types_and_errors():
    x = tensor("n", 3, dtype="float32")
    node = at(x)[0].set(1)
    assert node.type is x.type
    assert isinstance(node.inputs[1], Constant)
    assert node.inputs[1].dtype == "float32"
    assert at(x)[0].add(np.float64(1)).type is x.type  # same kind, as NumPy's own
    with pytest.raises(DTypeError, match="cannot be stored"):
        at(tensor(3, dtype="int64"))[0].set(1.5)
    with pytest.raises(DTypeError, match="cannot be stored"):
        at(tensor(3, dtype="bool"))[0].set(1)
    with pytest.raises(ShapeError, match="does not broadcast to the part"):
        at(x)[0].set(np.ones(4))
    with pytest.raises(ShapeError, match="does not broadcast to the part"):
        at(x)[:, 0].set(tensor("m", name="v", dtype="float32"))
    with pytest.raises(ShapeError, match="does not broadcast to the part"):
        at(x)[:, :1].set(x)
    assert at(x)[:, 0].set(tensor("n", name="v", dtype="float32")).type is x.type


def test_updates_leave_the_operand_alone():
    value = np.ones(3)
    result = evaluate(at(tensor(3))[[0, 0]].add(2), {"x": value})
    np.testing.assert_array_equal(result, [5.0, 1.0, 1.0])
    np.testing.assert_array_equal(value, np.ones(3))


def test_facts_of_elements():
    x = tensor("n", 3, facts=("positive", "finite"))
    for key in (0, slice(1, None), [0, 1], (..., None)):
        assert {"positive", "finite"} <= set(facts_of(index(x, key)).names())
    assert fact(at(x)[0].set(2.0), "positive")
    assert fact(at(x)[0].set(-2.0), "positive") is None
    assert fact(at(x)[0].set(-2.0), "finite")
    assert fact(at(x)[0].add(2.0), "finite") is None
    small = tensor(3, dtype="float32", facts=("positive", "finite"))
    big = constant(1e300)
    assert fact(at(small)[0].set(big), "finite") is None


def test_patterns_have_no_parts():
    for ask in (
        lambda: index(Term(), 0),
        lambda: take(Term(), 0),
        lambda: at(Term()),
        lambda: index(tensor(3), Term()),
        lambda: at(tensor(3))[0].set(Term()),
    ):
        with pytest.raises(PatternError, match="pattern"):
            ask()


def test_printing():
    x, i = tensor("n", 3), tensor(name="i", dtype="int64")
    assert brief(index(x, ([0, 1], None, 0))) == "x[[0, 1], None, 0]"
    assert brief(index(x, (i, slice(None, i)))) == "x[i, :i]"
    assert brief(index(add(x, x), 0)) == "(x + x)[0]"
    assert brief(index(negative(x), 0)) == "(-x)[0]"
    assert brief(index(matrix_transpose(x), [0, 1])) == "x.mT[[0, 1]]"
    assert brief(index(index(x, slice(2, None, -1)), 0)) == "x[2::-1][0]"
    assert brief(index(constant(np.ones(9)), i)) == "<float64[9]>[i]"
    assert brief(at(x)[0].add(1)) == "at(x)[0].add(1)"
    assert brief(at(x)[i].set(1)) == "at(x)[i].set(1)"


def test_costs():
    x = tensor(4, 3)
    view, copy, update = index(x, 0), index(x, [0, 1]), at(x)[0].set(1)
    for node, cost in ((view, 0), (copy, 0), (update, 0), (at(x)[0].add(x[1]), 3)):
        assert node.op.flops(tuple(i.type for i in node.inputs), node.type) == cost
    assert [node.op.view for node in (view, copy, update)] == [True, False, False]
    assert isinstance(update.op, SetIndex)
    assert isinstance(at(x)[0].add(1).op, AddIndex)


def test_nodes_come_back_from_pickle_and_from_terms():
    x, i = tensor("n", 3), tensor(name="i", dtype="int64")
    for node in (index(x, (slice(i, None), [0, 1], None)), at(x)[i].add(1.0), index(x, (..., 1))):
        assert pickle.loads(pickle.dumps(node)) is node
        assert raise_(lower(node)) is node


@pytest.mark.parametrize("kind", ["set", "add"])
def test_an_ellipsis_of_no_axes_before_an_integer_and_a_whole_axis(kind):
    x = np.arange(12.0).reshape(2, 1, 3, 2)
    key = (slice(None), np.array([0]), ..., 0, slice(None))
    node = typed("x", x)[key]
    np.testing.assert_array_equal(evaluate(node, {"x": x}), x[key], strict=True)
    value = np.random.default_rng(0).normal(size=x[key].shape)
    expected = x.copy()
    expected[key] = value if kind == "set" else expected[key] + value
    updated = getattr(at(typed("x", x))[key], kind)(typed("v", value))
    found = evaluate(updated, {"x": x, "v": value})
    np.testing.assert_array_equal(found, expected, strict=True)


def test_messages_of_updates_show_what_was_written():
    x = tensor("n", 3)
    for written, text in (
        (lambda: x.at[0].set(np.ones(4)), "x.at[0].set([1., 1., 1., 1.]): the value does not"),
        (lambda: negative(x).at[:, 1:].add(tensor("k", name="v")), "(-x).at[:, 1:].add(v): the va"),
    ):
        with pytest.raises(ShapeError) as caught:
            written()
        assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("look", "fix"),
    [
        (lambda x: x.at.set, "Write x.at[key].set(value), with x.at[...] for the whole array."),
        (lambda x: x.at.put, "Write x.at[key] and one of .set(value), .add(value)"),
        (lambda x: x.at[0].subtract, "Write x.at[key].add(-value)."),
        (lambda x: x.at[0].divide, "Write x.at[key].set(x[key] / value)."),
        (lambda x: x.at[0].get, "Write x[key]."),
        (lambda x: x.at[0].xor, "Write x.at[key].set(value), where value may be made of x[key]."),
    ],
)
def test_updates_that_there_are_not_are_told(look, fix):
    x = tensor("n", 3)
    with pytest.raises(UnsupportedAttributeError) as caught:
        look(x)
    assert str(caught.value).splitlines()[-1].startswith(fix)
    assert not hasattr(x.at, "__array_interface__") and not hasattr(x.at[0], "__len__")


def test_every_update_that_is_named_is_there():
    part = tensor("n", 3).at[0]
    assert set(update.UPDATES) == UPDATES.keys()
    assert [name for name in update.UPDATES if not callable(getattr(part, name))] == []
