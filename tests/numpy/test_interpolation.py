"""Interpolation, convolution, outer ufuncs and elements along axes, against NumPy."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DomainError, DTypeError, ShapeError
from tests.ops.evaluation import check, typed

RNG = np.random.default_rng(0)
STATIC = ("static",)


@pytest.mark.parametrize("size", [1, 2, 3, 12])
@pytest.mark.parametrize("options", [{}, {"left": -9, "right": 9.0}, {"period": 1.7}])
def test_interpolation_between_points(size, options):
    xp, fp = np.sort(RNG.normal(size=size)), RNG.normal(size=size)
    values = np.append(xp, [0.5, 1.0, -1.0])
    values = values if options.get("period") else np.append(values, [np.nan, np.inf, -np.inf])
    for x in (values, np.array(0.1), np.zeros((2, 0)), RNG.normal(size=(2, 3)), np.arange(3)):
        with np.errstate(invalid="ignore"):
            check(
                lambda x, xp, fp: np.interp(x, xp, fp, **options),
                np.interp(x, xp, fp, **options), x, xp, fp, typings=STATIC, rtol=1e-10,
            )  # fmt: skip


def test_points_that_are_infinite_or_repeated_or_integers():
    for x, xp, fp in (
        (np.array([0.5, 1, 1.5]), np.array([0.0, 1, 2]), np.array([1.0, np.inf, np.inf])),
        (np.array([0.5, 1, 1.5]), np.array([0.0, 1, 1, 2]), np.array([1.0, 2, 3, 4])),
        (np.array([0.5, 2.5]), np.arange(4), np.arange(4) ** 2),
    ):
        with np.errstate(all="ignore"):
            check(np.interp, np.interp(x, xp, fp), x, xp, fp, typings=STATIC)


def test_named_sizes_interpolate_too():
    x, xp, fp = RNG.normal(size=5), np.arange(3.0), RNG.normal(size=3)
    expected = np.interp(x, xp, fp)
    check(np.interp, expected, x, xp, fp, typings=("static", "named"), rtol=1e-13)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(
    "sizes", [(1, 1), (5, 3), (3, 5), (4, 4), (50, 40), (1, 6)], ids=lambda sizes: f"{sizes}"
)
def test_convolution(sizes, mode):
    for dtypes in (
        ("float64", "float64"),
        ("int64", "float32"),
        ("int8", "int8"),
        ("bool", "bool"),
    ):
        a, v = (RNG.integers(0, 4, n).astype(d) for n, d in zip(sizes, dtypes, strict=True))
        expected = np.convolve(a, v, mode)
        check(lambda a, v: np.convolve(a, v, mode), expected, a, v, typings=STATIC, rtol=1e-13)


@pytest.mark.parametrize("name", ["add", "multiply", "hypot", "less", "power", "logical_and"])
@pytest.mark.parametrize(
    "shapes", [((3,), (2,)), ((2, 2), (3,)), ((), (3,)), ((3,), ()), ((0,), (2,)), ((), ())]
)
def test_ufuncs_of_every_pair(name, shapes):
    ufunc = getattr(np, name)
    x, y = np.abs(RNG.normal(size=shapes[0])), RNG.normal(size=shapes[1])
    check(ufunc.outer, ufunc.outer(x, y), x, y, rtol=1e-14)


def test_a_number_in_an_outer_ufunc_is_an_array():
    x = np.arange(3, dtype="float32")
    check(lambda x: np.multiply.outer(x, 2), np.multiply.outer(x, 2), x)


def test_elements_along_axes():
    x = RNG.normal(size=(3, 4))
    for axis in (0, 1, -1):
        order = np.argsort(x, axis=axis)
        expected = np.take_along_axis(x, order, axis)
        check(lambda x, i, k=axis: np.take_along_axis(x, i, k), expected, x, order, typings=STATIC)
    places = np.array([[1], [0], [2]])
    expected = np.take_along_axis(x, places, 1)
    check(lambda x, i: np.take_along_axis(x, i, 1), expected, x, places, typings=STATIC)
    flat = np.array([3, 0])
    check(lambda x, i: np.take_along_axis(x, i, None), np.ravel(x)[flat], x, flat, typings=STATIC)


def test_elements_along_an_axis_of_named_sizes():
    x, order = rg.matrix("x", shape=("m", "n")), rg.matrix("order", shape=("m", "n"), dtype="int64")
    f = rg.function([x, order], rg.numpy.take_along_axis(x, order, 1))
    for shape in ((3, 4), (1, 2), (0, 3)):
        values = np.random.default_rng(2).normal(size=shape)
        places = np.argsort(values, axis=1)
        np.testing.assert_array_equal(f(values, places), np.take_along_axis(values, places, 1))


def test_what_cannot_be_interpolated_or_convolved():
    x, i = typed("x", np.ones(3)), typed("i", np.ones(3, int))
    for call, error, text in (
        (lambda: np.interp(1.0, x, x[:2]), ShapeError, "as many places as values"),
        (lambda: np.interp(1.0, x[:0], x[:0]), ShapeError, "at least one point"),
        (lambda: np.interp(1.0, x, x, period=0), DomainError, "period is 0"),
        (lambda: np.convolve(x[:0], x), ShapeError, "not empty"),
        (lambda: np.convolve(x[None], x), ShapeError, "two vectors"),
        (lambda: np.convolve(x, x, "half"), DomainError, "'full', 'same' or 'valid'"),
        (lambda: np.take_along_axis(x, x, 0), DTypeError, "not integers"),
        (lambda: np.take_along_axis(x, i[None], 0), ShapeError, "number of dimensions"),
        (lambda: np.put_along_axis(x, i, 1, 0), ArgumentError, "not supported on graphs"),
        (lambda: np.add.reduceat(x, [0]), ArgumentError, "not supported"),
    ):
        with pytest.raises(error, match=text):
            call()
