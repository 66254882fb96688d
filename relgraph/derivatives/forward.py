"""Forward mode: tangents of results from those of operands, in time linear in the graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from relgraph.derivatives.reverse import active
from relgraph.derivatives.rules import differential, fit, varied
from relgraph.derivatives.templates import KEPT, Template, key_of, model_of, operands_of
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable, apply, constant
from relgraph.ir.types import TensorType
from relgraph.ops.differentials import d
from relgraph.ops.shape import broadcast_to

_tangents: dict[Any, Template] = {}


def jvp(
    outputs: Sequence[Variable], tangents: Mapping[Variable, Variable]
) -> list[Variable | None]:
    """Return the tangents of outputs, given those of nodes; None for one that does not vary.

    Parameters
    ----------
    outputs : sequence of Variable
        The results.
    tangents : mapping of Variable to Variable
        Nodes of floats, each with a tangent in its shape.

    Returns
    -------
    list of Variable or None
        Each in the shape of the output.

    Raises
    ------
    DerivativeError
        For an op without a differential.
    """
    order = toposort(outputs)
    moving, known = active(order, tangents), dict(tangents)
    for y in order:
        if y not in moving or not y.inputs or y in known or not isinstance(y.type, TensorType):
            continue
        operands = operands_of(y)
        template = tangent(y, tuple([x in known for x in operands]))
        (made,) = template.build((*operands, y, *[known[x] for x in operands if x in known]))
        if made is not None:
            known[y] = made
    return [known.get(y) for y in outputs]


def tangent(y: Variable, varies: tuple[bool, ...]) -> Template:
    """Return the tangent of a node over its operands, itself, and those of the operands."""
    key = (*key_of(y), varies)
    found = _tangents.get(key)
    if found is None:
        model, own = model_of(y)
        moving = [x for x, moves in zip(own, varies, strict=True) if moves]
        right = _without_others(differential(model), moving)
        result = None if right is None else fit(right, model)
        if len(_tangents) >= KEPT:
            _tangents.clear()
        found = _tangents[key] = Template([*own, model, *map(d, moving)], [result])
    return found


def _without_others(right: Variable, wanted: Collection[Variable]) -> Variable | None:
    """Return a right side without the terms of the other differentials, which are zero."""
    order = toposort(right)
    moving = varied(order, wanted)
    image: dict[Variable, Variable | None] = {}  # None stands for zeros
    for x in order:
        op = x.op
        new = [image[i] for i in x.inputs]
        if op is d:
            image[x] = x if x in moving else None
        elif x not in moving and None in new:
            image[x] = None
        elif op is None:
            image[x] = x
        else:
            filled = [
                broadcast_to(constant(0, i.dtype), i.shape) if n is None else n
                for i, n in zip(x.inputs, new, strict=True)
            ]
            image[x] = apply(op, tuple(filled))
    return image[right]
