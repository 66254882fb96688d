"""The Dask backend: functions of arrays in blocks, whose results are lazy Dask arrays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache, partial
from itertools import count
from math import isnan, prod
from operator import itemgetter
from typing import Any

import dask
import dask.array as da
import numpy as np

from relgraph.backends.base import Program
from relgraph.backends.failures import misplaced
from relgraph.backends.dask.dask_functions import computed
from relgraph.backends.dask.placement import Letter, Placed, Read
from relgraph.backends.dask.plan import Job, Plan, plan_of
from relgraph.backends.dask.tasks import Combine, same
from relgraph.backends.numba.compiler import NumbaBackend
from relgraph.errors import DTypeError, ShapeError
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Input, Variable
from relgraph.ir.records import record

PLANS = 64  # that one program keeps
SMALL = 2**17  # elements of partial results of which many are joined at once


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


class Assembly:
    """The Dask arrays of a plan."""

    def __init__(self, plan: Plan, arrays: Sequence[Any]) -> None:
        self.plan = plan
        self.arrays: dict[Variable, Any] = dict(zip(plan.graph.inputs, arrays, strict=True))
        self._reads: dict[Read, Any] = {}

    def results(self) -> list[Any]:
        """Return an array for each output."""
        for step in self.plan.steps:
            if isinstance(step, Job):
                self._add(step)
            else:
                operands = [self._read(read) for read in step.reads]
                self.arrays[step.node] = computed(step.node, operands)
        whole = [Read(x, self.plan.placed[x].blocks, ()) for x in self.plan.graph.outputs]
        return [self._read(read) for read in whole]

    def _read(self, read: Read) -> Any:
        if read not in self._reads:
            self._reads[read] = self._array(read)
        return self._reads[read]

    def _array(self, read: Read) -> Any:
        """Return a value in blocks, each followed by a halo."""
        x = read.node
        array = self.arrays[x] if x in self.arrays else x.value  # type: ignore[attr-defined]
        if isinstance(array, tuple):  # the results of an op that has several
            return array
        if isinstance(array, np.ndarray):
            return da.from_array(array, chunks=read.blocks) if array.ndim else da.asarray(array)
        if array.chunks != read.blocks:
            array = array.rechunk(read.blocks)
        if any(read.halo):
            depth = {axis: (0, n) for axis, n in enumerate(read.halo) if n}
            array = da.overlap.overlap(
                array, depth, dict.fromkeys(depth, "none"), allow_rechunk=False
            )
        return array

    def _add(self, job: Job) -> None:
        """Add the arrays of the outputs of a region."""
        region, placed = job.region, self.plan.placed
        grid = {letter: i for i, letter in enumerate(region.grid)}
        whole = count(len(grid))  # an index of its own for each axis in one block
        arguments: list[Any] = []
        for read, axes in job.arguments:
            index = [next(whole) if k is None else grid[k] for k in axes]
            arguments += [self._read(read), tuple(index)]
        kinds = [placed[x] for x in region.outputs]
        if len(kinds) == 1 and kinds[0].kind == "local":
            (p,) = kinds
            self.arrays[p.node] = _blockwise(job.task, p, region.grid, arguments)
            return
        several = _objects(job.task, tuple(grid.values()), arguments, region.grid)
        groups: dict[frozenset[Letter], list[int]] = {}
        for i, p in enumerate(kinds):
            if p.kind == "local":
                self.arrays[p.node] = _blockwise(itemgetter(i), p, region.grid, [several, tuple(grid.values())])
            else:
                groups.setdefault(p.reduced, []).append(i)
        for reduced, members in groups.items():
            self._combine(several, [kinds[i] for i in members], members, reduced, region.grid, len(kinds))

    def _combine(
        self,
        several: Any,
        kinds: Sequence[Placed],
        members: Sequence[int],
        reduced: frozenset[Letter],
        grid: tuple[Letter, ...],
        total: int,
    ) -> None:
        """Add the arrays of partial results over the same letters, joined in a tree."""
        if len(members) < total:
            index = tuple(range(len(grid)))
            several = _objects(itemgetter(*members), index, [several, index], grid)
        join = Combine([p.subscripts.combiner for p in kinds])  # type: ignore[union-attr, misc]
        rest = tuple([x for x in grid if x not in reduced])
        joined = da.reduction(
            several,
            chunk=same,
            combine=join,
            aggregate=join,
            axis=tuple([i for i, x in enumerate(grid) if x in reduced]),
            dtype=object,
            concatenate=False,
            split_every=dask.config.get("split_every", None) or _parts(kinds),
            meta=np.empty((0,) * len(rest), object),
        )
        for i, p in enumerate(kinds):
            pick = same if len(kinds) == 1 else itemgetter(i)
            self.arrays[p.node] = _blockwise(pick, p, rest, [joined, tuple(range(len(rest)))])


def _parts(kinds: Sequence[Placed]) -> int:
    """Return how many partial results to join at once: fewer, if they are large."""
    return 16 if max([prod(map(sum, p.blocks)) for p in kinds]) < SMALL else 4


def _objects(
    function: Callable[..., Any], index: tuple[int, ...], arguments: list[Any], grid: Sequence[Letter]
) -> Any:
    """Return an array of Python objects, one for each block of a grid."""
    return da.blockwise(
        function, index, *arguments, dtype=object, meta=np.empty((0,) * len(index), object),
        adjust_chunks={i: x.chunks for i, x in enumerate(grid)},
        align_arrays=False,
    )  # fmt: skip


def _blockwise(
    function: Callable[..., Any], p: Placed, grid: Sequence[Letter], arguments: list[Any]
) -> Any:
    """Return the array of a node whose blocks a function computes for each block of a grid."""
    place = {letter: i for i, letter in enumerate(grid)}
    new = count(10_000)
    index, sizes = [], {}
    for letter, chunks in zip(p.axes, p.blocks, strict=True):
        if letter is None:
            index.append(next(new))
            sizes[index[-1]] = chunks
        else:
            index.append(place[letter])
    return da.blockwise(
        function, tuple(index), *arguments, dtype=p.node.dtype,
        meta=np.empty((0,) * p.node.ndim, p.node.dtype), new_axes=sizes,
        adjust_chunks={i: x.chunks for x, i in place.items()},
        align_arrays=False,
    )  # fmt: skip


__all__ = ["DaskBackend", "DaskProgram"]
