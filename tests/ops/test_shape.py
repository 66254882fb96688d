"""Shapes, permutations and joining against NumPy: values, types, facts, patterns and errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes
from unification import var

from relgraph.errors import ArgumentError, DomainError, DTypeError, PatternError, ShapeError
from relgraph.ir.fact_inference import fact, facts_of
from relgraph.ir.facts import MATRIX_FACTS
from relgraph.ir.infix import brief
from relgraph.ir.node import constant, make_input
from relgraph.ir.types import TensorType
from relgraph.numpy import manipulation
from relgraph.ops import checks, concatenate, permutation, shape
from relgraph.ops.permutation import matrix_transpose
from relgraph.ops.shape import BroadcastTo, Dim, ExpandDims, Reshape, Squeeze
from tests.ops.evaluation import Term, check, evaluate

SHAPES = [(), (3,), (0,), (1,), (2, 3), (1, 4), (3, 0), (2, 3, 4), (2, 1, 3, 2)]
DTYPES = ["float64", "float32", "int8", "uint64", "bool"]


def array(shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).integers(0, 9, shape).astype(dtype)


def tensor(*dims, name="x", dtype="float64", facts=()):
    return make_input(name, TensorType(dtype, dims), facts)


@st.composite
def factorings(draw):
    """Return two shapes with the same number of elements, the second with -1 now and then."""
    factors = draw(st.lists(st.sampled_from([0, 1, 2, 3, 5]), max_size=4))
    first = draw(st.permutations(factors))
    second = []
    for factor in draw(st.permutations(factors)):
        if second and draw(st.booleans()):
            second[-1] *= factor
        else:
            second.append(factor)
    if second and 0 not in second and draw(st.booleans()):
        second[draw(st.integers(0, len(second) - 1))] = -1
    return tuple(first), tuple(second)


@given(factorings(), st.sampled_from(DTYPES))
@settings(max_examples=200, deadline=None)
def test_reshape_agrees_with_numpy(shapes, dtype):
    first, second = shapes
    x = array(first, dtype)
    check(lambda v: shape.reshape(v, second), x.reshape(second), x)


@pytest.mark.parametrize("old, new", [((2, 3, 4), (4, 6)), ((6,), (2, 3)), ((3, 0), (0, 5))])
def test_fortrans_order_agrees_with_numpy(old, new):
    array = np.arange(np.prod(old)).reshape(old)
    check(lambda x: shape.reshape(x, new, order="F"), array.reshape(new, order="F"), array)
    check(lambda x: np.reshape(x, new, order="F"), array.reshape(new, order="F"), array)
    check(lambda x: x.ravel(order="F"), array.ravel(order="F"), array)
    if array.size:
        expected = array.reshape((-1, new[1]), order="F")
        check(lambda x: x.reshape(-1, new[1], order="F"), expected, array)


def test_other_orders_raise():
    x = make_input("x", TensorType("float64", ("n", 3)))
    with pytest.raises(DomainError, match=r"order 'C' or 'F', not 'K'(.|\n)*use 'C'"):
        x.ravel(order="K")
    with pytest.raises(PatternError, match="order='F'"):
        shape.reshape(Term(), 2, 3, order="F")


def test_reshape_keeps_symbolic_sizes():
    x = tensor("n", 6)
    assert shape.reshape(x, "n", 2, 3).type.shape == ("n", 2, 3)
    assert shape.reshape(x, "n", 2, 3) is shape.reshape(x, (-1, 2, 3))
    assert shape.reshape(x, -1, 2).type.shape == (None, 2)
    assert shape.reshape(x, "n", -1).type.shape == ("n", 6)
    assert shape.reshape(x, shape.dim(x, 0), 6) is x
    assert shape.reshape(x, "n", 6) is x
    y = tensor("n", "m")
    swapped = shape.reshape(y, "m", "n")
    assert swapped.type.shape == ("m", "n")
    assert evaluate(swapped, {"x": array((2, 5))}).shape == (5, 2)
    assert shape.reshape(tensor("n", "n"), "n", "n", 1).type.shape == ("n", "n", 1)


def test_reshape_takes_sizes_known_at_the_call():
    x, k = tensor(None), make_input("k", TensorType("int32"))
    y = shape.reshape(x, k, 3)
    assert y.op is Reshape((None, 3))
    assert y.type.shape == (None, 3)
    assert evaluate(y, {"x": array(6), "k": np.int32(2)}).shape == (2, 3)
    assert shape.reshape(tensor(6), k, 3).type.shape == (2, 3)
    assert shape.reshape(tensor(6), constant(2), 3).op is Reshape((2, 3))


def test_an_empty_array_keeps_its_other_sizes():
    x = tensor("n", "m", 0)
    y = shape.reshape(x, "m", "n", 0)
    assert y.type.shape == ("m", "n", 0)
    assert evaluate(y, {"x": np.zeros((2, 3, 0))}).shape == (3, 2, 0)


@pytest.mark.parametrize(
    ("dims", "target"),
    [((6,), (4,)), ((6,), (4, -1)), (("n", 6), ("n", 5)), ((2, 0), (0, -1)), (("n",), ("n", 2))],
)
def test_reshape_refuses_to_change_the_number_of_elements(dims, target):
    with pytest.raises(ShapeError, match="number of elements"):
        shape.reshape(tensor(*dims), target)


def test_reshape_names_what_is_wrong():
    with pytest.raises(DomainError, match="no dimension of the operand is called 'k'"):
        shape.reshape(tensor("n"), "k")
    with pytest.raises(DomainError, match="only one size can be -1"):
        shape.reshape(tensor("n"), -1, -1)
    with pytest.raises(DomainError, match="negative"):
        shape.reshape(tensor("n"), -2)
    with pytest.raises(ArgumentError, match="a size is an int"):
        shape.reshape(tensor("n"), 1.5)
    with pytest.raises(ArgumentError, match="takes 1 size as"):
        Reshape((None, 3))(tensor(6))
    with pytest.raises(DTypeError, match="integer scalar"):
        Reshape((None, 3))(tensor(6), 2.0)


@pytest.mark.parametrize("dims", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_permutations_agree_with_numpy(dims, dtype):
    x = array(dims, dtype)
    check(permutation.transpose, x.T, x)
    check(shape.ravel, x.ravel(), x)
    rng = np.random.default_rng(1)
    for _ in range(4):
        axes = tuple(int(a) for a in rng.permutation(len(dims)))
        check(lambda v, axes=axes: permutation.transpose(v, axes), x.transpose(axes), x)
        check(lambda v, axes=axes: permutation.transpose(v, *axes), x.transpose(axes), x)
    for a in range(-len(dims), len(dims)):
        for b in range(-len(dims), len(dims)):
            check(lambda v, a=a, b=b: permutation.swapaxes(v, a, b), np.swapaxes(x, a, b), x)
            check(lambda v, a=a, b=b: permutation.moveaxis(v, a, b), np.moveaxis(x, a, b), x)
    if len(dims) >= 2:
        check(permutation.matrix_transpose, x.mT, x)
        check(
            lambda v: permutation.moveaxis(v, (0, 1), (-1, 0)), np.moveaxis(x, (0, 1), (-1, 0)), x
        )


def test_permutations_have_one_form():
    x, b = tensor("n", 3), tensor(2, "n", 3)
    assert permutation.transpose(x) is matrix_transpose(x) is permutation.swapaxes(x, 0, 1)
    assert permutation.transpose(b, 0, 2, 1) is matrix_transpose(b)
    assert permutation.transpose(b).op.axes == (-1, -2, -3)
    assert permutation.transpose(b, (0, 1, 2)) is b
    assert permutation.transpose(tensor(4)) is tensor(4)
    assert brief(permutation.matrix_transpose(permutation.transpose(b, 1, 0, 2))) == (
        "transpose(x, axes=(-2, -3, -1)).mT"
    )


def test_permutation_errors():
    with pytest.raises(ShapeError, match="only a matrix"):
        permutation.matrix_transpose(tensor(3))
    for axes in [(0,), (0, 0), (0, 1, -1)]:
        with pytest.raises(DomainError, match="permutation of 2 axes"):
            permutation.transpose(tensor(2, 3), axes)
    with pytest.raises(DomainError, match="axis 2 is out of range"):
        permutation.swapaxes(tensor(2, 3), 0, 2)
    with pytest.raises(DomainError, match="given twice"):
        permutation.moveaxis(tensor(2, 3), (0, 0), (0, 1))
    with pytest.raises(DomainError, match="as many axes"):
        permutation.moveaxis(tensor(2, 3), (0, 1), 0)
    with pytest.raises(ShapeError, match="permutation of 3 axes does not fit"):
        permutation.Transpose((-1, -3, -2))(tensor(2, 3))


@pytest.mark.parametrize("dims", SHAPES)
def test_expand_and_squeeze_agree_with_numpy(dims):
    x = array(dims, "float32")
    for axis in range(-len(dims) - 1, len(dims) + 1):
        check(lambda v, a=axis: shape.expand_dims(v, a), np.expand_dims(x, axis), x)
    both = np.expand_dims(x, (0, -1))
    check(lambda v: shape.expand_dims(v, (0, -1)), both, x)
    check(lambda v: checks.squeeze(v, (0, -1)), both.squeeze((0, -1)), both)
    check(checks.squeeze, both.squeeze(), both)


def test_squeeze_checks_unknown_sizes_at_the_call():
    y = checks.squeeze(tensor(None, 3), 0)
    assert y.type.shape == (3,)
    assert evaluate(y, {"x": np.ones((1, 3))}).shape == (3,)
    with pytest.raises(ValueError, match="not equal to one"):
        evaluate(y, {"x": np.ones((2, 3))})
    with pytest.raises(ShapeError, match="has size 3"):
        checks.squeeze(tensor(None, 3), 1)
    with pytest.raises(DomainError, match="axis 2"):
        checks.squeeze(tensor(1, 3), 2)
    with pytest.raises(DomainError, match="twice"):
        shape.expand_dims(tensor(1, 3), (0, -4))
    assert checks.squeeze(tensor(2, 3)) is tensor(2, 3)


@pytest.mark.parametrize("squeeze", [np.squeeze, checks.squeeze, lambda x: x.squeeze()])
def test_squeeze_keeps_no_size_of_one(squeeze):
    y = squeeze(tensor(None, 1, "n"))
    for sizes in ((2, 1, 3), (0, 1, 2)):
        x = np.ones(sizes)
        assert evaluate(y, {"x": x}).shape == x.squeeze().shape
    for sizes in ((1, 1, 3), (2, 1, 1)):
        with pytest.raises(ShapeError, match=r"of \(0, 2\) are not static"):
            evaluate(y, {"x": np.ones(sizes)})


def test_equal_axes_are_one_node():
    assert shape.expand_dims(tensor(2), 1) is shape.expand_dims(tensor(2), -1)


@given(array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3), st.data())
@settings(max_examples=100, deadline=None)
def test_broadcast_to_agrees_with_numpy(target, data):
    keep = data.draw(st.integers(0, len(target)))
    own = tuple(data.draw(st.sampled_from([1, d])) for d in target[len(target) - keep :])
    x = array(own)
    check(
        lambda v: shape.broadcast_to(v, target), np.broadcast_to(x, target), x, typings=["static"]
    )
    like = np.zeros(target)
    check(
        lambda v, other: shape.broadcast_to(v, shape.shape(other)),
        np.broadcast_to(x, target),
        x,
        like,
    )


def test_broadcast_to_names_and_errors():
    x, y = tensor("n", 1), tensor("n", "m", name="y")
    assert shape.broadcast_to(x, ("n", 3)).type.shape == ("n", 3)
    assert shape.broadcast_to(x, shape.shape(y)).type.shape == ("n", "m")
    assert shape.broadcast_to(x, ("n", 1)) is x
    assert shape.broadcast_to(2.5, 3).type == TensorType("float64", (3,))
    assert shape.broadcast_to(tensor(3), (shape.dim(tensor(None, name="z"), 0),)).type.shape == (3,)
    with pytest.raises(ShapeError, match="more dimensions"):
        shape.broadcast_to(x, (3,))
    with pytest.raises(ShapeError, match="differ"):
        shape.broadcast_to(tensor(2), (3,))
    with pytest.raises(ShapeError, match="differ"):
        shape.broadcast_to(tensor("n"), (3,))
    with pytest.raises(DomainError, match="no dimension"):
        shape.broadcast_to(x, ("k", 1))
    with pytest.raises(ArgumentError, match="takes 1 size as"):
        BroadcastTo(("k", 2))(x)


def test_sizes_are_ints_where_static_and_nodes_elsewhere():
    x = tensor("n", 3, None)
    n, three, unknown = shape.shape(x)
    assert (n.op, three, unknown.op) == (Dim(-3), 3, Dim(-1))
    assert shape.size(tensor(2, 3)) == 6
    assert shape.size(constant(1.0)) == 1
    value = array((2, 3, 4))
    assert evaluate(n, {"x": value}) == 2
    assert evaluate(shape.size(x), {"x": value}) == 24
    assert fact(n, "nonnegative")
    assert fact(n, "integer")
    with pytest.raises(DomainError, match="axis 3"):
        shape.dim(x, 3)


@pytest.mark.parametrize("dims", [d for d in SHAPES if d])
@pytest.mark.parametrize("dtypes", [("float64", "float32"), ("int8", "uint8"), ("bool", "bool")])
def test_joining_agrees_with_numpy(dims, dtypes):
    x, y = (array(dims, d, i) for i, d in enumerate(dtypes))
    for axis in range(-len(dims), len(dims)):
        expected = np.concatenate([x, y, x], axis)
        check(lambda a, b, k=axis: concatenate.concatenate([a, b, a], k), expected, x, y)
    for axis in range(-len(dims) - 1, len(dims) + 1):
        check(lambda a, b, k=axis: concatenate.stack([a, b], k), np.stack([x, y], axis), x, y)
    check(lambda a, b: concatenate.concatenate([a, b], None), np.concatenate([x, y], None), x, y)


def test_joining_types_and_errors():
    x = tensor(3, "n")
    assert concatenate.concatenate([x, x], 1).type.shape == (3, None)
    assert concatenate.concatenate([x, tensor(3, 3, name="y")], 1).type.shape == (3, None)
    assert concatenate.concatenate([x, tensor(3, 0, name="y")], 1).type.shape == (3, "n")
    assert concatenate.concatenate([x, tensor(None, None, name="y")], 0).type.shape == (None, "n")
    assert concatenate.concatenate([x]) is x
    assert concatenate.stack([x, x], 1).type.shape == (3, 2, "n")
    with pytest.raises(ShapeError, match="sizes n and 4 differ along axis -1"):
        concatenate.concatenate([x, tensor(2, 4, name="y")])
    with pytest.raises(ShapeError, match="numbers of dimensions"):
        concatenate.concatenate([x, tensor(2, name="y")])
    with pytest.raises(ShapeError, match="differ"):
        concatenate.stack([x, tensor(2, "n", name="y")])
    with pytest.raises(ArgumentError, match="at least one"):
        concatenate.concatenate([])
    with pytest.raises(DomainError, match="axis 2"):
        concatenate.stack([tensor(2)], 2)


@pytest.mark.parametrize("dims", [(6,), (6, 2), (0, 6), (1, 6)])
def test_split_tile_and_repeat_agree_with_numpy(dims):
    x = array(dims)
    axis = dims.index(6)
    for i, part in enumerate(np.split(x, 3, axis)):
        check(lambda v, i=i: manipulation.split(v, 3, axis)[i], part, x, typings=["static"])
    for i, part in enumerate(np.split(x, [1, 4], axis)):
        check(lambda v, i=i: manipulation.split(v, [1, 4], axis)[i], part, x)
    for reps in (0, 1, 2, (2, 3), (1, 2, 2)):
        check(lambda v, r=reps: manipulation.tile(v, r), np.tile(x, reps), x)
    for count in (0, 1, 3):
        check(lambda v, c=count: manipulation.repeat(v, c), np.repeat(x, count), x)
        check(lambda v, c=count: manipulation.repeat(v, c, 0), np.repeat(x, count, 0), x)
    with pytest.raises(ShapeError, match="equal parts"):
        manipulation.split(tensor(7), 2)
    with pytest.raises(ShapeError, match="equal parts"):
        manipulation.split(tensor("n"), 2)
    with pytest.raises(DomainError, match="negative"):
        manipulation.tile(tensor(7), -1)


def test_facts_of_rearrangements():
    values = tensor("n", "n", facts=("positive", "finite"))
    for node in (
        shape.reshape(values, -1),
        permutation.transpose(values),
        shape.expand_dims(values, 0),
        shape.broadcast_to(values, (2, "n", "n")),
        concatenate.concatenate([values, constant(np.ones((1, 1)))], None),
        concatenate.stack([values, values]),
        permutation.transpose(shape.expand_dims(values, 0), 1, 0, 2),
    ):
        assert {"positive", "finite", "nonzero", "not_nan"} <= set(facts_of(node).names())
    low = tensor("n", "n", facts=("lower_triangular", "invertible"))
    assert fact(matrix_transpose(low), "upper_triangular")
    assert fact(matrix_transpose(low), "invertible")
    assert fact(matrix_transpose(low), "lower_triangular") is None
    for name in MATRIX_FACTS:
        x = tensor("n", "n", facts=(name,))
        batch = shape.broadcast_to(x, (2, "n", "n"))
        kept = [
            shape.expand_dims(x, 0),
            batch,
            checks.squeeze(shape.expand_dims(x, 0), 0),
        ]
        kept += [matrix_transpose(matrix_transpose(x))] if name != "selection" else []
        kept += [concatenate.stack([x, x], 0), concatenate.concatenate([batch, batch], 0)]
        kept += [permutation.transpose(shape.expand_dims(batch, 0), 1, 0, 2, 3)]
        for node in kept:
            assert fact(node, name), (name, node)
        assert fact(shape.expand_dims(x, -1), name) is None or name == "square"
        assert not fact(concatenate.stack([x, x], -1), name)
        turned = permutation.transpose(batch, 1, 2, 0)
        assert not fact(turned, name)
    assert not fact(concatenate.concatenate([values, constant(-np.ones((2, 1)))], None), "positive")


def test_patterns_are_written_without_a_rank():
    p, axis = Term(), var()
    assert permutation.transpose(p).op is permutation.MatrixTranspose()
    assert permutation.swapaxes(p, -1, -2).op is permutation.MatrixTranspose()
    assert permutation.transpose(p, (1, 0)).op is permutation.MatrixTranspose()
    assert permutation.transpose(p, (2, 0, 1)).op is permutation.Transpose((-1, -3, -2))
    assert shape.expand_dims(p, -1).op is ExpandDims((-1,))
    assert checks.squeeze(p, (-1, -3)).op is Squeeze((-3, -1))
    assert shape.reshape(p, 2, -1).op is Reshape((2, -1))
    assert shape.ravel(p).op is Reshape((-1,))
    assert shape.broadcast_to(p, (2, 3)).op is BroadcastTo((2, 3))
    assert shape.dim(p, -1).op is Dim(-1)
    assert shape.reshape(tensor(None), shape.dim(p, -1), 2).op is Reshape((None, 2))
    assert concatenate.concatenate([p, tensor(2)], 0).op is concatenate.Concatenate(-1)
    assert concatenate.stack([p, p], -1).op is concatenate.Stack(-1)
    assert shape.expand_dims(p, axis).op.axes is axis
    assert permutation.transpose(p, axis).op.axes is axis
    assert shape.reshape(p, axis).op.shape is axis
    assert concatenate.concatenate([p, p], axis).op.axis is axis
    for ask in (
        lambda: shape.expand_dims(p, 0),
        lambda: checks.squeeze(p),
        lambda: shape.shape(p),
        lambda: shape.reshape(p, "n"),
        lambda: permutation.moveaxis(p, 0, 1),
        lambda: permutation.swapaxes(p, -1, -3),
        lambda: concatenate.concatenate([p, p], 0),
        lambda: manipulation.split(p, 2),
        lambda: manipulation.tile(p, 2),
        lambda: manipulation.repeat(p, 2),
    ):
        with pytest.raises(PatternError, match="pattern"):
            ask()


def test_ops_that_move_elements_cost_no_operations():
    x = tensor(2, 3)
    views = [
        matrix_transpose(x),
        shape.reshape(x, 6),
        shape.expand_dims(x, 0),
        shape.broadcast_to(x, (4, 2, 3)),
    ]
    assert [node.op.flops((x.type,), node.type) for node in views] == [0, 0, 0, 0]
    assert all(node.op.view for node in views)
    joined = concatenate.stack([x, x])
    assert joined.op.flops((x.type, x.type), joined.type) == 0
    assert not joined.op.view
