"""Every elementwise op compiled by numba equals NumPy's, within the bounds of docs/accuracy.md."""

import itertools
from functools import partial
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import special

import relgraph.ops.operators  # noqa: F401  operators of nodes look their functions up
from relgraph.api.function import function as rewritten_function
from relgraph.ir.node import make_input
from relgraph.ir.types import DTYPES, TensorType
from relgraph.ops.elementwise import TABLE, Cast, Elementwise

# The graph as it is written: what is rewritten is tested with the relations.
function = partial(rewritten_function, mode=None)

SPECIAL = {
    "erf": special.erf,
    "erfc": special.erfc,
    "gammaln": special.gammaln,
    "sigmoid": special.expit,
    "softplus": lambda x: np.logaddexp(x.dtype.type(0), x),
    "log1mexp": lambda x: np.where(x > -np.log(2), np.log(-np.expm1(x)), np.log1p(-np.exp(x))),
    "clip": np.clip,
    "where": np.where,
}
# These have no kernel: the backend calls the op.
CALLED = (
    "erfcx", "logerfc", "gamma", "digamma", "trigamma", "polygamma", "kv", "kve", "iv", "ive",
)  # fmt: skip
SPECIAL |= {name: getattr(special, name, None) for name in CALLED} | {
    name: TABLE[name].compute for name in ("trigamma", "polygamma", "logerfc")
}  # what these compute is tested with the ops


def bounds():
    """Return the table of docs/accuracy.md: for each op its bounds in ULP."""
    page = Path(__file__).parents[2] / "docs" / "accuracy.md"
    found = {}
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 6 and cells[2].isdigit():
            found[cells[1]] = {"float32": int(cells[2]), "float64": int(cells[3])}
    return found


BOUNDS = bounds()


def values(dtype, count, seed):
    """Return values of all magnitudes, with the special ones first."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        first = [0, 1, 2, 3, 7, info.min, info.max, info.max - 1, info.min + 1]
        first += [-1, -2, -7] if dtype.kind == "i" else []
        wide = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
        near = rng.integers(max(info.min, -9), 20, count).astype(dtype)
        return np.concatenate([np.array(first, dtype), wide, near])
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


def meaning(name, args):
    """Compute an op by NumPy or SciPy, on operands of the dtypes it computes in."""
    loop = TABLE[name].loop(name, tuple(x.dtype for x in args))
    compute = SPECIAL.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        return compute(*[x.astype(d) for x, d in zip(args, loop, strict=False)])


def assert_within(name, result, expected, operands=()):
    """Assert equality, or the bound of docs/accuracy.md."""
    assert result.dtype == expected.dtype, name
    assert result.shape == expected.shape, name
    limit = BOUNDS.get(name, {}).get(result.dtype.name, 0)
    same = (result == expected) | ((result != result) & (expected != expected))
    if name not in ("maximum", "minimum", "clip") and result.dtype.kind == "f":
        same &= (result != 0) | (np.signbit(result) == np.signbit(expected))
    if same.all():
        return
    assert limit, (name, [x[~same][:3] for x in operands], result[~same][:3], expected[~same][:3])
    scale = np.abs(expected[~same])
    for x in operands if name == "logaddexp" else ():
        scale = np.maximum(scale, np.abs(x[~same]))
    if name == "gammaln":
        scale = np.maximum(scale, 1)
    wide = np.longdouble
    with np.errstate(all="ignore"):
        error = np.abs(result[~same].astype(wide) - expected[~same].astype(wide))
    error = error / np.spacing(scale).astype(wide)
    assert np.nanmax(np.where(np.isnan(error), np.inf, error)) <= limit, name


def graphs(dtype):
    """Return the inputs and one output for each op that takes the dtype."""
    x = make_input("x", TensorType(dtype, ("n",)))
    y = make_input("y", TensorType(dtype, ("n",)))
    c = make_input("c", TensorType("bool", ("n",)))
    outputs = {}
    for name, row in TABLE.items():
        operands = (x, y, x)[: row.arity] if name != "where" else (c, x, y)
        if name == "power" and np.dtype(dtype).kind == "i":
            operands = (x, Elementwise("remainder")(Cast("uint8")(y), np.uint8(9)))
        try:
            outputs[name] = Elementwise(name)(*operands)
        except TypeError:
            continue  # NumPy has no such op for the dtype: tests/ops checks that
    return [x, y, c], outputs


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
        args = (x, y, x)[: TABLE[name].arity] if name != "where" else (c, x, y)
        if name == "power" and np.dtype(dtype).kind == "i":
            args = (x, y.astype("uint8") % np.uint8(9))
        expected = meaning(name, args)
        if name == "reciprocal" and expected.dtype.kind in "iu":
            keep = x != 0  # undefined in NumPy
            result, expected = result[keep], expected[keep]
        if name in ("erfc", "sigmoid", "gammaln"):
            keep = accurate(name, x, expected)
            result, expected, args = result[keep], expected[keep], (x[keep],)
        assert_within(name, result, expected, args)


def accurate(name, x, expected):
    """Tell where SciPy's own error is small; the rest is compared with mpmath."""
    if name == "gammaln":
        return ~(np.abs(x.astype(np.float64)) < 1e-300)
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


@pytest.mark.parametrize("source", DTYPES)
def test_cast_between_all_dtypes(source):
    x = make_input("x", TensorType(source, (None,)))
    f = function([x], [Cast(target)(x) for target in DTYPES])
    a = values(source, 500, seed=4)
    for target, result in zip(DTYPES, f(a), strict=True):
        with np.errstate(all="ignore"):
            expected = a.astype(target)
        if a.dtype.kind == "f" and np.dtype(target).kind in "iu":
            info = np.iinfo(target)
            with np.errstate(invalid="ignore"):
                keep = (np.trunc(a) >= float(info.min)) & (np.trunc(a) < float(info.max))
            result, expected = result[keep], expected[keep]
        assert result.dtype == target
        np.testing.assert_array_equal(result, expected, strict=True)


def test_mixed_dtypes_promote_like_numpy():
    names = ("add", "multiply", "maximum", "less", "equal", "true_divide", "floor_divide", "where")
    dtypes = ("bool", "int8", "int64", "uint64", "float32", "float64")
    arrays = {d: values(d, 40, seed=6)[:30] for d in dtypes}
    inputs = {d: make_input(f"x_{d}", TensorType(d, ("n",))) for d in dtypes}
    cases = list(itertools.product(names, dtypes, dtypes))
    outputs = [
        Elementwise(name)(*([inputs["bool"]] if name == "where" else []), inputs[a], inputs[b])
        for name, a, b in cases
    ]
    results = iter(function(list(inputs.values()), outputs)(*arrays.values()))
    for name, a, b in cases:
        args = [arrays[a], arrays[b]]
        if name == "where":
            args = [arrays["bool"], *args]
        assert_within(name, next(results), meaning(name, args), args)


SHAPES = [
    ((), ()),
    ((0,), (0,)),
    ((1,), (1,)),
    ((5,), (1,)),
    ((5,), ()),
    ((3, 4), (4,)),
    ((3, 4), (3, 1)),
    ((3, 1), (1, 4)),
    ((3, 0), (1, 0)),
    ((2, 3, 4), (3, 1)),
    ((2, 3, 4), (2, 1, 4)),
    ((2, 1, 4), (3, 1)),
    ((1, 1), (4, 5)),
    ((2, 3, 1, 5), (1, 4, 1)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
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
