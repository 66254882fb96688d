"""Whether arrays are equal, or close: isclose, allclose and array_equal."""

from __future__ import annotations

from typing import Any

from relgraph.ir.node import constant
from relgraph.numpy import reductions
from relgraph.numpy.operands import together, typed
from relgraph.ops import elementwise
from relgraph.ops.docstrings import documented
from relgraph.ops.indexing.index import index
from relgraph.ops.shape import dim

__all__ = ["allclose", "array_equal", "isclose"]


@documented("elementwise")
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return True where elements are equal within a tolerance, as ``numpy.isclose``.

    Returns: bool.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> x = rg.vector("x")
    >>> rg.function([x], rnp.isclose(x, 1))([1.0, 1.000001, 1.1])
    array([ True,  True, False])
    """
    x, y = together("isclose", a, b, rule="true_divide")
    if y.dtype.kind != "f":  # differences of integers wrap around
        y = elementwise.cast(y, "float64")
    tolerance = elementwise.add(atol, elementwise.multiply(rtol, elementwise.absolute(y)))
    distance = elementwise.absolute(elementwise.subtract(x, y))
    near = elementwise.less_equal(distance, tolerance)
    # The distance of an infinity is within an infinite tolerance.
    near = elementwise.logical_and(near, elementwise.isfinite(y))
    close = elementwise.logical_or(near, elementwise.equal(x, y))
    if not equal_nan:
        return close
    return elementwise.logical_or(close, _both_nan(x, y))


def _both_nan(x: Any, y: Any) -> Any:
    return elementwise.logical_and(elementwise.isnan(x), elementwise.isnan(y))


@documented(like=isclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return True if all elements are equal within a tolerance, as ``numpy.allclose``.

    Returns: bool, no dimensions.
    """
    return reductions.all(isclose(a, b, rtol, atol, equal_nan))


@documented()
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Return True if two arrays have the same shape and elements, as ``numpy.array_equal``.

    a1, a2 (Variable or array-like): Any dtype and shape. Sizes that are not static are compared at
        the call.
    Returns: bool, no dimensions.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> x, y = rg.vectors("x y")
    >>> f = rg.function([x, y], rnp.array_equal(x, y))
    >>> bool(f([1.0, 2.0], [1.0, 2.0])), bool(f([1.0, 2.0], [1.0]))
    (True, False)
    """
    x, y = typed(a1, "array_equal"), typed(a2, "array_equal")
    if x.ndim != y.ndim:
        return constant(False)
    equal_sizes: list[Any] = []
    parts = [slice(None)] * x.ndim
    for axis, (m, n) in enumerate(zip(x.type.shape, y.type.shape, strict=True)):
        if m is not None and m == n:
            continue
        if isinstance(m, int) and isinstance(n, int):
            return constant(False)
        sizes = dim(x, axis), dim(y, axis)
        equal_sizes.append(elementwise.equal(*sizes))
        parts[axis] = slice(None, elementwise.minimum(*sizes))
    if equal_sizes:  # what both have is compared, so that other sizes are no error
        x, y = index(x, tuple(parts)), index(y, tuple(parts))
    equal = elementwise.equal(x, y)
    if equal_nan:
        equal = elementwise.logical_or(equal, _both_nan(x, y))
    result = reductions.all(equal)
    for test in equal_sizes:
        result = elementwise.logical_and(test, result)
    return result
