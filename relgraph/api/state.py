"""What a compiled function holds between calls: shared variables, updates and default values."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np

from relgraph.api.argument_conversion import bound
from relgraph.api.shared import Shared
from relgraph.backends.base import Array
from relgraph.errors import ArgumentError, RelgraphError, ShapeError
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant, Input, Variable
from relgraph.ir.sizes import Place, meetings


class State(NamedTuple):
    """The arguments that a function supplies itself, and the results that it keeps.

    The program takes the arguments of the caller, then the values of ``variables``; its last
    results are the new values of ``updated``.
    """

    names: tuple[str, ...]  # of the arguments of the caller
    defaults: Mapping[str, Any]
    variables: tuple[Shared, ...]
    updated: tuple[Shared, ...]

    @property
    def all(self) -> tuple[Shared, ...]:
        """The variables that a call reads or updates, each once."""
        return tuple(dict.fromkeys((*self.variables, *self.updated)))

    def callers(self, graph: FunctionGraph) -> tuple[Variable, ...]:
        """Return the outputs of a graph that the caller gets."""
        return graph.outputs[: len(graph.outputs) - len(self.updated)]

    def overwritten(self, graph: FunctionGraph) -> dict[Shared, str]:
        """Return the variables whose memory a call may write over, with their inputs' names.

        A call that fails must leave the values as they are, so there are none unless it can only
        fail before it computes.
        """
        new = graph.outputs[len(graph.outputs) - len(self.updated) :]
        fit = all(_always_fits(x, y) for x, y in zip(self.updated, new, strict=True))
        if not fit or not never_fails(graph):
            return {}
        plain = graph.inputs[len(self.names) :]
        return {
            x: y.name
            for x, y in zip(self.variables, plain, strict=True)
            if x in self.updated and x.ndim
        }

    def bypassed(self, name: str) -> ArgumentError:
        """Return the error for a way to call a function that leaves its state out."""
        return ArgumentError(
            f"{name} is not for a function with shared variables or default values",
            {"shared": ", ".join(x.name for x in self.all), "defaults": ", ".join(self.defaults)},
            "Pass their values as arguments: a function of inputs, with donate=.",
        )

    def call(
        self,
        run: Callable[..., tuple[Any, ...]],
        convert: Callable[[int, Any], Any],
        packed: Callable[[Sequence[Any]], Any],
        overwritten: Collection[Shared],
    ) -> Callable[..., Any]:
        """Return the function of the caller's arguments.

        Parameters
        ----------
        run : callable
            The program; it checks its arguments before it computes, and returns a tuple.
        convert : callable
            ``convert(i, value)`` returns the argument ``i`` as an array.
        packed : callable
            Builds the container of the caller's results.
        overwritten : collection of Shared
            The variables whose memory the program writes over.
        """
        count = len(self.names)
        kept = len(self.updated)
        storages = [(x.storage, x.name) for x in self.variables]

        def call(*args: Any, **kwargs: Any) -> Any:
            if "out" in kwargs and "out" not in self.names:
                raise _no_out()
            if kwargs or len(args) != count:
                args = bound(self.names, args, kwargs, self.defaults)
            if kept:
                # Before the program takes memory: conversions run code of other libraries.
                arrays = [x if type(x) is np.ndarray else convert(i, x) for i, x in enumerate(args)]
                return packed(self._updating(run, arrays, overwritten))
            return packed(run(*args, *[storage.read(name) for storage, name in storages]))

        return call

    def _updating(
        self,
        run: Callable[..., tuple[Any, ...]],
        args: Sequence[Any],
        overwritten: Collection[Shared],
    ) -> Sequence[Any]:
        """Run the program and store the new values, all or none; return the other results."""
        with ExitStack() as held:
            for variable in sorted(self.updated, key=lambda x: x.storage.number):
                held.enter_context(variable.storage.lock)
            if overwritten:
                held.enter_context(_uninterrupted())
            emptied: list[tuple[Shared, Any]] = []
            values = []
            for x in self.variables:
                if x not in overwritten:
                    values.append(x.storage.read(x.name))
                    continue
                array, is_stored = x.storage.take(x.name)
                if is_stored:
                    emptied.append((x, array))
                values.append(array)
                del array
            try:
                results = run(*args, *values)
                first = len(results) - len(self.updated)
                new = [_fitting(x, v) for x, v in zip(self.updated, results[first:], strict=True)]
            except RelgraphError:  # raised before the program wrote: it cannot fail afterwards
                for x, array in emptied:
                    x.storage.array = array
                raise
            for x, array in zip(self.updated, new, strict=True):
                x.storage.array = array
            return results[:first]


def _always_fits(variable: Shared, new: Variable) -> bool:
    """Return True if the sizes that a variable declares are those of its update."""
    pairs = zip(variable.type.shape, new.type.shape, strict=True)
    return all(not isinstance(size, int) or size == other for size, other in pairs)


def _fitting(variable: Shared, value: Any) -> Any:
    """Return a new value as an array, after a check of sizes that the graph leaves open."""
    if not isinstance(value, np.ndarray | np.generic):  # on a GPU
        return value
    array: Array = np.asarray(value)
    why = variable.type.accepts(array)
    if why is not None:
        raise ShapeError(
            f"the update of the shared variable {variable.name!r} does not fit it: {why}",
            {"declared": variable.type, "update": f"shape {array.shape}"},
            "Nothing was updated.  Declare sizes that may vary: rg.shared(value, shape=(None, 3)).",
        )
    return array


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Deliver an interrupt after the block, in which arrays are written over.

    Only the main thread handles interrupts.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    noted: list[Any] = []
    try:
        signal.signal(signal.SIGINT, lambda *details: noted.append(details))
    except ValueError:  # not the main interpreter
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if noted and callable(before):
            before(*noted[0])


def never_fails(graph: FunctionGraph) -> bool:
    """Return True if a program can only fail before it computes: for its arguments.

    All ops are total, and all sizes are those of inputs, which are compared first.
    """
    for node in graph.toposort():
        op = node.op
        if op is None or _known(node):
            continue
        sizes = node.inputs[1:] if op.takes_shape else ()
        if not op.total or node.dtype.kind not in "fb" or not all(map(_known, sizes)):
            return False
    return not any(
        isinstance(size, Place) and not isinstance(size.node, Input)
        for meeting in meetings(graph.toposort())
        for size in meeting.sizes
    )


def _known(size: Variable) -> bool:
    """Return True for a constant, or the size of an input."""
    if isinstance(size, Constant):
        return True
    return size.op is not None and size.op.reads_shape and isinstance(size.inputs[0], Input)


def _no_out() -> ArgumentError:
    return ArgumentError(
        "a function with shared variables or default values does not take out=",
        fix="Call it without out=; updates are written in place where possible.",
    )


__all__ = ["State", "never_fails"]
