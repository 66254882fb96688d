"""What a step changed: the nodes that it removed and added, and the parts that it kept.

A step looks a few levels deep into a graph of any size, so only the nodes next to the root are
compared.
"""

from __future__ import annotations

from typing import NamedTuple

from relgraph.ir.cost import node_flops
from relgraph.ir.node import Variable

NEAR = 400  # nodes of each side that are compared


class Change(NamedTuple):
    """The difference of two equal graphs.

    Attributes
    ----------
    removed, added : tuple of Variable
        The nodes of only one side, from its root down.
    kept : tuple of Variable
        The largest parts that both sides contain.
    """

    removed: tuple[Variable, ...]
    added: tuple[Variable, ...]
    kept: tuple[Variable, ...]

    @property
    def flops(self) -> tuple[int, int]:
        """The operations of what was removed and of what was added."""
        removed, added = (sum(map(node_flops, side)) for side in (self.removed, self.added))
        return removed, added


def change_of(before: Variable, after: Variable) -> Change:
    """Return the difference of two graphs."""
    shared = _nearest(before).keys() & _nearest(after).keys()
    kept: dict[Variable, None] = {}
    sides: list[tuple[Variable, ...]] = []
    for root in (before, after):
        own: dict[Variable, None] = {}
        (kept if root in shared else own)[root] = None
        queue = list(own)
        for x in queue:
            for operand in x.inputs:
                if operand in shared:
                    kept[operand] = None
                elif operand not in own and len(own) < NEAR:
                    own[operand] = None
                    queue.append(operand)
        sides.append(tuple(own))
    return Change(sides[0], sides[1], tuple(kept))


def _nearest(root: Variable) -> dict[Variable, None]:
    """Return the nodes next to a root, breadth first."""
    seen: dict[Variable, None] = {root: None}
    queue = [root]
    for x in queue:
        for operand in x.inputs:
            if operand not in seen and len(seen) < NEAR:
                seen[operand] = None
                queue.append(operand)
    return seen
