"""Elementwise ops: one instance for each scalar function, built from tables.

Names, operands and dtypes are NumPy's, with one exception: float functions of bool, int8 and uint8
compute in float32, where NumPy would use float16.  int16 and uint16 give float32 and wider integers
float64, as in NumPy.  Functions that NumPy lacks (erf, erfc, gammaln, sigmoid, softplus, log1mexp)
follow the rule of exp, those of two operands (kv, polygamma) that of arctan2.  Shapes broadcast
where a dimension is statically 1.
"""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from relgraph.errors import (
    ArgumentError,
    DomainError,
    DTypeError,
    NumberRangeError,
    checks_arguments,
)
from relgraph.ir import forks
from relgraph.ir.cost import size
from relgraph.ir.facts import NOTHING, Facts, kept, proved
from relgraph.ir.node import Variable
from relgraph.ir.op import Op, digest_of
from relgraph.ir.types import TensorType, Type, broadcast_shapes, check_dtype
from relgraph.ops.arguments import as_operand, check_int, is_pattern
from relgraph.ops.arithmetic import ARITHMETIC
from relgraph.ops.comparison import COMPARISON
from relgraph.ops.fact_rules import VALUES, structure
from relgraph.ops.functions import Function, in_floats, ufunc_loop
from relgraph.ops.transcendental import TRANSCENDENTALS

_lock = forks.lock()

TABLE: dict[str, Function] = {row.name: row for row in (*ARITHMETIC, *COMPARISON, *TRANSCENDENTALS)}


class Elementwise(Op):
    """A scalar function applied to every element, with broadcasting.

    Parameters
    ----------
    name : str
        A name in the tables; the same name gives the same object.

    Raises
    ------
    ArgumentError
        For a name that no table has.

    Examples
    --------
    >>> from relgraph.ops.elementwise import Elementwise, add
    >>> Elementwise("add") is add
    True
    """

    __slots__ = (
        "arity",
        "associative",
        "commutative",
        "computes",
        "difference",
        "function",
        "idempotent",
        "identity",
        "inverse",
        "name",
        "precedence",
        "symbol",
    )
    pointwise = True
    _named: ClassVar[dict[str, Elementwise]] = {}

    function: Function

    def __new__(cls, name: str) -> Elementwise:
        found = cls._named.get(name)
        if found is not None:
            return found
        if name not in TABLE:
            raise ArgumentError(
                f"there is no elementwise function {name!r}",
                {"functions": ", ".join(TABLE)},
                "Use one of these names.",
            )
        row = TABLE[name]
        made: Elementwise = object.__new__(cls)
        made.name, made.arity, made.function = row.name, row.arity, row
        made.symbol, made.precedence = row.symbol, row.precedence
        made.associative = "associative" in row.laws
        made.commutative = "commutative" in row.laws
        made.idempotent = "idempotent" in row.laws
        made.computes = not row.tests
        made.difference = cls(row.difference) if row.difference else None
        made.inverse = cls(row.inverse) if row.inverse else None
        made.identity = getattr(row.compute, "identity", None) if made.associative else None
        made.params, made._nodes, made._types = (), {}, {}
        made.digest = digest_of(cls.__qualname__, name, ())
        with _lock:
            return cls._named.setdefault(name, made)

    def __reduce__(self) -> tuple[object, ...]:
        return Elementwise, (self.name,)

    def coerce(self, operands: tuple[Any, ...]) -> tuple[Variable, ...]:
        """Turn numbers and arrays into constants, by the function's own rule where it has one."""
        prepare = self.function.prepare
        if prepare is not None:
            return prepare(self, operands)
        try:
            return super().coerce(operands)
        except NumberRangeError:
            found = in_floats(self.function, operands)
            if found is None:
                raise
            return found

    def infer(self, *types: Any) -> Type:
        """Return NumPy's dtype and the broadcast shape."""
        dtype = self.function.loop(self.name, tuple([t.dtype for t in types]))[-1]
        return TensorType(dtype, broadcast_shapes([t.shape for t in types]))

    def perform(self, *values: Any) -> Any:
        """Compute with NumPy or SciPy, in the dtypes of the function's own rule."""
        arrays = [np.asarray(v) for v in values]
        loop = self.function.loop(self.name, tuple([a.dtype for a in arrays]))
        cast = [a.astype(d, copy=False) for a, d in zip(arrays, loop, strict=False)]
        return np.asarray(self.function.compute(*cast))

    def flops(self, types: tuple[Any, ...], result: Any) -> int:
        """Return the weight of the function for each element of the result."""
        return self.function.weight * size(result)

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Return what the function's rule proves, and the structure of a matrix it keeps."""
        found = self.function.facts(operands, node)
        if node.type.ndim >= 2:
            found |= structure(self.function.zero, operands, node)
        return found


class Cast(Op):
    """Conversion to another dtype, as ``array.astype`` does.

    Parameters
    ----------
    dtype : dtype-like
        The dtype of the result; stored as its name.
    """

    __slots__ = ()
    name = "cast"
    parameters = ("dtype",)
    arity = 1
    computes = False
    pointwise = True

    @classmethod
    def canonical(cls, dtype: Any) -> tuple[Any, ...]:
        """Store the name of the dtype; an open parameter passes through."""
        if dtype is None:
            raise DTypeError("a cast needs a dtype, not None", fix="Name one, such as 'float64'.")
        return (check_dtype(dtype).name if isinstance(dtype, str | type | np.dtype) else dtype,)

    def infer(self, *types: Any) -> Type:
        """Keep the shape."""
        return types[0].with_dtype(self.params[0])  # type: ignore[no-any-return]

    def perform(self, *values: Any) -> Any:
        """Convert; a float outside of an integer dtype's range is undefined, as in NumPy."""
        return np.asarray(values[0]).astype(self.params[0])

    def facts(self, operands: tuple[Facts, ...], node: Variable) -> Facts:
        """Keep what conversion cannot lose to underflow, overflow or wrapping around."""
        (x,) = operands
        source, target = node.inputs[0].dtype, node.dtype
        if np.can_cast(source, target) or (source.kind in "iu" and target.kind == "f"):
            names: tuple[str, ...] = VALUES
        elif target.kind == "b":
            return kept(x, "nonzero") | (proved("positive") if x.holds("nonzero") else NOTHING)
        elif target.kind == "f":
            names = ("nonnegative", "nonpositive", "integer", "not_nan")
        elif target.itemsize >= source.itemsize and source.kind in "iu" and x.holds("nonnegative"):
            # A signed integer that is not negative keeps its value among unsigned ones.
            names = VALUES if target.kind == "u" else ()
        else:
            names = ()
        found = kept(x, *names)
        if node.type.ndim >= 2 and names:
            found |= structure("all", operands, node)
        return found


@checks_arguments
def cast(x: Any, dtype: npt.DTypeLike, *, copy: bool = True) -> Any:
    """Convert to another dtype, as ``x.astype(dtype)``.

    Parameters
    ----------
    x : Variable or array-like
        Any dtype.
    dtype : dtype-like
        The dtype of the result.
    copy : bool
        Accepted as in NumPy; values of a graph cannot be changed, so it makes no difference.

    Returns
    -------
    Variable
        ``x`` itself where it has that dtype already.

    Raises
    ------
    DTypeError
        For a dtype that relgraph does not compute with.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.vector("x").astype("float32").dtype
    dtype('float32')
    """
    op = Cast(dtype)
    operand = as_operand(x)
    if isinstance(operand, Variable) and operand.dtype == op.params[0]:
        return operand
    return op(operand)


@checks_arguments
def fmax(x1: Any, x2: Any) -> Any:
    """Take the larger of two numbers, or the one that is not NaN, as ``numpy.fmax``.

    Parameters
    ----------
    x1, x2 : Variable or array-like
        Any dtype.

    Returns
    -------
    Variable
        The common dtype.

    Raises
    ------
    ShapeError
        When the shapes do not broadcast.
    """
    return _but_nan(x1, x2, maximum(x1, x2))


@checks_arguments
def fmin(x1: Any, x2: Any) -> Any:
    """Take the smaller of two numbers, or the one that is not NaN, as ``numpy.fmin``.

    Parameters
    ----------
    x1, x2 : Variable or array-like
        Any dtype.

    Returns
    -------
    Variable
        The common dtype.

    Raises
    ------
    ShapeError
        When the shapes do not broadcast.
    """
    return _but_nan(x1, x2, minimum(x1, x2))


def _but_nan(x1: Any, x2: Any, extreme: Any) -> Any:
    if isinstance(extreme, Variable) and extreme.dtype.kind != "f":
        return extreme
    return where(isnan(x1), x2, where(isnan(x2), x1, extreme))


@checks_arguments
def clip(x: Any, lo: Any = None, hi: Any = None) -> Any:
    """Limit to an interval: ``minimum(maximum(x, lo), hi)``.

    Parameters
    ----------
    x : Variable or array-like
        Any dtype.
    lo, hi : Variable, array-like or None
        The bounds; None for no bound on that side.

    Returns
    -------
    Variable
        The common dtype of the operands.

    Raises
    ------
    ShapeError
        When the shapes do not broadcast.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.clip(rg.vector("x"), None, 1)
    minimum(x, 1)
    """
    lo, hi = _within_dtype(x, lo, hi)
    if lo is None and hi is None:
        return as_operand(x)
    if hi is None:
        return maximum(x, lo)
    if lo is None:
        return minimum(x, hi)
    return Elementwise("clip")(x, lo, hi)


def _within_dtype(x: Any, lo: Any, hi: Any) -> tuple[Any, Any]:
    """Return bounds without those that bind no integer of the dtype, as NumPy does."""
    dtype = getattr(x, "dtype", None) if not is_pattern(x) else None
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        lo = None if isinstance(lo, int) and lo < limits.min else lo
        hi = None if isinstance(hi, int) and hi > limits.max else hi
    return lo, hi


@checks_arguments
def copy(x: Any) -> Any:
    """Return the operand itself: values of a graph cannot be changed, so it needs no copy.

    Parameters
    ----------
    x : Variable or array-like
        Any dtype.

    Returns
    -------
    Variable
        The operand.
    """
    return as_operand(x)


@checks_arguments
def positive(x: Any) -> Any:
    """Return the operand itself, as ``+x`` does.

    Parameters
    ----------
    x : Variable or array-like
        Any dtype but bool.

    Returns
    -------
    Variable
        The operand.

    Raises
    ------
    DTypeError
        For a bool, as in NumPy.
    """
    operand = as_operand(x)
    if isinstance(operand, Variable):
        _POSITIVE("positive", (operand.dtype,))
    return operand


_POSITIVE = ufunc_loop(np.positive)


@checks_arguments
def conjugate(x: Any) -> Any:
    """Return the operand itself, which is real; a bool as int8, as ``numpy.conjugate`` does.

    Parameters
    ----------
    x : Variable or array-like
        Any dtype.

    Returns
    -------
    Variable
        The operand.
    """
    operand = as_operand(x)
    if isinstance(operand, Variable) and operand.dtype.kind == "b":
        return cast(operand, "int8")
    return operand


def raise_to(x1: Any, x2: Any) -> Any:
    """Raise to a power, as the operator ``**`` does.

    NumPy's ``**`` with the number 2 is ``np.square``, which differs from ``np.power`` for bool:
    the result is int8.
    """
    if type(x2) is int and x2 == 2 and isinstance(x1, Variable) and x1.dtype.kind == "b":
        return square(x1)
    return power(x1, x2)


@checks_arguments
def divmod(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Return the quotient rounded down and the remainder, as ``divmod(x1, x2)`` does.

    Parameters
    ----------
    x1, x2 : Variable or array-like
        Any dtype.

    Returns
    -------
    tuple of Variable
        ``x1 // x2`` and ``x1 % x2``.

    Raises
    ------
    ShapeError
        When the shapes do not broadcast.
    """
    return floor_divide(x1, x2), remainder(x1, x2)


@checks_arguments
def round(x: Any, decimals: int | None = None) -> Any:
    """Round to a number of decimals, halves to even.

    Parameters
    ----------
    x : Variable or array-like
        Integers change where ``decimals`` is negative only.
    decimals : int, optional
        The number of decimals, 0 by default; -1 rounds to tens.

    Returns
    -------
    Variable
        The dtype of ``x``.

    Raises
    ------
    ArgumentError
        For a number of decimals that is not an int.
    DTypeError
        For decimals of a bool, as in NumPy.
    DomainError
        For more than 308 decimals, or fewer than -308: NumPy makes all numbers NaN.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.round(rg.vector("x"), 1)
    rint(x * 10) / 10
    """
    operand = as_operand(x)
    decimals = 0 if decimals is None else check_int(decimals, "round: decimals")
    whole = not is_pattern(operand) and operand.dtype.kind in "iu"
    if decimals >= 0 and whole:
        return operand
    if decimals == 0:
        return rint(operand)
    if abs(decimals) > _MOST_DECIMALS:
        raise DomainError(
            f"round: 10 to the power of {abs(decimals)} is no float64",
            {"decimals": decimals},
            f"Give decimals from {-_MOST_DECIMALS} to {_MOST_DECIMALS}.",
        )
    if not is_pattern(operand) and operand.dtype.kind == "b":
        raise DTypeError(
            f"round with decimals={decimals} is not defined for bool",
            {"array": f"{operand} : {operand.type}"},
            "Convert the operand with .astype(...), or leave decimals= out.",
        )
    unit = 10.0 ** abs(decimals)
    if decimals > 0:
        return true_divide(rint(multiply(operand, unit)), unit)
    rounded = multiply(rint(true_divide(operand, unit)), unit)
    return cast(rounded, operand.dtype) if whole else rounded


_MOST_DECIMALS = sys.float_info.max_10_exp


add = Elementwise("add")
subtract = Elementwise("subtract")
multiply = Elementwise("multiply")
true_divide = Elementwise("true_divide")
floor_divide = Elementwise("floor_divide")
remainder = Elementwise("remainder")
power = Elementwise("power")
negative = Elementwise("negative")
copysign = Elementwise("copysign")
signbit = Elementwise("signbit")
absolute = Elementwise("absolute")
sign = Elementwise("sign")
square = Elementwise("square")
sqrt = Elementwise("sqrt")
cbrt = Elementwise("cbrt")
reciprocal = Elementwise("reciprocal")
maximum = Elementwise("maximum")
minimum = Elementwise("minimum")
equal = Elementwise("equal")
not_equal = Elementwise("not_equal")
less = Elementwise("less")
less_equal = Elementwise("less_equal")
greater = Elementwise("greater")
greater_equal = Elementwise("greater_equal")
logical_and = Elementwise("logical_and")
logical_or = Elementwise("logical_or")
logical_xor = Elementwise("logical_xor")
logical_not = Elementwise("logical_not")
bitwise_and = Elementwise("bitwise_and")
bitwise_or = Elementwise("bitwise_or")
bitwise_xor = Elementwise("bitwise_xor")
invert = Elementwise("invert")
left_shift = Elementwise("left_shift")
right_shift = Elementwise("right_shift")
where = Elementwise("where")
isnan = Elementwise("isnan")
isinf = Elementwise("isinf")
isfinite = Elementwise("isfinite")
exp = Elementwise("exp")
exp2 = Elementwise("exp2")
expm1 = Elementwise("expm1")
log = Elementwise("log")
log2 = Elementwise("log2")
log10 = Elementwise("log10")
log1p = Elementwise("log1p")
logaddexp = Elementwise("logaddexp")
log1mexp = Elementwise("log1mexp")
sin = Elementwise("sin")
cos = Elementwise("cos")
tan = Elementwise("tan")
arcsin = Elementwise("arcsin")
arccos = Elementwise("arccos")
arctan = Elementwise("arctan")
arctan2 = Elementwise("arctan2")
sinh = Elementwise("sinh")
cosh = Elementwise("cosh")
tanh = Elementwise("tanh")
arcsinh = Elementwise("arcsinh")
arccosh = Elementwise("arccosh")
arctanh = Elementwise("arctanh")
hypot = Elementwise("hypot")
erf = Elementwise("erf")
erfc = Elementwise("erfc")
erfcx = Elementwise("erfcx")
logerfc = Elementwise("logerfc")
gamma = Elementwise("gamma")
gammaln = Elementwise("gammaln")
digamma = Elementwise("digamma")
trigamma = Elementwise("trigamma")
polygamma = Elementwise("polygamma")
kv = Elementwise("kv")
kve = Elementwise("kve")
iv = Elementwise("iv")
ive = Elementwise("ive")
sigmoid = Elementwise("sigmoid")
softplus = Elementwise("softplus")
floor = Elementwise("floor")
ceil = Elementwise("ceil")
trunc = Elementwise("trunc")
rint = Elementwise("rint")
