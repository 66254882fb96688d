"""The arithmetic of a traced function on Python numbers, recorded to be repeated.

A Python number among the arguments of a traced function need not be static: most are only operands
of arrays, and then one program serves every value.  A :class:`NumberTrace` records the arithmetic
of numbers, and Python repeats it at each call.  A number that is the operand of an array becomes an
input of the graph, with the dtype that NumPy gives a Python number there.  If the function inspects
a value (a condition, an axis, a size), the trace holds only for that answer: the trace branches,
and a :class:`Branch` finds the program that was traced for the numbers of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from relgraph.ir.node import Input, Variable, as_literal, as_variable, make_input
from relgraph.ir.records import record
from relgraph.ir.types import TensorType

Program = TypeVar("Program")
Number = bool | int | float
NUMBERS = (bool, int, float)


def answer_key(answer: Any) -> Hashable:
    """Return a key that separates values that Python calls equal: ``True == 1 == 1.0``, -0.0, NaN.

    Parameters
    ----------
    answer : bool, int, float or type
        The value that the function received.

    Returns
    -------
    hashable
        Equal for equal answers only.
    """
    return (type(answer), answer.hex() if type(answer) is float else answer)


@record
class Slot:
    """A slot of the trace, as an operand of a step."""

    slot: int


@record(eq=False)
class Step:
    """One computation with numbers."""

    function: Callable[..., Any]
    operands: tuple[Any, ...]

    def __call__(self, slots: Sequence[Any]) -> Any:
        """Return the result; operands that are slots are read from ``slots``."""
        return self.function(*[slots[x.slot] if type(x) is Slot else x for x in self.operands])


@record
class Within:
    """The test whether an int is in a range."""

    low: int
    high: int

    def __call__(self, value: int) -> bool:
        return self.low <= value <= self.high


Steps = list[Step]


@dataclass(slots=True)
class Branch(Generic[Program]):
    """Steps of a trace up to a question, with a branch for each answer; or up to the end.

    Attributes
    ----------
    steps : list of Step
        Each computes the next slot from those before it.
    asked : int
        The slot whose value the function inspects; -1 at the end of the trace.
    answers : dict of hashable to Branch
        By :func:`answer_key`.
    program : object
        The traced program, at the end of the trace.
    """

    steps: Steps
    asked: int = -1
    answers: dict[Hashable, Branch[Program]] = field(default_factory=dict)
    program: Program | None = None

    def find(self, slots: list[Any]) -> Program | None:
        """Return the program for these numbers, or None if there is none yet.

        Parameters
        ----------
        slots : list
            The numbers; the results of the steps are appended.
        """
        branch: Branch[Program] | None = self
        while branch is not None:
            try:
                for step in branch.steps:
                    slots.append(step(slots))
            except Exception:  # the function gets to see it when it is traced for these numbers
                return None
            if branch.asked < 0:
                return branch.program
            branch = branch.answers.get(answer_key(slots[branch.asked]))
        return None


class NumberTrace(Generic[Program]):
    """The record of one trace.

    Parameters
    ----------
    numbers : sequence of number
        The Python numbers among the arguments: the first slots.

    Attributes
    ----------
    slots : list
        The values of this trace: the numbers, then results of steps.
    inputs : dict of (int, dtype) to Input
        The slots that became inputs, in order of first use.
    names : dict of int to str
        The names of the inputs of each slot.
    """

    def __init__(self, numbers: Sequence[Number]) -> None:
        self.slots: list[Any] = list(numbers)
        self.inputs: dict[tuple[int, np.dtype[Any]], Input] = {}
        self.names: dict[int, str] = {}
        self._taken: set[str] = set()
        self._known: set[int] = set()
        self._steps: Steps = []
        self._results: dict[Hashable, int] = {}
        self._asked: list[tuple[Steps, int]] = []

    def new_name(self, name: str) -> str:
        """Return a name for an input, with a suffix if the name exists.

        Parameters
        ----------
        name : str
            The name to start from.
        """
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def step(self, function: Callable[..., Any], *operands: Any) -> int:
        """Record one computation, unless it is a repeated one, and return the slot of its result.

        Parameters
        ----------
        function : callable
            Of the operands.
        *operands : Slot or object
            Slots, and values that are the same in every call.
        """
        key = (function, *(x if type(x) is Slot else answer_key(x) for x in operands))
        if key not in self._results:
            step = Step(function, operands)
            self.slots.append(step(self.slots))
            self._steps.append(step)
            self._results[key] = len(self.slots) - 1
        return self._results[key]

    def ask(self, slot: int) -> Any:
        """Return the value of a slot; the trace holds for this answer only."""
        if slot not in self._known:
            self._known.add(slot)
            self._asked.append((self._steps, slot))
            self._steps = []
        return self.slots[slot]

    def knows(self, slot: int) -> bool:
        """Return True if the function has inspected the value of a slot."""
        return slot in self._known

    def node(self, slot: int, dtypes: Sequence[np.dtype[Any]]) -> Variable:
        """Return a number as an operand next to arrays of ``dtypes``, with NumPy's promotion.

        Parameters
        ----------
        slot : int
            The number.
        dtypes : sequence of dtype
            The dtypes of the other operands.

        Returns
        -------
        Variable
            An input; a constant if the value is known or does not fit.
        """
        kind = type(self.slots[slot])
        if kind is bool or not dtypes:
            dtype = np.dtype({bool: "bool", int: "int64", float: "float64"}[kind])
        else:
            dtype = np.result_type(*dtypes, kind(0))
        known = slot in self._known
        if kind is int and not known:
            info = np.iinfo(dtype if dtype.kind in "iu" else "int64")
            within = Within(int(info.min), int(info.max))
            known = not self.ask(self.step(within, Slot(slot)))
        if known:
            return as_variable(as_literal(self.ask(slot)), dtypes)
        operand = self.inputs.get((slot, dtype))
        if operand is None:
            name = self.names.get(slot, f"number_{slot}")
            if any(used == slot for used, _ in self.inputs):
                name = f"{name}_{dtype.name}"
            name = self.new_name(name)
            operand = self.inputs[slot, dtype] = make_input(name, TensorType(dtype, ()))
        return operand

    @property
    def path(self) -> list[Hashable]:
        """The answers that led to the end, by their keys."""
        return [answer_key(self.slots[asked]) for _, asked in self._asked]

    @property
    def questions(self) -> list[tuple[Steps, int]]:
        """The steps up to each value that the function inspects, and its slot; then the rest, and
        -1."""
        return [*self._asked, (self._steps, -1)]

    def graft(self, root: Branch[Program] | None, program: Program) -> Branch[Program]:
        """Add the recorded steps to the branches of earlier traces.

        Parameters
        ----------
        root : Branch or None
            The first branch, if there is one.
        program : object
            What was traced.

        Returns
        -------
        Branch
            The first branch.
        """
        end: Branch[Program] = Branch(self._steps, program=program)
        for (steps, asked), answer in zip(reversed(self._asked), reversed(self.path), strict=True):
            end = Branch(steps, asked, {answer: end})
        first: dict[Hashable, Branch[Program]] = {None: root} if root is not None else {}
        branches = first
        key: Hashable = None
        new = end
        while True:  # along the known answers, to the new one
            old = branches.get(key)
            if old is None or old.asked != new.asked or new.asked < 0:
                branches[key] = new
                return first[None]
            branches = old.answers
            ((key, new),) = new.answers.items()


def prune(
    branches: dict[Hashable, Branch[Program]], path: Sequence[Hashable], program: Program
) -> None:
    """Drop a program, and the branches that lead only to it.

    Parameters
    ----------
    branches : dict of hashable to Branch
        First branches.
    path : sequence of hashable
        The key of the first branch, then the answers that lead to the program.
    program : object
        The program.
    """
    way = []
    for key in path:
        branch = branches.get(key)
        if branch is None:
            return
        way.append((branches, key, branch))
        branches = branch.answers
    if way[-1][2].program is not program:
        return
    for branches, key, _ in reversed(way):
        del branches[key]
        if branches:
            return
