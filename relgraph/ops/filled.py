"""Arrays of one value, and ranges of numbers: full, zeros, ones and arange."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.errors import (
    ArgumentError,
    DomainError,
    NumberRangeError,
    PatternError,
    RelgraphError,
    checks_arguments,
)
from relgraph.ir.node import Constant, Variable, as_literal, constant
from relgraph.ir.types import check_dtype
from relgraph.ops.arguments import as_operand, is_pattern
from relgraph.ops.elementwise import cast
from relgraph.ops.shape import broadcast_to
from relgraph.ops.shape import shape as shape_of


@checks_arguments
def full(shape: Any, value: Any, dtype: npt.DTypeLike | None = None) -> Any:
    """Return an array of one value.

    Parameters
    ----------
    shape : int, or tuple of int and integer scalar Variables
        Sizes; those that are known at the call only are given as in ``rg.shape(x)``.
    value : Variable or array-like
        What to fill it with; broadcast to the shape.
    dtype : dtype-like, optional
        That of the result; by default that of ``value``.

    Returns
    -------
    Variable
        A constant, broadcast.

    Raises
    ------
    ArgumentError
        For a size that is no int.
    DomainError
        For a negative size.
    DTypeError
        For a dtype that relgraph does not compute with.
    NumberRangeError
        For an int that an integer dtype cannot hold.
    ShapeError
        When the value does not broadcast to the shape.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.full((2, 3), 7).type
    int64[2, 3]
    """
    if dtype is not None:
        dtype = check_dtype(dtype)
        _check_fits(value, dtype)
    filling = as_operand(as_literal(value))
    if dtype is not None:
        known = isinstance(filling, Constant)
        filling = constant(filling.value.astype(dtype)) if known else cast(filling, dtype)
    return broadcast_to(filling, shape)


def _check_fits(value: Any, dtype: np.dtype[Any]) -> None:
    """Refuse a Python int that an integer dtype cannot hold, as NumPy does; arrays wrap around."""
    if dtype.kind not in "iu" or not isinstance(value, int):
        return
    limits = np.iinfo(dtype)
    if not limits.min <= value <= limits.max:
        raise NumberRangeError(
            f"full: the number {value} does not fit {dtype}",
            {"range": f"{limits.min} to {limits.max}"},
            "Give a wider dtype, or a number of that range.",
        )


@checks_arguments
def zeros(shape: Any, dtype: npt.DTypeLike = "float64") -> Any:
    """Return an array of zeros.

    Parameters
    ----------
    shape : int, or tuple of int and integer scalar Variables
        Sizes, as for :func:`full`.
    dtype : dtype-like
        That of the result.

    Returns
    -------
    Variable
        A constant, broadcast.

    Raises
    ------
    ArgumentError
        For a size that is no int.
    DomainError
        For a negative size.
    """
    return full(shape, 0, dtype)


@checks_arguments
def ones(shape: Any, dtype: npt.DTypeLike = "float64") -> Any:
    """Return an array of ones.

    Parameters
    ----------
    shape : int, or tuple of int and integer scalar Variables
        Sizes, as for :func:`full`.
    dtype : dtype-like
        That of the result.

    Returns
    -------
    Variable
        A constant, broadcast.

    Raises
    ------
    ArgumentError
        For a size that is no int.
    DomainError
        For a negative size.
    """
    return full(shape, 1, dtype)


@checks_arguments
def full_like(x: Any, value: Any, dtype: npt.DTypeLike | None = None, *, shape: Any = None) -> Any:
    """Return an array of one value with the shape of ``x``.

    Parameters
    ----------
    x : Variable, array-like or pattern
        Its values are not used; where its sizes are not static, its shape is read at the call.
    value : Variable or array-like
        What to fill the array with.
    dtype : dtype-like, optional
        That of the result; by default that of ``x``.
    shape : int or tuple, optional
        That of the result, as for :func:`full`; by default that of ``x``.

    Returns
    -------
    Variable or number
        A constant, broadcast.  Of a pattern it is the number, which stands for a constant of any
        shape in a pattern and takes the shape and dtype of what it replaces.

    Raises
    ------
    PatternError
        For a pattern together with a dtype or shape, or with a value other than a number.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.full_like(rg.vector("x", shape="n"), 2).type
    float64[n]
    """
    if is_pattern(x):
        return _number_like(value, dtype, shape)
    sizes = shape_of(x) if shape is None else shape
    return full(sizes, value, as_operand(x).dtype if dtype is None else dtype)


def _number_like(value: Any, dtype: Any, shape: Any) -> bool | int | float:
    """Return what stands for a filled array in a pattern: a number, which has any shape."""
    number = value.item() if isinstance(value, np.generic) else value
    if dtype is None and shape is None and isinstance(number, bool | int | float):
        return number
    raise PatternError(
        "full_like of a pattern takes a number, which has the shape and dtype of the pattern",
        {"value": value, "dtype": dtype, "shape": shape},
        "Leave dtype= and shape= out; rg.full makes an array of a shape and dtype of its own.",
    )


@checks_arguments
def zeros_like(x: Any, dtype: npt.DTypeLike | None = None, *, shape: Any = None) -> Any:
    """Return zeros with the shape of ``x``.

    Parameters
    ----------
    x : Variable, array-like or pattern
        Its values are not used.
    dtype : dtype-like, optional
        That of the result; by default that of ``x``.
    shape : int or tuple, optional
        That of the result, as for :func:`full`; by default that of ``x``.

    Returns
    -------
    Variable or number
        A constant, broadcast.  Of a pattern it is the number, which stands for a constant of any
        shape in a pattern and takes the shape and dtype of what it replaces.

    Raises
    ------
    PatternError
        For a pattern, together with a dtype or shape.
    """
    return full_like(x, 0, dtype, shape=shape)


@checks_arguments
def ones_like(x: Any, dtype: npt.DTypeLike | None = None, *, shape: Any = None) -> Any:
    """Return ones with the shape of ``x``.

    Parameters
    ----------
    x : Variable, array-like or pattern
        Its values are not used.
    dtype : dtype-like, optional
        That of the result; by default that of ``x``.
    shape : int or tuple, optional
        That of the result, as for :func:`full`; by default that of ``x``.

    Returns
    -------
    Variable or number
        A constant, broadcast.  Of a pattern it is the number, which stands for a constant of any
        shape in a pattern and takes the shape and dtype of what it replaces.

    Raises
    ------
    PatternError
        For a pattern, together with a dtype or shape.
    """
    return full_like(x, 1, dtype, shape=shape)


@checks_arguments
def arange(
    start: float, stop: float | None = None, step: float = 1, dtype: npt.DTypeLike | None = None
) -> Variable:
    """Return evenly spaced numbers as a constant.

    Parameters
    ----------
    start, stop, step : int or float
        As in NumPy: ``start`` up to, without, ``stop``; with one argument, from 0 up to it.
    dtype : dtype-like, optional
        That of the result.

    Returns
    -------
    Constant
        One dimension.

    Raises
    ------
    ArgumentError
        For a bound that is known at the call only, or is no number.
    DomainError
        For a step of 0, and bounds between which there is no range.
    DTypeError
        For a dtype that relgraph does not compute with.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.arange(3)
    [0, 1, 2]
    """
    for bound in (start, stop, step):
        if isinstance(bound, Variable) or is_pattern(bound):
            raise ArgumentError(
                "arange needs numbers that are known when the graph is built",
                {"given": bound},
                "Pass the range as an input.",
            )
    dtype = None if dtype is None else check_dtype(dtype)
    given = {"start": start, "stop": stop, "step": step}
    if stop is None:
        start, stop = 0, start
    try:
        return constant(np.arange(start, stop, step, dtype=dtype))
    except (ArithmeticError, TypeError, ValueError) as error:
        if isinstance(error, RelgraphError):
            raise
        kind = ArgumentError if isinstance(error, TypeError) else DomainError
        raise kind(
            "arange has no range between what it is given",
            {**given, "numpy": error},
            "Give finite numbers, a step that is not 0, and a dtype of numbers.",
        ) from None
