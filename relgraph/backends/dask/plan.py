"""The plan of a call: the tasks of a graph for arguments in certain blocks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import inf, prod

import dask
from dask.utils import parse_bytes

from relgraph.backends.dask.block_graph import Arguments, block_graph
from relgraph.backends.dask.dask_functions import Shapes
from relgraph.backends.dask.placement import Blocks, Placed, placement
from relgraph.backends.dask.regions import Region, regions
from relgraph.backends.dask.static_sizes import with_static_sizes
from relgraph.backends.dask.tall_factor import with_tall_factors
from relgraph.backends.dask.tasks import Task
from relgraph.backends.numba.compiler import NumbaBackend
from relgraph.ir.graph import FunctionGraph, map_nodes
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


_DIVISIBLE = {Mean, *EXPANSIONS}


def plan_of(graph: FunctionGraph, backend: NumbaBackend, blocks: Sequence[Blocks]) -> Plan:
    """Return the plan of a graph for inputs in these blocks."""
    shapes = [tuple(map(sum, x)) for x in blocks]
    graph = with_tall_factors(with_static_sizes(without_assumptions(graph), shapes))
    while True:
        placed = _placement(graph, blocks, inf)
        divided = {x for x, p in placed.items() if type(x.op) in _DIVISIBLE and _is_divided(p, placed)}
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
    sources = dict(zip(graph.inputs, blocks, strict=True))
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


# -- ops that are expanded where the axis along which they work is divided --------------------------


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
