"""The estimated time of a program whose elementwise ops and reductions share loops.

A search chooses by the sum over all nodes.  That overestimates elementwise ops, whose results are
never stored where a loop reads them at once, so what it finds is compared by whole programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf

from relgraph.ir.cost import nbytes, node_flops, resolved
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.machine import FIXED, Machine, Rate, node_seconds
from relgraph.ir.node import Variable
from relgraph.ir.types import TensorType
from relgraph.lowering.expansion import EXPANSIONS, expanded
from relgraph.lowering.kernels import Kernel, schedule
from relgraph.lowering.regions import Fusion
from relgraph.ops.reductions import accumulates
from relgraph.ops.shape import BroadcastTo


def is_map(node: Variable) -> bool:
    """Return whether a loop can compute a node, element by element."""
    return node.op is not None and node.op.pointwise


def is_loop(node: Variable) -> bool:
    """Return whether a node becomes loops that may compute their operands, too."""
    return is_map(node) or accumulates(node.op) or type(node.op) in EXPANSIONS


FUSION = Fusion(
    maps=is_map,
    reduces=lambda node: accumulates(node.op),
    weight=lambda node: 1,
    literals=lambda node: frozenset(),
    views=True,
)


# How fast loops compute depends on the processor; how fast they read and write, less so.
BY_MEMORY = replace(FIXED, loop=Rate(inf))


def program_seconds(outputs: Iterable[Variable], sizes: Mapping[str, int]) -> list[float]:
    """Return the estimated times of a program: by :data:`FIXED`, and if memory bounds its loops.

    Parameters
    ----------
    outputs : iterable of Variable
    sizes : mapping of str to int
        Values of names.

    Returns
    -------
    list of float
        Of the loops and calls into which the CPU back end divides the program.
    """
    steps = schedule(expanded(FunctionGraph(None, outputs)), FUSION)
    return [
        sum(
            [
                _kernel_seconds(step, sizes, machine)
                if isinstance(step, Kernel)
                else node_seconds(step.node, sizes, machine)
                for step in steps
            ]
        )
        for machine in (FIXED, BY_MEMORY)
    ]


def _kernel_seconds(kernel: Kernel, sizes: Mapping[str, int], machine: Machine) -> float:
    flops = sum(map(node_flops, kernel.nodes))
    stored = dict.fromkeys([_stored(x) for x in (*kernel.reads, *kernel.results)])
    moved = sum([nbytes(resolved(x.type, sizes)) for x in stored])
    type_ = kernel.results[0].type
    itemsize = type_.dtype.itemsize if isinstance(type_, TensorType) else 8
    return machine.seconds(None, (("loop", flops),), moved, itemsize)


def _stored(node: Variable) -> Variable:
    """Return the array whose elements a kernel reads."""
    while isinstance(node.op, BroadcastTo):
        node = node.inputs[0]
    return node
