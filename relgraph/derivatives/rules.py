"""What relations say of one application: its differential, and the adjoint of that."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from relgraph.errors import DerivativeError
from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import Op
from relgraph.ops.differentials import d, inner_product
from relgraph.ops.elementwise import add, multiply
from relgraph.ops.elementwise.cast import Cast
from relgraph.ops.reductions import Sum
from relgraph.ops.shape import broadcast_to
from relgraph.relations.differentiation import varying
from relgraph.rewriting.selection import selection_of


@cache
def matcher_of(theme: str, head: Op) -> Any:
    """Return the matcher of a theme of the catalogue, whose patterns have one head."""
    module = import_module(f"relgraph.relations.catalogue.{theme}")
    return selection_of(module.RELATIONS, (), False).plain(head)


def differential(y: Variable) -> Variable:
    """Return the differential of an application, by its relation.

    Parameters
    ----------
    y : Variable
        An application to inputs and numbers.

    Returns
    -------
    Variable
        Linear in the differentials of the operands.

    Raises
    ------
    DerivativeError
        For an op of which no differential is declared.
    """
    fired = matcher_of("differentials", d)(d(y))
    if fired is None:
        raise DerivativeError(
            f"{y.op!r} has no differential",
            {"application": y},
            "Declare one with relgraph.relations.differentiation.differential, or take its result "
            "for a constant with stop_gradient.",
        )
    result: Variable = fired[0]
    return result


def varied(order: Iterable[Variable], wanted: Collection[Variable]) -> set[Variable]:
    """Return the nodes that depend on the differentials of some operands; operands come first."""
    found: set[Variable] = set()
    for x in order:
        if x.op is multiply and any([_is_zero(i) for i in x.inputs]):
            continue
        if (x.op is d and x.inputs[0] in wanted) or not found.isdisjoint(x.inputs):
            found.add(x)
    return found


def _is_zero(x: Variable) -> bool:
    return isinstance(x, Constant) and x.uniform == 0


def transposed(
    right: Variable, g: Variable, wanted: Collection[Variable]
) -> dict[Variable, Variable]:
    """Return the cotangents of operands, given that of a graph linear in their differentials.

    Parameters
    ----------
    right : Variable
        A graph that is linear in ``d`` of some operands.
    g : Variable
        Its cotangent, in its shape.
    wanted : collection of Variable
        The operands that vary.

    Returns
    -------
    dict
        The cotangents of those on which it depends, each in the shape of the operand.
    """
    order = toposort(right)
    moving = varied(order, wanted)
    cotangents, found = {right: g}, dict[Variable, Variable]()
    with varying(moving):
        for y in reversed(order):
            h = cotangents.pop(y, None)
            if h is None or y not in moving:
                continue
            if y.op is d:
                found[y.inputs[0]] = h
                continue
            for part, x in _moved(h, y, moving):
                cotangents[x] = cotangents[x] + part if x in cotangents else part
    return found


def _moved(g: Variable, y: Variable, moving: set[Variable]) -> Iterable[tuple[Variable, Variable]]:
    """Yield the cotangents of operands that vary, by the adjoint of an application."""
    pairs = [inner_product(g, y)]
    for pair in pairs:  # grows as it goes
        fired = matcher_of("adjoints", inner_product)(pair)
        if fired is None:
            raise DerivativeError(
                f"{y.op!r} has no adjoint by an operand that varies",
                {"application": y},
                "Declare one with relgraph.relations.differentiation.adjoint.",
            )
        for h, x in _terms(fired[0]):
            if x in moving:
                yield fit(h, x), x
            elif not moving.isdisjoint(x.inputs):  # the rest of an op of many operands
                pairs.append(inner_product(h, x))


def _terms(total: Variable) -> list[Sequence[Variable]]:
    """Return the operands of the inner products in a sum, which may be converted to a dtype."""
    found: list[Sequence[Variable]] = []
    stack = [total]
    while stack:
        x = stack.pop()
        if x.op is add or x.op.__class__ is Cast:
            stack.extend(x.inputs)
        else:
            found.append(x.inputs)
    return found


def fit(h: Variable, x: Variable) -> Variable:
    """Return a cotangent in the shape of its node: summed where it is larger, else stretched."""
    lead = h.ndim - x.ndim
    if lead > 0:
        h = Sum(tuple(range(-h.ndim, -x.ndim)), False)(h)
    own, shape = h.type.shape, x.type.shape
    larger = [a for a in range(-len(own), 0) if shape[a] == 1 != own[a]]
    if larger:
        h = Sum(tuple(larger), True)(h)
    return h if h.type.shape == shape else broadcast_to(h, x.shape)
