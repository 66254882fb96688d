"""A single long row, which is reduced in blocks that threads share."""

import numpy as np
import pytest
from scipy import special

import relgraph as rg

LONG = 100_000


def outputs(x):
    return [
        rg.softmax(x, axis=-1),
        rg.logsumexp(x, axis=-1),
        rg.sum(rg.exp(x), axis=-1, keepdims=True),
        rg.max(x, axis=-1),
    ]


def expected(a):
    return [
        special.softmax(a, axis=-1),
        special.logsumexp(a, axis=-1),
        np.exp(a).sum(axis=-1, keepdims=True),
        a.max(axis=-1),
    ]


@pytest.mark.parametrize("shape", [(1, LONG), (2, LONG), (1, 70), (LONG // 50, 50)])
def test_rows_of_a_matrix(shape):
    x = rg.tensor("x", ("m", "n"))
    f = rg.function([x], outputs(x))
    a = np.random.default_rng(0).normal(size=shape)
    for found, value in zip(f(a), expected(a), strict=True):
        assert found.shape == value.shape
        np.testing.assert_allclose(found, value, rtol=1e-12)


def test_rows_of_batches_and_what_else_spans_them():
    x, bias = rg.tensor("x", ("k", "m", "n")), rg.tensor("bias", ("m",))
    f = rg.function([x, bias], rg.logsumexp(x, axis=-1) + bias)
    for shape in ((1, 1, LONG), (1, 2, LONG), (2, 1, LONG)):
        a, b = np.random.default_rng(1).normal(size=shape), np.arange(1.0, shape[1] + 1)
        np.testing.assert_allclose(f(a, b), special.logsumexp(a, axis=-1) + b, rtol=1e-12)


def test_the_program_of_one_row_is_compiled_when_there_is_one():
    x = rg.tensor("x", ("m", "n"))
    f = rg.function([x], rg.logsumexp(x, axis=-1))
    f(np.zeros((3, LONG)))
    f(np.zeros((1, 10)))
    assert f.report().variants == 0
    a = np.random.default_rng(2).normal(size=(1, LONG))
    for _ in range(2):
        np.testing.assert_allclose(f(a), special.logsumexp(a, axis=-1), rtol=1e-13)
    assert f.report().variants == 1


def test_special_values():
    x = rg.tensor("x", ("m", "n"))
    f = rg.function([x], rg.logsumexp(x, axis=-1))
    a = np.zeros((1, LONG))
    assert f(a + np.inf)[0] == np.inf
    assert f(a - np.inf)[0] == -np.inf
    a[0, 5] = np.nan
    assert np.isnan(f(a)[0])
