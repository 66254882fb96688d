"""Device versions of ops that are not loop nests: views, products, joins, gathers, scatters, loops.

Ops without a function here run on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.backends.base import OpCall
from relgraph.backends.cuda.arrays import DeviceArray, flat_of
from relgraph.backends.cuda.cumulative import cumulative
from relgraph.backends.cuda.extremes import extreme
from relgraph.backends.cuda.indexed import (
    add_selected,
    gather,
    masked_axes,
    scatter_add,
    select,
    taken_axis,
)
from relgraph.backends.cuda.libraries import library_call
from relgraph.backends.cuda.loop_calls import loop_call
from relgraph.backends.cuda.movement import Move, contiguous_strides, copy_strided, strided_copy
from relgraph.backends.cuda.products import product
from relgraph.backends.failures import failure
from relgraph.ir.node import Variable
from relgraph.ir.op import GetItem
from relgraph.ops.checks import Assert, SpecifyShape
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.contraction import Matmul
from relgraph.ops.cumulative import Cumulative
from relgraph.ops.indexing.expression import numpy_key
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import AddIndex, SetIndex
from relgraph.ops.linalg.structured import Diagonal
from relgraph.ops.loops import is_loop
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.reductions import Argmax, Argmin
from relgraph.ops.shape import BroadcastTo, Dim, ExpandDims, Reshape, Squeeze

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run

DeviceCall = Callable[["Run"], Any]

# Ops whose result NumPy returns, or could return, as a view of the first operand.
_VIEWS = frozenset(
    {
        Reshape, ExpandDims, Squeeze, BroadcastTo, Transpose, MatrixTranspose, Index, Diagonal,
        SpecifyShape, Assert,
    }
)  # fmt: skip


def device_call(node: Variable) -> DeviceCall | None:
    """Return the function that computes a node on the device; None if it runs on the CPU."""
    op = node.op
    assert op is not None
    if type(op) in _VIEWS and not (isinstance(op, Index) and _has_arrays(op)):
        return lambda run: _view(run, node)
    if isinstance(op, Concatenate | Stack):
        return lambda run: _join(run, node)
    if isinstance(op, Matmul):
        return lambda run: product(run, node)
    if isinstance(op, Argmax | Argmin):
        return lambda run: extreme(run, node)
    if isinstance(op, Cumulative):
        return lambda run: cumulative(run, node)
    if isinstance(op, GetItem):
        return lambda run: _item(run, node)
    if isinstance(op, Index | AddIndex):
        return _indexed(node)
    if isinstance(op, SetIndex) and not _has_arrays(op) and _same_dtype(node):
        return lambda run: _replaced(run, node)
    if isinstance(op, Dim):
        return lambda run: _size(run, node)
    if is_loop(node):
        return loop_call(node)
    return library_call(node)


def _indexed(node: Variable) -> DeviceCall | None:
    """Return the gather or scatter of a key with one index array or one mask; else None."""
    op: Any = node.op
    reads = isinstance(op, Index)
    if not reads and not _same_dtype(node):
        return None
    axis = taken_axis(op.params[0])
    if axis is not None:
        by_indices = gather if reads else scatter_add
        return lambda run: by_indices(run, node, axis)
    axes = masked_axes(op.params[0])
    if axes is not None:
        by_mask = select if reads else add_selected
        return lambda run: by_mask(run, node, axes)
    return None


def _same_dtype(node: Variable) -> bool:
    return node.inputs[0].dtype == node.inputs[1].dtype


def _size(run: Run, node: Variable) -> None:
    """Compute a size on the CPU, which knows it without the array."""
    op: Any = node.op
    run.host[node] = np.int64(run.shapes[node.inputs[0]][op.params[0]])


def _item(run: Run, node: Variable) -> DeviceArray | None:
    """Return one of several results; None if they are on the CPU."""
    parts = run.device.get(node.inputs[0])
    op: Any = node.op
    return None if parts is None else parts[op.params[0]]


def _replaced(run: Run, node: Variable) -> DeviceArray:
    """Return an array in which a value replaces the elements that a basic key selects."""
    array, value = (run.on_device(x) for x in node.inputs[:2])
    others = [run.on_host(x) for x in node.inputs[2:]]
    op: Any = node.op
    stand_in = np.empty(array.shape, np.int8)  # items of one byte, so strides count elements
    try:
        key = numpy_key(op.params[0], tuple(others))
        part = stand_in[key if Ellipsis in key else (*key, ...)]
        spread = np.broadcast_to(np.empty(value.shape, np.int8), part.shape)
    except (IndexError, ValueError) as error:
        raise failure(node, [run.on_host(x) for x in node.inputs], error) from error
    result = run.empty(array.shape, array.dtype)
    run.copy(array, result)
    start = stand_in.__array_interface__["data"][0]
    offset = part.__array_interface__["data"][0] - start if part.size else 0
    dims = list(zip(part.shape, spread.strides, part.strides, strict=True))
    copy_strided(run, Move(flat_of(value), flat_of(result), dims, value.dtype, 0, offset))
    return result


def _has_arrays(op: Any) -> bool:
    """Return True if a key has arrays or masks, so that it selects no view."""
    return any(entry[0] in ("array", "mask") for entry in op.params[0])


def _view(run: Run, node: Variable) -> DeviceArray | None:
    """Copy the elements of a view; NumPy computes its strides on memory that is never read."""
    x = node.inputs[0]
    shape = run.shapes[x]
    others = [run.on_host(y) for y in node.inputs[1:]]
    stand_in = np.empty(shape, np.int8)  # items of one byte, so strides count elements
    try:
        result = np.asarray(_viewed(node, stand_in, others))
    except (IndexError, ValueError) as error:
        raise failure(node, [stand_in, *others], error) from error
    if x not in run.device:  # a value on the CPU stays there
        return None
    array = run.on_device(x)
    if not result.size:
        return run.empty(result.shape, array.dtype)
    if not np.may_share_memory(result, stand_in):
        return None
    start = stand_in.__array_interface__["data"][0]
    first = result.__array_interface__["data"][0] - start
    if result.flags.c_contiguous:
        return array.part(result.shape, first)
    return strided_copy(run, array, first, result.shape, result.strides)


def _viewed(node: Variable, array: np.ndarray[Any, Any], others: list[Any]) -> Any:
    """Return an op's view of an array, also where NumPy turns a single element into a scalar."""
    op: Any = node.op
    if isinstance(op, Index):
        key = numpy_key(op.params[0], tuple(others))
        return array[key if Ellipsis in key else (*key, ...)]
    return op.performer(node)(array, *others)


def _join(run: Run, node: Variable) -> DeviceArray:
    """Concatenate: copy each operand to its offset in the result."""
    assert node.op is not None
    axis = node.op.params[0] + node.ndim
    stacked = isinstance(node.op, Stack)
    arrays = [run.on_device(x) for x in node.inputs]
    parts = [(*x.shape[:axis], 1, *x.shape[axis:]) if stacked else x.shape for x in arrays]
    first = parts[0]
    for part in parts:
        if part[:axis] != first[:axis] or part[axis + 1 :] != first[axis + 1 :]:
            OpCall(node)(*[run.on_host(x) for x in node.inputs])  # raises NumPy's error
    shape = (*first[:axis], sum(part[axis] for part in parts), *first[axis + 1 :])
    result = run.empty(shape, node.type.dtype)
    strides = contiguous_strides(shape)
    offset = 0
    for x, part in zip(arrays, parts, strict=True):
        x = _as_dtype(run, x, node.type.dtype)
        dims = list(zip(part, contiguous_strides(part), strides, strict=True))
        copy_strided(run, Move(flat_of(x), flat_of(result), dims, x.dtype, 0, offset))
        offset += part[axis] * strides[axis]
    return result


def _as_dtype(run: Run, x: DeviceArray, dtype: np.dtype[Any]) -> DeviceArray:
    if x.dtype == dtype:
        return x
    return run.moved(x.to_host(run.stream).astype(dtype))
