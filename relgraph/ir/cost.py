"""Sizes of values with unknown dimensions, for the cost of ops.

A symbolic or unknown dimension counts as :data:`NOMINAL`.  Costs rank equal programs; they do not
predict time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from relgraph.ir.node import Variable, toposort
from relgraph.ir.polynomial import Number, Polynomial
from relgraph.ir.types import Dim, Shape, TensorType, TupleType, Type

NOMINAL = 256
LEAST = 4  # smaller sizes are not worth a program that costs more for larger ones


@dataclass(frozen=True)
class Sized:
    """A type as a rule of cost reads it, whose sizes may be polynomials."""

    dtype: np.dtype[Any]
    shape: tuple[Any, ...]
    layout: str = "dense"

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def with_shape(self, shape: Iterable[Any]) -> Sized:
        """Return the type of the same dtype and layout with another shape."""
        return Sized(self.dtype, tuple(shape), self.layout)


class Several(NamedTuple):
    """A tuple type as a rule of cost reads it."""

    items: tuple[Sized, ...]


AnyType = Type | Sized | Several
_SEVERAL = (TupleType, Several)


def extent(dim: Dim) -> int:
    """Return a dimension's size, or the nominal size if it is unknown."""
    return NOMINAL if dim is None or isinstance(dim, str) else dim


def size(type_: AnyType) -> int:
    """Return the number of elements of a value of this type."""
    if isinstance(type_, _SEVERAL):
        return sum(map(size, type_.items))
    shape: Any = type_.shape  # type: ignore[union-attr]
    count = 1
    for dim in shape:
        count *= NOMINAL if dim is None or isinstance(dim, str) else dim
    return count


def nbytes(type_: AnyType) -> int:
    """Return the number of bytes of a value of this type."""
    if isinstance(type_, _SEVERAL):
        return sum(map(nbytes, type_.items))
    return size(type_) * type_.dtype.itemsize  # type: ignore[union-attr]


def resolved(type_: AnyType, sizes: Mapping[str, int]) -> AnyType:
    """Return a type with the values of its named dimensions that are known."""
    if isinstance(type_, TupleType):
        return TupleType([_with_sizes(x, sizes) for x in type_.items])
    if not isinstance(type_, TensorType):
        return type_
    return _with_sizes(type_, sizes)


def _with_sizes(type_: TensorType, sizes: Mapping[str, int]) -> TensorType:
    shape = tuple([sizes.get(d, d) if isinstance(d, str) else d for d in type_.shape])
    return type_ if shape == type_.shape else _with_shape(type_, shape)


@lru_cache(4096)
def _with_shape(type_: TensorType, shape: Shape) -> TensorType:
    return type_.with_shape(shape)


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
    return sum(map(node_flops, toposort(outputs)))


def compared_flops(before: Iterable[Variable], after: Iterable[Variable]) -> str:
    """Return the operations of two graphs as a text, with the sizes that they are counted at."""
    nodes = toposort([*before, *after])
    shapes = [getattr(x.type, "shape", ()) for x in nodes if not x.inputs]
    names = sorted({size for shape in shapes for size in shape if isinstance(size, str)})
    if any([None in shape for shape in shapes]):
        names.append("open sizes")
    where = f" at {' = '.join([*names, str(NOMINAL)])}" if names else ""
    return f"{flops(before)} -> {flops(after)} flops{where}"


def operations(nodes: Iterable[Variable], sizes: Mapping[str, int] | None = None) -> Number:
    """Return the floating-point operations of nodes, as a polynomial in the sizes with names.

    Parameters
    ----------
    nodes : iterable of Variable
        Each counts once.
    sizes : mapping of str to int, optional
        Values of names.

    Returns
    -------
    int or Polynomial
        :func:`relgraph.ir.polynomial.at_most` compares it for all sizes from :data:`LEAST`.
    """
    total: Number = 0
    for node in nodes:
        if node.op is not None:
            types = tuple([_sized(x.type, sizes or {}) for x in node.inputs])
            total = total + node.op.node_flops(node.inputs, types, _sized(node.type, sizes or {}))
    return total


def _sized(type_: Any, sizes: Mapping[str, int]) -> Sized:
    shape = [sizes.get(d, _named(d)) if isinstance(d, str) else d for d in type_.shape]
    return Sized(type_.dtype, tuple(shape), type_.layout)


_named = lru_cache(1024)(Polynomial.of)


def node_flops(node: Variable) -> int:
    """Return the floating-point operations of one application; none for an input."""
    op = node.op
    if op is None:
        return 0
    return op.node_flops(node.inputs, tuple([x.type for x in node.inputs]), node.type)
