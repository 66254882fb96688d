"""The schedule of a graph: its steps and a compiled function for each distinct kernel."""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import partial

import numpy as np

from relgraph.backends.numba import kernels
from relgraph.backends.numba.calls import Layout
from relgraph.backends.numba.templates import expression, literals, supported, weight
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.ir.records import record
from relgraph.ir.spans import span
from relgraph.lowering.expansion import expanded, is_flat, joins_as_updates, reduced_once
from relgraph.lowering.kernels import Kernel, Step, Structure, schedule, without_assumptions
from relgraph.lowering.loops.nodes import Function
from relgraph.lowering.loops.text import text
from relgraph.lowering.nests import AnyNest, nest_of
from relgraph.lowering.nests.elements import Elements
from relgraph.lowering.nests.rows import Rows
from relgraph.lowering.nests.scans import has_scans
from relgraph.lowering.nests.short_rows import longest, short_rows
from relgraph.lowering.products import join_products
from relgraph.lowering.recomputation import recomputed
from relgraph.lowering.regions import Fusion
from relgraph.lowering.rows import join_rows
from relgraph.lowering.small_matrices import in_kernels
from relgraph.lowering.split_joins import split_joins
from relgraph.lowering.stacked_products import as_matrices
from relgraph.lowering.updated_operands import apart
from relgraph.lowering.updates import join_updates, with_places
from relgraph.ops.cumulative import Cumulative
from relgraph.ops.elementwise import Elementwise
from relgraph.ops.reductions import LogSumExp, accumulates


def reduces(node: Variable) -> bool:
    """Return True if a kernel can compute a reduction or cumulative op."""
    if isinstance(node.op, Cumulative):
        return bool(node.type.shape[node.op.axis] != 1)
    return accumulates(node.op) or is_log_sum(node)


def is_log_sum(node: Variable) -> bool:
    """Return True if a node is log(sum(exp(x))) over all elements, which takes one pass."""
    return isinstance(node.op, LogSumExp) and is_flat(node)


FUSION = Fusion(
    maps=supported, reduces=reduces, weight=weight, literals=literals, views=True, again=30,
    gathers=True, short_row=64,
)  # fmt: skip


@record
class Schedule:
    """The steps of a program and the functions that they call.

    Attributes
    ----------
    graph : FunctionGraph
        The graph after composite ops are expanded and updates are separated from their readers.
    steps : list of Step
        Kernels and calls.
    names : dict of Structure to str
        The name of the kernel of each structure.
    functions : dict of str to callable
        The compiled kernels, by their names.
    """

    graph: FunctionGraph
    steps: list[Step]
    names: dict[Structure, str]
    functions: dict[str, kernels.Kernel]

    @property
    def source(self) -> str:
        """The kernels as text."""
        functions = [f for s, name in self.names.items() for f in nest_of(s).functions(name)]
        return "\n\n".join(map(text, functions))


def planned(graph: FunctionGraph, fusion: Fusion) -> tuple[FunctionGraph, list[Step]]:
    """Return the graph that a program computes, and its steps; nothing is compiled."""
    graph = expanded(without_assumptions(graph), lambda node: not is_log_sum(node))
    graph = reduced_once(graph)
    graph = as_matrices(in_kernels(joins_as_updates(split_joins(graph))))
    graph = recomputed(apart(graph, fusion), fusion)
    wider = with_places(graph)
    steps = join_rows(wider, schedule(wider, fusion), fusion)
    return graph, join_updates(graph, join_products(wider, steps, fusion), fusion)


def scheduled(graph: FunctionGraph, fusion: Fusion) -> Schedule:
    """Return the schedule of a graph and compile its kernels."""
    with span("lowering"):
        graph, steps = planned(graph, fusion)
    with span("kernels"):
        return _with_kernels(graph, steps)


def _with_kernels(graph: FunctionGraph, steps: list[Step]) -> Schedule:
    result = Schedule(graph, steps, {}, {})
    for step in steps:
        if isinstance(step, Kernel) and step.structure not in result.names:
            nest = nest_of(step.structure)
            layout = layout_of(step, nest)
            name = f"rgk_{kernels.digest(_key(step.structure))}"
            others: dict[str, Callable[[str], list[Function]]] = {}
            if layout.longest:
                others[kernels.SHORT] = partial(short_rows, step.structure)
            if layout.least:
                others[kernels.PAST] = nest_of(step.structure, past=True).functions
            result.names[step.structure] = name
            with span(name):
                result.functions[name] = kernels.load(name, nest.functions, layout, others)
    return result


# Streaming stores, which go past the cache, save reading each line of a result before it is
# written, up to a third of the traffic of a kernel.  They pay off for operands that fill the cache
# of 32 MiB, and for results that exceed it: a store to a line in the cache is faster than a
# streaming one.  See AMD's "Software Optimization Guide for the AMD EPYC Processors", and Intel's
# "64 and IA-32 Architectures Optimization Reference Manual".
STREAMS = platform.machine() in ("x86_64", "AMD64")
READ, WRITTEN = 2**25, 3 * 2**24  # bytes

# The cost per element of a loop in picoseconds: of a vector operation and of a byte from a cache.
_OPERATION, _BYTE = 120, 20


def layout_of(step: Kernel, nest: AnyNest) -> Layout:
    """Return the layout of a kernel."""
    structure = step.structure
    weights = list(map(weight, step.nodes))
    last = len(structure.reduced) - 1
    operand_count = len(step.arrays) + len(step.tables) + len(step.slots)
    strided = [*enumerate(nest.arrays), *enumerate(nest.stored, operand_count)]
    streams = [np.dtype(dtype).itemsize for dtype, spans in structure.arrays if spans[last]]
    streams += [np.dtype(structure.rows[row].dtype).itemsize for row in structure.stored]
    streams += [np.dtype(dtype).itemsize for dtype, full in structure.results if full]
    return Layout(
        sizes=len(structure.reduced),
        arrays=operand_count + len(step.results),
        folds=nest.combined,
        kept=sum(1 << g for g in nest.kept),
        cost=_OPERATION * sum(weights) + _BYTE * sum(streams),
        strides=tuple((i, axis) for i, array in strided for _, axis in array.strides),
        longest=0 if has_scans(structure) else longest(structure, max(weights) > 1),
        **_past(nest),
    )


def _key(structure: Structure) -> str:
    """Return what a kernel is compiled from: its structure, and how ops are spelled."""
    spelled = [
        expression(row, [f"a{i}" for i in range(len(row.operands))])
        for row in structure.rows
        if isinstance(row.op, Elementwise)
    ]
    return f"{structure!r} {spelled}"


def _past(nest: AnyNest) -> dict[str, int]:
    """Return the fields of the layout for streaming stores, if the results are only written."""
    s = nest.structure
    if not STREAMS:
        return {}
    if type(nest) is Elements and not (nest.staged or s.folds or s.targets):
        results = [(s.rows[row].dtype, True) for row in s.stored]
    elif type(nest) is Rows and not any(ref.kind == "kept" for ref in s.operands()):
        results = list(s.results)  # a later pass reads no row from memory
    else:
        return {}
    read = [np.dtype(dtype).itemsize for dtype, spans in s.arrays if all(spans)]
    written = [np.dtype(dtype).itemsize for dtype, full in results if full]
    if not written:
        return {}
    least = WRITTEN // sum(written)
    if read:
        least = min(least, READ // sum(read))
    item = written[0] if len(set(written)) == 1 else 0
    return {"least": least, "results": len(results), "item": item}


__all__ = ["FUSION", "Schedule", "is_log_sum", "planned", "reduces", "scheduled"]
