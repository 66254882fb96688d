"""flip, roll, diff and pad against NumPy; and the ufuncs of signs and of numbers beside NaN."""

from functools import partial

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.errors import (
    ArgumentError,
    DomainError,
    DTypeError,
    NumberRangeError,
    PatternError,
    ShapeError,
)
from tests.ops.evaluation import Term, check, typed

A = np.arange(12.0).reshape(3, 4) - 5
T = np.arange(24).reshape(2, 3, 4)
DRAWN = np.random.default_rng(0).integers(-50, 50, (3, 4)).astype("float64")
ARRAYS = [DRAWN, DRAWN.astype("int8"), DRAWN > 0, DRAWN[:, :1], DRAWN[:0]]


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), ()])
def test_flip(axis):
    for array in ARRAYS:
        check(partial(np.flip, axis=axis), np.flip(array, axis=axis), array)
    check(rnp.flip, np.flip(DRAWN[0]), DRAWN[0])


@pytest.mark.parametrize(
    ("shift", "axis"),
    [(1, 0), (-1, 1), (7, 0), (-9, -1), (0, 0), (2, None), (-13, None), ((1, 2), (0, 1)),
     ((1, 1), 0), (1, (0, 1)), ((1, 2), None)],
)  # fmt: skip
def test_roll(shift, axis):
    for array in ARRAYS:
        check(lambda x: np.roll(x, shift, axis=axis), np.roll(array, shift, axis=axis), array)


def test_roll_by_a_graph():
    for by in (-5, 0, 1, 2, 8):
        check(lambda x, k: rnp.roll(x, k, 1), np.roll(DRAWN, by, 1), DRAWN, np.asarray(by))
    with pytest.raises(ShapeError, match="numbers of shifts and axes"):
        rnp.roll(typed("x", DRAWN), (1, 2, 3), (0, 1))


@pytest.mark.parametrize("options", [
    {}, {"n": 2}, {"n": 0}, {"axis": 0}, {"prepend": 3}, {"append": [[1], [2], [3]]},
    {"prepend": 0, "append": 1, "axis": 0, "n": 2},
])  # fmt: skip
def test_diff(options):
    for array in (DRAWN, DRAWN.astype("uint8"), DRAWN > 0):
        if array.dtype != "float64" and ("prepend" in options or "append" in options):
            continue
        typings = ("static",) if isinstance(options.get("append"), list) else ("static", "unknown")
        build = partial(np.diff, **options)
        check(build, np.diff(array, **options), array, typings=typings)
    with pytest.raises(DomainError, match="at least 0, not -1"):
        np.diff(typed("x", DRAWN), n=-1)


@pytest.mark.parametrize(("width", "values"), [
    (1, 0), ((2, 0), 7), (((1, 0), (0, 2)), ((1, 2), (3, 4))), (((1, 2),), 2.7), (0, 5),
])  # fmt: skip
def test_pad(width, values):
    for array in ARRAYS:
        build = partial(np.pad, pad_width=width, constant_values=values)
        check(build, np.pad(array, width, constant_values=values), array)
    check(lambda x: np.pad(x, 2), np.pad(DRAWN[0], 2), DRAWN[0])


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("width", [0, 1, 3, 9, (2, 0), ((0, 1), (5, 2))])
def test_pad_with_elements(mode, width):
    for array in (DRAWN, DRAWN.astype("int8"), DRAWN > 0, DRAWN[:, :1]):
        check(lambda x: np.pad(x, width, mode=mode), np.pad(array, width, mode=mode), array,
              typings=("static",))  # fmt: skip
    empty = DRAWN[:0]
    check(lambda x: np.pad(x, ((0, 0), (1, 2)), mode=mode),
          np.pad(empty, ((0, 0), (1, 2)), mode=mode), empty, typings=("static",))  # fmt: skip


def test_pad_names_what_is_wrong():
    x = typed("x", DRAWN)
    check(lambda x: rnp.pad(x, {0: 1, -1: (0, 2)}), np.pad(DRAWN, ((1, 1), (0, 2))), DRAWN)
    with pytest.raises(ArgumentError, match="mode='mean' is not supported"):
        np.pad(x, 1, mode="mean")
    with pytest.raises(ShapeError, match="axis 0, which is of unknown size"):
        np.pad(rg.vector("v"), 1, mode="edge")
    with pytest.raises(ShapeError, match="axis 0, which has none"):
        np.pad(x[:0], 1, mode="wrap")
    with pytest.raises(DomainError, match="at least 0"):
        np.pad(x, -1)
    with pytest.raises(ShapeError, match="a pair for each of 2 axes"):
        np.pad(x, ((1, 2), (3, 4), (5, 6)))
    with pytest.raises(ArgumentError, match="known when the graph is built"):
        np.pad(x, 1, constant_values=rg.scalar("c"))
    with pytest.raises(NumberRangeError, match="pad: constant_values do not fit"):
        np.pad(rg.vector("i", dtype="int8"), 1, constant_values=2**70)
    with pytest.raises(ValueError, match="constant_values"):
        np.pad(DRAWN, 1, mode="edge", constant_values=3)
    with pytest.raises(ArgumentError, match="mode='edge' takes no constant_values") as error:
        np.pad(x, 1, mode="edge", constant_values=3)
    assert "pad with mode='constant'." in str(error.value).splitlines()[-1]


SPECIAL = np.array([1.5, -2.0, 0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan])


@pytest.mark.parametrize("name", ["fmax", "fmin", "copysign"])
@pytest.mark.parametrize(
    "dtypes", [("float64", "float64"), ("float32", "float64"), ("int32", "int8")]
)
def test_two_numbers(name, dtypes):
    ufunc = getattr(np, name)
    x, y = np.meshgrid(*[SPECIAL if "f" in d else np.array([-3, 0, 5]) for d in dtypes])
    x, y = x.astype(dtypes[0]), y.astype(dtypes[1])
    check(getattr(rnp, name), ufunc(x, y), x, y)
    check(lambda a: getattr(rnp, name)(a, 2), ufunc(x, 2), x)
    expected = ufunc(x, y)
    got = rg.jit(ufunc)(x, y)
    np.testing.assert_array_equal(got, expected, strict=True)
    if name == "copysign":
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


def test_signbit():
    for array in (SPECIAL, SPECIAL.astype("float32"), np.array([-3, 0, 5])):
        check(rnp.signbit, np.signbit(array), array)
        np.testing.assert_array_equal(rg.jit(np.signbit)(array), np.signbit(array), strict=True)


@pytest.mark.parametrize("options", [
    {}, {"to_end": 7}, {"to_begin": [1, 2]}, {"to_begin": 0, "to_end": [[3], [4]]},
])  # fmt: skip
def test_ediff1d(options):
    for array in (DRAWN, DRAWN.astype("int8"), DRAWN.astype("float32"), DRAWN[0, :1], DRAWN[0, :0]):
        check(lambda x: np.ediff1d(x, **options), np.ediff1d(array, **options), array)
    with pytest.raises(ArgumentError, match="cannot join float64"):
        np.ediff1d(typed("x", DRAWN.astype("int8")), to_end=1.5)
    with pytest.raises(DTypeError):
        np.ediff1d(typed("x", DRAWN > 0))


def test_cuts():
    for name, array, how in (
        ("vsplit", A, 3), ("hsplit", A, 2), ("hsplit", A[0], [1, 3]), ("dsplit", T, 2),
        ("array_split", A, 2), ("array_split", A[0], 3), ("array_split", A, [2]),
        ("array_split", A[0], 6),
    ):  # fmt: skip
        function = getattr(np, name)
        expected = function(array, how)
        assert len(function(typed("x", array), how)) == len(expected)
        for i, part in enumerate(expected):
            check(lambda x, f=function, h=how, i=i: f(x, h)[i], part, array, typings=("static",))
    check(lambda x: np.array_split(x, 3, axis=1)[0], np.array_split(A, 3, axis=1)[0], A,
          typings=("static",))  # fmt: skip
    for call in (np.vsplit, np.dsplit):
        with pytest.raises(ShapeError, match="at least"):
            call(typed("x", A[0]), 2)
    with pytest.raises(ShapeError, match="places where to cut"):
        np.array_split(rg.vector("v"), 2)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unstack(axis):
    expected = np.unstack(T, axis=axis)
    assert len(np.unstack(typed("x", T), axis=axis)) == len(expected)
    for i, part in enumerate(expected):
        check(lambda x, i=i: np.unstack(x, axis=axis)[i], part, T, typings=("static",))
    with pytest.raises(ShapeError, match="is not known"):
        np.unstack(rg.vector("v"))


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


def test_joins_trace_and_compile():
    def joined(x, y):
        return np.vstack([x, y]), np.hstack([x[0], y]), np.block([[x, x[:, :1]]])

    for got, expected in zip(rg.jit(joined)(A, A[0]), joined(A, A[0]), strict=True):
        np.testing.assert_array_equal(got, expected, strict=True)


@pytest.mark.parametrize("k", [-5, -1, 0, 1, 2, 3, 4])
def test_rot90(k):
    for array in (A, A[:0], A > 0):
        check(lambda x: np.rot90(x, k), np.rot90(array, k), array)
    for axes in ((1, 2), (2, 0), (-1, 1)):
        check(lambda x, a=axes: np.rot90(x, k, a), np.rot90(T, k, axes), T)


def test_reversals():
    for array in (A, A[:, :1], T, A[:0]):
        check(np.fliplr, np.fliplr(array), array)
        check(np.flipud, np.flipud(array), array)
    check(np.flipud, np.flipud(A[0]), A[0])
    with pytest.raises(ShapeError, match="at least 2 dimensions"):
        np.fliplr(typed("x", A[0]))
    with pytest.raises(DomainError, match="two different axes"):
        np.rot90(typed("x", A), 1, (0, -2))
    with pytest.raises(ArgumentError, match="two axes, not 3") as caught:
        np.rot90(typed("x", A), axes=3)
    assert str(caught.value).endswith("Write them as a pair: axes=(0, 1).")


@pytest.mark.parametrize(("axis", "start"), [(2, 0), (0, 3), (0, 2), (-1, 1), (1, 1), (2, -2)])
def test_rollaxis(axis, start):
    check(lambda x: np.rollaxis(x, axis, start), np.rollaxis(T, axis, start), T)


def test_turns_trace_and_compile():
    def turned(x):
        return np.rot90(x), np.fliplr(x), np.rollaxis(x, 1)

    for got, expected in zip(rg.jit(turned)(A), turned(A), strict=True):
        np.testing.assert_array_equal(got, expected, strict=True)
