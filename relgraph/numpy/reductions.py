"""NumPy's reductions as functions that build the ops of :mod:`relgraph.ops.reductions`.

An axis may be counted from either end, except in a pattern, whose rank is not known: there it is
counted from the end.
"""

from __future__ import annotations

import builtins
from typing import Any as Value  # Any is a reduction

import numpy as np
import numpy.typing as npt

from relgraph.errors import ArgumentError
from relgraph.ir.node import Variable
from relgraph.numpy.creation import ones_like
from relgraph.numpy.masked_reductions import chosen, start_value, starting_with
from relgraph.ops import elementwise
from relgraph.ops.arguments import (
    as_operand,
    check_no_list,
    is_axis_of_scalar,
    is_pattern,
    normalise_axes,
    normalise_axis,
    rank_of,
)
from relgraph.ops.docstrings import documented
from relgraph.ops.reductions import (
    All,
    Any,
    Argmax,
    Argmin,
    Bottom,
    LogSoftmax,
    LogSumExp,
    Max,
    Mean,
    Min,
    Prod,
    Reduction,
    Softmax,
    Sum,
    Top,
    floating,
    reduced_axes,
)
from relgraph.ops.shape import dim, product_of

__all__ = ["all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var"]

Axis = int | tuple[int, ...] | None


def _reduce(cls: type[Reduction], x: Value, axis: Value, keepdims: Value) -> Value:
    operand = as_operand(x)
    ndim = rank_of(operand)
    check_no_list(axis, cls.name)
    if cls is not Mean and is_axis_of_scalar(axis, ndim):  # as NumPy's
        axis = None
    axes = None if axis is None else normalise_axes(axis, ndim, cls.name)
    if isinstance(axes, tuple) and ndim is not None and len(axes) == ndim:
        axes = None
    return cls(axes, keepdims)(operand)


def _search(cls: type[Reduction], x: Value, axis: Value, keepdims: Value) -> Value:
    operand = as_operand(x)
    ndim = rank_of(operand)
    if is_axis_of_scalar(axis, ndim):
        axis = None
    if axis is not None:
        axis = normalise_axis(axis, ndim, cls.name)
    return cls(None if ndim == 1 else axis, keepdims)(operand)


@documented("reduction")
def sum(
    x: Value,
    axis: Value = None,
    keepdims: Value = False,
    *,
    dtype: npt.DTypeLike | None = None,
    initial: Value = None,
    where: Value = None,
) -> Value:
    """Add up elements over axes; over no elements the sum is 0.

    initial (scalar, optional): What the sum starts with.
    Returns: Of that dtype; without one int64 for bool and signed integers, uint64 for unsigned
        ones, otherwise the dtype of ``x``.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.sum(rg.matrix("X", shape=(2, 3)), axis=0).type
    float64[3]
    """
    values = chosen(elementwise.in_dtype(x, dtype), where, 0, "sum")
    total = elementwise.in_dtype(_reduce(Sum, values, axis, keepdims), dtype)
    if initial is None:
        return total
    return elementwise.add(total, start_value(initial, total, "sum"))


@documented(like=sum)
def prod(
    x: Value,
    axis: Value = None,
    keepdims: Value = False,
    *,
    dtype: npt.DTypeLike | None = None,
    initial: Value = None,
    where: Value = None,
) -> Value:
    """Multiply elements over axes; over no elements the product is 1.

    initial (scalar, optional): What the product starts with.
    """
    values = chosen(elementwise.in_dtype(x, dtype), where, 1, "prod")
    total = elementwise.in_dtype(_reduce(Prod, values, axis, keepdims), dtype)
    if initial is None:
        return total
    return elementwise.multiply(total, start_value(initial, total, "prod"))


@documented("reduction")
def max(
    x: Value,
    axis: Value = None,
    keepdims: Value = False,
    *,
    initial: Value = None,
    where: Value = None,
) -> Value:
    """Take the largest element over axes; NaN where there is one.

    initial (scalar, optional): A lower bound of the result, and the result over no elements.
    where: Which elements count, given ``initial``; broadcast to the shape of the array.
    Returns: The dtype of ``x``.
    ShapeError: For an axis that is statically of size 0, without ``initial``.
    """
    values, start, unfilled = starting_with(x, axis, initial, where, "max")
    largest = _reduce(Top if unfilled else Max, values, axis, keepdims)
    return largest if start is None else elementwise.maximum(largest, start)


@documented(like=max)
def min(
    x: Value,
    axis: Value = None,
    keepdims: Value = False,
    *,
    initial: Value = None,
    where: Value = None,
) -> Value:
    """Take the smallest element over axes; NaN where there is one.

    initial (scalar, optional): An upper bound of the result, and the result over no elements.
    """
    values, start, unfilled = starting_with(x, axis, initial, where, "min")
    smallest = _reduce(Bottom if unfilled else Min, values, axis, keepdims)
    return smallest if start is None else elementwise.minimum(smallest, start)


@documented("reduction")
def mean(
    x: Value,
    axis: Value = None,
    keepdims: Value = False,
    *,
    dtype: npt.DTypeLike | None = None,
    where: Value = None,
) -> Value:
    """Take the mean over axes; over no elements it is NaN.

    Returns: Of that dtype; without one float64 for bool and integers, otherwise the dtype of ``x``.
    """
    operand = as_operand(x)
    every = where is None or where is True
    if every and (dtype is None or is_pattern(operand) or np.dtype(dtype).kind == "f"):
        return _reduce(Mean, elementwise.in_dtype(operand, dtype), axis, keepdims)
    total = sum(
        operand,
        axis,
        keepdims,
        dtype=floating(operand.dtype) if dtype is None else dtype,
        where=where,
    )
    count = sum(chosen(ones_like(operand, "bool"), where, 0, "mean"), axis, keepdims)
    quotient = elementwise.true_divide(total, elementwise.cast(count, floating(total.dtype)))
    return elementwise.in_dtype(quotient, total.dtype)


@documented("reduction")
def any(x: Value, axis: Value = None, keepdims: Value = False, *, where: Value = None) -> Value:
    """Return True where an element over axes is not zero; NaN is not zero.

    Returns: bool.
    """
    return _reduce(Any, chosen(x, where, 0, "any"), axis, keepdims)


@documented(like=any)
def all(x: Value, axis: Value = None, keepdims: Value = False, *, where: Value = None) -> Value:
    """Return True where every element over axes is not zero; NaN is not zero."""
    return _reduce(All, chosen(x, where, 1, "all"), axis, keepdims)


@documented("search")
def argmax(x: Value, axis: Value = None, keepdims: Value = False) -> Value:
    """Return the index of the first largest element, or of the first NaN.

    Returns: int64.
    ShapeError: For an axis that is statically of size 0.
    """
    return _search(Argmax, x, axis, keepdims)


@documented(like=argmax)
def argmin(x: Value, axis: Value = None, keepdims: Value = False) -> Value:
    """Return the index of the first smallest element, or of the first NaN."""
    return _search(Argmin, x, axis, keepdims)


@documented("reduction")
def logsumexp(x: Value, axis: Value = None, keepdims: Value = False) -> Value:
    """Compute ``log(sum(exp(x)))`` over axes without overflow; ``-inf`` over no elements.

    Returns: float64 for bool and integers, otherwise the dtype of ``x``.

    References
    ----------
    P. Blanchard, D. J. Higham and N. J. Higham, "Accurately computing the log-sum-exp and softmax
    functions", IMA Journal of Numerical Analysis 41, 2021.
    """
    return _reduce(LogSumExp, x, axis, keepdims)


@documented()
def softmax(x: Value, axis: Value = -1) -> Value:
    """Compute ``exp(x) / sum(exp(x))`` along an axis without overflow.

    x: Any dtype, at least one dimension.
    axis (int): The axis that adds up to 1.
    Returns: The shape of ``x``; float64 for bool and integers, otherwise the dtype of ``x``.
    DomainError: For an axis out of range, as every axis of a scalar is.
    """
    operand = as_operand(x)
    return Softmax(normalise_axis(axis, rank_of(operand), "softmax"))(operand)


@documented(like=softmax)
def log_softmax(x: Value, axis: Value = -1) -> Value:
    """Compute ``x - logsumexp(x)`` along an axis without overflow.

    axis (int): The axis whose exponentials add up to 1.
    """
    operand = as_operand(x)
    return LogSoftmax(normalise_axis(axis, rank_of(operand), "log_softmax"))(operand)


@documented("reduction")
def var(
    a: Value, axis: Value = None, *, ddof: float = 0, keepdims: Value = False, correction: float = 0
) -> Value:
    """Compute the variance over axes: the mean square distance from the mean.

    Returns: float64 for bool and integers, otherwise the dtype of ``a``.
    ArgumentError: For a ``ddof`` that is not a number, or not 0 in a pattern.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.var(rg.vector("x"))
    mean(square(x - mean(x, keepdims=True)))
    """
    operand, ddof = as_operand(a), ddof or correction
    squares = elementwise.square(elementwise.subtract(operand, mean(operand, axis, True)))
    if isinstance(ddof, int | float) and ddof == 0:
        return mean(squares, axis, keepdims)
    if not isinstance(ddof, int | float) or not isinstance(operand, Variable):
        raise ArgumentError(
            f"var takes ddof as a number, and in a pattern only 0, not {ddof!r}",
            fix="Write the sum of squares and its divisor out.",
        )
    return elementwise.true_divide(
        sum(squares, axis, keepdims), _degrees_of_freedom(operand, axis, ddof)
    )


@documented(like=var)
def std(
    a: Value, axis: Value = None, *, ddof: float = 0, keepdims: Value = False, correction: float = 0
) -> Value:
    """Compute the standard deviation over axes: the square root of the variance."""
    return elementwise.sqrt(var(a, axis, ddof=ddof, keepdims=keepdims, correction=correction))


def _degrees_of_freedom(x: Variable, axis: Axis, ddof: float) -> Value:
    """Return the number of reduced elements less ``ddof``, not below 0."""
    sizes = [dim(x, a) for a in reduced_axes(axis, x.ndim, "var")]
    static = [size for size in sizes if isinstance(size, int)]
    count = product_of([*static, *[size for size in sizes if not isinstance(size, int)]])
    if isinstance(count, int):
        return builtins.max(count - ddof, 0)
    free = elementwise.subtract(elementwise.cast(count, floating(x.dtype)), ddof)
    return elementwise.maximum(free, 0)
