"""The protocols of back ends and programs, and the ops that a program computes with NumPy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from relgraph.backends.failures import failure, misplaced
from relgraph.errors import CaptureError, CompileError, count_of, kind_of
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.infix import brief
from relgraph.ir.node import Input, Variable
from relgraph.ir.types import TensorType

if TYPE_CHECKING:
    from relgraph.backends.report import Report, Scheduled

Array = npt.NDArray[Any]


Wanted = Sequence[tuple[np.dtype[Any] | None, int]]
"""The dtype and rank of each argument; None for a dtype that no array has."""

Source = tuple[int, int] | int
"""Where a size is read: an argument and its axis, or the number itself."""

Pair = tuple[Source, Source]
"""Two sizes that a call needs to be equal."""

Direct = tuple[Callable[..., bool], Callable[..., Any]]
"""A test of arguments, and a function of those that pass it, one by one."""


class Program(ABC):
    """A compiled graph: all that a function asks of a back end.

    A program needs its source and a call, which may happen in several threads at once.  The other
    methods make calls faster or add features; their defaults take the general way.
    """

    order: Literal["C", "A"] = "C"
    """The memory order, as NumPy's flags name it, of arguments that are passed without a copy."""

    @property
    @abstractmethod
    def source(self) -> str:
        """The program as text."""

    @abstractmethod
    def __call__(self, arrays: Sequence[Array]) -> list[Any]:
        """Run the program on one array for each input; return one for each output.

        The arrays have the dtypes and ranks of the inputs, are aligned and contiguous in
        :attr:`order`, and agree in sizes that share a name.  They are not changed.  The results are
        in new memory.
        """

    def report(self) -> Report | None:
        """Return what a call runs; None if the back end does not say."""
        return None

    def scheduled(self) -> tuple[FunctionGraph, tuple[Scheduled, ...]] | None:
        """Return the graph that it computes and its steps, in order; None if it has none."""
        return None

    def timed(self, arrays: Sequence[Array]) -> Any:
        """Return a run of the program on arrays that times each step; None if it cannot."""
        return None

    def quick(self, wanted: Wanted, equal: Sequence[Pair]) -> Direct | None:
        """Return a way around the checks of :class:`~relgraph.api.function.Function`; None if none.

        The function returns a single result as it is, a scalar if it has no dimensions, and several
        results as a tuple of arrays, those without dimensions too.
        """
        return None

    def quick_into(self, wanted: Wanted, equal: Sequence[Pair]) -> Direct | None:
        """Return the same for arguments followed by the arrays for the results."""
        return None

    def entry(
        self, test: Callable[..., bool], run: Callable[..., Any], other: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        """Return what :meth:`quick` returned as one call in machine code; None if there is none.

        Arguments that do not pass the test, and those passed by name, go to ``other``.
        """
        return None

    def convert(self, wanted: Input, value: Any) -> Any:
        """Return an argument that the back end itself prepares for an input; None for others."""
        return None

    def holds(self, place: Any) -> bool:
        """Return True for an array of another kind than NumPy's that can take a result."""
        return False

    def into(self, arrays: Sequence[Array], places: Sequence[Array]) -> None:
        """Run the program, and put the results in places: one of its dtype for each output.

        No two places overlap; they may overlap with arguments.  A place of another shape than its
        result raises ShapeError.
        """
        for place, result in zip(places, self(arrays), strict=True):
            if place.shape != result.shape:
                raise misplaced(place.shape, result.shape)
            np.copyto(place, result)

    def computed(self, results: Sequence[Any]) -> Sequence[Any]:
        """Return results as values, if the back end's are lazy."""
        return results

    def planned(self, arrays: Sequence[Array]) -> Any:
        """Return how a call is divided into tasks; only the target "dask" does so."""
        raise CompileError(
            "only calls with Dask arrays have a plan", fix="Compile the graph with target='dask'."
        )

    def record(self, arrays: Sequence[Array]) -> Recorded:
        """Record the launches of a call; only a GPU can."""
        raise CaptureError(
            "only calls on a GPU can be recorded", fix="Compile the graph with target='cuda'."
        )


class Recorded(Protocol):
    """A recorded call."""

    def replay(self, arrays: Sequence[Array]) -> list[Any]:
        """Run it again on arrays of the same shapes; the results have the same memory each time."""
        ...


class Backend(Protocol):
    """A way to compile graphs: to a :class:`Program`, or to any callable that takes its arrays."""

    name: str

    def compile(self, graph: FunctionGraph) -> Callable[[Sequence[Array]], list[Any]]:
        """Compile a graph."""
        ...


@runtime_checkable
class Donating(Backend, Protocol):
    """A back end whose programs can compute in the memory of arguments."""

    def donating(self, names: frozenset[str]) -> Backend:
        """Return a back end whose programs may take over the memory of inputs of these names."""
        ...


def program_of(backend: Backend, graph: FunctionGraph) -> Program:
    """Compile a graph; a plain callable gets the defaults of a Program."""
    program = backend.compile(graph)
    if isinstance(program, Program):
        return program
    if not callable(program):
        raise CompileError(
            f"the backend {backend.name} compiled to {kind_of(program)}, not a program",
            {"graph": graph},
            "Return a callable that takes the list of arrays from compile(graph).",
        )
    return _Callable(program)


class _Callable(Program):
    """A callable of a user's back end, with the members of a program that it has."""

    def __init__(self, function: Any) -> None:
        self._function = function
        for name in _OPTIONAL:
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))

    @property
    def source(self) -> str:
        """The program as text."""
        return str(self._function.source)

    def __call__(self, arrays: Sequence[Array]) -> list[Any]:
        """Run it."""
        return self._function(arrays)  # type: ignore[no-any-return]


_OPTIONAL = [name for name in vars(Program) if not name.startswith("_") and name != "source"]


class OpCall:
    """An application of an op, computed by the op's own NumPy implementation.

    With ``overwrite`` an update changes its first operand, which nothing else reads, in place.
    """

    __slots__ = ("node", "perform")

    def __init__(self, node: Variable, overwrite: bool = False) -> None:
        assert node.op is not None
        self.node = node
        op: Any = node.op
        self.perform = op.overwrite if overwrite else op.performer(node)

    def __call__(self, *values: Any) -> Any:
        """Return the value as an array of the node's dtype, or as a tuple of arrays.

        An error of NumPy is raised as an error of relgraph that names the op and its operands.
        """
        try:
            result = self.perform(*values)
        except (ValueError, IndexError, OverflowError) as error:
            raise failure(self.node, values, error) from error
        type_ = self.node.type
        if not isinstance(type_, TensorType):
            return tuple(np.asarray(part) for part in result)
        array = np.asarray(result) if type_.layout == "dense" else result
        if array.dtype != type_.dtype or array.ndim != type_.ndim:
            why = f"{array.dtype} of {count_of(array.ndim, 'dimension')}"
            raise CompileError(
                f"{self.node.op!r} computed {why}, and its type rule says {type_}",
                {"node": brief(self.node, 24)},
                "Make the op's perform agree with its infer.",
            )
        return array


def released(values: Sequence[Any], held: Iterable[Any]) -> list[Any]:
    """Copy results as necessary, so that they share no memory with each other or with ``held``.

    ``held`` are the inputs and constants.  A new array that was transposed or reshaped is returned
    as it is, as NumPy would return it.
    """
    owners = {id(_owner(x)) for x in held}
    results: list[Any] = []
    for value in values:
        if isinstance(value, tuple):
            results.append(tuple(part.copy() for part in value))
            continue
        if not isinstance(value, np.ndarray):  # a sparse matrix
            results.append(value.copy())
            continue
        if id(_owner(value)) in owners or not _whole(value) or not value.flags.writeable:
            value = value.copy()
        owners.add(id(_owner(value)))
        results.append(value)
    return results


def _owner(array: Any) -> Any:
    """Return the object that owns the memory of an array."""
    base = getattr(array, "base", None)
    return array if base is None else base


def _whole(array: Array) -> bool:
    """Return True if an array owns its memory or is a transpose or reshape of all of its base."""
    base = array.base
    if base is None:
        return True
    if type(base) is not np.ndarray or base.base is not None or base.size != array.size:
        return False
    return array.flags.c_contiguous or sorted(array.strides) == sorted(base.strides)
