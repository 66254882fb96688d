"""Regions: which elementwise ops and reductions share one loop, and where long ones are cut.

Each node gets a *stage* such that an edge between nodes that can share a loop keeps it and every
other edge raises it.  Nodes of one stage that are connected form a region, so no two regions, and
no region and another step, can wait for each other.  All passes are linear in the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from relgraph.ir.graph import FunctionGraph, toposort
from relgraph.ir.node import Constant, Variable
from relgraph.lowering.gathers import furthest, is_gather

MAP, REDUCE, CALL, LEAF = "map", "reduce", "call", "leaf"

_REACH = 200  # how far apart, in a region, two nodes may be and still tell of its period


@dataclass(frozen=True)
class Fusion:
    """What a backend can put into one kernel.

    Attributes
    ----------
    maps : callable
        ``maps(node)``: whether an elementwise node can be a statement of a kernel.
    reduces : callable
        ``reduces(node)``: whether a reduction can accumulate in the loop that feeds it.
    weight : callable
        ``weight(node)``: its share of a kernel's limit; 1 for one machine instruction.
    literals : callable
        ``literals(node)``: which operands, if they are constants, are written into the source of
        the kernel; all other constants are its arguments.
    limit : int
        The weight of a kernel at most.  Compile time grows worse than quadratically beyond 200.
    arrays : int
        The arrays that a kernel reads or writes at most, as far as a cut can decide it.
    budget : int
        The weight of all distinct kernels of a graph, beyond which one op makes one kernel.
    views : bool
        Whether kernels read slices, transposes and the like through the distances of elements.
    again : int
        The weight up to which every kernel that reads a number computes it again, where it depends
        on numbers among the inputs alone.
    gathers : bool
        Whether kernels read elements of a vector at places that an array holds.
    """

    maps: Callable[[Variable], bool]
    reduces: Callable[[Variable], bool]
    weight: Callable[[Variable], int]
    literals: Callable[[Variable], frozenset[int]]
    limit: int = 200
    arrays: int = 24
    budget: int = 8000
    views: bool = False
    again: int = 0
    gathers: bool = False


class Regions:
    """The regions of a graph.

    Parameters
    ----------
    graph : FunctionGraph
        The graph.
    fusion : Fusion
        What may share a loop.

    Attributes
    ----------
    order : list of Variable
        The nodes, operands before their clients.
    place : dict
        Each node's index in ``order``.
    role : list of str
        For each node "map", "reduce", "call" or "leaf".
    users : list of list of int
        For each node the places of its clients.
    outputs : set of int
        The places of the graph's outputs.
    """

    def __init__(self, graph: FunctionGraph, fusion: Fusion) -> None:
        self.fusion = fusion
        gathers = [x for x in graph if is_gather(x)] if fusion.gathers else []
        self.furthest = {x: furthest(x.inputs[1]) for x in gathers}
        self.order = toposort([*self.furthest.values(), *graph.outputs])
        self.place = {node: i for i, node in enumerate(self.order)}
        self.role = [self._role(node) for node in self.order]
        self.operands = [[self.place[x] for x in node.inputs] for node in self.order]
        for node, most in self.furthest.items():
            self.operands[self.place[node]].append(self.place[most])
        self.users: list[list[int]] = [[] for _ in self.order]
        for i, operands in enumerate(self.operands):
            for j in operands:
                self.users[j].append(i)
        self.outputs = {self.place[node] for node in graph.outputs}
        self.repeated = self._repeated()
        self.stage = self._stages()

    def _role(self, node: Variable) -> str:
        if node.op is None:
            return LEAF
        if node in self.furthest:
            return MAP
        if node.op.pointwise:
            return MAP if self.fusion.maps(node) else CALL
        return REDUCE if self.fusion.reduces(node) else CALL

    def loop(self, i: int) -> Hashable:
        """Return the shape that a map or a reduction loops over."""
        node = self.order[i]
        return (node if self.role[i] == MAP else node.inputs[0]).type.shape  # type: ignore[no-any-return]

    def fused(self, i: int, j: int) -> bool:
        """Tell whether the value of ``i`` can be read by ``j`` in the loop that computes it."""
        return (
            self.role[i] == MAP
            and self.role[j] in (MAP, REDUCE)
            and self.order[j] not in self.furthest
            and self.loop(i) == self.loop(j)
        )

    def in_step(self, i: int, j: int) -> bool:
        """Tell whether ``j`` reads the array ``i`` element by element, in the shape of its loop.

        A gather reads its table elsewhere, and unknown sizes of the two need not be equal.
        """
        array, shape = self.order[i], self.loop(j)
        if isinstance(array, Constant) or array.type.shape != shape:
            return False
        reader = self.order[j]
        table = reader in self.furthest and array is not reader.inputs[1]
        return not (table and None in array.type.shape)

    def _repeated(self) -> set[int]:
        """Return the maps of numbers that each kernel computes for itself."""
        weights: dict[int, int] = {}
        for i, node in enumerate(self.order):
            if self.role[i] != MAP or node.ndim or not self.fusion.again:
                continue
            weight = self.fusion.weight(node)
            for j in self.operands[i]:
                if self.role[j] != LEAF:
                    weight += weights.get(j, self.fusion.again)
            if weight <= self.fusion.again:
                weights[i] = weight
        return set(weights)

    def is_read(self, i: int, j: int) -> bool:
        """Tell whether ``j``, outside of the kernel of ``i``, has to read what it stores."""
        return i not in self.repeated or self.role[j] == CALL

    def _stages(self) -> list[int]:
        stage = [0] * len(self.order)
        for i, operands in enumerate(self.operands):
            if self.role[i] != LEAF:
                stage[i] = max(
                    (
                        stage[j] + (0 if self.fused(j, i) or not self.is_read(j, i) else 1)
                        for j in operands
                    ),
                    default=0,
                )
        # A map moves down to its first client: one that has a single client always joins it.
        # Reductions stay: their results are small, and their operands need not be kept for them.
        for i in reversed(range(len(self.order))):
            if self.role[i] == MAP and self.users[i] and i not in self.repeated:
                stage[i] = min(stage[j] - (0 if self.fused(i, j) else 1) for j in self.users[i])
        return stage

    def groups(self) -> list[list[int]]:
        """Return the regions, each as the places of its maps and reductions in order."""
        parent = list(range(len(self.order)))

        def root(i: int) -> int:
            while parent[i] != i:
                parent[i] = parent[parent[i]]
                i = parent[i]
            return i

        readers: dict[tuple[int, int], int] = {}
        for i, operands in enumerate(self.operands):
            if self.role[i] not in (MAP, REDUCE):
                continue
            for j in operands:
                if self.stage[j] == self.stage[i] and self.fused(j, i):
                    parent[root(i)] = root(j)
                elif self.in_step(j, i):  # two that read one array so read it once, in one loop
                    first = readers.setdefault((j, self.stage[i]), i)
                    parent[root(i)] = root(first)
        found: dict[int, list[int]] = {}
        for i, role in enumerate(self.role):
            if role in (MAP, REDUCE):
                found.setdefault(root(i), []).append(i)
        return list(found.values())

    def cut(self, region: Sequence[int]) -> list[list[int]]:
        """Cut a region into pieces that keep the limits, at regular places where it is regular.

        A piece of a periodic region holds whole periods, so that the pieces are equal in structure
        and one kernel serves them all.
        """
        weights = [self.fusion.weight(self.order[i]) for i in region]
        if sum(weights) <= self.fusion.limit and len(region) <= self.fusion.arrays:
            return [list(region)]
        unit = self.period(region)
        pieces: list[list[int]] = [[]]
        room = _Room(self, region)
        for start in range(0, len(region), unit):
            members = region[start : start + unit]
            if not room.takes(members):
                room.clear()
                pieces.append([])
                if not room.takes(members):  # one period alone is too large: cut inside it
                    for i in members:
                        if not room.takes([i]):
                            room.clear()
                            room.takes([i], anyway=True)
                            pieces.append([])
                        pieces[-1].append(i)
                    continue
            pieces[-1].extend(members)
        return [piece for piece in pieces if piece]

    def period(self, region: Sequence[int]) -> int:
        """Return the smallest distance at which nearly all of a region repeats itself, or 1."""
        local = {i: k for k, i in enumerate(region)}
        codes: dict[Hashable, int] = {}
        word = np.empty(len(region), dtype=np.int64)
        for k, i in enumerate(region):
            rows: list[Hashable] = []
            for j in self.operands[i]:
                back = k - local.get(j, -_REACH * 2 - len(region))
                rows.append(back if back <= _REACH else self.order[j].type.dtype.char)
            code = (self.order[i].op, self.order[i].type.dtype.char, tuple(rows))
            word[k] = codes.setdefault(code, len(codes))
        best, most = 1, 0.0
        for distance in range(1, min(_REACH, len(region) // 2) + 1):
            share = float(np.mean(word[distance:] == word[:-distance]))
            if share > most + 0.02:
                best, most = distance, share
        return best if most >= 0.8 else 1


class _Room:
    """What a piece of a region has taken of the limits."""

    def __init__(self, regions: Regions, region: Sequence[int]) -> None:
        self.regions = regions
        self.local = {i: k for k, i in enumerate(region)}
        self.clear()

    def clear(self) -> None:
        """Begin a new piece."""
        self.weight = 0
        self.arrays: set[int] = set()

    def takes(self, members: Sequence[int], anyway: bool = False) -> bool:
        """Add members to the piece, if they fit."""
        r = self.regions
        weight = self.weight + sum(r.fusion.weight(r.order[i]) for i in members)
        new: set[int] = set()
        for i in members:
            new.update(
                j for j in r.operands[i] if j not in self.local and not is_scalar(r.order[j])
            )
            if self._leaves(i):
                new.add(i)
        new -= self.arrays
        count = len(self.arrays) + len(new)
        if not anyway and (weight > r.fusion.limit or count > r.fusion.arrays):
            return False
        self.weight = weight
        self.arrays |= new
        return True

    def _leaves(self, i: int) -> bool:
        """Tell whether a value is read outside of any piece that it can be part of."""
        r = self.regions
        here = self.local[i]
        return (
            r.role[i] == REDUCE
            or i in r.outputs
            or any(self.local.get(j, here + _REACH + 1) - here > _REACH for j in r.users[i])
        )


def is_scalar(node: Variable) -> bool:
    """Tell whether a node is a constant with one value everywhere."""
    return isinstance(node, Constant) and node.uniform is not None
