"""Expressions of Python on scalars, as LLVM instructions.

The rows of elementwise ops spell their kernels as expressions, such as ``{0} * {1}`` or
``math.sqrt({0})``.  A literal takes the dtype of the other operand.  Functions that are not single
instructions are linked as bitcode from :mod:`.scalars`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

from relgraph.backends.numba.instructions import TYPES, Instructions, Module, Value
from relgraph.ir.types import DTYPES

_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_FLOAT = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_INTEGER = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul",
    ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
_PYTHON: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
}  # fmt: skip

# Functions of floats that are one LLVM intrinsic; all others are linked as bitcode.
_INSTRUCTIONS = {
    "math.sqrt": "llvm.sqrt", "np.sqrt": "llvm.sqrt", "abs": "llvm.fabs", "math.fabs": "llvm.fabs",
    "np.floor": "llvm.floor", "np.ceil": "llvm.ceil", "np.trunc": "llvm.trunc",
    "np.rint": "llvm.rint", "math.copysign": "llvm.copysign", "fma": "llvm.fma",
    "maximum": "llvm.maximum", "minimum": "llvm.minimum",
}  # fmt: skip


def rejected(node: ast.AST) -> SyntaxError:
    """Return the error for what is not of the language."""
    return SyntaxError(f"not of the language of kernels: {ast.unparse(node)}")


class Expressions(Instructions):
    """The instructions of a function that computes expressions of named values."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.values: dict[str, Value] = {}

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression."""
        if isinstance(node, ast.Name) and node.id in self.values:
            return self.values[node.id]
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            return Value(None, number=node.value)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "math":
            return Value(None, number=getattr(math, node.attr))
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compare(node)
        if isinstance(node, ast.IfExp):
            return self.choice(*map(self.value, (node.test, node.body, node.orelse)))
        if isinstance(node, ast.Call):
            return self._call(node)
        raise rejected(node)

    def _binary(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        kind = type(node.op)
        if left.dtype is None and right.dtype is None and kind in _PYTHON:
            return Value(None, number=_PYTHON[kind](left.number, right.number))
        if kind is ast.Pow:
            a, b, dtype = self.same(left, right)
            return self.call_function("pow", [a, b], (dtype, dtype))
        a, b, dtype = self.same(left, right)
        if dtype[0] == "f":
            if kind not in _FLOAT:
                raise rejected(node)
            flags = self.module.flags if kind is not ast.Div else ""
            operation = f"{_FLOAT[kind]}{flags}"
        elif kind in _INTEGER and (dtype != "bool" or kind in (ast.BitAnd, ast.BitOr, ast.BitXor)):
            operation = _INTEGER[kind]
        else:
            raise rejected(node)
        return Value(dtype, self.emit(f"{operation} {TYPES[dtype]} {a.text}, {b.text}"))

    def _unary(self, node: ast.UnaryOp) -> Value:
        x = self.value(node.operand)
        if isinstance(node.op, ast.USub):
            if x.dtype is None:
                return Value(None, number=-x.number)
            kind = TYPES[x.dtype]
            if x.dtype[0] == "f":
                return Value(x.dtype, self.emit(f"fneg {kind} {x.text}"))
            return Value(x.dtype, self.emit(f"sub {kind} 0, {x.text}"))
        if isinstance(node.op, ast.Not):
            x = self.converted(x, "bool")
            return Value("bool", self.emit(f"xor i1 {x.text}, true"))
        if isinstance(node.op, ast.Invert) and x.dtype is not None and x.dtype[0] != "f":
            return Value(x.dtype, self.emit(f"xor {TYPES[x.dtype]} {x.text}, -1"))
        raise rejected(node)

    def _compare(self, node: ast.Compare) -> Value:
        a, b, dtype = self.same(self.value(node.left), self.value(node.comparators[0]))
        name = _COMPARE[type(node.ops[0])]
        if dtype[0] == "f":
            test = f"fcmp {'u' if name == 'ne' else 'o'}{name}"
        else:
            sign = "" if name in ("eq", "ne") else "s" if dtype[0] == "i" else "u"
            test = f"icmp {sign}{name}"
        return Value("bool", self.emit(f"{test} {TYPES[dtype]} {a.text}, {b.text}"))

    def _call(self, node: ast.Call) -> Value:
        callee = ast.unparse(node.func)
        values = [self.value(x) for x in node.args]
        if callee in DTYPES:
            return self.converted(self.typed(values[0]) if callee == "bool" else values[0], callee)
        if callee == "min":  # only of integers: the ends of blocks
            a, b, dtype = self.same(*values)
            return self.intrinsic("llvm.smin", [a, b], dtype)
        if callee == "add_any_order":
            a, b, dtype = self.same(*values)
            return Value(dtype, self.emit(f"fadd reassoc {TYPES[dtype]} {a.text}, {b.text}"))
        if all(x.dtype is not None and x.dtype[0] == "f" for x in values):
            instruction = _INSTRUCTIONS.get(callee)
            if instruction is not None and len({x.dtype for x in values}) == 1:
                return self.intrinsic(instruction, values, str(values[0].dtype))
        if callee == "abs":
            x = values[0]
            assert x.dtype is not None
            return self.choice(
                Value("bool", self.emit(f"icmp slt {TYPES[x.dtype]} {x.text}, 0")),
                Value(x.dtype, self.emit(f"sub {TYPES[x.dtype]} 0, {x.text}")),
                x,
            )
        typed = [self.typed(x) for x in values]
        return self.call_function(callee, typed, tuple(str(x.dtype) for x in typed))


__all__ = ["Expressions", "rejected"]
