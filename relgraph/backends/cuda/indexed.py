"""Gathers and scatters: elements at the indices in an array of integers."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.backends.base import OpCall
from relgraph.backends.cuda.arrays import DeviceArray, flat_of
from relgraph.backends.cuda.grid_printer import printed_on_grid
from relgraph.backends.cuda.kernel_text import Text
from relgraph.backends.cuda.launches import blocks, compiled
from relgraph.backends.cuda.libraries import cupy, from_cupy, on_stream, view
from relgraph.backends.cuda.movement import strided_copy
from relgraph.backends.cuda.primitives import geometry
from relgraph.ir.node import Variable
from relgraph.lowering.nests.grid import moves

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run

_FULL = ("slice", None, None, None)


def taken_axis(spec: tuple[tuple[Any, ...], ...]) -> int | None:
    """Return the axis of a key's only index array; None for other keys."""
    kinds = [entry[0] for entry in spec]
    if kinds.count("array") != 1 or not all(
        entry == _FULL or entry[0] == "array" for entry in spec
    ):
        return None
    return kinds.index("array")


def masked_axes(spec: tuple[tuple[Any, ...], ...]) -> tuple[int, int] | None:
    """Return the range of axes of a key's only mask, as start and stop; None for other keys."""
    masks = [entry for entry in spec if entry[0] == "mask"]
    if len(masks) != 1 or not all(entry == _FULL or entry[0] == "mask" for entry in spec):
        return None
    first = spec.index(masks[0])
    return first, first + int(masks[0][1])


@lru_cache(maxsize=64)
def gather_text(dtype: str, index: str, threads: int) -> Text:
    """Return the kernel of a gather along an axis."""
    return printed_on_grid(moves.gather(dtype, index), threads, indices="int64")


def gather(run: Run, node: Variable, axis: int) -> DeviceArray:
    """Return the elements of an array at the indices in another one, along an axis."""
    x, indices = (run.on_device(y) for y in node.inputs)
    if not indices.size or not x.size:
        return _gathered(run, x, indices, axis, None)
    run.refuse_recording(node)  # the check that indices are in range comes after the call
    flag = run.moved(np.zeros(1, np.int32))
    result = _gathered(run, x, indices, axis, flag)

    def check() -> None:
        if flag.to_host(run.stream)[0]:
            OpCall(node)(x.to_host(run.stream), indices.to_host(run.stream))  # raises NumPy's error

    run.checks.append(check)
    return result


def _gathered(
    run: Run, x: DeviceArray, indices: DeviceArray, axis: int, flag: DeviceArray | None
) -> DeviceArray:
    """Gather along an axis; None for ``flag`` means that all indices are in range."""
    result = run.empty((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)
    if not result.size:
        return result
    flag = run.empty((1,), np.dtype(np.int32)) if flag is None else flag
    threads = geometry().threads
    inner = math.prod(x.shape[axis + 1 :])
    run.launch(
        compiled(gather_text(x.dtype.name, indices.dtype.name, threads)),
        (blocks(result.size, threads),),
        (threads,),
        [
            result.size, indices.size, x.shape[axis], inner,
            flat_of(flag), flat_of(x), flat_of(indices), flat_of(result),
        ],
    )  # fmt: skip
    return result


def _masked(run: Run, x: DeviceArray, node: Variable, axes: tuple[int, int]) -> DeviceArray:
    """Return an array with the axes of a mask merged into one."""
    first, last = axes
    mask = run.shapes[node.inputs[-1]]
    if mask != x.shape[first:last]:
        OpCall(node)(*[run.on_host(y) for y in node.inputs])  # raises NumPy's error
    return x.part((*x.shape[:first], math.prod(mask), *x.shape[last:]))


def _selected(run: Run, mask: Variable) -> DeviceArray:
    """Return the indices at which a mask is true, from CuPy or from the CPU."""
    run.refuse_recording(mask)  # their number decides the shape of the result
    if cupy() is None:
        return run.moved(np.flatnonzero(run.on_host(mask)))
    with on_stream(run):
        indices = cupy().flatnonzero(view(run.on_device(mask)))
        return from_cupy(indices, np.dtype(np.int64), run.stream)


def select(run: Run, node: Variable, axes: tuple[int, int]) -> DeviceArray:
    """Return the elements of an array where a mask is true."""
    x = _masked(run, run.on_device(node.inputs[0]), node, axes)
    return _gathered(run, x, _selected(run, node.inputs[1]), axes[0], None)


def add_selected(run: Run, node: Variable, axes: tuple[int, int]) -> DeviceArray:
    """Return an array with values added where a mask is true."""
    array = run.on_device(node.inputs[0])
    merged = _masked(run, array, node, axes)
    indices = _selected(run, node.inputs[2]).to_host(run.stream)
    shape = (*merged.shape[: axes[0]], indices.size, *merged.shape[axes[0] + 1 :])
    value = run.on_device(node.inputs[1])
    try:
        np.broadcast_to(np.empty(value.shape, np.int8), shape)
    except ValueError:
        OpCall(node)(*[run.on_host(y) for y in node.inputs])  # raises NumPy's error
    return _scattered(run, merged, value, indices, axes[0]).part(array.shape)


@lru_cache(maxsize=64)
def scatter_text(dtype: str, threads: int) -> Text:
    """Return the kernel that adds to rows of an array, in the order of the key."""
    return printed_on_grid(moves.scatter(dtype), threads, indices="int64")


@lru_cache(maxsize=64)
def atomic_text(dtype: str, index: str, threads: int) -> Text:
    """Return the kernel that adds to rows of an array atomically, in no fixed order."""
    return printed_on_grid(moves.atomic_scatter(dtype, index), threads, indices="int64")


ATOMIC = frozenset({"float32", "float64", "int32", "int64", "uint32", "uint64"})


def scatter_add(run: Run, node: Variable, axis: int) -> DeviceArray:
    """Return an array with values added at some indices along an axis.

    Each element receives its updates in the order of the key, for which the CPU sorts the indices,
    so that every run gives the same result.  A program with ``deterministic=False`` adds
    atomically.
    """
    array, value = (run.on_device(y) for y in node.inputs[:2])
    index = run.on_host(node.inputs[2])
    size = array.shape[axis]
    if index.size and (index.min() < -size or index.max() >= size):
        OpCall(node)(*[run.on_host(x) for x in node.inputs])  # raises NumPy's error
    return _scattered(run, array, value, index, axis)


def _scattered(
    run: Run, array: DeviceArray, value: DeviceArray, index: np.ndarray[Any, Any], axis: int
) -> DeviceArray:
    """Add values at indices along an axis, all of which are in range."""
    size = array.shape[axis]
    shape = (*array.shape[:axis], *index.shape, *array.shape[axis + 1 :])
    spread = np.broadcast_to(np.empty(value.shape, np.int8), shape)
    value = strided_copy(run, value, 0, shape, spread.strides)
    result = run.empty(array.shape, array.dtype)
    run.copy(array, result)
    if not value.size or not array.size:
        return result
    threads, inner = geometry().threads, math.prod(array.shape[axis + 1 :])
    outer = math.prod(array.shape[:axis])
    if not run.deterministic and array.dtype.name in ATOMIC:
        device_index = run.moved(index)
        run.launch(
            compiled(atomic_text(array.dtype.name, device_index.dtype.name, threads)),
            (blocks(value.size, threads),),
            (threads,),
            [
                value.size, index.size, size, inner,
                flat_of(device_index), flat_of(value), flat_of(result),
            ],
        )  # fmt: skip
        return result
    flat = index.reshape(-1).astype(np.int64)
    flat = np.where(flat < 0, flat + size, flat)
    order = np.argsort(flat, kind="stable")
    changed, starts = np.unique(flat[order], return_index=True)
    starts = np.append(starts, len(flat))
    tables = [run.moved(x.astype(np.int64)) for x in (changed, starts, order)]
    n = outer * len(changed) * inner
    run.launch(
        compiled(scatter_text(array.dtype.name, threads)),
        (blocks(n, threads),),
        (threads,),
        [
            n, len(changed), index.size, size, inner,
            *map(flat_of, tables), flat_of(value), flat_of(result),
        ],
    )  # fmt: skip
    return result
