"""The estimated time of a program on a Dask cluster, for arguments divided into blocks.

Beside the arithmetic, the cluster reads the arguments, moves values between workers and schedules
tasks.  So a program that reads the data once may be the faster one although it computes more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from relgraph.errors import RelgraphError
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.search.options import ProgramCost
from relgraph.search.program_cost import program_seconds

if TYPE_CHECKING:
    from relgraph.backends.dask.compiler import DaskBackend

READ = 1e9  # bytes of the arguments that are read in a second, from a disk
NETWORK = 0.3e9  # bytes that move between workers in a second
TASK = 1e-3  # seconds of the scheduler for a task (distributed.dask.org, "Efficiency")


def seconds_in_blocks(chunks: Mapping[str, int], backend: DaskBackend) -> ProgramCost:
    """Return the function that estimates the times of programs whose arguments are divided.

    Parameters
    ----------
    chunks : mapping of str to int
        For named sizes that are divided, the size of a block.
    backend : DaskBackend
        What divides programs into tasks.

    Returns
    -------
    callable
        Of outputs and the values of named sizes, such as
        :func:`relgraph.search.program_cost.program_seconds`.  Times are infinite for programs that
        cannot run in these blocks, and where a size is unknown.
    """
    from dask.array.core import normalize_chunks

    from relgraph.backends.dask.plan import plan_of

    def seconds(outputs: Sequence[Variable], sizes: Mapping[str, int]) -> list[float]:
        times = program_seconds(outputs, sizes)
        graph = FunctionGraph(None, outputs)
        try:
            blocks = [normalize_chunks(*_divided(x, sizes, chunks)) for x in graph.inputs]
            plan = plan_of(graph, backend.blocks, blocks)
        except (KeyError, RelgraphError):  # a size is unknown, or an op needs a divided axis whole
            return [inf for _ in times]
        around = plan.bytes_read / READ + plan.bytes_moved / NETWORK + plan.tasks * TASK
        return [time + around for time in times]

    return seconds


def _divided(
    x: Variable, sizes: Mapping[str, int], chunks: Mapping[str, int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the sizes of an input's blocks, and its shape."""
    known: dict[Any, int] = {size: size for size in x.type.shape if isinstance(size, int)}
    known |= sizes
    blocks: dict[Any, int] = {**known, **chunks}
    shape = x.type.shape
    return tuple([blocks[size] for size in shape]), tuple([known[size] for size in shape])


__all__ = ["seconds_in_blocks"]
