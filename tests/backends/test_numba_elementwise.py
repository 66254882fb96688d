"""Every elementwise op compiled by numba equals NumPy's, within the bounds of its row."""

from functools import partial

import mpmath
import numpy as np
import pytest
import scipy.special

import relgraph.numpy.operators  # noqa: F401  operators of nodes look their functions up
from relgraph.api.function import function as rewritten_function
from relgraph.ir.node import make_input
from relgraph.ir.types import DTYPES, TensorType
from relgraph.ops.elementwise import Cast, Elementwise
from tests.backends.cases import (
    BROADCAST,
    CALLED,
    assert_cast,
    assert_within,
    graphs,
    integers,
    meaning,
    mixed,
    operands_of,
)

# The graph as it is written: what is rewritten is tested with the relations.
function = partial(rewritten_function, mode=None)


def values(dtype, count, seed):
    """Return values of all magnitudes, with the special ones first."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    if dtype.kind in "biu":
        return integers(dtype, count, count, rng)
    info = np.finfo(dtype)
    first = [
        0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2, -2, 2.5, 3, np.inf, -np.inf, np.nan, info.max,
        -info.max, info.tiny, -info.tiny, info.smallest_subnormal, -info.smallest_subnormal,
        1e-8, -1e-8, 88, -88, -104, 89, 700, -700, 710, -746,
    ]  # fmt: skip
    reach = 300 if dtype == np.float64 else 40
    parts = [
        np.array(first),
        rng.normal(size=count),
        rng.uniform(-1, 1, count),
        rng.normal(size=count) * reach,
        np.exp(rng.uniform(-reach, reach, count)) * rng.choice([-1, 1], count),
    ]
    return np.concatenate(parts).astype(dtype)


def pairs(dtype, count=2000):
    """Return two arrays in which random values meet, and all special ones meet each other."""
    x = values(dtype, count, seed=1)
    first = x[:30]
    y = np.random.default_rng(2).permutation(values(dtype, count, seed=3))
    return (
        np.concatenate([x, np.repeat(first, len(first))]),
        np.concatenate([y, np.tile(first, len(first))]),
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_op_equals_numpy(dtype):
    inputs, outputs = graphs(dtype)
    f = function(inputs, outputs)
    x, y = pairs(dtype)
    c = np.random.default_rng(5).integers(0, 2, x.size).astype(bool)
    results = f(x, y, c)
    called = {line.split("(")[0] for line in f.source.split() if line.startswith("call_")}
    known = ("reciprocal", *CALLED)  # the reciprocal of integers is NumPy's own
    assert all(any(name in line for name in known) for line in called), called
    assert len(results) > 25
    for name, result in results.items():
        args = operands_of(name, dtype, x, y, c)
        expected = meaning(name, args)
        if name == "reciprocal" and expected.dtype.kind in "iu":
            keep = x != 0  # undefined in NumPy
            result, expected = result[keep], expected[keep]
        if name in ("erfc", "sigmoid", "gammaln", "digamma"):
            keep = accurate(name, x, expected)
            result, expected, args = result[keep], expected[keep], (x[keep],)
        assert_within(name, result, expected, args)


def accurate(name, x, expected):
    """Tell where SciPy's own error is small; the rest is compared with mpmath."""
    if name == "gammaln":
        return ~(np.abs(x.astype(np.float64)) < 1e-300)
    if name == "digamma":
        return ~(x < 0)
    if name == "erfc":
        return ~((x > 0) & (x < 30))
    return ~(np.abs(expected) <= np.finfo(expected.dtype).tiny)


def test_where_scipy_errs_the_value_is_that_of_mpmath():
    x = make_input("x", TensorType("float64", (None,)))
    names = ("erfc", "sigmoid", "gammaln")
    f = function([x], [Elementwise(name)(x) for name in names])
    points = np.array([*np.linspace(0.01, 26, 300), -709.5, -720.0, 5e-324, -5e-324, 1e-305])
    exact = {
        "erfc": mpmath.erfc,
        "sigmoid": lambda t: mpmath.exp(t) / (1 + mpmath.exp(t)),
        "gammaln": lambda t: mpmath.log(abs(1 / t)) if abs(t) < 1e-300 else mpmath.loggamma(t),
    }
    for name, result in zip(names, f(points), strict=True):
        for t, value in zip(points, result, strict=True):
            if name == "gammaln" and t < -1:
                continue
            expected = float(exact[name](mpmath.mpf(float(t))))
            assert abs(value - expected) <= 4 * np.spacing(abs(expected)), (name, t)


def test_digamma_equals_that_of_mpmath_beside_its_poles_and_its_zero_too():
    x = make_input("x", TensorType("float64", (None,)))
    whole = np.arange(-20.0, 1)
    points = [1.4616321449683622, 1e-300, 1e300, *whole[:-1] + 0.5, *whole + 1e-9, *whole - 1e-9]
    points = np.array([*points, *np.geomspace(1e-5, 1e8, 200)])
    for t, value in zip(points, function([x], [Elementwise("digamma")(x)])(points)[0], strict=True):
        expected = float(mpmath.digamma(mpmath.mpf(float(t))))
        assert abs(value - expected) <= 8 * np.spacing(max(abs(expected), 1)), t
    edges = np.array([0.0, -0.0, -3.0, np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(
        function([x], [Elementwise("digamma")(x)])(edges)[0], scipy.special.digamma(edges)
    )


@pytest.mark.parametrize("source", DTYPES)
def test_cast_between_all_dtypes(source):
    x = make_input("x", TensorType(source, (None,)))
    f = function([x], [Cast(target)(x) for target in DTYPES])
    a = values(source, 500, seed=4)
    for target, result in zip(DTYPES, f(a), strict=True):
        assert_cast(a, target, result)


def test_mixed_dtypes_promote_like_numpy():
    names = ("add", "multiply", "maximum", "less", "equal", "true_divide", "floor_divide", "where")
    dtypes = ("bool", "int8", "int64", "uint64", "float32", "float64")
    arrays = {d: values(d, 40, seed=6)[:30] for d in dtypes}
    inputs, outputs, cases = mixed(names, dtypes)
    results = function(inputs, outputs)(*arrays.values())
    for (name, operands), result in zip(cases, results, strict=True):
        args = [arrays[d] for d in operands]
        assert_within(name, result, meaning(name, args), args)


@pytest.mark.parametrize(("left", "right"), BROADCAST)
def test_broadcasting(left, right):
    rng = np.random.default_rng(0)
    a = rng.normal(size=left)
    b = rng.normal(size=right).astype(np.float32)
    x = make_input("x", TensorType("float64", left))
    y = make_input("y", TensorType("float32", [1 if size == 1 else None for size in right]))
    f = function([x, y], [x * y + 2.0, Elementwise("exp")(y) - x])
    first, second = f(a, b)
    np.testing.assert_array_equal(first, a * b + 2.0, strict=isinstance(first, np.ndarray))
    np.testing.assert_allclose(second, np.exp(b) - a, rtol=1e-6, atol=1e-6)


def test_no_fast_math():
    rng = np.random.default_rng(1)
    a = rng.normal(size=1000)
    x = make_input("x", TensorType("float64", ("n",)))
    y = make_input("y", TensorType("float64", ("n",)))
    f = function([x, y], [x * x - y * y, (x - y) + x * 0.0, (x + y) - y])
    difference, zero, order = f(a, a.copy())
    assert (difference == 0).all()
    assert (zero == 0).all()
    np.testing.assert_array_equal(order, (a + a) - a)
    _, zero, _ = f(np.array([np.nan, np.inf]), np.array([1.0, 1.0]))
    assert np.isnan(zero).all()


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("mode", [None, "fast_run", "o4"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_power_of_one_half_is_the_square_root_of_numpy(dtype, mode, target):
    info = np.finfo(dtype)
    numbers = [0.0, -0.0, 2.0, -2.0, np.inf, -np.inf, np.nan, info.max, info.smallest_subnormal]
    values = np.array(numbers * 3, dtype)
    x = make_input("x", TensorType(dtype, ("n",)))
    for build in (lambda x: x**0.5, lambda x: 3 * x**0.5, lambda x: 1 / x**0.5):
        with np.errstate(all="ignore"):
            expected = build(values)
        options = {} if mode is None else {"nonfinite": "keep"}
        f = rewritten_function([x], build(x), mode=mode, target=target, **options)
        with np.errstate(all="ignore"):
            result = f(values)
        np.testing.assert_array_equal(result, expected, strict=True)
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result)[number], np.signbit(expected)[number])
