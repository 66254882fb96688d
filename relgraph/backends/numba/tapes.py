"""The translation of a schedule that only calls kernels to bytecode for :mod:`.native`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from relgraph.backends.base import Array
from relgraph.backends.numba.lone import Lone
from relgraph.backends.numba.main_source import MainText
from relgraph.backends.numba.tape_layout import EQUAL, LONE, RUN, SOME, WITHIN, Tape
from relgraph.ir.node import Input, Variable
from relgraph.lowering.kernels import Kernel, Step, reduced_axes
from relgraph.lowering.refs import dtype_name
from relgraph.lowering.sizes import Term, is_view_of_axes
from relgraph.lowering.views import axes


class Untaped(Exception):
    """Raised for a program that bytecode cannot express."""


class Taped:
    """The bytecode of a program.

    ``kernels`` holds the bound kernels, and ``constants`` the arrays of constants and of the
    constants packed for kernels.  With ``into`` out arguments follow the inputs.  ``lone`` holds
    the sizes for which a variant runs instead.  Programs that do more than call kernels, or that
    read strided views, raise Untaped.

    Attributes
    ----------
    early : set of int
        The results, by position, that may be computed twice: they are written before the last step
        that may leave the call to the main function, which then starts again.  Such an out argument
        must not be an input too.
    """

    def __init__(
        self,
        main: MainText,
        steps: Sequence[Step],
        kernels: Mapping[Kernel, Callable[..., Any]],
        constants: Mapping[Any, Array],
        *,
        into: bool = False,
        lone: Lone | None = None,
    ) -> None:
        graph = main.graph
        self.sizes = main.sizes
        self.takes = main.memory.takes
        self.kernels = kernels
        self.constants = constants
        self.position = {x: i for i, x in enumerate(graph.inputs)}
        places = graph.outputs if into else ()
        self.places = {x: len(graph.inputs) + k for k, x in enumerate(places)}
        self.tape = Tape(len(graph.inputs) + len(places))
        self.numbers: dict[Any, tuple[str, int]] = {}
        self.early: set[int] = set()
        self._written: set[int] = set()  # the out arguments that kernels have written to so far
        self.into = into
        self.results: list[int] = []
        self.steps: list[list[int | tuple[str, int]]] = []
        if lone is not None:
            counted = (lone.rows, lone.row)
            terms = [(len(sizes), *map(self._term, sizes)) for sizes in counted]
            self.steps.append([LONE, *terms[0], *terms[1]])
        for step in steps:
            self._step(step)
        for x in () if into else graph.outputs:
            kind, number = self._value(x)
            if kind != "memory":
                raise Untaped
            self.tape.result(number, np.dtype(dtype_name(x)))
            self.results.append(number)

    def bound(self, address: int, main: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that runs the program.

        ``address`` is that of :data:`.native.PROGRAM`; ``main`` runs when the bytecode gives up.
        """
        first = {"argument": 0, "constant": self.tape.arguments}
        first["memory"] = self.tape.arguments + self.tape.constants
        for step in self.steps:
            self.tape.step(*(x if isinstance(x, int) else first[x[0]] + x[1] for x in step))
        results = None if self.into else self.results
        return self.tape.bound(address, results, main, list(self.kernels.values()))

    def _term(self, term: Term) -> int:
        if isinstance(term, int):
            return self.tape.term(-1, term)
        x, axis = self.sizes.source[term]
        if x not in self.position:
            raise Untaped
        return self.tape.term(self.position[x], axis)

    def _value(self, x: Any) -> tuple[str, int]:
        """Return the kind and number of a value: an argument, a constant or memory."""
        location = self.numbers.get(x)
        if location is None:
            if isinstance(x, Input):
                location = ("argument", self.position[x])
            elif x in self.constants:
                location = ("constant", self.tape.constant(self.constants[x]))
            else:
                raise Untaped
            self.numbers[x] = location
        return location

    def _allocate(self, x: Variable) -> None:
        source = self.takes.get(x)
        if source is not None:
            self.numbers[x] = self._value(source)
            return
        terms = [self._term(term) for term in self.sizes.shape[x]]
        number = self.tape.memory(np.dtype(dtype_name(x)), terms, self.places.get(x))
        self.numbers[x] = ("memory", number)

    def _step(self, step: Step) -> None:
        for check in self.sizes.checks.get(step, ()):
            self.steps.append([EQUAL, *map(self._term, check.terms)])
        if not isinstance(step, Kernel):
            if not is_view_of_axes(step.node):
                raise Untaped
            self.numbers[step.node] = self._value(step.node.inputs[0])
            return
        if step.updates or any(step.structure.strides):
            raise Untaped
        for x, part in step.reductions:
            if x.op.nonempty:  # type: ignore[union-attr]
                loop = self.sizes.loop[part]
                terms = [self._term(loop[axis]) for axis in reduced_axes(x)]
                self._leave([SOME, len(terms), *terms])
        for x in step.results:
            self._allocate(x)
        for gather in step.gathers:
            vector, places = gather.node.inputs
            if axes(places) is not None:
                raise Untaped
            size = self._term(self.sizes.shape[vector][0])
            self._leave([WITHIN, self._value(gather.furthest), size])
        line: list[int | tuple[str, int]] = [RUN, table_of(self.kernels[step])]
        loop = self.sizes.loop[step]
        for group in step.groups:
            factors = [self._term(loop[axis]) for axis in group]
            line += [len(factors), *factors]
        line += map(self._value, (*step.arrays, *step.tables, *step.slots.values(), *step.results))
        self.steps.append(line)
        first = len(self.position)
        self._written.update(self.places[x] - first for x in step.results if x in self.places)

    def _leave(self, step: list[int | tuple[str, int]]) -> None:
        """Add a step that may leave the call to the main function without being an error there."""
        self.early |= self._written
        self.steps.append(step)


def table_of(function: Callable[..., Any]) -> int:
    """Return the address of the table of a bound kernel."""
    table: Array = function.__self__  # type: ignore[attr-defined]
    return int(table.ctypes.data)


__all__ = ["Taped", "Untaped"]
