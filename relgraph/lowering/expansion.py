"""Expansion: ops over a whole axis, written as reductions and elementwise ops.

A backend says which ops to expand; its kernels then fuse the parts.  The results for infinite
operands, NaN and empty axes stay those of NumPy.

References
----------
P. Blanchard, D. J. Higham and N. J. Higham, "Accurately computing the log-sum-exp and softmax
functions", IMA J. Numer. Anal. 41 (2021): subtracting the largest element first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relgraph.ir.graph import FunctionGraph, map_nodes
from relgraph.ir.node import Variable, apply, constant
from relgraph.ir.op import Op
from relgraph.lowering.copies import owner
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.elementwise import Cast, Elementwise
from relgraph.ops.reductions import (
    LogSoftmax,
    LogSumExp,
    Reduction,
    Softmax,
    Sum,
    Top,
    floating,
    reduced_axes,
)
from relgraph.ops.shape import ExpandDims

_SHORT = 4096  # elements up to which writing zeros first costs less than a call
_PARTS = 64  # each is a step of the program


def _logsumexp(node: Variable, x: Variable) -> Variable:
    """Subtract the largest element first, unless it is infinite or NaN."""
    axes, keepdims = node.op.params  # type: ignore[union-attr]
    shift = along = _finite(apply(Top(axes, keepdims), (x,)))
    if not keepdims:
        positions = reduced_axes(axes, x.ndim, "logsumexp")
        along = apply(ExpandDims(tuple(position - x.ndim for position in positions)), (shift,))
    total = apply(Sum(axes, keepdims), (_map("exp", _map("subtract", x, along)),))
    return _map("add", _map("log", total), shift)


def _softmax(node: Variable, x: Variable) -> Variable:
    """Subtract the largest element first, and multiply by the reciprocal of the sum.

    If an element is +inf, the divisor is +inf, so that finite elements give 0 as in NumPy.
    """
    axes = node.op.params  # type: ignore[union-attr]
    top = apply(Top(axes, True), (x,))
    terms = _map("exp", _map("subtract", x, top))
    total = apply(Sum(axes, True), (terms,))
    infinite = _map("equal", top, constant(float("inf"), dtype=x.dtype))
    divisor = _map("where", infinite, top, total)
    return _map("multiply", terms, _map("reciprocal", divisor))


def _log_softmax(node: Variable, x: Variable) -> Variable:
    """Subtract the largest element first, unless it is infinite or NaN."""
    axes = node.op.params  # type: ignore[union-attr]
    shifted = _map("subtract", x, _finite(apply(Top(axes, True), (x,))))
    total = apply(Sum(axes, True), (_map("exp", shifted),))
    return _map("subtract", shifted, _map("log", total))


EXPANSIONS: dict[type[Op], Callable[[Variable, Variable], Variable]] = {
    LogSumExp: _logsumexp,
    Softmax: _softmax,
    LogSoftmax: _log_softmax,
}
"""The expansion of each op: a function of the node and of its operand, cast to a float."""


def expanded(
    graph: FunctionGraph, wanted: Callable[[Variable], bool] = lambda node: True
) -> FunctionGraph:
    """Expand the ops of :data:`EXPANSIONS` for which ``wanted(node)`` is true."""
    if not any(_expandable(node) and wanted(node) for node in graph):
        return graph

    def change(node: Variable, inputs: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return node
        if not _expandable(node) or not wanted(node):
            return apply(node.op, inputs)
        (x,) = inputs
        dtype = floating(x.dtype)
        return EXPANSIONS[type(node.op)](node, x if x.dtype == dtype else apply(Cast(dtype), (x,)))

    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, change))


def reduced_once(graph: FunctionGraph) -> FunctionGraph:
    """Return a graph in which no array is reduced twice, with the reduced axes and without them.

    Results stay, since they share no memory.
    """
    results = set(map(owner, graph.outputs))
    dropped = {
        (type(node.op), node.op.params[0], node.inputs)
        for node in graph
        if isinstance(node.op, Reduction) and not node.op.params[1]
    }

    def is_repeated(node: Variable) -> bool:
        op: Any = node.op
        if node in results or not isinstance(op, Reduction) or not op.params[1]:
            return False
        return (type(op), op.params[0], node.inputs) in dropped

    if not any(map(is_repeated, graph)):
        return graph

    def change(node: Variable, inputs: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return node
        if not is_repeated(node):
            return apply(node.op, inputs)
        axes = reduced_axes(node.op.params[0], node.ndim, node.op.name)
        along = apply(type(node.op)(node.op.params[0], False), inputs)
        return apply(ExpandDims(tuple([axis - node.ndim for axis in axes])), (along,))

    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, change))


def joins_as_updates(graph: FunctionGraph) -> FunctionGraph:
    """Write short vectors that are joined as updates of an array of zeros.

    Kernels then compute the parts where they are joined, without a call of the library.
    """
    if not any(_short_join(node) for node in graph):
        return graph

    def change(node: Variable, inputs: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return node
        if not _short_join(node):
            return apply(node.op, inputs)
        result: Variable = constant(np.zeros(node.type.shape, node.dtype))
        first = 0
        for x in inputs:
            last = first + (x.type.shape[0] if x.ndim else 1)
            value = x if x.dtype == node.dtype else apply(Cast(node.dtype), (x,))
            result = result.at[first:last].set(value)
            first = last
        return result

    return FunctionGraph(graph.inputs, map_nodes(graph.outputs, change))


def _short_join(node: Variable) -> bool:
    """Return True for a vector of known size that is joined of vectors or scalars."""
    if not isinstance(node.op, Concatenate | Stack) or node.ndim != 1 or len(node.inputs) > _PARTS:
        return False
    sizes = [x.type.shape[0] for x in node.inputs if x.ndim]
    return all(isinstance(s, int) and s > 0 for s in sizes) and node.type.shape[0] <= _SHORT


def is_flat(node: Variable) -> bool:
    """Return True if a reduction is over all elements and there may be more than one."""
    x = node.inputs[0]
    rest = set(range(x.ndim)).difference(reduced_axes(node.op.params[0], x.ndim, ""))  # type: ignore[union-attr]
    return all(x.type.shape[axis] == 1 for axis in rest) and any(dim != 1 for dim in x.type.shape)


def _expandable(node: Variable) -> bool:
    return type(node.op) in EXPANSIONS


def _map(name: str, *operands: Variable) -> Variable:
    return apply(Elementwise(name), operands)


def _finite(top: Variable) -> Variable:
    """Replace infinite and NaN elements by 0."""
    zero = constant(0.0, dtype=top.dtype)
    return _map("where", _map("isfinite", top), top, zero)


__all__ = ["EXPANSIONS", "expanded", "is_flat", "joins_as_updates", "reduced_once"]
