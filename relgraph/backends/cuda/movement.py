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
from relgraph.backends.cuda.launches import NARROW, blocks, compiled
from relgraph.backends.cuda.primitives import geometry
from relgraph.backends.cuda.source import Text

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run

Dims = list[tuple[int, int, int]]  # the size and both strides of each axis, in elements


@lru_cache(maxsize=256)
def copy_text(dtype: str, ndim: int, wide: bool, threads: int) -> Text:
    """Write the kernel that copies one strided array to another.

    Its parameters are the number of elements, the offset of the first element in each array, the
    size and both strides of each axis, and the arrays.
    """
    text = Text()
    text.parameters = [("n", "uint64" if wide else "uint32"), ("a", "int64"), ("b", "int64")]
    for g in range(ndim):
        text.parameters += [(f"n{g}", "uint64" if wide else "uint32")]
        text.parameters += [(f"s{g}", "int64"), (f"d{g}", "int64")]
    text.parameters += [("x", f"{dtype}[::1]"), ("o", f"{dtype}[::1]")]
    index = "windex" if wide else "uindex"
    with text.each("e", "n", threads, index):
        text.line("source = a")
        text.line("target = b")
        text.line("rest = e")
        for g in reversed(range(ndim)):
            text.line(f"q = {index}(rest // n{g})")
            text.line(f"i = int64(rest - q * n{g})")
            text.line(f"source = int64(source + i * s{g})")
            text.line(f"target = int64(target + i * d{g})")
            text.line("rest = q")
        text.line("o[windex(target)] = x[windex(source)]")
    return text


@lru_cache(maxsize=64)
def transpose_text(dtype: str, tile: int, rows: int) -> Text:
    """Write the kernel that transposes matrices through tiles in shared memory.

    Its parameters are the number of matrices, the rows and columns of a result, the offset of the
    first element of the source, the source's strides of matrices and of columns, and the arrays.
    """
    text = Text()
    text.parameters = [(name, "int64") for name in ("count", "n0", "n1", "a", "matrix", "column")]
    text.parameters += [("x", f"{dtype}[::1]"), ("o", f"{dtype}[::1]")]
    number = "int8" if dtype == "bool" else dtype
    text.line(f"tile = cuda.shared.array(({tile}, {tile + 1}), {number})")
    text.line(f"across = (n1 + {tile - 1}) // {tile}")
    text.line(f"tiles = (n0 + {tile - 1}) // {tile} * across")
    text.line("t = int64(cuda.threadIdx.x)")
    text.line("block = int64(cuda.blockIdx.x)")
    text.open("while block < tiles * count:")
    text.line("b = block // tiles")
    text.line("down = block % tiles // across")
    text.line(f"i = down * {tile}")
    text.line(f"j = (block % tiles - down * across) * {tile}")
    text.open(f"for k in range(cuda.threadIdx.y, {tile}, {rows}):")
    text.open("if (i + t < n0) & (j + k < n1):")
    text.line("tile[k, t] = x[windex(a + b * matrix + (j + k) * column + i + t)]")
    text.close()
    text.close()
    text.line("cuda.syncthreads()")
    text.open(f"for k in range(cuda.threadIdx.y, {tile}, {rows}):")
    text.open("if (i + k < n0) & (j + t < n1):")
    text.line("o[windex((b * n0 + i + k) * n1 + j + t)] = tile[t, k]")
    text.close()
    text.close()
    text.line("cuda.syncthreads()")
    text.line("block = block + int64(cuda.gridDim.x)")
    text.close()
    return text


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
    text = copy_text(move.dtype.name, len(dims), n >= NARROW, threads)
    numbers = [number for axis in dims for number in axis]
    run.launch(
        compiled(text),
        (blocks(n, threads),),
        (threads,),
        [n, move.source_offset, move.target_offset, *numbers, move.source, move.target],
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
        compiled(transpose_text(move.dtype.name, tile, rows)),
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
