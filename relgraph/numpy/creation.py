"""Array creation: from a shape or value, numerical ranges and grids."""

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
)
from relgraph.ir.node import Constant, Variable, as_literal, constant
from relgraph.ir.types import broadcast_shapes, check_dtype
from relgraph.numpy.operands import common_dtype, together, typed
from relgraph.ops import elementwise
from relgraph.ops.arguments import as_operand, check_int, is_pattern
from relgraph.ops.concatenate import concatenate
from relgraph.ops.docstrings import documented
from relgraph.ops.elementwise import cast, in_dtype
from relgraph.ops.indexing.index import index
from relgraph.ops.linalg.structured import diag, eye
from relgraph.ops.permutation import moveaxis
from relgraph.ops.shape import broadcast_to, dim, expand_dims, ravel
from relgraph.ops.shape import shape as shape_of

__all__ = [
    "arange",
    "asarray",
    "broadcast_arrays",
    "diagflat",
    "full",
    "full_like",
    "identity",
    "linspace",
    "logspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tri",
    "zeros",
    "zeros_like",
]


@documented()
def asarray(a: Any, dtype: npt.DTypeLike | None = None) -> Any:
    """Return a graph as it is, and an array or a number as a constant.

    Returns: ``a`` itself where it is a graph of that dtype.
    """
    return in_dtype(as_operand(a), dtype)


@documented("creation")
def full(shape: Any, value: Any, dtype: npt.DTypeLike | None = None) -> Any:
    """Return an array of one value.

    value (Variable or array-like): What to fill it with; broadcast to the shape.
    dtype (dtype-like, optional): That of the result; by default that of ``value``.
    Returns: A constant, broadcast.
    NumberRangeError: For an int that an integer dtype cannot hold.
    ShapeError: When the value does not broadcast to the shape.

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
        is_constant = isinstance(filling, Constant)
        filling = constant(filling.value.astype(dtype)) if is_constant else cast(filling, dtype)
    return broadcast_to(filling, shape)


def _check_fits(value: Any, dtype: np.dtype[Any]) -> None:
    """Raise for a Python int that a dtype cannot hold, as NumPy does; arrays wrap around."""
    if dtype.kind not in "iu" or not isinstance(value, int):
        return
    limits = np.iinfo(dtype)
    if not limits.min <= value <= limits.max:
        raise NumberRangeError(
            f"full: the number {value} does not fit {dtype}",
            {"range": f"{limits.min} to {limits.max}"},
            "Give a wider dtype, or a number of that range.",
        )


@documented("creation")
def zeros(shape: Any, dtype: npt.DTypeLike = "float64") -> Any:
    """Return an array of zeros.

    Returns: A constant, broadcast.
    """
    return full(shape, 0, dtype)


@documented(like=zeros)
def ones(shape: Any, dtype: npt.DTypeLike = "float64") -> Any:
    """Return an array of ones."""
    return full(shape, 1, dtype)


@documented("like")
def full_like(x: Any, value: Any, dtype: npt.DTypeLike | None = None, *, shape: Any = None) -> Any:
    """Return an array of one value with the shape of ``x``.

    x: Its values are not used; where its sizes are not static, its shape is read at the call.
    value (Variable or array-like): What to fill the array with.
    Returns (Variable or number): A constant, broadcast. Of a pattern it is the number, which stands
        for a constant of any shape in a pattern and takes the shape and dtype of what it replaces.
    PatternError: For a pattern with a value other than a number.

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


@documented("like")
def zeros_like(x: Any, dtype: npt.DTypeLike | None = None, *, shape: Any = None) -> Any:
    """Return zeros with the shape of ``x``.

    Returns (Variable or number): A constant, broadcast. Of a pattern it is the number, which stands
        for a constant of any shape in a pattern and takes the shape and dtype of what it replaces.
    """
    return full_like(x, 0, dtype, shape=shape)


@documented(like=zeros_like)
def ones_like(x: Any, dtype: npt.DTypeLike | None = None, *, shape: Any = None) -> Any:
    """Return ones with the shape of ``x``."""
    return full_like(x, 1, dtype, shape=shape)


@documented()
def arange(
    start: float, stop: float | None = None, step: float = 1, dtype: npt.DTypeLike | None = None
) -> Variable:
    """Return evenly spaced numbers as a constant.

    start, stop, step (int or float): As in NumPy: ``start`` up to, without, ``stop``; with one
        argument, from 0 up to it.
    Returns (Constant): One dimension.
    ArgumentError: For a bound that is not a number, or is known only at the call.
    DomainError: For a step of 0, and bounds between which there is no range.

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
    arguments = {"start": start, "stop": stop, "step": step}
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
            {**arguments, "numpy": error},
            "Give finite numbers, a step that is not 0, and a dtype of numbers.",
        ) from None


@documented()
def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """Stretch arrays to their common shape, as ``numpy.broadcast_arrays``.

    *args (Variable or array-like): Only dimensions that are statically 1 are stretched.
    Returns (tuple of Variable): One for each operand.
    ShapeError: When the shapes do not fit.

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


@documented()
def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Any, ...]:
    """Return the coordinates of a grid, as ``numpy.meshgrid``.

    *xi (Variable or array-like): The coordinates along each axis, raveled.
    sparse (bool): Whether each result has its own axis only, the others having size 1.
    indexing ({"xy", "ij"}): In "xy" the first vector runs along the second axis.
    Returns (tuple of Variable): One for each vector.
    DomainError: For another ``indexing``.
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
    grids = []
    for x, place in zip(xi, order, strict=True):
        vector = ravel(typed(x, "meshgrid"))
        new = tuple([axis for axis in range(count) if axis != place])
        grids.append(expand_dims(vector, new))
    return tuple(grids) if sparse else broadcast_arrays(*grids)


@documented()
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

    start, stop (Variable or array-like): The bounds; shapes broadcast.
    endpoint (bool): Whether ``stop`` is the last of them.
    retstep (bool): Whether to return the step, too.
    dtype: That of the result; numbers are rounded down for integers.
    axis (int): Where the result has the new axis.
    Returns (Variable or tuple of Variable): Of the common float of the bounds; with ``retstep`` the
        step after it.
    DomainError: For a negative ``num``.

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
    points = spaced_at(places, low, step if gaps > 0 else distance)
    if endpoint and count > 1:  # no rounding at the end
        points = concatenate([index(points, slice(None, -1)), expand_dims(high, 0)])
    return points, step


def spaced_at(places: Variable, start: Variable, step: Variable) -> Variable:
    """Return the points of ``linspace`` at some places before the last one."""
    points: Variable = elementwise.add(elementwise.multiply(places, step), start)
    return points


@documented()
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

    start, stop (Variable or array-like): The first and the last exponent; shapes broadcast.
    endpoint (bool): Whether ``stop`` is the last exponent.
    base (scalar or scalar Variable): What is raised to them.
    axis (int): Where the result has the new axis.
    Returns: Of the common float.
    ArgumentError: For a ``base`` with dimensions.
    """
    if np.ndim(base) if not isinstance(base, Variable) else base.ndim:
        raise ArgumentError(
            "logspace takes a base without dimensions",
            {"base": base},
            "Write np.power(base, np.linspace(start, stop)).",
        )
    powers = elementwise.power(base, linspace(start, stop, num, endpoint, axis=axis))
    return in_dtype(powers, dtype)


@documented("creation")
def tri(N: int, M: int | None = None, k: int = 0, dtype: npt.DTypeLike = float) -> Any:
    """Return ones on and below a diagonal, as ``numpy.tri``.

    N, M (int): The numbers of rows and columns; as many columns as rows by default.
    Returns (Constant): A matrix.
    ArgumentError: For sizes or a diagonal that are not ints.
    """
    rows = check_int(N, "tri: N")
    columns = rows if M is None else check_int(M, "tri: M")
    return constant(np.tri(rows, columns, check_int(k, "tri: k"), dtype))


@documented("creation")
def identity(n: Any, dtype: npt.DTypeLike = float) -> Any:
    """Return a square matrix with ones on the diagonal, as ``numpy.identity``.

    n (int or integer scalar Variable): The number of rows.
    Returns: A matrix.
    ArgumentError: For a size that is neither an int nor a scalar.
    """
    return eye(n, dtype=dtype)


@documented()
def diagflat(v: Any, k: int = 0) -> Any:
    """Return a matrix with all elements of an array on a diagonal, as ``numpy.diagflat``.

    v (Variable or array-like): Raveled first.
    Returns: A matrix, with zeros elsewhere.
    ArgumentError: For a diagonal that is not an int.
    """
    return diag(ravel(typed(v, "diagflat")), k)
