"""Which functions of NumPy return memory of their operands, and which return scalars."""

import warnings

import numpy as np
import pytest

import relgraph as rg
from relgraph.api.tracing.tracer import Tracer
from relgraph.numpy.protocol import ARRAY_FUNCTIONS

A = np.arange(16.0).reshape(4, 4) + 20 * np.eye(4)
ARRAYS = [A + A.T, np.arange(4.0), np.array(2.0), A[:1], A[:, :1].copy()]

CALLS = [
    lambda f, x: f(x), lambda f, x: f(x, 1), lambda f, x: f((x, x)), lambda f, x: f(x, x),
    lambda f, x: f([x]), lambda f, x: f(x, (0,)), lambda f, x: f(x, 0, 1),
    lambda f, x: f(x, x.shape), lambda f, x: f(x, [0]), lambda f, x: f("ij->ji", x),
    lambda f, x: f("i->i", x), lambda f, x: f("i->", x), lambda f, x: f(x > 0, x, x),
    lambda f, x: f(x, 0), lambda f, x: f(x, -1), lambda f, x: f(x, 0, None),
    lambda f, x: f([x > 0], [x]), lambda f, x: f(x, "float64"),
]  # fmt: skip

OTHERS = {np.bincount, np.cross, np.dsplit, np.linalg.cross, np.take_along_axis}  # of other shapes
WRITES = {np.dot: 12}  # the third argument is an array for the result


def parts(value):
    """Return the arrays of nested tuples and lists."""
    if isinstance(value, tuple | list):
        return [part for item in value for part in parts(item)]
    return [value]


def results(function, call, x):
    """Return the results of NumPy, and of tracing with the traced argument, or None."""
    traced = []

    def kept(x):
        traced.append((parts(call(function, x)), x))
        return [y for y in traced[-1][0] if type(y) is Tracer]

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = parts(call(function, x))
        rg.jit(kept, target="numpy").graph(x)
    except Exception:  # no call of this function
        return None
    return made, *traced[0]


@pytest.mark.parametrize("function", ARRAY_FUNCTIONS, ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_views_and_scalars_are_those_of_numpy(function):
    calls = 0
    for array in ARRAYS:
        for k, call in enumerate(CALLS):
            x = array.copy()
            outcome = results(function, call, x)
            if outcome is None or WRITES.get(function) == k:
                continue
            calls += 1
            for made, traced in zip(*outcome[:2], strict=True):
                if type(traced) is not Tracer or not isinstance(made, np.ndarray | np.generic):
                    continue
                argument = outcome[2]
                if made.size:
                    shared = isinstance(made, np.ndarray) and np.shares_memory(made, x)
                    assert (traced._storage is argument._storage) == shared, (k, x.shape)
                if made.ndim == 0 and function is not np.broadcast_arrays:
                    assert traced._scalar == isinstance(made, np.generic), (k, x.shape)
    assert calls or function in OTHERS
