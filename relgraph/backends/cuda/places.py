"""Arrays given as ``out``: device arrays, contiguous or strided, and NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.backends.cuda import adapter
from relgraph.backends.cuda.arrays import (
    DeviceArray,
    Foreign,
    flat_of,
    foreign,
    is_device_array,
    overlap,
)
from relgraph.backends.cuda.movement import Move, contiguous_strides, copy_strided, whole_of
from relgraph.backends.failures import misplaced
from relgraph.errors import ArgumentError, DTypeError
from relgraph.ir.infix import brief
from relgraph.ir.node import Variable

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run


def targets(run: Run, outputs: Sequence[Variable], places: Sequence[Any]) -> list[Any]:
    """Convert the arrays given as ``out`` for the backend; raise if they overlap."""
    found = [target(run, x, place) for x, place in zip(outputs, places, strict=True)]
    mine = [place for place in found if isinstance(place, DeviceArray)]
    if any(overlap(a, b) for a, b in combinations(mine, 2)):
        raise ArgumentError(
            "two of the arrays given as out overlap",
            {"out": ", ".join(f"{place.dtype}{list(place.shape)}" for place in mine)},
            "Give each result memory of its own.",
        )
    return found


def target(run: Run, x: Variable, place: Any) -> Any:
    """Convert an array given as ``out`` to a DeviceArray, a strided array, or NumPy's."""
    if not is_device_array(place):
        return place
    given: Any = place if isinstance(place, DeviceArray) else foreign(place)
    if given.dtype != x.type.dtype:
        raise DTypeError(
            f"the array given as out for {brief(x, 24)} is {given.dtype}, "
            f"and the result {x.type.dtype}",
            {"result": x.type},
            f"Give it an array of {x.type.dtype}.",
        )
    if isinstance(given, DeviceArray):
        run.follow(given.stream)
        return given
    run.follow(adapter.stream_of(given.stream or 0))
    if given.strides is not None or not math.prod(given.shape):
        return given
    flat = adapter.adopt(given.address, given.dtype, math.prod(given.shape), given.owner)
    return DeviceArray(flat, given.shape, given.dtype, given.owner, run.stream)


def write(run: Run, x: Variable, place: Any) -> None:
    """Copy a result to its ``out`` array, unless it was computed there."""
    value = run.on_device(x) if isinstance(place, DeviceArray | Foreign) else run.on_host(x)
    if place.shape != value.shape:
        raise misplaced(place.shape, value.shape)
    if isinstance(place, Foreign):
        if place.strides is not None:
            _spread(run, value, place)
    elif not isinstance(place, DeviceArray):
        np.copyto(place, value)
    elif value is not place:
        run.copy(value, place)


def _spread(run: Run, value: DeviceArray, place: Foreign) -> None:
    """Copy a result to a strided array."""
    assert place.strides is not None
    whole, first = whole_of(run, place)
    dims = list(zip(value.shape, contiguous_strides(value.shape), place.strides, strict=True))
    copy_strided(run, Move(flat_of(value), flat_of(whole), dims, value.dtype, 0, first))
