"""Buffers: which step is the last to read a value, and whose memory a new value takes over.

Memory is taken over within one call of the program, from values that no later step reads, and only
where dtype and shape are the same.  A kernel writes into an operand that dies with it where every
element that it writes depends on that element of the operand alone.  Constants and results of the
program are never handed on, and inputs only where the caller donates them; neither is memory that
the result of a call may be a view of.
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
    """Where values live.

    Attributes
    ----------
    takes : dict of Variable to Variable
        For a value that takes over memory, the dead value it takes it from.
    overwrites : set of Variable
        Updates of arrays that nothing else reads, which are made in the array itself.
    dies : list of tuple of Variable
        For each step the values that no later step reads and whose memory nobody takes over.
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

    Parameters
    ----------
    graph : FunctionGraph
        The graph, for its inputs and outputs.
    steps : sequence of Step
        Its schedule.
    sizes : Sizes
        Which shapes are equal at run time.
    reuse : bool
        Whether a value may take over the memory of one that was read last.
    overwrite : bool
        Whether an update of an array that nothing else reads may change the array itself.
    donated : collection of Input
        The inputs whose memory may be taken over.
    placed : collection of Variable
        The values whose place is given, so that they take over no other.

    Returns
    -------
    Plan
        Which value takes over whose memory, and when values are dropped.
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
            taken = arrays.get(x)
            if taken is not None:
                result.overwrites.add(x)
            elif spare:
                taken = spare.pop()
            others = [] if is_updated(step, x) else dying
            for y in in_place(step, x, others) if taken is None else ():
                if (dtype_name(y), sizes.shape[y]) == kind:
                    taken = y
                    dying.remove(y)
                    break
            if taken is not None:
                result.takes[x] = taken
                waiting[last[taken]].pop(taken, None)
        over = set(result.takes[x] for x in step.results if x in result.takes)
        dead = dict.fromkeys(x for x in (*step.reads, *step.results) if last.get(x) == i)
        for x in dead:
            if x in over:
                continue
            waiting[i][x] = None
            if reuse and x not in pinned:
                free.setdefault((dtype_name(x), sizes.shape[x]), []).append(x)
    result.dies.extend(tuple(names) for names in waiting)
    return result


def in_place(step: Step, x: Variable, operands: Iterable[Variable]) -> list[Variable]:
    """Return the operands into which a kernel can write a result, element by element.

    Parameters
    ----------
    step : Step
        The step that computes the result.
    x : Variable
        The result.
    operands : iterable of Variable
        Operands of the step that nothing reads after it.
    """
    if not isinstance(step, Kernel) or x not in step.stored:
        return []
    structure = step.structure
    for update in step.updates:
        if x is update.node:
            return [y for y in operands if y is update.array and _alone(step, y)]
    if structure.passes or structure.products is not None:
        return []  # they read an element more than once
    spanning = {
        y for y, (_, spans) in zip(step.arrays, structure.arrays, strict=True) if all(spans)
    }
    return [y for y in operands if y in spanning and y not in step.tables]


def is_updated(step: Step, x: Variable) -> bool:
    """Tell whether a result of a step is an array that a kernel updates."""
    return isinstance(step, Kernel) and any(x is update.node for update in step.updates)


def _alone(step: Kernel, array: Variable) -> bool:
    """Tell whether a kernel that updates an array reads no other elements of it, nor its own."""
    others = [x for update in step.updates for x in update.reads]
    return others.count(array) == 1 and all(
        root(x) is not root(array) for x in (*step.arrays, *step.tables)
    )


def origins(
    graph: FunctionGraph, steps: Sequence[Step], donated: Collection[Variable] | None = ()
) -> dict[Variable, Variable]:
    """Return for each output the value that is computed in its memory first.

    Parameters
    ----------
    graph : FunctionGraph
        The graph.
    steps : sequence of Step
        Its schedule.
    donated : collection of Input, optional
        The inputs whose memory may be taken over; None where no update may change an array itself.

    Returns
    -------
    dict of Variable to Variable
        An output itself, or the array that updates made of the output in place.
    """
    if donated is None:
        return {x: x for x in graph.outputs}
    arrays = updated(steps, last_reads(graph, steps, donated), donated)
    own = {x for step in steps if has_own_buffer(step) for x in step.results}
    found = {}
    for x in graph.outputs:
        first = x
        while arrays.get(first) in own:
            first = arrays[first]
        found[x] = first
    return found


def updated(
    steps: Sequence[Step], last: dict[Variable, int], donated: Collection[Variable] = ()
) -> dict[Variable, Variable]:
    """Return for each update in a kernel that may be made in the array itself that array."""
    own, viewed = _owned(steps, donated)
    return {
        update.node: update.array
        for i, step in enumerate(steps)
        if isinstance(step, Kernel)
        for update in step.updates
        if update.array in own
        and update.array not in viewed
        and last.get(update.array) == i
        and _alone(step, update.array)
    }


def last_reads(
    graph: FunctionGraph, steps: Sequence[Step], donated: Collection[Variable] = ()
) -> dict[Variable, int]:
    """Return for each intermediate value the last step that reads it; outputs have none.

    Inputs that are donated are among them.
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
    """Return the updates by calls whose array dies with them, is the program's, and has no view."""
    own, viewed = _owned(steps, donated)
    found: set[Variable] = set()
    for i, step in enumerate(steps):
        if isinstance(step, Call) and is_update(step):
            x, *others = step.node.inputs
            if x in own and x not in viewed and last.get(x) == i and x not in others:
                found.add(step.node)
    return found


def _owned(
    steps: Sequence[Step], donated: Collection[Variable]
) -> tuple[set[Variable], set[Variable]]:
    """Return the values whose memory is the program's, and those that others may be views of."""
    own: set[Variable] = set(donated)
    viewed: set[Variable] = set()
    for step in steps:
        if has_own_buffer(step) or is_update(step):
            own.update(step.results)
        if isinstance(step, Call) and not is_update(step) and not _is_fresh(step.node):
            viewed.update(step.reads)
    return own, viewed


def _is_fresh(node: Variable) -> bool:
    return node.op is not None and node.op.returns_new_array


def is_update(step: Step) -> bool:
    """Tell whether a step computes an update, which returns its array with a part changed."""
    return isinstance(step, Call) and hasattr(step.node.op, "overwrite")


def has_own_buffer(step: Step) -> bool:
    """Tell whether the program allocates the results of a step, and can choose where they live."""
    return isinstance(step, Kernel) or is_product(step.node)


def is_new(step: Step) -> bool:
    """Return True if nothing but the program refers to the memory of a step's results."""
    if not isinstance(step, Call) or is_product(step.node):
        return True
    node = step.node.inputs[0] if isinstance(step.node.op, GetItem) else step.node
    return _is_fresh(node)


def pinned_values(steps: Sequence[Step]) -> set[Variable]:
    """Return the values whose memory is not the program's to hand on, or may have a view."""
    pinned: set[Variable] = set()
    for step in steps:
        if isinstance(step, Call):
            if not is_product(step.node):
                pinned.add(step.node)
            if not _is_fresh(step.node):
                pinned.update(step.reads)
    return pinned
