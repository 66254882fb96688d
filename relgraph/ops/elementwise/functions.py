"""NumPy's elementwise functions that are not ops: conversions, and compositions of ops."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.errors import DomainError, DTypeError
from relgraph.ir.node import Variable
from relgraph.ops.arguments import as_operand, check_int, is_pattern
from relgraph.ops.docstrings import documented
from relgraph.ops.elementwise.cast import Cast
from relgraph.ops.elementwise.instances import (
    floor_divide,
    isnan,
    maximum,
    minimum,
    multiply,
    power,
    remainder,
    rint,
    square,
    true_divide,
    where,
)
from relgraph.ops.elementwise.op import Elementwise
from relgraph.ops.elementwise.row import ufunc_loop


@documented()
def cast(x: Any, dtype: npt.DTypeLike, *, copy: bool = True) -> Any:
    """Convert to another dtype, as ``x.astype(dtype)``.

    dtype (dtype-like):
    Returns: ``x`` itself where it has that dtype already.

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


def in_dtype(x: Any, dtype: npt.DTypeLike | None) -> Any:
    """Return ``x`` in a dtype, or unchanged for None."""
    return x if dtype is None else cast(x, dtype)


@documented("elementwise")
def fmax(x1: Any, x2: Any) -> Any:
    """Take the larger of two numbers, or the one that is not NaN, as ``numpy.fmax``.

    Returns: The common dtype.
    """
    return _but_nan(x1, x2, maximum(x1, x2))


@documented(like=fmax)
def fmin(x1: Any, x2: Any) -> Any:
    """Take the smaller of two numbers, or the one that is not NaN, as ``numpy.fmin``."""
    return _but_nan(x1, x2, minimum(x1, x2))


def _but_nan(x1: Any, x2: Any, extreme: Any) -> Any:
    if isinstance(extreme, Variable) and extreme.dtype.kind != "f":
        return extreme
    return where(isnan(x1), x2, where(isnan(x2), x1, extreme))


@documented()
def clip(x: Any, lo: Any = None, hi: Any = None) -> Any:
    """Limit to an interval: ``minimum(maximum(x, lo), hi)``.

    lo, hi (Variable, array-like or None): The bounds; None for no bound on that side.
    Returns: The common dtype of the operands.
    ShapeError: When the shapes do not broadcast.

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


@documented()
def copy(x: Any) -> Any:
    """Return the operand itself: values of a graph cannot be changed, so it needs no copy.

    Returns: The operand.
    """
    return as_operand(x)


@documented()
def positive(x: Any) -> Any:
    """Return the operand itself, as ``+x`` does.

    x: Any dtype but bool, and any shape.
    Returns: The operand.
    DTypeError: For a bool, as in NumPy.
    """
    operand = as_operand(x)
    if isinstance(operand, Variable):
        _POSITIVE("positive", (operand.dtype,))
    return operand


_POSITIVE = ufunc_loop(np.positive)


@documented()
def conjugate(x: Any) -> Any:
    """Return the operand itself, which is real; a bool as int8, as ``numpy.conjugate`` does.

    Returns: The operand.
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


@documented("elementwise")
def divmod(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Return the quotient rounded down and the remainder, as ``divmod(x1, x2)`` does.

    Returns (tuple of Variable): ``x1 // x2`` and ``x1 % x2``.
    """
    return floor_divide(x1, x2), remainder(x1, x2)


@documented()
def round(x: Any, decimals: int | None = None) -> Any:
    """Round to a number of decimals, halves to even.

    x: Integers change where ``decimals`` is negative only.
    decimals (int, optional): The number of decimals, 0 by default; -1 rounds to tens.
    Returns: The dtype of ``x``.
    ArgumentError: For a number of decimals that is not an int.
    DTypeError: For decimals of a bool, as in NumPy.
    DomainError: For more than 308 decimals, or fewer than -308: NumPy makes all numbers NaN.

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
