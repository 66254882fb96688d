"""Giving a result the shape of what it replaces, without computing what it replaces."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from relgraph.ir.node import Variable
from relgraph.ir.sizes import Place, size_at
from relgraph.ir.types import TensorType
from relgraph.relations.shape_proof import as_known


def broadcast_like(built: Variable, like: TensorType, place: Any) -> Variable | None:
    """Return ``built`` broadcast to the type ``like``, or None when it cannot be.

    Parameters
    ----------
    built : Variable
        A result of lower rank, or with dimensions of size 1.
    like : TensorType
        The type wanted.
    place : Variable or sequence of Variable
        Where sizes that are not static are read from: the operands' own, through elementwise ops,
        so that a shape never forces its array to be computed.
    """
    from relgraph.ops.shape import broadcast_to

    if built.ndim > like.ndim:
        return None
    if not as_known(built.type, like, place):
        return None
    sources = [place] if isinstance(place, Variable) else list(place)
    sizes: list[Any] = []
    for axis, dim in enumerate(like.shape):
        if isinstance(dim, int):
            sizes.append(dim)
            continue
        found = _size(sources, axis - like.ndim)
        if found is None:
            return None
        sizes.append(found)
    result: Variable = broadcast_to(built, tuple(sizes))
    return result if result.type.narrows(like) else None


# Where the size of an elementwise node along an axis is read: found once, for deep graphs.
_SOURCES: WeakKeyDictionary[Variable, dict[int, Variable]] = WeakKeyDictionary()


def _size(sources: list[Variable], axis: int) -> Variable | None:
    """Return the size along an axis (from the end), read as deep in the graph as it can be."""
    from relgraph.ops.shape import dim

    found = next((x for x in sources if _extends(x, axis)), None)
    if found is not None and found.type.shape[axis] is None:
        place = size_at(found, axis)
        if isinstance(place, Place):
            size: Variable = dim(place.node, place.axis)
            return size
    path: list[Variable] = []
    while found is not None and found.op is not None and found.op.pointwise:
        path.append(found)
        known = _SOURCES.get(found, {}).get(axis)
        inner = known
        if inner is None:
            inner = next((x for x in found.inputs if _extends(x, axis)), None)
        if inner is None:
            break
        found = inner
        if known is not None:
            break
    if found is None:
        return None
    for x in path:
        _SOURCES.setdefault(x, {})[axis] = found
    size = dim(found, axis)
    return size


def _extends(x: Variable, axis: int) -> bool:
    """Tell whether a node has more than one element along an axis, as far as is known."""
    return isinstance(x.type, TensorType) and x.ndim >= -axis and x.type.shape[axis] != 1
