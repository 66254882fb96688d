"""From the source of a kernel to LLVM: a compiler for straight lines of scalars inside loops.

The language is the part of Python that :mod:`.kernel_source` writes::

    def name(start, stop, n0, n1, x0: float64[n0, n1], c: float64[2], o0: float64[n0:a, n1:b]):
        for i0 in range(start, stop):
            for i in range(n1):
                o0[i0, i] = exp(x0[i0, i]) + c[0]

Parameters with a dtype are arrays, whose axes have the sizes that are written, one after the other
in memory; after a colon stands the distance in bytes of two elements, where it is not that of the
sizes.  All other parameters are integers.  A machine function takes ``(arrays, integers, start,
stop)``, two tables and a range, whatever the kernel.

``q = scratch(float64, 256)`` declares an array of a fixed size, which lives on the stack.
Statements are assignments and ``for`` over ``range``; expressions are those of Python on numbers
of the ten dtypes.  A literal takes the dtype of the operand beside it.  A call that is not known
here is compiled by numba as a function of scalars, and becomes a part of the loop.

What numba's own compiler would make of a loop is not better, takes ten times as long, and holds a
test for each pair of arrays that might overlap.  Here the iterations of a loop without loops in it
are taken to be independent of each other in memory: what one iteration hands to the next is a
variable, never an element of an array; but not those of a loop over ``in_order``.
"""

from __future__ import annotations

import ast
import math
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relgraph.ir.types import DTYPES

TYPES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "i8", "uint16": "i16", "uint32": "i32", "uint64": "i64",
    "float32": "float", "float64": "double",
}  # fmt: skip

_COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_FLOAT = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_INTEGER = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul",
    ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
_PYTHON: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
}  # fmt: skip

# Functions of one or more floats that are one instruction; all others are numba's to compile.
_INSTRUCTIONS = {
    "math.sqrt": "llvm.sqrt", "np.sqrt": "llvm.sqrt", "abs": "llvm.fabs", "math.fabs": "llvm.fabs",
    "np.floor": "llvm.floor", "np.ceil": "llvm.ceil", "np.trunc": "llvm.trunc",
    "np.rint": "llvm.rint", "math.copysign": "llvm.copysign", "fma": "llvm.fma",
    "maximum": "llvm.maximum", "minimum": "llvm.minimum",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar: its dtype, and its name in LLVM; a literal has neither yet, only a number."""

    dtype: str | None
    text: str = ""
    number: Any = None


@dataclass(frozen=True, slots=True)
class Scalar:
    """A compiled function of scalars.

    Attributes
    ----------
    symbol : str
        Its name; it takes a place for its result, a place for an exception, and its arguments.
    result : str
        The dtype of its result.
    code : bytes
        Its definition, as LLVM bitcode.
    """

    symbol: str
    result: str
    code: bytes


@dataclass(frozen=True, slots=True)
class Translation:
    """A module in LLVM's language, and the functions that it calls.

    Attributes
    ----------
    text : str
        The module.
    scalars : dict of str to Scalar
        The functions that have to be linked to it, by symbol.
    """

    text: str
    scalars: dict[str, Scalar]


Provider = Callable[[str, tuple[str, ...]], Scalar]


def translate(source: str, scalar: Provider, contract: bool = False) -> Translation:
    """Translate the functions of a kernel's source.

    Parameters
    ----------
    source : str
        Function definitions in the language above.
    scalar : callable
        ``scalar(callee, dtypes)`` compiles a function that is not an instruction.
    contract : bool
        Whether a product and a sum may be rounded once.

    Returns
    -------
    Translation
        The module; each function has its name in the source.

    Raises
    ------
    SyntaxError
        For what is not of the language.
    """
    module = _Module(scalar, " contract" if contract else "")
    texts = [
        _Function(module, node).text()
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    ]
    declared = "\n".join(sorted(module.declared))
    return Translation("\n".join([*texts, declared, *module.metadata]) + "\n", module.scalars)


class _Module:
    """What the functions of a module share."""

    def __init__(self, scalar: Provider, flags: str) -> None:
        self.scalar = scalar
        self.flags = flags
        self.declared: set[str] = set()
        self.scalars: dict[str, Scalar] = {}
        self.metadata: list[str] = []

    def node(self, text: str) -> str:
        """Add a line of metadata that may name itself as ``SELF``."""
        name = f"!{len(self.metadata)}"
        self.metadata.append(f"{name} = distinct !{{{text.replace('SELF', name)}}}")
        return name


@dataclass(frozen=True, slots=True)
class _Array:
    """An array parameter: dtype, sizes of its axes, and distances in bytes or None."""

    dtype: str
    sizes: tuple[ast.expr, ...]
    strides: tuple[ast.expr | None, ...]


class _Function:
    def __init__(self, module: _Module, node: ast.FunctionDef) -> None:
        self.module = module
        self.node = node
        self.entry: list[str] = []  # what is reserved or loaded once
        self.lines: list[str] = []
        self.block = "entry"
        self.counter = 0
        self.group = ""  # of the accesses in the innermost loop, where one is open
        self.arrays: dict[str, _Array] = {}
        self.values: dict[str, Value] = {}
        self.places: dict[str, tuple[str, str]] = {}  # variables: dtype and place
        self.stored = Counter(
            target.id
            for statement in ast.walk(node)
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Name)
        )

    def text(self) -> str:
        self._parameters()
        for statement in self.node.body:
            self._statement(statement)
        head = (
            f"define void @{self.node.name}(ptr noalias readonly %arrays, "
            "ptr noalias readonly %integers, i64 %start, i64 %stop) nounwind {\nentry:\n"
        )
        # The first label of the body is reached from the loads at the entry.
        return f"{head}{self._lines(self.entry)}{self._lines(self.lines)}  ret void\n}}\n"

    @staticmethod
    def _lines(lines: list[str]) -> str:
        return "".join(f"{line}\n" for line in lines)

    # Names.

    def _fresh(self) -> str:
        self.counter += 1
        return f"%v{self.counter}"

    def _emit(self, text: str) -> str:
        name = self._fresh()
        self.lines.append(f"  {name} = {text}")
        return name

    def _label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def _parameters(self) -> None:
        arguments = self.node.args.args
        self.values["start"] = Value("int64", "%start")
        self.values["stop"] = Value("int64", "%stop")
        integers = arrays = 0
        for argument in arguments[2:]:
            name = argument.arg
            if argument.annotation is None:
                self._load(name, "integers", integers, "i64")
                self.values[name] = Value("int64", f"%{name}")
                integers += 1
            else:
                self._load(name, "arrays", arrays, "ptr")
                self.arrays[name] = self._array(argument.annotation)
                arrays += 1

    def _load(self, name: str, table: str, index: int, kind: str) -> None:
        self.entry.append(f"  %{name}.at = getelementptr inbounds i64, ptr %{table}, i64 {index}")
        self.entry.append(f"  %{name} = load {kind}, ptr %{name}.at, align 8")

    def _array(self, annotation: ast.expr) -> _Array:
        if not isinstance(annotation, ast.Subscript) or not isinstance(annotation.value, ast.Name):
            raise self._refused(annotation)
        axes = annotation.slice
        sizes: list[ast.expr] = []
        strides: list[ast.expr | None] = []
        for axis in axes.elts if isinstance(axes, ast.Tuple) else [axes]:
            if isinstance(axis, ast.Slice):
                assert axis.lower is not None
                sizes.append(axis.lower)
                strides.append(axis.upper)
            else:
                sizes.append(axis)
                strides.append(None)
        return _Array(annotation.value.id, tuple(sizes), tuple(strides))

    def _refused(self, node: ast.AST) -> SyntaxError:
        return SyntaxError(f"not of the language of kernels: {ast.unparse(node)}")

    # Statements.

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.For):
            self._for(node)
        elif isinstance(node, ast.Assign):
            target = node.targets[0]
            if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "scratch":
                return self._scratch(*map(ast.unparse, (target, *node.value.args)))
            value = self._value(node.value)
            if isinstance(target, ast.Subscript):
                self._store(target, value)
            elif isinstance(target, ast.Name):
                self._assign(target.id, value)
            else:
                raise self._refused(node)
        else:
            raise self._refused(node)

    def _scratch(self, name: str, dtype: str, size: str) -> None:
        self.arrays[name] = _Array(dtype, (ast.Constant(int(size)),), (None,))
        self.entry.append(f"  %{name} = alloca [{size} x {_memory(dtype)}], align 64")

    def _assign(self, name: str, value: Value) -> None:
        if self.stored[name] == 1:
            self.values[name] = value
            return
        place = self.places.get(name)
        if place is None:
            value = self._typed(value)
            assert value.dtype is not None
            place = self.places[name] = (value.dtype, f"%{name}.place")
            self.entry.append(f"  %{name}.place = alloca {TYPES[value.dtype]}")
        dtype, where = place
        self.lines.append(f"  store {TYPES[dtype]} {self._as(value, dtype).text}, ptr {where}")

    def _for(self, node: ast.For) -> None:
        if not (
            isinstance(node.target, ast.Name)
            and isinstance(node.iter, ast.Call)
            and ast.unparse(node.iter.func) in ("range", "in_order")
        ):
            raise self._refused(node)
        bounds = [self._as(self._value(x), "int64").text for x in node.iter.args]
        low, high, step = ("0", bounds[0], "1") if len(bounds) == 1 else (*bounds, "1")[:3]
        self.counter += 1
        k = self.counter
        index = f"%{node.target.id}.{k}"
        before = self.block
        innermost = not any(isinstance(x, ast.For) for s in node.body for x in ast.walk(s))
        self.lines.append(f"  br label %head.{k}")
        self._label(f"head.{k}")
        self.lines += [
            f"  {index} = phi i64 [ {low}, %{before} ], [ {index}.next, %latch.{k} ]",
            f"  {index}.more = icmp slt i64 {index}, {high}",
            f"  br i1 {index}.more, label %body.{k}, label %exit.{k}",
        ]
        self._label(f"body.{k}")
        loop = ""
        if innermost and ast.unparse(node.iter.func) == "range":
            self.group = self.module.node("")
            accesses = self.module.node(f'!"llvm.loop.parallel_accesses", {self.group}')
            loop = f", !llvm.loop {self.module.node(f'SELF, {accesses}')}"
        self.values[node.target.id] = Value("int64", index)
        for statement in node.body:
            self._statement(statement)
        self.group = ""
        self.lines.append(f"  br label %latch.{k}")
        self._label(f"latch.{k}")
        self.lines += [
            f"  {index}.next = add nsw i64 {index}, {step}",
            f"  br label %head.{k}{loop}",
        ]
        self._label(f"exit.{k}")

    # Elements of arrays.

    def _element(self, node: ast.Subscript) -> tuple[str, str]:
        """Return the dtype of an element and its address."""
        assert isinstance(node.value, ast.Name)
        name = node.value.id
        array = self.arrays.get(name)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if array is None or len(indices) != len(array.sizes):
            raise self._refused(node)
        texts = [self._as(self._value(x), "int64").text for x in indices]
        if all(stride is None for stride in array.strides):
            offset = texts[0]
            for text, size in zip(texts[1:], array.sizes[1:], strict=True):
                extent = self._as(self._value(size), "int64").text
                offset = self._emit(f"mul nsw i64 {offset}, {extent}")
                offset = self._emit(f"add nsw i64 {offset}, {text}")
            kind = _memory(array.dtype)
            return array.dtype, self._emit(
                f"getelementptr inbounds {kind}, ptr %{name}, i64 {offset}"
            )
        address = f"%{name}"
        for text, stride in zip(texts, array.strides, strict=True):
            assert stride is not None
            distance = self._as(self._value(stride), "int64").text
            offset = self._emit(f"mul nsw i64 {text}, {distance}")
            address = self._emit(f"getelementptr inbounds i8, ptr {address}, i64 {offset}")
        return array.dtype, address

    def _access(self) -> str:
        return f", !llvm.access.group {self.group}" if self.group else ""

    def _store(self, target: ast.Subscript, value: Value) -> None:
        dtype, address = self._element(target)
        text = self._as(value, dtype).text
        if dtype == "bool":
            text = self._emit(f"zext i1 {text} to i8")
        self.lines.append(f"  store {_memory(dtype)} {text}, ptr {address}{self._access()}")

    def _read(self, node: ast.Subscript) -> Value:
        dtype, address = self._element(node)
        text = self._emit(f"load {_memory(dtype)}, ptr {address}{self._access()}")
        if dtype == "bool":
            text = self._emit(f"icmp ne i8 {text}, 0")
        return Value(dtype, text)

    # Expressions.

    def _value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Name):
            if node.id in self.places:
                dtype, place = self.places[node.id]
                return Value(dtype, self._emit(f"load {TYPES[dtype]}, ptr {place}"))
            if node.id in self.values:
                return self.values[node.id]
            raise self._refused(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            return Value(None, number=node.value)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "math":
            return Value(None, number=getattr(math, node.attr))
        if isinstance(node, ast.Subscript):
            return self._read(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compare(node)
        if isinstance(node, ast.IfExp):
            return self._choice(*map(self._value, (node.test, node.body, node.orelse)))
        if isinstance(node, ast.Call):
            return self._call(node)
        raise self._refused(node)

    def _typed(self, value: Value) -> Value:
        """Give a literal the dtype that it has alone."""
        if value.dtype is not None:
            return value
        kinds = {bool: "bool", int: "int64", float: "float64"}
        return self._as(value, kinds[type(value.number)])

    def _same(self, a: Value, b: Value) -> tuple[Value, Value, str]:
        """Bring two operands to one dtype."""
        if a.dtype is None and b.dtype is None:
            a = self._typed(a)
        if a.dtype is None:
            a = self._beside(a, b)
        if b.dtype is None:
            b = self._beside(b, a)
        assert a.dtype is not None
        assert b.dtype is not None
        dtype = a.dtype
        if a.dtype != b.dtype:
            dtype = np.promote_types(a.dtype, b.dtype).name
        return self._as(a, dtype), self._as(b, dtype), dtype

    def _beside(self, literal: Value, other: Value) -> Value:
        assert other.dtype is not None
        if isinstance(literal.number, float) and other.dtype[0] != "f":
            return self._as(literal, "float64")
        return self._as(literal, other.dtype)

    def _binary(self, node: ast.BinOp) -> Value:
        left, right = self._value(node.left), self._value(node.right)
        kind = type(node.op)
        if left.dtype is None and right.dtype is None and kind in _PYTHON:
            return Value(None, number=_PYTHON[kind](left.number, right.number))
        if kind is ast.Pow:
            a, b, dtype = self._same(left, right)
            return self._function("pow", [a, b], (dtype, dtype))
        a, b, dtype = self._same(left, right)
        if dtype[0] == "f":
            if kind not in _FLOAT:
                raise self._refused(node)
            flags = self.module.flags if kind is not ast.Div else ""
            operation = f"{_FLOAT[kind]}{flags}"
        elif kind in _INTEGER and (dtype != "bool" or kind in (ast.BitAnd, ast.BitOr, ast.BitXor)):
            operation = _INTEGER[kind]
        else:
            raise self._refused(node)
        return Value(dtype, self._emit(f"{operation} {TYPES[dtype]} {a.text}, {b.text}"))

    def _unary(self, node: ast.UnaryOp) -> Value:
        x = self._value(node.operand)
        if isinstance(node.op, ast.USub):
            if x.dtype is None:
                return Value(None, number=-x.number)
            kind = TYPES[x.dtype]
            if x.dtype[0] == "f":
                return Value(x.dtype, self._emit(f"fneg {kind} {x.text}"))
            return Value(x.dtype, self._emit(f"sub {kind} 0, {x.text}"))
        if isinstance(node.op, ast.Not):
            x = self._as(x, "bool")
            return Value("bool", self._emit(f"xor i1 {x.text}, true"))
        if isinstance(node.op, ast.Invert) and x.dtype is not None and x.dtype[0] != "f":
            return Value(x.dtype, self._emit(f"xor {TYPES[x.dtype]} {x.text}, -1"))
        raise self._refused(node)

    def _compare(self, node: ast.Compare) -> Value:
        a, b, dtype = self._same(self._value(node.left), self._value(node.comparators[0]))
        name = _COMPARE[type(node.ops[0])]
        if dtype[0] == "f":
            test = f"fcmp {'u' if name == 'ne' else 'o'}{name}"
        else:
            sign = "" if name in ("eq", "ne") else "s" if dtype[0] == "i" else "u"
            test = f"icmp {sign}{name}"
        return Value("bool", self._emit(f"{test} {TYPES[dtype]} {a.text}, {b.text}"))

    def _choice(self, test: Value, yes: Value, no: Value) -> Value:
        condition = self._as(test, "bool")
        a, b, dtype = self._same(yes, no)
        kind = TYPES[dtype]
        return Value(
            dtype, self._emit(f"select i1 {condition.text}, {kind} {a.text}, {kind} {b.text}")
        )

    def _call(self, node: ast.Call) -> Value:
        callee = ast.unparse(node.func)
        values = [self._value(x) for x in node.args]
        if callee in DTYPES:
            return self._as(self._typed(values[0]) if callee == "bool" else values[0], callee)
        if callee == "min":  # of integers: the ends of blocks
            a, b, dtype = self._same(*values)
            return self._intrinsic("llvm.smin", [a, b], dtype)
        if callee == "add_any_order":
            a, b, dtype = self._same(*values)
            return Value(dtype, self._emit(f"fadd reassoc {TYPES[dtype]} {a.text}, {b.text}"))
        if all(x.dtype is not None and x.dtype[0] == "f" for x in values):
            instruction = _INSTRUCTIONS.get(callee)
            if instruction is not None and len({x.dtype for x in values}) == 1:
                return self._intrinsic(instruction, values, str(values[0].dtype))
        if callee == "abs":
            x = values[0]
            assert x.dtype is not None
            return self._choice(
                Value("bool", self._emit(f"icmp slt {TYPES[x.dtype]} {x.text}, 0")),
                Value(x.dtype, self._emit(f"sub {TYPES[x.dtype]} 0, {x.text}")),
                x,
            )
        typed = [self._typed(x) for x in values]
        return self._function(callee, typed, tuple(str(x.dtype) for x in typed))

    def _intrinsic(self, name: str, values: list[Value], dtype: str) -> Value:
        kind = TYPES[dtype]
        suffix = {"float32": "f32", "float64": "f64"}.get(dtype, kind)
        arguments = ", ".join(f"{kind} {x.text}" for x in values)
        self.module.declared.add(
            f"declare {kind} @{name}.{suffix}({', '.join([kind] * len(values))})"
        )
        # NumPy leaves open which of two zeros is the larger; telling takes half of the time.
        flags = "nsz " if name in ("llvm.maximum", "llvm.minimum") else ""
        return Value(dtype, self._emit(f"call {flags}{kind} @{name}.{suffix}({arguments})"))

    def _function(self, callee: str, values: list[Value], dtypes: tuple[str, ...]) -> Value:
        """Call a function that numba compiles, in the way that numba's functions are called."""
        scalar = self.module.scalar(callee, dtypes)
        self.module.scalars[scalar.symbol] = scalar
        kinds = [_memory(dtype) for dtype in dtypes]
        self.module.declared.add(
            f"declare i32 @{scalar.symbol}({', '.join(['ptr', 'ptr', *kinds])})"
        )
        arguments = []
        for x, kind in zip(values, kinds, strict=True):
            text = self._emit(f"zext i1 {x.text} to i8") if x.dtype == "bool" else x.text
            arguments.append(f"{kind} {text}")
        self.counter += 1
        place, error = f"%result.{self.counter}", f"%error.{self.counter}"
        kind = _memory(scalar.result)
        self.entry += [f"  {place} = alloca {kind}", f"  {error} = alloca ptr"]
        given = ", ".join([f"ptr {place}", f"ptr {error}", *arguments])
        self._emit(f"call i32 @{scalar.symbol}({given})")
        text = self._emit(f"load {kind}, ptr {place}")
        if scalar.result == "bool":
            text = self._emit(f"icmp ne i8 {text}, 0")
        return Value(scalar.result, text)

    # Conversions.

    def _as(self, value: Value, dtype: str) -> Value:
        """Convert a value; a float that becomes an integer must fit."""
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
            return Value(dtype, self._emit(f"{test} {a} {value.text}, {zero}"))
        return Value(dtype, self._emit(f"{_conversion(source, target)} {a} {value.text} to {b}"))


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


def _memory(dtype: str) -> str:
    """Return the type of an element in memory, where a bool is a byte."""
    return "i8" if dtype == "bool" else TYPES[dtype]


def _literal(number: Any, dtype: str) -> str:
    if dtype[0] == "f":
        rounded = float(np.dtype(dtype).type(number))
        return "0x" + struct.pack(">d", rounded).hex().upper()
    if dtype == "bool":
        return "true" if number else "false"
    return str(int(number))


__all__ = ["Provider", "Scalar", "Translation", "Value", "translate"]
