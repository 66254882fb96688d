"""Types: dtypes, dimensions, and what broadcasts."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relgraph.errors import ArgumentError, DomainError, DTypeError, ShapeError
from relgraph.ir.types import (
    DTYPES,
    TensorType,
    TupleType,
    broadcast_dims,
    broadcast_shapes,
    covers,
    unify_dims,
)

sizes = st.integers(0, 3)
shapes = st.lists(sizes, max_size=3).map(tuple)


@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_types_are_one_object(dtype):
    made = TensorType(dtype, (3, "n", None))
    assert TensorType(np.dtype(dtype), [np.int64(3), "n", None]) is made
    assert TensorType(np.dtype(dtype).newbyteorder(), (3, "n", None)) is made
    assert made.ndim == 3
    assert repr(made) == f"{dtype}[3, n, ?]"
    for again in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        assert again is made


def test_other_types_are_other_objects():
    made = TensorType("float64", (1, "n"))
    others = [
        TensorType("float32", (1, "n")),
        TensorType("float64", ("n", 1)),
        TensorType("float64", (1, None)),
        TensorType("float64", (1,)),
        TensorType("float64", (1, "m")),
    ]
    assert all(other is not made for other in others)
    assert made.with_shape(("n", 1)) is others[1]
    assert made.with_dtype("float32") is others[0]


def test_types_do_not_change():
    made = TensorType("float64", (3,))
    with pytest.raises(AttributeError):
        made.shape = (4,)
    assert made.shape == (3,)


@pytest.mark.parametrize(
    "dtype", ["complex128", "float16", "object", "U3", "datetime64[s]", "nope"]
)
def test_dtypes_that_are_refused(dtype):
    with pytest.raises(DTypeError, match="supported"):
        TensorType(dtype)


@pytest.mark.parametrize(
    ("dim", "error"),
    [(-1, DomainError), ("2n", DomainError), ("", DomainError), (True, ArgumentError),
     (2.0, ArgumentError), ((3,), ArgumentError)],
)  # fmt: skip
def test_dimensions_that_are_refused(dim, error):
    with pytest.raises(error):
        TensorType("float64", (dim,))


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [(3, 3, 3), (0, 0, 0), ("n", "n", "n"), (None, 3, 3), (3, None, 3), (None, "n", "n"),
     (None, None, None), (None, 1, 1)],
)  # fmt: skip
def test_dimensions_that_are_equal(a, b, result):
    assert unify_dims(a, b) == result


@pytest.mark.parametrize(("a", "b"), [(3, 4), (0, 1), ("n", "m"), ("n", 3), ("n", 1), (1, 3)])
def test_dimensions_that_differ(a, b):
    for first, second in ((a, b), (b, a)):
        with pytest.raises(ShapeError, match="differ"):
            unify_dims(first, second)


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        (1, 3, 3),
        (1, 0, 0),
        (1, "n", "n"),
        (1, None, None),
        (1, 1, 1),
        (None, 3, 3),
        ("n", "n", "n"),
    ],
)
def test_only_a_static_one_is_stretched(a, b, result):
    assert broadcast_dims(a, b) == result
    assert broadcast_dims(b, a) == result


@pytest.mark.parametrize(("a", "b"), [(2, 3), (0, 2), ("n", "m"), ("n", 2)])
def test_what_does_not_broadcast(a, b):
    for first, second in ((a, b), (b, a)):
        with pytest.raises(ShapeError):
            broadcast_dims(first, second)
        with pytest.raises(ShapeError, match="along axis -2"):
            broadcast_shapes([(first, 1), (7, second, 4)])


@given(st.lists(shapes, min_size=1, max_size=3))
def test_static_shapes_broadcast_as_in_numpy(given_shapes):
    try:
        expected = np.broadcast_shapes(*given_shapes)
    except ValueError:
        with pytest.raises(ShapeError):
            broadcast_shapes(given_shapes)
    else:
        assert broadcast_shapes(given_shapes) == expected


@given(shapes, shapes)
def test_an_operand_that_covers_the_result_is_not_stretched(a, b):
    try:
        result = np.broadcast_shapes(a, b)
    except ValueError:
        return
    assert covers(result, a) == (result == a)


def test_covering_with_names_and_unknown_sizes():
    assert covers(("n", 3), ("n", 3))
    assert covers(("n",), (None,))
    assert covers((None,), ("n",))
    assert not covers((None,), (1,))
    assert not covers(("n",), (1,))
    assert not covers(("m", "n"), ("n",))


def test_accepting_arrays():
    made = TensorType("float64", (2, "n"))
    assert made.accepts(np.zeros((2, 5))) is None
    assert "dtype is float32" in made.accepts(np.zeros((2, 5), np.float32))
    assert "1 dimension," in made.accepts(np.zeros(2))
    assert "axis 0 is 3" in made.accepts(np.zeros((3, 5)))
    assert "is a list" in made.accepts([[0.0], [0.0]])
    assert TensorType("float64").accepts(np.float64(1)) is None


def test_a_more_exact_type_narrows_a_less_exact_one():
    unknown, named, static = (TensorType("float64", (d,)) for d in (None, "n", 3))
    assert named.narrows(unknown)
    assert static.narrows(unknown)
    assert not unknown.narrows(named)
    assert not static.narrows(named)
    assert static.narrows(static)
    assert not TensorType("float32", (3,)).narrows(unknown)
    assert not TensorType("float64", (3, 1)).narrows(unknown)


def test_types_of_several_results():
    parts = (TensorType("float64"), TensorType("int64", (2,)))
    made = TupleType(parts)
    assert TupleType(list(parts)) is made
    assert pickle.loads(pickle.dumps(made)) is made
    assert made.accepts((np.float64(1), np.zeros(2, np.int64))) is None
    assert "not a tuple of 2" in made.accepts((np.float64(1),))
    assert "in result 1" in made.accepts((np.float64(1), np.zeros(3, np.int64)))
    assert repr(made) == "(float64[], int64[2])"
