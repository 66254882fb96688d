"""Cheap values of which kernels read shifted parts, computed where they are read.

The difference of a flux, ``f[1:] - f[:-1]``, reads each element of ``f`` in two iterations, so one
kernel would store ``f`` and another one read it.  A few operations take less time than that
traffic: the slices move to what ``f`` is computed from.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relgraph.ir.graph import FunctionGraph, toposort_above
from relgraph.ir.node import Variable, apply
from relgraph.lowering.regions import Fusion
from relgraph.ops.elementwise import Cast, Elementwise
from relgraph.ops.indexing.composition import by_axis, composed, trimmed
from relgraph.ops.indexing.expression import FULL, Spec
from relgraph.ops.indexing.index import Index

READERS = 5  # parts of a value
OPERATIONS = 24  # that compute an element of each part
ARRAYS = 12  # that the kernel of the parts reads for them
LEAST = 256  # elements of a value


def recomputed(graph: FunctionGraph, fusion: Fusion) -> FunctionGraph:
    """Return a graph in which what reads shifted parts of a cheap value computes them.

    Parameters
    ----------
    graph : FunctionGraph
        The graph.
    fusion : Fusion
        What kernels compute.
    """
    if not any([isinstance(x.op, Index) and _is_light(x.inputs[0], fusion) for x in graph]):
        return graph
    regions: dict[Variable, list[Variable]] = {}
    stored: set[Variable] = set()
    for y in reversed(graph.toposort()):
        if y not in stored and (region := _region(y, graph, fusion)):
            regions[y] = region
            # Otherwise each part would be stored instead of the whole value.
            stored |= {x.inputs[0] for z in region for x in z.inputs if isinstance(x.op, Index)}
    if not regions:
        return graph
    images: dict[Variable, Variable] = {}
    for x in graph:
        shifted = regions.get(x.inputs[0]) if isinstance(x.op, Index) else None
        if x.op is None:
            images[x] = x
        elif shifted:
            images[x] = _part_of(x, shifted, images)
        else:
            images[x] = apply(x.op, tuple([images[y] for y in x.inputs]))
    return FunctionGraph(graph.inputs, [images[y] for y in graph.outputs])


def _region(y: Variable, graph: FunctionGraph, fusion: Fusion) -> list[Variable]:
    """Return the nodes that compute a value for its readers alone, or none if it is to be stored.

    They are in order, the value last.
    """
    if not _is_light(y, fusion) or not _has_shifted_readers(y, graph, fusion):
        return []
    inside = {y}
    stack = [y]
    while stack:
        for x in stack.pop().inputs:
            alone = all([user in inside for user, _ in graph.clients[x]])
            if alone and x not in inside and _is_light(x, fusion) and x.type.shape == y.type.shape:
                inside.add(x)
                stack.append(x)
    readers = len(graph.clients[y])
    if sum([_operations(x) for x in inside]) * readers > OPERATIONS:
        return []
    # Operands that a kernel would compute with the value would be stored instead of it.
    operands = {x for z in inside for x in z.inputs} - inside
    arrays = [x for x in operands if x.ndim]
    for x in arrays:
        if fusion.maps(x) and all([user in inside for user, _ in graph.clients[x]]):
            return []
    if len(arrays) * readers > ARRAYS:
        return []
    return [x for x in toposort_above([y], operands) if x in inside]


def _is_light(x: Variable, fusion: Fusion) -> bool:
    """Return True for an elementwise op that takes one or two operations."""
    if not isinstance(x.op, Elementwise | Cast) or not fusion.maps(x):
        return False
    return fusion.weight(x) == 1 and _operations(x) <= 2


def _operations(x: Variable) -> int:
    return x.op.row.flops if isinstance(x.op, Elementwise) else 1


def _has_shifted_readers(y: Variable, graph: FunctionGraph, fusion: Fusion) -> bool:
    """Return True if only kernels that read different slices of a value read it."""
    shape, readers = y.type.shape, [user for user, _ in graph.clients[y]]
    if not all([isinstance(n, int) for n in shape]) or prod(shape) < LEAST:
        return False
    if not 1 < len(readers) <= READERS:
        return False
    for x in readers:
        if isinstance(x, str) or not isinstance(x.op, Index) or not _is_slices(x.op.params[0]):
            return False
        users = [user for user, _ in graph.clients[x]]
        if not users or not all([not isinstance(u, str) and fusion.maps(u) for u in users]):
            return False
    return True


def _is_slices(spec: Spec) -> bool:
    return all([entry[0] == "slice" and "dynamic" not in entry for entry in spec])


def _part_of(
    part: Variable, region: Sequence[Variable], images: dict[Variable, Variable]
) -> Variable:
    """Return a slice of a value, computed from slices of what the value is computed from."""
    assert part.op is not None
    spec, shape = part.op.params[0], part.inputs[0].type.shape
    parts: dict[Variable, Variable] = {}
    for x in region:
        assert x.op is not None
        operands = [parts[y] if y in parts else _sliced(images[y], spec, shape) for y in x.inputs]
        parts[x] = apply(x.op, tuple(operands))
    return parts[region[-1]]


def _sliced(x: Variable, spec: Spec, shape: Sequence[int]) -> Variable:
    """Return the part of an operand that a slice of the result needs."""
    if not x.ndim:
        return x
    entries = by_axis(spec, len(shape))
    assert entries is not None
    own = entries[len(shape) - x.ndim :]
    sizes = shape[len(shape) - x.ndim :]
    kept = [
        FULL if n == 1 != size else entry
        for entry, n, size in zip(own, x.type.shape, sizes, strict=True)
    ]
    key = trimmed(kept)
    if not key:
        return x
    if isinstance(x.op, Index):
        array = x.inputs[0]
        both = composed(x.op.params[0], key, array.type.shape)
        if both is not None and all([which == 0 for which, _ in both.order]):
            return apply(Index(both.spec), x.inputs)
    return apply(Index(key), (x,))


__all__ = ["recomputed"]
