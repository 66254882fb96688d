"""Reverse mode: cotangents of operands from those of results, in time linear in the graph.

The cotangent of a node has its shape.  The pullback of an application is the adjoint of its
differential; it is derived once for an op and the types of its operands, as a template.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from relgraph.derivatives.rules import differential, transposed
from relgraph.derivatives.templates import Template, Templates, hole, operands_of
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable
from relgraph.ir.types import TensorType
from relgraph.ops.differentials import StopGradient


def active(order: Iterable[Variable], wrt: Collection[Variable]) -> set[Variable]:
    """Return the nodes that vary with some nodes; ``order`` lists nodes after their operands."""
    varying = set(wrt)
    for y in order:
        if y.op.__class__ is StopGradient or y in varying or varying.isdisjoint(y.inputs):
            continue
        if not isinstance(y.type, TensorType) or y.type.dtype.kind == "f":
            varying.add(y)
    return varying


def _pullback(model: Variable, operands: list[Variable], varies: tuple[bool, ...]) -> Template:
    """Return the cotangents of the operands that vary, over the operands, ``model`` and its own."""
    g = hole("g", model)
    differentiated = {x for x, does in zip(operands, varies, strict=True) if does}
    cotangents = transposed(differential(model), g, differentiated)
    return Template([*operands, model, g], [cotangents.get(x) for x in operands])


PULLBACKS = Templates(_pullback)


def vjp(
    outputs: Sequence[Variable], cotangents: Sequence[Variable], wrt: Sequence[Variable]
) -> list[Variable | None]:
    """Return the cotangents of nodes, given those of outputs; None for one that has no influence.

    Parameters
    ----------
    outputs, cotangents : sequence of Variable
        Floats, and a cotangent in the shape of each.
    wrt : sequence of Variable
        Nodes of floats.

    Returns
    -------
    list of Variable or None
        Each in the shape of the node.

    Raises
    ------
    DerivativeError
        For an op without a differential, or without an adjoint that it needs.
    """
    order = toposort(outputs)
    varying, kept = active(order, wrt), set(wrt)
    totals: dict[Variable, Variable] = {}
    for y, g in zip(outputs, cotangents, strict=True):
        totals[y] = totals[y] + g if y in totals else g
    for y in reversed(order):
        if not y.inputs or y not in varying or y not in totals:
            continue
        g = totals[y] if y in kept else totals.pop(y)
        operands = operands_of(y)
        pullback = PULLBACKS.of(y, tuple([x in varying for x in operands]))
        for x, part in zip(operands, pullback.build((*operands, y, g)), strict=True):
            if part is not None:
                totals[x] = totals[x] + part if x in totals else part
    return [totals.get(x) for x in wrt]
