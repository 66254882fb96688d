"""Reductions of many short rows, against NumPy and SciPy."""

import numpy as np
import pytest
from scipy import special

import relgraph as rg
from relgraph.backends.numba import kernels

DTYPES = ("float64", "float32")
LENGTHS = (1, 2, 7, 8, 12, 13, 31, 63, 64)
TOLERANCE = {"float64": 1e-13, "float32": 2e-6}


def layer_norm(x, scale, shift):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5) * scale + shift


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_all_lengths(dtype):
    x = rg.matrix("x", dtype=dtype)
    f = rg.function(
        [x],
        [
            rg.softmax(x, axis=-1),
            rg.logsumexp(x, axis=-1),
            rg.sum(x, axis=-1),
            rg.max(x, axis=-1),
            rg.mean(rg.exp(x), axis=-1),
        ],
    )
    draw = np.random.default_rng(0)
    for length in LENGTHS:
        for rows in (1, 47, 48, 64, 65, 200):
            a = draw.normal(size=(rows, length)).astype(dtype)
            wide = a.astype("float64")
            expected = [
                special.softmax(wide, axis=-1),
                special.logsumexp(wide, axis=-1),
                wide.sum(axis=-1),
                a.max(axis=-1),
                np.exp(wide).mean(axis=-1),
            ]
            for found, value in zip(f(a), expected, strict=True):
                assert found.dtype == dtype
                np.testing.assert_allclose(found, value, rtol=0, atol=8 * TOLERANCE[dtype])


def test_there_is_a_kernel_for_short_rows():
    x = rg.matrix("x")
    f = rg.function([x], rg.sum(rg.exp(x * 1.5) - 0.25, axis=-1))
    (name,) = f.report().kernels
    f(np.ones((100, 64)))
    f(np.ones((40, 8)))
    assert f"{name}{kernels.SHORT}" not in kernels.stats()
    f(np.ones((100, 8)))
    assert f"{name}{kernels.SHORT}" in kernels.stats()


def test_operands_along_rows_and_columns():
    x, scale = rg.matrix("x"), rg.tensor("scale", ("n",))
    x = rg.tensor("x", ("m", "n"))
    weight, number = rg.tensor("weight", ("m", 1)), rg.tensor("number", ())
    normed = layer_norm(x, scale, number)
    f = rg.function(
        [x, scale, weight, number],
        [normed, rg.sum(rg.exp(x * weight) * scale, axis=1), rg.min(x + scale, axis=1)],
    )
    draw = np.random.default_rng(1)
    for m, n in ((130, 3), (64, 10), (100, 40)):
        a, b = draw.normal(size=(m, n)), draw.normal(size=n)
        c, d = draw.normal(size=(m, 1)), np.array(0.5)
        found = f(a, b, c, d)
        np.testing.assert_allclose(found[0], layer_norm(a, b, d), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(found[1], (np.exp(a * c) * b).sum(axis=1), rtol=1e-11)
        np.testing.assert_array_equal(found[2], (a + b).min(axis=1))


def test_batches_of_rows_and_views():
    x = rg.tensor("x", ("k", "m", "n"))
    f = rg.function([x], [rg.softmax(x, axis=-1), rg.sum(rg.exp(x[:, ::-1, 1:]), axis=-1)])
    a = np.random.default_rng(2).normal(size=(3, 70, 6))
    found = f(a)
    np.testing.assert_allclose(found[0], special.softmax(a, axis=-1), rtol=1e-13)
    np.testing.assert_allclose(found[1], np.exp(a[:, ::-1, 1:]).sum(axis=-1), rtol=1e-13)


def test_rows_of_integers_and_of_truth():
    x = rg.tensor("x", ("m", "n"), dtype="int32")
    f = rg.function(
        [x], [rg.sum(x, axis=1), rg.max(x, axis=1), rg.any(x > 3, axis=1), rg.prod(x, axis=1)]
    )
    a = np.random.default_rng(3).integers(-9, 9, size=(150, 5)).astype("int32")
    for found, expected in zip(f(a), (a.sum(1), a.max(1), (a > 3).any(1), a.prod(1)), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_special_values_stay_in_their_rows():
    a = np.random.default_rng(4).normal(size=(100, 6))
    a[3, 2], a[10, 0], a[64, 5], a[65], a[99, 1] = np.nan, np.inf, -np.inf, -np.inf, np.nan
    x = rg.matrix("x")
    f = rg.function([x], [rg.logsumexp(x, axis=1), rg.max(x, axis=1), rg.sum(x, axis=1)])
    found = f(a)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found[0], special.logsumexp(a, axis=1), rtol=1e-13)
        np.testing.assert_array_equal(found[1], a.max(axis=1))
        np.testing.assert_allclose(found[2], a.sum(axis=1), rtol=1e-12)


def test_a_row_does_not_depend_on_the_others_or_on_threads():
    a = np.random.default_rng(5).normal(size=(40_001, 7))
    x = rg.matrix("x")
    f = rg.function([x], rg.softmax(x, axis=1))
    whole = f(a)
    with rg.config(threads=1):
        alone = f(a)
    np.testing.assert_array_equal(whole, alone)
    np.testing.assert_array_equal(whole[100:177], f(a[100:177]))


def test_results_in_place_of_the_operand():
    a = np.random.default_rng(6).normal(size=(130, 9))
    expected = special.softmax(a, axis=1)
    x = rg.matrix("x")
    rg.function([x], rg.softmax(x, axis=1))(a, out=a)
    np.testing.assert_allclose(a, expected, rtol=1e-13)
