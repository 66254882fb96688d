"""Loops that map: each iteration changes a part of its own, so all parts are computed at once.

``for i in range(n): y[i] = f(y[i], x[i])`` is ``y[:] = f(y, x)`` with ``f`` along the first axis,
if ``f`` reads no other part of what the loop changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from relgraph.ir.cost import size as extent
from relgraph.ir.graph import FunctionGraph, substitute, toposort, toposort_above
from relgraph.ir.node import Variable, apply
from relgraph.ir.op import GetItem
from relgraph.ops.indexing.composition import by_axis, trimmed
from relgraph.ops.indexing.expression import FULL
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import SetIndex
from relgraph.ops.loops import Scan
from relgraph.ops.permutation import moveaxis
from relgraph.rewriting.batching import batched
from relgraph.rewriting.rewriters import with_changes

Pays = Callable[[Variable, Collection[Variable]], bool]
# A batched value has at most MOST elements, or LARGER times as many as the results.
MOST, LARGER = 1 << 22, 4


class _Slice(NamedTuple):
    """A key that selects one entry of an axis, that of the iteration.

    Attributes
    ----------
    whole : tuple
        The key of all these parts.
    axis : int
        The axis of the iterations in what it selects.
    others : tuple of Variable
        Its operands.
    """

    whole: tuple[Any, ...]
    axis: int
    others: tuple[Variable, ...]


def as_map(node: Variable, pays: Pays) -> dict[Variable, Variable]:
    """Return new nodes for the results of a scan that is a map, or an empty dictionary.

    ``pays(x, within)`` says whether it pays to compute a node at once for all iterations, where
    only the nodes ``within`` depend on them.
    """
    op: Any = node.op
    n, size = op.carries, op.size
    if op.sequences or not 0 < n == len(op.body.graph.outputs):
        return {}
    if not isinstance(size, int) or size < 2:
        return {}
    graph = _without_maps(op.body.graph, pays)
    carries = graph.inputs[1 : 1 + n]
    keys = _keys(graph, n, size)
    for carry, y in zip(carries, graph.outputs, strict=True):
        if y not in keys or not isinstance(y.op, SetIndex) or y.inputs[0] is not carry:
            return {}
        part = Index(y.op.params[0])(carry, *y.inputs[2:]).type
        if y.inputs[1].type.shape != part.shape or y.inputs[1].dtype != part.dtype:
            return {}
    own = {c: keys[y] for c, y in zip(carries, graph.outputs, strict=True)}
    parts = {
        x: key
        for x, key in keys.items()
        if isinstance(x.op, Index) and (x.inputs[0] not in carries or own[x.inputs[0]] == key)
    }
    values = [y.inputs[1] for y in graph.outputs]
    if not _is_worth_it(values, parts, graph.inputs[: 1 + n], size, pays):
        return {}
    arrays: dict[Variable, Variable] = dict(zip(graph.inputs[1:], node.inputs[1:], strict=True))
    slices = {}
    for x, key in parts.items():
        array, *others = substitute([x.inputs[0], *key.others], arrays)
        whole = apply(Index(key.whole), (array, *others)) if key.whole else array
        slices[x] = moveaxis(whole, key.axis, 0)
    results = {}
    for k, x in enumerate(substitute(batched(values, slices, size), arrays)):
        key = keys[graph.outputs[k]]
        new, start = moveaxis(x, 0, key.axis), node.inputs[1 + k]
        if key.whole:
            new = apply(SetIndex(key.whole), (start, new, *substitute(key.others, arrays)))
        results[GetItem(k)(node)] = new
    return results


def _keys(graph: FunctionGraph, carries: int, size: int) -> dict[Variable, _Slice]:
    """Return the parts of inputs of a body that iterations read or write, one entry each."""
    order = toposort(graph.outputs)
    varying = dependent(order, graph.inputs[: 1 + carries])
    keys = {}
    for x in order:
        if isinstance(x.op, Index | SetIndex) and x.inputs[0] in graph.inputs[1:]:
            key = _slice(x, graph.inputs[0], size)
            if key is not None and varying.isdisjoint(key.others):
                keys[x] = key
    return keys


def _is_worth_it(
    values: Sequence[Variable],
    parts: Collection[Variable],
    inputs: Collection[Variable],
    size: int,
    pays: Pays,
) -> bool:
    """Return True if values need inputs only for parts, and it pays to batch them."""
    if not all([_is_free(x, parts, inputs) for x in values]):
        return False
    order = toposort_above(values, parts)
    within = dependent(order, parts)
    most = max(MOST, LARGER * size * sum([extent(x.type) for x in values]))
    if any([size * extent(x.type) > most for x in within]):
        return False
    return all([pays(x, within) for x in values])


def _without_maps(graph: FunctionGraph, pays: Pays) -> FunctionGraph:
    """Return a body in which the loops that map are batched."""
    changes: dict[Variable, Variable] = {}
    for x in graph:
        if isinstance(x.op, Scan):
            changes |= as_map(x, pays)
    return with_changes(graph, changes)


def _slice(x: Variable, index: Variable, size: int) -> _Slice | None:
    """Return what part of its array a node reads or writes, if it is one entry of an axis.

    The entry is that of the index, and the axis has a size.
    """
    op: Any = x.op
    array, *operands = x.inputs if isinstance(op, Index) else (x.inputs[0], *x.inputs[2:])
    entries = by_axis(op.params[0], array.ndim)
    if entries is None:
        return None
    if any([entry != FULL and entry[0] not in ("int", "dynamic") for entry in entries]):
        return None
    axes = [axis for axis, entry in enumerate(entries) if entry[0] == "dynamic"]
    here = [axis for axis, y in zip(axes, operands, strict=True) if y is index]
    if len(here) != 1 or array.type.shape[here[0]] != size:
        return None
    (axis,) = here
    whole = trimmed([FULL if k == axis else entry for k, entry in enumerate(entries)])
    others = tuple([y for y in operands if y is not index])
    return _Slice(whole, entries[:axis].count(FULL), others)


def dependent(order: Iterable[Variable], on: Collection[Variable]) -> set[Variable]:
    """Return some nodes and those that depend on them."""
    result = set(on)
    for x in order:
        if not result.isdisjoint(x.inputs):
            result.add(x)
    return result


def _is_free(x: Variable, ends: Collection[Variable], inputs: Collection[Variable]) -> bool:
    """Return True if a node needs the inputs only for some other nodes."""
    waiting, seen = [x], set(ends)
    while waiting:
        y = waiting.pop()
        if y in inputs:
            return False
        if y not in seen:
            seen.add(y)
            waiting += y.inputs
    return True


__all__ = ["as_map", "dependent"]
