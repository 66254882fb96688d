"""Regions: which elementwise ops and reductions share one loop nest, and where to cut long regions.

Each node gets a *stage*.  An edge between two nodes that can share a loop nest keeps the stage, and
any other edge raises it.  Connected nodes of one stage form a region, so the regions and the other
steps form an acyclic schedule.  All passes are linear in the size of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from relgraph.ir.graph import FunctionGraph, toposort
from relgraph.ir.node import Constant, Variable
from relgraph.ir.records import record
from relgraph.lowering.gathers import furthest, is_gather

MAP, REDUCE, CALL, LEAF = "map", "reduce", "call", "leaf"

_REACH = 200  # the longest period of a region, and the longest edge within a piece


@record
class Fusion:
    """What a backend can put into one kernel.

    Attributes
    ----------
    maps
        ``maps(node)``: whether an elementwise node can be a statement of a kernel.
    reduces
        ``reduces(node)``: whether a reduction can accumulate in the loop that computes its operand.
    weight
        ``weight(node)``: the cost of a node; 1 stands for one machine instruction.
    literals
        ``literals(node)``: which operands are written into the source of the kernel if they are
        constants.  All other constants are arguments.
    limit
        The largest weight of a kernel.  Beyond 200, compile time grows faster than quadratically.
    arrays
        The most arrays that a kernel reads or writes, as far as cutting a region can achieve it.
    budget
        The largest weight of all distinct kernels of a graph; the rest get one kernel for each op.
    views
        Whether kernels read slices, transposes and other views through their strides.
    again
        The largest weight of a scalar that every kernel computes again instead of reading it.  Such
        a scalar depends on scalar inputs only, and a loop over an array needs it.
    gathers
        Whether kernels read elements of an array at indices in arrays.
    short_row
        The most elements of a row that a kernel reduces without a loop.
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
    short_row: int = 0


class Regions:
    """The regions of a graph, which are sets of nodes that can share a loop nest.

    All attributes except ``order`` and ``furthest`` denote a node by its position in ``order``.

    Attributes
    ----------
    order
        The nodes in topological order.
    place
        The position of each node.
    role
        For each node, "map" (an elementwise op or a gather), "reduce", "call" or "leaf".
    operands, users
        For each node, the nodes that it reads, and those that read it.  A gather also reads its
        largest indices, where they have to be checked.
    outputs
        The outputs of the graph.
    furthest
        Maps each gather to the nodes of its largest index along each axis; None for indices that
        are proved to be in range.
    repeated
        The scalars that every kernel computes again.
    stage
        The stage of each node; nodes of different stages never share a loop nest.
    """

    def __init__(self, graph: FunctionGraph, fusion: Fusion) -> None:
        self.fusion = fusion
        gathers = [x for x in graph if is_gather(x)] if fusion.gathers else []
        self.furthest = {
            x: tuple(map(furthest, x.inputs[1:], x.inputs[0].type.shape)) for x in gathers
        }
        largest = [x for each in self.furthest.values() for x in each if x is not None]
        self.order = toposort([*largest, *graph.outputs])
        self.place = {node: i for i, node in enumerate(self.order)}
        self.role = [self._role(node) for node in self.order]
        self.operands = [[self.place[x] for x in node.inputs] for node in self.order]
        for node, most in self.furthest.items():
            self.operands[self.place[node]] += [self.place[x] for x in most if x is not None]
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
        """Return the shape of the loop nest of a map or a reduction."""
        node = self.order[i]
        return (node if self.role[i] == MAP else node.inputs[0]).type.shape  # type: ignore[no-any-return]

    def fused(self, i: int, j: int) -> bool:
        """Return True if ``j`` can read the value of ``i`` in the loop nest that computes it."""
        return (
            self.role[i] == MAP
            and self.role[j] in (MAP, REDUCE)
            and self.loop(i) == self.loop(j)
            and (self.order[j] not in self.furthest or self._in_range(i, j))
        )

    def _in_range(self, i: int, j: int) -> bool:
        """Return True if the gather ``j`` reads ``i`` only as indices that are surely in range."""
        node, (table, *indices) = self.order[i], self.order[j].inputs
        most = self.furthest[self.order[j]]
        return node is not table and all(
            [m is None for x, m in zip(indices, most, strict=True) if x is node]
        )

    def in_step(self, i: int, j: int) -> bool:
        """Return True if ``j`` reads the array ``i`` element by element along its own loop nest.

        The table of a gather counts only if all of its sizes are known, since unknown ones may
        differ from those of the loop nest.
        """
        array, shape = self.order[i], self.loop(j)
        if isinstance(array, Constant) or array.type.shape != shape:
            return False
        reader = self.order[j]
        table = reader in self.furthest and array not in reader.inputs[1:]
        return not (table and None in array.type.shape)

    def _repeated(self) -> set[int]:
        """Return the scalars that are cheap enough for each kernel to compute again."""
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
        needed: set[int] = set()  # by loops over arrays, which would wait for other kernels
        for i in sorted(weights, reverse=True):
            if any([j in needed or self._loops(j) for j in self.users[i]]):
                needed.add(i)
        return needed

    def _loops(self, i: int) -> bool:
        """Return True if a node is computed in a loop over the elements of an array."""
        return self.role[i] in (MAP, REDUCE) and self.loop(i) != ()

    def is_read(self, i: int, j: int) -> bool:
        """Return True if ``j``, in another kernel than ``i``, reads the stored value of ``i``."""
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
        # Move each map to the stage of its first user, so that it joins a single user.  Reductions
        # stay early: their results are small, and their operands can die.
        for i in reversed(range(len(self.order))):
            if self.role[i] == MAP and self.users[i] and i not in self.repeated:
                stage[i] = min(stage[j] - (0 if self.fused(i, j) else 1) for j in self.users[i])
        return stage

    def groups(self) -> list[list[int]]:
        """Return the regions, each as the positions of its maps and reductions in order."""
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
                elif self.in_step(j, i):  # readers of one array share a loop nest and read it once
                    first = readers.setdefault((j, self.stage[i]), i)
                    parent[root(i)] = root(first)
        regions: dict[int, list[int]] = {}
        for i, role in enumerate(self.role):
            if role in (MAP, REDUCE):
                regions.setdefault(root(i), []).append(i)
        return list(regions.values())

    def cut(self, region: Sequence[int]) -> list[list[int]]:
        """Cut a region into pieces within the limits of a kernel.

        If the region is periodic, each piece holds whole periods.  The pieces then have equal
        structure, and one kernel serves them all.
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
                if not room.takes(members):  # a single period is too large: cut inside it
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
        """Return the smallest distance at which nearly all of a region repeats; 1 if none."""
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
        period, best_share = 1, 0.0
        for distance in range(1, min(_REACH, len(region) // 2) + 1):
            share = float(np.mean(word[distance:] == word[:-distance]))
            if share > best_share + 0.02:
                period, best_share = distance, share
        return period if best_share >= 0.8 else 1


class _Room:
    """The weight and the arrays of the current piece, against the limits of a kernel."""

    def __init__(self, regions: Regions, region: Sequence[int]) -> None:
        self.regions = regions
        self.local = {i: k for k, i in enumerate(region)}
        self.clear()

    def clear(self) -> None:
        """Start a new piece."""
        self.weight = 0
        self.arrays: set[int] = set()

    def takes(self, members: Sequence[int], anyway: bool = False) -> bool:
        """Add nodes to the piece if they fit, or if ``anyway`` is set.

        Return True if they were added.
        """
        r = self.regions
        weight = self.weight + sum(r.fusion.weight(r.order[i]) for i in members)
        added: set[int] = set()
        for i in members:
            added.update(
                j for j in r.operands[i] if j not in self.local and not is_scalar(r.order[j])
            )
            if self._leaves(i):
                added.add(i)
        added -= self.arrays
        array_count = len(self.arrays) + len(added)
        if not anyway and (weight > r.fusion.limit or array_count > r.fusion.arrays):
            return False
        self.weight = weight
        self.arrays |= added
        return True

    def _leaves(self, i: int) -> bool:
        """Return True if a node is read outside of any piece that could contain it."""
        r = self.regions
        here = self.local[i]
        return (
            r.role[i] == REDUCE
            or i in r.outputs
            or any(self.local.get(j, here + _REACH + 1) - here > _REACH for j in r.users[i])
        )


def is_scalar(node: Variable) -> bool:
    """Return True if a node is a constant with the same value everywhere."""
    return isinstance(node, Constant) and node.uniform is not None
