"""Out arguments: which results are computed in them, and which are copied to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from relgraph.backends.base import Array
from relgraph.backends.failures import misplaced
from relgraph.backends.numba.namespace import ready
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.lowering.buffers import in_place, last_reads, pinned_values
from relgraph.lowering.kernels import Step


def direct_places(
    places: Sequence[Array],
    arguments: Sequence[Array],
    donated: Collection[int],
    in_place: Sequence[Collection[int]],
) -> list[Array | None]:
    """Return the out arguments in which results can be computed directly, and None for the others.

    ``donated`` holds the positions of the arguments whose memory may be reused.  ``in_place``
    holds, for each result, the positions of the arguments that may be the same array as its out
    argument.
    """
    arrays = [x for x in arguments if type(x) is np.ndarray]

    def is_free(place: Array, allowed: Collection[int]) -> bool:
        if ready(place) is not place or not place.dtype.isnative:
            return False
        if any(np.may_share_memory(place, arguments[i]) for i in donated):
            return False
        return not any(
            np.may_share_memory(place, x)
            and not (
                _same_elements(place, x)
                and all(y is not x or i in allowed for i, y in enumerate(arguments))
            )
            for x in arrays
        )

    return [
        place if is_free(place, allowed) else None
        for place, allowed in zip(places, in_place, strict=True)
    ]


def copy_to_places(places: Sequence[Array], results: Sequence[Array]) -> None:
    """Copy the results that were not computed in their out arguments.

    Raise ShapeError, before anything is copied, if an out argument has the wrong shape.
    """
    waiting = [
        # A result may be a view of an input that is the out argument of another result.
        (place, result.copy() if any(np.may_share_memory(result, x) for x in places) else result)
        for place, result in zip(places, results, strict=True)
        if result is not place and not _same_elements(place, result)
    ]
    for place, result in waiting:
        if place.shape != result.shape:
            raise misplaced(place.shape, result.shape)
    for place, result in waiting:
        np.copyto(place, result)


def in_place_results(
    graph: FunctionGraph, steps: Sequence[Step], first: Mapping[Variable, Variable]
) -> list[set[int]]:
    """Return, for each output, the inputs that may be the same array as its out argument.

    No step after the one that computes the output reads these inputs, that step reads them element
    by element, and no other output reuses their memory.  ``first`` maps each output to the first
    value computed in its memory.
    """
    inputs_of_outputs: list[set[int]] = []
    last = last_reads(graph, steps, graph.inputs)
    viewed = pinned_values(steps)  # a view may be read after the last read of its input
    viewed.update(graph.outputs)
    producer = {x: i for i, step in enumerate(steps) for x in step.results}
    for x in map(first.__getitem__, graph.outputs):
        index = producer.get(x)
        if index is None:
            inputs_of_outputs.append(set())
            continue
        reads = steps[index].reads
        safe = set(in_place(steps[index], x, reads))
        inputs_of_outputs.append(
            {
                k
                for k, y in enumerate(graph.inputs)
                if y not in viewed and last.get(y, -1) <= index and (y in safe or y not in reads)
            }
        )
    return inputs_of_outputs


def _same_elements(a: Array, b: Array) -> bool:
    one, two = a.__array_interface__["data"], b.__array_interface__["data"]
    return one == two and a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides


__all__ = ["copy_to_places", "direct_places", "in_place_results"]
