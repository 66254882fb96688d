"""What a backend is: a name, and a compiler from a graph to a program over arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from relgraph.backends.failures import failure
from relgraph.errors import CompileError, count_of
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.infix import brief
from relgraph.ir.node import Variable
from relgraph.ir.types import TensorType

Array = npt.NDArray[Any]


class Program(Protocol):
    """A compiled graph.

    Calling it may happen in several threads at once.  A program may have a method ``quick``: given
    the dtype and rank of each input and the pairs of sizes that must be equal, it returns a test of
    arguments, and a function that takes those that pass, one by one; or None.  That function
    returns a single result as it is, a scalar where it has no dimensions, and several as a tuple
    of arrays, those without dimensions too.
    """

    @property
    def source(self) -> str:
        """The program as text."""
        ...

    def __call__(self, arrays: Sequence[Array]) -> list[Any]:
        """Run it.

        Parameters
        ----------
        arrays : sequence of array
            One for each input of the graph, of its dtype and rank, C-contiguous and aligned;
            sizes that share a name agree.  They are not changed.

        Returns
        -------
        list of array
            One for each output, of its dtype; new memory that nothing else refers to.
        """
        ...


class Backend(Protocol):
    """A way to compile graphs."""

    name: str

    def compile(self, graph: FunctionGraph) -> Program:
        """Compile a graph."""
        ...


class OpCall:
    """An op bound to its place in a graph: computes it by its own NumPy meaning.

    Parameters
    ----------
    node : Variable
        The application to compute.
    overwrite : bool
        Whether an update changes its first operand, which nothing else reads.
    """

    __slots__ = ("node", "perform")

    def __init__(self, node: Variable, overwrite: bool = False) -> None:
        assert node.op is not None
        self.node = node
        op: Any = node.op
        self.perform = op.overwrite if overwrite else op.performer(node)

    def __call__(self, *values: Any) -> Any:
        """Return the value as an array of the node's dtype, or a tuple of arrays.

        Raises
        ------
        ShapeError, DomainError, IndexRangeError, LinearAlgebraError
            For what NumPy refuses; the message names the op and its operands.
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
    """Return results that share no memory with each other or with anything else.

    A result that is a new array with its axes in another order, or in another shape, stays as it
    is, as NumPy would return it.

    Parameters
    ----------
    values : sequence of array or tuple of arrays
        What a program computed.
    held : iterable of array
        Arrays that others refer to: inputs and constants.
    """
    taken = {id(_owner(x)) for x in held}
    results: list[Any] = []
    for value in values:
        if isinstance(value, tuple):
            results.append(tuple(part.copy() for part in value))
            continue
        if not isinstance(value, np.ndarray):  # a sparse matrix
            results.append(value.copy())
            continue
        if id(_owner(value)) in taken or not _whole(value) or not value.flags.writeable:
            value = value.copy()
        taken.add(id(_owner(value)))
        results.append(value)
    return results


def _owner(array: Any) -> Any:
    """Return what the memory of an array belongs to."""
    base = getattr(array, "base", None)
    return array if base is None else base


def _whole(array: Array) -> bool:
    """Tell whether an array has memory of its own, or is all of another one in another shape."""
    base = array.base
    if base is None:
        return True
    if type(base) is not np.ndarray or base.base is not None or base.size != array.size:
        return False
    return array.flags.c_contiguous or sorted(array.strides) == sorted(base.strides)
