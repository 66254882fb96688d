"""Regions of a graph that are searched one by one.

A region is connected, made of ops that an e-graph takes apart, and between two levels of other ops:
a value that reaches a region through ``exp`` comes from an earlier one.  So regions depend on each
other in one direction, and searching them takes time linear in their number.  A large region is cut
at its shared values, and then by size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from relgraph.ir.cost import node_flops, size
from relgraph.ir.node import Constant, Variable, toposort
from relgraph.search.egraph import EGraph
from relgraph.search.embedding import Embedding, is_matrix
from relgraph.search.program_cost import is_loop, is_map

SHARED = 48  # the nodes of a region above which it is cut at shared values
LARGEST = 600  # the nodes above which it is cut anywhere


class Region(NamedTuple):
    """Some nodes of a graph.

    Attributes
    ----------
    outputs : list of Variable
        Those that others use.
    boundary : frozenset of Variable
        The operands of all from outside.
    private : frozenset of Variable
        Of those, elementwise applications that nothing else uses.
    read_in_loops : frozenset of Variable
        Of the outputs, those that only elementwise ops and reductions use outside.
    size : int
        How many nodes.
    """

    outputs: list[Variable]
    boundary: frozenset[Variable]
    private: frozenset[Variable]
    read_in_loops: frozenset[Variable]
    size: int


def regions_of(outputs: Iterable[Variable], ops: Collection[Any] = ()) -> list[Region]:
    """Return the regions of a graph that combine or drop elements, in order.

    Parameters
    ----------
    outputs : iterable of Variable
    ops : collection of Op
        Those that relations of users speak of.  They are inside of regions too, and regions that
        only compute elements count.
    """
    outputs = list(outputs)
    order = toposort(outputs)
    inner = {x for x in order if (x.op in ops and is_matrix(x)) or is_taken_apart(x)}
    users: dict[Variable, list[Variable]] = {}
    for node in order:
        for x in set(node.inputs):
            users.setdefault(x, []).append(node)
    cuts: set[Variable] = set()
    for members in _components(order, inner, cuts):
        if len(members) > SHARED:
            cuts |= {x for x in members if sum(u in inner for u in users.get(x, ())) > 1}
    for members in _components(order, inner, cuts) if cuts else ():
        if len(members) > LARGEST:
            cuts |= _cuts_by_size(members, cuts)
    wanted, fixed = set(outputs), _without_operands(order, inner)
    regions = []
    for members in _components(order, inner, cuts):
        own = set(members)
        if not ops and not any(map(_combines, members)):
            continue
        ends = [x for x in members if x in wanted or not own.issuperset(users.get(x, ()))]
        for node in members:  # which grows
            new = [x for x in dict.fromkeys(node.inputs) if x in fixed and x not in own]
            members += new
            own.update(new)
        boundary = frozenset([i for x in members for i in x.inputs if i not in own])
        private = [x for x in boundary - wanted if is_map(x) and own.issuperset(users[x])]
        read = [x for x in ends if x not in wanted and all(map(is_loop, {*users[x]} - own))]
        regions.append(Region(ends, boundary, frozenset(private), frozenset(read), len(members)))
    return regions


def _without_operands(order: Iterable[Variable], inner: Collection[Variable]) -> set[Variable]:
    """Return the inner nodes that depend on no input, such as an identity matrix.

    They are in the region of each of their users.
    """
    fixed: set[Variable] = set()
    for node in order:
        if node in inner and all(x in fixed or isinstance(x, Constant) for x in node.inputs):
            fixed.add(node)
    return fixed


def is_taken_apart(node: Variable) -> bool:
    """Return whether an e-graph has a rule for a node, so that it becomes more than a leaf."""
    if node.op is None or not is_matrix(node) or not all(map(is_matrix, node.inputs)):
        return False
    embedding = Embedding(EGraph(1000), [node], frozenset(node.inputs))
    return node not in embedding.leaves and node not in embedding.applied


def _combines(node: Variable) -> bool:
    """Return whether a node combines elements, drops some, or moves them again.

    Loops elsewhere do the rest.
    """
    op = node.op
    if op is None or op.pointwise or not node.inputs:
        return False
    first = node.inputs[0]
    is_moved_again = op.rearranges and first.op is not None and first.op.rearranges
    return is_moved_again or node_flops(node) > 0 or size(node.type) < size(first.type)


def _components(
    order: Sequence[Variable], inner: Collection[Variable], cuts: Collection[Variable]
) -> list[list[Variable]]:
    """Return the connected nodes of each level, where levels rise at each cut."""
    level: dict[Variable, int] = {}
    root: dict[Variable, Variable] = {}

    def find(x: Variable) -> Variable:
        while root[x] is not x:
            root[x] = root[root[x]]
            x = root[x]
        return x

    for node in order:
        if node not in inner:
            level[node] = max([level[x] for x in node.inputs], default=0)
            continue
        joined = [x for x in node.inputs if x in inner and x not in cuts]
        level[node] = max([level[x] + (x not in joined) for x in node.inputs], default=0)
        root[node] = node
        for x in joined:
            if level[x] == level[node]:
                root[find(x)] = find(node)
    members: dict[Variable, list[Variable]] = {}
    for node in order:
        if node in root:
            members.setdefault(find(node), []).append(node)
    return list(members.values())


def _cuts_by_size(members: Sequence[Variable], cuts: Collection[Variable]) -> set[Variable]:
    """Return nodes at which to cut so that no more than the largest number hang together."""
    new: set[Variable] = set()
    sizes: dict[Variable, int] = {}
    own = set(members)
    for node in members:
        operands = [x for x in set(node.inputs) if x in own and x not in cuts and x not in new]
        total = 1 + sum(sizes[x] for x in operands)
        while operands and total > LARGEST:
            largest = max(operands, key=lambda x: sizes[x])
            operands.remove(largest)
            new.add(largest)
            total -= sizes[largest]
        sizes[node] = total
    return new
