"""Buffers: how long each value lives, and which new value reuses its memory.

A value reuses the memory of another one within the same call of the program, after its last read,
and only if dtype and shape are equal.  A kernel also writes into an operand that dies with it, if
each element that it writes depends on no other element of that operand.  Constants and outputs keep
their memory, and inputs do unless the caller donates them.  Memory that an output may view is not
reused either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant, Input, Variable
from relgraph.ir.op import GetItem
from relgraph.lowering.kernels import Call, Kernel, Step
from relgraph.lowering.refs import dtype_name
from relgraph.lowering.sizes import Sizes, Terms, is_product
from relgraph.lowering.views import root


@dataclass(frozen=True)
class Plan:
    """The buffer of each value.

    Attributes
    ----------
    takes
        Maps a value to the dead value whose memory it reuses.
    dies
        For each step, the values that no later step reads and whose memory nothing reuses.
    overwrites
        The updates that change their array in place, because nothing else reads it.
    """

    takes: dict[Variable, Variable] = field(default_factory=dict)
    dies: list[tuple[Variable, ...]] = field(default_factory=list)
    overwrites: set[Variable] = field(default_factory=set)


def plan(
    graph: FunctionGraph,
    steps: Sequence[Step],
    sizes: Sizes,
    reuse: bool = True,
    overwrite: bool = True,
    *,
    donated: Collection[Variable] = (),
    placed: Collection[Variable] = (),
) -> Plan:
    """Plan the memory of a schedule.

    ``reuse`` lets a value take over the memory of a dead one, and ``overwrite`` lets an update
    change its array in place.  The memory of the ``donated`` inputs may be taken over; the values
    in ``placed`` are written to arrays of the caller, so they take over none.
    """
    last = last_reads(graph, steps, donated)
    pinned = pinned_values(steps)
    result = Plan()
    if overwrite:
        result.overwrites.update(overwriting(steps, last, donated))
    arrays = updated(steps, last, donated) if overwrite else {}
    free: dict[tuple[str, Terms], list[Variable]] = {}
    waiting: list[dict[Variable, None]] = [{} for _ in steps]
    for i, step in enumerate(steps):
        dying = [x for x in step.reads if last.get(x) == i and x not in pinned] if reuse else []
        for x in step.results if has_own_buffer(step) else ():
            if x in placed:
                continue
            kind = (dtype_name(x), sizes.shape[x])
            spare = free.get(kind)
            donor = arrays.get(x)
            if donor is not None:
                result.overwrites.add(x)
            elif spare:
                donor = spare.pop()
            others = [] if is_updated(step, x) else dying
            for y in in_place(step, x, others) if donor is None else ():
                if (dtype_name(y), sizes.shape[y]) == kind:
                    donor = y
                    dying.remove(y)
                    break
            if donor is not None:
                result.takes[x] = donor
                waiting[last[donor]].pop(donor, None)
        donors = set(result.takes[x] for x in step.results if x in result.takes)
        dead = dict.fromkeys(x for x in (*step.reads, *step.results) if last.get(x) == i)
        for x in dead:
            if x in donors:
                continue
            waiting[i][x] = None
            if reuse and x not in pinned:
                free.setdefault((dtype_name(x), sizes.shape[x]), []).append(x)
    result.dies.extend(tuple(names) for names in waiting)
    return result


def in_place(step: Step, x: Variable, operands: Iterable[Variable]) -> list[Variable]:
    """Return the dying operands into which a step can write ``x``, element by element."""
    if not isinstance(step, Kernel) or x not in step.stored:
        return []
    structure = step.structure
    for update in step.updates:
        if x is update.node:
            return [y for y in operands if y is update.array and _alone(step, y)]
    if structure.passes or structure.products is not None:
        return []  # these kernels read an element more than once
    spanning = {
        y for y, (_, spans) in zip(step.arrays, structure.arrays, strict=True) if all(spans)
    }
    return [y for y in operands if y in spanning and y not in step.tables]


def is_updated(step: Step, x: Variable) -> bool:
    """Return True if a kernel computes a result as an update of an array."""
    return isinstance(step, Kernel) and any(x is update.node for update in step.updates)


def _alone(step: Kernel, array: Variable) -> bool:
    """Return True if nothing in a kernel reads an array except the one update of it."""
    others = [x for update in step.updates for x in update.reads]
    return others.count(array) == 1 and all(
        root(x) is not root(array) for x in (*step.arrays, *step.tables)
    )


def origins(
    graph: FunctionGraph, steps: Sequence[Step], donated: Collection[Variable] | None = ()
) -> dict[Variable, Variable]:
    """Map each output to the value that is computed first in its memory.

    That is the output itself, or the array that a chain of updates in place starts from.  Pass None
    for ``donated`` if no update may run in place.
    """
    if donated is None:
        return {x: x for x in graph.outputs}
    arrays = updated(steps, last_reads(graph, steps, donated), donated)
    allocated = {x for step in steps if has_own_buffer(step) for x in step.results}
    result = {}
    for x in graph.outputs:
        first = x
        while arrays.get(first) in allocated:
            first = arrays[first]
        result[x] = first
    return result


def updated(
    steps: Sequence[Step], last: dict[Variable, int], donated: Collection[Variable] = ()
) -> dict[Variable, Variable]:
    """Map each update that a kernel can make in place to the array that it changes.

    That array must belong to the program, have no view, die at that kernel, and not be read
    elsewhere in it.
    """
    owned, viewed = _owned(steps, donated)
    return {
        update.node: update.array
        for i, step in enumerate(steps)
        if isinstance(step, Kernel)
        for update in step.updates
        if update.array in owned
        and update.array not in viewed
        and last.get(update.array) == i
        and _alone(step, update.array)
    }


def last_reads(
    graph: FunctionGraph, steps: Sequence[Step], donated: Collection[Variable] = ()
) -> dict[Variable, int]:
    """Return the last step that reads each intermediate value and each donated input.

    Outputs are left out, since they outlive the program.
    """
    last: dict[Variable, int] = {}
    donated = frozenset(donated)
    for i, step in enumerate(steps):
        for x in (*step.results, *step.reads):
            if not isinstance(x, Input | Constant) or x in donated:
                last[x] = i
    for x in graph.outputs:
        last.pop(x, None)
    return last


def overwriting(
    steps: Sequence[Step], last: dict[Variable, int], donated: Collection[Variable] = ()
) -> set[Variable]:
    """Return the updates by calls that can change their array in place; see :func:`updated`."""
    owned, viewed = _owned(steps, donated)
    result: set[Variable] = set()
    for i, step in enumerate(steps):
        if isinstance(step, Call) and is_update(step):
            x, *others = step.node.inputs
            if x in owned and x not in viewed and last.get(x) == i and x not in others:
                result.add(step.node)
    return result


def _owned(
    steps: Sequence[Step], donated: Collection[Variable]
) -> tuple[set[Variable], set[Variable]]:
    """Return the values in memory of the program, and those that a result may be a view of."""
    owned: set[Variable] = set(donated)
    viewed: set[Variable] = set()
    for step in steps:
        if has_own_buffer(step) or is_update(step):
            owned.update(step.results)
        if isinstance(step, Call) and not is_update(step) and not _is_fresh(step.node):
            viewed.update(step.reads)
    return owned, viewed


def _is_fresh(node: Variable) -> bool:
    return node.op is not None and node.op.returns_new_array


def is_update(step: Step) -> bool:
    """Return True if a step is a call that returns its array with a part changed."""
    return isinstance(step, Call) and hasattr(step.node.op, "overwrite")


def has_own_buffer(step: Step) -> bool:
    """Return True if the program allocates the results of a step and so chooses their buffer."""
    return isinstance(step, Kernel) or is_product(step.node)


def is_new(step: Step) -> bool:
    """Return True if only the program refers to the memory of the results of a step."""
    if not isinstance(step, Call) or is_product(step.node):
        return True
    node = step.node.inputs[0] if isinstance(step.node.op, GetItem) else step.node
    return _is_fresh(node)


def pinned_values(steps: Sequence[Step]) -> set[Variable]:
    """Return the values that others own or may view, whose memory must not be reused."""
    pinned: set[Variable] = set()
    for step in steps:
        if isinstance(step, Call):
            if not is_product(step.node):
                pinned.add(step.node)
            if not _is_fresh(step.node):
                pinned.update(step.reads)
    return pinned
