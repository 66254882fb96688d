"""The Dask backend: functions of arrays in blocks, whose results are lazy Dask arrays."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache, partial
from math import isnan
from typing import Any

import dask
import dask.array as da
import numpy as np

from relgraph.backends.base import Program
from relgraph.backends.dask.assembly import Assembly
from relgraph.backends.dask.plan import Plan, plan_of
from relgraph.backends.failures import misplaced
from relgraph.backends.numba.compiler import NumbaBackend
from relgraph.errors import DTypeError, ShapeError
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Input
from relgraph.ir.records import record

PLANS = 64  # that one program keeps


@record
class DaskBackend:
    """Compiles a graph to tasks on blocks of arrays, which Dask runs.

    ``blocks`` is the backend that computes a block.
    """

    blocks: NumbaBackend = NumbaBackend()

    name = "dask"

    @classmethod
    def with_choices(cls, choices: Collection[str] | None) -> DaskBackend:
        """Return the backend with these lowering choices; None enables all of them."""
        return cls(NumbaBackend.with_choices(choices))

    def compile(self, graph: FunctionGraph) -> DaskProgram:
        """Return the program of a graph; it is planned at a call, when the blocks are known."""
        return DaskProgram(graph, self.blocks)


class DaskProgram(Program):
    """A graph that makes Dask arrays of Dask arrays."""

    def __init__(self, graph: FunctionGraph, backend: NumbaBackend) -> None:
        self._graph = graph
        self._plans = lru_cache(maxsize=PLANS)(partial(plan_of, graph, backend))

    @property
    def source(self) -> str:
        """The graph; its tasks depend on the blocks of the arguments."""
        return str(self._graph)

    def convert(self, wanted: Input, value: Any) -> Any:
        """Return a Dask array for one, and for what holds one, such as an array of xarray's."""
        array = _dask_array(value)
        if array is None:
            return None
        if any(map(isnan, array.shape)):
            raise ShapeError(
                f"the blocks of {wanted.name!r} have sizes that are not known",
                {"declared": wanted.type, "given": f"shape {array.shape}"},
                "Compute them with x.compute_chunk_sizes(); of a data frame, take "
                "frame.to_dask_array(lengths=True).",
            )
        if array.dtype != wanted.dtype:
            if not np.can_cast(array.dtype, wanted.dtype, "safe"):
                raise DTypeError(
                    f"the input {wanted.name!r} is {wanted.dtype}, and the array given is "
                    f"{array.dtype}",
                    {"declared": wanted.type, "given": f"{array.dtype}, shape {array.shape}"},
                    f"Convert it with .astype({wanted.dtype.name!r}).",
                )
            array = array.astype(wanted.dtype)
        if not array.size:
            return da.zeros(array.shape, dtype=array.dtype, chunks=array.shape)
        if 0 in [size for chunks in array.chunks for size in chunks]:
            array = array.rechunk(tuple([tuple(filter(None, chunks)) for chunks in array.chunks]))
        return array

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """Return lazy arrays; nothing is computed."""
        return Assembly(self.planned(arrays), arrays).results()

    def computed(self, results: Sequence[Any]) -> Sequence[Any]:
        """Compute arrays together, by the scheduler that Dask would use."""
        return dask.compute(*results)  # type: ignore[no-any-return]

    def into(self, arrays: Sequence[Any], places: Sequence[Any]) -> None:
        """Compute the results, and copy them to arrays of NumPy's."""
        for place, result in zip(places, self.computed(self(arrays)), strict=True):
            if place.shape != result.shape:
                raise misplaced(place.shape, result.shape)
            np.copyto(place, result)

    def planned(self, arrays: Sequence[Any]) -> Plan:
        """Return the plan for arguments in their blocks."""
        blocks = [
            tuple([(size,) for size in x.shape]) if isinstance(x, np.ndarray) else x.chunks
            for x in arrays
        ]
        return self._plans(tuple(blocks))


def _dask_array(value: Any) -> Any:
    if isinstance(value, da.Array):
        return value
    data = getattr(value, "data", None)
    return data if isinstance(data, da.Array) else None


__all__ = ["DaskBackend", "DaskProgram"]
