"""Places in sorted arrays, counts and histograms, against NumPy."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DomainError, DTypeError, ShapeError
from tests.ops.evaluation import check, typed

RNG = np.random.default_rng(0)
VALUES = np.array([0.5, np.nan, 1.0, -1.0, 2.0, 5.0, np.inf, -np.inf])
KEYS = [VALUES, np.array([0, 3, 9, 10, -1]), np.zeros((2, 0)), np.array(3.0)]
STATIC = ("static",)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float64", "int64", "float32", "uint8"])
@pytest.mark.parametrize("size", [0, 1, 3, 9, 33])
def test_places_in_sorted_arrays(size, dtype, side):
    a = np.sort(RNG.integers(0, 10, size)).astype(dtype)
    right = side == "right"
    for v in KEYS:
        check(lambda a, v: np.searchsorted(a, v, side), np.searchsorted(a, v, side), a, v)
        check(lambda a, v: np.digitize(v, a, right), np.digitize(v, a, right), a, v)
        down = a[::-1]
        check(lambda a, v: np.digitize(v, a, right), np.digitize(v, down, right), down, v)


@pytest.mark.parametrize("size", [3, 20])
def test_nan_is_after_all_numbers_and_a_sorter_sorts(size):
    a = np.append(np.sort(RNG.normal(size=size)), np.nan)
    for side in ("left", "right"):
        expected = np.searchsorted(a, VALUES, side)
        check(lambda a, v, s=side: np.searchsorted(a, v, s), expected, a, VALUES)
    mixed = RNG.permutation(size).astype(float)
    expected = np.searchsorted(mixed, [1.0, 2.5], sorter=np.argsort(mixed))
    check(lambda a: np.searchsorted(a, [1.0, 2.5], sorter=np.argsort(a)), expected, mixed)


@pytest.mark.parametrize("minlength", [0, 3, 8])
@pytest.mark.parametrize(
    "x", [[0, 1, 1, 5], np.zeros(0, int), [True, False], np.uint8([1, 2]), np.uint64([1])]
)
def test_counts_of_numbers(x, minlength):
    x = np.asarray(x)
    check(
        lambda x: np.bincount(x, minlength=minlength), np.bincount(x, minlength=minlength), x,
        typings=STATIC,
    )  # fmt: skip
    for w in (RNG.normal(size=x.shape), np.ones(x.shape, "int32")):
        expected = np.bincount(x, w, minlength)
        check(lambda x, w: np.bincount(x, w, minlength), expected, x, w, typings=STATIC)


def test_negative_numbers_are_not_counted():
    x = rg.vector("x", "n", dtype="int64")
    counts = rg.function([x], np.bincount(x), target="numpy")
    assert counts([1, 1]).tolist() == [0, 2]
    with pytest.raises(DomainError, match="one is negative"):
        counts([3, -1])


@pytest.mark.parametrize("bins", [10, 1, 3, [0, 1, 2], [0.0, 0.5, 3.0]])
@pytest.mark.parametrize(
    "x",
    [
        RNG.normal(size=30), RNG.normal(size=(3, 4)).astype("float32"), RNG.integers(0, 5, 20),
        np.zeros(0), np.array([2.0, 2.0]), RNG.integers(0, 200, 9).astype("uint8"), np.array([1]),
    ],
)  # fmt: skip
def test_histograms(x, bins):
    w = 1 + RNG.integers(0, 4, x.shape)
    rtol = 1e-6 if x.dtype == "float32" else 1e-15
    for options in ({}, {"range": (0, 2)}, {"range": (-1.5, 2.0)}, {"density": True}):
        with np.errstate(invalid="ignore"):  # the density of no elements
            pairs = zip(
                np.histogram(x, bins, **options), np.histogram(x, bins, weights=w, **options),
                strict=True,
            )  # fmt: skip
            for part, (expected, weighted) in enumerate(pairs):
                check(
                    lambda x, p=part, o=options: np.histogram(x, bins, **o)[p], expected, x,
                    typings=STATIC, rtol=rtol,
                )  # fmt: skip
                check(
                    lambda x, w, p=part, o=options: np.histogram(x, bins, weights=w, **o)[p],
                    weighted, x, w, typings=STATIC, rtol=1e-6,
                )  # fmt: skip


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "uint64"])
@pytest.mark.parametrize("limits", [(0, 256), (-3, 200), (0.5, 99)])
def test_limits_of_histograms_may_be_outside_of_the_dtype(dtype, limits):
    x = RNG.integers(0, 120, 50).astype(dtype)
    for result, expected in zip(
        rg.jit(lambda x: np.histogram(x, 16, limits))(x), np.histogram(x, 16, limits), strict=True
    ):
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


def test_what_cannot_be_searched_or_counted():
    x, i = typed("x", np.ones(3)), typed("i", np.ones(3, int))
    for call, error, text in (
        (lambda: np.searchsorted(x, 1, "middle"), DomainError, "'left' or 'right'"),
        (lambda: np.searchsorted(x[None], 1), ShapeError, "one dimension"),
        (lambda: np.digitize(x, [0, 2, 1]), DomainError, "not in order"),
        (lambda: np.bincount(x), DTypeError, "takes integers"),
        (lambda: np.bincount(i[None]), ShapeError, "one dimension"),
        (lambda: np.bincount(i, minlength=-1), DomainError, "minlength is negative"),
        (lambda: np.histogram(x, "auto"), ArgumentError, "the rule 'auto'"),
        (lambda: np.histogram(x, 0), DomainError, "at least one bin"),
        (lambda: np.histogram(x, [1, 0]), DomainError, "not in order"),
        (lambda: np.histogram(x, 2, range=(1, 0)), DomainError, "ends before it starts"),
        (lambda: np.histogram(x, 2, weights=i[:2]), ShapeError, "weights of the shape"),
    ):
        with pytest.raises(error, match=text):
            call()
