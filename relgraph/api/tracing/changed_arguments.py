"""Arguments that a traced function changes in place: the caller's arrays change, as with NumPy."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from relgraph.api.argument_conversion import array_of
from relgraph.api.out_arguments import overlaps_itself
from relgraph.api.tracing.tracer import Tracer
from relgraph.errors import ArgumentError, kind_of
from relgraph.ir.node import Input
from relgraph.ir.records import record

_WORK = 100_000  # elements to compare before two arrays count as overlapping


@record(eq=False)
class Updates:
    """The arguments that a traced function changes, and what it requires of arguments.

    Attributes
    ----------
    indices : tuple of int
        The positions of the changed arrays among the arguments, in order.
    names : tuple of str
        Their names.
    by_order : bool
        Whether arrays have to be in C order, because the function writes to reshaped arrays.
    """

    indices: tuple[int, ...]
    names: tuple[str, ...]
    by_order: bool

    def __bool__(self) -> bool:
        return bool(self.indices) or self.by_order

    def aliases(
        self, arrays: Sequence[Any], others: Mapping[int, Any] = MappingProxyType({})
    ) -> dict[int, int]:
        """Return the index of the first occurrence of each array that is passed several times.

        Parameters
        ----------
        arrays : sequence of array
            The arguments of a call.
        others : mapping of int to object
            The arguments that are not NumPy arrays, by the index of the array converted from each.

        Raises
        ------
        ArgumentError
            For an array that cannot be changed, or that overlaps another one in part.
        """
        self._check(arrays, others)
        aliases: dict[int, int] = {}
        for i, name in zip(self.indices, self.names, strict=True):
            for j, other in enumerate(arrays):
                if i == j or not _overlap(arrays[i], other):
                    continue
                if not _same(arrays[i], other):
                    raise ArgumentError(
                        f"the traced function changes its argument {name!r} in place, and another "
                        "argument is in a part of the same memory",
                        {"shapes": f"{arrays[i].shape} and {other.shape}"},
                        "Pass a copy of one of them, or make both views in the function.",
                    )
                first, second = sorted((i, j))
                aliases[second] = min(first, aliases.get(second, first))
        return aliases

    def _check(self, arrays: Sequence[Any], others: Mapping[int, Any]) -> None:
        for i, name in zip(self.indices, self.names, strict=True):
            array, original = arrays[i], others.get(i)
            reason = ""
            if not isinstance(array, np.ndarray):
                reason = "is a Dask array"
            elif not array.flags.writeable:
                reason = "is read-only"
            elif overlaps_itself(array):
                reason = "overlaps itself"
            if original is not None and not np.may_share_memory(array, array_of(original)):
                reason = f"is {kind_of(original)}, whose array is a copy"
            if reason:
                raise ArgumentError(
                    f"the traced function changes its argument {name!r} in place, and the array "
                    + reason,
                    {"array": f"{array.dtype}, shape {array.shape}"},
                    "Pass a writable NumPy array, such as a copy.",
                )
        if self.by_order and not all(x.flags.c_contiguous for x in arrays):
            raise ArgumentError(
                "the traced function writes to arrays that it reshapes, and an argument is not in "
                "C order, so that NumPy may make copies where the trace has views",
                fix="Pass np.ascontiguousarray(x), or write x.reshape(shape).copy().",
            )

    def written(self, values: Sequence[Any], arrays: Sequence[Any]) -> Sequence[Any]:
        """Write new elements to the arguments, and return all values.

        Parameters
        ----------
        values : sequence of array
            The new elements, in order of the indices, then other results.
        arrays : sequence of array
            The arguments.
        """
        targets = [arrays[i] for i in self.indices]
        if len(values) == len(targets) and all(map(operator.is_, values, targets)):
            return values
        # A program may return values in the memory of arguments that it may overwrite.
        safe = list(values)
        for i, x in enumerate(values):
            for j, target in enumerate(targets):
                if i != j and isinstance(x, np.ndarray) and np.may_share_memory(x, target):
                    safe[i] = x.copy()
                    break
        for x, target in zip(safe, targets, strict=False):
            if x is target:
                continue
            if x.dtype == target.dtype:
                np.copyto(target, x)
            else:
                with np.errstate(over="ignore"):
                    np.copyto(target, x, casting="same_kind")
        return safe


def updates_of(tracers: Sequence[Tracer], inputs: Sequence[Input], by_order: bool) -> Updates:
    """Return the arguments whose elements a trace has changed.

    Parameters
    ----------
    tracers : sequence of Tracer
        The arguments.
    inputs : sequence of Input
        Their inputs; arguments that are one array share the first input.
    by_order : bool
        Whether writes depend on the order of elements in memory.
    """
    first: dict[int, int] = {}
    for i, x in enumerate(tracers):
        first.setdefault(id(x._storage), i)
    changed = [i for i in first.values() if tracers[i]._storage.node is not inputs[i]]
    return Updates(tuple(changed), tuple(inputs[i].name for i in changed), by_order)


def _overlap(x: Any, y: Any) -> bool:
    if not np.may_share_memory(x, y):
        return False
    try:
        return np.shares_memory(x, y, max_work=_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _same(x: Any, y: Any) -> bool:
    """Return True if two arrays have the same elements in the same memory."""
    layouts = [(a.dtype, a.shape, a.strides, a.__array_interface__["data"]) for a in (x, y)]
    return bool(layouts[0] == layouts[1])
