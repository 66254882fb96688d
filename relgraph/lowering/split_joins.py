"""Joined operands: elementwise ops of joined arrays are computed part by part.

``f(concatenate([a, b]), y)`` is ``concatenate([f(a, y[:k]), f(b, y[k:])])``.  A kernel then reads
each part where it is and writes it where it belongs, so no joined array is stored.  A stencil whose
edges wrap around, written with ``np.roll``, becomes its interior and its edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np

from relgraph.ir.graph import FunctionGraph, is_tensor, map_nodes
from relgraph.ir.node import Variable, apply
from relgraph.ir.op import Op
from relgraph.ir.types import TensorType, Type
from relgraph.lowering.views import is_view
from relgraph.ops.concatenate import Concatenate
from relgraph.ops.elementwise import Cast, Elementwise
from relgraph.ops.indexing.index import Index

MOST = 27  # parts of an array: each is a step of the program
NODES = 2000  # of all parts
SMALLEST = 4096  # elements of a result; a smaller one is joined faster than its parts are computed

Cuts = tuple[tuple[int, ...], ...]
"""For each axis the places at which it is cut, both ends included."""
Box = tuple[tuple[int, int], ...]
"""For each axis the first place of a part, and the place after the last one."""


class Empty(Op):
    """A new array without values, whose parts are computed later.

    Parameters
    ----------
    dtype : str
        The dtype.
    shape : tuple of int
        The sizes.
    """

    __slots__ = ()
    name = "empty"
    arity = 0
    parameters = ("dtype", "shape")
    returns_new_array = True

    def infer(self, *types: Any) -> Type:
        """Return the type."""
        return TensorType(self.params[0], self.params[1])

    def perform(self, *values: Any) -> Any:
        """Make an array."""
        return np.empty(self.params[1], self.params[0])


def split_joins(graph: FunctionGraph) -> FunctionGraph:
    """Return a graph in which elementwise ops of joined arrays are computed part by part."""
    if not any(isinstance(node.op, Concatenate) for node in graph):
        return graph
    return _Splitter(graph).graph()


class _Splitter:
    def __init__(self, graph: FunctionGraph) -> None:
        self._graph = graph
        self._left = NODES
        self._cuts: dict[Variable, Cuts] = {}
        self._parts: dict[tuple[Variable, Box], Variable] = {}
        self._new: dict[Variable, Variable] = {}
        stored = set(graph.outputs)
        for node in graph:
            if not _passes(node):
                stored.update(node.inputs)
            self._cuts[node] = self._cuts_of(node)
        self._stored = {x for x in stored if _is_map(x) and self._is_worth_it(x)}

    def graph(self) -> FunctionGraph:
        if not self._stored:
            return self._graph

        def change(node: Variable, inputs: tuple[Variable, ...]) -> Variable:
            new = node if node.op is None else apply(node.op, inputs)
            if node in self._stored:
                new = self._assembled(node)
            self._new[node] = new
            return new

        return FunctionGraph(self._graph.inputs, map_nodes(self._graph.outputs, change))

    # Where arrays are cut.

    def _cuts_of(self, node: Variable) -> Cuts:
        if not _is_static(node):
            return ()
        shape = node.type.shape
        cuts: list[set[int]] = [{0, n} for n in shape]
        if isinstance(node.op, Concatenate):
            axis, first = node.op.params[0] % node.ndim, 0
            for x in node.inputs:
                for a, places in enumerate(self._cuts[x]):
                    cuts[a].update([place + first * (a == axis) for place in places])
                first += x.type.shape[axis]
        elif _is_part(node):
            for a, (low, high) in enumerate(_bounds(node)):
                cuts[a].update([p - low for p in self._cuts[node.inputs[0]][a] if low < p < high])
        elif _is_map(node):
            for x in node.inputs:
                for a, (places, n) in enumerate(
                    zip(self._cuts[x], x.type.shape, strict=True), node.ndim - x.ndim
                ):
                    cuts[a].update(places if n != 1 else ())
        return tuple([tuple(sorted(places)) for places in cuts])

    def _is_worth_it(self, x: Variable) -> bool:
        cuts = self._cuts[x]
        count = prod([len(places) - 1 for places in cuts])
        if not 1 < count <= MOST or prod(x.type.shape) < SMALLEST:
            return False
        largest = prod([max([b - a for a, b in pairwise(places)]) for places in cuts])
        return bool(2 * largest >= prod(x.type.shape))

    # Parts.

    def _assembled(self, x: Variable) -> Variable:
        boxes = [tuple(box) for box in product(*[list(pairwise(p)) for p in self._cuts[x]])]
        result: Variable = apply(Empty(x.dtype.name, x.type.shape), ())
        for box in boxes:
            key = tuple([slice(low, high) for low, high in box])
            result = result.at[key].set(self._part(x, box))
        return result

    def _part(self, x: Variable, box: Box) -> Variable:
        """Return a part of an array, all of which lies between cuts."""
        stack = [(x, box)]
        while stack:
            here, place = stack[-1]
            if (here, place) in self._parts:
                stack.pop()
                continue
            inside = self._operands(here, place)
            waiting = [item for item in inside if item not in self._parts]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            operands = [self._parts[item] for item in inside]
            self._parts[here, place] = self._built(here, place, operands)
        return self._parts[x, box]

    def _operands(self, x: Variable, box: Box) -> list[tuple[Variable, Box]]:
        """Return the parts of other arrays of which a part is made."""
        if isinstance(x.op, Concatenate):
            axis, first = x.op.params[0] % x.ndim, 0
            for y in x.inputs:
                last = first + y.type.shape[axis]
                if first <= box[axis][0] and box[axis][1] <= last:
                    inside = (box[axis][0] - first, box[axis][1] - first)
                    return [(y, (*box[:axis], inside, *box[axis + 1 :]))]
                first = last
        if _is_part(x):
            bounds = _bounds(x)
            return [
                (
                    x.inputs[0],
                    tuple(
                        [(a + low, b + low) for (a, b), (low, _) in zip(box, bounds, strict=True)]
                    ),
                )
            ]
        if _is_map(x) and any([len(places) > 2 for places in self._cuts[x]]):
            return [(y, _broadcast(y, box)) for y in x.inputs]
        return []

    def _built(self, x: Variable, box: Box, operands: Sequence[Variable]) -> Variable:
        if not operands:
            whole = self._new.get(x, x)
            if box == tuple([(0, n) for n in x.type.shape]):
                return whole
            part: Variable = whole[tuple([slice(low, high) for low, high in box])]
            return part
        if _is_map(x):
            assert x.op is not None
            return apply(x.op, tuple(operands))
        return operands[0]


def _passes(node: Variable) -> bool:
    """Return True for an op whose parts are made of parts of its operands."""
    return _is_map(node) or isinstance(node.op, Concatenate) or _is_part(node)


def _is_map(node: Variable) -> bool:
    """Return True for an elementwise op of known sizes: no call has to compare them."""
    return isinstance(node.op, Elementwise | Cast) and all([_is_static(x) for x in node.inputs])


def _is_static(node: Variable) -> bool:
    if not is_tensor(node) or node.type.layout != "dense":
        return False
    return all([isinstance(n, int) for n in node.type.shape])


def _is_part(node: Variable) -> bool:
    """Return True for a part of an array that slices of step 1 select."""
    if not isinstance(node.op, Index) or not is_view(node) or not _is_static(node.inputs[0]):
        return False
    return all([kind == "slice" and x[2] in (None, 1) for kind, *x in node.op.params[0]])


def _bounds(node: Variable) -> list[tuple[int, int]]:
    """Return where a part begins and ends along each axis of its array."""
    shape = node.inputs[0].type.shape
    spec = list(node.op.params[0])  # type: ignore[union-attr]
    spec += [("slice", None, None, None)] * (len(shape) - len(spec))
    return [slice(*x[:2]).indices(n)[:2] for (_, *x), n in zip(spec, shape, strict=True)]


def _broadcast(x: Variable, box: Box) -> Box:
    """Return the part of an operand that a part of the result reads."""
    last = box[len(box) - x.ndim :]
    return tuple([(0, 1) if n == 1 else place for n, place in zip(x.type.shape, last, strict=True)])


__all__ = ["Empty", "split_joins"]
