"""Ops that are no loops over elements, on the device: views, products, joins, gathers, scatters.

An op that has no function here runs on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from relgraph.backends.base import OpCall
from relgraph.backends.cuda.arrays import DeviceArray, flat_of
from relgraph.backends.cuda.indexed import gather, scatter_add, taken_axis
from relgraph.backends.cuda.movement import Move, contiguous_strides, copy_strided, strided_copy
from relgraph.backends.cuda.products import factorisation, product
from relgraph.backends.failures import failure
from relgraph.ir.node import Variable
from relgraph.ops.keys import numpy_key

if TYPE_CHECKING:
    from relgraph.backends.cuda.program import Run

DeviceCall = Callable[["Run"], DeviceArray | None]

# Ops whose NumPy result is a view of the first operand, or could be one.
_VIEWS = frozenset(
    {
        "reshape", "expand_dims", "squeeze", "broadcast_to", "transpose", "matrix_transpose",
        "index", "diagonal", "specify_shape", "assert",
    }
)  # fmt: skip


def device_call(node: Variable) -> DeviceCall | None:
    """Return what computes a node on the device; None for what runs on the CPU."""
    op = node.op
    assert op is not None
    if op.name in _VIEWS and not _is_advanced(op):
        return lambda run: _view(run, node)
    if op.name in ("concatenate", "stack"):
        return lambda run: _join(run, node)
    if op.name == "matmul":
        return lambda run: product(run, node)
    if op.name in ("index", "add_index"):
        axis = taken_axis(op.params[0])
        if axis is None or (op.name == "add_index" and not _same_dtype(node)):
            return None
        function = gather if op.name == "index" else scatter_add
        return lambda run: function(run, node, axis)
    return factorisation(node)


def _same_dtype(node: Variable) -> bool:
    return node.inputs[0].dtype == node.inputs[1].dtype


def _is_advanced(op: Any) -> bool:
    return op.name == "index" and any(entry[0] in ("array", "mask") for entry in op.params[0])


def _view(run: Run, node: Variable) -> DeviceArray | None:
    """Ask NumPy which elements the result has, on memory that is never touched, and copy them."""
    x = node.inputs[0]
    shape = run.shapes[x]
    others = [run.on_host(y) for y in node.inputs[1:]]
    stand_in = np.empty(shape, np.int8)  # of one byte each, so strides count elements
    try:
        result = np.asarray(_viewed(node, stand_in, others))
    except (IndexError, ValueError) as error:
        raise failure(node, [stand_in, *others], error) from error
    if x not in run.device:  # a value of the CPU stays there
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
    """Return an op's view of an array; of a single element too, of which NumPy makes a scalar."""
    op: Any = node.op
    if op.name == "index":
        key = numpy_key(op.params[0], tuple(others))
        return array[key if Ellipsis in key else (*key, ...)]
    return op.perform(array, *others)


def _join(run: Run, node: Variable) -> DeviceArray:
    """Copy each operand to its place in the result."""
    assert node.op is not None
    axis = node.op.params[0] + node.ndim
    stacked = node.op.name == "stack"
    arrays = [run.on_device(x) for x in node.inputs]
    parts = [(*x.shape[:axis], 1, *x.shape[axis:]) if stacked else x.shape for x in arrays]
    first = parts[0]
    for part in parts:
        if part[:axis] != first[:axis] or part[axis + 1 :] != first[axis + 1 :]:
            OpCall(node)(*[run.on_host(x) for x in node.inputs])  # raises, and says why
    shape = (*first[:axis], sum(part[axis] for part in parts), *first[axis + 1 :])
    result = run.empty(shape, node.type.dtype)
    strides = contiguous_strides(shape)
    place = 0
    for x, part in zip(arrays, parts, strict=True):
        x = _as_dtype(run, x, node.type.dtype)
        dims = list(zip(part, contiguous_strides(part), strides, strict=True))
        copy_strided(run, Move(flat_of(x), flat_of(result), dims, x.dtype, 0, place))
        place += part[axis] * strides[axis]
    return result


def _as_dtype(run: Run, x: DeviceArray, dtype: np.dtype[Any]) -> DeviceArray:
    if x.dtype == dtype:
        return x
    return run.moved(x.to_host(run.stream).astype(dtype))
