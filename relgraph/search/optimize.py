"""The cheapest equal graph, region by region: saturate, extract, stop when nothing is gained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from time import monotonic
from typing import Any, NamedTuple

from relgraph.ir.cost import LEAST, operations
from relgraph.ir.fact_inference import facts_of
from relgraph.ir.graph import FunctionGraph, toposort_above, with_outputs
from relgraph.ir.infix import brief
from relgraph.ir.node import Constant, Variable, apply, make_input
from relgraph.ir.polynomial import at_most
from relgraph.ir.types import TensorType
from relgraph.numpy.reductions import sum as total
from relgraph.rewriting.budgets import END, is_over
from relgraph.rewriting.derivation.passes import LISTENER, report_pass
from relgraph.search.candidates import Candidates, cost_of
from relgraph.search.egraph import EGraph, OutOfSteps
from relgraph.search.embedding import Embedding
from relgraph.search.extraction import Choice, Extraction
from relgraph.search.joins import Joins
from relgraph.search.labels import Reference
from relgraph.search.options import Memory, Options, Searched
from relgraph.search.regions import Region, regions_of
from relgraph.search.saturation import LAWS, Saturation

ROUNDS = 12
STALLED = 3  # rounds without gain after which the search of a region ends
STEPS = 4_000  # for a region, and for each of its nodes:
STEPS_OF_A_NODE = 100
GAIN = 1e-9  # the least part of the cost that counts as a gain
GAIN_OF_PROGRAM = 0.01  # the least gain of a whole program's estimated time, unless it stays

UNSTABLE = frozenset(name for name, law in LAWS.items() if law.label == "cancels")


def optimized(graph: FunctionGraph, options: Options) -> FunctionGraph:
    """Return a graph with each region replaced by the cheapest equal one that a search finds."""
    time = Time.of(options.seconds)
    ops = Joins(options.relations).ops if options.relations else frozenset()
    explains = options.report is not None or LISTENER.get() is not None
    changes: dict[Variable, Variable] = {}
    memory: Memory = {} if options.memory is None else options.memory
    records: list[Searched] = []
    for region in regions_of(graph.outputs, ops) if options.nonfinite == "assume" else ():
        leaves = _leaves(region)
        key = _form(region, leaves, options)
        if key in memory:  # the same operations on other operands
            others, results, searched = memory[key]
            new = on_images(results, dict(zip(others, leaves, strict=True)))
        elif is_over(time.end):
            cost = _costs(region.outputs, region, options)[0] if explains else 0.0
            new, searched = region.outputs, Searched(region.size, cost, cost, 0, "time", {})
        else:
            new, searched = _searched(region, options, time, explains)
            if key is not None:
                memory[key] = leaves, new, searched
                _note_end(memory, region, new, searched, options)
        if explains:
            records.append(_shown(searched, region, new, leaves))
        for old, result in zip(region.outputs, new, strict=True):
            if old is not result:
                changes[old] = result
    rewritten = with_outputs(graph, replaced(graph, changes)) if changes else graph
    if options.report is not None:
        none: frozenset[Variable] = frozenset()
        whole = Region([], none, none, none, 0)
        options.report.add(records, graph, rewritten, lambda x: _costs(x, whole, options)[0])
    changed = [searched for searched in records if searched.before != searched.after]
    lines = [line for searched in changed for line in searched.lines()]
    report_pass("cheapest_program", graph.outputs, rewritten.outputs, lines)
    return rewritten


class Time(NamedTuple):
    """When a search ends, by the monotonic clock: that for equal terms, and that for programs.

    The second takes at most as long as the first may, so that what was found in time is used.
    """

    end: float | None = None
    last: float | None = None

    @classmethod
    def of(cls, seconds: float | None) -> Time:
        """Return the time of a search that starts now."""
        now = monotonic()
        ends = [END.get(), None if seconds is None else now + seconds]
        end = min([x for x in ends if x is not None], default=None)
        return cls() if end is None else cls(end, max(end, 2 * end - now))


class Best:
    """The best program so far for a region, at first its own, and its costs."""

    def __init__(self, region: Region, options: Options) -> None:
        self.region, self.options, self.outputs = region, options, region.outputs
        self.costs = _costs(region.outputs, region, options)
        shapes = [x.type.shape for x in toposort_above(region.outputs, region.boundary)]
        names = {d for shape in shapes for d in shape if isinstance(d, str)}
        self.is_open = not names <= options.sizes.keys()  # sizes have no value

    def takes(self, new: Program) -> bool:
        """Return whether a program is better; then it is the best."""
        region, options = self.region, self.options
        costs = _costs(new.outputs, region, options)
        gains, pairs = _gains(costs, self.costs), zip(costs, self.costs, strict=True)
        if not gains and all([x <= y * (1 + GAIN) for x, y in pairs]):
            own, others = _ops(self.outputs, region), _ops(new.outputs, region)
            gains = others < own and all(op.rearranges for op in own - others)  # transposes, say
        if not gains or (
            self.is_open and not _is_cheaper(new.outputs, self.outputs, region, options)
        ):
            return False
        self.outputs, self.costs = new.outputs, costs
        return True


def _searched(
    region: Region, options: Options, time: Time, explains: bool
) -> tuple[list[Variable], Searched]:
    """Return the cheapest outputs found for a region, or its own."""
    outputs, node_cost = region.outputs, options.node_cost
    egraph = EGraph(options.steps or STEPS + STEPS_OF_A_NODE * region.size, options.sizes)
    embedding = Embedding(egraph, outputs, region.boundary)
    roots = [embedding.references[x] for x in outputs]
    excluded = UNSTABLE if options.exclude is None else options.exclude
    saturation = Saturation(egraph, roots, excluded)
    joins = Joins(options.relations) if options.relations else None
    read = partial(Candidates, egraph, embedding, node_cost, {})
    best = Best(region, options)
    cost, stopped, rounds, stalled = best.costs[0], "rounds", 0, 0
    while rounds < ROUNDS:
        rounds += 1
        try:
            candidates, stopped = _round(saturation, joins, read, time)
            new = _cheapest(candidates, roots, outputs)
        except OutOfSteps:
            new, stopped = Program(outputs), "time" if is_over(time.last) else "steps"
            break
        stalled = 0 if best.takes(new) else stalled + 1
        if not stopped and stalled >= STALLED:
            stopped = "no gain"
        if stopped:
            break
        egraph.bounded = True
    if new.extraction is not None and new.choice is not None and not is_over(time.end):
        choice = new.extraction.forced(new.choice)
        if choice is not new.choice:
            best.takes(_built(new.extraction, choice, roots, outputs))
    changed = explains and best.outputs != outputs
    used = _laws_between(region, best.outputs, options, saturation.fired, time) if changed else ()
    ends = (rounds, stopped or "rounds", dict(saturation.fired), used)
    return best.outputs, Searched(region.size, cost, best.costs[0], *ends)


def _round(
    saturation: Saturation,
    joins: Joins | None,
    read: Callable[[], Candidates],
    time: Time,
) -> tuple[Candidates, str]:
    """Apply all laws and relations once; return the candidates, and why the search ends or "".

    Raises
    ------
    OutOfSteps
        If there is no time for the candidates, or if relations use up the steps.
    """
    egraph, egraph.end = saturation.egraph, time.end
    try:
        stopped = "" if saturation.round() else "saturated"
    except OutOfSteps:
        stopped = "time" if is_over(time.end) else "steps"
    egraph.end = time.last
    candidates = read()
    if joins is not None and stopped in ("", "saturated"):
        fired = joins.round(candidates)
        for name, times in fired.items():
            saturation.fired[name] += times
        if fired:
            stopped = ""
            candidates = read()
    return candidates, stopped or ("time" if is_over(time.end) else "")


def _gains(new: Sequence[float], old: Sequence[float]) -> bool:
    """Return whether the sum over nodes falls, and no time of the whole program rises."""
    pairs = zip(new[:-1], old[:-1], strict=True)
    return new[-1] < old[-1] * (1 - GAIN) and all(
        [x < y * (1 - GAIN_OF_PROGRAM) or abs(x - y) <= GAIN * y for x, y in pairs]
    )


def _ops(outputs: Sequence[Variable], region: Region) -> Counter[Any]:
    """Return how often a program uses each op."""
    outside = region.boundary
    return Counter([x.op for x in toposort_above(outputs, outside) if x.op and x not in outside])


def _costs(outputs: Sequence[Variable], region: Region, options: Options) -> list[float]:
    """Return the costs of a program: times of the whole, if asked for, and the sum over nodes."""
    nodes = cost_of(outputs, options.node_cost, region.boundary)
    if options.program_cost is None:
        return [nodes]
    # Its loops compute what only they read, and loops that read its results compute those.
    operands = {i: None for x in region.private for i in x.inputs}
    operands |= dict.fromkeys(region.boundary - region.private)
    images = {
        x: make_input(f"x{k}", x.type)
        for k, x in enumerate(operands)
        if isinstance(x.type, TensorType) and not isinstance(x, Constant)
    }
    read = [
        total(x) if node in region.read_in_loops else x
        for x, node in zip(on_images(outputs, images), region.outputs or outputs, strict=True)
    ]
    return [*options.program_cost(read, options.sizes), nodes]


def _shown(
    searched: Searched, region: Region, new: Sequence[Variable], leaves: Sequence[Variable]
) -> Searched:
    """Return a record with what became of a region, on inputs in the place of its operands."""
    names = {brief(x) for x in leaves if x.op is None}
    free = (name for name in (f"v{k}" for k in count(1)) if name not in names)
    images = {
        x: make_input(next(free), x.type) if isinstance(x.type, TensorType) and x.op else x
        for x in leaves
    }
    before, after = (tuple(on_images(side, images)) for side in (region.outputs, new))
    return searched._replace(before=before, after=after)


def _is_cheaper(
    new: Sequence[Variable], old: Sequence[Variable], region: Region, options: Options
) -> bool:
    """Return whether outputs take no more operations than others for all sizes that are open."""
    outside = region.boundary
    fewer, more = (
        operations([x for x in toposort_above(side, outside) if x not in outside], options.sizes)
        for side in (new, old)
    )
    return at_most(fewer, more, LEAST)


def _note_end(
    memory: Memory, region: Region, new: list[Variable], searched: Searched, options: Options
) -> None:
    """Note that a search has no cheaper result than its own."""
    pairs = zip(new, region.outputs, strict=True)
    read = frozenset([x for x, old in pairs if old in region.read_in_loops])
    end = region._replace(outputs=list(dict.fromkeys(new)), read_in_loops=read)
    leaves = _leaves(end)
    key = _form(end, leaves, options)
    if key is not None:
        searched = searched._replace(cost=searched.new_cost, rounds=0, used=())
        memory.setdefault(key, (leaves, end.outputs, searched))


def _leaves(region: Region) -> list[Variable]:
    """Return the operands of a region that are no constants, in the order of their use."""
    below = toposort_above(region.outputs, region.boundary)
    return [x for x in below if x in region.boundary and not isinstance(x, Constant)]


def _form(region: Region, leaves: Sequence[Variable], options: Options) -> tuple[Any, ...] | None:
    """Return what a search depends on: the operations, and the types and facts of the operands.

    Relations of users may look at the operands themselves.
    """
    if options.relations:
        return (*region.outputs, region.boundary)
    images: dict[Variable, Variable] = {}
    for k, leaf in enumerate(leaves):
        if not isinstance(leaf.type, TensorType):
            return None
        images[leaf] = make_input(f"x{k}", leaf.type)
    operands = [(facts_of(leaf), leaf in region.private and leaf.op) for leaf in leaves]
    read = [x in region.read_in_loops for x in region.outputs]
    return (*on_images(region.outputs, images), *operands, *read)


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
    for x in toposort_above(outputs, images):
        done[x] = images[x] if x in images else _on(x, done)
    return [done[x] for x in outputs]


def _on(node: Variable, images: Mapping[Variable, Variable]) -> Variable:
    """Return a node on the images of its operands."""
    inputs = tuple([images[x] for x in node.inputs])
    if node.op is None or inputs == node.inputs:
        return node
    return apply(node.op, inputs)


class Program(NamedTuple):
    """A program for the outputs of a region, and how it was chosen."""

    outputs: list[Variable]
    extraction: Extraction | None = None
    choice: Choice | None = None


def _cheapest(
    candidates: Candidates, roots: Sequence[Reference], outputs: list[Variable]
) -> Program:
    """Return the cheapest program that an e-graph has now; the outputs if it has none."""
    operands = [candidates.goal(root) for root in roots]
    extraction = Extraction(candidates, [operand.state for operand in operands])
    choice = extraction.cheapest()
    return Program(outputs) if choice is None else _built(extraction, choice, roots, outputs)


def _built(
    extraction: Extraction, choice: Choice, roots: Sequence[Reference], outputs: list[Variable]
) -> Program:
    """Return the program of a choice."""
    candidates, values = extraction.candidates, extraction.build(choice)
    operands = [candidates.goal(root) for root in roots]
    new = [
        candidates.finished(values[operand.state], operand, root, node)
        for node, operand, root in zip(outputs, operands, roots, strict=True)
    ]
    return Program(new, extraction, choice)


def _laws_between(
    region: Region,
    new: Sequence[Variable],
    options: Options,
    fired: Iterable[str],
    time: Time,
) -> tuple[str, ...]:
    """Return the laws by which the outputs of a region equal others: none can be left out.

    Laws that there is no time to try without are among them, and so are all that fired if the
    equality takes more steps than a search may take.
    """
    laws = tuple(fired)
    for law in laws:
        if is_over(time.end):
            break
        fewer = tuple([other for other in laws if other != law])
        if _are_equal(region, new, options, fewer, time):
            laws = fewer
    return laws


def _are_equal(
    region: Region, new: Sequence[Variable], options: Options, laws: Sequence[str], time: Time
) -> bool:
    """Return whether laws suffice to show that outputs equal those of a region."""
    egraph = EGraph(options.steps or STEPS + STEPS_OF_A_NODE * region.size, options.sizes)
    embedding = Embedding(egraph, [*region.outputs, *new], region.boundary)
    old_roots, new_roots = (
        [embedding.references[x] for x in side] for side in (region.outputs, new)
    )
    saturation = Saturation(egraph, old_roots + new_roots, LAWS.keys() - set(laws))
    joins = Joins(options.relations, laws) if options.relations else None
    read = partial(Candidates, egraph, embedding, options.node_cost, {})
    for _ in range(ROUNDS):
        if all(map(egraph.same, old_roots, new_roots)):
            return True
        try:
            if _round(saturation, joins, read, time)[1]:
                break
        except OutOfSteps:
            break
        egraph.bounded = True
    return all(map(egraph.same, old_roots, new_roots))
