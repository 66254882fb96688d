"""The reference backend, which runs a flat list of steps; each computes one op with NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relgraph.backends.base import Array, OpCall, Program, released
from relgraph.backends.report import Report
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant, Input, Variable
from relgraph.ir.printing import pprint
from relgraph.ir.records import record
from relgraph.ir.sizes import At
from relgraph.lowering.sizes import mismatch, unproved
from relgraph.lowering.views import is_view


class NumpyBackend:
    """Computes a graph op by op with NumPy; other backends reproduce its results.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> x = rg.vector("x")
    >>> rg.function([x], x + 1, target="numpy")(np.array([1.0, 2.0]))
    array([2., 3.])
    """

    name = "numpy"

    def compile(self, graph: FunctionGraph) -> NumpyProgram:
        return NumpyProgram(graph)


@record
class _Step:
    call: OpCall
    operands: tuple[int, ...]
    result: int
    dead: tuple[int, ...]
    meets: tuple[tuple[At, At], ...]


class NumpyProgram(Program):
    """A graph as a flat list of steps that read and write numbered values."""

    def __init__(self, graph: FunctionGraph) -> None:
        self._graph = graph
        order = graph.toposort()
        position: dict[Variable, int] = {x: i for i, x in enumerate(graph.inputs)}
        for x in order:
            position.setdefault(x, len(position))
        last = {x: i for i, node in enumerate(order) for x in node.inputs}
        kept = {*graph.outputs, *graph.inputs}
        self._values: list[Any] = [None] * len(position)
        self._steps: list[_Step] = []
        for i, node in enumerate(order):
            if isinstance(node, Constant):
                self._values[position[node]] = node.value
            elif not isinstance(node, Input):
                dead = dict.fromkeys(
                    position[x]
                    for x in node.inputs
                    if last[x] == i and x not in kept and x.op is not None
                )
                self._steps.append(
                    _Step(
                        OpCall(node),
                        tuple(position[x] for x in node.inputs),
                        position[node],
                        tuple(dead),
                        unproved(node),
                    )
                )
        self._constants = [x.value for x in graph.outputs if isinstance(x, Constant)]
        self._outputs = [position[x] for x in graph.outputs]

    @property
    def source(self) -> str:
        """The graph as infix statements, which this backend interprets."""
        return pprint(self._graph.outputs)

    def report(self) -> Report:
        """Return what the program runs: no kernels, and one call for each op."""
        nodes = [step.call.node for step in self._steps]
        return Report(calls=tuple(x.op.name for x in nodes if x.op is not None and not is_view(x)))

    def __call__(self, arrays: Sequence[Array]) -> list[Any]:
        """Run the program on one array for each input."""
        values = self._values.copy()
        values[: len(arrays)] = arrays
        with np.errstate(all="ignore"):  # graphs compute inf and NaN without warnings
            for step in self._steps:
                operands = [values[i] for i in step.operands]
                if step.meets:
                    _check(step.call.node, operands, step.meets)
                values[step.result] = step.call(*operands)
                for i in step.dead:
                    values[i] = None
        return released([values[i] for i in self._outputs], [*arrays, *self._constants])


def _check(node: Variable, operands: Sequence[Array], meets: tuple[tuple[At, At], ...]) -> None:
    for (i, axis), (j, other) in meets:
        sizes = operands[i].shape[axis], operands[j].shape[other]
        if sizes[0] != sizes[1]:
            raise mismatch(
                node, (node.inputs[i], axis, sizes[0]), (node.inputs[j], other, sizes[1])
            )
