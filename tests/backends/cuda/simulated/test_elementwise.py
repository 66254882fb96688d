"""Every elementwise op, simulated on the device, equals NumPy's within docs/accuracy.md."""

import itertools
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import special

import relgraph.ops.operators  # noqa: F401  operators of nodes look their functions up
from relgraph.api.function import function as rewritten_function
from relgraph.backends.cuda.templates import supported
from relgraph.ir.node import make_input
from relgraph.ir.types import DTYPES, TensorType
from relgraph.ops.elementwise import TABLE, Cast, Elementwise

function = partial(rewritten_function, mode=None, target="cuda")

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


def bounds():
    """Return the table of docs/accuracy.md: for each op its bounds in ULP."""
    page = Path(__file__).parents[4] / "docs" / "accuracy.md"
    found = {}
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 6 and cells[2].isdigit():
            found[cells[1]] = {"float32": int(cells[2]), "float64": int(cells[3])}
    return found


BOUNDS = bounds()


def values(dtype, seed):
    """Return special values and a few random ones, each in a place of its own."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, 60).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        first = [0, 1, 2, 3, 7, info.min, info.max, info.max - 1, info.min + 1]
        first += [-1, -2, -7] if dtype.kind == "i" else []
        wide = rng.integers(info.min, info.max, 20, dtype=dtype, endpoint=True)
        near = rng.integers(max(info.min, -9), 20, 48 - len(first)).astype(dtype)
        return np.concatenate([np.array(first, dtype), wide, near])[:60]
    info = np.finfo(dtype)
    first = [
        0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2, -2, 2.5, np.inf, -np.inf, np.nan, info.max,
        -info.max, info.tiny, 1e-8, -1e-8, 88, -104, 89, 700, -700,
    ]  # fmt: skip
    return np.concatenate([first, rng.normal(size=37) * 3]).astype(dtype)


def pairs(dtype):
    """Return two arrays in which random values meet, and special ones meet each other."""
    x = values(dtype, 1)
    y = np.random.default_rng(2).permutation(values(dtype, 3))
    return np.concatenate([x, x[:13], x[:13]]), np.concatenate([y, x[:13], np.roll(x[:13], 1)])


def meaning(name, args):
    loop = TABLE[name].loop(name, tuple(x.dtype for x in args))
    compute = SPECIAL.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        return compute(*[x.astype(d) for x, d in zip(args, loop, strict=False)])


def assert_within(name, result, expected):
    assert result.dtype == expected.dtype, name
    assert result.shape == expected.shape, name
    same = (result == expected) | ((result != result) & (expected != expected))
    if same.all():
        return
    limit = BOUNDS.get(name, {}).get(result.dtype.name, 0)
    assert limit, (name, result[~same][:3], expected[~same][:3])
    with np.errstate(all="ignore"):
        error = np.abs(result[~same].astype(np.longdouble) - expected[~same])
    scale = np.maximum(np.abs(expected[~same]), 1 if name == "gammaln" else 0)
    assert np.max(error / np.spacing(scale)) <= limit, name


def graphs(dtype):
    """Return the inputs and one output for each op that a kernel can compute for the dtype."""
    x = make_input("x", TensorType(dtype, ("n",)))
    y = make_input("y", TensorType(dtype, ("n",)))
    c = make_input("c", TensorType("bool", ("n",)))
    outputs = {}
    for name, row in TABLE.items():
        operands = (x, y, x)[: row.arity] if name != "where" else (c, x, y)
        if name == "power" and np.dtype(dtype).kind == "i":
            operands = (x, Elementwise("remainder")(Cast("uint8")(y), np.uint8(9)))
        try:
            node = Elementwise(name)(*operands)
        except TypeError:
            continue  # NumPy has no such op for the dtype
        if supported(node):
            outputs[name] = node
    return [x, y, c], outputs


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_op_equals_numpy(dtype):
    inputs, outputs = graphs(dtype)
    f = function(inputs, outputs)
    x, y = pairs(dtype)
    c = np.random.default_rng(5).integers(0, 2, x.size).astype(bool)
    results = f(x, y, c)
    assert len(results) > (20 if dtype == "bool" else 25)
    assert "on the CPU" not in f.source
    for name, result in results.items():
        args = (x, y, x)[: TABLE[name].arity] if name != "where" else (c, x, y)
        if name == "power" and np.dtype(dtype).kind == "i":
            args = (x, y.astype("uint8") % np.uint8(9))
        expected = meaning(name, args)
        result = result.to_host()
        if name in ("erfc", "sigmoid"):  # where SciPy's own error is small
            keep = ~((x > 0) if name == "erfc" else (x < -80))
            result, expected = result[keep], expected[keep]
        assert_within(name, result, expected)


def test_the_ops_of_floats_that_have_no_kernel_are_known():
    x = make_input("x", TensorType("float64", ("n",)))
    called = set()
    for name, row in TABLE.items():
        try:
            node = Elementwise(name)(*[x] * row.arity)
        except TypeError:
            continue
        if not supported(node) and name != "where":
            called.add(name)
    assert called == {
        "erfcx", "logerfc", "gamma", "digamma", "trigamma", "polygamma", "kv", "kve", "iv", "ive",
    }  # fmt: skip


@pytest.mark.parametrize("source", DTYPES)
def test_cast_between_all_dtypes(source):
    x = make_input("x", TensorType(source, (None,)))
    f = function([x], [Cast(target)(x) for target in DTYPES])
    a = values(source, 4)
    for target, result in zip(DTYPES, f(a), strict=True):
        result = result.to_host() if target != source else np.asarray(result.to_host())
        with np.errstate(all="ignore"):
            expected = a.astype(target)
        if a.dtype.kind == "f" and np.dtype(target).kind in "iu":
            info = np.iinfo(target)
            with np.errstate(invalid="ignore"):
                keep = (np.trunc(a) >= float(info.min)) & (np.trunc(a) < float(info.max))
            result, expected = result[keep], expected[keep]
        np.testing.assert_array_equal(result, expected, strict=True)


SHAPES = [
    ((), ()), ((0,), (0,)), ((1,), (1,)), ((5,), (1,)), ((5,), ()), ((3, 4), (4,)),
    ((3, 4), (3, 1)), ((3, 1), (1, 4)), ((3, 0), (1, 0)), ((2, 3, 4), (3, 1)),
    ((2, 3, 4), (2, 1, 4)), ((2, 1, 4), (3, 1)), ((1, 1), (4, 5)), ((2, 3, 1, 5), (1, 4, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_broadcasting(left, right):
    rng = np.random.default_rng(0)
    a = rng.normal(size=left)
    b = rng.normal(size=right).astype(np.float32)
    x = make_input("x", TensorType("float64", left))
    y = make_input("y", TensorType("float32", [1 if size == 1 else None for size in right]))
    f = function([x, y], [x * y + 2.0, Elementwise("exp")(y) - x])
    first, second = (r.to_host() for r in f(a, b))
    np.testing.assert_array_equal(first, a * b + 2.0)
    np.testing.assert_allclose(second, np.exp(b) - a, rtol=1e-6, atol=1e-6)


def test_mixed_dtypes_promote_like_numpy():
    names = ("add", "maximum", "less", "true_divide", "floor_divide", "where")
    dtypes = ("bool", "int8", "uint64", "float32")
    arrays = {d: values(d, 6)[:13] for d in dtypes}
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
        assert_within(name, next(results).to_host(), meaning(name, args))


def test_products_and_sums_round_on_their_own():
    a = np.random.default_rng(1).normal(size=40)
    x = make_input("x", TensorType("float64", ("n",)))
    y = make_input("y", TensorType("float64", ("n",)))
    f = function([x, y], [x * x - y * y, (x - y) + x * 0.0, (x + y) - y])
    difference, zero, order = (r.to_host() for r in f(a, a.copy()))
    assert (difference == 0).all()
    assert (zero == 0).all()
    np.testing.assert_array_equal(order, (a + a) - a)
    zero = f(np.array([np.nan, np.inf]), np.array([1.0, 1.0]))[1].to_host()
    assert np.isnan(zero).all()


def test_many_constants_come_in_an_array():
    x = make_input("x", TensorType("float64", ("n",)))
    y = x
    for k in range(40):
        y = y * (1.0 + k / 64) + k
    a = np.linspace(0, 1, 9)
    expected = a
    for k in range(40):
        expected = expected * (1.0 + k / 64) + k
    f = function([x], y)
    assert "c_float64[39]" in f.source
    np.testing.assert_array_equal(f(a).to_host(), expected)
