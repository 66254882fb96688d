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
from relgraph.backends.source import define
from relgraph.errors import ArgumentError, kind_of
from relgraph.ir.node import Constant, Variable, as_variable
from relgraph.ir.records import record

Pack = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Any]


@record(eq=False)
class Packing:
    """A Python expression of the results.

    Attributes
    ----------
    text : str
        Of the values of outputs ``r``, the numbers of a trace ``s``, and the arguments ``x``.
    constants : dict of str to object
        Further names in the text.
    """

    text: str
    constants: dict[str, Any]

    def function(self) -> Pack:
        """Return the expression as a function of ``r``, ``s`` and ``x``."""
        namespace = dict(self.constants)
        define("pack", f"def pack(r, s, x):\n    return {self.text}", namespace)
        pack: Pack = namespace["pack"]
        return pack


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
        self._constants: dict[str, Any] = {}
        self._name = name
        self._changed = {id(tracers[i]._storage): i for i in updates.indices}

    def packing(self, result: Any) -> Packing:
        """Collect the outputs of a result, and return the expression that rebuilds it.

        Raises
        ------
        ArgumentError
            For results that are not arrays, numbers or containers of them.
        """
        text = "None" if result is None and self._changed else self._text(result, top=True)
        return Packing(text, self._constants)

    def _constant(self, value: Any) -> str:
        name = f"k{len(self._constants)}"
        self._constants[name] = value
        return name

    def _text(self, result: Any, *, top: bool = False) -> str:
        kind = type(result)
        if isinstance(result, dict):
            items = [f"{self._constant(k)}: {self._text(x)}" for k, x in result.items()]
            return f"{{{', '.join(items)}}}"
        if isinstance(result, list | tuple):
            parts = ", ".join(map(self._text, result))
            if is_named_tuple(kind):
                return f"{self._constant(kind)}({parts})"
            return f"[{parts}]" if isinstance(result, list) else f"({parts}{',' * bool(result)})"
        if kind is WeakScalar:
            _, slot = trace_of(result)
            return f"s[{slot}]"
        if kind in NUMBERS or (result is None and not top):
            return self._constant(result)
        if kind is Tracer and id(result._storage) in self._changed:
            view = self._view_of_argument(result, self._changed[id(result._storage)])
            if view is not None:
                return view
        return self._output(result)

    def _output(self, result: Any) -> str:
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
        return f"r[{index}]"

    def _view_of_argument(self, result: Tracer, index: int) -> str | None:
        """Return a view of a changed argument, or None for a dynamic key."""
        steps = result._steps
        if any(not isinstance(x, Constant) for step in steps for x in step.operands):
            return None
        text = f"x[{index}]"
        for step in steps:
            text = f"{self._constant(step.of)}({text})"
        return text
