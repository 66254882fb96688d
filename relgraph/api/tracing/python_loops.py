"""Python's loops over ranges in traced functions: traced once, instead of once for each iteration.

:mod:`.loop_source` makes the body of such a loop a function.  :func:`run` runs it with a traced
index, and finds out what it carries: names that it assigns and reads again, and arrays from outside
that it writes to.  The loop is then an application of ``scan``.  Where that cannot be, or is not
worth it, the body runs as often as Python would run it: few iterations, types that change, values
that Python needs, such as the test of an ``if``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from math import prod
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from relgraph.api.tracing.storage import BODY, OutsideWrite, Storage
from relgraph.api.tracing.tracer import Tracer, argument, running, type_of, wrap
from relgraph.api.tracing.weak_scalar import WeakScalar
from relgraph.ir.graph import FunctionGraph, toposort
from relgraph.ir.node import Constant, Variable, as_variable, constant, fresh_input
from relgraph.ir.types import TensorType
from relgraph.lowering.loops.build import written_loop
from relgraph.ops.elementwise import Cast, maximum, subtract
from relgraph.ops.elementwise.instances import floor_divide
from relgraph.ops.loops import Scan, closed, results_of

LEAST = 8  # iterations of a loop that is not written out
TRIALS = 24  # of one loop, each of which finds something else that it carries
MOST = 2000  # iterations of a loop that is written out because its body cannot be compiled
MOST_MAPS = 3000  # elementwise ops that kernels compute for all iterations at once
_INDEX = TensorType("int64")

IN_PYTHON: ContextVar[frozenset[CodeType]] = ContextVar("IN_PYTHON", default=frozenset())
"""The bodies of loops that Python runs, because the back end could not compile them."""

_NUMBERS = (bool, int, float, WeakScalar, np.generic)
_WIDE = ("float64", "int64", "bool")


class _Nothing:
    """What a name without a value stands for."""

    def __repr__(self) -> str:
        return "a name without a value"


NOTHING = _Nothing()


class TracedRange(NamedTuple):
    """A range with traced ends."""

    start: Variable
    stop: Variable
    step: int


class _StaysInPython(Exception):
    """Raised for a loop that is not traced once."""


def not_compiled(loops: Sequence[tuple[Variable, CodeType]], graph: FunctionGraph) -> set[CodeType]:
    """Return the bodies of loops for which the loop language has no ops, if they run seldom."""
    nodes = set(graph)
    return {
        code
        for node, code in loops
        if node in nodes
        and isinstance(node.op, Scan)
        and isinstance(node.op.size, int)
        and node.op.size <= MOST
        and written_loop(node, "NAME") is None
    }


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


class Names(NamedTuple):
    """The names that a loop assigns, the index first.

    Attributes
    ----------
    all : sequence of str
        These names.
    own : sequence of str
        Those that each iteration assigns before it reads them.
    later : sequence of str
        Those that are read outside of the loop.
    """

    all: Sequence[str]
    own: Sequence[str]
    later: Sequence[str]


def run(
    indices: Any,
    body: Callable[..., tuple[Any, ...]],
    values: tuple[Any, ...],
    *names: Sequence[str],
) -> tuple[Any, ...]:
    """Run a loop.

    Parameters
    ----------
    indices : range, TracedRange or iterable
        What it iterates over.
    body : callable
        Takes the index and the other names that the loop assigns, and returns their next values.
    values : tuple
        Their values before the loop.
    *names : sequence of str
        The fields of :class:`Names`.
    """
    traced = isinstance(indices, TracedRange)
    stays = type(indices) is not range or len(indices) < LEAST or body.__code__ in IN_PYTHON.get()
    if running() and (traced or not stays):
        loop = _Loop(indices, body, values, Names(*names))
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


class _Saved(NamedTuple):
    """The state of a storage before a loop."""

    storage: Storage
    state: tuple[Any, ...]

    @classmethod
    def of(cls, storage: Storage) -> _Saved:
        """Return the present state."""
        return cls(storage, (storage._body, storage._node, storage._value, storage._writes))

    def restore(self) -> None:
        """Give the storage this state."""
        x = self.storage
        x._body, x._node, x._value, x._writes = self.state


class _Traced(NamedTuple):
    """What a run of the body gave: its inputs, its results, and the arrays that it wrote."""

    inputs: list[Any]
    results: tuple[Any, ...]
    written: list[Variable]


class _Loop:
    def __init__(
        self,
        indices: Any,
        body: Callable[..., tuple[Any, ...]],
        values: tuple[Any, ...],
        names: Names,
    ) -> None:
        self.indices, self.body, self.values = indices, body, values
        self.own = [x in names.own for x in names.all]
        self.later = [x in names.later for x in names.all]
        self.carried: dict[int, Variable] = {}  # the first value of each name, by its place
        self.storages: list[Storage] = []

    def traced(self) -> tuple[Any, ...]:
        """Return the values of the names after the loop."""
        for _ in range(TRIALS):
            saved = [_Saved.of(x) for x in self.storages]
            starts = [x.node for x in self.storages]
            try:
                trial = self._run(starts)
            except OutsideWrite as error:
                if error.storage in self.storages:
                    raise
                self.storages.append(error.storage)
                found: Storage | None = error.storage
            else:
                found = None
            finally:
                for x in saved:
                    x.restore()
            if found is not None:
                found.forget_values()
            elif self._agrees(trial):
                return self._applied(trial, starts)
        raise _StaysInPython

    def _run(self, starts: Sequence[Variable]) -> _Traced:
        """Run the body on inputs."""
        index = fresh_input("index", _INDEX)
        carries = {k: fresh_input("carry", x.type) for k, x in self.carried.items()}
        arrays = [fresh_input("array", x.type) for x in starts]
        token = BODY.set(self)
        try:
            given = [self._number(argument(index)), *self.values[1:]]
            for k, own in enumerate(self.own):
                if k and own:
                    given[k] = NOTHING
            given_carries = {k: argument(x) for k, x in carries.items()}
            for k, tracer in given_carries.items():
                given[k] = tracer
            for storage, x in zip(self.storages, arrays, strict=True):
                storage._body, storage._node, storage._value, storage._writes = self, x, None, None
            results = self.body(*given)
            written = [x.node for x in self.storages]
        finally:
            BODY.reset(token)
        for k, tracer in given_carries.items():  # written in place and then given another value
            if tracer._storage._node is not carries[k] and results[k] is not tracer:
                raise _StaysInPython
        return _Traced([index, *carries.values(), *arrays], results, written)

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
            if k == 0 or self.own[k] or (k not in self.carried and after is before):
                continue
            if before is NOTHING or not _is_array(before) or not _is_array(after):
                raise _StaysInPython
            node = _node(after)
            if k not in self.carried:
                first = _node(before)
                number = isinstance(before, _NUMBERS) and not isinstance(before, np.generic)
                if first.type.shape != node.type.shape:
                    raise _StaysInPython
                if first.dtype != node.dtype:
                    if not number:
                        raise _StaysInPython
                    first = Cast(node.dtype.name)(first)
                self.carried[k] = first
                agrees = False
            elif node.type != self.carried[k].type:
                raise _StaysInPython
        starts = [x.type for x in trial.inputs[1 + len(self.carried) :]]
        if agrees and any([x.type != t for x, t in zip(trial.written, starts, strict=True)]):
            raise _StaysInPython
        return agrees

    def _applied(self, trial: _Traced, starts: Sequence[Variable]) -> tuple[Any, ...]:
        """Return the values of the names after the scan, and give arrays their new elements."""
        length, number = self._length()
        firsts = [*self.carried.values(), *starts]
        following = [_node(trial.results[k]) for k in self.carried] + trial.written
        last: dict[int, Variable] = {}
        for k, x in enumerate(trial.results):
            if k and self.own[k] and self.later[k] and isinstance(x, Tracer):
                node = _node(x)
                if not length or not all([isinstance(n, int) for n in node.type.shape]):
                    raise _StaysInPython
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
        self._store(results[len(self.carried) :])
        after = list(trial.results)
        for k, x in zip(self.carried, results, strict=False):
            after[k] = wrap(x)
        rest = results[len(self.carried) + len(self.storages) :]
        for k, x in zip(last, rest, strict=True):
            after[k] = wrap(x)
        for k, own in enumerate(self.own):
            if k and own and k not in last and isinstance(trial.results[k], Tracer):
                after[k] = NOTHING
        after[0] = self._last_index()
        return tuple(after)

    def _store(self, results: Sequence[Variable]) -> None:
        saved = [_Saved.of(x) for x in self.storages]
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
                raise _StaysInPython
            return NOTHING
        return self.indices[-1]

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
        """Raise for a loop of elementwise ops of arrays, which kernels compute without a loop, and
        for one whose numbers would change the dtype of arrays.
        """
        inside = _depending(following, inputs)
        weak = {inputs[0]}
        weak |= {inputs[1 + j] for j, k in enumerate(self.carried) if self._is_int(k)}
        for x in toposort(following):
            numbers = [y for y in x.inputs if y in weak]
            others = [y for y in x.inputs if y not in weak and not _is_number(y)]
            if numbers and not others and x.dtype.kind in "iu":
                weak.add(x)
            elif numbers and any([y.dtype.name not in _WIDE for y in others]) and _is_map(x):
                raise _StaysInPython
        if not isinstance(self.indices, range) or self.storages:
            return
        wide = any([prod([n for n in x.type.shape if isinstance(n, int)]) > 1 for x in firsts])
        if wide and all(map(_is_map, inside)) and len(inside) * len(self.indices) <= MOST_MAPS:
            raise _StaysInPython

    def _is_int(self, k: int) -> bool:
        return isinstance(self.values[k], int | WeakScalar) and self.carried[k].dtype.kind in "iu"


def _depending(outputs: Sequence[Variable], inputs: Sequence[Any]) -> list[Variable]:
    """Return the nodes that depend on inputs."""
    depend = set(inputs)
    nodes = []
    for x in toposort(outputs):
        if x.op is not None and any([y in depend for y in x.inputs]):
            depend.add(x)
            nodes.append(x)
    return nodes


def _is_map(x: Variable) -> bool:
    return x.op is not None and x.op.pointwise


def _is_number(x: Variable) -> bool:
    return isinstance(x, Constant) and x.ndim == 0


def _is_array(x: Any) -> bool:
    return isinstance(x, (Tracer, np.ndarray, *_NUMBERS))


def _node(x: Any) -> Variable:
    from relgraph.api.differentiation import node_of

    return node_of(x, "a value of a loop")


__all__ = [
    "IN_PYTHON",
    "NOTHING",
    "TracedRange",
    "not_compiled",
    "range_of",
    "run",
    "value_of_name",
]
