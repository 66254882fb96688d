"""The language of kernels: each statement and expression, against Python and NumPy."""

import math

import numpy as np
import pytest

from relgraph.backends.numba import kernels
from relgraph.backends.numba.calls import Layout
from relgraph.backends.numba.translate import translate
from relgraph.errors import CompileError
from relgraph.ir.types import DTYPES
from relgraph.settings import config

FLOATS = np.array([0.0, -0.0, 1.5, -2.5, 7.0, -1e30, math.inf, -math.inf, math.nan])


def run(body, *arrays, out="float64"):
    """Compile a body over vectors x0, x1, ... and a result o, and return o."""
    given = [f"x{i}: {a.dtype.name}[n]" for i, a in enumerate(arrays)]
    names = ", ".join(["start", "stop", "n", *given, f"o: {out}[n]"])
    text = f"def NAME({names}):\n    for i in range(start, stop):\n{body}"
    return call(text, *arrays, out=out)


def call(text, *arrays, out="float64"):
    name = f"rgk_{kernels.digest(text)}"
    kernel = kernels.load(name, text.replace("NAME", name), Layout(1, len(arrays) + 1))
    result = np.zeros(len(arrays[0]), dtype=out)
    kernel(len(result), *arrays, result)
    return result


def statement(expression):
    return f"        o[i] = {expression}\n"


@pytest.mark.parametrize("op", ["+", "-", "*", "/"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arithmetic_of_floats(op, dtype):
    a = FLOATS.astype(dtype)
    x, y = (m.ravel() for m in np.meshgrid(a, a))
    with np.errstate(all="ignore"):
        expected = {"+": x + y, "-": x - y, "*": x * y, "/": x / y}[op]
    np.testing.assert_array_equal(run(statement(f"x0[i] {op} x1[i]"), x, y, out=dtype), expected)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d[0] in "iu"])
def test_arithmetic_of_integers_wraps(dtype):
    info = np.iinfo(dtype)
    a = np.array([info.min, info.max, 0, 1, 3], dtype=dtype)
    x, y = (m.ravel() for m in np.meshgrid(a, a))
    for op in ("+", "-", "*", "&", "|", "^"):
        expected = eval(f"x {op} y")
        result = run(statement(f"x0[i] {op} x1[i]"), x, y, out=dtype)
        np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(run(statement("-x0[i]"), x, out=dtype), -x)
    np.testing.assert_array_equal(run(statement("~x0[i]"), x, out=dtype), ~x)
    np.testing.assert_array_equal(run(statement("x0[i] * 3 + 1"), x, out=dtype), x * 3 + 1)


@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint64", "bool"])
def test_comparisons_know_sign_and_nan(op, dtype):
    a = FLOATS.astype(dtype) if dtype[0] == "f" else np.array([0, 1, 127, 200]).astype(dtype)
    x, y = (m.ravel() for m in np.meshgrid(a, a))
    result = run(statement(f"x0[i] {op} x1[i]"), x, y, out="bool")
    np.testing.assert_array_equal(result, eval(f"x {op} y"))


@pytest.mark.parametrize("source", DTYPES)
def test_conversions(source):
    a = np.array([0, 1, 1, 100, 27]).astype(source)
    outs = [np.zeros(5, dtype=target) for target in DTYPES]
    declared = ", ".join(f"o{k}: {target}[n]" for k, target in enumerate(DTYPES))
    lines = [f"        o{k}[i] = {target}(x[i])\n" for k, target in enumerate(DTYPES)]
    text = (
        f"def NAME(start, stop, n, x: {source}[n], {declared}):\n"
        f"    for i in range(start, stop):\n{''.join(lines)}"
    )
    name = f"rgk_{kernels.digest(text)}"
    layout = Layout(1, 1 + len(DTYPES))
    kernels.load(name, text.replace("NAME", name), layout)(5, a, *outs)
    for out in outs:
        np.testing.assert_array_equal(out, a.astype(out.dtype))


def test_choices_and_literals_take_the_dtype_beside_them():
    x = FLOATS.astype("float32")
    result = run(statement("x0[i] if x0[i] > 0 else 0"), x, out="float32")
    np.testing.assert_array_equal(result, np.where(x > 0, x, np.float32(0)))
    result = run(statement("x0[i] + 0.1"), x, out="float32")
    np.testing.assert_array_equal(result, x + np.float32(0.1))
    result = run(statement("math.inf if x0[i] != x0[i] else -(2 * 3 - 1)"), x)
    np.testing.assert_array_equal(result, np.where(np.isnan(x), math.inf, -5))


@pytest.mark.parametrize(
    ("text", "function"),
    [("math.sqrt", np.sqrt), ("abs", np.abs), ("np.floor", np.floor), ("np.ceil", np.ceil),
     ("np.trunc", np.trunc), ("np.rint", np.rint), ("math.sin", np.sin)],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_of_one_operand(text, function, dtype):
    x = np.array([0.0, -0.0, 0.4, 0.5, 1.5, 2.5, -0.5, -1.7, 1e9, math.inf, math.nan], dtype=dtype)
    with np.errstate(all="ignore"):
        expected = function(x)
    result = run(statement(f"{text}(x0[i])"), x, out=dtype)
    np.testing.assert_allclose(result, expected, rtol=np.finfo(dtype).eps)


def test_variables_carry_values_through_loops():
    text = (
        "def NAME(start, stop, n, x: float64[n], o: float64[n]):\n"
        "    a = 0.0\n"
        "    for b in range(start, stop, 3):\n"
        "        for i in range(b, min(b + 3, stop)):\n"
        "            a = a + x[i]\n"
        "            o[i] = a\n"
    )
    x = np.arange(20.0)
    np.testing.assert_array_equal(call(text, x), np.cumsum(x))


def test_rows_and_strides():
    rows = (
        "def NAME(start, stop, n, m, x: float64[n, m], y: float64[m], o: float64[n, m]):\n"
        "    for i0 in range(start, stop):\n"
        "        for i in range(m):\n"
        "            o[i0, i] = x[i0, i] * y[i]\n"
    )
    strided = rows.replace(", m, x: float64[n, m]", ", m, a, b, x: float64[n:a, m:b]")
    m = np.arange(12.0).reshape(3, 4)
    y = np.arange(4.0) + 1
    for text, given in ((rows, m), (strided, m[:, ::-1]), (strided, np.asfortranarray(m)),
                        (strided, np.broadcast_to(y, (3, 4)))):  # fmt: skip
        name = f"rgk_{kernels.digest(text)}"
        strides = ((0, 0), (0, 1)) if text is strided else ()
        kernel = kernels.load(name, text.replace("NAME", name), Layout(2, 3, strides=strides))
        out = np.zeros((3, 4))
        kernel(3, 4, given, y, out)
        np.testing.assert_array_equal(out, given * y)


def test_one_array_may_be_read_and_written():
    x = np.arange(100.0)
    text = (
        "def NAME(start, stop, n, x: float64[n], o: float64[n]):\n"
        "    for i in range(start, stop):\n"
        "        o[i] = x[i] * x[i] + 1.0\n"
    )
    name = f"rgk_{kernels.digest(text)}"
    kernels.load(name, text.replace("NAME", name), Layout(1, 2))(100, x, x)
    np.testing.assert_array_equal(x, np.arange(100.0) ** 2 + 1)


def test_contraction_is_a_choice():
    text = (
        "def NAME(start, stop, n, x: float64[n], o: float64[n]):\n"
        "    for i in range(start, stop):\n"
        "        o[i] = x[i] * x[i] - x[i] * x[i]\n"
    )
    x = np.random.default_rng(0).normal(size=1000)
    assert not call(text, x).any()
    with config(contract=True):
        assert "contract" in translate(text, kernels.scalar, True).text
        call(text, x)
    assert "contract" not in translate(text, kernels.scalar).text


BODIES = [
    "        o[i] = x0[i] // 2.0\n",
    "        o[i] = y\n",
    "        while True:\n            o = 1\n",
    "        o[i] = x0[i, i]\n",
    "        o[i] = [1.0]\n",
    "        o[i] = nothing(x0[i])\n",
]


@pytest.mark.parametrize("body", BODIES)
def test_what_is_not_of_the_language_is_refused(body):
    with pytest.raises(CompileError, match="cannot be compiled"):
        run(body, np.zeros(3))


def test_a_call_checks_what_it_is_given():
    text = (
        "def NAME(start, stop, n, o: float64[n]):\n"
        "    for i in range(start, stop):\n"
        "        o[i] = 1.0\n"
    )
    name = f"rgk_{kernels.digest(text)}"
    kernel = kernels.load(name, text.replace("NAME", name), Layout(1, 1))
    out = np.zeros(3)
    for wrong in ((3,), (3, out, out), (3, [0.0] * 3), (3, None), ("3", out)):
        with pytest.raises(TypeError):
            kernel(*wrong)
    assert kernel(3, out) is None
    assert out.tolist() == [1.0] * 3
