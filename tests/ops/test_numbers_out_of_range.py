"""Python integers that do not fit the dtype beside them, against what NumPy makes of them."""

import numpy as np
import pytest

import relgraph as rg
from relgraph.errors import NumberRangeError

# With float16 NumPy rounds, and overflows, where graphs compute in float32.
FUNCTIONS = {
    "divided": np.true_divide,
    "divisor": lambda x, n: n / x,
    "hypot": np.hypot,
    "arctan2": np.arctan2,
    "logaddexp": lambda x, n: np.logaddexp(n, x),
    "copysign": np.copysign,
    "heaviside": np.heaviside,
    "float_power": np.float_power,
    "isclose": np.isclose,
    "linspace": lambda x, n: np.linspace(x, n, 3),
    "logspace": lambda x, n: np.logspace(x, n, 3, base=1.5),
    "where": lambda x, n: np.where(x > 1, x, n),
    "where_first": lambda x, n: np.where(x > 1, n, x),
    "lower": lambda x, n: np.clip(x, n, None),
    "upper": lambda x, n: x.clip(max=n),
    "both": lambda x, n: np.clip(x, -(2**70), n),
    "add": np.add,
    "maximum": np.maximum,
    "floor_divide": np.floor_divide,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
NUMBERS = (3, -1, 300, -300, 2**40, 2**64, 2**70, -(2**70), 10**400)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_integers_mean_what_they_mean_in_numpy(name, dtype):
    function, array = FUNCTIONS[name], np.array([1, 2, 100], dtype)
    x = rg.vector("x", shape=(3,), dtype=dtype)
    traced = rg.jit(function, target="numpy")
    for number in NUMBERS:
        try:
            with np.errstate(all="ignore"):
                expected = function(array, number)
                if expected.dtype == "float16":
                    expected = function(array.astype("float32"), np.float32(number))
        except OverflowError:
            for call in (lambda n: function(x, n), lambda n: traced(array, n)):
                with pytest.raises(NumberRangeError, match="does not fit"):
                    call(number)
            continue
        graph = function(x, number)
        for found in (rg.evaluate(graph, {x: array}, target="numpy"), traced(array, number)):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_bound_that_binds_nothing_leaves_no_trace():
    x = rg.vector("x", dtype="uint8")
    assert rg.clip(x, -1, 300) is x
    assert str(rg.clip(x, -1, 5)) == "minimum(x, 5)"
    with pytest.raises(NumberRangeError, match="300 does not fit uint8"):
        rg.clip(x, 300, None)
