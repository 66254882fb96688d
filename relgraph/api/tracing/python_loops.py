"""Python's loops in traced functions: traced once, instead of once for each iteration.

:mod:`.python_source` makes the body of such a loop a function.  :func:`run` runs it with a traced
index, and finds out what it carries: names that it assigns and reads again, and arrays from outside
that it writes to.  The loop is then an application of ``scan``.  Where that cannot be, or is not
worth it, the body runs as often as Python would run it: few iterations, types that change, values
that Python needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from math import prod
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from relgraph.api.tracing.arguments import node_of
from relgraph.api.tracing.python_choices import (
    NOTHING,
    TRIALS,
    Branch,
    Names,
    Saved,
    as_truth,
    attempt,
    is_array,
    shared,
    truth,
)
from relgraph.api.tracing.storage import BODY, OutsideWrite, Storage
from relgraph.api.tracing.tracer import (
    Tracer,
    argument,
    is_weak,
    running,
    type_of,
    values_of,
    weak,
    wrap,
)
from relgraph.api.tracing.weak_scalar import WeakScalar
from relgraph.errors import ArgumentError
from relgraph.ir.graph import FunctionGraph, toposort
from relgraph.ir.node import Constant, Variable, as_variable, constant, fresh_input
from relgraph.ir.types import TensorType
from relgraph.lowering.loops.build import written_loop
from relgraph.ops.elementwise import Cast, maximum, subtract
from relgraph.ops.elementwise.instances import floor_divide
from relgraph.ops.loops import Scan, WhileLoop, closed, results_of

LEAST = 8  # iterations of a loop that is not written out
MOST = 2000  # iterations of a loop that is written out because its body cannot be compiled
MOST_MAPS = 3000  # elementwise ops that kernels compute for all iterations at once
_INDEX = TensorType("int64")

IN_PYTHON: ContextVar[frozenset[CodeType]] = ContextVar("IN_PYTHON", default=frozenset())
"""The bodies of loops that Python runs, because the back end could not compile them."""

BY_NUMBERS: ContextVar[set[CodeType] | None] = ContextVar("BY_NUMBERS", default=None)
"""The bodies of ``while`` loops that are traced for all values of Python's numbers; None where
Python runs these loops, since no other trace would follow if it needs what they compute."""


class TracedRange(NamedTuple):
    """A range with traced ends."""

    start: Variable
    stop: Variable
    step: int


class StaysInPython(ArgumentError):
    """Raised for a loop that is not traced once, which is an error where Python cannot run it."""

    def __init__(self, why: str, fix: str = "") -> None:
        super().__init__(
            f"a loop cannot be traced: it {why}",
            fix=fix
            or "Give what it carries one shape and dtype, or use rg.fori_loop or rg.while_loop.",
        )


def not_compiled(
    loops: Sequence[tuple[Variable, CodeType]],
    graph: FunctionGraph,
    rewrite: Callable[[FunctionGraph], FunctionGraph],
) -> set[CodeType]:
    """Return the bodies of loops for which the loop language has no ops, if they run seldom.

    ``rewrite`` is what a function does with a graph before it is compiled.
    """
    nodes = set(graph)
    return {
        code
        for node, code in loops
        if node in nodes
        and isinstance(node.op, Scan)
        and isinstance(node.op.size, int)
        and node.op.size <= MOST
        and not _is_written(node, rewrite)
    }


def _is_written(node: Variable, rewrite: Callable[[FunctionGraph], FunctionGraph]) -> bool:
    """Return True for a loop that the loop language has, as it is or rewritten."""
    if written_loop(node, "NAME") is not None:
        return True
    rewritten = rewrite(FunctionGraph(None, results_of(node)))
    scans = [x for x in rewritten if isinstance(x.op, Scan)]
    return all([written_loop(x, "NAME") is not None for x in scans])


def value_of_name(read: Callable[[], Any]) -> Any:
    """Return the value of a name, or :data:`NOTHING`."""
    try:
        return read()
    except NameError:
        return NOTHING


def range_of(function: Any, *ends: Any) -> Any:
    """Return a range, whose ends may be traced integers; ``function`` is what makes it."""
    if function is not range or not any(_is_traced(x) for x in ends):
        return function(*ends)
    start, stop, step = (0, *ends, 1) if len(ends) == 1 else (*ends, 1)[:3]
    if type(step) is not int or step == 0:
        return function(*ends)  # raises
    low, high = [_end(x) for x in (start, stop)]
    return TracedRange(low, high, step)


def _end(x: Any) -> Variable:
    node = as_variable(x.node if type(x) is Tracer else int(x))
    return node if node.dtype == np.dtype("int64") else Cast("int64")(node)


def _is_traced(x: Any) -> bool:
    if type(x) is not Tracer or x._storage.value is not None:
        return False
    kind = type_of(x)
    return kind.ndim == 0 and kind.dtype.kind in "iu" and not isinstance(x.node, Constant)


def run(
    indices: Any,
    body: Branch,
    values: Sequence[Any],
    names: Names,
) -> Sequence[Any]:
    """Run a loop.

    Parameters
    ----------
    indices : range, TracedRange, array or other iterable
        What it iterates over.
    body : callable
        Takes the index and the other names that the loop assigns, and returns their next values.
    values : tuple
        Their values before the loop.
    names : Names
        Of the statement.
    """
    traced = isinstance(indices, TracedRange)
    numbers = _numbers(indices)
    stays = type(numbers) is not range or len(numbers) < LEAST or body.__code__ in IN_PYTHON.get()
    if running() and (traced or not stays):
        items = None if numbers is indices else indices
        loop = _Loop(numbers, items, body, values, names)
        try:
            return loop.traced()
        except OutsideWrite:
            raise  # of the loop around this one
        except Exception:  # Python runs it, and meets what is an error
            if traced:
                raise
    for i in indices:
        values = body(i, *values[1:])
    return values


def repeat(
    test: Branch,
    body: Branch,
    values: Sequence[Any],
    names: Names,
) -> Sequence[Any]:
    """Run a ``while`` loop: in Python as long as its condition is known, and then once.

    ``test`` and ``body`` take the values of the names that the loop assigns, and return the
    condition and their next values.
    """
    while True:
        holds: Any = test(*values)
        if running() and truth(holds) is not None:
            return _While(test, body, values, names).traced()
        by_numbers, code = BY_NUMBERS.get(), body.__code__
        if type(holds) is WeakScalar and by_numbers is not None and code not in IN_PYTHON.get():
            by_numbers.add(code)
            try:  # one program for all values, if it can be
                return _While(test, body, values, names).traced()
            except OutsideWrite:
                raise  # of the loop around this one
            except Exception:  # Python runs it, and meets what is an error
                by_numbers.remove(code)
        if not as_truth(holds):
            return values
        values = body(*values)


def _numbers(indices: Any) -> Any:
    """Return the range of the numbers of the elements of a traced array, and others as they are."""
    if type(indices) is not Tracer or values_of(indices) is not None:
        return indices
    shape = type_of(indices).shape
    return range(shape[0]) if shape and isinstance(shape[0], int) else indices


class _Traced(NamedTuple):
    """What a run of the body gave: its results, those of arrays as nodes, what it wrote to arrays,
    and a condition.
    """

    inputs: list[Any]
    results: Sequence[Any]
    nodes: list[Any]
    written: list[Variable]
    test: Variable | None


class _Loop:
    """A loop over ``indices``, or over the elements of ``items`` that they number."""

    statement = "a loop"
    indexed = True  # whether the first name is the index

    def __init__(
        self, indices: Any, items: Any, body: Branch, values: Sequence[Any], names: Names
    ) -> None:
        self.indices, self.items, self.body, self.values = indices, items, body, values
        self.names = names
        self.own = [x in names.own for x in names.all]
        self.later = [x in names.later for x in names.all]
        self.carried: dict[int, Variable] = {}  # the first value of each name, by its place
        self.weak = {k for k, x in enumerate(values) if is_weak(x)}  # numbers of Python
        self.storages: list[Storage] = []

    def traced(self) -> Sequence[Any]:
        """Return the values of the names after the loop."""
        other = self.names.not_traced()
        if other is not None:
            raise StaysInPython(f"changes {other!r}, which is not a traced array")
        for _ in range(TRIALS):
            starts = [x.node for x in self.storages]
            trial = attempt(self.storages, partial(self._run, starts))
            if trial is not None and self._agrees(trial):
                return self._applied(trial, starts)
        raise StaysInPython(f"carries more than {TRIALS} arrays")

    def _run(self, starts: Sequence[Variable]) -> _Traced:
        """Run the body on inputs."""
        index = [fresh_input("index", _INDEX)] if self.indexed else []
        carries = {k: fresh_input("carry", x.type) for k, x in self.carried.items()}
        arrays = [fresh_input("array", x.type) for x in starts]
        token = BODY.set(self)
        try:
            given = [NOTHING if own else x for x, own in zip(self.values, self.own, strict=True)]
            given_carries = {
                k: weak(x) if k in self.weak else argument(x) for k, x in carries.items()
            }
            for k, tracer in given_carries.items():
                given[k] = tracer
            for storage, x in zip(self.storages, arrays, strict=True):
                storage._body, storage._node, storage._value, storage._writes = self, x, None, None
            test = self._start(given, index)
            results = self.body(*given)
            if self.indexed and self.later[0] and results[0] is not given[0]:
                raise StaysInPython(f"changes its index {self.names.all[0]!r}")
            nodes = [_node(x) if is_array(x) else None for x in results]
            written = [x.node for x in self.storages]
        finally:
            BODY.reset(token)
        for k, tracer in given_carries.items():  # written in place and then given another value
            if tracer._storage._node is not carries[k] and results[k] is not tracer:
                raise StaysInPython("writes to an array, and gives its name to another one")
        return _Traced([*index, *carries.values(), *arrays], results, nodes, written, test)

    def _start(self, given: list[Any], index: Sequence[Variable]) -> Variable | None:
        """Give the body its index; return the condition of the iteration, if there is one."""
        number = self._number(weak(*index))
        given[0] = number if self.items is None else self.items[number]
        return None

    def _number(self, index: Any) -> Any:
        """Return the value of the index of an iteration, by its number."""
        if isinstance(self.indices, TracedRange):
            start, step = wrap(self.indices.start), self.indices.step
        else:
            start, step = self.indices.start, self.indices.step
        scaled = index if step == 1 else index * step
        return scaled if type(start) is int and start == 0 else scaled + start

    def _agrees(self, trial: _Traced) -> bool:
        """Return True if the trial carries what it has to; note what else it has to carry."""
        agrees = True
        for k, (before, after) in enumerate(zip(self.values, trial.results, strict=True)):
            if (
                (k == 0 and self.indexed)
                or self.own[k]
                or (k not in self.carried and after is before)
            ):
                continue
            if before is NOTHING or not is_array(before) or not is_array(after):
                name = self.names.all[k]
                state = "not assigned" if before is NOTHING else "not an array or a number"
                raise StaysInPython(
                    f"carries {name!r}, which is {state} before it or in it",
                    f"Assign an array or a number to {name} before the loop.",
                )
            node = trial.nodes[k]
            if k in self.weak and not is_weak(after):
                self.weak.remove(k)
                agrees = False
            if k not in self.carried:
                first = _node(before)
                number = is_weak(before) or type(before) is bool
                if first.type.shape != node.type.shape:
                    raise StaysInPython(self._changes(k, first, node))
                if first.dtype != node.dtype:
                    if not number:
                        raise StaysInPython(self._changes(k, first, node))
                    first = Cast(node.dtype.name)(first)
                self.carried[k] = first
                agrees = False
            elif node.type != self.carried[k].type and agrees:
                raise StaysInPython(self._changes(k, self.carried[k], node))
        starts = [x.type for x in trial.inputs[self.indexed + len(self.carried) :]]
        if agrees and any([x.type != t for x, t in zip(trial.written, starts, strict=True)]):
            raise StaysInPython("changes the type of an array that it writes to")
        return agrees

    def _changes(self, k: int, before: Variable, after: Variable) -> str:
        return f"changes {self.names.all[k]!r} from {before.type} to {after.type}"

    def _applied(self, trial: _Traced, starts: Sequence[Variable]) -> Sequence[Any]:
        """Return the values of the names after the scan, and give arrays their new elements."""
        length, number = self._length()
        firsts = [*self.carried.values(), *starts]
        following = [trial.nodes[k] for k in self.carried] + trial.written
        last: dict[int, Variable] = {}
        for k, x in enumerate(trial.results):
            if self.own[k] and self.later[k] and isinstance(x, Tracer):
                node = trial.nodes[k]
                if not length or not all([isinstance(n, int) for n in node.type.shape]):
                    raise StaysInPython(f"gives {self.names.all[k]!r} its value, if it runs")
                last[k] = node
                following.append(node)
                firsts.append(constant(np.zeros(node.type.shape, node.dtype)))
        inputs = [*trial.inputs, *[fresh_input("last", x.type) for x in last.values()]]
        self._check_worth(inputs, following, firsts)
        names = ["index", *[f"carry_{k}" for k in range(len(following))]]
        (scan_body,), captured = closed([(inputs, following)], names)
        op = Scan(scan_body, len(following), 0, length, False)
        node = op(number, *firsts, *captured)
        running()[-1].loops.append((node, self.body.__code__))
        results = results_of(node)
        after = self._after(trial, results)
        rest = results[len(self.carried) + len(self.storages) :]
        for k, x in zip(last, rest, strict=True):
            after[k] = shared([trial.results[k]], wrap(x), self)
        after[0] = self._last_index()
        return after

    def _after(self, trial: _Traced, results: Sequence[Variable]) -> list[Any]:
        """Return the values of the names, and give arrays their new elements."""
        self._store(results[len(self.carried) :])
        after = list(trial.results)
        for k, x in zip(self.carried, results, strict=False):
            after[k] = weak(x) if k in self.weak else shared([trial.results[k]], wrap(x), self)
        for k, own in enumerate(self.own):
            if own and isinstance(trial.results[k], Tracer):
                after[k] = NOTHING
        return after

    def _store(self, results: Sequence[Variable]) -> None:
        saved = [Saved(x) for x in self.storages]
        try:
            for storage, x in zip(self.storages, results, strict=False):
                storage.check_body()
                storage.store(x)
        except Exception:
            for state in saved:
                state.restore()
            raise

    def _last_index(self) -> Any:
        if isinstance(self.indices, TracedRange):
            if self.later[0]:
                raise StaysInPython("has an index that is read after it")
            return NOTHING
        return self.indices[-1] if self.items is None else self.items[-1]

    def _length(self) -> tuple[int | None, Variable]:
        """Return the number of iterations, as a size and as a node."""
        if not isinstance(self.indices, TracedRange):
            return len(self.indices), constant(len(self.indices), dtype="int64")
        start, stop, step = self.indices
        distance = subtract(stop, start) if step > 0 else subtract(start, stop)
        if abs(step) != 1:
            distance = floor_divide(distance + (abs(step) - 1), abs(step))
        return None, maximum(distance, 0)

    def _check_worth(
        self, inputs: Sequence[Any], following: Sequence[Variable], firsts: Sequence[Variable]
    ) -> None:
        """Raise for a loop of elementwise ops of arrays, which kernels compute without a loop."""
        inside = _depending(following, inputs)
        if not isinstance(self.indices, range) or self.storages:
            return
        wide = any([prod([n for n in x.type.shape if isinstance(n, int)]) > 1 for x in firsts])
        if wide and all(map(_is_map, inside)) and len(inside) * len(self.indices) <= MOST_MAPS:
            raise StaysInPython("has kernels that compute it at once")


class _While(_Loop):
    """A loop with a condition that is not known while tracing."""

    indexed = False

    def __init__(self, test: Branch, body: Branch, values: Sequence[Any], names: Names) -> None:
        super().__init__(None, None, body, values, names)
        self.test = test

    def _start(self, given: list[Any], index: Sequence[Variable]) -> Variable | None:
        holds = self.test(*given)
        node = truth(holds)
        return constant(bool(holds)) if node is None else node

    def _applied(self, trial: _Traced, starts: Sequence[Variable]) -> Sequence[Any]:
        firsts = [*self.carried.values(), *starts]
        following = [trial.nodes[k] for k in self.carried] + trial.written
        assert trial.test is not None
        graphs = [(trial.inputs, [trial.test]), (trial.inputs, following)]
        names = [f"carry_{k}" for k in range(len(following))]
        (check, body), captured = closed(graphs, names)
        node = WhileLoop(check, body, len(following))(*firsts, *captured)
        return self._after(trial, results_of(node))


def _depending(outputs: Sequence[Variable], inputs: Sequence[Any]) -> list[Variable]:
    """Return the nodes that depend on inputs."""
    depend = set(inputs)
    nodes = []
    for x in toposort(outputs):
        if x.op is not None and any([y in depend for y in x.inputs]):
            depend.add(x)
            nodes.append(x)
    return nodes


def _node(x: Any) -> Variable:
    return node_of(x, "a value of a loop")


def _is_map(x: Variable) -> bool:
    return x.op is not None and x.op.pointwise


__all__ = [
    "BY_NUMBERS",
    "IN_PYTHON",
    "StaysInPython",
    "TracedRange",
    "not_compiled",
    "range_of",
    "repeat",
    "run",
    "value_of_name",
]
