"""Reverse mode: cotangents of operands from those of results, in time linear in the graph.

The cotangent of a node has its shape.  The pullback of an application is the adjoint of its
differential; it is derived once for an op and the types of its operands, as a template.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from relgraph.derivatives.rules import differential, transposed
from relgraph.derivatives.templates import KEPT, Template, hole, key_of, model_of, operands_of
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable
from relgraph.ir.types import TensorType
from relgraph.ops.differentials import StopGradient

_pullbacks: dict[Any, Template] = {}


def active(order: Iterable[Variable], wrt: Collection[Variable]) -> set[Variable]:
    """Return the nodes that vary with some nodes; operands come first in ``order``."""
    found = set(wrt)
    for y in order:
        if y.op.__class__ is StopGradient or y in found or found.isdisjoint(y.inputs):
            continue
        if not isinstance(y.type, TensorType) or y.type.dtype.kind == "f":
            found.add(y)
    return found


def pullback(y: Variable, varies: tuple[bool, ...]) -> Template:
    """Return the cotangents of the operands that vary, over the operands, ``y`` and its own."""
    key = (*key_of(y), varies)
    found = _pullbacks.get(key)
    if found is None:
        model, own = model_of(y)
        g = hole("g", y)
        wanted = {x for x, moves in zip(own, varies, strict=True) if moves}
        parts = transposed(differential(model), g, wanted)
        if len(_pullbacks) >= KEPT:
            _pullbacks.clear()
        found = _pullbacks[key] = Template([*own, model, g], [parts.get(x) for x in own])
    return found


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
    moving, kept = active(order, wrt), set(wrt)
    found: dict[Variable, Variable] = {}
    for y, g in zip(outputs, cotangents, strict=True):
        found[y] = found[y] + g if y in found else g
    for y in reversed(order):
        if not y.inputs or y not in moving or y not in found:
            continue
        g = found[y] if y in kept else found.pop(y)
        operands = operands_of(y)
        parts = pullback(y, tuple([x in moving for x in operands])).build((*operands, y, g))
        for x, part in zip(operands, parts, strict=True):
            if part is not None:
                found[x] = found[x] + part if x in found else part
    return [found.get(x) for x in wrt]
