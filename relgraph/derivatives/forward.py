"""Forward mode: tangents of results from those of operands, in time linear in the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relgraph.derivatives.reverse import activity, carrying, differential, fit
from relgraph.derivatives.templates import Template, model_of, operands_of, signature
from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Variable, apply, constant
from relgraph.ir.op import GetItem
from relgraph.ir.types import TensorType
from relgraph.ops.differentials import d
from relgraph.ops.shape import broadcast_to

TEMPLATES: dict[Any, Template] = {}


def jvp(outputs: Sequence[Variable], tangents: Mapping[Variable, Variable]) -> list[Any]:
    """Return the tangents of outputs, given those of some nodes; None where nothing varies."""
    order = toposort(outputs)
    active, known = activity(order, tangents), dict(tangents)
    for y in order:
        if y not in active or not y.inputs or y in tangents or not isinstance(y.type, TensorType):
            continue
        operands = operands_of(y)
        mask = tuple([x in known for x in operands])
        made = tangent(y, mask).build((*operands, y, *[known[x] for x in operands if x in known]))
        if made[0] is not None:
            known[y] = made[0]
    return [known.get(y) for y in outputs]


def tangent(y: Variable, mask: tuple[bool, ...]) -> Template:
    """Return the template of a tangent, over the operands, the node, and their tangents."""
    inner = y.inputs[0].op if y.op.__class__ is GetItem else None
    operands = operands_of(y)
    key = (y.op, inner, *map(signature, operands), mask)
    found = TEMPLATES.get(key)
    if found is None:
        model, own = model_of(y)
        moving = [x for x, m in zip(own, mask, strict=True) if m]
        right = without(differential(model), set(moving))
        right = None if right is None else fit(right, model)
        found = TEMPLATES[key] = Template([*own, model, *map(d, moving)], [right])
    return found


def without(right: Variable, wanted: set[Variable]) -> Variable | None:
    """Return a right side without the terms of the other differentials, which are zero."""
    order = toposort(right)
    varied = carrying(order, wanted)
    image: dict[Variable, Variable | None] = {}  # None stands for zeros
    for x in order:
        new = [image[i] for i in x.inputs]
        if x.op is d:
            image[x] = x if x in varied else None
        elif None not in new:
            image[x] = apply(x.op, tuple(new)) if x.inputs else x  # type: ignore[arg-type]
        elif x not in varied:
            image[x] = None
        else:
            zeros = [
                broadcast_to(constant(0, i.dtype), i.shape) if n is None else n
                for i, n in zip(x.inputs, new, strict=True)
            ]
            image[x] = apply(x.op, tuple(zeros))
    return image[right]
