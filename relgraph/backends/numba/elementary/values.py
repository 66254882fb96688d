"""Values in LLVM IR: formulas that are written as mathematics and emitted as instructions.

A formula is a Python function of :class:`Value` objects.  Its operators emit instructions without
fast-math flags and branches, so that LLVM can vectorise a loop around it.  The formulas do not go
through numba's type inference, so kernels with many functions compile quickly.

References
----------
LLVM Language Reference Manual, "Binary Operations" and "Standard C Library Intrinsics".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from relgraph.ir.records import record

FLOAT32, FLOAT64 = ir.FloatType(), ir.DoubleType()


@record
class Format:
    """A binary floating-point format of IEEE 754.

    ``bits`` counts the bits of a number, ``mantissa`` those of its fraction; ``bias`` is that of
    the exponent, and ``tiny`` the smallest normal number.
    """

    name: str
    type: Any
    bits: int
    mantissa: int
    bias: int
    tiny: float

    @property
    def integer(self) -> Any:
        """The integer type of the same size."""
        return ir.IntType(self.bits)

    @property
    def magic(self) -> float:
        """A number that, when added to a small one, rounds it to an integer in the lowest bits."""
        return 1.5 * 2.0**self.mantissa


SINGLE = Format("float32", FLOAT32, 32, 23, 127, 2.0**-126)
DOUBLE = Format("float64", FLOAT64, 64, 52, 1023, 2.0**-1022)


class Value:
    """A float, an integer or a bool in LLVM IR, and the builder that emits instructions on it."""

    __slots__ = ("builder", "code")

    def __init__(self, builder: Any, code: Any) -> None:
        self.builder = builder
        self.code = code

    @property
    def format(self) -> Format:
        """The format of a float, or the float format of an integer's size."""
        wide = self.code.type in (FLOAT64, ir.IntType(64))
        return DOUBLE if wide else SINGLE

    def constant(self, number: float | Value) -> Value:
        """Return a number as a constant of this value's type."""
        if isinstance(number, Value):
            return number
        return Value(self.builder, ir.Constant(self.code.type, number))

    def _float(self) -> bool:
        return self.code.type in (FLOAT32, FLOAT64)

    def _emit(self, names: tuple[str, str], other: float | Value, swap: bool = False) -> Value:
        right = self.constant(other).code
        left = self.code
        if swap:
            left, right = right, left
        return Value(self.builder, getattr(self.builder, names[not self._float()])(left, right))

    def _compare(self, symbol: str, other: float | Value) -> Value:
        right = self.constant(other).code
        if not self._float():
            return Value(self.builder, self.builder.icmp_signed(symbol, self.code, right))
        ordered = self.builder.fcmp_unordered if symbol == "!=" else self.builder.fcmp_ordered
        return Value(self.builder, ordered(symbol, self.code, right))

    def __add__(self, other: float | Value) -> Value:
        return self._emit(("fadd", "add"), other)

    def __radd__(self, other: float) -> Value:
        return self._emit(("fadd", "add"), other, swap=True)

    def __sub__(self, other: float | Value) -> Value:
        return self._emit(("fsub", "sub"), other)

    def __rsub__(self, other: float) -> Value:
        return self._emit(("fsub", "sub"), other, swap=True)

    def __mul__(self, other: float | Value) -> Value:
        return self._emit(("fmul", "mul"), other)

    def __rmul__(self, other: float) -> Value:
        return self._emit(("fmul", "mul"), other, swap=True)

    def __truediv__(self, other: float | Value) -> Value:
        return self._emit(("fdiv", ""), other)

    def __rtruediv__(self, other: float) -> Value:
        return self._emit(("fdiv", ""), other, swap=True)

    def __neg__(self) -> Value:
        return Value(self.builder, self.builder.fneg(self.code))

    def __and__(self, other: int | Value) -> Value:
        return self._emit(("", "and_"), other)

    def __or__(self, other: int | Value) -> Value:
        return self._emit(("", "or_"), other)

    def __xor__(self, other: int | Value) -> Value:
        return self._emit(("", "xor"), other)

    def __lshift__(self, other: int) -> Value:
        return self._emit(("", "shl"), other)

    def __rshift__(self, other: int) -> Value:
        """Shift right, filling with zeros: vector units lack the signed shift for 64 bits."""
        return self._emit(("", "lshr"), other)

    def __lt__(self, other: float | Value) -> Value:
        return self._compare("<", other)

    def __le__(self, other: float | Value) -> Value:
        return self._compare("<=", other)

    def __gt__(self, other: float | Value) -> Value:
        return self._compare(">", other)

    def __ge__(self, other: float | Value) -> Value:
        return self._compare(">=", other)

    def equals(self, other: float | Value) -> Value:
        """Return whether two numbers are equal; NaN equals nothing."""
        return self._compare("==", other)

    def differs(self, other: float | Value) -> Value:
        """Return whether two numbers differ; NaN differs from everything."""
        return self._compare("!=", other)

    def bits(self) -> Value:
        """Return the bits of a float as an integer."""
        return Value(self.builder, self.builder.bitcast(self.code, self.format.integer))

    def as_float(self) -> Value:
        """Return the float with an integer's bits."""
        return Value(self.builder, self.builder.bitcast(self.code, self.format.type))

    def widened(self) -> Value:
        """Return a float32 as a float64."""
        return Value(self.builder, self.builder.fpext(self.code, FLOAT64))

    def narrowed(self) -> Value:
        """Return a float64 as the nearest float32."""
        return Value(self.builder, self.builder.fptrunc(self.code, FLOAT32))


def intrinsic(name: str, *args: Value) -> Value:
    """Call an LLVM intrinsic on floats."""
    first = args[0]
    kind = first.code.type
    full = f"llvm.{name}.f{first.format.bits}"
    module = first.builder.module
    function = module.globals.get(full)
    if function is None:
        function = ir.Function(module, ir.FunctionType(kind, [kind] * len(args)), full)
    return Value(first.builder, first.builder.call(function, [x.code for x in args]))


def fma(a: Value, b: Value | float, c: Value | float) -> Value:
    """Compute ``a * b + c`` with one rounding."""
    return intrinsic("fma", a, a.constant(b), a.constant(c))


def absolute(x: Value) -> Value:
    """Return the absolute value of a float."""
    return intrinsic("fabs", x)


def with_sign(x: Value, sign: Value) -> Value:
    """Return a float with the sign of another."""
    return intrinsic("copysign", x, sign)


def where(condition: Value, chosen: Value | float, other: Value | float) -> Value:
    """Select one of two numbers, of which at least one is a Value."""
    pattern = chosen if isinstance(chosen, Value) else other
    assert isinstance(pattern, Value)
    left, right = pattern.constant(chosen), pattern.constant(other)
    builder = condition.builder
    return Value(builder, builder.select(condition.code, left.code, right.code))


def polynomial(x: Value, coefficients: Sequence[float]) -> Value:
    """Evaluate a polynomial, constant term first, by Horner's rule on even and odd terms.

    The two halves are independent, which hides half of the latency; the loop hides the rest.
    """
    square = x * x
    even = _horner(square, coefficients[0::2])
    return fma(x, _horner(square, coefficients[1::2]), even)


def _horner(x: Value, coefficients: Sequence[float]) -> Value:
    total = x.constant(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = fma(total, x, coefficient)
    return total


Formula = Callable[..., Value]


def definition(symbol: str, formula: Formula, kind: Any, arity: int) -> Any:
    """Return an LLVM module with a function that computes a formula and is always inlined.

    It has numba's calling convention: it takes a pointer to its result, a pointer to an exception
    and ``arity`` operands of type ``kind``, and returns a status.
    """
    module = ir.Module(symbol)
    module.triple = ""
    place, nothing = ir.PointerType(kind), ir.PointerType(ir.IntType(8))
    status = ir.IntType(32)
    function = ir.Function(
        module, ir.FunctionType(status, [place, nothing] + [kind] * arity), symbol
    )
    function.linkage = "linkonce_odr"
    function.attributes.add("alwaysinline")
    function.attributes.add("nounwind")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    result, _, *operands = function.args
    builder.store(formula(*(Value(builder, x) for x in operands)).code, result)
    builder.ret(ir.Constant(status, 0))
    return module
