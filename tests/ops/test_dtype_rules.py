"""Dtypes of NumPy's elementwise functions and operators on graphs: NumPy's, for every dtype."""

import itertools
import operator

import numpy as np
import pytest

import relgraph as rg
from relgraph.ir.types import DTYPES
from relgraph.numpy import protocol

OPERATORS = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
    operator.lt, operator.le, operator.gt, operator.ge, divmod,
    operator.neg, operator.pos, operator.abs, operator.invert,
)  # fmt: skip
UNARY = OPERATORS[-4:]
NUMBERS = (0, 1, 2, 3, 300, -1, 0.5, 2.5, -1.0, np.True_, np.int8(2), np.float32(3))
FUNCTIONS = {
    "round": np.round,
    "round to tenths": lambda x: np.round(x, 1),
    "round to tens": lambda x: np.round(x, -1),
    "x.round()": lambda x: x.round(),
    "x.round(1)": lambda x: x.round(1),
    "x.conj()": lambda x: x.conj(),
    "x.conjugate()": lambda x: x.conjugate(),
    "x.copy()": lambda x: x.copy(),
    "copy": np.copy,
    "real": np.real,
    "clip": lambda x: np.clip(x, 0, 1),
    "clip to floats": lambda x: np.clip(x, 0.0, 1.0),
    "fix": np.fix,
    "nan_to_num": np.nan_to_num,
    "sinc": np.sinc,
    **{
        f"x.{name}()": operator.methodcaller(name)
        for name in (
            "sum", "prod", "mean", "max", "min", "any", "all", "argmax", "argsort", "std", "var",
            "cumsum", "cumprod", "ravel",
        )
    },
}  # fmt: skip


def dtypes(function, *operands):
    """Return the dtypes of the results by name, float16 as float32, or TypeError or ValueError."""
    try:
        with np.errstate(all="ignore"):
            result = function(*operands)
    except OverflowError:  # which ours is, too
        return TypeError
    except (TypeError, ValueError) as error:
        return TypeError if isinstance(error, TypeError) else ValueError
    results = result if isinstance(result, tuple) else (result,)
    return [x.dtype.name.replace("float16", "float32") for x in results]


def graph(dtype, name="x"):
    return rg.tensor(name, shape=(2,), dtype=dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "ufunc",
    [u for u in protocol.UFUNCS if u.signature is None],
    ids=lambda u: u.__name__,
)
def test_functions_have_the_dtypes_of_numpy(ufunc):
    for combination in itertools.product(DTYPES, repeat=ufunc.nin):
        expected = dtypes(ufunc, *[np.ones(2, d) for d in combination])
        result = dtypes(ufunc, *[graph(d, f"x{i}") for i, d in enumerate(combination)])
        assert result == expected, combination


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_operators_have_the_dtypes_of_numpy(op):
    for first in DTYPES:
        array, x = np.ones(2, first), graph(first)
        if op in UNARY:
            assert dtypes(op, x) == dtypes(op, array), first
            continue
        for second in DTYPES:
            expected = dtypes(op, array, np.ones(2, second))
            assert dtypes(op, x, graph(second, "y")) == expected, (first, second)
        for number in NUMBERS:
            expected = dtypes(op, array, number)
            if op is operator.pow and first == "bool" and number == 2:
                expected = ["int8"]  # as from NumPy 2.4 on; before, int64
            assert dtypes(op, x, number) == expected, (first, number)
            assert dtypes(op, number, x) == dtypes(op, number, array), (number, first)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_methods_have_the_dtypes_of_numpy(name):
    for dtype in DTYPES:
        expected = dtypes(FUNCTIONS[name], np.ones(2, dtype))
        assert dtypes(FUNCTIONS[name], graph(dtype)) == expected, dtype
