"""Translation of PyTensor's ops on arrays: shapes, indices, joins, reductions; one entry an op.

A translation takes a :class:`Use` of the op and the translated operands, and returns the translated
result, or a list of several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import relgraph.numpy as rnp
import relgraph.ops.elementwise as ew
from relgraph.interop.pytensor.scalars import as_dtype
from relgraph.interop.pytensor.special import Spline
from relgraph.ir.node import Constant, Variable, constant
from relgraph.ir.types import TensorType
from relgraph.numpy.reductions import log_softmax, logsumexp, softmax
from relgraph.ops.checks import assert_, specify_shape
from relgraph.ops.contraction import Matmul
from relgraph.ops.cumulative import iota
from relgraph.ops.linalg.structured import diagonal
from relgraph.ops.shape import ExpandDims, broadcast_to, dim, expand_dims, reshape


class Unsupported(Exception):
    """Raised for an op, or a use of it, without a translation; the text is the reason."""


class Use(NamedTuple):
    """An op to translate, and its application, which has the types of the results."""

    loader: Any
    op: Any
    node: Any


REFUSED = {
    "draws of random numbers are inputs in relgraph": ("RandomVariable", "SymbolicRandomVariable"),
    "it has no counterpart for sparse arrays": ("SparseOp",),
}


def as_size(x: Any) -> Any:
    """Return an integer scalar as an int if it is known."""
    if isinstance(x, Constant):
        return int(x.value.reshape(()))
    return as_dtype(x, "int64") if isinstance(x, Variable) else x


def with_sizes(x: Variable, type_: Any) -> Variable:
    """Return an array with the sizes that PyTensor knows where relgraph does not."""
    shape = getattr(type_, "shape", None)
    if shape is None or not isinstance(x.type, TensorType) or x.ndim != len(shape):
        return x
    new = tuple(b if a is None else None for a, b in zip(x.type.shape, shape, strict=True))
    return specify_shape(x, new) if any(s is not None for s in new) else x


# Elementwise ops and reductions.


def _elemwise(use: Use, *operands: Any) -> Any:
    return use.loader.scalar(use.op.scalar_op, use.node, operands)


def _dimshuffle(use: Use, x: Any) -> Any:
    kept = [axis for axis in use.op.new_order if axis != "x"]
    dropped = tuple(axis for axis in range(x.ndim) if axis not in kept)
    if dropped:
        x = _product_with_vector(x, dropped)
        x = rnp.squeeze(x, axis=dropped) if x.ndim == use.node.inputs[0].type.ndim else x
        order = sorted(kept)
        kept = [order.index(axis) for axis in kept]
    if kept != list(range(len(kept))):
        x = rnp.transpose(x, kept)
    new = tuple(i for i, axis in enumerate(use.op.new_order) if axis == "x")
    return expand_dims(x, new) if new else x


def _product_with_vector(x: Any, dropped: tuple[int, ...]) -> Any:
    """Return a product with a vector that PyTensor writes as one with a matrix; else ``x``."""
    if len(dropped) != 1 or not isinstance(x.op, Matmul):
        return x
    (axis,) = dropped
    a, b = x.inputs
    vector = b if axis == x.ndim - 1 else a
    if not isinstance(vector.op, ExpandDims) or vector.op.params[0] != (axis - x.ndim,):
        return x
    (inner,) = vector.inputs
    if inner.ndim != 1:
        return x
    return rnp.matmul(a, inner) if vector is b else rnp.matmul(inner, b)


def _reduction(function: Callable[..., Any], accumulate: bool = False) -> Callable[..., Any]:
    def translated(use: Use, x: Any) -> Any:
        dtype = use.node.outputs[0].type.dtype
        if accumulate:
            x = as_dtype(x, getattr(use.op, "acc_dtype", None) or dtype)
        axes = (
            None
            if use.op.axis is None or not x.ndim
            else tuple(map(int, np.atleast_1d(use.op.axis)))
        )
        return as_dtype(function(x) if axes is None else function(x, axis=axes), dtype)

    return translated


_BY_SCALAR_OP = {
    "Add": rnp.sum,
    "Mul": rnp.prod,
    "Maximum": rnp.max,
    "Minimum": rnp.min,
    "AND": rnp.all,
    "OR": rnp.any,
}


def _careduce(use: Use, x: Any) -> Any:
    name = type(use.op.scalar_op).__name__
    if name not in _BY_SCALAR_OP:
        raise Unsupported(f"relgraph does not reduce by {name}")
    return _reduction(_BY_SCALAR_OP[name], name in ("Add", "Mul"))(use, x)


def _without_zeros(use: Use, x: Any) -> Any:
    return _reduction(rnp.prod, True)(use, ew.where(ew.equal(x, 0), 1, x))


def _argmax(use: Use, x: Any) -> Any:
    axes = tuple(range(x.ndim)) if use.op.axis is None else tuple(int(a) for a in use.op.axis)
    if len(axes) > 1:  # merge the axes to one, at the end
        kept = [axis for axis in range(x.ndim) if axis not in axes]
        x = rnp.transpose(x, [*kept, *axes])
        x = reshape(x, (*[dim(x, i) for i in range(len(kept))], -1))
        axes = (len(kept),)
    return rnp.argmax(x, axis=axes[0])


def _cumulative(use: Use, x: Any) -> Any:
    function = rnp.cumsum if use.op.mode == "add" else rnp.cumprod
    result = function(reshape(x, (-1,)) if use.op.axis is None else x, axis=use.op.axis or 0)
    return as_dtype(result, use.node.outputs[0].type.dtype)


def _sorted(function: Callable[..., Any]) -> Callable[..., Any]:
    def translated(use: Use, x: Any, axis: Any) -> Any:
        return function(x, axis=_known_axis(axis))

    return translated


def _known_axis(axis: Any) -> int:
    if not isinstance(axis, Constant):
        raise Unsupported("its axis depends on values")
    return int(axis.value)


def _softmax(use: Use, x: Any) -> Any:
    return ew.exp(x - logsumexp(x)) if use.op.axis is None else softmax(x, axis=use.op.axis)


def _log_softmax(use: Use, x: Any) -> Any:
    return x - logsumexp(x) if use.op.axis is None else log_softmax(x, axis=use.op.axis)


def _softmax_grad(use: Use, dy: Any, sm: Any) -> Any:
    product = dy * sm
    return product - rnp.sum(product, axis=use.op.axis, keepdims=True) * sm


# Shapes.


def _shape(use: Use, x: Any) -> Any:
    sizes = tuple(dim(x, axis) for axis in range(x.ndim))
    return _vector(use, [as_size(s) if isinstance(s, Variable) else s for s in sizes], "int64")


def _vector(use: Use, elements: Sequence[Any], dtype: str) -> Any:
    """Return a vector of scalars, and note its elements."""
    if all(isinstance(x, int) for x in elements):
        return constant(np.array(elements, dtype=dtype))
    nodes = [as_dtype(_node(x), dtype) for x in elements]
    vector = rnp.stack(nodes)
    use.loader.vectors[vector] = tuple(elements)
    return vector


def _node(x: Any) -> Variable:
    return x if isinstance(x, Variable) else constant(np.int64(x))


def _make_vector(use: Use, *elements: Any) -> Any:
    dtype = use.node.outputs[0].type.dtype
    if not elements:
        return constant(np.zeros(0, dtype))
    if np.dtype(dtype).kind in "iu":
        return _vector(use, [as_size(x) for x in elements], dtype)
    return rnp.stack([as_dtype(x, dtype) for x in elements])


def _reshape(use: Use, x: Any, shape: Any) -> Any:
    return reshape(x, use.loader.elements(shape))


def _specify(use: Use, x: Any, *sizes: Any) -> Any:
    known = tuple(as_size(s) if isinstance(s, Constant) else None for s in sizes)
    return specify_shape(x, known) if any(s is not None for s in known) else x


def _alloc(use: Use, x: Any, *sizes: Any) -> Any:
    return broadcast_to(x, tuple(as_size(s) for s in sizes))


def _alloc_empty(use: Use, *sizes: Any) -> Any:
    zero = constant(np.zeros((), use.node.outputs[0].type.dtype))
    return broadcast_to(zero, tuple(as_size(s) for s in sizes))


def _arange(use: Use, *bounds: Any) -> Any:
    dtype = use.node.outputs[0].type.dtype
    if all(isinstance(x, Constant) for x in bounds):
        return constant(np.arange(*[x.value[()] for x in bounds], dtype=dtype))
    start, stop, step = bounds
    if isinstance(start, Constant) and start.uniform == 0 and isinstance(step, Constant):
        count = stop if step.uniform == 1 else ew.ceil(ew.true_divide(stop, step))
    else:
        count = ew.ceil(ew.true_divide(stop - start, step))
    steps = iota(as_dtype(ew.maximum(count, 0), "int64"), dtype)
    return as_dtype(as_dtype(start, dtype) + steps * as_dtype(step, dtype), dtype)


def _eye(use: Use, rows: Any, columns: Any, k: Any) -> Any:
    if not isinstance(k, Constant):
        raise Unsupported("its diagonal depends on values")
    rows, columns = as_size(rows), as_size(columns)
    return rnp.eye(rows, None if columns is rows else columns, int(k.value), dtype=use.op.dtype)


def _extract_diagonal(use: Use, x: Any) -> Any:
    return diagonal(rnp.moveaxis(x, (use.op.axis1, use.op.axis2), (-2, -1)), use.op.offset)


def _alloc_diagonal(use: Use, x: Any) -> Any:
    if x.ndim == 1:
        return rnp.diag(x, use.op.offset)
    return rnp.moveaxis(diagonals(x, use.op.offset), (-2, -1), (use.op.axis1, use.op.axis2))


def diagonals(x: Variable, k: int) -> Variable:
    """Return matrices of zeros with the vectors of a batch on their diagonal ``k``."""
    n, dtype = dim(x, -1), x.dtype.name
    zeros = rnp.zeros((*[dim(x, i) for i in range(x.ndim - 1)], n + abs(k), n + abs(k)), dtype)
    indices = iota(n, "int64")
    key = (*[slice(None)] * (x.ndim - 1), indices + max(-k, 0), indices + max(k, 0))
    return zeros.at[key].set(x)  # type: ignore[no-any-return]


def _nonzero(use: Use, x: Any) -> Any:
    if not isinstance(x, Constant):
        raise Unsupported("the number of its results depends on values")
    return [constant(indices) for indices in np.nonzero(x.value)]


def _spline(use: Use, x: Any) -> Any:
    return Spline(use.op.spline)(x)


def _repeat(use: Use, x: Any, repeats: Any) -> Any:
    if not isinstance(repeats, Constant):
        raise Unsupported("its repeats depend on values")
    value = repeats.value
    return rnp.repeat(x, int(value) if value.ndim == 0 else value.tolist(), axis=use.op.axis)


# Indices.


def _key(idx_list: Any, operands: Sequence[Any]) -> tuple[Any, ...]:
    """Return the key of an index: ints where they are known, scalars, arrays, slices, None."""
    if not idx_list:
        return tuple(_entry(x) for x in operands)
    rest = iter(operands)

    def entry(part: Any) -> Any:
        if isinstance(part, slice):
            return slice(entry(part.start), entry(part.stop), entry(part.step))
        if part is None or isinstance(part, int | np.integer):
            return part
        return _entry(next(rest))

    return tuple(entry(part) for part in idx_list)


def _entry(x: Any) -> Any:
    if isinstance(x, slice):
        return slice(*[_entry(part) for part in (x.start, x.stop, x.step)])
    if isinstance(x, Constant) and x.ndim == 0:
        return int(x.value)
    return x


def _index(use: Use, x: Any, *operands: Any) -> Any:
    key = _key(getattr(use.op, "idx_list", None), operands)
    if x in use.loader.vectors and len(key) == 1 and _is_known(key[0]):
        part = use.loader.elements(x)[key[0]]
        if isinstance(part, tuple):
            return _vector(use, part, x.dtype.name)
        return as_dtype(_node(part), x.dtype.name)
    part = use.loader.selected(x, key)
    return x[key] if part is None else part


def _is_known(entry: Any) -> bool:
    parts = (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (entry,)
    return all(part is None or isinstance(part, int) for part in parts)


def _update(use: Use, x: Any, y: Any, *operands: Any) -> Any:
    part = x.at[_key(getattr(use.op, "idx_list", None), operands)]
    y = as_dtype(y, x.dtype.name)
    return part.set(y) if use.op.set_instead_of_inc else part.add(y)


def _make_slice(use: Use, *bounds: Any) -> Any:
    return slice(*bounds)


# Joins.


def _join(use: Use, axis: Any, *arrays: Any) -> Any:
    dtype = use.node.outputs[0].type.dtype
    position = _known_axis(axis)
    arrays = tuple(as_dtype(x, dtype) for x in arrays)
    known = all(x in use.loader.vectors or isinstance(x, Constant) for x in arrays)
    if known and arrays[0].ndim == 1 and np.dtype(dtype).kind in "iu":
        return _vector(use, [e for x in arrays for e in use.loader.elements(x)], dtype)
    return rnp.concatenate(list(arrays), axis=position) if len(arrays) > 1 else arrays[0]


def _split(use: Use, x: Any, axis: Any, sizes: Any) -> Any:
    position = _known_axis(axis) % x.ndim
    first: Any = 0
    parts = []
    for size in use.loader.elements(sizes):
        last = first + size
        parts.append(x[(*[slice(None)] * position, slice(first, last))])
        first = last
    return parts


# Checks, copies and products.


def _checked(use: Use, x: Any, *conditions: Any) -> Any:
    for condition in conditions:
        if isinstance(condition, Constant) and condition.value.all():
            continue
        x = assert_(x, condition, use.op.msg or "an assertion does not hold")
    return x


def _same(use: Use, x: Any, *others: Any) -> Any:
    return x


def _dot(use: Use, x: Any, y: Any) -> Any:
    dtype = use.node.outputs[0].type.dtype
    x, y = as_dtype(x, dtype), as_dtype(y, dtype)
    return x * y if x.ndim == 0 or y.ndim == 0 else rnp.matmul(x, y)


def _gemm(use: Use, *operands: Any) -> Any:
    z, a, x, y, b = operands
    return b * z + a * (x @ y)


def _gemv(use: Use, *operands: Any) -> Any:
    y, alpha, A, x, beta = operands
    return beta * y + alpha * (A @ x)


def _ger(use: Use, A: Any, alpha: Any, x: Any, y: Any) -> Any:
    return A + alpha * rnp.outer(x, y)


def _dot22scalar(use: Use, x: Any, y: Any, a: Any) -> Any:
    return a * (x @ y)


TABLE: dict[str, Callable[..., Any]] = {
    "Elemwise": _elemwise,
    "DimShuffle": _dimshuffle,
    "Sum": _reduction(rnp.sum, accumulate=True),
    "Prod": _reduction(rnp.prod, accumulate=True),
    "ProdWithoutZeros": _without_zeros,
    "Max": _reduction(rnp.max),
    "Min": _reduction(rnp.min),
    "All": _reduction(rnp.all),
    "Any": _reduction(rnp.any),
    "CAReduce": _careduce,
    "Argmax": _argmax,
    "CumOp": _cumulative,
    "SortOp": _sorted(rnp.sort),
    "ArgSortOp": _sorted(rnp.argsort),
    "Softmax": _softmax,
    "LogSoftmax": _log_softmax,
    "SoftmaxGrad": _softmax_grad,
    "Shape": _shape,
    "Shape_i": lambda use, x: _node(as_size(dim(x, use.op.i))),
    "MakeVector": _make_vector,
    "Reshape": _reshape,
    "SpecifyShape": _specify,
    "Alloc": _alloc,
    "AllocEmpty": _alloc_empty,
    "ARange": _arange,
    "Eye": _eye,
    "ExtractDiag": _extract_diagonal,
    "AllocDiag": _alloc_diagonal,
    "Nonzero": _nonzero,
    "SplineWrapper": _spline,
    "Repeat": _repeat,
    "ScalarFromTensor": _same,
    "TensorFromScalar": _same,
    "Subtensor": _index,
    "AdvancedSubtensor": _index,
    "AdvancedSubtensor1": _index,
    "IncSubtensor": _update,
    "AdvancedIncSubtensor": _update,
    "AdvancedIncSubtensor1": _update,
    "MakeSlice": _make_slice,
    "Join": _join,
    "Split": _split,
    "CheckAndRaise": _checked,
    "TypeCastingOp": _same,
    "DeepCopyOp": _same,
    "CpuContiguous": _same,
    "Dot": _dot,
    "BatchedDot": _dot,
    "Dot22": _dot,
    "Dot22Scalar": _dot22scalar,
    "Gemm": _gemm,
    "Gemv": _gemv,
    "Ger": _ger,
}

__all__ = ["REFUSED", "TABLE", "Unsupported", "Use", "as_size", "diagonals", "with_sizes"]
