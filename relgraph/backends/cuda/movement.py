"""Kernels that copy elements between layouts, and transpose matrices through shared memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.backends.cuda import adapter
from relgraph.backends.cuda.arrays import DeviceArray, Foreign, flat_of
from relgraph.backends.cuda.grid_printer import printed_on_grid
from relgraph.backends.cuda.kernel_text import Text
from relgraph.backends.cuda.launches import NARROW, blocks, compiled, indices
from relgraph.backends.cuda.primitives import geometry
from relgraph.lowering.nests.grid import moves

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run

Dims = list[tuple[int, int, int]]  # the size and both strides of each axis, in elements


@lru_cache(maxsize=256)
def copy_text(dtype: str, ndim: int, wide: bool, threads: int) -> Text:
    """Return the kernel that copies one strided array to another."""
    return printed_on_grid(moves.copy(dtype, ndim), threads, indices=indices(wide))


@lru_cache(maxsize=64)
def transpose_text(dtype: str, tile: int) -> Text:
    """Return the kernel that transposes matrices through tiles in shared memory."""
    return printed_on_grid(moves.transpose(dtype, tile), tile, indices="int64")


def merged_dims(dims: Dims) -> Dims:
    """Merge adjacent axes that are contiguous with each other in both arrays."""
    merged: Dims = []
    for n, source, target in dims:
        if n == 1:
            continue
        if merged:
            m, outer_source, outer_target = merged[-1]
            if outer_source == n * source and outer_target == n * target:
                merged[-1] = (m * n, source, target)
                continue
        merged.append((n, source, target))
    return merged or [(1, 0, 0)]


@dataclass(frozen=True)
class Move:
    """A copy of elements between flat arrays on the device.

    Attributes
    ----------
    source, target
        The array to read, and the array to write.
    dims
        The size of each axis, and its strides in both arrays, in elements.
    dtype
        The dtype of the elements.
    source_offset, target_offset
        The offset of the first element in each array.
    """

    source: Any
    target: Any
    dims: Dims
    dtype: np.dtype[Any]
    source_offset: int = 0
    target_offset: int = 0


def copy_strided(run: Run, move: Move) -> None:
    """Copy elements between flat arrays on the device."""
    n = math.prod(size for size, _, _ in move.dims)
    if n == 0:
        return
    dims = merged_dims(move.dims)
    if move.target_offset == 0 and _is_transpose(dims):
        _transpose(run, move, dims)
        return
    threads = geometry().threads
    numbers = [move.source_offset, move.target_offset, *[x for axis in dims for x in axis]]
    wide = max(n, move.source.size, move.target.size) >= NARROW
    # Sums of numbers without a sign wrap around to the offset.
    numbers = [x % (1 << (64 if wide else 32)) for x in numbers]
    run.launch(
        compiled(copy_text(move.dtype.name, len(dims), wide, threads)),
        (blocks(n, threads),),
        (threads,),
        [n, *numbers, move.source, move.target],
    )


def _is_transpose(dims: Dims) -> bool:
    """Return True if the copy transposes matrices into a contiguous target."""
    if len(dims) not in (2, 3):
        return False
    (n0, s0, d0), (n1, s1, d1) = dims[-2:]
    if len(dims) == 3 and dims[0][2] != n0 * n1:
        return False
    return s0 == 1 and s1 > 1 and d1 == 1 and d0 == n1


def _transpose(run: Run, move: Move, dims: Dims) -> None:
    (n0, _, _), (n1, column, _) = dims[-2:]
    count, matrix = (dims[0][0], dims[0][1]) if len(dims) == 3 else (1, 0)
    tile, rows = (4, 2) if adapter.simulated() else (32, 8)
    tiles = -(-n0 // tile) * -(-n1 // tile) * count
    run.launch(
        compiled(transpose_text(move.dtype.name, tile)),
        (blocks(tiles, 1),),
        (tile, rows),
        [count, n0, n1, move.source_offset, matrix, column, move.source, move.target],
    )


def strided_copy(
    run: Run, array: DeviceArray, first: int, shape: Sequence[int], strides: Sequence[int]
) -> DeviceArray:
    """Copy a view, given by its strides in elements, to a new array."""
    result = run.empty(tuple(shape), array.dtype)
    target_strides = contiguous_strides(shape)
    dims = list(zip(shape, strides, target_strides, strict=True))
    copy_strided(run, Move(flat_of(array), flat_of(result), dims, array.dtype, first))
    return result


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a contiguous array, in elements."""
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))


def whole_of(run: Run, array: Foreign) -> tuple[DeviceArray, int]:
    """Return the memory that spans a strided array, and the offset of its first element."""
    assert array.strides is not None
    low = sum(min(0, (n - 1) * s) for n, s in zip(array.shape, array.strides, strict=True))
    high = sum(max(0, (n - 1) * s) for n, s in zip(array.shape, array.strides, strict=True))
    start = array.address + low * array.dtype.itemsize
    flat = adapter.adopt(start, array.dtype, high - low + 1, array.owner)
    return DeviceArray(flat, (high - low + 1,), array.dtype, array.owner, run.stream), -low


def contiguous(run: Run, array: Foreign) -> DeviceArray:
    """Copy a strided array of another library to a contiguous one."""
    assert array.strides is not None
    whole, first = whole_of(run, array)
    return strided_copy(run, whole, first, array.shape, array.strides)
