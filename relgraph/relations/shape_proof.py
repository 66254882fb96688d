"""Shape proofs: a result runs wherever the node that it replaces does.

Building a graph takes an unknown size to equal any other.  So the other side of a relation may need
two sizes to be equal that the matched side does not: ``trace(A B)`` runs for ``A`` of 2 by 3 and
``B`` of 3 by 4, and ``sum(A * B.mT)`` does not.  A relation fires only if each such equality is
proved: by types and facts, or because the matched side needs it too.

Unless a relation is elementwise, it does not fire either where an operand is broadcast that its
statement takes to have the shape of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from relgraph.ir.node import Constant, Variable
from relgraph.ir.sizes import Equalities, size_at
from relgraph.ir.types import TensorType, covers
from relgraph.ops.shape import BroadcastTo
from relgraph.relations.rank_classes import lawful

LIMIT = 1000  # nodes of either side that are looked at, beyond a few for each operand


def proved(
    built: Variable | None,
    place: Variable | Sequence[Variable],
    bound: Iterable[Any],
    uniform: bool = False,
    numbers: bool = False,
) -> Variable | None:
    """Return what was built if its sizes fit wherever those of what it replaces do, else None.

    ``place`` is what is replaced: a node, or the operands of an elementwise op.  Both sides are
    known down to the nodes in ``bound``, for which the variables of the pattern stand; without any,
    both sides are compared to find what they share.  With ``uniform``, for answers of kanren, it
    must also be shown that operands of elementwise ops alone are broadcast, and that products hold
    for the ranks of their operands; compiled matchers test that themselves.  With ``numbers``, any
    operand without axes may be stretched by elementwise ops alone, as a constant may.
    """
    if built is None:
        return None
    ends = nodes_of(bound)
    roots = (place,) if isinstance(place, Variable) else tuple(place)
    limit = LIMIT + 4 * (len(ends) + len(roots))
    if ends and not _unknown(ends) and _sized(built, ends, limit):
        return built  # every size is known, and the ops took them
    replaced, region, equalities = _compared(built, roots, ends, limit)
    if len(region) >= limit or not all(map(equalities.implies, region)):
        return None
    if not uniform:
        return built
    changed = _changed(built, region, roots, replaced)
    holds = not _stretches(changed, numbers) and all(lawful(x, built, changed) for x in roots)
    return built if holds else None


def unequal_sizes(
    built: Variable, place: Variable | Sequence[Variable], bound: Iterable[Any]
) -> Variable | None:
    """Return the first application of a result whose sizes are not shown to be equal, or None.

    The arguments are those of :func:`proved`.
    """
    ends = nodes_of(bound)
    roots = (place,) if isinstance(place, Variable) else tuple(place)
    _, region, equalities = _compared(built, roots, ends, LIMIT + 4 * (len(ends) + len(roots)))
    return next((x for x in reversed(region) if not equalities.implies(x)), None)


def _compared(
    built: Variable, roots: Sequence[Variable], ends: dict[Variable, None], limit: int
) -> tuple[dict[Variable, None], dict[Variable, None], Equalities]:
    """Return the nodes of what is replaced, those of the result, and the sizes known equal."""
    equalities = Equalities()
    if len(roots) > 1:
        equalities.together(roots)
    replaced = _region(roots, frozenset(ends), limit)
    for x in (*replaced, *ends):
        equalities.learn(x)
    return replaced, _region((built,), replaced.keys() | ends.keys(), limit), equalities


def as_known(type_: TensorType, like: TensorType, place: Variable | Sequence[Variable]) -> bool:
    """Return True if the sizes of a result, other than 1, are those of what it replaces.

    If a size of what is replaced is unknown, it must be shown to be the one built: ``x - x =
    zeros(3)`` does not hold for vectors of another size.  A result of lower rank has the last axes.
    """
    unknown = []
    for axis in range(-type_.ndim, 0):
        mine, theirs = type_.shape[axis], like.shape[axis]
        if mine is None or mine in (1, theirs):
            continue
        if theirs is not None:
            return False
        unknown.append((axis, mine))
    if not unknown:
        return True
    roots = (place,) if isinstance(place, Variable) else tuple(place)
    equalities = Equalities()
    equalities.together(roots)
    for x in _region(roots, (), LIMIT):
        equalities.learn(x)
    return all(
        any(equalities.find(size_at(x, axis)) == mine for x in roots if x.ndim >= -axis)
        for axis, mine in unknown
    )


def _changed(
    built: Variable,
    region: dict[Variable, None],
    roots: Sequence[Variable],
    replaced: dict[Variable, None],
) -> list[Variable]:
    """Return the applications that the replaced node and the result do not share."""
    ends = {y for x in (*region, built) for y in (*x.inputs, x) if y in replaced}
    return [x for x in (*region, *_region(roots, ends, LIMIT)) if x.inputs]


def _stretches(changed: Sequence[Variable], numbers: bool) -> bool:
    """Return True if an op of what is replaced, or of what was built, broadcasts an operand.

    A relation is stated for operands of one shape, and only elementwise ops alone may broadcast
    them freely: ``X (Y + Z) = X Y + X Z`` is wrong for a vector Y that is stretched to a matrix.
    What both graphs have in common is not looked at, nor are numbers under elementwise ops.
    """
    pointwise: list[Variable] = []
    moved: set[Variable] = set()
    for x in changed:
        if x.op is not None and x.op.pointwise:
            pointwise.append(x)
        elif not isinstance(x.op, BroadcastTo):  # it states what it stretches
            moved.update(x.inputs)
    return len(pointwise) < len(changed) and any(
        not covered(x, y)
        and not ((numbers or isinstance(y, Constant)) and y.ndim == 0 and y not in moved)
        for x in pointwise
        for y in x.inputs
    )


def covered(node: Variable, operand: Variable) -> bool:
    """Return True if an operand has the shape of the result, so that nothing is broadcast."""
    a, b = node.type, operand.type
    return a is b or a.shape == b.shape or covers(a.shape, b.shape)


def nodes_of(bound: Iterable[Any]) -> dict[Variable, None]:
    """Return the nodes among bindings, also those in lists."""
    nodes: dict[Variable, None] = {}
    for x in bound:
        if isinstance(x, Variable):
            nodes[x] = None
        elif isinstance(x, list | tuple):
            nodes.update(dict.fromkeys([y for y in x if isinstance(y, Variable)]))
    return nodes


def _unknown(nodes: Iterable[Variable]) -> bool:
    """Return True if a size of one of the nodes is not known."""
    types = {x.type for x in nodes}
    return any([isinstance(t, TensorType) and None in t.shape for t in types])


def _sized(root: Variable, ends: dict[Variable, None], limit: int) -> bool:
    """Return True if all sizes from a root down to ends are known, within a limit of nodes."""
    if root in ends:
        return True
    seen, waiting = {root}, [root]
    for x in waiting:  # grows as it goes
        if x.op is not None and x.op.reads_shape:
            continue
        for y in x.inputs:
            if y not in ends and y not in seen:
                seen.add(y)
                waiting.append(y)
        if len(waiting) >= limit:
            return False
    return not _unknown(waiting)


def _region(
    roots: Sequence[Variable], ends: Iterable[Variable], limit: int
) -> dict[Variable, None]:
    """Return the nodes from roots down to ends, not these; a size that is read is not computed."""
    stop = ends if isinstance(ends, frozenset | set) else set(ends)
    region: dict[Variable, None] = {}
    queue = [x for x in roots if x not in stop]
    for x in queue:
        if x in region or len(region) >= limit:
            continue
        region[x] = None
        if x.op is not None and not x.op.reads_shape:
            queue.extend([y for y in x.inputs if y not in stop])
    return region
