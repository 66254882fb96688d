"""Expressions of Python on scalars as LLVM instructions, and calls of kernels."""

import ast
import math

import numpy as np
import pytest

from relgraph.backends.numba import kernels
from relgraph.backends.numba.calls import Layout
from relgraph.backends.numba.expressions import Expressions
from relgraph.backends.numba.instructions import Module, Value
from relgraph.backends.numba.llvm_printer import printed
from relgraph.ir.types import DTYPES
from relgraph.lowering.loops.builder import Builder
from relgraph.lowering.loops.nodes import START, STOP, Buffer, Function, Var
from relgraph.ops.elementwise import multiply, subtract
from relgraph.settings import config

N = Var("n", "int64")


def instructions(expression, **dtypes):
    """Return the value of an expression of named values, and the instructions that compute it."""
    text = Expressions(Module(kernels.scalar, ""))
    text.values = {name: Value(dtype, f"%{name}") for name, dtype in dtypes.items()}
    value = text.value(ast.parse(expression, mode="eval").body)
    return value, "\n".join(text.lines)


@pytest.mark.parametrize(
    ("expression", "dtypes", "dtype", "instruction"),
    [
        ("x + y", ["float64", "float64"], "float64", "fadd double %x, %y"),
        ("x * y", ["float32", "float32"], "float32", "fmul float %x, %y"),
        ("x - y", ["int16", "int16"], "int16", "sub i16 %x, %y"),
        ("x & y", ["bool", "bool"], "bool", "and i1 %x, %y"),
        ("x + y", ["float32", "float64"], "float64", "fpext float %x to double"),
        ("x + y", ["int64", "float64"], "float64", "sitofp i64 %x to double"),
        ("x < y", ["uint8", "uint8"], "bool", "icmp ult i8 %x, %y"),
        ("x < y", ["int8", "int8"], "bool", "icmp slt i8 %x, %y"),
        ("x != y", ["float64", "float64"], "bool", "fcmp une double %x, %y"),
        ("-x", ["float64"], "float64", "fneg double %x"),
        ("~x", ["int32"], "int32", "xor i32 %x, -1"),
        ("not x", ["bool"], "bool", "xor i1 %x, true"),
        ("math.sqrt(x)", ["float64"], "float64", "@llvm.sqrt.f64(double %x)"),
        ("abs(x)", ["float32"], "float32", "@llvm.fabs.f32(float %x)"),
        ("float32(x)", ["float64"], "float32", "fptrunc double %x to float"),
        ("x if x > 0 else 0", ["float64"], "float64", "select i1"),
        ("x + 0.1", ["float32"], "float32", "fadd float %x, 0x3FB99999A0000000"),
        ("math.inf if x != x else -(2 * 3 - 1)", ["float64"], "float64", "0x7FF0000000000000"),
    ],
)
def test_an_expression_is_instructions(expression, dtypes, dtype, instruction):
    value, lines = instructions(expression, **dict(zip("xy", dtypes, strict=False)))
    assert value.dtype == dtype
    assert instruction in lines


@pytest.mark.parametrize("expression", ["x // 2.0", "y", "[1.0]", "x[0]", "lambda: 1", "x < y < z"])
def test_what_is_not_of_the_language_is_refused(expression):
    with pytest.raises(SyntaxError, match="not of the language"):
        instructions(expression, x="float64")


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_conversions_have_the_dtype(source, target):
    value, _ = instructions(f"{target}(x)", x=source)
    assert value.dtype == target


def squares():
    """Return a function of the difference of two equal products."""
    builder = Builder(100)
    x, o = Buffer("x", "float64", (N,)), Buffer("o", "float64", (N,))
    with builder.loop(START, STOP, apart=True) as loop:
        value = builder.load(x, [loop.index])
        one = builder.apply(multiply, value, value)
        other = builder.apply(multiply, builder.load(x, [loop.index]), value)
        builder.store(o, [loop.index], builder.apply(subtract, one, other))
    return lambda name: [Function(name, (N,), (x, o), builder.body)]


def test_contraction_is_a_choice():
    function = squares()("f")
    assert "contract" in printed(function, kernels.scalar, True).text
    assert "contract" not in printed(function, kernels.scalar).text
    kernel = kernels.load(f"rgk_{kernels.digest('squares')}", squares(), Layout(1, 2))
    x, out = np.random.default_rng(0).normal(size=1000), np.ones(1000)
    kernel(1000, x, out)
    assert not out.any()
    with config(contract=True):
        name = f"rgk_{kernels.digest('squares')}"
        kernels.load(name, squares(), Layout(1, 2))(1000, x, out)
    assert abs(out).max() < 1e-14


def test_a_call_checks_what_it_is_given():
    kernel = kernels.load(f"rgk_{kernels.digest('squares')}", squares(), Layout(1, 2))
    x, out = np.array([1.0, math.inf]), np.zeros(2)
    for wrong in ((2,), (2, x, out, out), (2, x, [0.0] * 2), (2, x, None), ("2", x, out)):
        with pytest.raises(TypeError):
            kernel(*wrong)
    assert kernel(2, x, out) is None
    np.testing.assert_array_equal(out, [0, math.nan])
