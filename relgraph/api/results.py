"""The results of a traced function: the outputs of its graph, and the way back to results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from relgraph.api.pytrees import is_named_tuple, why_no_leaf
from relgraph.api.tracing.changed_arguments import Updates
from relgraph.api.tracing.number_trace import NUMBERS
from relgraph.api.tracing.tracer import Tracer
from relgraph.api.tracing.weak_scalar import WeakScalar, trace_of
from relgraph.errors import ArgumentError, kind_of
from relgraph.ir.node import Constant, Variable, as_variable

Pack = Callable[[list[Any], list[Any], list[Any]], Any]
"""Builds the results from the values of outputs, the numbers of a trace, and the arguments."""


class Results:
    """The outputs of a traced function.

    Parameters
    ----------
    name : str
        The name of the function.
    updates : Updates
        The arguments that it changes.
    tracers : sequence of Tracer
        The arguments.

    Attributes
    ----------
    outputs : list of Variable
        The new elements of the changed arguments, then the arrays in the results.
    """

    def __init__(self, name: str, updates: Updates, tracers: Sequence[Tracer]) -> None:
        self.outputs: list[Variable] = [tracers[i].node for i in updates.indices]
        self._name = name
        self._changed = {id(tracers[i]._storage): i for i in updates.indices}

    def packer(self, result: Any, *, top: bool = True) -> Pack:
        """Collect the outputs of a result, and return the function that rebuilds it.

        Raises
        ------
        ArgumentError
            For results that are not arrays, numbers or containers of them.
        """
        kind = type(result)
        if isinstance(result, dict):
            keys = list(result)
            parts = [self.packer(result[k], top=False) for k in keys]
            return lambda *args: {k: part(*args) for k, part in zip(keys, parts, strict=True)}
        if isinstance(result, list | tuple):
            parts = [self.packer(x, top=False) for x in result]
            if is_named_tuple(kind):
                return lambda *args: kind(*[part(*args) for part in parts])
            plain = list if isinstance(result, list) else tuple
            return lambda *args: plain([part(*args) for part in parts])
        if kind is WeakScalar:
            _, slot = trace_of(result)
            return lambda values, slots, arrays: slots[slot]
        if kind in NUMBERS or (result is None and not (top and not self._changed)):
            return lambda values, slots, arrays: result
        if kind is Tracer and id(result._storage) in self._changed:
            view = _view_of_argument(result, self._changed[id(result._storage)])
            if view is not None:
                return view
        return self._output(result)

    def _output(self, result: Any) -> Pack:
        """Add an output."""
        if type(result) is Tracer:
            value = result.node
        elif isinstance(result, Variable | np.ndarray | np.generic):
            value = as_variable(result)
        else:
            raise ArgumentError(
                f"{self._name} returned {kind_of(result)}, which is not an array: {result!r:.60}",
                fix="Return arrays and numbers, or tuples, lists, dicts and named tuples of them."
                if not is_dataclass(result)
                else why_no_leaf(result).replace("Pass", "Return"),
            )
        index = len(self.outputs)
        self.outputs.append(value)
        return lambda values, slots, arrays: values[index]


def _view_of_argument(result: Tracer, index: int) -> Pack | None:
    """Return the function that makes a view of a changed argument, or None for a dynamic key."""
    steps = result._steps
    if any(not isinstance(x, Constant) for step in steps for x in step.operands):
        return None

    def view(values: list[Any], slots: list[Any], arrays: list[Any]) -> Any:
        array = arrays[index]
        for step in steps:
            array = step.of(array)
        return array

    return view
