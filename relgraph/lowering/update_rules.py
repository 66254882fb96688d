"""Updates that kernels can make: what their keys select, and how values combine with elements."""

from __future__ import annotations

from typing import Any

from relgraph.ir.node import Variable, apply
from relgraph.ir.sizes import Place, Size, size_at
from relgraph.ir.types import DTYPES, TensorType
from relgraph.lowering.refs import dtype_name
from relgraph.lowering.sizes import left_out
from relgraph.lowering.views import is_view
from relgraph.ops.elementwise import Cast
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import IndexUpdate

_PLACES = (("array",),)  # the key that is an array of indices along the first axis


def is_fusible(node: Variable) -> bool:
    """Return True if a kernel can make an update."""
    if not isinstance(node.op, IndexUpdate):
        return False
    dense = all(isinstance(x.type, TensorType) and x.type.layout == "dense" for x in node.inputs)
    if not dense or node.ndim == 0 or any(dtype_name(x) not in DTYPES for x in node.inputs):
        return False
    part = part_of(node)
    if has_places(node):
        if node.inputs[2].dtype.kind not in "iu":
            return False
    elif not is_view(part):
        return False
    return _fits(node.inputs[1], part)


def part_of(node: Variable) -> Variable:
    """Return the part of the array that the key of an update selects."""
    return apply(Index(node.op.params[0]), (node.inputs[0], *node.inputs[2:]))  # type: ignore[union-attr]


def _fits(value: Variable, part: Variable) -> bool:
    """Return True if broadcasting stretches only dimensions that are declared as 1."""
    if value.ndim > part.ndim:
        return False
    for axis in range(-value.ndim, 0):
        dim = value.type.shape[axis]
        if isinstance(dim, int) or (dim is not None and dim == part.type.shape[axis]):
            continue
        if _size(value, axis) != _size(part, axis):
            return False
    return True


def _size(x: Variable, axis: int) -> tuple[Size, int]:
    """Trace an axis through views; return the size below and how many elements slices skip."""
    skipped = 0
    while True:
        size = size_at(x, axis)
        if not isinstance(size, Place) or size.node.op is None or not is_view(size.node):
            return size, skipped
        x, axis = size
        if not isinstance(x.op, Index):
            return size, skipped
        source = x.inputs[0]
        axes = [
            (entry, below)
            for below, entry in _axes_of(x.op.params[0], source.ndim)
            if entry[0] in ("slice", "newaxis")
        ]
        entry, below = axes[axis]
        count = left_out(*entry[1:]) if entry[0] == "slice" else None
        if count is None:
            return size, skipped
        x, axis, skipped = source, below, skipped + count


def _axes_of(spec: Any, ndim: int) -> list[tuple[int, Any]]:
    """Return the entries of a basic key, each with its axis counted from the end."""
    entries = []
    axis = -ndim
    for entry in spec:
        entries.append((axis, entry))
        axis += entry[0] != "newaxis"
    return entries + [(a, ("slice", None, None, None)) for a in range(axis, 0)]


def has_places(node: Variable) -> bool:
    """Return True if the key of an update is an array of indices along the first axis."""
    return node.op is not None and node.op.params[0] == _PLACES


def selects_few(node: Variable) -> bool:
    """Return True if the key of an update has an int or indices, unlike a key of slices."""
    assert node.op is not None
    return has_places(node) or any(e[0] in ("int", "dynamic") for e in node.op.params[0])


def joined(node: Variable, x: Variable, value: Variable) -> Variable:
    """Return the new elements of an updated array: the values, combined with the old elements."""
    assert isinstance(node.op, IndexUpdate)
    op = node.op.combiner
    if value.dtype != node.dtype:
        value = apply(Cast(node.dtype), (value,))
    return value if op is None else apply(op, (x, value))


__all__ = ["has_places", "is_fusible", "joined", "part_of", "selects_few"]
