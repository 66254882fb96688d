"""A run of a program that times each step: its main function, with a clock around each step.

It is the Python main function, so each step takes about a microsecond more than in machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any

from relgraph.backends.numba import kernels
from relgraph.backends.numba.main_source import MainText
from relgraph.backends.numba.namespace import namespace_of
from relgraph.backends.numba.schedules import Schedule
from relgraph.backends.source import define
from relgraph.ir.graph import FunctionGraph
from relgraph.lowering.buffers import Plan
from relgraph.lowering.kernels import Call, Kernel, Step

if TYPE_CHECKING:
    from relgraph.backends.numba.compiler import NumbaBackend


class TimedText(MainText):
    """The text of a main function that adds the time of each step to ``rgk_spent``."""

    def __init__(
        self, graph: FunctionGraph, steps: Sequence[Step], *args: Any, **options: Any
    ) -> None:
        self._numbers = {step: i for i, step in enumerate(steps)}
        super().__init__(graph, steps, *args, **options)

    def _timed(self, step: Step, write: Callable[..., None], *args: Any) -> None:
        i = self._numbers[step]
        self._line(f"rgk_spent[{i}] -= rgk_clock()")
        write(*args)
        self._line(f"rgk_spent[{i}] += rgk_clock()")

    def _kernel(self, i: int, step: Kernel, memory: Plan) -> None:
        self._timed(step, super()._kernel, i, step, memory)

    def _product(self, step: Call, memory: Plan) -> None:
        self._timed(step, super()._product, step, memory)

    def _call(self, step: Call) -> None:
        self._timed(step, super()._call, step)


class TimedRun:
    """Runs of a program on certain arrays, with the times of its steps.

    Attributes
    ----------
    graph : FunctionGraph
        The graph that the steps compute.
    steps : list of Step
        The kernels and calls.
    names : list of str
        The name of each kernel, and of the op of each call.
    seconds : list of float
        The time of each step in the last run.
    allocated : list of int
        The bytes of each buffer that the last run allocated.
    """

    def __init__(
        self,
        main: TimedText,
        steps: list[Step],
        schedule: Schedule,
        backend: NumbaBackend,
        call: Callable[[Callable[..., Any]], Any],
    ) -> None:
        self.graph = main.graph
        self.steps = steps
        self.names = [
            schedule.names[x.structure] if isinstance(x, Kernel) else x.node.op.name  # type: ignore[union-attr]
            for x in steps
        ]
        self.seconds = [0.0] * len(steps)
        self.allocated: list[int] = []
        namespace = namespace_of(main, schedule.functions, backend)
        namespace |= {
            "rgk_clock": perf_counter, "rgk_spent": self.seconds, "empty": self._empty,
        }  # fmt: skip
        for name, text in main.parts:
            define(name, text, namespace)
        self._main = namespace["main"]
        self._call = call

    def run(self) -> None:
        """Run the program once."""
        self.seconds[:] = [0.0] * len(self.seconds)
        self.allocated.clear()
        self._call(self._main)

    def _empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        array = kernels.empty(shape, dtype)
        self.allocated.append(array.nbytes)
        return array


__all__ = ["TimedRun", "TimedText"]
