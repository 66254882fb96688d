"""The cheapest equal graph, region by region: saturate, extract, stop when nothing is gained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from relgraph.ir.cost import LEAST, operations
from relgraph.ir.fact_inference import facts_of
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant, Variable, apply, make_input
from relgraph.ir.polynomial import at_most
from relgraph.ir.types import TensorType
from relgraph.rewriting.rewriters import with_outputs
from relgraph.search.candidates import Candidates, cost_of
from relgraph.search.egraph import EGraph, OutOfSteps
from relgraph.search.embedding import Embedding, nodes_of
from relgraph.search.extraction import Extraction
from relgraph.search.joins import Joins
from relgraph.search.labels import Reference
from relgraph.search.options import Options, Searched
from relgraph.search.regions import Region, regions_of
from relgraph.search.saturation import LAWS, Saturation

ROUNDS = 12
STALLED = 3  # rounds without gain after which the search of a region ends
STEPS = 4_000  # for a region, and for each of its nodes:
STEPS_OF_A_NODE = 100
GAIN = 1e-9  # the least part of the cost that counts as a gain

UNSTABLE = frozenset(name for name, law in LAWS.items() if law.label == "cancels")


def optimized(graph: FunctionGraph, options: Options) -> FunctionGraph:
    """Return a graph with each region replaced by the cheapest equal one that a search finds."""
    end = None if options.seconds is None else monotonic() + options.seconds
    ops = Joins(options.relations).ops if options.relations else frozenset()
    changes: dict[Variable, Variable] = {}
    known: dict[Any, tuple[list[Variable], list[Variable], Searched]] = {}
    for region in regions_of(graph.outputs, ops):
        leaves = _leaves(region)
        key = None if options.relations else _form(region, leaves)
        if key in known:  # the same operations on other operands
            others, results, searched = known[key]
            new = on_images(results, dict(zip(others, leaves, strict=True)))
        else:
            new, searched = _searched(region, options, end)
            if key is not None:
                known[key] = leaves, new, searched
        if options.report is not None:
            options.report.regions.append(searched)
        for old, result in zip(region.outputs, new, strict=True):
            if old is not result:
                changes[old] = result
    return with_outputs(graph, replaced(graph, changes)) if changes else graph


def _searched(
    region: Region, options: Options, end: float | None
) -> tuple[list[Variable], Searched]:
    """Return the cheapest outputs found for a region, or its own."""
    outputs, node_cost = region.outputs, options.node_cost
    egraph = EGraph(options.steps or STEPS + STEPS_OF_A_NODE * region.size)
    embedding = Embedding(egraph, outputs, region.boundary)
    roots = [embedding.references[x] for x in outputs]
    excluded = UNSTABLE if options.exclude is None else options.exclude
    saturation = Saturation(egraph, roots, excluded)
    joins = Joins(options.relations) if options.relations else None
    memo: dict[Any, Any] = {}
    cost = least = cost_of(outputs, node_cost, region.boundary)
    is_open = any(
        isinstance(d, str) and d not in options.sizes
        for x in nodes_of(outputs, region.boundary)
        for d in x.type.shape
    )
    best, stopped, rounds, stalled = outputs, "rounds", 0, 0
    while rounds < ROUNDS:
        rounds += 1
        try:
            stopped = "" if saturation.round() else "saturated"
        except OutOfSteps:
            stopped = "steps"
        candidates = Candidates(egraph, embedding, node_cost, memo)
        if joins is not None and stopped != "steps":
            fired = joins.round(candidates)
            for name, times in fired.items():
                saturation.fired[name] += times
            if fired:
                stopped = ""
                candidates = Candidates(egraph, embedding, node_cost, memo)
        new = _cheapest(candidates, roots, outputs)
        new_cost = cost_of(new, node_cost, region.boundary)
        gains = new_cost < least * (1 - GAIN)
        if gains and (not is_open or _is_cheaper(new, best, region, options)):
            best, least, stalled = new, new_cost, 0
        else:
            stalled += 1
        if not stopped and stalled >= STALLED:
            stopped = "no gain"
        if not stopped and end is not None and monotonic() > end:
            stopped = "time"
        if stopped:
            break
        egraph.bounded = True
    laws = dict(saturation.fired)
    return best, Searched(region.size, cost, least, rounds, stopped or "rounds", laws)


def _is_cheaper(
    new: Sequence[Variable], old: Sequence[Variable], region: Region, options: Options
) -> bool:
    """Return whether outputs take no more operations than others for all sizes that are open."""
    outside = region.boundary
    fewer, more = (
        operations([x for x in nodes_of(side, outside) if x not in outside], options.sizes)
        for side in (new, old)
    )
    return at_most(fewer, more, LEAST)


def _leaves(region: Region) -> list[Variable]:
    """Return the operands of a region that are no constants, in the order of their use."""
    below = nodes_of(region.outputs, region.boundary)
    return [x for x in below if x in region.boundary and not isinstance(x, Constant)]


def _form(region: Region, leaves: Sequence[Variable]) -> tuple[Any, ...] | None:
    """Return what a search depends on: the operations, and the types and facts of the operands."""
    images: dict[Variable, Variable] = {}
    for k, leaf in enumerate(leaves):
        if not isinstance(leaf.type, TensorType):
            return None
        images[leaf] = make_input(f"x{k}", leaf.type)
    return (*on_images(region.outputs, images), *[facts_of(leaf) for leaf in leaves])


def replaced(graph: FunctionGraph, changes: Mapping[Variable, Variable]) -> list[Variable]:
    """Return the outputs of a graph with nodes replaced, inside of replacements too."""
    done: dict[Variable, Variable] = {}
    for node in graph:
        new = changes.get(node)
        done[node] = _on(node, done) if new is None else on_images([new], done)[0]
    return [done[x] for x in graph.outputs]


def on_images(outputs: Sequence[Variable], images: Mapping[Variable, Variable]) -> list[Variable]:
    """Return outputs with nodes replaced, without a look at what is below those."""
    done: dict[Variable, Variable] = {}
    for x in nodes_of(outputs, images):
        done[x] = images[x] if x in images else _on(x, done)
    return [done[x] for x in outputs]


def _on(node: Variable, images: Mapping[Variable, Variable]) -> Variable:
    """Return a node on the images of its operands."""
    inputs = tuple([images[x] for x in node.inputs])
    if node.op is None or inputs == node.inputs:
        return node
    return apply(node.op, inputs)


def _cheapest(
    candidates: Candidates, roots: Sequence[Reference], outputs: Sequence[Variable]
) -> list[Variable]:
    """Return the cheapest program that an e-graph has now; the outputs if it has none."""
    operands = [candidates.goal(root) for root in roots]
    extraction = Extraction(candidates, [operand.state for operand in operands])
    choice = extraction.cheapest()
    if choice is None:
        return list(outputs)
    values = extraction.build(choice)
    return [
        candidates.finished(values[operand.state], operand, root, node)
        for node, operand, root in zip(outputs, operands, roots, strict=True)
    ]
