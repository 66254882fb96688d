"""Evenly spaced numbers, and the grids that vectors span: linspace, meshgrid and the like."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from relgraph.errors import ArgumentError, DomainError, ShapeError, checks_arguments
from relgraph.ir.node import Variable, constant
from relgraph.ir.types import broadcast_shapes
from relgraph.ops import elementwise
from relgraph.ops.arguments import check_int
from relgraph.ops.cumulative import cumprod
from relgraph.ops.indexing import index
from relgraph.ops.joining import concatenate
from relgraph.ops.matrices import eye
from relgraph.ops.operands import common_dtype, together, typed
from relgraph.ops.permutation import moveaxis
from relgraph.ops.shape import broadcast_to, dim, expand_dims, ravel


@checks_arguments
def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """Stretch arrays to their common shape, as ``numpy.broadcast_arrays``.

    Parameters
    ----------
    *args : Variable or array-like
        Only dimensions that are statically 1 are stretched.

    Returns
    -------
    tuple of Variable
        One for each operand.

    Raises
    ------
    ShapeError
        When the shapes do not fit.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> x, y = rnp.broadcast_arrays(rg.matrix("x", ("n", 1)), rg.vector("y", 3))
    >>> x.type, y.type
    (float64[n, 3], float64[n, 3])
    """
    arrays = [typed(x, "broadcast_arrays") for x in args]
    common = broadcast_shapes([x.type.shape for x in arrays])
    sizes: list[Any] = []
    for axis in range(-len(common), 0):
        along = [x for x in arrays if x.ndim >= -axis]
        giving = [x for x in along if x.type.shape[axis] == common[axis]]
        sizes.append(dim(giving[0], axis))
    return tuple([broadcast_to(x, tuple(sizes)) for x in arrays])


@checks_arguments
def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Any, ...]:
    """Return the coordinates of a grid, as ``numpy.meshgrid``.

    Parameters
    ----------
    *xi : Variable or array-like
        The coordinates along each axis, raveled.
    copy : bool
        Accepted as in NumPy; values of a graph cannot be changed, so it makes no difference.
    sparse : bool
        Whether each result has its own axis only, the others having size 1.
    indexing : {"xy", "ij"}
        In "xy" the first vector runs along the second axis.

    Returns
    -------
    tuple of Variable
        One for each vector.

    Raises
    ------
    DomainError
        For another ``indexing``.
    """
    if indexing not in ("xy", "ij"):
        raise DomainError(
            f"meshgrid takes indexing 'xy' or 'ij', not {indexing!r}",
            fix="Use 'ij' for axes in the order of the vectors, 'xy' with the first two swapped.",
        )
    count = len(xi)
    order = list(range(count))
    if indexing == "xy" and count > 1:
        order[:2] = [1, 0]
    found = []
    for x, place in zip(xi, order, strict=True):
        vector = ravel(typed(x, "meshgrid"))
        new = tuple([axis for axis in range(count) if axis != place])
        found.append(expand_dims(vector, new))
    return tuple(found) if sparse else broadcast_arrays(*found)


@checks_arguments
def linspace(  # noqa: PLR0917 - the parameters of NumPy
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """Return evenly spaced numbers between two, as ``numpy.linspace``.

    Parameters
    ----------
    start, stop : Variable or array-like
        The bounds; shapes broadcast.
    num : int
        How many numbers, known when the graph is built.
    endpoint : bool
        Whether ``stop`` is the last of them.
    retstep : bool
        Whether to return the step, too.
    dtype : dtype-like, optional
        That of the result; numbers are rounded down for integers.
    axis : int
        Where the result has the new axis.

    Returns
    -------
    Variable or tuple of Variable
        Of the common float of the bounds; with ``retstep`` the step after it.

    Raises
    ------
    DomainError
        For a negative ``num``.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> a = rg.scalar("a")
    >>> rg.function([a], rnp.linspace(0, a, 5))(2.0)
    array([0. , 0.5, 1. , 1.5, 2. ])
    """
    count = check_int(num, "linspace: num")
    if count < 0:
        raise DomainError(
            f"linspace takes a num of at least 0, not {count}",
            fix="Give the number of points; np.arange takes the distance between them.",
        )
    points, step = _spaced(start, stop, count, endpoint)
    points = moveaxis(points, 0, axis)
    if dtype is not None:
        whole = np.dtype(dtype).kind in "iu"
        points = elementwise.cast(elementwise.floor(points) if whole else points, dtype)
    return (points, step) if retstep else points


def _spaced(start: Any, stop: Any, count: int, endpoint: bool) -> tuple[Any, Any]:
    """Return evenly spaced numbers along the first axis, and their distance."""
    low, high = together("linspace", start, stop, rule="true_divide")
    real = np.result_type(common_dtype(low, high), 1.0)
    low, high = broadcast_arrays(elementwise.cast(low, real), elementwise.cast(high, real))
    gaps = count - 1 if endpoint else count
    distance = elementwise.subtract(high, low)
    step = elementwise.true_divide(distance, gaps) if gaps > 0 else constant(np.nan)
    places = constant(np.arange(count, dtype=real).reshape((count, *[1] * low.ndim)))
    points = elementwise.multiply(places, step if gaps > 0 else distance)
    points = elementwise.add(points, low)
    if endpoint and count > 1:  # no rounding at the end
        points = concatenate([index(points, slice(None, -1)), expand_dims(high, 0)])
    return points, step


@checks_arguments
def logspace(  # noqa: PLR0917 - the parameters of NumPy
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """Return powers with evenly spaced exponents, as ``numpy.logspace``.

    Parameters
    ----------
    start, stop : Variable or array-like
        The first and the last exponent; shapes broadcast.
    num : int
        How many numbers, known when the graph is built.
    endpoint : bool
        Whether ``stop`` is the last exponent.
    base : scalar or scalar Variable
        What is raised to them.
    dtype : dtype-like, optional
        That of the result.
    axis : int
        Where the result has the new axis.

    Returns
    -------
    Variable
        Of the common float.

    Raises
    ------
    ArgumentError
        For a ``base`` with dimensions.
    """
    if np.ndim(base) if not isinstance(base, Variable) else base.ndim:
        raise ArgumentError(
            "logspace takes a base without dimensions",
            {"base": base},
            "Write np.power(base, np.linspace(start, stop)).",
        )
    found = elementwise.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return found if dtype is None else elementwise.cast(found, dtype)


@checks_arguments
def tri(N: int, M: int | None = None, k: int = 0, dtype: npt.DTypeLike = float) -> Any:
    """Return ones on and below a diagonal, as ``numpy.tri``.

    Parameters
    ----------
    N, M : int
        The numbers of rows and columns; as many columns as rows by default.
    k : int
        The diagonal: 0 the main one, positive above it.
    dtype : dtype-like
        That of the result.

    Returns
    -------
    Constant
        A matrix.

    Raises
    ------
    ArgumentError
        For sizes or a diagonal that are not ints.
    """
    rows = check_int(N, "tri: N")
    columns = rows if M is None else check_int(M, "tri: M")
    return constant(np.tri(rows, columns, check_int(k, "tri: k"), dtype))


@checks_arguments
def identity(n: Any, dtype: npt.DTypeLike = float) -> Any:
    """Return a square matrix with ones on the diagonal, as ``numpy.identity``.

    Parameters
    ----------
    n : int or integer scalar Variable
        The number of rows.
    dtype : dtype-like
        That of the result.

    Returns
    -------
    Variable
        A matrix.

    Raises
    ------
    ArgumentError
        For a size that is neither an int nor a scalar.
    """
    return eye(n, dtype=dtype)


@checks_arguments
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Return the powers of the elements of a vector as columns, as ``numpy.vander``.

    Parameters
    ----------
    x : Variable or array-like, [n]
        Any dtype.
    N : int, optional
        The number of columns; by default the size of ``x``, which then has to be static.
    increasing : bool
        Whether the powers increase from left to right.

    Returns
    -------
    Variable, [n, N]
        int64 for bool and signed integers, otherwise float64.

    Raises
    ------
    ShapeError
        For an array that is not a vector.
    ArgumentError
        For a vector of unknown size without ``N``.
    """
    vector = typed(x, "vander")
    if vector.ndim != 1:
        raise ShapeError(f"vander takes a vector, not {vector.type}", fix="Use ravel(x) first.")
    columns = vector.type.shape[0] if N is None else check_int(N, "vander: N")
    if not isinstance(columns, int):
        raise ArgumentError(
            "vander needs the number of columns, which the size of the vector does not give",
            {"operand": f"{vector} : {vector.type}"},
            "Pass it as N.",
        )
    dtype = np.promote_types(vector.dtype, np.int64)
    column = expand_dims(elementwise.cast(vector, dtype), 1)
    one = constant(np.ones((1, 1), dtype))
    rows = dim(vector, 0)
    parts = [broadcast_to(one, (rows, min(columns, 1)))]
    if columns > 1:
        parts.append(broadcast_to(column, (rows, columns - 1)))
    powers = cumprod(concatenate(parts, 1), 1, dtype)
    return powers if increasing else index(powers, (slice(None), slice(None, None, -1)))
