"""The protocols of backends and programs, and the ops that a program computes with NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from relgraph.backends.failures import failure
from relgraph.errors import CompileError, count_of
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.ir.printing import brief
from relgraph.ir.types import TensorType

Array = npt.NDArray[Any]


class Program(Protocol):
    """A compiled graph.

    Several threads may call a program at once.  A program may have a method ``quick``: given the
    dtype and rank of each input and the pairs of sizes that must be equal, it returns a test of
    arguments and a function that takes the arguments that pass it; or None.  That function returns
    a single result directly, as a scalar if it has no dimensions, and several results as a tuple of
    arrays.
    """

    @property
    def source(self) -> str:
        """The program as text."""
        ...

    def __call__(self, arrays: Sequence[Array]) -> list[Any]:
        """Run the program.

        The arrays, one for each input, have the input's dtype and rank and are C-contiguous and
        aligned; sizes that share a name are equal.  They are not changed.  The results are one
        array for each output, of its dtype, in new memory.
        """
        ...


class Backend(Protocol):
    """A way to compile graphs."""

    name: str

    def compile(self, graph: FunctionGraph) -> Program:
        """Compile a graph."""
        ...


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
