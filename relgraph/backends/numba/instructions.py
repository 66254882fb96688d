"""LLVM instructions on scalars of the ten dtypes.

A value has a dtype, or it is a literal that takes the dtype of the other operand.  Operands of
different dtypes are converted to the dtype to which NumPy promotes them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from relgraph.ir.records import record

TYPES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "i8", "uint16": "i16", "uint32": "i32", "uint64": "i64",
    "float32": "float", "float64": "double",
}  # fmt: skip


@record
class Value:
    """A scalar: its dtype and its name in LLVM IR; a literal has only a number."""

    dtype: str | None
    text: str = ""
    number: Any = None


@record
class Scalar:
    """A scalar function as LLVM bitcode.

    The function ``symbol`` takes a pointer to its result, a pointer to an exception and its
    arguments, and returns a status.  ``result`` is the dtype of its result.
    """

    symbol: str
    result: str
    code: bytes


@record
class Translation:
    """A module in LLVM IR, the functions to link to it, by symbol, and a text for people."""

    text: str
    scalars: dict[str, Scalar]
    source: str = ""


Provider = Callable[[str, tuple[str, ...]], Scalar]


class Module:
    """The state that the functions of a module share."""

    def __init__(self, scalar: Provider, flags: str) -> None:
        self.scalar = scalar
        self.flags = flags
        self.declared: set[str] = set()
        self.scalars: dict[str, Scalar] = {}
        self.metadata: list[str] = []
        self._one = ""

    def node(self, text: str) -> str:
        """Add a metadata node, which may refer to itself as ``SELF``."""
        name = f"!{len(self.metadata)}"
        self.metadata.append(f"{name} = distinct !{{{text.replace('SELF', name)}}}")
        return name

    def one(self) -> str:
        """Return the metadata node that holds 1."""
        if not self._one:
            self._one = f"!{len(self.metadata)}"
            self.metadata.append(f"{self._one} = !{{i32 1}}")
        return self._one


class Instructions:
    """The instructions of a function.

    ``entry`` holds the instructions of the entry block (allocas and loads of parameters) and
    ``lines`` those that follow; ``block`` is the label of the current block.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.block = "entry"
        self.counter = 0

    def _fresh(self) -> str:
        self.counter += 1
        return f"%v{self.counter}"

    def emit(self, text: str) -> str:
        """Add an instruction and return the name of its result."""
        name = self._fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def label(self, name: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{name}:")
        self.block = name

    def typed(self, value: Value) -> Value:
        """Give a literal its default dtype."""
        if value.dtype is not None:
            return value
        kinds = {bool: "bool", int: "int64", float: "float64"}
        return self.converted(value, kinds[type(value.number)])

    def same(self, a: Value, b: Value) -> tuple[Value, Value, str]:
        """Convert two operands to a common dtype."""
        if a.dtype is None and b.dtype is None:
            a = self.typed(a)
        if a.dtype is None:
            a = self._beside(a, b)
        if b.dtype is None:
            b = self._beside(b, a)
        assert a.dtype is not None
        assert b.dtype is not None
        dtype = a.dtype
        if a.dtype != b.dtype:
            dtype = np.promote_types(a.dtype, b.dtype).name
        return self.converted(a, dtype), self.converted(b, dtype), dtype

    def _beside(self, literal: Value, other: Value) -> Value:
        assert other.dtype is not None
        if isinstance(literal.number, float) and other.dtype[0] != "f":
            return self.converted(literal, "float64")
        return self.converted(literal, other.dtype)

    def choice(self, test: Value, yes: Value, no: Value) -> Value:
        """Select one of two values."""
        condition = self.converted(test, "bool")
        a, b, dtype = self.same(yes, no)
        kind = TYPES[dtype]
        return Value(
            dtype, self.emit(f"select i1 {condition.text}, {kind} {a.text}, {kind} {b.text}")
        )

    def intrinsic(self, name: str, values: list[Value], dtype: str) -> Value:
        """Call an LLVM intrinsic."""
        kind = TYPES[dtype]
        suffix = {"float32": "f32", "float64": "f64"}.get(dtype, kind)
        arguments = ", ".join(f"{kind} {x.text}" for x in values)
        self.module.declared.add(
            f"declare {kind} @{name}.{suffix}({', '.join([kind] * len(values))})"
        )
        # NumPy may return either of two zeros; ordering them takes half of the time.
        flags = "nsz " if name in ("llvm.maximum", "llvm.minimum") else ""
        return Value(dtype, self.emit(f"call {flags}{kind} @{name}.{suffix}({arguments})"))

    def call_function(self, callee: str, values: list[Value], dtypes: tuple[str, ...]) -> Value:
        """Call a scalar function that is linked to the module as bitcode.

        Numba's calling convention serves both kinds: the formulas that relgraph prints as LLVM IR
        and the functions that numba compiles.
        """
        scalar = self.module.scalar(callee, dtypes)
        self.module.scalars[scalar.symbol] = scalar
        kinds = [memory_type(dtype) for dtype in dtypes]
        self.module.declared.add(
            f"declare i32 @{scalar.symbol}({', '.join(['ptr', 'ptr', *kinds])})"
        )
        arguments = []
        for x, kind in zip(values, kinds, strict=True):
            text = self.emit(f"zext i1 {x.text} to i8") if x.dtype == "bool" else x.text
            arguments.append(f"{kind} {text}")
        self.counter += 1
        place, error = f"%result.{self.counter}", f"%error.{self.counter}"
        kind = memory_type(scalar.result)
        self.entry += [f"  {place} = alloca {kind}", f"  {error} = alloca ptr"]
        operands = ", ".join([f"ptr {place}", f"ptr {error}", *arguments])
        # llvmlite up to 0.47 attaches a function attribute to the return value.
        self.emit(f"call i32 @{scalar.symbol}({operands}) alwaysinline")
        text = self.emit(f"load {kind}, ptr {place}")
        if scalar.result == "bool":
            text = self.emit(f"icmp ne i8 {text}, 0")
        return Value(scalar.result, text)

    def converted(self, value: Value, dtype: str) -> Value:
        """Convert a value; the result of an out-of-range float to an integer is undefined."""
        if value.dtype == dtype:
            return value
        if value.dtype is None:
            return Value(dtype, _literal(value.number, dtype))
        source, target = value.dtype, dtype
        a, b = TYPES[source], TYPES[target]
        if a == b:
            return Value(dtype, value.text)
        if target == "bool":
            test = "fcmp une" if source[0] == "f" else "icmp ne"
            zero = "0.0" if source[0] == "f" else "0"
            return Value(dtype, self.emit(f"{test} {a} {value.text}, {zero}"))
        return Value(dtype, self.emit(f"{_conversion(source, target)} {a} {value.text} to {b}"))


def _conversion(source: str, target: str) -> str:
    signed = source[0] == "i"
    if source[0] == "f":
        if target[0] == "f":
            return "fpext" if target == "float64" else "fptrunc"
        return "fptosi" if target[0] == "i" else "fptoui"
    if target[0] == "f":
        return "sitofp" if signed else "uitofp"
    if _width(source) < _width(target):
        return "sext" if signed else "zext"
    return "trunc"


def _width(dtype: str) -> int:
    return 1 if dtype == "bool" else 8 * np.dtype(dtype).itemsize


def memory_type(dtype: str) -> str:
    """Return the type of an element in memory; a bool takes a byte."""
    return "i8" if dtype == "bool" else TYPES[dtype]


def _literal(number: Any, dtype: str) -> str:
    if dtype[0] == "f":
        rounded = float(np.dtype(dtype).type(number))
        return "0x" + struct.pack(">d", rounded).hex().upper()
    if dtype == "bool":
        return "true" if number else "false"
    return str(int(number))


__all__ = [
    "TYPES",
    "Instructions",
    "Module",
    "Provider",
    "Scalar",
    "Translation",
    "Value",
    "memory_type",
]
