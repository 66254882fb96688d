"""The schedule of a graph: its steps and a compiled function for each distinct kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from relgraph.backends.numba import kernels, past_cache
from relgraph.backends.numba.calls import Layout
from relgraph.backends.numba.kernel_source import KernelText
from relgraph.backends.numba.product_source import ProductText
from relgraph.backends.numba.row_source import RowText
from relgraph.backends.numba.scan_source import ScanText, has_scans
from relgraph.backends.numba.short_source import longest, short_text
from relgraph.backends.numba.templates import literals, supported, weight
from relgraph.backends.numba.update_source import UpdateText
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.ir.records import record
from relgraph.ir.spans import span
from relgraph.lowering.expansion import expanded, is_flat, joins_as_updates
from relgraph.lowering.kernels import Kernel, Step, Structure, schedule, without_assumptions
from relgraph.lowering.products import join_products
from relgraph.lowering.regions import Fusion
from relgraph.lowering.rows import join_rows
from relgraph.lowering.small_matrices import in_kernels
from relgraph.lowering.updated_operands import apart
from relgraph.lowering.updates import join_updates, with_places
from relgraph.ops.cumulative import Cumulative
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
    gathers=True,
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
    texts : dict of str to str
        The source of each kernel, by its name.
    functions : dict of str to callable
        The compiled kernels, by their names.
    """

    graph: FunctionGraph
    steps: list[Step]
    names: dict[Structure, str]
    texts: dict[str, str]
    functions: dict[str, kernels.Kernel]


def planned(graph: FunctionGraph, fusion: Fusion) -> tuple[FunctionGraph, list[Step]]:
    """Return the graph that a program computes, and its steps; nothing is compiled."""
    graph = expanded(without_assumptions(graph), lambda node: not is_log_sum(node))
    graph = in_kernels(joins_as_updates(graph))
    graph = apart(graph, fusion)
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
    result = Schedule(graph, steps, {}, {}, {})
    for step in steps:
        if isinstance(step, Kernel) and step.structure not in result.names:
            name, text, layout = kernel_text(step)
            others: dict[str, Callable[[str], str]] = {}
            if layout.longest:
                others[kernels.SHORT] = partial(short_text, step.structure)
            if layout.least:
                others[kernels.PAST] = partial(past_text, step.structure)
            result.names[step.structure] = name
            result.texts[name] = text
            with span(name):
                result.functions[name] = kernels.load(name, text, layout, others)
    return result


# The cost per element of a loop in picoseconds: of a vector operation and of a byte from a cache.
_OPERATION, _BYTE = 120, 20


def kernel_text(step: Kernel) -> tuple[str, str, Layout]:
    """Return the name, the source and the layout of a kernel."""
    structure = step.structure
    written = _text(structure)
    text = written.functions("NAME", f"NAME{kernels.FINISH}")
    name = f"rgk_{kernels.digest(text)}"
    weights = list(map(weight, step.nodes))
    last = len(structure.reduced) - 1
    operand_count = len(step.arrays) + len(step.tables) + len(step.slots)
    strided = [*enumerate(written.arrays)]
    if isinstance(written, KernelText):
        strided += enumerate(written.stored, operand_count)
    streams = [np.dtype(dtype).itemsize for dtype, spans in structure.arrays if spans[last]]
    streams += [np.dtype(structure.rows[row].dtype).itemsize for row in structure.stored]
    streams += [np.dtype(dtype).itemsize for dtype, full in structure.results if full]
    layout = Layout(
        sizes=len(structure.reduced),
        arrays=operand_count + len(step.results),
        folds=written.combined,
        kept=sum(1 << g for g in written.kept),
        cost=_OPERATION * sum(weights) + _BYTE * sum(streams),
        strides=tuple((i, axis) for i, array in strided for _, axis in array.strides),
        longest=0 if has_scans(structure) else longest(structure, max(weights) > 1),
        **_past(written),
    )
    return name, text.replace("NAME", name), layout


def _past(written: KernelText | RowText | ProductText) -> dict[str, int]:
    """Return the fields of the layout for streaming stores, if the results are only written."""
    s = written.structure
    read = [dtype for dtype, spans in s.arrays if all(spans)]
    if not past_cache.HERE:
        return {}
    if type(written) is KernelText and not (written.scattered or s.folds or s.targets):
        return past_cache.layout(read, [(s.rows[row].dtype, True) for row in s.stored])
    again = any(ref.kind == "kept" for ref in s.operands())
    if type(written) is RowText and any(full for _, full in s.results) and not again:
        return past_cache.layout(read, s.results)
    return {}


def past_text(structure: Structure, name: str) -> str:
    """Return the text of the kernel with streaming stores, for large results."""
    kind = RowText if structure.passes else KernelText
    return kind(structure, past=True).functions(name, "")


def _text(structure: Structure) -> KernelText | RowText | ProductText:
    if structure.products is not None:
        return ProductText(structure)
    if has_scans(structure):
        return ScanText(structure)
    if any(target is not None and target.places is not None for target in structure.targets):
        return UpdateText(structure)
    return RowText(structure) if structure.passes else KernelText(structure)


__all__ = ["FUSION", "Schedule", "is_log_sum", "planned", "reduces", "scheduled"]
