"""Elementwise functions composed of ops, and comparisons of whole arrays, against NumPy."""

import numpy as np
import pytest

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.errors import ArgumentError, DTypeError, NumberRangeError, PatternError
from tests.ops.evaluation import Term, check, typed

SPECIAL = np.array([1.5, -2.25, 0.0, -0.0, 7.0, -7.5, 1e300, 5e-324, np.inf, -np.inf, np.nan])
WHOLE = np.array([-128, -7, -3, -1, 0, 1, 2, 3, 5, 127])
ARRAYS = [
    SPECIAL,
    np.array([1.5, -2.25, 0, -0.0, 7, np.inf, -np.inf, np.nan], "float32"),
    WHOLE.astype("int16"),
    WHOLE,
    np.abs(WHOLE).astype("uint32"),
    np.zeros((0, 3)),
    np.array(-1.25),
]
EXACT = [
    "deg2rad", "rad2deg", "degrees", "radians", "fabs", "fix", "isposinf", "isneginf", "nan_to_num",
]  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_functions_of_one_array(name):
    for array in ARRAYS:
        with np.errstate(all="ignore"):
            check(getattr(np, name), getattr(np, name)(array), array)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_sinc():
    for array in ARRAYS:
        rtol = 1e-6 if array.dtype == "float32" else 1e-13
        check(np.sinc, np.sinc(array), array, rtol=rtol)


def test_modf():
    for array in ARRAYS:
        for part in (0, 1):
            expected = np.modf(array)[part]
            check(lambda x, part=part: np.modf(x)[part], expected, array)
            if array.dtype.kind == "f":
                signs = np.signbit(expected)
                check(lambda x, part=part: np.signbit(np.modf(x)[part]), signs, array)


def pairs(dtypes):
    arrays = [SPECIAL if "f" in d else WHOLE for d in dtypes]
    with np.errstate(over="ignore"):
        return [g.astype(d) for g, d in zip(np.meshgrid(*arrays), dtypes, strict=True)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["fmod", "heaviside", "float_power", "logaddexp2"])
@pytest.mark.parametrize("dtypes", [
    ("float64", "float64"), ("float32", "float32"), ("float32", "float64"), ("int64", "float64"),
    ("int16", "int16"), ("int64", "int64"), ("uint32", "uint32"), ("int16", "uint16"),
])  # fmt: skip
def test_functions_of_two_arrays(name, dtypes):
    ufunc = getattr(np, name)
    x, y = pairs(dtypes)
    expected = ufunc(x, y)
    rounds = name in ("logaddexp2", "float_power")
    rtol = {"float32": 1e-6, "float64": 1e-14}[expected.dtype.name] if rounds else 0
    check(ufunc, expected, x, y, rtol=rtol)
    check(lambda a: getattr(rnp, name)(a, 2), ufunc(x, 2), x, rtol=rtol)
    if name == "fmod" and expected.dtype.kind == "f":
        check(lambda a, b: np.signbit(np.fmod(a, b)), np.signbit(expected), x, y, rtol=1)


def test_float_power_takes_numbers_as_float64():
    x = np.float32([0.3, 1.4676244258880615, 70.25])
    for power in (0.1, 2.3, 3):
        check(lambda a, b=power: np.float_power(a, b), np.float_power(x, power), x, rtol=1e-15)
        check(lambda a, b=power: np.float_power(b, a), np.float_power(power, x), x, rtol=1e-15)


def test_fmod_at_the_ends_of_integers():
    x, y = (g.astype("int8") for g in np.meshgrid(WHOLE, WHOLE[WHOLE != 0]))
    check(np.fmod, np.fmod(x, y), x, y)


@pytest.mark.parametrize("options", [
    {"nan": 3}, {"posinf": 9, "neginf": -9.5}, {"nan": np.inf, "neginf": 1},
])  # fmt: skip
def test_nan_to_num(options):
    for array in ARRAYS:
        check(lambda x: np.nan_to_num(x, **options), np.nan_to_num(array, **options), array)
    with pytest.raises(ArgumentError, match="copy=False"):
        np.nan_to_num(typed("x", SPECIAL), copy=False)


SELECTIONS = [
    lambda np, a: np.select([a < -1, a > 1], [0, 1], 5),
    lambda np, a: np.select([a < -1, a > 1], [a, a * 2]),
    lambda np, a: np.select([a < -1, a > 1], [2.5, a], a),
    lambda np, a: np.select([a < 1, a > -1], [a, np.astype(a, "float32")], default=-1),
]


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
@pytest.mark.parametrize("selection", SELECTIONS)
def test_select(selection, dtype):
    for array in (np.arange(-3, 4).astype(dtype), np.zeros((0, 2), dtype), np.array(2, dtype)):
        check(lambda a: selection(rnp, a), selection(np, array), array)


@pytest.mark.parametrize("dtype", ["uint8", "uint64", "int8", "bool", "float32"])
@pytest.mark.parametrize("default", [-1, 300, 2**63, -(2**63), 1.5, np.int16(300)])
def test_the_default_of_select_wraps_around(dtype, default):
    a, c = np.array([1, 0, 1]).astype(dtype), np.array([True, False, False])
    expected = np.select([c], [a], default)
    check(lambda c, a: np.select([c], [a], default), expected, c, a)


def test_select_names_what_is_wrong():
    x = np.arange(3)
    a = typed("a", x)
    with pytest.raises(ArgumentError, match="as many choices as conditions"):
        rnp.select([a < 0], [1, 2])
    with pytest.raises(DTypeError, match="is bool, not int64"):
        np.select([a], [a])
    b = typed("b", x.astype("uint8"))
    for choices, default in (([300, 1], b), ([b, 300], 0), ([b, 300], -1)):
        with pytest.raises(NumberRangeError, match="300 does not fit uint8"):
            np.select([a > 0, a < 0], choices, default)


CLOSE = np.array([1.0, 1.00001, 1.1, np.inf, -np.inf, np.nan, 0.0, 1e-9])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("options", [{}, {"equal_nan": True}, {"rtol": 0.2, "atol": 0}])
def test_isclose(options):
    x, y = np.meshgrid(CLOSE, CLOSE)
    for a, b in [(x, y), (x.astype("float32"), y), (x.astype("float32"), y.astype("float32"))]:
        check(lambda p, q: np.isclose(p, q, **options), np.isclose(a, b, **options), a, b)
        check(lambda p, q: np.allclose(p, q, **options), np.allclose(a, b, **options), a, b)
        check(lambda p: np.allclose(p, p, **options), np.allclose(a, a, **options), a)
    for a in (WHOLE, WHOLE.astype("int8"), np.abs(WHOLE).astype("uint8"), WHOLE > 0, x[:0]):
        check(lambda p: np.isclose(p, 1, **options), np.isclose(a, 1, **options), a)
        check(lambda p: rnp.isclose(3, p, **options), np.isclose(3, a, **options), a)
        check(lambda p: np.allclose(p, p, **options), np.allclose(a, a, **options), a)


def test_array_equal():
    x = CLOSE[:6].reshape(2, 3)
    for other in (x, x + 0.5, x[:1], x[:, :2], x[0], x[:0], x.astype("float32"), x.T):
        for equal_nan in (False, True):
            expected = np.array_equal(x, other, equal_nan=equal_nan)
            for typings in (("static",), ("named",), ("unknown",)):
                check(
                    lambda a, b, e=equal_nan: np.array_equal(a, b, equal_nan=e),
                    expected, x, other, typings=typings,
                )  # fmt: skip
    check(np.array_equal, True, x[:0], x[:0])
    check(np.array_equal, True, WHOLE, WHOLE.astype("float64"))


def test_they_trace_and_compile():
    def step(x, y):
        return np.heaviside(np.deg2rad(x), 0.5) + np.fmod(x, y), np.allclose(x, y)

    x, y = np.array([-3.5, 0.0, 8.25]), np.array([2.0, 3.0, -4.0])
    for got, expected in zip(rg.jit(step)(x, y), step(x, y), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-15)


def test_a_pattern_has_no_type():
    with pytest.raises(PatternError, match="deg2rad needs the type"):
        rnp.deg2rad(Term())
    with pytest.raises(PatternError, match="sinc needs the type"):
        rnp.sinc(Term())
