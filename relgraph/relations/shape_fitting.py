"""Shape fitting: a result gets the shape of the node it replaces without computing that node."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from relgraph.ir.node import Variable
from relgraph.ir.sizes import Place, size_at
from relgraph.ir.types import TensorType
from relgraph.relations.shape_proof import as_known


def broadcast_like(built: Variable, like: TensorType, place: Any) -> Variable | None:
    """Return ``built`` broadcast to the type ``like``, or None if it cannot be.

    Sizes that are not static are read from ``place``, through elementwise ops down to their
    operands, so that no array is computed for its shape alone.
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
        size = _size(sources, axis - like.ndim)
        if size is None:
            return None
        sizes.append(size)
    result: Variable = broadcast_to(built, tuple(sizes))
    return result if result.type.narrows(like) else None


# The node that the size of an elementwise node along an axis is read from, a cache for deep graphs.
_SOURCES: WeakKeyDictionary[Variable, dict[int, Variable]] = WeakKeyDictionary()


def _size(sources: list[Variable], axis: int) -> Variable | None:
    """Return the size along an axis (from the end), read as deep in the graph as possible."""
    from relgraph.ops.shape import dim

    node = next((x for x in sources if _extends(x, axis)), None)
    if node is not None and node.type.shape[axis] is None:
        place = size_at(node, axis)
        if isinstance(place, Place):
            size: Variable = dim(place.node, place.axis)
            return size
    path: list[Variable] = []
    while node is not None and node.op is not None and node.op.pointwise:
        path.append(node)
        source = _SOURCES.get(node, {}).get(axis)
        inner = source
        if inner is None:
            inner = next((x for x in node.inputs if _extends(x, axis)), None)
        if inner is None:
            break
        node = inner
        if source is not None:
            break
    if node is None:
        return None
    for x in path:
        _SOURCES.setdefault(x, {})[axis] = node
    size = dim(node, axis)
    return size


def _extends(x: Variable, axis: int) -> bool:
    """Return True if a node has more than one element along an axis, as far as is known."""
    return isinstance(x.type, TensorType) and x.ndim >= -axis and x.type.shape[axis] != 1
