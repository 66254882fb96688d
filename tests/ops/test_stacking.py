"""Joins whose axes NumPy chooses, against NumPy."""

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.errors import ArgumentError, PatternError, ShapeError
from tests.ops.evaluation import Term, check, typed

A = np.arange(12.0).reshape(3, 4) - 5
T = np.arange(24).reshape(2, 3, 4)
SHAPED = [np.array(2.5), A[0], A, T.astype("float32"), A[:0], A > 0, A.astype("int8"), A[0, :0]]


@pytest.mark.parametrize("name", ["atleast_1d", "atleast_2d", "atleast_3d"])
def test_of_any_shape(name):
    function = getattr(np, name)
    for array in SHAPED:
        check(function, function(array), array)


def test_several_at_once():
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        function = getattr(np, name)
        for part in (0, 1):
            check(
                lambda x, y, f=function, p=part: f(x, y)[p],
                function(A[0], A)[part], A[0], A,
            )  # fmt: skip


@pytest.mark.parametrize("name", ["vstack", "hstack", "dstack", "column_stack"])
def test_joins(name):
    function = getattr(np, name)
    groups = [
        (A, A.astype("float32")), (A, A > 0, A), (A[0], A[1].astype("int8")), (A[0, :0], A[0, :0]),
        (A[:0], A[:0]), (A,), (A[0],), (T, T + 1),
    ]  # fmt: skip
    for group in groups:
        if not (name == "column_stack" and group[0].ndim > 2):
            check(lambda *xs: function(xs), function(group), *group)
            check(lambda *xs: function(list(xs)), function(group), *group)
    if name != "column_stack":
        check(lambda x: function([x, x]), function([np.array(1.5)] * 2), np.array(1.5))


def test_joins_of_other_shapes():
    check(lambda x, y: np.vstack([x, y]), np.vstack([A[0], A]), A[0], A)
    check(lambda x, y: np.hstack([x, y]), np.hstack([A[0], A[0, :2]]), A[0], A[0, :2])
    column = np.array([1, 2, 3])
    check(lambda x, y: np.column_stack([x, y]), np.column_stack([column, A]), column, A)
    check(lambda x: np.vstack([x, A[0]]), np.vstack([A, A[0]]), A, typings=("static", "unknown"))
    check(np.vstack, np.vstack(T), T, typings=("static",))
    with pytest.raises(ShapeError, match="along axis"):
        np.vstack([typed("x", A), typed("y", A[:, :2])])
    with pytest.raises(ArgumentError, match="sequence of at least one array"):
        rnp.hstack([])
    with pytest.raises(ArgumentError, match="does not take dtype="):
        np.vstack([typed("x", A)], dtype="float32")
    with pytest.raises(PatternError, match="vstack needs the type"):
        rnp.vstack([Term()])


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_append(axis):
    check(lambda x: np.append(x, x, axis=axis), np.append(A, A, axis=axis), A)
    check(lambda x: np.append(x, [[7]]), np.append(A, [[7]]), A)
    whole = A.astype("int8")
    check(lambda x, y: np.append(x, y, axis=axis), np.append(whole, A, axis=axis), whole, A)


BLOCKS = [
    lambda np, x: np.block([[x, x], [x, x]]),
    lambda np, x: np.block([x, x[:, :1]]),
    lambda np, x: np.block([[x], [x[:2]]]),
    lambda np, x: np.block([[x, np.zeros((3, 2))], [np.ones((2, 4)), np.eye(2)]]),
    lambda np, x: np.block(x),
    lambda np, x: np.block([x[0], 7.0]),
    lambda np, x: np.block([[x[0]], [x[1]]]),
    lambda np, x: np.block([[[x]], [[x]]]),
]


@pytest.mark.parametrize("function", BLOCKS)
def test_block(function):
    for array in (A, A.astype("int8")):
        check(lambda x: function(rnp, x), function(np, array), array, typings=("static",))
    check(lambda x: np.block([[x, x], [x, x]]), np.block([[A, A], [A, A]]), A)


def test_block_names_what_is_wrong():
    x = typed("x", A)
    with pytest.raises(ArgumentError, match="lists of one depth"):
        np.block([[x], x])
    with pytest.raises(ArgumentError, match="lists of one depth"):
        np.block([[x], []])


def test_they_trace_and_compile():
    def joined(x, y):
        return np.vstack([x, y]), np.hstack([x[0], y]), np.block([[x, x[:, :1]]])

    for got, expected in zip(rg.jit(joined)(A, A[0]), joined(A, A[0]), strict=True):
        np.testing.assert_array_equal(got, expected, strict=True)
