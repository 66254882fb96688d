"""Sizes of values with unknown dimensions, for the cost of ops.

A symbolic or unknown dimension counts as :data:`NOMINAL`.  Costs rank equal programs; they do not
predict time.
"""

from __future__ import annotations

from collections.abc import Iterable

from relgraph.ir.node import Variable, toposort
from relgraph.ir.types import Dim, TensorType, TupleType, Type

NOMINAL = 256


def extent(dim: Dim) -> int:
    """Return a dimension's size, or the nominal size if it is unknown."""
    return dim if isinstance(dim, int) else NOMINAL


def size(type_: Type) -> int:
    """Return the number of elements of a value of this type."""
    if isinstance(type_, TupleType):
        return sum(map(size, type_.items))
    assert isinstance(type_, TensorType)
    count = 1
    for dim in type_.shape:
        count *= extent(dim)
    return count


def flops(outputs: Iterable[Variable]) -> int:
    """Return the floating-point operations of a graph, each shared node counted once.

    Parameters
    ----------
    outputs : iterable of Variable
        The results to compute.

    Returns
    -------
    int
        By the rule of each op.

    Examples
    --------
    >>> import relgraph as rg
    >>> A, B = rg.matrices("A B", shape=(10, 10))
    >>> rg.flops([A @ B])
    2000
    """
    return sum(
        node.op.flops(tuple(x.type for x in node.inputs), node.type)
        for node in toposort(outputs)
        if node.op is not None
    )
