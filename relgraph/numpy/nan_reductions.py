"""Reductions that skip NaN: nansum, nanmean, nanmax and the like."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.errors import DTypeError
from relgraph.ir.node import Variable
from relgraph.numpy import reductions
from relgraph.numpy.operands import typed
from relgraph.ops import cumulative, elementwise
from relgraph.ops.checks import assert_
from relgraph.ops.docstrings import documented

__all__ = [
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


def _filled(x: Variable, value: float) -> Any:
    """Return an operand with a number in place of NaN."""
    if x.dtype.kind != "f":
        return x
    return elementwise.where(elementwise.isnan(x), value, x)


@documented(like=reductions.sum)
def nansum(
    a: Any,
    axis: Any = None,
    keepdims: Any = False,
    *,
    dtype: npt.DTypeLike | None = None,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Add up the elements that are not NaN, as ``numpy.nansum``.

    Returns: The dtype of ``sum``; 0 where every element is NaN.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.nansum(rg.vector("x"))
    sum(where(isnan(x), 0, x))
    """
    values = _filled(typed(a, "nansum"), 0)
    return reductions.sum(values, axis, keepdims, dtype=dtype, initial=initial, where=where)


@documented(like=reductions.prod)
def nanprod(
    a: Any,
    axis: Any = None,
    keepdims: Any = False,
    *,
    dtype: npt.DTypeLike | None = None,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Multiply the elements that are not NaN, as ``numpy.nanprod``.

    Returns: The dtype of ``prod``; 1 where every element is NaN.
    """
    values = _filled(typed(a, "nanprod"), 1)
    return reductions.prod(values, axis, keepdims, dtype=dtype, initial=initial, where=where)


@documented(like=reductions.max)
def nanmax(
    a: Any, axis: Any = None, keepdims: Any = False, *, initial: Any = None, where: Any = None
) -> Any:
    """Take the largest of the elements that are not NaN, as ``numpy.nanmax``.

    Returns: The dtype of ``a``; NaN where every element is, without the warning of NumPy.
    """
    x = typed(a, "nanmax")
    largest = reductions.max(_filled(x, -np.inf), axis, keepdims, initial=initial, where=where)
    return largest if initial is not None else _nan_of_nothing(x, axis, keepdims, largest)


@documented(like=nanmax)
def nanmin(
    a: Any, axis: Any = None, keepdims: Any = False, *, initial: Any = None, where: Any = None
) -> Any:
    """Take the smallest of the elements that are not NaN, as ``numpy.nanmin``.

    initial (scalar, optional): An upper bound of the result, and the result over no elements.
    """
    x = typed(a, "nanmin")
    smallest = reductions.min(_filled(x, np.inf), axis, keepdims, initial=initial, where=where)
    return smallest if initial is not None else _nan_of_nothing(x, axis, keepdims, smallest)


def _nan_of_nothing(x: Variable, axis: Any, keepdims: Any, extreme: Any) -> Any:
    """Return an extreme over axes, but NaN where every element is NaN."""
    if x.dtype.kind != "f":
        return extreme
    nothing = reductions.all(elementwise.isnan(x), axis, keepdims)
    return elementwise.where(nothing, np.nan, extreme)


@documented(like=reductions.argmax)
def nanargmax(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Return the index of the first largest element that is not NaN, as ``numpy.nanargmax``.

    DomainError: At a call, where all elements along the axis are NaN.
    """
    x = typed(a, "nanargmax")
    return _some_number(x, axis, reductions.argmax(_filled(x, -np.inf), axis, keepdims))


@documented(like=nanargmax)
def nanargmin(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Return the index of the first smallest element that is not NaN, as ``numpy.nanargmin``."""
    x = typed(a, "nanargmin")
    return _some_number(x, axis, reductions.argmin(_filled(x, np.inf), axis, keepdims))


def _some_number(x: Variable, axis: Any, index: Any) -> Any:
    """Return an index; a call raises DomainError where all elements along the axis are NaN."""
    if x.dtype.kind != "f":
        return index
    numbers = reductions.any(elementwise.logical_not(elementwise.isnan(x)), axis)
    return assert_(
        index,
        numbers,
        "all elements along the axis are NaN",
        "Leave these slices out, or use np.argmin or np.argmax: there the first NaN counts.",
    )


@documented("reduction")
def nanmean(
    a: Any,
    axis: Any = None,
    keepdims: Any = False,
    *,
    dtype: npt.DTypeLike | None = None,
    where: Any = None,
) -> Any:
    """Take the mean of the elements that are not NaN, as ``numpy.nanmean``.

    dtype (float dtype-like, optional):
    Returns: The dtype of ``mean``; NaN where every element is, without the warning of NumPy.
    DTypeError: For a ``dtype`` that is not a float, of floats.
    """
    x = typed(a, "nanmean")
    if x.dtype.kind != "f":
        return reductions.mean(x, axis, keepdims, dtype=dtype, where=where)
    if dtype is not None and np.dtype(dtype).kind != "f":
        raise DTypeError(
            f"nanmean of {x.dtype} has a float dtype, not {np.dtype(dtype)}",
            fix="Leave dtype out, and convert the result with .astype(...).",
        )
    total = reductions.sum(_filled(x, 0), axis, keepdims, dtype=dtype, where=where)
    return _quotient(total, _count(x, axis, keepdims, where))


def _count(x: Variable, axis: Any, keepdims: Any, where: Any = None) -> Any:
    """Return how many elements are not NaN."""
    numbers = elementwise.logical_not(elementwise.isnan(x))
    return reductions.sum(numbers, axis, keepdims, where=where)


def _quotient(total: Any, count: Any) -> Any:
    """Divide by an int64, rounding once more to the dtype of the sum, as NumPy does."""
    return elementwise.cast(elementwise.true_divide(total, count), total.dtype)


@documented("reduction")
def nanvar(
    a: Any, axis: Any = None, *, ddof: float = 0, keepdims: Any = False, correction: float = 0
) -> Any:
    """Compute the variance of the elements that are not NaN, as ``numpy.nanvar``.

    Returns: The dtype of ``var``; NaN where no more elements than ``ddof`` are numbers.
    """
    x = typed(a, "nanvar")
    ddof = ddof or correction
    if x.dtype.kind != "f":
        return reductions.var(x, axis, ddof=ddof, keepdims=keepdims)
    squares = elementwise.square(elementwise.subtract(x, nanmean(x, axis, True)))
    squares = elementwise.where(elementwise.isnan(x), 0, squares)
    count = elementwise.subtract(_count(x, axis, keepdims), ddof)
    variance = _quotient(reductions.sum(squares, axis, keepdims), count)
    return elementwise.where(elementwise.less_equal(count, 0), np.nan, variance)


@documented(like=nanvar)
def nanstd(
    a: Any, axis: Any = None, *, ddof: float = 0, keepdims: Any = False, correction: float = 0
) -> Any:
    """Compute the standard deviation of the elements that are not NaN, as ``numpy.nanstd``.

    Returns: The dtype of ``std``; NaN where no more elements than ``ddof`` are numbers.
    """
    return elementwise.sqrt(nanvar(a, axis, ddof=ddof, keepdims=keepdims, correction=correction))


@documented("cumulative")
def nancumsum(a: Any, axis: Any = None, dtype: npt.DTypeLike | None = None) -> Any:
    """Add up elements one by one, NaN as 0, as ``numpy.nancumsum``.

    Returns: The dtype of ``cumsum``.
    """
    return cumulative.cumsum(_filled(typed(a, "nancumsum"), 0), axis, dtype)


@documented("cumulative")
def nancumprod(a: Any, axis: Any = None, dtype: npt.DTypeLike | None = None) -> Any:
    """Multiply elements one by one, NaN as 1, as ``numpy.nancumprod``.

    Returns: The dtype of ``cumprod``.
    """
    return cumulative.cumprod(_filled(typed(a, "nancumprod"), 1), axis, dtype)
