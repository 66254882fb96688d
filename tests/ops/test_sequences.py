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
    ShapeError,
)
from tests.ops.evaluation import check, typed

A = np.random.default_rng(0).integers(-50, 50, (3, 4)).astype("float64")
ARRAYS = [A, A.astype("int8"), A > 0, A[:, :1], A[:0]]


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), ()])
def test_flip(axis):
    for array in ARRAYS:
        check(partial(np.flip, axis=axis), np.flip(array, axis=axis), array)
    check(rnp.flip, np.flip(A[0]), A[0])


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
        check(lambda x, k: rnp.roll(x, k, 1), np.roll(A, by, 1), A, np.asarray(by))
    with pytest.raises(ShapeError, match="numbers of shifts and axes"):
        rnp.roll(typed("x", A), (1, 2, 3), (0, 1))


@pytest.mark.parametrize("options", [
    {}, {"n": 2}, {"n": 0}, {"axis": 0}, {"prepend": 3}, {"append": [[1], [2], [3]]},
    {"prepend": 0, "append": 1, "axis": 0, "n": 2},
])  # fmt: skip
def test_diff(options):
    for array in (A, A.astype("uint8"), A > 0):
        if array.dtype != "float64" and ("prepend" in options or "append" in options):
            continue
        typings = ("static",) if isinstance(options.get("append"), list) else ("static", "unknown")
        build = partial(np.diff, **options)
        check(build, np.diff(array, **options), array, typings=typings)
    with pytest.raises(DomainError, match="at least 0, not -1"):
        np.diff(typed("x", A), n=-1)


@pytest.mark.parametrize(("width", "values"), [
    (1, 0), ((2, 0), 7), (((1, 0), (0, 2)), ((1, 2), (3, 4))), (((1, 2),), 2.7), (0, 5),
])  # fmt: skip
def test_pad(width, values):
    for array in ARRAYS:
        build = partial(np.pad, pad_width=width, constant_values=values)
        check(build, np.pad(array, width, constant_values=values), array)
    check(lambda x: np.pad(x, 2), np.pad(A[0], 2), A[0])


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("width", [0, 1, 3, 9, (2, 0), ((0, 1), (5, 2))])
def test_pad_with_elements(mode, width):
    for array in (A, A.astype("int8"), A > 0, A[:, :1]):
        check(lambda x: np.pad(x, width, mode=mode), np.pad(array, width, mode=mode), array,
              typings=("static",))  # fmt: skip
    check(lambda x: np.pad(x, ((0, 0), (1, 2)), mode=mode),
          np.pad(A[:0], ((0, 0), (1, 2)), mode=mode), A[:0], typings=("static",))  # fmt: skip


def test_pad_names_what_is_wrong():
    x = typed("x", A)
    check(lambda x: rnp.pad(x, {0: 1, -1: (0, 2)}), np.pad(A, ((1, 1), (0, 2))), A)
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
        np.pad(A, 1, mode="edge", constant_values=3)
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
    for array in (A, A.astype("int8"), A.astype("float32"), A[0, :1], A[0, :0]):
        check(lambda x: np.ediff1d(x, **options), np.ediff1d(array, **options), array)
    with pytest.raises(ArgumentError, match="cannot join float64"):
        np.ediff1d(typed("x", A.astype("int8")), to_end=1.5)
    with pytest.raises(DTypeError):
        np.ediff1d(typed("x", A > 0))
