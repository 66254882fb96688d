"""Templates: derivatives of an op, derived from relations once and built for each application.

A template is a graph over inputs that stand for the operands of an application (and its cotangent
or their tangents).  It depends on the op, on the types of the operands, on numbers among them, and
on which operands vary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relgraph.errors import DerivativeError
from relgraph.ir.graph import toposort
from relgraph.ir.infix import brief
from relgraph.ir.node import Constant, Variable, apply, constant, make_input
from relgraph.ir.op import GetItem, Op
from relgraph.ops.linalg.solve import Solve

MOST = 10_000  # templates that a cache remembers


class Template:
    """Graphs over some inputs, as steps that build them over other nodes."""

    __slots__ = ("constants", "results", "steps")

    def __init__(self, inputs: Sequence[Variable], results: Sequence[Variable | None]) -> None:
        index = {x: i for i, x in enumerate(inputs)}
        needed: set[Variable] = set()
        outputs = [r for r in results if r is not None]
        stack = list(outputs)
        while stack:
            x = stack.pop()
            if x not in needed and x not in index:
                needed.add(x)
                stack.extend(x.inputs)
        order = [x for x in toposort(outputs) if x in needed]
        self.constants = tuple([x for x in order if x.op is None])
        for x in self.constants:
            index[x] = len(index)
        self.steps: list[tuple[Op, tuple[int, ...]]] = []
        for x in order:
            if x.op is not None:
                index[x] = len(index)
                self.steps.append((x.op, tuple([index[y] for y in x.inputs])))
        self.results = tuple([None if r is None else index[r] for r in results])

    def build(self, inputs: Sequence[Variable]) -> list[Variable | None]:
        """Return the results over other nodes."""
        nodes = [*inputs, *self.constants]
        for op, operands in self.steps:
            nodes.append(apply(op, tuple([nodes[i] for i in operands])))
        return [None if i is None else nodes[i] for i in self.results]


class Templates:
    """A cache of templates, by the key of an application and the operands that vary.

    Parameters
    ----------
    derive : callable
        ``derive(model, operands, varies)`` returns the template of a model application; ``varies``
        says which of the operands vary.
    """

    def __init__(
        self, derive: Callable[[Variable, list[Variable], tuple[bool, ...]], Template]
    ) -> None:
        self._derive = derive
        self._cached: dict[Any, Template] = {}

    def of(self, y: Variable, varies: tuple[bool, ...]) -> Template:
        """Return the template of an application, or raise DerivativeError that names it."""
        key = (*key_of(y), varies)
        template = self._cached.get(key)
        if template is None:
            model, operands = model_of(y)
            try:
                template = self._derive(model, operands, varies)
            except DerivativeError as error:
                facts = {"in": brief(y, 24), **dict(error.facts)}
                raise DerivativeError(error.what, facts, error.fix) from None
            if len(self._cached) >= MOST:
                self._cached.clear()
            self._cached[key] = template
        return template


def _is_number(x: Variable) -> bool:
    return x.__class__ is Constant and not x.type.shape


def hole(name: str, x: Variable) -> Variable:
    """Return an input of the type of a node."""
    return make_input(name, x.type)


def op_of(y: Variable) -> Op:
    """Return the op of an application; for one of several results, the op that computes them."""
    op = y.inputs[0].op if y.op.__class__ is GetItem else y.op
    assert op is not None
    return op


def _assumed(op: Op, i: int) -> tuple[str, ...]:
    """Return the facts of an operand that the op takes for granted."""
    return ("symmetric",) if op is _SYMMETRIC and i == 0 else ()


_SYMMETRIC = Solve("symmetric")


def operands_of(y: Variable) -> tuple[Variable, ...]:
    """Return the operands of an application; for one of several results, those of its op."""
    return y.inputs[0].inputs if y.op.__class__ is GetItem else y.inputs


def key_of(y: Variable) -> tuple[Any, ...]:
    """Return the key of a template: the op, the types of the operands, the numbers among them."""
    several = y.inputs[0].op if y.op.__class__ is GetItem else None
    return (y.op, several, *[x if _is_number(x) else x.type for x in operands_of(y)])


def model_of(y: Variable) -> tuple[Variable, list[Variable]]:
    """Return the op of ``y`` applied to new inputs and to the numbers of ``y``, and these operands.

    A number of integers among floats has the dtype of the floats, so that it has a differential.
    """
    assert y.op is not None
    operands: list[Variable] = []
    for i, x in enumerate(operands_of(y)):
        if not isinstance(x, Constant) or x.type.shape:
            operands.append(make_input(f"x{i}", x.type, _assumed(op_of(y), i)))
        elif y.op.pointwise and y.type.dtype.kind == "f" and x.type.dtype.kind in "iu":
            operands.append(constant(x.value, y.type.dtype))
        else:
            operands.append(x)
    if y.op.__class__ is GetItem:
        several = y.inputs[0].op
        assert several is not None
        return apply(y.op, (apply(several, tuple(operands)),)), operands
    return apply(y.op, tuple(operands)), operands
