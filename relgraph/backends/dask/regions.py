"""Regions: nodes that one task computes for each block of a grid.

A node joins the region of an operand if both loop over the same grid and it reads the block that
the operand computes.  Everything else is an edge between tasks.  Regions of one *stage* read what
earlier stages combined, so the number of stages is that of passes over the data.  Cheap nodes that
a later stage needs are computed again rather than kept in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from relgraph.backends.dask.placement import Axes, Letter, Placed, Read
from relgraph.ir.node import Variable
from relgraph.ir.records import record


@record(eq=False)
class Region:
    """What one task computes.

    Attributes
    ----------
    stage
        How many passes over the data precede it.
    grid
        The letters that tasks differ in.
    reads
        The values that it reads, with the letters of their axes.
    nodes
        The nodes that it computes, operands first.
    outputs
        Those that other tasks or the caller read.
    """

    stage: int
    grid: tuple[Letter, ...]
    reads: tuple[tuple[Read, Axes], ...]
    nodes: tuple[Variable, ...]
    outputs: tuple[Variable, ...]


Step = Region | Placed
"""A region, or a node that a function of Dask arrays computes."""


def regions(placed: Mapping[Variable, Placed], outputs: Iterable[Variable]) -> list[Step]:
    """Return the steps that compute outputs, in an order in which they can run."""
    return _Regions(placed, outputs).steps()


class _Regions:
    def __init__(self, placed: Mapping[Variable, Placed], outputs: Iterable[Variable]) -> None:
        self.placed = placed
        self.order = {node: i for i, node in enumerate(placed)}
        self.outputs = list(outputs)
        self.stage = self._stages()

    def _fused(self, p: Placed, i: int) -> bool:
        """Return True if a node reads a block of operand ``i`` that the same task computes."""
        read = p.reads[i]
        q = self.placed[read.node]
        return (
            p.kind in ("local", "partial")
            and q.kind == "local"
            and read.blocks == q.blocks
            and not any(read.halo)
            and p.letters[i] == q.axes
            and p.grid == q.grid
        )

    def _after(self, x: Variable) -> int:
        """Return 1 if reading a node through an edge between tasks needs another stage."""
        p = self.placed[x]
        return int(p.kind in ("partial", "array") or (p.kind == "local" and bool(p.grid)))

    def _stages(self) -> dict[Variable, int]:
        stage: dict[Variable, int] = {}
        users: dict[Variable, list[tuple[Placed, bool]]] = {}
        for node, p in self.placed.items():
            stage[node] = 0
            for i, read in enumerate(p.reads):
                fused = self._fused(p, i)
                users.setdefault(read.node, []).append((p, fused))
                after = 0 if fused else self._after(read.node)
                stage[node] = max(stage[node], stage[read.node] + after)
        # A local node waits for its first user, so that it need not be kept for it.
        for node, p in reversed([*self.placed.items()]):
            if p.kind == "local" and node in users:
                ends = [stage[u.node] - (0 if f else self._after(node)) for u, f in users[node]]
                stage[node] = max(stage[node], min(ends))
        return stage

    def steps(self) -> list[Step]:
        """Return the regions and the calls of Dask's functions."""
        demanded = {x for x in self.outputs if self.placed[x].kind != "input"}
        steps: list[Step] = []
        for stage in reversed(range(max(self.stage.values(), default=0) + 1)):
            for rank in (2, 1, 0):
                roots = [x for x in demanded if self.stage[x] == stage and self._rank(x) == rank]
                roots.sort(key=self.order.__getitem__)
                new: list[Step] = (
                    [self.placed[x] for x in roots] if rank == 1 else self._joined(roots, stage)
                )
                for step in new:
                    reads = step.reads if isinstance(step, Placed) else [r for r, _ in step.reads]
                    demanded |= {r.node for r in reads if self.placed[r.node].kind != "input"}
                steps += new
        return steps[::-1]

    def _rank(self, x: Variable) -> int:
        """Return the place of a node within its stage: before others read it."""
        p = self.placed[x]
        return 1 if p.kind == "array" else 2 if p.grid else 0

    def _joined(self, roots: Sequence[Variable], stage: int) -> list[Step]:
        """Return one region for roots of one grid that share nodes or read the same values."""
        groups: list[tuple[frozenset[Letter], list[Variable], dict[Variable, None], _Reads]] = []
        for root in roots:
            nodes, reads = self._below(root, stage)
            grid = self.placed[root].grid
            group = (grid, [root], nodes, reads)
            for other in list(groups):
                shared = other[2].keys() & nodes or [
                    x for x in other[3].keys() & reads.keys() if any(x[1])
                ]
                if other[0] == grid and (shared or not grid):
                    groups.remove(other)
                    group = (grid, other[1] + group[1], other[2] | group[2], other[3] | group[3])
            groups.append(group)
        return [self._region(stage, *group) for group in groups]

    def _below(self, root: Variable, stage: int) -> tuple[dict[Variable, None], _Reads]:
        """Return the nodes that a task computes for a root, and what it reads for them."""
        nodes: dict[Variable, None] = {root: None}
        reads: _Reads = {}
        waiting = [root]
        while waiting:
            p = self.placed[waiting.pop()]
            for i, read in enumerate(p.reads):
                x = read.node
                inside = self._fused(p, i) and (self.stage[x] >= stage or is_cheap(x))
                if not inside:
                    reads[read, p.letters[i]] = None
                elif x not in nodes:
                    nodes[x] = None
                    waiting.append(x)
        return nodes, reads

    def _region(
        self,
        stage: int,
        grid: frozenset[Letter],
        roots: list[Variable],
        nodes: dict[Variable, None],
        reads: _Reads,
    ) -> Region:
        ordered = sorted(nodes, key=self.order.__getitem__)
        letters = dict.fromkeys(
            x
            for node in ordered
            for axes in (self.placed[node].axes, *self.placed[node].letters)
            for x in axes
            if x is not None
        )
        outputs = tuple(sorted(dict.fromkeys(roots), key=self.order.__getitem__))
        return Region(stage, tuple(letters), tuple(reads), tuple(ordered), outputs)


_Reads = dict[tuple[Read, Axes], None]


def is_cheap(node: Variable) -> bool:
    """Return True if computing a node again costs less than keeping it in memory."""
    return node.op is not None and (node.op.pointwise or node.op.view)


__all__ = ["Region", "Step", "is_cheap", "regions"]
