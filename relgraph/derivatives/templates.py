"""Templates: what a relation says of an op, derived once and then built for each application.

A template is a graph over inputs that stand for the operands of an application (and its cotangent
or their tangents).  It depends on the op, on the types of the operands, on numbers among them, and
on which operands vary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relgraph.ir.graph import toposort
from relgraph.ir.node import Constant, Variable, apply, constant, make_input
from relgraph.ir.op import GetItem


class Template:
    """Graphs over some inputs, as steps that build them over other nodes."""

    __slots__ = ("constants", "results", "steps")

    def __init__(self, given: Sequence[Variable], results: Sequence[Variable | None]) -> None:
        place = {x: i for i, x in enumerate(given)}
        order = [x for x in toposort([r for r in results if r is not None]) if x not in place]
        needed: set[Variable] = set()
        stack = [r for r in results if r is not None]
        while stack:
            x = stack.pop()
            if x not in needed and x not in place:
                needed.add(x)
                stack.extend(x.inputs)
        order = [x for x in order if x in needed]
        self.constants = tuple([x for x in order if not x.inputs])
        for x in self.constants:
            place[x] = len(place)
        self.steps = []
        for x in order:
            if x.inputs:
                place[x] = len(place)
                self.steps.append((x.op, tuple([place[y] for y in x.inputs])))
        self.results = tuple([None if r is None else place[r] for r in results])

    def build(self, given: Sequence[Variable]) -> list[Variable | None]:
        """Return the results over other nodes."""
        made = [*given, *self.constants]
        for op, operands in self.steps:
            made.append(apply(op, tuple([made[i] for i in operands])))
        return [None if i is None else made[i] for i in self.results]


def signature(x: Variable) -> Any:
    """Return what a template depends on of an operand: its type, or a number itself."""
    return x if x.__class__ is Constant and not x.type.shape else x.type


def hole(name: str, x: Variable) -> Variable:
    """Return an input like a node; a number stays what it is."""
    return x if x.__class__ is Constant and not x.type.shape else make_input(name, x.type)


def operands_of(y: Variable) -> tuple[Variable, ...]:
    """Return the operands of an application; one result of several has those of the op."""
    return y.inputs[0].inputs if y.op.__class__ is GetItem else y.inputs


def model_of(y: Variable) -> tuple[Variable, list[Variable]]:
    """Return an application like ``y`` to inputs of its own, and these."""
    own = [hole(f"x{i}", x) for i, x in enumerate(operands_of(y))]
    if y.op.pointwise and y.type.dtype.kind == "f":  # a number of integers has a differential, too
        own = [
            constant(x.value, y.type.dtype)
            if x.__class__ is Constant and x.dtype.kind in "iu"
            else x
            for x in own
        ]
    if y.op.__class__ is GetItem:
        inner = apply(y.inputs[0].op, tuple(own))
        return apply(y.op, (inner,)), own
    return apply(y.op, tuple(own)), own
