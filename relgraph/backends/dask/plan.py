"""The plan of a call: the tasks of a graph for arguments in certain blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import inf, prod

import dask
from dask.utils import format_bytes, parse_bytes

from relgraph.backends.dask.block_graph import Arguments, block_graph
from relgraph.backends.dask.centred import with_centred
from relgraph.backends.dask.dask_functions import Shapes
from relgraph.backends.dask.placement import Blocks, Placed, Read, lettered, placement
from relgraph.backends.dask.regions import Region, regions
from relgraph.backends.dask.scatters import with_scatters
from relgraph.backends.dask.static_sizes import with_static_sizes
from relgraph.backends.dask.tall_factor import with_tall_factors
from relgraph.backends.dask.tasks import Task
from relgraph.backends.numba.compiler import NumbaBackend
from relgraph.errors import count_of
from relgraph.ir.graph import FunctionGraph, is_tensor, map_nodes
from relgraph.ir.infix import brief
from relgraph.ir.node import Constant, Variable, apply, constant
from relgraph.ir.records import record
from relgraph.lowering.expansion import EXPANSIONS, expanded
from relgraph.lowering.kernels import without_assumptions
from relgraph.ops.elementwise import Cast, true_divide
from relgraph.ops.reductions import Mean, Sum, floating, reduced_axes


@record(eq=False)
class Job:
    """A region as a task for each block of its grid.

    Attributes
    ----------
    region
        What it computes.
    task
        The function of blocks.
    arguments
        What its inputs read.
    """

    region: Region
    task: Task
    arguments: Arguments


@record(eq=False)
class Plan:
    """The tasks of a graph for arguments in certain blocks.

    Attributes
    ----------
    graph
        The graph, with static sizes.
    placed
        How each node is computed.
    steps
        The tasks, and the calls of Dask's functions, in an order in which they can run.
    """

    graph: FunctionGraph
    placed: Mapping[Variable, Placed]
    steps: tuple[Job | Placed, ...]

    @property
    def passes(self) -> int:
        """How often an input is read, the one that is read most often."""
        uses = Counter[Variable]()
        for step in self.steps:
            uses.update({r.node for r in self._inputs(step)})
        return max([n for x, n in uses.items() if self.placed[x].grid], default=0)

    @property
    def tasks(self) -> int:
        """The number of tasks on blocks; Dask adds those that join and move blocks."""
        return sum([_count(step) for step in self.steps])

    @property
    def bytes_read(self) -> int:
        """The bytes of the inputs that tasks read."""
        return sum([_size(r.node, r.blocks) for step in self.steps for r in self._inputs(step)])

    def _inputs(self, step: Job | Placed) -> list[Read]:
        """Return what a step reads of the inputs; sizes of blocks that it reads are not placed."""
        placed = [read for read in _reads(step) if read.node in self.placed]
        return [read for read in placed if self.placed[read.node].kind == "input"]

    @property
    def bytes_moved(self) -> int:
        """The bytes that may move between workers: other blocks, halos and partial results."""
        total = 0
        for step in self.steps:
            for read in _reads(step):
                p = self.placed.get(read.node)
                if p is None:  # the sizes of blocks
                    continue
                if p.kind != "input" or p.grid:
                    moves = isinstance(step, Placed) or read.blocks != p.blocks
                    total += _size(read.node, read.blocks) * moves + _halo(read)
            if isinstance(step, Job):
                for x in step.region.outputs:
                    p = self.placed[x]
                    if p.kind == "partial":
                        total += _size(x, p.blocks) * prod([len(k.chunks) for k in p.reduced])
        return total

    @property
    def largest_task(self) -> int:
        """The bytes of the blocks that a task reads and returns, of the task with most of them."""
        return max([_block_bytes(step, self.placed) for step in self.steps], default=0)

    def __repr__(self) -> str:
        lines = [
            f"{self.passes} pass{'es' * (self.passes != 1)} over the data, "
            f"{count_of(self.tasks, 'task')} on blocks; {_amount(self.bytes_read)} read, "
            f"{_amount(self.bytes_moved)} may move, "
            f"{_amount(self.largest_task)} in the largest task"
        ]
        for i, step in enumerate(self.steps, 1):
            name = step.task.name if isinstance(step, Job) else f"{step.node.op!r} by Dask"
            read = ", ".join([_described(r, self.placed) for r in _reads(step)])
            lines.append(f"{i}. {_count(step)} x {name}, of {read or 'nothing'}")
        return "\n".join(lines)


def _reads(step: Job | Placed) -> Sequence[Read]:
    return [read for read, _ in step.arguments] if isinstance(step, Job) else step.reads


def _count(step: Job | Placed) -> int:
    grid = step.region.grid if isinstance(step, Job) else lettered(step.blocks)
    return prod([len(letter.chunks) for letter in grid if letter is not None])


def _size(x: Variable, blocks: Blocks) -> int:
    return int(prod(map(sum, blocks))) * x.dtype.itemsize if is_tensor(x) else 0


def _halo(read: Read) -> int:
    if not any(read.halo):
        return 0
    whole = _size(read.node, read.blocks)
    parts = [
        n * (len(c) - 1) / sum(c) for n, c in zip(read.halo, read.blocks, strict=True) if sum(c)
    ]
    return int(whole * sum(parts))


def _block_bytes(step: Job | Placed, placed: Mapping[Variable, Placed]) -> int:
    values = [(r.node, r.blocks) for r in _reads(step)]
    if isinstance(step, Job):
        values += [(x, placed[x].blocks) for x in step.region.outputs]
    else:
        values.append((step.node, step.blocks))
    return sum([_size(x, tuple([(max(c),) for c in blocks])) for x, blocks in values])


def _amount(n: int) -> str:
    """Return a number of bytes in text."""
    return str(format_bytes(n))


def _described(read: Read, placed: Mapping[Variable, Placed]) -> str:
    name = brief(read.node, 12)
    if placed.get(read.node) is not None and read.blocks != placed[read.node].blocks:
        name += " in other blocks"
    return name + (" with a halo" if any(read.halo) else "")


_DIVISIBLE = {Mean, *EXPANSIONS}


def plan_of(graph: FunctionGraph, backend: NumbaBackend, blocks: Sequence[Blocks]) -> Plan:
    """Return the plan of a graph for inputs in these blocks."""
    shapes = [tuple(map(sum, x)) for x in blocks]
    graph = with_tall_factors(with_static_sizes(without_assumptions(graph), shapes))
    placed = _placement(graph, blocks, inf)
    graph = with_scatters(graph, frozenset([x for x, p in placed.items() if p.grid]))
    placed = _placement(graph, blocks, inf)
    graph = with_centred(graph, {x for x, p in placed.items() if _has_divided_rows(p)})
    while True:
        placed = _placement(graph, blocks, inf)
        divided = {
            x for x, p in placed.items() if type(x.op) in _DIVISIBLE and _is_divided(p, placed)
        }
        if not divided:
            break
        graph = _expanded(graph, divided)
    limit = parse_bytes(dask.config.get("array.chunk-size"))
    placed = _placement(graph, blocks, limit)
    steps = [
        Job(step, *_task(step, placed, backend)) if isinstance(step, Region) else step
        for step in regions(placed, graph.outputs)
    ]
    return Plan(graph, placed, tuple(steps))


def _placement(
    graph: FunctionGraph, blocks: Sequence[Blocks], limit: float
) -> dict[Variable, Placed]:
    sources: dict[Variable, Blocks] = dict(zip(graph.inputs, blocks, strict=True))
    usual = {sum(c): c for x in blocks for c in x if len(c) > 1}
    order = graph.toposort()
    for x in order:
        if isinstance(x, Constant):
            sources[x] = tuple([usual.get(size, (size,)) for size in x.type.shape])
    nodes = dict.fromkeys([*graph.inputs, *order])
    return placement(nodes, sources, Shapes(), limit, usual)


def _task(
    region: Region, placed: Mapping[Variable, Placed], backend: NumbaBackend
) -> tuple[Task, Arguments]:
    graph, arguments = block_graph(region, placed)
    names = dict.fromkeys([x.op.name for x in region.nodes if x.op and not x.op.view])
    name = "-".join([*names][-3:]) or "view"
    return Task(graph, backend, name), arguments


# -- ops that are expanded where the axis along which they work is divided -------------------------


def _has_divided_rows(p: Placed) -> bool:
    return len(p.axes) == 2 and p.axes[0] is not None and p.axes[1] is None


def _is_divided(p: Placed, placed: Mapping[Variable, Placed]) -> bool:
    """Return True if an op reduces an axis in several blocks."""
    joined = any([read.blocks != placed[read.node].blocks for read in p.reads])
    return p.kind == "partial" or joined


def _expanded(graph: FunctionGraph, divided: Collection[Variable]) -> FunctionGraph:
    graph = expanded(graph, lambda x: x in divided)

    def change(node: Variable, operands: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return node
        if node not in divided or not isinstance(node.op, Mean):
            return apply(node.op, operands)
        (x,) = operands
        axes, keepdims = node.op.params
        dtype = floating(x.dtype)
        total = apply(Sum(axes, keepdims), (x if x.dtype == dtype else apply(Cast(dtype), (x,)),))
        number = prod([x.type.shape[axis] for axis in reduced_axes(axes, x.ndim, "mean")])
        return apply(true_divide, (total, constant(number, dtype=dtype)))

    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, change))


__all__ = ["Job", "Plan", "plan_of"]
