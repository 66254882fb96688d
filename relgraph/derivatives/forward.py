"""Forward mode: tangents of results from those of operands, in time linear in the graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from relgraph.derivatives import loops
from relgraph.derivatives.reverse import active
from relgraph.derivatives.rules import (
    check_partials,
    differential,
    fit,
    sizes_of_operands,
    varied,
)
from relgraph.derivatives.templates import Template, Templates, operands_of
from relgraph.ir.graph import toposort
from relgraph.ir.node import Variable, apply
from relgraph.ir.types import TensorType
from relgraph.numpy.creation import zeros_like
from relgraph.ops.differentials import d
from relgraph.ops.loops import is_loop


def jvp(
    outputs: Sequence[Variable], tangents: Mapping[Variable, Variable]
) -> list[Variable | None]:
    """Return the tangents of outputs from those of nodes; None for an output that does not vary.

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
    varying, images = active(order, tangents), dict(tangents)
    needed = set(outputs)  # others may have no differential, such as the sign of a determinant
    for y in reversed(order):
        if y in needed and y in varying:
            needed.update(y.inputs)
    varying &= needed
    parts: dict[Variable, list[Variable | None]] = {}  # the tangents of the results of loops
    for y in order:
        if is_loop(y) and y in varying:
            parts[y] = loops.tangents(y, [images.get(x) for x in y.inputs], jvp)
        if y not in varying or not y.inputs or y in images or not isinstance(y.type, TensorType):
            continue
        if y.inputs[0] in parts:
            tangent = parts[y.inputs[0]][y.op.params[0]]  # type: ignore[union-attr]
            if tangent is not None:
                images[y] = tangent
            continue
        operands = operands_of(y)
        template = TANGENTS.of(y, tuple([x in images for x in operands]))
        (tangent,) = template.build((*operands, y, *[images[x] for x in operands if x in images]))
        if tangent is not None:
            images[y] = tangent
    return [images.get(y) for y in outputs]


def _tangent(model: Variable, operands: list[Variable], varies: tuple[bool, ...]) -> Template:
    """Return the tangent of a model, over the operands, itself, and tangents of the operands."""
    differentiated = [x for x, does in zip(operands, varies, strict=True) if does]
    right = _only(differential(model), differentiated)
    result = None if right is None else fit(right, model)
    return Template([*operands, model, *map(d, differentiated)], [result])


TANGENTS = Templates(_tangent)


def _only(right: Variable, operands: Collection[Variable]) -> Variable | None:
    """Return a right side with zeros for the differentials of all other operands."""
    order = toposort(right)
    dependent = varied(order, operands)
    check_partials(order, dependent)
    image: dict[Variable, Variable | None] = {}  # None stands for zeros
    for x in order:
        inputs = [image[i] for i in x.inputs]
        if x.op is d:
            image[x] = x if x in dependent else None
        elif x not in dependent and None in inputs:
            image[x] = None
        elif x.op is None:
            image[x] = x
        else:
            pairs = zip(x.inputs, inputs, strict=True)
            image[x] = apply(x.op, tuple([_zeros(i) if n is None else n for i, n in pairs]))
    return image[right]


def _zeros(x: Variable) -> Variable:
    return sizes_of_operands([zeros_like(x)])[0]
