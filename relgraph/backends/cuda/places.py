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


def targets(run: Run, outputs: Sequence[Variable], outs: Sequence[Any]) -> list[Any]:
    """Convert the ``out`` arrays for the backend; raise if two of them overlap."""
    converted = [target(run, x, out) for x, out in zip(outputs, outs, strict=True)]
    arrays = [out for out in converted if isinstance(out, DeviceArray)]
    if any(overlap(a, b) for a, b in combinations(arrays, 2)):
        raise ArgumentError(
            "two of the arrays given as out overlap",
            {"out": ", ".join(f"{array.dtype}{list(array.shape)}" for array in arrays)},
            "Give each result memory of its own.",
        )
    return converted


def target(run: Run, x: Variable, out: Any) -> Any:
    """Convert an ``out`` array on a device to a DeviceArray, or to a Foreign if it has strides."""
    if not is_device_array(out):
        return out
    array: Any = out if isinstance(out, DeviceArray) else foreign(out)
    if array.dtype != x.type.dtype:
        raise DTypeError(
            f"the array given as out for {brief(x, 24)} is {array.dtype}, "
            f"and the result {x.type.dtype}",
            {"result": x.type},
            f"Give it an array of {x.type.dtype}.",
        )
    if isinstance(array, DeviceArray):
        run.follow(array.stream)
        return array
    run.follow(adapter.stream_of(array.stream or 0))
    if array.strides is not None or not math.prod(array.shape):
        return array
    flat = adapter.adopt(array.address, array.dtype, math.prod(array.shape), array.owner)
    return DeviceArray(flat, array.shape, array.dtype, array.owner, run.stream)


def write(run: Run, x: Variable, out: Any) -> None:
    """Copy a result to its ``out`` array, unless it was computed there."""
    value = run.on_device(x) if isinstance(out, DeviceArray | Foreign) else run.on_host(x)
    if out.shape != value.shape:
        raise misplaced(out.shape, value.shape)
    if isinstance(out, Foreign):
        if out.strides is not None:
            _spread(run, value, out)
    elif not isinstance(out, DeviceArray):
        np.copyto(out, value)
    elif value is not out:
        run.copy(value, out)


def _spread(run: Run, value: DeviceArray, out: Foreign) -> None:
    """Copy a result to a strided array."""
    assert out.strides is not None
    whole, first = whole_of(run, out)
    dims = list(zip(value.shape, contiguous_strides(value.shape), out.strides, strict=True))
    copy_strided(run, Move(flat_of(value), flat_of(whole), dims, value.dtype, 0, first))
