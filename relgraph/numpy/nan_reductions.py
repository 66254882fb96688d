"""Reductions that pass over NaN: nansum, nanmean, nanmax and the like."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.errors import DTypeError, checks_arguments
from relgraph.ir.node import Variable
from relgraph.numpy import reductions
from relgraph.numpy.operands import typed
from relgraph.ops import cumulative, elementwise
from relgraph.ops.checks import assert_

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


@checks_arguments
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

    Parameters
    ----------
    a : Variable or array-like
        Any dtype and shape.
    axis : int, tuple of int or None
        The axes to reduce; None for all.
    keepdims : bool
        Whether reduced axes stay, with size 1.
    dtype : dtype-like, optional
        The dtype to compute in, and of the result.
    initial : scalar, optional
        What the sum starts with.
    where : bool array, optional
        Which elements count; broadcast to the shape of ``a``.

    Returns
    -------
    Variable
        The dtype of ``sum``; 0 where every element is NaN.

    Raises
    ------
    DomainError
        For an axis out of range, or one given twice.
    DTypeError
        For a ``where`` that is not bool.
    ShapeError
        For a ``where`` that does not broadcast to the shape of ``a``.
    PatternError
        For a pattern, which has no type.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.nansum(rg.vector("x"))
    sum(where(isnan(x), 0, x))
    """
    values = _filled(typed(a, "nansum"), 0)
    return reductions.sum(values, axis, keepdims, dtype=dtype, initial=initial, where=where)


@checks_arguments
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

    Parameters
    ----------
    a : Variable or array-like
        Any dtype and shape.
    axis : int, tuple of int or None
        The axes to reduce; None for all.
    keepdims : bool
        Whether reduced axes stay, with size 1.
    dtype : dtype-like, optional
        The dtype to compute in, and of the result.
    initial : scalar, optional
        What the product starts with.
    where : bool array, optional
        Which elements count; broadcast to the shape of ``a``.

    Returns
    -------
    Variable
        The dtype of ``prod``; 1 where every element is NaN.

    Raises
    ------
    DomainError
        For an axis out of range, or one given twice.
    DTypeError
        For a ``where`` that is not bool.
    ShapeError
        For a ``where`` that does not broadcast to the shape of ``a``.
    PatternError
        For a pattern, which has no type.
    """
    values = _filled(typed(a, "nanprod"), 1)
    return reductions.prod(values, axis, keepdims, dtype=dtype, initial=initial, where=where)


@checks_arguments
def nanmax(
    a: Any, axis: Any = None, keepdims: Any = False, *, initial: Any = None, where: Any = None
) -> Any:
    """Take the largest of the elements that are not NaN, as ``numpy.nanmax``.

    Parameters
    ----------
    a : Variable or array-like
        Any dtype and shape.
    axis : int, tuple of int or None
        The axes to reduce; None for all.
    keepdims : bool
        Whether reduced axes stay, with size 1.
    initial : scalar, optional
        A lower bound of the result.
    where : bool array, optional
        Which elements count, together with ``initial``.

    Returns
    -------
    Variable
        The dtype of ``a``; NaN where every element is, without the warning of NumPy.

    Raises
    ------
    ShapeError
        For an axis that is statically of size 0, without ``initial``.
    """
    x = typed(a, "nanmax")
    found = reductions.max(_filled(x, -np.inf), axis, keepdims, initial=initial, where=where)
    return found if initial is not None else _nan_of_nothing(x, axis, keepdims, found)


@checks_arguments
def nanmin(
    a: Any, axis: Any = None, keepdims: Any = False, *, initial: Any = None, where: Any = None
) -> Any:
    """Take the smallest of the elements that are not NaN, as ``numpy.nanmin``.

    Parameters
    ----------
    a : Variable or array-like
        Any dtype and shape.
    axis : int, tuple of int or None
        The axes to reduce; None for all.
    keepdims : bool
        Whether reduced axes stay, with size 1.
    initial : scalar, optional
        An upper bound of the result.
    where : bool array, optional
        Which elements count, together with ``initial``.

    Returns
    -------
    Variable
        The dtype of ``a``; NaN where every element is, without the warning of NumPy.

    Raises
    ------
    ShapeError
        For an axis that is statically of size 0, without ``initial``.
    """
    x = typed(a, "nanmin")
    found = reductions.min(_filled(x, np.inf), axis, keepdims, initial=initial, where=where)
    return found if initial is not None else _nan_of_nothing(x, axis, keepdims, found)


def _nan_of_nothing(x: Variable, axis: Any, keepdims: Any, found: Any) -> Any:
    if x.dtype.kind != "f":
        return found
    nothing = reductions.all(elementwise.isnan(x), axis, keepdims)
    return elementwise.where(nothing, np.nan, found)


@checks_arguments
def nanargmax(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Find the first place of the largest element that is not NaN, as ``numpy.nanargmax``.

    Parameters
    ----------
    a : Variable or array-like
        Any dtype and shape.  A call raises an error where all elements along the axis are NaN.
    axis : int or None
        The axis to search; None for the canonical_shape array.
    keepdims : bool
        Whether reduced axes stay, with size 1.

    Returns
    -------
    Variable
        int64.

    Raises
    ------
    DomainError
        For an axis out of range; and at a call, where all elements along the axis are NaN.
    ShapeError
        For an axis that is statically of size 0.
    PatternError
        For a pattern, which has no type.
    """
    x = typed(a, "nanargmax")
    return _some_number(x, axis, reductions.argmax(_filled(x, -np.inf), axis, keepdims))


@checks_arguments
def nanargmin(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Find the first place of the smallest element that is not NaN, as ``numpy.nanargmin``.

    Parameters
    ----------
    a : Variable or array-like
        Any dtype and shape.  A call raises an error where all elements along the axis are NaN.
    axis : int or None
        The axis to search; None for the canonical_shape array.
    keepdims : bool
        Whether reduced axes stay, with size 1.

    Returns
    -------
    Variable
        int64.

    Raises
    ------
    DomainError
        For an axis out of range; and at a call, where all elements along the axis are NaN.
    ShapeError
        For an axis that is statically of size 0.
    PatternError
        For a pattern, which has no type.
    """
    x = typed(a, "nanargmin")
    return _some_number(x, axis, reductions.argmin(_filled(x, np.inf), axis, keepdims))


def _some_number(x: Variable, axis: Any, place: Any) -> Any:
    if x.dtype.kind != "f":
        return place
    numbers = reductions.any(elementwise.logical_not(elementwise.isnan(x)), axis)
    return assert_(
        place,
        numbers,
        "all elements along the axis are NaN",
        "Leave these slices out, or use np.argmin or np.argmax: there the first NaN counts.",
    )


@checks_arguments
def nanmean(
    a: Any,
    axis: Any = None,
    keepdims: Any = False,
    *,
    dtype: npt.DTypeLike | None = None,
    where: Any = None,
) -> Any:
    """Take the mean of the elements that are not NaN, as ``numpy.nanmean``.

    Parameters
    ----------
    a : Variable or array-like
        Any dtype and shape.
    axis : int, tuple of int or None
        The axes to reduce; None for all.
    keepdims : bool
        Whether reduced axes stay, with size 1.
    dtype : float dtype-like, optional
        The dtype to compute in, and of the result.
    where : bool array, optional
        Which elements count; broadcast to the shape of ``a``.

    Returns
    -------
    Variable
        The dtype of ``mean``; NaN where every element is, without the warning of NumPy.

    Raises
    ------
    DTypeError
        For a ``dtype`` that is not a float, of floats.
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


@checks_arguments
def nanvar(
    a: Any, axis: Any = None, *, ddof: float = 0, keepdims: Any = False, correction: float = 0
) -> Any:
    """Compute the variance of the elements that are not NaN, as ``numpy.nanvar``.

    Parameters
    ----------
    a : Variable or array-like
        Any dtype and shape.
    axis : int, tuple of int or None
        The axes to reduce; None for all.
    ddof, correction : int or float
        What is subtracted from the number of elements to divide by, under either name.
    keepdims : bool
        Whether reduced axes stay, with size 1.

    Returns
    -------
    Variable
        The dtype of ``var``; NaN where no more elements than ``ddof`` are numbers.

    Raises
    ------
    DomainError
        For an axis out of range, or one given twice.
    PatternError
        For a pattern, which has no type.
    """
    x = typed(a, "nanvar")
    free = ddof or correction
    if x.dtype.kind != "f":
        return reductions.var(x, axis, ddof=free, keepdims=keepdims)
    middle = nanmean(x, axis, True)
    squares = elementwise.square(elementwise.subtract(x, middle))
    squares = elementwise.where(elementwise.isnan(x), 0, squares)
    count = elementwise.subtract(_count(x, axis, keepdims), free)
    found = _quotient(reductions.sum(squares, axis, keepdims), count)
    return elementwise.where(elementwise.less_equal(count, 0), np.nan, found)


@checks_arguments
def nanstd(
    a: Any, axis: Any = None, *, ddof: float = 0, keepdims: Any = False, correction: float = 0
) -> Any:
    """Compute the standard deviation of the elements that are not NaN, as ``numpy.nanstd``.

    Parameters
    ----------
    a : Variable or array-like
        Any dtype and shape.
    axis : int, tuple of int or None
        The axes to reduce; None for all.
    ddof, correction : int or float
        What is subtracted from the number of elements to divide by, under either name.
    keepdims : bool
        Whether reduced axes stay, with size 1.

    Returns
    -------
    Variable
        The dtype of ``std``; NaN where no more elements than ``ddof`` are numbers.

    Raises
    ------
    DomainError
        For an axis out of range, or one given twice.
    PatternError
        For a pattern, which has no type.
    """
    return elementwise.sqrt(nanvar(a, axis, ddof=ddof, keepdims=keepdims, correction=correction))


@checks_arguments
def nancumsum(a: Any, axis: Any = None, dtype: npt.DTypeLike | None = None) -> Any:
    """Add up elements one by one, NaN as 0, as ``numpy.nancumsum``.

    Parameters
    ----------
    a : Variable or array-like
        Any dtype and shape.
    axis : int, optional
        The axis; without it the canonical_shape array.
    dtype : dtype-like, optional
        The dtype to compute in, and of the result.

    Returns
    -------
    Variable
        The dtype of ``cumsum``.

    Raises
    ------
    DomainError
        For an axis out of range.
    PatternError
        For a pattern, which has no type.
    """
    return cumulative.cumsum(_filled(typed(a, "nancumsum"), 0), axis, dtype)


@checks_arguments
def nancumprod(a: Any, axis: Any = None, dtype: npt.DTypeLike | None = None) -> Any:
    """Multiply elements one by one, NaN as 1, as ``numpy.nancumprod``.

    Parameters
    ----------
    a : Variable or array-like
        Any dtype and shape.
    axis : int, optional
        The axis; without it the canonical_shape array.
    dtype : dtype-like, optional
        The dtype to compute in, and of the result.

    Returns
    -------
    Variable
        The dtype of ``cumprod``.

    Raises
    ------
    DomainError
        For an axis out of range.
    PatternError
        For a pattern, which has no type.
    """
    return cumulative.cumprod(_filled(typed(a, "nancumprod"), 1), axis, dtype)
