"""Elementwise functions of NumPy that are compositions of ops, with NumPy's rounding and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, DTypeError, NumberRangeError
from relgraph.ir.node import Constant, Variable, constant, is_weak
from relgraph.ir.op import Op
from relgraph.numpy.operands import as_floats, common_dtype, together, typed
from relgraph.ops import elementwise
from relgraph.ops.arguments import is_pattern
from relgraph.ops.docstrings import documented
from relgraph.ops.elementwise.comparison import wrapped

__all__ = [
    "deg2rad",
    "fabs",
    "fix",
    "float_power",
    "fmod",
    "heaviside",
    "isneginf",
    "isposinf",
    "logaddexp2",
    "modf",
    "nan_to_num",
    "rad2deg",
    "select",
    "sinc",
]

_LOG2_E = 1.4426950408889634


@documented()
def deg2rad(x: Any) -> Any:
    """Convert degrees to radians, as ``numpy.deg2rad``.

    Returns: float32 for float32 and for integers of up to 16 bits, otherwise float64.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.deg2rad(rg.vector("x"))
    x * 0.017453292519943295
    """
    (x,) = as_floats("deg2rad", x)
    return elementwise.multiply(x, constant(np.deg2rad(x.dtype.type(1))))


@documented(like=deg2rad)
def rad2deg(x: Any) -> Any:
    """Convert radians to degrees, as ``numpy.rad2deg``."""
    (x,) = as_floats("rad2deg", x)
    return elementwise.multiply(x, constant(np.rad2deg(x.dtype.type(1))))


@documented(like=deg2rad)
def fabs(x: Any) -> Any:
    """Return absolute values as floats, as ``numpy.fabs``."""
    return elementwise.absolute(*as_floats("fabs", x))


@documented()
def fix(x: Any) -> Any:
    """Round towards zero, as ``numpy.fix``.

    Returns: The dtype of ``x``.
    """
    return elementwise.trunc(typed(x, "fix"))


@documented("elementwise")
def fmod(x1: Any, x2: Any) -> Any:
    """Return the remainder of a division that is cut towards zero, as ``numpy.fmod``.

    Returns: The common dtype, with the sign of ``x1``; exact.

    Examples
    --------
    >>> import relgraph.numpy as rnp
    >>> import relgraph as rg
    >>> x = rg.vector("x")
    >>> rg.function([x], rnp.fmod(x, 3))([-4.0, 4.0])
    array([-1.,  1.])
    """
    x1, x2 = together("fmod", x1, x2)
    rest = elementwise.remainder(x1, x2)
    if rest.dtype.kind == "u":
        return rest
    if rest.dtype.kind == "f":  # of magnitudes, the two remainders are one
        x1 = elementwise.cast(x1, rest.dtype)
        positive = elementwise.absolute(elementwise.cast(x2, rest.dtype))
        return elementwise.copysign(elementwise.remainder(elementwise.absolute(x1), positive), x1)
    x1, x2 = elementwise.cast(x1, rest.dtype), elementwise.cast(x2, rest.dtype)
    apart = elementwise.less(elementwise.bitwise_xor(x1, x2), 0)  # the signs differ
    moved = elementwise.logical_and(apart, elementwise.not_equal(rest, 0))
    return elementwise.where(moved, elementwise.subtract(rest, x2), rest)


@documented()
def modf(x: Any) -> tuple[Any, Any]:
    """Return fractional and whole parts, as ``numpy.modf``.

    Returns (tuple of Variable): Floats, both with the sign of ``x``.
    """
    (x,) = as_floats("modf", x)
    finite = elementwise.where(elementwise.isinf(x), 0, x)
    rest = elementwise.subtract(finite, elementwise.trunc(finite))
    return elementwise.copysign(rest, x), elementwise.trunc(x)


@documented("elementwise")
def float_power(x1: Any, x2: Any) -> Any:
    """Raise to a power in float64, as ``numpy.float_power``.

    Returns: float64.
    """
    wide = np.zeros(())  # Python numbers become float64 beside it, whatever the other operand is
    operands = [together("float_power", x, wide, rule="true_divide")[0] for x in (x1, x2)]
    return elementwise.power(*(elementwise.cast(x, "float64") for x in operands))


@documented("elementwise")
def heaviside(x1: Any, x2: Any) -> Any:
    """Return 0 below zero, 1 above it, and ``x2`` at zero, as ``numpy.heaviside``.

    Returns: The common float; NaN where ``x1`` is.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> x = rg.vector("x")
    >>> rg.function([x], rnp.heaviside(x, 0.5))([-2.0, 0.0, 3.0])
    array([0. , 0.5, 1. ])
    """
    x, middle = as_floats("heaviside", x1, x2)
    step = elementwise.cast(elementwise.greater(x, 0), x.dtype)
    result = elementwise.where(elementwise.equal(x, 0), middle, step)
    return elementwise.where(elementwise.isnan(x), x, result)


@documented("elementwise")
def logaddexp2(x1: Any, x2: Any) -> Any:
    """Return ``log2(2**x1 + 2**x2)`` without overflow, as ``numpy.logaddexp2``.

    Returns: The common float.
    """
    a, b = as_floats("logaddexp2", x1, x2)
    distance = elementwise.negative(elementwise.absolute(elementwise.subtract(a, b)))
    above = elementwise.multiply(elementwise.log1p(elementwise.exp2(distance)), _LOG2_E)
    # Equal infinities have no distance.
    return elementwise.where(
        elementwise.equal(a, b),
        elementwise.add(a, 1),
        elementwise.add(elementwise.maximum(a, b), above),
    )


@documented()
def sinc(x: Any) -> Any:
    """Return ``sin(pi x) / (pi x)``, 1 at zero, as ``numpy.sinc``.

    Returns: float64 for integers, otherwise the dtype of ``x``.
    """
    angle = elementwise.multiply(np.pi, typed(x, "sinc"))
    tiny = float(np.finfo(angle.dtype).eps)  # whose sine is the number itself
    angle = elementwise.where(elementwise.equal(angle, 0), tiny, angle)
    return elementwise.true_divide(elementwise.sin(angle), angle)


@documented()
def isposinf(x: Any) -> Any:
    """Return True where elements are infinity, as ``numpy.isposinf``.

    Returns: bool.
    """
    return _is_infinity(typed(x, "isposinf"), np.inf)


@documented(like=isposinf)
def isneginf(x: Any) -> Any:
    """Return True where elements are minus infinity, as ``numpy.isneginf``."""
    return _is_infinity(typed(x, "isneginf"), -np.inf)


def _is_infinity(x: Variable, infinity: float) -> Any:
    return elementwise.equal(x, infinity) if x.dtype.kind == "f" else elementwise.isinf(x)


@documented()
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Replace NaN and infinities by numbers, as ``numpy.nan_to_num``.

    x: Any dtype and shape; integers are returned as they are.
    copy (bool): Only True: values of a graph cannot be changed.
    nan (scalar): What NaN becomes.
    posinf, neginf (scalar, optional): What the infinities become; by default the largest and the
        smallest number of the dtype.
    Returns: The dtype of ``x``.
    ArgumentError: For ``copy=False``.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.nan_to_num(rg.vector("x"), posinf=9, neginf=-9)
    where(isnan(x), 0, where(equal(x, inf), 9, where(equal(x, -inf), -9, x)))
    """
    if not copy:
        raise ArgumentError(
            "nan_to_num with copy=False changes an array, and those of a graph do not change",
            fix="Leave copy out, and use the result.",
        )
    array = typed(x, "nan_to_num")
    if array.dtype.kind != "f":
        return array
    limits = np.finfo(array.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    result: Any = array
    for test, number in (
        (isneginf(array), low),
        (isposinf(array), high),
        (elementwise.isnan(array), nan),
    ):
        substitute = typed(number, "nan_to_num")
        if isinstance(substitute, Constant):
            substitute = constant(substitute.value.astype(array.dtype))
        result = elementwise.where(test, elementwise.cast(substitute, array.dtype), result)
    return result


@documented()
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Choose each element by the first condition that is true, as ``numpy.select``.

    condlist (sequence of Variable or array-like, bool): The conditions; shapes broadcast.
    choicelist (sequence of Variable or array-like): What each of them chooses.
    default (Variable or array-like): What is chosen where none is true; an integer wraps around in
        the choices' dtype.
    Returns: The common dtype of the choices.
    ArgumentError: For other numbers of conditions and choices, or none; for a Python bool as a
        condition.
    DTypeError: For a condition that is not bool.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> x = rg.vector("x")
    >>> rnp.select([x < 0, x > 1], [0, 1], x)
    where(x < 0, 0, where(x > 1, 1, x))
    """
    conditions, choices = list(condlist), list(choicelist)
    if len(conditions) != len(choices) or not conditions:
        raise ArgumentError(
            "select takes as many choices as conditions, and at least one",
            {"conditions": len(conditions), "choices": len(choices)},
            "Give one choice for each condition; what holds where none does is the third argument.",
        )
    for choice in (*choices, default):
        if is_pattern(choice):
            typed(choice, "select")
    try:
        *branches, result = Op.coerce(elementwise.where, (*choices, default))
    except NumberRangeError:
        if not is_weak(default):
            raise
        *branches, result = wrapped([*Op.coerce(elementwise.where, tuple(choices)), default])
    dtype = common_dtype(*branches, result)
    result = elementwise.cast(result, dtype)
    for condition, choice in zip(reversed(conditions), reversed(branches), strict=True):
        test = typed(condition, "select")
        if test.dtype.kind != "b":
            raise DTypeError(
                f"a condition of select is bool, not {test.dtype}",
                {"condition": f"{test} : {test.type}"},
                "Compare it first, for instance with np.not_equal(condition, 0).",
            )
        result = elementwise.where(test, elementwise.cast(choice, dtype), result)
    return result
