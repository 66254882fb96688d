"""The Dask arrays of a plan: a layer of tasks for each region, and trees that join its results.

Only Dask's public functions make them, so that its own optimisations apply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from math import prod
from operator import itemgetter
from typing import Any

import dask
import dask.array as da
import numpy as np

from relgraph.backends.dask.dask_functions import computed
from relgraph.backends.dask.placement import Letter, Placed, Read
from relgraph.backends.dask.plan import Job, Plan
from relgraph.backends.dask.tasks import Combine, same
from relgraph.ir.node import Constant, Variable

SMALL = 2**17  # elements of partial results of which many are joined at once
_NEW = 10_000  # the first index of axes that only a result has


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
        array = x.value if isinstance(x, Constant) else self.arrays[x]
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
        grid = job.region.grid
        whole = count(len(grid))  # an index of its own for each axis in one block
        arguments: list[Any] = []
        for read, axes in job.arguments:
            index = [next(whole) if k is None else grid.index(k) for k in axes]
            arguments += [self._read(read), tuple(index)]
        outputs = [self.plan.placed[x] for x in job.region.outputs]
        if len(outputs) == 1 and outputs[0].kind == "local":
            self._set(outputs[0], job.task, grid, arguments)
            return
        blocks = _objects(job.task, grid, arguments)  # tuples, of a block for each output
        if len(outputs) == 1:
            self._combine(outputs, grid, blocks)
            return
        several = [blocks, tuple(range(len(grid)))]
        groups: dict[frozenset[Letter], list[int]] = {}
        for i, p in enumerate(outputs):
            if p.kind == "local":
                self._set(p, itemgetter(i), grid, several)
            else:
                groups.setdefault(p.reduced, []).append(i)
        for members in groups.values():
            if len(members) < len(outputs):
                blocks = _objects(itemgetter(*members), grid, several)
            self._combine([outputs[i] for i in members], grid, blocks)

    def _combine(self, outputs: Sequence[Placed], grid: tuple[Letter, ...], blocks: Any) -> None:
        """Add the arrays of partial results over the same letters, joined in a tree."""
        reduced = outputs[0].reduced
        rest = tuple([x for x in grid if x not in reduced])
        join = Combine([p.subscripts.combiner for p in outputs])  # type: ignore[union-attr, misc]
        joined = da.reduction(
            blocks,
            chunk=same,
            combine=join,
            aggregate=join,
            axis=tuple([i for i, x in enumerate(grid) if x in reduced]),
            dtype=object,
            concatenate=False,
            split_every=dask.config.get("split_every", None) or _parts(outputs),
            meta=np.empty((0,) * len(rest), object),
        )
        for i, p in enumerate(outputs):
            pick = same if len(outputs) == 1 else itemgetter(i)
            self._set(p, pick, rest, [joined, tuple(range(len(rest)))])

    def _set(
        self, p: Placed, function: Callable[..., Any], grid: Sequence[Letter], arguments: list[Any]
    ) -> None:
        """Set the array of a node whose blocks a function computes for each block of a grid."""
        new = count(_NEW)
        index, sizes = [], {}
        for letter, chunks in zip(p.axes, p.blocks, strict=True):
            index.append(next(new) if letter is None else grid.index(letter))
            if letter is None:
                sizes[index[-1]] = chunks
        self.arrays[p.node] = da.blockwise(
            function,
            tuple(index),
            *arguments,
            dtype=p.node.dtype,
            meta=np.empty((0,) * p.node.ndim, p.node.dtype),
            new_axes=sizes,
            adjust_chunks={i: x.chunks for i, x in enumerate(grid)},
            align_arrays=False,
        )


def _parts(kinds: Sequence[Placed]) -> int:
    """Return how many partial results to join at once: fewer, if they are large."""
    return 16 if max([prod(map(sum, p.blocks)) for p in kinds]) < SMALL else 4


def _objects(function: Callable[..., Any], grid: Sequence[Letter], arguments: list[Any]) -> Any:
    """Return an array of Python objects, one for each block of a grid."""
    return da.blockwise(
        function,
        tuple(range(len(grid))),
        *arguments,
        dtype=object,
        meta=np.empty((0,) * len(grid), object),
        adjust_chunks={i: x.chunks for i, x in enumerate(grid)},
        align_arrays=False,
    )


__all__ = ["Assembly"]
