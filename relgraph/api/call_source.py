"""The source of calls of a traced function, generated for each program.

Most calls pass arguments like those of an earlier call.  The source for a program takes such
arguments apart, repeats the arithmetic of numbers, runs the program and builds the results.  The
entry of the compiled function tests the dtypes and shapes of arrays; arrays in another layout go to
its general call.  Where arguments are not like those of the trace, the source returns
:data:`OTHER`, before anything is computed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from relgraph.api.function import Function
from relgraph.api.pytrees import is_named_tuple
from relgraph.api.results import Packing
from relgraph.api.tracing.changed_arguments import Updates
from relgraph.api.tracing.number_trace import (
    NUMBERS,
    Number,
    NumberTrace,
    Slot,
    Step,
    Within,
    answer_key,
)
from relgraph.backends.source import define
from relgraph.ir.types import NAME_OF

Call = Callable[[tuple[Any, ...], dict[str, Any]], Any]
"""Takes the positional and the named arguments of a call."""

OTHER = object()
"""What the source returns for other arguments."""

_MOST_FLOAT32 = float(np.finfo("float32").max)
_SYMBOLS: dict[Any, str] = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.pow: "**",
}


class CannotTakeApart(Exception):
    """Raised for arguments that only the general call takes, such as those of other libraries."""


class CallSource:
    """The source of calls with arguments like those of a trace.

    Parameters
    ----------
    args, kwargs : tuple, mapping
        The arguments of the trace.
    trace : NumberTrace
        What the function computed with the numbers among them.

    Raises
    ------
    CannotTakeApart
        For an argument that is not an array, a number, a static value or a plain container.
    """

    def __init__(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], trace: NumberTrace[Any]
    ) -> None:
        self._namespace: dict[str, Any] = {
            "OTHER": OTHER, "answer_key": answer_key, "ndarray": np.ndarray,
        }  # fmt: skip
        self._lines: list[str] = []
        self._arrays: list[tuple[str, Any]] = []  # their names, and their values in the trace
        self._slots: list[str] = []
        self._names = 0
        self._trace = trace
        self._leave_if(f"len(args) != {len(args)}")
        if not kwargs:
            self._leave_if("kwargs")
        self._sequence("args", args)
        self._mapping("kwargs", kwargs)
        self._given = len(self._slots)
        self._numbers()

    def _name(self) -> str:
        self._names += 1
        return f"a{self._names}"

    def _constant(self, value: Any) -> str:
        name = f"c{len(self._namespace)}"
        self._namespace[name] = value
        return name

    def _leave_if(self, condition: str) -> None:
        self._lines += [f"if {condition}:", "    return OTHER"]

    def _sequence(self, container: str, values: Sequence[Any]) -> None:
        """Take a tuple or a list apart."""
        names = [self._name() for _ in values]
        if names:
            self._lines.append(f"({', '.join(names)},) = {container}")
        for name, value in zip(names, values, strict=True):
            self._part(name, value)

    def _mapping(self, container: str, values: Mapping[Any, Any]) -> None:
        """Take a dict apart, which has to have the same keys in the same order."""
        if values:
            self._leave_if(f"[*{container}] != {self._constant([*values])}")
        for key, value in values.items():
            name = self._name()
            text = repr(key) if type(key) is str else self._constant(key)
            self._lines.append(f"{name} = {container}[{text}]")
            self._part(name, value)

    def _part(self, name: str, value: Any) -> None:
        kind = type(value)
        if kind is np.ndarray:
            if value.ndim == 0:  # the function would take a number, too
                self._leave_if(f"type({name}) is not ndarray")
            self._arrays.append((name, value))
        elif kind in NUMBERS:
            self._leave_if(f"type({name}) is not {kind.__name__}")
            self._slots.append(name)
        elif isinstance(value, np.generic) and value.dtype in NAME_OF:
            self._leave_if(f"type({name}) is not {self._constant(kind)}")
            self._arrays.append((name, value))
        elif kind is dict:
            self._leave_if(f"type({name}) is not dict" + f" or {name}" * (not value))
            self._mapping(name, value)
        elif kind is tuple or kind is list or is_named_tuple(kind):
            self._leave_if(f"type({name}) is not {self._constant(kind)}")
            self._leave_if(f"len({name}) != {len(value)}")
            self._sequence(name, value)
        elif value is None or isinstance(value, type):
            self._leave_if(f"{name} is not {self._constant(value)}")
        elif kind is str or kind is bytes or isinstance(value, np.dtype):
            self._leave_if(f"type({name}) is not {self._constant(kind)}")
            self._leave_if(f"{name} != {self._constant(value)}")
        else:
            raise CannotTakeApart

    def _numbers(self) -> None:
        """Repeat the steps of the trace, and compare what the traced function inspected."""
        before, self._lines = self._lines, []
        for steps, asked in self._trace.questions:
            for step in steps:
                name = f"n{len(self._slots)}"
                self._lines.append(f"{name} = {self._step(step)}")
                self._slots.append(name)
            if asked >= 0:
                self._leave_if(self._differs(self._slots[asked], self._trace.slots[asked]))
        if len(self._slots) > self._given:  # the function gets to see errors when it is traced
            lines = ["try:", *("    " + x for x in self._lines), "except Exception:"]
            self._lines = [*lines, "    return OTHER"]
        self._lines = before + self._lines

    def _step(self, step: Step) -> str:
        operands = [
            self._slots[x.slot] if type(x) is Slot else self._constant(x) for x in step.operands
        ]
        symbol = _SYMBOLS.get(step.function)
        if symbol is not None:
            return f" {symbol} ".join(operands)
        if isinstance(step.function, Within):
            return f"{step.function.low} <= {operands[0]} <= {step.function.high}"
        return f"{self._constant(step.function)}({', '.join(operands)})"

    def _differs(self, name: str, answer: Any) -> str:
        if type(answer) is bool or isinstance(answer, type):
            return f"{name} is not {self._constant(answer)}"
        if type(answer) is int:
            return f"type({name}) is not int or {name} != {answer}"
        return f"answer_key({name}) != {self._constant(answer_key(answer))}"

    def call(
        self,
        name: str,
        function: Function,
        feeds: Sequence[tuple[int, np.dtype[Any]]],
        packing: Packing,
        updates: Updates | None,
    ) -> Call:
        """Return the call.

        Parameters
        ----------
        name : str
            The name of the traced function.
        function : Function
            The program.
        feeds : sequence of (int, dtype)
            The slots of the numbers that are its last arguments.
        packing : Packing
            How its results become those of the traced function.
        updates : Updates or None
            The arguments that the traced function changes.
        """
        arrays = [x for x, _ in self._arrays]
        numbers = [self._number(slot, dtype) for slot, dtype in feeds]
        converted = [
            f"array({x})" if dtype == "float64" else f"fed({x}, {self._constant(dtype)})"
            for x, (_, dtype) in zip(numbers, feeds, strict=True)
        ]
        if updates is not None:
            self._lines.append(f"x = ({', '.join(arrays)},)")
            self._namespace |= {"aliases": updates.aliases, "written": updates.written}
        quick, self._lines = self._lines, []
        self._check_types()
        if updates is not None:
            self._leave_if("aliases(x)")
        self._lines.append(f"r = function({', '.join(arrays + converted)})")
        self._namespace |= {"function": function, "fed": fed, "array": np.array}
        if function.has_entry:
            run = self._namespace["run"] = function.entry(lambda *args: OTHER)
            numbers = numbers if isinstance(run, BuiltinFunctionType) else converted
            quick += [f"r = run({', '.join(arrays + numbers)})", "if r is OTHER:"]
            outputs = function.graph.outputs
            parts = [f"r[{i}]{'[()]' * (x.ndim == 0)}" for i, x in enumerate(outputs)]
            self._lines = ["    " + line for line in self._lines]
            if len(parts) == 1:
                self._lines += ["else:", "    r = (r,)"]
            elif any(x.ndim == 0 for x in outputs):
                self._lines += ["else:", f"    r = ({', '.join(parts)})"]
        self._lines = quick + self._lines
        if updates is not None:
            self._lines.append("r = written(r, x)")
        if "s[" in packing.text:
            self._lines.append(f"s = ({', '.join(self._slots)},)")
        self._lines.append(f"return {packing.text}")
        text = "\n    ".join(["def call(args, kwargs):", *self._lines])
        namespace = self._namespace | packing.constants
        define(f"call of {name}", text, namespace)
        call: Call = namespace["call"]
        return call

    def _number(self, slot: int, dtype: np.dtype[Any]) -> str:
        """Return a number that becomes an argument of this dtype."""
        name, kind = self._slots[slot], type(self._trace.slots[slot])
        if slot >= self._given:
            self._leave_if(f"type({name}) is not {kind.__name__}")
        return f"float({name})" if kind is int and dtype.kind == "f" else name

    def _check_types(self) -> None:
        """Compare the dtypes and shapes of arrays, for a function that converts other layouts."""
        for name, value in self._arrays:
            if type(value) is np.ndarray:
                self._leave_if(f"type({name}) is not ndarray or {name}.shape != {value.shape}")
                self._leave_if(f"{name}.dtype != {self._constant(value.dtype)}")


def fed(value: Number, dtype: np.dtype[Any]) -> Any:
    """Return a number as an array without dimensions, infinite if it is too large for the dtype."""
    if dtype.char == "f" and abs(value) > _MOST_FLOAT32:
        with np.errstate(over="ignore"):  # a graph computes inf without a warning
            return np.asarray(value, dtype)
    return np.asarray(value, dtype)
