"""Static sizes: a graph for the shapes of one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relgraph.ir.graph import FunctionGraph, is_tensor, map_nodes
from relgraph.ir.node import Constant, Variable, apply, constant, make_input
from relgraph.lowering.sizes import mismatch, unproved


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
        if op.takes_shape and all([isinstance(x, Constant) for x in operands[1:]]):
            rest = iter(operands[1:])
            shape = [dim if isinstance(dim, int) else int(next(rest).value) for dim in op.params[0]]  # type: ignore[attr-defined]
            return apply(type(op)(tuple(shape)), operands[:1])
        if _is_size(node, operands):
            return constant(op.perform(*[x.value for x in operands]), dtype=node.dtype)  # type: ignore[attr-defined]
        return apply(op, operands)

    return FunctionGraph(inputs, map_nodes(graph.outputs, change))


def _is_size(node: Variable, operands: tuple[Variable, ...]) -> bool:
    """Return True for an integer scalar computed from constants alone."""
    return (
        is_tensor(node)
        and node.ndim == 0
        and node.dtype.kind in "iu"
        and all([isinstance(x, Constant) and not x.ndim for x in operands])
    )


__all__ = ["with_static_sizes"]
