"""Cumulative ops, simulated on the device: by columns the same bits as NumPy's, by rows close."""

from functools import partial

import numpy as np
import pytest

from relgraph.api.function import function as rewritten_function
from relgraph.backends.cuda import cumulative as kernels
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.ops import cumulative

function = partial(rewritten_function, mode=None, target="cuda")
NUMPY = {
    "cumsum": np.add,
    "cumprod": np.multiply,
    "cummax": np.maximum,
    "cummin": np.minimum,
}


def compare(f, a, axis):
    for (name, ufunc), result in zip(NUMPY.items(), f(a), strict=True):
        with np.errstate(all="ignore"):
            expected = ufunc.accumulate(a, axis=axis)
        found = result.to_host()
        assert found.dtype == expected.dtype
        if expected.dtype.kind == "f" and axis == a.ndim - 1:
            with np.errstate(all="ignore"):
                spread = np.cumsum(np.abs(a), axis) if name == "cumsum" else np.abs(expected)
            bound = 2 * a.shape[axis] * np.finfo(a.dtype).eps * spread
            ordinary = np.isfinite(expected)
            assert (np.abs(found[ordinary] - expected[ordinary]) <= bound[ordinary]).all()
            np.testing.assert_array_equal(found[~ordinary], expected[~ordinary])
        else:
            np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "uint64", "bool"])
def test_cumulative_ops(dtype):
    x = make_input("x", TensorType(dtype, ("n", "m", "k")))
    rng = np.random.default_rng(3)
    for axis in (0, 1, 2):
        f = function([x], [getattr(cumulative, name)(x, axis) for name in NUMPY])
        assert "on the CPU" not in f.source
        for shape in [(2, 3, 5), (1, 1, 18), (0, 2, 2), (2, 0, 1)]:
            compare(f, (rng.normal(size=shape) * 3).astype(dtype), axis)


def spied(monkeypatch, name):
    """Return the list of the arguments of the calls of a function of the module."""
    calls, real = [], getattr(kernels, name)

    def spy(*args):
        calls.append(args)
        return real(*args)

    monkeypatch.setattr(kernels, name, spy)
    return calls


def test_long_rows_are_cut_into_parts_in_the_simulator(monkeypatch):
    cut = spied(monkeypatch, "total_text")
    x = make_input("x", TensorType("float32", (None, None)))
    f = function([x], [getattr(cumulative, name)(x, 1) for name in NUMPY])
    rng = np.random.default_rng(4)
    for shape, in_parts in [((1, 200), NUMPY), ((2, 140), NUMPY), ((2, 70), ())]:
        a = rng.uniform(0.7, 1.4, shape) * rng.choice([-1.0, 1.0], shape)
        compare(f, a.astype("float32"), 1)
        assert {op.name for op, *_ in cut} == set(in_parts)
        cut.clear()


def test_few_long_columns_are_turned(monkeypatch):
    monkeypatch.setattr(kernels, "LONG", 8)
    turned = spied(monkeypatch, "_turned")
    x = make_input("x", TensorType("int64", (None, None, None)))
    f = function([x], [getattr(cumulative, name)(x, 1) for name in NUMPY])
    for shape in [(1, 20, 2), (2, 9, 3)]:
        compare(f, np.random.default_rng(5).integers(-3, 4, shape), 1)
        assert [op.name for _, op, *_ in turned] == list(NUMPY)
        turned.clear()


def test_special_values():
    pool = np.array([np.nan, np.inf, -np.inf, 0.0, 2.0])
    a = np.random.default_rng(6).choice(pool, (6, 20), p=[0.04, 0.04, 0.04, 0.38, 0.5])
    a[0] = -0.0
    x = make_input("x", TensorType("float64", (None, None)))
    for axis in (0, 1):
        f = function([x], [getattr(cumulative, name)(x, axis) for name in NUMPY])
        compare(f, a, axis)
    sums = function([x], cumulative.cumsum(x, 1))(a).to_host()
    assert np.signbit(sums[0]).all()
