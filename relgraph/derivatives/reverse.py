"""Reverse mode: cotangents of operands from those of results, in time linear in the graph.

The cotangent of a node has its shape.  The pullback of an application is the adjoint of its
differential; it is derived once for an op and the types of its operands, as a template.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from relgraph.derivatives import loops
from relgraph.derivatives.rules import differential, transposed
from relgraph.derivatives.templates import Template, Templates, hole, operands_of
from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Variable, apply
from relgraph.ir.op import GetItem
from relgraph.ir.types import TensorType
from relgraph.ops.differentials import StopGradient
from relgraph.ops.elementwise import where
from relgraph.ops.elementwise.cast import Cast
from relgraph.ops.elementwise.op import Elementwise
from relgraph.ops.loops import is_loop


def active(order: Iterable[Variable], wrt: Collection[Variable]) -> set[Variable]:
    """Return the nodes that vary with ``wrt``; ``order`` lists nodes after their operands."""
    varying = set(wrt)
    for y in order:
        if y.op.__class__ is StopGradient or y in varying or varying.isdisjoint(y.inputs):
            continue
        if not isinstance(y.type, TensorType) or y.type.dtype.kind == "f":
            varying.add(y)
    return varying


def _pullback(model: Variable, operands: list[Variable], varies: tuple[bool, ...]) -> Template:
    """Return cotangents of the varying operands, over the operands, ``model`` and its cotangent."""
    g = hole("g", model)
    differentiated = {x for x, does in zip(operands, varies, strict=True) if does}
    cotangents = transposed(differential(model), g, differentiated)
    return Template([*operands, model, g], [cotangents.get(x) for x in operands])


PULLBACKS = Templates(_pullback)


def vjp(
    outputs: Sequence[Variable], cotangents: Sequence[Variable], wrt: Sequence[Variable]
) -> list[Variable | None]:
    """Return the cotangents of nodes from those of outputs; None for a node without influence.

    Parameters
    ----------
    outputs, cotangents : sequence of Variable
        Graphs of floats, each with a cotangent in its shape.
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
    parts: list[Variable | None]
    items: dict[Variable, dict[int, Variable]] = {}  # the cotangents of the results of loops
    for y in reversed(order):
        if y in items:
            above = [items[y].get(i) for i in range(len(y.type.items))]
            parts = loops.cotangents(y, above, [x in varying for x in y.inputs], vjp)
            for x, part in zip(y.inputs, parts, strict=True):
                if part is not None:
                    totals[x] = _sum(totals[x], part) if x in totals else part
            continue
        if not y.inputs or y not in varying or y not in totals:
            continue
        g = totals[y] if y in kept else totals.pop(y)
        if is_loop(y.inputs[0]) and isinstance(y.op, GetItem):
            items.setdefault(y.inputs[0], {})[y.op.params[0]] = g
            continue
        operands = operands_of(y)
        pullback = PULLBACKS.of(y, tuple([x in varying for x in operands]))
        parts = _pulled_back(pullback, operands, y, g)
        for x, part in zip(operands, parts, strict=True):
            if part is not None:
                totals[x] = _sum(totals[x], part) if x in totals else part
    return [totals.get(x) for x in wrt]


def _pulled_back(
    pullback: Template, operands: tuple[Variable, ...], y: Variable, g: Variable
) -> list[Variable | None]:
    """Return the cotangents of the operands of an application.

    An elementwise op is linear in its cotangent, so that f(where(c, g, 0)) = where(c, f(g), 0).
    The right side is 0 where c is false, even if the partial derivative is infinite or NaN there.
    """
    if y.op.__class__ not in (Elementwise, Cast) or not _masked_operand(g):
        return pullback.build((*operands, y, g))
    shape = y.type.shape
    whole = all([x.type.shape == shape for x in operands])
    parts: list[Variable | None] = [None] * len(operands)
    if not whole:
        parts = pullback.build((*operands, y, g))
    masks = []
    while k := _masked_operand(g):
        masks.append((k, g))
        g = g.inputs[k]
    for i, part in enumerate(pullback.build((*operands, y, g))):
        if part is None or operands[i].type.shape != shape:
            continue
        for k, mask in reversed(masks):
            choices = [apply(Cast(part.dtype.name), (x,)) if x.dtype != part.dtype else x
                       for x in mask.inputs[1:]]  # fmt: skip
            choices[k - 1] = part
            part = apply(where, (mask.inputs[0], *choices))
        parts[i] = part
    return parts


def _masked_operand(g: Variable) -> int:
    """Return which operand of ``where(c, g, 0)`` or ``where(c, 0, g)`` is not 0; 0 for others."""
    if g.op is where:
        for k in (1, 2):
            other = g.inputs[3 - k]
            if isinstance(other, Constant) and other.uniform == 0:
                return k
    return 0


def _sum(a: Variable, b: Variable) -> Variable:
    """Return a sum of cotangents; two that one condition sets to 0 stay under the condition."""
    k = _masked_operand(a)
    if k and k == _masked_operand(b) and a.inputs[0] is b.inputs[0]:
        choices = list(a.inputs)
        choices[k] = a.inputs[k] + b.inputs[k]
        return apply(where, tuple(choices))
    return a + b  # type: ignore[no-any-return]
