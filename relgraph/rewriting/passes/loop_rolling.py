"""Loop rolling: a graph that repeats one structure, step after step, becomes a scan.

A Python loop in a traced function adds its body to the graph in each iteration.  The nodes of such
a graph, in topological order, have a period: each one applies the op of the one before it by that
many places, to operands that lie as far back.

References
----------
The pass "loop reroll" of LLVM; R. C. O. Rocha et al., Loop rolling for code size reduction, CGO
2022.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant, Variable, apply, constant, fresh_input
from relgraph.ir.types import TensorType
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.elementwise import add, multiply
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import IndexUpdate
from relgraph.ops.loops import Scan, closed, results_of
from relgraph.rewriting.rewriters import GraphRewriter, with_changes

NODES = 100  # of a graph whose period is looked for
STEPS = 8  # that a loop has
TRIED = 4  # periods
LOOPS = 8  # of a graph
LEFT = 0.5  # the part of the nodes that may be left


class LoopRolling(GraphRewriter):
    """Turns repeated steps into scans, unless all ops are elementwise, which share kernels anyway.

    Examples
    --------
    >>> import relgraph as rg
    >>> from relgraph.rewriting.passes.loop_rolling import LoopRolling
    >>> A, x = rg.matrix("A", (2, 2)), rg.vector("x", 2)
    >>> y = x
    >>> for _ in range(100):
    ...     y = rg.tanh(A @ y)
    >>> len(rg.FunctionGraph(None, [y])), len(rg.rewrite_graph([y], LoopRolling()))
    (202, 1)
    """

    def __init__(self) -> None:
        super().__init__(name="loop_rolling")

    def apply(self, graph: FunctionGraph) -> FunctionGraph:
        """Return the graph with its repeated steps in scans."""
        rolled = graph
        for _ in range(LOOPS):
            changes = _changes(rolled)
            if not changes:
                break
            rolled = with_changes(rolled, changes)
        # A scan that the rest of the graph reads step by step would only add to the work.
        return rolled if len(rolled) < LEFT * len(graph) else graph


def _changes(graph: FunctionGraph) -> dict[Variable, Variable]:
    """Return new nodes for those of the longest loop that is found; none if there is no loop."""
    order = [x for x in graph if x.op is not None]
    if len(order) >= NODES:
        for steps in _periods(order):
            changes = _Rolled(graph, order, steps).changes()
            if changes:
                return changes
    return {}


class Steps(NamedTuple):
    """Where steps are in an order of nodes: the first node, how many a step has, and the steps."""

    first: int
    period: int
    number: int

    @property
    def end(self) -> int:
        """The place after the last node."""
        return self.first + self.period * self.number


def _kind(node: Variable) -> Hashable:
    """Return what the nodes of two steps have in common: all but numbers in keys."""
    op: Any = node.op
    params = op.params
    if isinstance(op, Index | IndexUpdate):
        params = tuple([("int",) if entry[0] == "int" else entry for entry in params[0]])
    return type(op), op.name, params, node.type, tuple([x.type for x in node.inputs])


def _periods(order: Sequence[Variable]) -> Iterator[Steps]:
    """Yield the longest runs of equal steps, by the gaps between rare ops."""
    codes: dict[Hashable, int] = {}
    kinds = np.array([codes.setdefault(_kind(x), len(codes)) for x in order])
    places: dict[int, list[int]] = {}
    for i, kind in enumerate(kinds.tolist()):
        places.setdefault(kind, []).append(i)
    often = sorted([p for p in places.values() if len(p) >= STEPS], key=len)
    gaps = [_gap(np.array(p), times) for p in often[:TRIED] for times in (1, 2, 3, 4)]
    for period in dict.fromkeys(gaps):
        same = kinds[:-period] == kinds[period:]
        first, length = _longest(same)
        count = (length + period) // period
        if count >= STEPS:
            for shift in range(min(period, length + period - period * STEPS)):
                yield Steps(first + shift, period, (length + period - shift) // period)


def _gap(places: Any, times: int) -> int:
    """Return the usual distance of a kind that a step has several times."""
    distances: list[int] = (places[times:] - places[:-times]).tolist()
    return Counter(distances).most_common(1)[0][0]


def _longest(same: Any) -> tuple[int, int]:
    """Return the place and the length of the longest run of true elements."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], same.astype(np.int8), [0]])))
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return 0, 0
    k = int(np.argmax(ends - starts))
    return int(starts[k]), int(ends[k] - starts[k])


class _Rolled:
    """A scan for the steps of a graph."""

    def __init__(self, graph: FunctionGraph, order: Sequence[Variable], steps: Steps) -> None:
        self.graph, self.order, self.steps = graph, order, steps
        self.place = {x: i for i, x in enumerate(order)}
        self.index = fresh_input("index", TensorType("int64"))
        self.carries: dict[int, tuple[Variable, Variable]] = {}  # by place in the step: hole, start
        self.slices: dict[tuple[Variable, ...], Any] = {}  # by the operands of all steps: the hole

    def _node(self, step: int, i: int) -> Variable:
        return self.order[self.steps.first + step * self.steps.period + i]

    def changes(self) -> dict[Variable, Variable]:
        """Return new nodes for those of the steps that others read; none if there is no scan."""
        count, period = self.steps.number, self.steps.period
        ops = [self._node(0, i).op for i in range(period)]
        if all([op.pointwise or op.view for op in ops if op is not None]):
            return {}
        images: list[Variable] = []
        for i in range(period):
            operands = []
            for k in range(len(self._node(0, i).inputs)):
                operand = self._operand(i, k, images)
                if operand is None:
                    return {}
                operands.append(operand)
            image = self._applied(i, operands)
            if image is None:
                return {}
            images.append(image)
        read = self._read()
        carried = list(self.carries)
        stacked = [i for i in read if read[i] != [count - 1] or i not in self.carries]
        inputs = [self.index, *[hole for hole, _ in self.carries.values()], *self.slices.values()]
        outputs = [images[i] for i in (*carried, *stacked)]
        names = ["index", *(f"carry_{i}" for i in range(len(carried)))]
        names += [f"slice_{i}" for i in range(len(self.slices))]
        (body,), others = closed([(inputs, outputs)], names)
        op = Scan(body, len(carried), len(self.slices), count, False)
        starts = [start for _, start in self.carries.values()]
        sequences = [_stacked(x) for x in self.slices]
        values = results_of(op(constant(count, dtype="int64"), *starts, *sequences, *others))
        return self._results(read, dict(zip((*carried, *stacked), values, strict=True)), stacked)

    def _operand(self, i: int, k: int, images: Sequence[Variable]) -> Variable | None:
        """Return the operand of a node in the body, or None if steps do not agree about it."""
        count, period = self.steps.number, self.steps.period
        operands = tuple([self._node(step, i).inputs[k] for step in range(count)])
        places = [self.place.get(x, -1) - self.steps.first - step * period
                  for step, x in enumerate(operands)]  # fmt: skip
        if len(set(operands)) == 1 and self.place.get(operands[0], -1) < self.steps.first:
            return operands[0]
        offset = places[1]
        if any([p != offset for p in places[1:]]):
            return self._slice(operands)
        if 0 <= offset < i:
            return images[offset] if places[0] == offset else None
        if not -period <= offset < 0 or self.place.get(operands[0], -1) >= self.steps.first:
            return None
        at = offset + period
        if at not in self.carries:
            self.carries[at] = fresh_input("carry", operands[0].type), operands[0]
        hole, start = self.carries[at]
        return hole if start is operands[0] else None

    def _slice(self, operands: tuple[Variable, ...]) -> Variable | None:
        """Return the slice of constants that differ from step to step."""
        if not all([isinstance(x, Constant) for x in operands]):
            return None
        if operands not in self.slices:
            self.slices[operands] = fresh_input("slice", operands[0].type)
        hole: Variable = self.slices[operands]
        return hole

    def _applied(self, i: int, operands: list[Variable]) -> Variable | None:
        """Return an application in the body, with numbers in keys that follow the index."""
        ops: list[Any] = [self._node(step, i).op for step in range(self.steps.number)]
        op = ops[0]
        if all([x is op for x in ops]):
            return apply(op, tuple(operands))
        first = 1 if isinstance(op, Index) else 2
        spec: list[Any] = []
        key: list[Variable] = []
        rest = iter(operands[first:])
        for entry, *others in zip(*[x.params[0] for x in ops], strict=True):
            key += [next(rest) for part in entry if part == "dynamic"]
            if all([x == entry for x in others]):
                spec.append(entry)
                continue
            numbers = [entry[1], *[x[1] for x in others]]
            stride = numbers[1] - numbers[0]
            if not stride or any([b - a != stride for a, b in pairwise(numbers)]):
                return None
            if numbers[0] < 0 or numbers[-1] < 0:
                return None
            spec.append(("dynamic",))
            scaled = self.index if stride == 1 else multiply(self.index, stride)
            key.append(add(scaled, numbers[0]) if numbers[0] else scaled)
        return apply(type(op)(tuple(spec)), (*operands[:first], *key))

    def _read(self) -> dict[int, list[int]]:
        """Return the places in a step that others read, each with the steps whose node it is."""
        read: dict[int, list[int]] = {}
        inside = range(self.steps.first, self.steps.end)
        outputs = set(self.graph.outputs)
        for place in inside:
            node = self.order[place]
            users = [self.place[x] for x, _ in self.graph.clients[node] if isinstance(x, Variable)]
            if node in outputs or any([user not in inside for user in users]):
                step, i = divmod(place - self.steps.first, self.steps.period)
                read.setdefault(i, []).append(step)
        return read

    def _results(
        self, read: dict[int, list[int]], values: dict[int, Variable], stacked: Sequence[int]
    ) -> dict[Variable, Variable]:
        """Return new nodes for those that others read, and for stacks of all of them."""
        changes: dict[Variable, Variable] = {}
        whole: dict[tuple[Variable, ...], Variable] = {}
        for i, steps in read.items():
            for step in steps:
                if i in stacked:
                    changes[self._node(step, i)] = Index((("int", step),))(values[i])
                else:
                    changes[self._node(step, i)] = values[i]
            if len(steps) == self.steps.number and i in stacked:
                whole[tuple([self._node(step, i) for step in steps])] = values[i]
        for node in self.graph:
            if isinstance(node.op, Stack) and node.op.params[0] == -node.ndim:
                for nodes, value in whole.items():
                    joined = _joined(node, nodes, value)
                    if joined is not None:
                        changes[node] = joined
        return {x: y for x, y in changes.items() if y.type.narrows(x.type)}


def _joined(node: Variable, nodes: Sequence[Variable], stacked: Variable) -> Variable | None:
    """Return a stack of nodes that are stacked already, and others; None for another stack."""
    if nodes[0] not in node.inputs:
        return None
    start = node.inputs.index(nodes[0])
    end = start + len(nodes)
    if node.inputs[start:end] != tuple(nodes):
        return None
    ends = [Stack(node.op.params[0])(*x) for x in (node.inputs[:start], node.inputs[end:]) if x]  # type: ignore[union-attr]
    if not ends:
        return stacked
    parts = [stacked, *ends] if not start else [ends[0], stacked, *ends[1:]]
    return Concatenate(-node.ndim)(*parts)  # type: ignore[no-any-return]


def _stacked(constants: Sequence[Variable]) -> Variable:
    values = [x.value for x in constants if isinstance(x, Constant)]
    return constant(np.stack(values))


__all__ = ["LoopRolling"]
