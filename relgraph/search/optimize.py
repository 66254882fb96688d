"""The cheapest equal graph: saturate, extract, and stop when nothing cheaper turns up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from relgraph.ir.node import Variable, toposort
from relgraph.ops.shape import reshape
from relgraph.search.candidates import Candidates
from relgraph.search.egraph import EGraph, OutOfSteps
from relgraph.search.embedding import Embedding, is_matrix
from relgraph.search.extraction import Choice, Extraction
from relgraph.search.labels import Reference
from relgraph.search.saturation import Saturation

STALLED = 2  # rounds without gain after which a search ends


def cheapest(
    outputs: Sequence[Variable],
    boundary: Collection[Variable] = (),
    node_cost: Callable[[Variable], float] | None = None,
    steps: int = 10_000,
    rounds: int = 12,
) -> list[Variable]:
    """Return equal outputs whose nodes cost less in all, or the same objects."""
    node_cost = node_cost or flops_of
    egraph = EGraph(steps)
    embedding = Embedding(egraph, outputs, boundary)
    roots = [embedding.references[x] for x in outputs]
    saturation = Saturation(egraph, roots)
    best: list[Variable] | None = None
    least = cost_of(outputs, node_cost, boundary)
    stalled = 0
    memo: dict[Any, Any] = {}
    for _ in range(rounds):
        try:
            grew = saturation.round()
        except OutOfSteps:
            grew = False
        new = _extracted(egraph, embedding, roots, outputs, node_cost, memo)
        cost = cost_of(new, node_cost, boundary)
        if cost < least * (1 - 1e-9):
            best, least, stalled = new, cost, 0
        else:
            stalled += 1
        egraph.bounded = True
        if not grew or stalled >= STALLED:
            break
    return list(outputs) if best is None else best


def _extracted(
    egraph: EGraph,
    embedding: Embedding,
    roots: Sequence[Reference],
    outputs: Sequence[Variable],
    node_cost: Callable[[Variable], float],
    memo: dict[Any, Any],
) -> list[Variable]:
    candidates = Candidates(egraph, embedding, node_cost, memo)
    operands = [candidates.operand(root) for root in roots]
    extraction = Extraction(candidates, [operand.state for operand in operands])
    choice: Choice = extraction.cheapest()
    values = extraction.build(choice)
    new = []
    for node, operand, root in zip(outputs, operands, roots, strict=True):
        value = candidates.oriented(values[operand.state], operand.transposed)
        value = candidates.scaled(operand.coefficient, value)
        value = candidates.at_rank(value, root, min(node.ndim, 2)) if value.ndim < node.ndim else value
        if value.ndim < node.ndim or value.type.shape != node.type.shape:
            value = candidates.broadcast(value, node.type.shape)
        new.append(value)
    return new


def cost_of(
    outputs: Iterable[Variable],
    node_cost: Callable[[Variable], float],
    boundary: Collection[Variable] = (),
) -> float:
    """Return the cost of a graph, each node counted once."""
    below = set(toposort(boundary)) if boundary else set()
    return sum(node_cost(x) for x in toposort(outputs) if x.op is not None and x not in below)


def flops_of(node: Variable) -> float:
    """Return the flops of a node, and one for a kernel."""
    op: Any = node.op
    flops = op.flops(tuple([x.type for x in node.inputs]), node.type)
    return float(flops + (0 if flops == 0 else 1))


__all__ = ["cheapest", "is_matrix", "reshape"]
