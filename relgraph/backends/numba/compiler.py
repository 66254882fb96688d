"""The numba backend: compiled kernels and a Python function that calls them in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from types import BuiltinFunctionType
from typing import Any, Literal, NamedTuple

import numpy as np

from relgraph.backends.base import Array, Direct, OpCall, Pair, Program, Wanted, released
from relgraph.backends.numba import kernels, numpy_api
from relgraph.backends.numba.given_places import (
    copy_to_places,
    direct_places,
    in_place_results,
)
from relgraph.backends.numba.layouts import (
    FORTRAN,
    Order,
    laid_out,
    layouts,
    readable,
    turned,
)
from relgraph.backends.numba.lone import alone_first, declared_alone, lone_rows
from relgraph.backends.numba.loop_calls import LoopCall
from relgraph.backends.numba.main_function import MainFunction, Unwritten
from relgraph.backends.numba.main_source import MainText
from relgraph.backends.numba.namespace import namespace_of, ready
from relgraph.backends.numba.schedules import FUSION, scheduled
from relgraph.backends.numba.timed_run import TimedRun, TimedText
from relgraph.backends.report import Report, Scheduled, inputs_in_place, library_calls, loops
from relgraph.backends.report import scheduled as described_steps
from relgraph.backends.source import define
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.ir.records import record, replace
from relgraph.ir.spans import span
from relgraph.lowering.buffers import has_own_buffer, is_new, origins
from relgraph.lowering.copies import owner, with_copies
from relgraph.lowering.kernels import Call, Kernel, Step, without_assumptions
from relgraph.lowering.loops.linalg.limits import is_small_product
from relgraph.lowering.refs import dtype_name
from relgraph.lowering.regions import Fusion
from relgraph.lowering.sizes import Term
from relgraph.lowering.views import is_view
from relgraph.ops.loops import is_loop
from relgraph.settings import config

ORDERS = 8  # maximum number of variants of a program for inputs in other memory orders


@record
class NumbaBackend:
    """Compiles a graph to machine code for the CPU.

    ``fusion`` says which ops may share a kernel.  With ``reuse`` a value may reuse the memory of
    one that is no longer read.  With ``overwrite`` an update of an array that nothing else reads is
    done in place.  ``donated`` names the inputs whose memory may be reused.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> x = rg.vector("x")
    >>> rg.function([x], rg.sum(x * x))(np.array([1.0, 2.0]))
    np.float64(5.0)
    """

    fusion: Fusion = FUSION
    reuse: bool = True
    overwrite: bool = True
    donated: frozenset[str] = frozenset()

    name = "cpu"

    @classmethod
    def with_choices(cls, choices: Collection[str] | None) -> NumbaBackend:
        """Return the backend with these lowering choices; None enables all of them."""
        if choices is None:
            return cls()
        fusion = FUSION if "fusion" in choices else replace(FUSION, limit=1)
        return cls(fusion, "inplace" in choices, "inplace_setsubtensor" in choices)

    def compile(self, graph: FunctionGraph) -> NumbaProgram:
        """Compile the kernels of a graph and return its program."""
        if config.veclib is not None:
            vector_libraries = import_module("relgraph.backends.numba.vector_libraries")
            vector_libraries.require(config.veclib)
        return NumbaProgram(graph, self)

    def donating(self, names: frozenset[str]) -> NumbaBackend:
        """Return a backend whose programs may reuse the memory of the inputs with these names."""
        return replace(self, donated=names)


class _Direct(NamedTuple):
    """The main function, for arguments that pass a test.

    ``run`` assumes that the sizes in ``pairs`` are equal.  The results at the positions in
    ``early`` must not share memory with an argument.
    """

    run: Callable[..., Any]
    pairs: Sequence[Pair]
    early: Collection[int] = ()


class NumbaProgram(Program):
    """A graph as compiled kernels and the Python source that calls them.

    ``choices`` says how to lower the graph.  ``strided`` holds the positions of the inputs that
    kernels read through the strides of the argument.
    """

    order: Literal["C", "A"] = "A"

    def __init__(
        self, graph: FunctionGraph, choices: NumbaBackend, strided: frozenset[int] = frozenset()
    ) -> None:
        self._donated = [i for i, x in enumerate(graph.inputs) if x.name in choices.donated]
        donated = [graph.inputs[i] for i in self._donated]
        graph = with_copies(without_assumptions(graph), donated)
        self._schedule = scheduled(graph, choices.fusion)
        self._strided = strided
        self._choices = choices
        self._readable = readable(self._schedule.graph, self.steps)
        for i in {*self._donated, *strided}:
            self._readable.pop(i, None)
        # Variants of the program, compiled on the first call with arguments that need them.
        self._laid = lru_cache(maxsize=ORDERS)(partial(_laid_out, graph, choices, strided))
        self._alone = lru_cache(maxsize=1)(partial(_alone, graph, choices))
        self._quick: Direct | None = None
        with span("main function"):
            self._define(choices)

    def _define(self, choices: NumbaBackend) -> None:
        """Define the main function and determine which results are new arrays."""
        schedule, graph = self._schedule, self._schedule.graph
        donated_inputs = [graph.inputs[i] for i in self._donated]
        write = partial(
            MainText,
            graph,
            schedule.steps,
            schedule.names,
            choices.reuse,
            choices.overwrite,
            donated=donated_inputs,
        )
        main = write()
        self._main_text = main.text()
        self._namespace = namespace_of(main, schedule.functions, choices)
        self._main = _defined(main, self._namespace)
        self._write_into = partial(write, into=True)
        self._into = lru_cache(maxsize=1)(partial(_into, self._write_into, self._namespace))
        first = origins(graph, schedule.steps, donated_inputs if choices.overwrite else None)
        # Needed only by calls with out arguments.
        self._in_place = lru_cache(maxsize=1)(
            partial(in_place_results, graph, schedule.steps, first)
        )
        self._outputs = graph.outputs
        self._place: dict[Variable, int] = {x: i for i, x in enumerate(graph.inputs)}
        new_values = {x for step in schedule.steps if is_new(step) for x in step.results}
        self._new = new_values.issuperset(map(owner, graph.outputs))
        self._fresh = self._new and not self._donated
        allocated = {x for step in schedule.steps if has_own_buffer(step) for x in step.results}
        self._placed = self._fresh and allocated.issuperset(graph.outputs)
        self._silent = any(isinstance(x, Call) and not is_view(x.node) for x in self.steps)
        self._written = main

    @property
    def steps(self) -> list[Step]:
        """The kernels and calls, in order."""
        return self._schedule.steps

    @property
    def source(self) -> str:
        """The kernels and the function that calls them, as one Python module."""
        return "\n\n".join([self._schedule.source, self._main_text])

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the distinct kernels."""
        return tuple(self._schedule.functions)

    def scheduled(self) -> tuple[FunctionGraph, tuple[Scheduled, ...]]:
        """Return the graph that the kernels compute, and the kernels and calls."""
        schedule, main = self._schedule, self._written
        steps = described_steps(schedule.steps, main.names, main.memory.takes, schedule.names)
        return schedule.graph, steps

    def report(self) -> Report:
        """Report what the program runs and how many variants of it are compiled."""
        graph, choices = self._schedule.graph, self._choices
        donated = [graph.inputs[i] for i in self._donated]
        return Report(
            self.kernels,
            loops(self.steps),
            library_calls(self.steps),
            inputs_in_place(graph, self.steps, choices.reuse, choices.overwrite, donated),
            self._laid.cache_info().currsize + self._alone.cache_info().currsize,
        )

    def __call__(self, arrays: Sequence[Array]) -> list[Any]:
        """Run the program on one array for each input."""
        which = layouts(arrays, self._readable) if self._readable else None
        if which:
            return self._laid(which)(turned(arrays, which))
        usable = self._usable(arrays)
        if self._quick is not None and self._quick[0](*usable):
            results = self._quick[1](*usable)
        else:
            self._check(usable)
            results = self._run(self._main, usable)
        single = len(self._outputs) == 1
        results = [np.asarray(results)] if single else list(results)
        if self._fresh:
            return results
        held = [x for i, x in enumerate(usable) if i not in self._donated]
        held += [x for i, x in enumerate(arrays) if i not in self._donated]
        return released(results, held)

    def _usable(self, arrays: Sequence[Array]) -> list[Array]:
        usable = [
            x if type(x) is not np.ndarray or i in self._strided else ready(x)
            for i, x in enumerate(arrays)
        ]
        for i in self._donated:  # copy it if the change would be visible elsewhere
            others = (x for k, x in enumerate(usable) if k != i and type(x) is np.ndarray)
            if not usable[i].flags.writeable or any(
                np.may_share_memory(usable[i], x) for x in others
            ):
                usable[i] = usable[i].copy()
        return usable

    def _check(self, arrays: Sequence[Array]) -> None:
        """Compare sizes of arguments."""
        place = self._place
        for check in self._written.given_sizes:
            left, right = [arrays[place[x]].shape[axis] for x, axis in check.sides]
            if left != right:
                raise check.error(left, right)

    def _run(self, main: Callable[..., Any], values: Sequence[Any]) -> Any:
        return (numpy_api.silent(main) if self._silent else main)(*values)

    def into(self, arrays: Sequence[Array], places: Sequence[Array]) -> None:
        """Run the program and write its results to the arrays ``places``, one for each output."""
        which = layouts(arrays, self._readable) if self._readable else None
        if which:
            return self._laid(which).into(turned(arrays, which), places)
        usable = self._usable(arrays)
        self._check(usable)
        direct = direct_places(places, usable, self._donated, self._in_place())
        copy_to_places(places, self._run(self._into(), [*usable, *direct]))

    def quick(self, wanted: Wanted, equal: Sequence[Pair]) -> Direct | None:
        """Return the test and the main function, if it knows that its results are new arrays."""
        if not self._new:
            return None
        with span("direct call"):
            direct = self._direct(self._written)
        if direct is None:
            return None
        run = direct.run
        test = kernels.guard(
            wanted,
            [*equal, *direct.pairs],
            dict.fromkeys(self._donated, ()),
            numbers=isinstance(run, BuiltinFunctionType),
        )
        self._quick = test, run
        return self._quick

    def quick_into(self, wanted: Wanted, equal: Sequence[Pair]) -> Direct | None:
        """Return the same for calls whose out arguments follow the inputs."""
        if not self._placed or (direct := self._direct(self._write_into(), True)) is None:
            return None
        places = [(np.dtype(x.type.dtype.name), x.ndim) for x in self._outputs]
        same = {
            len(wanted) + k: () if k in direct.early else inputs
            for k, inputs in enumerate(self._in_place())
        }
        return kernels.guard([*wanted, *places], [*equal, *direct.pairs], same), direct.run

    def _direct(self, main: MainText, into: bool = False) -> _Direct | None:
        """Return the main function, as machine code if it only calls kernels."""
        if into and len(main.parts) > 1:
            return None
        place = self._place
        pairs: list[Pair] = []
        for check in main.given_sizes:
            left, right = [(place[x], x.ndim + axis) for x, axis in check.sides]
            pairs.append((left, right))
        namespace = dict(self._namespace)
        if into:
            _defined(main, namespace)
        constants: dict[Any, Array] = {x: namespace[c] for c, x in main.constants.items()}
        constants |= {values: namespace[c] for c, values in main.packed.items()}
        bound = {
            x: namespace[self._schedule.names[x.structure]]
            for x in self.steps
            if isinstance(x, Kernel)
        }
        function = namespace["main"]
        if self._silent:  # a graph computes inf and NaN without warnings
            function = numpy_api.silent(function)
        if self._donated:
            return _Direct(_released(function, len(self._outputs) == 1), pairs)
        lone = None if into else lone_rows(main.graph, self.steps, main.sizes)
        try:
            loops = {x: namespace[name] for name, x in main.calls.items()}
            loops = {x: call for x, call in loops.items() if isinstance(call, LoopCall)}
            loops |= {} if into else self._products()
            machine = MainFunction(
                main, self.steps, bound, constants, kernels.routines(),
                loops=loops, into=into, lone=lone,
            )  # fmt: skip
        except Unwritten:
            return _Direct(function, pairs)
        dtypes = [np.dtype(dtype_name(x)) for x in machine.arguments]

        def complete(function: Callable[..., Any]) -> Callable[..., Any]:
            if lone is not None:
                function = alone_first(main.graph, lone, partial(self._alone, lone.rows), function)
            if into or all(x.ndim for x in main.graph.inputs):
                return function
            return _of_arrays(function, [x.type.dtype for x in main.graph.inputs])

        cold = complete(function)
        other = self._where_checks_fail(main, namespace, loops)
        python = cold, cold if other is None else complete(other)
        return _Direct(kernels.main(machine, dtypes, python), pairs, machine.early)

    def _products(self) -> dict[Variable, LoopCall]:
        """Return the products of matrices that need no call of NumPy."""
        nodes = [step.node for step in self.steps if isinstance(step, Call)]
        return {x: LoopCall(x, self._choices) for x in nodes if is_small_product(x)}

    def _where_checks_fail(
        self,
        main: MainText,
        namespace: Mapping[str, Any],
        loops: Mapping[Variable, LoopCall],
    ) -> Callable[..., Any] | None:
        """Return the main function with linear algebra by definition; None if it has none."""
        calls = {name: OpCall(x) for name, x in main.calls.items() if x in loops and not is_loop(x)}
        if not calls:
            return None
        function = _defined(main, {**namespace, **calls})
        return numpy_api.silent(function) if self._silent else function

    def timed(self, arrays: Sequence[Array]) -> TimedRun:
        """Return a run of the program on arrays that times each step."""
        which = layouts(arrays, self._readable) if self._readable else None
        if which:
            return self._laid(which).timed(turned(arrays, which))
        choices = self._choices
        donated = [self._schedule.graph.inputs[i] for i in self._donated]
        write = partial(
            TimedText,
            self._schedule.graph,
            self.steps,
            self._schedule.names,
            choices.reuse,
            choices.overwrite,
            donated=donated,
        )
        return TimedRun(
            write(),
            self.steps,
            self._schedule,
            choices,
            lambda main: self._run(main, self._usable(arrays)),
        )

    def entry(
        self, test: Callable[..., bool], run: Callable[..., Any], other: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        """Return the call in machine code; None if the main function is Python code."""
        return kernels.entry(test, run, other) if isinstance(run, BuiltinFunctionType) else None


def _of_arrays(function: Callable[..., Any], dtypes: Sequence[Any]) -> Callable[..., Any]:
    """Return a main function that takes scalars and Python numbers, too."""
    return lambda *values: function(*map(np.asarray, values, dtypes))


def _released(function: Callable[..., Any], single: bool) -> Callable[..., Any]:
    """Return a main function that copies results which are part of the memory of an argument."""
    if single:
        return lambda *arrays: released((function(*arrays),), ())[0]
    return lambda *arrays: tuple(released(function(*arrays), ()))


def _laid_out(
    graph: FunctionGraph, choices: NumbaBackend, strided: frozenset[int], which: frozenset[Order]
) -> NumbaProgram:
    """Return the program for inputs in the given memory orders."""
    strided_by_order = frozenset(i for i, layout in which if layout != FORTRAN)
    return NumbaProgram(laid_out(graph, which), choices, strided | strided_by_order)


def _alone(graph: FunctionGraph, choices: NumbaBackend, rows: Sequence[Term]) -> NumbaProgram:
    """Return the program for a single row."""
    return NumbaProgram(declared_alone(graph, rows), choices)


def _into(write: Callable[[], MainText], namespace: Mapping[str, Any]) -> Callable[..., Any]:
    """Return the main function that takes out arguments."""
    return _defined(write(), dict(namespace))


def _defined(main: MainText, namespace: dict[str, Any]) -> Callable[..., Any]:
    """Define the functions of a program in a namespace and return the main one."""
    for name, text in main.parts:
        define(name, text, namespace)
        assert name in namespace
    function: Callable[..., Any] = namespace["main"]
    return function


__all__ = ["NumbaBackend", "NumbaProgram"]
