"""Static sizes: a graph for the shapes of one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgraph.ir.graph import FunctionGraph, is_tensor, map_nodes
from relgraph.ir.node import Constant, Variable, apply, constant, make_input
from relgraph.lowering.sizes import mismatch, unproved
from relgraph.ops.arguments import fill
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import IndexUpdate


def with_static_sizes(graph: FunctionGraph, shapes: Sequence[tuple[int, ...]]) -> FunctionGraph:
    """Return a graph whose inputs have these shapes, with the sizes that it computes as constants.

    Raises
    ------
    ShapeError
        If sizes differ that an op needs to be equal.
    """
    inputs = [
        make_input(x.name, x.type.with_shape(shape))
        for x, shape in zip(graph.inputs, shapes, strict=True)
    ]
    image = dict(zip(graph.inputs, inputs, strict=True))

    def change(node: Variable, operands: tuple[Variable, ...]) -> Variable:
        if node.op is None:
            return image.get(node, node)  # type: ignore[call-overload, no-any-return]
        op: Any = node.op
        for (i, axis), (j, other) in unproved(node):
            sizes = operands[i].type.shape[axis], operands[j].type.shape[other]
            if None not in sizes and sizes[0] != sizes[1]:
                first, second = (node.inputs[i], axis, sizes[0]), (node.inputs[j], other, sizes[1])
                raise mismatch(node, first, second)
        if op.reads_shape and isinstance(size := operands[0].type.shape[op.params[0]], int):
            return constant(size, dtype=node.dtype)
        if _is_size(node, operands):
            return constant(op.perform(*[x.value for x in operands]), dtype=node.dtype)  # type: ignore[attr-defined]
        result = apply(*_with_constants(op, operands))
        # An array without elements needs no task.
        return constant(np.zeros(result.type.shape, result.dtype)) if _is_empty(result) else result

    return FunctionGraph(inputs, map_nodes(graph.outputs, change))


def _with_constants(op: Any, operands: tuple[Variable, ...]) -> tuple[Any, tuple[Variable, ...]]:
    """Return an op and its operands with sizes and indices that are constants as parameters."""
    if op.takes_shape and all([isinstance(x, Constant) for x in operands[1:]]):
        return type(op)(fill(op.params[0], tuple([x.value for x in operands[1:]]))), operands[:1]  # type: ignore[attr-defined]
    if not isinstance(op, Index | IndexUpdate):
        return op, operands
    first = 1 if isinstance(op, Index) else 2
    keys, rest = iter(operands[first:]), list(operands[:first])

    def static(part: Any) -> Any:
        if part != "dynamic":
            return part
        key = next(keys)
        if isinstance(key, Constant):
            return int(key.value)
        rest.append(key)
        return part

    spec = []
    for kind, *parts in op.params[0]:
        if kind in ("array", "mask"):
            rest.append(next(keys))
        if kind == "dynamic":
            index = static(kind)
            spec.append((kind,) if index == kind else ("int", index))
        else:
            spec.append((kind, *map(static, parts)))
    return type(op)(tuple(spec)), tuple(rest)


def _is_empty(x: Variable) -> bool:
    return is_tensor(x) and 0 in x.type.shape and None not in x.type.shape


def _is_size(node: Variable, operands: tuple[Variable, ...]) -> bool:
    """Return True for an integer scalar computed from constants alone."""
    return (
        is_tensor(node)
        and node.ndim == 0
        and node.dtype.kind in "iu"
        and all([isinstance(x, Constant) and not x.ndim for x in operands])
    )


__all__ = ["with_static_sizes"]
