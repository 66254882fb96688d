"""Rewriting of loops: their bodies are rewritten as the graph around them is.

What a body computes of values that are the same in each iteration leaves the loop.  Scans that
carry the same values are one, which stacks the results of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relgraph.ir.graph import FunctionGraph, free_inputs, substitute, toposort
from relgraph.ir.infix import brief
from relgraph.ir.node import Variable, fresh_input
from relgraph.ir.op import GetItem
from relgraph.ops.loops import Body, Cond, Scan, closed, is_loop, results_of
from relgraph.rewriting.derivation.passes import LISTENER, report_pass
from relgraph.rewriting.driver import RUNNER

Outputs = tuple[Variable, ...]
Run = Callable[[Outputs], Outputs]


def rewritten(outputs: Outputs, run: Run, run_body: Run) -> Outputs:
    """Rewrite a graph, and the bodies of its loops.

    Parameters
    ----------
    outputs : tuple of Variable
        The graph.
    run, run_body : callable
        Rewrite the outputs of the graph, and those of a body.

    Returns
    -------
    tuple of Variable
        The outputs of the rewritten graph.
    """
    had_loops = any(map(is_loop, toposort(outputs)))
    new = run(_merged(outputs) if had_loops else outputs)
    if not had_loops and not any(map(is_loop, toposort(new))):
        return new
    before = new
    changes: dict[Variable, Variable] = {}
    lines: list[str] = []
    for node in toposort(new):
        if is_loop(node):
            changes |= _with_bodies(node, run_body, lines)
    new = substitute(new, changes) if changes else new
    new = _pruned(new)
    report_pass("loop_bodies", before, new, lines)
    return new


def _with_bodies(node: Variable, run: Run, lines: list[str]) -> dict[Variable, Variable]:
    """Return the results of a loop, and those of the loop with its bodies rewritten."""
    op: Any = node.op
    own = _own_inputs(op)
    first = len(node.inputs) - (len(op.bodies[0].graph.inputs) - own)
    rest = node.inputs[first:]
    inputs = op.bodies[0].graph.inputs
    # Inputs of bodies have the same names on all levels, so those of this one get a stand-in.
    stand_ins = [fresh_input(x.name, x.type) for x in inputs[:own]]
    images: dict[Variable, Variable] = dict(zip(inputs, (*stand_ins, *rest), strict=True))
    graphs: list[tuple[Any, Sequence[Variable]]] = []
    for body in op.bodies:
        results = _alone(run, body.graph.outputs)
        lines += [
            line
            for old, new in zip(body.graph.outputs, results, strict=True)
            if old is not new
            for line in (f"    {brief(old)}", f"  = {brief(new)}")
        ]
        graphs.append((stand_ins, substitute(results, images)))
    names = [x.name for x in inputs[:own]]
    bodies, captured = closed(graphs, names, whole=isinstance(op, Cond))
    new = op.with_bodies(bodies)(*node.inputs[:first], *captured)
    if new is node:
        return {}
    return {GetItem(i)(node): GetItem(i)(new) for i in range(len(node.type.items))}


def _own_inputs(op: Any) -> int:
    """Return how many inputs of a body are not operands that stay the same.

    What a choice computes stays in its bodies, since one of them does not run.
    """
    if isinstance(op, Cond):
        return len(op.then.graph.inputs)
    return int(op.carries + (1 + op.sequences if isinstance(op, Scan) else 0))


def _alone(run: Run, outputs: Outputs) -> Outputs:
    """Run a rewriter on a graph that is no part of a recorded derivation."""
    listener, runner = LISTENER.set(None), RUNNER.set(None)
    try:
        return rewritten(outputs, run, run)
    finally:
        LISTENER.reset(listener)
        RUNNER.reset(runner)


def _pruned(outputs: Outputs) -> Outputs:
    """Return a graph whose scans compute nothing that nobody reads."""
    read: dict[Variable, set[int]] = {}
    for x in toposort(outputs):
        if isinstance(x.op, GetItem) and isinstance(x.inputs[0].op, Scan):
            read.setdefault(x.inputs[0], set()).add(x.op.params[0])
    changes: dict[Variable, Variable] = {}
    for node, indices in read.items():
        changes |= _without_the_rest(node, indices)
    return substitute(outputs, changes) if changes else outputs


def _without_the_rest(node: Variable, read: set[int]) -> dict[Variable, Variable]:
    """Return the results of a scan that are read, as results of one that computes only those."""
    op: Any = node.op
    n, m = op.carries, op.sequences
    graph = op.body.graph
    needed = set(read)
    while True:  # a value that is carried is read if a result that is needed reads it
        used = set(free_inputs([graph.outputs[i] for i in sorted(needed)]))
        more = {i for i in range(n) if graph.inputs[1 + i] in used} - needed
        if not more:
            break
        needed |= more
    carries = [i for i in range(n) if i in needed]
    results = [i for i in range(n, len(graph.outputs)) if i in needed]
    slices = [i for i in range(m) if graph.inputs[1 + n + i] in used]
    slices = slices or [0] * (m > 0)  # which says how many iterations there are
    if len(needed) == len(graph.outputs) and len(slices) == m:
        return {}
    kept = [0, *[1 + i for i in carries], *[1 + n + i for i in slices]]
    kept += range(1 + n + m, len(graph.inputs))
    outputs = [graph.outputs[i] for i in (*carries, *results)]
    body = Body(FunctionGraph([graph.inputs[i] for i in kept], outputs))
    new = Scan(body, len(carries), len(slices), op.size, op.reverse)
    values = results_of(new(*[node.inputs[i] for i in kept]))
    return {GetItem(i)(node): value for i, value in zip((*carries, *results), values, strict=True)}


def _merged(outputs: Outputs) -> Outputs:
    """Return a graph in which scans that carry the same values are one."""
    groups: dict[Any, list[Variable]] = {}
    for node in toposort(outputs):
        op: Any = node.op
        if isinstance(op, Scan):
            carried = op.body.graph.outputs[: op.carries]
            key = (node.inputs, op.params[1:], op.body.graph.inputs, carried)
            groups.setdefault(key, []).append(node)
    changes: dict[Variable, Variable] = {}
    for nodes in groups.values():
        if len(nodes) > 1:
            changes |= _joined(nodes)
    return substitute(outputs, changes) if changes else outputs


def _joined(nodes: Sequence[Variable]) -> dict[Variable, Variable]:
    ops: list[Any] = [x.op for x in nodes]
    n = ops[0].carries
    carried = ops[0].body.graph.outputs[:n]
    stacked = dict.fromkeys([y for op in ops for y in op.body.graph.outputs[n:]])
    body = Body(FunctionGraph(ops[0].body.graph.inputs, [*carried, *stacked]))
    whole = ops[0].with_bodies([body])(*nodes[0].inputs)
    places = {y: n + i for i, y in enumerate(stacked)}
    changes: dict[Variable, Variable] = {}
    for node, op in zip(nodes, ops, strict=True):
        for i in range(len(node.type.items)):
            place = i if i < n else places[op.body.graph.outputs[i]]
            changes[GetItem(i)(node)] = GetItem(place)(whole)
    return changes


__all__ = ["rewritten"]
