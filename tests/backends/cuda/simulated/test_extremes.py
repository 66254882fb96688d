"""The places of extremes, simulated on the device, equal NumPy's for NaN and equal elements too."""

from functools import partial

import numpy as np
import pytest

from relgraph.api.function import function as rewritten_function
from relgraph.errors import ShapeError
from relgraph.ir.node import make_input
from relgraph.ir.types import TensorType
from relgraph.numpy import reductions

function = partial(rewritten_function, mode=None, target="cuda")

ARGS = {reductions.argmax: np.argmax, reductions.argmin: np.argmin}


@pytest.mark.parametrize("dtype", ["float64", "int8", "uint64", "bool"])
def test_places_of_extremes(dtype):
    x = make_input("x", TensorType(dtype, ("n", "m", "k")))
    cases = [(op, axis, axis == 1) for op in ARGS for axis in (None, 0, 1, 2)]
    f = function([x], [op(x, axis=axis, keepdims=keep) for op, axis, keep in cases])
    assert "on the CPU" not in f.source
    rng = np.random.default_rng(5)
    for shape in [(2, 1, 4), (1, 1, 40), (9, 2, 1)]:  # by rows, in parts, by columns
        a = (rng.normal(size=shape) * 3).round().astype(dtype)  # with many that are equal
        if shape[0] != 2 and dtype == "float64":
            a.reshape(-1)[3::7] = np.nan
        for (op, axis, keep), result in zip(cases, f(a), strict=True):
            expected = np.asarray(ARGS[op](a, axis=axis, keepdims=keep))
            np.testing.assert_array_equal(result.to_host(), expected, strict=True)


def test_no_place_of_an_extreme_of_nothing():
    x = make_input("x", TensorType("float64", (None, None)))
    f = function([x], reductions.argmax(x, axis=0))
    np.testing.assert_array_equal(f(np.ones((2, 0))).to_host(), np.ones(0, np.int64))
    with pytest.raises(ShapeError, match="no value over no elements"):
        f(np.ones((0, 2)))
