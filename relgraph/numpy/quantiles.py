"""Quantiles, composed of a sort and an index into it: median, percentile."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, DomainError, DTypeError, ShapeError
from relgraph.ir.node import Variable
from relgraph.numpy import reductions
from relgraph.numpy.operands import typed
from relgraph.ops import elementwise
from relgraph.ops.arguments import normalise_axes
from relgraph.ops.checks import assert_sizes
from relgraph.ops.docstrings import documented
from relgraph.ops.indexing.index import index
from relgraph.ops.permutation import moveaxis, transpose
from relgraph.ops.shape import dim, expand_dims, ravel, reshape, shape
from relgraph.ops.sorting import sort

__all__ = ["median", "percentile", "quantile"]


@documented("reduction")
def median(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the middle element in ascending order, or the mean of both, as ``numpy.median``.

    Returns: The dtype of ``mean``; NaN where there is a NaN or no element, without NumPy's warning.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rg.evaluate(rnp.median([[3.0, 1.0, 2.0], [5.0, 6.0, 8.0]], axis=1))
    array([2., 6.])
    """
    x = typed(a, "median")
    rows, axes = _rows(x, axis, "median")
    count = dim(rows, -1)
    ordered = sort(rows)
    middle = slice((count - 1) // 2, count // 2 + 1)
    result = reductions.mean(index(ordered, (Ellipsis, middle)), -1)
    result = _nan_of_nan(ordered, result, 0)
    return expand_dims(result, axes) if keepdims else result


@documented("reduction")
def quantile(
    a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:
    """Return the elements below which fractions of all lie, as ``numpy.quantile``.

    a: Any shape, at least one element; any dtype but bool, unless ``q`` is of integers.
    q (float or array-like): From 0 to 1, known when the graph is built.
    method ({"linear"}): Between two elements lies what is interpolated.
    Returns: The axes of ``q`` come first. A Python number takes the dtype of floats, an array has
        its part in the dtype. NaN where there is a NaN. Integers are subtracted as floats, where
        NumPy's may wrap around.
    DomainError: For another method, or a fraction out of range.
    ArgumentError: For a ``q`` that is a graph.
    DTypeError: For a ``q`` that is not a number, or an array of bool.
    ShapeError: For axes without elements; at the call, where their sizes are not known before.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rg.evaluate(rnp.quantile([1.0, 2.0, 4.0, 8.0], [0.0, 0.5]))
    array([1., 3.])
    """
    fractions = _numbers(q, "quantile")
    weak = type(q) in (int, float)
    return _quantile("quantile", a, fractions, weak, axis=axis, method=method, keepdims=keepdims)


@documented(like=quantile)
def percentile(
    a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False
) -> Any:
    """Return the elements below which percentages of all lie, as ``numpy.percentile``.

    a: Any shape, at least one element; any dtype but bool.
    q (float or array-like): From 0 to 100, known when the graph is built.
    DomainError: For another method, or a percentage out of range.
    """
    fractions = np.asarray(np.true_divide(_numbers(q, "percentile"), 100))
    weak = type(q) in (int, float)
    return _quantile("percentile", a, fractions, weak, axis=axis, method=method, keepdims=keepdims)


def _numbers(q: Any, function: str) -> np.ndarray:
    if isinstance(q, Variable):
        raise ArgumentError(
            f"{function} takes a q that is known when the graph is built",
            {"given": f"{q} : {q.type}"},
            "Give numbers, or sort the array and index it.",
        )
    numbers = np.asarray(q)
    if numbers.dtype.kind not in "biuf":
        raise DTypeError(
            f"{function} takes a q of real numbers, not {numbers.dtype}",
            {"given": q},
            "Give a float, or a list of them.",
        )
    return numbers


def _quantile(
    function: str, a: Any, q: np.ndarray, weak: bool, *, axis: Any, method: str, keepdims: bool
) -> Any:
    if method != "linear":
        raise DomainError(
            f"{function} has no method {method!r} on graphs",
            fix='Use method="linear", or index np.sort(x) with the places that it takes.',
        )
    if not ((q >= 0) & (q <= 1)).all():
        top = 1 if function == "quantile" else 100
        raise DomainError(
            f"{function} takes a q from 0 to {top}",
            {"given": q * top},
            "Write np.percentile(x, q) for percentages, np.quantile(x, q) for fractions.",
        )
    x = typed(a, function)
    if x.dtype.kind == "b" and q.dtype.kind == "f":
        raise DTypeError(f"{function} of bool is not defined", fix="Convert it: x.astype(float).")
    rows, axes = _rows(x, axis, function)
    count = dim(rows, -1)
    message = f"{function} of no elements is not defined"
    fix = "Reduce axes with elements; np.median of none is NaN."
    if not isinstance(count, int):
        rows = assert_sizes(rows, elementwise.greater(count, 0), message, fix)
    elif count == 0:
        raise ShapeError(message, {"operand": f"{x} : {x.type}"}, fix)
    ordered = sort(rows)
    if q.dtype.kind == "f":
        result = _interpolated(ordered, count, q, weak)
    else:  # the first and the last element
        result = index(ordered, (Ellipsis, (count - 1) * q.astype("int64")))
    result = _nan_of_nan(ordered, result, q.ndim)
    if q.ndim:
        result = moveaxis(result, tuple(range(-q.ndim, 0)), tuple(range(q.ndim)))
    return expand_dims(result, axes) if keepdims else result


def _interpolated(ordered: Variable, count: Any, q: np.ndarray, weak: bool) -> Any:
    """Return elements at fractions of the way along the last axis, by NumPy's arithmetic.

    What follows from a count that is known is a number, and a graph otherwise.
    """
    if q.dtype not in ("float32", "float64"):
        q = q.astype("float64")
    last = count - 1
    places = q * (last.astype(q.dtype) if isinstance(last, Variable) else q.dtype.type(last))
    floor = np.floor(places)
    low = np.minimum(floor.astype("int64"), last)
    part = places - floor
    float_ = np.result_type(ordered.dtype, np.float64 if weak else q.dtype)
    dtype = ordered.dtype if weak and ordered.dtype.kind == "f" else float_
    first = elementwise.cast(index(ordered, (Ellipsis, low)), dtype)
    second = elementwise.cast(index(ordered, (Ellipsis, np.minimum(low + 1, last))), dtype)
    gap = elementwise.subtract(second, first)
    rest = elementwise.multiply(gap, (1 - part).astype(dtype))
    return elementwise.where(
        part >= 0.5,
        elementwise.subtract(second, rest),
        elementwise.add(first, elementwise.multiply(gap, part.astype(dtype))),
    )


def _rows(x: Variable, axis: Any, function: str) -> tuple[Variable, tuple[int, ...]]:
    """Return an array with the axes to reduce as its last one, and these axes."""
    if axis is None:
        return ravel(x), tuple(range(-x.ndim, 0))
    axes: tuple[int, ...] = normalise_axes(axis, x.ndim, function)
    if len(axes) == 1:
        return moveaxis(x, axes[0], -1), axes
    kept = [i for i in range(-x.ndim, 0) if i not in axes]
    sizes, count = shape(x), 1
    for i in axes:
        count = sizes[i] * count  # never -1: NumPy infers no size of an array without elements
    return reshape(transpose(x, (*kept, *axes)), (*[sizes[i] for i in kept], count)), axes


def _nan_of_nan(ordered: Variable, results: Any, trailing: int) -> Any:
    """Return results that are NaN where the last element of a sorted row is."""
    if ordered.dtype.kind != "f":
        return results
    has_nan = reductions.any(elementwise.isnan(index(ordered, (Ellipsis, slice(-1, None)))), -1)
    has_nan = expand_dims(has_nan, tuple(range(-trailing, 0))) if trailing else has_nan
    return elementwise.where(has_nan, np.nan, results)
