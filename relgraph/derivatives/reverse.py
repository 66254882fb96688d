"""Reverse mode: cotangents of operands from those of results, in time linear in the graph.

The cotangent of a node has its shape.  A node's pullback is the adjoint of its differential: the
right side of its relation of differentials, transposed op by op by the laws of adjoints.
"""

from __future__ import annotations

from typing import Any

from relgraph.derivatives.templates import Template, hole, model_of, operands_of, signature
from relgraph.errors import RelgraphError
from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Variable
from relgraph.ir.op import GetItem
from relgraph.ir.types import TensorType
from relgraph.ops.differentials import StopGradient, d, inner_product
from relgraph.ops.elementwise import add, multiply
from relgraph.ops.elementwise.cast import Cast
from relgraph.ops.shape import broadcast_to
from relgraph.ops.reductions import Sum
from relgraph.relations.differentiation import varying
from relgraph.rewriting.selection import selection_of

TEMPLATES: dict[Any, Template] = {}
_rules: list[Any] = []


def rules() -> Any:
    if not _rules:
        from relgraph.relations.catalogue import adjoints, differentials

        _rules.append(selection_of(differentials.RELATIONS, (), False).plain(d))
        _rules.append(selection_of(adjoints.RELATIONS, (), False).plain(inner_product))
    return _rules


def differential(y: Variable) -> Variable:
    """Return the differential of an application, by its relation."""
    fired = rules()[0](d(y))
    if fired is None:
        raise RelgraphError(f"{y.op!r} has no differential")
    return fired[0]


def is_zero(x: Variable) -> bool:
    return x.__class__ is Constant and x.uniform == 0


def carrying(order, wanted):
    found = set()
    for x in order:
        if x.op is multiply and any([is_zero(i) for i in x.inputs]):
            continue
        if (x.op is d and x.inputs[0] in wanted) or not found.isdisjoint(x.inputs):
            found.add(x)
    return found


def fit(h: Variable, x: Variable) -> Variable:
    """Return a cotangent in the shape of its node: summed where it is larger, else stretched."""
    lead = h.ndim - x.ndim
    if lead > 0:
        h = Sum(tuple(range(-h.ndim, -x.ndim)), False)(h)
    stretched = [a for a in range(-x.ndim, 0) if a >= -h.ndim and x.type.shape[a] == 1 != h.type.shape[a]]
    if stretched:
        h = Sum(tuple(stretched), True)(h)
    if h.type.shape != x.type.shape:
        h = broadcast_to(h, x.shape)
    return h


def pullback(y: Variable, mask: tuple[bool, ...]) -> Template:
    operands = operands_of(y)
    key = (y.op, y.inputs[0].op if y.op.__class__ is GetItem else None, *map(signature, operands), mask)
    found = TEMPLATES.get(key)
    if found is None:
        model, own = model_of(y)
        g = hole("g", y)
        wanted = {x for x, m in zip(own, mask, strict=True) if m}
        parts = transposed(differential(model), g, wanted)
        found = TEMPLATES[key] = Template([*own, model, g], [parts.get(x) for x in own])
    return found


def transposed(right: Variable, g: Variable, wanted) -> dict[Variable, Variable]:
    order = toposort(right)
    varied = carrying(order, wanted)
    cotangents = {right: g}
    found: dict[Variable, Variable] = {}
    with varying(varied):
        for y in reversed(order):
            h = cotangents.pop(y, None)
            if h is None or y not in varied:
                continue
            if y.op is d:
                found[y.inputs[0]] = h
                continue
            fired = rules()[1](inner_product(h, y))
            if fired is None:
                raise RelgraphError(f"{y.op!r} has no adjoint: {y}")
            terms = [fired[0]]
            for t in terms:
                if t.op is add:
                    terms.extend(t.inputs)
                    continue
                if t.op.__class__ is Cast:  # of an inner product in another dtype
                    t = t.inputs[0]
                part, x = t.inputs
                if x in varied:
                    part = fit(part, x)
                    cotangents[x] = cotangents[x] + part if x in cotangents else part
                elif not varied.isdisjoint(x.inputs):  # what is left of y
                    fired = rules()[1](t)
                    terms.append(fired[0])
    return found


def activity(order, wrt) -> set[Variable]:
    active = set(wrt)
    for y in order:
        if y.op.__class__ is StopGradient:
            continue
        if y.inputs and y not in active and not active.isdisjoint(y.inputs):
            if not isinstance(y.type, TensorType) or y.type.dtype.kind == "f":
                active.add(y)
    return active


def vjp(outputs, cotangents, wrt):
    order = toposort(outputs)
    active, kept = activity(order, wrt), set(wrt)
    cot: dict[Any, Any] = {}
    for y, g in zip(outputs, cotangents, strict=True):
        cot[y] = cot[y] + g if y in cot else g
    for y in reversed(order):
        if y not in active or not y.inputs:
            continue
        g = cot.get(y) if y in kept else cot.pop(y, None)
        if g is None:
            continue
        operands = operands_of(y)
        mask = tuple([x in active for x in operands])
        parts = pullback(y, mask).build((*operands, y, g))
        for x, part, varies in zip(operands, parts, mask, strict=True):
            if part is not None and varies:
                cot[x] = cot[x] + part if x in cot else part
    return [cot.get(x) for x in wrt]
