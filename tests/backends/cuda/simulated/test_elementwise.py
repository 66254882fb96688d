"""Every elementwise op, simulated on the device, equals NumPy's, within the bounds of its row."""

from functools import partial

import numpy as np
import pytest

import relgraph.numpy.operators  # noqa: F401  operators of nodes look their functions up
from relgraph.api.cuda import to_host
from relgraph.api.function import function as rewritten_function
from relgraph.backends.cuda.templates import supported
from relgraph.ir.node import make_input
from relgraph.ir.types import DTYPES, TensorType
from relgraph.ops.elementwise import ROWS, Cast, Elementwise
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

function = partial(rewritten_function, mode=None, target="cuda")


def values(dtype, seed):
    """Return special values and a few random ones, each in a place of its own."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    if dtype.kind in "biu":
        return integers(dtype, 60 if dtype.kind == "b" else 20, 40, rng)[:60]
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


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_op_equals_numpy(dtype):
    inputs, outputs = graphs(dtype)
    outputs = {name: node for name, node in outputs.items() if supported(node)}
    f = function(inputs, outputs)
    x, y = pairs(dtype)
    c = np.random.default_rng(5).integers(0, 2, x.size).astype(bool)
    results = f(x, y, c)
    assert len(results) > (20 if dtype == "bool" else 25)
    assert "on the CPU" not in f.source
    for name, result in results.items():
        args = operands_of(name, dtype, x, y, c)
        expected = meaning(name, args)
        result = result.to_host()
        if name in ("erfc", "sigmoid"):  # where SciPy's own error is small
            keep = ~((x > 0) if name == "erfc" else (x < -80))
            result, expected = result[keep], expected[keep]
        assert_within(name, result, expected)


def test_the_ops_of_floats_that_have_no_kernel_are_known():
    x = make_input("x", TensorType("float64", ("n",)))
    called = set()
    for name, row in ROWS.items():
        try:
            node = Elementwise(name)(*[x] * row.arity)
        except TypeError:
            continue
        if not supported(node) and name != "where":
            called.add(name)
    assert called == {*CALLED, "digamma"}  # which has a kernel for the CPU only


@pytest.mark.parametrize("source", DTYPES)
def test_cast_between_all_dtypes(source):
    x = make_input("x", TensorType(source, (None,)))
    f = function([x], [Cast(target)(x) for target in DTYPES])
    a = values(source, 4)
    for target, result in zip(DTYPES, f(a), strict=True):
        assert_cast(a, target, result.to_host())


@pytest.mark.parametrize(("left", "right"), BROADCAST)
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
    inputs, outputs, cases = mixed(names, dtypes)
    results = function(inputs, outputs)(*arrays.values())
    for (name, operands), result in zip(cases, results, strict=True):
        assert_within(name, result.to_host(), meaning(name, [arrays[d] for d in operands]))


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
    assert "C_FLOAT64[39]" in f.source
    np.testing.assert_array_equal(f(a).to_host(), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_written_as_numbers_are_those_of_numpy(dtype):
    x = make_input("x", TensorType(dtype, ("n",)))
    values = np.array([0.0, -0.0, 2.0, 3.0, -2.0, np.inf, -np.inf, np.nan], dtype)
    for exponent in (0.5, 1, 2):
        with np.errstate(all="ignore"):
            expected = values**exponent
            f = function([x], x**exponent)
            result = to_host(f(values))
        assert "pow" not in f.source
        np.testing.assert_array_equal(result, expected, strict=True)
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result)[number], np.signbit(expected)[number])
