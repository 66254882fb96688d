"""Loop fission: what a scan computes beside what it carries is computed for all iterations at once.

A scan runs its iterations one after the other, so nothing in its body runs on vectors along the
sequence.  What depends on slices of the sequences alone is computed before the scan, of whole
sequences; what only stacked results depend on, after it.  A loop that maps needs no scan at all.

References
----------
S. S. Muchnick, Advanced Compiler Design and Implementation, 1997, section 20.4 (loop fission, also
called loop distribution).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from relgraph.ir.cost import node_flops, size
from relgraph.ir.graph import FunctionGraph, substitute, toposort
from relgraph.ir.node import Variable, fresh_input
from relgraph.ir.op import GetItem
from relgraph.ops.contraction import Matmul
from relgraph.ops.loops import Scan, closed, results_of
from relgraph.ops.reductions import Reduction
from relgraph.ops.shape import dim
from relgraph.rewriting.batching import batched
from relgraph.rewriting.passes.loop_maps import as_map, dependent
from relgraph.rewriting.rewriters import GraphRewriter, with_changes

SMALL = 64  # elements of a matrix whose products stay in the loop, where they are written out
FLOPS = 8  # for each element, from which an op is worth an array of its results


class LoopFission(GraphRewriter):
    """Moves work of scans that no iteration hands to the next out of the loops.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.loop_fission import LoopFission
    >>> a, x = rg.vectors("a x", 9)
    >>> last, _ = rg.scan(lambda c, x: (0.5 * c + rg.exp(x), None), 0.0, x)
    >>> rg.rewrite_graph(last, LoopFission()).inputs[0].inputs[2]
    exp(x)
    """

    def __init__(self) -> None:
        super().__init__(name="loop_fission")

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with less work in its scans."""
        changes: dict[Variable, Variable] = {}
        for node in graph:
            if isinstance(node.op, Scan):
                changes |= as_map(node, _pays) or _divided(node)
        return with_changes(graph, changes) if changes else graph


def _divided(node: Variable) -> dict[Variable, Variable]:
    """Return new nodes for the results of a scan."""
    op: Any = node.op
    n, m = op.carries, op.sequences
    old = op.body.graph.inputs
    inputs: list[Variable] = [fresh_input(x.name, x.type) for x in old]
    outputs = list(substitute(op.body.graph.outputs, dict(zip(old, inputs, strict=True))))
    order = toposort(outputs)
    slices, rest = inputs[1 + n : 1 + n + m], inputs[1 + n + m :]
    carried = dependent(order, inputs[: 1 + n])  # on what changes with the iterations before
    sliced = dependent(order, slices)
    early = [x for x in order if x in sliced and x not in carried and x.inputs]
    handed = set(toposort(outputs[:n])) if n else set()  # what the next carry needs
    before = _ends(early, carried, outputs) if m else []
    before = [x for x in before if _pays(x, early)]
    after = [
        y for y in dict.fromkeys(outputs[n:])
        if y in carried and y not in handed and _pays(y, set(order) - handed)
        and _saves(y, _frontier(y, handed.difference(early), inputs), sliced)
    ]  # fmt: skip
    if not before and not after:
        return {}
    length: Any = op.size if isinstance(op.size, int) else dim(node.inputs[1 + n], 0) if m else None
    if length is None:
        return {}
    operands = node.inputs[1 + n + m :]
    sequences = dict(zip(slices, node.inputs[1 + n : 1 + n + m], strict=True))
    whole = dict(zip(rest, operands, strict=True))

    def for_all(graphs: Sequence[Variable], more: dict[Variable, Variable]) -> Sequence[Variable]:
        return substitute(batched(graphs, sequences | more, length), whole)

    computed = dict(zip(before, for_all(before, {}), strict=True))
    holes: dict[Variable, Any] = {
        x: fresh_input("slice", x.type) for x in before if not _only_stacked(x, order, outputs, n)
    }
    moved = {*after, *[y for y in outputs[n:] if y in computed]}
    ends = handed.difference(early)
    frontier = dict.fromkeys([x for y in after for x in _frontier(y, ends, inputs)])
    stacked = [x for x in frontier if x not in slices and x not in rest]
    kept = [y for y in dict.fromkeys(outputs[n:]) if y not in moved]
    results = substitute([*outputs[:n], *kept, *stacked], holes)
    new_inputs: Any = [*inputs[: 1 + n + m], *holes.values(), *rest]
    names = [*(x.name for x in old[: 1 + n]), *(f"slice_{i}" for i in range(m + len(holes)))]
    names += [f"operand_{i}" for i in range(len(rest))]
    (body,), others = closed([(new_inputs, results)], names)
    new = Scan(body, n, m + len(holes), op.size, op.reverse)(
        *node.inputs[: 1 + n + m], *[computed[x] for x in holes], *operands, *others
    )
    values = results_of(new)
    first = n + len(kept)
    late = for_all(after, dict(zip(stacked, values[first:], strict=True)))
    images = {
        **dict(zip(kept, values[n:first], strict=True)),
        **computed,
        **dict(zip(after, late, strict=True)),
    }
    new_results = [*values[:n], *[images[y] for y in outputs[n:]]]
    return {
        GetItem(i)(node): x for i, x in enumerate(new_results) if x.type.narrows(node.type.items[i])
    }


def _ends(
    early: Sequence[Variable], carried: set[Variable], outputs: Sequence[Variable]
) -> list[Variable]:
    """Return the nodes that others, which are not early, read."""
    inside = set(early)
    order = toposort(outputs)
    read = {x for y in order if y not in inside for x in y.inputs} | set(outputs)
    return [x for x in early if x in read]


def _pays(root: Variable, within: Collection[Variable]) -> bool:
    """Return True if computing a node takes a function or a product, and nothing but such ops."""
    inside = set(within)
    waiting, seen, expensive = [root], set[Variable](), False
    while waiting:
        x = waiting.pop()
        if x not in inside or x in seen or x.op is None:
            continue
        seen.add(x)
        product = isinstance(x.op, Matmul) and max([size(i.type) for i in x.inputs]) > SMALL
        if not (product or x.op.pointwise or x.op.rearranges or isinstance(x.op, Reduction)):
            return False
        expensive = expensive or node_flops(x) >= FLOPS * max(1, size(x.type))
        waiting += x.inputs
    return expensive


def _frontier(y: Variable, handed: set[Variable], inputs: Sequence[Variable]) -> list[Variable]:
    """Return what a stacked result reads of what a scan carries, and of its inputs."""
    ends = handed | set(inputs)
    waiting, found, seen = [y], dict[Variable, None](), set[Variable]()
    while waiting:
        x = waiting.pop()
        if x in seen:
            continue
        seen.add(x)
        if x in ends:
            if x.inputs or x in inputs:
                found[x] = None
        else:
            waiting += x.inputs
    return list(found)


def _saves(y: Variable, frontier: Sequence[Variable], sliced: set[Variable]) -> bool:
    """Return True if what is stacked instead of a result takes little more memory."""
    elements = sum([size(x.type) for x in frontier if x not in sliced])
    return elements <= 2 * max(1, size(y.type))


def _only_stacked(
    x: Variable, order: Sequence[Variable], outputs: Sequence[Variable], n: int
) -> bool:
    """Return True if only stacked results are a node."""
    return x not in outputs[:n] and not any([x in y.inputs for y in order])


__all__ = ["LoopFission"]
