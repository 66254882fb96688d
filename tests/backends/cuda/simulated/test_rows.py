"""Row patterns are one kernel each, and equal NumPy's and SciPy's for rows of any length."""

import re
from functools import partial

import numpy as np
import pytest
from scipy import special

import relgraph as rg
from relgraph.lowering.kernels import Kernel
from relgraph.numpy.reductions import log_softmax, logsumexp, softmax

function = partial(rg.function, mode=None, target="cuda")

# In registers of few threads and of a block, with and without vectors; longer than registers; too
# few rows for a kernel of rows; one element; empty ones.
SHAPES = [(3, 8), (2, 7), (5, 30), (3, 90), (3, 91), (1, 90), (4, 1), (0, 3), (3, 0)]


ROWS_OF_EXPONENTIALS = [softmax, log_softmax, partial(logsumexp, axis=1)]


def only_row_kernel(f):
    """Return the row kernel that is all that a function launches, but for free views."""
    (found,) = row_kernels(f)
    return found


def row_kernels(f):
    return [step for step in f._program.steps if isinstance(step, Kernel) and step.parts]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_softmax_and_its_kin(dtype):
    x = rg.matrix("x", dtype=dtype)
    cases = {
        softmax: lambda a: special.softmax(a, 1) if a.size else a,
        log_softmax: lambda a: special.log_softmax(a, 1) if a.size else a,
        partial(logsumexp, axis=1): lambda a: np.logaddexp.reduce(a, axis=1),
    }
    for make, meaning in cases.items():
        f = function([x], make(x))
        only_row_kernel(f)
        for shape in SHAPES:
            a = (np.random.default_rng(1).normal(size=shape) * 5).astype(dtype)
            result, expected = f(a).to_host(), meaning(a)
            assert result.dtype == dtype
            eps = np.finfo(dtype).eps
            np.testing.assert_allclose(result, expected, rtol=20 * eps, atol=8 * eps)


def test_softmax_of_infinities():
    a = np.array([[np.inf, 0, 1.0], [-np.inf, 0, 1], [-np.inf, -np.inf, -np.inf], [np.nan, 0, 1]])
    x = rg.matrix("x")
    for make in (softmax, log_softmax, partial(logsumexp, axis=1)):
        expected = rg.evaluate(make(x), {x: a}, target="numpy")  # the op's NumPy meaning
        np.testing.assert_allclose(function([x], make(x))(a).to_host(), expected, rtol=1e-15)


@pytest.mark.parametrize("make", ROWS_OF_EXPONENTIALS)
def test_long_rows_find_the_largest_element_and_the_sum_in_one_pass(make):
    x = rg.matrix("x")
    f = function([x], make(x))
    (launcher,) = [f._program._launchers[f._program.steps.index(only_row_kernel(f))]]
    text = list(launcher.all_texts())[-1].module()[1]
    # A pass for both, one for rows whose largest element is infinite, and one for the results.
    results = make is not ROWS_OF_EXPONENTIALS[2]
    assert len(re.findall(r"while q\d+ < ", text)) == 2 + results
    assert text.count("store_float64_2(O0") == results  # terms are not written, but computed again
    rng = np.random.default_rng(7)
    a = rng.normal(size=(7, 90)) * 50
    a[1, 5:80] = -np.inf
    a[2] = -np.inf
    a[3, 70] = np.inf
    a[4, 88] = np.nan
    a[5] = np.sort(a[5])  # a larger element at each step
    a[6, :60] = -np.inf
    with np.errstate(all="ignore"):
        top = a.max(1, keepdims=True)
        terms = np.exp(a - np.where(np.isfinite(top) | (make is softmax), top, 0))
        sums = terms.sum(1, keepdims=True)
        if make is softmax:
            expected = terms / np.where(top == np.inf, top, sums)
        else:
            shift = np.where(np.isfinite(top), top, 0)
            expected = a - shift - np.log(sums) if results else (np.log(sums) + shift)[:, 0]
    np.testing.assert_allclose(f(a).to_host(), expected, rtol=1e-13)


@pytest.mark.parametrize("shape", SHAPES[:-2])
def test_layer_normalisation(shape):
    x, g, b = rg.matrix("x", shape=("n", "m")), rg.vector("g", shape="m"), rg.vector("b", shape="m")
    centred = x - rg.mean(x, axis=1, keepdims=True)
    variance = rg.mean(centred * centred, axis=1, keepdims=True)
    f = function([x, g, b], centred / rg.sqrt(variance + 1e-5) * g + b)
    assert len(only_row_kernel(f).parts) == 4
    rng = np.random.default_rng(2)
    a, scale, shift = rng.normal(size=shape), rng.normal(size=shape[1]), rng.normal(size=shape[1])
    mean, variance = a.mean(1, keepdims=True), a.var(1, keepdims=True)
    expected = (a - mean) / np.sqrt(variance + 1e-5) * scale + shift
    np.testing.assert_allclose(f(a, scale, shift).to_host(), expected, rtol=1e-12, atol=1e-13)


def test_what_others_read_of_a_row_kernel_is_stored():
    x = rg.matrix("x", shape=("n", "m"))
    top = rg.max(x, axis=1, keepdims=True)
    e = rg.exp(x - top)
    total = rg.sum(e, axis=1, keepdims=True)
    f = function([x], [top, e, total, e / total, rg.sum(e, axis=0)])
    assert set(only_row_kernel(f).results) >= {top, e, total}
    for shape in [(4, 6), (3, 90)]:
        a = np.random.default_rng(3).normal(size=shape)
        exps = np.exp(a - a.max(1, keepdims=True))
        sums = exps.sum(1, keepdims=True)
        expected = [a.max(1, keepdims=True), exps, sums, exps / sums, exps.sum(0)]
        for result, value in zip(f(a), expected, strict=True):
            np.testing.assert_allclose(result.to_host(), value, rtol=1e-14)


def test_rows_of_several_axes():
    x = rg.tensor("x", shape=("a", "b", 3, "c"))
    mean = rg.mean(x, axis=(2, 3), keepdims=True)
    f = function([x], (x - mean) / rg.sqrt(rg.mean((x - mean) ** 2, axis=(2, 3), keepdims=True)))
    only_row_kernel(f)
    a = np.random.default_rng(4).normal(size=(2, 2, 3, 4))
    expected = (a - a.mean((2, 3), keepdims=True)) / a.std((2, 3), keepdims=True)
    np.testing.assert_allclose(f(a).to_host(), expected, rtol=1e-13)


def test_reductions_over_leading_axes_are_no_row_pattern():
    x = rg.matrix("x")
    f = function([x], softmax(x, axis=0))
    assert not row_kernels(f)
    a = np.random.default_rng(5).normal(size=(7, 5))
    np.testing.assert_allclose(f(a).to_host(), special.softmax(a, 0), rtol=1e-14)


def test_a_step_between_that_waits_for_the_row_does_not_join_it():
    x = rg.matrix("x", shape=("n", "n"))
    total = rg.sum(x, axis=1, keepdims=True)
    y = x / total
    z = rg.sum(y @ x, axis=1, keepdims=True)  # a product waits for the quotients
    f = function([x], rg.exp(y) * z + total)
    a = np.random.default_rng(6).uniform(1, 2, size=(4, 4))
    quotient = a / a.sum(1, keepdims=True)
    expected = np.exp(quotient) * (quotient @ a).sum(1, keepdims=True) + a.sum(1, keepdims=True)
    np.testing.assert_allclose(f(a).to_host(), expected, rtol=1e-14)
