"""Reports of what a compiled program runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from relgraph.errors import count_of
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Input, Variable
from relgraph.ir.records import record
from relgraph.lowering.buffers import plan
from relgraph.lowering.kernels import Call, Kernel, Step
from relgraph.lowering.sizes import Sizes
from relgraph.lowering.views import is_view
from relgraph.ops.loops import is_loop


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


@record
class Scheduled:
    """One step of a program: a kernel, or a call of a library.

    Attributes
    ----------
    label : str
        What it is.
    nodes : tuple of Variable
        What it computes.
    buffers : mapping of Variable to str
        The names of the arrays that it writes, as in the generated source, and whose memory each
        reuses.
    """

    label: str
    nodes: tuple[Variable, ...]
    buffers: Mapping[Variable, str]


def scheduled(
    steps: Sequence[Step],
    names: Mapping[Variable, str],
    reused: Mapping[Variable, Variable],
    kernels: Mapping[Any, str],
) -> tuple[Scheduled, ...]:
    """Return the steps of a schedule as :meth:`Program.scheduled` does.

    ``names`` are the arrays of the source, ``reused`` the values whose memory others take over, and
    ``kernels`` the names of the kernels by structure.
    """
    result: list[Scheduled] = []
    for number, step in enumerate(steps, 1):
        buffers: dict[Variable, str] = {}
        for x in step.results:
            if x in names:
                donor = names.get(reused[x]) if x in reused else None
                how = "reused" if donor == names[x] else f"in the memory of {donor}"
                buffers[x] = f"{names[x]}, {how}" if donor else names[x]
        if isinstance(step, Kernel):
            label = f"{number}. kernel {kernels.get(step.structure, '')}".rstrip()
            result.append(Scheduled(label, step.nodes, buffers))
        else:
            op = step.node.op
            view = is_view(step.node) or (op is not None and op.view)
            name = "" if op is None else op.name
            label = f"{number}. view" if view else f"{number}. call {name}"
            result.append(Scheduled(label, (step.node,), buffers))
    return tuple(result)


def _listed(title: str, names: Iterable[str]) -> str:
    counts = Counter(names)
    text = ", ".join(f"{name} x{n}" if n > 1 else name for name, n in counts.items())
    return f"{title}: {text}" if text else title


def library_calls(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the names of the ops that a schedule computes with library functions."""
    nodes = [step.node for step in steps if isinstance(step, Call) and not is_loop(step.node)]
    return tuple(x.op.name for x in nodes if x.op is not None and not (x.op.view or is_view(x)))


def loops(steps: Sequence[Step]) -> int:
    """Return the number of kernels that a schedule runs, loops of graphs among them."""
    return sum(isinstance(step, Kernel) or is_loop(step.node) for step in steps)


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


__all__ = ["Report", "Scheduled"]
