"""What the tests of traced functions share: values, and how results are compared."""

import numpy as np

import relgraph as rg

RNG = np.random.default_rng(0)
DTYPES = ("bool", "int8", "int64", "uint8", "uint64", "float32", "float64")


def traced(function):
    """Trace for the reference backend, as the graph is written."""
    return rg.jit(function, mode=None, target="numpy")


def programs(function):
    """Return how many programs a traced function holds."""
    return len(function._programs)


def assert_same(got, expected, rtol=0.0):
    """Compare values, dtypes, shapes and containers."""
    assert type(got) is type(expected) or isinstance(expected, np.ndarray | np.generic)
    if isinstance(expected, dict):
        assert list(got) == list(expected)
        for key in expected:
            assert_same(got[key], expected[key], rtol)
    elif isinstance(expected, list | tuple):
        assert len(got) == len(expected)
        for x, y in zip(got, expected, strict=True):
            assert_same(x, y, rtol)
    elif isinstance(expected, np.ndarray | np.generic):
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=0, strict=True)
    else:
        assert repr(got) == repr(expected)


def values(dtype, n=5):
    if dtype == "bool":
        return RNG.random(n) > 0.5
    if np.dtype(dtype).kind == "f":
        return RNG.normal(size=n).astype(dtype)
    return RNG.integers(1, 7, n).astype(dtype)
