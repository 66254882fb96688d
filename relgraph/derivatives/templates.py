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
from relgraph.ir.op import GetItem, Op

KEPT = 10_000  # templates of each kind that are remembered


class Template:
    """Graphs over some inputs, as steps that build them over other nodes."""

    __slots__ = ("constants", "results", "steps")

    def __init__(self, given: Sequence[Variable], results: Sequence[Variable | None]) -> None:
        place = {x: i for i, x in enumerate(given)}
        needed: set[Variable] = set()
        made = [r for r in results if r is not None]
        stack = list(made)
        while stack:
            x = stack.pop()
            if x not in needed and x not in place:
                needed.add(x)
                stack.extend(x.inputs)
        order = [x for x in toposort(made) if x in needed]
        self.constants = tuple([x for x in order if x.op is None])
        for x in self.constants:
            place[x] = len(place)
        self.steps: list[tuple[Op, tuple[int, ...]]] = []
        for x in order:
            if x.op is not None:
                place[x] = len(place)
                self.steps.append((x.op, tuple([place[y] for y in x.inputs])))
        self.results = tuple([None if r is None else place[r] for r in results])

    def build(self, given: Sequence[Variable]) -> list[Variable | None]:
        """Return the results over other nodes."""
        made = [*given, *self.constants]
        for op, operands in self.steps:
            made.append(apply(op, tuple([made[i] for i in operands])))
        return [None if i is None else made[i] for i in self.results]


def _is_number(x: Variable) -> bool:
    return x.__class__ is Constant and not x.type.shape


def hole(name: str, x: Variable) -> Variable:
    """Return an input like a node."""
    return make_input(name, x.type)


def operands_of(y: Variable) -> tuple[Variable, ...]:
    """Return the operands of an application; one result of several has those of the op."""
    return y.inputs[0].inputs if y.op.__class__ is GetItem else y.inputs


def key_of(y: Variable) -> tuple[Any, ...]:
    """Return what a template depends on: the op, the types of the operands, numbers themselves."""
    inner = y.inputs[0].op if y.op.__class__ is GetItem else None
    return (y.op, inner, *[x if _is_number(x) else x.type for x in operands_of(y)])


def model_of(y: Variable) -> tuple[Variable, list[Variable]]:
    """Return an application like ``y`` to inputs of its own and the same numbers, and these.

    A number of integers among floats has the dtype of the floats, so that it has a differential.
    """
    assert y.op is not None
    own: list[Variable] = []
    for i, x in enumerate(operands_of(y)):
        if not isinstance(x, Constant) or x.type.shape:
            own.append(hole(f"x{i}", x))
        elif y.op.pointwise and y.type.dtype.kind == "f" and x.type.dtype.kind in "iu":
            own.append(constant(x.value, y.type.dtype))
        else:
            own.append(x)
    if y.op.__class__ is GetItem:
        inner = y.inputs[0].op
        assert inner is not None
        return apply(y.op, (apply(inner, tuple(own)),)), own
    return apply(y.op, tuple(own)), own
