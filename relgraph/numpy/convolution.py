"""Discrete convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from relgraph.errors import DomainError, ShapeError
from relgraph.ir.node import Variable
from relgraph.numpy import reductions
from relgraph.numpy.operands import together
from relgraph.ops.concatenate import concatenate
from relgraph.ops.docstrings import documented
from relgraph.ops.elementwise import add, multiply
from relgraph.ops.indexing.index import index
from relgraph.ops.shape import broadcast_to, ravel

__all__ = ["convolve"]

_UNROLLED = 32  # elements of the shorter operand whose products are added one by one


@documented()
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Convolve two vectors, as ``numpy.convolve``.

    a, v (Variable or array-like, of one dimension at most): Not empty.
    mode ({"full", "same", "valid"}): All sums of products, or as many as the longer vector has
        elements, or those of which all products exist.
    Returns: The common dtype.
    DomainError: For another mode.
    ShapeError: For an operand that is empty or has more dimensions, or has no static size.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> x = rg.vector("x", 3)
    >>> rg.function([x], np.convolve(x, [1.0, 1.0]))([1.0, 2.0, 3.0])
    array([1., 3., 5., 3.])
    """
    if mode not in ("full", "same", "valid"):
        raise DomainError(
            f"convolve takes the mode 'full', 'same' or 'valid', not {mode!r}",
            fix="Use 'full' for all sums.",
        )
    x, y = (ravel(z) if z.ndim == 0 else z for z in together("convolve", a, v, rule="multiply"))
    sizes = [_size(z) for z in (x, y)]
    if sizes[0] < sizes[1]:
        x, y = y, x
    n, m = max(sizes), min(sizes)
    count, start = {"full": (n + m - 1, 0), "same": (n, (m - 1) // 2), "valid": (n - m + 1, m - 1)}[
        mode
    ]
    dtype = np.result_type(x.dtype, y.dtype)
    zeros = broadcast_to(np.zeros((), dtype), (m - 1,))
    padded = concatenate([zeros, x, zeros])
    return _sums(padded, y, count, start, m)


def _sums(padded: Variable, y: Variable, count: int, start: int, m: int) -> Any:
    """Return sums of products, from number ``start`` of all."""
    if m <= _UNROLLED:
        total: Any = None
        for k in range(m):
            first = start + m - 1 - k
            product = multiply(index(padded, slice(first, first + count)), index(y, k))
            total = product if total is None else add(total, product)
        return total
    places = add(np.arange(start, start + count)[:, None], np.arange(m))
    products = multiply(index(padded, places), index(y, slice(None, None, -1)))
    if products.dtype.kind == "b":
        return reductions.any(products, axis=-1)
    return reductions.sum(products, axis=-1, dtype=products.dtype)


def _size(x: Variable) -> int:
    size = x.type.shape[0] if x.ndim == 1 else None
    if not isinstance(size, int) or size == 0:
        raise ShapeError(
            "convolve takes two vectors of known sizes that are not empty",
            {"operand": x.type},
            "Declare the size of the vector.",
        )
    return size
