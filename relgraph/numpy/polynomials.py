"""Polynomials: their values, and Vandermonde matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import ArgumentError, ShapeError
from relgraph.ir.node import Constant, constant
from relgraph.numpy.creation import zeros_like
from relgraph.numpy.operands import typed
from relgraph.ops import elementwise
from relgraph.ops.arguments import check_int
from relgraph.ops.concatenate import concatenate
from relgraph.ops.cumulative import cumprod
from relgraph.ops.docstrings import documented
from relgraph.ops.indexing.index import index
from relgraph.ops.shape import broadcast_to, dim, expand_dims

__all__ = ["polyval", "vander"]


@documented()
def polyval(p: Any, x: Any) -> Any:
    """Evaluate a polynomial by Horner's rule, as ``numpy.polyval``.

    p (Variable or array-like, [n]): The coefficients, from the highest power to the constant; ``n``
        is static.
    Returns: The common dtype, in the shape of ``x``.
    ArgumentError: For coefficients whose number is not static.

    Examples
    --------
    >>> import relgraph as rg
    >>> import relgraph.numpy as rnp
    >>> x = rg.vector("x")
    >>> rg.function([x], rnp.polyval([1, 0, -1], x))([2.0, 3.0])
    array([3., 8.])
    """
    coefficients, point = typed(p, "polyval"), typed(x, "polyval")
    count = coefficients.type.shape[0] if coefficients.ndim else None
    if not isinstance(count, int):
        raise ArgumentError(
            "polyval takes a vector of coefficients whose number is known",
            {"p": f"{coefficients} : {coefficients.type}"},
            "Declare the size of the input.",
        )
    numbers = coefficients.value if isinstance(coefficients, Constant) else None
    result = zeros_like(point)  # times x: an infinity gives NaN, as in NumPy
    for i in range(count):
        term = index(coefficients, i) if numbers is None else numbers[i]
        result = elementwise.add(elementwise.multiply(result, point), term)
    return result


@documented()
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Return the powers of the elements of a vector as columns, as ``numpy.vander``.

    x (Variable or array-like, [n]):
    N (int, optional): The number of columns; by default the size of ``x``, which then has to be
        static.
    increasing (bool): Whether the powers increase from left to right.
    Returns (Variable, [n, N]): int64 for bool and signed integers, otherwise float64.
    ShapeError: For an array that is not a vector.
    ArgumentError: For a vector of unknown size without ``N``.
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
