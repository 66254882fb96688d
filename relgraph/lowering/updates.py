"""Updates in kernels: a kernel writes the new values directly into the array that they update.

The kernel that computes a value writes it through the strides of the part that a basic key selects,
or to the indices along the first axis if it computes nothing else.  A value that no kernel computes
gets a kernel that copies it.  The array is copied first, or updated in place if nothing else reads
it.  NumPy computes updates with other keys, and those whose values it might have to stretch at run
time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant, Variable
from relgraph.ir.records import replace
from relgraph.lowering.gathers import furthest
from relgraph.lowering.kernels import (
    Call,
    Kernel,
    Statement,
    Step,
    Structure,
    merged_axes,
    ordered,
    reduced_axes,
    spanned,
)
from relgraph.lowering.refs import Ref, Slots, dtype_name
from relgraph.lowering.regions import Fusion, is_scalar
from relgraph.lowering.targets import Target, Update
from relgraph.lowering.update_rules import has_places, is_fusible, part_of
from relgraph.lowering.views import Operand, is_contiguous, is_view, part_axes
from relgraph.ops.elementwise import Cast

_REACH = 500  # the most steps to search for a path from a kernel to itself


def with_places(graph: FunctionGraph) -> FunctionGraph:
    """Return a graph that also computes the largest index for each update at indices."""
    largest = dict.fromkeys(_furthest(x) for x in graph if is_fusible(x) and has_places(x))
    new = [x for x in largest if x is not None and x not in graph.outputs]
    return FunctionGraph(graph.inputs, [*graph.outputs, *new]) if new else graph


class _Region(Operand):
    """The part of a contiguous array that a basic key selects."""

    def __init__(self, part: Variable, offset: int) -> None:
        super().__init__(part, offset, False)
        # A part without elements has no strides that matter.
        empty = 0 in part.type.shape
        self.along = part_axes(part) if is_view(part) and not empty else None
        self.in_place = self.along is not None and not is_contiguous(self.along)


def join_updates(graph: FunctionGraph, steps: Sequence[Step], fusion: Fusion) -> list[Step]:
    """Return a schedule in which kernels make the updates that they can.

    ``steps`` must compute the largest index of each update with an array of indices; see
    :func:`with_places`.
    """
    calls = [i for i, s in enumerate(steps) if isinstance(s, Call) and is_fusible(s.node)]
    if not calls:
        return list(steps)
    result: list[Step] = list(steps)
    producer = {x: i for i, step in enumerate(steps) for x in step.results}
    readers: dict[Variable, set[int]] = {}
    for i, step in enumerate(steps):
        for x in step.reads:
            readers.setdefault(x, set()).add(i)
    dropped: set[int] = set()
    outputs = frozenset(graph.outputs)
    for i in calls:
        step = result[i]
        assert isinstance(step, Call)
        node = step.node
        value = node.inputs[1]
        shared = value in outputs or len(readers[value]) > 1
        k = producer.get(value, -1)
        kernel = result[k] if k >= 0 else None
        if (
            isinstance(kernel, Kernel)
            and _takes(kernel, node, shared, fusion)
            and not _waits(result, producer, _others(node), k)
        ):
            result[k] = _written(kernel, node, shared, fusion)
            producer[node] = k
            dropped.add(i)
        else:
            result[i] = _alone(node, fusion)
    return ordered(graph, [step for i, step in enumerate(result) if i not in dropped])


def _others(node: Variable) -> tuple[Variable, ...]:
    most = _furthest(node) if has_places(node) else None
    return (node.inputs[0], *node.inputs[2:], *(() if most is None else (most,)))


def _furthest(node: Variable) -> Variable | None:
    """Return the largest index of an update, if it has to be checked."""
    return furthest(node.inputs[2], node.type.shape[0])


def _takes(kernel: Kernel, node: Variable, shared: bool, fusion: Fusion) -> bool:
    """Return True if a kernel can write one of its results into a part of an array."""
    value, part = node.inputs[1], part_of(node)
    structure = kernel.structure
    if structure.passes or structure.products is not None or kernel.scanned or value.ndim == 0:
        return False
    if value not in kernel.stored or kernel.shape != value.type.shape or part.ndim != value.ndim:
        return False
    if len(kernel.reads) + len(kernel.results) + 2 > fusion.arrays:
        return False
    stretched = any(d == 1 != p for d, p in zip(value.type.shape, part.type.shape, strict=True))
    if stretched or any(x.places is not None or x.node is value for x in kernel.updates):
        return False
    # Elements at indices are updated one by one, which would slow down other results.
    return not has_places(node) or (not shared and kernel.results == (value,))


def _waits(
    steps: Sequence[Step], producer: dict[Variable, int], reads: Collection[Variable], k: int
) -> bool:
    """Return True if any of ``reads`` depends on step ``k``, or if the search exceeds its limit."""
    stack = [producer[x] for x in reads if x in producer]
    seen: set[int] = set()
    while stack:
        i = stack.pop()
        if i == k or len(seen) > _REACH:
            return True
        if i not in seen:
            seen.add(i)
            stack.extend(producer[x] for x in steps[i].reads if x in producer)
    return False


def _written(kernel: Kernel, node: Variable, shared: bool, fusion: Fusion) -> Kernel:
    """Return a kernel that writes one of its results into an array."""
    structure, value = kernel.structure, node.inputs[1]
    position = kernel.stored.index(value)
    rows, row = structure.rows, structure.stored[position]
    if value.dtype != node.dtype:
        rows, row = (*rows, _cast(Ref("row", row, dtype_name(value)), node)), len(rows)
    stored, results = list(structure.stored), list(kernel.stored)
    if shared:
        position = len(stored)
    stored[position : position + 1], results[position : position + 1] = [row], [node]
    arrays, update = _update(node, kernel.arrays)
    changed = replace(
        kernel,
        structure=replace(structure, rows=rows, stored=tuple(stored)),
        arrays=arrays,
        stored=tuple(results),
        nodes=(*kernel.nodes, node),
        updates=(*kernel.updates, update),
    )
    return _looped(changed, fusion.views)


def _alone(node: Variable, fusion: Fusion) -> Kernel:
    """Return a kernel that only writes an array, or a number, into an array."""
    value = node.inputs[1]
    slots = Slots()
    numbers: tuple[Constant, ...] = ()
    if isinstance(value, Constant) and is_scalar(value):
        ref, numbers = slots.ref(value, False), (value,)
    else:
        ref = Ref("array", 0, dtype_name(value))
    arrays, update = _update(node, () if numbers else (value,))
    kernel = Kernel(
        Structure((_cast(ref, node),), (), (), (), (0,)),
        update.part.type.shape,
        (),
        arrays,
        numbers,
        slots.packed(),
        (node,),
        (),
        (node,),
        updates=(update,),
    )
    return _looped(kernel, fusion.views)


def _cast(ref: Ref, node: Variable) -> Statement:
    return Statement(Cast(node.dtype), (ref,), dtype_name(node))


def _update(node: Variable, arrays: tuple[Variable, ...]) -> tuple[tuple[Variable, ...], Update]:
    """Return the arrays of a kernel with an update added, and its description."""
    part = part_of(node)
    if not has_places(node):
        return arrays, Update(node, part)
    indices = node.inputs[2]
    return (*arrays, indices), Update(node, part, _furthest(node), len(arrays))


def _looped(kernel: Kernel, views: bool) -> Kernel:
    """Return a kernel whose loop nest follows the parts that it writes to."""
    ndim = len(kernel.shape)
    gather_indices = {gather.places for gather in kernel.gathers}
    update_indices = {update.places for update in kernel.updates}
    operands = [
        Operand(
            x,
            0 if i in update_indices else x.ndim - ndim,
            views and i not in gather_indices | update_indices,
        )
        for i, x in enumerate(kernel.arrays)
    ]
    regions = {x.node: _Region(x.part, x.part.ndim - ndim) for x in kernel.updates}
    parts = [regions[x.node] for x in kernel.updates if x.places is None]
    axes = reduced_axes(kernel.folded[0]) if kernel.folded else ()
    groups = merged_axes(kernel.shape, axes, [*operands, *parts])
    arrays = tuple((dtype_name(x.x), spanned(x, groups)) for x in operands)
    strides = tuple(x.strides(groups) for x in operands)
    if update_indices - {None}:  # threads split the outermost loop: add an empty one
        groups = ((), *groups)
        arrays = tuple((dtype, (False, *spans)) for dtype, spans in arrays)
    places = {x.node: x.places for x in kernel.updates}
    structure = replace(
        kernel.structure,
        arrays=arrays,
        reduced=tuple(bool(axes) and (not g or g[0] in axes) for g in groups),
        strides=strides,
        targets=tuple(
            None
            if x not in regions
            else Target(
                x.op.combiner,  # type: ignore[union-attr]
                () if places[x] is not None else regions[x].strides(groups),
                places[x],
            )
            for x in kernel.stored
        ),
    )
    return replace(kernel, structure=structure, groups=groups)


__all__ = ["join_updates", "with_places"]
