"""Updated operands: an elementwise op of an updated array moves to the array and to the new value.

``f(x.at[k].set(v), y)`` becomes ``f(x, y).at[k].set(f(v, y[k]))``.  Whatever computes ``f(x, y)``
reads ``x`` directly, so no updated copy of ``x`` is written and read again.  The elements of
``f(x, y)`` that the update replaces are wasted work, so an expensive op moves only if the key
selects less than a slice.  An update through a mask becomes a ``where``, which any kernel can
compute.
"""

from __future__ import annotations

from collections import Counter

from relgraph.ir.graph import FunctionGraph, map_nodes
from relgraph.ir.node import Variable, apply
from relgraph.lowering.regions import Fusion
from relgraph.lowering.update_rules import (
    has_places,
    is_fusible,
    joined,
    part_of,
    selects_few,
)
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.indexing.update import IndexUpdate, SetIndex

_CHEAP = 1  # up to this weight, an op moves whatever the key selects


def apart(graph: FunctionGraph, fusion: Fusion) -> FunctionGraph:
    """Return a graph in which elementwise ops read no updated arrays where that saves a copy."""
    if not any(isinstance(node.op, IndexUpdate) for node in graph):
        return graph
    uses = Counter(x for node in graph for x in set(node.inputs))
    uses.update(graph.outputs)
    stored = {
        x
        for node in graph
        if node.op is not None and not node.op.pointwise and not fusion.reduces(node)
        for x in node.inputs
    }.union(graph.outputs)
    read = {x for node in graph if node.op is not None and node.op.pointwise for x in node.inputs}
    read |= stored

    def change(node: Variable, inputs: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return node
        if isinstance(node.op, IndexUpdate):
            choice = _chosen(node, inputs)
            return apply(node.op, inputs) if choice is None else choice
        if node.op.pointwise and node in read and fusion.maps(node):
            for x, new in zip(node.inputs, inputs, strict=True):
                if uses[x] == 1 and is_fusible(new):
                    moved = _moved(node, inputs, new, fusion)
                    if moved is not None:
                        return moved
        return apply(node.op, inputs)

    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, change))


def _chosen(node: Variable, inputs: tuple[Variable, ...]) -> Variable | None:
    """Return an update of the elements under a mask with one number as a ``where``; else None."""
    assert node.op is not None
    x, value, *key = inputs
    if node.op.params[0] != (("mask", x.ndim),) or value.ndim:
        return None
    if None in x.type.shape or key[0].type.shape != x.type.shape:
        return None
    return apply(Elementwise("where"), (key[0], joined(node, x, value), x))


def _moved(
    node: Variable, inputs: tuple[Variable, ...], update: Variable, fusion: Fusion
) -> Variable | None:
    """Return an op of an updated array as an update of the op; None if that does not pay off."""
    assert node.op is not None
    assert update.op is not None
    if has_places(update) and not isinstance(update.op, SetIndex):
        return None  # repeated indices combine with an element more than once
    if not selects_few(update) and fusion.weight(node) > _CHEAP:
        return None
    if node.type.shape != update.type.shape:
        return None
    if any(y.ndim and y.type.shape != update.type.shape for y in inputs):
        return None
    x, value, *key = update.inputs
    part = part_of(update)
    value = joined(update, part, value)

    def selected(y: Variable) -> Variable:
        if y is update:
            return value
        return apply(part.op, (y, *key)) if y.ndim and part.op is not None else y

    base = apply(node.op, tuple(x if y is update else y for y in inputs))
    moved = apply(
        SetIndex(update.op.params[0]), (base, apply(node.op, tuple(map(selected, inputs))), *key)
    )
    return moved if is_fusible(moved) else None


__all__ = ["apart"]
