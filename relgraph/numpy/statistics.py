"""Statistics composed of sums and products: averages, ranges, counts and covariances."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.errors import DTypeError, ShapeError
from relgraph.ir.node import Variable
from relgraph.numpy import reductions
from relgraph.numpy.finite_differences import diff
from relgraph.numpy.operands import typed
from relgraph.ops import elementwise
from relgraph.ops.arguments import normalise_axis
from relgraph.ops.checks import squeeze
from relgraph.ops.concatenate import concatenate
from relgraph.ops.contraction import matmul
from relgraph.ops.docstrings import documented
from relgraph.ops.indexing.index import along
from relgraph.ops.linalg.structured import diagonal
from relgraph.ops.permutation import matrix_transpose, transpose
from relgraph.ops.shape import broadcast_to, dim, expand_dims, shape, size

__all__ = ["average", "corrcoef", "count_nonzero", "cov", "ptp", "trapezoid"]


@documented("reduction")
def ptp(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """Return the largest less the smallest element over axes, as ``numpy.ptp``.

    a: Any dtype but bool.
    Returns: The dtype of ``a``.
    ShapeError: For an axis that is statically of size 0.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.ptp(rg.vector("x"))
    max(x) - min(x)
    """
    x = typed(a, "ptp")
    largest, smallest = reductions.max(x, axis, keepdims), reductions.min(x, axis, keepdims)
    return elementwise.subtract(largest, smallest)


@documented("reduction")
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Count the elements that are not zero, as ``numpy.count_nonzero``.

    a: Any dtype; NaN is not zero.
    Returns: int64.
    """
    x = typed(a, "count_nonzero")
    test = x if x.dtype.kind == "b" else elementwise.not_equal(x, 0)
    return reductions.sum(test, axis, keepdims)


@documented("reduction")
def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = False,
) -> Any:
    """Take the weighted mean over axes, as ``numpy.average``.

    weights (Variable or array-like, optional): Of the shape of ``a``, or with one dimension for
        each of the axes; equal by default.
    returned (bool): Whether to return the sums of the weights, too.
    Returns (Variable or tuple of Variable): float64 for integers, otherwise the common dtype. Where
        weights add up to zero the average is NaN or infinite, where NumPy raises an error.
    ShapeError: For weights of another shape, without ``axis`` or with other numbers of dimensions.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> x, w = rg.vectors("x w", shape="n")
    >>> rnp.average(x, weights=w)
    sum(x * w) / sum(w)
    """
    x = typed(a, "average")
    axis = tuple(axis) if isinstance(axis, list) else axis
    if weights is None:
        mean = reductions.mean(x, axis, keepdims)
        if not returned:
            return mean
        count = elementwise.true_divide(size(x), elementwise.maximum(size(mean), 1))
        return mean, broadcast_to(elementwise.cast(count, mean.dtype), shape(mean))
    w = typed(weights, "average")
    dtype = np.result_type(x.dtype, w.dtype, *([] if x.dtype.kind == "f" else ["float64"]))
    w = _aligned(w, x, axis)
    products = elementwise.multiply(elementwise.cast(x, dtype), elementwise.cast(w, dtype))
    total = reductions.sum(w, axis, keepdims, dtype=dtype)
    mean = elementwise.true_divide(reductions.sum(products, axis, keepdims), total)
    return (mean, broadcast_to(total, shape(mean))) if returned else mean


def _aligned(w: Variable, x: Variable, axis: Any) -> Any:
    """Return weights with the dimensions of the array that they weight."""
    axes = list(axis) if isinstance(axis, tuple) else [axis]
    whole = w.ndim == x.ndim and (axis is None or len(axes) < x.ndim)
    if whole or w.type.shape == x.type.shape:
        axes = list(range(x.ndim))
    if axes == [None] or len(axes) != w.ndim:
        raise _misfit(w, x, axis)
    places = [normalise_axis(one, x.ndim, "average") + x.ndim for one in axes]
    w = transpose(w, tuple([places.index(place) for place in sorted(places)]))
    for place, entry in zip(sorted(places), w.type.shape, strict=True):
        if (entry == 1) != (x.type.shape[place] == 1):  # nothing is stretched
            raise _misfit(w, x, axis)
    return expand_dims(w, tuple([i for i in range(x.ndim) if i not in places]))


def _misfit(w: Variable, x: Variable, axis: Any) -> ShapeError:
    return ShapeError(
        "average takes weights of the shape of the operand, or of its axes",
        {"operand": x.type, "weights": w.type, "axis": axis},
        "Give the axis that the weights are of.",
    )


@documented()
def cov(  # noqa: PLR0917 - the parameters of NumPy
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: npt.DTypeLike | None = None,
) -> Any:
    """Return the covariance matrix of variables, as ``numpy.cov``.

    m (Variable or array-like, [n, k] or [k]): Each row is a variable, each column an observation.
    y (Variable or array-like, optional): More variables of the same form.
    bias (bool): Whether to divide by the number of observations, rather than by one less.
    ddof (int, optional): What is subtracted from the number of observations, in place of what
        ``bias`` says.
    fweights (Variable or array-like of integers, [k], optional): How often each observation counts.
    aweights (Variable or array-like, [k], optional): The weight of each observation.
    Returns (Variable, [n, n]): float64 unless ``dtype`` says otherwise; without dimensions for one
        variable.
    ShapeError: For more than two dimensions.
    DTypeError: For ``fweights`` that are not integers.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.cov(rg.matrix("X", (2, "k"))).type
    float64[2, 2]
    """
    variables = [_variables(v, rowvar, "cov") for v in (m, y) if v is not None]
    real = np.result_type("float64", *[v.dtype for v in variables]) if dtype is None else dtype
    rows = concatenate([elementwise.cast(v, real) for v in variables])
    if ddof is None:
        ddof = 0 if bias else 1
    weights = _observation_weights(fweights, aweights)
    mean = average(rows, 1, weights, keepdims=True)
    total = dim(rows, 1) if weights is None else reductions.sum(weights, dtype=mean.dtype)
    count = _free_weight(total, weights, aweights, ddof)
    return _mean_products(elementwise.subtract(rows, mean), weights, count)


def _mean_products(deviations: Any, weights: Any, count: Any) -> Any:
    """Return the products of all pairs of rows, weighted and divided by a count."""
    weighted = deviations if weights is None else elementwise.multiply(deviations, weights)
    product = matmul(deviations, matrix_transpose(weighted))
    count = elementwise.cast(elementwise.maximum(count, 0), product.dtype)
    return squeeze(elementwise.multiply(product, elementwise.true_divide(1, count)))


def _free_weight(total: Any, weights: Any, aweights: Any, ddof: Any) -> Any:
    """Return the weight of all observations less that of ``ddof`` of them."""
    if aweights is None or ddof == 0:
        return elementwise.subtract(total, ddof)
    squares = reductions.sum(elementwise.multiply(weights, typed(aweights, "cov")))
    lost = elementwise.true_divide(elementwise.multiply(ddof, squares), total)
    return elementwise.subtract(total, lost)


def _variables(m: Any, rowvar: bool, function: str) -> Variable:
    """Return a matrix with a variable in each row."""
    x = typed(m, function)
    if x.ndim > 2:
        raise ShapeError(
            f"{function} takes a vector or a matrix, not {x.type}",
            fix="Reshape it to a matrix with one variable in each row.",
        )
    if x.ndim < 2:
        x = expand_dims(x, tuple(range(2 - x.ndim)))
    elif not rowvar:
        x = matrix_transpose(x)
    return x


def _observation_weights(fweights: Any, aweights: Any) -> Any:
    weights = None
    if fweights is not None:
        weights = typed(fweights, "cov")
        if weights.dtype.kind not in "iu":
            raise DTypeError(
                f"fweights of cov are integers, not {weights.dtype}",
                fix="Weights of another kind are aweights.",
            )
    if aweights is None:
        return weights
    reliabilities = typed(aweights, "cov")
    return reliabilities if weights is None else elementwise.multiply(weights, reliabilities)


@documented()
def corrcoef(
    x: Any, y: Any = None, rowvar: bool = True, *, dtype: npt.DTypeLike | None = None
) -> Any:
    """Return the correlation matrix of variables, as ``numpy.corrcoef``.

    x (Variable or array-like, [n, k] or [k]): Each row is a variable, each column an observation.
    y (Variable or array-like, optional): More variables of the same form.
    Returns (Variable, [n, n]): float64 unless ``dtype`` says otherwise; from -1 to 1.
    ShapeError: For more than two dimensions.
    """
    matrix = cov(x, y, rowvar, dtype=dtype)
    if matrix.ndim == 0:
        return elementwise.true_divide(matrix, matrix)
    deviations = elementwise.sqrt(diagonal(matrix))
    matrix = elementwise.true_divide(matrix, expand_dims(deviations, 1))
    return elementwise.clip(elementwise.true_divide(matrix, expand_dims(deviations, 0)), -1, 1)


@documented("search")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate along an axis by the trapezoidal rule, as ``numpy.trapezoid``.

    y (Variable or array-like): The values, of any shape.
    x (Variable or array-like, optional): The coordinates of the values: a vector, or an array of
        the shape of ``y``.
    dx (scalar): The distance of coordinates, where ``x`` is not given.
    axis (int): Along which axis.
    Returns: Without the axis.
    ShapeError: For other numbers of coordinates than of values.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> rnp.trapezoid(rg.vector("y"))
    sum(1 * (y[1:] + y[:-1]) / 2)
    """
    values = typed(y, "trapezoid")
    place = normalise_axis(axis, values.ndim, "trapezoid") + values.ndim
    distance = dx
    if x is not None:
        points = typed(x, "trapezoid")
        if points.ndim == 1:
            gaps = diff(points)
            new = tuple([i for i in range(values.ndim) if i != place])
            distance = expand_dims(gaps, new)
        else:
            distance = diff(points, axis=axis)
    pairs = elementwise.add(
        along(values, place, slice(1, None)), along(values, place, slice(None, -1))
    )
    areas = elementwise.true_divide(elementwise.multiply(distance, pairs), 2.0)
    return reductions.sum(areas, place)
