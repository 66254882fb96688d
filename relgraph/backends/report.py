"""Reports of what a compiled program runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from relgraph.errors import count_of
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Input, Variable
from relgraph.ir.records import record
from relgraph.lowering.buffers import plan
from relgraph.lowering.kernels import Call, Kernel, Step
from relgraph.lowering.sizes import Sizes
from relgraph.lowering.views import is_view


@record
class Report:
    """What a compiled program runs.

    Attributes
    ----------
    kernels : tuple of str
        The names of its distinct kernels.
    loops : int
        How many kernels one call runs.
    calls : tuple of str
        The ops that a call computes with library functions, in order, without views.
    in_place : tuple of str
        The names of the donated inputs that a call overwrites.
    variants : int
        The number of variants compiled for arguments in other memory orders or for a single row.
        They are compiled on the first call with such arguments.
    """

    kernels: tuple[str, ...] = ()
    loops: int = 0
    calls: tuple[str, ...] = ()
    in_place: tuple[str, ...] = ()
    variants: int = 0

    def __repr__(self) -> str:
        lines = [
            f"{count_of(len(self.kernels), 'kernel')}, run {count_of(self.loops, 'time')}",
            _listed(count_of(len(self.calls), "library call"), self.calls),
            _listed("written in place", self.in_place or ["nothing"]),
            f"{count_of(self.variants, 'variant')} compiled",
        ]
        return "\n".join(lines)


def _listed(title: str, names: Iterable[str]) -> str:
    text = ", ".join(names)
    return f"{title}: {text}" if text else title


def library_calls(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the names of the ops that a schedule computes with library functions."""
    nodes = [step.node for step in steps if isinstance(step, Call)]
    return tuple(x.op.name for x in nodes if x.op is not None and not (x.op.view or is_view(x)))


def loops(steps: Sequence[Step]) -> int:
    """Return the number of kernels that a schedule runs."""
    return sum(isinstance(step, Kernel) for step in steps)


def inputs_in_place(
    graph: FunctionGraph,
    steps: Sequence[Step],
    reuse: bool,
    overwrite: bool,
    donated: Collection[Variable],
) -> tuple[str, ...]:
    """Return the names of the inputs whose memory a schedule reuses."""
    if not donated:
        return ()
    memory = plan(graph, steps, Sizes(graph, steps), reuse, overwrite, donated=donated)
    changed = {*memory.takes.values(), *(x.inputs[0] for x in memory.overwrites)}
    return tuple(x.name for x in graph.inputs if isinstance(x, Input) and x in changed)


__all__ = ["Report"]
